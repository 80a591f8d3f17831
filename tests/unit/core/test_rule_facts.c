/*
 * The facts of a command's rules: the hashes are what their description says (computed by another
 * program), the same business gives the same ones and no other does.
 */
#include "core/rule_facts.h"

#include "base/err.h"
#undef fail /* cmocka has one too */
#include "declare.h"

#include <errno.h>
#include <stdio.h>
#include <unicase.h>

static const char unique_hash[] =
	"afc22f5567413a8f20870b450273c5a14661414f3ff76a771717f2d1b986b17b";
static const char unique_tree_hash[] =
	"5509478cee3a78bd1c05ba0e540733f161ff2db7067cc35c125ac7163380f2fa";
static const char lock_hash[] = "697e545b91171f0c5a8befe97d6f63aba62f988ba187f44f5068321188991f76";
static const char lock_folded_hash[] =
	"2e2d366e88f377ec7940f4609c23d6c6fec89b19e9346be3e35f5fd4360b577d";
static const char budget_text_hash[] =
	"c01a4001b7da58cca1e2d4deea67013de0b19711c6cb0c0fd86591098d027a75";
static const char budget_number_hash[] =
	"c061027307fe2698a3a6c247b8bbdd578a397a4caed5fd44b2bd64d133384ac6";

enum { MEMORY_MAX = 8 << 20, PARTS_MAX = 3 };

static const char fields[] =
	"{\"a\":{\"type\":\"any\"},\"b\":{\"type\":\"any\"},\"c\":{\"type\":\"any\"},"
	"\"o\":{\"type\":\"object\",\"fields\":{\"in\":{\"type\":\"string\"},\"key\":{\"type\":"
	"\"string\",\"secret\":true}}},\"l\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
	"\"fields\":{\"key\":{\"type\":\"string\",\"secret\":true}}}},"
	"\"m\":{\"type\":\"money\",\"currency\":\"EUR\"},\"v\":{\"type\":\"integer\"}}";

/* How often the library has been asked, and whether it has memory. */
static int foldings;
static bool has_memory = true;

uint8_t *__real_u8_casefold(const uint8_t *text, size_t len, const char *language, uninorm_t form,
			    uint8_t *room, size_t *out_len);
uint8_t *__wrap_u8_casefold(const uint8_t *text, size_t len, const char *language, uninorm_t form,
			    uint8_t *room, size_t *out_len);

uint8_t *__wrap_u8_casefold(const uint8_t *text, size_t len, const char *language, uninorm_t form,
			    uint8_t *room, size_t *out_len)
{
	foldings++;
	if (has_memory)
		return __real_u8_casefold(text, len, language, form, room, out_len);
	errno = ENOMEM;
	return NULL;
}

/* One action on the route /v1/{place}/{thing}, and what its rules said last. */
struct trial {
	struct arena mem;
	struct action action;
	struct rule_part parts[PARTS_MAX];
	struct str account;
	const char *path;
	struct rule_facts facts;
};

static void begin(struct trial *trial)
{
	const char *detail;

	*trial = (struct trial){.account = STR("acme"), .path = "/v1/here/7"};
	arena_init(&trial->mem, MEMORY_MAX);
	trial->action = declare_action(declare_json(fields, &trial->mem), &trial->mem);
	assert_int_equal(
		route_read(STR("/v1/{place}/{thing}"), &trial->mem, &trial->action.route, &detail),
		0);
	trial->action.unique = (struct rule_unique){.by = trial->parts, .for_ms = 1000};
	trial->action.lock = (struct rule_lock){.on = trial->parts};
}

static void end(struct trial *trial)
{
	declare_forget(&trial->action);
	arena_fini(&trial->mem);
}

/* Parts are pointers, or the place of a parameter ("0", "1"). */
static size_t name_parts(struct trial *trial, const char *first, const char *second,
			 const char *third)
{
	const char *const names[PARTS_MAX] = {first, second, third};
	size_t count = 0;

	while (count < PARTS_MAX && names[count]) {
		struct rule_part *part = &trial->parts[count];
		struct str name = str_from(names[count++]);

		*part = (struct rule_part){.name = name};
		if (name.at[0] == '/')
			part->pointer = name;
		else
			part->parameter = (size_t)(name.at[0] - '0');
	}
	return count;
}

static int look(struct trial *trial, const char *command)
{
	return rule_facts_of(&trial->action, trial->account, STR("pay"), str_from(trial->path),
			     command ? declare_json(command, &trial->mem) : NULL, &trial->mem,
			     &trial->facts);
}

static struct hash unique_of(struct trial *trial, const char *command)
{
	trial->facts.has_unique = false;
	assert_int_equal(look(trial, command), 0);
	assert_true(trial->facts.has_unique);
	return trial->facts.unique;
}

static struct hash lock_of(struct trial *trial, const char *command)
{
	trial->facts.has_lock = false;
	assert_int_equal(look(trial, command), 0);
	assert_true(trial->facts.has_lock);
	return trial->facts.lock;
}

static void check_hash(const struct hash *hash, const char *expected)
{
	char text[2 * HASH_SIZE + 1] = "";

	hex_write(hash->bytes, HASH_SIZE, text);
	assert_string_equal(text, expected);
}

static void check_same(struct hash a, struct hash b, bool is_same)
{
	assert_int_equal(hash_equal(&a, &b), is_same);
}

static void test_no_rules(void **state)
{
	struct trial trial;

	begin(&trial);
	assert_int_equal(look(&trial, "{\"a\":1}"), 0);
	assert_false(trial.facts.has_unique || trial.facts.has_lock || trial.facts.has_budget ||
		     trial.facts.opens_budget || trial.facts.has_version);
	end(&trial);
}

static void test_unique_hash(void **state)
{
	struct trial trial;
	struct hash hash;

	begin(&trial);
	trial.path = "/v1/eu/x";
	trial.action.unique.count = name_parts(&trial, "0", "/a", "/b");
	hash = unique_of(&trial, "{\"a\":17.0,\"b\":true}");
	check_hash(&hash, unique_hash);
	assert_int_equal(trial.facts.unique_ms, 1000);
	trial.action.unique.count = name_parts(&trial, "/a", NULL, NULL);
	hash = unique_of(&trial, "{\"a\":{\"b\":null,\"a\":[1.0]}}");
	check_hash(&hash, unique_tree_hash);
	end(&trial);
}

static void test_unique_needs_all_its_parts(void **state)
{
	struct trial trial;

	begin(&trial);
	trial.action.unique.count = name_parts(&trial, "/a", "/o/in", NULL);
	assert_int_equal(look(&trial, "{\"a\":1,\"o\":{\"in\":\"\"}}"), 0);
	assert_true(trial.facts.has_unique);
	assert_int_equal(look(&trial, "{\"a\":1}"), 0);
	assert_false(trial.facts.has_unique);
	assert_int_equal(look(&trial, "{\"a\":1,\"o\":{\"in\":null}}"), 0);
	assert_false(trial.facts.has_unique);
	assert_int_equal(look(&trial, NULL), 0);
	assert_false(trial.facts.has_unique);
	end(&trial);
}

static void test_unique_of_the_path_alone(void **state)
{
	struct trial trial;
	struct hash hash;

	begin(&trial);
	trial.action.unique.count = name_parts(&trial, "1", NULL, NULL);
	hash = unique_of(&trial, NULL);
	check_same(unique_of(&trial, "{\"a\":1}"), hash, true);
	trial.path = "/v1/there/7";
	check_same(unique_of(&trial, NULL), hash, true);
	trial.path = "/v1/here/8";
	check_same(unique_of(&trial, NULL), hash, false);
	end(&trial);
}

/* Each pair of commands is two businesses, although their parts could be run together. */
static void test_parts_never_run_together(void **state)
{
	static const char *const pairs[][2] = {
		{"{\"a\":\"a\",\"b\":\"bc\"}", "{\"a\":\"ab\",\"b\":\"c\"}"},
		{"{\"a\":\"\",\"b\":\"x\"}", "{\"a\":\"x\",\"b\":\"\"}"},
		{"{\"a\":\"x\",\"b\":\"y\"}", "{\"a\":\"y\",\"b\":\"x\"}"},
		{"{\"a\":\"x\\u0000\",\"b\":\"y\"}", "{\"a\":\"x\",\"b\":\"\\u0000y\"}"},
		{"{\"a\":1,\"b\":23}", "{\"a\":12,\"b\":3}"},
		{"{\"a\":[1],\"b\":2}", "{\"a\":1,\"b\":[2]}"},
		{"{\"a\":\"A\",\"b\":\"b\"}", "{\"a\":\"a\",\"b\":\"b\"}"},
	};
	struct trial trial;

	begin(&trial);
	trial.action.unique.count = name_parts(&trial, "/a", "/b", NULL);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		check_same(unique_of(&trial, pairs[i][0]), unique_of(&trial, pairs[i][1]), false);
	end(&trial);
}

static void test_spelling_is_not_business(void **state)
{
	struct trial trial;

	begin(&trial);
	trial.action.unique.count = name_parts(&trial, "/a", NULL, NULL);
	check_same(unique_of(&trial, "{\"a\":1e2}"), unique_of(&trial, "{\"a\":100.0}"), true);
	check_same(unique_of(&trial, "{\"a\":100}"), unique_of(&trial, "{\"a\":\"100\"}"), true);
	check_same(unique_of(&trial, "{\"a\":1.50}"), unique_of(&trial, "{\"a\":\"1.5\"}"), true);
	check_same(unique_of(&trial, "{\"a\":9223372036854775808}"),
		   unique_of(&trial, "{\"a\":9223372036854775809}"), false);
	end(&trial);
}

static void test_accounts_and_actions_are_apart(void **state)
{
	struct hash unique, lock;
	struct trial trial;

	begin(&trial);
	trial.action.unique.count = trial.action.lock.count = name_parts(&trial, "/a", NULL, NULL);
	unique = unique_of(&trial, "{\"a\":1}");
	lock = trial.facts.lock;
	check_same(unique, lock, false);
	trial.action.name = STR("things.delete");
	check_same(unique_of(&trial, "{\"a\":1}"), unique, false);
	check_same(trial.facts.lock, lock, true); /* a lock is for all actions */
	trial.account = STR("other");
	check_same(lock_of(&trial, "{\"a\":1}"), lock, false);
	end(&trial);
}

static void test_lock(void **state)
{
	struct trial trial;
	struct hash hash;

	begin(&trial);
	trial.action.lock.count = name_parts(&trial, "/a", "/b", NULL);
	trial.action.lock.resource = STR("Deployments");
	trial.action.lock.is_queue = true;
	hash = lock_of(&trial, "{\"a\":\"Production\",\"b\":\"WEB\"}");
	check_hash(&hash, lock_hash);
	assert_true(str_equal(trial.facts.lock_name, STR("Deployments /a=Production /b=WEB")));
	assert_true(trial.facts.lock_queues);
	assert_false(trial.facts.has_version);
	trial.action.lock.resource = str_of(NULL, 0);
	hash = lock_of(&trial, "{\"a\":\"STRASSE\",\"b\":\"\xc3\x89\"}");
	check_hash(&hash, lock_folded_hash);
	end(&trial);
}

static void test_lock_names_are_folded(void **state)
{
	static const struct {
		const char *a, *b;
		bool is_same;
	} pairs[] = {
		{"\"STRASSE\"",
		 "\"stra\xc3\x9f"
		 "e\"",
		 true},
		{"\"\xc3\x89\"", "\"e\xcc\x81\"", true}, /* É in NFC, é in NFD */
		{"\"\xe2\x84\xaa\"", "\"k\"", true},	 /* the Kelvin sign */
		{"\"\xce\xa3\"", "\"\xcf\x82\"", true},	 /* Σ, final ς */
		{"\"I\"", "\"i\"", true},
		{"\"\xc4\xb0\"", "\"i\"", false}, /* İ is i and a dot above */
		{"\"I\"", "\"\xc4\xb1\"", false}, /* ı is no i */
		{"\"\xc3\xa9\"", "\"e\"", false},
		{"\"\xef\xac\x81\"", "\"FI\"", true}, /* the ligature fi */
		{"true", "\"TRUE\"", true},
		{"\"a\\u0000b\"", "\"a\"", false},
	};
	struct trial trial;
	char a[64], b[64];

	begin(&trial);
	trial.action.lock.count = name_parts(&trial, "/a", NULL, NULL);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct hash first, second;

		snprintf(a, sizeof(a), "{\"a\":%s}", pairs[i].a);
		snprintf(b, sizeof(b), "{\"a\":%s}", pairs[i].b);
		first = lock_of(&trial, a);
		second = lock_of(&trial, b);
		if (hash_equal(&first, &second) != pairs[i].is_same)
			fail_msg("%s and %s", a, b);
	}
	end(&trial);
}

static void test_a_lock_is_one_by_field_and_by_path(void **state)
{
	struct trial trial;
	struct hash hash;

	begin(&trial);
	trial.action.lock.count = name_parts(&trial, "/a", NULL, NULL);
	hash = lock_of(&trial, "{\"a\":\"Caf\xc3\xa9 /1\"}");
	trial.action.lock.count = name_parts(&trial, "1", NULL, NULL);
	trial.path = "/v1/here/CAF%C3%89%20%2F1";
	check_same(lock_of(&trial, NULL), hash, false); /* another kind of thing */
	trial.parts[0].name = STR("a");
	check_same(lock_of(&trial, NULL), hash, true);
	assert_true(str_equal(trial.facts.lock_name, STR("a=CAF\xc3\x89 /1")));
	end(&trial);
}

static void test_a_resource_is_one_by_any_name(void **state)
{
	struct trial trial;
	struct hash hash;

	begin(&trial);
	trial.action.lock.resource = STR("things");
	trial.action.lock.count = name_parts(&trial, "/a", NULL, NULL);
	hash = lock_of(&trial, "{\"a\":1}");
	trial.action.lock.count = name_parts(&trial, "/b", NULL, NULL);
	check_same(lock_of(&trial, "{\"b\":1}"), hash, true);
	trial.action.lock.resource = STR("others");
	check_same(lock_of(&trial, "{\"b\":1}"), hash, false);
	end(&trial);
}

static void test_bytes_that_are_no_text_can_be_locked(void **state)
{
	struct trial trial;
	struct hash hash;

	begin(&trial);
	trial.action.lock.count = name_parts(&trial, "1", NULL, NULL);
	trial.path = "/v1/here/%FFa";
	hash = lock_of(&trial, NULL);
	trial.path = "/v1/here/%FFA";
	check_same(lock_of(&trial, NULL), hash, true);
	trial.path = "/v1/here/%FEA";
	check_same(lock_of(&trial, NULL), hash, false);
	end(&trial);
}

static void test_ascii_is_folded_without_the_library(void **state)
{
	struct trial trial;

	begin(&trial);
	trial.action.lock.count = name_parts(&trial, "/a", NULL, NULL);
	foldings = 0;
	lock_of(&trial, "{\"a\":\"Production\"}");
	assert_int_equal(foldings, 0);
	lock_of(&trial, "{\"a\":\"\xc3\x89\"}");
	assert_int_equal(foldings, 1);
	end(&trial);
}

/* Longer than the room on the stack, in both ways of folding. */
static void test_long_names(void **state)
{
	char upper[2100] = "{\"a\":\"", lower[2100] = "{\"a\":\"";
	struct trial trial;

	begin(&trial);
	trial.action.lock.count = name_parts(&trial, "/a", NULL, NULL);
	memset(upper + 6, 'X', 2000);
	memset(lower + 6, 'x', 2000);
	strncat(upper, "\"}", 3);
	strncat(lower, "\"}", 3);
	check_same(lock_of(&trial, upper), lock_of(&trial, lower), true);
	assert_int_equal(trial.facts.lock_name.len, strlen("/a=") + 120 + strlen("…"));
	memcpy(upper + 1000, "\xc3\x89", 2);
	memcpy(lower + 1000, "\xc3\xa9", 2);
	check_same(lock_of(&trial, upper), lock_of(&trial, lower), true);
	memcpy(lower + 1000, "\xc3\xa8", 2);
	check_same(lock_of(&trial, upper), lock_of(&trial, lower), false);
	end(&trial);
}

static void check_name(const char *pointer, const char *command, const char *expected)
{
	struct trial trial;

	begin(&trial);
	trial.action.lock.count = name_parts(&trial, pointer, NULL, NULL);
	lock_of(&trial, command);
	if (!str_equal(trial.facts.lock_name, str_from(expected)))
		fail_msg("%s: %.*s", pointer, STR_ARG(trial.facts.lock_name));
	end(&trial);
}

static void test_names_of_locks(void **state)
{
	check_name("/o/in", "{\"o\":{\"in\":\"x\",\"key\":\"y\"}}", "/o/in=x");
	check_name("/o/key", "{\"o\":{\"key\":\"hush\"}}", "/o/key=(secret)");
	check_name("/o", "{\"o\":{\"key\":\"hush\"}}", "/o=(secret)");
	check_name("/l/0/key", "{\"l\":[{\"key\":\"hush\"}]}", "/l/0/key=(secret)");
	check_name("/l/0", "{\"l\":[{\"key\":\"hush\"}]}", "/l/0=(secret)");
	check_name("/a", "{\"a\":\"x\\ny\\u001b[\"}", "/a=x y [");
	check_name("/a", "{\"a\":1.0}", "/a=1");
	check_name("/a/key", "{\"a\":{\"key\":1}}", "/a/key=1");
}

static void check_version(const char *command, bool has_version, int64_t version)
{
	struct trial trial;

	begin(&trial);
	trial.action.lock.count = name_parts(&trial, "0", NULL, NULL);
	trial.action.lock.version = STR("/v");
	lock_of(&trial, command);
	assert_int_equal(trial.facts.has_version, has_version);
	if (has_version)
		assert_int_equal(trial.facts.version, version);
	end(&trial);
}

static void test_versions(void **state)
{
	check_version("{}", false, 0);
	check_version("{\"v\":null}", false, 0);
	check_version("{\"v\":0}", true, 0);
	check_version("{\"v\":7.0}", true, 7);
	check_version("{\"v\":-1}", true, -1);
	check_version("{\"v\":1e300}", true, INT64_MAX);
	check_version("{\"v\":-1e300}", true, INT64_MIN);
}

static void declare_budget(struct trial *trial, const char *of)
{
	(void)name_parts(trial, of, NULL, NULL);
	trial->action.budget = (struct rule_budget){
		.is_declared = true,
		.of = trial->parts[0],
		.amount = STR("/m"),
		.lets_unknown = true,
	};
}

static void test_budget(void **state)
{
	struct trial trial;
	struct hash hash;

	begin(&trial);
	declare_budget(&trial, "/a");
	assert_int_equal(
		look(&trial, "{\"a\":\"pay_1\",\"m\":{\"currency\":\"EUR\",\"minor_units\":4900}}"),
		0);
	assert_true(trial.facts.has_budget && trial.facts.lets_unknown_budget);
	assert_string_equal(trial.facts.spends.currency, "EUR");
	assert_int_equal(trial.facts.spends.minor_units, 4900);
	check_hash(&trial.facts.budget, budget_text_hash);
	budget_hash(STR("acme"), STR("pay"), STR("pay_1"), &hash);
	check_same(hash, trial.facts.budget, true);
	assert_int_equal(look(&trial, "{\"a\":17,\"m\":{\"currency\":\"EUR\",\"minor_units\":-5}}"),
			 0);
	check_hash(&trial.facts.budget, budget_number_hash);
	assert_int_equal(trial.facts.spends.minor_units, 0); /* never makes room */
	end(&trial);
}

static void test_budgets_are_apart(void **state)
{
	struct hash hash, other;

	budget_hash(STR("acme"), STR("pay"), STR("1"), &hash);
	budget_hash(STR("acme"), STR("pay"), STR("2"), &other);
	check_same(hash, other, false);
	budget_hash(STR("acme"), STR("bank"), STR("1"), &other);
	check_same(hash, other, false);
	budget_hash(STR("acm"), STR("epay"), STR("1"), &other);
	check_same(hash, other, false);
}

static void test_opening_a_budget(void **state)
{
	struct trial trial;

	begin(&trial);
	trial.action.opens_budget = (struct rule_opens_budget){
		.is_declared = true, .id = STR("/id"), .amount = STR("/m"), .for_ms = 5};
	assert_int_equal(look(&trial, "{\"m\":{\"currency\":\"JPY\",\"minor_units\":1}}"), 0);
	assert_true(trial.facts.opens_budget);
	assert_string_equal(trial.facts.opens.currency, "JPY");
	assert_int_equal(trial.facts.opens.minor_units, 1);
	assert_int_equal(look(&trial, "{\"m\":{\"currency\":\"JPY\",\"minor_units\":-1}}"), 0);
	assert_int_equal(trial.facts.opens.minor_units, 0); /* never a debt */
	assert_int_equal(trial.facts.budget_ms, 5);
	end(&trial);
}

/* What the configuration rules out is not guessed at. */
static void test_absent_parts_are_no_facts(void **state)
{
	struct trial trial;

	begin(&trial);
	trial.action.lock.count = name_parts(&trial, "/a", NULL, NULL);
	assert_int_equal(look(&trial, "{}"), FAIL_UNPLANNED);
	assert_int_equal(look(&trial, "{\"a\":null}"), FAIL_UNPLANNED);
	trial.action.lock.count = 0;
	declare_budget(&trial, "/a");
	assert_int_equal(look(&trial, "{\"a\":1}"), FAIL_UNPLANNED);
	assert_int_equal(look(&trial, "{\"m\":{\"currency\":\"EUR\",\"minor_units\":1}}"),
			 FAIL_UNPLANNED);
	end(&trial);
}

static void test_memory(void **state)
{
	static const char command[] = "{\"a\":\"\xc3\x89\"}";
	struct trial trial;
	size_t used;

	begin(&trial);
	trial.action.lock.count = name_parts(&trial, "/a", NULL, NULL);
	lock_of(&trial, command);
	trial.facts.has_lock = false;
	has_memory = false;
	assert_int_equal(look(&trial, command), FAIL_MEMORY);
	has_memory = true;
	assert_false(trial.facts.has_lock);
	used = trial.mem.used;
	assert_int_equal(look(&trial, command), 0);
	trial.mem.ceiling = trial.mem.used;
	assert_true(used < trial.mem.used);
	assert_int_equal(rule_facts_of(&trial.action, trial.account, STR("pay"),
				       str_from(trial.path), &(struct json_value){0}, &trial.mem,
				       &trial.facts),
			 FAIL_UNPLANNED);
	trial.action.lock.count = name_parts(&trial, "1", NULL, NULL);
	assert_int_equal(look(&trial, NULL), FAIL_MEMORY); /* no room for the name */
	end(&trial);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_rules),
		cmocka_unit_test(test_unique_hash),
		cmocka_unit_test(test_unique_needs_all_its_parts),
		cmocka_unit_test(test_unique_of_the_path_alone),
		cmocka_unit_test(test_parts_never_run_together),
		cmocka_unit_test(test_spelling_is_not_business),
		cmocka_unit_test(test_accounts_and_actions_are_apart),
		cmocka_unit_test(test_lock),
		cmocka_unit_test(test_lock_names_are_folded),
		cmocka_unit_test(test_a_lock_is_one_by_field_and_by_path),
		cmocka_unit_test(test_a_resource_is_one_by_any_name),
		cmocka_unit_test(test_bytes_that_are_no_text_can_be_locked),
		cmocka_unit_test(test_ascii_is_folded_without_the_library),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_names_of_locks),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_budgets_are_apart),
		cmocka_unit_test(test_opening_a_budget),
		cmocka_unit_test(test_absent_parts_are_no_facts),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
