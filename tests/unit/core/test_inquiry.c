/* "Found" and "absent" need what the declaration names; everything else is doubt. */
#include "core/inquiry.h"

#include "base/err.h"
#undef fail /* cmocka has one too */
#include "declare.h"

enum { MEMORY_MAX = 1 << 20 };

static const char *const verdicts[] = {"found", "absent", "doubt"};

/* The statuses are 200 for found, and 200 or 404 for absent. */
struct asking {
	const char *at;
	const char *empty; /* NULL: the status is enough */
	int absent;
};

static struct rule_inquiry inquiry_of(const struct asking *asking)
{
	struct rule_inquiry inquiry = {
		.get = STR("/p"),
		.found_at = str_from(asking->at),
		.absent_empty = str_from(asking->empty),
		.has_absent_empty = asking->empty != NULL,
	};

	status_class_add(inquiry.found, 200);
	if (asking->absent)
		status_class_add(inquiry.absent, asking->absent);
	return inquiry;
}

static void check_as(const struct asking *asking, int status, const char *type, const char *body,
		     enum inquiry_verdict expected, const char *found)
{
	const struct rule_inquiry inquiry = inquiry_of(asking);
	struct str text = str_of(NULL, 0);
	const struct json_value *value = NULL;
	enum inquiry_verdict verdict;
	const char *why = NULL;
	struct arena mem;

	arena_init(&mem, MEMORY_MAX);
	verdict = inquiry_judge(&inquiry, status, str_from(type), str_from(body), &mem, &value,
				&text, &why);
	if (verdict != expected)
		fail_msg("%d %s: %s: %s", status, body, verdicts[verdict], why);
	assert_true(why && strlen(why) > 0);
	if (!str_equal(text, str_from(found)))
		fail_msg("%d %s: %.*s", status, body, STR_ARG(text));
	assert_int_equal(value != NULL, found != NULL && *found);
	arena_fini(&mem);
}

static void check(const struct asking *asking, int status, const char *body,
		  enum inquiry_verdict expected, const char *found)
{
	check_as(asking, status, "application/json", body, expected, found);
}

static void test_one_of_a_list(void **state)
{
	static const struct asking list = {"/data/0", "/data", 200};

	check(&list, 200, "{\"data\":[{\"b\":1.0,\"a\":2}]}", INQUIRY_FOUND, "{\"a\":2,\"b\":1}");
	check(&list, 200, "{\"data\":[]}", INQUIRY_ABSENT, NULL);
	check(&list, 200, "{\"data\":null}", INQUIRY_ABSENT, NULL);
	check(&list, 200, "{}", INQUIRY_DOUBT,
	      NULL); /* nothing is said: it may be another answer */
	check(&list, 200, "{\"data\":[{\"a\":1},{\"a\":2}]}", INQUIRY_DOUBT, NULL);
	check(&list, 200, "{\"data\":[null]}", INQUIRY_DOUBT, NULL);
	check(&list, 200, "{\"data\":{\"0\":{\"a\":1}}}", INQUIRY_FOUND, "{\"a\":1}");
	check(&list, 404, "{\"data\":[]}", INQUIRY_DOUBT, NULL);
	check(&list, 500, "", INQUIRY_DOUBT, NULL);
	check(&list, 0, "", INQUIRY_DOUBT, NULL);
}

static void test_what_cannot_be_read_is_doubt(void **state)
{
	static const struct asking list = {"/data/0", "/data", 200};

	check(&list, 200, "", INQUIRY_DOUBT, NULL);
	check(&list, 200, "{\"data\":[", INQUIRY_DOUBT, NULL);
	check(&list, 200, "\"maintenance\"", INQUIRY_DOUBT, NULL);
	check(&list, 200, "0", INQUIRY_DOUBT, NULL);
	check_as(&list, 200, "text/html", "<html>", INQUIRY_DOUBT, NULL);
	check_as(&list, 200, "text/html", "{\"data\":[7]}", INQUIRY_FOUND, "7");
}

static void test_whole_answers(void **state)
{
	static const struct asking one = {"", NULL, 404};

	check(&one, 200, "{\"a\":1}", INQUIRY_FOUND, "{\"a\":1}");
	check(&one, 404, "{\"error\":1}", INQUIRY_ABSENT, NULL);
	check(&one, 404, "half {", INQUIRY_ABSENT, NULL);
	check(&one, 200, "[]", INQUIRY_DOUBT, NULL);
	check(&one, 200, "{}", INQUIRY_DOUBT, NULL);
	check(&one, 200, "[1,2]", INQUIRY_DOUBT, NULL);
	check(&one, 200, "[1]", INQUIRY_FOUND, "[1]");
	check(&one, 200, "{\"a\":", INQUIRY_DOUBT, NULL);
	check(&one, 403, "", INQUIRY_DOUBT, NULL);
	check_as(&one, 200, "text/plain", "it is there", INQUIRY_FOUND, "");
	check_as(&one, 200, "", "", INQUIRY_FOUND, "");
}

static void test_both_at_once_is_doubt(void **state)
{
	static const struct asking whole = {"", "/data", 200}, always = {"", NULL, 200};
	static const struct asking shown = {"/data/0", NULL, 200};

	check(&whole, 200, "{\"data\":[1]}", INQUIRY_FOUND, "{\"data\":[1]}");
	check(&whole, 200, "{\"data\":[],\"n\":0}", INQUIRY_DOUBT, NULL);
	check_as(&whole, 200, "text/html", "<html>", INQUIRY_DOUBT, NULL);
	check(&always, 200, "{\"a\":1}", INQUIRY_DOUBT, NULL);
	check(&shown, 200, "{\"data\":[1]}", INQUIRY_FOUND, "1");
	check(&shown, 200, "{\"data\":[]}", INQUIRY_ABSENT, NULL);
	check(&shown, 200, "{\"data\":[1,2]}", INQUIRY_DOUBT, NULL);
}

static void test_absence_is_never_certain_without_being_declared(void **state)
{
	static const struct asking asking = {"/data/0", NULL, 0};

	check(&asking, 200, "{\"data\":[]}", INQUIRY_DOUBT, NULL);
	check(&asking, 404, "", INQUIRY_DOUBT, NULL);
}

static void test_memory(void **state)
{
	static const struct asking list = {"/data/0", "/data", 200};
	const struct rule_inquiry inquiry = inquiry_of(&list);
	const struct json_value *value;
	const char *why = NULL;
	struct str text;
	struct arena mem;

	arena_init(&mem, 0);
	assert_int_equal(inquiry_judge(&inquiry, 200, STR("application/json"),
				       STR("{\"data\":[1]}"), &mem, &value, &text, &why),
			 INQUIRY_DOUBT);
	assert_non_null(why);
	arena_fini(&mem);
}

#define SERVICE STR("https://a.test")

/* An old question is asked only while its answer is judged as it was meant to be. */
static void test_a_question_keeps_its_declaration(void **state)
{
	const struct asking asking = {.at = "/data/0", .empty = "/data", .absent = 200};
	struct rule_inquiry one = inquiry_of(&asking), other;
	struct str marked, question;
	struct arena mem;

	arena_init(&mem, MEMORY_MAX);
	assert_int_equal(inquiry_mark(&one, SERVICE, STR("/p?of={operation}"), &mem, &marked), 0);
	assert_true(inquiry_unmark(&one, SERVICE, marked, &question));
	assert_true(str_equal(question, STR("/p?of={operation}")));
	other = one;
	other.settle_ms = other.every_ms = 77;
	assert_true(inquiry_unmark(&other, SERVICE, marked, &question));
	assert_false(inquiry_unmark(&one, STR("https://b.test"), marked, &question));
	other = one;
	other.get = STR("/q");
	assert_false(inquiry_unmark(&other, SERVICE, marked, &question));
	other = one;
	other.absent_empty = STR("/items");
	assert_false(inquiry_unmark(&other, SERVICE, marked, &question));
	other = one;
	other.found_at = STR("/items/0");
	assert_false(inquiry_unmark(&other, SERVICE, marked, &question));
	other = one;
	status_class_add(other.absent, 404);
	assert_false(inquiry_unmark(&other, SERVICE, marked, &question));
	assert_false(inquiry_unmark(&one, SERVICE, STR("/p?of={operation}"), &question));
	assert_int_equal(inquiry_mark(&one, SERVICE, STR(""), &mem, &marked), 0);
	assert_int_equal(marked.len, 0);
	arena_fini(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_of_a_list),
		cmocka_unit_test(test_what_cannot_be_read_is_doubt),
		cmocka_unit_test(test_whole_answers),
		cmocka_unit_test(test_both_at_once_is_doubt),
		cmocka_unit_test(test_absence_is_never_certain_without_being_declared),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_a_question_keeps_its_declaration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
