/*
 * The gate's own keys, as texts and as records.
 *
 * A record is JSON, so that a later version can add to it; what a reader does not know it leaves
 * alone, what it needs and does not find makes the record none: a key whose limits cannot be read
 * is no key.
 */
#include "auth/key.h"

#include "base/err.h"
#include "json/json.h"

#include <sodium.h>

#define TEXT_PREFIX "cfk_"
#define ID_PREFIX   "key_"

static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

enum { PREFIX = 4, ID_DIGITS = KEY_ID_TEXT - PREFIX };

/* -- texts ------------------------------------------------------------------------- */

void key_make(const struct env *env, char out_text[KEY_TEXT + 1], char out_id[KEY_ID_TEXT + 1])
{
	uint8_t secret[KEY_RANDOM], name[ID_DIGITS];

	env_random(env, secret, sizeof(secret));
	env_random(env, name, sizeof(name));
	memcpy(out_text, TEXT_PREFIX, PREFIX);
	sodium_bin2base64(out_text + PREFIX, KEY_TEXT + 1 - PREFIX, secret, sizeof(secret),
			  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	memcpy(out_id, ID_PREFIX, PREFIX);
	for (size_t i = 0; i < ID_DIGITS; i++)
		out_id[PREFIX + i] = alphabet[name[i] % 32];
	out_id[KEY_ID_TEXT] = '\0';
	sodium_memzero(secret, sizeof(secret));
}

bool key_is_meant(struct str text)
{
	return str_starts_with(text, STR(TEXT_PREFIX));
}

static bool is_base64url(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_';
}

bool key_is_whole(struct str text)
{
	if (text.len != KEY_TEXT || !key_is_meant(text))
		return false;
	for (size_t i = PREFIX; i < KEY_TEXT; i++) {
		if (!is_base64url(text.at[i]))
			return false;
	}
	return true;
}

bool key_id_is_whole(struct str text)
{
	if (text.len != KEY_ID_TEXT || !str_starts_with(text, STR(ID_PREFIX)))
		return false;
	for (size_t i = PREFIX; i < KEY_ID_TEXT; i++) {
		if (!memchr(alphabet, text.at[i], sizeof(alphabet) - 1))
			return false;
	}
	return true;
}

void key_digest(struct str text, struct hash *out_digest)
{
	hash_bytes(text.at, text.len, out_digest);
}

/* -- records ----------------------------------------------------------------------- */

static void write_number(struct json_writer *json, const char *name, int64_t number)
{
	json_name(json, name);
	json_integer(json, number);
}

void key_record_write(const struct key_record *record, struct buf *out)
{
	char digest[2 * HASH_SIZE];
	struct json_writer json;

	hex_write(record->digest.bytes, HASH_SIZE, digest);
	json_writer_init(&json, out);
	json_open_object(&json);
	json_pair(&json, "digest", str_of(digest, sizeof(digest)));
	json_pair(&json, "account", record->account);
	json_pair(&json, "agent", record->agent);
	json_pair(&json, "label", record->label);
	json_pair(&json, "role", str_from(role_name(record->role)));
	json_name(&json, "all_accounts");
	json_boolean(&json, record->has_all_accounts);
	json_name(&json, "actions");
	json_open_array(&json);
	for (size_t i = 0; i < record->action_count; i++)
		json_string(&json, record->actions[i]);
	json_close_array(&json);
	write_number(&json, "created_ms", record->created_ms);
	write_number(&json, "expires_ms", record->expires_ms);
	json_pair(&json, "created_by", record->created_by);
	write_number(&json, "revoked_ms", record->revoked_ms);
	json_pair(&json, "revoked_by", record->revoked_by);
	json_pair(&json, "revoked_why", record->revoked_why);
	json_close_object(&json);
}

static bool read_text(const struct json_value *object, const char *name, struct str *out)
{
	const struct json_value *value = json_member(object, str_from(name));

	if (!value || value->type != JSON_STRING)
		return false;
	*out = value->string;
	return true;
}

static bool read_number(const struct json_value *object, const char *name, int64_t *out)
{
	const struct json_value *value = json_member(object, str_from(name));

	return value && value->type == JSON_NUMBER && json_number_to_i64(&value->number, out);
}

static bool read_flag(const struct json_value *object, const char *name, bool *out)
{
	const struct json_value *value = json_member(object, str_from(name));

	if (!value || (value->type != JSON_TRUE && value->type != JSON_FALSE))
		return false;
	*out = value->type == JSON_TRUE;
	return true;
}

static bool read_digest(const struct json_value *object, struct hash *out)
{
	struct str text;

	if (!read_text(object, "digest", &text) || text.len != 2 * (size_t)HASH_SIZE)
		return false;
	for (size_t i = 0; i < HASH_SIZE; i++) {
		int high = hex_digit(text.at[2 * i]), low = hex_digit(text.at[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out->bytes[i] = (uint8_t)(high * 16 + low);
	}
	return true;
}

/* FAIL_CONFIG: they are no list of patterns. */
static int read_actions(const struct json_value *object, struct arena *mem,
			struct key_record *record)
{
	const struct json_value *list = json_member(object, STR("actions"));

	if (!list || list->type != JSON_ARRAY || list->array.count > CALLER_PATTERNS_MAX)
		return FAIL_CONFIG;
	record->actions = arena_zalloc(mem, (list->array.count + 1) * sizeof(*record->actions));
	if (!record->actions)
		return FAIL_MEMORY;
	for (size_t i = 0; i < list->array.count; i++) {
		if (list->array.items[i]->type != JSON_STRING ||
		    !caller_pattern_is_good(list->array.items[i]->string))
			return FAIL_CONFIG;
		record->actions[record->action_count++] = list->array.items[i]->string;
	}
	return 0;
}

static bool read_members(const struct json_value *object, struct key_record *record)
{
	struct str role;

	return read_digest(object, &record->digest) &&
	       read_text(object, "account", &record->account) &&
	       read_text(object, "agent", &record->agent) &&
	       read_text(object, "label", &record->label) && read_text(object, "role", &role) &&
	       role_from(role, &record->role) &&
	       read_flag(object, "all_accounts", &record->has_all_accounts) &&
	       (record->account.len || record->has_all_accounts) &&
	       read_number(object, "created_ms", &record->created_ms) &&
	       read_number(object, "expires_ms", &record->expires_ms) &&
	       read_text(object, "created_by", &record->created_by) &&
	       read_number(object, "revoked_ms", &record->revoked_ms) &&
	       read_text(object, "revoked_by", &record->revoked_by) &&
	       read_text(object, "revoked_why", &record->revoked_why);
}

int key_record_read(struct str id, struct str text, struct arena *mem,
		    struct key_record *out_record)
{
	struct key_record record = {.id = id};
	struct json_value *object;
	struct json_error error;
	int r = json_read(text, &json_limits_default, mem, &object, &error);

	if (r == JSON_REFUSED || (r == 0 && !read_members(object, &record)))
		return FAIL_CONFIG;
	if (r == 0)
		r = read_actions(object, mem, &record);
	if (r != 0)
		return r;
	*out_record = record;
	return 0;
}
