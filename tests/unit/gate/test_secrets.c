/* Shows that secrets are found by name, change at once, and that each change has a version. */
#include "gate_test.h"

#include "gate/secrets.h"

#include <sodium.h>

static void assert_secret(struct secrets *secrets, const char *name, const char *expected)
{
	uint64_t version = 0;
	struct buf out;

	buf_init(&out, 4096);
	assert_int_equal(secrets_read(secrets, str_from(name), &out, &version),
			 expected ? 0 : SECRETS_ABSENT);
	assert_text(buf_str(&out), str_from(expected ? expected : ""));
	assert_int_equal(version, secrets_version(secrets, str_from(name)));
	assert_true((version != 0) == (expected != NULL));
	buf_fini(&out);
}

static void test_put_and_drop(void **state)
{
	struct secrets *secrets;
	uint64_t first;

	assert_int_equal(secrets_new(&secrets), 0);
	assert_secret(secrets, "a", NULL);
	assert_int_equal(secrets_put(secrets, STR("a"), STR("one"), 7), 0);
	assert_int_equal(secrets_put(secrets, STR("b"), STR("two"), 7), 0);
	assert_secret(secrets, "a", "one");
	first = secrets_version(secrets, STR("a"));
	assert_int_equal(secrets_put(secrets, STR("a"), STR("three"), 7), 0);
	assert_secret(secrets, "a", "three");
	assert_true(secrets_version(secrets, STR("a")) > first);
	secrets_drop(secrets, STR("a"));
	secrets_drop(secrets, STR("a"));
	assert_secret(secrets, "a", NULL);
	assert_secret(secrets, "b", "two");
	secrets_free(secrets);
}

static void test_list(void **state)
{
	struct secrets *secrets;
	struct secret_note *notes;
	struct arena mem;
	size_t count;

	arena_init(&mem, 4096);
	assert_int_equal(secrets_new(&secrets), 0);
	assert_int_equal(secrets_list(secrets, &mem, &notes, &count), 0);
	assert_int_equal(count, 0);
	assert_int_equal(secrets_put(secrets, STR("b"), STR("two"), 2), 0);
	assert_int_equal(secrets_put(secrets, STR("a"), STR("one"), 1), 0);
	assert_int_equal(secrets_list(secrets, &mem, &notes, &count), 0);
	assert_int_equal(count, 2);
	assert_text(notes[0].name, STR("a"));
	assert_int_equal(notes[0].updated_ms, 1);
	assert_text(notes[1].name, STR("b"));
	secrets_free(secrets);
	arena_fini(&mem);
}

static void test_many(void **state)
{
	struct secrets *secrets;
	char name[32];

	assert_int_equal(secrets_new(&secrets), 0);
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "name%d", i);
		assert_int_equal(secrets_put(secrets, str_from(name), str_from(name), 7), 0);
	}
	for (int i = 0; i < 300; i += 7) {
		snprintf(name, sizeof(name), "name%d", i);
		assert_secret(secrets, name, name);
		secrets_drop(secrets, str_from(name));
		assert_secret(secrets, name, NULL);
	}
	assert_secret(secrets, "name299", "name299");
	secrets_free(secrets);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_put_and_drop),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_many),
	};

	assert_true(sodium_init() >= 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
