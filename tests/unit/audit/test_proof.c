/* A file of proof says of one entry that it is in the log, and of no other. */
#include "vectors.h"

#include "audit/proof.h"
#include "base/err.h"
#undef fail /* cmocka has one too */

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define ROOT "OklccKvVp693HLBVPscAyp5SAL8yuCPVlZFZwUtX4KM="
#define HEAD "c2sp.org/tlog-proof@v1\n"

static struct kept_tree tree;
static struct note_signer signer;
static struct buf file, checkpoint;
static struct arena mem;

/* The proof of leaf 5 of 11, as a file. */
static void write_file(struct str extra)
{
	struct tree_nodes nodes = kept_nodes(&tree);
	struct proof proof = {.extra = extra, .index = 5};

	buf_clear(&file);
	buf_clear(&checkpoint);
	assert_int_equal(tree_prove_inclusion(&nodes, 5, 11, &proof.path), 0);
	assert_int_equal(checkpoint_sign(11, &tree.roots[11], &signer, &checkpoint), 0);
	proof.checkpoint = buf_str(&checkpoint);
	assert_int_equal(proof_write(&proof, &file), 0);
}

static int begin(void **state)
{
	write_file(str_of(NULL, 0));
	return 0;
}

static int end(void **state)
{
	buf_fini(&file);
	buf_fini(&checkpoint);
	arena_fini(&mem);
	return 0;
}

static void test_a_proof(void **state)
{
	struct proof proof;

	assert_true(proof_read(buf_str(&file), &mem, &proof));
	assert_int_equal(proof.index, 5);
	assert_null(proof.extra.at);
	assert_int_equal(proof_check(&proof, &tree.nodes[0][5], &signer.verifier), PROOF_HOLDS);
	assert_int_equal(proof_check(&proof, &tree.nodes[0][4], &signer.verifier), PROOF_FALSE);
	proof.index = 4;
	assert_int_equal(proof_check(&proof, &tree.nodes[0][5], &signer.verifier), PROOF_FALSE);
}

static void test_no_bit_is_idle(void **state)
{
	struct proof proof;

	for (size_t bit = 0; bit < 8 * file.len; bit++) {
		file.at[bit / 8] ^= (char)(1 << bit % 8);
		if (proof_read(buf_str(&file), &mem, &proof) &&
		    proof_check(&proof, &tree.nodes[0][5], &signer.verifier) == PROOF_HOLDS)
			fail_msg("bit %zu of byte %zu", bit % 8, bit / 8);
		file.at[bit / 8] ^= (char)(1 << bit % 8);
	}
}

static void test_extra(void **state)
{
	static char longest[PROOF_EXTRA_MAX + 1];
	struct proof proof;

	write_file(STR("more\0"));
	assert_true(proof_read(buf_str(&file), &mem, &proof));
	assert_true(str_equal(proof.extra, STR("more\0")));
	write_file(STR(""));
	assert_true(proof_read(buf_str(&file), &mem, &proof));
	assert_true(proof.extra.at && proof.extra.len == 0);
	write_file(str_of(longest, PROOF_EXTRA_MAX));
	assert_true(proof_read(buf_str(&file), &mem, &proof));
	assert_int_equal(proof.extra.len, PROOF_EXTRA_MAX);
	proof.extra.at = longest;
	proof.extra.len++;
	assert_int_equal(proof_write(&proof, &file), FAIL_LIMIT);
}

static void test_other_verdicts(void **state)
{
	struct note_signer other;
	struct proof proof;

	assert_true(proof_read(buf_str(&file), &mem, &proof));
	assert_true(note_signer_init(&other, STR("example.com/log"),
				     (const uint8_t *)"another seed of thirty-two bytes"));
	assert_int_equal(proof_check(&proof, &tree.nodes[0][5], &other.verifier), PROOF_UNKNOWN);
	assert_true(note_signer_init(&other, STR("example.com/other"),
				     (const uint8_t *)"another seed of thirty-two bytes"));
	assert_int_equal(proof_check(&proof, &tree.nodes[0][5], &other.verifier), PROOF_UNKNOWN);
	proof.checkpoint.len--;
	assert_int_equal(proof_check(&proof, &tree.nodes[0][5], &signer.verifier), PROOF_MALFORMED);
	proof.checkpoint.len++;
	checkpoint.at[checkpoint.len - 10] ^= 1;
	proof.checkpoint = buf_str(&checkpoint);
	assert_int_equal(proof_check(&proof, &tree.nodes[0][5], &signer.verifier),
			 PROOF_BAD_SIGNATURE);
}

static void check_file(const char *text, bool is_one)
{
	struct proof proof;

	if (proof_read(str_from(text), &mem, &proof) != is_one)
		fail_msg("%s: %s", text, is_one ? "refused" : "taken");
}

static void test_what_is_no_proof(void **state)
{
	check_file(HEAD "index 0\n\nx", true);
	check_file(HEAD "index 0\n" ROOT "\n" ROOT "\n\nx", true);
	check_file(HEAD "extra bW9yZQ==\nindex 0\n\nx", true);
	check_file(HEAD "index 0\n\n", false);
	check_file(HEAD "index 0\n", false);
	check_file(HEAD "index 0\n" ROOT "\n", false);
	check_file(HEAD "index 00\n\nx", false);
	check_file(HEAD "index -1\n\nx", false);
	check_file(HEAD "index  1\n\nx", false);
	check_file(HEAD "index\n\nx", false);
	check_file(HEAD "Index 0\n\nx", false);
	check_file(HEAD "index 9223372036854775808\n\nx", false);
	check_file(HEAD "index 0\nextra bW9yZQ==\n\nx", false);
	check_file(HEAD "extra bW9yZQ=\nindex 0\n\nx", false);
	check_file(HEAD "extra bW9yZR==\nindex 0\n\nx", false);
	check_file(HEAD "extra bW9yZQ==\nextra bW9yZQ==\nindex 0\n\nx", false);
	check_file(HEAD "index 0\n" ROOT " \n\nx", false);
	check_file(HEAD "index 0\nAAAA\n\nx", false);
	check_file("c2sp.org/tlog-proof@v2\nindex 0\n\nx", false);
	check_file(HEAD, false);
	check_file("", false);
}

int main(void)
{
#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, begin, end)
	const struct CMUnitTest tests[] = {
		WITH_FILE(test_a_proof),
		WITH_FILE(test_no_bit_is_idle),
		WITH_FILE(test_extra),
		WITH_FILE(test_other_verdicts),
		WITH_FILE(test_what_is_no_proof),
	};

	kept_init(&tree);
	for (unsigned i = 0; i < 11; i++) {
		struct hash leaf;

		hash_bytes(&i, sizeof(i), &leaf);
		kept_append(&tree, &leaf);
	}
	if (!note_signer_init(&signer, STR("example.com/log"),
			      (const uint8_t *)"a seed that is thirty-two bytes."))
		return 1;
	buf_init(&file, PROOF_SIZE_MAX);
	buf_init(&checkpoint, NOTE_SIZE_MAX);
	arena_init(&mem, 1 << 24);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
