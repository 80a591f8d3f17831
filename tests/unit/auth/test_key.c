/* Shows how keys look, that two are two, and that a record is read back whole or not at all. */
#include "auth_test.h"

#include "auth/key.h"

static void keys_have_their_form(void **state)
{
	char text[KEY_TEXT + 1], id[KEY_ID_TEXT + 1];

	key_make(&env_machine, text, id);
	assert_int_equal(strlen(text), KEY_TEXT);
	assert_int_equal(strlen(id), KEY_ID_TEXT);
	assert_true(key_is_whole(str_from(text)));
	assert_true(key_is_meant(str_from(text)));
	assert_true(key_id_is_whole(str_from(id)));
	assert_false(key_is_whole(str_from(id)));
	assert_false(key_id_is_whole(str_from(text)));
}

static void two_keys_are_two(void **state)
{
	char text[2][KEY_TEXT + 1], id[2][KEY_ID_TEXT + 1];
	struct hash digest[2];

	for (int i = 0; i < 2; i++) {
		key_make(&env_machine, text[i], id[i]);
		key_digest(str_from(text[i]), &digest[i]);
	}
	assert_string_not_equal(text[0], text[1]);
	assert_string_not_equal(id[0], id[1]);
	assert_false(hash_equal(&digest[0], &digest[1]));
}

static void what_is_no_key_is_told(void **state)
{
	static const char *const texts[] = {
		"",
		"cfk_",
		"cfk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
		"cfk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
		"cfk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
		"cfk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA+",
		"CFK_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(key_is_whole(str_from(texts[i])));
	assert_true(key_is_whole(STR("cfk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA_")));
}

static const struct key_record *example(void)
{
	static struct str actions[] = {{"tickets.*", 9}, {"payments.create", 15}};
	static struct key_record record = {
		.account = {"acme", 4},
		.agent = {"bot \"7\"", 7},
		.label = {"night shift", 11},
		.role = ROLE_APPROVER,
		.actions = actions,
		.action_count = 2,
		.created_ms = 1000,
		.expires_ms = 2000,
		.created_by = {"admin-token", 11},
		.revoked_ms = 1500,
		.revoked_by = {"key_0", 5},
		.revoked_why = {"lost", 4},
	};

	record.id = STR("key_0123456789ABCDEF");
	memset(record.digest.bytes, 0xa5, HASH_SIZE);
	return &record;
}

static void a_record_is_read_back(void **state)
{
	const struct key_record *record = example();
	struct key_record again;
	struct arena mem;
	struct buf text;

	arena_init(&mem, 64 * 1024);
	buf_init(&text, KEY_RECORD_MAX);
	key_record_write(record, &text);
	assert_int_equal(key_record_read(record->id, buf_str(&text), &mem, &again), 0);
	assert_true(str_equal(again.id, record->id));
	assert_true(hash_equal(&again.digest, &record->digest));
	assert_true(str_equal(again.account, record->account));
	assert_true(str_equal(again.agent, record->agent));
	assert_true(str_equal(again.label, record->label));
	assert_int_equal(again.role, ROLE_APPROVER);
	assert_false(again.has_all_accounts);
	assert_int_equal(again.action_count, 2);
	assert_true(str_equal(again.actions[1], STR("payments.create")));
	assert_int_equal(again.created_ms, 1000);
	assert_int_equal(again.expires_ms, 2000);
	assert_int_equal(again.revoked_ms, 1500);
	assert_true(str_equal(again.revoked_why, STR("lost")));
	buf_fini(&text);
	arena_fini(&mem);
}

/* Its member left out, or changed, each record is none: no limit of a key is ever forgotten. */
static void a_record_that_lacks_something_is_none(void **state)
{
	static const char *const names[] = {"digest",  "account",    "role",	   "all_accounts",
					    "actions", "created_ms", "expires_ms", "revoked_ms"};
	const struct key_record *record = example();
	struct key_record again;
	struct arena mem;
	struct buf text;

	arena_init(&mem, 256 * 1024);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *at;

		buf_init(&text, KEY_RECORD_MAX);
		key_record_write(record, &text);
		buf_append_byte(&text, '\0');
		at = strstr(text.at, names[i]);
		assert_non_null(at);
		at[0] = 'x';
		assert_int_equal(
			key_record_read(record->id, str_of(text.at, text.len - 1), &mem, &again),
			FAIL_CONFIG);
		buf_fini(&text);
	}
	assert_int_equal(key_record_read(record->id, STR("{"), &mem, &again), FAIL_CONFIG);
	assert_int_equal(key_record_read(record->id, STR("[]"), &mem, &again), FAIL_CONFIG);
	arena_fini(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_have_their_form),
		cmocka_unit_test(two_keys_are_two),
		cmocka_unit_test(what_is_no_key_is_told),
		cmocka_unit_test(a_record_is_read_back),
		cmocka_unit_test(a_record_that_lacks_something_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
