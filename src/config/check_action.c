/*
 * Actions, put together and compared with what else the file says.
 *
 * By now the whole file has been read, whatever the order of its parts. An action that has
 * been reported already is taken along, so that others can be compared with it; a rule that
 * looks at a value which was refused stays silent.
 */
#include "config/table.h"

#include "base/err.h"

struct place draft_place(const struct action_draft *draft, const char *path)
{
	const struct node *node = node_at(draft->key->value, path);

	return node ? node->place : draft->key->place;
}

bool draft_gives(const struct action_draft *draft, const char *path)
{
	return node_at(draft->key->value, path) != NULL;
}

bool draft_is_refused(const struct action_draft *draft, const char *path)
{
	const struct node *node = node_at(draft->key->value, path);

	return node && node->is_refused;
}

bool draft_knows_fields(const struct action_draft *draft)
{
	return !draft->action.has_fields || draft->action.fields;
}

/* An upstream that stands in the file and was refused has been reported. */
static void find_upstream(struct reading *reading, struct action_draft *draft)
{
	struct settings *settings = reading->settings;
	const struct node *upstreams = node_at(reading->root, "upstreams");
	struct str name = draft->upstream.len > 0 ? draft->upstream : STR("default");
	char shown[QUOTE_SIZE];

	for (size_t i = 0; i < settings->upstream_count; i++) {
		if (str_equal(settings->upstreams[i].name, name)) {
			draft->action.upstream = i;
			return;
		}
	}
	if (draft->upstream.len == 0 || node_key(upstreams, name))
		return;
	report_add(reading->report, draft_place(draft, "upstream"),
		   "declare it below upstreams, or name one that is there",
		   "there is no upstream `%s`", quote(shown, name));
}

static void take_statuses(struct reading *reading, struct action_draft *draft)
{
	const struct status_classes *general = &reading->settings->statuses;
	struct status_classes *own = &draft->action.statuses;
	bool has_not_sent = draft_gives(draft, "statuses.not_sent");
	bool has_unknown = draft_gives(draft, "statuses.unknown");

	draft->action.has_statuses = has_not_sent || has_unknown;
	if (!draft->action.has_statuses)
		return;
	if (!has_not_sent)
		memcpy(own->not_sent, general->not_sent, sizeof(own->not_sent));
	if (!has_unknown)
		memcpy(own->unknown, general->unknown, sizeof(own->unknown));
	for (int status = 100; status < 600; status++) {
		if (status_class_has(own->not_sent, status) &&
		    status_class_has(own->unknown, status))
			report_add(reading->report,
				   draft_place(draft, has_unknown ? "statuses.unknown"
								  : "statuses.not_sent"),
				   "list it in one of them; a list that the action lacks is the "
				   "general one",
				   "%d is in not_sent and in unknown of this action", status);
	}
}

/* NULL: that declared field may be, or hold, what the pointer leads on to. */
static const char *why_not_token(const struct action_field *field, bool is_last)
{
	if (field->is_secret)
		return "leads to a secret field, and tokens are shown to people";
	if (is_last && field->type != FIELD_STRING && field->type != FIELD_ANY)
		return "leads to a field that is no string, so no command could have a token";
	if (!is_last && field->type != FIELD_OBJECT && field->type != FIELD_ARRAY &&
	    field->type != FIELD_ANY)
		return "leads into a field that is no object, so no command could have a token";
	return NULL;
}

/*
 * The token itself need not be declared, what lies around it must be. What is in an array, or in
 * an object of which nothing more is declared, is not looked at.
 */
static const char *why_no_way(const struct action *action)
{
	const struct action_field *fields = action->fields;
	size_t count = action->field_count;
	bool keeps_unknown = action->keeps_unknown;
	struct str rest = action->token_pointer;

	while (rest.len > 0) {
		const struct action_field *field = action_field_enter(fields, count, &rest);
		const char *why = field ? why_not_token(field, rest.len == 0) : NULL;

		if (!field && !keeps_unknown && rest.len > 0)
			return "leads into a field that is not declared, so every command with a "
			       "token would be refused";
		if (why || !field || field->type != FIELD_OBJECT || !field->fields)
			return why;
		fields = field->fields;
		count = field->field_count;
		keeps_unknown = field->keeps_unknown;
	}
	return NULL;
}

static void check_token_in_body(struct reading *reading, struct action_draft *draft)
{
	const struct action *action = &draft->action;
	const char *why;

	if (!draft_gives(draft, "token.pointer")) {
		report_add(reading->report, draft_place(draft, "token.from"),
			   "add pointer: /request_id, with the name that it has",
			   "the token is in the body, and nothing says where");
		return;
	}
	if (draft_is_refused(draft, "token.pointer") || !draft_knows_fields(draft))
		return;
	why = action->has_fields ? why_no_way(action) : NULL;
	if (why)
		report_add(reading->report, draft_place(draft, "token.pointer"),
			   "lead it to a string that is not secret, through fields of type object",
			   "token.pointer %s", why);
}

static void check_token(struct reading *reading, struct action_draft *draft)
{
	const struct action *action = &draft->action;

	if (action->is_natural && draft_gives(draft, "token")) {
		report_add(reading->report, draft_place(draft, "natural"), "remove one of the two",
			   "a natural action needs no token, so nothing can say where it is");
		return;
	}
	if (draft_is_refused(draft, "token.from") || draft_is_refused(draft, "token"))
		return;
	if (draft->token_from == DRAFT_BODY)
		check_token_in_body(reading, draft);
	else if (draft_gives(draft, "token.pointer"))
		report_add(reading->report, draft_place(draft, "token.pointer"),
			   "add from: body beside it, or remove it",
			   "token.pointer has no use while the token is in the header");
}

static void check_headers(struct reading *reading, struct action_draft *draft)
{
	const struct node *list = node_at(draft->key->value, "headers");

	if (!list || list->kind != NODE_LIST)
		return;
	for (const struct node *item = list->first; item; item = item->next) {
		if (str_equal_nocase(item->text, reading->settings->tokens.header))
			report_add(
				reading->report, item->place, "remove it",
				"headers lists the one that holds the token, which is never part "
				"of the fingerprint");
	}
}

/* A field that people may be shown under that name; false, and reported, when there is none. */
static void check_summary_name(struct reading *reading, struct action_draft *draft, struct str name)
{
	const struct action *action = &draft->action;
	const struct action_field *field = action_field(action->fields, action->field_count, name);
	char shown[QUOTE_SIZE];
	size_t unused;

	if (field && field->is_secret)
		report_add(reading->report, draft_place(draft, "summary"),
			   "leave it out of the summary",
			   "the summary would show {%s}, which is secret", quote(shown, name));
	else if (!field && !route_parameter(&action->route, name, &unused))
		report_add(reading->report, draft_place(draft, "summary"),
			   "name a field of the action or a parameter of its route",
			   "the summary names {%s}, which is not declared", quote(shown, name));
}

static void check_summary(struct reading *reading, struct action_draft *draft)
{
	struct str rest = draft->action.summary;
	size_t open = str_find(rest, '{');

	while (open < rest.len) {
		size_t close;

		rest = str_from_index(rest, open + 1);
		close = str_find(rest, '}');
		if (close == rest.len) {
			report_add(reading->report, draft_place(draft, "summary"),
				   "close it: {field}", "the summary has a { without its }");
			return;
		}
		check_summary_name(reading, draft, str_of(rest.at, close));
		rest = str_from_index(rest, close + 1);
		open = str_find(rest, '{');
	}
}

/* Routes that could take one and the same request, neither before the other. */
static void check_routes(struct reading *reading, const struct action_draft *later)
{
	const struct action *action = &later->action;

	for (const struct action_draft *draft = reading->drafts; draft != later; draft++) {
		const struct action *other = &draft->action;
		struct place place = draft_place(draft, "route");

		if (other->route.pattern.len == 0 || !str_equal(other->method, action->method) ||
		    !route_overlaps(&other->route, &action->route))
			continue;
		report_add(reading->report, draft_place(later, "route"),
			   "make one of the two paths more specific, or merge the actions",
			   "the route of %s takes requests that the route of %s takes too (line "
			   "%zu, column %zu)",
			   action->name.at, other->name.at, place.line, place.column);
		return;
	}
}

/* What the gate answers itself never comes to an action. */
static void check_own_paths(struct reading *reading, const struct action_draft *draft)
{
	const struct route *route = &draft->action.route;

	if (route->count > 0 && !route->segments[0].is_parameter &&
	    str_equal(route->segments[0].text, STR(".counterfoil")))
		report_add(reading->report, draft_place(draft, "route"),
			   "move it to another path of the service",
			   "the route is below /.counterfoil, which the gate answers itself");
}

static void put_together(struct action_draft *draft)
{
	struct action *action = &draft->action;

	action->fields = draft->fields.fields;
	action->field_count = draft->fields.count;
	action->has_fields = draft_gives(draft, "fields");
	action->keeps_unknown = draft->unknown_fields == DRAFT_KEEP;
}

static int check_action(struct reading *reading, struct action_draft *draft)
{
	put_together(draft);
	find_upstream(reading, draft);
	check_own_paths(reading, draft);
	if (draft->action.method.len > 0)
		check_routes(reading, draft);
	if (draft_gives(draft, "unknown_fields") && !draft->action.has_fields)
		report_add(reading->report, draft_place(draft, "unknown_fields"),
			   "declare fields, or remove it",
			   "unknown_fields has no use without fields: any body is taken");
	take_statuses(reading, draft);
	check_token(reading, draft);
	check_headers(reading, draft);
	if (draft_knows_fields(draft) && !draft_is_refused(draft, "route"))
		check_summary(reading, draft);
	return check_rules(reading, draft);
}

int check_actions(struct reading *reading)
{
	struct settings *settings = reading->settings;

	settings->actions = arena_zalloc(&settings->mem,
					 (reading->draft_count + 1) * sizeof(*settings->actions));
	if (!settings->actions)
		return fail(FAIL_MEMORY);
	for (size_t i = 0; i < reading->draft_count; i++) {
		int r = check_action(reading, &reading->drafts[i]);

		if (r != 0)
			return r;
		settings->actions[i] = reading->drafts[i].action;
	}
	settings->action_count = reading->draft_count;
	return 0;
}
