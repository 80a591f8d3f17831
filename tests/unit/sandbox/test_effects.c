/* Effects are counted by kind and by key; keys are bounded, counts by kind are not. */
#include "sandbox/effects.h"

#include "sandbox_test.h"

#include <stdio.h>

static struct effects effects;

static void expect(struct str only, const char *text)
{
	struct json_writer writer;
	struct buf out;

	buf_init(&out, 1024 * 1024);
	json_writer_init(&writer, &out);
	effects_write(&effects, only, &writer);
	buf_append_byte(&out, '\0');
	assert_string_equal(out.at, text);
	buf_fini(&out);
}

static void each_key_has_its_count(void **state)
{
	effects_init(&effects);
	effects_add(&effects, KIND_TICKET, STR("a"));
	effects_add(&effects, KIND_TICKET, STR("a"));
	effects_add(&effects, KIND_ORDER, STR("b"));
	effects_add(&effects, KIND_REFUND, STR(""));
	expect(STR(""), "{\"kinds\":{\"tickets\":2,\"payments\":0,\"refunds\":1,\"deployments\":0,"
			"\"orders\":1,\"hooks\":0},\"total\":4,\"keys\":{\"a\":2,\"b\":1},\"keys_"
			"forgotten\":0,"
			"\"resent\":0}");
	expect(STR("b"), "{\"kinds\":{\"tickets\":2,\"payments\":0,\"refunds\":1,\"deployments\":0,"
			 "\"orders\":1,\"hooks\":0},\"total\":4,\"keys\":{\"b\":1},\"keys_"
			 "forgotten\":0,\"resent\":0}");
	effects_fini(&effects);
}

static void the_oldest_keys_are_forgotten(void **state)
{
	effects_init(&effects);
	for (int i = 0; i < EFFECT_KEYS_MAX + 5; i++) {
		char key[32];
		int len = snprintf(key, sizeof(key), "key-%d", i);

		assert_int_equal(effects_add(&effects, KIND_TICKET, str_of(key, (size_t)len)), 0);
	}
	assert_int_equal(effects.key_count, EFFECT_KEYS_MAX);
	assert_int_equal(effects.keys_forgotten, 5);
	assert_int_equal(effects.of_kind[KIND_TICKET], EFFECT_KEYS_MAX + 5);
	expect(STR("key-4"),
	       "{\"kinds\":{\"tickets\":10005,\"payments\":0,\"refunds\":0,"
	       "\"deployments\":0,\"orders\":0,\"hooks\":0},\"total\":10005,\"keys\":{},"
	       "\"keys_forgotten\":5,\"resent\":0}");
	expect(STR("key-5"),
	       "{\"kinds\":{\"tickets\":10005,\"payments\":0,\"refunds\":0,"
	       "\"deployments\":0,\"orders\":0,\"hooks\":0},\"total\":10005,\"keys\":{\"key-5\":1},"
	       "\"keys_forgotten\":5,\"resent\":0}");
	effects_fini(&effects);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_key_has_its_count),
		cmocka_unit_test(the_oldest_keys_are_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
