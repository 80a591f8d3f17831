/*
 * What all reports say alike.
 *
 * Always true: what comes out of report_escape() is text in XML 1.0 and in HTML, wherever it
 * stands, in quotes too. Cannot fail but by the buffer.
 */
#include "drill/report.h"

#include "base/err.h"
#include "base/terminal.h"

enum { CLEAN_GROWTH = 6 }; /* bytes that one byte may become, at most */

const char *drill_verdict_text(enum drill_verdict verdict)
{
	static const char *const texts[DRILL_VERDICTS] = {
		[DRILL_PASS] = "pass",
		[DRILL_FAIL] = "fail",
		[DRILL_NOT_APPLICABLE] = "not_applicable",
		[DRILL_ERROR] = "error",
	};

	require(verdict < DRILL_VERDICTS);
	return texts[verdict];
}

const char *report_actor(enum drill_actor actor)
{
	static const char *const texts[DRILL_ACTORS] = {
		[DRILL_CLIENT] = "client",
		[DRILL_WIRE] = "wire",
		[DRILL_SERVER] = "server",
		[DRILL_COUNT] = "count",
	};

	require(actor < DRILL_ACTORS);
	return texts[actor];
}

struct report_counts report_count_scenario(const struct drill_scenario_result *scenario)
{
	struct report_counts counts = {{0}};

	for (size_t i = 0; i < scenario->case_count; i++)
		counts.of[scenario->cases[i].verdict]++;
	return counts;
}

struct report_counts report_count(const struct drill_report *report)
{
	struct report_counts sum = {{0}};

	for (size_t i = 0; i < report->scenario_count; i++) {
		struct report_counts counts = report_count_scenario(&report->scenarios[i]);

		for (size_t k = 0; k < DRILL_VERDICTS; k++)
			sum.of[k] += counts.of[k];
	}
	return sum;
}

void report_effects(const struct drill_case_result *result, struct buf *out)
{
	int64_t made = result->effects_after - result->effects_before;

	if (result->effects_before < 0 || result->effects_after < 0)
		return;
	buf_printf(out, "%lld effect%s", (long long)made, made == 1 ? "" : "s");
	if (result->effects_wanted < 0)
		return;
	if (made == result->effects_wanted)
		buf_append_str(out, STR(", as wanted"));
	else
		buf_printf(out, " where %lld %s wanted", (long long)result->effects_wanted,
			   result->effects_wanted == 1 ? "was" : "were");
}

void report_clean(struct buf *out, struct str text)
{
	buf_init(out, REPORT_TEXT_MAX);
	terminal_append(out, str_cut(text, REPORT_TEXT_MAX / CLEAN_GROWTH));
}

/* U+FFFE and U+FFFF are no characters of XML. */
static bool is_no_character(struct str text)
{
	return text.len >= 3 && memcmp(text.at, "\xef\xbf", 2) == 0 &&
	       (unsigned char)text.at[2] >= 0xbe;
}

static void escape_character(struct buf *out, char c)
{
	if (c == '<')
		buf_append_str(out, STR("&lt;"));
	else if (c == '>')
		buf_append_str(out, STR("&gt;"));
	else if (c == '&')
		buf_append_str(out, STR("&amp;"));
	else if (c == '"')
		buf_append_str(out, STR("&quot;"));
	else if (c == '\'')
		buf_append_str(out, STR("&#39;"));
	else
		buf_append_byte(out, c);
}

void report_escape(struct buf *out, struct str text)
{
	struct buf clean;
	struct str rest;

	report_clean(&clean, text);
	for (rest = buf_str(&clean); rest.len;) {
		if (is_no_character(rest)) {
			buf_append_str(out, STR("\xef\xbf\xbd"));
			rest = str_from_index(rest, 3);
		} else {
			escape_character(out, *rest.at);
			rest = str_from_index(rest, 1);
		}
	}
	buf_fini(&clean);
}
