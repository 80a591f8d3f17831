/*
 * What a status means, and what an attempt meets.
 *
 * Two decisions, both on the safe side: a sending whose end is not certain never counts as
 * "the upstream did not act", and a token that names another request is a conflict before
 * anything of the stored operation is looked at.
 *
 * What is neither declared nor by default in a class is read by what its standard says of it. A
 * status of 5xx that no standard has is read as 500 (RFC 9110 § 15): 520 to 530 and 599 are what
 * proxies say when they lost sight of the service themselves. 307 and 308 ask for the same request
 * at another place: whoever did it would have it done twice by every client that follows.
 */
#include "core/outcome.h"

#include "base/err.h"

enum { STATUS_FIRST = 100, STATUS_LAST = 599 };

static int as_known(int status);

enum operation_event outcome_of_sending(const struct status_classes *classes, enum sending sending,
					int status)
{
	if (sending == SENDING_NEVER_LEFT)
		return EVENT_NOT_SENT;
	if (sending != SENDING_ANSWERED || status < 200 || status > STATUS_LAST)
		return EVENT_LOST_SIGHT;
	if (status_class_has(classes->unknown, status)) /* before not_sent: the safer of both */
		return EVENT_LOST_SIGHT;
	if (status_class_has(classes->not_sent, status))
		return EVENT_NOT_SENT;
	if (status_class_has(classes->unknown, as_known(status)))
		return EVENT_LOST_SIGHT;
	return status < 400 && !outcome_is_elsewhere(status) ? EVENT_SUCCEEDED : EVENT_REFUSED;
}

bool outcome_is_elsewhere(int status)
{
	return status == 307 || status == 308;
}

/*
 * The status of that class which everybody knows, for one of 5xx that is not registered (IANA, HTTP
 * Status Codes: 500 to 508, 510, 511). All that are say that the request was not carried out, but
 * for those that are unknown by default.
 */
static int as_known(int status)
{
	bool is_known = status <= 508 || status == 510 || status == 511;

	return is_known ? status : 500;
}

static enum verdict recognise_ended(const struct verdict_facts *facts)
{
	if (facts->state == STATE_CANCELLED) /* an earlier `not_sent` answer is not its end */
		return VERDICT_CANCELLED;
	if (!facts->has_answer)
		return VERDICT_RESOLVED;
	return facts->is_answer_kept ? VERDICT_REPLAY : VERDICT_NOT_RETAINED;
}

enum verdict outcome_recognise(const struct verdict_facts *facts)
{
	if (!hash_equal(facts->stored, facts->asked))
		return VERDICT_CONFLICT;
	switch (facts->state) {
	case STATE_COMPLETED:
	case STATE_FAILED:
	case STATE_CANCELLED:
		return recognise_ended(facts);
	case STATE_RUNNING:
		return VERDICT_RUNNING;
	case STATE_QUEUED:
		return facts->may_pick_up ? VERDICT_PICK_UP : VERDICT_QUEUED;
	case STATE_AWAITING_APPROVAL:
		return VERDICT_AWAITING_APPROVAL;
	case STATE_UNKNOWN:
		return VERDICT_UNKNOWN;
	case STATE_COUNT:
		break;
	}
	unreachable("an operation is in one of its states");
}

void status_classes_default(struct status_classes *out_classes)
{
	*out_classes = (struct status_classes){{0}, {0}};
	status_class_add(out_classes->not_sent, 429);
	status_class_add(out_classes->not_sent, 503);
	status_class_add(out_classes->unknown, 408);
	status_class_add(out_classes->unknown, 500);
	status_class_add(out_classes->unknown, 502);
	status_class_add(out_classes->unknown, 504);
}

void status_class_add(uint64_t set[STATUS_WORDS], int status)
{
	if (status < STATUS_FIRST || status > STATUS_LAST)
		return;
	set[(status - STATUS_FIRST) / 64] |= UINT64_C(1) << (status - STATUS_FIRST) % 64;
}

bool status_class_has(const uint64_t set[STATUS_WORDS], int status)
{
	if (status < STATUS_FIRST || status > STATUS_LAST)
		return false;
	return set[(status - STATUS_FIRST) / 64] >> (status - STATUS_FIRST) % 64 & 1;
}

const char *outcome_name(enum outcome outcome)
{
	static const char *const names[OUTCOME_COUNT] = {
		[OUTCOME_CREATED] = "created",	 [OUTCOME_REPLAYED] = "replayed",
		[OUTCOME_REUSED] = "reused",	 [OUTCOME_RUNNING] = "running",
		[OUTCOME_QUEUED] = "queued",	 [OUTCOME_AWAITING_APPROVAL] = "awaiting_approval",
		[OUTCOME_CONFLICT] = "conflict", [OUTCOME_LOCKED] = "locked",
		[OUTCOME_REFUSED] = "refused",	 [OUTCOME_DENIED] = "denied",
		[OUTCOME_UNKNOWN] = "unknown",	 [OUTCOME_NOT_SENT] = "not_sent",
		[OUTCOME_EXPIRED] = "expired",
	};

	require((unsigned)outcome >= OUTCOME_CREATED && (unsigned)outcome < OUTCOME_COUNT);
	return names[outcome];
}

const char *advice_name(enum advice advice)
{
	switch (advice) {
	case ADVICE_WAIT:
		return "wait";
	case ADVICE_QUERY:
		return "query";
	case ADVICE_SAME_KEY:
		return "same_key";
	case ADVICE_NEW_KEY:
		return "new_key";
	case ADVICE_FIX:
		return "fix";
	case ADVICE_HUMAN:
		return "human";
	case ADVICE_STOP:
		return "stop";
	}
	unreachable("an advice is one of its words");
}
