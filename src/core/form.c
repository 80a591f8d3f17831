/*
 * Forms: decoded, ordered, and written again in one spelling.
 *
 * Pairs are ordered by name, because a retry may build them from an unordered map. A name
 * with [] in it is a list whose order means something, and then all pairs stay as they came.
 * A scalar name that comes twice is refused: one server takes the first, the next the last.
 * Empty places between two & are skipped, as every reader does.
 */
#include "core/form.h"

#include "base/err.h"
#include "core/text.h"

#include <stdlib.h>

struct pair {
	struct str name;
	struct str value;
	size_t index; /* where it came */
	bool has_value;
	bool is_list;
};

struct form {
	struct pair *pairs;
	size_t count;
	bool has_list;
};

static int read_pairs(struct str body, struct arena *mem, struct form *out_form,
		      struct fingerprint_error *out_error);
static int refuse_doubles(const struct form *form, struct fingerprint_error *out_error);
static int by_name(const void *a, const void *b);
static int by_index(const void *a, const void *b);
static int write_pairs(const struct form *form, struct buf *out);

int form_canonical(struct str body, struct arena *mem, struct buf *out,
		   struct fingerprint_error *out_error)
{
	struct form form = {0};
	int r = read_pairs(body, mem, &form, out_error);

	if (r != 0)
		return r;
	if (form.count == 0)
		return 0;
	qsort(form.pairs, form.count, sizeof(form.pairs[0]), by_name);
	r = refuse_doubles(&form, out_error);
	if (r != 0)
		return r;
	if (form.has_list)
		qsort(form.pairs, form.count, sizeof(form.pairs[0]), by_index);
	return write_pairs(&form, out);
}

static int decode(struct str text, char *room, struct str *out_text)
{
	size_t len = 0;

	for (size_t i = 0; i < text.len; i++) {
		char c = text.at[i];

		if (c == '%') {
			int byte = text_unescape(text, i);

			if (byte < 0)
				return FINGERPRINT_REFUSED;
			c = (char)byte;
			i += 2;
		} else if (c == '+') {
			c = ' ';
		}
		room[len++] = c;
	}
	*out_text = str_of(room, len);
	return 0;
}

static bool is_list_name(struct str name)
{
	return name.len >= 2 && memmem(name.at, name.len, "[]", 2);
}

/* Decoded text is never longer than its spelling, so `room` of that size is enough. */
static int read_pair(struct str text, char *room, struct pair *out_pair)
{
	size_t equals = str_find(text, '=');

	out_pair->has_value = equals < text.len;
	if (decode(str_of(text.at, equals), room, &out_pair->name) != 0 ||
	    decode(str_from_index(text, equals + 1), room + equals, &out_pair->value) != 0)
		return FINGERPRINT_REFUSED;
	out_pair->is_list = is_list_name(out_pair->name);
	return 0;
}

static size_t count_pairs(struct str body)
{
	struct str part;
	size_t count = 0;

	while (str_split(&body, '&', &part))
		count += part.len > 0;
	return count;
}

static int read_pairs(struct str body, struct arena *mem, struct form *out_form,
		      struct fingerprint_error *out_error)
{
	size_t count = count_pairs(body);
	struct str part, rest = body;
	char *room;

	if (count > FORM_PAIRS_MAX)
		return fingerprint_refuse(out_error, "The form has more than %d pairs.",
					  FORM_PAIRS_MAX);
	out_form->pairs = arena_alloc(mem, count * sizeof(out_form->pairs[0]) + 1);
	room = arena_alloc(mem, body.len + 1);
	if (!out_form->pairs || !room)
		return FAIL_MEMORY;
	while (str_split(&rest, '&', &part)) {
		struct pair *pair = &out_form->pairs[out_form->count];

		if (part.len == 0)
			continue;
		if (read_pair(part, room + (part.at - body.at), pair) != 0)
			return fingerprint_refuse(out_error,
						  "The form has a broken escape in pair %zu: %% is "
						  "followed by two hexadecimal digits.",
						  out_form->count + 1);
		pair->index = out_form->count++;
		out_form->has_list |= pair->is_list;
	}
	return 0;
}

static int by_index(const void *a, const void *b)
{
	const struct pair *left = a, *right = b;

	return left->index < right->index ? -1 : left->index > right->index;
}

static int by_name(const void *a, const void *b)
{
	const struct pair *left = a, *right = b;
	int order = str_compare(left->name, right->name);

	return order != 0 ? order : by_index(a, b);
}

/* The pairs are ordered by name. */
static int refuse_doubles(const struct form *form, struct fingerprint_error *out_error)
{
	for (size_t i = 1; i < form->count; i++) {
		struct str name = form->pairs[i].name;

		if (!form->pairs[i].is_list && str_equal(form->pairs[i - 1].name, name))
			return fingerprint_refuse(out_error,
						  "The form has the name \"%.*s\" twice; send it "
						  "once, or as a list with [] behind the name.",
						  (int)(name.len > 60 ? 60 : name.len),
						  name.len ? name.at : "");
	}
	return 0;
}

static void write_text(struct str text, struct buf *out)
{
	char *room = text.len ? buf_reserve(out, 3 * text.len) : NULL;
	size_t len = 0;

	if (!room)
		return;
	for (size_t i = 0; i < text.len; i++) {
		if (text_is_unreserved(text.at[i])) {
			room[len++] = text.at[i];
			continue;
		}
		text_escape((unsigned char)text.at[i], room + len);
		len += 3;
	}
	buf_commit(out, len);
}

static int write_pairs(const struct form *form, struct buf *out)
{
	for (size_t i = 0; i < form->count; i++) {
		if (i > 0)
			(void)buf_append_byte(out, '&');
		write_text(form->pairs[i].name, out);
		if (!form->pairs[i].has_value)
			continue;
		(void)buf_append_byte(out, '=');
		write_text(form->pairs[i].value, out);
	}
	return out->is_spoiled ? FAIL_MEMORY : 0;
}
