/* What tests of the audit log share: its vectors, hexadecimal bytes, a tree kept in memory. */
#ifndef TESTS_AUDIT_VECTORS_H
#define TESTS_AUDIT_VECTORS_H

#include "audit/tree.h"
#include "json/json.h"

/* Read a JSON file into memory that is kept until the program ends; the test fails without it. */
struct json_value *vectors_read(const char *file_name);

/* A string by its pointer; the test fails when it is not there. */
struct str vectors_text(const struct json_value *value, const char *pointer);

/* Its bytes, where it is hexadecimal, in memory that is kept. */
struct str vectors_bytes(const struct json_value *value, const char *pointer);

uint64_t vectors_number(const struct json_value *value, const char *pointer);

/* A tree that forgets nothing: every node that is whole. */
enum { KEPT_MAX = 600, KEPT_LEVELS = 10 };
struct kept_tree {
	struct tree_frontier frontier;
	struct hash nodes[KEPT_LEVELS][KEPT_MAX];
	struct hash roots[KEPT_MAX + 1]; /* by size */
};
void kept_init(struct kept_tree *tree);
void kept_append(struct kept_tree *tree, const struct hash *leaf);
/* A table over it; `tree` must stay. */
struct tree_nodes kept_nodes(struct kept_tree *tree);

#endif
