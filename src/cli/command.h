/*
 * Commands: what a row of the program's table holds, and how a command line is read.
 *
 * A command has a name, texts, options and a function; or it has commands of its own, or both. Help
 * and messages come from the same row that the reading uses, so what they say is accepted is
 * accepted.
 *
 * Always true: nothing runs before its whole command line has been understood; a line that
 * is not is answered on stderr with what would have been, and ends with EXIT_USAGE.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Exit statuses of every command; further ones are named in the command's own text. */
enum {
	EXIT_DONE = 0,	 /* as asked */
	EXIT_NOT_SO = 1, /* the thing checked did not hold, or what was asked is not possible */
	EXIT_USAGE = 2,	 /* the command line or a configuration is wrong */
};

enum {
	COMMAND_OPTIONS_MAX = 24,
	COMMAND_OPERANDS_MAX = 16,
	COMMAND_VALUES_MAX = 64,    /* of options that may be given again */
	COMMAND_MESSAGE_MAX = 2048, /* bytes of one message; the rest is cut */
};

struct command_option {
	const char *name;  /* "--listen" */
	const char *value; /* what follows it: "ADDRESS"; NULL: a switch */
	const char *help;  /* a line or more, without a last newline */
	bool is_list;	   /* it may be given again: command_next_value() has them all */
	char letter;	   /* 'H': -H is the same; 0: it has no short form */
	bool may_be_empty; /* "" is a value, too */
};

struct command;

/* A command line that has been understood. */
struct command_call {
	const struct command *command;
	const char *options[COMMAND_OPTIONS_MAX]; /* by the row's index: the value, "" for a
						     switch; NULL: not given */
	const char *operands[COMMAND_OPERANDS_MAX];
	size_t operand_count;
	struct {
		size_t option; /* its index */
		const char *value;
	} values[COMMAND_VALUES_MAX]; /* of the lists, in the order given */
	size_t value_count;
};

/* The next value of a list, from *at (0 at first) on; NULL past the last. */
const char *command_next_value(const struct command_call *call, size_t option, size_t *at);

struct command {
	const char *name;    /* all its words: "op list" */
	const char *summary; /* one line, no full stop */
	const char *usage;   /* what follows the name: "OP [--json]"; "" for nothing */
	const char *text;    /* paragraphs for its help, ending in a newline; NULL: none */
	const struct command_option *options;
	size_t option_count;
	size_t operands_min, operands_max;
	const struct command *const *commands; /* its own commands, NULL at the end; or NULL */
	/* Returns the exit status. NULL: it only has commands of its own; beside such, it runs
	 * where the first word is none of theirs. */
	int (*run)(const struct command_call *call);
};

/* Understand `words` (those after the command's own) and run it. Returns the exit status. */
int command_run(const struct command *command, int count, char *const *words);

/* The command that `words` lead to from `root`; NULL, with a message, when there is none. */
const struct command *command_find(const struct command *root, size_t count,
				   const char *const *words);

/* The help of one command. */
void command_help(const struct command *command, FILE *out);

/*
 * A message on stderr: "counterfoil: …" and a newline. Control characters in it are escaped,
 * wherever they came from.
 */
void command_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, then how the command is used. Returns EXIT_USAGE. */
int command_misused(const struct command *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The commands, one a file. */
extern const struct command command_serve;
extern const struct command command_sandbox;
extern const struct command command_call;
extern const struct command command_op;
extern const struct command command_approve;
extern const struct command command_deny; /* in cmd_approve.c */
extern const struct command command_drill;
extern const struct command command_drill_init; /* of drill */
extern const struct command command_config;
extern const struct command command_key;
extern const struct command command_secret;
extern const struct command command_audit;
extern const struct command command_vault;
extern const struct command command_call_list; /* of call */
extern const struct command command_call_show;
extern const struct command command_call_forget;
extern const struct command command_call_prune;
extern const struct command command_call_token;
extern const struct command command_audit_show; /* of audit */
extern const struct command command_audit_export;
extern const struct command command_audit_rotate;
extern const struct command command_audit_erase;
extern const struct command command_audit_prove;

#endif
