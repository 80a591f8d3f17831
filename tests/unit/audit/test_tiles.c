/*
 * Tiles have the names and widths of the standard, and hold what proofs need. The argument is
 * tests/vectors/audit.json.
 */
#include "vectors.h"

#include "audit/tiles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const char *vectors_file;
static struct kept_tree tree;

static void check_path(struct tile tile, const char *want)
{
	char path[TILE_PATH_MAX];
	struct tile again;

	tile_path(&tile, path);
	assert_string_equal(path, want);
	assert_true(tile_path_read(str_from(path), &again));
	assert_int_equal(again.is_entries, tile.is_entries);
	assert_int_equal(again.level, tile.level);
	assert_int_equal(again.index, tile.index);
	assert_int_equal(again.width, tile.width);
}

static void test_paths(void **state)
{
	check_path((struct tile){.width = 256}, "tile/0/000");
	check_path((struct tile){.width = 256, .index = 999}, "tile/0/999");
	check_path((struct tile){.width = 256, .index = 1000}, "tile/0/x001/000");
	check_path((struct tile){.width = 256, .index = 1234067}, "tile/0/x001/x234/067");
	check_path((struct tile){.width = 255, .level = 3, .index = 1234067},
		   "tile/3/x001/x234/067.p/255");
	check_path((struct tile){.width = 1, .is_entries = true}, "tile/entries/000.p/1");
	check_path((struct tile){.width = 256, .level = 63, .index = UINT64_MAX},
		   "tile/63/x018/x446/x744/x073/x709/x551/615");
	check_path((struct tile){.width = 112, .is_entries = true, .index = UINT64_MAX},
		   "tile/entries/x018/x446/x744/x073/x709/x551/615.p/112");
}

static void test_what_is_no_path(void **state)
{
	static const char *const texts[] = {
		"",
		"tile",
		"tile/",
		"tile/0",
		"tile/0/",
		"tile/0/00",
		"tile/0/0000",
		"tile/0/x000",
		"tile/0/x000/001",
		"tile/0/x001",
		"tile/0/x001/",
		"tile/0/001/002",
		"tile/0/x01/002",
		"tile/00/000",
		"tile/64/000",
		"tile/-1/000",
		"tile/entry/000",
		"tile/entries/000.p/0",
		"tile/entries/000.p/256",
		"tile/entries/000.p/01",
		"tile/entries/000.p/",
		"tile/entries/000.p",
		"tile/entries/000/",
		"tile/entries/000.p/1/",
		"/tile/0/000",
		"tiles/0/000",
		"tile/0/+00",
		"tile/0/x018/x446/x744/x073/x709/x551/616",
		"tile/0/x999/x999/x999/x999/x999/x999/999",
		"tile/0/../000",
	};
	struct tile tile;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (tile_path_read(str_from(texts[i]), &tile))
			fail_msg("%s is taken", texts[i]);
	}
}

/* The standard's own example: a tree of 70,000. */
static void test_widths(void **state)
{
	assert_int_equal(tile_width(0, 272, 70000), 256);
	assert_int_equal(tile_width(0, 273, 70000), 112);
	assert_int_equal(tile_width(0, 274, 70000), 0);
	assert_int_equal(tile_width(1, 0, 70000), 256);
	assert_int_equal(tile_width(1, 1, 70000), 17);
	assert_int_equal(tile_width(2, 0, 70000), 1);
	assert_int_equal(tile_width(3, 0, 70000), 0);
	assert_int_equal(tile_width(0, 0, 256), 256);
	assert_int_equal(tile_width(0, 1, 256), 0);
	assert_int_equal(tile_width(1, 0, 256), 1);
	assert_int_equal(tile_width(0, 0, 0), 0);
	assert_int_equal(tile_width(7, 0, TREE_SIZE_MAX), 127);
	assert_int_equal(tile_width(63, 0, TREE_SIZE_MAX), 0);
}

static int list_path(void *state, const struct tile *tile)
{
	struct buf *out = state;
	char path[TILE_PATH_MAX];

	tile_path(tile, path);
	return buf_printf(out, "%s ", path);
}

static void check_grown(uint64_t old_size, uint64_t size, const char *want)
{
	struct buf out;

	buf_init(&out, 1 << 12);
	(void)buf_append_str(&out, STR(""));
	assert_int_equal(tiles_grown(old_size, size, list_path, &out), 0);
	(void)buf_append_byte(&out, 0);
	assert_string_equal(out.at, want);
	buf_fini(&out);
}

static void test_what_is_to_be_written(void **state)
{
	check_grown(0, 0, "");
	check_grown(5, 5, "");
	check_grown(0, 5, "tile/entries/000.p/5 tile/0/000.p/5 ");
	check_grown(5, 256, "tile/entries/000 tile/0/000 tile/1/000.p/1 ");
	check_grown(256, 256, "");
	check_grown(256, 257, "tile/entries/001.p/1 tile/0/001.p/1 ");
	check_grown(255, 513,
		    "tile/entries/000 tile/entries/001 tile/entries/002.p/1 "
		    "tile/0/000 tile/0/001 tile/0/002.p/1 tile/1/000.p/2 ");
	check_grown(65535, 65536, "tile/entries/255 tile/0/255 tile/1/000 tile/2/000.p/1 ");
}

static int stop(void *state, const struct tile *tile)
{
	return 7;
}

static void test_writing_stops(void **state)
{
	assert_int_equal(tiles_grown(0, 5, stop, NULL), 7);
}

/* The bundle of the vectors' two entries is theirs, and comes apart again. */
static void test_bundles(void **state)
{
	struct json_value *vectors = vectors_read(vectors_file);
	struct str first = vectors_bytes(vectors, "/entries/0/bytes");
	struct str second = vectors_bytes(vectors, "/entries/1/bytes"), rest, entry;
	struct hash hash;
	struct buf out;

	buf_init(&out, TILE_BUNDLE_MAX);
	assert_int_equal(bundle_append(first, &out), 0);
	assert_int_equal(bundle_append(second, &out), 0);
	assert_int_equal(out.len, vectors_number(vectors, "/entries_tile_length"));
	hash_bytes(out.at, out.len, &hash);
	assert_memory_equal(&hash, vectors_bytes(vectors, "/entries_tile_sha256").at, HASH_SIZE);
	rest = buf_str(&out);
	assert_true(bundle_next(&rest, &entry) && str_equal(entry, first));
	assert_true(bundle_next(&rest, &entry) && str_equal(entry, second));
	assert_false(bundle_next(&rest, &entry));
	assert_int_equal(rest.len, 0);
	rest = str_of(out.at, first.len + 1);
	assert_false(bundle_next(&rest, &entry));
	assert_int_equal(rest.len, first.len + 1);
	rest = str_of(out.at, 1);
	assert_false(bundle_next(&rest, &entry));
	buf_fini(&out);
}

static int read_tile(void *state, const struct tile *tile, struct buf *out)
{
	size_t from = (size_t)tile->index * TILE_WIDTH;

	assert_true(tile->level < 2);
	++*(unsigned *)state;
	return buf_append(out, &tree.nodes[8 * tile->level][from], tile->width * (size_t)HASH_SIZE);
}

/* Every node, and so every proof, is in the tiles of its tree. */
static void test_nodes_from_tiles(void **state)
{
	static const uint64_t sizes[] = {1, 2, 200, 255, 256, 257, 512, 599};
	struct tile_nodes tiles;
	unsigned reads = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct tree_nodes nodes = {tile_nodes_read, &tiles};
		struct tree_proof proof;
		struct hash root;

		tile_nodes_init(&tiles, sizes[i], read_tile, &reads);
		assert_int_equal(tree_root_at(&nodes, sizes[i], &root), 0);
		assert_memory_equal(&root, &tree.roots[sizes[i]], HASH_SIZE);
		for (uint64_t index = 0; index < sizes[i]; index++) {
			assert_int_equal(tree_prove_inclusion(&nodes, index, sizes[i], &proof), 0);
			assert_true(tree_inclusion_holds(&proof, index, sizes[i],
							 &tree.nodes[0][index], &root));
		}
		tile_nodes_fini(&tiles);
	}
	assert_true(reads > 0);
}

static int read_short(void *state, const struct tile *tile, struct buf *out)
{
	return buf_append(out, tree.nodes[0], HASH_SIZE);
}

static int read_fails(void *state, const struct tile *tile, struct buf *out)
{
	return -3;
}

static void test_tiles_that_are_not_there(void **state)
{
	struct tile_nodes tiles;
	struct hash hash;

	tile_nodes_init(&tiles, 10, read_short, NULL);
	assert_int_equal(tile_nodes_read(&tiles, 0, 1, &hash), TILES_SHORT);
	assert_int_equal(tile_nodes_read(&tiles, 1, 0, &hash), TILES_SHORT);
	assert_int_equal(tile_nodes_read(&tiles, 8, 0, &hash), TILES_SHORT);
	assert_int_equal(tile_nodes_read(&tiles, 0, 0, &hash), 0);
	tile_nodes_fini(&tiles);
	tile_nodes_init(&tiles, 10, read_fails, NULL);
	assert_int_equal(tile_nodes_read(&tiles, 0, 0, &hash), -3);
	tile_nodes_fini(&tiles);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_what_is_no_path),
		cmocka_unit_test(test_widths),
		cmocka_unit_test(test_what_is_to_be_written),
		cmocka_unit_test(test_writing_stops),
		cmocka_unit_test(test_bundles),
		cmocka_unit_test(test_nodes_from_tiles),
		cmocka_unit_test(test_tiles_that_are_not_there),
	};

	vectors_file = argc == 2 ? argv[1] : "audit.json";
	kept_init(&tree);
	for (unsigned i = 0; i < KEPT_MAX - 1; i++) {
		struct hash leaf;

		hash_bytes(&i, sizeof(i), &leaf);
		kept_append(&tree, &leaf);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
