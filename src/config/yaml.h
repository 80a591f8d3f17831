/*
 * A YAML file as a tree that knows where everything stands.
 *
 * Only what a configuration needs: one document of mappings, lists and scalars. What would
 * let one line mean something that stands elsewhere (anchors, aliases, merge keys, tags,
 * a second document) is refused, each where it stands.
 */
#ifndef CONFIG_YAML_H
#define CONFIG_YAML_H

#include "base/arena.h"
#include "base/str.h"
#include "config/report.h"

#include <stdbool.h>

enum node_kind { NODE_SCALAR, NODE_LIST, NODE_MAP };

/*
 * A mapping's children are its keys (scalars), each with its `value`; a list's children
 * are its items.
 */
struct node {
	enum node_kind kind;
	struct place place;
	struct str text; /* of a scalar */
	bool is_plain;	 /* a scalar without quotes */
	bool is_refused; /* it has been reported: look no further at it */
	size_t count;	 /* children */
	struct node *first, *last;
	struct node *next;  /* sibling */
	struct node *value; /* of a key */
};

/*
 * Read `text`; `name` is the source of every place and is borrowed. Strings and nodes live
 * in `mem`.
 *   0               *out_root is the document; an empty mapping when there is none
 *   SETTINGS_WRONG  it is no tree: reported. (With 0 something may have been reported, too.)
 *   FAIL_MEMORY
 */
int yaml_read(struct str text, const char *name, struct arena *mem, struct settings_report *report,
	      struct node **out_root);

enum { YAML_FOREIGN_DEPTH_MAX = 128, YAML_FOREIGN_NODES_MAX = 1000000 };

/*
 * The same for a document that is not ours: anchors and aliases are taken, tags are ignored,
 * merge keys are keys. A node may then hang below several others, so a walk down the tree
 * needs a bound of its own. Bounds: YAML_FOREIGN_DEPTH_MAX as written, YAML_FOREIGN_NODES_MAX.
 */
int yaml_read_foreign(struct str text, const char *name, struct arena *mem,
		      struct settings_report *report, struct node **out_root);

/* A new node without children; NULL without memory. */
struct node *node_new(struct arena *mem, enum node_kind kind, struct place place, struct str text);

/* Hang `child` onto a list, or as a key onto a mapping. */
void node_add(struct node *parent, struct node *child);

/* The first key of that name in a mapping; NULL when there is none, or `map` is no mapping. */
struct node *node_key(const struct node *map, struct str name);

/* The value under a path ("tls.key"), or NULL. */
struct node *node_at(const struct node *map, const char *path);

#endif
