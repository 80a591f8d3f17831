/*
 * Fuzzing what is signed: notes and checkpoints, verifier keys ("k"), certificates ("c") and seals
 * ("s") of epochs, proofs ("p") and the paths of tiles ("t"), behind their letter.
 *
 * Nothing is good by a key that no input knows; whatever has one spelling is written as it was
 * read.
 */
#include "audit/checkpoint.h"
#include "audit/epoch.h"
#include "audit/proof.h"
#include "audit/tiles.h"
#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { INPUT_MAX = 1 << 16, CEILING = 4 << 20 };

static const char origin[] = "example.com/log";

static void init_signer(struct note_signer *signer)
{
	static const uint8_t seed[NOTE_SEED_SIZE] = "no fuzzer has this as its seed";

	require(note_signer_init(signer, str_from(origin), seed));
}

static void check_checkpoint(struct str text)
{
	struct checkpoint checkpoint, again;
	struct note_signer signer;
	struct note note;
	struct buf out;

	if (!checkpoint_read(text, &checkpoint))
		return;
	require(checkpoint.size <= TREE_SIZE_MAX && checkpoint.origin.len > 0);
	init_signer(&signer);
	buf_init(&out, NOTE_SIZE_MAX);
	require(checkpoint_sign(checkpoint.size, &checkpoint.root, &signer, &out) == 0);
	require(note_read(buf_str(&out), &note) && checkpoint_read(note.text, &again));
	require(again.size == checkpoint.size && hash_equal(&again.root, &checkpoint.root));
	/* Three lines of one spelling each. */
	require(memcmp(note.text.at + strlen(origin), text.at + checkpoint.origin.len,
		       note.text.len - strlen(origin)) == 0);
	buf_fini(&out);
}

static void check_note(struct str bytes)
{
	struct note_signer signer;
	struct note note;
	size_t who;

	if (!note_read(bytes, &note))
		return;
	require(note.count >= 1 && note.count <= NOTE_SIGNATURES_MAX);
	require(note.text.len + 1 + note.signatures.len == bytes.len);
	init_signer(&signer);
	require(note_check(&note, &signer.verifier, 1, &who) != NOTE_GOOD);
	require(note_check(&note, NULL, 0, &who) == NOTE_UNKNOWN);
	check_checkpoint(note.text);
}

static void check_key(struct str text)
{
	struct note_verifier verifier;
	char again[NOTE_KEY_MAX];

	if (!note_verifier_read(text, &verifier))
		return;
	note_verifier_write(&verifier, again);
	require(str_equal(text, str_from(again)));
}

static void check_epoch(struct str text, bool is_seal)
{
	struct note_signer signer;
	struct epoch_note said;
	struct arena mem;
	size_t who;

	arena_init(&mem, CEILING);
	init_signer(&signer);
	if (is_seal ? epoch_seal_read(text, str_from(origin), &mem, &said)
		    : epoch_certificate_read(text, str_from(origin), &mem, &said))
		require(note_check(&said.note, &signer.verifier, 1, &who) != NOTE_GOOD);
	arena_fini(&mem);
}

static void check_proof(struct str text)
{
	struct hash leaf = {{1}};
	struct note_signer signer;
	struct proof proof;
	struct arena mem;
	struct buf out;

	arena_init(&mem, CEILING);
	buf_init(&out, PROOF_SIZE_MAX);
	init_signer(&signer);
	if (proof_read(text, &mem, &proof)) {
		require(proof_check(&proof, &leaf, &signer.verifier) != PROOF_HOLDS);
		require(proof_write(&proof, &out) == 0);
		require(str_equal(buf_str(&out), text));
	}
	buf_fini(&out);
	arena_fini(&mem);
}

static void check_path(struct str text)
{
	char again[TILE_PATH_MAX];
	struct tile tile;

	if (!tile_path_read(text, &tile))
		return;
	tile_path(&tile, again);
	require(str_equal(text, str_from(again)));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str text = str_of((const char *)bytes, size), rest = str_from_index(text, 1);

	if (size == 0 || size > INPUT_MAX)
		return 0;
	switch (bytes[0]) {
	case 'k':
		check_key(rest);
		break;
	case 'c':
	case 's':
		check_epoch(rest, bytes[0] == 's');
		break;
	case 'p':
		check_proof(rest);
		break;
	case 't':
		check_path(rest);
		break;
	case 'n':
		check_note(rest);
		break;
	default:
		check_note(text);
		check_checkpoint(text);
		break;
	}
	return 0;
}
