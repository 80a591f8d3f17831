/*
 * counterfoil call: a durable client on the command line.
 *
 * One action, one effect, however often the command is run: what is to be done is written into the
 * journal before it is sent (client/delivery.h), and standard output has one JSON object that says
 * how far it came. Credentials come from the environment or a file, since a command line can be
 * read by others.
 */
#include "cli/call_request.h"
#include "cli/call_view.h"
#include "cli/command.h"

#include "base/err.h"

enum {
	LIST_MAX = 1000, /* entries that are listed */
	LIST_DEFAULT = 50,
};

/* A command's exit status for what the journal or a delivery could not do. */
static int explain(int r, const struct journal_error *err)
{
	command_message("%s", err->text);
	return r == DELIVERY_REFUSED ? EXIT_USAGE : EXIT_NOT_SO;
}

static int no_memory(void)
{
	command_message("there is not enough memory");
	return EXIT_NOT_SO;
}

static int open_journal(const struct command_call *call, size_t option, struct journal **out)
{
	struct journal_error err;

	if (journal_open(call->options[option], &env_machine, out, &err) == 0)
		return EXIT_DONE;
	command_message("%s", err.text);
	return EXIT_NOT_SO;
}

/* -- call ---------------------------------------------------------------------------- */

/* What a deliberate new action leaves behind is said once, for whoever did not mean it. */
static int say_what_is_left(struct journal *journal, const struct delivery_request *request,
			    struct arena *mem)
{
	struct journal_entry entry;
	struct journal_error err;
	int r = journal_token(journal, &request->step, false, mem, &entry, &err);

	if (r != 0)
		return explain(r, &err);
	if (entry.state == ENTRY_OPEN || entry.state == ENTRY_UNKNOWN ||
	    entry.state == ENTRY_SENDING)
		command_message("the action before (%.*s) is %s and stays so: this one may be a "
				"second effect",
				STR_ARG(entry.step.token), entry_state_text(entry.state));
	return EXIT_DONE;
}

static int deliver(struct journal *journal, const struct delivery_request *request,
		   struct arena *mem)
{
	struct delivery_result result;
	struct journal_error err;
	int r;

	r = delivery_send(journal, request, mem, &result, &err);
	if (r != 0 && r != DELIVERY_UNKEPT)
		return explain(r, &err);
	if (!call_print(&result))
		return no_memory();
	return r == 0 ? call_exit(&result) : explain(r, &err);
}

static int run_call(const struct command_call *call)
{
	struct delivery_request request;
	struct journal *journal = NULL;
	struct arena mem;
	int r;

	arena_init(&mem, DELIVERY_MEMORY_MAX);
	r = call_request_read(call, &mem, &request);
	if (r == EXIT_DONE)
		r = open_journal(call, CALL_JOURNAL, &journal);
	if (r == EXIT_DONE && request.is_new)
		r = say_what_is_left(journal, &request, &mem);
	if (r == EXIT_DONE)
		r = deliver(journal, &request, &mem);
	journal_close(journal);
	arena_fini(&mem);
	return r;
}

/* -- token --------------------------------------------------------------------------- */

enum { TOKEN_TASK, TOKEN_STEP, TOKEN_NEW, TOKEN_JOURNAL };

static const struct command_option token_options[] = {
	{"--task", "TASK", "the workflow"},
	{"--step", "STEP", "what is done in it"},
	{"--new", NULL, "draw one for a deliberate new action"},
	{"--journal", "FILE", "the journal (default: see counterfoil help call)"},
};

static int run_token(const struct command_call *call)
{
	struct step wish = {.task = str_from(call->options[TOKEN_TASK]),
			    .step = str_from(call->options[TOKEN_STEP]),
			    .method = str_from(call->operands[0]),
			    .url = str_from(call->operands[1])};
	struct journal *journal = NULL;
	struct journal_entry entry;
	struct journal_error err;
	struct step step;
	struct arena mem;
	const char *why;
	int r;

	arena_init(&mem, DELIVERY_MEMORY_MAX);
	r = step_read(&wish, &mem, &step, &why);
	if (r != 0) {
		arena_fini(&mem);
		return r < 0 ? no_memory() : command_misused(call->command, "%s", why);
	}
	r = open_journal(call, TOKEN_JOURNAL, &journal);
	if (r == EXIT_DONE) {
		r = journal_token(journal, &step, call->options[TOKEN_NEW] != NULL, &mem, &entry,
				  &err);
		if (r == 0)
			printf("%.*s\n", STR_ARG(entry.step.token));
		else
			r = explain(r, &err);
	}
	journal_close(journal);
	arena_fini(&mem);
	return r;
}

const struct command command_call_token = {
	.name = "call token",
	.summary = "prints a step's token without sending anything",
	.usage = "METHOD URL --task TASK --step STEP [--new]",
	.text = "The token is in the journal before it is printed, and stays the step's: a later\n"
		"counterfoil call of the same task and step uses it.\n",
	.options = token_options,
	.option_count = sizeof(token_options) / sizeof(token_options[0]),
	.operands_min = 2,
	.operands_max = 2,
	.run = run_token,
};

/* -- list, show, forget --------------------------------------------------------------- */

enum { LIST_TASK, LIST_STEP, LIST_OPEN, LIST_LIMIT, LIST_JOURNAL, LIST_JSON };

static const struct command_option list_options[] = {
	{"--task", "TASK", "only those of this workflow"},
	{"--step", "STEP", "only those of this step"},
	{"--open", NULL, "only those whose end is not known"},
	{"--limit", "N", "at most so many (default 50, at most 1000)"},
	{"--journal", "FILE", "the journal (default: see counterfoil help call)"},
	{"--json", NULL, "as JSON"},
};

static int run_list(const struct command_call *call)
{
	struct journal_filter filter = {.task = str_from(call->options[LIST_TASK]),
					.step = str_from(call->options[LIST_STEP]),
					.is_open_only = call->options[LIST_OPEN] != NULL,
					.limit = LIST_DEFAULT};
	uint64_t limit = LIST_DEFAULT;
	struct journal *journal = NULL;
	struct journal_entry *entries;
	struct journal_error err;
	struct arena mem;
	size_t count;
	int r;

	if (call->options[LIST_LIMIT] &&
	    (!str_to_u64(str_from(call->options[LIST_LIMIT]), LIST_MAX, &limit) || limit == 0))
		return command_misused(call->command, "--limit is a number from 1 to %d", LIST_MAX);
	filter.limit = (size_t)limit;
	r = open_journal(call, LIST_JOURNAL, &journal);
	if (r != EXIT_DONE)
		return r;
	arena_init(&mem, DELIVERY_MEMORY_MAX);
	r = journal_list(journal, &filter, &mem, &entries, &count, &err);
	if (r != 0)
		r = explain(r, &err);
	else if (!call_print_list(entries, count, call->options[LIST_JSON] != NULL, &mem))
		r = no_memory();
	journal_close(journal);
	arena_fini(&mem);
	return r;
}

const struct command command_call_list = {
	.name = "call list",
	.summary = "lists what the journal remembers, newest first",
	.usage = "[--task TASK] [--step STEP] [--open] [--json]",
	.options = list_options,
	.option_count = sizeof(list_options) / sizeof(list_options[0]),
	.run = run_list,
};

/* The entry of the token that a command names. */
struct found {
	struct arena mem;
	struct journal *journal;
	struct journal_entry entry;
	struct journal_event *events;
	size_t event_count;
};

/* EXIT_DONE, or the exit status after a message; found_fini() it in either case. */
static int find(const struct command_call *call, size_t journal_option, struct found *found)
{
	struct journal_error err;
	int r;

	*found = (struct found){.journal = NULL};
	arena_init(&found->mem, DELIVERY_MEMORY_MAX);
	r = open_journal(call, journal_option, &found->journal);
	if (r != EXIT_DONE)
		return r;
	r = journal_show(found->journal, str_from(call->operands[0]), &found->mem, &found->entry,
			 &found->events, &found->event_count, &err);
	return r == 0 ? EXIT_DONE : explain(r, &err);
}

static void found_fini(struct found *found)
{
	journal_close(found->journal);
	arena_fini(&found->mem);
}

enum { SHOW_JOURNAL, SHOW_JSON };

static const struct command_option show_options[] = {
	{"--journal", "FILE", "the journal (default: see counterfoil help call)"},
	{"--json", NULL, "as JSON, with the kept answer"},
};

static int run_show(const struct command_call *call)
{
	struct found found;
	int r = find(call, SHOW_JOURNAL, &found);

	if (r == EXIT_DONE && !call_print_entry(&found.entry, found.events, found.event_count,
						call->options[SHOW_JSON] != NULL))
		r = no_memory();
	found_fini(&found);
	return r;
}

const struct command command_call_show = {
	.name = "call show",
	.summary = "shows what the journal remembers of a token, and what happened",
	.usage = "TOKEN [--json]",
	.options = show_options,
	.option_count = sizeof(show_options) / sizeof(show_options[0]),
	.operands_min = 1,
	.operands_max = 1,
	.run = run_show,
};

enum { FORGET_FORCE, FORGET_JOURNAL };

static const struct command_option forget_options[] = {
	{"--force", NULL, "also one whose end is not known: it can then happen twice"},
	{"--journal", "FILE", "the journal (default: see counterfoil help call)"},
};

static int run_forget(const struct command_call *call)
{
	struct found found;
	struct journal_error err;
	int r = find(call, FORGET_JOURNAL, &found);

	if (r == EXIT_DONE && journal_forget(found.journal, found.entry.id,
					     call->options[FORGET_FORCE] != NULL, &err) != 0)
		r = explain(JOURNAL_REFUSED, &err);
	found_fini(&found);
	return r;
}

const struct command command_call_forget = {
	.name = "call forget",
	.summary = "forgets a token, with its answer",
	.usage = "TOKEN [--force]",
	.text = "What is done or has failed is forgotten as it is asked for; what may still\n"
		"happen only with --force. The same step then has a token anew, and the first one "
		"of\n"
		"a step is always the same.\n",
	.options = forget_options,
	.option_count = sizeof(forget_options) / sizeof(forget_options[0]),
	.operands_min = 1,
	.operands_max = 1,
	.run = run_forget,
};

static const struct command *const commands[] = {
	&command_call_list,  &command_call_show,  &command_call_forget,
	&command_call_prune, &command_call_token, NULL,
};

const struct command command_call = {
	.name = "call",
	.summary = "sends one write, with one effect however often it is run",
	.usage = "METHOD URL (--task TASK --step STEP | --key TOKEN) [OPTIONS]",
	.text = "The token of a step is written to the journal before anything is sent, and every\n"
		"later run of the same task, step, method and URL uses it again. What has ended is "
		"told\n"
		"from the journal; what is uncertain is asked about first (Counterfoil's status\n"
		"resource), then sent again under the same token; an API without Counterfoil is "
		"sent\n"
		"nothing twice unless --honours-key says that it may be.\n\n"
		"Standard output is one JSON object: outcome, operation, token, status, headers, "
		"body\n"
		"or file, retry. Exit status: 0 created or replayed, 10 running or queued, 11 "
		"unknown,\n"
		"12 another payload stands under the token, 13 a person has to agree, 14 a known\n"
		"failure, refused or certainly not sent, 1 the journal cannot be used (nothing "
		"was\n"
		"sent, or what came of it is printed or asked for by the next run), 2 usage.\n\n"
		"The journal is $COUNTERFOIL_JOURNAL, else counterfoil/journal.db under\n"
		"$XDG_STATE_HOME or ~/.local/state.\n",
	.options = call_options,
	.option_count = CALL_OPTIONS,
	.operands_min = 2,
	.operands_max = 2,
	.commands = commands,
	.run = run_call,
};
