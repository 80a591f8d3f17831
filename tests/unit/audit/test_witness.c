/*
 * Cosignatures are checked strictly, and a witness's answers judged by what the standard says.
 */
#include "audit/checkpoint.h"
#include "audit/witness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>
#include <sodium.h>

#define NAME "witness.test/w1"
#define DASH "\xe2\x80\x94 "

enum { COSIGNED_AT = 1679315147, SIZE = 7 };

static const uint8_t seed[crypto_sign_SEEDBYTES] = "the seed of a witness of tests";
static struct note_verifier witness;
static uint8_t secret[crypto_sign_SECRETKEYBYTES];
static struct buf checkpoint;

/* The key as its operator writes it, made without the code that reads it. */
static void make_witness(void)
{
	uint8_t key[33] = {4}, hash[32];
	char text[NOTE_KEY_MAX], coded[64], id[9];
	struct buf named;

	crypto_sign_seed_keypair(key + 1, secret, seed);
	buf_init(&named, 256);
	(void)buf_append_str(&named, STR(NAME "\n"));
	(void)buf_append(&named, key, sizeof(key));
	crypto_hash_sha256(hash, (const uint8_t *)named.at, named.len);
	buf_fini(&named);
	sodium_bin2hex(id, sizeof(id), hash, 4);
	sodium_bin2base64(coded, sizeof(coded), key, sizeof(key), sodium_base64_VARIANT_ORIGINAL);
	snprintf(text, sizeof(text), NAME "+%s+%s", id, coded);
	assert_true(cosignature_key_read(str_from(text), &witness));
}

/* Append the line of a cosignature of `text`. */
static void cosign(struct str text, uint64_t time_s, struct buf *out)
{
	uint8_t bytes[4 + 8 + 64];
	struct buf message;
	char coded[128];

	for (int i = 0; i < 4; i++)
		bytes[i] = (uint8_t)(witness.id >> (24 - 8 * i));
	for (int i = 0; i < 8; i++)
		bytes[4 + i] = (uint8_t)(time_s >> (56 - 8 * i));
	buf_init(&message, NOTE_SIZE_MAX);
	(void)buf_printf(&message, "cosignature/v1\ntime %llu\n%.*s", (unsigned long long)time_s,
			 STR_ARG(text));
	crypto_sign_detached(bytes + 12, NULL, (const uint8_t *)message.at, message.len, secret);
	buf_fini(&message);
	sodium_bin2base64(coded, sizeof(coded), bytes, sizeof(bytes),
			  sodium_base64_VARIANT_ORIGINAL);
	(void)buf_printf(out, DASH NAME " %s\n", coded);
}

static struct str text_of(const struct buf *note_bytes)
{
	struct note note;

	assert_true(note_read(buf_str(note_bytes), &note));
	return note.text;
}

static int set_up(void **state)
{
	static const uint8_t log_seed[NOTE_SEED_SIZE] = "the seed of a log of the tests";
	struct hash root = {{1, 2, 3}};
	struct note_signer signer;

	make_witness();
	assert_true(note_signer_init(&signer, STR("log.test"), log_seed));
	buf_init(&checkpoint, NOTE_SIZE_MAX);
	return checkpoint_sign(SIZE, &root, &signer, &checkpoint);
}

static int tear_down(void **state)
{
	buf_fini(&checkpoint);
	return 0;
}

/* A witness's key that others publish is read; the key of a log, or with another id, is not. */
static void test_keys(void **state)
{
	struct note_verifier key;
	struct str url;

	assert_true(cosignature_key_read(
		STR("remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2"), &key));
	assert_false(cosignature_key_read(
		STR("remora.n621.de+da77ade8+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2"), &key));
	assert_false(cosignature_key_read(
		STR("TEST+7997405c+AQcC+FTVKf0jlTdHDY3rbevmnKxxPjigCXlVtGe6RIr6"), &key));
	assert_true(witness_setting_read(
		STR("https://w.test/x "
		    "remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2"),
		&url, &key));
	assert_true(str_equal(url, STR("https://w.test/x")));
	assert_false(witness_setting_read(STR("https://w.test/x"), &url, &key));
}

/* A cosignature holds for its text and time alone, wherever one bit is another. */
static void test_no_bit_is_idle(void **state)
{
	struct cosignature found;
	struct buf note_bytes;
	struct note note;

	buf_init(&note_bytes, NOTE_SIZE_MAX);
	(void)buf_append_str(&note_bytes, buf_str(&checkpoint));
	cosign(text_of(&checkpoint), COSIGNED_AT, &note_bytes);
	assert_true(note_read(buf_str(&note_bytes), &note));
	assert_int_equal(cosignature_check(&note, &witness, &found), NOTE_GOOD);
	assert_int_equal(found.time_s, COSIGNED_AT);
	for (size_t bit = 0; bit < 8 * note_bytes.len; bit++) {
		size_t in_log_line = note.text.len + 1;

		if (bit / 8 >= in_log_line && bit / 8 < checkpoint.len)
			continue; /* what the log has signed is another's to check */
		note_bytes.at[bit / 8] ^= (char)(1 << bit % 8);
		if (note_read(buf_str(&note_bytes), &note) &&
		    cosignature_check(&note, &witness, &found) == NOTE_GOOD)
			fail_msg("bit %zu of byte %zu", bit % 8, bit / 8);
		note_bytes.at[bit / 8] ^= (char)(1 << bit % 8);
	}
	buf_fini(&note_bytes);
}

/* A time that no reader may take is no cosignature; a checkpoint without one is unknown. */
static void test_times(void **state)
{
	struct cosignature found;
	struct buf note_bytes;
	struct note note;

	buf_init(&note_bytes, NOTE_SIZE_MAX);
	assert_true(note_read(buf_str(&checkpoint), &note));
	assert_int_equal(cosignature_check(&note, &witness, &found), NOTE_UNKNOWN);
	(void)buf_append_str(&note_bytes, buf_str(&checkpoint));
	cosign(text_of(&checkpoint), (uint64_t)INT64_MAX + 1, &note_bytes);
	assert_true(note_read(buf_str(&note_bytes), &note));
	assert_int_equal(cosignature_check(&note, &witness, &found), NOTE_BAD_SIGNATURE);
	buf_fini(&note_bytes);
}

/* A newer cosignature takes the place of the older one, and nothing else's. */
static void test_adding(void **state)
{
	struct buf line, once, twice;
	struct cosignature found;
	struct note note;

	buf_init(&line, 1024);
	buf_init(&once, NOTE_SIZE_MAX);
	buf_init(&twice, NOTE_SIZE_MAX);
	cosign(text_of(&checkpoint), COSIGNED_AT, &line);
	assert_int_equal(cosignature_add(buf_str(&checkpoint), buf_str(&line), &once), 0);
	buf_clear(&line);
	cosign(text_of(&checkpoint), COSIGNED_AT + 1, &line);
	assert_int_equal(cosignature_add(buf_str(&once), buf_str(&line), &twice), 0);
	assert_true(note_read(buf_str(&twice), &note));
	assert_int_equal(note.count, 2);
	assert_true(str_starts_with(buf_str(&twice), buf_str(&checkpoint)));
	assert_int_equal(cosignature_check(&note, &witness, &found), NOTE_GOOD);
	assert_int_equal(found.time_s, COSIGNED_AT + 1);
	buf_fini(&twice);
	buf_fini(&once);
	buf_fini(&line);
}

/* The request is the standard's, byte for byte. */
static void test_the_request(void **state)
{
	struct tree_proof proof = {.count = 2, .hashes = {{{0}}, {{0xff}}}};
	const struct str head = STR("old 3\n"
				    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
				    "/wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
				    "\n");
	struct buf out;

	buf_init(&out, WITNESS_REQUEST_MAX);
	assert_int_equal(witness_request_write(3, &proof, buf_str(&checkpoint), &out), 0);
	assert_true(str_starts_with(buf_str(&out), head));
	assert_true(str_equal(str_from_index(buf_str(&out), head.len), buf_str(&checkpoint)));
	buf_fini(&out);
}

static void check_answer(enum witness_verdict expected, long status, const char *type,
			 struct str body, uint64_t old_size, uint64_t expected_size)
{
	struct witness_answer answer = {status, str_from(type), body};
	uint64_t size = UINT64_MAX;
	struct buf scratch;
	struct str line;

	buf_init(&scratch, NOTE_SIZE_MAX);
	assert_int_equal(witness_answer_read(&answer, old_size, buf_str(&checkpoint), &witness,
					     &scratch, &line, &size),
			 expected);
	if (expected == WITNESS_KNOWS_OTHER)
		assert_int_equal(size, expected_size);
	if (expected == WITNESS_COSIGNED)
		assert_true(str_starts_with(line, STR(DASH NAME)));
	buf_fini(&scratch);
}

/* Each status and body has one meaning; what is not the standard's is a fault of the witness. */
static void test_answers(void **state)
{
	static const char size_type[] = "text/x.tlog.size";
	struct buf good, other;

	buf_init(&good, 4096);
	buf_init(&other, 4096);
	(void)buf_append_str(&good, STR(DASH "somebody.else AAAAAAAA\n"));
	cosign(text_of(&checkpoint), COSIGNED_AT, &good);
	cosign(STR("log.test\n8\n"), COSIGNED_AT, &other);
	check_answer(WITNESS_COSIGNED, 200, "", buf_str(&good), 0, 0);
	check_answer(WITNESS_FAULT, 200, "", buf_str(&other), 0, 0);
	check_answer(WITNESS_FAULT, 200, "", STR(""), 0, 0);
	check_answer(WITNESS_FAULT, 200, "", STR("\n" DASH NAME " AAAAAAAA\n"), 0, 0);
	check_answer(WITNESS_FAULT, 200, "", STR(DASH "somebody.else AAAAAAAA\n"), 0, 0);
	check_answer(WITNESS_KNOWS_OTHER, 409, size_type, STR("5\n"), 0, 5);
	check_answer(WITNESS_KNOWS_OTHER, 409, size_type, STR("0\n"), 3, 0);
	check_answer(WITNESS_FORKED, 409, size_type, STR("7\n"), 7, 0);
	check_answer(WITNESS_FORKED, 409, "text/plain", STR("another root\n"), 7, 0);
	check_answer(WITNESS_FAULT, 409, size_type, STR("5"), 0, 0);
	check_answer(WITNESS_FAULT, 409, size_type, STR("05\n"), 0, 0);
	check_answer(WITNESS_FAULT, 409, size_type, STR("-1\n"), 0, 0);
	check_answer(WITNESS_FORKED, 422, "", STR(""), 3, 0);
	check_answer(WITNESS_NO_KEY, 403, "", STR(""), 0, 0);
	check_answer(WITNESS_NO_LOG, 404, "", STR(""), 0, 0);
	check_answer(WITNESS_FAULT, 400, "", STR(""), 0, 0);
	check_answer(WITNESS_FAULT, 301, "", STR(""), 0, 0);
	check_answer(WITNESS_FAULT, 503, "", buf_str(&good), 0, 0);
	buf_fini(&other);
	buf_fini(&good);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),	    cmocka_unit_test(test_no_bit_is_idle),
		cmocka_unit_test(test_times),	    cmocka_unit_test(test_adding),
		cmocka_unit_test(test_the_request), cmocka_unit_test(test_answers),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
