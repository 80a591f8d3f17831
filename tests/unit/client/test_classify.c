/* What an answer means, by a gate's word or else by its status. */
#include "client/classify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MEMORY = 1024 * 1024 };

static enum meaning meaning_of(int status, struct str headers, struct str body, bool honours_key)
{
	struct answer_facts facts;
	enum meaning meaning;
	struct arena mem;

	arena_init(&mem, MEMORY);
	answer_facts_read(status, headers, body, &mem, &facts);
	meaning = answer_meaning(&facts, honours_key);
	arena_fini(&mem);
	return meaning;
}

static enum meaning plain(int status)
{
	return meaning_of(status, STR(""), STR(""), false);
}

/* Without a gate the status alone counts, by the gate's own defaults. */
static void a_plain_answer(void **state)
{
	static const struct {
		int status;
		enum meaning meaning;
	} table[] = {{200, MEANS_DONE},	     {201, MEANS_DONE},	     {303, MEANS_DONE},
		     {400, MEANS_FAILED},    {404, MEANS_FAILED},    {409, MEANS_FAILED},
		     {422, MEANS_FAILED},    {501, MEANS_FAILED},    {408, MEANS_UNCERTAIN},
		     {500, MEANS_UNCERTAIN}, {502, MEANS_UNCERTAIN}, {504, MEANS_UNCERTAIN},
		     {429, MEANS_NOT_YET},   {503, MEANS_NOT_YET},   {0, MEANS_UNCERTAIN}};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		assert_int_equal(plain(table[i].status), table[i].meaning);
	assert_int_equal(meaning_of(409, STR(""), STR(""), true), MEANS_OPEN);
	assert_int_equal(meaning_of(425, STR(""), STR(""), true), MEANS_OPEN);
}

static enum meaning told(const char *outcome, const char *state, int status)
{
	struct str headers;
	struct arena mem;
	enum meaning meaning;

	arena_init(&mem, MEMORY);
	headers = arena_printf(&mem,
			       "Operation-Id: op_1\nOperation-Outcome: %s\nOperation-State: %s\n",
			       outcome, state);
	meaning = meaning_of(status, headers, STR(""), false);
	arena_fini(&mem);
	return meaning;
}

/* A gate's outcome counts, whatever the status. */
static void a_gates_word(void **state)
{
	assert_int_equal(told("created", "completed", 201), MEANS_DONE);
	assert_int_equal(told("replayed", "failed", 402), MEANS_FAILED);
	assert_int_equal(told("reused", "completed", 200), MEANS_DONE);
	assert_int_equal(told("running", "running", 409), MEANS_OPEN);
	assert_int_equal(told("queued", "queued", 202), MEANS_OPEN);
	assert_int_equal(told("awaiting_approval", "awaiting_approval", 202), MEANS_OPEN);
	assert_int_equal(told("unknown", "unknown", 504), MEANS_UNCERTAIN);
	assert_int_equal(told("not_sent", "queued", 503), MEANS_NOT_YET);
	assert_int_equal(told("conflict", "completed", 422), MEANS_CONFLICT);
	assert_int_equal(told("denied", "cancelled", 403), MEANS_FAILED);
	assert_int_equal(told("expired", "completed", 410), MEANS_LOST);
	assert_int_equal(told("something new", "completed", 200), MEANS_UNCERTAIN);
}

static enum meaning advised(const char *slug, const char *advice)
{
	struct str body;
	struct arena mem;
	enum meaning meaning;

	arena_init(&mem, MEMORY);
	body = arena_printf(&mem,
			    "{\"type\":\"urn:counterfoil:problem:%s\",\"title\":\"t\","
			    "\"retry\":{\"advice\":\"%s\",\"after\":1}}",
			    slug, advice);
	meaning = meaning_of(503, STR("Content-Type: application/problem+json\n"), body, false);
	arena_fini(&mem);
	return meaning;
}

/* A problem without an operation was not taken; its advice says what to do. */
static void a_gates_advice(void **state)
{
	assert_int_equal(advised("store-unavailable", "same_key"), MEANS_NOT_YET);
	assert_int_equal(advised("too-many-attempts", "wait"), MEANS_NOT_YET);
	assert_int_equal(advised("command-invalid", "fix"), MEANS_UNRECORDED);
	assert_int_equal(advised("undeclared", "stop"), MEANS_UNRECORDED);
	assert_int_equal(advised("upstream-failed", "query"), MEANS_UNCERTAIN);
	assert_int_equal(advised("new", "dance"), MEANS_UNCERTAIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_answer),
		cmocka_unit_test(a_gates_word),
		cmocka_unit_test(a_gates_advice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
