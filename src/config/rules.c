/*
 * Rules of declared actions: the values that only they have.
 *
 * Names are read as they are written; what they stand for is found once the whole action is
 * there (check_rule.c). A list is refused as a whole when an item of it is: what follows from
 * it is then not looked at.
 */
#include "config/table.h"

#include "base/err.h"
#include "config/values.h"

enum { MEND_MAX = 256, CONDITION_SECTION_MAX = 64 };

/* Of one text, from a node that is a single value. 0 or FAIL_MEMORY; else reported. */
typedef int text_reader(struct reading *reading, const struct setting *setting, struct str *member,
			const struct node *node);

static int keep(struct reading *reading, struct str text, struct str *member)
{
	struct str copy = arena_str(&reading->settings->mem, text);

	if (!copy.at)
		return fail(FAIL_MEMORY);
	*member = copy;
	return 0;
}

static int refuse(struct reading *reading, const struct setting *setting, const struct node *node,
		  const char *what, const char *mend)
{
	char shown[QUOTE_SIZE];

	value_report(reading, setting, node->place, mend, "has `%s`, which %s",
		     quote(shown, node->text), what);
	return 0;
}

/* "project", "/customer/id" */
static int read_part(struct reading *reading, const struct setting *setting, struct str *member,
		     const struct node *node)
{
	bool is_pointer = node->text.len > 0 && node->text.at[0] == '/';

	if (is_pointer ? !value_is_pointer(node->text) : !value_is_member(node->text))
		return refuse(reading, setting, node, "names nothing",
			      "write the name of a field or of a parameter of the route, or a JSON "
			      "pointer like /customer/id");
	return keep(reading, node->text, member);
}

static int read_member(struct reading *reading, const struct setting *setting, struct str *member,
		       const struct node *node)
{
	if (!value_is_member(node->text) || node->text.at[0] == '/')
		return refuse(reading, setting, node, "is not the name of a member",
			      "write the name of a member of the body itself, like reference");
	return keep(reading, node->text, member);
}

static int read_path(struct reading *reading, const struct setting *setting, struct str *member,
		     const struct node *node)
{
	if (node->text.len > SETTINGS_TEXT_MAX || !value_is_plain(node->text))
		return refuse(reading, setting, node, "is not a path", "write the path of a file");
	return keep(reading, node->text, member);
}

/* "/data/0", "response/data/0"; "response" is the whole. */
static int read_answer(struct reading *reading, const struct setting *setting, struct str *member,
		       const struct node *node)
{
	const struct str whole = STR("response");
	struct str rest = node->text;

	if (str_starts_with(rest, whole))
		rest = str_from_index(rest, whole.len);
	if (!value_is_pointer(rest) && !str_equal(node->text, whole))
		return refuse(reading, setting, node, "is not a JSON pointer into an answer",
			      "write a slash before each name, like /id or /data/0");
	return keep(reading, rest, member);
}

/* NULL: a question may be written like that; else what is wrong, and *out_mend. */
static const char *why_no_question(struct str text, const char **out_mend)
{
	bool is_inside = false;

	*out_mend = "write path and query, like /v1/payments?reference={downstream_key}";
	if (text.len == 0 || text.at[0] != '/')
		return "does not begin with a slash";
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.at[i];

		if ((c == '{' && is_inside) || (c == '}' && !is_inside)) {
			*out_mend = "write names like {invoice_id}; a brace that is none, as %7B "
				    "or %7D";
			return "has a brace without its other one";
		}
		if (c == '}' && text.at[i - 1] == '{') {
			*out_mend = "write a name into them, like {invoice_id}";
			return "has braces without a name";
		}
		if (!is_inside && (c <= 0x20 || c >= 0x7f || strchr("\"#<>\\^`|", c))) {
			*out_mend = "write it percent-encoded, like %20";
			return "has a character that a path and a query cannot have";
		}
		is_inside = c == '{' || (is_inside && c != '}');
	}
	*out_mend = "close it: {invoice_id}";
	return is_inside ? "has a { without its }" : NULL;
}

static int read_question(struct reading *reading, const struct setting *setting, struct str *member,
			 const struct node *node)
{
	const char *mend, *why = why_no_question(node->text, &mend);

	if (why) {
		value_report(reading, setting, node->place, mend, "%s", why);
		return 0;
	}
	return keep(reading, node->text, member);
}

static int read_texts(struct reading *reading, const struct setting *setting,
		      struct text_list *member, const struct node *list, size_t max,
		      text_reader *read)
{
	struct str *texts =
		arena_zalloc(&reading->settings->mem, (list->count + 1) * sizeof(*texts));
	size_t count = 0;
	char mend[MEND_MAX];
	int r = 0;

	if (!texts)
		return fail(FAIL_MEMORY);
	snprintf(mend, sizeof(mend), "list 1 to %zu, like %s", max, setting->example);
	if (list->count == 0 || list->count > max)
		value_report(reading, setting, list->place, mend,
			     list->count == 0 ? "is empty" : "has too many items");
	for (const struct node *item = list->first; r == 0 && item; item = item->next) {
		if (!read_is_item(reading, setting, item))
			continue;
		if (read_is_repeated(list, item))
			refuse(reading, setting, item, "is there already", "remove one of the two");
		r = read(reading, setting, &texts[count], item);
		count += texts[count].at != NULL;
	}
	*member = (struct text_list){texts, count};
	return r;
}

/* Values that a condition compares with: an answer's texts, numbers, true, false or null. */
static bool is_comparable(struct reading *reading, const struct json_value *value)
{
	struct place place = reading->root->place;

	place.line = value->line;
	place.column = value->column;
	if (value->type != JSON_OBJECT && value->type != JSON_ARRAY)
		return true;
	report_add(reading->report, place, "lead `at` to what lies in it, and compare that",
		   "a condition compares with a text, a number, true, false or null alone");
	return false;
}

/* What makes the condition hold, as choices: `is`, or `in`. */
static int put_choices(struct reading *reading, const struct node *map,
		       struct condition_draft *draft, struct rule_condition *condition)
{
	const struct node *in = node_key(map, STR("in"));

	if (in && node_key(map, STR("is")))
		report_add(reading->report, in->place, "put all of its values into `in`",
			   "the condition has `is` and `in`");
	if (draft->is) {
		draft->in.values =
			arena_alloc(&reading->settings->mem, sizeof(const struct json_value *));
		if (!draft->in.values)
			return fail(FAIL_MEMORY);
		draft->in.values[0] = draft->is;
		draft->in.count = 1;
	}
	for (size_t i = 0; i < draft->in.count; i++) {
		if (!is_comparable(reading, draft->in.values[i]))
			break;
	}
	condition->pointer = draft->at;
	condition->choices = draft->in.values;
	condition->choice_count = draft->in.count;
	return 0;
}

static int read_condition(struct reading *reading, struct node *map,
			  struct rule_condition *condition)
{
	/* Where its rows are: CONDITION_PREFIX without its last dot. */
	static const char section[] = CONDITION_PREFIX;
	char shortened[CONDITION_SECTION_MAX];
	struct condition_draft draft = {0};
	int r;

	snprintf(shortened, sizeof(shortened), "%.*s", (int)(sizeof(section) - 2), section);
	r = read_map(reading, shortened, &draft, map);
	if (r == 0 && !node_key(map, STR("at")))
		report_add(reading->report, map->place, "add at: /status, or where else it looks",
			   "the condition says nothing of where it looks");
	return r == 0 ? put_choices(reading, map, &draft, condition) : r;
}

static int read_conditions(struct reading *reading, const struct setting *setting,
			   struct rule_response *response, const struct node *list)
{
	struct rule_condition *conditions =
		arena_zalloc(&reading->settings->mem, (list->count + 1) * sizeof(*conditions));
	int r = 0;

	if (!conditions)
		return fail(FAIL_MEMORY);
	if (list->count == 0 || list->count > RULE_CONDITIONS_MAX)
		value_report(reading, setting, list->place,
			     "list 1 to 16 conditions, like [{at: /status, is: failed}]",
			     list->count == 0 ? "is empty" : "has too many items");
	for (struct node *item = list->first; r == 0 && item; item = item->next) {
		if (item->is_refused)
			continue;
		if (item->kind == NODE_MAP)
			r = read_condition(reading, item,
					   &conditions[response->failed_when_count++]);
		else
			value_report(reading, setting, item->place,
				     "write each as a mapping, like {at: /status, is: failed}",
				     "has an item that is not a condition");
	}
	response->failed_when = conditions;
	return r;
}

/* Of roles and accounts. */
static int read_word(struct reading *reading, const struct setting *setting, struct str *member,
		     const struct node *node)
{
	if (node->text.len > SETTINGS_TEXT_MAX || !value_is_plain(node->text))
		return refuse(reading, setting, node, "is no word", "write a word like approver");
	return keep(reading, node->text, member);
}

/* What it is true of, `is` as a list of one. */
static int put_values(struct reading *reading, struct when_draft *draft)
{
	const struct node *in = node_key(draft->map, STR("in"));

	if (!draft->is || in)
		return 0; /* both are reported with the action */
	draft->in.values = arena_alloc(&reading->settings->mem, sizeof(const struct json_value *));
	if (!draft->in.values)
		return fail(FAIL_MEMORY);
	draft->in.values[0] = draft->is;
	draft->in.count = 1;
	return 0;
}

static int read_when_item(struct reading *reading, struct node *map, struct when_draft *draft)
{
	/* Where its rows are: WHEN_PREFIX without its last dot. */
	static const char section[] = WHEN_PREFIX;
	char shortened[CONDITION_SECTION_MAX];
	size_t before = reading_errors(reading);
	int r;

	snprintf(shortened, sizeof(shortened), "%.*s", (int)(sizeof(section) - 2), section);
	draft->map = map;
	r = read_map(reading, shortened, draft, map);
	if (r == 0)
		r = put_values(reading, draft);
	draft->is_wrong = reading_errors(reading) > before;
	return r;
}

static int read_when_list(struct reading *reading, const struct setting *setting,
			  struct when_list *when, const struct node *list)
{
	int r = 0;

	when->conditions = arena_zalloc(&reading->settings->mem,
					(list->count + 1) * sizeof(*when->conditions));
	if (!when->conditions)
		return fail(FAIL_MEMORY);
	if (list->count == 0 || list->count > RULE_CONDITIONS_MAX)
		value_report(reading, setting, list->place,
			     "write always, or 1 to 16 conditions, like [{field: amount, over: "
			     "100000}]",
			     list->count == 0 ? "is empty" : "has too many items");
	for (struct node *item = list->first; r == 0 && item; item = item->next) {
		if (item->is_refused)
			continue;
		if (item->kind == NODE_MAP)
			r = read_when_item(reading, item, &when->conditions[when->count++]);
		else
			value_report(reading, setting, item->place,
				     "write each as a mapping, like {field: amount, over: 100000}",
				     "has an item that is not a condition");
	}
	return r;
}

static int read_when(struct reading *reading, const struct setting *setting, struct when_list *when,
		     const struct node *node)
{
	if (node->kind == NODE_LIST)
		return read_when_list(reading, setting, when, node);
	when->is_always = str_equal(node->text, STR("always"));
	return when->is_always
		       ? 0
		       : refuse(reading, setting, node, "is not always, the one word it takes",
				"write always, or a list of conditions, like [{field: amount, "
				"over: 100000}]");
}

int value_read_of_rule(struct reading *reading, const struct setting *setting, void *member,
		       struct node *node)
{
	switch (setting->kind) {
	case KIND_PART:
		return read_part(reading, setting, member, node);
	case KIND_PARTS:
		return read_texts(reading, setting, member, node, RULE_PARTS_MAX, read_part);
	case KIND_PATHS:
		return read_texts(reading, setting, member, node, RULE_SECRETS_MAX, read_path);
	case KIND_ANCHORS:
	case KIND_WITNESSES:
		return read_texts(reading, setting, member, node, SETTINGS_PLACES_MAX, read_path);
	case KIND_WORDS:
		return read_texts(reading, setting, member, node, RULE_PARTS_MAX, read_word);
	case KIND_WHEN:
		return read_when(reading, setting, member, node);
	case KIND_MEMBER:
		return read_member(reading, setting, member, node);
	case KIND_ANSWER:
		return read_answer(reading, setting, member, node);
	case KIND_QUESTION:
		return read_question(reading, setting, member, node);
	case KIND_CONDITIONS:
		return read_conditions(reading, setting, member, node);
	default:
		unreachable("a kind without a reader");
	}
}
