/* A command line is understood by its row, whole, or refused before anything runs. */
#include "cli/command.h"

#include "cli_test.h"

#include <stdio.h>
#include <string.h>

static struct command_call seen; /* what the last run got */
static int runs;

static int run(const struct command_call *call)
{
	seen = *call;
	runs++;
	return 7;
}

static const struct command_option options[] = {
	{"--name", "NAME", "a name"},
	{"--loud", NULL, "a switch"},
	{"--more", "WORD", "a list", true},
};
static const struct command leaf = {
	.name = "group leaf",
	.summary = "a leaf",
	.usage = "",
	.options = options,
	.option_count = 3,
	.operands_min = 1,
	.operands_max = 2,
	.run = run,
};
static const struct command both = {
	.name = "both",
	.summary = "operands, or a command of its own",
	.usage = "WORD",
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
	.commands = (const struct command *const[]){
		&(const struct command){
			.name = "both own", .summary = "its own", .usage = "", .run = run},
		NULL}};
static const struct command *const group_commands[] = {&leaf, NULL};
static const struct command group = {
	.name = "group", .summary = "a group", .usage = "", .commands = group_commands};
static const struct command *const root_commands[] = {&group, &both, NULL};
static const struct command root = {
	.name = "", .summary = "all", .usage = "", .commands = root_commands};

/* The exit status of the words in `line`, which are split at blanks. */
static int status_of(const char *line)
{
	static char text[256]; /* what was seen points into it */
	char *words[16], *rest = text;
	int count = 0;

	snprintf(text, sizeof(text), "%s", line);
	for (char *word; (word = strsep(&rest, " ")) != NULL;)
		words[count++] = word;
	runs = 0;
	return command_run(&root, count, words);
}

static void words_may_stand_in_any_order(void **state)
{
	assert_int_equal(status_of("group leaf --name n one --loud two"), 7);
	assert_string_equal(seen.options[0], "n");
	assert_string_equal(seen.options[1], "");
	assert_int_equal(seen.operand_count, 2);
	assert_string_equal(seen.operands[0], "one");
	assert_string_equal(seen.operands[1], "two");
	assert_int_equal(status_of("group leaf one --name=n=m"), 7);
	assert_string_equal(seen.options[0], "n=m");
	assert_null(seen.options[1]);
}

static void two_dashes_end_the_options(void **state)
{
	assert_int_equal(status_of("group leaf -- --name"), 7);
	assert_string_equal(seen.operands[0], "--name");
	assert_null(seen.options[0]);
	assert_int_equal(status_of("group leaf -"), 7);
	assert_string_equal(seen.operands[0], "-");
}

static void lists_keep_every_value(void **state)
{
	size_t at = 0;

	assert_int_equal(status_of("group leaf --more a one --name n --more=b"), 7);
	assert_string_equal(command_next_value(&seen, 2, &at), "a");
	assert_string_equal(command_next_value(&seen, 2, &at), "b");
	assert_null(command_next_value(&seen, 2, &at));
	at = 0;
	assert_null(command_next_value(&seen, 0, &at));
}

static void a_command_may_have_both(void **state)
{
	assert_int_equal(status_of("both word"), 7);
	assert_string_equal(seen.command->name, "both");
	assert_string_equal(seen.operands[0], "word");
	assert_int_equal(status_of("both own"), 7);
	assert_string_equal(seen.command->name, "both own");
	assert_int_equal(status_of("both"), EXIT_USAGE);
}

static void what_is_not_understood_does_not_run(void **state)
{
	static const char *const lines[] = {
		"grup",
		"group",
		"group laef",
		"group --name x",
		"--name x",
		"group leaf",
		"group leaf one two three",
		"group leaf one --nam x",
		"group leaf one --name",
		"group leaf one --name=",
		"group leaf one --loud=yes",
		"group leaf one --loud --loud",
		"group leaf one -x",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_equal(status_of(lines[i]), EXIT_USAGE);
		assert_int_equal(runs, 0);
	}
}

static void help_runs_nothing(void **state)
{
	assert_int_equal(status_of("group leaf --name --help"), EXIT_DONE);
	assert_int_equal(status_of("group -h"), EXIT_DONE);
	assert_int_equal(runs, 0);
}

static void names_lead_to_their_command(void **state)
{
	const char *const words[] = {"group", "leaf", "more"};

	assert_ptr_equal(command_find(&root, 0, words), &root);
	assert_ptr_equal(command_find(&root, 2, words), &leaf);
	assert_null(command_find(&root, 3, words));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_may_stand_in_any_order),
		cmocka_unit_test(two_dashes_end_the_options),
		cmocka_unit_test(lists_keep_every_value),
		cmocka_unit_test(a_command_may_have_both),
		cmocka_unit_test(what_is_not_understood_does_not_run),
		cmocka_unit_test(help_runs_nothing),
		cmocka_unit_test(names_lead_to_their_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
