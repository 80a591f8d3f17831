/*
 * counterfoil op: operations, and the locks they hold, from the operator's side.
 *
 * Each asks the running gate over its admin listener; nothing here opens the store, so an
 * operator's decision passes through the same table of moves as everything else.
 */
#include "cli/admin_call.h"
#include "cli/command.h"
#include "cli/lock_view.h"
#include "cli/op_view.h"
#include "cli/suggest.h"

enum {
	LIST_LIMIT_MAX = 200,	       /* operations of one page */
	TARGET_MAX = 16 * 1024,	       /* bytes of a path and its query */
	BODY_MAX = 64 * 1024,	       /* bytes of a decision */
	OUTPUT_MAX = 32 * 1024 * 1024, /* bytes shown at once */
};

/* -- what the commands share ------------------------------------------------------- */

static void print_operation(const struct command_call *call, struct admin_client *client)
{
	struct buf out;

	buf_init(&out, OUTPUT_MAX);
	op_view_show(client->json, &client->mem, &out);
	admin_print_buf(&out);
}

/* Ask about one operation, and show the operation that is the answer. */
static int ask_and_show(const struct command_call *call, const char *method, const char *after_id,
			struct str body)
{
	char id[OPERATION_ID_TEXT + 1], target[128];

	if (!admin_read_id(call, id))
		return EXIT_USAGE;
	snprintf(target, sizeof(target), "/api/operations/%s%s", id, after_id);
	return admin_call(call, method, str_from(target), body, print_operation);
}

/* -- list -------------------------------------------------------------------------- */

enum {
	LIST_STATE,
	LIST_TOKEN,
	LIST_TASK,
	LIST_ACTION,
	LIST_REFERENCE,
	LIST_ACCOUNT,
	LIST_LIMIT,
	LIST_CURSOR,
	LIST_FILTERS
};

static const struct command_option list_options[] = {
	{"--state", "STATE", "only those in this state"},
	{"--token", "TOKEN", "only those with this Idempotency-Key"},
	{"--task", "TASK", "only those with an attempt of this task"},
	{"--action", "NAME", "only those of this action"},
	{"--reference", "TEXT", "only what the service calls so, or knows by this key"},
	{"--account", "ACCOUNT", "only those of this account"},
	{"--limit", "N", "at most N, up to 200"},
	{"--cursor", "CURSOR", "go on where an earlier list ended"},
	ADMIN_OPTIONS,
};

static int check_state(const struct command_call *call)
{
	const char *state = call->options[LIST_STATE];
	enum operation_state known;
	struct suggestion suggestion;

	if (!state || operation_state_from(str_from(state), &known))
		return EXIT_DONE;
	suggest_begin(&suggestion, state);
	for (int i = STATE_AWAITING_APPROVAL; i < STATE_COUNT; i++)
		suggest_offer(&suggestion, operation_state_name((enum operation_state)i));
	if (suggestion.best)
		return command_misused(call->command, "there is no state \"%s\"; did you mean %s?",
				       state, suggestion.best);
	return command_misused(call->command,
			       "there is no state \"%s\"; known are awaiting_approval, queued, "
			       "running, unknown, completed, failed, cancelled",
			       state);
}

static int check_limit(const struct command_call *call, const char *limit)
{
	uint64_t number;

	if (!limit || (str_to_u64(str_from(limit), LIST_LIMIT_MAX, &number) && number > 0))
		return EXIT_DONE;
	return command_misused(call->command, "--limit is a number from 1 to %d, not \"%s\"",
			       LIST_LIMIT_MAX, limit);
}

/* The path of a list, with those of its parameters that are given: names[i] is values[i]. */
static void write_target(const char *path, const char *const *names, const char *const *values,
			 size_t count, struct buf *target)
{
	char separator = '?';

	buf_append_str(target, str_from(path));
	for (size_t i = 0; i < count; i++) {
		if (!values[i])
			continue;
		buf_printf(target, "%c%s=", separator, names[i]);
		admin_append_encoded(target, str_from(values[i]));
		separator = '&';
	}
}

static int ask_for_list(const struct command_call *call, const char *path, const char *const *names,
			const char *const *values, size_t count, admin_print *print)
{
	struct buf target;
	int r;

	buf_init(&target, TARGET_MAX);
	write_target(path, names, values, count, &target);
	r = target.is_spoiled ? command_misused(call->command, "these options are too long")
			      : admin_call(call, "GET", buf_str(&target), STR(""), print);
	buf_fini(&target);
	return r;
}

static bool has_queued(const struct json_value *operations, struct arena *mem)
{
	size_t count = operations && operations->type == JSON_ARRAY ? operations->array.count : 0;

	for (size_t i = 0; i < count; i++) {
		if (str_equal(op_member_text(operations->array.items[i], "state", mem),
			      STR("queued")))
			return true;
	}
	return false;
}

static void tell_next(struct admin_client *client)
{
	const struct json_value *next = json_member(client->json, STR("next"));

	if (next && next->type == JSON_STRING && next->string.len)
		command_message("there are more: add --cursor %.*s", STR_ARG(next->string));
}

static void print_list(const struct command_call *call, struct admin_client *client)
{
	const struct json_value *operations = json_member(client->json, STR("operations"));
	struct buf out;

	buf_init(&out, OUTPUT_MAX);
	if (op_view_list(operations, &client->mem, &out) == 0)
		command_message("no operation to list");
	admin_print_buf(&out);
	if (has_queued(operations, &client->mem))
		command_message("op show OP says what a queued one waits for");
	tell_next(client);
}

static int run_list(const struct command_call *call)
{
	static const char *const names[LIST_FILTERS] = {"state",     "token",	"task",	 "action",
							"reference", "account", "limit", "cursor"};
	int r = check_state(call);

	if (r == EXIT_DONE)
		r = check_limit(call, call->options[LIST_LIMIT]);
	if (r != EXIT_DONE)
		return r;
	return ask_for_list(call, "/api/operations", names, call->options, LIST_FILTERS,
			    print_list);
}

static const struct command command_list = {
	.name = "op list",
	.summary = "lists operations, newest first",
	.usage = "[--state STATE] [--token TOKEN] [--task TASK] [--action NAME]\n"
		 "           [--reference TEXT] [--account ACCOUNT] [--limit N] [--cursor CURSOR] "
		 "[--json]",
	.options = list_options,
	.option_count = sizeof(list_options) / sizeof(list_options[0]),
	.run = run_list,
};

/* -- show -------------------------------------------------------------------------- */

static const struct command_option show_options[] = {ADMIN_OPTIONS};

static int run_show(const struct command_call *call)
{
	return ask_and_show(call, "GET", "", STR(""));
}

static const struct command command_show = {
	.name = "op show",
	.summary = "shows one operation and its attempts",
	.usage = "OP [--json]",
	.options = show_options,
	.option_count = ADMIN_OPTION_COUNT,
	.operands_min = 1,
	.operands_max = 1,
	.run = run_show,
};

/* -- cancel ------------------------------------------------------------------------ */

enum { CANCEL_WHY };

static const struct command_option cancel_options[] = {
	{"--why", "TEXT", "the reason, kept with the operation"},
	ADMIN_OPTIONS,
};

/* Send a decision that has been written, and let go of it. */
static int decide(const struct command_call *call, const char *after_id, struct buf *body)
{
	int r = body->is_spoiled ? command_misused(call->command, "these texts are too long")
				 : ask_and_show(call, "POST", after_id, buf_str(body));

	buf_fini(body);
	return r;
}

/* A decision that is nothing but its reason. */
static int decide_why(const struct command_call *call, const char *after_id, const char *why)
{
	struct json_writer writer;
	struct buf body;

	buf_init(&body, BODY_MAX);
	json_writer_init(&writer, &body);
	json_open_object(&writer);
	json_name(&writer, "why");
	json_text(&writer, why);
	json_close_object(&writer);
	return decide(call, after_id, &body);
}

static int run_cancel(const struct command_call *call)
{
	if (!call->options[CANCEL_WHY])
		return command_misused(call->command, "--why says why it is cancelled");
	return decide_why(call, "/cancel", call->options[CANCEL_WHY]);
}

static const struct command command_cancel = {
	.name = "op cancel",
	.summary = "cancels an operation that has not been sent",
	.usage = "OP --why TEXT [--json]",
	.text = "Only one that waits for its turn or for a person. What has been sent cannot be\n"
		"taken back: find out what became of it, then op resolve.\n",
	.options = cancel_options,
	.option_count = sizeof(cancel_options) / sizeof(cancel_options[0]),
	.operands_min = 1,
	.operands_max = 1,
	.run = run_cancel,
};

/* -- resolve ----------------------------------------------------------------------- */

enum {
	RESOLVE_HAPPENED,
	RESOLVE_DID_NOT,
	RESOLVE_NO_RETRY,
	RESOLVE_WHY,
	RESOLVE_REFERENCE,
	RESOLVE_EPOCH
};

static const struct command_option resolve_options[] = {
	{"--happened", NULL, "the service did it: the operation is completed"},
	{"--did-not", NULL,
	 "the service did not, and cannot any more: the same token\nmay try again; what the gate "
	 "sends itself it sends now"},
	{"--no-retry", NULL, "with --did-not: the operation has failed for good"},
	{"--why", "TEXT", "how you know, kept with the operation"},
	{"--reference", "TEXT", "what the service calls the effect, such as its id there"},
	{"--epoch", "N", "only if it was not sent again since op show said that epoch"},
	ADMIN_OPTIONS,
};

static int check_resolve(const struct command_call *call)
{
	const struct command *command = call->command;
	const char *epoch = call->options[RESOLVE_EPOCH];
	uint64_t number;

	if (!call->options[RESOLVE_HAPPENED] == !call->options[RESOLVE_DID_NOT])
		return command_misused(command, "say either --happened or --did-not");
	if (call->options[RESOLVE_HAPPENED] && call->options[RESOLVE_NO_RETRY])
		return command_misused(command, "--no-retry goes with --did-not");
	if (!call->options[RESOLVE_WHY])
		return command_misused(command, "--why says how you know what happened");
	if (epoch && !str_to_u64(str_from(epoch), UINT32_MAX, &number))
		return command_misused(command, "--epoch is the number that op show says");
	return EXIT_DONE;
}

static int run_resolve(const struct command_call *call)
{
	int r = check_resolve(call);
	struct json_writer writer;
	uint64_t epoch;
	struct buf body;

	if (r != EXIT_DONE)
		return r;
	buf_init(&body, BODY_MAX);
	json_writer_init(&writer, &body);
	json_open_object(&writer);
	json_name(&writer, "happened");
	json_boolean(&writer, call->options[RESOLVE_HAPPENED] != NULL);
	json_name(&writer, "retry");
	json_boolean(&writer, call->options[RESOLVE_DID_NOT] && !call->options[RESOLVE_NO_RETRY]);
	json_name(&writer, "why");
	json_text(&writer, call->options[RESOLVE_WHY]);
	if (call->options[RESOLVE_REFERENCE]) {
		json_name(&writer, "reference");
		json_text(&writer, call->options[RESOLVE_REFERENCE]);
	}
	if (call->options[RESOLVE_EPOCH] &&
	    str_to_u64(str_from(call->options[RESOLVE_EPOCH]), UINT32_MAX, &epoch)) {
		json_name(&writer, "epoch");
		json_integer(&writer, (int64_t)epoch);
	}
	json_close_object(&writer);
	return decide(call, "/resolve", &body);
}

static const struct command command_resolve = {
	.name = "op resolve",
	.summary = "settles an unknown operation by what a person found out",
	.usage = "OP --happened|--did-not [--no-retry] --why TEXT\n"
		 "           [--reference TEXT] [--epoch N] [--json]",
	.text = "An operation is unknown when the gate sent it and got no certain answer. Look at\n"
		"the service itself first: a wrong --did-not lets the write be made twice, and at\n"
		"once where the gate sends by itself (dispatch: outbox, held: queue). While\n"
		"you look it may be found absent, sent again and lost again: with --epoch what\n"
		"you saw decides nothing about that later sending.\n"
		"Where the action opens a budget, --reference is the id by which it is spent\n"
		"from: without one --happened opens none.\n",
	.options = resolve_options,
	.option_count = sizeof(resolve_options) / sizeof(resolve_options[0]),
	.operands_min = 1,
	.operands_max = 1,
	.run = run_resolve,
};

/* -- locks ------------------------------------------------------------------------- */

enum { LOCKS_HELD, LOCKS_WAITING, LOCKS_LIMIT, LOCKS_CURSOR };

static const struct command_option locks_options[] = {
	{"--held", NULL, "only those that an operation holds"},
	{"--waiting", NULL, "only those that an operation waits for"},
	{"--limit", "N", "look at N at most, up to 200"},
	{"--cursor", "CURSOR", "go on where an earlier list ended"},
	ADMIN_OPTIONS,
};

static void print_locks(const struct command_call *call, struct admin_client *client)
{
	struct buf out;

	buf_init(&out, OUTPUT_MAX);
	if (lock_view_list(json_member(client->json, STR("locks")), &client->mem, &out) == 0)
		command_message("no lock to list");
	admin_print_buf(&out);
	tell_next(client);
}

static int run_locks(const struct command_call *call)
{
	static const char *const names[] = {"held", "waiting", "limit", "cursor"};
	const char *const values[] = {
		call->options[LOCKS_HELD] ? "true" : NULL,
		call->options[LOCKS_WAITING] ? "true" : NULL,
		call->options[LOCKS_LIMIT],
		call->options[LOCKS_CURSOR],
	};
	int r = check_limit(call, call->options[LOCKS_LIMIT]);

	if (r != EXIT_DONE)
		return r;
	return ask_for_list(call, "/api/locks", names, values, sizeof(names) / sizeof(names[0]),
			    print_locks);
}

static const struct command command_locks = {
	.name = "op locks",
	.summary = "lists locks, who holds them and who waits",
	.usage = "[--held] [--waiting] [--limit N] [--cursor CURSOR] [--json]",
	.text = "A lock is held while its operation runs, and while it is unknown: nobody else "
		"may\n"
		"touch what may be in the middle of a change. With both options: those that are\n"
		"held and waited for.\n",
	.options = locks_options,
	.option_count = sizeof(locks_options) / sizeof(locks_options[0]),
	.run = run_locks,
};

/* -- release ----------------------------------------------------------------------- */

enum { RELEASE_WHY };

static const struct command_option release_options[] = {
	{"--why", "TEXT", "how you know that it does no harm, kept with the operation"},
	ADMIN_OPTIONS,
};

static int run_release(const struct command_call *call)
{
	if (!call->options[RELEASE_WHY])
		return command_misused(call->command,
				       "--why says how you know that it does no harm");
	return decide_why(call, "/release", call->options[RELEASE_WHY]);
}

static const struct command command_release = {
	.name = "op release",
	.summary = "takes the lock away from an operation",
	.usage = "OP --why TEXT [--json]",
	.text = "The next one that waits gets the lock, though this one may still act; the\n"
		"operation itself stays as it is. If you can find out what became of it, op\n"
		"resolve does both. A service that compares fencing numbers is safe from a holder\n"
		"that comes late; any other is as safe as your reason.\n",
	.options = release_options,
	.option_count = sizeof(release_options) / sizeof(release_options[0]),
	.operands_min = 1,
	.operands_max = 1,
	.run = run_release,
};

static const struct command *const op_commands[] = {
	&command_list,	  &command_show, &command_cancel, &command_resolve, &command_locks,
	&command_release, NULL,
};

const struct command command_op = {
	.name = "op",
	.summary = "lists, shows, cancels and resolves operations; their locks",
	.usage = "list|show|cancel|resolve|locks|release [OPTIONS]",
	.commands = op_commands,
};
