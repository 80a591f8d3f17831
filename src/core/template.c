/*
 * Filling texts with {names}.
 *
 * What goes in is a client's, and the text is a question to the service: it must stay the question
 * that was configured. So each value is percent-encoded down to the unreserved characters (braces
 * too: nothing that is filled in is filled again), an empty one fills nothing ("all payments" is
 * not "this payment"), and a path that its values bend with dot segments is not asked for.
 *
 * The reserved names come first: a field of the same name is out of a template's reach.
 */
#include "core/template.h"

#include "base/err.h"
#include "core/downstream_key.h"
#include "core/fingerprint.h"
#include "core/text.h"

enum { FINISHED_MAX = 1 << 20 };

/* One text being filled. */
struct filling {
	const struct action *action;
	struct str token;
	const struct json_value *command;
	struct str values[ROUTE_SEGMENTS_MAX]; /* of the route's parameters, as in the path */
	bool has_values;
	struct arena *mem;
	struct buf *out;
};

bool template_next(struct str *text, struct str *out_literal, struct str *out_name)
{
	size_t open = text->len;

	if (text->len == 0)
		return false;
	for (size_t i = 0; i < text->len; i++) {
		if (text->at[i] == '{')
			open = i;
		if (text->at[i] != '}')
			continue;
		if (i <= open + 1) { /* nothing is open, or nothing is in it */
			open = text->len;
			continue;
		}
		*out_literal = str_of(text->at, open);
		*out_name = str_of(text->at + open + 1, i - open - 1);
		*text = str_from_index(*text, i + 1);
		return true;
	}
	*out_literal = *text;
	*out_name = str_of(NULL, 0);
	*text = str_of(NULL, 0);
	return true;
}

static int fill(struct filling *filling, struct str text);
static bool is_straight(struct str target, struct arena *mem);

/* 0 and the text in `mem`, FAIL_MEMORY. */
static int keep(const struct buf *built, struct arena *mem, struct str *out_text)
{
	struct str text = str_of(NULL, 0);

	if (!built->is_spoiled)
		text = arena_str(mem, buf_str(built));
	if (!text.at)
		return FAIL_MEMORY;
	*out_text = text;
	return 0;
}

int template_fill(struct str text, const struct action *action, struct str path, struct str token,
		  const struct json_value *command, struct arena *mem, struct str *out_text)
{
	struct filling filling = {.action = action, .token = token, .command = command, .mem = mem};
	struct str filled;
	struct buf out;
	int r;

	buf_init(&out, TEMPLATE_FILLED_MAX);
	if (!buf_reserve(&out, TEMPLATE_FILLED_MAX)) /* from here on it is only ever too long */
		return FAIL_MEMORY;
	filling.out = &out;
	filling.has_values = route_matches(&action->route, path, filling.values);
	r = fill(&filling, text);
	if (r == 0)
		r = out.is_spoiled ? TEMPLATE_ABSENT : keep(&out, mem, &filled);
	buf_fini(&out);
	if (r == 0 && !is_straight(filled, mem))
		r = TEMPLATE_ABSENT;
	if (r == 0)
		*out_text = filled;
	return r;
}

/* Is its path one that no server resolves into another? */
static bool is_straight(struct str target, struct arena *mem)
{
	struct str path = str_of(target.at, str_find(target, '?')), normal;
	struct fingerprint_error error;

	return path.len == 0 || path_normalise(path, mem, &normal, &error) == 0;
}

static void add_encoded(struct buf *out, struct str value)
{
	char escape[3];

	for (size_t i = 0; i < value.len; i++) {
		if (text_is_unreserved(value.at[i])) {
			(void)buf_append_byte(out, value.at[i]);
			continue;
		}
		text_escape((unsigned char)value.at[i], escape);
		(void)buf_append(out, escape, sizeof(escape));
	}
}

/* A segment of the path, in which some bytes are escaped and others need not be. */
static void add_segment(struct buf *out, struct str segment)
{
	for (size_t i = 0; i < segment.len; i++) {
		int byte = segment.at[i] == '%' ? text_unescape(segment, i) : -1;
		char c = byte < 0 ? segment.at[i] : (char)byte;

		add_encoded(out, str_of(&c, 1));
		i += byte < 0 ? 0 : 2;
	}
}

static int add_number(struct filling *filling, const struct json_value *number)
{
	struct str text;

	if (json_canonical_str(number, filling->mem, &text) != 0)
		return FAIL_MEMORY;
	add_encoded(filling->out, text);
	return 0;
}

static int add_value(struct filling *filling, const struct json_value *value)
{
	switch (value->type) {
	case JSON_STRING:
		if (value->string.len == 0)
			return TEMPLATE_ABSENT;
		add_encoded(filling->out, value->string);
		return 0;
	case JSON_NUMBER:
		return add_number(filling, value);
	case JSON_TRUE:
	case JSON_FALSE:
		return buf_append_str(filling->out,
				      value->type == JSON_TRUE ? STR("true") : STR("false"));
	default:
		return TEMPLATE_ABSENT;
	}
}

static int add_field(struct filling *filling, const struct action_field *field)
{
	const struct json_value *value = NULL;

	if (filling->command)
		value = json_member(filling->command, field->name);
	if (value && field->type == FIELD_MONEY)
		value = json_member(value, STR("minor_units"));
	return value ? add_value(filling, value) : TEMPLATE_ABSENT;
}

static int add_parameter(struct filling *filling, struct str name)
{
	size_t parameter;

	if (!filling->has_values || !route_parameter(&filling->action->route, name, &parameter))
		return TEMPLATE_ABSENT;
	add_segment(filling->out, filling->values[parameter]);
	return 0;
}

static int add_name(struct filling *filling, struct str name)
{
	const struct action_field *field;

	if (str_equal(name, STR(TEMPLATE_DOWNSTREAM_KEY)) ||
	    str_equal(name, STR(TEMPLATE_OPERATION))) {
		(void)buf_append_byte(filling->out, '{');
		(void)buf_append_str(filling->out, name);
		return buf_append_byte(filling->out, '}');
	}
	if (str_equal(name, STR(TEMPLATE_TOKEN))) {
		add_encoded(filling->out, filling->token);
		return filling->token.len ? 0 : TEMPLATE_ABSENT;
	}
	field = action_field(filling->action->fields, filling->action->field_count, name);
	return field ? add_field(filling, field) : add_parameter(filling, name);
}

static int fill(struct filling *filling, struct str text)
{
	struct str literal, name;
	int r = 0;

	while (r == 0 && template_next(&text, &literal, &name)) {
		(void)buf_append_str(filling->out, literal);
		if (name.len)
			r = add_name(filling, name);
	}
	return r == FAIL_LIMIT ? TEMPLATE_ABSENT : r;
}

static void finish_name(struct buf *out, struct str name, const struct operation_id *id)
{
	char operation[OPERATION_ID_TEXT + 1], key[DOWNSTREAM_KEY_TEXT + 1];

	if (str_equal(name, STR(TEMPLATE_DOWNSTREAM_KEY))) {
		downstream_key_write(id, key);
		(void)buf_append_str(out, str_from(key));
	} else if (str_equal(name, STR(TEMPLATE_OPERATION))) {
		operation_id_write(id, operation);
		(void)buf_append_str(out, str_from(operation));
	} else {
		(void)buf_append_byte(out, '{');
		(void)buf_append_str(out, name);
		(void)buf_append_byte(out, '}');
	}
}

int template_finish(struct str text, const struct operation_id *id, struct arena *mem,
		    struct str *out_target)
{
	struct str literal, name;
	struct buf out;
	int r;

	buf_init(&out, FINISHED_MAX);
	while (template_next(&text, &literal, &name)) {
		(void)buf_append_str(&out, literal);
		if (name.len)
			finish_name(&out, name, id);
	}
	r = keep(&out, mem, out_target);
	buf_fini(&out);
	return r;
}
