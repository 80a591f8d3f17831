/*
 * Cases of the wire: what is lost, cut, doubled or late between client and server.
 *
 * Each sends its first attempt through the drill's own wire with one fault, or gives it up by
 * itself; then asks again, plainly. What the first attempt was told does not matter.
 */
#include "drill/case.h"

enum { SENT_WITHIN_MS = 5000 };

/* The retry of a case, and once more: what was told is told again. */
static bool settle(struct bench *bench, const struct strand *strand, const char *story)
{
	const struct attempt plain = {.lane = 1};
	struct target_answer last, again;

	if (!bench_retry(bench, strand, &plain, &last))
		return false;
	if (judge(&last) != JUDGED_SUCCESS)
		return bench_settled(bench, strand, &last, NULL, story);
	return bench_send(bench, strand, &plain, &again) &&
	       bench_settled(bench, strand, &last, &again, story);
}

/* One attempt through the wire with that fault. */
static bool send_with(struct bench *bench, const struct strand *strand, enum proxy_fault fault,
		      struct target_answer *out_answer)
{
	const struct attempt attempt = {.is_by_proxy = true};

	return bench_fault(bench, fault, 0) && bench_send(bench, strand, &attempt, out_answer);
}

static bool lose(struct bench *bench, enum proxy_fault fault, const char *story)
{
	struct target_answer lost;
	struct strand strand;

	return bench_strand(bench, &strand) && send_with(bench, &strand, fault, &lost) &&
	       settle(bench, &strand, story);
}

bool case_answer_dropped(struct bench *bench)
{
	return lose(bench, PROXY_DROP_ANSWER, "the answer was lost");
}

bool case_answer_halved(struct bench *bench)
{
	return lose(bench, PROXY_HALF_ANSWER, "the answer broke off");
}

bool case_request_duplicated(struct bench *bench)
{
	return lose(bench, PROXY_DUPLICATE, "the request arrived twice");
}

/* Nothing was done, so "nobody knows" is no excuse. */
bool case_cut_before_work(struct bench *bench)
{
	const struct attempt plain = {.lane = 1};
	struct target_answer cut, last;
	struct strand strand;
	struct str words;

	if (!bench_strand(bench, &strand) || !send_with(bench, &strand, PROXY_CUT_REQUEST, &cut) ||
	    !bench_retry(bench, &strand, &plain, &last))
		return false;
	words = judge_words(&last, &bench->mem);
	if (judge(&last) != JUDGED_SUCCESS)
		return bench_fail(bench, "half of the request arrived; the retry was told %.*s",
				  STR_ARG(words));
	return bench_settled(bench, &strand, &last, NULL, "half of the request arrived");
}

/* Headers or a command that make the service slow, where the scenario has them. */
static bool be_slow(struct bench *bench, const struct strand *strand, struct attempt *attempt)
{
	const struct scenario_means *slow = &bench->scenario->slow;

	attempt->extra = &slow->headers;
	return !slow->command.len || bench_command(bench, "slow.command", slow->command, strand);
}

bool case_answer_delayed(struct bench *bench)
{
	struct attempt first = {.is_by_proxy = true};
	const struct attempt second = {.lane = 1};
	struct target_answer late, meanwhile;
	struct target_call *call;
	struct strand strand;
	bool is_sent, is_asked;

	if (!bench_strand(bench, &strand) || !be_slow(bench, &strand, &first) ||
	    !bench_fault(bench, PROXY_HOLD_ANSWER, 0) ||
	    !bench_begin(bench, &strand, &first, &call))
		return false;
	is_sent = proxy_wait_sent(bench->proxy, SENT_WITHIN_MS) == 0;
	is_asked = bench_send(bench, &strand, &second, &meanwhile);
	target_give_up(call);
	proxy_release(bench->proxy);
	if (!bench_finish(bench, &first, call, &late) || !is_asked)
		return false;
	if (!is_sent)
		return bench_error(bench, "the first attempt did not reach the server in time");
	return settle(bench, &strand, "it was asked again while the first was under way");
}

bool case_client_restarted(struct bench *bench)
{
	struct target_answer lost;
	struct target_call *call;
	struct attempt first = {0};
	struct strand strand;
	bool is_sent;

	if (!bench_strand(bench, &strand) || !be_slow(bench, &strand, &first) ||
	    !bench_begin(bench, &strand, &first, &call))
		return false;
	is_sent = target_wait_sent(call, SENT_WITHIN_MS);
	target_give_up(call);
	if (!bench_finish(bench, &first, call, &lost))
		return false;
	if (!is_sent)
		return bench_error(bench, "the first attempt could not be sent in time");
	return settle(bench, &strand, "the client went away and came back");
}
