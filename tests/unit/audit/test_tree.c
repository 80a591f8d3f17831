/*
 * The tree has the roots of RFC 6962, and its proofs hold for what they prove and nothing else.
 * The argument is tests/vectors/audit.json.
 */
#include "vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { SIZES = 301 };

static const char *vectors_file;
static struct kept_tree tree;

static void assert_hash(const struct hash *got, struct str want)
{
	assert_int_equal(want.len, HASH_SIZE);
	assert_memory_equal(got->bytes, want.at, HASH_SIZE);
}

/* The published leaves give the published roots, at every size. */
static void test_roots_of_the_vectors(void **state)
{
	struct json_value *vectors = vectors_read(vectors_file);
	struct tree_frontier frontier;
	struct hash hash;
	char pointer[64];

	tree_frontier_init(&frontier);
	for (size_t size = 0; size <= 8; size++) {
		snprintf(pointer, sizeof(pointer), "/rfc6962/roots_by_size/%zu", size);
		tree_root(&frontier, &hash);
		assert_hash(&hash, vectors_bytes(vectors, pointer));
		if (size == 8)
			break;
		snprintf(pointer, sizeof(pointer), "/rfc6962/leaves/%zu", size);
		tree_hash_leaf(vectors_bytes(vectors, pointer), &hash);
		assert_int_equal(tree_append(&frontier, &hash, NULL), 0);
	}
}

/* The definition itself: split at the largest power of two, recursively. */
static struct hash defined_root(const struct hash *leaves, size_t count)
{
	struct hash left, right, root;
	size_t split = 1;

	if (count == 1)
		return leaves[0];
	while (2 * split < count)
		split *= 2;
	left = defined_root(leaves, split);
	right = defined_root(leaves + split, count - split);
	tree_hash_node(&left, &right, &root);
	return root;
}

static void test_roots_are_as_defined(void **state)
{
	struct tree_nodes nodes = kept_nodes(&tree);

	for (size_t size = 1; size < SIZES; size++) {
		struct hash want = defined_root(tree.nodes[0], size), got;

		assert_memory_equal(&tree.roots[size], &want, HASH_SIZE);
		assert_int_equal(tree_root_at(&nodes, size, &got), 0);
		assert_memory_equal(&got, &want, HASH_SIZE);
	}
}

/* One bit of one hash of a proof. */
static void flip(struct hash *hash, size_t seed)
{
	hash->bytes[seed % HASH_SIZE] ^= (uint8_t)(1 << seed % 8);
}

static void check_inclusion(uint64_t index, uint64_t size)
{
	struct tree_nodes nodes = kept_nodes(&tree);
	struct hash leaf = tree.nodes[0][index], root = tree.roots[size], other = leaf;
	struct tree_proof proof;

	assert_int_equal(tree_prove_inclusion(&nodes, index, size, &proof), 0);
	assert_true(tree_inclusion_holds(&proof, index, size, &leaf, &root));
	flip(&other, (size_t)(index + size));
	assert_false(tree_inclusion_holds(&proof, index, size, &other, &root));
	other = root;
	flip(&other, (size_t)(index * size));
	assert_false(tree_inclusion_holds(&proof, index, size, &leaf, &other));
	for (size_t i = 0; i < proof.count; i++) {
		flip(&proof.hashes[i], (size_t)(index + 31 * size + i));
		assert_false(tree_inclusion_holds(&proof, index, size, &leaf, &root));
		flip(&proof.hashes[i], (size_t)(index + 31 * size + i));
	}
	assert_false(tree_inclusion_holds(&proof, index + 1, size, &leaf, &root));
	assert_false(tree_inclusion_holds(&proof, index, index, &leaf, &root));
	proof.hashes[proof.count++] = root;
	assert_false(tree_inclusion_holds(&proof, index, size, &leaf, &root));
	proof.count -= proof.count > 1 ? 2 : 1;
	assert_true(size == 1 || !tree_inclusion_holds(&proof, index, size, &leaf, &root));
}

/* Of every leaf in every tree. */
static void test_inclusion(void **state)
{
	for (uint64_t size = 1; size < SIZES; size++) {
		for (uint64_t index = 0; index < size; index++)
			check_inclusion(index, size);
	}
}

static void check_consistency(uint64_t old_size, uint64_t size)
{
	struct tree_nodes nodes = kept_nodes(&tree);
	struct hash before = tree.roots[old_size], root = tree.roots[size], other = before;
	struct tree_proof proof;

	assert_int_equal(tree_prove_consistency(&nodes, old_size, size, &proof), 0);
	assert_true(tree_consistency_holds(&proof, old_size, size, &before, &root));
	flip(&other, (size_t)(old_size + size));
	assert_false(tree_consistency_holds(&proof, old_size, size, &other, &root));
	other = root;
	flip(&other, (size_t)(old_size + size));
	assert_false(tree_consistency_holds(&proof, old_size, size, &before, &other));
	for (size_t i = 0; i < proof.count; i++) {
		flip(&proof.hashes[i], (size_t)(old_size + 31 * size + i));
		assert_false(tree_consistency_holds(&proof, old_size, size, &before, &root));
		flip(&proof.hashes[i], (size_t)(old_size + 31 * size + i));
	}
	if (old_size < size)
		assert_false(tree_consistency_holds(&proof, size, old_size, &root, &before));
	proof.hashes[proof.count++] = root;
	assert_false(tree_consistency_holds(&proof, old_size, size, &before, &root));
}

/* Of every tree with every one that it grew from. */
static void test_consistency(void **state)
{
	for (uint64_t size = 1; size < SIZES; size++) {
		for (uint64_t old_size = 1; old_size <= size; old_size++)
			check_consistency(old_size, size);
	}
}

/* From nothing to something no proof is needed and none is taken. */
static void test_consistency_with_nothing(void **state)
{
	struct tree_proof proof = {.count = 0};

	assert_false(tree_consistency_holds(&proof, 0, 1, &tree.roots[0], &tree.roots[1]));
	assert_false(tree_consistency_holds(&proof, 0, 0, &tree.roots[0], &tree.roots[0]));
	assert_false(tree_inclusion_holds(&proof, 0, 0, &tree.roots[0], &tree.roots[0]));
	assert_false(tree_inclusion_holds(&proof, 0, UINT64_MAX, &tree.roots[0], &tree.roots[0]));
}

/* A frontier that was written and read goes on as the one that was not. */
static void test_frontier_is_kept(void **state)
{
	struct tree_frontier frontier, again;
	struct hash root, root_again;
	struct buf out;

	tree_frontier_init(&frontier);
	buf_init(&out, TREE_FRONTIER_SIZE_MAX);
	for (size_t size = 0; size < SIZES; size++) {
		buf_clear(&out);
		assert_int_equal(tree_frontier_write(&frontier, &out), 0);
		assert_int_equal(out.len, 8 + 32 * (size_t)__builtin_popcountll(size));
		assert_true(tree_frontier_read(buf_str(&out), &again));
		assert_int_equal(tree_append(&frontier, &tree.nodes[0][size], NULL), 0);
		assert_int_equal(tree_append(&again, &tree.nodes[0][size], NULL), 0);
		tree_root(&frontier, &root);
		tree_root(&again, &root_again);
		assert_memory_equal(&root, &root_again, HASH_SIZE);
		assert_memory_equal(&root, &tree.roots[size + 1], HASH_SIZE);
	}
	buf_fini(&out);
}

static void test_what_is_no_frontier(void **state)
{
	char bytes[8 + 2 * HASH_SIZE] = {0};
	struct tree_frontier frontier;

	bytes[7] = 3;
	assert_true(tree_frontier_read(str_of(bytes, sizeof(bytes)), &frontier));
	assert_false(tree_frontier_read(str_of(bytes, sizeof(bytes) - 1), &frontier));
	assert_false(tree_frontier_read(str_of(bytes, 7), &frontier));
	assert_false(tree_frontier_read(str_of(NULL, 0), &frontier));
	bytes[7] = 7;
	assert_false(tree_frontier_read(str_of(bytes, sizeof(bytes)), &frontier));
	bytes[7] = 1;
	bytes[0] = (char)0x80; /* over TREE_SIZE_MAX, with the right number of bits */
	assert_false(tree_frontier_read(str_of(bytes, sizeof(bytes)), &frontier));
}

static void test_the_largest_tree(void **state)
{
	struct tree_frontier frontier;
	struct hash leaf = {{0}};

	tree_frontier_init(&frontier);
	frontier.size = TREE_SIZE_MAX - 1;
	assert_int_equal(tree_append(&frontier, &leaf, NULL), 0);
	assert_true(tree_append(&frontier, &leaf, NULL) < 0);
	assert_true(frontier.size == TREE_SIZE_MAX);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_roots_of_the_vectors),
		cmocka_unit_test(test_roots_are_as_defined),
		cmocka_unit_test(test_inclusion),
		cmocka_unit_test(test_consistency),
		cmocka_unit_test(test_consistency_with_nothing),
		cmocka_unit_test(test_frontier_is_kept),
		cmocka_unit_test(test_what_is_no_frontier),
		cmocka_unit_test(test_the_largest_tree),
	};

	vectors_file = argc == 2 ? argv[1] : "audit.json";
	kept_init(&tree);
	for (unsigned i = 0; i < SIZES; i++) {
		struct hash leaf;

		hash_bytes(&i, sizeof(i), &leaf);
		kept_append(&tree, &leaf);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
