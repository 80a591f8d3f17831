/*
 * A media type has one spelling and one way of comparing its bodies; a malformed one is
 * refused, and JSON in another charset too.
 */
#include "core/media_type.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void check(const char *text, enum body_kind kind, const char *expected)
{
	struct fingerprint_error error = {""};
	struct media_type media_type;
	struct buf out;

	buf_init(&out, 4096);
	if (media_type_read(str_from(text), "The Content-Type", &media_type, &error) != 0)
		fail_msg("%s: %s", text, error.detail);
	media_type_write(&media_type, &out);
	if (!str_equal(buf_str(&out), str_from(expected)))
		fail_msg("%s became %.*s", text, STR_ARG(buf_str(&out)));
	assert_int_equal(media_type_kind(&media_type), kind);
	buf_fini(&out);
}

static void check_refused(const char *text, const char *word)
{
	struct fingerprint_error error = {""};
	struct media_type media_type;

	if (media_type_read(str_from(text), "The Content-Type", &media_type, &error) !=
	    FINGERPRINT_REFUSED)
		fail_msg("not refused: %s", text);
	assert_memory_equal(error.detail, "The Content-Type", 16);
	if (!strstr(error.detail, word))
		fail_msg("%s: no \"%s\" in: %s", text, word, error.detail);
}

static void test_json(void **state)
{
	check("application/json", BODY_JSON, "application/json");
	check(" Application/JSON ", BODY_JSON, "application/json");
	check("application/json; charset=UTF-8", BODY_JSON, "application/json");
	check("application/json;Charset=\"utf-8\"", BODY_JSON, "application/json");
	check("application/json ;; charset=utf8 ;", BODY_JSON, "application/json");
	check("application/merge-patch+json", BODY_JSON, "application/merge-patch+json");
	check("image/x+JSON; v=\"2\"", BODY_JSON, "image/x+json;v=\"2\"");
	check("application/+json", BODY_OPAQUE, "application/+json");
	check("application/jsonl", BODY_OPAQUE, "application/jsonl");
	check("text/json", BODY_OPAQUE, "text/json");
	check_refused("application/json; charset=iso-8859-1", "UTF-8");
	check_refused("application/json; charset=\"\"", "UTF-8");
	check_refused("application/x+json; charset=utf-16", "UTF-8");
}

static void test_others(void **state)
{
	check("", BODY_OPAQUE, "");
	check("  ", BODY_OPAQUE, "");
	check("text/plain;charset=latin1", BODY_OPAQUE, "text/plain");
	check("text/plain; format=flowed; DelSp=yes", BODY_OPAQUE,
	      "text/plain;delsp=\"yes\";format=\"flowed\"");
	check("text/plain; delsp=\"yes\"; format=flowed", BODY_OPAQUE,
	      "text/plain;delsp=\"yes\";format=\"flowed\"");
	check("text/plain; x=\"a;b=\\\"c\"; a=1", BODY_OPAQUE,
	      "text/plain;a=\"1\";x=\"a;b=\\\"c\"");
	check("text/plain; x=YES", BODY_OPAQUE, "text/plain;x=\"YES\"");
	check("application/x-www-form-urlencoded; charset=UTF-8", BODY_FORM,
	      "application/x-www-form-urlencoded");
	check("Multipart/Form-Data; boundary=\"a b\"; z=1", BODY_MULTIPART,
	      "multipart/form-data;z=\"1\"");
	check("text/plain; boundary=x", BODY_OPAQUE, "text/plain;boundary=\"x\"");
}

static void test_malformed(void **state)
{
	static const char *const texts[] = {
		"json",
		"application",
		"application/",
		"/json",
		"application//json",
		"application /json",
		"application/json charset=utf-8",
		"application/json, application/json",
		"application/json; charset",
		"application/json; charset=",
		"application/json; charset =utf-8",
		"application/json; charset= utf-8",
		"application/json; =utf-8",
		"application/json; charset=\"utf-8",
		"application/json; charset=\"utf-8\\",
		"application/json; charset=\"utf-8\"x",
		"application/json; x=\"\x01\"",
		"application/json; x=\"\x7f\"",
		"; charset=utf-8",
		"a/b; x=/",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		check_refused(texts[i], "malformed");
	check_refused("a/b; x=1; X=1", "twice");
	check_refused("application/json; charset=utf-8; CHARSET=utf-16", "twice");
}

static void test_number_of_parameters_is_bounded(void **state)
{
	check("a/b;p=1;o=1;n=1;m=1;l=1;k=1;j=1;i=1;h=1;g=1;f=1;e=1;d=1;c=1;b=1;a=1", BODY_OPAQUE,
	      "a/b;a=\"1\";b=\"1\";c=\"1\";d=\"1\";e=\"1\";f=\"1\";g=\"1\";h=\"1\";i=\"1\";"
	      "j=\"1\";k=\"1\";l=\"1\";m=\"1\";n=\"1\";o=\"1\";p=\"1\"");
	check_refused("a/b;p=1;o=1;n=1;m=1;l=1;k=1;j=1;i=1;h=1;g=1;f=1;e=1;d=1;c=1;b=1;a=1;q=1",
		      "more than 16");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_number_of_parameters_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
