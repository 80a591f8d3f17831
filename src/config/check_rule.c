/*
 * Rules of an action: what each needs, and combinations that cannot be.
 *
 * A rule must be able to do what it promises for every command that passes the check of its
 * fields: so what a lock or a budget depends on is always there. Where fields or route were
 * refused, nothing is said of names.
 */
#include "config/check_part.h"

#include "base/err.h"
#include "core/text.h"

enum { MEND_MAX = 256 };

static bool is_same_part(const struct rule_part *a, const struct rule_part *b)
{
	return str_equal(a->pointer, b->pointer) &&
	       (a->pointer.len > 0 || a->parameter == b->parameter);
}

/* The parts of a list. 0 or FAIL_MEMORY; wrong ones are reported. */
static int take_parts(struct reading *reading, const struct action_draft *draft, const char *key,
		      const struct text_list *names, bool is_needed, struct rule_part **out_parts)
{
	const struct node *item = node_at(draft->key->value, key)->first;
	struct rule_part *parts =
		arena_zalloc(&reading->settings->mem, (names->count + 1) * sizeof(*parts));

	if (!parts)
		return fail(FAIL_MEMORY);
	for (size_t i = 0; i < names->count; i++, item = item->next) {
		struct naming naming = naming_at(reading, draft, key, names->texts[i]);
		int r;

		naming.place = item->place;
		naming.is_needed = is_needed;
		r = naming_take(&naming);
		if (r < 0)
			return r;
		parts[i] = naming.part;
		for (size_t j = 0; r == 0 && j < i; j++) {
			if (is_same_part(&parts[j], &parts[i]))
				naming_complain(&naming, "remove one of the two",
						"which is there already");
		}
	}
	*out_parts = parts;
	return 0;
}

/* Was it given, and can what it names be looked at? */
static bool can_look(const struct action_draft *draft, const char *key)
{
	return draft_gives(draft, key) && !draft_is_refused(draft, key) &&
	       !draft_is_refused(draft, "fields") && !draft_is_refused(draft, "route") &&
	       draft_knows_fields(draft);
}

static int check_unique(struct reading *reading, struct action_draft *draft)
{
	struct rule_unique *unique = &draft->action.unique;
	const struct text_list *by = &draft->rules.unique_by;

	if (!can_look(draft, "unique.by"))
		return 0;
	unique->count = by->count;
	return take_parts(reading, draft, "unique.by", by, false, &unique->by);
}

static int check_version(struct reading *reading, struct action_draft *draft)
{
	struct naming naming = naming_at(reading, draft, "lock.version", draft->rules.lock_version);
	int r;

	if (!can_look(draft, "lock.version"))
		return 0;
	naming.is_needed = false;
	r = naming_take(&naming);
	if (r != 0)
		return r < 0 ? r : 0;
	if (!naming.field || naming.field->type != FIELD_INTEGER)
		naming_complain(&naming, "name a field of type integer",
				"which is no integer field");
	else if (naming.field->is_secret)
		naming_complain(&naming, "remove secret from it, or compare no version",
				"which is secret, and callers are told the versions that differ");
	draft->action.lock.version = naming.part.pointer;
	return 0;
}

/* A header that the gate sends must not be one that says something else already. */
static void check_sent(struct reading *reading, const struct action_draft *draft, const char *key,
		       struct str header)
{
	const struct action *action = &draft->action;
	char shown[QUOTE_SIZE];

	for (size_t i = 0; i < action->header_count; i++) {
		if (text_names_header(action->headers[i], header))
			report_add(reading->report, draft_place(draft, key),
				   "remove it from headers, or choose another",
				   "%s is %s, which the gate sends itself; headers lists it as the "
				   "caller's",
				   key, quote(shown, header));
	}
}

static void check_fencing(struct reading *reading, const struct action_draft *draft)
{
	struct str header = draft->action.lock.fencing;
	const char *taken = NULL;

	if (header.len == 0)
		return;
	check_sent(reading, draft, "lock.fencing", header);
	if (text_names_header(header, reading->settings->tokens.header))
		taken = "the header of the token";
	else if (text_names_header(header, draft->action.downstream_key.header))
		taken = "the header of the downstream key";
	if (taken)
		report_add(reading->report, draft_place(draft, "lock.fencing"),
			   "give the fencing number a header of its own, like X-Fencing-Token",
			   "lock.fencing is %s", taken);
}

static int check_lock(struct reading *reading, struct action_draft *draft)
{
	struct rule_lock *lock = &draft->action.lock;
	const struct text_list *on = &draft->rules.lock_on;
	int r = 0;

	lock->is_queue = draft->rules.lock_held == DRAFT_HELD_QUEUE;
	check_fencing(reading, draft);
	if (can_look(draft, "lock.on")) {
		lock->count = on->count;
		r = take_parts(reading, draft, "lock.on", on, true, &lock->on);
	}
	return r == 0 ? check_version(reading, draft) : r;
}

/* A money field that every command has. */
static int check_amount(struct reading *reading, const struct action_draft *draft, const char *key,
			struct str name, struct str *out_pointer)
{
	struct naming naming = naming_at(reading, draft, key, name);
	int r;

	if (!can_look(draft, key))
		return 0;
	r = naming_take(&naming);
	if (r != 0)
		return r < 0 ? r : 0;
	if (!naming.field || naming.field->type != FIELD_MONEY)
		naming_complain(&naming, "name a field of type money", "which is no money field");
	else if (naming.field->is_secret)
		naming_complain(&naming, "remove secret from it, or have no budget",
				"which is secret, and callers are told what is left of a budget");
	*out_pointer = naming.part.pointer;
	return 0;
}

static int check_budget(struct reading *reading, struct action_draft *draft)
{
	struct rule_budget *budget = &draft->action.budget;
	struct naming of = naming_at(reading, draft, "budget.of", draft->rules.budget_of);
	int r = 0;

	budget->is_declared = true;
	budget->lets_unknown = draft->rules.budget_if_unknown == DRAFT_UNKNOWN_ALLOW;
	if (can_look(draft, "budget.of"))
		r = naming_take(&of);
	if (r < 0)
		return r;
	budget->of = of.part;
	if (r == 0 && of.field && of.field->type != FIELD_STRING && of.field->type != FIELD_INTEGER)
		naming_complain(&of, "name a string or an integer, as the service's ids are",
				"which can be no id of what was paid: it is of type %s",
				field_type_name(of.field->type));
	return check_amount(reading, draft, "budget.amount", draft->rules.budget_amount,
			    &budget->amount);
}

static int64_t retention_of(const struct reading *reading, const struct action *action)
{
	return action->retention_ms ? action->retention_ms : reading->settings->tokens.retention_ms;
}

static int check_opens_budget(struct reading *reading, struct action_draft *draft)
{
	struct rule_opens_budget *opens = &draft->action.opens_budget;
	int64_t retention_ms = retention_of(reading, &draft->action);

	opens->is_declared = true;
	if (opens->for_ms < retention_ms)
		opens->for_ms = retention_ms;
	return check_amount(reading, draft, "opens_budget.amount", draft->rules.opens_amount,
			    &opens->amount);
}

/* What is said of answers needs a part of one, and answers that are kept. */
static void check_answers(struct reading *reading, const struct action_draft *draft)
{
	static const char *const keys[] = {"response.reference", "response.resource",
					   "opens_budget.id", "failed_when"};
	bool is_none_kept =
		!draft->action.max_response && reading->settings->limits.max_response == 0;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const struct node *node = node_at(draft->key->value, keys[i]);

		if (!node || node->is_refused)
			continue;
		if (node->kind == NODE_SCALAR && str_equal(node->text, STR("response")))
			report_add(reading->report, node->place,
				   "write a pointer to a part of it, like /id",
				   "%s is the whole answer, which is no name", keys[i]);
		if (is_none_kept)
			report_add(reading->report, node->place,
				   "give the action a max_response, like 64KiB",
				   "%s needs answers that are kept, and limits.max_response is 0",
				   keys[i]);
	}
}

/* The member that the gate adds must be free; what callers send as it is refused (core/command.h).
 */
static void check_key_field(struct reading *reading, const struct action_draft *draft)
{
	const struct action *action = &draft->action;
	struct str field = action->downstream_key.field, unused;
	const char *what, *mend;

	if (draft_is_refused(draft, "fields"))
		return;
	if (!action->has_fields) {
		what = "cannot be added to a body of which no fields are declared";
		mend = "declare fields, or use a header";
	} else if (draft->token_from == DRAFT_BODY &&
		   text_pointer_enters(action->token_pointer, field, &unused)) {
		what = "is where the token is";
		mend = "move one of the two";
	} else if (action_field(action->fields, action->field_count, field)) {
		what = "is a field of the command, which callers send";
		mend = "remove it from fields: the gate adds it itself";
	} else {
		return;
	}
	report_add(reading->report, draft_place(draft, "downstream_key.field"), mend,
		   "downstream_key.field %s", what);
}

/* Its own, or its upstream's. A natural action needs none. */
static void check_downstream_key(struct reading *reading, struct action_draft *draft)
{
	struct rule_downstream_key *key = &draft->action.downstream_key;
	const struct settings *settings = reading->settings;
	const struct node *node = node_at(draft->key->value, "downstream_key");
	size_t upstream = draft->action.upstream;

	if (!node) {
		*key = (struct rule_downstream_key){0};
		if (upstream < settings->upstream_count && !draft->action.is_natural &&
		    settings->upstreams[upstream].downstream_key.len > 0) {
			key->header = settings->upstreams[upstream].downstream_key;
			key->for_ms = settings->upstreams[upstream].downstream_key_ms;
		}
		return;
	}
	if (node->kind == NODE_MAP && node->count == (node_key(node, STR("for")) != NULL))
		report_add(reading->report, node->place, "add header: Idempotency-Key, or field:",
			   "downstream_key does not say where the key goes");
	if (key->header.len > 0 && key->field.len > 0)
		report_add(reading->report, draft_place(draft, "downstream_key.field"),
			   "remove one of the two",
			   "downstream_key has a header and a field; the service honours one");
	else if (key->field.len > 0)
		check_key_field(reading, draft);
}

/* Whichever the key's header came from. */
static void check_key_header(struct reading *reading, const struct action_draft *draft)
{
	if (draft->action.downstream_key.header.len > 0)
		check_sent(reading, draft, "downstream_key", draft->action.downstream_key.header);
}

/* How to add what is missing: "add by: [a]", "add found: {status: 200}". */
static void write_addition(const struct setting *setting, struct str name, bool has_section,
			   char out[MEND_MAX])
{
	size_t dot = str_find(name, '.');

	if (dot < name.len && !has_section)
		snprintf(out, MEND_MAX, "add %.*s: {%s: %s}", (int)dot, name.at, name.at + dot + 1,
			 setting->example);
	else
		snprintf(out, MEND_MAX, "add %s: %s", name.at + (dot < name.len ? dot + 1 : 0),
			 setting->example);
}

static void require_setting(struct reading *reading, const struct action_draft *draft,
			    const struct setting *setting)
{
	struct str name = str_from(setting_short_name(setting)), rule = name, rest;
	const struct node *around, *section;
	char mend[MEND_MAX];

	rule.len = str_find(name, '.');
	rest = str_from_index(name, rule.len + 1);
	around = node_key(draft->key->value, rule);
	if (rest.len == 0 || !around || around->value->kind != NODE_MAP ||
	    around->value->is_refused || draft_gives(draft, name.at))
		return;
	section = node_key(around->value, str_of(rest.at, str_find(rest, '.')));
	if (section && section->value->kind != NODE_MAP)
		return; /* reported as such */
	write_addition(setting, rest, section != NULL, mend);
	report_add(reading->report, section ? section->value->place : around->value->place, mend,
		   "%.*s has no %s", STR_ARG(rule), rest.at);
}

/* Settings that a rule cannot be without. */
static void check_required(struct reading *reading, const struct action_draft *draft)
{
	const struct setting *setting;

	for (size_t i = 0; (setting = setting_at(i)); i++) {
		if (setting_owner(setting) == OWNER_ACTION && setting->is_required)
			require_setting(reading, draft, setting);
	}
}

/* What a natural action cannot have: it may be sent without a token, past all rules. */
static bool is_at_odds(struct reading *reading, const struct action_draft *draft)
{
	static const char *const rules[] = {"unique",	      "lock",  "budget",
					    "opens_budget",   "probe", "lookup",
					    "downstream_key", "inbox", "approval"};
	bool is_outbox = draft->rules.dispatch == DRAFT_OUTBOX;
	bool is_odd = false;

	if (!draft->action.is_natural)
		return false;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]) + is_outbox; i++) {
		const char *rule = i < sizeof(rules) / sizeof(rules[0]) ? rules[i] : "dispatch";

		if (!draft_gives(draft, rule) || (strcmp(rule, "dispatch") == 0 && !is_outbox))
			continue;
		is_odd = true;
		report_add(reading->report, draft_place(draft, rule), "remove it, or natural: true",
			   "a natural action may come without a token and be sent again, so it can "
			   "have no %s",
			   is_outbox && strcmp(rule, "dispatch") == 0 ? "dispatch: outbox" : rule);
	}
	return is_odd;
}

static bool has_rule(const struct action_draft *draft, const char *rule)
{
	const struct node *node = node_at(draft->key->value, rule);

	return node && node->kind == NODE_MAP && !node->is_refused;
}

static void forget_defaults(struct action_draft *draft)
{
	struct action *action = &draft->action;

	if (!has_rule(draft, "unique"))
		action->unique = (struct rule_unique){0};
	if (!has_rule(draft, "opens_budget"))
		action->opens_budget = (struct rule_opens_budget){0};
	if (!has_rule(draft, "probe"))
		action->probe = (struct rule_inquiry){0};
	if (!has_rule(draft, "lookup"))
		action->lookup = (struct rule_inquiry){0};
	if (!has_rule(draft, "approval"))
		action->approval = (struct rule_approval){0};
	if (!has_rule(draft, "inbox"))
		action->inbox = (struct rule_inbox){0};
}

static int check_parts(struct reading *reading, struct action_draft *draft)
{
	int r = 0;

	if (has_rule(draft, "unique"))
		r = check_unique(reading, draft);
	if (r == 0 && has_rule(draft, "lock"))
		r = check_lock(reading, draft);
	if (r == 0 && has_rule(draft, "budget"))
		r = check_budget(reading, draft);
	if (r == 0 && has_rule(draft, "opens_budget"))
		r = check_opens_budget(reading, draft);
	return r;
}

int check_rules(struct reading *reading, struct action_draft *draft)
{
	int r;

	draft->action.is_outbox = draft->rules.dispatch == DRAFT_OUTBOX;
	forget_defaults(draft);
	check_required(reading, draft);
	if (is_at_odds(reading, draft))
		return 0;
	check_downstream_key(reading, draft);
	check_key_header(reading, draft);
	check_answers(reading, draft);
	r = check_parts(reading, draft);
	if (r == 0 && has_rule(draft, "inbox"))
		r = check_inbox(reading, draft);
	if (r == 0 && has_rule(draft, "approval"))
		r = check_approval(reading, draft);
	if (r == 0 && has_rule(draft, "probe"))
		check_inquiry(reading, draft, "probe");
	if (r == 0 && has_rule(draft, "lookup"))
		check_inquiry(reading, draft, "lookup");
	return r;
}
