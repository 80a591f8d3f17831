/*
 * From an OpenAPI document to a configuration.
 *
 * Paths and their operations in the order of the document; each operation that writes becomes
 * an action, written into a buffer of its own and put through the check of configurations
 * before it is taken. One that does not pass is written again with fewer rules, and at last as
 * a comment. So the whole passes, whatever the document holds.
 *
 * Bounds: IMPORT_FILE_MAX, those of yaml_read_foreign(), SETTINGS_ACTIONS_MAX actions,
 * ACTION_MAX bytes of one, and the size and nodes of a configuration; what is over them is
 * counted and said in a comment.
 */
#include "config/import.h"

#include "base/err.h"
#include "config/import_parts.h"
#include "config/table.h"

#include <stdlib.h>

enum {
	DOCUMENT_MEMORY_MAX = 320 * 1024 * 1024, /* of the tree; its nodes' bound keeps it below */
	ACTION_MAX = 128 * 1024,		 /* bytes of one action */
	NAME_MAX_BYTES = 64,
	NAME_ROOM = 8, /* of these, for _2, _3, … */
	ROUTE_MAX = 2048,
	SPARE = 4096, /* bytes and nodes kept free for the end of a configuration */
};

struct taken {
	char name[NAME_MAX_BYTES + 1];
	struct str method;
	struct route route;
};

struct document {
	struct import import;
	struct arena mem;    /* the tree, and the routes */
	struct buf *out;     /* the configuration */
	struct buf header;   /* its beginning: what each action is checked behind */
	struct buf action;   /* the one that is being written */
	struct taken *taken; /* the actions so far */
	size_t taken_count, left_out, nodes;
};

/* One operation: where it stands. */
struct operation_node {
	const struct node *path; /* its key */
	const struct node *item; /* the path's methods */
	const struct node *node;
	struct str method; /* in upper case */
	char route[ROUTE_MAX];
	char name[NAME_MAX_BYTES + 1];
};

static int write_document(struct document *document, const char *name,
			  struct settings_report *report);

int import_openapi(const char *file, struct buf *out, struct settings_report *report)
{
	struct buf text;
	int r;

	buf_init(&text, IMPORT_FILE_MAX + 1);
	r = file_read(file, IMPORT_FILE_MAX, &text, report);
	if (r == 0)
		r = import_openapi_text(buf_str(&text), file, out, report);
	buf_fini(&text);
	return r;
}

int import_openapi_text(struct str text, const char *name, struct buf *out,
			struct settings_report *report)
{
	struct document document = {.out = out};
	struct node *root;
	int r;

	require(out->max >= SETTINGS_FILE_MAX);
	if (text.len > IMPORT_FILE_MAX) {
		report_add(report, (struct place){.source = name}, "cut it into several",
			   "the document is larger than 8 MiB");
		return SETTINGS_WRONG;
	}
	arena_init(&document.mem, DOCUMENT_MEMORY_MAX);
	buf_init(&document.header, SPARE);
	buf_init(&document.action, ACTION_MAX);
	document.taken = calloc(SETTINGS_ACTIONS_MAX, sizeof(*document.taken));
	r = document.taken ? yaml_read_foreign(text, name, &document.mem, report, &root)
			   : fail(FAIL_MEMORY);
	if (r == 0) {
		document.import.root = root;
		r = write_document(&document, name, report);
	}
	free(document.taken);
	buf_fini(&document.action);
	buf_fini(&document.header);
	arena_fini(&document.mem);
	return r;
}

static int refuse(struct settings_report *report, const struct node *node, const char *what,
		  const char *mend)
{
	report_add(report, node->place, mend, "%s", what);
	return SETTINGS_WRONG;
}

/* Is it a document that can be read? Else that is reported. */
static int check_version(const struct node *root, struct settings_report *report)
{
	const struct node *version = node_at(root, "openapi");

	if (node_key(root, STR("swagger")))
		return refuse(
			report, root, "this is a Swagger 2.0 document",
			"convert it to OpenAPI 3 first, as most editors of such documents do");
	if (!version || version->kind != NODE_SCALAR || !str_starts_with(version->text, STR("3.")))
		return refuse(report, version ? version : root,
			      "this is no OpenAPI 3.0 or 3.1 document",
			      "give a file that begins with openapi: 3.0.3, or the like");
	return 0;
}

/* Does a text pass the check of configurations? 0, SETTINGS_WRONG, FAIL_MEMORY. */
static int passes(struct str head, struct str tail)
{
	struct settings_report ignored;
	struct settings *settings = NULL;
	struct buf text;
	int r;

	buf_init(&text, SETTINGS_FILE_MAX);
	settings_report_init(&ignored);
	r = buf_append_str(&text, head);
	if (r == 0)
		r = buf_append_str(&text, tail);
	if (r == 0)
		r = settings_parse(buf_str(&text), "import", NULL, &settings, &ignored);
	settings_free(settings);
	settings_report_fini(&ignored);
	buf_fini(&text);
	return r == FAIL_LIMIT ? SETTINGS_WRONG : r;
}

static void write_upstream(struct buf *out, struct str url)
{
	buf_append_str(out, STR("upstreams:\n  default:\n    url: "));
	import_quoted(out, url, ROUTE_MAX);
	buf_append_byte(out, '\n');
}

/* The document's first server, where it is an address that a gate can have. */
static int write_header(struct document *document)
{
	const struct node *servers =
		import_get(&document->import, document->import.root, "servers");
	const struct node *first = servers && servers->kind == NODE_LIST ? servers->first : NULL;
	const struct node *url = first ? import_get(&document->import, first, "url") : NULL;
	int r = SETTINGS_WRONG;

	if (url && url->kind == NODE_SCALAR && url->text.len < ROUTE_MAX) {
		write_upstream(&document->header, url->text);
		r = passes(buf_str(&document->header), STR(""));
	}
	if (r == 0 || r == FAIL_MEMORY)
		return r;
	buf_clear(&document->header);
	buf_append_str(&document->header,
		       STR("# Decide: where is the service? The document does not say it.\n"));
	write_upstream(&document->header, STR("http://127.0.0.1:9000"));
	return passes(buf_str(&document->header), STR(""));
}

static void write_introduction(struct document *document, const char *name)
{
	buf_append_str(document->out, STR("# Actions from "));
	import_plain(document->out, str_from(name), IMPORT_TEXT_MAX);
	buf_append_str(
		document->out,
		STR(".\n#\n"
		    "# The document says which writes there are and what their fields look "
		    "like. It does not\n"
		    "# say what a person must decide; look for `Decide` below, and for each "
		    "action ask:\n"
		    "#   - which fields name the business effect, so that a second token "
		    "must not repeat it?\n"
		    "#   - which amounts are money, of which currency, in which unit?\n"
		    "#   - what does the service know after a lost answer: a key that it "
		    "honours\n"
		    "#     (downstream_key), the thing itself by something that was sent (probe), "
		    "nothing?\n"
		    "#   - may it keep members that are not declared here (unknown_fields)?\n\n"));
}

static bool is_name_char(char c)
{
	char lower = ascii_lower(c);

	return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
	       c == '.';
}

static void add_char(char name[NAME_MAX_BYTES + 1], size_t *len, char c)
{
	if (*len < NAME_MAX_BYTES - NAME_ROOM)
		name[(*len)++] = c;
}

/* What can be a name of `text`: other characters become `joint`, once for several. */
static void add_text(char name[NAME_MAX_BYTES + 1], size_t *len, struct str text, char joint)
{
	for (size_t i = 0; i < text.len; i++) {
		bool is_letter = ascii_lower(text.at[i]) >= 'a' && ascii_lower(text.at[i]) <= 'z';

		if (*len == 0 && !is_letter)
			continue;
		if (is_name_char(text.at[i]))
			add_char(name, len, text.at[i]);
		else if (*len > 0 && name[*len - 1] != joint)
			add_char(name, len, joint);
	}
	while (*len > 0 && name[*len - 1] == joint)
		(*len)--;
}

static bool is_name_taken(const struct document *document, const char *name)
{
	for (size_t i = 0; i < document->taken_count; i++) {
		if (strcmp(document->taken[i].name, name) == 0)
			return true;
	}
	return false;
}

/* The operationId, or method and path, as a name of its own. */
static void find_name(const struct document *document, struct operation_node *operation)
{
	const struct node *id = import_get(&document->import, operation->node, "operationId");
	size_t len = 0;

	if (id && id->kind == NODE_SCALAR)
		add_text(operation->name, &len, id->text, '_');
	if (action_is_named_like_method(str_of(operation->name, len))) {
		len = 0;
		for (size_t i = 0; i < operation->method.len; i++)
			add_char(operation->name, &len, ascii_lower(operation->method.at[i]));
		add_char(operation->name, &len, '.');
		add_text(operation->name, &len, operation->path->text, '.');
	}
	operation->name[len] = '\0';
	for (unsigned n = 2; is_name_taken(document, operation->name); n++)
		snprintf(operation->name + len, NAME_ROOM, "_%u", n);
}

/* The path as a route: names of parameters become words. */
static void find_route(struct operation_node *operation)
{
	struct str path = operation->path->text;
	bool is_inside = false;
	size_t len = 0;

	for (size_t i = 0; i < path.len && len < ROUTE_MAX - 2; i++) {
		char c = path.at[i], lower = ascii_lower(c);
		bool is_word = (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9');

		if (is_inside && path.at[i - 1] == '{' && c >= '0' && c <= '9')
			operation->route[len++] = '_';
		operation->route[len++] = is_inside && !is_word && c != '}' ? '_' : c;
		is_inside = c == '{' || (is_inside && c != '}');
	}
	operation->route[len] = '\0';
}

/* Another action that takes the same requests; NULL: none. */
static const struct taken *find_overlap(const struct document *document, struct str method,
					const struct route *route)
{
	for (size_t i = 0; i < document->taken_count; i++) {
		const struct taken *taken = &document->taken[i];

		if (str_equal(taken->method, method) && route_overlaps(&taken->route, route))
			return taken;
	}
	return NULL;
}

/* The schema of a JSON body; NULL: the operation has none. */
static const struct node *find_schema(const struct document *document,
				      const struct operation_node *operation)
{
	const struct import *import = &document->import;
	const struct node *body = import_get(import, operation->node, "requestBody");
	const struct node *content = body ? import_get(import, body, "content") : NULL;

	if (!content || content->kind != NODE_MAP)
		return NULL;
	for (const struct node *key = content->first; key; key = key->next) {
		struct str type = str_of(key->text.at, str_find(key->text, ';'));
		bool is_json = str_equal_nocase(type, STR("application/json")) ||
			       (type.len > 5 &&
				str_equal_nocase(str_from_index(type, type.len - 5), STR("+json")));

		if (is_json)
			return import_get(import, key->value, "schema");
	}
	return NULL;
}

/* A name that a hint can show as it is: a word, and not a long one. */
static bool is_hint_name(struct str name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = ascii_lower(name.at[i]);

		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'))
			return false;
	}
	return name.len > 0 && name.len <= NAME_MAX_BYTES;
}

static void write_summary(struct document *document, const struct operation_node *operation)
{
	const struct node *text = import_get(&document->import, operation->node, "summary");
	struct buf plain;

	if (!text || text->kind != NODE_SCALAR || str_trim(text->text).len == 0)
		return;
	buf_init(&plain, 2 * IMPORT_TEXT_MAX);
	import_plain(&plain, text->text, IMPORT_TEXT_MAX);
	for (size_t i = 0; i < plain.len; i++) {
		if (plain.at[i] == '{' || plain.at[i] == '}')
			plain.at[i] = plain.at[i] == '{' ? '(' : ')';
	}
	buf_append_str(&document->action, STR("    summary: "));
	import_quoted(&document->action, buf_str(&plain), 2 * IMPORT_TEXT_MAX);
	buf_append_byte(&document->action, '\n');
	buf_fini(&plain);
}

/* A header that may be part of what is meant. */
static void write_header_hint(struct document *document, const struct node *list)
{
	static const char *const usual[] = {"Accept", "Authorization", "Content-Type",
					    "Idempotency-Key", "User-Agent"};

	for (const struct node *item = list && list->kind == NODE_LIST ? list->first : NULL; item;
	     item = item->next) {
		const struct node *parameter = import_resolve(&document->import, item);
		const struct node *name = import_get(&document->import, parameter, "name");
		bool is_usual = false;

		if (!name || name->kind != NODE_SCALAR ||
		    !node_is(import_get(&document->import, parameter, "in"), "header"))
			continue;
		for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
			is_usual = is_usual || str_equal_nocase(name->text, str_from(usual[i]));
		if (is_usual)
			continue;
		buf_append_str(
			&document->action,
			STR("    # Decide: does this header change the effect? Then headers: ["));
		import_plain(&document->action, name->text, IMPORT_TEXT_MAX);
		buf_append_str(&document->action, STR("]\n"));
	}
}

static void write_hints(struct document *document, const struct operation_node *operation)
{
	size_t len = strlen(operation->route);
	bool is_put = str_equal(operation->method, STR("PUT"));
	bool is_delete = str_equal(operation->method, STR("DELETE"));

	if ((is_put || is_delete) && len > 0 && operation->route[len - 1] == '}')
		buf_append_str(&document->action,
			       STR("    # Decide: does the id in the path make it idempotent? Then "
				   "natural: true\n"));
	if (!is_delete && strchr(operation->route, '{'))
		buf_append_str(
			&document->action,
			STR("    # Decide: may only one at a time change it? Then lock: {on: "
			    "[the parameter of the route]}\n"));
	write_header_hint(document, import_get(&document->import, operation->item, "parameters"));
	write_header_hint(document, import_get(&document->import, operation->node, "parameters"));
}

/* Does the name end like one of these? */
static bool ends_like(struct str name, const char *const *endings, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct str ending = str_from(endings[i]);

		if (name.len >= ending.len &&
		    str_equal(str_from_index(name, name.len - ending.len), ending))
			return true;
	}
	return false;
}

/* A required member that the caller decides and whose name ends like that; empty: none. */
static struct str find_member(const struct import *import, const struct schema_view *view,
			      const char *const *endings, size_t count)
{
	const struct node *members = view_get(import, view, "properties");
	const struct node *key = members && members->kind == NODE_MAP ? members->first : NULL;

	for (size_t i = 0; key && i < SETTINGS_FIELDS_MAX; i++, key = key->next) {
		if (is_hint_name(key->text) && ends_like(key->text, endings, count) &&
		    view_requires(view, key->text) &&
		    !node_is(import_get(import, key->value, "readOnly"), "true"))
			return key->text;
	}
	return STR("");
}

/* What could be rules, where the names suggest it: comments alone, for a person to decide. */
static void write_rule_hints(struct document *document, const struct operation_node *operation,
			     const struct schema_view *view)
{
	static const char *const ids[] = {"_id", "Id", "reference", "number"};
	static const char *const amounts[] = {"amount", "Amount", "total"};
	struct str id = find_member(&document->import, view, ids, sizeof(ids) / sizeof(ids[0]));
	struct str amount =
		find_member(&document->import, view, amounts, sizeof(amounts) / sizeof(amounts[0]));
	struct buf *out = &document->action;

	if (!str_equal(operation->method, STR("POST")) || id.len == 0)
		return;
	buf_printf(out,
		   "    # Decide: must another token not do this again for the same business?\n"
		   "    # unique: {by: [%.*s], for: 30d}\n",
		   STR_ARG(id));
	if (amount.len > 0)
		buf_printf(out,
			   "    # Decide: is %.*s money, and spent of what %.*s has? Make it type "
			   "money, then\n"
			   "    # budget: {of: %.*s, amount: %.*s}\n",
			   STR_ARG(amount), STR_ARG(id), STR_ARG(id), STR_ARG(amount));
}

static void write_body(struct document *document, const struct operation_node *operation)
{
	struct import *import = &document->import;
	const struct node *schema = find_schema(document, operation);
	struct schema_view view;
	struct schema_path path = {0};
	bool has_fields = false;

	import->visits = 0;
	if (schema && import->detail != IMPORT_NO_BODY) {
		import_view(import, schema, NULL, &view);
		path.node = view.count > 0 ? view.parts[0] : NULL;
		has_fields = path.node && !view.is_one_of && !view.is_cut && !view.is_foreign &&
			     import_fields(import, &view, 4, 1, &path);
	}
	if (!has_fields && schema)
		buf_append_str(import->out,
			       STR("    # any body: its schema declares no fields that "
				   "could be taken over\n"));
	if (has_fields)
		write_rule_hints(document, operation, &view);
	if (has_fields && import->detail == IMPORT_TYPES)
		buf_append_str(import->out,
			       STR("    # Decide: the rules of its fields; those of the "
				   "document contradict each other\n"));
}

static void write_action(struct document *document, const struct operation_node *operation)
{
	struct buf *out = &document->action;

	buf_clear(out);
	buf_printf(out, "  %s:\n    route: ", operation->name);
	buf_printf(out, "\"%.*s %s\"\n", STR_ARG(operation->method), operation->route);
	write_summary(document, operation);
	write_hints(document, operation);
	write_body(document, operation);
}

/* No more nodes than this: a key and a value each line, an item each comma. */
static size_t guess_nodes(struct str text)
{
	size_t nodes = 0;

	for (size_t i = 0; i < text.len; i++)
		nodes += text.at[i] == '\n' ? 3 : text.at[i] == ',' ? 1 : 0;
	return nodes;
}

static bool has_room(const struct document *document, struct str action)
{
	return document->taken_count < SETTINGS_ACTIONS_MAX &&
	       document->out->len + action.len + SPARE < SETTINGS_FILE_MAX &&
	       document->nodes + guess_nodes(action) + SPARE < SETTINGS_NODES_MAX;
}

static void take_action(struct document *document, const struct operation_node *operation,
			const struct route *route)
{
	struct str action = buf_str(&document->action);
	struct taken *taken = &document->taken[document->taken_count];

	if (!has_room(document, action)) {
		document->left_out++;
		return;
	}
	memcpy(taken->name, operation->name, sizeof(taken->name));
	taken->method = operation->method;
	taken->route = *route;
	document->taken_count++;
	document->nodes += guess_nodes(action);
	buf_append_str(document->out, action);
}

static void leave_out(struct document *document, const struct operation_node *operation,
		      const char *why)
{
	if (document->out->len + ROUTE_MAX + SPARE > SETTINGS_FILE_MAX) {
		document->left_out++;
		return;
	}
	buf_printf(document->out, "  # left out: %.*s ", STR_ARG(operation->method));
	import_plain(document->out, operation->path->text, IMPORT_TEXT_MAX);
	buf_append_str(document->out, STR(": "));
	import_plain(document->out, str_from(why), IMPORT_TEXT_MAX);
	buf_append_byte(document->out, '\n');
}

/* Write it with as many rules as pass the check. */
static int write_passing(struct document *document, const struct operation_node *operation,
			 const struct route *route)
{
	struct buf head;
	int r = SETTINGS_WRONG;

	buf_init(&head, 2 * SPARE);
	buf_append_str(&head, buf_str(&document->header));
	buf_append_str(&head, STR("actions:\n"));
	for (int detail = IMPORT_ALL; r == SETTINGS_WRONG && detail < IMPORT_DETAILS; detail++) {
		document->import.detail = (enum import_detail)detail;
		write_action(document, operation);
		if (!document->action.is_spoiled)
			r = passes(buf_str(&head), buf_str(&document->action));
	}
	buf_fini(&head);
	if (r == 0)
		take_action(document, operation, route);
	else if (r == SETTINGS_WRONG)
		leave_out(document, operation, "it cannot be an action");
	return r == SETTINGS_WRONG ? 0 : r;
}

static int write_operation(struct document *document, struct operation_node *operation)
{
	const struct taken *other;
	const char *detail = "";
	struct route route;
	int r;

	if (document->taken_count == SETTINGS_ACTIONS_MAX) {
		document->left_out++;
		return 0;
	}
	find_route(operation);
	r = route_read(str_from(operation->route), &document->mem, &route, &detail);
	if (r == ROUTE_WRONG) {
		leave_out(document, operation, detail);
		return 0;
	}
	if (r != 0)
		return r;
	other = find_overlap(document, operation->method, &route);
	if (other) {
		leave_out(document, operation, "an action above takes the same requests");
		return 0;
	}
	find_name(document, operation);
	return write_passing(document, operation, &route);
}

static int write_path(struct document *document, const struct node *path)
{
	static const char *const methods[][2] = {
		{"post", "POST"}, {"put", "PUT"}, {"patch", "PATCH"}, {"delete", "DELETE"}};
	const struct node *item = import_resolve(&document->import, path->value);
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(methods) / sizeof(methods[0]); i++) {
		struct operation_node operation = {
			.path = path,
			.item = item,
			.node = import_get(&document->import, item, methods[i][0]),
			.method = str_from(methods[i][1]),
		};

		if (operation.node && operation.node->kind == NODE_MAP && path->text.len > 0 &&
		    path->text.at[0] == '/')
			r = write_operation(document, &operation);
	}
	return r;
}

/* Bytes that end the configuration, whatever came before. */
static void write_end(struct document *document)
{
	if (document->taken_count == 0)
		buf_append_str(document->out,
			       STR("  {} # the document has no operation that writes\n"));
	if (document->left_out > 0)
		buf_printf(
			document->out,
			"  # left out: %zu more, as a configuration has 1 MiB and 1024 actions at "
			"most\n",
			document->left_out);
}

static int write_document(struct document *document, const char *name,
			  struct settings_report *report)
{
	const struct node *paths = node_at(document->import.root, "paths");
	int r = check_version(document->import.root, report);

	document->import.out = &document->action;
	if (r == 0)
		r = write_header(document);
	if (r != 0)
		return r;
	write_introduction(document, name);
	buf_append_str(document->out, buf_str(&document->header));
	buf_append_str(document->out, STR("\nactions:\n"));
	for (const struct node *path = paths && paths->kind == NODE_MAP ? paths->first : NULL;
	     r == 0 && path; path = path->next)
		r = write_path(document, path);
	if (r != 0)
		return r;
	write_end(document);
	r = passes(buf_str(document->out), STR(""));
	if (r != SETTINGS_WRONG)
		return r;
	return refuse(report, document->import.root,
		      "what it says does not fit into one configuration", "cut it into several");
}
