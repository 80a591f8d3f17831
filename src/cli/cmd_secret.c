/*
 * counterfoil secret: the credentials that the gate itself has for services.
 *
 * A secret comes from standard input, never from the command line, where others on the machine
 * would read it; from a terminal it is asked for without an echo. Nothing here prints one, and the
 * gate does not give one back.
 */
#include "cli/admin_call.h"
#include "cli/command.h"
#include "cli/op_view.h"
#include "core/secret.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

enum {
	TARGET_MAX = 128,
	READ_MAX = SECRET_VALUE_MAX + 2, /* with the end of its line, and one byte too many */
	BODY_MAX = 6 * SECRET_VALUE_MAX + 64,
	COLUMNS = 3,
};

static const struct command_option secret_options[] = {ADMIN_OPTIONS};

/* The target of the operand's secret; false after a message. */
static bool read_name(const struct command_call *call, char out_target[TARGET_MAX])
{
	if (!secret_name_is_fine(str_from(call->operands[0]))) {
		command_misused(call->command,
				"\"%s\" is no name of a secret: 1 to 64 letters, digits, \".\", "
				"\"-\" or \"_\", the first a letter or a digit",
				call->operands[0]);
		return false;
	}
	snprintf(out_target, TARGET_MAX, "/api/secrets/%s", call->operands[0]);
	return true;
}

/* -- set --------------------------------------------------------------------------- */

/* All of standard input, up to one byte more than may be; of a terminal one line. */
static bool read_input(struct buf *out, bool is_line)
{
	while (out->len < READ_MAX) {
		char *room = buf_reserve(out, READ_MAX - out->len);
		ssize_t n = room ? read(STDIN_FILENO, room, READ_MAX - out->len) : -1;

		if (n < 0 && room && errno == EINTR)
			continue;
		if (n < 0) {
			command_message("the secret cannot be read: %s", strerror(errno));
			return false;
		}
		buf_commit(out, (size_t)n);
		if (n == 0 || (is_line && out->at[out->len - 1] == '\n'))
			return true;
	}
	return true;
}

static void hold_signals(bool is_held, sigset_t *before)
{
	sigset_t stops;

	if (!is_held) {
		sigprocmask(SIG_SETMASK, before, NULL);
		return;
	}
	sigemptyset(&stops);
	sigaddset(&stops, SIGINT);
	sigaddset(&stops, SIGQUIT);
	sigaddset(&stops, SIGTSTP);
	sigaddset(&stops, SIGTERM);
	sigprocmask(SIG_BLOCK, &stops, before);
}

/*
 * What is typed is not shown. Signals wait meanwhile, so that nobody is left with a terminal that
 * shows nothing; Ctrl-D, or an empty line, ends it.
 */
static bool ask_terminal(const char *name, struct buf *out)
{
	struct termios before, silent;
	sigset_t signals;
	bool is_read;

	if (tcgetattr(STDIN_FILENO, &before) != 0) {
		command_message("the terminal cannot be silenced; pipe the secret in");
		return false;
	}
	silent = before;
	silent.c_lflag &= ~(tcflag_t)ECHO;
	silent.c_lflag |= ECHONL;
	hold_signals(true, &signals);
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent); /* first: what is typed from then on counts */
	fprintf(stderr, "Secret %s (not shown): ", name);
	fflush(stderr);
	is_read = read_input(out, true);
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
	hold_signals(false, &signals);
	return is_read;
}

/* Without the one line end that an editor or echo puts there. */
static struct str trimmed(const struct buf *input)
{
	struct str value = buf_str(input);

	if (value.len && value.at[value.len - 1] == '\n')
		value.len--;
	return value;
}

/* {"value": …}; false after a message. What is no UTF-8 would arrive as something else. */
static bool write_body(struct str value, struct arena *mem, struct buf *body)
{
	const char *fault = secret_value_fault(value);
	struct json_value *read;
	struct json_error error;
	struct json_writer json;

	if (fault) {
		command_message("%s", fault);
		return false;
	}
	json_writer_init(&json, body);
	json_open_object(&json);
	json_name(&json, "value");
	json_string(&json, value);
	json_close_object(&json);
	if (!body->is_spoiled &&
	    json_read(buf_str(body), &json_limits_default, mem, &read, &error) == 0 &&
	    str_equal(json_member(read, STR("value"))->string, value))
		return true;
	command_message("The secret is no UTF-8 text.");
	return false;
}

static void print_set(const struct command_call *call, struct admin_client *client)
{
	printf("%s is set\n", call->operands[0]);
}

static int run_set(const struct command_call *call)
{
	char target[TARGET_MAX];
	struct buf input, body;
	struct arena mem;
	bool is_read;
	int r = EXIT_NOT_SO;

	if (!read_name(call, target))
		return EXIT_USAGE;
	buf_init(&input, READ_MAX);
	buf_init(&body, BODY_MAX);
	(void)buf_reserve(&body, BODY_MAX);
	arena_init(&mem, ADMIN_MEMORY_MAX);
	is_read = isatty(STDIN_FILENO) ? ask_terminal(call->operands[0], &input)
				       : read_input(&input, false);
	if (is_read && write_body(trimmed(&input), &mem, &body))
		r = admin_call(call, "PUT", str_from(target), buf_str(&body), print_set);
	arena_fini(&mem);
	buf_fini_wiped(&body);
	buf_fini_wiped(&input);
	return r;
}

static const struct command command_set = {
	.name = "secret set",
	.summary = "keeps a secret that is typed, or comes on standard input",
	.usage = "NAME [--json]",
	.text = "It takes the place of the one that has the name, and counts from the next request "
		"on;\n"
		"nothing has to be restarted. One line end is cut off. It has to be one line of "
		"text\n"
		"of at most 16 KiB. A configuration names it as an upstream's credential.\n"
		"It is never shown again, by no command.\n",
	.options = secret_options,
	.option_count = sizeof(secret_options) / sizeof(secret_options[0]),
	.operands_min = 1,
	.operands_max = 1,
	.run = run_set,
};

/* -- list -------------------------------------------------------------------------- */

static struct str joined(const struct json_value *list, struct arena *mem)
{
	struct str text = STR("");

	for (size_t i = 0; list && list->type == JSON_ARRAY && i < list->array.count; i++) {
		const struct json_value *item = list->array.items[i];

		if (item->type == JSON_STRING)
			text = arena_printf(mem, "%.*s%s%.*s", STR_ARG(text), text.len ? ", " : "",
					    STR_ARG(item->string));
	}
	return text;
}

static void add_row(const struct json_value *secret, struct arena *mem, struct table *table)
{
	struct str since = op_member_text(secret, "updated_at", mem);
	const struct str texts[COLUMNS] = {
		op_member_text(secret, "name", mem),
		since.len ? since : STR("not set"),
		joined(op_member(secret, "upstreams"), mem),
	};

	table_add(table, texts);
}

static void print_list(const struct command_call *call, struct admin_client *client)
{
	static const struct table_column columns[COLUMNS] = {
		{"SECRET", SECRET_NAME_MAX}, {"SET", 24}, {"UPSTREAMS", 80}};

	admin_print_table(client, "secrets", columns, COLUMNS, add_row,
			  "no secret is set, and no upstream wants one");
}

static int run_list(const struct command_call *call)
{
	return admin_call(call, "GET", STR("/api/secrets"), STR(""), print_list);
}

static const struct command command_list = {
	.name = "secret list",
	.summary = "names secrets, when each was set, and which upstreams want them",
	.usage = "[--json]",
	.text = "Also those that an upstream wants and nobody has set: nothing is sent there "
		"until\n"
		"they are.\n",
	.options = secret_options,
	.option_count = sizeof(secret_options) / sizeof(secret_options[0]),
	.run = run_list,
};

/* -- rm ---------------------------------------------------------------------------- */

static void print_removed(const struct command_call *call, struct admin_client *client)
{
	printf("%s is removed\n", call->operands[0]);
}

static int run_remove(const struct command_call *call)
{
	char target[TARGET_MAX];

	if (!read_name(call, target))
		return EXIT_USAGE;
	return admin_call(call, "DELETE", str_from(target), STR(""), print_removed);
}

static const struct command command_remove = {
	.name = "secret rm",
	.summary = "forgets a secret",
	.usage = "NAME [--json]",
	.text = "Nothing is sent any more to an upstream whose credential it is.\n",
	.options = secret_options,
	.option_count = sizeof(secret_options) / sizeof(secret_options[0]),
	.operands_min = 1,
	.operands_max = 1,
	.run = run_remove,
};

static const struct command *const secret_commands[] = {
	&command_set,
	&command_list,
	&command_remove,
	NULL,
};

const struct command command_secret = {
	.name = "secret",
	.summary = "sets, lists and removes the gate's own credentials for services",
	.usage = "set|list|rm [OPTIONS]",
	.commands = secret_commands,
};
