/*
 * What can be said about settings without a file: their rows, and what a reload may change.
 */
#include "config/settings.h"

#include "base/err.h"
#include "config/table.h"

#include <stdlib.h>

bool settings_row_at(size_t index, struct settings_row *out_row)
{
	const struct setting *setting;

	for (size_t i = 0; (setting = setting_at(i)); i++) {
		if (setting->kind == KIND_LATER)
			continue;
		if (index-- > 0)
			continue;
		*out_row = (struct settings_row){
			.name = setting->name,
			.type = setting_type(setting),
			.default_value = setting->default_value,
			.range = setting->range ? setting->range : "",
			.help = setting->help,
			.needs_restart = setting->needs_restart,
		};
		return true;
	}
	return false;
}

void settings_free(struct settings *settings)
{
	if (!settings)
		return;
	for (struct settings_pattern *pattern = settings->patterns; pattern;
	     pattern = pattern->next)
		matcher_fini(&pattern->matcher);
	arena_fini(&settings->mem);
	free(settings);
}

const struct settings_upstream *settings_upstream(const struct settings *settings, struct str name)
{
	for (size_t i = 0; i < settings->upstream_count; i++) {
		if (str_equal(settings->upstreams[i].name, name))
			return &settings->upstreams[i];
	}
	return NULL;
}

const struct action *settings_action(const struct settings *settings, struct str name)
{
	for (size_t i = 0; i < settings->action_count; i++) {
		if (str_equal(settings->actions[i].name, name))
			return &settings->actions[i];
	}
	return NULL;
}

bool settings_protects(const struct settings *settings, struct str method)
{
	for (size_t i = 0; i < settings->protect.count; i++) {
		if (str_equal(settings->protect.methods[i], method))
			return true;
	}
	return false;
}

static bool same_texts(const struct text_list *a, const struct text_list *b)
{
	for (size_t i = 0; i < a->count && a->count == b->count; i++)
		if (!str_equal(a->texts[i], b->texts[i]))
			return false;
	return a->count == b->count;
}

/* Of the kinds that rows with needs_restart have. */
static bool is_same(const struct setting *setting, const struct settings *old,
		    const struct settings *new)
{
	const char *a = (const char *)old + setting->at;
	const char *b = (const char *)new + setting->at;

	switch (setting->kind) {
	case KIND_ADDRESS:
		return str_equal(((const struct settings_address *)(const void *)a)->text,
				 ((const struct settings_address *)(const void *)b)->text);
	case KIND_PATHS:
	case KIND_ANCHORS:
	case KIND_WITNESSES:
		return same_texts((const struct text_list *)(const void *)a,
				  (const struct text_list *)(const void *)b);
	case KIND_PATH:
	case KIND_TEXT:
		return str_equal(*(const struct str *)(const void *)a,
				 *(const struct str *)(const void *)b);
	case KIND_THREADS:
	case KIND_COUNT:
		return memcmp(a, b, sizeof(uint32_t)) == 0;
	case KIND_DURATION:
		return memcmp(a, b, sizeof(int64_t)) == 0;
	case KIND_CHOICE:
		return memcmp(a, b, sizeof(int)) == 0;
	default:
		unreachable("a setting of this kind cannot need a restart");
	}
}

static void needs_restart(struct settings_report *report, const char *source, const char *what)
{
	struct place place = {.source = source ? source : "configuration"};

	report_add(report, place, "restart the gate to change it, or change it back",
		   "%s differs from what the running gate began with", what);
}

int settings_reloadable(const struct settings *old, const struct settings *new, const char *source,
			struct settings_report *report)
{
	size_t before = report->count;
	const struct setting *setting;

	for (size_t i = 0; (setting = setting_at(i)); i++) {
		if (setting->needs_restart && !is_same(setting, old, new))
			needs_restart(report, source, setting->name);
	}
	if ((old->tls.key.len > 0) != (new->tls.key.len > 0))
		needs_restart(report, source, "tls, on or off,");
	if ((old->admin_tls.key.len > 0) != (new->admin_tls.key.len > 0))
		needs_restart(report, source, "admin_tls, on or off,");
	return report->count == before ? 0 : SETTINGS_WRONG;
}
