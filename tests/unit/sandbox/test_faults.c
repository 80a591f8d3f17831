/* A fault's words become one plan, or are refused; a queued one is taken once by whom it is for. */
#include "sandbox/faults.h"

#include "sandbox_test.h"

static void expect(const char *text, int64_t delay_ms, enum ending ending, bool does_work,
		   int status)
{
	struct fault_plan plan;
	const char *why;

	assert_int_equal(fault_plan_read(str_from(text), &plan, &why), 0);
	assert_int_equal(plan.delay_ms, delay_ms);
	assert_int_equal(plan.ending, ending);
	assert_int_equal(plan.does_work, does_work);
	assert_int_equal(plan.status, status);
}

static void words_become_a_plan(void **state)
{
	expect("drop", 0, ENDING_DROP, true, 0);
	expect("half", 0, ENDING_HALF, true, 0);
	expect("reset", 0, ENDING_RESET, false, 0);
	expect("hang", 0, ENDING_HANG, false, 0);
	expect("hang;work", 0, ENDING_HANG, true, 0);
	expect("delay=250", 250, ENDING_ANSWER, true, 0);
	expect("status=503", 0, ENDING_STATUS, false, 503);
	expect("status=500;work", 0, ENDING_STATUS, true, 500);
	expect(" delay=5 ,\tstatus=429 ; work ", 5, ENDING_STATUS, true, 429);
	expect("decline", 0, ENDING_DECLINE, false, 0);
	expect("delay=1,decline", 1, ENDING_DECLINE, false, 0);
	expect("drop,delay=600000", 600000, ENDING_DROP, true, 0);
}

static void what_is_seen_can_go_wrong(void **state)
{
	struct fault_plan plan;
	const char *why;

	assert_int_equal(fault_plan_read(STR("hide=300,drop"), &plan, &why), 0);
	assert_int_equal(plan.hide_ms, 300);
	assert_int_equal(plan.ending, ENDING_DROP);
	assert_false(plan.is_twice);
	assert_int_equal(fault_plan_read(STR("twice"), &plan, &why), 0);
	assert_true(plan.is_twice);
	assert_int_equal(plan.hide_ms, 0);
	assert_int_equal(plan.ending, ENDING_ANSWER);
}

static void others_are_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"drop,",
		"Drop",
		"drop,half",
		"delay=",
		"delay=-1",
		"delay=1.5",
		"delay=600001",
		"status=99",
		"status=600",
		"status=500;",
		"status=500;now",
		"drop;work",
		"reset;work",
		"status=500,status=501",
		"hide=",
		"hide=600001",
		"decline,drop",
		"decline;work",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct fault_plan plan;
		const char *why = NULL;

		assert_int_equal(fault_plan_read(str_from(texts[i]), &plan, &why), FAULT_REFUSED);
		assert_non_null(why);
	}
}

static int queue(struct faults *faults, const char *text)
{
	struct json_value *wish;
	struct json_error error;
	struct arena mem;
	const char *why;
	int r;

	arena_init(&mem, 65536);
	assert_int_equal(json_read(str_from(text), &json_limits_default, &mem, &wish, &error), 0);
	r = faults_add(faults, wish, &why);
	arena_fini(&mem);
	return r;
}

static enum ending taken(struct faults *faults, const char *method, const char *path)
{
	struct fault_plan plan;

	faults_take(faults, str_from(method), str_from(path), &plan);
	return plan.ending;
}

static void a_queued_fault_is_for_its_requests(void **state)
{
	struct faults faults;

	faults_init(&faults);
	assert_int_equal(queue(&faults, "{\"fault\":\"drop\",\"path\":\"/v1/a\",\"times\":2}"), 0);
	assert_int_equal(queue(&faults, "{\"fault\":\"half\",\"method\":\"GET\"}"), 0);
	assert_int_equal(queue(&faults, "{\"fault\":\"reset\",\"method\":\"*\"}"), 0);
	assert_int_equal(taken(&faults, "POST", "/v1/a"), ENDING_DROP);
	assert_int_equal(taken(&faults, "PUT", "/v1/a"), ENDING_DROP);
	assert_int_equal(taken(&faults, "GET", "/v1/a"), ENDING_HALF);
	assert_int_equal(taken(&faults, "POST", "/effects"), ENDING_ANSWER);
	assert_int_equal(taken(&faults, "DELETE", "/v1/b"), ENDING_RESET);
	assert_int_equal(taken(&faults, "POST", "/v1/a"), ENDING_ANSWER);
	assert_int_equal(faults.count, 0);
}

static void a_wish_is_checked(void **state)
{
	struct faults faults;

	faults_init(&faults);
	assert_int_equal(queue(&faults, "{}"), FAULT_REFUSED);
	assert_int_equal(queue(&faults, "{\"fault\":1}"), FAULT_REFUSED);
	assert_int_equal(queue(&faults, "{\"fault\":\"drop\",\"times\":0}"), FAULT_REFUSED);
	assert_int_equal(queue(&faults, "{\"fault\":\"drop\",\"times\":\"1\"}"), FAULT_REFUSED);
	assert_int_equal(queue(&faults, "{\"fault\":\"drop\",\"path\":[]}"), FAULT_REFUSED);
	assert_int_equal(faults.count, 0);
	for (int i = 0; i < FAULTS_MAX; i++)
		assert_int_equal(queue(&faults, "{\"fault\":\"drop\"}"), 0);
	assert_int_equal(queue(&faults, "{\"fault\":\"drop\"}"), FAULT_REFUSED);
	faults_clear(&faults);
	assert_int_equal(faults.count, 0);
	assert_int_equal(taken(&faults, "POST", "/v1/a"), ENDING_ANSWER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_become_a_plan),
		cmocka_unit_test(what_is_seen_can_go_wrong),
		cmocka_unit_test(others_are_refused),
		cmocka_unit_test(a_queued_fault_is_for_its_requests),
		cmocka_unit_test(a_wish_is_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
