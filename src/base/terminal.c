/*
 * One character at a time: what a terminal would obey becomes an escape, what it cannot read
 * is shown byte by byte, everything else stays as it is.
 */
#include "base/terminal.h"

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

/*
 * Unicode's controls, its bidirectional ones, its own line ends; and what is not seen at all, so
 * that two names that look the same are.
 */
static bool is_control(int32_t point)
{
	static const struct {
		int32_t first, last;
	} ranges[] = {
		{0x00, 0x1f},	  {0x7f, 0x9f},	    {0xad, 0xad},     {0x34f, 0x34f},
		{0x61c, 0x61c},	  {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f},
		{0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f}, {0x2800, 0x2800},
		{0x3164, 0x3164}, {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}, {0xffa0, 0xffa0},
		{0xfff0, 0xfffb},
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (point >= ranges[i].first && point <= ranges[i].last)
			return true;
	return false;
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
