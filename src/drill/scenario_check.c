/*
 * What only shows when all keys of a scenario are there: what is missing, what does not go
 * together, and names in braces that stand for nothing.
 */
#include "drill/scenario_read.h"

#include "drill/names.h"
#include "json/json.h"

#include <stdio.h>

/* Where a key stands; where the file begins, when it is not there. */
static struct place place_of(struct scenario_reading *reading, const char *path)
{
	const struct node *node = node_at(reading->root, path);

	return node ? node->place : reading->root->place;
}

static void report_missing(struct scenario_reading *reading, const char *near, const char *name,
			   const char *example)
{
	char mend[SCENARIO_MEND_MAX];

	snprintf(mend, sizeof(mend), "write it, like `%s: %s`", name, example);
	report_add(reading->report, place_of(reading, near), mend, "%s is missing", name);
}

static void check_names(struct scenario_reading *reading, const char *path, struct str text,
			bool knows_id)
{
	struct str unknown = names_unknown(text, knows_id);
	char shown[QUOTE_SIZE];

	if (unknown.len)
		report_add(reading->report, place_of(reading, path),
			   knows_id ? "known are {marker}, {run}, {case}, {key} and {id}"
				    : "known are {marker}, {run}, {case} and {key}",
			   "%s has {%s}, which stands for nothing", path, quote(shown, unknown));
}

static void check_effects(struct scenario_reading *reading, const char *name,
			  const struct scenario_effects *effects, bool is_needed)
{
	int ways = (effects->get.len > 0) + (effects->command.len > 0) + (effects->sandbox.len > 0);
	struct place place = place_of(reading, name);

	if (ways > 1)
		report_add(reading->report, place, "keep one of get, command and sandbox",
			   "%s counts in more than one way", name);
	else if (ways == 0 && (is_needed || node_at(reading->root, name)))
		report_add(reading->report, place,
			   "write `effects: {get: \"/v1/things?title={marker}\", count: /data}`, "
			   "or a command that prints a number",
			   "%s does not say how effects are counted", name);
	if (effects->sandbox.len && !effects->kinds.len)
		report_add(reading->report, place, "write kind: tickets",
			   "%s has a sandbox and no kind", name);
	check_names(reading, name, effects->get, false);
}

static void check_changes(struct scenario_reading *reading)
{
	const struct scenario *scenario = reading->scenario;
	struct json_value *body;
	struct json_error error;

	if (!scenario->change.count)
		return;
	if (!scenario->write.body.is_given ||
	    json_read(scenario->write.body.text, &json_limits_default, reading->mem, &body,
		      &error) != 0) {
		report_add(reading->report, place_of(reading, "change"),
			   "leave change out, or give the write a body of JSON",
			   "change is of a body that is no JSON");
		return;
	}
	for (size_t i = 0; i < scenario->change.count; i++) {
		char shown[QUOTE_SIZE];

		if (!json_at(body, scenario->change.items[i].name))
			report_add(reading->report, place_of(reading, "change"),
				   "name a member that write.body has",
				   "change has %s, which is not in the body",
				   quote(shown, scenario->change.items[i].name));
	}
}

static void check_sections(struct scenario_reading *reading)
{
	const struct scenario *scenario = reading->scenario;
	const struct node *root = reading->root;

	if (node_at(root, "second_account") && !scenario->second_account.headers.count)
		report_missing(reading, "second_account", "second_account.headers",
			       "{Authorization: Bearer b}");
	if (node_at(root, "other_write") && !scenario->other_write.path.len)
		report_missing(reading, "other_write", "other_write.path", "/v1/payments");
	if (node_at(root, "resource") && !scenario->resource.get.len)
		report_missing(reading, "resource", "resource.get", "\"/v1/tickets/{id}\"");
	if (node_at(root, "expiry") && !scenario->expiry.after_ms && !scenario->expiry.clock.len)
		report_missing(reading, "expiry", "expiry.after", "3s");
	if (node_at(root, "revoke") && !scenario->revoke.command.len)
		report_missing(reading, "revoke", "revoke.command", "./keys revoke c");
	if (node_at(root, "revoke") && !scenario->revoke.headers.count)
		report_missing(reading, "revoke", "revoke.headers", "{Authorization: Bearer c}");
	if (scenario->server.kill.len && !scenario->server.start.len)
		report_missing(reading, "server", "server.start", "./server --port 8080");
}

/* The drill puts the key there itself. */
static void check_key(struct scenario_reading *reading)
{
	const struct scenario *scenario = reading->scenario;

	for (size_t i = 0; i < scenario->write.headers.count; i++) {
		if (str_equal_nocase(scenario->write.headers.items[i].name, scenario->key.header))
			report_add(reading->report, place_of(reading, "write.headers"),
				   "remove it: each case sends a key of its own",
				   "write.headers has the header of the key");
	}
}

void scenario_check(struct scenario_reading *reading)
{
	struct scenario *scenario = reading->scenario;

	if (reading->root->kind != NODE_MAP)
		return;
	if (!scenario->name.len && !node_at(reading->root, "name"))
		scenario->name = scenario->file;
	if (!scenario->target.len && !node_at(reading->root, "target"))
		report_missing(reading, "target", "target", "http://127.0.0.1:8080");
	if (!scenario->write.path.len && !node_at(reading->root, "write.path"))
		report_missing(reading, "write", "write.path", "/v1/tickets");
	if (!scenario->id.len && !node_at(reading->root, "id"))
		report_missing(reading, "id", "id", "/id");
	check_effects(reading, "effects", &scenario->effects, true);
	check_effects(reading, "other_write.effects", &scenario->other_effects, false);
	check_names(reading, "write.path", scenario->write.path, false);
	check_names(reading, "other_write.path", scenario->other_write.path, false);
	check_names(reading, "resource.get", scenario->resource.get, true);
	check_changes(reading);
	check_sections(reading);
	check_key(reading);
}
