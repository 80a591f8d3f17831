/*
 * An event is genuine with a signature by an accepted secret and a time that is near. The first
 * signature is the example that Standard Webhooks publishes; all were computed by another program.
 */
#include "core/webhook.h"

#include "base/err.h"
#undef fail /* cmocka has one too */

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SIGNED	     "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
#define SIGNED_OTHER "v1,oh6pkfDZDmUbjBEKHfD4LC5vDSN9m4N+T5iuQwvXJwQ="
#define SIGNED_EMPTY "v1,v48jdbgvh29KJz2Qc+ghw8G6vG3nAKnujWBg8oM/62A="

enum { MEMORY_MAX = 1 << 12 };

static const int64_t at_ms = INT64_C(1614265330) * 1000;

static struct str secrets[] = {
	{"\x31\xf2\x90\xf6\xbf\x06\x29\x8a\xab\x4f\x08\xd4\x3c\x3f\x08\x2c\xf6\x48\xa3\x62\xda\x2d"
	 "\xa4\xb0",
	 24},
	{"0123456789abcdef-other", 22},
};

static const struct rule_inbox inbox = {
	.is_declared = true, .secrets = secrets, .secret_count = 2, .tolerance_ms = 300000};

static struct webhook example(void)
{
	return (struct webhook){
		.id = STR("msg_p5jXN8AQM9LWM0D4loKWxJek"),
		.timestamp = STR("1614265330"),
		.signature = STR(SIGNED),
		.body = STR("{\"test\": 2432232314}"),
	};
}

static void check(const struct webhook *webhook, int64_t now_ms, bool is_genuine)
{
	const char *why = NULL;

	if (webhook_is_genuine(&inbox, webhook, now_ms, &why) != is_genuine)
		fail_msg("%.*s: %s", STR_ARG(webhook->signature), why ? why : "taken");
	if (!is_genuine)
		assert_true(why && strlen(why) > 0);
}

static void check_signature(const char *signature, bool is_genuine)
{
	struct webhook webhook = example();

	webhook.signature = str_from(signature);
	check(&webhook, at_ms, is_genuine);
}

static void test_signatures(void **state)
{
	check_signature(SIGNED, true);
	check_signature(SIGNED_OTHER, true);
	check_signature("v1a,xyz " SIGNED, true);
	check_signature(SIGNED " " SIGNED_EMPTY, true);
	check_signature(SIGNED_EMPTY, false);
	check_signature("", false);
	check_signature(" ", false);
	check_signature("v1,", false);
	check_signature("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE", false);
	check_signature("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=x", false);
	check_signature("v1,G0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", false);
	check_signature("g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", false);
	check_signature("v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", false);
	check_signature("v1,g0hM9SsE-OTPJTGt_tmIKtSyZlE3uFJELVlNIOLJ1OE=", false);
}

/* Whatever is changed of what was signed, one byte is enough. */
static void test_all_of_it_is_signed(void **state)
{
	struct webhook webhook = example();

	webhook.id = STR("msg_p5jXN8AQM9LWM0D4loKWxJeK");
	check(&webhook, at_ms, false);
	webhook = example();
	webhook.timestamp = STR("1614265331");
	check(&webhook, at_ms, false);
	webhook = example();
	webhook.timestamp = STR("01614265330");
	check(&webhook, at_ms, false);
	webhook = example();
	webhook.body = STR("{\"test\": 2432232315}");
	check(&webhook, at_ms, false);
	webhook.body = STR("{\"test\": 2432232314} ");
	check(&webhook, at_ms, false);
}

static void test_an_empty_body_is_signed_too(void **state)
{
	struct webhook webhook = example();

	webhook.body = str_of(NULL, 0);
	webhook.signature = STR(SIGNED_EMPTY);
	check(&webhook, at_ms, true);
}

static void test_headers_are_needed(void **state)
{
	struct webhook webhook = example();

	webhook.id = str_of(NULL, 0);
	check(&webhook, at_ms, false);
	webhook = example();
	webhook.timestamp = str_of(NULL, 0);
	check(&webhook, at_ms, false);
}

static void test_times(void **state)
{
	struct webhook webhook = example();

	check(&webhook, at_ms + 300000, true);
	check(&webhook, at_ms + 300001, false);
	check(&webhook, at_ms - 300000, true);
	check(&webhook, at_ms - 300001, false);
	check(&webhook, 0, false);
}

static void check_timestamp(const char *timestamp)
{
	struct webhook webhook = example();

	webhook.timestamp = str_from(timestamp);
	check(&webhook, at_ms, false);
}

static void test_malformed_times(void **state)
{
	check_timestamp("-1");
	check_timestamp("1614265330.0");
	check_timestamp(" 1614265330");
	check_timestamp("9223372036854775807");
	check_timestamp("18446744073709551616");
	check_timestamp("now");
}

static void test_secrets_are_alone(void **state)
{
	struct rule_inbox one = inbox;
	const struct webhook webhook = example();
	const char *why;

	one.secrets = secrets + 1;
	one.secret_count = 1;
	assert_false(webhook_is_genuine(&one, &webhook, at_ms, &why));
	one.secret_count = 0;
	assert_true(webhook_is_genuine(&one, &(struct webhook){.id = STR("x")}, 0, &why));
}

static void check_secret(const char *text, const char *key)
{
	struct str read = str_of(NULL, 0);
	struct arena mem;

	arena_init(&mem, MEMORY_MAX);
	if (webhook_secret_read(str_from(text), &mem, &read) != (key != NULL) ||
	    !str_equal(read, str_from(key)))
		fail_msg("%s: %zu bytes", text, read.len);
	arena_fini(&mem);
}

static void test_reading_secrets(void **state)
{
	check_secret("whsec_MDEyMzQ1Njc4OWFiY2RlZg==", "0123456789abcdef");
	check_secret("whsec_MDEyMzQ1Njc4OWFiY2RlZg", "0123456789abcdef");
	check_secret("whsec_MDEyMzQ1Njc4OWFiY2RlZmc=", "0123456789abcdefg");
	check_secret("whsec_MDEyMzQ1Njc4OWFiY2Rl", NULL); /* 15 bytes */
	check_secret("whsec_MDEyMzQ1Njc4OWFiY2RlZg=", NULL);
	check_secret("whsec_MDEyMzQ1Njc4OWFiY2RlZg===", NULL);
	check_secret("whsec_MDEyMzQ1Njc4OWFi Y2RlZg==", NULL);
	check_secret("whsec_", NULL);
	check_secret("0123456789abcdef", "0123456789abcdef");
	check_secret("0123456789abcde", NULL);
	check_secret("", NULL);
}

static void test_memory(void **state)
{
	struct str key;
	struct arena mem;

	arena_init(&mem, 0);
	assert_false(webhook_secret_read(STR("whsec_MDEyMzQ1Njc4OWFiY2RlZg=="), &mem, &key));
	assert_false(webhook_secret_read(STR("0123456789abcdef"), &mem, &key));
	arena_fini(&mem);
}

/* What goes out carries one signature for each secret, in their order. */
static void test_signing(void **state)
{
	const struct webhook webhook = example();
	struct buf out;

	buf_init(&out, 1024);
	webhook_signatures(secrets, 2, &webhook, &out);
	assert_false(out.is_spoiled);
	assert_true(str_equal(buf_str(&out), STR(SIGNED " " SIGNED_OTHER)));
	buf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signatures),
		cmocka_unit_test(test_all_of_it_is_signed),
		cmocka_unit_test(test_an_empty_body_is_signed_too),
		cmocka_unit_test(test_headers_are_needed),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_malformed_times),
		cmocka_unit_test(test_secrets_are_alone),
		cmocka_unit_test(test_reading_secrets),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_signing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
