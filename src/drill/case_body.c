/*
 * Cases of the body: another one under a used key, and the same one spelled otherwise.
 */
#include "drill/case.h"

#include "drill/body.h"

/* Texts of change, filled in. */
static bool fill_change(struct bench *bench, const struct strand *strand,
			struct scenario_pairs *out_changes)
{
	const struct scenario_pairs *change = &bench->scenario->change;
	struct scenario_pair *items =
		arena_alloc(&bench->mem, (change->count + 1) * sizeof(*items));

	for (size_t i = 0; items && i < change->count; i++) {
		items[i].name = change->items[i].name;
		items[i].value = names_fill(change->items[i].value, &strand->names, NAMES_PLAIN,
					    &bench->mem);
	}
	*out_changes = (struct scenario_pairs){items, change->count};
	return items ? true : bench_error(bench, "the drill has no memory left");
}

/*
 * The other payload. Where the body names its marker and the scenario says no change, it is the
 * body of `other`, whose effects can then be counted as well.
 */
static bool change_body(struct bench *bench, const struct strand *strand,
			const struct strand *other, struct str *out_body)
{
	struct scenario_pairs changes;
	int r;

	if (!bench->scenario->change.count && !str_equal(strand->body, other->body)) {
		*out_body = other->body;
		return true;
	}
	if (!fill_change(bench, strand, &changes))
		return false;
	r = body_changed(strand->body, &changes, &bench->mem, out_body);
	if (r == BODY_UNFIT) {
		*out_body = arena_printf(&bench->mem, "%.*s changed", STR_ARG(strand->body));
		r = out_body->at ? 0 : -1;
	}
	return r == 0 || bench_error(bench, "the drill has no memory left");
}

static bool counts_by_marker(const struct scenario_effects *effects)
{
	return names_tell_apart(effects->get) || names_tell_apart(effects->command);
}

static bool judge_refusal(struct bench *bench, const struct target_answer *answer)
{
	int status = answer->status;
	struct str words = judge_words(answer, &bench->mem);

	if (status == 400 || status == 409 || status == 412 || status == 422)
		return true;
	return bench_fail(bench, "another body under the same key was told %.*s, not a refusal",
			  STR_ARG(words));
}

bool case_changed_body(struct bench *bench)
{
	struct attempt plain = {0}, changed = {0};
	struct target_answer first, refused, again;
	struct strand strand, other;

	if (!bench_strand(bench, &strand) || !bench_strand(bench, &other) ||
	    !change_body(bench, &strand, &other, &changed.body) ||
	    !bench_write(bench, &strand, &plain, &first) ||
	    !bench_send(bench, &strand, &changed, &refused) ||
	    !bench_send(bench, &strand, &plain, &again))
		return false;
	if (!bench_effects(bench, &strand, 1))
		return false;
	if (counts_by_marker(&bench->scenario->effects) && !bench_effects(bench, &other, 0))
		return false;
	if (!judge_refusal(bench, &refused) || !bench_same(bench, &first, &again) ||
	    !bench_resource(bench, &strand, &first))
		return false;
	bench_pass(bench, "the other body was told %d; effects: 1", refused.status);
	return true;
}

bool case_reordered_body(struct bench *bench)
{
	struct attempt plain = {0}, reordered = {0};
	struct target_answer first, again;
	struct strand strand;
	int r;

	if (!bench_strand(bench, &strand))
		return false;
	r = body_reordered(strand.body, &bench->mem, &reordered.body);
	if (r == BODY_UNFIT)
		return bench_not_applicable(bench, "the body of the write is no JSON");
	if (r != 0)
		return bench_error(bench, "the drill has no memory left");
	if (!bench_write(bench, &strand, &plain, &first) ||
	    !bench_send(bench, &strand, &reordered, &again))
		return false;
	if (!bench_effects(bench, &strand, 1) || !bench_same(bench, &first, &again))
		return false;
	bench_pass(bench, "the reordered body was told the first answer, %d; effects: 1",
		   again.status);
	return true;
}
