/*
 * Routes: reading patterns, matching paths, telling which of two comes first.
 *
 * A pattern goes through the same spelling as the paths it will meet, so that matching is a
 * comparison of bytes, segment by segment. Which of several routes wins does not depend on the
 * order in which they were written: from the left, a literal is more specific than a parameter.
 */
#include "core/route.h"

#include "base/err.h"
#include "core/fingerprint.h"

enum { PARAMETER_LENGTH_MAX = 64 };

static const char detail_slash[] = "The route does not begin with a slash; write it like "
				   "/v1/orders/{order_id}.";
static const char detail_empty[] =
	"The route has an empty segment; two slashes never stand side by side in it.";
static const char detail_many[] = "The route has more than 32 segments.";
static const char detail_brace[] = "The route has a brace that is not around a whole segment; a "
				   "parameter stands alone between slashes, like {order_id}.";
static const char detail_name[] =
	"The route has a parameter without a proper name; it is 1 to 64 letters, digits and _, and "
	"begins with no digit.";
static const char detail_twice[] =
	"The route names two parameters the same; give each a name of its own.";

static int read_segments(struct arena *mem, struct route *route, const char **out_detail);

static int wrong(const char *detail, const char **out_detail)
{
	*out_detail = detail;
	return ROUTE_WRONG;
}

int route_read(struct str pattern, struct arena *mem, struct route *out_route,
	       const char **out_detail)
{
	struct route route = {0};
	struct fingerprint_error error = {""};
	int r;

	if (!str_starts_with(pattern, STR("/")))
		return wrong(detail_slash, out_detail);
	r = path_normalise(pattern, mem, &route.pattern, &error);
	if (r == FINGERPRINT_REFUSED) {
		struct str copy = arena_str(mem, str_from(error.detail));

		return copy.at ? wrong(copy.at, out_detail) : FAIL_MEMORY;
	}
	if (r != 0)
		return r;
	r = read_segments(mem, &route, out_detail);
	if (r != 0)
		return r;
	*out_route = route;
	return 0;
}

/* The path without the slash at its start and the one at its end. */
static struct str inner(struct str path, bool *out_has_slash)
{
	*out_has_slash = path.len > 0 && path.at[path.len - 1] == '/';
	path = str_from_index(path, 1);
	if (path.len && *out_has_slash)
		path.len--;
	return path;
}

static bool is_word(char c)
{
	return (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static bool is_parameter_name(struct str name)
{
	for (size_t i = 0; i < name.len; i++) {
		if (!is_word(name.at[i]))
			return false;
	}
	return name.len >= 1 && name.len <= PARAMETER_LENGTH_MAX &&
	       !(name.at[0] >= '0' && name.at[0] <= '9');
}

static bool has_parameter(const struct route *route, struct str name)
{
	for (size_t i = 0; i < route->count; i++) {
		if (route->segments[i].is_parameter && str_equal(route->segments[i].text, name))
			return true;
	}
	return false;
}

static int read_segment(struct str text, const struct route *route,
			struct route_segment *out_segment, const char **out_detail)
{
	bool has_brace = str_find(text, '{') < text.len || str_find(text, '}') < text.len;

	if (text.len == 0)
		return wrong(detail_empty, out_detail);
	*out_segment = (struct route_segment){.text = text, .is_parameter = has_brace};
	if (!has_brace)
		return 0;
	if (text.len < 2 || text.at[0] != '{' || str_find(text, '}') != text.len - 1)
		return wrong(detail_brace, out_detail);
	out_segment->text = str_of(text.at + 1, text.len - 2);
	if (!is_parameter_name(out_segment->text))
		return wrong(detail_name, out_detail);
	if (has_parameter(route, out_segment->text))
		return wrong(detail_twice, out_detail);
	return 0;
}

static int read_segments(struct arena *mem, struct route *route, const char **out_detail)
{
	struct str rest = inner(route->pattern, &route->has_slash), text;

	route->segments = arena_alloc(mem, ROUTE_SEGMENTS_MAX * sizeof(route->segments[0]));
	if (!route->segments)
		return FAIL_MEMORY;
	if (route->pattern.len == 1)
		return 0;
	while (str_split(&rest, '/', &text)) {
		int r;

		if (route->count == ROUTE_SEGMENTS_MAX)
			return wrong(detail_many, out_detail);
		r = read_segment(text, route, &route->segments[route->count], out_detail);
		if (r != 0)
			return r;
		route->count++;
	}
	return 0;
}

bool route_matches(const struct route *route, struct str path, struct str *values)
{
	size_t matched = 0, parameters = 0;
	struct str rest, text;
	bool has_slash;

	if (!str_starts_with(path, STR("/")))
		return false;
	rest = inner(path, &has_slash);
	if (has_slash != route->has_slash)
		return false;
	if (path.len == 1)
		return route->count == 0;
	while (str_split(&rest, '/', &text)) {
		const struct route_segment *segment = &route->segments[matched];

		if (matched++ == route->count || text.len == 0)
			return false;
		if (!segment->is_parameter && !str_equal(segment->text, text))
			return false;
		if (segment->is_parameter && values)
			values[parameters++] = text;
	}
	return matched == route->count;
}

bool route_parameter(const struct route *route, struct str name, size_t *out_parameter)
{
	size_t parameter = 0;

	for (size_t i = 0; i < route->count; i++) {
		if (!route->segments[i].is_parameter)
			continue;
		if (str_equal(route->segments[i].text, name)) {
			*out_parameter = parameter;
			return true;
		}
		parameter++;
	}
	return false;
}

static bool have_one_shape(const struct route *a, const struct route *b)
{
	return a->count == b->count && a->has_slash == b->has_slash;
}

int route_compare(const struct route *a, const struct route *b)
{
	if (!have_one_shape(a, b))
		return 0;
	for (size_t i = 0; i < a->count; i++) {
		if (a->segments[i].is_parameter != b->segments[i].is_parameter)
			return a->segments[i].is_parameter ? 1 : -1;
	}
	return 0;
}

bool route_overlaps(const struct route *a, const struct route *b)
{
	if (!have_one_shape(a, b) || route_compare(a, b) != 0)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (!a->segments[i].is_parameter &&
		    !str_equal(a->segments[i].text, b->segments[i].text))
			return false;
	}
	return true;
}
