/*
 * A result as one JSON object.
 *
 * Its members are always all there, null where there is nothing, so that who reads them needs no
 * second guess. What came from a service is JSON where it is JSON, and else text.
 *
 * Can fail: no memory. The writer's buffer is spoiled then, or the body is null.
 */
#include "client/result_json.h"

#include <sodium.h>
#include <stdlib.h>

enum {
	MEMBER_MAX = 1024 * 1024 * 1024, /* bytes of a value while it is made */
	BASE64_BODY_MAX = 64 * 1024 * 1024,
};

void result_json_write(struct json_writer *json, const struct delivery_result *result)
{
	json_open_object(json);
	json_put_text(json, "outcome", result->outcome);
	json_put_text(json, "operation", result->operation);
	result_json_step(json, &result->step);
	json_put_text(json, "state", str_from(entry_state_text(result->state)));
	result_json_answer(json, &result->answer);
	json_name(json, "gate");
	json_boolean(json, result->is_gate);
	result_json_count(json, "attempts", result->attempts);
	json_put_text(json, "source", str_from(result->source));
	if (result->is_local) {
		json_name(json, "local");
		json_boolean(json, true);
		json_put_text(json, "difference", result->difference);
	}
	result_json_retry(json, result->advice, result->after_s);
	json_put_text(json, "reason", result->reason);
	json_close_object(json);
}

void result_json_count(struct json_writer *json, const char *name, int64_t number)
{
	json_name(json, name);
	json_integer(json, number);
}

void result_json_retry(struct json_writer *json, struct str advice, int64_t after_s)
{
	json_name(json, "retry");
	json_open_object(json);
	json_put_text(json, "advice", advice);
	result_json_count(json, "after", after_s);
	json_close_object(json);
}

void result_json_step(struct json_writer *json, const struct step *step)
{
	json_put_text(json, "token", step->token);
	json_put_text(json, "task", step->task);
	json_put_text(json, "step", step->step);
	json_put_text(json, "method", step->method);
	json_put_text(json, "url", step->url);
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

	buf_init(&text, MEMBER_MAX);
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

	buf_init(&line, MEMBER_MAX);
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

void result_json_answer(struct json_writer *json, const struct kept_answer *answer)
{
	json_name(json, "status");
	if (answer->status)
		json_integer(json, answer->status);
	else
		json_null(json);
	write_headers(json, answer->headers);
	write_body(json, answer);
}
