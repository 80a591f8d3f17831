/*
 * Fuzzing the entries of the audit log: behind "b" a bundle of them, behind "r" a row, else the
 * bytes of one.
 *
 * What is read is written again byte for byte where it is plain; no input is opened by a key that
 * none knows. A bundle comes apart into pieces that give it back; a row into pieces that follow one
 * another, down to its last byte, and of which all but the last are as long as they say.
 */
#include "audit/entry.h"
#include "audit/tiles.h"
#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const uint8_t secret[ENTRY_KEY_SIZE] = "no fuzzer has this as its key!";

static void check_entry(struct str bytes)
{
	struct entry entry;
	struct entry_key key;
	const char *why = NULL;
	struct buf out;
	int r = entry_read(bytes, &entry, &why);

	buf_init(&out, ENTRY_SIZE_MAX);
	entry_key_init(&key, secret);
	require((r == ENTRY_MALFORMED) == (why != NULL));
	if (r == ENTRY_MALFORMED) {
		require(entry_open(bytes, &key, &out) == ENTRY_MALFORMED);
	} else if (entry.is_encrypted) {
		require(entry_open(bytes, &key, &out) > 0);
		require(out.len == 0);
	} else {
		require(entry_write(&entry, NULL, entry.payload, &out) == 0);
		require(str_equal(buf_str(&out), bytes));
	}
	buf_fini(&out);
}

static void check_bundle(struct str bytes)
{
	struct str rest = bytes, entry;
	struct buf out;

	buf_init(&out, bytes.len);
	while (bundle_next(&rest, &entry))
		require(bundle_append(entry, &out) == 0);
	require(out.len + rest.len == bytes.len);
	require(out.len == 0 || memcmp(out.at, bytes.at, out.len) == 0);
	buf_fini(&out);
}

static void check_row(struct str bytes)
{
	struct str rest = bytes, piece;
	const char *at = bytes.at, *why;
	struct entry entry;

	while (entry_next(&rest, &piece)) {
		require(piece.len > 0 && piece.at == at);
		at += piece.len;
		require(rest.len == 0 || piece.len >= ENTRY_HEAD_SIZE);
		if (entry_read(piece, &entry, &why) == 0)
			require(entry.payload.len == piece.len - ENTRY_HEAD_SIZE);
	}
	require(at == bytes.at + bytes.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str text = str_of((const char *)bytes, size);

	if (size > 0 && bytes[0] == 'b')
		check_bundle(str_from_index(text, 1));
	else if (size > 0 && bytes[0] == 'r')
		check_row(str_from_index(text, 1));
	else
		check_entry(text);
	return 0;
}
