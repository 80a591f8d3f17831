/*
 * References that never change what they name.
 *
 * A digest or a full commit id is bound to the content; everything else is a name that somebody
 * can point elsewhere between the moment a person agrees and the moment the gate sends. What is
 * hexadecimal is brought to lower case; the name before an @ stays as it is, because registries
 * may tell cases apart.
 *
 * Malformed is what no reader of references takes: nothing, blanks and controls, too long, or a
 * text that sets out to be a digest and has not its number of digits.
 */
#include "core/reference.h"

#include "base/err.h"

enum { REFERENCE_LENGTH_MAX = 1024, COMMIT_SHORT = 40, COMMIT_LONG = 64 };

/* The digests that are known, and their digits. */
static const struct digest {
	const char *prefix;
	size_t digits;
} digests[] = {
	{"sha256:", 64},
	{"sha512:", 128},
};

static size_t last_at(struct str text);
static bool is_well_formed(struct str text);
static bool begins_like_digest(struct str text);
static bool is_digest(struct str text);
static bool is_commit(struct str text);
static bool is_name(struct str name);
static int write_lower(struct str text, size_t from, struct arena *mem, struct str *out);

int reference_read(struct str text, struct arena *mem, struct str *out_reference)
{
	size_t at = last_at(text);
	struct str after = str_from_index(text, at + 1);

	if (!is_well_formed(text))
		return REFERENCE_MALFORMED;
	if (is_digest(text) || is_commit(text))
		return write_lower(text, 0, mem, out_reference);
	if (begins_like_digest(text))
		return REFERENCE_MALFORMED;
	if (!begins_like_digest(after))
		return REFERENCE_MUTABLE;
	if (!is_name(str_of(text.at, at)) || !is_digest(after))
		return REFERENCE_MALFORMED;
	return write_lower(text, at + 1, mem, out_reference);
}

/* The index of the last @, or the length when there is none. */
static size_t last_at(struct str text)
{
	size_t at = text.len;

	while (at > 0 && text.at[at - 1] != '@')
		at--;
	return at > 0 ? at - 1 : text.len;
}

static bool is_well_formed(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if ((unsigned char)text.at[i] <= ' ' || text.at[i] == 0x7f)
			return false;
	}
	return text.len >= 1 && text.len <= REFERENCE_LENGTH_MAX;
}

/* "SHA256:" too: it is meant as one, and said wrongly. */
static bool begins_like_digest(struct str text)
{
	for (size_t i = 0; i < sizeof(digests) / sizeof(digests[0]); i++) {
		if (str_starts_with_nocase(text, str_from(digests[i].prefix)))
			return true;
	}
	return false;
}

static bool are_hex(struct str text, size_t count)
{
	for (size_t i = 0; i < text.len; i++) {
		if (hex_digit(text.at[i]) < 0)
			return false;
	}
	return text.len == count;
}

static bool is_digest(struct str text)
{
	for (size_t i = 0; i < sizeof(digests) / sizeof(digests[0]); i++) {
		struct str prefix = str_from(digests[i].prefix);

		if (str_starts_with(text, prefix) &&
		    are_hex(str_from_index(text, prefix.len), digests[i].digits))
			return true;
	}
	return false;
}

static bool is_commit(struct str text)
{
	return are_hex(text, COMMIT_SHORT) || are_hex(text, COMMIT_LONG);
}

/* registry.example:5000/team/app:1.2 */
static bool is_name(struct str name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.at[i];
		bool is_letter = ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z';

		if (!is_letter && !(c >= '0' && c <= '9') && c != '.' && c != '_' && c != '-' &&
		    c != '/' && c != ':')
			return false;
	}
	return name.len > 0;
}

/* A copy, in lower case from `from` on. */
static int write_lower(struct str text, size_t from, struct arena *mem, struct str *out)
{
	char *room = arena_alloc(mem, text.len);

	if (!room)
		return FAIL_MEMORY;
	for (size_t i = 0; i < text.len; i++)
		room[i] = i < from ? text.at[i] : ascii_lower(text.at[i]);
	*out = str_of(room, text.len);
	return 0;
}
