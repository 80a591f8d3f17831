/*
 * The table as text: the commented example, and the list for the manual page.
 *
 * Every setting appears in the example. One with a default stands there with it, and so
 * changes nothing; one without is a comment with a plausible value. The example passes
 * its own check.
 */
#include "config/table.h"

enum { COMMENT_WIDTH = 92, COMMENT_MAX = 1024, INDENT = 2 };

/* `text` as comment lines of at most COMMENT_WIDTH columns. */
static void write_comment(FILE *out, int indent, const char *text)
{
	struct str rest = str_from(text), word;
	int column = 0;

	while (str_split(&rest, ' ', &word)) {
		if (column > 0 && column + 1 + (int)word.len > COMMENT_WIDTH) {
			fputc('\n', out);
			column = 0;
		}
		if (column == 0)
			column = fprintf(out, "%*s#", indent, "");
		column += fprintf(out, " %.*s", STR_ARG(word));
	}
	if (column > 0)
		fputc('\n', out);
}

/* Has any setting of the section a value to write? Else its heading is a comment, too. */
static bool section_is_live(struct str section)
{
	for (size_t i = 0; i < settings_table_size; i++) {
		const struct setting *setting = &settings_table[i];
		struct str name = str_from(setting->name);

		if (name.len > section.len && name.at[section.len] == '.' &&
		    str_starts_with(name, section) && setting->default_value)
			return true;
	}
	return false;
}

/* "tokens" of "tokens.header", "upstreams.*" of "upstreams.*.url", "" of "listen". */
static struct str section_of(const struct setting *setting)
{
	const char *dot = strrchr(setting->name, '.');

	return str_of(setting->name, dot ? (size_t)(dot - setting->name) : 0);
}

static int write_heading(FILE *out, struct str section)
{
	fputc('\n', out);
	if (section.len == 0)
		return 0;
	if (str_equal(section, STR("upstreams.*"))) {
		fputs("# The services behind the gate, by name. `default` takes every request.\n"
		      "upstreams:\n  default:\n",
		      out);
		return 2 * INDENT;
	}
	fprintf(out, "%s%.*s:\n", section_is_live(section) ? "" : "# ", STR_ARG(section));
	return INDENT;
}

static void write_setting(FILE *out, const struct setting *setting, int indent)
{
	const char *dot = strrchr(setting->name, '.');
	bool is_live = setting->default_value || setting->is_required;
	const char *value = setting->default_value ? setting->default_value : setting->example;
	char range[128] = "", comment[COMMENT_MAX];

	if (setting->range && strcmp(setting->range, value) != 0)
		snprintf(range, sizeof(range), " %s: %s.",
			 setting->kind == KIND_CHOICE ? "One of" : "Range", setting->range);
	snprintf(comment, sizeof(comment), "%s%s%s", setting->help, range,
		 setting->needs_restart ? " Changing it needs a restart." : "");
	write_comment(out, indent, comment);
	fprintf(out, "%*s%s%s: %s\n", indent, "", is_live ? "" : "# ",
		dot ? dot + 1 : setting->name, value);
	if (setting->default_value && setting->example)
		fprintf(out, "%*s# %s: %s\n", indent, "", dot ? dot + 1 : setting->name,
			setting->example);
}

void settings_write_example(FILE *out)
{
	struct str section = STR("");
	int indent = 0;

	fputs("# The configuration of a Counterfoil gate, with every setting it has. Values are "
	      "the\n"
	      "# defaults, but for the url of the service; what has none is a comment. Durations "
	      "are\n"
	      "# whole numbers with ms, s, m, h or d; sizes are bytes, or with KiB, MiB, GiB, KB, "
	      "MB\n"
	      "# or GB. Check a file with `counterfoil config check FILE`.\n\n",
	      out);
	for (size_t i = 0; i < settings_table_size; i++) {
		const struct setting *setting = &settings_table[i];

		if (setting->kind == KIND_LATER)
			continue;
		if (!str_equal(section, section_of(setting))) {
			section = section_of(setting);
			indent = write_heading(out, section);
		}
		write_setting(out, setting, indent);
	}
}

/* Text in which roff finds nothing to do. */
static void write_roff(FILE *out, const char *text)
{
	if (text[0] == '.' || text[0] == '\'')
		fputs("\\&", out);
	for (; *text; text++) {
		if (*text == '\\')
			fputs("\\e", out);
		else if (*text == '-')
			fputs("\\-", out);
		else
			fputc(*text, out);
	}
}

static void write_manual_row(FILE *out, const struct settings_row *row)
{
	fputs(".TP\n.B ", out);
	write_roff(out, row->name);
	fputc('\n', out);
	write_roff(out, row->help);
	fputs("\n.br\nTakes ", out);
	write_roff(out, row->type);
	if (row->range[0]) {
		fputs(": ", out);
		write_roff(out, row->range);
	}
	if (row->default_value) {
		fputs("; default ", out);
		write_roff(out, row->default_value);
	}
	fputs(row->needs_restart ? ". Needs a restart.\n" : ".\n", out);
}

void settings_write_manual(FILE *out)
{
	struct settings_row row;

	for (size_t i = 0; settings_row_at(i, &row); i++)
		write_manual_row(out, &row);
}
