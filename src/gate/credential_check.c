/*
 * One question about a credential.
 *
 * What is remembered is found by a digest over service, path and credential, so a reload that
 * changes one of them asks anew, and no credential is kept.
 */
#include "gate/credential_check.h"

#include "gate/caller.h"

enum { LINES_MAX = 256 * 1024 };

static const struct settings_check *rule_of(const struct credential_check *check)
{
	return &check->generation->settings->auth.check;
}

bool credential_check_is_asked(const struct settings *settings, size_t upstream)
{
	return settings_check_path(settings, upstream).len > 0;
}

bool credential_check_is_in_force(const struct settings *settings)
{
	for (size_t i = 0; i < settings->upstream_count; i++) {
		if (credential_check_is_asked(settings, i))
			return true;
	}
	return false;
}

static void make_key(struct credential_check *check, struct str path, struct str credential)
{
	const struct settings *settings = check->generation->settings;
	struct hasher hasher;

	hasher_init(&hasher);
	hasher_add_part(&hasher, settings->upstreams[check->upstream].url.text);
	hasher_add_part(&hasher, path);
	hasher_add_part(&hasher, credential);
	hasher_end(&hasher, &check->key);
}

static size_t slot_of(const struct hash *key)
{
	return ((size_t)key->bytes[0] << 8 | key->bytes[1]) % CHECK_CACHE_SLOTS;
}

static bool is_remembered(const struct credential_check *check)
{
	const struct check_cache *cache = check->worker->checks;
	size_t slot = slot_of(&check->key);

	return cache && check->exchange->loop->now_ms < cache->slots[slot].until_ms &&
	       hash_equal(&cache->slots[slot].key, &check->key);
}

static void remember(struct credential_check *check)
{
	struct check_cache *cache = check->worker->checks;
	size_t slot = slot_of(&check->key);

	if (!cache) /* without memory it is asked each time */
		return;
	cache->slots[slot].key = check->key;
	cache->slots[slot].until_ms =
		time_add(check->exchange->loop->now_ms, rule_of(check)->cache_ms);
}

static void end_soon(struct loop_task *task)
{
	struct credential_check *check = list_entry(task, struct credential_check, soon);

	check->done(check);
}

static enum check_verdict verdict_of(const struct credential_check *check, enum sending sending)
{
	int status = check->call.answer.status;

	if (sending == SENDING_ANSWERED && status >= 200 && status < 300)
		return CHECK_HOLDS;
	if (sending == SENDING_ANSWERED && (status == 401 || status == 403))
		return CHECK_ENDED;
	return rule_of(check)->if_unknown == SETTINGS_UNKNOWN_ALLOW ? CHECK_HOLDS : CHECK_UNKNOWN;
}

static void call_head(struct call *call)
{
}

static bool call_data(struct call *call, struct str piece)
{
	return true; /* the status says it all */
}

static void call_done(struct call *call, enum sending sending)
{
	struct credential_check *check = call->owner;
	bool is_answered = sending == SENDING_ANSWERED && call->answer.status < 300;

	check->verdict = verdict_of(check, sending);
	if (check->verdict == CHECK_HOLDS && is_answered)
		remember(check);
	check->done(check);
}

static const struct call_events call_events = {
	.head = call_head,
	.data = call_data,
	.done = call_done,
};

/* The caller's Authorization, unless that is a key of the gate's own, which nobody else is shown.
 */
static struct str credential_of(const struct credential_check *check)
{
	const struct http_request *request = &check->exchange->request;
	const struct http_field *field =
		http_field_find(request->fields, request->field_count, STR("Authorization"));

	if (!field || caller_is_own_credential(check->generation->settings, field))
		return STR("");
	return field->value;
}

void credential_check_start(struct credential_check *check)
{
	const struct settings *settings = check->generation->settings;
	struct str path = settings_check_path(settings, check->upstream);
	struct str credential = credential_of(check);

	make_key(check, path, credential);
	loop_task_init(&check->soon, end_soon);
	if (is_remembered(check)) {
		check->verdict = CHECK_HOLDS;
		loop_soon(check->exchange->loop, &check->soon);
		return;
	}
	buf_init(&check->lines, LINES_MAX);
	if (credential.len)
		http_write_field(&check->lines, STR("Authorization"), credential);
	buf_append_str(&check->lines, STR("Accept-Encoding: identity\r\nVia: 1.1 counterfoil\r\n"));
	check->call = (struct call){
		.events = &call_events,
		.owner = check,
		.method = STR("GET"),
		.target = path,
		.headers = buf_str(&check->lines),
		.has_total_timeout = true,
		.timeout_ms = rule_of(check)->timeout_ms,
		.is_spoiled = check->lines.is_spoiled,
	};
	call_start(check->generation->clients[check->upstream], &check->call);
}

void credential_check_fini(struct credential_check *check)
{
	if (check->call.client)
		call_fini(&check->call);
	buf_fini(&check->lines);
}
