/*
 * Questions to the service: `probe` and `lookup`.
 *
 * What a gate concludes from an answer, it acts on: absence sends, presence does not. So a
 * question must be about this operation alone, by something that the service really got, and no
 * answer may mean both.
 */
#include "config/table.h"

#include "core/template.h"

#include <stdarg.h>

enum { KEY_MAX = 64 };

struct asking {
	struct reading *reading;
	struct action_draft *draft;
	const char *name; /* "probe" */
	bool is_probe;
	struct rule_inquiry *inquiry;
};

static void complain(const struct asking *asking, const char *key, const char *mend,
		     const char *format, ...) __attribute__((format(printf, 4, 5)));

/* "probe.get " and what is wrong, where that stands. */
static void complain(const struct asking *asking, const char *key, const char *mend,
		     const char *format, ...)
{
	char path[KEY_MAX], what[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	snprintf(path, sizeof(path), "%s.%s", asking->name, key);
	report_add(asking->reading->report, draft_place(asking->draft, path), mend, "%s %s", path,
		   what);
}

static const struct node *node_of(const struct asking *asking, const char *key)
{
	char path[KEY_MAX];

	snprintf(path, sizeof(path), "%s.%s", asking->name, key);
	return node_at(asking->draft->key->value, path);
}

/* Was it given, and right? */
static bool has(const struct asking *asking, const char *key)
{
	const struct node *node = node_of(asking, key);

	return node && !node->is_refused;
}

/* A field in a URL: in logs of services and proxies. */
static void check_field_name(const struct asking *asking, const struct action_field *field)
{
	char shown[QUOTE_SIZE];

	quote(shown, field->name);
	if (field->is_secret)
		complain(asking, "get", "ask by another field",
			 "would put {%s}, which is secret, into a URL", shown);
	else if (field->is_server_assigned)
		complain(asking, "get", "ask by a field that the caller decides",
			 "names {%s}, which is server_assigned", shown);
	else if (field->type == FIELD_OBJECT || field->type == FIELD_ARRAY)
		complain(asking, "get", "ask by a text, a number, true or false",
			 "names {%s}, which is no single value", shown);
}

/* The downstream key and the token help only where the service gets them. */
static void check_own_name(const struct asking *asking, struct str name)
{
	const struct action *action = &asking->draft->action;
	const struct rule_downstream_key *key = &action->downstream_key;
	bool is_token = str_equal(name, STR(TEMPLATE_TOKEN));
	bool is_key = str_equal(name, STR(TEMPLATE_DOWNSTREAM_KEY));

	if (!asking->is_probe && !is_token)
		complain(asking, "get",
			 "ask by a field: before it is sent, the service knows no more",
			 "names {%.*s}, which the service cannot know before it is sent",
			 STR_ARG(name));
	else if (is_key && key->header.len + key->field.len == 0 &&
		 !draft_gives(asking->draft, "downstream_key"))
		complain(asking, "get",
			 "add downstream_key: Idempotency-Key to the action or to its upstream, or "
			 "ask by a field",
			 "names {downstream_key}, which the service never gets");
	else if (is_token && action->token_pointer.len == 0 &&
		 str_equal_nocase(key->header, asking->reading->settings->tokens.header))
		complain(asking, "get", "ask by {downstream_key}",
			 "names {token}, which the service never gets: the downstream key is sent "
			 "in its header");
}

static bool is_own_name(struct str name)
{
	return str_equal(name, STR(TEMPLATE_TOKEN)) || str_equal(name, STR(TEMPLATE_OPERATION)) ||
	       str_equal(name, STR(TEMPLATE_DOWNSTREAM_KEY));
}

/* The gate's own words come first, so a field of such a name cannot be meant. */
static void check_name(const struct asking *asking, struct str name)
{
	const struct action *action = &asking->draft->action;
	const struct action_field *field = action_field(action->fields, action->field_count, name);
	size_t unused;
	bool is_declared = field || route_parameter(&action->route, name, &unused);
	char shown[QUOTE_SIZE];

	if (is_own_name(name) && is_declared)
		complain(asking, "get", "ask by another field or parameter",
			 "names {%.*s}, which is a word of the gate and declared by the action too",
			 STR_ARG(name));
	else if (is_own_name(name))
		check_own_name(asking, name);
	else if (field)
		check_field_name(asking, field);
	else if (!is_declared)
		complain(asking, "get",
			 asking->is_probe ? "name a field of the action, a parameter of its route, "
					    "token, downstream_key or operation"
					  : "name a field of the action, a parameter of its route, "
					    "or token",
			 "names {%s}, which is not declared", quote(shown, name));
}

/* Every name in it, and at least one. */
static void check_get(const struct asking *asking)
{
	struct str rest = asking->inquiry->get, literal, name;
	size_t names = 0;

	while (template_next(&rest, &literal, &name)) {
		if (name.len == 0)
			continue;
		names++;
		check_name(asking, name);
	}
	if (names == 0)
		complain(asking, "get", "put what tells them apart into it, like {invoice_id}",
			 "asks the same for every operation");
}

/* Answers that say nothing of what is there: refused, too many, a question that was wrong. */
static bool is_silent(int status)
{
	static const int silent[] = {400, 401, 402, 403, 405, 406, 407, 408, 409, 411, 412,
				     413, 414, 415, 417, 421, 425, 426, 428, 429, 431, 451};

	for (size_t i = 0; i < sizeof(silent) / sizeof(silent[0]); i++) {
		if (silent[i] == status)
			return true;
	}
	return status >= 300 && status < 400;
}

static void check_absent(const struct asking *asking)
{
	for (int status = 100; status < 600; status++) {
		if (status_class_has(asking->inquiry->absent, status) && is_silent(status))
			complain(asking, "absent.status",
				 "list those that can only mean it, like 404",
				 "has %d, which does not say that it is not there", status);
	}
}

/* A status of both is told apart by what is in the answer. */
static void check_overlap(const struct asking *asking)
{
	const struct rule_inquiry *inquiry = asking->inquiry;

	for (int status = 100; status < 600; status++) {
		if (!status_class_has(inquiry->found, status) ||
		    !status_class_has(inquiry->absent, status))
			continue;
		if (!node_of(asking, "absent.empty"))
			complain(asking, "absent.status",
				 "add empty: /data, with where such an answer is then empty",
				 "has %d, which is in found.status too: nothing tells them apart",
				 status);
		else if (!node_of(asking, "found.at"))
			complain(asking, "found.status",
				 "add at: /data/0, with where in it the thing is",
				 "has %d, which is in absent.status too, and nothing says where in "
				 "it the thing is",
				 status);
		return;
	}
}

static void check_found_as(const struct asking *asking)
{
	int status = asking->inquiry->found_as;

	if (status == 204 || status == 205 || status == 206)
		complain(asking, "found.as",
			 "write the status of its first answer, like 200 or 201",
			 "is %d, an answer that cannot have the whole of what was found", status);
}

static void check_times(const struct asking *asking)
{
	const struct rule_inquiry *inquiry = asking->inquiry;

	if (asking->is_probe && inquiry->settle_ms >= inquiry->give_up_ms)
		complain(asking, node_of(asking, "settle") ? "settle" : "give_up",
			 "make settle shorter than give_up",
			 "leaves no time: absence counts only after settle, and asking ends at "
			 "give_up");
}

void check_inquiry(struct reading *reading, struct action_draft *draft, const char *name)
{
	bool is_probe = strcmp(name, "probe") == 0;
	struct asking asking = {
		.reading = reading,
		.draft = draft,
		.name = name,
		.is_probe = is_probe,
		.inquiry = is_probe ? &draft->action.probe : &draft->action.lookup,
	};

	asking.inquiry->found_as = (int)(is_probe ? draft->rules.probe_as : draft->rules.lookup_as);
	asking.inquiry->has_absent_empty = has(&asking, "absent.empty");
	if (!is_probe && !draft_gives(draft, "unique"))
		report_add(reading->report, draft_place(draft, "lookup"),
			   "add unique: {by: [invoice_id]}, with what names the business",
			   "lookup needs unique: else two at once would both find nothing, and "
			   "both be sent");
	if (has(&asking, "get") && !draft_is_refused(draft, "fields") &&
	    !draft_is_refused(draft, "route") && draft_knows_fields(draft))
		check_get(&asking);
	if (has(&asking, "absent.status"))
		check_absent(&asking);
	if (has(&asking, "found.status") && has(&asking, "absent.status"))
		check_overlap(&asking);
	check_found_as(&asking);
	check_times(&asking);
}
