/*
 * Problem answers: the table, and the JSON.
 */
#include "gate/problem.h"

#include "base/err.h"
#include "config/settings.h"
#include "gate/metrics.h"
#include "gate/operation_json.h"
#include "json/json.h"

#include <stdio.h>

enum { ANSWER_PART_MAX = 256 * 1024 }; /* of its lines, and of its body */

_Static_assert((int)PROBLEM_COUNT <= (int)METRICS_PROBLEMS, "every problem has its counter");

static const struct problem_kind kinds[PROBLEM_COUNT] = {
	[PROBLEM_NONE] = {"none", 500, "No problem", ADVICE_STOP, 0, NULL},
	[PROBLEM_KEY_MISSING] = {"key-missing", 400, "This request needs a token", ADVICE_FIX, 0,
				 "Writes need a token, so that a retry can be told from a second "
				 "intention. Make one for each intended action, keep it before you "
				 "send, and send it with every retry."},
	[PROBLEM_KEY_MALFORMED] = {"key-malformed", 400, "The token is malformed", ADVICE_FIX, 0,
				   "A token is 1 to 255 visible ASCII characters, bare or as a "
				   "quoted string, in one header line."},
	[PROBLEM_REQUEST_MALFORMED] =
		{"request-malformed", 400, "The request is malformed", ADVICE_FIX, 0,
		 "The message could be understood in two ways, or not at all. Nothing was sent."},
	[PROBLEM_BODY_MALFORMED] = {"body-malformed", 400, "The body is malformed or ambiguous",
				    ADVICE_FIX, 0,
				    "The body could be understood in two ways, or not at all. "
				    "Nothing was sent and the token is still free."},
	[PROBLEM_BODY_TOO_LARGE] = {"body-too-large", 413, "The request is too large", ADVICE_FIX,
				    0,
				    "The body, the head or the target is over a limit of this "
				    "gate. Nothing was sent."},
	[PROBLEM_CODING_UNKNOWN] =
		{"coding-unknown", 415, "The body is in a form that is not known here", ADVICE_FIX,
		 0,
		 "Send the body as it is, or with gzip or deflate; the command of a declared "
		 "action as application/json. Nothing was sent."},
	[PROBLEM_METHOD_OVERRIDE] =
		{"method-override", 400, "A method override is not accepted", ADVICE_FIX, 0,
		 "A header or the query asks the service to treat this request as a protected "
		 "write. Send it with that method, and with a token. Nothing was sent."},
	[PROBLEM_UNDECLARED] = {"undeclared", 403, "This write is not declared", ADVICE_STOP, 0,
				"This gate lets only declared writes through. Nothing was sent."},
	[PROBLEM_COMMAND_INVALID] = {"command-invalid", 422,
				     "The command breaks the rules of its action", ADVICE_FIX, 0,
				     "The members of `errors` say which fields are wrong and how "
				     "to mend them. Nothing was "
				     "sent and the token is still free. GET /.counterfoil/actions "
				     "shows what is expected."},
	[PROBLEM_REFERENCE_MUTABLE] =
		{"reference-mutable", 422, "A reference names something that can change",
		 ADVICE_FIX, 0,
		 "Branches, tags and abbreviations may mean something else tomorrow: send a digest "
		 "or a "
		 "full commit id. Nothing was sent and the token is still free."},
	[PROBLEM_KEY_REUSED] =
		{"key-reused", 422, "The token belongs to another request", ADVICE_FIX, 0,
		 "The token was first used with a different request. Send that request again "
		 "unchanged; only for a new intention make a new token."},
	[PROBLEM_OPERATION_RUNNING] =
		{"operation-running", 409, "The first attempt is still running", ADVICE_WAIT, 1,
		 "Another attempt with this token is under way. Wait, then send the same request "
		 "with the same token, or ask the status resource."},
	[PROBLEM_OPERATION_QUEUED] =
		{"operation-queued", 202, "The operation is queued", ADVICE_WAIT, 2,
		 "It has not been sent yet. Ask the status resource, or repeat the same request."},
	[PROBLEM_APPROVAL_PENDING] = {"approval-pending", 202, "A person has to agree first",
				      ADVICE_WAIT, 10,
				      "Nothing is sent before that. Ask the status resource."},
	[PROBLEM_APPROVAL_DENIED] = {"approval-denied", 403, "A person has refused it",
				     ADVICE_HUMAN, 0,
				     "It was not sent, and never will be under this token. The "
				     "detail says why. Speak to "
				     "a person before the same is asked with a new token."},
	[PROBLEM_APPROVAL_EXPIRED] = {"approval-expired", 403, "Nobody agreed to it in time",
				      ADVICE_NEW_KEY, 0,
				      "It was not sent, and never will be under this token. If it "
				      "is wanted still, it is "
				      "a new question with a new token."},
	[PROBLEM_APPROVAL_OWN] =
		{"approval-own", 403, "Nobody approves what they have asked for", ADVICE_HUMAN, 0,
		 "Whoever has asked for an operation cannot agree to it: neither "
		 "with the same key nor as the same agent. Another person has to."},
	[PROBLEM_APPROVAL_TWICE] = {"approval-twice", 409, "They have agreed to it already",
				    ADVICE_HUMAN, 0,
				    "It takes another person as well; one counts once."},
	[PROBLEM_APPROVAL_OTHER] =
		{"approval-other", 409, "What is asked about is something else", ADVICE_FIX, 0,
		 "An answer holds for what was shown: its fingerprint, under the rule of then. "
		 "Look "
		 "at the question as it is now, and answer that. Nothing was recorded."},
	[PROBLEM_APPROVAL_OVER] =
		{"approval-over", 409, "It waits for no answer any more", ADVICE_STOP, 0,
		 "It was answered, withdrawn, or its time is over; or its action is "
		 "not declared as it was. Nothing was recorded."},
	[PROBLEM_OPERATION_CANCELLED] =
		{"operation-cancelled", 409, "The operation was cancelled", ADVICE_NEW_KEY, 0,
		 "It was withdrawn before anything was sent. If it is wanted after all, it is a "
		 "new intention with a new token."},
	[PROBLEM_OPERATION_FAILED] =
		{"operation-failed", 409, "The operation did not happen", ADVICE_NEW_KEY, 0,
		 "Somebody found out that it had no effect, and closed it. To do it after all, "
		 "send it with a new token and Counterfoil-Retry-Of."},
	[PROBLEM_OUTCOME_UNKNOWN] =
		{"outcome-unknown", 409, "Nobody knows whether it happened", ADVICE_QUERY, 30,
		 "The request left the gate and no certain answer came back. It is sent again only "
		 "where that cannot make a second effect: the service says that nothing is there, "
		 "or knows the gate's own key for it. Elsewhere a person finds out. Ask the status "
		 "resource, or repeat the same request. Never use a new token."},
	[PROBLEM_OUTCOME_UNKNOWN_NOW] = {"outcome-unknown", 504, "Nobody knows whether it happened",
					 ADVICE_QUERY, 5, NULL},
	[PROBLEM_KEY_EXPIRED] = {"key-expired", 410, "The token has expired", ADVICE_STOP, 0,
				 "The token was used before and its record is gone. It had its one "
				 "chance; nothing was sent now."},
	[PROBLEM_RESPONSE_NOT_RETAINED] =
		{"response-not-retained", 410, "The operation has ended; its answer is not kept",
		 ADVICE_STOP, 0,
		 "The action was carried out once and is not run again. Its answer was too large "
		 "to keep, or was never seen. Look at the resource itself."},
	[PROBLEM_RETRY_REFUSED] =
		{"retry-refused", 409, "There is no failed operation to retry", ADVICE_STOP, 0,
		 "Counterfoil-Retry-Of names an operation of this account that failed or was "
		 "cancelled. Nothing was sent and the token is still free."},
	[PROBLEM_LOCK_HELD] = {"lock-held", 423, "Another operation holds what this one needs",
			       ADVICE_WAIT, 5,
			       "Only one operation at a time may work on a resource; the member "
			       "`lock` says which one "
			       "does now. Nothing was sent: wait, then send the same request with "
			       "the same token again."},
	[PROBLEM_VERSION_MISMATCH] =
		{"version-mismatch", 412, "The resource is at another version", ADVICE_FIX, 0,
		 "Somebody changed it since the version that the command expects; the member "
		 "`version` says where it is. Look at it again and decide anew. Nothing was sent. "
		 "A "
		 "token that was free still is; an operation that was queued under it stays "
		 "queued, "
		 "and can be cancelled."},
	[PROBLEM_BUDGET_EXCEEDED] =
		{"budget-exceeded", 422, "More than is left of its budget", ADVICE_FIX, 0,
		 "What is spent of a budget by operations that have not failed is never more than "
		 "was opened; those whose outcome is unknown count. The member `budget` says what "
		 "is left, in minor units. Nothing was sent and the token is still free."},
	[PROBLEM_BUDGET_UNKNOWN] =
		{"budget-unknown", 422, "Its budget was never opened", ADVICE_FIX, 0,
		 "The command spends of a budget that no operation of this account has opened "
		 "here. Nothing was sent and the token is still free."},
	[PROBLEM_BUDGET_CURRENCY] =
		{"budget-currency", 422, "Its budget is in another currency", ADVICE_FIX, 0,
		 "A budget is spent in the currency in which it was opened. Nothing was sent and "
		 "the token is still free."},
	[PROBLEM_NOT_SENT] = {"not-sent", 503, "It was not sent", ADVICE_SAME_KEY, 2,
			      "It is certain that the service did not act. Send the same request "
			      "with the same token again."},
	[PROBLEM_STORE_UNAVAILABLE] = {"store-unavailable", 503, "The gate cannot keep records now",
				       ADVICE_SAME_KEY, 5,
				       "Without a durable record nothing is sent. Send the same "
				       "request with the same token again."},
	[PROBLEM_UPSTREAM_UNREACHABLE] = {"upstream-unreachable", 502,
					  "The service was not reached", ADVICE_WAIT, 2,
					  "No connection to the service could be made."},
	[PROBLEM_UPSTREAM_FAILED] = {"upstream-failed", 502, "The service gave no whole answer",
				     ADVICE_QUERY, 0,
				     "The service broke off. This request was not protected: look "
				     "at the resource before you repeat a write."},
	[PROBLEM_UPSTREAM_TIMEOUT] =
		{"upstream-timeout", 504, "The service did not answer in time", ADVICE_QUERY, 0,
		 "This request was not protected: look at the resource before you repeat a write."},
	[PROBLEM_NOT_FOUND] = {"not-found", 404, "There is nothing here", ADVICE_STOP, 0,
			       "No such operation of this account, or no such page."},
	[PROBLEM_METHOD_NOT_ALLOWED] = {"method-not-allowed", 405, "The method is not allowed here",
					ADVICE_FIX, 0,
					"Only the gate's own pages say so. Nothing was done."},
	[PROBLEM_NOT_CANCELLABLE] =
		{"not-cancellable", 409, "It can no longer be cancelled", ADVICE_QUERY, 0,
		 "Only an operation that waits (queued, awaiting approval) can be cancelled."},
	[PROBLEM_NOT_RESOLVABLE] = {"not-resolvable", 409, "There is nothing to resolve",
				    ADVICE_STOP, 0,
				    "Only an operation whose outcome is unknown can be resolved."},
	[PROBLEM_NOT_RELEASABLE] = {"not-releasable", 409, "There is no lock to release",
				    ADVICE_STOP, 0,
				    "Only an operation that holds a lock can lose it."},
	[PROBLEM_AUDIT_EPOCH] = {"audit-epoch", 409, "The audit log's epoch does not allow it",
				 ADVICE_STOP, 0,
				 "An epoch's keys change when the last change is published, and "
				 "its data key can be erased once it has ended."},
	[PROBLEM_QUERY_MALFORMED] = {"query-malformed", 400, "The query is malformed", ADVICE_FIX,
				     0,
				     "A filter or a page of a list could not be read. Nothing was "
				     "listed, rather than too much."},
	[PROBLEM_UNAUTHENTICATED] = {"unauthenticated", 401, "Not authenticated", ADVICE_FIX, 0,
				     "The credential is missing, or is not one that is let in."},
	[PROBLEM_FORBIDDEN] = {"forbidden", 403, "Not allowed", ADVICE_STOP, 0,
			       "The credential is known, and its role or its account does not "
			       "reach this. Nothing was done."},
	[PROBLEM_KEYS_UNAVAILABLE] =
		{"keys-unavailable", 503, "The issuer's keys are not at hand", ADVICE_SAME_KEY, 5,
		 "Who calls could not be made sure of, since the keys that sign tokens cannot be "
		 "had "
		 "now. Nothing was read or sent. Send the same request with the same token again."},
	[PROBLEM_CREDENTIAL_UNCHECKED] = {"credential-unchecked", 503,
					  "The service does not say whether the credential holds",
					  ADVICE_SAME_KEY, 5,
					  "Before anything of a record is shown, the service is "
					  "asked whether the credential "
					  "still holds. It did not say. Nothing was sent; send the "
					  "same request with the same "
					  "token again."},
	[PROBLEM_ACTION_FORBIDDEN] = {"action-forbidden", 403,
				      "This action is not allowed to this caller", ADVICE_STOP, 0,
				      "The credential is good, and may not be used for this "
				      "action. Nothing was sent and "
				      "the token is still free."},
	[PROBLEM_TOO_MANY_ATTEMPTS] =
		{"too-many-attempts", 429, "Too many failed attempts to authenticate", ADVICE_WAIT,
		 3,
		 "Credentials that are not let in came from this address again and again. One that "
		 "is let in still is. Nothing was done."},
	[PROBLEM_SIGNATURE_INVALID] =
		{"signature-invalid", 401, "The event is not signed as it should be", ADVICE_FIX, 0,
		 "Events are signed as Standard Webhooks has it: webhook-id, webhook-timestamp and "
		 "webhook-signature, over the body as it is sent. Nothing of it was read."},
	[PROBLEM_OVERLOADED] = {"overloaded", 503, "The gate is busy", ADVICE_SAME_KEY, 1,
				"A limit of this gate was reached. Nothing was sent."},
};

const struct problem_kind *problem_kind(enum problem problem)
{
	require(problem < PROBLEM_COUNT);
	return &kinds[problem];
}

int problem_status(const struct problem_facts *facts)
{
	return facts->status ? facts->status : problem_kind(facts->problem)->status;
}

static int wait_of(const struct problem_facts *facts)
{
	return facts->after_s < 0 ? problem_kind(facts->problem)->after_s : facts->after_s;
}

static void write_operation(struct json_writer *json, const char *name,
			    const struct operation_id *operation, enum operation_state state)
{
	char id[OPERATION_ID_TEXT + 1], url[80];

	operation_id_write(operation, id);
	snprintf(url, sizeof(url), "/.counterfoil/operations/%s", id);
	json_name(json, name);
	json_open_object(json);
	json_name(json, "id");
	json_text(json, id);
	json_name(json, "state");
	json_text(json, operation_state_name(state));
	json_name(json, "status_url");
	json_text(json, url);
	json_close_object(json);
}

static void write_lock(struct json_writer *json, const struct problem_facts *facts)
{
	json_name(json, "lock");
	json_open_object(json);
	json_name(json, "name");
	json_string(json, facts->view->lock_name);
	if (facts->holder_state)
		write_operation(json, "holder", &facts->view->holder, facts->holder_state);
	json_close_object(json);
}

static void write_budget(struct json_writer *json, const struct store_rule_view *view)
{
	json_name(json, "budget");
	json_open_object(json);
	json_name(json, "currency");
	json_text(json, view->currency);
	budget_room_json(json, view);
	json_close_object(json);
}

/* What the refusing rule looked at. */
static void write_rule(struct json_writer *json, const struct problem_facts *facts)
{
	switch (facts->problem) {
	case PROBLEM_LOCK_HELD:
		write_lock(json, facts);
		break;
	case PROBLEM_VERSION_MISMATCH:
		json_name(json, "version");
		json_integer(json, (int64_t)facts->view->lock_version);
		break;
	case PROBLEM_BUDGET_EXCEEDED:
	case PROBLEM_BUDGET_CURRENCY:
		write_budget(json, facts->view);
		break;
	default:
		break;
	}
}

void problem_budget_detail(enum problem problem, const struct store_rule_view *view,
			   const struct money *asked, char *out, size_t size)
{
	struct str currency = str_from(view->currency);
	char left[MONEY_TEXT], total[MONEY_TEXT], wanted[MONEY_TEXT];

	money_write(view->budget_total - view->budget_used, currency, left);
	money_write(view->budget_total, currency, total);
	money_write(asked->minor_units, str_from(asked->currency), wanted);
	if (problem == PROBLEM_BUDGET_UNKNOWN)
		snprintf(out, size, "Nobody opened it here; this asks for %s %s.", wanted,
			 asked->currency);
	else
		snprintf(out, size, "%s %s are left of %s %s; this asks for %s %s.", left,
			 view->currency, total, view->currency, wanted, asked->currency);
}

static void write_faults(struct json_writer *json, const struct command_faults *faults)
{
	json_name(json, "errors");
	json_open_array(json);
	for (size_t i = 0; i < faults->count; i++) {
		json_open_object(json);
		json_name(json, "pointer");
		json_string(json, faults->faults[i].pointer);
		json_name(json, "detail");
		json_text(json, faults->faults[i].detail);
		json_close_object(json);
	}
	json_close_array(json);
	if (faults->left_out) {
		json_name(json, "errors_left_out");
		json_integer(json, (int64_t)faults->left_out);
	}
}

static void write_retry(struct json_writer *json, const struct problem_facts *facts)
{
	json_name(json, "retry");
	json_open_object(json);
	json_name(json, "advice");
	json_text(json, advice_name(problem_kind(facts->problem)->advice));
	json_name(json, "after");
	json_integer(json, wait_of(facts));
	json_close_object(json);
}

void problem_write(struct buf *body, const struct problem_facts *facts)
{
	const struct problem_kind *kind = problem_kind(facts->problem);
	struct json_writer json;
	char type[80];

	snprintf(type, sizeof(type), "urn:counterfoil:problem:%s", kind->slug);
	json_writer_init(&json, body);
	json_open_object(&json);
	json_name(&json, "type");
	json_text(&json, type);
	json_name(&json, "title");
	json_text(&json, kind->title);
	json_name(&json, "status");
	json_integer(&json, problem_status(facts));
	if (facts->detail && facts->detail[0]) {
		json_name(&json, "detail");
		json_text(&json, facts->detail);
	}
	if (facts->faults)
		write_faults(&json, facts->faults);
	if (facts->view)
		write_rule(&json, facts);
	if (facts->id)
		write_operation(&json, "operation", facts->id, facts->state);
	write_retry(&json, facts);
	json_close_object(&json);
}

void problem_headers(struct buf *headers, const struct problem_facts *facts)
{
	buf_append_str(headers, STR("Content-Type: application/problem+json\r\n"
				    "Cache-Control: no-store\r\n"
				    "Link: </.counterfoil/help>; rel=\"describedby\"\r\n"));
	if (facts->problem == PROBLEM_UNAUTHENTICATED)
		buf_append_str(headers, STR("WWW-Authenticate: Bearer\r\n"));
	if (wait_of(facts) > 0)
		buf_printf(headers, "Retry-After: %d\r\n", wait_of(facts));
}

void problem_answer(struct exchange *exchange, const struct problem_facts *facts,
		    struct str more_headers, struct metrics *metrics)
{
	struct buf headers, body;

	buf_init(&headers, ANSWER_PART_MAX);
	buf_init(&body, ANSWER_PART_MAX);
	problem_headers(&headers, facts);
	buf_append_str(&headers, more_headers);
	problem_write(&body, facts);
	if (metrics)
		metrics_add(&metrics->problems[facts->problem], 1);
	if (headers.is_spoiled || body.is_spoiled)
		exchange_abort(exchange);
	else
		exchange_answer(exchange, problem_status(facts), buf_str(&headers), buf_str(&body));
	buf_fini(&headers);
	buf_fini(&body);
}

struct problem_facts problem_of_refusal(const struct http_refusal *refusal)
{
	return (struct problem_facts){
		.problem = problem_of_status(refusal->status),
		.status = refusal->status,
		.detail = refusal->detail,
		.after_s = -1,
	};
}

enum problem problem_of_status(int status)
{
	switch (status) {
	case 413:
	case 414:
	case 431:
		return PROBLEM_BODY_TOO_LARGE;
	case 415:
		return PROBLEM_CODING_UNKNOWN;
	default:
		return PROBLEM_REQUEST_MALFORMED;
	}
}
