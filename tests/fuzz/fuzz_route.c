/*
 * Fuzzing routes: two patterns and a path, one a line.
 *
 * A pattern that is accepted is accepted again in its own spelling and overlaps itself. Where
 * two match one path, either one is more specific or they overlap, and never both.
 */
#include "base/err.h"
#include "core/fingerprint.h"
#include "core/route.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static bool read_route(struct str text, struct arena *mem, struct route *out_route)
{
	const char *detail = NULL;
	struct route again;
	int r = route_read(text, mem, out_route, &detail);

	if (r != 0) {
		require(r == ROUTE_WRONG && detail && detail[0]);
		return false;
	}
	require(out_route->count <= ROUTE_SEGMENTS_MAX);
	require(route_read(out_route->pattern, mem, &again, &detail) == 0);
	require(str_equal(again.pattern, out_route->pattern));
	require(route_overlaps(&again, out_route) && route_compare(&again, out_route) == 0);
	return true;
}

static void check_values(const struct route *route, const struct str *values)
{
	size_t count = 0;

	for (size_t i = 0; i < route->count; i++)
		count += route->segments[i].is_parameter;
	for (size_t i = 0; i < count; i++)
		require(values[i].len > 0 && str_find(values[i], '/') == values[i].len);
}

static void check(struct str first, struct str second, struct str path, struct arena *mem)
{
	struct str values[ROUTE_SEGMENTS_MAX], normal;
	struct fingerprint_error error;
	struct route a, b;
	int order;

	if (!read_route(first, mem, &a) || !read_route(second, mem, &b))
		return;
	order = route_compare(&a, &b);
	require(order == -route_compare(&b, &a));
	require(route_overlaps(&a, &b) == route_overlaps(&b, &a));
	if (path_normalise(path, mem, &normal, &error) != 0 || !route_matches(&a, normal, values))
		return;
	check_values(&a, values);
	if (route_matches(&b, normal, NULL))
		require((order != 0) != route_overlaps(&a, &b));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str rest = str_of((const char *)bytes, size), first, second;
	struct arena mem;

	if (!str_split(&rest, '\n', &first) || !str_split(&rest, '\n', &second))
		return 0;
	arena_init(&mem, 8 * size + 65536);
	check(first, second, rest, &mem);
	arena_fini(&mem);
	return 0;
}
