/*
 * Metrics as Prometheus text.
 *
 * Sums over the workers and the background. Names follow the Prometheus rules: base units, `_total`
 * for counters.
 */
#include "admin/admin.h"

#include "audit/verification.h"
#include "core/inquiry.h"
#include "gate/background.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

static void describe(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP counterfoil_%s %s\n# TYPE counterfoil_%s %s\n", name, help, name,
		   type);
}

static uint64_t counter_at(const struct metrics *metrics, size_t offset)
{
	const char *at = (const char *)metrics + offset;

	return metrics_get((const _Atomic uint64_t *)(const void *)at);
}

static uint64_t sum(const struct gate *gate, size_t offset)
{
	const struct metrics *background = background_metrics(gate);
	uint64_t total = background ? counter_at(background, offset) : 0;

	for (unsigned i = 0; i < gate->worker_count; i++)
		total += counter_at(&gate->workers[i].metrics, offset);
	return total;
}

#define SUM(gate, member) sum((gate), offsetof(struct metrics, member))

/* The same of member `i` of an array of counters that begins at `offset`. */
static uint64_t sum_of(const struct gate *gate, size_t offset, size_t i)
{
	return sum(gate, offset + i * sizeof(_Atomic uint64_t));
}

#define SUM_OF(gate, member, i) sum_of((gate), offsetof(struct metrics, member), (size_t)(i))

static void write_labelled(struct buf *out, const char *name, const char *label, const char *value,
			   uint64_t number)
{
	buf_printf(out, "counterfoil_%s{%s=\"%s\"} %llu\n", name, label, value,
		   (unsigned long long)number);
}

static void write_number(struct buf *out, const char *name, const char *type, const char *help,
			 uint64_t number)
{
	describe(out, name, type, help);
	buf_printf(out, "counterfoil_%s %llu\n", name, (unsigned long long)number);
}

static void write_requests(const struct gate *gate, struct buf *out)
{
	describe(out, "requests_total", "counter", "Protected requests by outcome.");
	for (int i = OUTCOME_CREATED; i < OUTCOME_COUNT; i++)
		write_labelled(out, "requests_total", "outcome", outcome_name((enum outcome)i),
			       SUM_OF(gate, outcomes, i));
	write_labelled(out, "requests_total", "outcome", "none", SUM_OF(gate, outcomes, 0));
}

/* Two kinds may have one slug: they are one number then. */
static void write_problems(const struct gate *gate, struct buf *out)
{
	describe(out, "problems_total", "counter",
		 "Answers that the gate made itself, by problem.");
	for (int i = PROBLEM_NONE + 1; i < PROBLEM_COUNT; i++) {
		uint64_t count = SUM_OF(gate, problems, i);

		if (i == PROBLEM_OUTCOME_UNKNOWN_NOW)
			continue;
		if (i == PROBLEM_OUTCOME_UNKNOWN)
			count += SUM_OF(gate, problems, PROBLEM_OUTCOME_UNKNOWN_NOW);
		write_labelled(out, "problems_total", "problem",
			       problem_kind((enum problem)i)->slug, count);
	}
}

static void write_passed(const struct gate *gate, struct buf *out)
{
	static const char *const classes[] = {"none", "1xx", "2xx", "3xx", "4xx", "5xx"};

	describe(out, "passed_total", "counter", "Unprotected requests by class of status.");
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		write_labelled(out, "passed_total", "class", classes[i], SUM_OF(gate, passed, i));
	write_number(out, "passed_broken_total", "counter",
		     "Unprotected requests broken off before their end.", SUM(gate, passed_broken));
}

static void write_background(const struct gate *gate, struct buf *out)
{
	static const char *const verdicts[METRICS_VERDICTS] = {
		[INQUIRY_FOUND] = "found",
		[INQUIRY_ABSENT] = "absent",
		[INQUIRY_DOUBT] = "doubt",
	};

	describe(out, "dispatched_total", "counter",
		 "Sendings by the gate itself (outbox, locks, retries), by outcome.");
	for (int i = OUTCOME_CREATED; i < OUTCOME_COUNT; i++)
		write_labelled(out, "dispatched_total", "outcome", outcome_name((enum outcome)i),
			       SUM_OF(gate, dispatched, i));
	write_number(out, "dispatch_given_up_total", "counter",
		     "Operations that failed because no sending arrived (outbox.attempts).",
		     SUM(gate, gave_up));
	describe(out, "questions_total", "counter",
		 "Questions to services (probe, lookup), by what their answers said.");
	for (size_t i = 0; i < METRICS_VERDICTS; i++)
		write_labelled(out, "questions_total", "verdict", verdicts[i],
			       SUM_OF(gate, asked, i));
	write_number(out, "resent_total", "counter",
		     "Unknown operations that were sent again, where that is one effect.",
		     SUM(gate, resent));
}

static void write_gauges(const struct gate *gate, struct buf *out)
{
	write_number(out, "requests_open", "gauge", "Requests that have not ended.",
		     SUM(gate, requests_open));
	write_number(out, "waiters", "gauge", "Requests that wait for another attempt's end.",
		     atomic_load(&((struct gate *)(uintptr_t)gate)->waiting.count));
	write_number(out, "waiters_refused_total", "counter",
		     "Requests that could not wait because the room was full.",
		     SUM(gate, waiters_refused));
	write_number(out, "undelivered_total", "counter", "Answers whose client had gone.",
		     SUM(gate, undelivered));
	write_number(out, "connections_open", "gauge", "Client connections.",
		     SUM(gate, connections_open));
	write_number(out, "connections_accepted_total", "counter", "Client connections so far.",
		     SUM(gate, connections_accepted));
	write_number(out, "connections_refused_total", "counter",
		     "Client connections closed at once because of limits.max_connections.",
		     SUM(gate, connections_refused));
	write_number(out, "messages_refused_total", "counter",
		     "Messages that were malformed, ambiguous or over a limit.",
		     SUM(gate, messages_refused));
	write_number(out, "timeouts_total", "counter", "Connections that were too slow.",
		     SUM(gate, timeouts));
}

/*
 * `count` buckets of which bucket i reaches to first × 2^i; `over` more are above them all. The
 * sum has all its digits: it only grows, and rates are made of its differences.
 */
static void write_histogram(struct buf *out, const char *name, const char *help,
			    const uint64_t *buckets, int count, double first, double sum_of_all,
			    uint64_t over)
{
	uint64_t total = 0;
	double bound = first;

	describe(out, name, "histogram", help);
	for (int i = 0; i < count; i++, bound *= 2) {
		total += buckets[i];
		buf_printf(out, "counterfoil_%s_bucket{le=\"%g\"} %llu\n", name, bound,
			   (unsigned long long)total);
	}
	total += over;
	buf_printf(out,
		   "counterfoil_%s_bucket{le=\"+Inf\"} %llu\ncounterfoil_%s_sum %.6f\n"
		   "counterfoil_%s_count %llu\n",
		   name, (unsigned long long)total, name, sum_of_all, name,
		   (unsigned long long)total);
}

static void write_latency(const struct gate *gate, struct buf *out, const char *name,
			  const char *help, size_t offset)
{
	uint64_t buckets[METRICS_BUCKETS + 1];

	for (size_t i = 0; i <= METRICS_BUCKETS; i++)
		buckets[i] = sum_of(gate, offset + offsetof(struct histogram, buckets), i);
	write_histogram(out, name, help, buckets, METRICS_BUCKETS, 250e-6,
			(double)sum(gate, offset + offsetof(struct histogram, sum_us)) * 1e-6,
			buckets[METRICS_BUCKETS]);
}

/* Seconds for which the question that waits longest has; 0: none waits. */
static uint64_t oldest_age_s(const struct gate *gate)
{
	int64_t asked_ms = (int64_t)SUM(gate, oldest_asked_ms);
	int64_t age_ms = asked_ms ? env_wall_ms(gate->env) - asked_ms : 0;

	return age_ms > 0 ? (uint64_t)age_ms / 1000 : 0;
}

static void write_approvals(const struct gate *gate, const struct store_stats *stats,
			    struct buf *out)
{
	static const char *const ends[APPROVAL_STANDS] = {
		[APPROVAL_GIVEN] = "approved",
		[APPROVAL_DENIED] = "denied",
		[APPROVAL_LAPSED] = "expired",
		[APPROVAL_WITHDRAWN] = "withdrawn",
	};

	describe(out, "approvals_total", "counter", "Questions to people that ended, by how.");
	for (int i = APPROVAL_GIVEN; i < APPROVAL_STANDS; i++)
		write_labelled(out, "approvals_total", "end", ends[i], stats->questions[i]);
	write_number(out, "approval_oldest_age_seconds", "gauge",
		     "How long the oldest question to people has waited; 0: none waits.",
		     oldest_age_s(gate));
	describe(out, "notice_tries_total", "counter",
		 "Tries to tell of a question (notify), by whether it was taken.");
	write_labelled(out, "notice_tries_total", "result", "taken", SUM(gate, notices_taken));
	write_labelled(out, "notice_tries_total", "result", "not_taken",
		       SUM(gate, notices_not_taken));
	write_number(out, "notices_given_up_total", "counter",
		     "Notices that were not taken until they were too old.",
		     SUM(gate, notices_given_up));
	write_number(out, "notices_waiting", "gauge",
		     "Notices that are still to be told; at most 10000 are counted.",
		     SUM(gate, notices_waiting));
}

/* 0: there is none, or it cannot be looked at. */
static uint64_t checkpoint_written_s(const struct gate *gate)
{
	char path[FILENAME_MAX];
	struct stat facts;
	int len = snprintf(path, sizeof(path), "%.*s/audit/checkpoint",
			   STR_ARG(gate_settings(gate)->data));

	if (len >= (int)sizeof(path) || stat(path, &facts) != 0 || facts.st_mtime < 0)
		return 0;
	return (uint64_t)facts.st_mtime;
}

/* The sizes are the log's own, and so the same after a restart. */
static void write_audit(const struct gate *gate, const struct store_stats *stats, struct buf *out)
{
	write_number(out, "audit_entries_total", "counter",
		     "Entries of the audit log since it began.", stats->log_entries);
	write_number(out, "audit_entries_published_total", "counter",
		     "Of them, those under a signed checkpoint.", stats->log_published);
	write_number(out, "audit_checkpoint_timestamp_seconds", "gauge",
		     "When the newest checkpoint was written (Unix time); 0: there is none.",
		     checkpoint_written_s(gate));
	write_number(out, "audit_sealer_stopped", "gauge",
		     "1: nothing is signed, since the audit log's files fail or were changed.",
		     stats->log_is_stopped);
	describe(out, "audit_places_failing", "gauge",
		 "Anchors and witnesses that did not take the last checkpoint offered to them.");
	write_labelled(out, "audit_places_failing", "kind", "anchor", stats->log_anchors_failing);
	write_labelled(out, "audit_places_failing", "kind", "witness",
		       stats->log_witnesses_failing);
}

/* What the gate found in its own log: 0 where it has not looked since the start. */
static void write_verification(struct verification *verification, struct buf *out)
{
	struct verification_look look = {0};

	if (verification)
		verification_look(verification, &look);
	write_number(
		out, "audit_verified_timestamp_seconds", "gauge",
		"When the gate last went through all of its audit log (Unix time); 0: not since "
		"it started.",
		look.has_last ? (uint64_t)look.last.ended_ms / 1000 : 0);
	write_number(out, "audit_verification_bad", "gauge",
		     "1: it found then that the log is not as it was signed, or could not see.",
		     look.has_last && verification_is_bad(&look.last));
}

static void write_failures(const struct gate *gate, struct buf *out)
{
	static const char *const listeners[DOOR_COUNT] = {
		[DOOR_DATA] = "data",
		[DOOR_ADMIN] = "admin",
	};

	describe(out, "authentication_failures_total", "counter",
		 "Credentials that were not let in, by listener.");
	for (int i = 0; i < DOOR_COUNT; i++)
		write_labelled(out, "authentication_failures_total", "listener", listeners[i],
			       metrics_get(&gate->failures[i].count));
	describe(out, "authentication_put_off_total", "counter",
		 "Of them, those after too many at their address (429), by listener.");
	for (int i = 0; i < DOOR_COUNT; i++)
		write_labelled(out, "authentication_put_off_total", "listener", listeners[i],
			       metrics_get(&gate->failures[i].put_off));
}

static void write_store(const struct store_stats *stats, struct buf *out)
{
	write_histogram(out, "commit_seconds", "Time of one commit to the store.", stats->commit_us,
			STORE_BUCKETS, 10e-6, (double)stats->commit_us_sum * 1e-6, 0);
	write_histogram(out, "batch_commands", "Commands in one transaction.", stats->batch_sizes,
			STORE_BUCKETS, 1, (double)stats->commands, 0);
	write_number(out, "store_failures_total", "counter", "Batches that the store refused.",
		     stats->failures);
	write_number(out, "store_uncertain_total", "counter",
		     "Commits that the store gave no answer to.", stats->uncertain);
	write_number(out, "store_queue_depth", "gauge", "Commands that wait for the store.",
		     stats->queue_depth);
	write_number(out, "operations_purged_total", "counter", "Operations forgotten.",
		     stats->purged);
	write_number(out, "tombstones_dropped_total", "counter", "Tombstones forgotten.",
		     stats->tombstones_dropped);
	describe(out, "operations_open", "gauge", "Operations that have not ended, by state.");
	for (int i = STATE_AWAITING_APPROVAL; i <= STATE_UNKNOWN; i++)
		write_labelled(out, "operations_open", "state",
			       operation_state_name((enum operation_state)i), stats->open[i]);
}

uint64_t admin_outcome_count(const struct gate *gate, enum outcome outcome)
{
	return SUM_OF(gate, outcomes, outcome);
}

void admin_metrics(const struct admin *admin, struct buf *out)
{
	const struct gate *gate = admin->gate;
	struct store_stats stats;

	store_stats_read(gate->store, &stats);
	write_requests(gate, out);
	write_problems(gate, out);
	write_passed(gate, out);
	write_background(gate, out);
	write_approvals(gate, &stats, out);
	write_failures(gate, out);
	write_gauges(gate, out);
	write_latency(gate, out, "upstream_seconds", "Time of protected calls to upstreams.",
		      offsetof(struct metrics, upstream));
	write_latency(gate, out, "request_seconds", "Time of protected requests as a whole.",
		      offsetof(struct metrics, request));
	write_store(&stats, out);
	write_audit(gate, &stats, out);
	write_verification(admin->verification, out);
}
