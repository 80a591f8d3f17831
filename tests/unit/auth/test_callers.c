/* Shows who a key is, that one that has been revoked or is over opens nothing, and what is known of
 * it then. */
#include "auth_test.h"

#include "auth/callers.h"

struct desk {
	struct callers *callers;
	struct arena mem;
	char text[KEY_TEXT + 1], id[KEY_ID_TEXT + 1];
	struct key_record record;
	struct caller caller;
};

static struct str patterns[] = {{"tickets.*", 9}};

static void issue(struct desk *desk)
{
	key_make(&env_machine, desk->text, desk->id);
	desk->record = (struct key_record){
		.id = str_from(desk->id),
		.account = STR("acme"),
		.agent = STR("bot"),
		.label = STR(""),
		.role = ROLE_AGENT,
		.actions = patterns,
		.action_count = 1,
		.created_ms = 100,
		.expires_ms = 1000,
		.created_by = STR("admin-token"),
		.revoked_by = STR(""),
		.revoked_why = STR(""),
	};
	key_digest(str_from(desk->text), &desk->record.digest);
	assert_int_equal(callers_put(desk->callers, &desk->record), 0);
}

static int set_up(void **state)
{
	struct desk *desk = calloc(1, sizeof(*desk));

	arena_init(&desk->mem, 1 << 20);
	assert_int_equal(callers_new(&desk->callers), 0);
	issue(desk);
	*state = desk;
	return 0;
}

static int tear_down(void **state)
{
	struct desk *desk = *state;

	callers_free(desk->callers);
	arena_fini(&desk->mem);
	free(desk);
	return 0;
}

static int find(struct desk *desk, int64_t now_ms)
{
	return callers_find(desk->callers, str_from(desk->text), now_ms, &desk->mem, &desk->caller);
}

static void a_key_is_somebody(void **state)
{
	struct desk *desk = *state;

	assert_int_equal(find(desk, 999), 0);
	assert_true(str_equal(desk->caller.account, STR("acme")));
	assert_true(str_equal(desk->caller.agent, STR("bot")));
	assert_true(str_equal(desk->caller.credential, str_from(desk->id)));
	assert_int_equal(desk->caller.role, ROLE_AGENT);
	assert_true(caller_may_call(&desk->caller, STR("tickets.create")));
	assert_false(caller_may_call(&desk->caller, STR("payments.create")));
}

static void a_key_is_the_same_by_its_id(void **state)
{
	struct desk *desk = *state;
	struct str id = str_from(desk->id);

	assert_int_equal(callers_find_id(desk->callers, id, 999, &desk->mem, &desk->caller), 0);
	assert_true(str_equal(desk->caller.agent, STR("bot")));
	assert_int_equal(callers_find_id(desk->callers, id, 1000, &desk->mem, &desk->caller),
			 CALLERS_EXPIRED);
	assert_int_equal(callers_find_id(desk->callers, STR("key_0"), 1, &desk->mem, &desk->caller),
			 CALLERS_UNKNOWN);
}

static void another_text_is_nobody(void **state)
{
	struct desk *desk = *state;

	for (size_t i = 0; i < KEY_TEXT; i++) {
		desk->text[i] ^= 1;
		assert_int_equal(find(desk, 1), CALLERS_UNKNOWN);
		desk->text[i] ^= 1;
	}
	assert_int_equal(callers_find(desk->callers, STR(""), 1, &desk->mem, &desk->caller),
			 CALLERS_UNKNOWN);
	assert_int_equal(find(desk, 1), 0);
}

static void a_key_is_over_at_its_time(void **state)
{
	struct desk *desk = *state;

	assert_int_equal(find(desk, 1000), CALLERS_EXPIRED);
	assert_true(callers_holds(desk->callers, str_from(desk->id), 999));
	assert_false(callers_holds(desk->callers, str_from(desk->id), 1000));
	desk->record.expires_ms = 0;
	assert_int_equal(callers_put(desk->callers, &desk->record), 0);
	assert_int_equal(find(desk, INT64_MAX), 0);
}

static void a_revoked_key_opens_nothing_and_is_known(void **state)
{
	struct desk *desk = *state;
	struct key_record record;
	int64_t used_ms;

	assert_int_equal(find(desk, 500), 0);
	desk->record.revoked_ms = 600;
	assert_int_equal(callers_put(desk->callers, &desk->record), 0);
	assert_int_equal(find(desk, 700), CALLERS_UNKNOWN);
	assert_false(callers_holds(desk->callers, str_from(desk->id), 700));
	assert_int_equal(
		callers_record(desk->callers, str_from(desk->id), &desk->mem, &record, &used_ms),
		0);
	assert_int_equal(record.revoked_ms, 600);
	assert_int_equal(used_ms, 500);
}

static void what_is_dropped_is_gone(void **state)
{
	struct desk *desk = *state;
	struct key_record record;
	int64_t used_ms;

	callers_drop(desk->callers, str_from(desk->id));
	callers_drop(desk->callers, str_from(desk->id));
	assert_int_equal(find(desk, 1), CALLERS_UNKNOWN);
	assert_int_equal(
		callers_record(desk->callers, str_from(desk->id), &desk->mem, &record, &used_ms),
		CALLERS_UNKNOWN);
}

static void only_good_use_counts_and_forwards(void **state)
{
	struct desk *desk = *state;
	struct callers_use *uses;
	size_t count;

	assert_int_equal(find(desk, 1000), CALLERS_EXPIRED);
	assert_int_equal(callers_list(desk->callers, &desk->mem, &uses, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(uses[0].used_ms, 0);
	callers_set_use(desk->callers, str_from(desk->id), 300);
	callers_set_use(desk->callers, str_from(desk->id), 200);
	callers_set_use(desk->callers, STR("key_0000000000000000"), 900);
	assert_int_equal(callers_list(desk->callers, &desk->mem, &uses, &count), 0);
	assert_int_equal(uses[0].used_ms, 300);
}

static void keys_are_listed_as_they_were_made(void **state)
{
	struct desk *desk = *state;
	char ids[2000][KEY_ID_TEXT + 1];
	struct callers_use *uses;
	size_t count;

	memcpy(ids[0], desk->id, sizeof(desk->id));
	for (size_t i = 1; i < 2000; i++) {
		issue(desk);
		memcpy(ids[i], desk->id, sizeof(desk->id));
	}
	assert_int_equal(find(desk, 1), 0);
	assert_int_equal(callers_list(desk->callers, &desk->mem, &uses, &count), 0);
	assert_int_equal(count, 2000);
	for (size_t i = 0; i < count; i++)
		assert_true(str_equal(uses[i].id, str_from(ids[i])));
}

/* A caller's memory may end anywhere: then it is nobody, and the table is as it was. */
static void without_memory_nobody_is_let_in(void **state)
{
	struct desk *desk = *state;
	struct arena little;

	arena_init(&little, 8);
	assert_int_equal(
		callers_find(desk->callers, str_from(desk->text), 1, &little, &desk->caller),
		FAIL_MEMORY);
	arena_fini(&little);
	assert_int_equal(find(desk, 1), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_key_is_somebody),
		TEST(a_key_is_the_same_by_its_id),
		TEST(another_text_is_nobody),
		TEST(a_key_is_over_at_its_time),
		TEST(a_revoked_key_opens_nothing_and_is_known),
		TEST(what_is_dropped_is_gone),
		TEST(only_good_use_counts_and_forwards),
		TEST(keys_are_listed_as_they_were_made),
		TEST(without_memory_nobody_is_let_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
