/*
 * Asking the gate what became of a step.
 *
 * The gate's own resources are at the origin of the URL, under /.counterfoil. They are asked with
 * the caller's own headers, since the gate tells an operation to its account alone; never with the
 * write's body.
 *
 * | the gate says                | then                                                   |
 * | ---------------------------- | ------------------------------------------------------ |
 * | it has ended                 | its kept answer is fetched and told                    |
 * | running, queued, waiting     | asked again, the gate waiting with us, while there is time |
 * | unknown                      | what its advice says; only a person: stop              |
 * | no such token                | sent again; not under another credential than before,  |
 * |                              | nor what it has told of or what went past it           |
 * | nothing, as there is no gate | sent again where the key is honoured, else stop        |
 *
 * Always true: nothing is sent here. Can fail: as delivery_settle().
 */
#include "client/delivery_internal.h"

#include "base/err.h"
#include "json/json.h"

#include <stdio.h>

enum {
	ASK_MS = 20000,	 /* a look that does not wait */
	POLL_MAX_S = 30, /* that the gate is asked to wait with us */
	HEADERS_MAX = 128 * 1024,
	TARGET_MAX = 32 * 1024,
};

static int learn_operation(struct delivery *delivery, const struct json_value *operation);
static int learn_nothing_known(struct delivery *delivery);
static int learn_no_gate(struct delivery *delivery);
static int learn_no_word(struct delivery *delivery, struct str reason, bool goes_on,
			 int64_t after_s);

/* "/.counterfoil/operations…" below the origin, with the caller's headers. False: no memory. */
static bool ask_for(struct delivery *delivery, const char *target, int64_t timeout_ms)
{
	const struct delivery_request *request = delivery->request;
	struct str rest = request->headers, line, origin = url_origin(delivery->entry.step.url);
	struct web_request web = {.options = &request->web, .method = STR("GET")};
	struct buf headers;
	bool is_fine;

	buf_init(&headers, HEADERS_MAX);
	while (str_split(&rest, '\n', &line))
		if (line.len && !str_starts_with_nocase(line, STR("Content-")) &&
		    !str_starts_with_nocase(line, STR("Prefer:"))) {
			buf_append_str(&headers, line);
			buf_append_byte(&headers, '\n');
		}
	web.url = arena_printf(delivery->mem, "%.*s/.counterfoil/operations%s", STR_ARG(origin),
			       target);
	web.headers = buf_str(&headers);
	web.timeout_ms = timeout_ms;
	is_fine = web.url.at && !headers.is_spoiled;
	if (is_fine)
		web_ask(&web, &delivery->answer);
	buf_fini(&headers);
	return is_fine;
}

static void put_query(struct buf *out, const char *name, struct str value)
{
	buf_append_str(out, str_from(name));
	for (size_t i = 0; i < value.len; i++)
		buf_printf(out, "%%%02X", (unsigned char)value.at[i]);
}

/* Without the query. */
static struct str path_of(struct str url)
{
	struct str path = str_from_index(url, url_origin(url).len);

	return str_of(path.at, str_find(path, '?'));
}

/* By its id where that is known, and then the gate may wait with us; else by its token. */
static bool ask(struct delivery *delivery)
{
	struct str operation = delivery->entry.operation, token = delivery->entry.step.token;
	int64_t poll_s = delivery_left(delivery) / 1000;
	char target[TARGET_MAX];
	struct buf text;
	bool is_fine;

	if (delivery->entry.state != ENTRY_OPEN || poll_s < 0)
		poll_s = 0;
	if (poll_s > POLL_MAX_S)
		poll_s = POLL_MAX_S;
	buf_init(&text, sizeof(target) - 1);
	if (operation.len) {
		buf_printf(&text, "/%.*s?wait=%lld", STR_ARG(operation), (long long)poll_s);
	} else {
		put_query(&text, "?token=", token);
		put_query(&text, "&method=", delivery->entry.step.method);
		put_query(&text, "&path=", path_of(delivery->entry.step.url));
	}
	is_fine = !text.is_spoiled;
	if (is_fine) {
		memcpy(target, text.at, text.len);
		target[text.len] = '\0';
		is_fine = ask_for(delivery, target, ASK_MS + poll_s * 1000);
	}
	buf_fini(&text);
	return is_fine;
}

/* The operation in the answer; NULL where the list has none. False: this is no gate's answer. */
static bool find_operation(struct delivery *delivery, const struct json_value **out)
{
	/* Copied: what is asked next overwrites the answer, and the tree points into its text. */
	struct str text = arena_str(delivery->mem, buf_str(&delivery->answer.body));
	const struct json_value *list, *state;
	struct json_value *json;
	struct json_error error;

	*out = NULL;
	if (delivery->answer.status != 200 || !text.at ||
	    json_read(text, &json_limits_default, delivery->mem, &json, &error) != 0)
		return false;
	list = json_at(json, STR("/operations"));
	if (list && list->type == JSON_ARRAY) {
		state = json_at(json, STR("/protected"));
		/* It keeps no record of such a write, so having none proves nothing. */
		delivery->is_past_gate |= state && state->type == JSON_FALSE;
		*out = list->array.count ? list->array.items[0] : NULL;
		return true;
	}
	state = json_at(json, STR("/state"));
	*out = json;
	return state && state->type == JSON_STRING && json_at(json, STR("/retry"));
}

int delivery_ask(struct delivery *delivery)
{
	const struct json_value *operation;
	struct answer_facts facts;
	struct web_answer *answer = &delivery->answer;

	if (delivery->is_bare)
		return learn_no_gate(delivery);
	if (!ask(delivery))
		return journal_say(delivery->err, FAIL_MEMORY,
				   "there is no memory to ask the gate");
	if (answer->sending != SENDING_ANSWERED)
		return learn_no_word(delivery, str_from(answer->reason), true, 0);
	if (find_operation(delivery, &operation))
		return operation ? learn_operation(delivery, operation)
				 : learn_nothing_known(delivery);
	answer_facts_read(answer->status, buf_str(&answer->headers), buf_str(&answer->body),
			  delivery->mem, &facts);
	if (!facts.is_problem)
		return learn_no_gate(delivery);
	if (answer->status == 404)
		return learn_nothing_known(delivery);
	/* It is a gate, and will not tell: not this caller, or not now. */
	return learn_no_word(delivery, facts.detail, answer->status >= 429, facts.after_s);
}

/* The gate could not be asked, or does not say. */
static int learn_no_word(struct delivery *delivery, struct str reason, bool goes_on,
			 int64_t after_s)
{
	struct lesson lesson = {
		.meaning = MEANS_UNCERTAIN,
		.what = "asked",
		.source = "status",
		.outcome = STR("unknown"),
		.advice = delivery->is_past_gate ? STR("human") : STR("query"),
		.reason = reason,
		.after_s = after_s,
		.goes_on = goes_on,
	};
	int r = delivery_settle(delivery, &lesson);

	if (r == 0 && delivery->move != MOVE_STOP)
		delivery_pause(delivery, after_s);
	return r;
}

/* Settle that nobody knows, and that nothing more can be done here. */
static int stop_unknown(struct delivery *delivery, bool is_gate, const char *reason)
{
	struct lesson lesson = {
		.meaning = MEANS_UNCERTAIN,
		.what = "asked",
		.source = "status",
		.outcome = STR("unknown"),
		.advice = STR("human"),
		.reason = str_from(reason),
		.is_gate = is_gate,
	};

	return delivery_settle(delivery, &lesson);
}

static int learn_no_gate(struct delivery *delivery)
{
	if (delivery->entry.is_gate && !delivery->is_past_gate)
		return learn_no_word(delivery,
				     STR("what answers there now is not the gate that was there"),
				     true, 0);
	delivery->is_bare = true;
	if (!delivery->may_send)
		return stop_unknown(delivery, false, "no gate is there that could be asked");
	if (!delivery->request->honours_key)
		return stop_unknown(
			delivery, false,
			"no gate has a record of it, and nothing says that this API honours the "
			"Idempotency-Key: it is not sent again");
	delivery->move = MOVE_SEND;
	delivery_pause(delivery, 0);
	return 0;
}

static int learn_nothing_known(struct delivery *delivery)
{
	struct str before = delivery->entry.credential;
	struct str now = delivery->has_mark ? str_from(delivery->mark) : STR("");

	if (delivery->is_past_gate && !delivery->entry.operation.len)
		return learn_no_gate(delivery);
	if (!delivery->may_send)
		return stop_unknown(delivery, true, "the gate knows no operation of this token");
	if (!str_equal(before, now) && !delivery->request->same_account)
		return stop_unknown(
			delivery, true,
			"the gate knows no operation of this token, but it was sent with another "
			"credential: under this one it could be another account's");
	if (delivery->entry.operation.len)
		return stop_unknown(delivery, true,
				    "the gate does not know the operation any more that it told "
				    "of: it may have happened");
	delivery->entry.is_gate = true;
	delivery->move = MOVE_SEND;
	if (delivery->tries)
		delivery_pause(delivery, 0);
	return 0;
}

/* -- what it says of the operation ----------------------------------------------------- */

/* The kept answer into delivery->answer. False: it has none; *out_again: it could not be told. */
static bool fetch_answer(struct delivery *delivery, struct str id, bool *out_again)
{
	struct web_answer *answer = &delivery->answer;
	struct answer_facts facts;
	char target[TARGET_MAX];

	*out_again = false;
	snprintf(target, sizeof(target), "/%.*s/response", STR_ARG(id));
	if (!ask_for(delivery, target, ASK_MS) || answer->sending != SENDING_ANSWERED) {
		*out_again = true;
		return false;
	}
	if (str_equal(web_header(buf_str(&answer->headers), STR("Idempotent-Replayed")),
		      STR("true")))
		return true;
	/* Only a gate says that there is none; too often, too busy or somebody between do not. */
	answer_facts_read(answer->status, buf_str(&answer->headers), buf_str(&answer->body),
			  delivery->mem, &facts);
	*out_again = !facts.is_problem || facts.status >= 429;
	return false;
}

static int learn_end(struct delivery *delivery, struct lesson *lesson, bool has_happened)
{
	bool again;

	lesson->meaning = has_happened ? MEANS_DONE : MEANS_FAILED;
	lesson->outcome = has_happened ? STR("replayed") : STR("failed");
	lesson->advice = STR("");
	lesson->goes_on = false;
	lesson->has_answer = fetch_answer(delivery, lesson->operation, &again);
	if (again)
		return learn_no_word(delivery, str_from(delivery->answer.reason), true, 0);
	return delivery_settle(delivery, lesson);
}

static bool has_end(struct str text, struct str end)
{
	return end.len <= text.len && str_equal(str_from_index(text, text.len - end.len), end);
}

/*
 * Is it this step's? A token by hand may stand for another action there. What is between may put
 * something before the path or take it away, so one has to end as the other does.
 */
static bool is_of_the_step(const struct delivery *delivery, const struct json_value *operation)
{
	struct str method = answer_text(operation, STR("/method"));
	struct str path = answer_text(operation, STR("/path"));
	const struct step *step = &delivery->entry.step;
	struct str own = str_from_index(step->url, url_origin(step->url).len);

	own.len = str_find(own, '?');
	path.len = str_find(path, '?');
	if (step->task.len || !method.len || !path.len || str_find(own, '%') < own.len)
		return true;
	return str_equal(method, step->method) && (has_end(own, path) || has_end(path, own));
}

/* It is open, and the same request is what moves it on. */
static bool is_to_be_sent(const struct lesson *lesson)
{
	return str_equal(lesson->advice, STR("same_key"));
}

static int learn_operation(struct delivery *delivery, const struct json_value *operation)
{
	const struct json_value *after = json_at(operation, STR("/retry/after"));
	struct str state = answer_text(operation, STR("/state"));
	struct lesson lesson = {
		.meaning = MEANS_OPEN,
		.what = "asked",
		.source = "status",
		.outcome = state,
		.operation = answer_text(operation, STR("/id")),
		.advice = answer_text(operation, STR("/retry/advice")),
		.reason = answer_text(operation, STR("/reason")),
		.is_gate = true,
		.goes_on = true,
	};
	int r;

	if (!is_of_the_step(delivery, operation))
		return stop_unknown(delivery, true,
				    "the gate has this token for another action: give this one a "
				    "token of its own");
	if (after && after->type == JSON_NUMBER)
		json_number_to_i64(&after->number, &lesson.after_s);
	lesson.after_s = answer_after(lesson.after_s);
	if (str_equal(state, STR("completed")))
		return learn_end(delivery, &lesson, true);
	if (str_equal(state, STR("failed")) || str_equal(state, STR("cancelled")))
		return learn_end(delivery, &lesson, false);
	if (str_equal(state, STR("unknown"))) {
		lesson.meaning = MEANS_UNCERTAIN;
		lesson.goes_on = !str_equal(lesson.advice, STR("human")) &&
				 !str_equal(lesson.advice, STR("stop"));
	}
	if (is_to_be_sent(&lesson) && !delivery->may_send)
		lesson.goes_on = false;
	r = delivery_settle(delivery, &lesson);
	if (r != 0 || delivery->move == MOVE_STOP)
		return r;
	delivery->move = is_to_be_sent(&lesson) ? MOVE_SEND : MOVE_ASK;
	/* Where the gate waits with us, its answer is the pause. */
	if (lesson.meaning != MEANS_OPEN || delivery->move == MOVE_SEND)
		delivery_pause(delivery, lesson.after_s);
	return 0;
}
