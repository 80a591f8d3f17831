/*
 * From libyaml's events to a tree.
 *
 * libyaml's own documents resolve aliases silently, so we listen to its events and build
 * the tree ourselves, with a stack of what is open instead of recursion. Bounds: the size
 * of the text (our caller's), SETTINGS_DEPTH_MAX, SETTINGS_NODES_MAX.
 *
 * Two kinds of refusal: what leaves the shape of the tree intact (an anchor, a tag, an
 * alias, a merge key) is reported and reading goes on; what does not (a syntax error, a
 * mapping as a key, a second document, a bound) ends it.
 */
#include "config/yaml.h"

#include "base/err.h"

#include <yaml.h>

enum { DEPTH_MAX = YAML_FOREIGN_DEPTH_MAX, ANCHORS_MAX = 1024 };

/* What a document takes. */
struct rules {
	size_t depth, nodes;
	const char *mend_depth, *mend_nodes;
	bool is_foreign; /* anchors, aliases and tags are taken */
};

static const struct rules rules_of_settings = {
	.depth = SETTINGS_DEPTH_MAX,
	.nodes = SETTINGS_NODES_MAX,
	.mend_depth = "no setting lies deeper than a few levels",
	.mend_nodes = "a configuration has 65536 at most",
};

static const struct rules rules_of_foreign = {
	.depth = YAML_FOREIGN_DEPTH_MAX,
	.nodes = YAML_FOREIGN_NODES_MAX,
	.mend_depth = "a document has 128 levels at most",
	.mend_nodes = "a document has a million at most",
	.is_foreign = true,
};

struct anchor {
	struct str name;
	const struct node *node;
};

struct builder {
	const struct rules *rules;
	const char *name;
	struct str text;
	struct arena *mem;
	struct settings_report *report;
	struct node *root;
	struct node *open[DEPTH_MAX]; /* containers, outermost first */
	struct node *key[DEPTH_MAX];  /* of a mapping: the key that waits for a value */
	size_t depth;
	size_t nodes;
	struct anchor *anchors; /* room for ANCHORS_MAX, taken with the first */
	size_t anchor_count;
	bool is_done; /* the stream has ended */
};

static int next_event(struct builder *builder, yaml_parser_t *parser);
static int take_event(struct builder *builder, const yaml_event_t *event);

static int read_under(const struct rules *rules, struct str text, const char *name,
		      struct arena *mem, struct settings_report *report, struct node **out_root)
{
	struct builder builder = {
		.rules = rules, .name = name, .text = text, .mem = mem, .report = report};
	yaml_parser_t parser;
	int r = 0;

	if (!yaml_parser_initialize(&parser))
		return fail(FAIL_MEMORY);
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)(text.len ? text.at : ""),
				     text.len);
	while (r == 0 && !builder.is_done)
		r = next_event(&builder, &parser);
	yaml_parser_delete(&parser);
	if (r != 0)
		return r;
	if (!builder.root)
		builder.root = node_new(mem, NODE_MAP, (struct place){name, 1, 1}, STR(""));
	if (!builder.root)
		return fail(FAIL_MEMORY);
	*out_root = builder.root;
	return 0;
}

int yaml_read(struct str text, const char *name, struct arena *mem, struct settings_report *report,
	      struct node **out_root)
{
	return read_under(&rules_of_settings, text, name, mem, report, out_root);
}

int yaml_read_foreign(struct str text, const char *name, struct arena *mem,
		      struct settings_report *report, struct node **out_root)
{
	return read_under(&rules_of_foreign, text, name, mem, report, out_root);
}

static struct place place_of(const struct builder *builder, yaml_mark_t mark)
{
	return (struct place){builder->name, mark.line + 1, mark.column + 1};
}

/* libyaml tells a byte that is no text by its offset alone. */
static struct place place_of_offset(const struct builder *builder, size_t offset)
{
	struct place place = {builder->name, 1, 1};

	for (size_t i = 0; i < offset && i < builder->text.len; i++) {
		unsigned char c = (unsigned char)builder->text.at[i];

		if (c == '\n') {
			place.line++;
			place.column = 1;
		} else if ((c & 0xc0) != 0x80) {
			place.column++;
		}
	}
	return place;
}

static bool stands_at_tab(const struct builder *builder, yaml_mark_t mark)
{
	return mark.index < builder->text.len && builder->text.at[mark.index] == '\t';
}

static int syntax_error(struct builder *builder, const yaml_parser_t *parser)
{
	const char *problem = parser->problem ? parser->problem : "it cannot be read";
	const char *mend = "mend it here or just above; often it is indentation or a missing quote";

	if (parser->error == YAML_MEMORY_ERROR)
		return fail(FAIL_MEMORY);
	if (parser->error == YAML_READER_ERROR) {
		report_add(builder->report, place_of_offset(builder, parser->problem_offset),
			   "save the file as UTF-8 text", "this is not text: %s", problem);
		return SETTINGS_WRONG;
	}
	if (stands_at_tab(builder, parser->problem_mark))
		mend = "indent with spaces, not tabs";
	report_add(builder->report, place_of(builder, parser->problem_mark), mend,
		   "this is not YAML: %s", problem);
	return SETTINGS_WRONG;
}

static int next_event(struct builder *builder, yaml_parser_t *parser)
{
	yaml_event_t event;
	int r;

	if (!yaml_parser_parse(parser, &event))
		return syntax_error(builder, parser);
	r = take_event(builder, &event);
	yaml_event_delete(&event);
	return r;
}

static int refuse(struct builder *builder, struct place place, const char *what, const char *mend)
{
	report_add(builder->report, place, mend, "%s", what);
	return SETTINGS_WRONG;
}

/* What would give a line a meaning from elsewhere. The tree stays a tree. */
static void refuse_decoration(struct builder *builder, struct place place, const void *anchor,
			      const void *tag)
{
	if (builder->rules->is_foreign)
		return;
	if (anchor)
		refuse(builder, place, "anchors (&name) are not taken here",
		       "remove it and write the value where it is needed");
	if (tag)
		refuse(builder, place, "tags (!name) are not taken here",
		       "remove it; each setting knows its own type");
}

static bool awaits_key(const struct builder *builder)
{
	return builder->depth > 0 && builder->open[builder->depth - 1]->kind == NODE_MAP &&
	       !builder->key[builder->depth - 1];
}

static int hang_key(struct builder *builder, struct node *node)
{
	if (node->kind != NODE_SCALAR)
		return refuse(builder, node->place, "a mapping or list stands where a key belongs",
			      "write `key: value`, with a single word as the key");
	if (!builder->rules->is_foreign && node->is_plain && str_equal(node->text, STR("<<"))) {
		refuse(builder, node->place, "merge keys (<<) are not taken here",
		       "write the settings out where they belong");
		node->is_refused = true;
	}
	node_add(builder->open[builder->depth - 1], node);
	builder->key[builder->depth - 1] = node;
	return 0;
}

static int hang(struct builder *builder, struct node *node)
{
	struct node *parent;

	if (!node)
		return fail(FAIL_MEMORY);
	if (++builder->nodes > builder->rules->nodes)
		return refuse(builder, node->place, "the file holds too many keys and values",
			      builder->rules->mend_nodes);
	if (builder->depth == 0) {
		builder->root = node;
		return 0;
	}
	if (awaits_key(builder))
		return hang_key(builder, node);
	parent = builder->open[builder->depth - 1];
	if (parent->kind == NODE_LIST) {
		node_add(parent, node);
		return 0;
	}
	builder->key[builder->depth - 1]->value = node;
	builder->key[builder->depth - 1] = NULL;
	return 0;
}

/* Remember what a name stands for; a later one of that name wins. */
static int keep_anchor(struct builder *builder, const yaml_char_t *name, const struct node *node)
{
	struct str copy;

	if (!name || !node || !builder->rules->is_foreign)
		return 0;
	if (!builder->anchors)
		builder->anchors = arena_alloc(builder->mem, ANCHORS_MAX * sizeof(struct anchor));
	copy = arena_str(builder->mem, str_from((const char *)name));
	if (!builder->anchors || !copy.at)
		return fail(FAIL_MEMORY);
	if (builder->anchor_count == ANCHORS_MAX)
		return refuse(builder, node->place, "there are too many anchors (&name)",
			      "a document has 1024 at most");
	builder->anchors[builder->anchor_count++] = (struct anchor){copy, node};
	return 0;
}

static bool is_open(const struct builder *builder, const struct node *node)
{
	for (size_t i = 0; i < builder->depth; i++) {
		if (builder->open[i] == node)
			return true;
	}
	return false;
}

/*
 * What an alias stands for, with the same children. One that is still open would be inside
 * itself: that is none.
 */
static int hang_copy(struct builder *builder, struct place place, struct str name)
{
	const struct node *found = NULL;
	struct node *copy;

	for (size_t i = builder->anchor_count; !found && i > 0; i--) {
		if (str_equal(builder->anchors[i - 1].name, name))
			found = builder->anchors[i - 1].node;
	}
	if (!found || is_open(builder, found))
		return refuse(builder, place, "an alias (*name) stands for nothing",
			      "put its anchor (&name) before it, and not around it");
	copy = node_new(builder->mem, found->kind, place, found->text);
	if (!copy)
		return fail(FAIL_MEMORY);
	copy->is_plain = found->is_plain;
	copy->first = found->first;
	copy->last = found->last;
	copy->count = found->count;
	return hang(builder, copy);
}

static int take_scalar(struct builder *builder, const yaml_event_t *event)
{
	struct place place = place_of(builder, event->start_mark);
	struct str text = arena_str(builder->mem, str_of((const char *)event->data.scalar.value,
							 event->data.scalar.length));
	struct node *node;
	int r;

	refuse_decoration(builder, place, event->data.scalar.anchor, event->data.scalar.tag);
	node = text.at ? node_new(builder->mem, NODE_SCALAR, place, text) : NULL;
	if (node)
		node->is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	r = hang(builder, node);
	return r == 0 ? keep_anchor(builder, event->data.scalar.anchor, node) : r;
}

/* The place of an alias stays in the tree, so that nobody misses its key's value. */
static int take_alias(struct builder *builder, const yaml_event_t *event)
{
	struct place place = place_of(builder, event->start_mark);
	struct node *node;

	if (builder->rules->is_foreign)
		return hang_copy(builder, place, str_from((const char *)event->data.alias.anchor));
	node = node_new(builder->mem, NODE_SCALAR, place, STR(""));
	refuse(builder, place, "aliases (*name) are not taken here",
	       "write the value out where it is needed");
	if (node)
		node->is_refused = true;
	return hang(builder, node);
}

static int take_container(struct builder *builder, enum node_kind kind, const yaml_event_t *event)
{
	struct place place = place_of(builder, event->start_mark);
	const yaml_char_t *anchor = kind == NODE_LIST ? event->data.sequence_start.anchor
						      : event->data.mapping_start.anchor;
	struct node *node = node_new(builder->mem, kind, place, STR(""));
	int r = hang(builder, node);

	if (r == 0)
		r = keep_anchor(builder, anchor, node);
	if (r != 0)
		return r;
	if (builder->depth == builder->rules->depth)
		return refuse(builder, place, "this is nested too deeply",
			      builder->rules->mend_depth);
	builder->key[builder->depth] = NULL;
	builder->open[builder->depth++] = node;
	return 0;
}

static int take_document(struct builder *builder, const yaml_event_t *event)
{
	if (!builder->root)
		return 0;
	return refuse(
		builder, place_of(builder, event->start_mark), "a second document starts here",
		"keep one document in a file: remove this `---` and what follows, or merge it");
}

static int take_event(struct builder *builder, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		return take_document(builder, event);
	case YAML_SCALAR_EVENT:
		return take_scalar(builder, event);
	case YAML_ALIAS_EVENT:
		return take_alias(builder, event);
	case YAML_SEQUENCE_START_EVENT:
		refuse_decoration(builder, place_of(builder, event->start_mark),
				  event->data.sequence_start.anchor,
				  event->data.sequence_start.tag);
		return take_container(builder, NODE_LIST, event);
	case YAML_MAPPING_START_EVENT:
		refuse_decoration(builder, place_of(builder, event->start_mark),
				  event->data.mapping_start.anchor, event->data.mapping_start.tag);
		return take_container(builder, NODE_MAP, event);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		builder->depth--;
		return 0;
	case YAML_STREAM_END_EVENT:
		builder->is_done = true;
		return 0;
	default:
		return 0;
	}
}

struct node *node_new(struct arena *mem, enum node_kind kind, struct place place, struct str text)
{
	struct node *node = arena_zalloc(mem, sizeof(*node));

	if (!node)
		return NULL;
	node->kind = kind;
	node->place = place;
	node->text = text;
	return node;
}

void node_add(struct node *parent, struct node *child)
{
	if (parent->last)
		parent->last->next = child;
	else
		parent->first = child;
	parent->last = child;
	parent->count++;
}

struct node *node_key(const struct node *map, struct str name)
{
	if (!map || map->kind != NODE_MAP)
		return NULL;
	for (struct node *key = map->first; key; key = key->next) {
		if (str_equal(key->text, name))
			return key;
	}
	return NULL;
}

struct node *node_at(const struct node *map, const char *path)
{
	struct str rest = str_from(path), part;
	const struct node *node = map;

	while (str_split(&rest, '.', &part)) {
		struct node *key = node_key(node, part);

		if (!key || !key->value)
			return NULL;
		node = key->value;
	}
	return (struct node *)node;
}
