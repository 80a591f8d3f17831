/* The page of the configuration has every setting, and only settings that exist. */
#include "base/buf.h"
#include "config/settings.h"

#include "cli_test.h"

#include <stdio.h>
#include <stdlib.h>

enum { PAGE_MAX = 1024 * 1024 };

static const char *page_file;

/* The page; the caller frees it. */
static char *read_page(void)
{
	char *text = calloc(1, PAGE_MAX);
	FILE *file;

	assert_non_null(text);
	file = fopen(page_file, "r");
	assert_non_null(file);
	assert_true(fread(text, 1, PAGE_MAX - 1, file) > 0);
	fclose(file);
	return text;
}

/* A setting's entry is a line of its own: `.B tokens.retention`. */
static void entry_of(const char *name, char *out, size_t size)
{
	snprintf(out, size, "\n.B %s\n", name);
}

static void every_setting_is_in_the_page(void **state)
{
	char *page = read_page();
	struct settings_row row;
	size_t count = 0;

	for (; settings_row_at(count, &row); count++) {
		char entry[256];

		entry_of(row.name, entry, sizeof(entry));
		if (!strstr(page, entry))
			print_error("counterfoil.yaml(5) has no entry %s", entry);
		assert_non_null(strstr(page, entry));
	}
	assert_true(count > 20);
	free(page);
}

static int is_setting(const char *name, size_t len)
{
	struct settings_row row;

	for (size_t i = 0; settings_row_at(i, &row); i++) {
		if (strlen(row.name) == len && memcmp(row.name, name, len) == 0)
			return 1;
	}
	return 0;
}

static void every_entry_is_a_setting(void **state)
{
	char *page = read_page();
	const char *at = strstr(page, "\n.SH SETTINGS\n");
	const char *end = at ? strstr(at + 1, "\n.SH ") : NULL;
	size_t count = 0;

	assert_non_null(end);
	while ((at = strstr(at + 1, "\n.B ")) != NULL && at < end) {
		const char *name = at + 4;

		if (!is_setting(name, strcspn(name, "\n")))
			print_error("there is no setting %.*s\n", (int)strcspn(name, "\n"), name);
		assert_true(is_setting(name, strcspn(name, "\n")));
		count++;
	}
	assert_true(count > 20);
	free(page);
}

int main(int count, char **words)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_setting_is_in_the_page),
		cmocka_unit_test(every_entry_is_a_setting),
	};

	if (count != 2)
		return 2;
	page_file = words[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
