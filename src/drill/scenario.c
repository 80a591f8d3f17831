/*
 * From a YAML file to a scenario.
 *
 * The tree of config/yaml.h is walked once: each key is looked up in the table of keys and its
 * value read by its kind; a key that no row has is refused with the nearest one. Then what
 * only shows when all keys are there is checked (scenario_check.c). Nothing stops at the first
 * error, short of a file that is no tree: all are in the report, each with its place.
 *
 * Can fail: FAIL_MEMORY; everything else is the file's doing and is told in the report.
 */
#include "drill/scenario_read.h"

#include "base/err.h"
#include "config/table.h"
#include "core/nearest.h"

#include <stdlib.h>

static int walk(struct scenario_reading *reading, const struct node *map, struct str section);
static int read_key(struct scenario_reading *reading, const struct node *map,
		    const struct node *key, struct str section);
static int take_defaults(struct scenario_reading *reading);
static int override_with(struct scenario_reading *reading,
			 const struct scenario_override *override);

int scenario_load(const char *file, const struct scenario_override *override, struct arena *mem,
		  struct scenario *out_scenario, struct settings_report *report)
{
	struct buf text;
	int r;

	buf_init(&text, SCENARIO_FILE_MAX + 1);
	r = file_read(file, SCENARIO_FILE_MAX, &text, report);
	if (r == 0 && text.len > SCENARIO_FILE_MAX) {
		report_add(report, (struct place){.source = file}, "a scenario has 256 KiB at most",
			   "the file is too large");
		r = SETTINGS_WRONG;
	}
	if (r == 0)
		r = scenario_parse(buf_str(&text), file, override, mem, out_scenario, report);
	buf_fini(&text);
	return r;
}

int scenario_parse(struct str text, const char *name, const struct scenario_override *override,
		   struct arena *mem, struct scenario *out_scenario, struct settings_report *report)
{
	struct scenario scenario = {.file = arena_str(mem, str_from(name))};
	struct scenario_reading reading = {.scenario = &scenario, .report = report, .mem = mem};
	struct node *root;
	int r;

	if (!scenario.file.at)
		return fail(FAIL_MEMORY);
	r = yaml_read(text, name, mem, report, &root);
	if (r != 0)
		return r;
	reading.root = root;
	r = take_defaults(&reading);
	if (r == 0 && root->kind != NODE_MAP)
		report_add(report, root->place, "begin with `name: …`",
			   "a scenario is a mapping of keys");
	else if (r == 0)
		r = walk(&reading, root, STR(""));
	if (r == 0)
		r = override_with(&reading, override);
	if (r == 0)
		scenario_check(&reading);
	report_sort(report);
	if (r == 0 && report->count > 0)
		r = SETTINGS_WRONG;
	if (r == 0)
		*out_scenario = scenario;
	return r;
}

/* The sections lie two deep at most, so does the walk. */
static int walk(struct scenario_reading *reading, const struct node *map, struct str section)
{
	int r = 0;

	for (const struct node *key = map->first; r == 0 && key; key = key->next) {
		const struct node *first = node_key(map, key->text);
		char shown[QUOTE_SIZE];

		if (first != key)
			report_add(reading->report, key->place, "keep one of the two",
				   "`%s` is here a second time; the first is in line %zu",
				   quote(shown, key->text), first->place.line);
		else if (!key->is_refused && !key->value->is_refused)
			r = read_key(reading, map, key, section);
	}
	return r;
}

/* What is left of a row's name below `section`; NULL: the row is not in it. */
static const char *below(const struct scenario_key *row, struct str section)
{
	if (section.len == 0)
		return row->name;
	if (strncmp(row->name, section.at, section.len) != 0 || row->name[section.len] != '.')
		return NULL;
	return row->name + section.len + 1;
}

static const struct scenario_key *find_row(struct str name)
{
	for (size_t i = 0; i < scenario_key_count; i++) {
		if (str_equal(str_from(scenario_keys[i].name), name))
			return &scenario_keys[i];
	}
	return NULL;
}

static bool is_section(struct str name)
{
	for (size_t i = 0; i < scenario_key_count; i++) {
		if (below(&scenario_keys[i], name))
			return true;
	}
	return false;
}

/* The nearest key of that section; empty when none is near. */
static struct str nearest(struct str section, struct str name)
{
	struct str best = str_of(NULL, 0);
	size_t best_distance = nearest_allowance(name) + 1;

	for (size_t i = 0; i < scenario_key_count; i++) {
		struct str known = str_from(below(&scenario_keys[i], section));
		size_t distance;

		if (!known.at)
			continue;
		known.len = str_find(known, '.');
		distance = nearest_distance(name, known);
		if (distance < best_distance) {
			best_distance = distance;
			best = known;
		}
	}
	return best;
}

static void report_unknown(struct scenario_reading *reading, const struct node *key,
			   struct str section)
{
	struct str near = nearest(section, key->text);
	char mend[SCENARIO_MEND_MAX], shown[QUOTE_SIZE];

	if (near.len)
		snprintf(mend, sizeof(mend), "did you mean %.*s?", STR_ARG(near));
	else
		snprintf(mend, sizeof(mend), "remove it; the guide to drill lists every key");
	report_add(reading->report, key->place, mend, "a scenario has no key `%s`%s%.*s",
		   quote(shown, key->text), section.len ? " in " : "", STR_ARG(section));
}

static int read_key(struct scenario_reading *reading, const struct node *map,
		    const struct node *key, struct str section)
{
	struct str name = section.len ? arena_printf(reading->mem, "%.*s.%.*s", STR_ARG(section),
						     STR_ARG(key->text))
				      : key->text;
	const struct scenario_key *row;
	char shown[QUOTE_SIZE];

	if (!name.at)
		return fail(FAIL_MEMORY);
	row = find_row(name);
	if (row)
		return scenario_read_value(reading, row, key->value);
	if (!is_section(name)) {
		report_unknown(reading, key, section);
		return 0;
	}
	if (key->value->kind == NODE_MAP)
		return walk(reading, key->value, name);
	report_add(reading->report, key->value->place, "write its keys below it, indented",
		   "%s is no mapping of keys", quote(shown, name));
	return 0;
}

static int read_text(struct scenario_reading *reading, const struct scenario_key *row,
		     const char *source, const char *text)
{
	struct node *node = node_new(reading->mem, NODE_SCALAR, (struct place){.source = source},
				     str_from(text));

	if (!node)
		return fail(FAIL_MEMORY);
	node->is_plain = true;
	return scenario_read_value(reading, row, node);
}

static int take_defaults(struct scenario_reading *reading)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < scenario_key_count; i++) {
		const struct scenario_key *row = &scenario_keys[i];

		if (row->default_value)
			r = read_text(reading, row, "a default", row->default_value);
	}
	return r;
}

static int override_with(struct scenario_reading *reading, const struct scenario_override *override)
{
	int r = 0;

	if (override && override->target)
		r = read_text(reading, find_row(STR("target")), "--target", override->target);
	if (r == 0 && override && override->kill)
		r = read_text(reading, find_row(STR("server.kill")), "--kill", override->kill);
	if (r == 0 && override && override->start)
		r = read_text(reading, find_row(STR("server.start")), "--start", override->start);
	return r;
}
