/*
 * A multipart body is its ordered parts: another boundary or another order of a part's
 * headers gives the same canonical form, any other difference another one, and sloppy text
 * that servers read differently is refused.
 */
#include "core/multipart.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define DISPOSITION "Content-Disposition: form-data; name=\"a\""
#define PART	    "--B\r\n" DISPOSITION "\r\n\r\nhello\r\n"
#define FORM(text)  STR("multipart/form-data; boundary=B"), STR(text)

/* The canonical form of `body`; refused: `out` is empty and *out_error has why. */
static int canonical(struct str type, struct str body, struct buf *out,
		     struct fingerprint_error *out_error)
{
	struct media_type media_type;

	out_error->detail[0] = '\0';
	buf_init(out, 1 << 20);
	assert_int_equal(media_type_read(type, "The Content-Type", &media_type, out_error), 0);
	return multipart_canonical(body, &media_type, out, out_error);
}

static void check(struct str type_a, struct str a, struct str type_b, struct str b, bool is_same)
{
	struct fingerprint_error error;
	struct buf left, right;

	if (canonical(type_a, a, &left, &error) != 0)
		fail_msg("%.*s is refused: %s", STR_ARG(a), error.detail);
	if (canonical(type_b, b, &right, &error) != 0)
		fail_msg("%.*s is refused: %s", STR_ARG(b), error.detail);
	if (str_equal(buf_str(&left), buf_str(&right)) != is_same)
		fail_msg("wrongly %s: %.*s | %.*s", is_same ? "different" : "the same", STR_ARG(a),
			 STR_ARG(b));
	buf_fini(&left);
	buf_fini(&right);
}

static void check_refused(struct str type, struct str body, const char *word)
{
	struct fingerprint_error error;
	struct buf out;

	if (canonical(type, body, &out, &error) != FINGERPRINT_REFUSED)
		fail_msg("not refused: %.*s", STR_ARG(body));
	if (!strstr(error.detail, word))
		fail_msg("no \"%s\" in: %s", word, error.detail);
	buf_fini(&out);
}

/* The bytes themselves, once: a change of the form changes every stored fingerprint. */
static void test_the_form_itself(void **state)
{
	static const char expected[] = "p\0\0\0\x12"
				       "form-data;name=\"a\"\0\0\0\x0a"
				       "text/plain\0\0\0\x03x-a\0\0\0\x01"
				       "1\0\0\0\0";
	struct fingerprint_error error;
	struct hash digest;
	struct buf out;

	assert_int_equal(canonical(FORM("--B\r\nX-A: 1\r\nContent-Type: Text/Plain\r\n" DISPOSITION
					"\r\n\r\nhello\r\n--B--\r\n"),
				   &out, &error),
			 0);
	hash_bytes("hello", 5, &digest);
	assert_int_equal(out.len, sizeof(expected) - 1 + HASH_SIZE + 1);
	assert_memory_equal(out.at, expected, sizeof(expected) - 1);
	assert_memory_equal(out.at + sizeof(expected) - 1, digest.bytes, HASH_SIZE);
	assert_int_equal(out.at[out.len - 1], 'e');
	buf_fini(&out);
}

static void test_what_does_not_count(void **state)
{
	struct str type = STR("multipart/form-data; boundary=B"), plain = STR(PART "--B--\r\n");

	check(type, plain, STR("multipart/form-data; boundary=\"x y'()+_,-./:=?z\""),
	      STR("--x y'()+_,-./:=?z\r\n" DISPOSITION "\r\n\r\nhello\r\n--x y'()+_,-./:=?z--\r\n"),
	      true);
	check(type, plain, type, STR(PART "--B--"), true);
	check(type, plain, type, STR("\r\n" PART "--B--"), true);
	check(type, plain,
	      FORM("--B\r\ncontent-disposition:Form-Data;NAME=a\r\n\r\nhello\r\n--B--"), true);
	check(type, plain,
	      FORM("--B\r\n" DISPOSITION
		   "\r\nContent-Transfer-Encoding: Binary\r\n\r\nhello\r\n--B--"),
	      true);
	check(FORM("--B\r\nX-A: 1\r\n" DISPOSITION "\r\nX-B: 2\r\n\r\n\r\n--B--"),
	      FORM("--B\r\nX-B: 2\r\nX-A: 1\r\n" DISPOSITION "\r\n\r\n\r\n--B--"), true);
	check(FORM("--B\r\nContent-Disposition: form-data; name=a; filename=f\r\n\r\n\r\n--B--"),
	      FORM("--B\r\nContent-Disposition: form-data; filename=f; name=a\r\n\r\n\r\n--B--"),
	      true);
}

static void test_what_counts(void **state)
{
	static const char *const others[] = {
		"--B\r\n" DISPOSITION "\r\n\r\nhellO\r\n--B--",
		"--B\r\n" DISPOSITION "\r\n\r\nhello\r\n\r\n--B--",
		"--B\r\n" DISPOSITION "\r\n\r\n\r\n--B--",
		"--B\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\nhello\r\n--B--",
		"--B\r\nContent-Disposition: form-data; name=\"A\"\r\n\r\nhello\r\n--B--",
		"--B\r\nContent-Disposition: form-data; name=\"\\a\"\r\n\r\nhello\r\n--B--",
		"--B\r\n" DISPOSITION "; filename=\"\"\r\n\r\nhello\r\n--B--",
		"--B\r\n" DISPOSITION "; filename=\"f\"\r\n\r\nhello\r\n--B--",
		"--B\r\n" DISPOSITION "; filename*=UTF-8''f\r\n\r\nhello\r\n--B--",
		"--B\r\n" DISPOSITION "\r\nContent-Type: text/plain\r\n\r\nhello\r\n--B--",
		"--B\r\n" DISPOSITION "\r\nX-A: 1\r\n\r\nhello\r\n--B--",
		"--B--",
		PART PART "--B--",
	};
	struct str type = STR("multipart/form-data; boundary=B");
	size_t count = sizeof(others) / sizeof(others[0]);

	for (size_t i = 0; i < count; i++) {
		check(type, STR(PART "--B--"), type, str_from(others[i]), false);
		for (size_t j = 0; j < i; j++)
			check(type, str_from(others[i]), type, str_from(others[j]), false);
	}
}

static void test_order_of_parts_counts(void **state)
{
	check(FORM(PART "--B\r\nContent-Disposition: form-data; name=b\r\n\r\n2\r\n--B--"),
	      FORM("--B\r\nContent-Disposition: form-data; name=b\r\n\r\n2\r\n" PART "--B--"),
	      false);
}

static void test_other_multipart_types_need_no_name(void **state)
{
	struct str type = STR("multipart/related; boundary=B");

	check(type, STR("--B\r\nContent-ID: <1>\r\n\r\nx\r\n--B--"), type,
	      STR("--B\r\ncontent-id:<1>\r\n\r\nx\r\n--B--"), true);
	check(type, STR("--B\r\nContent-ID: <1>\r\n\r\nx\r\n--B--"), type,
	      STR("--B\r\nContent-ID: <2>\r\n\r\nx\r\n--B--"), false);
	check(type, STR("--B\r\n\r\nx\r\n--B--"), type, STR("--B\r\n\r\nx\r\n--B--\r\n"), true);
	check_refused(FORM("--B\r\n\r\nx\r\n--B--"), "name");
	check_refused(FORM("--B\r\nContent-Disposition: attachment; name=a\r\n\r\nx\r\n--B--"),
		      "name");
	check_refused(FORM("--B\r\nContent-Disposition: form-data; filename=a\r\n\r\nx\r\n--B--"),
		      "name");
}

static void test_bytes_like_a_boundary_are_content(void **state)
{
	check(FORM("--B\r\n" DISPOSITION "\r\n\r\na--B-\r\nb--B--\r\n--B--"),
	      FORM("--B\r\n" DISPOSITION "\r\n\r\na--B-\r\nb--B--\r\n--B--\r\n"), true);
	check(FORM("--B\r\n" DISPOSITION "\r\n\r\n--\r\n-B\r\n\n-B\r\n--B--"),
	      FORM("--B\r\n" DISPOSITION "\r\n\r\n--\r\n-B\r\n\n-C\r\n--B--"), false);
}

static void test_sloppy_bodies(void **state)
{
	check_refused(FORM("preamble\r\n" PART "--B--"), "begin");
	check_refused(FORM("\r\n\r\n" PART "--B--"), "begin");
	check_refused(FORM(""), "begin");
	check_refused(FORM("--C\r\n"), "begin");
	check_refused(FORM(PART "--B--\r\nepilogue"), "closing");
	check_refused(FORM(PART "--B-- "), "closing");
	check_refused(FORM(PART "--B--\n"), "closing");
	check_refused(FORM(PART "--B-"), "more on its line");
	check_refused(FORM(PART "--B"), "more on its line");
	check_refused(FORM("--B \r\n" DISPOSITION "\r\n\r\nx\r\n--B--"), "more on its line");
	check_refused(FORM("--BB\r\n" DISPOSITION "\r\n\r\nx\r\n--BB--"), "more on its line");
	check_refused(FORM("--B\n" DISPOSITION "\n\nx\n--B--"), "more on its line");
	check_refused(FORM("--B\r\n" DISPOSITION "\r\n\r\nx"), "no boundary behind");
	check_refused(FORM("--B\r\n" DISPOSITION "\r\n\r\n"), "no boundary behind");
	check_refused(FORM("--B\r\n" DISPOSITION "\r\n\r\n--B--"), "does not follow CRLF");
	check_refused(FORM("--B\r\n" DISPOSITION "\r\n\r\n\n--B--"), "does not follow CRLF");
	check_refused(FORM("--B\r\n" DISPOSITION "\r\n\r\nx\n--B\r\n\r\n--B--"),
		      "does not follow CRLF");
	check_refused(FORM("--B\r\n" DISPOSITION "\r\n\r\nx\r--B--"), "does not follow CRLF");
}

static void test_sloppy_headers(void **state)
{
	check_refused(FORM("--B\r\n" DISPOSITION), "no end");
	check_refused(FORM("--B\r\n" DISPOSITION "\r\n"), "no end");
	check_refused(FORM("--B\r\nno colon\r\n\r\n\r\n--B--"), "malformed");
	check_refused(FORM("--B\r\n: x\r\n\r\n\r\n--B--"), "malformed");
	check_refused(FORM("--B\r\nX-A : x\r\n\r\n\r\n--B--"), "malformed");
	check_refused(FORM("--B\r\n" DISPOSITION ";\r\n filename=a\r\n\r\n\r\n--B--"), "malformed");
	check_refused(FORM("--B\r\nX-A: a\nb\r\n\r\n\r\n--B--"), "malformed");
	check_refused(FORM("--B\r\nX-A: a\rb\r\n\r\n\r\n--B--"), "malformed");
	check_refused(FORM("--B\r\nX-A: a\0b\r\n\r\n\r\n--B--"), "malformed");
	check_refused(FORM("--B\r\n--B: a\r\n\r\n\r\n--B--"), "malformed");
	check_refused(FORM("--B\r\n" DISPOSITION "\r\n" DISPOSITION "\r\n\r\n\r\n--B--"), "twice");
	check_refused(FORM("--B\r\nX-a: 1\r\nx-A: 1\r\n\r\n\r\n--B--"), "twice");
	check_refused(FORM("--B\r\n" DISPOSITION "; name=b\r\n\r\n\r\n--B--"), "twice");
	check_refused(FORM("--B\r\n" DISPOSITION "; x\r\n\r\n\r\n--B--"), "malformed");
	check_refused(FORM("--B\r\nContent-Disposition: ; name=a\r\n\r\n\r\n--B--"), "malformed");
	check_refused(FORM("--B\r\n" DISPOSITION "\r\nContent-Type: text\r\n\r\n\r\n--B--"),
		      "malformed");
	check_refused(FORM("--B\r\n" DISPOSITION
			   "\r\nContent-Transfer-Encoding: base64\r\n\r\naGk=\r\n--B--"),
		      "encoded");
}

static void test_boundaries(void **state)
{
	static const char ten[] = "0123456789";
	char type[160];

	check_refused(STR("multipart/form-data"), STR("--B--"), "boundary");
	check_refused(STR("multipart/form-data; boundary=\"\""), STR("----"), "boundary");
	check_refused(STR("multipart/form-data; boundary=\"a \""), STR("--a --"), "boundary");
	check_refused(STR("multipart/form-data; boundary=\"a\\b\""), STR("--ab--"), "boundary");
	check_refused(STR("multipart/form-data; boundary=a*"), STR("--a*--"), "boundary");
	snprintf(type, sizeof(type), "multipart/form-data; boundary=%s%s%s%s%s%s%s", ten, ten, ten,
		 ten, ten, ten, ten);
	check(str_from(type),
	      STR("--0123456789012345678901234567890123456789012345678901234567890123456789--"),
	      FORM("--B--"), true);
	snprintf(type, sizeof(type), "multipart/form-data; boundary=%s%s%s%s%s%s%s0", ten, ten, ten,
		 ten, ten, ten, ten);
	check_refused(str_from(type), STR("--0--"), "boundary");
}

static void test_bounds(void **state)
{
	struct fingerprint_error error;
	struct buf body, out;

	buf_init(&body, 1 << 20);
	for (int i = 0; i < MULTIPART_PARTS_MAX; i++)
		buf_append_str(&body, STR(PART));
	buf_append_str(&body, STR("--B--"));
	assert_int_equal(
		canonical(STR("multipart/form-data; boundary=B"), buf_str(&body), &out, &error), 0);
	buf_fini(&out);
	body.len -= 5;
	buf_append_str(&body, STR(PART "--B--"));
	check_refused(STR("multipart/form-data; boundary=B"), buf_str(&body), "more than 1000");
	buf_clear(&body);
	buf_append_str(&body, STR("--B\r\n"));
	for (int i = 0; i <= MULTIPART_HEADERS_MAX; i++)
		buf_printf(&body, "X-%d: 1\r\n", i);
	check_refused(STR("multipart/form-data; boundary=B"), buf_str(&body), "more than 16");
	buf_fini(&body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_form_itself),
		cmocka_unit_test(test_what_does_not_count),
		cmocka_unit_test(test_what_counts),
		cmocka_unit_test(test_order_of_parts_counts),
		cmocka_unit_test(test_other_multipart_types_need_no_name),
		cmocka_unit_test(test_bytes_like_a_boundary_are_content),
		cmocka_unit_test(test_sloppy_bodies),
		cmocka_unit_test(test_sloppy_headers),
		cmocka_unit_test(test_boundaries),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
