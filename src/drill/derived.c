/*
 * A configuration written anew from its tree.
 *
 * What is kept is named here, key by key at the two levels where the outside world is spoken of;
 * a key that a later version knows is left out until somebody has thought of it.
 *
 * Always true: no URL, file, address or secret of the original is in what is written, but for
 * what stands inside an action's own rules, which name paths of the service alone.
 */
#include "drill/derived.h"

#include "json/json.h"

enum { DEPTH_MAX = 64, INDENT = 2 };

static const char *const kept_sections[] = {"tokens",	"protect", "undeclared",
					    "statuses", "outbox",  "limits"};
static const char *const kept_of_upstream[] = {"timeout", "connect_timeout", "max_connections",
					       "downstream_key", "downstream_key_for"};
static const char *const dropped_of_approval[] = {"by", "approvers"};

static void write_node(struct buf *out, const struct node *node, int depth);
static void write_upstreams(const struct node *upstreams, struct str url, struct buf *out);
static void write_actions(const struct node *actions, struct buf *out);

static bool is_one_of(struct str name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (str_equal(name, str_from(names[i])))
			return true;
	}
	return false;
}

#define IS_ONE_OF(name, names) is_one_of(name, names, sizeof(names) / sizeof((names)[0]))

static void write_quoted(struct buf *out, struct str text)
{
	struct json_writer writer;

	json_writer_init(&writer, out);
	json_string(&writer, text);
}

void derived_write(const struct node *root, const struct derived_places *places, struct buf *out)
{
	buf_printf(out, "listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nthreads: 1\ndata: ");
	write_quoted(out, places->data);
	buf_printf(out, "\nlog: {level: warning, requests: false}\n");
	write_upstreams(node_at(root, "upstreams"), places->upstream, out);
	for (const struct node *key = root->first; key; key = key->next) {
		if (!IS_ONE_OF(key->text, kept_sections))
			continue;
		write_quoted(out, key->text);
		buf_append_byte(out, ':');
		write_node(out, key->value, 1);
	}
	write_actions(node_at(root, "actions"), out);
}

/* -- the two levels that are chosen from --------------------------------------------- */

static void write_key(struct buf *out, const struct node *key, int depth)
{
	buf_printf(out, "%*s", depth * INDENT, "");
	write_quoted(out, key->text);
	buf_append_byte(out, ':');
}

static void write_upstreams(const struct node *upstreams, struct str url, struct buf *out)
{
	buf_printf(out, "upstreams:\n");
	if (!node_key(upstreams, STR("default"))) {
		buf_printf(out, "  default:\n    url: ");
		write_quoted(out, url);
		buf_append_byte(out, '\n');
	}
	for (const struct node *name = upstreams ? upstreams->first : NULL; name;
	     name = name->next) {
		write_key(out, name, 1);
		buf_printf(out, "\n    url: ");
		write_quoted(out, url);
		buf_append_byte(out, '\n');
		for (const struct node *key = name->value->first; key; key = key->next) {
			if (!IS_ONE_OF(key->text, kept_of_upstream))
				continue;
			write_key(out, key, 2);
			write_node(out, key->value, 3);
		}
	}
}

static void write_approval(const struct node *approval, struct buf *out)
{
	buf_append_byte(out, '\n');
	for (const struct node *key = approval->first; key; key = key->next) {
		if (IS_ONE_OF(key->text, dropped_of_approval))
			continue;
		write_key(out, key, 3);
		write_node(out, key->value, 4);
	}
}

static void write_actions(const struct node *actions, struct buf *out)
{
	bool has_any = false;

	for (const struct node *name = actions ? actions->first : NULL; name; name = name->next) {
		if (node_key(name->value, STR("inbox")))
			continue;
		if (!has_any)
			buf_printf(out, "actions:\n");
		has_any = true;
		write_key(out, name, 1);
		buf_append_byte(out, '\n');
		for (const struct node *key = name->value->first; key; key = key->next) {
			write_key(out, key, 2);
			if (str_equal(key->text, STR("approval")) && key->value->kind == NODE_MAP)
				write_approval(key->value, out);
			else
				write_node(out, key->value, 3);
		}
	}
}

/* -- any tree, as it is -------------------------------------------------------------- */

static void write_children(struct buf *out, const struct node *node, int depth)
{
	buf_append_byte(out, '\n');
	for (const struct node *child = node->first; child; child = child->next) {
		if (node->kind == NODE_MAP) {
			write_key(out, child, depth);
			write_node(out, child->value, depth + 1);
		} else {
			buf_printf(out, "%*s-", depth * INDENT, "");
			write_node(out, child, depth + 1);
		}
	}
}

static void write_node(struct buf *out, const struct node *node, int depth)
{
	if (depth > DEPTH_MAX)
		out->is_spoiled = true;
	else if (node->kind != NODE_SCALAR && node->first)
		write_children(out, node, depth);
	else {
		buf_append_byte(out, ' ');
		if (node->kind == NODE_MAP)
			buf_printf(out, "{}");
		else if (node->kind == NODE_LIST)
			buf_printf(out, "[]");
		else if (node->is_plain)
			buf_append_str(out, node->text);
		else
			write_quoted(out, node->text);
		buf_append_byte(out, '\n');
	}
}
