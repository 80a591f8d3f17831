/*
 * Reading a token.
 *
 * Two spellings, one token: "abc" and abc. A value that begins with a quote is a
 * structured-field string and has to be a whole one; anything else is taken bare, byte for
 * byte. What two readers could take for different tokens is refused: a list (two header
 * lines that a proxy joined look the same), parameters after the string, a quote or a blank
 * inside a bare one. Inside quotes a comma is an ordinary character.
 */
#include "core/token.h"

#include "base/err.h"

static const char detail_empty[] =
	"The token is empty; send 1 to 255 visible ASCII characters, a UUID for example.";
static const char detail_long[] = "The token is longer than 255 characters; send a shorter one, a "
				  "UUID or a digest for example.";
static const char detail_list[] =
	"The header holds a list; send one token, in one header line, without a comma.";
static const char detail_byte[] =
	"The token holds a blank, a control or a non-ASCII byte; only visible ASCII characters "
	"(0x21 to 0x7e) may be in it.";
static const char detail_quote[] =
	"The token has a quote inside; write it as a string, \"like \\\" this\", or without the "
	"quote.";
static const char detail_unclosed[] =
	"The token starts with a quote that is never closed; close it, or send it without quotes.";
static const char detail_escape[] =
	"The token has a backslash before something other than a quote or a backslash; inside "
	"quotes write \\\\ for a backslash.";
static const char detail_parameters[] =
	"Parameters follow the token; send the string alone, without a semicolon after it.";
static const char detail_after[] =
	"Something follows the closing quote of the token; send the string alone.";

static int malformed(const char *detail, const char **out_detail)
{
	*out_detail = detail;
	return TOKEN_MALFORMED;
}

static bool is_visible(char c)
{
	return c > 0x20 && c < 0x7f;
}

bool token_is_fine(struct str text)
{
	if (text.len == 0 || text.len > TOKEN_MAX)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (!is_visible(text.at[i]))
			return false;
	}
	return true;
}

static int read_bare(struct str value, struct str *out_token, const char **out_detail)
{
	if (str_find(value, ',') < value.len)
		return malformed(detail_list, out_detail);
	for (size_t i = 0; i < value.len; i++) {
		if (!is_visible(value.at[i]))
			return malformed(detail_byte, out_detail);
		if (value.at[i] == '"')
			return malformed(detail_quote, out_detail);
	}
	if (value.len > TOKEN_MAX)
		return malformed(detail_long, out_detail);
	*out_token = value;
	return 0;
}

/* What is wrong with `after`, the text behind a closing quote? */
static const char *complaint_about(struct str after)
{
	struct str trimmed = str_trim(after);

	if (trimmed.at[0] == ',')
		return detail_list;
	return trimmed.at[0] == ';' ? detail_parameters : detail_after;
}

/* Find the closing quote and check all before it; `value` starts behind the opening one. */
static int scan_string(struct str value, size_t *out_end, size_t *out_escapes,
		       const char **out_detail)
{
	size_t escapes = 0, i;

	for (i = 0; i < value.len && value.at[i] != '"'; i++) {
		if (!is_visible(value.at[i]))
			return malformed(detail_byte, out_detail);
		if (value.at[i] != '\\')
			continue;
		i++;
		if (i == value.len || (value.at[i] != '"' && value.at[i] != '\\'))
			return malformed(detail_escape, out_detail);
		escapes++;
	}
	if (i == value.len)
		return malformed(detail_unclosed, out_detail);
	if (i + 1 < value.len)
		return malformed(complaint_about(str_from_index(value, i + 1)), out_detail);
	*out_end = i;
	*out_escapes = escapes;
	return 0;
}

static int unescape(struct str text, struct arena *mem, struct str *out_token)
{
	char *token = arena_alloc(mem, text.len);
	size_t len = 0;

	if (!token)
		return FAIL_MEMORY;
	for (size_t i = 0; i < text.len; i++) {
		if (text.at[i] == '\\')
			i++;
		token[len++] = text.at[i];
	}
	*out_token = str_of(token, len);
	return 0;
}

/* A string as in RFC 8941 § 3.3.3, without the spaces that it would allow. */
static int read_string(struct str value, struct arena *mem, struct str *out_token,
		       const char **out_detail)
{
	size_t end, escapes;
	int r = scan_string(value, &end, &escapes, out_detail);

	if (r != 0)
		return r;
	if (end == 0)
		return malformed(detail_empty, out_detail);
	if (end - escapes > TOKEN_MAX)
		return malformed(detail_long, out_detail);
	value.len = end;
	if (escapes)
		return unescape(value, mem, out_token);
	*out_token = value;
	return 0;
}

int token_read(struct str value, struct arena *mem, struct str *out_token, const char **out_detail)
{
	value = str_trim(value);
	if (value.len == 0)
		return malformed(detail_empty, out_detail);
	if (value.at[0] == '"')
		return read_string(str_from_index(value, 1), mem, out_token, out_detail);
	return read_bare(value, out_token, out_detail);
}
