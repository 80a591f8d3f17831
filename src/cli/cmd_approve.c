/*
 * counterfoil approve, counterfoil deny: a person's answer from the terminal.
 *
 * What is approved is what was shown: the fingerprint goes along with the answer, and the gate
 * refuses it for anything else. Without a person at a terminal there is nobody to show it to; then
 * whoever calls has to name the fingerprint that they mean.
 */
#include "base/terminal.h"
#include "cli/admin_call.h"
#include "cli/approval_view.h"
#include "cli/command.h"
#include "cli/op_view.h"

#include <string.h>
#include <unistd.h>

enum {
	BODY_MAX = 64 * 1024,	       /* bytes of an answer */
	OUTPUT_MAX = 32 * 1024 * 1024, /* bytes shown at once */
	LINE_MAX_BYTES = 64,	       /* of what is typed */
};

enum { APPROVE_YES, APPROVE_FINGERPRINT, APPROVE_WHY };
enum { DENY_WHY, DENY_FINGERPRINT };

static const struct command_option approve_options[] = {
	{"--yes", NULL, "do not ask; needs --fingerprint"},
	{"--fingerprint", "F", "only if what is asked about has this fingerprint"},
	{"--why", "TEXT", "the reason, kept with the answer"},
	ADMIN_OPTIONS,
};

static const struct command_option deny_options[] = {
	{"--why", "TEXT", "the reason, kept with the answer and told to who asked"},
	{"--fingerprint", "F", "only if what is asked about has this fingerprint"},
	ADMIN_OPTIONS,
};

static int ask_about(struct admin_client *client, const char *id)
{
	struct str target = arena_printf(&client->mem, "/api/approvals/%s", id);

	return target.at ? admin_ask(client, "GET", target, STR("")) : EXIT_NOT_SO;
}

/* All of it, or nothing: what is left out could be what matters. */
static int show(struct admin_client *client, FILE *to)
{
	struct buf out;
	int r = EXIT_DONE;

	buf_init(&out, OUTPUT_MAX);
	approval_view_show(client->json, &client->mem, &out);
	if (out.is_spoiled) {
		command_message("the question is too long to be shown, so it is not asked here");
		r = EXIT_NOT_SO;
	} else {
		fwrite(out.at, 1, out.len, to);
	}
	buf_fini(&out);
	return r;
}

/* Does it still wait for an answer? Else that is said. */
static int check_waiting(struct admin_client *client)
{
	const struct json_value *operation = op_member(client->json, "operation");
	struct str state = op_member_text(operation, "state", &client->mem);

	if (str_equal(state, STR("awaiting_approval")))
		return EXIT_DONE;
	command_message("it waits for no answer any more: the operation is %.*s", STR_ARG(state));
	return EXIT_NOT_SO;
}

/* What was shown is what the caller means, where they say so. */
static int check_fingerprint(struct admin_client *client, const char *wanted)
{
	struct str found = op_member_text(client->json, "fingerprint", &client->mem);

	if (!wanted || str_equal(found, str_from(wanted)))
		return EXIT_DONE;
	command_message("the question is another one: its fingerprint is %.*s, not %s",
			STR_ARG(found), wanted);
	return EXIT_NOT_SO;
}

/* The one word, typed by somebody. */
static int ask_person(void)
{
	char line[LINE_MAX_BYTES];

	fflush(stdout);
	fputs("\nType yes to approve: ", stderr);
	fflush(stderr);
	if (fgets(line, sizeof(line), stdin) && strcmp(line, "yes\n") == 0)
		return EXIT_DONE;
	command_message("not approved; it still waits for an answer");
	return EXIT_NOT_SO;
}

static void write_body(struct admin_client *client, const char *why, struct buf *body)
{
	struct json_writer writer;

	buf_init(body, BODY_MAX);
	json_writer_init(&writer, body);
	json_open_object(&writer);
	json_name(&writer, "fingerprint");
	json_string(&writer, op_member_text(client->json, "fingerprint", &client->mem));
	json_name(&writer, "question");
	json_string(&writer, op_member_text(client->json, "question", &client->mem));
	if (why) {
		json_name(&writer, "why");
		json_text(&writer, why);
	}
	json_close_object(&writer);
}

static void print_standing(struct admin_client *client)
{
	struct buf out;

	buf_init(&out, OUTPUT_MAX);
	approval_view_standing(client->json, &client->mem, &out);
	fwrite(out.at, 1, out.len, stdout);
	buf_fini(&out);
}

/* Send the answer, bound to what was shown, and say how it stands then. */
static int answer(const struct command_call *call, struct admin_client *client, const char *id,
		  const char *verb, const char *why)
{
	struct str target = arena_printf(&client->mem, "/api/approvals/%s/%s", id, verb);
	struct buf body;
	int r;

	write_body(client, why, &body);
	if (body.is_spoiled || !target.at)
		r = command_misused(call->command, "the reason is too long");
	else
		r = admin_ask(client, "POST", target, buf_str(&body));
	buf_fini(&body);
	if (r == EXIT_DONE && admin_wants_json(call))
		admin_print_json(client);
	else if (r == EXIT_DONE)
		print_standing(client);
	return r;
}

/* -- approve ----------------------------------------------------------------------- */

static int check_approve(const struct command_call *call)
{
	bool is_sure = call->options[APPROVE_YES] != NULL;

	if (is_sure && !call->options[APPROVE_FINGERPRINT])
		return command_misused(call->command,
				       "--yes needs --fingerprint: nobody sees what is approved");
	if (!is_sure && !isatty(STDIN_FILENO))
		return command_misused(call->command,
				       "there is no terminal to ask on: name what you approve with "
				       "--yes --fingerprint F");
	return EXIT_DONE;
}

static int approve(const struct command_call *call, struct admin_client *client, const char *id)
{
	bool is_sure = call->options[APPROVE_YES] != NULL;
	int r = ask_about(client, id);

	if (r == EXIT_DONE && !is_sure)
		r = show(client, admin_wants_json(call) ? stderr : stdout);
	if (r == EXIT_DONE)
		r = check_waiting(client);
	if (r == EXIT_DONE)
		r = check_fingerprint(client, call->options[APPROVE_FINGERPRINT]);
	if (r == EXIT_DONE && !is_sure)
		r = ask_person();
	if (r == EXIT_DONE)
		r = answer(call, client, id, "approve", call->options[APPROVE_WHY]);
	return r;
}

static int run_approve(const struct command_call *call)
{
	char id[OPERATION_ID_TEXT + 1];
	struct admin_client client;
	int r = check_approve(call);

	if (r != EXIT_DONE)
		return r;
	if (!admin_read_id(call, id))
		return EXIT_USAGE;
	r = admin_client_open(&client, call);
	if (r == EXIT_DONE)
		r = approve(call, &client, id);
	admin_client_close(&client);
	return r;
}

const struct command command_approve = {
	.name = "approve",
	.summary = "shows what an operation would do, and lets it be sent",
	.usage = "OP [--yes --fingerprint F] [--why TEXT] [--json]",
	.text = "It shows where the write goes, what it does and whether that can be undone, each\n"
		"member of its command and what is new since the last one, and asks. The answer\n"
		"holds for exactly that, once. Nobody approves what their own key has asked for.\n"
		"Exit status: 0 it was approved (another person may still have to), 1 it was not,\n"
		"2 usage.\n",
	.options = approve_options,
	.option_count = sizeof(approve_options) / sizeof(approve_options[0]),
	.operands_min = 1,
	.operands_max = 1,
	.run = run_approve,
};

/* -- deny -------------------------------------------------------------------------- */

static int deny(const struct command_call *call, struct admin_client *client, const char *id)
{
	int r = ask_about(client, id);

	if (r == EXIT_DONE)
		r = check_waiting(client);
	if (r == EXIT_DONE)
		r = check_fingerprint(client, call->options[DENY_FINGERPRINT]);
	if (r == EXIT_DONE)
		r = answer(call, client, id, "deny", call->options[DENY_WHY]);
	return r;
}

static int run_deny(const struct command_call *call)
{
	char id[OPERATION_ID_TEXT + 1];
	struct admin_client client;
	int r;

	if (!call->options[DENY_WHY])
		return command_misused(call->command, "--why says why, to whoever asked");
	if (!admin_read_id(call, id))
		return EXIT_USAGE;
	r = admin_client_open(&client, call);
	if (r == EXIT_DONE)
		r = deny(call, &client, id);
	admin_client_close(&client);
	return r;
}

const struct command command_deny = {
	.name = "deny",
	.summary = "refuses an operation that waits for a person's approval",
	.usage = "OP --why TEXT [--fingerprint F] [--json]",
	.text = "One no is enough, and it is final: nothing is sent, and a retry is told so.\n"
		"If it is wanted after all, it is a new intention with a new token.\n",
	.options = deny_options,
	.option_count = sizeof(deny_options) / sizeof(deny_options[0]),
	.operands_min = 1,
	.operands_max = 1,
	.run = run_deny,
};
