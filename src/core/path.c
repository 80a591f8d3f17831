/*
 * A path in its one spelling.
 *
 * /v1/%7Eu and /v1/~u are one path by RFC 3986 § 6.2.2.2; /v1/a%2Fb and /v1/a/b are two, and
 * stay two. A dot segment is refused, not resolved: the service behind the gate might resolve
 * it differently and act elsewhere. For that check alone %2F, %5C and path parameters are
 * seen as some servers see them: as ends of a segment.
 */
#include "core/fingerprint.h"

#include "base/err.h"
#include "core/text.h"

static int write_normal(struct str path, char *out, size_t *out_len,
			struct fingerprint_error *out_error);
static bool has_dot_segment(struct str path);

int path_normalise(struct str path, struct arena *mem, struct str *out_path,
		   struct fingerprint_error *out_error)
{
	char *normal;
	size_t len = 0;
	int r;

	if (path.len == 0 || path.at[0] != '/')
		return fingerprint_refuse(out_error, "The path does not begin with a slash.");
	normal = arena_alloc(mem, path.len);
	if (!normal)
		return FAIL_MEMORY;
	r = write_normal(path, normal, &len, out_error);
	if (r != 0)
		return r;
	if (has_dot_segment(str_of(normal, len)))
		return fingerprint_refuse(
			out_error, "The path has a segment that is \".\" or \"..\"; send the "
				   "path it leads to.");
	*out_path = str_of(normal, len);
	return 0;
}

/* Bytes that no path has: controls, blanks, and what servers read as something else. */
static bool is_forbidden(unsigned char c)
{
	return c <= 0x20 || c == 0x7f || c == '\\' || c == '?' || c == '#';
}

/* Write the escape at path.at[i] in its one spelling: one byte, or three. */
static int write_escape(struct str path, size_t i, char *out, size_t *len,
			struct fingerprint_error *out_error)
{
	int byte = text_unescape(path, i);

	if (byte < 0)
		return fingerprint_refuse(
			out_error,
			"The path has a broken escape at byte %zu: %% is followed "
			"by two hexadecimal digits.",
			i + 1);
	if (byte < 0x20 || byte == 0x7f)
		return fingerprint_refuse(
			out_error, "The path has an escaped control byte at byte %zu.", i + 1);
	if (text_is_unreserved((char)byte)) {
		out[(*len)++] = (char)byte;
		return 0;
	}
	text_escape((unsigned char)byte, out + *len);
	*len += 3;
	return 0;
}

static int write_normal(struct str path, char *out, size_t *out_len,
			struct fingerprint_error *out_error)
{
	size_t len = 0;

	for (size_t i = 0; i < path.len; i++) {
		if (path.at[i] == '%') {
			int r = write_escape(path, i, out, &len, out_error);

			if (r != 0)
				return r;
			i += 2;
		} else if (is_forbidden((unsigned char)path.at[i])) {
			return fingerprint_refuse(out_error,
						  "The path has a byte at %zu that must be "
						  "escaped: a control, a blank, or one of \\ ? #.",
						  i + 1);
		} else {
			out[len++] = path.at[i];
		}
	}
	*out_len = len;
	return 0;
}

/* How many bytes of a separator `text` starts with; *out_opens: a new segment follows it. */
static size_t separator_length(struct str text, bool *out_opens)
{
	*out_opens = true;
	if (str_starts_with(text, STR("/")))
		return 1;
	if (str_starts_with(text, STR("%2F")) || str_starts_with(text, STR("%5C")))
		return 3;
	*out_opens = false;
	if (str_starts_with(text, STR(";")))
		return 1;
	return str_starts_with(text, STR("%3B")) ? 3 : 0;
}

/* `path` is normal: its escapes are upper case and its dots are plain. */
static bool has_dot_segment(struct str path)
{
	bool is_at_start = false;
	size_t i = 0;

	while (i < path.len) {
		bool opens, ends;
		size_t dots = 0, len = separator_length(str_from_index(path, i), &opens);

		if (len) {
			is_at_start = opens;
			i += len;
			continue;
		}
		while (is_at_start && i + dots < path.len && path.at[i + dots] == '.')
			dots++;
		ends = i + dots == path.len ||
		       separator_length(str_from_index(path, i + dots), &opens) > 0;
		if ((dots == 1 || dots == 2) && ends)
			return true;
		is_at_start = false;
		i += dots ? dots : 1;
	}
	return false;
}
