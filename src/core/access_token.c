/*
 * OAuth 2.0 client credentials (see access_token.h).
 *
 * Some endpoints write expires_in as a string, against § 5.1; digits are taken there as well. A
 * token is opaque: all that is asked of it is that it is one word of visible ASCII, as RFC 6750
 * § 2.1 has it.
 */
#include "core/access_token.h"

#include "base/err.h"
#include "core/text.h"
#include "json/json.h"

enum { LINE_PART_MAX = 3 * (16 * 1024 + 4096) + 1, ERROR_CODE_MAX = 64 };

/* application/x-www-form-urlencoded: all but the unreserved is escaped, which every reader takes.
 */
static void append_encoded(struct buf *out, struct str text)
{
	char escape[3];

	for (size_t i = 0; i < text.len; i++) {
		if (text_is_unreserved(text.at[i]) && text.at[i] != '~') {
			buf_append_byte(out, text.at[i]);
			continue;
		}
		text_escape((unsigned char)text.at[i], escape);
		buf_append(out, escape, sizeof(escape));
	}
}

static void append_pair(struct buf *out, const char *name, struct str value)
{
	buf_printf(out, "&%s=", name);
	append_encoded(out, value);
}

void access_token_body(const struct access_token_question *question, struct buf *out)
{
	buf_append_str(out, STR("grant_type=client_credentials"));
	if (question->scope.len)
		append_pair(out, "scope", question->scope);
	if (question->audience.len)
		append_pair(out, "audience", question->audience);
	if (!question->is_in_body)
		return;
	append_pair(out, "client_id", question->client_id);
	append_pair(out, "client_secret", question->secret);
}

void access_token_line(const struct access_token_question *question, struct buf *out)
{
	struct buf pair;

	if (question->is_in_body)
		return;
	buf_init(&pair, LINE_PART_MAX);
	(void)buf_reserve(&pair, 3 * (question->client_id.len + question->secret.len) + 1);
	append_encoded(&pair, question->client_id);
	buf_append_byte(&pair, ':');
	append_encoded(&pair, question->secret);
	if (pair.is_spoiled) {
		out->is_spoiled = true;
	} else {
		buf_append_str(out, STR("Authorization: Basic "));
		text_append_base64(out, buf_str(&pair));
		buf_append_str(out, STR("\r\n"));
	}
	buf_fini_wiped(&pair);
}

static bool is_token(struct str text)
{
	if (text.len == 0 || text.len > ACCESS_TOKEN_MAX)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (text.at[i] <= 0x20 || text.at[i] >= 0x7f)
			return false;
	}
	return true;
}

static int64_t bounded(int64_t seconds)
{
	if (seconds < 0)
		return 0;
	return seconds < ACCESS_TOKEN_LIFE_MAX_S ? seconds : ACCESS_TOKEN_LIFE_MAX_S;
}

/* Whole seconds; what is longer than we keep any is as long as that. */
static int64_t life_of(const struct json_value *value)
{
	uint64_t digits;
	int64_t seconds;

	if (!value)
		return ACCESS_TOKEN_LIFE_S;
	if (value->type == JSON_NUMBER && json_number_to_i64(&value->number, &seconds))
		return bounded(seconds);
	if (value->type == JSON_STRING && str_to_u64(value->string, INT64_MAX, &digits))
		return bounded((int64_t)digits);
	return ACCESS_TOKEN_LIFE_S;
}

static int malformed(const char *why, const char **out_why)
{
	*out_why = why;
	return ACCESS_TOKEN_MALFORMED;
}

int access_token_read(struct str body, struct arena *mem, struct access_token *out_token,
		      const char **out_why)
{
	const struct json_value *text, *type;
	struct json_value *root;
	struct json_error error;
	int r = json_read(body, &json_limits_default, mem, &root, &error);

	if (r < 0)
		return r;
	if (r != 0)
		return malformed("its answer is no JSON", out_why);
	text = json_member(root, STR("access_token"));
	type = json_member(root, STR("token_type"));
	if (!text || text->type != JSON_STRING)
		return malformed("its answer has no access_token", out_why);
	if (!is_token(text->string))
		return malformed("its access_token cannot stand in a header", out_why);
	if (!type || type->type != JSON_STRING || !str_equal_nocase(type->string, STR("Bearer")))
		return malformed("its token_type is not Bearer", out_why);
	out_token->text = text->string;
	out_token->life_s = life_of(json_member(root, STR("expires_in")));
	return 0;
}

struct str access_token_error(struct str body, struct arena *mem)
{
	const struct json_value *code;
	struct json_value *root;
	struct json_error error;

	if (json_read(body, &json_limits_default, mem, &root, &error) != 0)
		return STR("");
	code = json_member(root, STR("error"));
	if (!code || code->type != JSON_STRING || code->string.len > ERROR_CODE_MAX ||
	    !is_token(code->string))
		return STR("");
	return code->string;
}
