/*
 * The notifier: tells somebody outside of questions to people, by webhooks.
 *
 *   look ─► find ─► tell ─► note ─► look …
 *
 * What there is to tell, and what of it has been told, the store remembers; each notice has one id
 * (webhook-id) however often it is told, and is told until it was taken (a 2xx) or has grown too
 * old: at least once, then, and whoever receives it tells copies by the id. It is signed at each
 * telling, with the time of that. What it says is what the person at the other end needs to know
 * whether to look; it is no credential: the link leads to a sign-in.
 *
 * NOTIFIER_MAX at most are under way at once. All of it is the background's own thread's.
 */
#include "gate/background_internal.h"

#include "core/backoff.h"
#include "core/webhook.h"
#include "gate/approval_json.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	NOTIFIER_MEMORY = 256 * 1024,
	BODY_MAX = 256 * 1024,
	HEADERS_MAX = 8 * 1024,
	FIRST_PAUSE_MS = 1000,
	MAX_PAUSE_MS = 10 * 60 * 1000,
	CONNECTIONS = 4,
};

#define NOTICE_AGE_MAX_MS INT64_C(259200000) /* 3 days: then nobody is told of it any more */

/* One notice on its way. */
struct telling {
	struct notifier *notifier;
	struct list link; /* among those under way */
	struct generation *generation;
	struct store_notice notice;
	struct store_command command;
	struct arena mem;
	struct call call;
	struct buf body, headers;
	bool is_called; /* its call has begun, and has not ended */
};

static void looked(struct store_command *command);
static void note(struct telling *telling, int64_t next_ms);

static const char *event_name(enum notice_event event)
{
	switch (event) {
	case NOTICE_ASKED:
		return "approval.asked";
	case NOTICE_AGREED:
		return "approval.agreed";
	case NOTICE_APPROVED:
		return "approval.approved";
	case NOTICE_DENIED:
		return "approval.denied";
	case NOTICE_EXPIRED:
		return "approval.expired";
	case NOTICE_WITHDRAWN:
		return "approval.withdrawn";
	}
	return "approval.changed";
}

static int64_t wall_ms(const struct notifier *notifier)
{
	return background_wall_ms(notifier->background);
}

/* -- looking ----------------------------------------------------------------------- */

static void look_in(struct notifier *notifier, int64_t ms)
{
	loop_timer_start(&notifier->background->station.loop, &notifier->timer, ms);
}

void notifier_look(struct notifier *notifier)
{
	struct background *background = notifier->background;

	if (notifier->is_looking || notifier->under_way) {
		notifier->looks_again = true;
		return;
	}
	loop_timer_cancel(&notifier->timer);
	if (background->is_draining)
		return;
	if (!background->generation->settings->notify.url.text.len) {
		metrics_set(&background->metrics.notices_waiting, 0); /* for nobody */
		return;
	}
	arena_init(&notifier->mem, NOTIFIER_MEMORY);
	notifier->command = (struct store_command){
		.kind = STORE_NOTICES,
		.mem = &notifier->mem,
		.done = looked,
		.owner = notifier,
		.limit = NOTIFIER_MAX,
	};
	notifier->is_looking = true;
	notifier->looks_again = false;
	background->commands++;
	gate_ask(&background->station, &notifier->command);
}

static void time_to_look(struct loop_timer *timer)
{
	notifier_look(list_entry(timer, struct notifier, timer));
}

/* -- telling ----------------------------------------------------------------------- */

static void end(struct telling *telling)
{
	struct notifier *notifier = telling->notifier;

	list_remove(&telling->link);
	if (telling->call.client)
		call_fini(&telling->call);
	buf_fini(&telling->body);
	buf_fini(&telling->headers);
	arena_fini(&telling->mem);
	generation_drop(telling->generation);
	free(telling);
	if (--notifier->under_way > 0)
		return;
	if (notifier->has_failed && !notifier->background->is_draining)
		look_in(notifier, BACKGROUND_FAILED_MS);
	else
		notifier_look(notifier);
}

static void log_telling(const struct telling *telling, const char *event, const char *why)
{
	char id[OPERATION_ID_TEXT + 1];
	struct log_line line;

	operation_id_write(&telling->notice.id, id);
	log_begin(&line, telling->notifier->background->gate->log, why ? LOG_WARNING : LOG_INFO,
		  event);
	log_text(&line, "operation", id);
	log_text(&line, "what", event_name(telling->notice.event));
	log_int(&line, "tries", telling->notice.tries + 1);
	if (telling->call.answer.status)
		log_int(&line, "status", telling->call.answer.status);
	if (why)
		log_text(&line, "why", why);
	log_end(&line);
}

/* Another time, unless it has become too old to matter. */
static void put_off(struct telling *telling, const char *why)
{
	struct metrics *metrics = &telling->notifier->background->metrics;
	int64_t now_ms = wall_ms(telling->notifier);
	uint32_t random = background_random(telling->notifier->background);

	log_telling(telling, "notice-not-taken", why);
	metrics_add(&metrics->notices_not_taken, 1);
	if (now_ms - telling->notice.at_ms > NOTICE_AGE_MAX_MS) {
		metrics_add(&metrics->notices_given_up, 1);
		note(telling, 0);
	} else {
		note(telling, now_ms + backoff_ms(FIRST_PAUSE_MS, MAX_PAUSE_MS,
						  telling->notice.tries + 1, random));
	}
}

static void call_head(struct call *call)
{
}

/* What they answer is of no use here; the timeout bounds it. */
static bool call_data(struct call *call, struct str piece)
{
	return true;
}

static void call_done(struct call *call, enum sending sending)
{
	struct telling *telling = call->owner;
	int status = call->answer.status;

	telling->is_called = false;
	if (sending == SENDING_ANSWERED && status >= 200 && status < 300) {
		log_telling(telling, "notified", NULL);
		metrics_add(&telling->notifier->background->metrics.notices_taken, 1);
		note(telling, 0);
	} else {
		put_off(telling, sending == SENDING_ANSWERED ? "another status than 2xx"
				 : call->reason		     ? call->reason
							     : "there was no answer");
	}
}

static const struct call_events call_events = {
	.head = call_head,
	.data = call_data,
	.done = call_done,
};

static void member_shown(struct json_writer *json, const char *name, const struct json_value *shown,
			 struct arena *mem)
{
	const struct json_value *value = approval_part(shown, name);
	struct str text;

	json_name(json, name);
	if (value && json_canonical_str(value, mem, &text) == 0)
		json_raw(json, text);
	else
		json_null(json);
}

static void write_link(struct json_writer *json, const struct telling *telling, const char *id)
{
	struct str console = telling->generation->settings->console.url.text;
	char link[2048];

	json_name(json, "link");
	snprintf(link, sizeof(link), "%.*s/#/approvals/%s", STR_ARG(console), id);
	json_text(json, console.len ? link : NULL);
}

/* The parts that stay what they are until it is told, and where to look for the rest. */
static void write_data(struct json_writer *json, struct telling *telling)
{
	static const char *const shown_names[] = {"class", "summary", "consequence", "reversible"};
	const struct store_command *found = &telling->command;
	struct json_value *shown = NULL;
	char id[OPERATION_ID_TEXT + 1];

	operation_id_write(&telling->notice.id, id);
	if (approval_kept(found->approval.shown, &telling->mem, &shown) != 0)
		shown = NULL;
	json_open_object(json);
	json_name(json, "operation");
	json_text(json, id);
	json_name(json, "account");
	json_string(json, found->operation.account);
	json_name(json, "action");
	json_string(json, found->operation.action);
	for (size_t i = 0; i < sizeof(shown_names) / sizeof(shown_names[0]); i++)
		member_shown(json, shown_names[i], shown, &telling->mem);
	json_name(json, "needed");
	json_integer(json, found->approval.needed);
	json_name(json, "expires_at");
	json_time(json, found->approval.expires_ms);
	write_link(json, telling, id);
	json_close_object(json);
}

static void write_body(struct telling *telling)
{
	struct json_writer json;

	buf_init(&telling->body, BODY_MAX);
	json_writer_init(&json, &telling->body);
	json_open_object(&json);
	json_name(&json, "type");
	json_text(&json, event_name(telling->notice.event));
	json_name(&json, "timestamp");
	json_time(&json, telling->notice.at_ms);
	json_name(&json, "data");
	write_data(&json, telling);
	json_close_object(&json);
}

static void write_headers(struct telling *telling)
{
	const struct settings *settings = telling->generation->settings;
	char id[OPERATION_ID_TEXT + 1], message[OPERATION_ID_TEXT + 32], seconds[24];
	struct webhook webhook;
	struct buf signature;

	operation_id_write(&telling->notice.id, id);
	snprintf(message, sizeof(message), "msg_%s_%u", id, telling->notice.number);
	snprintf(seconds, sizeof(seconds), "%lld", (long long)(wall_ms(telling->notifier) / 1000));
	webhook = (struct webhook){
		.id = str_from(message),
		.timestamp = str_from(seconds),
		.body = buf_str(&telling->body),
	};
	buf_init(&signature, HEADERS_MAX);
	webhook_signatures(settings->notify.secrets, settings->notify.secret_count, &webhook,
			   &signature);
	buf_init(&telling->headers, HEADERS_MAX);
	buf_printf(&telling->headers,
		   "Content-Type: application/json\r\nUser-Agent: counterfoil\r\n"
		   "webhook-id: %s\r\nwebhook-timestamp: %s\r\n",
		   message, seconds);
	http_write_field(&telling->headers, STR("webhook-signature"), buf_str(&signature));
	telling->headers.is_spoiled |= signature.is_spoiled;
	buf_fini(&signature);
}

static void send_it(struct telling *telling)
{
	const struct settings *settings = telling->generation->settings;
	struct str path = settings->notify.url.base_path;

	write_body(telling);
	write_headers(telling);
	telling->call = (struct call){
		.events = &call_events,
		.owner = telling,
		.method = STR("POST"),
		.target = path.len ? path : STR("/"),
		.headers = buf_str(&telling->headers),
		.body = buf_str(&telling->body),
		.has_body = true,
		.has_total_timeout = true,
		.timeout_ms = settings->notify.timeout_ms,
		.is_spoiled = telling->body.is_spoiled || telling->headers.is_spoiled,
	};
	telling->is_called = true;
	call_start(telling->generation->notify, &telling->call);
}

static void found(struct store_command *command)
{
	struct telling *telling = command->owner;
	struct notifier *notifier = telling->notifier;

	notifier->background->commands--;
	notifier->has_failed |= command->result < 0;
	if (command->result == STORE_ABSENT)
		note(telling, 0);
	else if (command->result != 0 || notifier->background->is_draining)
		end(telling);
	else
		send_it(telling);
}

static void noted(struct store_command *command)
{
	struct telling *telling = command->owner;

	telling->notifier->background->commands--;
	telling->notifier->has_failed |= command->result != 0;
	end(telling);
}

/* It has been told (0), or is to be told again then. Should the store not keep that, it is told
 * again as well. */
static void note(struct telling *telling, int64_t next_ms)
{
	struct background *background = telling->notifier->background;

	telling->command = (struct store_command){
		.kind = STORE_NOTICED,
		.mem = &telling->mem,
		.done = noted,
		.owner = telling,
		.notice = {.id = telling->notice.id, .number = telling->notice.number},
		.next_ms = next_ms,
	};
	background->commands++;
	gate_ask(&background->station, &telling->command);
}

static void begin(struct notifier *notifier, const struct store_notice *notice)
{
	struct background *background = notifier->background;
	struct telling *telling = calloc(1, sizeof(*telling));

	if (!telling) {
		notifier->has_failed = true;
		return;
	}
	telling->notifier = notifier;
	telling->generation = background->generation;
	telling->notice = *notice;
	generation_hold(telling->generation);
	arena_init(&telling->mem, BACKGROUND_MEMORY);
	list_append(&notifier->tellings, &telling->link);
	notifier->under_way++;
	telling->command = (struct store_command){
		.kind = STORE_FIND,
		.mem = &telling->mem,
		.done = found,
		.owner = telling,
		.by_id = true,
		.operation = {.id = notice->id},
	};
	background->commands++;
	gate_ask(&background->station, &telling->command);
}

/* Where nothing is due now, when the next one is. */
static void wait_for_next(struct notifier *notifier, int64_t due_ms)
{
	int64_t ms = due_ms - wall_ms(notifier);

	if (notifier->has_failed)
		ms = BACKGROUND_FAILED_MS;
	else if (!due_ms)
		return;
	if (ms < BACKGROUND_SOON_MS)
		ms = BACKGROUND_SOON_MS;
	look_in(notifier, ms < BACKGROUND_LOOK_MS ? ms : BACKGROUND_LOOK_MS);
}

/* The one place that calls are made from, and so that needs a client. */
static bool has_client(struct notifier *notifier)
{
	struct generation *generation = notifier->background->generation;
	const struct settings *settings = generation->settings;
	const struct client_settings wanted = {
		.url = settings->notify.url.text.at,
		.ca_file = settings->notify.ca_file.len ? settings->notify.ca_file.at : NULL,
		.verify = true,
		.timeout_ms = settings->notify.timeout_ms,
		.connect_timeout_ms = settings->notify.timeout_ms,
		.max_connections = CONNECTIONS,
	};

	return generation->notify ||
	       client_new(generation->home->loop, &wanted, &generation->notify) == 0;
}

static void looked(struct store_command *command)
{
	struct notifier *notifier = command->owner;
	struct background *background = notifier->background;
	bool is_good = command->result == 0;

	background->commands--;
	notifier->is_looking = false;
	notifier->has_failed = !is_good;
	if (is_good)
		metrics_set(&background->metrics.notices_waiting, command->notices_waiting);
	if (!background->is_draining) {
		if (is_good && command->notice_count && !has_client(notifier))
			notifier->has_failed = true;
		else
			for (size_t i = 0; is_good && i < command->notice_count; i++)
				begin(notifier, &command->notices[i]);
		if (!notifier->under_way)
			wait_for_next(notifier, is_good ? command->due_ms : 0);
	}
	arena_fini(&notifier->mem);
	if (notifier->looks_again && !notifier->under_way)
		notifier_look(notifier);
}

/* -- life -------------------------------------------------------------------------- */

void notifier_init(struct notifier *notifier, struct background *background)
{
	notifier->background = background;
	list_init(&notifier->tellings);
	loop_timer_init(&notifier->timer, time_to_look);
}

/* What was under way is told again after the next start, under its id. */
void notifier_stop(struct notifier *notifier)
{
	struct list *link, *after;

	loop_timer_cancel(&notifier->timer);
	list_for_each (link, after, &notifier->tellings) {
		struct telling *telling = list_entry(link, struct telling, link);

		if (telling->is_called)
			call_cancel(&telling->call);
	}
}
