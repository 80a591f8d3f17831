/*
 * The parts of an import, for each other's use: documents (references, schemas as one view),
 * patterns, and the writing of fields.
 */
#ifndef CONFIG_IMPORT_PARTS_H
#define CONFIG_IMPORT_PARTS_H

#include "base/buf.h"
#include "config/yaml.h"

enum {
	IMPORT_PARTS_MAX = 32,	  /* schemas that allOf merges into one */
	IMPORT_REFS_MAX = 16,	  /* references from one to the next */
	IMPORT_VISITS_MAX = 4096, /* schemas that are looked at for one action */
	IMPORT_TEXT_MAX = 200,	  /* bytes of a description that are kept */
};

/* How much of a schema is written: less is tried when more does not pass the check. */
enum import_detail {
	IMPORT_ALL,	/* types and rules */
	IMPORT_TYPES,	/* no defaults, enums, patterns and bounds */
	IMPORT_NO_BODY, /* any body */
	IMPORT_DETAILS,
};

/* One schema: itself, and what allOf merges into it. */
struct schema_view {
	const struct node *parts[IMPORT_PARTS_MAX];
	size_t count;
	bool is_cyclic;	  /* it lies inside itself */
	bool is_foreign;  /* a reference leads out of the document, or nowhere */
	bool is_cut;	  /* more parts than there is room for */
	bool is_one_of;	  /* oneOf or anyOf with several members */
	bool is_nullable; /* null is one of its values */
};

/* The schemas from the outermost to this one, so that cycles are seen. */
struct schema_path {
	const struct node *node;
	const struct schema_path *outer;
};

struct import {
	const struct node *root;
	struct buf *out; /* of the action that is being written */
	enum import_detail detail;
	size_t visits;
};

/*
 * What a node with $ref stands for, through as many as IMPORT_REFS_MAX; NULL: it leads nowhere.
 * A node without one is itself.
 */
const struct node *import_resolve(const struct import *import, const struct node *node);

/* The scalar or container under a key of a mapping, resolved; NULL: none. */
const struct node *import_get(const struct import *import, const struct node *map, const char *key);

/* A schema with its references and allOf resolved. `path` is what it lies in. */
void import_view(struct import *import, const struct node *schema, const struct schema_path *path,
		 struct schema_view *out_view);

/* The first of the parts that has the key: its value; NULL: none. */
const struct node *view_get(const struct import *import, const struct schema_view *view,
			    const char *key);

/* Is it one of the schema's required members? */
bool view_requires(const struct schema_view *view, struct str name);

/* "string", "object", … ; "" when the schema does not say. */
struct str view_type(const struct import *import, const struct schema_view *view);

/*
 * ECMA-262 as POSIX extended: append to `out`. False: POSIX cannot say it, or it is not worth
 * trying; `out` may then hold a part.
 */
bool import_pattern(struct str pattern, struct buf *out);

/* Write `fields:` of an object's schema, `indent` columns in. False: it declares none. */
bool import_fields(struct import *import, const struct schema_view *view, int indent, int level,
		   const struct schema_path *path);

/* Append text as one quoted scalar, on one line, without what YAML does not print. */
void import_quoted(struct buf *out, struct str text, size_t max);

/* The same for a comment: without quotes. */
void import_plain(struct buf *out, struct str text, size_t max);

bool node_is(const struct node *node, const char *word);

#endif
