/*
 * The report as JSON.
 *
 * {"program", "began", "passed", "failed", "not_applicable", "not_judged", "scenarios": [{"name",
 * "file", "target", "cases": [{"name", "what", "why", "verdict", "seen", "effects": {"before",
 * "after", "wanted"}, "duration_us", "events": [{"at_us", "actor", "from", "to",
 * "lost", "lane", "text"}]}]}]}
 *
 * Always true: a member that has nothing to say is null; a terminal may see it.
 * Cannot fail but by the buffer.
 */
#include "drill/report.h"

#include "base/terminal.h"
#include "json/json.h"

static void put_number(struct json_writer *json, const char *name, int64_t number)
{
	json_name(json, name);
	if (number < 0)
		json_null(json);
	else
		json_integer(json, number);
}

static void put_events(const struct drill_case_result *result, struct json_writer *json)
{
	json_name(json, "events");
	json_open_array(json);
	for (const struct drill_event *event = result->events; event; event = event->next) {
		json_open_object(json);
		put_number(json, "at_us", event->at_us);
		json_put_text(json, "actor", str_from(report_actor(drill_way(event->move).actor)));
		json_put_text(json, "from", str_from(report_actor(drill_way(event->move).from)));
		json_put_text(json, "to", str_from(report_actor(drill_way(event->move).to)));
		json_name(json, "lost");
		json_boolean(json, drill_way(event->move).is_lost);
		put_number(json, "lane", event->lane);
		json_put_text(json, "text", event->text);
		json_close_object(json);
	}
	json_close_array(json);
}

static void put_case(const struct drill_case_result *result, struct json_writer *json)
{
	json_open_object(json);
	json_put_text(json, "name", str_from(result->name));
	json_put_text(json, "what", str_from(result->what));
	json_put_text(json, "why", str_from(result->why));
	json_put_text(json, "verdict", str_from(drill_verdict_text(result->verdict)));
	json_put_text(json, "seen", result->seen);
	json_name(json, "effects");
	json_open_object(json);
	put_number(json, "before", result->effects_before);
	put_number(json, "after", result->effects_after);
	put_number(json, "wanted", result->effects_wanted);
	json_close_object(json);
	put_number(json, "duration_us", result->duration_us);
	put_events(result, json);
	json_close_object(json);
}

void report_json(const struct drill_report *report, struct buf *out)
{
	struct report_counts counts = report_count(report);
	struct json_writer json;
	struct buf text;

	buf_init(&text, out->max);
	json_writer_init(&json, &text);
	json_open_object(&json);
	json_put_text(&json, "program", report->program_version);
	json_put_time(&json, "began", report->began_ms);
	put_number(&json, "passed", (int64_t)counts.of[DRILL_PASS]);
	put_number(&json, "failed", (int64_t)counts.of[DRILL_FAIL]);
	put_number(&json, "not_applicable", (int64_t)counts.of[DRILL_NOT_APPLICABLE]);
	put_number(&json, "not_judged", (int64_t)counts.of[DRILL_ERROR]);
	json_name(&json, "scenarios");
	json_open_array(&json);
	for (size_t i = 0; i < report->scenario_count; i++) {
		const struct drill_scenario_result *scenario = &report->scenarios[i];

		json_open_object(&json);
		json_put_text(&json, "name", scenario->name);
		json_put_text(&json, "file", scenario->file);
		json_put_text(&json, "target", scenario->target);
		json_name(&json, "cases");
		json_open_array(&json);
		for (size_t k = 0; k < scenario->case_count; k++)
			put_case(&scenario->cases[k], &json);
		json_close_array(&json);
		json_close_object(&json);
	}
	json_close_array(&json);
	json_close_object(&json);
	terminal_append_json(out, buf_str(&text));
	buf_append_byte(out, '\n');
	out->is_spoiled |= text.is_spoiled;
	buf_fini(&text);
}
