/*
 * Deriving the downstream key, and putting it into a body.
 *
 * The body is the client's own bytes; one member is put in and no byte is taken out. It is put at
 * the front because the first brace is easily found, and read as JSON first: a second member of
 * the name, however it is escaped, would let the service pick another key than ours.
 */
#include "core/downstream_key.h"

#include "base/base32.h"
#include "base/err.h"
#include "base/hash.h"
#include "json/json.h"

enum { DOWNSTREAM_KEY_BYTES = DOWNSTREAM_KEY_TEXT / 8 * 5 };

void downstream_key_write(const struct operation_id *id, char out[DOWNSTREAM_KEY_TEXT + 1])
{
	static const char tag[] = "counterfoil/key/1"; /* hashed with its NUL */
	struct hasher hasher;
	struct hash hash;

	hasher_init(&hasher);
	hasher_add(&hasher, tag, sizeof(tag));
	hasher_add(&hasher, id->bytes, sizeof(id->bytes));
	hasher_end(&hasher, &hash);
	base32_write(hash.bytes, DOWNSTREAM_KEY_BYTES, out);
}

static const struct str in_header = {"header ", 7}, in_field = {"field ", 6};

int downstream_key_place(const struct rule_downstream_key *rule, struct str service,
			 struct arena *mem, struct str *out_place)
{
	struct str name = rule->header.len ? rule->header : rule->field;
	struct str where = rule->header.len ? in_header : in_field;

	if (name.len)
		*out_place = arena_printf(mem, "%.*s%.*s %.*s", STR_ARG(where), STR_ARG(name),
					  STR_ARG(service));
	else
		*out_place = arena_printf(mem, "none %.*s", STR_ARG(service));
	return out_place->at ? 0 : FAIL_MEMORY;
}

/* What stands before its last space, and behind it: a URL has none, the name of a member may. */
static void split(struct str place, struct str *out_name, struct str *out_service)
{
	size_t space = place.len;

	while (space > 0 && place.at[space - 1] != ' ')
		space--;
	*out_service = str_from_index(place, space);
	*out_name = str_of(place.at, space ? space - 1 : 0);
}

void downstream_key_put_at(struct rule_downstream_key *rule, struct str place)
{
	struct str service;

	split(place, &place, &service);
	rule->header = rule->field = STR("");
	if (str_starts_with(place, in_header))
		rule->header = str_from_index(place, in_header.len);
	else if (str_starts_with(place, in_field))
		rule->field = str_from_index(place, in_field.len);
}

bool downstream_key_is_for(struct str place, struct str service)
{
	struct str unused, kept_by;

	split(place, &unused, &kept_by);
	return str_equal(kept_by, service);
}

bool downstream_key_is_at(const struct rule_downstream_key *rule, struct str service,
			  struct str place)
{
	struct rule_downstream_key kept;

	downstream_key_put_at(&kept, place);
	return downstream_key_is_for(place, service) &&
	       str_equal_nocase(kept.header, rule->header) && str_equal(kept.field, rule->field);
}

/* How often a text can be longer in memory than in its bytes: see json.h. */
enum { READ_FACTOR = 32, READ_SPARE = 1 << 15 };

/* 0 and whether the object is empty; DOWNSTREAM_KEY_NO_PLACE; FAIL_MEMORY. */
static int look(struct str body, struct str field, bool *out_is_empty)
{
	struct json_value *value;
	struct json_error error;
	struct arena mem;
	int r;

	if (body.len > SIZE_MAX / READ_FACTOR - READ_SPARE)
		return FAIL_MEMORY;
	arena_init(&mem, READ_FACTOR * body.len + READ_SPARE);
	r = json_read(body, &json_limits_default, &mem, &value, &error);
	if (r == JSON_REFUSED ||
	    (r == 0 && (value->type != JSON_OBJECT || json_member(value, field))))
		r = DOWNSTREAM_KEY_NO_PLACE;
	if (r == 0)
		*out_is_empty = value->object.count == 0;
	arena_fini(&mem);
	return r;
}

int downstream_key_splice(struct str body, struct str field, const char *key, struct buf *out)
{
	size_t brace = str_find(body, '{') + 1; /* before it there is white space only */
	struct json_writer json;
	bool is_empty;
	int r = look(body, field, &is_empty);

	if (r != 0)
		return r;
	r = buf_append(out, body.at, brace);
	if (r != 0)
		return r;
	json_writer_init(&json, out);
	json_name_str(&json, field);
	json_text(&json, key);
	if (!is_empty)
		(void)buf_append_byte(out, ',');
	r = buf_append_str(out, str_from_index(body, brace));
	return out->is_spoiled && r == 0 ? FAIL_LIMIT : r;
}
