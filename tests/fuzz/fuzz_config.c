/*
 * Fuzzing the configuration's reader.
 *
 * Whatever is accepted keeps every promise of config/settings.h, and may follow itself in a
 * reload. Whatever is refused says where, inside the text, what and how to mend it.
 */
#include "base/err.h"
#include "config/settings.h"

enum { JSON_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void expect_upstream(const struct settings_upstream *upstream)
{
	require(upstream->name.len > 0 && upstream->url.host.len > 0 && upstream->url.port > 0);
	require(strlen(upstream->url.text.at) == upstream->url.text.len);
	require(str_starts_with(upstream->url.text, STR("http")));
	require(upstream->timeout_ms >= 10 && upstream->connect_timeout_ms >= 10);
	require(upstream->connect_timeout_ms <= upstream->timeout_ms);
	require(upstream->max_connections >= 1);
}

static void expect_part(const struct action *action, const struct rule_part *part)
{
	size_t parameters = 0;

	for (size_t i = 0; i < action->route.count; i++)
		parameters += action->route.segments[i].is_parameter;
	require(part->name.len > 0);
	require(part->pointer.len > 0 ? part->pointer.at[0] == '/' && action->field_count > 0
				      : part->parameter < parameters);
}

static void expect_inquiry(const struct rule_inquiry *inquiry)
{
	bool can_be_found = false, can_be_absent = false;

	if (inquiry->get.len == 0)
		return;
	require(inquiry->get.at[0] == '/' && inquiry->timeout_ms > 0);
	require(inquiry->found_as >= 200 && inquiry->found_as < 300);
	for (int status = 100; status < 600; status++) {
		bool is_found = status_class_has(inquiry->found, status);
		bool is_absent = status_class_has(inquiry->absent, status);

		require(!is_found || !is_absent || inquiry->has_absent_empty);
		can_be_found = can_be_found || is_found;
		can_be_absent = can_be_absent || is_absent;
	}
	require(can_be_found && can_be_absent);
}

/* Every rule can do what it promises: what it names is there. */
static void expect_rules(const struct action *action)
{
	for (size_t i = 0; i < action->unique.count; i++)
		expect_part(action, &action->unique.by[i]);
	for (size_t i = 0; i < action->lock.count; i++)
		expect_part(action, &action->lock.on[i]);
	require(action->unique.count == 0 || action->unique.for_ms > 0);
	if (action->budget.is_declared) {
		expect_part(action, &action->budget.of);
		require(action->budget.amount.len > 1);
	}
	if (action->opens_budget.is_declared)
		require(action->opens_budget.id.len > 1 && action->opens_budget.amount.len > 1);
	for (size_t i = 0; i < action->response.failed_when_count; i++)
		require(action->response.failed_when[i].pointer.at);
	require(!action->downstream_key.header.len || !action->downstream_key.field.len);
	require(action->lookup.get.len == 0 || action->unique.count > 0);
	require(!action->is_natural || (action->unique.count + action->lock.count == 0 &&
					!action->is_outbox && !action->inbox.is_declared));
	expect_inquiry(&action->probe);
	expect_inquiry(&action->lookup);
}

static void expect_whole(const struct settings *settings)
{
	require(settings->upstream_count >= 1);
	require(str_equal(settings->upstreams[0].name, STR("default")));
	for (size_t i = 0; i < settings->upstream_count; i++)
		expect_upstream(&settings->upstreams[i]);
	for (size_t i = 0; i < settings->action_count; i++)
		expect_rules(&settings->actions[i]);
	require(settings->outbox.first_pause_ms <= settings->outbox.max_pause_ms);
	require(settings->data.len > 0 && strlen(settings->data.at) == settings->data.len);
	require(settings->threads >= 1 && settings->threads <= SETTINGS_THREADS_MAX);
	require(settings->tokens.header.len > 0);
	require(settings->tokens.retention_ms > 0);
	require(settings->tokens.tombstones_ms <= SETTINGS_FOREVER_MS);
	require(settings->limits.max_body >= 1);
	require(settings->limits.request_memory / 2 >= settings->limits.max_body);
	require((settings->tls.key.len > 0) == (settings->tls.certificate.len > 0));
	for (int status = 100; status < 600; status++)
		require(!status_class_has(settings->statuses.not_sent, status) ||
			!status_class_has(settings->statuses.unknown, status));
}

static void expect_explained(const struct settings_report *report, size_t size)
{
	struct buf out;

	require(report->count > 0);
	for (size_t i = 0; i < report->count; i++) {
		const struct settings_error *error = &report->errors[i];

		require(error->line <= size + 2 && error->column <= size + 2);
		require(error->source[0] && error->what[0] && error->mend[0]);
	}
	buf_init(&out, JSON_MAX);
	settings_report_json(report, &out);
	require(!out.is_spoiled);
	buf_fini(&out);
}

static void parse(struct str text, const struct settings_override *overrides)
{
	struct settings *settings = NULL;
	struct settings_report report;
	int r;

	settings_report_init(&report);
	r = settings_parse(text, "fuzz.yaml", overrides, &settings, &report);
	if (r == 0) {
		require(report.count == 0);
		expect_whole(settings);
		require(settings_reloadable(settings, settings, "fuzz.yaml", &report) == 0);
	} else {
		require(r == SETTINGS_WRONG && !settings);
		expect_explained(&report, text.len);
	}
	settings_free(settings);
	settings_report_fini(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const struct settings_override options = {
		.listen = "127.0.0.1:0", .upstream = "http://127.0.0.1:9000", .data = "d"};
	struct str text = str_of((const char *)bytes, size);

	parse(text, NULL);
	parse(text, &options);
	return 0;
}
