/*
 * counterfoil drill init: a first scenario for an API.
 *
 * Questions are asked only where somebody can answer them: with a terminal on standard input and
 * without --yes. A file that is there is never written over.
 */
#include "cli/command.h"

#include "drill/init.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
	OPTION_WRITE,
	OPTION_BODY,
	OPTION_ID,
	OPTION_COUNT_GET,
	OPTION_COUNT,
	OPTION_OPENAPI,
	OPTION_OUTPUT,
	OPTION_YES,
};

static const struct command_option options[] = {
	{"--write", "WRITE", "the write: \"POST /v1/tickets\""},
	{"--body", "JSON", "its body, with {marker} where a text is free"},
	{"--id", "POINTER", "where the id is in its answer: /id"},
	{"--count-get", "PATH", "what lists the effects: \"/v1/tickets?title={marker}\""},
	{"--count", "POINTER", "where the list or number is in that: /data"},
	{"--openapi", "FILE", "take the writes from this description of the API, a file or URL"},
	{"--output", "FILE", "a new file for it, instead of stdout"},
	{"--yes", NULL, "ask nothing: what is not given has its default"},
};

static int finish(FILE *out, const char *file, int r)
{
	if (out != stdout && fclose(out) != 0 && r == 0) {
		command_message("%s could not be written: %s", file, strerror(errno));
		return EXIT_NOT_SO;
	}
	if (r != 0 && out != stdout)
		unlink(file);
	return r == 0 ? EXIT_DONE : r == DRILL_INIT_UNFIT ? EXIT_USAGE : EXIT_NOT_SO;
}

static int run(const struct command_call *call)
{
	const char *file = call->options[OPTION_OUTPUT];
	const struct drill_init_options how = {.url = call->operands[0],
					       .write = call->options[OPTION_WRITE],
					       .body = call->options[OPTION_BODY],
					       .id = call->options[OPTION_ID],
					       .count_get = call->options[OPTION_COUNT_GET],
					       .count = call->options[OPTION_COUNT],
					       .openapi = call->options[OPTION_OPENAPI],
					       .is_sure = call->options[OPTION_YES] ||
							  !isatty(STDIN_FILENO)};
	FILE *out = file ? fopen(file, "wxe") : stdout;

	if (!out) {
		command_message("%s could not be made: %s", file, strerror(errno));
		return EXIT_NOT_SO;
	}
	return finish(out, file, drill_init(&how, stdin, out));
}

const struct command command_drill_init = {
	.name = "drill init",
	.summary = "writes a first scenario for an API, from answers or from OpenAPI",
	.usage = "URL [OPTIONS]",
	.text = "URL is where the API is; nothing is sent to it. On a terminal each thing that no\n"
		"option says is asked. With --openapi there is a scenario for each POST; several\n"
		"are divided by lines of \"---\", and --write \"POST /path\" chooses one.\n",
	.options = options,
	.option_count = sizeof(options) / sizeof(options[0]),
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
