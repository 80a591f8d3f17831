/* What an answer means, and whether a retry was told the first answer. */
#include "drill/judge.h"

#include "drill_test.h"

static struct arena mem;

static int setup(void **state)
{
	arena_init(&mem, TEST_MEMORY_MAX);
	return 0;
}

static int teardown(void **state)
{
	arena_fini(&mem);
	return 0;
}

static void test_statuses(void **state)
{
	static const struct {
		int status;
		enum judged judged;
	} rows[] = {
		{0, JUDGED_NOTHING},   {200, JUDGED_SUCCESS}, {201, JUDGED_SUCCESS},
		{204, JUDGED_SUCCESS}, {301, JUDGED_REFUSED}, {400, JUDGED_REFUSED},
		{409, JUDGED_UNKNOWN}, {410, JUDGED_REFUSED}, {422, JUDGED_REFUSED},
		{425, JUDGED_AGAIN},   {429, JUDGED_AGAIN},   {500, JUDGED_AGAIN},
		{503, JUDGED_AGAIN},   {504, JUDGED_UNKNOWN},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct target_answer answer = answer_of(rows[i].status, "");

		if (judge(&answer) != rows[i].judged)
			fail_msg("%d is judged %d", rows[i].status, judge(&answer));
	}
}

static void test_ids(void **state)
{
	const struct target_answer text = answer_of(201, "{\"data\":{\"id\":\"t/1\"}}");
	const struct target_answer number = answer_of(201, "{\"id\":12}");
	const struct target_answer nothing = answer_of(201, "{\"id\":null}");
	const struct target_answer broken = answer_of(201, "{\"id\":");

	assert_str(judge_id(&text, STR("/data/id"), &mem), "t/1");
	assert_str(judge_id(&number, STR("/id"), &mem), "12");
	assert_str(judge_id(&nothing, STR("/id"), &mem), "");
	assert_str(judge_id(&broken, STR("/id"), &mem), "");
	assert_str(judge_id(&text, STR("/id"), &mem), "");
}

/* `word`: what the difference speaks of; NULL: there is none. */
static void check(struct target_answer first, struct target_answer again, const char *word)
{
	const char *difference = judge_difference(&first, &again, STR("/id"), &mem);

	if (!word && difference)
		fail_msg("a difference: %s", difference);
	if (word && (!difference || !strstr(difference, word)))
		fail_msg("%s is not said: %s", word, difference ? difference : "no difference");
}

static void test_the_same_answer(void **state)
{
	const struct target_answer first = answer_of(201, "{\"id\":1,\"a\":\"x\"}");

	check(first, first, NULL);
	check(first, answer_of(201, "{ \"a\": \"x\", \"id\": 1.0 }"), NULL);
	check(answer_of(200, "plain"), answer_of(200, "plain"), NULL);
}

static void test_another_answer(void **state)
{
	const struct target_answer first = answer_of(201, "{\"id\":1,\"a\":\"x\"}");

	check(first, answer_of(200, "{\"id\":1,\"a\":\"x\"}"), "200");
	check(first, answer_of(409, "{\"id\":1,\"a\":\"x\"}"), "409");
	check(first, answer_of(0, ""), "broke off");
	check(first, answer_of(201, "{\"id\":2,\"a\":\"x\"}"), "id 2");
	check(first, answer_of(201, "{\"id\":1,\"a\":\"y\"}"), "body");
	check(answer_of(200, "plain"), answer_of(200, "other"), "body");
}

static void test_the_resource(void **state)
{
	struct scenario_pair items[] = {{STR("/a"), STR("\"x\"")}, {STR("/n"), STR("1.50")}};
	const struct scenario_pairs equals = {items, 2};
	struct str at;

	assert_true(judge_equals(STR("{\"n\":1.5,\"a\":\"x\"}"), &equals, &mem, &at));
	assert_false(judge_equals(STR("{\"n\":1.5,\"a\":\"y\"}"), &equals, &mem, &at));
	assert_str(at, "/a");
	assert_false(judge_equals(STR("{\"a\":\"x\"}"), &equals, &mem, &at));
	assert_str(at, "/n");
	assert_false(judge_equals(STR("<p>"), &equals, &mem, &at));
}

static void test_headers(void **state)
{
	const struct target_answer answer = {.headers = STR("A: 1\nRetry-After:  2 \nB: 3\n")};

	assert_str(target_header(&answer, STR("retry-after")), "2");
	assert_null(target_header(&answer, STR("C")).at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_statuses),	cmocka_unit_test(test_ids),
		cmocka_unit_test(test_the_same_answer), cmocka_unit_test(test_another_answer),
		cmocka_unit_test(test_the_resource),	cmocka_unit_test(test_headers),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
