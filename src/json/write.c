/*
 * Writing JSON piece by piece: the caller says what, the writer puts commas, colons and
 * escapes where they belong.
 *
 * One flag is enough for the commas: one is due before whatever follows a whole value, and
 * none after an opening bracket or a name. Nothing is checked on the way: the buffer
 * remembers that it refused something.
 */
#include "base/env.h"
#include "json/internal.h"

#include <stdio.h>

void json_writer_init(struct json_writer *writer, struct buf *out)
{
	*writer = (struct json_writer){.out = out};
}

static bool is_plain(struct str text)
{
	return !text.len || json_skip_plain(text.at, text.at + text.len) == text.at + text.len;
}

/* The comma that is due; `is_whole` when what is written now is a whole value. */
static void before(struct json_writer *writer, bool is_whole)
{
	if (writer->needs_comma)
		buf_append_byte(writer->out, ',');
	writer->needs_comma = is_whole;
}

static char *quote(char *at, struct str text)
{
	*at++ = '"';
	if (text.len)
		memcpy(at, text.at, text.len);
	at[text.len] = '"';
	return at + text.len + 1;
}

/* A name with its colon, or a value, that needs no escape. One append, since texts are most of what
 * is written, and most of them are short. */
static void put_plain(struct json_writer *writer, struct str text, bool is_name)
{
	size_t len = text.len + 2 + writer->needs_comma + is_name;
	char *at = buf_reserve(writer->out, len);

	if (!at)
		return;
	if (writer->needs_comma)
		*at++ = ',';
	at = quote(at, text);
	if (is_name)
		*at = ':';
	buf_commit(writer->out, len);
	writer->needs_comma = !is_name;
}

static void put_text(struct json_writer *writer, struct str text, bool is_name)
{
	if (is_plain(text)) {
		put_plain(writer, text, is_name);
		return;
	}
	before(writer, !is_name);
	json_put_string(writer->out, text);
	if (is_name)
		buf_append_byte(writer->out, ':');
}

static void close_with(struct json_writer *writer, char bracket)
{
	buf_append_byte(writer->out, bracket);
	writer->needs_comma = true;
}

void json_open_object(struct json_writer *writer)
{
	before(writer, false);
	buf_append_byte(writer->out, '{');
}

void json_close_object(struct json_writer *writer)
{
	close_with(writer, '}');
}

void json_open_array(struct json_writer *writer)
{
	before(writer, false);
	buf_append_byte(writer->out, '[');
}

void json_close_array(struct json_writer *writer)
{
	close_with(writer, ']');
}

void json_name(struct json_writer *writer, const char *name)
{
	put_plain(writer, str_from(name), true);
}

void json_name_str(struct json_writer *writer, struct str name)
{
	put_text(writer, name, true);
}

void json_string(struct json_writer *writer, struct str text)
{
	put_text(writer, text, false);
}

void json_pair(struct json_writer *writer, const char *name, struct str text)
{
	struct str key = str_from(name);
	size_t len = key.len + text.len + 5 + writer->needs_comma;
	char *at = is_plain(text) ? buf_reserve(writer->out, len) : NULL;

	if (!at) {
		json_name(writer, name);
		json_string(writer, text);
		return;
	}
	if (writer->needs_comma)
		*at++ = ',';
	at = quote(at, key);
	*at++ = ':';
	(void)quote(at, text);
	buf_commit(writer->out, len);
	writer->needs_comma = true;
}

void json_text(struct json_writer *writer, const char *text)
{
	if (text)
		json_string(writer, str_from(text));
	else
		json_null(writer);
}

void json_integer(struct json_writer *writer, int64_t number)
{
	uint64_t magnitude = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;

	before(writer, true);
	if (number < 0)
		buf_append_byte(writer->out, '-');
	buf_append_u64(writer->out, magnitude);
}

void json_boolean(struct json_writer *writer, bool value)
{
	before(writer, true);
	buf_append_str(writer->out, value ? STR("true") : STR("false"));
}

void json_null(struct json_writer *writer)
{
	before(writer, true);
	buf_append_str(writer->out, STR("null"));
}

void json_time(struct json_writer *writer, int64_t wall_ms)
{
	char text[25];

	time_format(wall_ms, text);
	json_text(writer, text);
}

void json_raw(struct json_writer *writer, struct str json)
{
	before(writer, true);
	buf_append_str(writer->out, json);
}

/* Strings */

static int put_special(struct buf *out, unsigned char byte);

/* Plain runs and whole characters are copied as they are; the rest one byte at a time. */
int json_put_string(struct buf *out, struct str text)
{
	const char *at = text.len ? text.at : "", *from = at;
	const char *end = at + text.len;
	int r = buf_append_byte(out, '"');

	while (r == 0) {
		size_t length;

		at = json_skip_plain(at, end);
		length = at < end && (unsigned char)*at >= 0x80 ? json_utf8_length(at, end) : 0;
		if (length) {
			at += length;
			continue;
		}
		r = buf_append(out, from, (size_t)(at - from));
		if (r != 0 || at == end)
			break;
		r = put_special(out, (unsigned char)*at);
		from = ++at;
	}
	return r ? r : buf_append_byte(out, '"');
}

/* An escape, or U+FFFD for a byte that is no UTF-8. */
static int put_special(struct buf *out, unsigned char byte)
{
	static const char letters[] = "\b\t\n\f\r\"\\", names[] = "btnfr\"\\";
	const char *letter = byte ? strchr(letters, byte) : NULL;
	char escape[7] = {'\\'};

	if (byte >= 0x80)
		return buf_append(out, "\xef\xbf\xbd", 3);
	if (letter) {
		escape[1] = names[letter - letters];
		return buf_append(out, escape, 2);
	}
	snprintf(escape, sizeof(escape), "\\u%04x", byte);
	return buf_append(out, escape, 6);
}

void json_put_text(struct json_writer *writer, const char *name, struct str text)
{
	json_name(writer, name);
	if (text.len)
		json_string(writer, text);
	else
		json_null(writer);
}

void json_put_time(struct json_writer *writer, const char *name, int64_t wall_ms)
{
	json_name(writer, name);
	json_time(writer, wall_ms);
}
