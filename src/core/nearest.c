/*
 * The distance of two names (optimal string alignment): a table of which three rows are kept.
 */
#include "core/nearest.h"

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static bool is_same(char a, char b)
{
	return ascii_lower(a) == ascii_lower(b);
}

size_t nearest_distance(struct str a, struct str b)
{
	size_t rows[3][NEAREST_LENGTH_MAX + 1];

	if (a.len > NEAREST_LENGTH_MAX || b.len > NEAREST_LENGTH_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= b.len; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a.len; i++) {
		size_t *row = rows[i % 3], *above = rows[(i - 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= b.len; j++) {
			bool same = is_same(a.at[i - 1], b.at[j - 1]);

			row[j] = least(least(row[j - 1], above[j]) + 1, above[j - 1] + !same);
			if (i > 1 && j > 1 && is_same(a.at[i - 1], b.at[j - 2]) &&
			    is_same(a.at[i - 2], b.at[j - 1]))
				row[j] = least(row[j], rows[(i - 2) % 3][j - 2] + 1);
		}
	}
	return rows[a.len % 3][b.len];
}

size_t nearest_allowance(struct str name)
{
	return name.len < 3 ? 1 : least(name.len / 3, 3);
}
