/*
 * The public test suites for JSON parsers and for RFC 8785: what must be refused is refused,
 * what must be accepted is accepted but for names that come twice, what is left open is
 * decided here, once.
 *
 * They are no part of this repository. They are looked for in $COUNTERFOIL_VECTORS, else in
 * shared/vectors beside the checkout or beside a folder that it is in. Without them nothing
 * is tested and the program says so (exit 77: skipped).
 */
#include "json_test.h"

#include <dirent.h>
#include <unistd.h>

enum { SKIPPED = 77, FILE_MAX = 1 << 20, PARENTS_MAX = 4 };

static char vectors[4096];

/* "../" once more for each parent that is tried. */
static bool find_vectors(void)
{
	const char *named = getenv("COUNTERFOIL_VECTORS");
	const char *source = getenv("COUNTERFOIL_SOURCE");
	char up[3 * PARENTS_MAX + 4] = "";
	size_t len = 0;

	if (named) {
		snprintf(vectors, sizeof(vectors), "%s", named);
		return access(vectors, R_OK) == 0;
	}
	for (int i = 0; source && i < PARENTS_MAX; i++) {
		memcpy(up + len, "../", 4);
		len += 3;
		snprintf(vectors, sizeof(vectors), "%s/%sshared/vectors", source, up);
		if (access(vectors, R_OK) == 0)
			return true;
	}
	return false;
}

/* A whole file into `out`. */
static void load(const char *folder, const char *name, struct buf *out)
{
	char path[8192];
	char *room;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s/%s", vectors, folder, name);
	file = fopen(path, "rb");
	if (!file)
		fail_msg("%s: cannot be opened", path);
	buf_clear(out);
	room = buf_reserve(out, FILE_MAX);
	assert_non_null(room);
	buf_commit(out, fread(room, 1, FILE_MAX, file));
	fclose(file);
}

/* What RFC 8259 leaves to the reader, and what it says must be taken but we refuse. */
static const struct {
	const char *name;
	int wanted;
	const char *why;
} decisions[] = {
	{"i_number_double_huge_neg_exp.json", JSON_REFUSED, "exponent"},
	{"i_number_huge_exp.json", JSON_REFUSED, "exponent"},
	{"i_number_neg_int_huge_exp.json", JSON_REFUSED, "exponent"},
	{"i_number_pos_double_huge_exp.json", JSON_REFUSED, "exponent"},
	{"i_number_real_neg_overflow.json", JSON_REFUSED, "exponent"},
	{"i_number_real_pos_overflow.json", JSON_REFUSED, "exponent"},
	{"i_number_real_underflow.json", JSON_REFUSED, "exponent"},
	{"i_number_too_big_neg_int.json", 0, NULL},
	{"i_number_too_big_pos_int.json", 0, NULL},
	{"i_number_very_big_negative_int.json", 0, NULL},
	{"i_object_key_lone_2nd_surrogate.json", JSON_REFUSED, "surrogate"},
	{"i_string_1st_surrogate_but_2nd_missing.json", JSON_REFUSED, "surrogate"},
	{"i_string_1st_valid_surrogate_2nd_invalid.json", JSON_REFUSED, "surrogate"},
	{"i_string_UTF-16LE_with_BOM.json", JSON_REFUSED, "byte 0xff"},
	{"i_string_UTF-8_invalid_sequence.json", JSON_REFUSED, "UTF-8"},
	{"i_string_UTF8_surrogate_U+D800.json", JSON_REFUSED, "UTF-8"},
	{"i_string_incomplete_surrogate_and_escape_valid.json", JSON_REFUSED, "surrogate"},
	{"i_string_incomplete_surrogate_pair.json", JSON_REFUSED, "surrogate"},
	{"i_string_incomplete_surrogates_escape_valid.json", JSON_REFUSED, "surrogate"},
	{"i_string_invalid_lonely_surrogate.json", JSON_REFUSED, "surrogate"},
	{"i_string_invalid_surrogate.json", JSON_REFUSED, "surrogate"},
	{"i_string_invalid_utf-8.json", JSON_REFUSED, "UTF-8"},
	{"i_string_inverted_surrogates_U+1D11E.json", JSON_REFUSED, "surrogate"},
	{"i_string_iso_latin_1.json", JSON_REFUSED, "UTF-8"},
	{"i_string_lone_second_surrogate.json", JSON_REFUSED, "surrogate"},
	{"i_string_lone_utf8_continuation_byte.json", JSON_REFUSED, "UTF-8"},
	{"i_string_not_in_unicode_range.json", JSON_REFUSED, "UTF-8"},
	{"i_string_overlong_sequence_2_bytes.json", JSON_REFUSED, "UTF-8"},
	{"i_string_overlong_sequence_6_bytes.json", JSON_REFUSED, "UTF-8"},
	{"i_string_overlong_sequence_6_bytes_null.json", JSON_REFUSED, "UTF-8"},
	{"i_string_truncated-utf-8.json", JSON_REFUSED, "UTF-8"},
	{"i_string_utf16BE_no_BOM.json", JSON_REFUSED, "byte 0x00"},
	{"i_string_utf16LE_no_BOM.json", JSON_REFUSED, "byte 0x00"},
	{"i_structure_500_nested_arrays.json", JSON_REFUSED, "deep"},
	{"i_structure_UTF-8_BOM_empty_object.json", JSON_REFUSED, "byte-order mark"},
	{"y_object_duplicated_key.json", JSON_REFUSED, "twice"},
	{"y_object_duplicated_key_and_value.json", JSON_REFUSED, "twice"},
};
enum { DECISIONS = sizeof(decisions) / sizeof(decisions[0]) };

/* 0 or JSON_REFUSED; *why is what the reason must name. */
static int wanted_for(const char *name, const char **why)
{
	*why = NULL;
	for (size_t i = 0; i < DECISIONS; i++) {
		if (strcmp(decisions[i].name, name) == 0) {
			*why = decisions[i].why;
			return decisions[i].wanted;
		}
	}
	if (name[0] == 'i')
		fail_msg("%s: not decided", name);
	return name[0] == 'y' ? 0 : JSON_REFUSED;
}

static void check(const char *name, struct buf *text)
{
	struct parsed parsed;
	const char *why;
	int wanted = wanted_for(name, &why);

	load("JSONTestSuite/test_parsing", name, text);
	parsed_init(&parsed, buf_str(text));
	if (parsed.result != wanted || (why && !strstr(parsed.error.detail, why)))
		fail_msg("%s: %d, wanted %d; %s", name, parsed.result, wanted, parsed.error.detail);
	parsed_fini(&parsed);
}

static void the_parsing_suite_is_met(void **state)
{
	char path[8192];
	struct dirent *entry;
	struct buf text;
	DIR *folder;
	size_t seen[3] = {0}; /* y, n, i */

	buf_init(&text, 2 * FILE_MAX);
	snprintf(path, sizeof(path), "%s/JSONTestSuite/test_parsing", vectors);
	folder = opendir(path);
	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		const char *kind = strchr("yni", entry->d_name[0]);

		if (!kind || entry->d_name[1] != '_')
			continue;
		seen[kind - "yni"]++;
		check(entry->d_name, &text);
	}
	closedir(folder);
	buf_fini(&text);
	assert_true(seen[0] >= 95 && seen[1] >= 187 && seen[2] >= DECISIONS - 2);
}

/*
 * In values.json alone we differ, and on purpose: 333333333.33333329 is no number a double
 * can keep (the shortest that becomes the same double ends in …33333333 with one digit
 * less), so RFC 8785 writes another number than was sent. Here it stays what it is.
 */
static void the_canonical_suite_is_met(void **state)
{
	static const char *const names[] = {"arrays.json", "french.json", "structures.json",
					    "unicode.json", "weird.json"};
	struct str values = STR("{\"literals\":[null,true,false],\"numbers\":[333333333.33333329,"
				"1e+30,4.5,0.002,1e-27],\"string\":\"\u20ac$\\u000f\\nA'B\\\"\\\\"
				"\\\\\\\"/\"}");
	struct str rounded = STR("333333333.3333333,"), kept = STR("333333333.33333329,");
	struct buf input, output;
	size_t before;
	char *place;

	buf_init(&input, 2 * FILE_MAX);
	buf_init(&output, 2 * FILE_MAX);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		load("jcs/testdata/input", names[i], &input);
		load("jcs/testdata/output", names[i], &output);
		assert_canonical(buf_str(&input), buf_str(&output));
	}
	load("jcs/testdata/input", "values.json", &input);
	load("jcs/testdata/output", "values.json", &output);
	assert_canonical(buf_str(&input), values);
	place = memmem(output.at, output.len, rounded.at, rounded.len);
	assert_non_null(place);
	assert_int_equal(output.len + 1, values.len);
	before = (size_t)(place - output.at);
	assert_memory_equal(output.at, values.at, before);
	assert_memory_equal(values.at + before, kept.at, kept.len);
	assert_memory_equal(place + rounded.len, values.at + before + kept.len,
			    output.len - before - rounded.len);
	buf_fini(&input);
	buf_fini(&output);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_parsing_suite_is_met),
		cmocka_unit_test(the_canonical_suite_is_met),
	};

	if (!find_vectors()) {
		fprintf(stderr, "skipped: no shared/vectors beside the checkout, and "
				"COUNTERFOIL_VECTORS does not name them\n");
		return SKIPPED;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
