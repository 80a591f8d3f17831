/*
 * Nearness is the number of single edits between two words: a character put in, left out,
 * replaced, or swapped with its neighbour (restricted Damerau–Levenshtein). A third of the
 * typed word may differ, so that a word that means something else suggests nothing.
 */
#include "cli/suggest.h"

#include <string.h>

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Both at most SUGGEST_WORD_MAX long. */
static size_t edits_between(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t cost[SUGGEST_WORD_MAX + 1][SUGGEST_WORD_MAX + 1];

	for (size_t i = 0; i <= a_len; i++)
		cost[i][0] = i;
	for (size_t j = 0; j <= b_len; j++)
		cost[0][j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		for (size_t j = 1; j <= b_len; j++) {
			size_t replaced = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			cost[i][j] = least(replaced, least(cost[i - 1][j], cost[i][j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				cost[i][j] = least(cost[i][j], cost[i - 2][j - 2] + 1);
		}
	}
	return cost[a_len][b_len];
}

void suggest_begin(struct suggestion *suggestion, const char *word)
{
	size_t len = strlen(word);

	*suggestion = (struct suggestion){.word = word, .distance = len < 6 ? 1 : len / 3};
}

void suggest_offer(struct suggestion *suggestion, const char *known)
{
	size_t word_len = strlen(suggestion->word), known_len = strlen(known);
	size_t distance;

	if (word_len > SUGGEST_WORD_MAX || known_len > SUGGEST_WORD_MAX)
		return;
	distance = edits_between(suggestion->word, word_len, known, known_len);
	if (distance > suggestion->distance ||
	    (distance == suggestion->distance && suggestion->best))
		return;
	suggestion->best = known;
	suggestion->distance = distance;
}
