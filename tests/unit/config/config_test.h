/*
 * Shared by the tests of declared actions: a configuration that is right, parsed.
 */
#ifndef CONFIG_TEST_H
#define CONFIG_TEST_H

#include "config/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct settings_override upstream_alone = {.upstream = "http://127.0.0.1:9000"};

static struct settings *parse(const char *text)
{
	struct settings *settings = NULL;
	struct settings_report report;
	int r;

	settings_report_init(&report);
	r = settings_parse(str_from(text), "gate.yaml", &upstream_alone, &settings, &report);
	settings_report_print(&report, stderr);
	settings_report_fini(&report);
	assert_int_equal(r, 0);
	return settings;
}

#endif
