/*
 * The audit log for people: its newest entries, and how far it is signed.
 *
 * Read from the files that the sealer publishes, so it says nothing that `audit verify` cannot hold
 * against a key. A page looks at a bounded number of entries, so a filter that matches little may
 * find none on one page and some on the next. Who sees one account sees the entries of that
 * account.
 */
#include "admin/api.h"

#include "audit/page.h"
#include "audit/witness.h"
#include "base/err.h"
#include "core/timestamp.h"
#include "gate/query.h"

enum { PAGE_DEFAULT = 50, PAGE_MAX = 200, TIME_TEXT = 25 };

struct looking {
	struct str operation, token, account, agent, event, from, to; /* empty: any */
	struct str scope; /* the only account that is shown; empty: all */
	uint64_t before;  /* the entry before which the page begins */
	uint64_t limit, count;
	struct json_writer *json;
	struct buf *body;
	struct api_call *call;
};

/* -- which ------------------------------------------------------------------------- */

static struct str text_of(const struct json_value *value, const char *name)
{
	const struct json_value *member = value ? json_member(value, str_from(name)) : NULL;

	return member && member->type == JSON_STRING ? member->string : STR("");
}

static bool is_any_or(struct str wanted, const struct json_value *value, const char *name)
{
	return !wanted.len || str_equal(wanted, text_of(value, name));
}

/* Who asked for it, or answered. */
static bool is_of_agent(struct str wanted, const struct json_value *value)
{
	return is_any_or(wanted, value, "agent") || is_any_or(wanted, value, "answerer");
}

static bool has_event(const struct json_value *value, struct str event)
{
	const struct json_value *events = value ? json_member(value, STR("events")) : NULL;

	if (is_any_or(event, value, "event"))
		return true;
	for (size_t i = 0; events && events->type == JSON_ARRAY && i < events->array.count; i++) {
		const struct json_value *item = events->array.items[i];

		if (item->type == JSON_STRING && str_equal(item->string, event))
			return true;
	}
	return false;
}

/* Both in UTC and in one spelling; as texts they are in the order of time without their Z. */
static bool is_in_time(const struct looking *looking, const char *time)
{
	struct str at = str_of(time, TIME_TEXT - 2), from = looking->from, to = looking->to;

	if (from.len)
		from.len--;
	if (to.len)
		to.len--;
	return (!from.len || str_compare(at, from) >= 0) && (!to.len || str_compare(at, to) < 0);
}

static bool is_wanted(const struct looking *looking, const struct audit_entry *entry,
		      const char *time)
{
	const struct json_value *value = entry->value;

	return is_in_time(looking, time) && is_any_or(looking->scope, value, "account") &&
	       is_any_or(looking->operation, value, "operation") &&
	       is_any_or(looking->token, value, "token") &&
	       is_any_or(looking->account, value, "account") &&
	       is_of_agent(looking->agent, value) && has_event(value, looking->event);
}

/* -- how --------------------------------------------------------------------------- */

/* When it happened: a note is written later. */
static int64_t time_of(const struct audit_entry *entry)
{
	const struct json_value *at = entry->value ? json_member(entry->value, STR("at_ms")) : NULL;
	int64_t at_ms;

	if (at && at->type == JSON_NUMBER && json_number_to_i64(&at->number, &at_ms))
		return at_ms;
	return (int64_t)entry->entry.time_ms;
}

static void write_entry(struct looking *looking, const struct audit_entry *entry, const char *time)
{
	struct json_writer *json = looking->json;

	json_open_object(json);
	json_name(json, "seq");
	json_integer(json, (int64_t)entry->entry.seq);
	json_name(json, "time");
	json_text(json, time);
	json_name(json, "type");
	json_text(json, entry_type_text(entry->entry.type));
	json_name(json, "readable");
	json_boolean(json, entry->value != NULL);
	if (entry->value && entry->text.len > 2) { /* an object of ours, with members */
		buf_append_byte(looking->body, ',');
		buf_append_str(looking->body, str_of(entry->text.at + 1, entry->text.len - 2));
	}
	json_close_object(json);
}

static bool on_entry(void *state, const struct audit_entry *entry)
{
	struct looking *looking = state;
	char time[TIME_TEXT];

	time_format(time_of(entry), time);
	if (!is_wanted(looking, entry, time))
		return true;
	write_entry(looking, entry, time);
	return ++looking->count < looking->limit && !looking->body->is_spoiled;
}

/* -- the page ---------------------------------------------------------------------- */

static const char *read_time(struct str value, struct arena *mem, struct str *out)
{
	return timestamp_read(value, mem, out) == 0
		       ? NULL
		       : "from and to are times like 2026-01-31T09:00:00Z.";
}

static const char *read_parameter(void *state, struct str name, struct str value)
{
	struct looking *looking = state;
	const struct {
		const char *name;
		struct str *at;
	} texts[] = {
		{"operation", &looking->operation}, {"token", &looking->token},
		{"account", &looking->account},	    {"agent", &looking->agent},
		{"event", &looking->event},
	};
	struct arena *mem = &looking->call->exchange->mem;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (!str_equal(name, str_from(texts[i].name)))
			continue;
		*texts[i].at = value;
		return value.len ? NULL : "A filter is not empty.";
	}
	if (str_equal(name, STR("from")))
		return read_time(value, mem, &looking->from);
	if (str_equal(name, STR("to")))
		return read_time(value, mem, &looking->to);
	if (str_equal(name, STR("limit")))
		return str_to_u64(value, PAGE_MAX, &looking->limit) && looking->limit
			       ? NULL
			       : "limit is a number from 1 to 200.";
	if (str_equal(name, STR("cursor")))
		return str_to_u64(value, INT64_MAX, &looking->before)
			       ? NULL
			       : "cursor is the `next` of an earlier page.";
	return "The filters are operation, token, account, agent, event, from, to, limit and "
	       "cursor.";
}

static void answer_page(struct api_call *call, struct looking *looking)
{
	const struct gate *gate = call->admin->gate;
	struct audit_page page = {
		.data = gate_settings(gate)->data.at,
		.vault = gate->vault,
		.before = looking->before,
		.looks = AUDIT_PAGE_LOOKS_MAX,
		.on_entry = on_entry,
		.state = looking,
	};
	struct json_writer json;
	struct buf body;
	int r;

	api_json_begin(&json, &body);
	looking->json = &json;
	looking->body = &body;
	json_open_object(&json);
	json_name(&json, "entries");
	json_open_array(&json);
	r = audit_page_read(&page);
	json_close_array(&json);
	json_name(&json, "next");
	if (page.reached)
		json_integer(&json, (int64_t)page.reached);
	else
		json_null(&json);
	json_name(&json, "size");
	json_integer(&json, (int64_t)page.size);
	json_close_object(&json);
	if (r >= 0) {
		api_json_end(call, 200, &body);
		return;
	}
	buf_fini(&body);
	api_problem(call, PROBLEM_STORE_UNAVAILABLE, "The audit log's files cannot be read.");
}

void api_audit(struct api_call *call)
{
	struct looking looking = {.before = UINT64_MAX,
				  .limit = PAGE_DEFAULT,
				  .scope = api_scope(call),
				  .call = call};
	const char *wrong = query_read_all(call->exchange->request.parts.query,
					   &call->exchange->mem, read_parameter, &looking);

	if (wrong)
		api_problem(call, PROBLEM_QUERY_MALFORMED, wrong);
	else
		answer_page(call, &looking);
}

/* -- how far it is signed ----------------------------------------------------------- */

static void write_head(struct json_writer *json, const struct audit_head *head)
{
	char root[CHECKPOINT_HASH_TEXT + 1];

	json_name(json, "checkpoint");
	if (!head) {
		json_null(json);
		return;
	}
	checkpoint_hash_write(&head->root, root);
	json_open_object(json);
	json_name(json, "size");
	json_integer(json, (int64_t)head->size);
	json_name(json, "root");
	json_text(json, root);
	json_name(json, "signed");
	json_boolean(json, head->is_signed);
	json_close_object(json);
}

/* The witnesses of the configuration, whose texts have been checked. */
struct observers {
	struct str urls[SETTINGS_PLACES_MAX];
	struct note_verifier keys[SETTINGS_PLACES_MAX];
	size_t count;
};
_Static_assert((int)SETTINGS_PLACES_MAX <= (int)AUDIT_HEAD_WITNESSES_MAX, "all are asked about");

static void read_observers(const struct settings *settings, struct observers *out_observers)
{
	const struct text_list *witnesses = &settings->audit.witnesses;

	out_observers->count = witnesses->count;
	for (size_t i = 0; i < witnesses->count; i++)
		require(witness_setting_read(witnesses->texts[i], &out_observers->urls[i],
					     &out_observers->keys[i]));
}

static void write_observers(struct json_writer *json, const struct observers *observers,
			    const struct audit_head *head)
{
	json_name(json, "witnesses");
	json_open_array(json);
	for (size_t i = 0; i < observers->count; i++) {
		json_open_object(json);
		json_name(json, "name");
		json_text(json, observers->keys[i].name);
		json_name(json, "url");
		json_string(json, observers->urls[i]);
		json_name(json, "cosigned_s");
		if (head && head->cosigned_s[i])
			json_integer(json, (int64_t)head->cosigned_s[i]);
		else
			json_null(json);
		json_close_object(json);
	}
	json_close_array(json);
}

void api_audit_status(struct api_call *call)
{
	const struct settings *settings = gate_settings(call->admin->gate);
	struct observers observers;
	struct audit_head head;
	struct json_writer json;
	struct buf body;
	int r;

	read_observers(settings, &observers);
	r = audit_head_read(settings->data.at, observers.keys, observers.count, &head);
	api_json_begin(&json, &body);
	json_open_object(&json);
	json_name(&json, "origin");
	json_text(&json, r == 0 ? head.origin : NULL);
	json_name(&json, "readable"); /* one that is not hides nothing else */
	json_boolean(&json, r >= 0);
	json_name(&json, "size");
	json_integer(&json, r == 0 ? (int64_t)head.size : 0);
	write_head(&json, r == 0 ? &head : NULL);
	json_name(&json, "anchors");
	json_open_array(&json);
	for (size_t i = 0; i < settings->audit.anchors.count; i++)
		json_string(&json, settings->audit.anchors.texts[i]);
	json_close_array(&json);
	write_observers(&json, &observers, r == 0 ? &head : NULL);
	json_name(&json, "verification");
	api_verification_write(call, &json);
	json_close_object(&json);
	api_json_end(call, 200, &body);
}
