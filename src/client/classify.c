/*
 * Reading an answer's meaning.
 *
 * Two tables: a gate's outcomes, and the advice of a gate's problems that name no outcome. What is
 * in neither is read by its status. Where the two could be at odds, the more careful one counts:
 * what is not certain is asked about, never sent again.
 *
 * Always true: MEANS_NOT_YET and MEANS_UNRECORDED are said only where nothing happened for certain.
 * Cannot fail: an answer that cannot be understood is one that says only its status.
 */
#include "client/classify.h"

#include "client/web.h"
#include "core/outcome.h"
#include "http/http.h"

enum { FACTS_BODY_MAX = 1024 * 1024, AFTER_MAX_S = 86400 };

static const struct str problem_prefix = {"urn:counterfoil:problem:", 24};

static int64_t read_after(struct str headers);
static void read_problem(struct str body, struct arena *mem, struct answer_facts *facts);

void answer_facts_read(int status, struct str headers, struct str body, struct arena *mem,
		       struct answer_facts *out_facts)
{
	struct answer_facts facts = {.status = status};
	struct str type = web_header(headers, STR("Content-Type"));

	facts.outcome = web_header(headers, STR("Operation-Outcome"));
	facts.operation = web_header(headers, STR("Operation-Id"));
	facts.state = web_header(headers, STR("Operation-State"));
	facts.after_s = read_after(headers);
	if (str_starts_with_nocase(type, STR("application/problem+json")) ||
	    (facts.operation.len && status == 202))
		read_problem(body, mem, &facts);
	if (!answer_is_gate(&facts) && outcome_is_elsewhere(status))
		facts.detail = STR("the service wants it sent elsewhere (Location): here nothing "
				   "was done");
	*out_facts = facts;
}

/* A number of seconds, or a date, which is taken against the answer's own: no clock is in it. */
static int64_t read_after(struct str headers)
{
	struct str text = web_header(headers, STR("Retry-After"));
	int64_t then, now, after = 0;
	size_t digits = 0;
	uint64_t seconds;

	while (digits < text.len && text.at[digits] >= '0' && text.at[digits] <= '9')
		digits++;
	if (digits > 0 && digits == text.len)
		return str_to_u64(text, AFTER_MAX_S, &seconds) ? (int64_t)seconds : AFTER_MAX_S;
	if (http_date_read(text, &then) && http_date_read(web_header(headers, STR("Date")), &now))
		after = then - now;
	return after < 0 ? 0 : after > AFTER_MAX_S ? AFTER_MAX_S : after;
}

struct str answer_text(const struct json_value *json, struct str pointer)
{
	const struct json_value *value = json_at(json, pointer);

	return value && value->type == JSON_STRING ? value->string : STR("");
}

/* A problem, or what a 202 says of its operation; they have the same members. */
static void read_problem(struct str body, struct arena *mem, struct answer_facts *facts)
{
	const struct json_value *after;
	struct json_value *json;
	struct json_error error;
	struct str type;

	if (body.len > FACTS_BODY_MAX ||
	    json_read(body, &json_limits_default, mem, &json, &error) != 0)
		return;
	type = answer_text(json, STR("/type"));
	/* With the status of a success it contradicts itself. */
	facts->is_problem = facts->status >= 400 && str_starts_with(type, problem_prefix);
	facts->slug = facts->is_problem ? str_from_index(type, problem_prefix.len) : STR("");
	if (!answer_is_gate(facts))
		return;
	facts->detail = answer_text(json, STR("/detail"));
	if (!facts->detail.len)
		facts->detail = answer_text(json, STR("/title"));
	facts->advice = answer_text(json, STR("/retry/advice"));
	facts->status_url = answer_text(json, STR("/operation/status_url"));
	after = json_at(json, STR("/retry/after"));
	if (after && after->type == JSON_NUMBER)
		json_number_to_i64(&after->number, &facts->after_s);
	facts->after_s = answer_after(facts->after_s);
}

int64_t answer_after(int64_t after_s)
{
	return after_s < 0 || after_s > AFTER_MAX_S ? AFTER_MAX_S : after_s;
}

bool answer_is_gate(const struct answer_facts *facts)
{
	return facts->is_problem || (facts->operation.len > 0 && facts->outcome.len > 0);
}

bool answer_is_past_gate(const struct answer_facts *facts)
{
	/* Problems of its passing on; of what it protects it has the words of an operation. */
	return !answer_is_gate(facts) ||
	       (!facts->operation.len && str_starts_with(facts->slug, STR("upstream-")));
}

static enum meaning gate_meaning(const struct answer_facts *facts);
static enum meaning status_meaning(int status);

enum meaning answer_meaning(const struct answer_facts *facts, bool honours_key)
{
	if (answer_is_gate(facts))
		return gate_meaning(facts);
	if (honours_key && (facts->status == 409 || facts->status == 425))
		return MEANS_OPEN;
	return status_meaning(facts->status);
}

/* By the table that a gate reads its services by, with its defaults. */
static enum meaning status_meaning(int status)
{
	struct status_classes classes;

	status_classes_default(&classes);
	switch (outcome_of_sending(&classes, SENDING_ANSWERED, status)) {
	case EVENT_SUCCEEDED:
		return MEANS_DONE;
	case EVENT_REFUSED:
		return MEANS_FAILED;
	case EVENT_NOT_SENT:
		return MEANS_NOT_YET;
	default:
		return MEANS_UNCERTAIN;
	}
}

/* The end of an operation, by the state that came with it; without one by its status. */
static enum meaning ended(const struct answer_facts *facts)
{
	if (str_equal(facts->state, STR("completed")))
		return MEANS_DONE;
	if (str_equal(facts->state, STR("failed")) || str_equal(facts->state, STR("cancelled")))
		return MEANS_FAILED;
	if (facts->state.len) /* it has not ended */
		return MEANS_UNCERTAIN;
	return facts->status < 400 && !outcome_is_elsewhere(facts->status) ? MEANS_DONE
									   : MEANS_FAILED;
}

/* Of a problem that names no outcome: the request was not taken, and the advice says what to do. */
static enum meaning by_advice(struct str advice)
{
	if (str_equal(advice, STR("same_key")) || str_equal(advice, STR("wait")))
		return MEANS_NOT_YET;
	if (str_equal(advice, STR("fix")) || str_equal(advice, STR("stop")) ||
	    str_equal(advice, STR("new_key")))
		return MEANS_UNRECORDED;
	return MEANS_UNCERTAIN;
}

static enum meaning gate_meaning(const struct answer_facts *facts)
{
	static const struct {
		struct str outcome;
		enum meaning meaning;
	} table[] = {
		{{"running", 7}, MEANS_OPEN},
		{{"queued", 6}, MEANS_OPEN},
		{{"awaiting_approval", 17}, MEANS_OPEN},
		{{"conflict", 8}, MEANS_CONFLICT},
		{{"locked", 6}, MEANS_NOT_YET},
		{{"refused", 7}, MEANS_UNRECORDED},
		{{"denied", 6}, MEANS_FAILED},
		{{"unknown", 7}, MEANS_UNCERTAIN},
		{{"not_sent", 8}, MEANS_NOT_YET},
		{{"expired", 7}, MEANS_LOST},
	};
	struct str outcome = facts->outcome;

	if (str_equal(outcome, STR("created")) || str_equal(outcome, STR("replayed")) ||
	    str_equal(outcome, STR("reused")))
		return ended(facts);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (str_equal(outcome, table[i].outcome))
			return facts->status < 400 && table[i].meaning != MEANS_OPEN
				       ? MEANS_UNCERTAIN /* a success that denies itself */
				       : table[i].meaning;
	return by_advice(facts->advice);
}

struct str answer_outcome(const struct answer_facts *facts, enum meaning meaning)
{
	static const struct str plain[] = {
		[MEANS_DONE] = {"created", 7},	    [MEANS_FAILED] = {"failed", 6},
		[MEANS_OPEN] = {"running", 7},	    [MEANS_UNCERTAIN] = {"unknown", 7},
		[MEANS_NOT_YET] = {"not_sent", 8},  [MEANS_UNRECORDED] = {"refused", 7},
		[MEANS_CONFLICT] = {"conflict", 8}, [MEANS_LOST] = {"expired", 7},
	};

	/* A failure of the service's is one, also where the gate has just "created" or replayed it.
	 * Nor is anything done or refused while nobody knows. */
	if (facts->outcome.len && meaning != MEANS_UNCERTAIN &&
	    (meaning != MEANS_FAILED || str_equal(facts->outcome, STR("denied"))))
		return facts->outcome;
	return plain[meaning];
}

const char *meaning_advice(enum meaning meaning)
{
	switch (meaning) {
	case MEANS_DONE:
		return "stop";
	case MEANS_FAILED:
		return "new_key";
	case MEANS_OPEN:
		return "wait";
	case MEANS_NOT_YET:
		return "same_key";
	case MEANS_UNRECORDED:
	case MEANS_CONFLICT:
		return "fix";
	case MEANS_UNCERTAIN:
	case MEANS_LOST:
		break;
	}
	return "human";
}
