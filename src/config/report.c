/*
 * The list of all that is wrong, and its two faces: lines for people, JSON for programs.
 *
 * Errors are added in the order they are found and put into the order of the file at the
 * end. The report is bounded twice: in entries and, through its arena, in bytes.
 */
#include "config/report.h"

#include "json/json.h"

#include <stdarg.h>

enum {
	REPORT_MEMORY_MAX = 256 * 1024,
	SENTENCE_MAX = 512, /* bytes of one `what`; longer ones are cut */
	QUOTE_TEXT_MAX = 60,
};

static const char *keep(struct settings_report *report, const char *text)
{
	struct str copy = arena_str(&report->mem, str_from(text));

	return copy.at ? copy.at : "(no memory left to say more)";
}

void report_add(struct settings_report *report, struct place place, const char *mend,
		const char *format, ...)
{
	char sentence[SENTENCE_MAX];
	va_list arguments;

	if (report->count == SETTINGS_ERRORS_MAX) {
		report->left_out++;
		return;
	}
	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	report->errors[report->count++] = (struct settings_error){
		.source = keep(report, place.source),
		.line = place.line,
		.column = place.column,
		.what = keep(report, sentence),
		.mend = keep(report, mend),
	};
}

static bool comes_after(const struct settings_error *a, const struct settings_error *b)
{
	size_t line_a = a->line ? a->line : SIZE_MAX;
	size_t line_b = b->line ? b->line : SIZE_MAX;

	return line_a > line_b || (line_a == line_b && a->column > b->column);
}

/* By insertion: at most a hundred, mostly in order, and equal ones keep theirs. */
void report_sort(struct settings_report *report)
{
	for (size_t i = 1; i < report->count; i++) {
		struct settings_error error = report->errors[i];
		size_t at = i;

		for (; at > 0 && comes_after(&report->errors[at - 1], &error); at--)
			report->errors[at] = report->errors[at - 1];
		report->errors[at] = error;
	}
}

void settings_report_init(struct settings_report *report)
{
	report->count = 0;
	report->left_out = 0;
	arena_init(&report->mem, REPORT_MEMORY_MAX);
}

void settings_report_fini(struct settings_report *report)
{
	if (!report)
		return;
	arena_fini(&report->mem);
	report->count = 0;
	report->left_out = 0;
}

void settings_report_print(const struct settings_report *report, FILE *out)
{
	for (size_t i = 0; i < report->count; i++) {
		const struct settings_error *error = &report->errors[i];

		if (error->line)
			fprintf(out, "%s:%zu:%zu: %s; %s\n", error->source, error->line,
				error->column, error->what, error->mend);
		else
			fprintf(out, "%s: %s; %s\n", error->source, error->what, error->mend);
	}
	if (report->left_out)
		fprintf(out, "and %zu more errors that are not shown\n", report->left_out);
}

static void write_position(struct json_writer *writer, const char *name, size_t number)
{
	json_name(writer, name);
	if (number)
		json_integer(writer, (int64_t)number);
	else
		json_null(writer);
}

static void write_error(struct json_writer *writer, const struct settings_error *error)
{
	json_open_object(writer);
	json_name(writer, "file");
	json_text(writer, error->source);
	write_position(writer, "line", error->line);
	write_position(writer, "column", error->column);
	json_name(writer, "what");
	json_text(writer, error->what);
	json_name(writer, "mend");
	json_text(writer, error->mend);
	json_close_object(writer);
}

void settings_report_json(const struct settings_report *report, struct buf *out)
{
	struct json_writer writer;

	json_writer_init(&writer, out);
	json_open_object(&writer);
	json_name(&writer, "ok");
	json_boolean(&writer, report->count == 0);
	json_name(&writer, "errors");
	json_open_array(&writer);
	for (size_t i = 0; i < report->count; i++)
		write_error(&writer, &report->errors[i]);
	json_close_array(&writer);
	json_name(&writer, "left_out");
	json_integer(&writer, (int64_t)report->left_out);
	json_close_object(&writer);
}

const char *quote(char out[QUOTE_SIZE], struct str text)
{
	size_t len = text.len < QUOTE_TEXT_MAX ? text.len : QUOTE_TEXT_MAX;

	/* Never end inside a UTF-8 sequence. */
	while (len < text.len && len > 0 && ((unsigned char)text.at[len] & 0xc0) == 0x80)
		len--;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text.at[i];

		out[i] = (c < 0x20 || c == 0x7f) ? '?' : (char)c;
	}
	memcpy(out + len, len < text.len ? "..." : "", len < text.len ? 4 : 1);
	return out;
}
