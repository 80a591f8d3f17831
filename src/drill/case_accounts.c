/*
 * Cases of whose key it is: another caller, another route, a caller who lost the right.
 */
#include "drill/case.h"

bool case_two_accounts(struct bench *bench)
{
	const struct attempt own = {0};
	const struct attempt others = {.account = &bench->scenario->second_account.headers,
				       .lane = 1};
	struct target_answer first, second;
	struct strand strand;
	struct str words, id;

	if (!bench_strand(bench, &strand) || !bench_write(bench, &strand, &own, &first) ||
	    !bench_send(bench, &strand, &others, &second))
		return false;
	words = judge_words(&second, &bench->mem);
	id = judge_id(&first, bench->scenario->id, &bench->mem);
	if (judge(&second) != JUDGED_SUCCESS)
		return bench_fail(bench,
				  "the second account was told %.*s for a key that is new to "
				  "it",
				  STR_ARG(words));
	if (str_equal(id, judge_id(&second, bench->scenario->id, &bench->mem)))
		return bench_fail(bench, "the second account was told the first one's id, %.60s",
				  id.at);
	if (!bench_effects(bench, &strand, 2))
		return false;
	bench_pass(bench, "one key, two accounts: 2 effects with ids of their own");
	return true;
}

/* Without counts of the other write its answer alone can be held against the first. */
static bool judge_other(struct bench *bench, const struct strand *other,
			const struct target_answer *first, const struct target_answer *answer)
{
	struct str words = judge_words(answer, &bench->mem);

	if (answer->body.len && str_equal(first->body, answer->body))
		return bench_fail(bench, "the other route was told the first one's answer");
	if (judge(answer) != JUDGED_SUCCESS && judge(answer) != JUDGED_REFUSED &&
	    judge(answer) != JUDGED_UNKNOWN)
		return bench_error(bench, "the other route was told %.*s", STR_ARG(words));
	if (!scenario_counts(other->effects))
		return true;
	return bench_effects(bench, other, judge(answer) == JUDGED_SUCCESS);
}

bool case_other_route(struct bench *bench)
{
	const struct attempt plain = {0};
	struct target_answer first, answer;
	struct strand strand, other;

	if (!bench_strand(bench, &strand) || !bench_other_strand(bench, &strand, &other) ||
	    !bench_write(bench, &strand, &plain, &first) ||
	    !bench_send(bench, &other, &plain, &answer))
		return false;
	if (!judge_other(bench, &other, &first, &answer) || !bench_effects(bench, &strand, 1))
		return false;
	if (judge(&answer) == JUDGED_SUCCESS)
		bench_pass(bench, "the other route did its own, %d%s", answer.status,
			   scenario_counts(other.effects) ? "" : " (its effects are not counted)");
	else
		bench_pass(bench, "the other route refused the key, %d", answer.status);
	return true;
}

static bool has_text(struct str text, struct str part)
{
	return part.len && text.len && memmem(text.at, text.len, part.at, part.len);
}

bool case_credential_revoked(struct bench *bench)
{
	const struct attempt attempt = {.account = &bench->scenario->revoke.headers};
	struct target_answer first, again;
	struct strand strand;
	struct str words, id;

	if (!bench_strand(bench, &strand) || !bench_write(bench, &strand, &attempt, &first) ||
	    !bench_command(bench, "revoke.command", bench->scenario->revoke.command, &strand) ||
	    !bench_send(bench, &strand, &attempt, &again))
		return false;
	words = judge_words(&again, &bench->mem);
	id = judge_id(&first, bench->scenario->id, &bench->mem);
	if (judge(&again) == JUDGED_SUCCESS || has_text(again.body, id))
		return bench_fail(bench, "revoked, it was still told %.*s%s", STR_ARG(words),
				  has_text(again.body, id) ? " with the id" : "");
	if (judge(&again) != JUDGED_REFUSED)
		return bench_error(bench, "revoked, it was told %.*s", STR_ARG(words));
	if (!bench_effects(bench, &strand, 1))
		return false;
	bench_pass(bench, "revoked, it was told %d; effects: 1", again.status);
	return true;
}
