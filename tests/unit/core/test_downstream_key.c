/*
 * The downstream key is that of the operation, and goes into a body without moving a byte of it.
 */
#include "core/downstream_key.h"

#include "base/err.h"
#include "json/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MEMORY_MAX = 1 << 20, ROUNDS = 2000 };

static const char key[] = "abcdefghijklmnopqrstuvwxyz234567";

/* Computed by another program: base32 of the first 20 bytes of SHA-256 over tag, NUL and id. */
static void test_key(void **state)
{
	static const struct {
		struct operation_id id;
		const char *key;
	} cases[] = {
		{{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
		 "g7kviostfkaeimxw2yeeny6jtaqh6k5s"},
		{{{0}}, "fehvkcdpqx4ywj2fai3lnyc4jdmrh4yo"},
		{{{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}},
		 "7f7lxibedcqya6ioo7ssd4n6g5jsycrp"},
	};
	char out[DOWNSTREAM_KEY_TEXT + 1];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		downstream_key_write(&cases[i].id, out);
		assert_string_equal(out, cases[i].key);
	}
}

static void check_splice(const char *body, const char *field, const char *expected)
{
	struct buf out;
	int r;

	buf_init(&out, 1 << 10);
	r = downstream_key_splice(str_from(body), str_from(field), key, &out);
	if (!expected) {
		if (r != DOWNSTREAM_KEY_NO_PLACE || out.len)
			fail_msg("%s: %d", body, r);
	} else if (r != 0 || !str_equal(buf_str(&out), str_from(expected))) {
		fail_msg("%s: %d: %.*s", body, r, STR_ARG(buf_str(&out)));
	}
	buf_fini(&out);
}

static void test_splice(void **state)
{
	check_splice("{}", "k", "{\"k\":\"abcdefghijklmnopqrstuvwxyz234567\"}");
	check_splice(" \n{ }\t", "k", " \n{\"k\":\"abcdefghijklmnopqrstuvwxyz234567\" }\t");
	check_splice("{\"a\":{\"k\":1}, \"b\" : 1.0}", "k",
		     "{\"k\":\"abcdefghijklmnopqrstuvwxyz234567\",\"a\":{\"k\":1}, \"b\" : 1.0}");
	check_splice("{\"{\":[]}", "a\"b",
		     "{\"a\\\"b\":\"abcdefghijklmnopqrstuvwxyz234567\",\"{\":[]}");
}

static void test_no_place(void **state)
{
	check_splice("", "k", NULL);
	check_splice("[]", "k", NULL);
	check_splice("[{}]", "k", NULL);
	check_splice("\"{\"", "k", NULL);
	check_splice("{\"a\":1", "k", NULL);
	check_splice("{\"k\":1}", "k", NULL);
	check_splice("{\"a\":1,\"\\u006b\":null}", "k", NULL);
	check_splice("{\"K\":1}", "k", "{\"k\":\"abcdefghijklmnopqrstuvwxyz234567\",\"K\":1}");
}

static void test_limits(void **state)
{
	struct buf out;

	buf_init(&out, 10);
	assert_int_equal(downstream_key_splice(STR("{}"), STR("k"), key, &out), FAIL_LIMIT);
	buf_fini(&out);
}

/* An object of a few members, with white space in it and strings that hold braces. */
static void make_body(struct buf *out, unsigned *seed)
{
	static const char *const blanks[] = {"", " ", "\n", "\t "};
	static const char *const values[] = {"1.50", "\"}{,\\\"\"", "[{\"key\":1}]", "{ }", "null"};
	int count = rand_r(seed) % 4;

	(void)buf_printf(out, "%s{%s", blanks[rand_r(seed) % 4], blanks[rand_r(seed) % 4]);
	for (int i = 0; i < count; i++)
		(void)buf_printf(out, "%s\"m%d\"%s:%s", i ? "," : "", i, blanks[rand_r(seed) % 4],
				 values[rand_r(seed) % 5]);
	(void)buf_printf(out, "%s}%s", blanks[rand_r(seed) % 4], blanks[rand_r(seed) % 4]);
}

/* Take out what was put in: everything else is the body. And it reads as one member more. */
static void check_spliced(struct str body, struct str spliced)
{
	static const char member[] = "\"key\":\"abcdefghijklmnopqrstuvwxyz234567\"";
	size_t at = str_find(body, '{') + 1, len = strlen(member);
	struct json_value *before, *after, *value;
	struct json_error error;
	struct arena mem;

	arena_init(&mem, MEMORY_MAX);
	assert_int_equal(json_read(body, &json_limits_default, &mem, &before, &error), 0);
	assert_int_equal(json_read(spliced, &json_limits_default, &mem, &after, &error), 0);
	assert_int_equal(after->object.count, before->object.count + 1);
	value = json_member(after, STR("key"));
	assert_true(value && str_equal(value->string, str_from(key)));
	assert_memory_equal(spliced.at, body.at, at);
	assert_memory_equal(spliced.at + at, member, len);
	at += len + (before->object.count ? 1 : 0);
	assert_true(str_equal(str_from_index(spliced, at),
			      str_from_index(body, str_find(body, '{') + 1)));
	arena_fini(&mem);
}

static void test_every_other_byte_stays(void **state)
{
	struct buf body, spliced;
	unsigned seed = 1;

	buf_init(&body, MEMORY_MAX);
	buf_init(&spliced, MEMORY_MAX);
	for (int i = 0; i < ROUNDS; i++) {
		buf_clear(&body);
		buf_clear(&spliced);
		make_body(&body, &seed);
		assert_int_equal(downstream_key_splice(buf_str(&body), STR("key"), key, &spliced),
				 0);
		check_spliced(buf_str(&body), buf_str(&spliced));
	}
	buf_fini(&body);
	buf_fini(&spliced);
}

static void check_place(const struct rule_downstream_key *rule, const char *expected)
{
	struct rule_downstream_key kept = {.header = STR("x"), .field = STR("y")};
	struct str place;
	struct arena mem;

	arena_init(&mem, MEMORY_MAX);
	assert_int_equal(downstream_key_place(rule, STR("https://a.test"), &mem, &place), 0);
	assert_true(str_equal(place, str_from(expected)));
	assert_true(downstream_key_is_at(rule, STR("https://a.test"), place));
	assert_int_equal(downstream_key_is_at(rule, STR("https://b.test"), place), false);
	downstream_key_put_at(&kept, place);
	assert_true(str_equal(kept.header, rule->header));
	assert_true(str_equal(kept.field, rule->field));
	arena_fini(&mem);
}

static bool is_at(const struct rule_downstream_key *rule, const char *place)
{
	return downstream_key_is_at(rule, STR("https://a.test"), str_from(place));
}

/* A place is told apart from every other, also of another service, and headers have the same name
 * in any case. */
static void test_places(void **state)
{
	const struct rule_downstream_key header = {.header = STR("X-Key")};
	const struct rule_downstream_key field = {.field = STR("X Key")}, none = {0};

	check_place(&header, "header X-Key https://a.test");
	check_place(&field, "field X Key https://a.test");
	check_place(&none, "none https://a.test");
	assert_true(is_at(&header, "header x-key https://a.test"));
	assert_false(is_at(&header, "header X-Key"));
	assert_false(is_at(&field, "field x key https://a.test"));
	assert_false(is_at(&header, "field X-Key https://a.test"));
	assert_false(is_at(&header, "header X-Keys https://a.test"));
	assert_false(is_at(&header, ""));
	assert_false(is_at(&none, "header X-Key https://a.test"));
	assert_false(is_at(&header, "none https://a.test"));
}

static void test_services(void **state)
{
	assert_true(downstream_key_is_for(STR("none https://a.test"), STR("https://a.test")));
	assert_true(downstream_key_is_for(STR("field a b https://a.test"), STR("https://a.test")));
	assert_false(downstream_key_is_for(STR("none https://a.test"), STR("https://b.test")));
	assert_false(downstream_key_is_for(STR(""), STR("https://a.test")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_key),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_services),
		cmocka_unit_test(test_splice),
		cmocka_unit_test(test_no_place),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_every_other_byte_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
