/*
 * Approvals: conditions that can be true, of fields that are there, and people who can answer.
 *
 * What a condition can never meet is a mistake that nobody would see: commands would go through
 * that were to be asked about. So a value that its field cannot have is an error.
 */
#include "config/check_part.h"

#include "base/err.h"
#include "core/approval.h"
#include "core/money.h"
#include "core/template.h"

/* One condition while it is checked. */
struct asking {
	struct reading *reading;
	const struct when_draft *draft;
	const struct action_field *field; /* NULL: a parameter of the route */
};

static struct place place_of(const struct asking *asking, const char *key)
{
	const struct node *node = node_at(asking->draft->map, key);

	return node ? node->place : asking->draft->map->place;
}

static bool gives(const struct asking *asking, const char *key)
{
	return node_at(asking->draft->map, key) != NULL;
}

static void complain(const struct asking *asking, const char *key, const char *mend,
		     const char *what)
{
	report_add(asking->reading->report, place_of(asking, key), mend,
		   "a condition of approval.when %s", what);
}

/* NULL: its field may be, or hold, such a value; else what is wrong. */
static const char *why_not_value(const struct action_field *field, const struct json_value *value)
{
	enum json_type type = value->type;
	int64_t whole;

	if (type == JSON_OBJECT || type == JSON_ARRAY)
		return "compares with something that is no single value";
	if (!field)
		return type == JSON_STRING
			       ? NULL
			       : "compares a parameter of the route with something that is no text";
	if (type == JSON_NULL)
		return NULL;
	switch (field->type) {
	case FIELD_STRING:
	case FIELD_REFERENCE:
		return type == JSON_STRING ? NULL : "compares a text with something else";
	case FIELD_INTEGER:
		return type == JSON_NUMBER && json_number_to_i64(&value->number, &whole)
			       ? NULL
			       : "compares an integer with something else";
	case FIELD_DECIMAL:
		return type == JSON_NUMBER ? NULL : "compares a number with something else";
	case FIELD_BOOLEAN:
		return type == JSON_TRUE || type == JSON_FALSE
			       ? NULL
			       : "compares true or false with something else";
	default:
		return NULL;
	}
}

static bool is_same(const struct json_value *a, const struct json_value *b)
{
	if (a->type != b->type)
		return false;
	if (a->type == JSON_STRING)
		return str_equal(a->string, b->string);
	return a->type != JSON_NUMBER || json_number_compare(&a->number, &b->number) == 0;
}

static bool is_choice(const struct action_field *field, const struct json_value *value)
{
	if (!field || !field->choices || value->type == JSON_NULL)
		return true;
	for (size_t i = 0; i < field->choice_count; i++)
		if (is_same(field->choices[i], value))
			return true;
	return false;
}

static void check_values(const struct asking *asking)
{
	const char *key = gives(asking, "in") ? "in" : "is";
	const struct action_field *field = asking->field;

	if (field && (field->type == FIELD_MONEY || field->type == FIELD_TIMESTAMP ||
		      field->type == FIELD_OBJECT || field->type == FIELD_ARRAY)) {
		complain(asking, key, "use `over` for money, or another field",
			 "compares money, an instant, an object or an array with single values");
		return;
	}
	for (size_t i = 0; i < asking->draft->in.count; i++) {
		const struct json_value *value = asking->draft->in.values[i];
		const char *why = why_not_value(field, value);

		if (!why && !is_choice(field, value))
			why = "names a value that is not in its field's enum";
		if (!why)
			continue;
		complain(asking, key, "write a value that the field can have", why);
		return;
	}
}

static void check_over(const struct asking *asking)
{
	const struct action_field *field = asking->field;
	struct str currency = asking->draft->currency;
	bool is_money = field && field->type == FIELD_MONEY;

	if (!is_money && !(field && (field->type == FIELD_INTEGER || field->type == FIELD_DECIMAL)))
		complain(asking, "over", "name a field of type money, integer or decimal",
			 "has `over`, and its field is no number");
	if (!gives(asking, "currency"))
		return;
	if (!is_money)
		complain(asking, "currency", "remove it",
			 "has a currency, and its field is no money");
	else if (money_exponent(currency) < 0)
		complain(asking, "currency", "write a code of ISO 4217, like EUR",
			 "has a currency that is not known");
	else if (field->currency.len && !str_equal(field->currency, currency))
		complain(asking, "currency", "write the field's own currency, or leave it out",
			 "has another currency than its field");
}

static void check_matches(const struct asking *asking)
{
	const struct action_field *field = asking->field;

	if (field && field->type != FIELD_STRING && field->type != FIELD_REFERENCE &&
	    field->type != FIELD_ANY)
		complain(asking, "matches", "name a field of type string or reference",
			 "has `matches`, and its field is no text");
}

/* Which of its tests it has; all but one are too many. */
static size_t count_tests(const struct asking *asking)
{
	static const char *const tests[] = {"is", "in", "over", "matches"};
	size_t count = 0;

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		count += gives(asking, tests[i]);
	return count;
}

static bool has_one_test(const struct asking *asking)
{
	size_t tests = count_tests(asking);
	bool is_first_use = gives(asking, "first_use"), has_field = gives(asking, "field");
	const char *why = NULL;

	if (is_first_use && (has_field || tests))
		why = "has first_use and more: each is a condition of its own";
	else if (!is_first_use && !has_field)
		why = "says nothing of where it looks";
	else if (!is_first_use && tests != 1)
		why = tests ? "has more than one test" : "has no test";
	else if (gives(asking, "currency") && !gives(asking, "over"))
		why = "has a currency without `over`";
	if (!why)
		return true;
	report_add(asking->reading->report, asking->draft->map->place,
		   "write each like {field: amount, over: 100000}, with one of is, in, over and "
		   "matches, or {first_use: agent}",
		   "a condition of approval.when %s", why);
	return false;
}

static void put_condition(const struct when_draft *draft, const struct rule_part *part,
			  struct rule_approval_condition *out)
{
	*out = (struct rule_approval_condition){
		.part = *part,
		.choices = draft->in.values,
		.choice_count = draft->in.count,
		.over = draft->over,
		.currency = draft->currency,
		.pattern_text = draft->pattern.pattern_text,
		.pattern = draft->pattern.pattern,
	};
}

/* 0 or FAIL_MEMORY; wrong ones are reported. */
static int check_condition(struct reading *reading, const struct action_draft *draft,
			   const struct when_draft *when, struct rule_approval_condition *out)
{
	struct asking asking = {.reading = reading, .draft = when};
	struct naming naming = naming_at(reading, draft, "approval.when", when->field);
	int r;

	if (when->is_wrong || !has_one_test(&asking))
		return 0;
	out->is_first_use = gives(&asking, "first_use");
	if (out->is_first_use)
		return 0;
	naming.place = place_of(&asking, "field");
	naming.is_needed = false;
	r = naming_take(&naming);
	if (r != 0)
		return r < 0 ? r : 0;
	asking.field = naming.field;
	if (when->in.count)
		check_values(&asking);
	else if (when->over)
		check_over(&asking);
	else
		check_matches(&asking);
	put_condition(when, &naming.part, out);
	return 0;
}

static int check_when(struct reading *reading, struct action_draft *draft)
{
	struct rule_approval *approval = &draft->action.approval;
	const struct when_list *list = &draft->rules.when;
	int r = 0;

	approval->is_always = list->is_always;
	if (draft_is_refused(draft, "fields") || draft_is_refused(draft, "route") ||
	    !draft_knows_fields(draft))
		return 0;
	approval->when =
		arena_zalloc(&reading->settings->mem, (list->count + 1) * sizeof(*approval->when));
	if (!approval->when)
		return fail(FAIL_MEMORY);
	approval->when_count = list->count;
	for (size_t i = 0; r == 0 && i < list->count; i++)
		r = check_condition(reading, draft, &list->conditions[i], &approval->when[i]);
	return r;
}

static void check_people(struct reading *reading, struct action_draft *draft)
{
	struct rule_approval *approval = &draft->action.approval;
	const struct text_list *roles = &draft->rules.approval_roles;
	const struct node *node = node_at(draft->key->value, "approval.by.roles");
	const struct node *item = node ? node->first : NULL;

	approval->approvers = draft->rules.approval_approvers;
	approval->by_accounts = draft->rules.approval_accounts.texts;
	approval->by_account_count = draft->rules.approval_accounts.count;
	if (!node)
		approval->by_role[ROLE_APPROVER] = approval->by_role[ROLE_OPERATOR] = true;
	for (size_t i = 0; i < roles->count; i++, item = item ? item->next : NULL) {
		enum caller_role role;

		if (role_from(roles->texts[i], &role) && role_may(role, POWER_DECIDE))
			approval->by_role[role] = true;
		else
			report_add(reading->report, item ? item->place : node->place,
				   "list approver, operator or both",
				   "approval.by.roles has a role that cannot answer");
	}
}

/* Names in what people are shown. */
static void check_summary(struct reading *reading, const struct action_draft *draft)
{
	const struct action *action = &draft->action;
	struct str rest = action->approval.summary, literal, name;
	struct place place = draft_place(draft, "approval.summary");
	char shown[QUOTE_SIZE];
	size_t unused;

	if (draft_is_refused(draft, "fields") || draft_is_refused(draft, "route"))
		return;
	while (template_next(&rest, &literal, &name)) {
		const struct action_field *field =
			action_field(action->fields, action->field_count, name);

		if (!name.len)
			continue;
		if (field && field->is_secret)
			report_add(reading->report, place, "leave it out of the summary",
				   "approval.summary would show {%s}, which is secret",
				   quote(shown, name));
		else if (!field && !route_parameter(&action->route, name, &unused))
			report_add(reading->report, place,
				   "name a field of the action or a parameter of its route",
				   "approval.summary names {%s}, which is not declared",
				   quote(shown, name));
	}
}

int check_approval(struct reading *reading, struct action_draft *draft)
{
	struct rule_approval *approval = &draft->action.approval;
	size_t before = reading_errors(reading);
	int r;

	approval->is_declared = true;
	approval->says_reversible = draft_gives(draft, "approval.reversible");
	if (node_at(draft->key->value, "inbox"))
		report_add(reading->report, draft_place(draft, "approval"), "remove one of the two",
			   "an inbox takes events as they come, so it can have no approval");
	check_people(reading, draft);
	check_summary(reading, draft);
	r = check_when(reading, draft);
	if (r < 0 || reading_errors(reading) > before)
		return r;
	return approval_policy(&draft->action, &reading->settings->mem, &approval->policy) < 0
		       ? fail(FAIL_MEMORY)
		       : 0;
}
