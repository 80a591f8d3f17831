/*
 * How requests have ended over the last day, for the console's chart.
 *
 * The counters of the metrics are looked at each minute; what they have grown by goes into the
 * bucket of the time. In memory alone, and so since the gate's start at the earliest: who needs
 * more scrapes /metrics.
 */
#include "admin/api.h"

#include "gate/query.h"

#include <stdlib.h>

enum {
	BUCKET_S = 300,
	BUCKETS = 288, /* a day */
	HOURS_MAX = BUCKETS * BUCKET_S / 3600,
};
#define LOOK_MS (INT64_C(60) * 1000)

struct bucket {
	int64_t number; /* since 1970, BUCKET_S each; 0: none yet */
	uint64_t counts[OUTCOME_COUNT];
};

struct outcomes {
	struct gate *gate;
	struct loop_timer timer;
	int64_t since_ms;
	uint64_t seen[OUTCOME_COUNT];
	struct bucket buckets[BUCKETS];
};

static int64_t bucket_now(const struct outcomes *outcomes)
{
	return env_wall_ms(outcomes->gate->env) / 1000 / BUCKET_S;
}

static struct bucket *bucket_at(struct outcomes *outcomes, int64_t number)
{
	struct bucket *bucket = &outcomes->buckets[(uint64_t)number % BUCKETS];

	if (bucket->number != number)
		*bucket = (struct bucket){.number = number};
	return bucket;
}

static void look(struct outcomes *outcomes)
{
	struct bucket *bucket = bucket_at(outcomes, bucket_now(outcomes));

	for (int i = OUTCOME_CREATED; i < OUTCOME_COUNT; i++) {
		uint64_t count = admin_outcome_count(outcomes->gate, (enum outcome)i);

		bucket->counts[i] += count - outcomes->seen[i];
		outcomes->seen[i] = count;
	}
}

static void look_again(struct loop_timer *timer)
{
	struct outcomes *outcomes = list_entry(timer, struct outcomes, timer);

	look(outcomes);
	loop_timer_start(&outcomes->gate->control.loop, timer, LOOK_MS);
}

struct outcomes *outcomes_new(struct admin *admin)
{
	struct outcomes *outcomes = calloc(1, sizeof(*outcomes));

	if (!outcomes)
		return NULL;
	outcomes->gate = admin->gate;
	outcomes->since_ms = env_wall_ms(admin->gate->env);
	loop_timer_init(&outcomes->timer, look_again);
	loop_timer_start(&admin->gate->control.loop, &outcomes->timer, LOOK_MS);
	return outcomes;
}

void outcomes_free(struct outcomes *outcomes)
{
	if (!outcomes)
		return;
	loop_timer_cancel(&outcomes->timer);
	free(outcomes);
}

/* Only what is not zero. */
static void write_counts(struct json_writer *json, const uint64_t counts[OUTCOME_COUNT])
{
	json_open_object(json);
	for (int i = OUTCOME_CREATED; i < OUTCOME_COUNT; i++) {
		if (!counts[i])
			continue;
		json_name(json, outcome_name((enum outcome)i));
		json_integer(json, (int64_t)counts[i]);
	}
	json_close_object(json);
}

static void write_bucket(struct json_writer *json, const struct bucket *bucket)
{
	json_open_object(json);
	json_name(json, "at");
	json_time(json, bucket->number * BUCKET_S * 1000);
	json_name(json, "counts");
	write_counts(json, bucket->counts);
	json_close_object(json);
}

static void answer(struct api_call *call, struct outcomes *outcomes, int64_t hours)
{
	int64_t now = bucket_now(outcomes), first = now + 1 - hours * 3600 / BUCKET_S;
	struct json_writer json;
	struct buf body;

	look(outcomes);
	api_json_begin(&json, &body);
	json_open_object(&json);
	json_name(&json, "since");
	json_time(&json, outcomes->since_ms);
	json_name(&json, "from");
	json_time(&json, first * BUCKET_S * 1000);
	json_name(&json, "bucket_seconds");
	json_integer(&json, BUCKET_S);
	json_name(&json, "buckets");
	json_open_array(&json);
	for (int64_t number = first; number <= now; number++) {
		const struct bucket *bucket = &outcomes->buckets[(uint64_t)number % BUCKETS];

		if (bucket->number == number)
			write_bucket(&json, bucket);
	}
	json_close_array(&json);
	json_close_object(&json);
	api_json_end(call, 200, &body);
}

void api_outcomes(struct api_call *call)
{
	struct str text = STR("24");
	uint64_t hours;

	(void)query_value(call->exchange->request.parts.query, STR("hours"), &call->exchange->mem,
			  &text);
	if (!str_to_u64(text, HOURS_MAX, &hours) || !hours)
		api_problem(call, PROBLEM_QUERY_MALFORMED, "hours is a number from 1 to 24.");
	else
		answer(call, call->admin->outcomes, (int64_t)hours);
}
