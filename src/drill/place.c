/*
 * Places and headers, put together from a scenario's texts. Pure code; all of it lives in the
 * arena it is given.
 */
#include "drill/place.h"

#include "base/buf.h"

enum { HEADERS_MAX = 64 * 1024 };

struct str place_url(const struct scenario *scenario, struct str place, struct arena *mem)
{
	if (!str_starts_with(place, STR("/")))
		return arena_str(mem, place);
	return arena_printf(mem, "%.*s%.*s", STR_ARG(scenario->target), STR_ARG(place));
}

static bool has(const struct scenario_pairs *pairs, struct str name)
{
	for (size_t i = 0; pairs && i < pairs->count; i++) {
		if (str_equal_nocase(pairs->items[i].name, name))
			return true;
	}
	return false;
}

static void append(struct buf *out, const struct scenario_pair *pair)
{
	buf_printf(out, "%.*s: %.*s\n", STR_ARG(pair->name), STR_ARG(pair->value));
}

struct str place_headers(const struct scenario_pairs *base, const struct scenario_pairs *over,
			 struct arena *mem)
{
	struct str lines = {NULL, 0};
	struct buf out;

	buf_init(&out, HEADERS_MAX);
	for (size_t i = 0; base && i < base->count; i++) {
		if (!has(over, base->items[i].name))
			append(&out, &base->items[i]);
	}
	for (size_t i = 0; over && i < over->count; i++)
		append(&out, &over->items[i]);
	if (!out.is_spoiled)
		lines = arena_str(mem, buf_str(&out));
	buf_fini(&out);
	return lines;
}

struct str place_question_headers(const struct scenario *scenario, struct str place,
				  const struct scenario_pairs *own, struct arena *mem)
{
	struct str lines = {NULL, 0};
	struct buf out;

	if (own->count || !str_starts_with(place, STR("/")))
		return place_headers(own, NULL, mem);
	buf_init(&out, HEADERS_MAX);
	for (size_t i = 0; i < scenario->write.headers.count; i++) {
		if (!str_starts_with_nocase(scenario->write.headers.items[i].name, STR("content-")))
			append(&out, &scenario->write.headers.items[i]);
	}
	if (!out.is_spoiled)
		lines = arena_str(mem, buf_str(&out));
	buf_fini(&out);
	return lines;
}
