/*
 * Checking cosignatures, and putting them under a checkpoint (see cosignature.h).
 */
#include "audit/cosignature.h"

#include "audit/base64.h"
#include "base/err.h"

#include <inttypes.h>
#include <sodium.h>

enum {
	ID_SIZE = 4,
	TIME_SIZE = 8,
	COSIGNATURE_SIZE = ID_SIZE + TIME_SIZE + crypto_sign_BYTES,
	COSIGNATURE_TEXT = 104, /* base64 of that */
	HEAD_MAX = 64,		/* the two lines before the text */
};

bool cosignature_key_read(struct str text, struct note_verifier *out_witness)
{
	return note_verifier_read_as(text, NOTE_COSIGNATURE, out_witness);
}

static uint64_t read_time(const uint8_t bytes[TIME_SIZE])
{
	uint64_t time_s = 0;

	for (size_t i = 0; i < TIME_SIZE; i++)
		time_s = time_s << 8 | bytes[i];
	return time_s;
}

static bool holds(struct str text, uint64_t time_s, const uint8_t *signature,
		  const struct note_verifier *witness)
{
	struct buf message;
	bool is_good;

	buf_init(&message, NOTE_SIZE_MAX + HEAD_MAX);
	(void)buf_printf(&message, "cosignature/v1\ntime %" PRIu64 "\n", time_s);
	is_good = buf_append_str(&message, text) == 0 &&
		  crypto_sign_verify_detached(signature, (const uint8_t *)message.at, message.len,
					      witness->public_key) == 0;
	buf_fini(&message);
	return is_good;
}

static enum note_verdict check(struct str text, const struct note_signature *signature,
			       const struct note_verifier *witness,
			       struct cosignature *out_cosignature)
{
	uint8_t bytes[COSIGNATURE_SIZE];
	uint64_t time_s;
	size_t len;

	if (!note_is_by(signature, witness))
		return NOTE_UNKNOWN;
	if (signature->coded.len != COSIGNATURE_TEXT ||
	    !base64_read(signature->coded, bytes, sizeof(bytes), &len) || len != sizeof(bytes))
		return NOTE_BAD_SIGNATURE;
	time_s = read_time(bytes + ID_SIZE);
	if (time_s > INT64_MAX || !holds(text, time_s, bytes + ID_SIZE + TIME_SIZE, witness))
		return NOTE_BAD_SIGNATURE;
	*out_cosignature = (struct cosignature){signature->line, time_s};
	return NOTE_GOOD;
}

enum note_verdict cosignature_check(const struct note *note, const struct note_verifier *witness,
				    struct cosignature *out_cosignature)
{
	enum note_verdict verdict = NOTE_UNKNOWN;
	struct str rest = note->signatures;
	struct note_signature signature;
	struct cosignature found;

	while (note_next(&rest, &signature)) {
		switch (check(note->text, &signature, witness, &found)) {
		case NOTE_BAD_SIGNATURE:
			return NOTE_BAD_SIGNATURE;
		case NOTE_UNKNOWN:
			break;
		case NOTE_GOOD:
			if (verdict != NOTE_GOOD)
				*out_cosignature = found;
			verdict = NOTE_GOOD;
			break;
		}
	}
	return verdict;
}

int cosignature_add(struct str checkpoint, struct str added, struct buf *out)
{
	struct note_signature signature, ours;
	struct note note;
	struct str rest = added;
	size_t count = 1;

	require(note_read(checkpoint, &note) && note_next(&rest, &ours));
	(void)buf_append(out, checkpoint.at, checkpoint.len - note.signatures.len);
	for (rest = note.signatures; note_next(&rest, &signature); count++) {
		if (signature.id == ours.id && str_equal(signature.name, ours.name))
			count--;
		else
			(void)buf_append_str(out, signature.line);
	}
	if (count > NOTE_SIGNATURES_MAX)
		return FAIL_LIMIT;
	return buf_append_str(out, added);
}
