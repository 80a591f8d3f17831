/*
 * Paths that a service may take for a route's, though they are written otherwise.
 *
 * Routers are free with paths: many make nothing of case, of a slash more or less, of parameters
 * behind a semicolon, of a dot or a blank at a segment's end, of a format at the path's end
 * (.json), and decode %2F before they look for segments. Whatever any of them might see is seen
 * here.
 */
#include "core/route.h"

/* Does `text` begin with something that ends a segment, and how long is it? */
static size_t ends_segment(struct str text)
{
	if (text.at[0] == '/')
		return 1;
	return str_starts_with(text, STR("%2F")) || str_starts_with(text, STR("%5C")) ? 3 : 0;
}

/* What a router drops from a segment: its parameters, and dots and blanks at its end. */
static struct str bare(struct str text)
{
	text.len = str_find(text, ';');
	for (size_t i = 0; i + 3 <= text.len; i++) {
		if (str_starts_with(str_from_index(text, i), STR("%3B")))
			text.len = i;
	}
	for (;;) {
		bool is_blank =
			text.len >= 3 && str_equal(str_from_index(text, text.len - 3), STR("%20"));

		if (!is_blank && !(text.len && text.at[text.len - 1] == '.'))
			return text;
		text.len -= is_blank ? 3 : 1;
	}
}

/* The next segment that has something in it; false: there is none. */
static bool next_segment(struct str *rest, struct str *out_segment)
{
	while (rest->len) {
		size_t len = 0, separator = 0;

		while (len < rest->len && !(separator = ends_segment(str_from_index(*rest, len))))
			len++;
		*out_segment = bare(str_of(rest->at, len));
		*rest = str_from_index(*rest, len + separator);
		if (out_segment->len)
			return true;
	}
	return false;
}

/* Up to its last dot. */
static struct str without_format(struct str text)
{
	for (size_t len = text.len; len > 0; len--) {
		if (text.at[len - 1] == '.')
			return str_of(text.at, len - 1);
	}
	return text;
}

static bool resembles(const struct route *route, struct str path)
{
	struct str rest = path, text;
	size_t matched = 0;

	while (next_segment(&rest, &text)) {
		const struct route_segment *segment = &route->segments[matched];

		if (matched++ == route->count)
			return false;
		if (!segment->is_parameter && !str_equal_nocase(bare(segment->text), text) &&
		    !(matched == route->count &&
		      str_equal_nocase(segment->text, without_format(text))))
			return false;
	}
	return matched == route->count;
}

/* Of two of as many segments: is a literal where b has a parameter, from the left? */
static bool is_narrower(const struct route *a, const struct route *b)
{
	for (size_t i = 0; i < a->count; i++) {
		if (a->segments[i].is_parameter != b->segments[i].is_parameter)
			return !a->segments[i].is_parameter;
	}
	return false;
}

bool route_is_mistakable(const struct route *route, const struct route *found, struct str path)
{
	if (route == found || route_matches(route, path, NULL) || !resembles(route, path))
		return false;
	return !found || !resembles(found, path) || is_narrower(route, found);
}
