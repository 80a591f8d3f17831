/* Writing, reading and checking the files of proofs; every line has one spelling. */
#include "audit/proof.h"

#include "audit/base64.h"
#include "base/err.h"

#include <sodium.h>

static const struct str first_line = {"c2sp.org/tlog-proof@v1", 22};
static const struct str extra_word = {"extra ", 6}, index_word = {"index ", 6};

static int write_extra(struct str extra, struct buf *out)
{
	size_t size = sodium_base64_ENCODED_LEN(extra.len, sodium_base64_VARIANT_ORIGINAL);
	char *at;

	if (extra.len > PROOF_EXTRA_MAX)
		return FAIL_LIMIT;
	(void)buf_append_str(out, extra_word);
	at = buf_reserve(out, size); /* its NUL becomes the newline */
	if (!at)
		return FAIL_LIMIT;
	(void)sodium_bin2base64(at, size, (const uint8_t *)extra.at, extra.len,
				sodium_base64_VARIANT_ORIGINAL);
	at[size - 1] = '\n';
	buf_commit(out, size);
	return 0;
}

int proof_write(const struct proof *proof, struct buf *out)
{
	char coded[CHECKPOINT_HASH_TEXT + 1];
	int r = 0;

	(void)buf_append_str(out, first_line);
	(void)buf_append_byte(out, '\n');
	if (proof->extra.at)
		r = write_extra(proof->extra, out);
	if (r != 0)
		return r;
	(void)buf_append_str(out, index_word);
	(void)buf_append_u64(out, proof->index);
	(void)buf_append_byte(out, '\n');
	for (size_t i = 0; i < proof->path.count; i++) {
		checkpoint_hash_write(&proof->path.hashes[i], coded);
		(void)buf_append(out, coded, CHECKPOINT_HASH_TEXT);
		(void)buf_append_byte(out, '\n');
	}
	(void)buf_append_byte(out, '\n');
	return buf_append_str(out, proof->checkpoint);
}

static bool read_extra(struct str coded, struct arena *mem, struct str *out_extra)
{
	uint8_t *bytes;
	size_t len;

	if (coded.len / 4 * 3 > PROOF_EXTRA_MAX + 2)
		return false;
	bytes = arena_alloc(mem, coded.len + 1);
	if (!bytes || !base64_read(coded, bytes, coded.len + 1, &len) || len > PROOF_EXTRA_MAX)
		return false;
	*out_extra = str_of((const char *)bytes, len);
	return true;
}

/* The lines of hashes, and the empty one after them. */
static bool read_path(struct str *rest, struct tree_proof *path)
{
	struct str line;

	path->count = 0;
	while (str_split(rest, '\n', &line)) {
		if (line.len == 0)
			return true;
		if (path->count == TREE_PROOF_MAX ||
		    !checkpoint_hash_read(line, &path->hashes[path->count]))
			return false;
		path->count++;
	}
	return false;
}

bool proof_read(struct str bytes, struct arena *mem, struct proof *out_proof)
{
	struct str rest = bytes, line;

	out_proof->extra = str_of(NULL, 0);
	if (bytes.len > PROOF_SIZE_MAX || !str_split(&rest, '\n', &line) ||
	    !str_equal(line, first_line) || !str_split(&rest, '\n', &line))
		return false;
	if (str_starts_with(line, extra_word)) {
		if (!read_extra(str_from_index(line, extra_word.len), mem, &out_proof->extra) ||
		    !str_split(&rest, '\n', &line))
			return false;
	}
	if (!str_starts_with(line, index_word) ||
	    !checkpoint_number_read(str_from_index(line, index_word.len), &out_proof->index) ||
	    !read_path(&rest, &out_proof->path) || rest.len == 0)
		return false;
	out_proof->checkpoint = rest;
	return true;
}

enum proof_verdict proof_check(const struct proof *proof, const struct hash *leaf,
			       const struct note_verifier *verifier)
{
	struct checkpoint checkpoint;
	struct note note;
	size_t who;

	if (!note_read(proof->checkpoint, &note) || !checkpoint_read(note.text, &checkpoint))
		return PROOF_MALFORMED;
	if (!str_equal(checkpoint.origin, str_from(verifier->name)))
		return PROOF_UNKNOWN;
	switch (note_check(&note, verifier, 1, &who)) {
	case NOTE_UNKNOWN:
		return PROOF_UNKNOWN;
	case NOTE_BAD_SIGNATURE:
		return PROOF_BAD_SIGNATURE;
	case NOTE_GOOD:
		break;
	}
	return tree_inclusion_holds(&proof->path, proof->index, checkpoint.size, leaf,
				    &checkpoint.root)
		       ? PROOF_HOLDS
		       : PROOF_FALSE;
}
