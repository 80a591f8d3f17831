/*
 * Sample commands.
 *
 * Every declared field is written, in the order of its action, but for those that the service or
 * the gate fills in, and for an expected version that may be left out. A value is drawn by name
 * and number, within what its field allows; the gate has the last word on whether it does.
 *
 * Can fail: a pattern or a length that nothing was found for.
 */
#include "drill/sample.h"

#include "base/buf.h"
#include "base/err.h"

#include <stdio.h>

enum { BODY_MAX = 256 * 1024, TEXT_MAX = 4096, DEPTH_MAX = 16, STRETCHES = 80, TRIES = 8 };

struct making {
	const struct action *action;
	const struct sample_wish *wish;
	struct arena *mem;
	struct json_writer writer;
	struct str marker; /* of the wish's own number */
	bool has_marker;   /* it was written somewhere */
	bool has_token;
	int result;
	char *why;
};

static void write_fields(struct making *making, const struct action_field *fields, size_t count,
			 const char *above, int depth);
static void write_value(struct making *making, const struct action_field *field,
			const struct action_field *beside, size_t beside_count, const char *pointer,
			int depth);
static void add_token(struct making *making);
static int make_path(struct making *making, struct str *out_path);

static struct str marker_of(const struct making *making, unsigned number)
{
	return arena_printf(making->mem, "drill%.*s%05u", STR_ARG(making->wish->run), number);
}

int sample_make(const struct action *action, const struct sample_wish *wish, struct arena *mem,
		struct sample *out_sample, char why[SAMPLE_WHY_MAX])
{
	struct making making = {.action = action, .wish = wish, .mem = mem, .why = why};
	struct sample sample = {0};
	struct buf body;

	buf_init(&body, BODY_MAX);
	json_writer_init(&making.writer, &body);
	making.marker = marker_of(&making, wish->number);
	json_open_object(&making.writer);
	write_fields(&making, action->fields, action->field_count, "", 0);
	add_token(&making);
	json_close_object(&making.writer);
	sample.body = arena_str(mem, buf_str(&body));
	sample.has_body = action->has_fields || !action->is_natural;
	if (making.result == 0)
		making.result = make_path(&making, &sample.path);
	if (making.result == 0 && (body.is_spoiled || !sample.body.at || !making.marker.at))
		making.result = fail(FAIL_MEMORY);
	buf_fini(&body);
	if (making.result != 0)
		return making.result;
	sample.marker = making.has_marker ? making.marker : STR("");
	*out_sample = sample;
	return 0;
}

/* -- which value --------------------------------------------------------------------- */

static bool is_part(const struct rule_part *part, const char *pointer)
{
	return part->pointer.len && str_equal(part->pointer, str_from(pointer));
}

static unsigned number_at(const struct making *making, const char *pointer)
{
	for (size_t i = 0; i < making->wish->same_count; i++) {
		if (is_part(&making->wish->same[i], pointer))
			return making->wish->same_number;
	}
	return making->wish->number;
}

static bool is_currency_of(struct str name, const struct action_field *beside, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (beside[i].type == FIELD_MONEY && str_equal(beside[i].currency_field, name))
			return true;
	}
	return false;
}

static bool is_left_out(const struct making *making, const struct action_field *field,
			const char *pointer)
{
	struct str here = str_from(pointer);

	if (field->is_server_assigned)
		return true;
	if (making->action->downstream_key.field.len &&
	    str_equal(making->action->downstream_key.field, field->name))
		return true;
	return !field->is_required && str_equal(making->action->lock.version, here);
}

static void write_fields(struct making *making, const struct action_field *fields, size_t count,
			 const char *above, int depth)
{
	for (size_t i = 0; i < count && making->result == 0; i++) {
		char pointer[TEXT_MAX];

		snprintf(pointer, sizeof(pointer), "%.2000s/%.*s", above, STR_ARG(fields[i].name));
		if (is_left_out(making, &fields[i], pointer))
			continue;
		json_name_str(&making->writer, fields[i].name);
		write_value(making, &fields[i], fields, count, pointer, depth);
	}
}

static void write_token(struct making *making)
{
	json_string(&making->writer, making->wish->token);
	making->has_token = true;
}

/* A token in the body need not be a field. */
static void add_token(struct making *making)
{
	struct str pointer = making->action->token_pointer, name = str_from_index(pointer, 1);

	if (!pointer.len || making->has_token || making->result != 0)
		return;
	if (memchr(name.at, '/', name.len) || memchr(name.at, '~', name.len)) {
		snprintf(making->why, SAMPLE_WHY_MAX, "the token lies deeper than samples go");
		making->result = SAMPLE_IMPOSSIBLE;
		return;
	}
	json_name_str(&making->writer, name);
	write_token(making);
}

/* -- values -------------------------------------------------------------------------- */

static void refuse(struct making *making, const struct action_field *field, const char *what)
{
	snprintf(making->why, SAMPLE_WHY_MAX, "no %s was found for the field %.*s", what,
		 STR_ARG(field->name));
	making->result = SAMPLE_IMPOSSIBLE;
}

static size_t characters(struct str text)
{
	size_t count = 0;

	for (size_t i = 0; i < text.len; i++)
		count += ((unsigned char)text.at[i] & 0xc0) != 0x80;
	return count;
}

static bool is_fit(const struct action_field *field, struct str text)
{
	size_t len = characters(text);
	bool does = true;

	require(text.len <= TEXT_MAX);
	if (field->has_minimum_length && len < field->minimum_length)
		return false;
	if (field->has_maximum_length && len > field->maximum_length)
		return false;
	return !field->pattern || (matcher_ask(field->pattern, text, &does) == 0 && does);
}

/* A text that the pattern has: of ever more repetitions until it is long enough, some tries each.
 */
static bool find_by_pattern(const struct action_field *field, uint64_t seed, struct buf *out)
{
	for (unsigned i = 0; i < STRETCHES * TRIES; i++) {
		unsigned stretch =
			(i / TRIES + 8) % STRETCHES; /* long enough to differ, at first */

		buf_clear(out);
		if (!sample_pattern(field->pattern_text, stretch, &seed, out))
			return false;
		if (is_fit(field, buf_str(out)))
			return true;
	}
	return false;
}

/* The marker; its end where there is less room, and more of the same where more is wanted. */
static void write_marker(struct making *making, const struct action_field *field, unsigned number,
			 struct buf *out)
{
	struct str marker = marker_of(making, number);

	if (field->has_maximum_length && marker.len > field->maximum_length)
		marker = str_from_index(marker, marker.len - field->maximum_length);
	buf_append_str(out, marker);
	while (field->has_minimum_length && out->len < field->minimum_length && !out->is_spoiled)
		buf_append_byte(out, 'x');
}

static bool contains(struct str text, struct str part)
{
	return part.len && memmem(text.at, text.len, part.at, part.len);
}

static void write_string(struct making *making, const struct action_field *field, unsigned number)
{
	uint64_t seed = number * UINT64_C(0x2545f4914f6cdd1d);
	struct buf text;

	for (size_t i = 0; i < making->wish->run.len; i++)
		seed = seed * 31 + (unsigned char)making->wish->run.at[i];
	buf_init(&text, TEXT_MAX);
	write_marker(making, field, number, &text);
	if (is_fit(field, buf_str(&text)) ||
	    (field->pattern && find_by_pattern(field, seed, &text))) {
		json_string(&making->writer, buf_str(&text));
		making->has_marker |= contains(buf_str(&text), making->marker);
	} else {
		refuse(making, field, "text");
	}
	buf_fini(&text);
}

/* `wanted`, or the nearest that the field allows. */
static int64_t within(const struct action_field *field, int64_t wanted)
{
	int64_t bound;

	if (field->maximum && json_number_to_i64(field->maximum, &bound) && wanted > bound)
		wanted = bound;
	if (field->minimum && json_number_to_i64(field->minimum, &bound) && wanted < bound)
		wanted = bound;
	return wanted;
}

static void write_reference(struct making *making, unsigned number)
{
	struct str text = arena_printf(making->mem, "sha256:%056x%08x", 0, number);

	json_string(&making->writer, text);
}

static void write_choice(struct making *making, const struct json_value *choice)
{
	struct str text;

	if (json_canonical_str(choice, making->mem, &text) == 0)
		json_raw(&making->writer, text);
	else
		making->result = fail(FAIL_MEMORY);
}

static void write_array(struct making *making, const struct action_field *field,
			const char *pointer, int depth)
{
	size_t wanted = field->has_minimum_length ? field->minimum_length : 1;

	if (field->has_maximum_length && wanted > field->maximum_length)
		wanted = field->maximum_length;
	json_open_array(&making->writer);
	for (size_t i = 0; field->fields && i < wanted && i < TEXT_MAX && making->result == 0; i++)
		write_value(making, field->fields, NULL, 0, pointer, depth + 1);
	json_close_array(&making->writer);
}

static void write_object(struct making *making, const struct action_field *field,
			 const char *pointer, int depth)
{
	json_open_object(&making->writer);
	if (field->fields)
		write_fields(making, field->fields, field->field_count, pointer, depth + 1);
	json_close_object(&making->writer);
}

static void write_typed(struct making *making, const struct action_field *field, unsigned number,
			const char *pointer, int depth)
{
	switch (field->type) {
	case FIELD_INTEGER:
	case FIELD_DECIMAL:
	case FIELD_MONEY:
		json_integer(&making->writer, within(field, 10 + number % 80));
		return;
	case FIELD_BOOLEAN:
		json_boolean(&making->writer, true);
		return;
	case FIELD_REFERENCE:
		write_reference(making, number);
		return;
	case FIELD_TIMESTAMP:
		json_string(&making->writer,
			    arena_printf(making->mem, "2030-01-01T%02u:%02u:%02uZ",
					 number / 3600 % 24, number / 60 % 60, number % 60));
		return;
	case FIELD_OBJECT:
		write_object(making, field, pointer, depth);
		return;
	case FIELD_ARRAY:
		write_array(making, field, pointer, depth);
		return;
	default:
		write_string(making, field, number);
	}
}

static void write_value(struct making *making, const struct action_field *field,
			const struct action_field *beside, size_t beside_count, const char *pointer,
			int depth)
{
	const struct sample_wish *wish = making->wish;
	unsigned number = number_at(making, pointer);

	if (depth > DEPTH_MAX)
		refuse(making, field, "value so deep down");
	else if (making->action->token_pointer.len &&
		 str_equal(making->action->token_pointer, str_from(pointer)))
		write_token(making);
	else if (wish->given && is_part(wish->given, pointer))
		json_string(&making->writer, wish->given_text);
	else if (wish->amount && str_equal(wish->amount_at, str_from(pointer)))
		json_integer(&making->writer, within(field, wish->amount));
	else if (field->choice_count)
		write_choice(making, field->choices[number % field->choice_count]);
	else if (is_currency_of(field->name, beside, beside_count))
		json_string(&making->writer, STR("EUR"));
	else
		write_typed(making, field, number, pointer, depth);
}

/* -- the path ------------------------------------------------------------------------ */

static unsigned parameter_number(const struct making *making, size_t parameter)
{
	for (size_t i = 0; i < making->wish->same_count; i++) {
		const struct rule_part *part = &making->wish->same[i];

		if (!part->pointer.len && part->parameter == parameter)
			return making->wish->same_number;
	}
	return making->wish->number;
}

static int make_path(struct making *making, struct str *out_path)
{
	const struct route *route = &making->action->route;
	const struct rule_part *given = making->wish->given;
	size_t parameter = 0;
	struct buf path;

	buf_init(&path, TEXT_MAX);
	for (size_t i = 0; i < route->count; i++) {
		buf_append_byte(&path, '/');
		if (!route->segments[i].is_parameter) {
			buf_append_str(&path, route->segments[i].text);
		} else if (given && !given->pointer.len && given->parameter == parameter) {
			buf_append_str(&path, making->wish->given_text);
			parameter++;
		} else {
			unsigned number = parameter_number(making, parameter++);

			buf_append_str(&path, marker_of(making, number));
			making->has_marker |= number == making->wish->number;
		}
	}
	if (route->has_slash || !route->count)
		buf_append_byte(&path, '/');
	*out_path = arena_str(making->mem, buf_str(&path));
	buf_fini(&path);
	return out_path->at ? 0 : fail(FAIL_MEMORY);
}
