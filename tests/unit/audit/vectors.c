/* Reading vectors for tests, and a tree that keeps all of its nodes. */
#include "vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { FILE_MAX = 1 << 20, MEMORY_MAX = 16 << 20 };

static struct arena mem;

static void forget(void)
{
	arena_fini(&mem);
}

static void *keep(size_t size)
{
	void *bytes;

	if (!mem.ceiling) {
		arena_init(&mem, MEMORY_MAX);
		(void)atexit(forget);
	}
	bytes = arena_alloc(&mem, size);
	assert_non_null(bytes);
	return bytes;
}

struct json_value *vectors_read(const char *file_name)
{
	FILE *file = fopen(file_name, "rb");
	struct json_error error;
	struct json_value *whole;
	long len;
	char *text;

	if (!file)
		fail_msg("%s cannot be read", file_name);
	(void)fseek(file, 0, SEEK_END);
	len = ftell(file);
	assert_in_range(len, 0, FILE_MAX);
	rewind(file);
	text = keep((size_t)len + 1);
	assert_int_equal(fread(text, 1, (size_t)len, file), len);
	(void)fclose(file);
	if (json_read(str_of(text, (size_t)len), &json_limits_default, &mem, &whole, &error) != 0)
		fail_msg("%s:%zu:%zu: %s", file_name, error.line, error.column, error.detail);
	return whole;
}

static const struct json_value *find(const struct json_value *value, const char *pointer,
				     enum json_type type)
{
	const struct json_value *found = json_at(value, str_from(pointer));

	if (!found || found->type != type)
		fail_msg("%s is not there", pointer);
	return found;
}

struct str vectors_text(const struct json_value *value, const char *pointer)
{
	return find(value, pointer, JSON_STRING)->string;
}

struct str vectors_bytes(const struct json_value *value, const char *pointer)
{
	struct str text = vectors_text(value, pointer);
	char *bytes = keep(text.len / 2 + 1);

	for (size_t i = 0; i < text.len / 2; i++)
		bytes[i] = (char)(hex_digit(text.at[2 * i]) << 4 | hex_digit(text.at[2 * i + 1]));
	return str_of(bytes, text.len / 2);
}

uint64_t vectors_number(const struct json_value *value, const char *pointer)
{
	int64_t number;

	assert_true(json_number_to_i64(&find(value, pointer, JSON_NUMBER)->number, &number));
	return (uint64_t)number;
}

void kept_init(struct kept_tree *tree)
{
	memset(tree, 0, sizeof(*tree));
	tree_frontier_init(&tree->frontier);
	tree_root(&tree->frontier, &tree->roots[0]);
}

void kept_append(struct kept_tree *tree, const struct hash *leaf)
{
	struct tree_growth growth;

	assert_true(tree->frontier.size < KEPT_MAX);
	assert_int_equal(tree_append(&tree->frontier, leaf, &growth), 0);
	for (size_t level = 0; level < growth.count; level++)
		tree->nodes[level][growth.leaf >> level] = growth.nodes[level];
	tree_root(&tree->frontier, &tree->roots[tree->frontier.size]);
}

static int read_kept(void *state, unsigned level, uint64_t index, struct hash *out_hash)
{
	struct kept_tree *tree = state;

	assert_true(level < KEPT_LEVELS && (index + 1) << level <= tree->frontier.size);
	*out_hash = tree->nodes[level][index];
	return 0;
}

struct tree_nodes kept_nodes(struct kept_tree *tree)
{
	return (struct tree_nodes){read_kept, tree};
}
