/*
 * What all reports say alike.
 *
 * Always true: what comes out of report_escape() is text in XML 1.0 and in HTML, wherever it
 * stands, in quotes too. Cannot fail but by the buffer.
 */
#include "drill/report.h"

#include "base/err.h"
#include "json/json.h"

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

/* The bytes of the UTF-8 character at the front of `text`; 0: it is none. */
static size_t character(struct str text)
{
	for (size_t len = 1; len <= 4 && len <= text.len; len++)
		if (json_is_utf8(str_of(text.at, len)))
			return len;
	return 0;
}

/* U+FFFE and U+FFFF are no characters of XML. */
static bool is_no_character(const char *at, size_t len)
{
	return len == 3 && memcmp(at, "\xef\xbf", 2) == 0 && (unsigned char)at[2] >= 0xbe;
}

void report_escape(struct buf *out, struct str text)
{
	while (text.len) {
		size_t len = character(text);
		char c = *text.at;

		if (!len || is_no_character(text.at, len) ||
		    ((unsigned char)c < ' ' && c != '\n' && c != '\t'))
			buf_append_str(out, STR("\xef\xbf\xbd"));
		else if (c == '<')
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
			buf_append(out, text.at, len);
		text = str_from_index(text, len ? len : 1);
	}
}
