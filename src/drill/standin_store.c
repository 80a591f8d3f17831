/*
 * The effects of the stand-in.
 *
 * An effect is never forgotten and never changed, so an index into the list names it for good.
 * Can fail: without room, which is said, never passed over.
 */
#include "drill/standin_store.h"

#include "json/json.h"

#include <stdlib.h>

enum { JSON_MEMORY_MAX = 32 * 1024 * 1024, FOUND_MAX = 16, QUERY_MAX = 4096 };

bool standin_store_init(struct standin_store *store)
{
	store->count = 0;
	store->effects = calloc(STANDIN_EFFECTS_MAX, sizeof(*store->effects));
	return store->effects;
}

void standin_store_fini(struct standin_store *store)
{
	for (size_t i = 0; i < store->count; i++) {
		free(store->effects[i].path);
		free(store->effects[i].key);
		free(store->effects[i].body);
	}
	free(store->effects);
}

static struct str body_of(const struct effect *effect)
{
	return str_of(effect->body, effect->body_len);
}

static bool is_again(const struct effect *effect, const struct standin_manner *manner,
		     struct str path, struct str key, struct str body)
{
	bool is_same_path = str_equal(str_from(effect->path), path);

	if (manner->key_header.len && key.len && str_equal(str_from(effect->key), key))
		return true;
	if (manner->knows_body && is_same_path && str_equal(body_of(effect), body))
		return true;
	return manner->knows_path && is_same_path;
}

static bool keep(struct effect *effect, struct str path, struct str key, struct str body)
{
	effect->path = strndup(path.at, path.len);
	effect->key = key.len ? strndup(key.at, key.len) : strdup("");
	effect->body = malloc(body.len + 1);
	effect->body_len = body.len;
	if (!effect->path || !effect->key || !effect->body) {
		free(effect->path);
		free(effect->key);
		free(effect->body);
		return false;
	}
	if (body.len)
		memcpy(effect->body, body.at, body.len);
	return true;
}

int64_t standin_store_write(struct standin_store *store, const struct standin_manner *manner,
			    struct str path, struct str key, struct str body)
{
	for (size_t i = 0; i < store->count; i++) {
		if (is_again(&store->effects[i], manner, path, key, body))
			return (int64_t)i;
	}
	if (store->count == STANDIN_EFFECTS_MAX ||
	    !keep(&store->effects[store->count], path, key, body))
		return -1;
	return (int64_t)store->count++;
}

static bool contains(struct str text, struct str part)
{
	return !part.len || (text.len && memmem(text.at, text.len, part.at, part.len));
}

static bool has(const struct effect *effect, struct str text)
{
	return contains(str_from(effect->path), text) || contains(body_of(effect), text) ||
	       contains(str_from(effect->key), text);
}

int64_t standin_store_count(const struct standin_store *store, struct str marker)
{
	int64_t count = 0;

	for (size_t i = 0; i < store->count; i++)
		count += has(&store->effects[i], marker);
	return count;
}

/* -- JSON ---------------------------------------------------------------------------- */

/* What was sent, its "id" aside. */
static void show_sent(struct str body, struct json_writer *writer)
{
	struct json_value *value;
	struct json_error error;
	struct arena mem;
	struct str text;

	arena_init(&mem, JSON_MEMORY_MAX);
	if (json_read(body, &json_limits_default, &mem, &value, &error) == 0 &&
	    value->type == JSON_OBJECT) {
		for (size_t i = 0; i < value->object.count; i++) {
			const struct json_member *member = &value->object.members[i];

			if (str_equal(member->name, STR("id")) ||
			    json_canonical_str(member->value, &mem, &text) != 0)
				continue;
			json_name_str(writer, member->name);
			json_raw(writer, text);
		}
	}
	arena_fini(&mem);
}

/* Open an object for each step of the pointer but the last, which is named; how many were opened.
 */
static int descend(struct json_writer *writer, struct str pointer)
{
	struct str rest = str_from_index(pointer, 1), step;
	int depth = 0;

	while (str_split(&rest, '/', &step)) {
		json_open_object(writer);
		json_name_str(writer, step);
		depth++;
	}
	return depth;
}

static void ascend(struct json_writer *writer, int depth)
{
	while (depth-- > 0)
		json_close_object(writer);
}

void standin_store_show(const struct standin_store *store, size_t index, struct str id_at,
			struct buf *out)
{
	struct str rest = str_from_index(id_at, id_at.len ? 1 : 0), step;
	struct json_writer writer;
	char id[32];
	struct buf text;

	buf_init(&text, sizeof(id));
	buf_printf(&text, "st_%zu", index + 1);
	json_writer_init(&writer, out);
	json_open_object(&writer);
	json_put_text(&writer, "id", buf_str(&text));
	if (id_at.len && !str_equal(id_at, STR("/id")) && str_split(&rest, '/', &step)) {
		struct str below = str_of(step.at + step.len,
					  (size_t)(id_at.at + id_at.len - step.at) - step.len);
		int depth;

		json_name_str(&writer, step);
		depth = below.len ? descend(&writer, below) : 0;
		json_string(&writer, buf_str(&text));
		ascend(&writer, depth);
	} else {
		show_sent(body_of(&store->effects[index]), &writer);
	}
	json_close_object(&writer);
	buf_fini(&text);
}

/* -- finding ------------------------------------------------------------------------- */

static struct str decode(struct str text, char out[QUERY_MAX])
{
	size_t len = 0;

	for (size_t i = 0; i < text.len && len < QUERY_MAX; i++) {
		if (text.at[i] == '%' && i + 2 < text.len && hex_digit(text.at[i + 1]) >= 0 &&
		    hex_digit(text.at[i + 2]) >= 0) {
			out[len++] =
				(char)(hex_digit(text.at[i + 1]) * 16 + hex_digit(text.at[i + 2]));
			i += 2;
		} else {
			out[len++] = text.at[i] == '+' ? ' ' : text.at[i];
		}
	}
	return str_of(out, len);
}

static bool has_all(const struct effect *effect, struct str query)
{
	char decoded[QUERY_MAX];
	struct str pair;

	while (str_split(&query, '&', &pair)) {
		size_t equals = str_find(pair, '=');

		if (equals < pair.len &&
		    !has(effect, decode(str_from_index(pair, equals + 1), decoded)))
			return false;
	}
	return true;
}

/* Without a query the last word of the path is what is looked for. */
static bool is_found(const struct effect *effect, struct str target)
{
	size_t query = str_find(target, '?');
	size_t from = query;
	char decoded[QUERY_MAX];

	if (query < target.len)
		return has_all(effect, str_from_index(target, query + 1));
	while (from > 0 && target.at[from - 1] != '/')
		from--;
	return has(effect, decode(str_of(target.at + from, query - from), decoded));
}

int standin_store_find(const struct standin_store *store, const struct standin_manner *manner,
		       struct str target, struct buf *out)
{
	struct str at = manner->list_at.len ? manner->list_at : STR("/data");
	struct json_writer writer;
	struct buf found;
	size_t count = 0;
	int depth;

	buf_init(&found, STANDIN_REQUEST_MAX);
	for (size_t i = 0; i < store->count && count < (manner->is_one ? 1 : FOUND_MAX); i++) {
		if (!is_found(&store->effects[i], target))
			continue;
		if (count++)
			buf_append_byte(&found, ',');
		standin_store_show(store, i, manner->id_at, &found);
	}
	if (manner->is_one && !count) {
		buf_fini(&found);
		buf_printf(out, "{}");
		return 404;
	}
	json_writer_init(&writer, out);
	if (manner->is_one && !manner->list_at.len) {
		buf_append_str(out, buf_str(&found));
	} else {
		depth = descend(&writer, at);
		buf_printf(out, manner->is_one ? "%.*s" : "[%.*s]", STR_ARG(buf_str(&found)));
		ascend(&writer, depth);
	}
	buf_fini(&found);
	return 200;
}
