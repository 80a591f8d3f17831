/*
 * Counting effects.
 *
 * A count is asked of the system that has the effects: by a GET and a JSON pointer, by a command
 * that prints a number, or of the practice API. What is right may be so for a moment only (a
 * second effect is on its way), so it has to be seen twice; what is wrong may become right until
 * the time to settle is over.
 *
 * Can fail: no answer, an answer without a number. Then nothing is known, and nobody guesses.
 */
#include "drill/count.h"

#include "base/env.h"
#include "base/err.h"
#include "drill/place.h"
#include "drill/shell.h"
#include "drill/target.h"
#include "json/json.h"

#include <stdio.h>
#include <unistd.h>

enum {
	CONFIRM_MS = 150, /* between two looks that agree */
	PAUSE_FIRST_MS = 20,
	PAUSE_MAX_MS = 500,
};

static int look_by_get(const struct scenario *scenario, struct str url, struct str headers,
		       struct str pointer, struct arena *mem, int64_t *out_count,
		       char why[COUNT_WHY_MAX])
{
	struct target_request request = {.method = STR("GET"), .url = url, .headers = headers};
	struct target_answer answer;
	int r;

	request.timeout_ms = scenario->timeout_ms;
	request.verify = scenario->tls.verify;
	request.ca_file = scenario->tls.ca_file;
	r = target_ask(&request, mem, &answer);
	if (r != 0)
		return r;
	if (answer.end != TARGET_ANSWERED) {
		snprintf(why, COUNT_WHY_MAX, "GET %.200s: %.*s", url.at, STR_ARG(answer.why));
		return COUNT_FAILED;
	}
	if (answer.status < 200 || answer.status > 299) {
		snprintf(why, COUNT_WHY_MAX, "GET %.200s: it was answered %d", url.at,
			 answer.status);
		return COUNT_FAILED;
	}
	return count_read(answer.body, pointer, mem, out_count, why);
}

static int look_by_command(const struct scenario *scenario, struct str command, struct arena *mem,
			   int64_t *out_count, char why[COUNT_WHY_MAX])
{
	char reason[SHELL_WHY_MAX];
	struct str output;
	int r = shell_run(command, scenario->timeout_ms, mem, &output, reason);

	if (r == SHELL_FAILED) {
		snprintf(why, COUNT_WHY_MAX, "effects.command: %.400s", reason);
		return COUNT_FAILED;
	}
	return r == 0 ? count_read_output(output, out_count, why) : r;
}

int count_look(const struct scenario *scenario, const struct scenario_effects *effects,
	       const struct names *names, struct arena *mem, int64_t *out_count,
	       char why[COUNT_WHY_MAX])
{
	struct str url, headers, pointer;

	if (effects->command.len)
		return look_by_command(scenario,
				       names_fill(effects->command, names, NAMES_PLAIN, mem), mem,
				       out_count, why);
	if (effects->sandbox.len) {
		url = arena_printf(mem, "%.*s/effects", STR_ARG(effects->sandbox));
		pointer = arena_printf(mem, "/kinds/%.*s", STR_ARG(effects->kinds));
		headers = STR("");
	} else {
		url = place_url(scenario, names_fill(effects->get, names, NAMES_URL, mem), mem);
		pointer = effects->count;
		headers = place_question_headers(scenario, effects->get, &effects->headers, mem);
	}
	if (!url.at || !headers.at)
		return fail(FAIL_MEMORY);
	return look_by_get(scenario, url, headers, pointer, mem, out_count, why);
}

/* In memory of its own, since it may be done a hundred times. */
static int look_again(const struct scenario *scenario, const struct scenario_effects *effects,
		      const struct names *names, int64_t *out_count, char why[COUNT_WHY_MAX])
{
	struct arena mem;
	int r;

	arena_init(&mem, SCENARIO_MEMORY_MAX * 4);
	r = count_look(scenario, effects, names, &mem, out_count, why);
	arena_fini(&mem);
	return r;
}

int count_settle(const struct scenario *scenario, const struct scenario_effects *effects,
		 const struct names *names, int64_t before, int64_t wanted, struct arena *mem,
		 int64_t *out_count, char why[COUNT_WHY_MAX])
{
	int64_t until_ms = env_monotonic_ms(&env_machine) + scenario->settle_ms;
	int64_t pause_ms = PAUSE_FIRST_MS;
	bool was_right = false, is_right;
	int r;

	for (;;) {
		r = look_again(scenario, effects, names, out_count, why);
		if (r != 0 && r != COUNT_FAILED)
			return r;
		is_right = r == 0 && *out_count - before == wanted;
		if ((is_right && was_right) || env_monotonic_ms(&env_machine) >= until_ms)
			return r;
		usleep((useconds_t)(is_right ? CONFIRM_MS : pause_ms) * 1000);
		pause_ms = pause_ms * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS : pause_ms * 2;
		was_right = is_right;
	}
}

int count_read(struct str json, struct str pointer, struct arena *mem, int64_t *out_count,
	       char why[COUNT_WHY_MAX])
{
	const struct json_value *found;
	struct json_value *value;
	struct json_error error;
	int r = json_read(json, &json_limits_default, mem, &value, &error);

	if (r == JSON_REFUSED) {
		snprintf(why, COUNT_WHY_MAX, "the count is no JSON: %s", error.detail);
		return COUNT_FAILED;
	}
	if (r != 0)
		return r;
	found = json_at(value, pointer);
	if (found && found->type == JSON_ARRAY) {
		*out_count = (int64_t)found->array.count;
		return 0;
	}
	if (found && found->type == JSON_NUMBER && json_number_to_i64(&found->number, out_count))
		return 0;
	snprintf(why, COUNT_WHY_MAX, "the count has %s at \"%.*s\"",
		 found ? "neither a list nor a whole number" : "nothing", STR_ARG(pointer));
	return COUNT_FAILED;
}

int count_read_output(struct str output, int64_t *out_count, char why[COUNT_WHY_MAX])
{
	struct str text = output;
	uint64_t number;

	while (text.len && (text.at[text.len - 1] == '\n' || text.at[text.len - 1] == ' '))
		text.len--;
	text = str_trim(text);
	if (str_to_u64(text, INT64_MAX, &number)) {
		*out_count = (int64_t)number;
		return 0;
	}
	snprintf(why, COUNT_WHY_MAX, "effects.command printed \"%.60s\", which is no number",
		 text.len ? text.at : "");
	return COUNT_FAILED;
}
