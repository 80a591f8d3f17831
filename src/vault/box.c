/*
 * Reading and writing the text of vault.json (see box.h).
 *
 * Members that are not known are refused: a later version's file read as if they were not there
 * could lose what they say.
 */
#include "vault/box.h"

#include "json/json.h"

enum { TREE_MAX = 4 << 20 };

static bool member_number(const struct json_value *object, const char *name, int64_t min,
			  int64_t max, int64_t *out)
{
	const struct json_value *value = json_member(object, str_from(name));

	return value && value->type == JSON_NUMBER && json_number_to_i64(&value->number, out) &&
	       *out >= min && *out <= max;
}

static struct str member_text(const struct json_value *object, const char *name)
{
	const struct json_value *value = json_member(object, str_from(name));

	return value && value->type == JSON_STRING ? value->string : STR("");
}

static bool read_hex(struct str text, uint8_t *out, size_t size)
{
	if (text.len != 2 * size)
		return false;
	for (size_t i = 0; i < size; i++) {
		int high = hex_digit(text.at[2 * i]), low = hex_digit(text.at[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static bool read_master(const struct json_value *master, struct box *box)
{
	struct str kind = member_text(master, "kind");
	int64_t passes, memory;

	if (!master || master->type != JSON_OBJECT)
		return false;
	if (str_equal(kind, STR("raw")))
		return master->object.count == 1;
	if (!str_equal(kind, STR("argon2id")) || master->object.count != 4 ||
	    !member_number(master, "passes", 1, BOX_PASSES_MAX, &passes) ||
	    !member_number(master, "memory_kib", BOX_MEMORY_KIB_MIN, BOX_MEMORY_KIB_MAX, &memory))
		return false;
	box->has_passphrase = true;
	box->passes = (uint32_t)passes;
	box->memory_kib = (uint32_t)memory;
	return read_hex(member_text(master, "salt"), box->salt, sizeof(box->salt));
}

static bool read_key(const struct json_value *value, int64_t above, struct box_key *key)
{
	int64_t number;

	if (value->type != JSON_OBJECT || value->object.count != 3 ||
	    !member_number(value, "number", above + 1, UINT32_MAX, &number) ||
	    !member_number(value, "made_ms", 0, INT64_MAX, &key->made_ms))
		return false;
	key->number = (uint32_t)number;
	return read_hex(member_text(value, "wrapped"), key->wrapped, sizeof(key->wrapped));
}

static bool read_keys(const struct json_value *keys, struct box *box)
{
	if (!keys || keys->type != JSON_ARRAY || !keys->array.count ||
	    keys->array.count > VAULT_KEYS_MAX)
		return false;
	for (size_t i = 0; i < keys->array.count; i++) {
		int64_t above = i ? box->keys[i - 1].number : 0;

		if (!read_key(keys->array.items[i], above, &box->keys[i]))
			return false;
	}
	box->count = keys->array.count;
	return true;
}

static const char *read_tree(const struct json_value *tree, struct box *box)
{
	int64_t version;

	if (tree->type != JSON_OBJECT || !member_number(tree, "version", 1, INT64_MAX, &version))
		return "is no vault";
	if (version != 1)
		return "was written by a newer counterfoil";
	if (tree->object.count != 3 || !read_master(json_member(tree, STR("master")), box))
		return "does not say how its master key is had";
	if (!read_keys(json_member(tree, STR("keys")), box))
		return "has no list of data keys";
	return NULL;
}

bool box_read(struct str text, struct box *out_box, const char **out_why)
{
	struct json_error error;
	struct json_value *tree;
	struct arena mem;

	*out_box = (struct box){0};
	arena_init(&mem, TREE_MAX);
	if (text.len > BOX_TEXT_MAX)
		*out_why = "is too long";
	else if (json_read(text, &json_limits_default, &mem, &tree, &error) != 0)
		*out_why = "is no JSON";
	else
		*out_why = read_tree(tree, out_box);
	arena_fini(&mem);
	return !*out_why;
}

static void write_hex(struct json_writer *json, const char *name, const uint8_t *bytes, size_t size)
{
	char hex[2 * VAULT_WRAPPED_SIZE];

	hex_write(bytes, size, hex);
	json_name(json, name);
	json_string(json, str_of(hex, 2 * size));
}

static void write_number(struct json_writer *json, const char *name, int64_t number)
{
	json_name(json, name);
	json_integer(json, number);
}

static void write_master(struct json_writer *json, const struct box *box)
{
	json_name(json, "master");
	json_open_object(json);
	json_name(json, "kind");
	json_text(json, box->has_passphrase ? "argon2id" : "raw");
	if (box->has_passphrase) {
		write_hex(json, "salt", box->salt, sizeof(box->salt));
		write_number(json, "passes", box->passes);
		write_number(json, "memory_kib", box->memory_kib);
	}
	json_close_object(json);
}

void box_write(const struct box *box, struct buf *out)
{
	struct json_writer json;

	json_writer_init(&json, out);
	json_open_object(&json);
	write_number(&json, "version", 1);
	write_master(&json, box);
	json_name(&json, "keys");
	json_open_array(&json);
	for (size_t i = 0; i < box->count; i++) {
		const struct box_key *key = &box->keys[i];

		json_open_object(&json);
		write_number(&json, "number", key->number);
		write_number(&json, "made_ms", key->made_ms);
		write_hex(&json, "wrapped", key->wrapped, sizeof(key->wrapped));
		json_close_object(&json);
	}
	json_close_array(&json);
	json_close_object(&json);
	buf_append_byte(out, '\n');
}
