/*
 * Questions as JSON (see approval_json.h).
 *
 * What is shown of the command was put together, with secrets masked, when it was asked
 * (store_approval.shown), and is told as it is: nothing here looks into a body where a command is
 * declared.
 */
#include "gate/approval_json.h"

#include "core/approval.h"
#include "gate/difference.h"
#include "gate/operation_json.h"
#include "http/http.h"

enum {
	PREVIEW_MAX = 4096, /* bytes of a body whose command is not declared */
	DEPTH_MORE = 8, /* what is shown stands around a command that is as deep as one may be */
};

/* One question, and what it is told with. */
struct telling {
	const struct store_operation *operation;
	const struct store_approval *approval;
	const struct store_command *find; /* NULL: of a list */
	const struct settings *settings;
	const struct json_value *shown; /* NULL: it cannot be read */
	struct arena *mem;
};

static void member_id(struct json_writer *json, const char *name, const struct operation_id *id)
{
	char text[OPERATION_ID_TEXT + 1];

	operation_id_write(id, text);
	if (name)
		json_name(json, name);
	json_text(json, text);
}

const char *approval_stand_name(enum approval_stand stand)
{
	switch (stand) {
	case APPROVAL_WAITS:
		return "waiting";
	case APPROVAL_GIVEN:
		return "given";
	case APPROVAL_DENIED:
		return "denied";
	case APPROVAL_LAPSED:
		return "expired";
	case APPROVAL_WITHDRAWN:
		return "withdrawn";
	}
	return NULL;
}

int approval_kept(struct str text, struct arena *mem, struct json_value **out_value)
{
	struct json_limits limits = json_limits_default;
	struct json_error unused;

	if (!text.len)
		return JSON_REFUSED;
	limits.depth += DEPTH_MORE;
	limits.values = text.len; /* it was let in, and an amount of money has more of them here */
	return json_read(text, &limits, mem, out_value, &unused);
}

const struct json_value *approval_part(const struct json_value *of, const char *name)
{
	return of ? json_member(of, str_from(name)) : NULL;
}

/*
 * NULL: it is no JSON; or there is no memory, and then nothing is told at all, rather than a
 * question with parts of it left out.
 */
static const struct json_value *read_kept(struct json_writer *json, struct str text,
					  struct arena *mem)
{
	struct json_value *value;
	int r = approval_kept(text, mem, &value);

	json->out->is_spoiled |= r < 0;
	return r == 0 ? value : NULL;
}

static void write_value(struct json_writer *json, const struct json_value *value, struct arena *mem)
{
	struct str text;

	if (!value)
		json_null(json);
	else if (json_canonical_str(value, mem, &text) == 0)
		json_raw(json, text);
	else
		json->out->is_spoiled = true;
}

static void member_value(struct json_writer *json, const char *name, const struct json_value *value,
			 struct arena *mem)
{
	json_name(json, name);
	write_value(json, value, mem);
}

/* -- who has answered -------------------------------------------------------------- */

static void write_answer(struct json_writer *json, const struct json_value *answer,
			 struct arena *mem)
{
	static const char *const names[] = {"by", "agent", "account", "role", "verdict", "why"};
	const struct json_value *at = json_member(answer, STR("at_ms"));
	int64_t at_ms;

	json_open_object(json);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		member_value(json, names[i], json_member(answer, str_from(names[i])), mem);
	if (at && at->type == JSON_NUMBER && json_number_to_i64(&at->number, &at_ms))
		json_put_time(json, "at", at_ms);
	json_close_object(json);
}

static bool is_consent(const struct json_value *answer)
{
	const struct json_value *verdict = json_member(answer, STR("verdict"));

	return verdict && verdict->type == JSON_STRING &&
	       str_equal(verdict->string, STR("approved"));
}

/* The credentials of those who agreed; and every answer, whole. */
static void write_answers(struct json_writer *json, const struct store_approval *approval,
			  struct arena *mem)
{
	const struct json_value *answers = read_kept(json, approval->answers, mem);
	size_t count = answers && answers->type == JSON_ARRAY ? answers->array.count : 0;

	json_name(json, "approved_by");
	json_open_array(json);
	for (size_t i = 0; i < count; i++)
		if (is_consent(answers->array.items[i]))
			write_value(json, json_member(answers->array.items[i], STR("by")), mem);
	json_close_array(json);
	json_name(json, "answers");
	json_open_array(json);
	for (size_t i = 0; i < count; i++)
		write_answer(json, answers->array.items[i], mem);
	json_close_array(json);
}

static void write_standing(struct json_writer *json, const struct store_approval *approval)
{
	json_name(json, "needed");
	json_integer(json, approval->needed);
	json_name(json, "given");
	json_integer(json, approval->given);
	json_put_time(json, "expires_at", approval->expires_ms);
}

/* -- in short ---------------------------------------------------------------------- */

void approval_member_json(struct json_writer *json, const struct store_approval *approval,
			  bool is_for_caller, struct arena *mem)
{
	const struct json_value *shown = read_kept(json, approval->shown, mem);

	json_name(json, "approval");
	if (!approval->needed) {
		json_null(json);
		return;
	}
	json_open_object(json);
	json_name(json, "state");
	json_text(json, approval_stand_name(approval->stand));
	write_standing(json, approval);
	json_put_time(json, "asked_at", approval->asked_ms);
	member_value(json, "summary", approval_part(shown, "summary"), mem);
	if (!is_for_caller) {
		json_put_text(json, "asked_by", approval->asked_by);
		json_put_text(json, "asked_agent", approval->asked_agent);
		write_answers(json, approval, mem);
	}
	json_close_object(json);
}

/* -- the whole --------------------------------------------------------------------- */

/* Where it would go: the service's address and the request's own target. */
static void write_destination(struct json_writer *json, const struct telling *telling)
{
	const struct store_operation *operation = telling->operation;
	const struct settings_upstream *upstream =
		settings_upstream(telling->settings, operation->upstream);
	struct str target = operation->path, url = STR("");

	if (telling->find && telling->find->request.target.len)
		target = telling->find->request.target;
	if (upstream)
		url = arena_printf(telling->mem, "%.*s%.*s", STR_ARG(upstream->url.text),
				   STR_ARG(target));
	json_name(json, "destination");
	json_open_object(json);
	json_put_text(json, "upstream", operation->upstream);
	json_put_text(json, "method", operation->method);
	json_put_text(json, "url", url);
	json_close_object(json);
}

static void write_shown(struct json_writer *json, const struct telling *telling)
{
	static const char *const names[] = {"class", "summary", "consequence", "reversible",
					    "command"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		member_value(json, names[i], approval_part(telling->shown, names[i]), telling->mem);
}

/* A body that no fields are declared for, as far as it can be shown: it could hold anything. */
static void write_preview(struct json_writer *json, const struct telling *telling)
{
	const struct json_value *command = approval_part(telling->shown, "command");
	struct str body = telling->find ? telling->find->request.body : STR("");
	struct buf visible;

	json_name(json, "body_preview");
	if (!body.len || !command || command->type != JSON_NULL) {
		json_null(json);
		return;
	}
	buf_init(&visible, 16 * PREVIEW_MAX);
	approval_visible(str_of(body.at, body.len < PREVIEW_MAX ? body.len : PREVIEW_MAX),
			 &visible);
	if (body.len > PREVIEW_MAX)
		buf_printf(&visible, "… (%zu bytes in all)", body.len);
	json->out->is_spoiled |= visible.is_spoiled;
	json_string(json, buf_str(&visible));
	buf_fini(&visible);
}

static void write_asker(struct json_writer *json, const struct telling *telling)
{
	json_name(json, "asked");
	json_open_object(json);
	json_put_text(json, "by", telling->approval->asked_by);
	json_put_text(json, "agent", telling->approval->asked_agent);
	json_put_text(json, "account", telling->operation->account);
	json_put_time(json, "at", telling->approval->asked_ms);
	json_close_object(json);
}

static void member_hash(struct json_writer *json, const char *name, const struct hash *hash)
{
	char text[2 * HASH_SIZE];

	hex_write(hash->bytes, HASH_SIZE, text);
	json_name(json, name);
	json_string(json, str_of(text, sizeof(text)));
}

static void write_body(struct json_writer *json, struct telling *telling)
{
	const struct store_approval *approval = telling->approval;

	telling->shown = read_kept(json, approval->shown, telling->mem);
	json_put_text(json, "action", telling->operation->action);
	json_name(json, "state");
	json_text(json, approval_stand_name(approval->stand));
	write_destination(json, telling);
	write_shown(json, telling);
	member_value(json, "sent", approval_part(telling->shown, "sent"), telling->mem);
	write_preview(json, telling);
	member_hash(json, "fingerprint", &telling->operation->fingerprint);
	member_hash(json, "question", &approval->policy);
	write_asker(json, telling);
	write_standing(json, approval);
	write_answers(json, approval, telling->mem);
}

/* What the last one was that was carried out, and what is other now. */
static void write_previous(struct json_writer *json, const struct telling *telling)
{
	const struct store_command *find = telling->find;
	const struct json_value *then = read_kept(json, find->previous_shown, telling->mem);

	json_name(json, "previous");
	if (!then) {
		json_null(json);
		json_name(json, "changed");
		json_null(json);
		json_name(json, "sent_changed");
		json_null(json);
		return;
	}
	json_open_object(json);
	member_id(json, "operation", &find->previous);
	json_put_time(json, "at", find->previous_ms);
	member_value(json, "command", approval_part(then, "command"), telling->mem);
	json_close_object(json);
	json_name(json, "changed");
	difference_json(json, approval_part(then, "command"),
			approval_part(telling->shown, "command"), telling->mem);
	json_name(json, "sent_changed");
	difference_json(json, approval_part(then, "sent"), approval_part(telling->shown, "sent"),
			telling->mem);
}

void approval_found_json(struct json_writer *json, const struct store_command *find,
			 const struct settings *settings)
{
	struct telling telling = {
		.operation = &find->operation,
		.approval = &find->approval,
		.find = find,
		.settings = settings,
		.mem = find->mem,
	};

	json_open_object(json);
	json_name(json, "operation");
	operation_found_json(json, find, settings, false);
	write_body(json, &telling);
	json_name(json, "alike");
	json_integer(json, (int64_t)find->alike_count);
	json_name(json, "alike_ids");
	json_open_array(json);
	for (size_t i = 0; i < find->alike_count; i++)
		member_id(json, NULL, &find->alike[i]);
	json_close_array(json);
	write_previous(json, &telling);
	json_close_object(json);
}

/* -- a page ------------------------------------------------------------------------ */

static bool are_alike(const struct store_command *list, size_t i, size_t other)
{
	return i != other && list->approvals[i].stand == APPROVAL_WAITS &&
	       list->approvals[other].stand == APPROVAL_WAITS &&
	       hash_equal(&list->approvals[i].alike, &list->approvals[other].alike);
}

static void write_alike(struct json_writer *json, const struct store_command *list, size_t i)
{
	size_t count = 0;

	json_name(json, "alike_ids");
	json_open_array(json);
	for (size_t other = 0; other < list->found_count; other++) {
		if (!are_alike(list, i, other))
			continue;
		member_id(json, NULL, &list->found[other].id);
		count++;
	}
	json_close_array(json);
	json_name(json, "alike");
	json_integer(json, (int64_t)count);
}

/* Each in memory of its own: together they have more values than one request may. */
static void write_item(struct json_writer *json, const struct store_command *list, size_t i,
		       const struct settings *settings)
{
	struct arena mem;
	struct telling telling = {
		.operation = &list->found[i],
		.approval = &list->approvals[i],
		.settings = settings,
		.mem = &mem,
	};

	arena_init(&mem, list->mem->ceiling);

	json_open_object(json);
	json_name(json, "operation");
	operation_json(json, telling.operation, NULL, 0, false);
	write_body(json, &telling);
	write_alike(json, list, i);
	json_close_object(json);
	arena_fini(&mem);
}

const char *const approval_cursor_prefixes[APPROVAL_CURSOR_PARTS] = {"", "past-"};

void approval_list_json(struct json_writer *json, const struct store_command *list,
			const struct settings *settings)
{
	json_open_object(json);
	json_name(json, "approvals");
	json_open_array(json);
	for (size_t i = 0; i < list->found_count; i++)
		write_item(json, list, i, settings);
	json_close_array(json);
	list_next_json(json, list->has_more ? &list->next_before : NULL,
		       approval_cursor_prefixes[list->is_past]);
	json_close_object(json);
}
