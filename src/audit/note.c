/*
 * Signing, taking apart and checking notes.
 *
 * The text ends at the last empty line of a note, so a text may have empty lines; signature lines
 * cannot. All lines of signatures are read before any counts: one that is malformed spoils the
 * note, one that is unknown does not.
 */
#include "audit/note.h"

#include "audit/base64.h"
#include "base/err.h"
#include "base/hash.h"

#include <sodium.h>
#include <stdio.h>
#include <unictype.h>
#include <unistr.h>

enum {
	ID_SIZE = 4,
	ID_TEXT = 8, /* base64 that has an id whole */
	ID_DIGITS = 2 * ID_SIZE,
	SIGNATURE_SIZE = crypto_sign_BYTES,
	SIGNATURE_TEXT = 92, /* base64 of id and signature */
	KEY_TEXT = 44,	     /* base64 of algorithm and key */
};

_Static_assert(NOTE_NAME_MAX + 1 + ID_DIGITS + 1 + KEY_TEXT < NOTE_KEY_MAX, "a key fits");

static const struct str dash = {"\xe2\x80\x94 ", 4};

static bool is_utf8(struct str text)
{
	return text.len == 0 || u8_check((const uint8_t *)text.at, text.len) == NULL;
}

bool note_name_is_good(struct str name)
{
	size_t at = 0;
	ucs4_t c;

	if (name.len == 0 || name.len > NOTE_NAME_MAX || !is_utf8(name))
		return false;
	while (at < name.len) {
		at += (size_t)u8_mbtouc(&c, (const uint8_t *)name.at + at, name.len - at);
		if (c < 0x20 || c == 0x7f || c == '+' || uc_is_property_white_space(c))
			return false;
	}
	return true;
}

static uint32_t id_of(const struct note_verifier *verifier, enum note_algorithm algorithm)
{
	const uint8_t between[] = {'\n', (uint8_t)algorithm};
	struct hasher hasher;
	struct hash hash;

	hasher_init(&hasher);
	hasher_add(&hasher, verifier->name, strlen(verifier->name));
	hasher_add(&hasher, between, sizeof(between));
	hasher_add(&hasher, verifier->public_key, NOTE_PUBLIC_SIZE);
	hasher_end(&hasher, &hash);
	return (uint32_t)hash.bytes[0] << 24 | (uint32_t)hash.bytes[1] << 16 |
	       (uint32_t)hash.bytes[2] << 8 | hash.bytes[3];
}

static void set_name(struct note_verifier *verifier, struct str name)
{
	memset(verifier, 0, sizeof(*verifier));
	memcpy(verifier->name, name.at, name.len);
}

bool note_signer_init(struct note_signer *signer, struct str name,
		      const uint8_t seed[NOTE_SEED_SIZE])
{
	if (!note_name_is_good(name))
		return false;
	set_name(&signer->verifier, name);
	(void)crypto_sign_seed_keypair(signer->verifier.public_key, signer->secret, seed);
	signer->verifier.id = id_of(&signer->verifier, NOTE_ED25519);
	return true;
}

void note_signer_fini(struct note_signer *signer)
{
	if (signer)
		sodium_memzero(signer, sizeof(*signer));
}

/* Eight lower-case digits. */
static bool read_id(struct str text, uint32_t *out_id)
{
	uint32_t id = 0;

	if (text.len != ID_DIGITS)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (hex_digit(text.at[i]) < 0 || ascii_lower(text.at[i]) != text.at[i])
			return false;
		id = id << 4 | (uint32_t)hex_digit(text.at[i]);
	}
	*out_id = id;
	return true;
}

bool note_verifier_read(struct str text, struct note_verifier *out_verifier)
{
	return note_verifier_read_as(text, NOTE_ED25519, out_verifier);
}

bool note_verifier_read_as(struct str text, enum note_algorithm algorithm,
			   struct note_verifier *out_verifier)
{
	uint8_t key[1 + NOTE_PUBLIC_SIZE];
	struct note_verifier verifier;
	struct str name, id;
	size_t len;

	if (text.len == 0 || text.len >= NOTE_KEY_MAX || !str_split(&text, '+', &name) ||
	    !str_split(&text, '+', &id) || !text.at) /* base64 may have more of + */
		return false;
	if (!note_name_is_good(name) || !base64_read(text, key, sizeof(key), &len) ||
	    len != sizeof(key) || key[0] != algorithm)
		return false;
	set_name(&verifier, name);
	memcpy(verifier.public_key, key + 1, NOTE_PUBLIC_SIZE);
	if (!read_id(id, &verifier.id) || verifier.id != id_of(&verifier, algorithm))
		return false;
	*out_verifier = verifier;
	return true;
}

void note_verifier_write(const struct note_verifier *verifier, char out[NOTE_KEY_MAX])
{
	uint8_t key[1 + NOTE_PUBLIC_SIZE] = {NOTE_ED25519};
	char text[KEY_TEXT + 1];

	memcpy(key + 1, verifier->public_key, NOTE_PUBLIC_SIZE);
	(void)sodium_bin2base64(text, sizeof(text), key, sizeof(key),
				sodium_base64_VARIANT_ORIGINAL);
	snprintf(out, NOTE_KEY_MAX, "%s+%08x+%s", verifier->name, verifier->id, text);
}

bool note_verifier_equal(const struct note_verifier *a, const struct note_verifier *b)
{
	return a->id == b->id && strcmp(a->name, b->name) == 0 &&
	       memcmp(a->public_key, b->public_key, NOTE_PUBLIC_SIZE) == 0;
}

int note_sign(struct str text, const struct note_signer *signer, struct buf *out)
{
	uint8_t bytes[ID_SIZE + SIGNATURE_SIZE];
	char coded[SIGNATURE_TEXT + 1];

	require(text.len > 0 && text.at[text.len - 1] == '\n');
	for (int i = 0; i < ID_SIZE; i++)
		bytes[i] = (uint8_t)(signer->verifier.id >> (24 - 8 * i));
	(void)crypto_sign_detached(bytes + ID_SIZE, NULL, (const uint8_t *)text.at, text.len,
				   signer->secret);
	(void)sodium_bin2base64(coded, sizeof(coded), bytes, sizeof(bytes),
				sodium_base64_VARIANT_ORIGINAL);
	(void)buf_append_str(out, text);
	return buf_printf(out, "\n%.*s%s %s\n", STR_ARG(dash), signer->verifier.name, coded);
}

/* One line of a signature, without its newline: whose, and its base64. */
static bool read_line(struct str line, struct str *out_name, struct str *out_coded)
{
	if (!str_starts_with(line, dash))
		return false;
	line = str_from_index(line, dash.len);
	if (!str_split(&line, ' ', out_name) || !note_name_is_good(*out_name))
		return false;
	*out_coded = line;
	return line.len > 0;
}

/* More than an id, in base64. The bytes are counted, not kept: some are long. */
static bool is_coded(struct str coded)
{
	uint8_t bytes[3];
	size_t len, total = 0;

	if (coded.len % 4 != 0)
		return false;
	for (size_t at = 0; at < coded.len; at += 4) {
		if (!base64_read(str_of(coded.at + at, 4), bytes, sizeof(bytes), &len) ||
		    (len < 3 && at + 4 < coded.len))
			return false;
		total += len;
	}
	return total > ID_SIZE;
}

static bool has_controls(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if ((unsigned char)text.at[i] < 0x20 && text.at[i] != '\n')
			return true;
	}
	return false;
}

/* Cut at the last empty line. */
static bool cut(struct str bytes, struct note *out_note)
{
	for (size_t at = bytes.len; at >= 2; at--) {
		if (bytes.at[at - 1] != '\n' || bytes.at[at - 2] != '\n')
			continue;
		out_note->text = str_of(bytes.at, at - 1);
		out_note->signatures = str_from_index(bytes, at);
		return out_note->signatures.len > 0;
	}
	return false;
}

bool note_read(struct str bytes, struct note *out_note)
{
	struct str rest, line, name, coded;
	struct note note = {.count = 0};

	if (bytes.len == 0 || bytes.len > NOTE_SIZE_MAX || bytes.at[bytes.len - 1] != '\n' ||
	    has_controls(bytes) || !is_utf8(bytes) || !cut(bytes, &note))
		return false;
	rest = str_of(note.signatures.at, note.signatures.len - 1);
	while (str_split(&rest, '\n', &line)) {
		if (++note.count > NOTE_SIGNATURES_MAX || !read_line(line, &name, &coded) ||
		    !is_coded(coded))
			return false;
	}
	*out_note = note;
	return true;
}

bool note_next(struct str *signatures, struct note_signature *out_signature)
{
	uint8_t start[6];
	size_t end = str_find(*signatures, '\n'), len;

	if (end == signatures->len)
		return false;
	out_signature->line = str_of(signatures->at, end + 1);
	*signatures = str_from_index(*signatures, end + 1);
	if (!read_line(str_of(out_signature->line.at, end), &out_signature->name,
		       &out_signature->coded))
		unreachable("note_read() has read all lines");
	out_signature->id = 0;
	/* Else its id has no signature behind it: is_coded() let none in. */
	if (base64_read(str_of(out_signature->coded.at, ID_TEXT), start, sizeof(start), &len))
		for (size_t i = 0; i < ID_SIZE; i++)
			out_signature->id = out_signature->id << 8 | start[i];
	return true;
}

bool note_is_by(const struct note_signature *signature, const struct note_verifier *verifier)
{
	return signature->id == verifier->id &&
	       str_equal(signature->name, str_from(verifier->name));
}

/* Is it this key's, and does it hold? NOTE_UNKNOWN: another's. */
static enum note_verdict check_line(struct str text, const struct note_signature *signature,
				    const struct note_verifier *verifier)
{
	uint8_t bytes[ID_SIZE + SIGNATURE_SIZE];
	size_t len;

	if (!note_is_by(signature, verifier))
		return NOTE_UNKNOWN;
	if (signature->coded.len != SIGNATURE_TEXT ||
	    !base64_read(signature->coded, bytes, sizeof(bytes), &len) || len != sizeof(bytes))
		return NOTE_BAD_SIGNATURE;
	if (crypto_sign_verify_detached(bytes + ID_SIZE, (const uint8_t *)text.at, text.len,
					verifier->public_key) != 0)
		return NOTE_BAD_SIGNATURE;
	return NOTE_GOOD;
}

enum note_verdict note_check(const struct note *note, const struct note_verifier *verifiers,
			     size_t count, size_t *out_index)
{
	struct str rest = note->signatures;
	struct note_signature signature;
	size_t first = count;

	while (note_next(&rest, &signature)) {
		for (size_t i = 0; i < count; i++) {
			enum note_verdict verdict =
				check_line(note->text, &signature, &verifiers[i]);

			if (verdict == NOTE_BAD_SIGNATURE)
				return verdict;
			if (verdict == NOTE_GOOD && i < first)
				first = i;
		}
	}
	if (first == count)
		return NOTE_UNKNOWN;
	*out_index = first;
	return NOTE_GOOD;
}
