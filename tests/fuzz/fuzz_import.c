/*
 * Fuzzing the import of OpenAPI documents.
 *
 * Whatever is taken becomes a configuration that passes the check; whatever is refused says
 * why and leaves nothing behind.
 */
#include "base/err.h"
#include "config/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void expect_good(struct str text)
{
	struct settings *settings = NULL;
	struct settings_report report;

	settings_report_init(&report);
	require(settings_parse(text, "imported.yaml", NULL, &settings, &report) == 0);
	settings_free(settings);
	settings_report_fini(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct settings_report report;
	struct buf out;
	int r;

	settings_report_init(&report);
	buf_init(&out, SETTINGS_FILE_MAX);
	r = import_openapi_text(str_of((const char *)bytes, size), "fuzz.yaml", &out, &report);
	if (r == 0)
		expect_good(buf_str(&out));
	else
		require(r == SETTINGS_WRONG && report.count > 0);
	buf_fini(&out);
	settings_report_fini(&report);
	return 0;
}
