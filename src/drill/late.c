/*
 * Effects that came after their case.
 *
 * Only more than was seen counts against a case: fewer may be the doing of a later one, which
 * killed a server that keeps its effects in memory. A count that cannot be had any more says
 * nothing, and the verdict stays what it was.
 */
#include "drill/late.h"

#include "drill/count.h"

bool late_keep(struct late *late, struct drill_case_result *result,
	       const struct scenario_effects *effects, const struct names *names, int64_t count,
	       struct arena *mem)
{
	struct late_count *kept;

	if (!names_tell_apart(effects->get) && !names_tell_apart(effects->command))
		return true;
	kept = arena_zalloc(mem, sizeof(*kept));
	if (!kept)
		return false;
	kept->result = result;
	kept->effects = effects;
	kept->count = count;
	kept->names = (struct names){.marker = arena_str(mem, names->marker),
				     .run = arena_str(mem, names->run),
				     .test_case = arena_str(mem, names->test_case),
				     .key = arena_str(mem, names->key)};
	kept->next = late->counts;
	late->counts = kept;
	return kept->names.marker.at && kept->names.run.at && kept->names.test_case.at &&
	       kept->names.key.at;
}

static void fail_late(const struct late_count *kept, int64_t count, struct arena *mem)
{
	struct drill_case_result *result = kept->result;
	struct str seen = arena_printf(
		mem, "effects: %lld at the end of the run, after %lld when it was judged",
		(long long)count, (long long)kept->count);

	result->verdict = DRILL_FAIL;
	result->effects_after += count - kept->count;
	result->seen = seen.at ? seen : STR("more effects at the end of the run");
}

void late_check(const struct late *late, const struct scenario *scenario, struct arena *mem)
{
	if (scenario->server.reset.len)
		return; /* they are gone */
	for (const struct late_count *kept = late->counts; kept; kept = kept->next) {
		char why[COUNT_WHY_MAX];
		struct arena own;
		int64_t count;

		if (kept->result->verdict != DRILL_PASS)
			continue;
		arena_init(&own, SCENARIO_MEMORY_MAX * 4);
		if (count_look(scenario, kept->effects, &kept->names, &own, &count, why) == 0 &&
		    count > kept->count)
			fail_late(kept, count, mem);
		arena_fini(&own);
	}
}
