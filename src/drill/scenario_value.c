/*
 * One value of a scenario: from a node of the file into the member of its row.
 *
 * Each kind has one reader, which takes all of the text or reports it, with what would have
 * been taken. Bodies and the values of pointers become JSON texts here, members in the order
 * of the file: what is not in quotes and reads as null, true, false or a number is that, all
 * else is text.
 */
#include "drill/scenario_read.h"

#include "base/err.h"
#include "config/values.h"
#include "core/text.h"
#include "json/json.h"

enum { BODY_MAX = SCENARIO_FILE_MAX * 2 };

static const char *const kind_words[] = {
	[SCENARIO_TEXT] = "a text",
	[SCENARIO_URL] = "a URL of http or https",
	[SCENARIO_PLACE] = "a URL, or a path that begins with a slash",
	[SCENARIO_PATH] = "a path that begins with a slash",
	[SCENARIO_METHOD] = "a method in upper case",
	[SCENARIO_HEADER] = "the name of a header",
	[SCENARIO_HEADERS] = "a mapping of headers",
	[SCENARIO_POINTERS] = "a mapping of JSON pointers",
	[SCENARIO_POINTER] = "a JSON pointer",
	[SCENARIO_BODY] = "a body",
	[SCENARIO_COMMAND] = "a command",
	[SCENARIO_DURATION] = "a duration",
	[SCENARIO_COUNT] = "a number",
	[SCENARIO_BOOL] = "true or false",
	[SCENARIO_CHOICE] = "one of these words",
};

/* "write.body is …; write a body, like …" */
static void refuse(struct scenario_reading *reading, const struct scenario_key *row,
		   struct place place, const char *what)
{
	char mend[SCENARIO_MEND_MAX];

	if (row->kind == SCENARIO_DURATION || row->kind == SCENARIO_COUNT)
		snprintf(mend, sizeof(mend), "write %s in its range, like %s",
			 kind_words[row->kind], row->example);
	else
		snprintf(mend, sizeof(mend), "write %s, like %s", kind_words[row->kind],
			 row->words ? row->words : row->example);
	report_add(reading->report, place, mend, "%s %s", row->name, what);
}

static void *member_of(struct scenario_reading *reading, const struct scenario_key *row)
{
	return (char *)reading->scenario + row->at;
}

/* -- JSON ---------------------------------------------------------------------------- */

static bool is_plain_json(const struct node *node, struct arena *mem)
{
	struct json_number number;

	if (!node->is_plain)
		return false;
	if (str_equal(node->text, STR("true")) || str_equal(node->text, STR("false")) ||
	    str_equal(node->text, STR("null")))
		return true;
	return json_number_read(node->text, &json_limits_default, mem, &number) == 0;
}

/* As deep as the file is, which is SETTINGS_DEPTH_MAX. */
static void write_json(const struct node *node, struct arena *mem, struct json_writer *writer)
{
	if (node->kind == NODE_LIST) {
		json_open_array(writer);
		for (const struct node *item = node->first; item; item = item->next)
			write_json(item, mem, writer);
		json_close_array(writer);
	} else if (node->kind == NODE_MAP) {
		json_open_object(writer);
		for (const struct node *key = node->first; key; key = key->next) {
			json_name_str(writer, key->text);
			write_json(key->value, mem, writer);
		}
		json_close_object(writer);
	} else if (is_plain_json(node, mem)) {
		json_raw(writer, node->text);
	} else if (node->is_plain && (node->text.len == 0 || str_equal(node->text, STR("~")))) {
		json_null(writer);
	} else {
		json_string(writer, node->text);
	}
}

static int json_of(struct scenario_reading *reading, const struct node *node, struct str *out)
{
	struct json_writer writer;
	struct buf text;

	buf_init(&text, BODY_MAX);
	json_writer_init(&writer, &text);
	write_json(node, reading->mem, &writer);
	*out = text.is_spoiled ? str_of(NULL, 0) : arena_str(reading->mem, buf_str(&text));
	buf_fini(&text);
	return out->at ? 0 : fail(FAIL_MEMORY);
}

static int read_body(struct scenario_reading *reading, struct scenario_body *body,
		     const struct node *node)
{
	body->is_given = true;
	body->is_json = node->kind != NODE_SCALAR;
	if (body->is_json)
		return json_of(reading, node, &body->text);
	body->text = arena_str(reading->mem, node->text);
	return body->text.at ? 0 : fail(FAIL_MEMORY);
}

/* -- mappings ------------------------------------------------------------------------ */

static bool is_header(struct scenario_reading *reading, const struct scenario_key *row,
		      const struct node *key)
{
	if (key->value->kind != NODE_SCALAR) {
		refuse(reading, row, key->value->place, "has a header that is no single value");
		return false;
	}
	if (!text_is_token(key->text)) {
		refuse(reading, row, key->place, "has a name that no header can have");
		return false;
	}
	for (size_t i = 0; i < key->value->text.len; i++) {
		if (text_is_control(key->value->text.at[i])) {
			refuse(reading, row, key->value->place,
			       "has a header with a control character");
			return false;
		}
	}
	return true;
}

static bool is_pointer(struct scenario_reading *reading, const struct scenario_key *row,
		       const struct node *key)
{
	if (value_is_pointer(key->text))
		return true;
	refuse(reading, row, key->place, "has a name that is no JSON pointer");
	return false;
}

static int read_pairs(struct scenario_reading *reading, const struct scenario_key *row,
		      const struct node *node)
{
	bool is_headers = row->kind == SCENARIO_HEADERS;
	struct scenario_pairs *pairs = member_of(reading, row);
	int r = 0;

	pairs->items = arena_zalloc(reading->mem, (node->count + 1) * sizeof(*pairs->items));
	if (!pairs->items)
		return fail(FAIL_MEMORY);
	for (const struct node *key = node->first; r == 0 && key; key = key->next) {
		struct scenario_pair *pair = &pairs->items[pairs->count];

		if (!(is_headers ? is_header : is_pointer)(reading, row, key))
			continue;
		pair->name = arena_str(reading->mem, key->text);
		if (is_headers)
			pair->value = arena_str(reading->mem, key->value->text);
		else
			r = json_of(reading, key->value, &pair->value);
		if (r == 0 && (!pair->name.at || !pair->value.at))
			r = fail(FAIL_MEMORY);
		pairs->count++;
	}
	return r;
}

/* -- single values ------------------------------------------------------------------- */

static bool is_upper(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.at[i] < 'A' || text.at[i] > 'Z')
			return false;
	}
	return text.len > 0 && text.len < 32;
}

static bool is_url(struct scenario_reading *reading, struct str text)
{
	struct value_refusal refusal;
	struct settings_url url;
	size_t end = str_find(text, '?');

	return value_url(str_of(text.at, end), reading->mem, &url, &refusal) == 0;
}

/* What a text must be by its kind; NULL: it is. */
static const char *fault_of(struct scenario_reading *reading, const struct scenario_key *row,
			    struct str text)
{
	bool has_slash = str_starts_with(text, STR("/"));

	for (size_t i = 0; i < text.len; i++) {
		if (text_is_control(text.at[i]) && row->kind != SCENARIO_COMMAND)
			return "has a control character";
	}
	switch (row->kind) {
	case SCENARIO_URL:
		return str_find(text, '?') == text.len && is_url(reading, text) ? NULL
										: "is no such URL";
	case SCENARIO_PLACE:
		return has_slash || str_starts_with(text, STR("http://")) ||
				       str_starts_with(text, STR("https://"))
			       ? NULL
			       : "is neither a URL nor a path";
	case SCENARIO_PATH:
		return has_slash ? NULL : "does not begin with a slash";
	case SCENARIO_METHOD:
		return is_upper(text) ? NULL : "is no method";
	case SCENARIO_HEADER:
		return text_is_token(text) ? NULL : "is no name of a header";
	case SCENARIO_POINTER:
		return value_is_pointer(text) ? NULL : "is no JSON pointer";
	default:
		return text.len ? NULL : "is empty";
	}
}

static int read_text(struct scenario_reading *reading, const struct scenario_key *row,
		     const struct node *node)
{
	const char *fault = fault_of(reading, row, node->text);
	struct str text = node->text;
	struct str *member = member_of(reading, row);

	if (fault) {
		refuse(reading, row, node->place, fault);
		return 0;
	}
	while (row->kind == SCENARIO_URL && text.len && text.at[text.len - 1] == '/')
		text.len--;
	*member = arena_str(reading->mem, text);
	return member->at ? 0 : fail(FAIL_MEMORY);
}

static void read_number(struct scenario_reading *reading, const struct scenario_key *row,
			const struct node *node)
{
	bool is_duration = row->kind == SCENARIO_DURATION;
	int64_t number;

	if (!(is_duration ? value_duration : value_count)(node->text, &number))
		refuse(reading, row, node->place, is_duration ? "is no duration" : "is no number");
	else if (number < row->min || number > row->max)
		refuse(reading, row, node->place, "is too small or too large");
	else
		*(int64_t *)member_of(reading, row) = number;
}

static void read_bool(struct scenario_reading *reading, const struct scenario_key *row,
		      const struct node *node)
{
	bool is_true = str_equal(node->text, STR("true"));

	if (!is_true && !str_equal(node->text, STR("false")))
		refuse(reading, row, node->place, "is neither true nor false");
	else
		*(bool *)member_of(reading, row) = is_true;
}

static void read_choice(struct scenario_reading *reading, const struct scenario_key *row,
			const struct node *node)
{
	struct str rest = str_from(row->words), word;

	for (int i = 0; str_split(&rest, '|', &word); i++) {
		if (str_equal(str_trim(word), node->text)) {
			*(int *)member_of(reading, row) = i;
			return;
		}
	}
	refuse(reading, row, node->place, "is another word");
}

int scenario_read_value(struct scenario_reading *reading, const struct scenario_key *row,
			const struct node *node)
{
	bool wants_map = row->kind == SCENARIO_HEADERS || row->kind == SCENARIO_POINTERS;

	if (row->kind == SCENARIO_BODY)
		return read_body(reading, member_of(reading, row), node);
	if (wants_map != (node->kind == NODE_MAP) || node->kind == NODE_LIST) {
		refuse(reading, row, node->place, "is of another kind");
		return 0;
	}
	switch (row->kind) {
	case SCENARIO_HEADERS:
	case SCENARIO_POINTERS:
		return read_pairs(reading, row, node);
	case SCENARIO_DURATION:
	case SCENARIO_COUNT:
		read_number(reading, row, node);
		return 0;
	case SCENARIO_BOOL:
		read_bool(reading, row, node);
		return 0;
	case SCENARIO_CHOICE:
		read_choice(reading, row, node);
		return 0;
	default:
		return read_text(reading, row, node);
	}
}
