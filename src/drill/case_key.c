/*
 * Cases of the key itself: none, an empty one, and ones that are too long.
 */
#include "drill/case.h"

bool case_key_missing(struct bench *bench)
{
	const struct attempt attempt = {.is_without_key = true};
	struct target_answer answer;
	struct strand strand;
	struct str words;

	if (!bench_strand(bench, &strand) || !bench_send(bench, &strand, &attempt, &answer))
		return false;
	words = judge_words(&answer, &bench->mem);
	if (!bench_effects(bench, &strand, 0))
		return false;
	if (judge(&answer) != JUDGED_REFUSED)
		return bench_fail(bench, "a write without a key was told %.*s, not a refusal",
				  STR_ARG(words));
	bench_pass(bench, "told %d, and there is no effect", answer.status);
	return true;
}

/* How many effects those two have that were told a success: one each, by marker or in all. */
static bool count_two(struct bench *bench, const struct strand *strand, const struct strand *other,
		      bool is_first, bool is_second)
{
	const struct scenario_effects *effects = &bench->scenario->effects;

	if (names_tell_apart(effects->get) || names_tell_apart(effects->command))
		return bench_effects(bench, strand, is_first) &&
		       bench_effects(bench, other, is_second);
	return bench_effects(bench, strand, is_first + is_second);
}

/* Two writes with the same unfit key: both refused, or (where it may be taken) two. */
static bool judge_two(struct bench *bench, const struct strand *strand, const struct strand *other,
		      const struct target_answer *first, const struct target_answer *second,
		      const char *what, bool may_be_taken)
{
	bool is_first = judge(first) == JUDGED_SUCCESS, is_second = judge(second) == JUDGED_SUCCESS;
	struct str id = judge_id(first, bench->scenario->id, &bench->mem);
	struct str words = judge_words(first, &bench->mem);

	if (!count_two(bench, strand, other, is_first, is_second))
		return false;
	if (is_first && is_second &&
	    str_equal(id, judge_id(second, bench->scenario->id, &bench->mem)))
		return bench_fail(bench, "two writes with %s were told one id", what);
	if (is_first && !may_be_taken)
		return bench_fail(bench, "a write with %s was told %.*s, though a key is required",
				  what, STR_ARG(words));
	if (!is_first && judge(first) != JUDGED_REFUSED)
		return bench_fail(bench, "a write with %s was told %.*s, not a refusal", what,
				  STR_ARG(words));
	bench_pass(bench,
		   is_first ? "%s was taken, and told apart; effects: %d"
			    : "%s was refused; effects: %d",
		   what, is_first + is_second);
	return true;
}

bool case_key_empty(struct bench *bench)
{
	const struct attempt empty = {.key = STR("")};
	struct target_answer first, second;
	struct strand strand, other;

	if (!bench_strand(bench, &strand) || !bench_strand(bench, &other) ||
	    !bench_send(bench, &strand, &empty, &first) ||
	    !bench_send(bench, &other, &empty, &second))
		return false;
	return judge_two(bench, &strand, &other, &first, &second, "an empty key",
			 !bench->scenario->key.required);
}

/* The drill's own key, and as many letters after it as make it one longer than allowed. */
static bool long_key(struct bench *bench, const struct strand *strand, char last,
		     struct str *out_key)
{
	size_t length = (size_t)bench->scenario->key.max_length + 1;
	char *key = arena_alloc(&bench->mem, length + 1);

	if (!key)
		return bench_error(bench, "the drill has no memory left");
	memset(key, 'k', length);
	key[length] = '\0';
	memcpy(key, strand->names.key.at,
	       strand->names.key.len < length - 1 ? strand->names.key.len : length - 1);
	key[length - 1] = last;
	*out_key = str_of(key, length);
	return true;
}

bool case_key_too_long(struct bench *bench)
{
	struct target_answer first, second;
	struct attempt one = {0}, two = {0};
	struct strand strand, other;

	if (!bench_strand(bench, &strand) || !bench_strand(bench, &other) ||
	    !long_key(bench, &strand, 'a', &one.key) || !long_key(bench, &strand, 'b', &two.key) ||
	    !bench_send(bench, &strand, &one, &first) || !bench_send(bench, &other, &two, &second))
		return false;
	return judge_two(bench, &strand, &other, &first, &second, "a key that is too long", true);
}
