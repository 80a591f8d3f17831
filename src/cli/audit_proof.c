/* Writing and checking the files of proofs (see audit_proof.h). */
#include "cli/audit_proof.h"

#include "audit/entry.h"
#include "base/arena.h"

enum { PROOF_MEMORY = 1 << 20 };

static const struct str old_word = {"old ", 4};

int audit_consistency_write(const struct tree_proof *proof, uint64_t old_size,
			    struct str checkpoint, struct buf *out)
{
	char coded[CHECKPOINT_HASH_TEXT + 1];

	(void)buf_append_str(out, old_word);
	(void)buf_append_u64(out, old_size);
	(void)buf_append_byte(out, '\n');
	for (size_t i = 0; i < proof->count; i++) {
		checkpoint_hash_write(&proof->hashes[i], coded);
		(void)buf_append(out, coded, CHECKPOINT_HASH_TEXT);
		(void)buf_append_byte(out, '\n');
	}
	(void)buf_append_byte(out, '\n');
	return buf_append_str(out, checkpoint);
}

/* "old <size>", hashes, an empty line; what follows is the checkpoint. */
static bool read_consistency(struct str bytes, uint64_t *out_old_size, struct tree_proof *out_proof,
			     struct str *out_checkpoint)
{
	struct str line;

	out_proof->count = 0;
	if (!str_split(&bytes, '\n', &line) || !str_starts_with(line, old_word) ||
	    !checkpoint_number_read(str_from_index(line, old_word.len), out_old_size))
		return false;
	while (str_split(&bytes, '\n', &line) && line.len) {
		if (out_proof->count == TREE_PROOF_MAX ||
		    !checkpoint_hash_read(line, &out_proof->hashes[out_proof->count]))
			return false;
		out_proof->count++;
	}
	*out_checkpoint = bytes;
	return line.len == 0 && bytes.len > 0;
}

/* A checkpoint of this key's log. PROOF_HOLDS, or what is wrong with it. */
static enum proof_verdict read_signed(struct str bytes, const struct note_verifier *key,
				      struct checkpoint *out_checkpoint)
{
	struct note note;
	size_t who;

	if (!note_read(bytes, &note) || !checkpoint_read(note.text, out_checkpoint))
		return PROOF_MALFORMED;
	if (!str_equal(out_checkpoint->origin, str_from(key->name)))
		return PROOF_UNKNOWN;
	switch (note_check(&note, key, 1, &who)) {
	case NOTE_GOOD:
		return PROOF_HOLDS;
	case NOTE_BAD_SIGNATURE:
		return PROOF_BAD_SIGNATURE;
	default:
		return PROOF_UNKNOWN;
	}
}

static enum proof_verdict check_consistency(struct str bytes, struct str since,
					    const struct note_verifier *key,
					    struct audit_proof_facts *facts)
{
	struct checkpoint newer, older;
	struct str checkpoint;
	struct tree_proof proof;
	enum proof_verdict verdict;

	facts->is_consistency = true;
	if (!since.at || !read_consistency(bytes, &facts->old_size, &proof, &checkpoint))
		return PROOF_MALFORMED;
	verdict = read_signed(checkpoint, key, &newer);
	/* The older one is the operator's own: it may be of an earlier epoch's key. */
	if (verdict == PROOF_HOLDS && read_signed(since, key, &older) == PROOF_MALFORMED)
		verdict = PROOF_MALFORMED;
	if (verdict != PROOF_HOLDS)
		return verdict;
	facts->size = newer.size;
	return older.size == facts->old_size &&
			       tree_consistency_holds(&proof, older.size, newer.size, &older.root,
						      &newer.root)
		       ? PROOF_HOLDS
		       : PROOF_FALSE;
}

static enum proof_verdict check_inclusion(struct str bytes, const struct note_verifier *key,
					  struct arena *mem, struct audit_proof_facts *facts)
{
	struct checkpoint checkpoint;
	struct proof proof;
	struct entry entry;
	struct hash leaf;
	const char *why;
	enum proof_verdict verdict;

	if (!proof_read(bytes, mem, &proof) || !proof.extra.at ||
	    entry_read(proof.extra, &entry, &why) != 0)
		return PROOF_MALFORMED;
	tree_hash_leaf(proof.extra, &leaf);
	verdict = proof_check(&proof, &leaf, key);
	if (verdict == PROOF_HOLDS && entry.seq != proof.index)
		verdict = PROOF_FALSE;
	facts->index = proof.index;
	if (verdict == PROOF_HOLDS)
		verdict = read_signed(proof.checkpoint, key, &checkpoint);
	if (verdict == PROOF_HOLDS)
		facts->size = checkpoint.size;
	return verdict;
}

enum proof_verdict audit_proof_check(struct str bytes, struct str since,
				     const struct note_verifier *key,
				     struct audit_proof_facts *out_facts)
{
	enum proof_verdict verdict;
	struct arena mem;

	*out_facts = (struct audit_proof_facts){0};
	if (str_starts_with(bytes, old_word))
		return check_consistency(bytes, since, key, out_facts);
	arena_init(&mem, PROOF_MEMORY);
	verdict = check_inclusion(bytes, key, &mem, out_facts);
	arena_fini(&mem);
	return verdict;
}
