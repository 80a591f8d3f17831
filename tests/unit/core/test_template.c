/*
 * Texts with {names} come apart and are filled so that each value stays one value of the question
 * that was configured, whatever a client sent.
 */
#include "core/template.h"

#include "base/err.h"
#include "declare.h"

enum { MEMORY_MAX = 1 << 20 };

static const char fields[] =
	"{\"reference\":{\"type\":\"string\"},\"count\":{\"type\":\"integer\"},"
	"\"is_on\":{\"type\":\"boolean\"},\"amount\":{\"type\":\"money\",\"currency\":\"EUR\"},"
	"\"extra\":{\"type\":\"any\"},\"token\":{\"type\":\"string\"}}";
static const struct operation_id id = {
	.bytes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};

/* Pieces are written as literal<name>. */
static void check_pieces(const char *text, const char *expected)
{
	struct str rest = str_from(text), literal, name;
	struct buf out;

	buf_init(&out, 1 << 10);
	while (template_next(&rest, &literal, &name))
		(void)buf_printf(&out, "%.*s<%.*s>", STR_ARG(literal), STR_ARG(name));
	if (!str_equal(buf_str(&out), str_from(expected)))
		fail_msg("%s: %.*s", text, STR_ARG(buf_str(&out)));
	buf_fini(&out);
}

static void test_pieces(void **state)
{
	check_pieces("", "");
	check_pieces("/v1", "/v1<>");
	check_pieces("/v1/{a}", "/v1/<a>");
	check_pieces("{a}{b}c", "<a><b>c<>");
	check_pieces("{}", "{}<>");
	check_pieces("{}a}", "{}a}<>");
	check_pieces("{a{b}c}", "{a<b>c}<>");
	check_pieces("}{a", "}{a<>");
	check_pieces("{a", "{a<>");
}

/* `expected` NULL: the question cannot be asked. */
static void check_fill_at(const char *path, const char *text, const char *command,
			  const char *expected)
{
	struct str filled = str_of(NULL, 0);
	struct action action;
	const char *detail;
	struct arena mem;
	int r;

	arena_init(&mem, MEMORY_MAX);
	action = declare_action(declare_json(fields, &mem), &mem);
	assert_int_equal(
		route_read(STR("/v1/{place}/things/{thing}"), &mem, &action.route, &detail), 0);
	r = template_fill(str_from(text), &action, str_from(path), STR("tok/1"),
			  command ? declare_json(command, &mem) : NULL, &mem, &filled);
	if (r != (expected ? 0 : TEMPLATE_ABSENT))
		fail_msg("%s with %s: %d", text, command ? command : "nothing", r);
	if (expected && !str_equal(filled, str_from(expected)))
		fail_msg("%s with %s: %.*s", text, command ? command : "nothing", STR_ARG(filled));
	declare_forget(&action);
	arena_fini(&mem);
}

static void check_fill(const char *text, const char *command, const char *expected)
{
	check_fill_at("/v1/here/things/7", text, command, expected);
}

static void test_values(void **state)
{
	check_fill("/p?r={reference}", "{\"reference\":\"a-Z_0.9~\"}", "/p?r=a-Z_0.9~");
	check_fill("/p?r={reference}", "{\"reference\":\"a&b=c d+e/f%\"}",
		   "/p?r=a%26b%3Dc%20d%2Be%2Ff%25");
	check_fill("/p?r={reference}", "{\"reference\":\"\xc3\xa9\"}", "/p?r=%C3%A9");
	check_fill("/p?n={count}", "{\"count\":-1.20e2}", "/p?n=-120");
	check_fill("/p?n={count}", "{\"count\":1e30}", "/p?n=1e%2B30");
	check_fill("/p?b={is_on}", "{\"is_on\":false}", "/p?b=false");
	check_fill("/p?a={amount}", "{\"amount\":{\"currency\":\"EUR\",\"minor_units\":4900}}",
		   "/p?a=4900");
	check_fill("/p?e={extra}", "{\"extra\":true}", "/p?e=true");
	check_fill("", "{}", "");
}

static void test_parameters(void **state)
{
	check_fill("/{place}/{thing}", NULL, "/here/7");
	check_fill_at("/v1/a%20b+c/things/%C3%A9&x=1", "/p?p={place}&t={thing}", "{}",
		      "/p?p=a%20b%2Bc&t=%C3%A9%26x%3D1");
	check_fill_at("/v1/%2525/things/a%2Fb", "/p?p={place}&t={thing}", "{}",
		      "/p?p=%2525&t=a%2Fb");
	check_fill_at("/elsewhere", "/{place}", "{}", NULL);
}

static void test_reserved(void **state)
{
	check_fill("/p/{operation}?k={downstream_key}", "{}", "/p/{operation}?k={downstream_key}");
	check_fill("/p?t={token}", "{\"token\":\"a field\"}", "/p?t=tok%2F1");
}

static void test_what_is_filled_in_is_not_filled_again(void **state)
{
	check_fill("/p?r={reference}", "{\"reference\":\"{operation}\"}", "/p?r=%7Boperation%7D");
	check_fill_at("/v1/{token}/things/{x}", "/p?r={place}", "{}", "/p?r=%7Btoken%7D");
}

static void test_cannot_be_asked(void **state)
{
	check_fill("/p?r={reference}", "{}", NULL);
	check_fill("/p?r={reference}", NULL, NULL);
	check_fill("/p?r={reference}", "{\"reference\":\"\"}", NULL);
	check_fill("/p?r={reference}", "{\"reference\":null}", NULL);
	check_fill("/p?e={extra}", "{\"extra\":[1]}", NULL);
	check_fill("/p?e={extra}", "{\"extra\":{\"a\":1}}", NULL);
	check_fill("/p?x={nobody}", "{}", NULL);
	check_fill("/p?a={amount}", "{\"amount\":null}", NULL);
}

static void test_paths_are_not_bent(void **state)
{
	check_fill("/p/{reference}", "{\"reference\":\"..\"}", NULL);
	check_fill("/p/{reference}/x", "{\"reference\":\".\"}", NULL);
	check_fill("/p/{reference}", "{\"reference\":\"../admin\"}", NULL);
	check_fill("/p/{extra}{reference}", "{\"extra\":\".\",\"reference\":\".\"}", NULL);
	check_fill("/p/{reference}", "{\"reference\":\"a\\u0000b\"}", NULL);
	check_fill("/p/{reference}", "{\"reference\":\"a..b\"}", "/p/a..b");
	check_fill("/p?r={reference}", "{\"reference\":\"..\"}", "/p?r=..");
}

/* "/p?r=" and `count` letters. */
static int fill_result(size_t count)
{
	char letters[TEMPLATE_FILLED_MAX];
	struct json_value value = {.type = JSON_STRING, .string = {letters, count}};
	struct json_member member = {.name = STR("reference"), .value = &value};
	struct json_value command = {.type = JSON_OBJECT};
	struct action_field field = {.name = STR("reference"), .type = FIELD_STRING};
	struct action action = {.fields = &field, .field_count = 1, .has_fields = true};
	struct str filled;
	struct arena mem;
	int r;

	memset(letters, 'a', sizeof(letters));
	command.object.members = &member;
	command.object.count = 1;
	arena_init(&mem, MEMORY_MAX);
	r = template_fill(STR("/p?r={reference}"), &action, STR("/"), STR("t"), &command, &mem,
			  &filled);
	arena_fini(&mem);
	return r;
}

static void test_length_is_bounded(void **state)
{
	assert_int_equal(fill_result(TEMPLATE_FILLED_MAX - 5), 0);
	assert_int_equal(fill_result(TEMPLATE_FILLED_MAX - 4), TEMPLATE_ABSENT);
}

static void check_finish(const char *text, const char *expected)
{
	struct str target;
	struct arena mem;

	arena_init(&mem, MEMORY_MAX);
	assert_int_equal(template_finish(str_from(text), &id, &mem, &target), 0);
	if (!str_equal(target, str_from(expected)))
		fail_msg("%s: %.*s", text, STR_ARG(target));
	arena_fini(&mem);
}

static void test_finish(void **state)
{
	check_finish("/p?r=%7Boperation%7D", "/p?r=%7Boperation%7D");
	check_finish("/p/{operation}", "/p/op_01081G81860W40J2GB1G6GW3RG");
	check_finish("/p?k={downstream_key}&x", "/p?k=g7kviostfkaeimxw2yeeny6jtaqh6k5s&x");
	check_finish("{x}{", "{x}{");
}

static void test_memory(void **state)
{
	struct str text = str_of(NULL, 0);
	struct action action = {0};
	struct arena mem;

	arena_init(&mem, 0);
	assert_int_equal(template_fill(STR("/p"), &action, STR("/"), STR("t"), NULL, &mem, &text),
			 FAIL_MEMORY);
	assert_int_equal(template_finish(STR("/p"), &id, &mem, &text), FAIL_MEMORY);
	assert_null(text.at);
	arena_fini(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_parameters),
		cmocka_unit_test(test_reserved),
		cmocka_unit_test(test_what_is_filled_in_is_not_filled_again),
		cmocka_unit_test(test_cannot_be_asked),
		cmocka_unit_test(test_paths_are_not_bent),
		cmocka_unit_test(test_length_is_bounded),
		cmocka_unit_test(test_finish),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
