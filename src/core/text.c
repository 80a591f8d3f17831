/* Escapes, header tokens, lengths before texts. */
#include "core/text.h"

#include "base/err.h"

#include <sodium.h>

static bool is_letter_or_digit(char c)
{
	return (c >= '0' && c <= '9') || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z');
}

/* Some servers have only the underscore; some of them put it in place of every other mark. */
static char as_cgi_has_it(char c)
{
	return is_letter_or_digit(c) ? ascii_lower(c) : '-';
}

bool text_names_header(struct str name, struct str wanted)
{
	for (size_t i = 0; i < name.len && i < wanted.len; i++) {
		if (as_cgi_has_it(name.at[i]) != as_cgi_has_it(wanted.at[i]))
			return false;
	}
	return name.len == wanted.len;
}

bool text_is_unreserved(char c)
{
	return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

int text_unescape(struct str text, size_t at)
{
	int high = at + 1 < text.len ? hex_digit(text.at[at + 1]) : -1;
	int low = at + 2 < text.len ? hex_digit(text.at[at + 2]) : -1;

	return high < 0 || low < 0 ? -1 : high * 16 + low;
}

int text_unescape_all(struct str text, struct arena *mem, struct str *out_text)
{
	char *decoded;
	size_t len = 0;

	*out_text = text;
	if (str_find(text, '%') == text.len)
		return 0;
	decoded = arena_alloc(mem, text.len);
	if (!decoded)
		return FAIL_MEMORY;
	for (size_t i = 0; i < text.len; i++) {
		int byte = text.at[i] == '%' ? text_unescape(text, i) : -1;

		decoded[len++] = byte < 0 ? text.at[i] : (char)byte;
		i += byte < 0 ? 0 : 2;
	}
	*out_text = str_of(decoded, len);
	return 0;
}

void text_escape(unsigned char byte, char out[3])
{
	static const char digits[] = "0123456789ABCDEF";

	out[0] = '%';
	out[1] = digits[byte >> 4];
	out[2] = digits[byte & 15];
}

size_t text_token_length(struct str text)
{
	size_t len = 0;

	while (len < text.len &&
	       (is_letter_or_digit(text.at[len]) ||
		(text.at[len] != '\0' && strchr("!#$%&'*+-.^_`|~", text.at[len]))))
		len++;
	return len;
}

bool text_is_token(struct str text)
{
	return text.len && text_token_length(text) == text.len;
}

bool text_is_control(char c)
{
	return ((unsigned char)c < 0x20 && c != '\t') || c == 0x7f;
}

int text_order_nocase(struct str a, struct str b)
{
	size_t common = a.len < b.len ? a.len : b.len;

	for (size_t i = 0; i < common; i++) {
		int order = ascii_lower(a.at[i]) - ascii_lower(b.at[i]);

		if (order != 0)
			return order;
	}
	return a.len < b.len ? -1 : a.len > b.len;
}

void text_append_lower(struct buf *out, struct str text)
{
	char *room = text.len ? buf_reserve(out, text.len) : NULL;

	if (!room)
		return;
	for (size_t i = 0; i < text.len; i++)
		room[i] = ascii_lower(text.at[i]);
	buf_commit(out, text.len);
}

void text_append_base64(struct buf *out, struct str bytes)
{
	size_t size = sodium_base64_encoded_len(bytes.len, sodium_base64_VARIANT_ORIGINAL);
	char *room = buf_reserve(out, size); /* its NUL too, which is not committed */

	if (!room)
		return;
	sodium_bin2base64(room, size, (const unsigned char *)bytes.at, bytes.len,
			  sodium_base64_VARIANT_ORIGINAL);
	buf_commit(out, size - 1);
}

size_t text_open(struct buf *out)
{
	(void)buf_append(out, "\0\0\0", 4);
	return out->len;
}

void text_close(struct buf *out, size_t opened)
{
	size_t len = out->len - opened;

	if (out->is_spoiled)
		return;
	require(opened >= 4 && opened <= out->len && len <= UINT32_MAX);
	for (size_t i = 0; i < 4; i++)
		out->at[opened - 4 + i] = (char)(len >> (24 - 8 * i));
}

bool text_pointer_enters(struct str pointer, struct str name, struct str *out_rest)
{
	size_t at = 1;

	if (!str_starts_with(pointer, STR("/")))
		return false;
	for (size_t i = 0; i < name.len; i++) {
		struct str escape = name.at[i] == '~'	? STR("~0")
				    : name.at[i] == '/' ? STR("~1")
							: str_of(&name.at[i], 1);

		if (!str_starts_with(str_from_index(pointer, at), escape))
			return false;
		at += escape.len;
	}
	if (at < pointer.len && pointer.at[at] != '/')
		return false;
	*out_rest = str_from_index(pointer, at);
	return true;
}
