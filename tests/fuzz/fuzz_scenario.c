/*
 * Fuzzing the reader of drill's scenarios, and what is made of their bodies.
 *
 * Whatever is accepted can be drilled: it says where to send, how to count, and its body can be
 * filled, reordered and changed. Whatever is refused says where, what and how to mend it.
 */
#include "base/err.h"
#include "drill/body.h"
#include "drill/names.h"
#include "drill/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void expect_headers(const struct scenario_pairs *headers)
{
	for (size_t i = 0; i < headers->count; i++) {
		require(headers->items[i].name.len > 0);
		require(str_find(headers->items[i].value, '\n') == headers->items[i].value.len);
	}
}

static void expect_whole(const struct scenario *scenario, struct arena *mem)
{
	const struct names names = {
		.marker = STR("m"), .run = STR("r"), .test_case = STR("c"), .key = STR("k")};
	struct str body = names_fill(scenario->write.body.text, &names, NAMES_PLAIN, mem), other;

	require(str_starts_with(scenario->target, STR("http")));
	require(scenario->write.path.at[0] == '/' && scenario->write.method.len > 0);
	require(scenario_counts(&scenario->effects));
	require(scenario->copies >= 2 && scenario->copies <= SCENARIO_COPIES_MAX);
	require(scenario->timeout_ms >= 100 && scenario->settle_ms >= 100);
	expect_headers(&scenario->write.headers);
	expect_headers(&scenario->second_account.headers);
	if (!body.at)
		return;
	(void)body_reordered(body, mem, &other);
	(void)body_changed(body, &scenario->change, mem, &other);
}

static void expect_mendable(const struct settings_report *report)
{
	require(report->count > 0);
	for (size_t i = 0; i < report->count; i++) {
		require(strcmp(report->errors[i].source, "s.yaml") == 0);
		require(report->errors[i].line > 0 && report->errors[i].column > 0);
		require(report->errors[i].what[0] && report->errors[i].mend[0]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct settings_report report;
	struct scenario scenario;
	struct arena mem;
	int r;

	if (size > SCENARIO_FILE_MAX)
		return 0;
	arena_init(&mem, SCENARIO_MEMORY_MAX * 8);
	settings_report_init(&report);
	r = scenario_parse(str_of((const char *)bytes, size), "s.yaml", NULL, &mem, &scenario,
			   &report);
	if (r == 0)
		expect_whole(&scenario, &mem);
	else if (r == SETTINGS_WRONG)
		expect_mendable(&report);
	settings_report_fini(&report);
	arena_fini(&mem);
	return 0;
}
