/*
 * One character at a time: what a terminal would obey becomes an escape, what it cannot read
 * is shown byte by byte, everything else stays as it is.
 */
#include "cli/terminal.h"

#include <stdbool.h>

enum { NO_UTF8 = -1, ESCAPE_MAX = 12 };

/* The code point at the start of `text` and its length in bytes; NO_UTF8 and 1. */
static int32_t next_character(struct str text, size_t *out_len)
{
	static const int32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	uint8_t first = (uint8_t)text.at[0];
	size_t len = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	int32_t point;

	*out_len = 1;
	if (len == 1)
		return first;
	if (len == 0 || len > text.len || first > 0xf4)
		return NO_UTF8;
	point = first & (0x7f >> len);
	for (size_t i = 1; i < len; i++) {
		uint8_t next = (uint8_t)text.at[i];

		if ((next & 0xc0) != 0x80)
			return NO_UTF8;
		point = point << 6 | (next & 0x3f);
	}
	if (point < smallest[len] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return NO_UTF8;
	*out_len = len;
	return point;
}

/* Unicode's controls, its bidirectional ones, and its own line ends. */
static bool is_control(int32_t point)
{
	return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x61c ||
	       (point >= 0x200e && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) ||
	       (point >= 0x2066 && point <= 0x2069) || point == 0xfeff;
}

/* One character of `text`, as it may be shown, into `piece`; returns the bytes taken. */
static size_t show_character(struct str text, char piece[ESCAPE_MAX], size_t *out_len)
{
	size_t len;
	int32_t point = next_character(text, &len);

	if (point == NO_UTF8)
		*out_len = (size_t)snprintf(piece, ESCAPE_MAX, "\\x%02x", (uint8_t)text.at[0]);
	else if (point == '\n' || point == '\t' || point == '\r')
		*out_len = (size_t)snprintf(piece, ESCAPE_MAX, "\\%c",
					    point == '\n'   ? 'n'
					    : point == '\t' ? 't'
							    : 'r');
	else if (is_control(point))
		*out_len = (size_t)snprintf(piece, ESCAPE_MAX, point < 0x80 ? "\\x%02x" : "\\u%04x",
					    (unsigned)point);
	else
		memcpy(piece, text.at, *out_len = len);
	return len;
}

void terminal_append(struct buf *out, struct str text)
{
	while (text.len) {
		char piece[ESCAPE_MAX];
		size_t len, taken = show_character(text, piece, &len);

		buf_append(out, piece, len);
		text = str_from_index(text, taken);
	}
}

size_t terminal_width(struct str text)
{
	size_t width = 0;

	for (size_t i = 0; i < text.len; i++)
		width += ((uint8_t)text.at[i] & 0xc0) != 0x80;
	return width;
}

void terminal_append_cut(struct buf *out, struct str text, size_t width)
{
	size_t used = 0, mark_at = out->len;

	while (text.len && !out->is_spoiled) {
		char piece[ESCAPE_MAX];
		size_t len, taken = show_character(text, piece, &len);

		used += terminal_width(str_of(piece, len));
		if (used > width) {
			out->len = mark_at;
			buf_append_str(out, STR("…"));
			return;
		}
		buf_append(out, piece, len);
		if (used < width)
			mark_at = out->len;
		text = str_from_index(text, taken);
	}
}

void terminal_print(FILE *out, struct str text)
{
	while (text.len) {
		char piece[ESCAPE_MAX];
		size_t len, taken = show_character(text, piece, &len);

		fwrite(piece, 1, len, out);
		text = str_from_index(text, taken);
	}
}

void terminal_append_json(struct buf *out, struct str json)
{
	while (json.len) {
		size_t len;
		int32_t point = next_character(json, &len);

		if (point >= 0x7f && is_control(point))
			buf_printf(out, "\\u%04x", (unsigned)point);
		else
			buf_append(out, json.at, len);
		json = str_from_index(json, len);
	}
}
