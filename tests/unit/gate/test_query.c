/* Shows how queries are decoded, which filters of a list are refused, and which paths name an
 * operation. */
#include "gate_test.h"

#include "gate/query.h"

#define ID "op_01KGAC9FDTZZZZZZZZZZZZZZZZ"

static void assert_value(const char *query, const char *name, const char *expected)
{
	struct arena mem;
	struct str value = STR("untouched");
	bool is_there;

	arena_init(&mem, 4096);
	is_there = query_value(str_from(query), str_from(name), &mem, &value);
	if (is_there != (expected != NULL))
		print_error("%s in %s\n", name, query);
	assert_int_equal(is_there, expected != NULL);
	assert_text(value, str_from(expected ? expected : "untouched"));
	arena_fini(&mem);
}

static void values_are_decoded(void **state)
{
	assert_value("a=1&b=2", "a", "1");
	assert_value("a=1&b=2", "b", "2");
	assert_value("b=%41%2f%2F+c%2B", "b", "A// c+");
	assert_value("a=x=y", "a", "x=y");
	assert_value("a=1&a=2", "a", "1");
	assert_value("a", "a", "");
	assert_value("a=", "a", "");
	assert_value("&&a=1", "a", "1");
}

static void a_nul_is_a_byte_like_another(void **state)
{
	struct arena mem;
	struct str value;

	arena_init(&mem, 4096);
	assert_true(query_value(STR("a=x%00y"), STR("a"), &mem, &value));
	assert_int_equal(value.len, 3);
	assert_memory_equal(value.at, "x\0y", 3);
	arena_fini(&mem);
}

static void values_that_are_not_there_are_not(void **state)
{
	assert_value("", "a", NULL);
	assert_value("ab=1", "a", NULL);
	assert_value("A=1", "a", NULL);
	assert_value("b=a", "a", NULL);
}

static void broken_escapes_are_no_value(void **state)
{
	struct arena mem;
	struct str value;

	assert_value("a=%", "a", NULL);
	assert_value("a=%4", "a", NULL);
	assert_value("a=%4g", "a", NULL);
	assert_value("a=%g4", "a", NULL);
	assert_value("a=1%", "a", NULL);
	assert_value("a=%4&b=1", "a", NULL);
	arena_init(&mem, 4096);
	assert_false(query_value(str_of("a=%41", 4), STR("a"), &mem, &value)); /* cut off */
	arena_fini(&mem);
}

/* Lists. */

static const char *list(const char *query, bool may_choose, struct arena *mem,
			struct store_command *command)
{
	*command = (struct store_command){.kind = STORE_LIST};
	return query_list(str_from(query), may_choose, mem, command);
}

static void filters_are_read(void **state)
{
	struct store_command command;
	struct arena mem;
	char id[OPERATION_ID_TEXT + 1];

	arena_init(&mem, 4096);
	assert_null(list("token=a%20b&task=t&action=a.b&reference=p%2F7&state=unknown"
			 "&limit=7&cursor=" ID,
			 false, &mem, &command));
	assert_text(command.filter_token, STR("a b"));
	assert_text(command.filter_task, STR("t"));
	assert_text(command.filter_action, STR("a.b"));
	assert_text(command.filter_reference, STR("p/7"));
	assert_int_equal(command.filter_state, STATE_UNKNOWN);
	assert_int_equal(command.limit, 7);
	operation_id_write(&command.before, id);
	assert_string_equal(id, ID);
	arena_fini(&mem);
}

static void without_filters_a_page_is_of_the_default_size(void **state)
{
	struct store_command command;
	struct arena mem;

	arena_init(&mem, 4096);
	assert_null(list("", false, &mem, &command));
	assert_int_equal(command.limit, 50);
	assert_int_equal(command.filter_state, 0);
	assert_int_equal(command.filter_token.len, 0);
	assert_null(list("limit=200", false, &mem, &command));
	assert_int_equal(command.limit, STORE_LIST_MAX);
	arena_fini(&mem);
}

static void only_an_operator_chooses_the_account(void **state)
{
	struct store_command command;
	struct arena mem;

	arena_init(&mem, 4096);
	assert_null(list("account=other", false, &mem, &command));
	assert_int_equal(command.filter_account.len, 0);
	assert_null(list("account=other", true, &mem, &command));
	assert_text(command.filter_account, STR("other"));
	arena_fini(&mem);
}

/* A filter that is not understood must not become none: the page would show anything. */
static void wrong_filters_are_named(void **state)
{
	static const char *const wrong[][2] = {
		{"reference=", "reference"}, {"state=open", "state"},	 {"state=", "state"},
		{"state=RUNNING", "state"},  {"limit=0", "limit"},	 {"limit=201", "limit"},
		{"limit=-1", "limit"},	     {"limit=ten", "limit"},	 {"limit=", "limit"},
		{"cursor=", "cursor"},	     {"cursor=op_1", "cursor"},	 {"token=%zz", "token"},
		{"task=%", "task"},	     {"state=%zz", "state"},	 {"limit=%zz", "limit"},
		{"cursor=%zz", "cursor"},    {"token=", "token"},	 {"token", "token"},
		{"task=", "task"},	     {"account=%zz", "account"}, {"account=", "account"},
		{"action=%zz", "action"},    {"action=", "action"},
	};
	struct store_command command;
	struct arena mem;

	arena_init(&mem, 4096);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const char *said = list(wrong[i][0], true, &mem, &command);

		if (!said)
			print_error("accepted: %s\n", wrong[i][0]);
		assert_non_null(said);
		assert_true(str_starts_with(str_from(said), str_from(wrong[i][1])));
	}
	arena_fini(&mem);
}

/* Paths. */

static void assert_path(const char *path, const char *verb)
{
	struct operation_id id;
	struct str found = STR("");
	char text[OPERATION_ID_TEXT + 1];
	bool is_one = query_operation_path(str_from(path), STR("/p"), &id, &found);

	if (is_one != (verb != NULL))
		print_error("%s\n", path);
	assert_int_equal(is_one, verb != NULL);
	if (!verb)
		return;
	assert_text(found, str_from(verb));
	operation_id_write(&id, text);
	assert_string_equal(text, ID);
}

static void paths_name_an_operation_and_a_verb(void **state)
{
	assert_path("/p/" ID, "");
	assert_path("/p/op_01kgac9fdtzzzzzzzzzzzzzzzz", "");
	assert_path("/p/" ID "/response", "response");
	assert_path("/p/" ID "/a/b", "a/b");
}

static void other_paths_do_not(void **state)
{
	assert_path("/p", NULL);
	assert_path("/p/", NULL);
	assert_path("/q/" ID, NULL);
	assert_path("/p" ID, NULL);
	assert_path("/pp/" ID, NULL);
	assert_path("/p/" ID "/", NULL);
	assert_path("/p/" ID "x", NULL);
	assert_path("/p//" ID, NULL);
	assert_path("/p/op_1", NULL);
	assert_path("/p/op_1/cancel", NULL);
	assert_path("", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_decoded),
		cmocka_unit_test(a_nul_is_a_byte_like_another),
		cmocka_unit_test(values_that_are_not_there_are_not),
		cmocka_unit_test(broken_escapes_are_no_value),
		cmocka_unit_test(filters_are_read),
		cmocka_unit_test(without_filters_a_page_is_of_the_default_size),
		cmocka_unit_test(only_an_operator_chooses_the_account),
		cmocka_unit_test(wrong_filters_are_named),
		cmocka_unit_test(paths_name_an_operation_and_a_verb),
		cmocka_unit_test(other_paths_do_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
