/*
 * Fuzzing what a witness answers, and cosignatures: three digits of a status, a letter ("s": its
 * type says that it is a size), then the body. Behind "note" a checkpoint of which any line may be
 * a cosignature, behind "word" a setting.
 *
 * No input is a cosignature by a key that none knows; a size that is taken is one.
 */
#include "audit/witness.h"
#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { INPUT_MAX = 1 << 16, HEAD = 4, OLD_SIZE = 3 };

static const char key_text[] =
	"witness.example.com+7e62d793+BHm1Vi6P5lT5QHixEuipi6eQH4U65pW+1+DjkQutBJZk";
static const char checkpoint[] = "example.com/log\n7\n"
				 "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n"
				 "\xe2\x80\x94 example.com/log AAAAAAA=\n";

static void check_note(struct str text, const struct note_verifier *key)
{
	struct cosignature found;
	struct note_signature signature;
	struct note note;
	struct str rest;
	struct buf out;

	if (!note_read(text, &note))
		return;
	require(cosignature_check(&note, key, &found) != NOTE_GOOD);
	rest = note.signatures;
	require(note_next(&rest, &signature));
	buf_init(&out, NOTE_SIZE_MAX);
	/* A line that is there takes its own place, and that of others by its key. */
	require(cosignature_add(text, signature.line, &out) == 0);
	require(note_read(buf_str(&out), &note) && out.len <= text.len);
	buf_fini(&out);
}

static void check_answer(struct str text, const struct note_verifier *key)
{
	struct witness_answer answer = {.body = str_from_index(text, HEAD),
					.type = text.at[3] == 's' ? STR("text/x.tlog.size")
								  : STR("text/plain")};
	uint64_t status, size = UINT64_MAX;
	enum witness_verdict verdict;
	struct buf scratch;
	struct str line;

	if (!str_to_u64(str_of(text.at, 3), 999, &status))
		return;
	answer.status = (long)status;
	buf_init(&scratch, NOTE_SIZE_MAX);
	verdict = witness_answer_read(&answer, OLD_SIZE, str_from(checkpoint), key, &scratch, &line,
				      &size);
	require(verdict != WITNESS_COSIGNED);
	require(verdict != WITNESS_KNOWS_OTHER || (size <= TREE_SIZE_MAX && size != OLD_SIZE));
	buf_fini(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str text = str_of((const char *)bytes, size), rest = str_from_index(text, HEAD), url;
	struct note_verifier key;

	if (size < HEAD || size > INPUT_MAX)
		return 0;
	require(cosignature_key_read(str_from(key_text), &key));
	if (str_starts_with(text, STR("note")))
		check_note(rest, &key);
	else if (str_starts_with(text, STR("word")))
		(void)witness_setting_read(rest, &url, &key);
	else
		check_answer(text, &key);
	return 0;
}
