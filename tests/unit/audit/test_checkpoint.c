/*
 * Notes and checkpoints are read strictly, their signatures by the keys that are known. The
 * argument is tests/vectors/audit.json.
 */
#include "vectors.h"

#include "audit/checkpoint.h"
#include "audit/epoch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define ROOT "OklccKvVp693HLBVPscAyp5SAL8yuCPVlZFZwUtX4KM="
#define DASH "\xe2\x80\x94 "

static const char *vectors_file;
static struct json_value *vectors;
static struct note_signer signer, witness;
static struct str good;

static enum note_verdict check_with(struct str bytes, const struct note_verifier *verifiers,
				    size_t count, size_t *out_index)
{
	struct note note;

	assert_true(note_read(bytes, &note));
	return note_check(&note, verifiers, count, out_index);
}

/* The vectors' seed signs the vectors' checkpoint; its key is spelled as theirs. */
static void test_the_vectors(void **state)
{
	struct note_verifier verifier;
	struct checkpoint checkpoint;
	char key[NOTE_KEY_MAX];
	struct note note;
	struct hash root;
	struct buf out;
	size_t who;

	memcpy(root.bytes, vectors_bytes(vectors, "/root").at, HASH_SIZE);
	buf_init(&out, NOTE_SIZE_MAX);
	assert_int_equal(checkpoint_sign(2, &root, &signer, &out), 0);
	assert_true(str_equal(buf_str(&out), good));
	note_verifier_write(&signer.verifier, key);
	assert_true(str_equal(str_from(key), vectors_text(vectors, "/vkey")));
	assert_true(note_verifier_read(str_from(key), &verifier));
	assert_true(note_verifier_equal(&verifier, &signer.verifier));
	assert_true(note_read(good, &note));
	assert_true(checkpoint_read(note.text, &checkpoint));
	assert_int_equal(checkpoint.size, 2);
	assert_memory_equal(&checkpoint.root, &root, HASH_SIZE);
	assert_int_equal(note_check(&note, &verifier, 1, &who), NOTE_GOOD);
	buf_fini(&out);
}

/* A bit that is changed is never good: malformed, unknown or bad. */
static void test_no_bit_is_idle(void **state)
{
	struct buf out;

	buf_init(&out, NOTE_SIZE_MAX);
	(void)buf_append_str(&out, good);
	for (size_t bit = 0; bit < 8 * out.len; bit++) {
		struct note note;
		size_t who;

		out.at[bit / 8] ^= (char)(1 << bit % 8);
		if (note_read(buf_str(&out), &note) &&
		    note_check(&note, &signer.verifier, 1, &who) == NOTE_GOOD)
			fail_msg("bit %zu of byte %zu", bit % 8, bit / 8);
		out.at[bit / 8] ^= (char)(1 << bit % 8);
	}
	buf_fini(&out);
}

static void check_checkpoint(const char *text, bool is_one)
{
	struct checkpoint checkpoint;

	if (checkpoint_read(str_from(text), &checkpoint) != is_one)
		fail_msg("%s: %s", text, is_one ? "refused" : "taken");
}

static void test_texts_of_checkpoints(void **state)
{
	check_checkpoint("a.example/log\n2\n" ROOT "\n", true);
	check_checkpoint("a.example/log\n0\n" ROOT "\n", true);
	check_checkpoint("a.example/log\n2\n" ROOT "\nextension\n", true);
	check_checkpoint("a.example/log\n9223372036854775807\n" ROOT "\n", true);
	check_checkpoint("a.example/log\n9223372036854775808\n" ROOT "\n", false);
	check_checkpoint("a.example/log\n18446744073709551616\n" ROOT "\n", false);
	check_checkpoint("a.example/log\n2\n" ROOT, false);
	check_checkpoint("a.example/log\n02\n" ROOT "\n", false);
	check_checkpoint("a.example/log\n00\n" ROOT "\n", false);
	check_checkpoint("a.example/log\n+2\n" ROOT "\n", false);
	check_checkpoint("a.example/log\n-2\n" ROOT "\n", false);
	check_checkpoint("a.example/log\n 2\n" ROOT "\n", false);
	check_checkpoint("a.example/log\n0x2\n" ROOT "\n", false);
	check_checkpoint("a.example/log\n\n" ROOT "\n", false);
	check_checkpoint("\n2\n" ROOT "\n", false);
	check_checkpoint("a.example/log\n2\n", false);
	check_checkpoint("a.example/log\n2\n\n", false);
	check_checkpoint("a.example/log\n2\n" ROOT "\n\n", false);
	check_checkpoint("a.example/log\n2\n" ROOT "=\n", false);
	check_checkpoint("a.example/log\n2\nOklccKvVp693HLBVPscAyp5SAL8yuCPVlZFZwUtX4KN=\n", false);
	check_checkpoint("a.example/log\n2\nOklccKvVp693HLBVPscAyp5SAL8yuCPVlZFZwUtX4KM\n", false);
	check_checkpoint("a.example/log\n2\nOklccKvVp693HLBVPscAyp5SAL8yuCPVlZFZwUtXAAAA\n", false);
	/* UTF-8 that is no base64, and that libsodium takes for some. */
	check_checkpoint("a.example/log\n2\n\xcf\xablccKvVp693HLBVPscAyp5SAL8yuCPVlZFZwUtX4KM=\n",
			 false);
	check_checkpoint("", false);
	check_checkpoint("\n", false);
}

static void check_note(const char *text, bool is_one)
{
	struct note note;

	if (note_read(str_from(text), &note) != is_one)
		fail_msg("%s: %s", text, is_one ? "refused" : "taken");
}

static void test_notes(void **state)
{
	check_note("text\n\n" DASH "name AAAAAAA=\n", true);
	check_note("te\n\nxt\n\n" DASH "name AAAAAAA=\n", true);
	check_note("text\n\n" DASH "name AAAAAAA=\n" DASH "other AAAAAAAA\n", true);
	check_note("t\xc3\xa4xt\n\n" DASH "n\xc3\xa4me AAAAAAA=\n", true);
	check_note("text\n\n" DASH "name AAAAAAA=", false);
	check_note("text\n" DASH "name AAAAAAA=\n", false);
	check_note("text\n\n", false);
	check_note("text\n\n\n", false);
	check_note("text\n\nname AAAAAAA=\n", false);
	check_note("text\n\n- name AAAAAAA=\n", false);
	check_note("text\n\n" DASH " name AAAAAAA=\n", false);
	check_note("text\n\n" DASH "name  AAAAAAA=\n", false);
	check_note("text\n\n" DASH "name AAAAAAA= \n", false);
	check_note("text\n\n" DASH "name\n", false);
	check_note("text\n\n" DASH " AAAAAAA=\n", false);
	check_note("text\n\n" DASH "na+me AAAAAAA=\n", false);
	check_note("text\n\n" DASH "na\xc2\xa0me AAAAAAA=\n", false);
	check_note("text\n\n" DASH "na\xe2\x80\x83me AAAAAAA=\n", false);
	check_note("text\n\n" DASH "name AAAAAA==\n", false); /* an id and nothing signed */
	check_note("text\n\n" DASH "name AAAAAAB=\n", false); /* spare bits */
	check_note("text\n\n" DASH "name AAAAAAA\n", false);
	check_note("text\n\n" DASH "name AAAA=AAA\n", false);
	check_note("text\n\n" DASH "name AAA=AAAA\n", false);
	check_note("text\n\n" DASH "name AAAAAA_=\n", false);
	check_note("text\n\n" DASH "name AAAA\xcf\xab\x41=\n", false);
	check_note("te\txt\n\n" DASH "name AAAAAAA=\n", false);
	check_note("te\rxt\n\n" DASH "name AAAAAAA=\n", false);
	check_note("te\xffxt\n\n" DASH "name AAAAAAA=\n", false);
	check_note("te\xed\xa0\x80xt\n\n" DASH "name AAAAAAA=\n", false);
	check_note("text\n\n" DASH "name AAAAAAA=\n" DASH "other\n", false);
	check_note("", false);
}

/* The good one with lines of others before and after ours. */
static void build(struct buf *out, size_t before, size_t after, size_t others_len)
{
	size_t at = str_find(good, '\xe2');
	struct str own = str_from_index(good, at);

	buf_clear(out);
	(void)buf_append(out, good.at, at);
	for (size_t i = 0; i < before + after; i++) {
		if (i == before)
			(void)buf_append_str(out, own);
		(void)buf_printf(out, DASH "witness.example/%zu AAAA", i);
		for (size_t j = 0; j < others_len; j += 4)
			(void)buf_append_str(out, STR("AAAA"));
		(void)buf_append_str(out, STR("\n"));
	}
	if (after == 0)
		(void)buf_append_str(out, own);
}

static void test_others_may_sign_too(void **state)
{
	struct buf out;
	size_t who;

	buf_init(&out, NOTE_SIZE_MAX);
	build(&out, 15, 0, 100);
	assert_int_equal(check_with(buf_str(&out), &signer.verifier, 1, &who), NOTE_GOOD);
	build(&out, 8, 8, 100);
	assert_int_equal(check_with(buf_str(&out), &signer.verifier, 1, &who), NOTE_GOOD);
	build(&out, 20, 20, 6600); /* as long as those that quantum computers do not break */
	assert_int_equal(check_with(buf_str(&out), &signer.verifier, 1, &who), NOTE_GOOD);
	build(&out, NOTE_SIGNATURES_MAX - 1, 0, 100);
	assert_int_equal(check_with(buf_str(&out), &signer.verifier, 1, &who), NOTE_GOOD);
	buf_fini(&out);
}

static void test_too_many_signatures(void **state)
{
	struct note note;
	struct buf out;

	buf_init(&out, NOTE_SIZE_MAX);
	build(&out, NOTE_SIGNATURES_MAX, 0, 100);
	assert_false(note_read(buf_str(&out), &note));
	buf_fini(&out);
}

static void test_nobody_known(void **state)
{
	struct note_verifier other = signer.verifier;
	size_t who;

	assert_int_equal(check_with(good, NULL, 0, &who), NOTE_UNKNOWN);
	assert_int_equal(check_with(good, &witness.verifier, 1, &who), NOTE_UNKNOWN);
	other.id ^= 1; /* the same name */
	assert_int_equal(check_with(good, &other, 1, &who), NOTE_UNKNOWN);
	other = signer.verifier;
	other.name[0] = 'E'; /* the same id */
	assert_int_equal(check_with(good, &other, 1, &who), NOTE_UNKNOWN);
}

/* One known key that does not hold spoils the note, even beside one that does. */
static void test_one_bad_of_two(void **state)
{
	struct note_verifier both[2] = {witness.verifier, signer.verifier};
	struct str text = str_of(good.at, str_find(good, '\xe2') - 1);
	struct str own = str_from_index(good, text.len + 1);
	struct buf out, other;
	size_t who;

	buf_init(&out, NOTE_SIZE_MAX);
	buf_init(&other, NOTE_SIZE_MAX);
	(void)note_sign(text, &witness, &out);
	(void)buf_append_str(&out, own);
	assert_int_equal(check_with(buf_str(&out), both, 2, &who), NOTE_GOOD);
	assert_int_equal(who, 0);
	(void)note_sign(STR("another text\n"), &witness, &other);
	buf_consume(&other, 14);
	buf_clear(&out);
	(void)buf_append_str(&out, good);
	(void)buf_append_str(&out, buf_str(&other));
	assert_int_equal(check_with(buf_str(&out), both, 2, &who), NOTE_BAD_SIGNATURE);
	assert_int_equal(check_with(buf_str(&out), both + 1, 1, &who), NOTE_GOOD);
	buf_fini(&other);
	buf_fini(&out);
}

static void check_key(const char *text)
{
	struct note_verifier verifier;

	if (note_verifier_read(str_from(text), &verifier))
		fail_msg("%s is taken", text);
}

static void test_what_is_no_key(void **state)
{
#define KEY64 "AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4"
	check_key("example.com/counterfoil/log1+54742007+" KEY64);
	check_key("example.com/counterfoil/log2+54742006+" KEY64);
	check_key("example.com/counterfoil/log1+54742006+AgOhB7/"
		  "zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4");
	check_key("example.com/counterfoil/log1+54742006+" KEY64 "\n");
	check_key("example.com/counterfoil/log1+54742006+");
	check_key("example.com/counterfoil/log1+54742006");
	check_key("example.com/counterfoil/log1+054742006+" KEY64);
	check_key("example.com/counterfoil/log1");
	check_key("+54742006+" KEY64);
	check_key("exam ple+54742006+" KEY64);
	check_key("");
	check_key("++");
}

static void test_names(void **state)
{
	struct note_signer other;
	uint8_t seed[NOTE_SEED_SIZE] = {1};
	char longest[NOTE_NAME_MAX + 1];

	memset(longest, 'a', sizeof(longest));
	assert_true(note_signer_init(&other, str_of(longest, NOTE_NAME_MAX), seed));
	assert_false(note_signer_init(&other, str_of(longest, NOTE_NAME_MAX + 1), seed));
	assert_false(note_signer_init(&other, STR("a b"), seed));
	assert_false(note_signer_init(&other, STR("a+b"), seed));
	assert_false(note_signer_init(&other, STR("a\nb"), seed));
	assert_false(note_signer_init(&other, STR("a\0b"), seed));
	assert_false(note_signer_init(&other, STR(""), seed));
}

/* What an epoch's key says at its end comes back, and is no checkpoint. */
static void test_certificates_and_seals(void **state)
{
	struct epoch_note said = {.epoch = 7, .seq = 1234, .root = {{1, 2}}, .first_seq = 1000};
	struct checkpoint checkpoint;
	struct epoch_note got;
	struct arena mem;
	struct buf out;
	size_t who;

	assert_true(note_signer_init(&witness, STR("example.com/counterfoil/log1"),
				     (const uint8_t *)"the next epoch's seed, 32 bytes."));
	said.next = witness.verifier;
	arena_init(&mem, 1 << 20);
	buf_init(&out, 1 << 16);
	assert_int_equal(epoch_certificate_write(&said, &signer, &out), 0);
	assert_true(
		epoch_certificate_read(buf_str(&out), str_from(signer.verifier.name), &mem, &got));
	assert_int_equal(got.epoch, 7);
	assert_int_equal(got.seq, 1234);
	assert_memory_equal(&got.root, &said.root, HASH_SIZE);
	assert_true(note_verifier_equal(&got.next, &witness.verifier));
	assert_int_equal(note_check(&got.note, &signer.verifier, 1, &who), NOTE_GOOD);
	assert_false(checkpoint_read(got.note.text, &checkpoint));
	assert_false(epoch_seal_read(buf_str(&out), str_from(signer.verifier.name), &mem, &got));
	assert_false(epoch_certificate_read(buf_str(&out), STR("another"), &mem, &got));
	buf_clear(&out);
	assert_int_equal(epoch_seal_write(&said, &signer, &out), 0);
	assert_true(epoch_seal_read(buf_str(&out), str_from(signer.verifier.name), &mem, &got));
	assert_int_equal(got.first_seq, 1000);
	assert_int_equal(note_check(&got.note, &signer.verifier, 1, &who), NOTE_GOOD);
	assert_false(epoch_seal_read(STR("{}"), str_from(signer.verifier.name), &mem, &got));
	assert_false(
		epoch_seal_read(STR("{\"seal\":1}"), str_from(signer.verifier.name), &mem, &got));
	buf_fini(&out);
	arena_fini(&mem);
}

static int begin(void **state)
{
	vectors = vectors_read(vectors_file);
	good = vectors_text(vectors, "/checkpoint");
	assert_true(note_signer_init(&signer, vectors_text(vectors, "/origin"),
				     (const uint8_t *)vectors_bytes(vectors, "/signing_seed").at));
	assert_true(note_signer_init(&witness, STR("witness.example"),
				     (const uint8_t *)"a witness has a seed of 32 bytes"));
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_vectors),
		cmocka_unit_test(test_no_bit_is_idle),
		cmocka_unit_test(test_texts_of_checkpoints),
		cmocka_unit_test(test_notes),
		cmocka_unit_test(test_others_may_sign_too),
		cmocka_unit_test(test_too_many_signatures),
		cmocka_unit_test(test_nobody_known),
		cmocka_unit_test(test_one_bad_of_two),
		cmocka_unit_test(test_what_is_no_key),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_certificates_and_seals),
	};

	vectors_file = argc == 2 ? argv[1] : "audit.json";
	return cmocka_run_group_tests(tests, begin, NULL);
}
