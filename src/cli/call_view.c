/*
 * Results of calls, for programs, and the journal, for people.
 *
 * Always true: nothing in it could move a terminal's cursor. Can fail: no memory.
 */
#include "cli/call_view.h"

#include "base/terminal.h"
#include "cli/command.h"
#include "cli/table.h"
#include "client/result_json.h"
#include "json/json.h"

enum {
	VIEW_MAX = 1024 * 1024 * 1024, /* bytes of what is printed */
	COLUMNS = 7,
	TIME_SIZE = 25,
};

int call_exit(const struct delivery_result *result)
{
	static const struct {
		const char *outcome;
		int status;
	} table[] = {
		{"created", EXIT_DONE},	   {"replayed", EXIT_DONE},
		{"reused", EXIT_DONE},	   {"running", EXIT_OPEN},
		{"queued", EXIT_OPEN},	   {"locked", EXIT_OPEN},
		{"unknown", EXIT_UNKNOWN}, {"conflict", EXIT_CONFLICT},
		{"failed", EXIT_FAILED},   {"refused", EXIT_FAILED},
		{"denied", EXIT_FAILED},   {"expired", EXIT_FAILED},
		{"not_sent", EXIT_FAILED}, {"awaiting_approval", EXIT_WAITING},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (str_equal(result->outcome, str_from(table[i].outcome)))
			return table[i].status;
	return EXIT_UNKNOWN;
}

/* One JSON object on its way to standard output. */
struct object {
	struct buf out;
	struct json_writer json;
};

static void object_begin(struct object *object)
{
	buf_init(&object->out, VIEW_MAX);
	json_writer_init(&object->json, &object->out);
}

/* As one line, and freed. False: no memory, and nothing is printed. */
static bool object_print(struct object *object)
{
	struct buf clean;
	bool is_whole;

	buf_init(&clean, VIEW_MAX);
	terminal_append_json(&clean, buf_str(&object->out));
	is_whole = !object->out.is_spoiled && !clean.is_spoiled;
	if (is_whole) {
		fwrite(clean.at, 1, clean.len, stdout);
		putchar('\n');
	}
	buf_fini(&clean);
	buf_fini(&object->out);
	return is_whole;
}

bool call_print(const struct delivery_result *result)
{
	struct object object;

	object_begin(&object);
	result_json_write(&object.json, result);
	return object_print(&object);
}

/* -- the journal --------------------------------------------------------------------- */

static void write_entry(struct json_writer *json, const struct journal_entry *entry)
{
	result_json_step(json, &entry->step);
	json_put_text(json, "state", str_from(entry_state_text(entry->state)));
	json_put_text(json, "outcome", entry->outcome);
	json_put_text(json, "operation", entry->operation);
	json_name(json, "current");
	json_boolean(json, entry->is_current);
	json_name(json, "under_way");
	json_boolean(json, entry->is_owner_alive);
	json_name(json, "gate");
	json_boolean(json, entry->is_gate);
	result_json_count(json, "attempts", entry->attempts);
	json_put_time(json, "created", entry->created_ms);
	json_put_time(json, "changed", entry->changed_ms);
	result_json_retry(json, entry->advice, entry->after_s);
	json_put_text(json, "reason", entry->reason);
}

static bool print_list_json(const struct journal_entry *entries, size_t count)
{
	struct object object;
	struct json_writer *json = &object.json;

	object_begin(&object);
	json_open_object(json);
	json_name(json, "entries");
	json_open_array(json);
	for (size_t i = 0; i < count; i++) {
		json_open_object(json);
		write_entry(json, &entries[i]);
		json_close_object(json);
	}
	json_close_array(json);
	json_close_object(json);
	return object_print(&object);
}

bool call_print_list(const struct journal_entry *entries, size_t count, bool is_json,
		     struct arena *mem)
{
	static const struct table_column columns[COLUMNS] = {
		{"STATE", 10}, {"TASK", 24},  {"STEP", 24},    {"REQUEST", 48},
		{"TRIES", 6},  {"TOKEN", 36}, {"CHANGED", 24},
	};
	struct table table;
	struct buf out;

	if (is_json)
		return print_list_json(entries, count);
	if (!table_begin(&table, columns, COLUMNS, count, mem))
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct journal_entry *entry = &entries[i];
		char changed[TIME_SIZE];
		struct str cells[COLUMNS] = {
			entry->is_owner_alive ? STR("under way")
					      : str_from(entry_state_text(entry->state)),
			entry->step.task,
			entry->step.step,
			arena_printf(mem, "%.*s %.*s", STR_ARG(entry->step.method),
				     STR_ARG(entry->step.url)),
			arena_printf(mem, "%lld", (long long)entry->attempts),
			entry->step.token,
			str_of(changed, TIME_SIZE - 1),
		};

		time_format(entry->changed_ms, changed);
		table_add(&table, cells);
	}
	buf_init(&out, VIEW_MAX);
	table_write(&table, &out);
	fwrite(out.at, 1, out.len, stdout);
	buf_fini(&out);
	return true;
}

static bool print_entry_json(const struct journal_entry *entry, const struct journal_event *events,
			     size_t count)
{
	struct object object;
	struct json_writer *json = &object.json;

	object_begin(&object);
	json_open_object(json);
	write_entry(json, entry);
	result_json_answer(json, &entry->answer);
	json_name(json, "events");
	json_open_array(json);
	for (size_t i = 0; i < count; i++) {
		json_open_object(json);
		json_put_time(json, "at", events[i].at_ms);
		json_put_text(json, "what", events[i].what);
		json_put_text(json, "note", events[i].note);
		json_close_object(json);
	}
	json_close_array(json);
	json_close_object(json);
	return object_print(&object);
}

static void print_line(const char *name, struct str value)
{
	if (!value.len)
		return;
	printf("%-12s ", name);
	terminal_print(stdout, value);
	putchar('\n');
}

static void print_time(const char *name, int64_t at_ms)
{
	char text[TIME_SIZE];

	time_format(at_ms, text);
	print_line(name, str_from(text));
}

bool call_print_entry(const struct journal_entry *entry, const struct journal_event *events,
		      size_t count, bool is_json)
{
	if (is_json)
		return print_entry_json(entry, events, count);
	print_line("Token", entry->step.token);
	print_line("Task", entry->step.task);
	print_line("Step", entry->step.step);
	printf("%-12s ", "Request");
	terminal_print(stdout, entry->step.method);
	putchar(' ');
	terminal_print(stdout, entry->step.url);
	putchar('\n');
	print_line("State", entry->is_owner_alive ? STR("under way")
						  : str_from(entry_state_text(entry->state)));
	print_line("Outcome", entry->outcome);
	print_line("Operation", entry->operation);
	print_line("Advice", entry->advice);
	print_line("Reason", entry->reason);
	print_time("Made", entry->created_ms);
	for (size_t i = 0; i < count; i++) {
		char text[TIME_SIZE];

		time_format(events[i].at_ms, text);
		printf("  %s  %.*s", text, STR_ARG(events[i].what));
		printf("%s", events[i].note.len ? ": " : "");
		terminal_print(stdout, events[i].note);
		putchar('\n');
	}
	return true;
}
