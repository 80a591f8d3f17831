/*
 * Reading a command line by its command's row.
 *
 * Options may stand anywhere, as `--name value` or `--name=value`, those with a letter also as
 * `-n value` or `-nvalue`, each at most once unless it is a list; `--` ends them. A word that is
 * not known is answered with the nearest one that is.
 */
#include "cli/command.h"

#include "base/terminal.h"
#include "cli/suggest.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

static void print_option(const struct command_option *option, FILE *out);

static const char *last_word(const char *name)
{
	const char *space = strrchr(name, ' ');

	return space ? space + 1 : name;
}

static bool is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static const struct command *find_own(const struct command *parent, const char *word)
{
	for (size_t i = 0; parent->commands && parent->commands[i]; i++) {
		if (strcmp(last_word(parent->commands[i]->name), word) == 0)
			return parent->commands[i];
	}
	return NULL;
}

/* Say that `parent` has no such command, and which ones it has. */
static void no_such_command(const struct command *parent, const char *word)
{
	struct suggestion suggestion;
	char known[512] = "";
	size_t len = 0;

	suggest_begin(&suggestion, word);
	for (size_t i = 0; parent->commands && parent->commands[i]; i++) {
		const char *name = last_word(parent->commands[i]->name);

		suggest_offer(&suggestion, name);
		if (len < sizeof(known))
			len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s",
						i ? ", " : "", name);
	}
	if (!parent->commands)
		command_message("%s has no commands of its own", parent->name);
	else if (suggestion.best)
		command_message("there is no command \"%s\"; did you mean \"%s\"? (known: %s)",
				word, suggestion.best, known);
	else
		command_message("there is no command \"%s\"; known are %s", word, known);
}

const struct command *command_find(const struct command *root, size_t count,
				   const char *const *words)
{
	const struct command *command = root;

	for (size_t i = 0; i < count; i++) {
		const struct command *own = find_own(command, words[i]);

		if (!own) {
			no_such_command(command, words[i]);
			return NULL;
		}
		command = own;
	}
	return command;
}

static int no_such_option(const struct command *command, const char *word, size_t name_len)
{
	struct suggestion suggestion;
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)(name_len < 63 ? name_len : 63), word);
	suggest_begin(&suggestion, name);
	for (size_t i = 0; i < command->option_count; i++)
		suggest_offer(&suggestion, command->options[i].name);
	if (suggestion.best)
		command_misused(command, "there is no option %s; did you mean %s?", name,
				suggestion.best);
	else
		command_misused(command, "there is no option %s", name);
	for (size_t i = 0; i < command->option_count; i++)
		print_option(&command->options[i], stderr);
	return EXIT_USAGE;
}

/* The option that a word begins with, and where its value starts in the word, if it does. */
static size_t find_option(const struct command *command, const char *word, const char **out_value)
{
	size_t name_len = strcspn(word, "="), i;

	for (i = 0; i < command->option_count; i++) {
		const struct command_option *option = &command->options[i];

		*out_value = word[name_len] ? word + name_len + 1 : NULL;
		if (strlen(option->name) == name_len && memcmp(option->name, word, name_len) == 0)
			break;
		*out_value = word[1] && word[2] ? word + 2 : NULL;
		if (option->letter && word[1] == option->letter)
			break;
	}
	return i;
}

static int keep_value(struct command_call *call, size_t i, const char *value)
{
	const struct command_option *option = &call->command->options[i];

	if (!call->options[i])
		call->options[i] = value;
	else if (!option->is_list)
		return command_misused(call->command, "%s is given twice", option->name);
	if (!option->is_list)
		return 0;
	if (call->value_count == COMMAND_VALUES_MAX)
		return command_misused(call->command, "%s is given too often", option->name);
	call->values[call->value_count].option = i;
	call->values[call->value_count++].value = value;
	return 0;
}

const char *command_next_value(const struct command_call *call, size_t option, size_t *at)
{
	while (*at < call->value_count) {
		size_t index = (*at)++;

		if (call->values[index].option == option)
			return call->values[index].value;
	}
	return NULL;
}

/*
 * One option at words[*at]; *at is left on its last word. 0, or the exit status after a
 * message.
 */
static int read_option(struct command_call *call, int count, char *const *words, int *at)
{
	const struct command *command = call->command;
	const char *word = words[*at], *value;
	size_t i = find_option(command, word, &value);
	const struct command_option *option = &command->options[i];

	if (i == command->option_count)
		return no_such_option(command, word, strcspn(word, "="));
	if (!option->value)
		return value ? command_misused(command, "%s takes no value", option->name)
			     : keep_value(call, i, "");
	if (!value && *at + 1 < count)
		value = words[++*at];
	if (!value || (!*value && !option->may_be_empty))
		return command_misused(command, "%s needs a value: %s %s", option->name,
				       option->name, option->value);
	return keep_value(call, i, value);
}

static int read_operand(struct command_call *call, const char *word)
{
	if (call->operand_count == call->command->operands_max)
		return command_misused(call->command, "\"%s\" is one word too many", word);
	call->operands[call->operand_count++] = word;
	return 0;
}

/* The whole line. 0, or the exit status after a message. */
static int read_line(struct command_call *call, int count, char *const *words)
{
	bool is_options_over = false;

	for (int at = 0; at < count; at++) {
		const char *word = words[at];
		int r = 0;

		if (!is_options_over && strcmp(word, "--") == 0)
			is_options_over = true;
		else if (!is_options_over && word[0] == '-' && word[1])
			r = read_option(call, count, words, &at);
		else
			r = read_operand(call, word);
		if (r != 0)
			return r;
	}
	if (call->operand_count < call->command->operands_min)
		return command_misused(call->command, "%s needs %.*s", call->command->name,
				       (int)strcspn(call->command->usage, " "),
				       call->command->usage);
	return 0;
}

static bool asks_for_help(int count, char *const *words)
{
	for (int i = 0; i < count && strcmp(words[i], "--") != 0; i++) {
		if (is_help(words[i]))
			return true;
	}
	return false;
}

static int run_itself(const struct command *command, int count, char *const *words)
{
	struct command_call call = {.command = command};
	int r;

	if (asks_for_help(count, words)) {
		command_help(command, stdout);
		return EXIT_DONE;
	}
	r = read_line(&call, count, words);
	return r != 0 ? r : command->run(&call);
}

/* A command that has commands. */
static int run_group(const struct command *group, int count, char *const *words)
{
	const struct command *own = count ? find_own(group, words[0]) : NULL;

	if (own)
		return command_run(own, count - 1, words + 1);
	if (group->run)
		return run_itself(group, count, words);
	if (count == 0) {
		command_help(group, stderr);
		return EXIT_USAGE;
	}
	if (is_help(words[0])) {
		command_help(group, stdout);
		return EXIT_DONE;
	}
	if (words[0][0] == '-')
		return no_such_option(group, words[0], strcspn(words[0], "="));
	no_such_command(group, words[0]);
	return EXIT_USAGE;
}

int command_run(const struct command *command, int count, char *const *words)
{
	return command->commands ? run_group(command, count, words)
				 : run_itself(command, count, words);
}

/* -- texts ------------------------------------------------------------------------- */

static void print_usage(const struct command *command, FILE *out)
{
	fprintf(out, "Usage: counterfoil %s%s%s\n", command->name,
		*command->name && *command->usage ? " " : "", command->usage);
}

static void print_option(const struct command_option *option, FILE *out)
{
	const char letter[] = {'-', option->letter, ',', ' ', '\0'};
	const char *line = option->help;
	char head[64];

	snprintf(head, sizeof(head), "%s%s%s%s%s", option->letter ? letter : "", option->name,
		 option->value ? " " : "", option->value ? option->value : "",
		 option->is_list ? " …" : "");
	fprintf(out, "  %-22s", head);
	if (strlen(head) > 21)
		fprintf(out, "\n%24s", "");
	while (*line) {
		size_t len = strcspn(line, "\n");

		fprintf(out, "%s%.*s\n", line == option->help ? "" : "                        ",
			(int)len, line);
		line += len + (line[len] == '\n');
	}
}

/* The width of the longest name of its commands, for a list in columns. */
static int longest_name(const struct command *parent)
{
	size_t longest = 0;

	for (size_t i = 0; parent->commands[i]; i++) {
		size_t len = strlen(parent->commands[i]->name);

		longest = len > longest ? len : longest;
	}
	return (int)longest + 1;
}

void command_help(const struct command *command, FILE *out)
{
	print_usage(command, out);
	fprintf(out, "\n%c%s.\n", toupper((unsigned char)command->summary[0]),
		command->summary + 1);
	if (command->text)
		fprintf(out, "\n%s", command->text);
	for (size_t i = 0; command->commands && command->commands[i]; i++)
		fprintf(out, "%s  %-*s %s\n", i ? "" : "\nCommands:\n", longest_name(command),
			command->commands[i]->name, command->commands[i]->summary);
	for (size_t i = 0; i < command->option_count; i++) {
		if (i == 0)
			fprintf(out, "\nOptions:\n");
		print_option(&command->options[i], out);
	}
}

__attribute__((format(printf, 1, 0))) static void print_message(const char *format,
								va_list arguments)
{
	char message[COMMAND_MESSAGE_MAX];

	vsnprintf(message, sizeof(message), format, arguments);
	fputs("counterfoil: ", stderr);
	terminal_print(stderr, str_from(message));
	fputc('\n', stderr);
}

void command_message(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_message(format, arguments);
	va_end(arguments);
}

int command_misused(const struct command *command, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_message(format, arguments);
	va_end(arguments);
	print_usage(command, stderr);
	return EXIT_USAGE;
}
