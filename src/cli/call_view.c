/*
 * Results of calls, for programs, and the journal, for people.
 *
 * A result's members are always all there, null where there is nothing, so that who reads them
 * needs no second guess. What came from a service is JSON where it is JSON, and else text.
 *
 * Always true: nothing in it could move a terminal's cursor. Can fail: no memory.
 */
#include "cli/call_view.h"

#include "base/terminal.h"
#include "cli/command.h"
#include "cli/table.h"
#include "json/json.h"

#include <sodium.h>
#include <stdlib.h>

enum {
	VIEW_MAX = 1024 * 1024 * 1024, /* bytes of what is printed */
	BASE64_BODY_MAX = 64 * 1024 * 1024,
	COLUMNS = 7,
	TIME_SIZE = 25,
};

static void write_answer(struct json_writer *json, const struct kept_answer *answer);

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

static void write_count(struct json_writer *json, const char *name, int64_t number)
{
	json_name(json, name);
	json_integer(json, number);
}

static void write_retry(struct json_writer *json, struct str advice, int64_t after_s)
{
	json_name(json, "retry");
	json_open_object(json);
	json_put_text(json, "advice", advice);
	write_count(json, "after", after_s);
	json_close_object(json);
}

static void write_step(struct json_writer *json, const struct step *step)
{
	json_put_text(json, "token", step->token);
	json_put_text(json, "task", step->task);
	json_put_text(json, "step", step->step);
	json_put_text(json, "method", step->method);
	json_put_text(json, "url", step->url);
}

/* As one line on standard output. */
static bool print_json(const struct buf *out)
{
	struct buf clean;
	bool is_whole;

	buf_init(&clean, VIEW_MAX);
	terminal_append_json(&clean, buf_str(out));
	is_whole = !out->is_spoiled && !clean.is_spoiled;
	if (is_whole) {
		fwrite(clean.at, 1, clean.len, stdout);
		putchar('\n');
	}
	buf_fini(&clean);
	return is_whole;
}

bool call_print(const struct delivery_result *result)
{
	struct json_writer json;
	struct buf out;
	bool is_whole;

	buf_init(&out, VIEW_MAX);
	json_writer_init(&json, &out);
	json_open_object(&json);
	json_put_text(&json, "outcome", result->outcome);
	json_put_text(&json, "operation", result->operation);
	write_step(&json, &result->step);
	json_put_text(&json, "state", str_from(entry_state_text(result->state)));
	write_answer(&json, &result->answer);
	json_name(&json, "gate");
	json_boolean(&json, result->is_gate);
	write_count(&json, "attempts", result->attempts);
	json_put_text(&json, "source", str_from(result->source));
	if (result->is_local) {
		json_name(&json, "local");
		json_boolean(&json, true);
		json_put_text(&json, "difference", result->difference);
	}
	write_retry(&json, result->advice, result->after_s);
	json_put_text(&json, "reason", result->reason);
	json_close_object(&json);
	is_whole = print_json(&out);
	buf_fini(&out);
	return is_whole;
}

/* The next "Name: value" line of one name, or of any where `name` is empty. */
static bool next_header(struct str *rest, struct str name, struct str *out_name,
			struct str *out_value)
{
	struct str line;

	while (str_split(rest, '\n', &line)) {
		size_t colon = str_find(line, ':');

		*out_name = str_of(line.at, colon);
		*out_value = str_trim(str_from_index(line, colon + 1));
		if (colon < line.len && (!name.len || str_equal_nocase(*out_name, name)))
			return true;
	}
	return false;
}

/* All values of a header, with commas between (RFC 9110 § 5.3). */
static void write_values(struct json_writer *json, struct str headers, struct str name)
{
	struct str found, value;
	struct buf text;

	buf_init(&text, VIEW_MAX);
	while (next_header(&headers, name, &found, &value)) {
		buf_append_str(&text, text.len ? STR(", ") : STR(""));
		buf_append_str(&text, value);
	}
	json_name_str(json, name);
	json_string(json, buf_str(&text));
	buf_fini(&text);
}

static void write_headers(struct json_writer *json, struct str headers)
{
	struct str rest = headers, name, value, earlier, same, ignored;

	json_name(json, "headers");
	json_open_object(json);
	while (next_header(&rest, STR(""), &name, &value)) {
		earlier = str_of(headers.at, (size_t)(name.at - headers.at));
		if (!next_header(&earlier, name, &same, &ignored))
			write_values(json, headers, name);
	}
	json_close_object(json);
}

static void write_base64(struct json_writer *json, struct str body)
{
	size_t size = sodium_base64_encoded_len(body.len, sodium_base64_VARIANT_ORIGINAL);
	char *text = body.len <= BASE64_BODY_MAX ? malloc(size) : NULL;

	if (text) {
		sodium_bin2base64(text, size, (const unsigned char *)body.at, body.len,
				  sodium_base64_VARIANT_ORIGINAL);
		json_name(json, "body_base64");
		json_text(json, text);
	}
	free(text);
}

/* JSON as it is, in one line: a line break stands in none of its strings. */
static void write_in_one_line(struct json_writer *json, struct str text)
{
	struct buf line;

	buf_init(&line, VIEW_MAX);
	for (size_t i = 0; i < text.len; i++)
		buf_append_byte(&line, text.at[i] == '\n' || text.at[i] == '\r' ? ' ' : text.at[i]);
	if (!line.is_spoiled)
		json_raw(json, str_trim(buf_str(&line)));
	else
		json_null(json);
	buf_fini(&line);
}

/* The body as a value of its own, where it is JSON of one reading. */
static bool write_json_body(struct json_writer *json, struct str body)
{
	struct json_value *value;
	struct json_error error;
	struct arena mem;
	bool is_json;

	arena_init(&mem, 32 * body.len + 64 * 1024);
	is_json = json_read(body, &json_limits_default, &mem, &value, &error) == 0;
	arena_fini(&mem);
	if (is_json)
		write_in_one_line(json, body);
	return is_json;
}

static void write_body(struct json_writer *json, const struct kept_answer *answer)
{
	bool is_here = answer->has_body && !answer->body_file.len;

	json_name(json, "body");
	if (!is_here || !json_is_utf8(answer->body)) {
		json_null(json);
		if (is_here)
			write_base64(json, answer->body);
	} else if (!write_json_body(json, answer->body)) {
		json_string(json, answer->body);
	}
	json_put_text(json, "file", answer->body_file);
}

static void write_answer(struct json_writer *json, const struct kept_answer *answer)
{
	json_name(json, "status");
	if (answer->status)
		json_integer(json, answer->status);
	else
		json_null(json);
	write_headers(json, answer->headers);
	write_body(json, answer);
}

/* -- the journal --------------------------------------------------------------------- */

static void write_entry(struct json_writer *json, const struct journal_entry *entry)
{
	write_step(json, &entry->step);
	json_put_text(json, "state", str_from(entry_state_text(entry->state)));
	json_put_text(json, "outcome", entry->outcome);
	json_put_text(json, "operation", entry->operation);
	json_name(json, "current");
	json_boolean(json, entry->is_current);
	json_name(json, "under_way");
	json_boolean(json, entry->is_owner_alive);
	json_name(json, "gate");
	json_boolean(json, entry->is_gate);
	write_count(json, "attempts", entry->attempts);
	json_put_time(json, "created", entry->created_ms);
	json_put_time(json, "changed", entry->changed_ms);
	write_retry(json, entry->advice, entry->after_s);
	json_put_text(json, "reason", entry->reason);
}

static bool print_list_json(const struct journal_entry *entries, size_t count)
{
	struct json_writer json;
	struct buf out;
	bool is_whole;

	buf_init(&out, VIEW_MAX);
	json_writer_init(&json, &out);
	json_open_object(&json);
	json_name(&json, "entries");
	json_open_array(&json);
	for (size_t i = 0; i < count; i++) {
		json_open_object(&json);
		write_entry(&json, &entries[i]);
		json_close_object(&json);
	}
	json_close_array(&json);
	json_close_object(&json);
	is_whole = print_json(&out);
	buf_fini(&out);
	return is_whole;
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
	struct json_writer json;
	struct buf out;
	bool is_whole;

	buf_init(&out, VIEW_MAX);
	json_writer_init(&json, &out);
	json_open_object(&json);
	write_entry(&json, entry);
	write_answer(&json, &entry->answer);
	json_name(&json, "events");
	json_open_array(&json);
	for (size_t i = 0; i < count; i++) {
		json_open_object(&json);
		json_put_time(&json, "at", events[i].at_ms);
		json_put_text(&json, "what", events[i].what);
		json_put_text(&json, "note", events[i].note);
		json_close_object(&json);
	}
	json_close_array(&json);
	json_close_object(&json);
	is_whole = print_json(&out);
	buf_fini(&out);
	return is_whole;
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
