/*
 * counterfoil key: the gate's own keys, for agents and people.
 *
 * A key is shown once, as it is made: alone on standard output, so that it can be written straight
 * into a file; all that is said about it goes to standard error.
 */
#include "cli/admin_call.h"
#include "cli/command.h"
#include "cli/op_view.h"
#include "core/caller.h"

#include <stdlib.h>

enum {
	TARGET_MAX = 256,
	BODY_MAX = 64 * 1024,
	COLUMNS = 8,
};

/* -- create ------------------------------------------------------------------------ */

enum {
	CREATE_ACCOUNT,
	CREATE_AGENT,
	CREATE_ROLE,
	CREATE_ACTIONS,
	CREATE_EXPIRES,
	CREATE_ALL_ACCOUNTS,
	CREATE_LABEL,
};

static const struct command_option create_options[] = {
	{"--account", "ACCOUNT", "whose tokens and operations it is for"},
	{"--agent", "NAME", "who shows it: a program, a person"},
	{"--role", "ROLE", "agent (default), approver, operator or auditor"},
	{"--actions", "NAMES",
	 "the only actions that an agent may call, with commas\nbetween; tickets.* stands for all "
	 "that begin so"},
	{"--expires", "DURATION", "it ends after so long: 12h, 30d; without it, never"},
	{"--all-accounts", NULL, "people's roles: it reaches every account"},
	{"--label", "TEXT", "what you call it"},
	ADMIN_OPTIONS,
};

static void write_text(struct json_writer *json, const char *name, const char *text)
{
	if (!text)
		return;
	json_name(json, name);
	json_text(json, text);
}

static void write_actions(struct json_writer *json, const char *names)
{
	struct str rest = str_from(names), name;

	if (!names)
		return;
	json_name(json, "actions");
	json_open_array(json);
	while (str_split(&rest, ',', &name))
		json_string(json, str_trim(name));
	json_close_array(json);
}

static void write_wish(const struct command_call *call, struct buf *body)
{
	struct json_writer json;

	json_writer_init(&json, body);
	json_open_object(&json);
	write_text(&json, "account", call->options[CREATE_ACCOUNT]);
	write_text(&json, "agent", call->options[CREATE_AGENT]);
	write_text(&json, "role", call->options[CREATE_ROLE]);
	write_text(&json, "label", call->options[CREATE_LABEL]);
	write_text(&json, "expires_in", call->options[CREATE_EXPIRES]);
	write_actions(&json, call->options[CREATE_ACTIONS]);
	if (call->options[CREATE_ALL_ACCOUNTS]) {
		json_name(&json, "all_accounts");
		json_boolean(&json, true);
	}
	json_close_object(&json);
}

static void print_created(const struct command_call *call, struct admin_client *client)
{
	struct str key = op_member_text(client->json, "key", &client->mem);
	struct str id = op_member_text(client->json, "id", &client->mem);

	printf("%.*s\n", STR_ARG(key));
	command_message("this is the key %.*s; it is not shown again", STR_ARG(id));
}

static int run_create(const struct command_call *call)
{
	const char *role = call->options[CREATE_ROLE];
	enum caller_role known;
	struct buf body;

	if (role && !role_from(str_from(role), &known))
		return command_misused(call->command,
				       "there is no role \"%s\"; known are agent, approver, "
				       "operator, auditor",
				       role);
	buf_init(&body, BODY_MAX);
	write_wish(call, &body);
	return admin_call_take_body(call, STR("/api/keys"), &body, print_created);
}

static const struct command command_create = {
	.name = "key create",
	.summary = "makes a key, and prints it this once",
	.usage = "[--account ACCOUNT] [--agent NAME] [--role ROLE]\n"
		 "           [--actions NAMES] [--expires DURATION] [--all-accounts] [--label "
		 "TEXT]\n"
		 "           [--json]",
	.text = "Agents show it to the data listener (accounts.from: key): two keys of one "
		"account\n"
		"share its tokens and operations, two accounts share nothing. People show it to "
		"the\n"
		"admin listener: an approver looks and answers approvals, an operator does all, "
		"an\n"
		"auditor looks, also into the audit log. The gate keeps a digest of it alone.\n"
		"    (umask 077; counterfoil key create --account acme --agent bot > bot.key)\n",
	.options = create_options,
	.option_count = sizeof(create_options) / sizeof(create_options[0]),
	.run = run_create,
};

/* -- list -------------------------------------------------------------------------- */

static const struct command_option list_options[] = {ADMIN_OPTIONS};

static struct str or_dash(struct str text)
{
	return text.len ? text : STR("-");
}

static void add_row(const struct json_value *key, struct arena *mem, struct table *table)
{
	const struct json_value *all = json_member(key, STR("all_accounts"));
	bool has_all = all && all->type == JSON_TRUE;
	struct str account = op_member_text(key, "account", mem);
	const struct str texts[COLUMNS] = {
		op_member_text(key, "id", mem),
		op_member_text(key, "state", mem),
		has_all ? STR("(all)") : or_dash(account),
		or_dash(op_member_text(key, "agent", mem)),
		op_member_text(key, "role", mem),
		or_dash(op_member_text(key, "expires_at", mem)),
		or_dash(op_member_text(key, "last_used_at", mem)),
		or_dash(op_member_text(key, "label", mem)),
	};

	table_add(table, texts);
}

static void print_list(const struct command_call *call, struct admin_client *client)
{
	static const struct table_column columns[COLUMNS] = {
		{"KEY", 20},  {"STATE", 8},    {"ACCOUNT", 24},	  {"AGENT", 24},
		{"ROLE", 10}, {"EXPIRES", 24}, {"LAST USED", 24}, {"LABEL", 40}};

	admin_print_table(client, "keys", columns, COLUMNS, add_row,
			  "there is no key; counterfoil key create makes one");
}

static int run_list(const struct command_call *call)
{
	return admin_call(call, "GET", STR("/api/keys"), STR(""), print_list);
}

static const struct command command_list = {
	.name = "key list",
	.summary = "lists keys: whose, for what, until when, and their last use",
	.usage = "[--json]",
	.options = list_options,
	.option_count = sizeof(list_options) / sizeof(list_options[0]),
	.run = run_list,
};

/* -- revoke ------------------------------------------------------------------------ */

enum { REVOKE_WHY };

static const struct command_option revoke_options[] = {
	{"--why", "TEXT", "the reason, kept with the key and in the audit log"},
	ADMIN_OPTIONS,
};

static void print_revoked(const struct command_call *call, struct admin_client *client)
{
	struct str id = op_member_text(client->json, "id", &client->mem);

	printf("%.*s is revoked\n", STR_ARG(id));
}

static int run_revoke(const struct command_call *call)
{
	struct json_writer json;
	struct buf body, target;
	int r;

	buf_init(&target, TARGET_MAX);
	buf_append_str(&target, STR("/api/keys/"));
	admin_append_encoded(&target, str_from(call->operands[0]));
	buf_append_str(&target, STR("/revoke"));
	buf_init(&body, BODY_MAX);
	json_writer_init(&json, &body);
	json_open_object(&json);
	write_text(&json, "why", call->options[REVOKE_WHY]);
	json_close_object(&json);
	if (target.is_spoiled) {
		buf_fini(&body);
		r = command_misused(call->command, "the id of a key is key_ and 16 characters");
	} else {
		r = admin_call_take_body(call, buf_str(&target), &body, print_revoked);
	}
	buf_fini(&target);
	return r;
}

static const struct command command_revoke = {
	.name = "key revoke",
	.summary = "revokes a key, at once",
	.usage = "KEY [--why TEXT] [--json]",
	.text = "KEY is its id (key_…), not the key itself. From that moment it gets 401, also "
		"for\n"
		"replays and for whoever waits by it. What it has made goes on: op cancel "
		"withdraws\n"
		"what has not been sent.\n",
	.options = revoke_options,
	.option_count = sizeof(revoke_options) / sizeof(revoke_options[0]),
	.operands_min = 1,
	.operands_max = 1,
	.run = run_revoke,
};

/* -- rm ---------------------------------------------------------------------------- */

static void print_removed(const struct command_call *call, struct admin_client *client)
{
	struct str id = op_member_text(client->json, "id", &client->mem);

	printf("%.*s is forgotten\n", STR_ARG(id));
}

static int run_remove(const struct command_call *call)
{
	struct buf target;
	int r;

	buf_init(&target, TARGET_MAX);
	buf_append_str(&target, STR("/api/keys/"));
	admin_append_encoded(&target, str_from(call->operands[0]));
	if (target.is_spoiled)
		r = command_misused(call->command, "the id of a key is key_ and 16 characters");
	else
		r = admin_call(call, "DELETE", buf_str(&target), STR(""), print_removed);
	buf_fini(&target);
	return r;
}

static const struct command command_remove = {
	.name = "key rm",
	.summary = "forgets a key that is revoked or expired",
	.usage = "KEY [--json]",
	.text = "The gate keeps at most 4096 keys, those that are no longer in force too. "
		"Histories "
		"and\n"
		"the audit log go on naming it by its id.\n",
	.options = list_options,
	.option_count = sizeof(list_options) / sizeof(list_options[0]),
	.operands_min = 1,
	.operands_max = 1,
	.run = run_remove,
};

static const struct command *const key_commands[] = {
	&command_create, &command_list, &command_revoke, &command_remove, NULL,
};

const struct command command_key = {
	.name = "key",
	.summary = "makes, lists, revokes and forgets keys of agents and people",
	.usage = "create|list|revoke|rm [OPTIONS]",
	.commands = key_commands,
};
