/*
 * The audit log verified by the gate itself, for whoever may read it.
 *
 *   POST /api/audit/verify   begins a run, unless one runs → 202 with how it stands
 *   GET  /api/audit/status   has the same under `verification`
 *
 * It reads and changes nothing, so an auditor may ask for it; of one account too, as what is told
 * are counts and hashes of a log whose size they see anyway. What is found is in the words of
 * `counterfoil audit verify`. With `audit.verify` it is begun by itself, too.
 */
#include "admin/api.h"

#include "audit/verification.h"

enum { TIME_TEXT = 25 };

/* On the run's thread. */
static void ended(void *owner, const struct verification_end *end)
{
	const struct admin *admin = owner;
	const struct verify_report *report = &end->report;
	struct log_line line;

	log_begin(&line, admin->gate->log, verification_is_bad(end) ? LOG_ERROR : LOG_INFO,
		  "audit_verified");
	log_text(&line, "result", end->is_whole ? verify_result_text(report->result) : "none");
	if (report->why[0])
		log_text(&line, "why", report->why);
	log_int(&line, "entries", (int64_t)report->entries);
	log_end(&line);
}

static int start(struct admin *admin)
{
	struct store_stats stats;

	store_stats_read(admin->gate->store, &stats);
	return verification_start(admin->verification, stats.log_published);
}

static void wait_for_next(struct admin *admin)
{
	int64_t every_ms = gate_settings(admin->gate)->audit.verify_ms;

	if (every_ms < SETTINGS_FOREVER_MS)
		loop_timer_start(&admin->gate->control.loop, &admin->verify_timer, every_ms);
}

/* Where there is no thread now, there may be one the next time. */
static void time_to_verify(struct loop_timer *timer)
{
	struct admin *admin = list_entry(timer, struct admin, verify_timer);

	(void)start(admin);
	wait_for_next(admin);
}

int admin_verification_new(struct admin *admin)
{
	const struct verification_order order = {
		.data = gate_settings(admin->gate)->data.at,
		.env = admin->gate->env,
		.ended = ended,
		.owner = admin,
	};

	loop_timer_init(&admin->verify_timer, time_to_verify);
	wait_for_next(admin);
	return verification_new(&order, &admin->verification);
}

void admin_verification_free(struct admin *admin)
{
	loop_timer_cancel(&admin->verify_timer);
	verification_free(admin->verification);
	admin->verification = NULL;
}

static void write_time(struct json_writer *json, const char *name, int64_t wall_ms)
{
	char text[TIME_TEXT];

	time_format(wall_ms, text);
	json_name(json, name);
	json_text(json, text);
}

static void write_last(struct json_writer *json, const struct verification_look *look)
{
	json_name(json, "last");
	if (!look->has_last) {
		json_null(json);
		return;
	}
	json_open_object(json);
	write_time(json, "begun", look->last.begun_ms);
	write_time(json, "ended", look->last.ended_ms);
	if (look->last.is_whole) {
		verify_report_write(&look->last.report, json);
	} else {
		json_name(json, "result");
		json_null(json);
		json_name(json, "why");
		json_text(json, look->last.report.why);
	}
	json_close_object(json);
}

void api_verification_write(struct api_call *call, struct json_writer *json)
{
	struct verification_look look;

	verification_look(call->admin->verification, &look);
	json_open_object(json);
	json_name(json, "running");
	json_boolean(json, look.is_running);
	if (look.is_running) {
		write_time(json, "begun", look.begun_ms);
		json_name(json, "walked");
		json_integer(json, (int64_t)look.walked);
	}
	json_name(json, "key");
	json_text(json, look.has_key ? look.key : NULL);
	write_last(json, &look);
	json_close_object(json);
}

void api_audit_verify(struct api_call *call)
{
	struct json_writer json;
	struct buf body;

	if (start(call->admin) < 0) {
		api_problem(call, PROBLEM_OVERLOADED, "There is no thread to verify on.");
		return;
	}
	api_json_begin(&json, &body);
	api_verification_write(call, &json);
	api_json_end(call, 202, &body);
}
