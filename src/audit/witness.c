/*
 * Asking and understanding a witness (see witness.h).
 */
#include "audit/witness.h"

#include "audit/checkpoint.h"
#include "base/err.h"

#include <inttypes.h>

bool witness_setting_read(struct str text, struct str *out_url, struct note_verifier *out_key)
{
	struct str url;

	if (!str_split(&text, ' ', &url) || url.len == 0 ||
	    !cosignature_key_read(str_trim(text), out_key))
		return false;
	*out_url = url;
	return true;
}

int witness_request_write(uint64_t old_size, const struct tree_proof *proof, struct str checkpoint,
			  struct buf *out)
{
	char coded[CHECKPOINT_HASH_TEXT + 1];

	require(proof->count <= WITNESS_PROOF_MAX);
	(void)buf_printf(out, "old %" PRIu64 "\n", old_size);
	for (size_t i = 0; i < proof->count; i++) {
		checkpoint_hash_write(&proof->hashes[i], coded);
		(void)buf_printf(out, "%s\n", coded);
	}
	(void)buf_append_byte(out, '\n');
	return buf_append_str(out, checkpoint);
}

static enum witness_verdict read_cosignature(struct str body, struct str checkpoint,
					     const struct note_verifier *key, struct buf *scratch,
					     struct str *out_line)
{
	struct cosignature cosignature;
	struct note ours, note;

	require(note_read(checkpoint, &ours));
	buf_clear(scratch);
	(void)buf_append(scratch, checkpoint.at, ours.text.len + 1);
	if (buf_append_str(scratch, body) != 0 || !note_read(buf_str(scratch), &note) ||
	    note.text.len != ours.text.len ||
	    cosignature_check(&note, key, &cosignature) != NOTE_GOOD)
		return WITNESS_FAULT;
	*out_line = cosignature.line;
	return WITNESS_COSIGNED;
}

static enum witness_verdict read_conflict(const struct witness_answer *answer, uint64_t old_size,
					  uint64_t *out_size)
{
	struct str body = answer->body;

	if (!str_starts_with_nocase(answer->type, STR("text/x.tlog.size")))
		return old_size ? WITNESS_FORKED : WITNESS_FAULT;
	if (body.len == 0 || body.at[body.len - 1] != '\n')
		return WITNESS_FAULT;
	body.len--;
	if (!checkpoint_number_read(body, out_size))
		return WITNESS_FAULT;
	return *out_size == old_size ? WITNESS_FORKED : WITNESS_KNOWS_OTHER;
}

enum witness_verdict witness_answer_read(const struct witness_answer *answer, uint64_t old_size,
					 struct str checkpoint, const struct note_verifier *key,
					 struct buf *scratch, struct str *out_line,
					 uint64_t *out_size)
{
	switch (answer->status) {
	case 200:
		return read_cosignature(answer->body, checkpoint, key, scratch, out_line);
	case 403:
		return WITNESS_NO_KEY;
	case 404:
		return WITNESS_NO_LOG;
	case 409:
		return read_conflict(answer, old_size, out_size);
	case 422:
		return WITNESS_FORKED;
	default:
		return WITNESS_FAULT;
	}
}
