/*
 * Whether people are asked about a command, and what they are shown (see approval.h).
 *
 * A condition that cannot be judged asks: a text too long to be matched, a number that is none, a
 * value of another kind than the one it is compared with. Whether a text is the one that is named
 * is for the service to say, so it is what any service might take for it.
 */
#include "core/approval.h"

#include "base/err.h"
#include "core/alike.h"
#include "core/money.h"
#include "core/template.h"
#include "core/text.h"

#include <stdio.h>
#include <unictype.h>
#include <unistr.h>

enum { SHOWN_MAX = 64 * 1024 * 1024, CODE_MAX = 16 };

/* One command being looked at. */
struct looking {
	const struct action *action;
	const struct json_value *command;
	struct str values[ROUTE_SEGMENTS_MAX]; /* of the route's parameters */
	bool has_values;
	struct arena *mem;
	size_t cost; /* of matching, so far */
};

static struct looking look(const struct action *action, struct str path,
			   const struct json_value *command, struct arena *mem)
{
	struct looking looking = {.action = action, .command = command, .mem = mem};

	looking.has_values = route_matches(&action->route, path, looking.values);
	return looking;
}

/* A parameter of the route without its escapes. 0, FAIL_MEMORY. */
static int parameter_text(const struct looking *looking, size_t parameter, struct str *out_text)
{
	struct str value = looking->has_values ? looking->values[parameter] : STR("");

	return text_unescape_all(value, looking->mem, out_text);
}

/* Conditions */

static bool is_boolean(const struct json_value *value)
{
	return value->type == JSON_TRUE || value->type == JSON_FALSE;
}

/* Might the service take `value` for `choice`? One of another kind is not for us to judge: "7"? */
static int is_taken_for(const struct json_value *choice, const struct json_value *value,
			struct arena *mem, bool *out_is)
{
	bool is_null = choice->type == JSON_NULL || value->type == JSON_NULL;

	*out_is = choice->type == value->type ||
		  (!is_null && !(is_boolean(choice) && is_boolean(value)));
	if (choice->type != value->type)
		return 0;
	if (choice->type == JSON_STRING)
		return alike_ask(choice->string, value->string, mem, out_is);
	if (choice->type == JSON_NUMBER)
		*out_is = json_number_compare(&choice->number, &value->number) == 0;
	return 0;
}

static int is_chosen(const struct rule_approval_condition *condition,
		     const struct json_value *value, struct arena *mem, bool *out_is)
{
	static const struct json_value nothing = {.type = JSON_NULL};
	int r = 0;

	*out_is = false;
	for (size_t i = 0; r == 0 && !*out_is && i < condition->choice_count; i++)
		r = is_taken_for(condition->choices[i], value ? value : &nothing, mem, out_is);
	return r;
}

static bool is_more(const struct rule_approval_condition *condition, const struct json_value *value,
		    struct arena *mem)
{
	const struct json_value *currency = json_member(value, STR("currency"));
	struct json_number number;
	bool is_money = value->type == JSON_OBJECT;

	if (is_money) {
		if (condition->currency.len && !(currency && currency->type == JSON_STRING &&
						 str_equal(currency->string, condition->currency)))
			return true;
		value = json_member(value, STR("minor_units"));
	}
	if (value && value->type == JSON_NUMBER) /* below zero it goes the other way round */
		return (is_money && value->number.is_negative) ||
		       json_number_compare(&value->number, condition->over) > 0;
	if (!value || value->type != JSON_STRING ||
	    json_number_read(value->string, &json_limits_default, mem, &number) != 0)
		return true;
	return json_number_compare(&number, condition->over) > 0;
}

static int matches(struct looking *looking, const struct rule_approval_condition *condition,
		   struct str text, bool *out_does)
{
	*out_does = true;
	if (text.len > MATCHER_TEXT_MAX || str_find(text, '\0') < text.len)
		return 0;
	looking->cost += matcher_cost(condition->pattern, text.len);
	if (looking->cost > MATCHER_COST_MAX)
		return 0;
	return matcher_ask(condition->pattern, text, out_does);
}

static int holds_for(struct looking *looking, const struct rule_approval_condition *condition,
		     const struct json_value *value, bool *out_holds)
{
	bool is_there = value && value->type != JSON_NULL;
	int r = is_chosen(condition, value, looking->mem, out_holds);

	if (r < 0)
		return r;
	if (is_there && condition->over)
		*out_holds = is_more(condition, value, looking->mem);
	if (!is_there || !condition->pattern)
		return 0;
	if (value->type == JSON_STRING)
		return matches(looking, condition, value->string, out_holds);
	*out_holds = true;
	return 0;
}

static int holds(struct looking *looking, const struct rule_approval_condition *condition,
		 bool *out_holds)
{
	struct json_value text = {.type = JSON_STRING};
	const struct json_value *value = NULL;
	int r;

	if (condition->part.pointer.len) {
		if (looking->command)
			value = json_at(looking->command, condition->part.pointer);
		return holds_for(looking, condition, value, out_holds);
	}
	r = parameter_text(looking, condition->part.parameter, &text.string);
	if (r == 0)
		r = holds_for(looking, condition, &text, out_holds);
	/* Routers cut off what is behind a semicolon, and a format (.json). */
	for (const char *cut = ";."; r == 0 && !*out_holds && *cut; cut++) {
		text.string.len = str_find(text.string, *cut);
		r = holds_for(looking, condition, &text, out_holds);
	}
	return r;
}

int approval_is_asked(const struct action *action, struct str path,
		      const struct json_value *command, struct arena *mem,
		      struct approval_need *out_need)
{
	const struct rule_approval *rule = &action->approval;
	struct looking looking = look(action, path, command, mem);
	struct approval_need need = {.is_asked = rule->is_declared && rule->is_always};

	for (size_t i = 0; i < rule->when_count && !need.is_asked; i++) {
		const struct rule_approval_condition *condition = &rule->when[i];
		int r = 0;

		if (condition->is_first_use)
			need.unless_known = true;
		else
			r = holds(&looking, condition, &need.is_asked);
		if (r < 0)
			return r;
	}
	need.unless_known = need.unless_known && !need.is_asked;
	need.is_asked = need.is_asked || need.unless_known;
	*out_need = need;
	return 0;
}

/* Making things visible */

/* Does it show as what it is, and leave its neighbours alone? */
static bool is_plain(ucs4_t c)
{
	if (c < 0x80)
		return c >= 0x20 && c != 0x7f;
	if (c == 0x2800 || uc_is_property(c, UC_PROPERTY_DEFAULT_IGNORABLE_CODE_POINT) ||
	    uc_is_property(c, UC_PROPERTY_VARIATION_SELECTOR))
		return false;
	return !uc_is_general_category_withtable(c, UC_CATEGORY_MASK_C | UC_CATEGORY_MASK_Z);
}

static void add_code(struct buf *out, unsigned code)
{
	char text[CODE_MAX];
	int len = snprintf(text, sizeof(text), "\\u{%X}", code);

	(void)buf_append(out, text, (size_t)len);
}

/* `quotes`: marks of quotation are written as codes too. */
static void add_visible(struct str text, bool quotes, struct buf *out)
{
	for (size_t at = 0; at < text.len;) {
		const uint8_t *bytes = (const uint8_t *)text.at + at;
		ucs4_t c = 0;
		int len = u8_mbtoucr(&c, bytes, text.len - at);
		bool is_code = c == '\\' && at + 2 < text.len && bytes[1] == 'u' && bytes[2] == '{';
		bool is_quote = c == 0x201c || c == 0x201d;

		if (len <= 0) { /* no UTF-8: the byte */
			add_code(out, bytes[0]);
			at++;
			continue;
		}
		if (is_code || (quotes && is_quote) || !is_plain(c))
			add_code(out, c);
		else
			(void)buf_append(out, bytes, (size_t)len);
		at += (size_t)len;
	}
}

void approval_visible(struct str text, struct buf *out)
{
	add_visible(text, false, out);
}

/* At most so many bytes of `text`, which ends in … where it was cut, and within no character. */
static struct str cut(struct str text, size_t max, bool *out_is_cut)
{
	*out_is_cut = text.len > max;
	if (!*out_is_cut)
		return text;
	while (max && ((unsigned char)text.at[max] & 0xc0) == 0x80)
		max--;
	return str_of(text.at, max);
}

/* The command */

/* One that knows its fields, or NULL and 0: whatever is in it. */
struct fields {
	const struct action_field *fields;
	size_t count;
};

static void add_comma(struct json_writer *json)
{
	if (json->needs_comma)
		(void)buf_append_byte(json->out, ',');
	json->needs_comma = true;
}

/* As a string, or as the name of a member. 0, FAIL_MEMORY. */
static int write_visible(struct json_writer *json, struct str text, bool is_name)
{
	struct buf visible;
	int r = 0;

	buf_init(&visible, SHOWN_MAX);
	approval_visible(text, &visible);
	if (visible.is_spoiled)
		r = FAIL_MEMORY;
	else if (is_name)
		json_name_str(json, buf_str(&visible));
	else
		json_string(json, buf_str(&visible));
	buf_fini(&visible);
	return r;
}

static int write_value(struct json_writer *json, const struct json_value *value,
		       struct fields known, struct arena *mem);

static int write_object(struct json_writer *json, const struct json_value *value,
			struct fields known, struct arena *mem)
{
	int r = 0;

	json_open_object(json);
	for (size_t i = 0; r == 0 && i < value->object.count; i++) {
		const struct json_member *member = &value->object.members[i];
		const struct action_field *field =
			action_field(known.fields, known.count, member->name);
		struct fields inside = {0};

		if (field)
			inside = (struct fields){field->fields, field->field_count};
		r = write_visible(json, member->name, true);
		if (r == 0 && field && field->is_secret)
			json_text(json, APPROVAL_MASK);
		else if (r == 0)
			r = write_value(json, member->value, inside, mem);
	}
	json_close_object(json);
	return r;
}

static int write_array(struct json_writer *json, const struct json_value *value,
		       struct fields known, struct arena *mem)
{
	bool is_declared = known.count == 1 && known.fields[0].name.len == 0;
	const struct action_field *item = is_declared ? &known.fields[0] : NULL;
	struct fields inside = {0};
	int r = 0;

	if (item)
		inside = (struct fields){item->fields, item->field_count};
	json_open_array(json);
	for (size_t i = 0; r == 0 && i < value->array.count; i++) {
		if (item && item->is_secret)
			json_text(json, APPROVAL_MASK);
		else
			r = write_value(json, value->array.items[i], inside, mem);
	}
	json_close_array(json);
	return r;
}

/* As deep as a JSON text may be, json_limits_default.depth. */
static int write_value(struct json_writer *json, const struct json_value *value,
		       struct fields known, struct arena *mem)
{
	struct str text;

	switch (value->type) {
	case JSON_STRING:
		return write_visible(json, value->string, false);
	case JSON_ARRAY:
		return write_array(json, value, known, mem);
	case JSON_OBJECT:
		return write_object(json, value, known, mem);
	default:
		if (json_canonical_str(value, mem, &text) != 0)
			return FAIL_MEMORY;
		add_comma(json);
		(void)buf_append_str(json->out, text);
		return 0;
	}
}

/* The summary */

static void add_quoted(struct buf *out, struct str text)
{
	bool is_cut;
	struct str shown = cut(text, APPROVAL_VALUE_MAX, &is_cut);

	(void)buf_append_str(out, STR("“"));
	add_visible(shown, true, out);
	(void)buf_append_str(out, is_cut ? STR("…”") : STR("”"));
}

static void add_money(struct buf *out, const struct json_value *value)
{
	const struct json_value *currency = json_member(value, STR("currency"));
	const struct json_value *amount = json_member(value, STR("minor_units"));
	char text[MONEY_TEXT];
	int64_t minor_units;

	if (!currency || currency->type != JSON_STRING || !amount || amount->type != JSON_NUMBER ||
	    !json_number_to_i64(&amount->number, &minor_units))
		return;
	money_write(minor_units, currency->string, text);
	(void)buf_append_str(out, str_from(text));
	(void)buf_append_byte(out, ' ');
	add_visible(currency->string, true, out);
}

static int add_field(const struct looking *looking, const struct action_field *field,
		     struct buf *out)
{
	const struct json_value *value =
		looking->command ? json_member(looking->command, field->name) : NULL;
	struct str text;

	if (!value || value->type == JSON_NULL)
		return buf_append_str(out, STR("(none)")) < 0 ? FAIL_MEMORY : 0;
	if (field->is_secret)
		(void)buf_append_str(out, STR(APPROVAL_MASK));
	else if (field->type == FIELD_MONEY && value->type == JSON_OBJECT)
		add_money(out, value);
	else if (value->type == JSON_STRING)
		add_quoted(out, value->string);
	else if (value->type == JSON_OBJECT || value->type == JSON_ARRAY)
		(void)buf_append_str(out, STR("(see the command)"));
	else if (json_canonical_str(value, looking->mem, &text) != 0)
		return FAIL_MEMORY;
	else
		(void)buf_append_str(out, text);
	return 0;
}

static int add_name(const struct looking *looking, struct str name, struct buf *out)
{
	const struct action *action = looking->action;
	const struct action_field *field = action_field(action->fields, action->field_count, name);
	struct str text;
	size_t parameter;
	int r;

	if (field)
		return add_field(looking, field, out);
	if (!route_parameter(&action->route, name, &parameter))
		return buf_printf(out, "{%.*s}", STR_ARG(name)) < 0 ? FAIL_MEMORY : 0;
	r = parameter_text(looking, parameter, &text);
	if (r == 0)
		add_quoted(out, text);
	return r;
}

static int write_summary(const struct looking *looking, struct str *out_summary)
{
	const struct rule_approval *rule = &looking->action->approval;
	struct str rest = rule->summary.len ? rule->summary : looking->action->summary;
	struct str literal, name, shown;
	struct buf out;
	bool is_cut;
	int r = 0;

	if (!rest.len)
		rest = looking->action->name;
	buf_init(&out, SHOWN_MAX);
	while (r == 0 && template_next(&rest, &literal, &name)) {
		(void)buf_append_str(&out, literal);
		if (name.len)
			r = add_name(looking, name, &out);
	}
	shown = cut(buf_str(&out), APPROVAL_SUMMARY_MAX, &is_cut);
	if (r == 0 && !out.is_spoiled)
		*out_summary =
			arena_printf(looking->mem, "%.*s%s", STR_ARG(shown), is_cut ? "…" : "");
	if (out.is_spoiled || (r == 0 && !out_summary->at))
		r = FAIL_MEMORY;
	buf_fini(&out);
	return r;
}

/* The whole */

static int keep(struct buf *out, int r, struct arena *mem, struct str *out_text)
{
	struct str text = {0};

	if (r == 0 && !out->is_spoiled)
		text = arena_str(mem, buf_str(out));
	buf_fini(out);
	if (!text.at)
		return FAIL_MEMORY;
	*out_text = text;
	return 0;
}

static int write_command(const struct looking *looking, struct str *out_text)
{
	const struct action *action = looking->action;
	struct fields known = {action->fields, action->field_count};
	struct json_writer json;
	struct buf out;
	int r = 0;

	buf_init(&out, SHOWN_MAX);
	json_writer_init(&json, &out);
	if (looking->command)
		r = write_value(&json, looking->command, known, looking->mem);
	else
		json_null(&json);
	return keep(&out, r, looking->mem, out_text);
}

static int write_shown(const struct approval_question *question, struct arena *mem,
		       struct str *out_text)
{
	struct json_writer json;
	struct buf out;

	buf_init(&out, SHOWN_MAX);
	json_writer_init(&json, &out);
	json_open_object(&json);
	json_name(&json, "summary");
	json_string(&json, question->summary);
	json_name(&json, "consequence");
	json_string(&json, question->consequence);
	json_name(&json, "reversible");
	if (question->says_reversible)
		json_boolean(&json, question->is_reversible);
	else
		json_null(&json);
	json_name(&json, "class");
	json_string(&json, question->class_name);
	json_name(&json, "command");
	add_comma(&json);
	(void)buf_append_str(&out, question->command);
	json_close_object(&json);
	return keep(&out, 0, mem, out_text);
}

int approval_question(const struct action *action, struct str path,
		      const struct json_value *command, struct arena *mem,
		      struct approval_question *out_question)
{
	const struct rule_approval *rule = &action->approval;
	const struct looking looking = look(action, path, command, mem);
	struct approval_question question = {.consequence = rule->consequence,
					     .class_name = rule->class_name,
					     .says_reversible = rule->says_reversible,
					     .is_reversible = rule->is_reversible};
	int r = write_summary(&looking, &question.summary);

	if (r == 0)
		r = write_command(&looking, &question.command);
	if (r == 0)
		r = write_shown(&question, mem, &question.shown);
	if (r == 0)
		*out_question = question;
	return r;
}

/* Hashes */

static void begin(struct hasher *hasher, struct str tag)
{
	hasher_init(hasher);
	hasher_add(hasher, tag.at, tag.len + 1);
}

static void add_number(struct hasher *hasher, uint64_t number)
{
	uint8_t bytes[8];

	for (int i = 7; i >= 0; i--, number >>= 8)
		bytes[i] = (uint8_t)number;
	hasher_add(hasher, bytes, sizeof(bytes));
}

static int add_condition(struct hasher *hasher, const struct rule_approval_condition *condition,
			 struct arena *mem)
{
	struct json_value over = {.type = JSON_NUMBER};
	struct str text;

	hasher_add_part(hasher, condition->part.name);
	add_number(hasher, condition->is_first_use);
	add_number(hasher, condition->choice_count);
	for (size_t i = 0; i < condition->choice_count; i++) {
		if (json_canonical_str(condition->choices[i], mem, &text) != 0)
			return FAIL_MEMORY;
		hasher_add_part(hasher, text);
	}
	add_number(hasher, condition->over != NULL);
	if (condition->over) {
		over.number = *condition->over;
		if (json_canonical_str(&over, mem, &text) != 0)
			return FAIL_MEMORY;
		hasher_add_part(hasher, text);
	}
	hasher_add_part(hasher, condition->currency);
	hasher_add_part(hasher, condition->pattern_text);
	return 0;
}

int approval_policy(const struct action *action, struct arena *mem, struct hash *out_policy)
{
	const struct rule_approval *rule = &action->approval;
	struct hasher hasher;

	begin(&hasher, STR("counterfoil/approval-policy/1"));
	hasher_add_part(&hasher, action->name);
	add_number(&hasher, rule->is_always);
	add_number(&hasher, rule->when_count);
	for (size_t i = 0; i < rule->when_count; i++)
		if (add_condition(&hasher, &rule->when[i], mem) < 0)
			return FAIL_MEMORY;
	add_number(&hasher, rule->approvers);
	for (int i = 0; i < ROLE_COUNT; i++)
		add_number(&hasher, rule->by_role[i]);
	add_number(&hasher, rule->by_account_count);
	for (size_t i = 0; i < rule->by_account_count; i++)
		hasher_add_part(&hasher, rule->by_accounts[i]);
	add_number(&hasher, (uint64_t)rule->expires_ms);
	hasher_add_part(&hasher, rule->summary.len ? rule->summary : action->summary);
	hasher_add_part(&hasher, rule->consequence);
	hasher_add_part(&hasher, rule->class_name);
	add_number(&hasher, rule->says_reversible);
	add_number(&hasher, rule->is_reversible);
	hasher_end(&hasher, out_policy);
	return 0;
}

void approval_alike(struct str account, struct str agent, struct str action,
		    const struct hash *fingerprint, struct hash *out_hash)
{
	struct hasher hasher;

	begin(&hasher, STR("counterfoil/approval-alike/1"));
	hasher_add_part(&hasher, account);
	hasher_add_part(&hasher, agent);
	hasher_add_part(&hasher, action);
	hasher_add(&hasher, fingerprint->bytes, HASH_SIZE);
	hasher_end(&hasher, out_hash);
}

void approval_agent(struct str account, struct str agent, struct str action, struct hash *out_hash)
{
	struct hasher hasher;

	begin(&hasher, STR("counterfoil/approval-agent/1"));
	hasher_add_part(&hasher, account);
	hasher_add_part(&hasher, agent);
	hasher_add_part(&hasher, action);
	hasher_end(&hasher, out_hash);
}

bool approval_may_answer(const struct rule_approval *rule, const struct caller *caller)
{
	if ((unsigned)caller->role >= ROLE_COUNT || !rule->by_role[caller->role])
		return false;
	for (size_t i = 0; i < rule->by_account_count; i++)
		if (str_equal(rule->by_accounts[i], caller->account))
			return true;
	return rule->by_account_count == 0;
}
