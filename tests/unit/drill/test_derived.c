/* A derived configuration has the rules of the first, and nothing of its world. */
#include "drill/derived.h"

#include "config/settings.h"
#include "drill_test.h"

static struct arena mem;
static struct buf out;
static struct settings *settings;

static int setup(void **state)
{
	arena_init(&mem, TEST_MEMORY_MAX);
	buf_init(&out, 65536);
	return 0;
}

static int teardown(void **state)
{
	settings_free(settings);
	settings = NULL;
	buf_fini(&out);
	arena_fini(&mem);
	return 0;
}

static void derive(struct str text)
{
	const struct derived_places places = {STR("/tmp/x y"), STR("http://127.0.0.1:4")};
	struct settings_report report;
	struct node *root;

	settings_report_init(&report);
	assert_int_equal(yaml_read(text, "test", &mem, &report, &root), 0);
	derived_write(root, &places, &out);
	assert_false(out.is_spoiled);
	if (settings_parse(buf_str(&out), "derived", NULL, &settings, &report) != 0) {
		settings_report_print(&report, stderr);
		fail_msg("%.*s", STR_ARG(buf_str(&out)));
	}
	settings_report_fini(&report);
}

static bool has(const char *words)
{
	return memmem(out.at, out.len, words, strlen(words));
}

static void test_the_world_is_left_out(void **state)
{
	derive(STR(
		"listen: 0.0.0.0:8080\nadmin: 127.0.0.1:8081\ndata: /var/lib/mine\n"
		"tls: {certificate: /etc/c.pem, key: /etc/k.pem}\n"
		"upstreams:\n  default: {url: \"https://real.example.com\", credential: mine}\n"
		"  pay: {url: \"https://pay.example.com\", downstream_key: X-Key, ca_file: /etc/a, "
		"timeout: 7s}\n"
		"accounts: {from: jwt, jwt: {jwks: \"https://login.example.com/k\", issuer: i, "
		"audience: a}}\n"
		"notify: {url: \"https://hook.example.com\"}\n"
		"audit: {anchors: [/mnt/other]}\n"
		"tokens: {header: X-Once, retention: 5s}\n"));
	assert_false(has("example.com"));
	assert_false(has("/etc/"));
	assert_false(has("/mnt/"));
	assert_false(has("/var/lib"));
	assert_false(has("mine"));
	assert_int_equal(settings->upstream_count, 2);
	assert_true(str_equal(settings->upstreams[1].url.text, STR("http://127.0.0.1:4")));
	assert_int_equal(settings->upstreams[1].timeout_ms, 7000);
	assert_true(str_equal(settings->upstreams[1].downstream_key, STR("X-Key")));
	assert_true(str_equal(settings->tokens.header, STR("X-Once")));
	assert_int_equal(settings->tokens.retention_ms, 5000);
	assert_true(str_equal(settings->data, STR("/tmp/x y")));
}

static void test_rules_stay(void **state)
{
	derive(STR("upstreams: {default: {url: \"http://127.0.0.1:9000\"}}\nactions:\n"
		   "  pay:\n    route: \"POST /v1/pay/{shop}\"\n    summary: \"a: #{b}\"\n"
		   "    fields:\n      b: {type: string, required: true, enum: [\"1\", yes, "
		   "\"a\\nb\"], "
		   "pattern: '.*'}\n      n: {type: integer, minimum: 3}\n"
		   "    unique: {by: [b], for: 3d}\n"
		   "    approval: {when: always, approvers: 2, by: {roles: [operator]}}\n"
		   "  event: {route: POST /hook, inbox: {}}\n"));
	assert_int_equal(settings->action_count, 1);
	assert_true(str_equal(settings->actions[0].name, STR("pay")));
	assert_true(str_equal(settings->actions[0].summary, STR("a: #{b}")));
	assert_int_equal(settings->actions[0].fields[0].choice_count, 3);
	assert_true(str_equal(settings->actions[0].fields[0].choices[2]->string, STR("a\nb")));
	assert_int_equal(settings->actions[0].unique.count, 1);
	assert_true(settings->actions[0].approval.is_always);
	assert_int_equal(settings->actions[0].approval.approvers, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_the_world_is_left_out, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rules_stay, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
