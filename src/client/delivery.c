/*
 * The life of a delivery.
 *
 *   claim ─► send ─► (answer) ─► done | failed | refused | conflict
 *              ▲        │ open, uncertain
 *              │        ▼
 *              └────── ask ─► done | failed | unknown
 *
 * Each turn of the loop is one request, followed by one transaction of the journal. A pause
 * between turns ends with the time that is given for all of it; what is known then is the result.
 *
 * Always true: is_certain is false from the first answer that was lost until a gate has told of
 * the operation itself; while it is, no answer to a second sending proves that nothing happened.
 * What went past every gate is in the journal as unknown, of no gate, and for a person: a later run
 * knows by these three that a gate without a record of it proves nothing.
 */
#include "client/delivery_internal.h"

#include "base/err.h"
#include "core/backoff.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	TURNS_MAX = 100000, /* requests and looks of one delivery: a bound, never reached in time */
	PAUSE_FIRST_MS = 500,
	PAUSE_MAX_MS = 30000,
	LOOK_FIRST_MS = 200, /* while somebody else is at it */
	LOOK_MAX_MS = 2000,
	HEADERS_MAX = 128 * 1024,
	OUTPUT_MAX = 4096, /* bytes of its path */
};

static int begin(struct delivery *delivery);
static int send_once(struct delivery *delivery);
static int check_headers(const struct delivery_request *request, struct journal_error *err);
static int check_output(const char *output, struct journal_error *err);

static int run(struct delivery *delivery)
{
	const struct delivery_request *request = delivery->request;
	struct str authorization = web_header(request->headers, STR("Authorization"));
	int r = check_headers(request, delivery->err);

	if (r == 0)
		r = check_output(request->output, delivery->err);
	if (r == 0)
		r = journal_token(delivery->journal, &request->step, request->is_new, delivery->mem,
				  &delivery->entry, delivery->err);
	if (r != 0)
		return r;
	delivery->has_mark = authorization.len > 0;
	if (delivery->has_mark)
		credential_mark(delivery->entry.step.token, authorization, delivery->mark);
	r = begin(delivery);
	for (int turn = 0; r == 0 && delivery->move != MOVE_STOP; turn++) {
		require(turn < TURNS_MAX);
		r = delivery->move == MOVE_SEND ? send_once(delivery) : delivery_ask(delivery);
	}
	return r;
}

static int deliver(struct journal *journal, const struct delivery_request *request, bool may_send,
		   struct arena *mem, struct delivery_result *out_result, struct journal_error *err)
{
	struct delivery delivery = {.journal = journal,
				    .request = request,
				    .mem = mem,
				    .err = err,
				    .may_send = may_send};
	int r;

	delivery.deadline_ms = time_add(env_monotonic_ms(journal_env(journal)), request->wait_ms);
	web_answer_init(&delivery.answer);
	r = run(&delivery);
	journal_leave(journal); /* where it could not be settled: the next try is not kept out */
	web_answer_fini(&delivery.answer);
	if (r == 0 || r == DELIVERY_UNKEPT)
		*out_result = delivery.result;
	return r;
}

int delivery_send(struct journal *journal, const struct delivery_request *request,
		  struct arena *mem, struct delivery_result *out_result, struct journal_error *err)
{
	return deliver(journal, request, true, mem, out_result, err);
}

int delivery_resolve(struct journal *journal, const struct delivery_request *request,
		     struct arena *mem, struct delivery_result *out_result,
		     struct journal_error *err)
{
	return deliver(journal, request, false, mem, out_result, err);
}

/* Those that say which action this is, or where a message ends, are not the caller's to write. */
static int check_headers(const struct delivery_request *request, struct journal_error *err)
{
	static const char *const ours[] = {"Idempotency-Key",
					   "Counterfoil-Task",
					   "Counterfoil-Step",
					   "Counterfoil-Retry-Of",
					   "Content-Length",
					   "Transfer-Encoding",
					   "Host"};

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (web_header(request->headers, str_from(ours[i])).len)
			return journal_say(
				err, DELIVERY_REFUSED,
				"the header %s is not yours to set here: it follows from "
				"the step and the body",
				ours[i]);
	return 0;
}

/* What can be seen before anything is sent: a file that takes no bytes, or a folder no file. */
static int check_output(const char *output, struct journal_error *err)
{
	const char *slash = output ? strrchr(output, '/') : NULL;
	char folder[OUTPUT_MAX] = ".";
	struct stat file;
	bool is_fine = !output || access(output, W_OK) == 0;

	if (output && stat(output, &file) == 0 && S_ISDIR(file.st_mode)) {
		is_fine = false;
		errno = EISDIR;
	}
	if (!is_fine && errno == ENOENT && strlen(output) < sizeof(folder)) {
		if (slash)
			snprintf(folder, sizeof(folder), "%.*s", (int)(slash - output + 1), output);
		is_fine = access(folder, W_OK | X_OK) == 0;
	}
	return is_fine ? 0
		       : journal_say(err, DELIVERY_REFUSED,
				     "the answer's body cannot be written to %s: %s", output,
				     strerror(errno));
}

/* -- claiming ------------------------------------------------------------------------ */

static int claim(struct delivery *delivery)
{
	const struct delivery_request *request = delivery->request;
	struct payload payload;
	struct str retry_of = delivery->entry.retry_of;
	int r = 0;

	if (delivery->may_send)
		r = payload_of(web_header(request->headers, STR("Content-Type")), request->body,
			       delivery->entry.step.token, delivery->mem, &payload);
	if (r != 0)
		return journal_say(delivery->err, r, "there is no memory for the request's body");
	r = journal_claim(delivery->journal, delivery->entry.id,
			  delivery->may_send ? &payload : NULL,
			  delivery->has_mark ? delivery->mark : NULL, delivery->mem,
			  &delivery->entry, delivery->err);
	delivery->entry.retry_of = retry_of;
	if (r == 0 && delivery->entry.state == ENTRY_NEW)
		delivery->entry.attempts++; /* it was read as it was before */
	return r;
}

/* The payload has changed: that is told, and nothing is sent. */
static int tell_conflict(struct delivery *delivery)
{
	struct delivery_result *result = &delivery->result;

	delivery_tell(delivery);
	result->outcome = STR("conflict");
	result->answer = (struct kept_answer){.status = 0};
	result->is_local = true;
	result->difference = arena_str(delivery->mem, str_from(delivery->err->text));
	result->advice = STR("fix");
	result->after_s = 0;
	result->reason = STR("another payload was sent under this token: send that one, or begin a "
			     "new action");
	return result->difference.at ? 0 : FAIL_MEMORY;
}

/* Claim it, waiting for whoever is at it. A move, or a failure. */
static int begin(struct delivery *delivery)
{
	uint32_t looks = 0;
	int r = claim(delivery);

	while (r == JOURNAL_BUSY && delivery_left(delivery) > 0) {
		int64_t pause = backoff_ms(LOOK_FIRST_MS, LOOK_MAX_MS, ++looks, 0x80000000u);
		struct timespec rest = {pause / 1000, pause % 1000 * 1000000};

		nanosleep(&rest, NULL);
		r = claim(delivery);
	}
	delivery->move = MOVE_STOP;
	switch (r) {
	case 0:
		delivery->is_certain = delivery->is_recorded = delivery->entry.state == ENTRY_NEW;
		delivery->is_past_gate = !delivery->is_certain && !delivery->entry.is_gate &&
					 str_equal(delivery->entry.advice, STR("human"));
		delivery->move = delivery->is_certain ? MOVE_SEND : MOVE_ASK;
		return 0;
	case JOURNAL_ENDED:
		delivery_tell(delivery);
		return delivery_put_body(delivery, &delivery->result.answer);
	case JOURNAL_BUSY:
		delivery_tell(delivery);
		return 0;
	case JOURNAL_CHANGED:
		return tell_conflict(delivery);
	default:
		return r;
	}
}

/* -- sending ------------------------------------------------------------------------- */

static bool is_visible(struct str text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.at[i] < ' ' || text.at[i] > '~')
			return false;
	return text.len > 0;
}

static void add_header(struct buf *out, const char *name, struct str value)
{
	if (is_visible(value))
		buf_printf(out, "%s: %.*s\r\n", name, STR_ARG(value));
}

static void write_headers(const struct delivery *delivery, struct buf *out)
{
	const struct journal_entry *entry = &delivery->entry;

	buf_append_str(out, delivery->request->headers);
	add_header(out, "Idempotency-Key", entry->step.token);
	add_header(out, "Counterfoil-Task", entry->step.task);
	add_header(out, "Counterfoil-Step", entry->step.step);
	add_header(out, "Counterfoil-Retry-Of", entry->retry_of);
}

/* Put the write on the wire, once. 0, or the failure before it. */
static int put_out(struct delivery *delivery)
{
	const struct delivery_request *request = delivery->request;
	struct web_request web = {
		.options = &request->web,
		.method = delivery->entry.step.method,
		.url = delivery->entry.step.url,
		.body = request->body,
		.has_body = request->has_body,
		.timeout_ms = request->request_ms ? request->request_ms : DELIVERY_REQUEST_MS,
	};
	struct buf headers;
	int r = 0;

	buf_init(&headers, HEADERS_MAX);
	write_headers(delivery, &headers);
	web.headers = buf_str(&headers);
	if (headers.is_spoiled)
		r = journal_say(delivery->err, DELIVERY_REFUSED, "the headers are too long");
	else if (!delivery->is_recorded)
		r = journal_send_again(delivery->journal, delivery->entry.id,
				       delivery->has_mark ? delivery->mark : NULL, "",
				       delivery->err);
	if (r == 0 && !delivery->is_recorded)
		delivery->entry.attempts++;
	delivery->is_recorded = false;
	if (r == 0)
		web_ask(&web, &delivery->answer);
	buf_fini(&headers);
	return r;
}

/*
 * What the answer to a second sending proves of the first: only that it happened, or that the
 * request itself is refused. What is not allowed, not found, in the way or too often now may have
 * been none of it then.
 */
static enum meaning judge_again(enum meaning meaning, int status)
{
	static const int of_the_moment[] = {307, 308, 401, 403, 404, 407, 409, 410, 412, 421, 423,
					    424, 425, 426, 428, 429, 451, 506, 507, 508, 510, 511};

	if (meaning == MEANS_NOT_YET || meaning == MEANS_UNRECORDED)
		return MEANS_UNCERTAIN;
	for (size_t i = 0; i < sizeof(of_the_moment) / sizeof(of_the_moment[0]); i++)
		if (meaning == MEANS_FAILED && status == of_the_moment[i])
			return MEANS_UNCERTAIN;
	return meaning;
}

/* No answer: was anything sent, and so is anything uncertain? */
static int learn_silence(struct delivery *delivery)
{
	bool has_left = delivery->answer.sending != SENDING_NEVER_LEFT;
	struct lesson lesson = {
		.what = has_left ? "lost" : "not_sent",
		.source = "answer",
		.reason = arena_str(delivery->mem, str_from(delivery->answer.reason)),
		.goes_on = true,
	};

	delivery->is_certain = delivery->is_certain && !has_left;
	lesson.meaning = delivery->is_certain ? MEANS_NOT_YET : MEANS_UNCERTAIN;
	lesson.outcome = delivery->is_certain ? STR("not_sent") : STR("unknown");
	if (!delivery->is_certain)
		lesson.advice = delivery->is_past_gate ? STR("human") : STR("query");
	return delivery_settle(delivery, &lesson);
}

static int learn_answer(struct delivery *delivery, struct answer_facts *facts)
{
	struct web_answer *answer = &delivery->answer;
	enum meaning meaning;
	struct lesson lesson = {.what = "answered", .source = "answer"};
	bool is_past_gate;

	answer_facts_read(answer->status, buf_str(&answer->headers), buf_str(&answer->body),
			  delivery->mem, facts);
	meaning = answer_meaning(facts, delivery->request->honours_key);
	is_past_gate = answer_is_past_gate(facts);
	delivery->is_past_gate |= is_past_gate;
	/* A gate that tells of the operation knows of all that was sent under its token. */
	if (facts->operation.len && answer_is_gate(facts))
		delivery->is_certain = meaning != MEANS_UNCERTAIN;
	else if (!delivery->is_certain)
		meaning = judge_again(meaning, facts->status);
	else
		delivery->is_certain = meaning != MEANS_UNCERTAIN && meaning != MEANS_OPEN;
	lesson.meaning = meaning;
	lesson.outcome = answer_outcome(facts, meaning);
	lesson.operation = facts->operation;
	lesson.advice = is_past_gate ? STR("") : facts->advice;
	lesson.reason = facts->detail;
	lesson.after_s = facts->after_s;
	lesson.is_gate = !is_past_gate;
	lesson.has_answer = meaning == MEANS_DONE || meaning == MEANS_FAILED ||
			    meaning == MEANS_UNRECORDED || meaning == MEANS_CONFLICT;
	lesson.goes_on =
		meaning == MEANS_OPEN || meaning == MEANS_UNCERTAIN || meaning == MEANS_NOT_YET;
	return delivery_settle(delivery, &lesson);
}

static int send_once(struct delivery *delivery)
{
	struct answer_facts facts = {.status = 0};
	int r = put_out(delivery);

	if (r != 0)
		return r;
	r = delivery->answer.sending == SENDING_ANSWERED ? learn_answer(delivery, &facts)
							 : learn_silence(delivery);
	if (r != 0 || delivery->move == MOVE_STOP)
		return r;
	delivery->move =
		delivery->is_certain && delivery->entry.state == ENTRY_NEW ? MOVE_SEND : MOVE_ASK;
	/* What a gate has just said can be asked at once only where it was lost, not where it
	 * waits. */
	if (delivery->answer.sending == SENDING_ANSWERED || delivery->move == MOVE_SEND)
		delivery_pause(delivery, facts.after_s);
	return 0;
}

/* -- time ---------------------------------------------------------------------------- */

int64_t delivery_left(const struct delivery *delivery)
{
	int64_t left = delivery->deadline_ms - env_monotonic_ms(journal_env(delivery->journal));

	return left > 0 ? left : 0;
}

void delivery_pause(struct delivery *delivery, int64_t after_s)
{
	uint32_t random;
	int64_t pause, left = delivery_left(delivery);
	struct timespec rest;

	env_random(journal_env(delivery->journal), &random, sizeof(random));
	pause = backoff_ms(PAUSE_FIRST_MS, PAUSE_MAX_MS, ++delivery->tries, random);
	if (pause < after_s * 1000)
		pause = after_s * 1000;
	if (pause > left)
		pause = left;
	rest = (struct timespec){pause / 1000, pause % 1000 * 1000000};
	nanosleep(&rest, NULL);
}
