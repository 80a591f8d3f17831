/*
 * counterfoil audit show, audit export: what the entries of the log say.
 *
 * Both read files and the data key, and nothing of the gate: they work while it runs, and on a copy
 * of its data directory. One entry may tell of several events.
 */
#include "base/arena.h"
#include "base/env.h"
#include "base/err.h"
#include "base/terminal.h"
#include "cli/audit_read.h"
#include "cli/command.h"
#include "cli/data_place.h"
#include "core/operation.h"
#include "core/timestamp.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	SHOW_DATA,
	SHOW_OP,
	SHOW_TOKEN,
	SHOW_ACCOUNT,
	SHOW_AGENT,
	SHOW_CREDENTIAL,
	SHOW_TASK,
	SHOW_FINGERPRINT,
	SHOW_EVENT,
	SHOW_SINCE,
	SHOW_UNTIL,
	SHOW_JSON,
	SHOW_CONFIG
};
enum { EXPORT_CONFIG };
enum { LINE_MAX_SIZE = 1 << 20, TIME_TEXT = 25, SINCE_MEMORY = 4096 };
enum { EVENTS_MAX = 64, EVENT_TEXT_MAX = 32 };

static const struct command_option show_options[] = {
	{"--data", "DIR", "the data directory, as DIR"},
	{"--op", "OP", "only of this operation"},
	{"--token", "T", "only of operations with this token"},
	{"--account", "A", "only of operations of this account"},
	{"--agent", "A", "only of attempts, answers and keys of this agent"},
	{"--credential", "C", "only of attempts with this credential"},
	{"--task", "T", "only of attempts of this task"},
	{"--fingerprint", "F", "only of operations with this fingerprint"},
	{"--event", "E", "only where this happened: attempted, sent, completed, replayed, …"},
	{"--since", "TIME", "only from then on (RFC 3339)"},
	{"--until", "TIME", "only before then"},
	{"--json", NULL, "print a JSON object for each entry"},
	{"--config", "FILE", "the gate's configuration: its data directory and master_key"},
};

static const struct command_option export_options[] = {
	{"--config", "FILE", "the gate's configuration, which says where the master key is"},
};

/* The events that the log tells of, so that who asks for another one learns their names. */
struct told {
	char names[EVENTS_MAX][EVENT_TEXT_MAX];
	size_t count;
};

struct show {
	/* empty: any */
	struct str op, token, account, agent, credential, task, fingerprint, event, since, until;
	bool is_json;
	struct told told;
	FILE *out;
	struct buf line;
	bool has_failed; /* to write */
};

/* -- which ------------------------------------------------------------------------- */

static bool has_told(const struct told *told, struct str event)
{
	for (size_t i = 0; i < told->count; i++)
		if (str_equal(str_from(told->names[i]), event))
			return true;
	return false;
}

static void note_event(struct told *told, struct str event)
{
	if (told->count == EVENTS_MAX || event.len >= EVENT_TEXT_MAX || has_told(told, event))
		return;
	memcpy(told->names[told->count], event.at, event.len);
	told->names[told->count++][event.len] = '\0';
}

static bool has_event(struct told *told, const struct json_value *value, struct str event)
{
	const struct json_value *events = value ? json_member(value, STR("events")) : NULL;
	bool has = false;

	for (size_t i = 0; events && events->type == JSON_ARRAY && i < events->array.count; i++) {
		if (events->array.items[i]->type != JSON_STRING)
			continue;
		note_event(told, events->array.items[i]->string);
		has |= str_equal(events->array.items[i]->string, event);
	}
	return has;
}

static bool is_any_or(struct str wanted, const struct json_value *value, const char *name)
{
	return !wanted.len || str_equal(wanted, audit_member(value, name));
}

/* Who asked for it, or answered. */
static bool is_of_agent(struct str wanted, const struct json_value *value)
{
	return is_any_or(wanted, value, "agent") || is_any_or(wanted, value, "answerer");
}

/* Both in UTC; as texts they are in the order of time once the Z is gone. */
static int compare_time(const char *time, struct str with)
{
	return strncmp(time, with.at, with.at[with.len - 1] == 'Z' ? with.len - 1 : with.len);
}

static bool is_in_time(const struct show *show, const char *time)
{
	return (!show->since.len || compare_time(time, show->since) >= 0) &&
	       (!show->until.len || compare_time(time, show->until) < 0);
}

static bool is_wanted(struct show *show, const struct audit_record *record, const char *time)
{
	const struct json_value *value = record->value;

	if (show->event.len && !has_event(&show->told, value, show->event))
		return false;
	return is_in_time(show, time) && is_any_or(show->op, value, "operation") &&
	       is_any_or(show->token, value, "token") &&
	       is_any_or(show->account, value, "account") && is_of_agent(show->agent, value) &&
	       is_any_or(show->credential, value, "credential") &&
	       is_any_or(show->task, value, "task") &&
	       is_any_or(show->fingerprint, value, "fingerprint");
}

/* -- how --------------------------------------------------------------------------- */

/* When it happened: a note is written later. */
static int64_t time_of(const struct audit_record *record)
{
	const struct json_value *at =
		record->value ? json_member(record->value, STR("at_ms")) : NULL;
	int64_t at_ms;

	if (at && at->type == JSON_NUMBER && json_number_to_i64(&at->number, &at_ms))
		return at_ms;
	return (int64_t)record->entry.time_ms;
}

static void append_json(struct show *show, const struct audit_record *record, const char *time)
{
	struct str text = record->text;

	buf_printf(&show->line, "{\"seq\":%" PRIu64 ",\"time\":\"%s\",\"type\":\"%s\"",
		   record->entry.seq, time, entry_type_text(record->entry.type));
	if (text.len > 2) { /* an object of ours, with members */
		buf_append_byte(&show->line, ',');
		terminal_append_json(&show->line, str_from_index(text, 1));
	} else {
		buf_append_str(&show->line,
			       record->is_erased ? STR(",\"erased\":true}") : STR("}"));
	}
}

static void append_member(struct show *show, const struct json_value *value, const char *label,
			  const char *name)
{
	const struct json_value *member = json_member(value, str_from(name));
	int64_t number;

	if (!member)
		return;
	if (member->type == JSON_NUMBER && json_number_to_i64(&member->number, &number)) {
		buf_printf(&show->line, "  %s %" PRId64, label, number);
	} else if (member->type == JSON_STRING) {
		buf_printf(&show->line, "  %s ", label);
		terminal_append(&show->line, member->string);
	}
}

static void append_events(struct show *show, const struct json_value *value, enum entry_type type)
{
	const struct json_value *events = json_member(value, STR("events"));

	if (!events)
		buf_append_str(&show->line, str_from(entry_type_text(type)));
	for (size_t i = 0; events && events->type == JSON_ARRAY && i < events->array.count; i++) {
		if (events->array.items[i]->type != JSON_STRING)
			continue;
		if (i > 0)
			buf_append_byte(&show->line, '+');
		terminal_append(&show->line, events->array.items[i]->string);
	}
}

static void append_move(struct show *show, const struct json_value *value)
{
	struct str from = audit_member(value, "from"), to = audit_member(value, "to");

	if (!to.len)
		return;
	buf_append_str(&show->line, STR("  "));
	terminal_append(&show->line, from.len ? from : STR("new"));
	buf_append_byte(&show->line, '>');
	terminal_append(&show->line, to);
}

static void append_text(struct show *show, const struct audit_record *record, const char *time)
{
	static const char *const names[][2] = {
		{"by", "by"},		{"answerer", "answerer"},   {"role", "role"},
		{"attempt", "attempt"}, {"outcome", "outcome"},	    {"status", "status"},
		{"answer", "digest"},	{"reference", "reference"}, {"resource", "resource"},
		{"subject", "subject"}, {"agent", "agent"},	    {"credential", "credential"},
		{"task", "task"},	{"step", "step"},	    {"request", "request"},
		{"token", "token"},	{"action", "action"},	    {"fingerprint", "fingerprint"},
		{"account", "account"}, {"retry of", "retry_of"},   {"reason", "reason"},
		{"note", "note"},
	};
	const struct json_value *value = record->value;

	buf_printf(&show->line, "%s  ", time);
	if (!value) {
		buf_printf(&show->line, "(%s, entry %" PRIu64 ", %s)",
			   entry_type_text(record->entry.type), record->entry.seq,
			   record->is_erased ? "its key is erased" : "of another key");
		return;
	}
	append_events(show, value, record->entry.type);
	buf_append_str(&show->line, STR("  "));
	terminal_append(&show->line, audit_member(value, "operation"));
	append_move(show, value);
	buf_append_str(&show->line, STR("  "));
	terminal_append(&show->line, audit_member(value, "method"));
	buf_append_byte(&show->line, ' ');
	terminal_append(&show->line, audit_member(value, "path"));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		append_member(show, value, names[i][0], names[i][1]);
}

static int show_record(void *state, const struct audit_record *record)
{
	struct show *show = state;
	char time[TIME_TEXT];

	time_format(time_of(record), time);
	if (!is_wanted(show, record, time))
		return 0;
	buf_clear(&show->line);
	if (show->is_json)
		append_json(show, record, time);
	else
		append_text(show, record, time);
	buf_append_byte(&show->line, '\n');
	show->has_failed = show->line.is_spoiled ||
			   fwrite(show->line.at, 1, show->line.len, show->out) != show->line.len;
	return show->has_failed ? FAIL_IO : 0;
}

/* -- the commands ------------------------------------------------------------------ */

/* An event that nothing tells of may be misspelled. */
static void say_events(struct show *show)
{
	if (!show->event.len || has_told(&show->told, show->event))
		return;
	buf_clear(&show->line);
	for (size_t i = 0; i < show->told.count; i++) {
		buf_append_str(&show->line, i ? STR(", ") : STR("; it tells of "));
		terminal_append(&show->line, str_from(show->told.names[i]));
	}
	command_message("the log tells of no \"%.*s\"%.*s", (int)show->event.len, show->event.at,
			(int)show->line.len, show->line.at);
}

static int read_all(struct show *show, const char *data, struct vault *vault)
{
	struct audit_reading reading = {
		.data = data, .vault = vault, .on_record = show_record, .state = show};
	int r;

	buf_init(&show->line, LINE_MAX_SIZE);
	r = audit_read(&reading);
	if (fflush(show->out) != 0)
		show->has_failed = true;
	if (r == 0)
		say_events(show);
	buf_fini(&show->line);
	if (show->has_failed)
		command_message("the entries could not be written: %s", strerror(errno));
	if (r != 0 || show->has_failed)
		return EXIT_NOT_SO;
	if (reading.unreadable)
		command_message("%" PRIu64 " entries are not of any data key that is here",
				reading.unreadable);
	if (reading.erased || reading.pruned)
		command_message("%" PRIu64 " entries cannot be read any more, and %" PRIu64
				" are gone: the log says that their key was erased",
				reading.erased, reading.pruned);
	command_message("%" PRIu64 " entries, as of the newest checkpoint; what has happened since "
			"is not published yet and missing here",
			reading.size);
	return reading.unreadable ? EXIT_NOT_SO : EXIT_DONE;
}

static int run(struct show *show, const char *config, const char *data)
{
	struct vault *vault = NULL;
	struct data_place place;
	int status = data_place_find(config, data, &place);

	if (status == EXIT_DONE)
		status = data_place_vault(&place, &vault);
	if (status == EXIT_DONE)
		status = read_all(show, place.data, vault);
	vault_close(vault);
	data_place_fini(&place);
	return status;
}

static struct str option(const struct command_call *call, int which)
{
	return call->options[which] ? str_from(call->options[which]) : STR("");
}

/* A time as an option gives it; false after a message. */
static bool read_time(const struct command_call *call, int which, struct arena *mem,
		      struct str *out_time)
{
	const char *text = call->options[which];

	if (!text || timestamp_read(str_from(text), mem, out_time) == 0)
		return true;
	(void)command_misused(call->command, "\"%s\" is no time like 2026-01-31T09:00:00Z", text);
	return false;
}

/* An operation as it is written everywhere; false after a message. */
static bool read_operation(const struct command_call *call, char *out_id)
{
	const char *text = call->options[SHOW_OP];
	struct operation_id id;

	out_id[0] = '\0';
	if (!text)
		return true;
	if (operation_id_read(str_from(text), &id)) {
		operation_id_write(&id, out_id);
		return true;
	}
	(void)command_misused(call->command, "\"%s\" is no operation id", text);
	return false;
}

static int run_show(const struct command_call *call)
{
	struct show show = {.token = option(call, SHOW_TOKEN),
			    .account = option(call, SHOW_ACCOUNT),
			    .agent = option(call, SHOW_AGENT),
			    .credential = option(call, SHOW_CREDENTIAL),
			    .task = option(call, SHOW_TASK),
			    .fingerprint = option(call, SHOW_FINGERPRINT),
			    .event = option(call, SHOW_EVENT),
			    .is_json = call->options[SHOW_JSON] != NULL,
			    .out = stdout};
	const char *data = call->options[SHOW_DATA];
	char operation[OPERATION_ID_TEXT + 1];
	struct arena mem;
	int status = EXIT_USAGE;

	if (data && call->operand_count)
		return command_misused(call->command, "DIR and --data are the same: name one");
	if (!data && call->operand_count)
		data = call->operands[0];
	if (!read_operation(call, operation))
		return EXIT_USAGE;
	show.op = str_from(operation);
	arena_init(&mem, SINCE_MEMORY);
	if (read_time(call, SHOW_SINCE, &mem, &show.since) &&
	    read_time(call, SHOW_UNTIL, &mem, &show.until))
		status = run(&show, call->options[SHOW_CONFIG], data);
	arena_fini(&mem);
	return status;
}

static int run_export(const struct command_call *call)
{
	const char *path = call->operands[1];
	struct show show = {.is_json = true};
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int status;

	show.out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!show.out) {
		command_message("%s cannot be made: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return EXIT_NOT_SO;
	}
	status = run(&show, call->options[EXPORT_CONFIG], call->operands[0]);
	if (fclose(show.out) != 0) {
		command_message("%s cannot be written: %s", path, strerror(errno));
		status = EXIT_NOT_SO;
	}
	return status;
}

const struct command command_audit_show = {
	.name = "audit show",
	.summary = "prints what the audit log says, an entry a line",
	.usage = "[DIR | --data DIR] [--op OP] [--token T] [--account A] [--agent A]\n"
		 "           [--credential C] [--task T] [--fingerprint F] [--event E]\n"
		 "           [--since TIME] [--until TIME] [--json]\n"
		 "           [--config FILE]",
	.text = "DIR is the gate's data directory, counterfoil-data by default. Its entries are\n"
		"read with the master key: of a configuration that names one, --config FILE is\n"
		"needed. Reads the published files alone, so it works while the gate\n"
		"runs; what no checkpoint covers yet is missing. It does not verify: audit\n"
		"verify does.\n",
	.options = show_options,
	.option_count = sizeof(show_options) / sizeof(show_options[0]),
	.operands_max = 1,
	.run = run_show,
};

const struct command command_audit_export = {
	.name = "audit export",
	.summary = "writes the audit log as lines of JSON, decrypted",
	.usage = "DIR OUT [--config FILE]",
	.text = "DIR is the gate's data directory; OUT is made, for its owner alone.\n",
	.options = export_options,
	.option_count = sizeof(export_options) / sizeof(export_options[0]),
	.operands_min = 2,
	.operands_max = 2,
	.run = run_export,
};
