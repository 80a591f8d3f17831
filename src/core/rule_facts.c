/*
 * Taking the facts of the rules out of a command.
 *
 * Each rule names parts of the request, and a part becomes a text: a string as it is, anything
 * else by its canonical text, a parameter of the route without its escapes. So 17 in a path and
 * "17" in a body name one thing, which is what two actions that share a lock need. The texts go
 * into a hash, each with its length before it, so that no two lists of parts give the same bytes.
 *
 * Names of locks are folded first: lower case for ASCII, which most are and which costs nothing,
 * else libunistring's full case folding and NFC. What is not UTF-8 (only an escape in a path can
 * be that) is taken byte by byte.
 *
 * Can fail: memory. A field of a lock or a budget that is not there is a mistake of ours or of the
 * check of the configuration; nothing is guessed then, and the request is not sent.
 */
#include "core/rule_facts.h"

#include "base/err.h"
#include "core/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <unicase.h>
#include <uninorm.h>
#include <unistr.h>

enum { PART_ABSENT = 1 };
enum {
	WHOLE_TEXT = 24,   /* a whole number of 64 bits and a NUL */
	FOLDED_SIZE = 512, /* bytes that are folded without asking for memory */
	SHOWN_MAX = 120,   /* bytes of a value in a lock's name */
};
static const struct str cut = {"…", sizeof("…") - 1};

/* One command being looked at. */
struct looking {
	const struct action *action;
	const struct json_value *command;
	struct str account;
	struct str upstream;
	struct str values[ROUTE_SEGMENTS_MAX]; /* of the route's parameters */
	size_t value_count;
	struct arena *mem;
};

/* A part as a text. */
struct part_text {
	struct str text; /* in the command, the path, `whole` or memory */
	char whole[WHOLE_TEXT];
};

static void find_parameters(struct looking *looking, struct str path);
static int find_unique(struct looking *looking, struct rule_facts *facts);
static int find_lock(struct looking *looking, struct rule_facts *facts);
static int find_budget(struct looking *looking, struct rule_facts *facts);
static int find_opened(struct looking *looking, struct rule_facts *facts);

int rule_facts_of(const struct action *action, struct str account, struct str upstream,
		  struct str path, const struct json_value *command, struct arena *mem,
		  struct rule_facts *out_facts)
{
	struct rule_facts facts = {.has_unique = false};
	struct looking looking;
	int r;

	looking.action = action;
	looking.command = command;
	looking.account = account;
	looking.upstream = upstream;
	looking.mem = mem;
	find_parameters(&looking, path);
	r = find_unique(&looking, &facts);
	if (r == 0)
		r = find_lock(&looking, &facts);
	if (r == 0)
		r = find_budget(&looking, &facts);
	if (r == 0)
		r = find_opened(&looking, &facts);
	if (r == PART_ABSENT)
		return fail(FAIL_UNPLANNED);
	if (r == 0)
		*out_facts = facts;
	return r;
}

/* The path is split only for an action that has a rule with parts. */
static void find_parameters(struct looking *looking, struct str path)
{
	const struct action *action = looking->action;

	looking->value_count = 0;
	if (action->unique.count == 0 && action->lock.count == 0 && !action->budget.is_declared)
		return;
	if (!route_matches(&action->route, path, looking->values))
		return;
	for (size_t i = 0; i < action->route.count; i++)
		looking->value_count += action->route.segments[i].is_parameter;
}

/* Parts */

/* Whole numbers are the common ones, and their canonical text is plain digits. */
static int number_text(struct looking *looking, const struct json_value *value,
		       struct part_text *out_part)
{
	int64_t whole;

	if (!json_number_to_i64(&value->number, &whole))
		return json_canonical_str(value, looking->mem, &out_part->text);
	snprintf(out_part->whole, sizeof(out_part->whole), "%lld", (long long)whole);
	out_part->text = str_from(out_part->whole);
	return 0;
}

static int value_text(struct looking *looking, const struct json_value *value,
		      struct part_text *out_part)
{
	switch (value->type) {
	case JSON_NULL:
		return PART_ABSENT;
	case JSON_STRING:
		out_part->text = value->string;
		return 0;
	case JSON_TRUE:
	case JSON_FALSE:
		out_part->text = value->type == JSON_TRUE ? STR("true") : STR("false");
		return 0;
	case JSON_NUMBER:
		return number_text(looking, value, out_part);
	case JSON_ARRAY:
	case JSON_OBJECT:
		return json_canonical_str(value, looking->mem, &out_part->text);
	}
	unreachable("a JSON value of no type");
}

static const struct json_value *value_at(const struct looking *looking, struct str pointer)
{
	return looking->command ? json_at(looking->command, pointer) : NULL;
}

/* 0, PART_ABSENT (not there, or null), FAIL_MEMORY. */
static int find_part(struct looking *looking, const struct rule_part *part,
		     struct part_text *out_part)
{
	const struct json_value *value;

	if (part->pointer.len == 0)
		return part->parameter < looking->value_count
			       ? text_unescape_all(looking->values[part->parameter], looking->mem,
						   &out_part->text)
			       : PART_ABSENT;
	value = value_at(looking, part->pointer);
	return value ? value_text(looking, value, out_part) : PART_ABSENT;
}

/* Tag and its NUL, then the account: every hash begins with them. */
static void begin(struct hasher *hasher, struct str tag, struct str account)
{
	hasher_init(hasher);
	hasher_add(hasher, tag.at, tag.len + 1);
	hasher_add_part(hasher, account);
}

/* Identities */

static int find_unique(struct looking *looking, struct rule_facts *facts)
{
	const struct rule_unique *unique = &looking->action->unique;
	struct hasher hasher;
	struct part_text part;

	if (unique->count == 0)
		return 0;
	begin(&hasher, STR("counterfoil/unique/1"), looking->account);
	hasher_add_part(&hasher, looking->action->name);
	for (size_t i = 0; i < unique->count; i++) {
		int r = find_part(looking, &unique->by[i], &part);

		if (r == PART_ABSENT)
			return 0;
		if (r != 0)
			return r;
		hasher_add_part(&hasher, part.text);
	}
	hasher_end(&hasher, &facts->unique);
	facts->has_unique = true;
	facts->unique_ms = unique->for_ms;
	return 0;
}

/* Locks */

static bool is_ascii(struct str text)
{
	unsigned char all = 0;

	for (size_t i = 0; i < text.len; i++)
		all |= (unsigned char)text.at[i];
	return all < 0x80;
}

static int add_lower(struct looking *looking, struct hasher *hasher, struct str text)
{
	char small[FOLDED_SIZE];
	char *lower = text.len > sizeof(small) ? arena_alloc(looking->mem, text.len) : small;

	if (!lower)
		return FAIL_MEMORY;
	for (size_t i = 0; i < text.len; i++)
		lower[i] = ascii_lower(text.at[i]);
	hasher_add_part(hasher, str_of(lower, text.len));
	return 0;
}

static int add_folded(struct looking *looking, struct hasher *hasher, struct str text)
{
	const uint8_t *bytes = (const uint8_t *)text.at;
	uint8_t small[FOLDED_SIZE], *folded;
	size_t len = sizeof(small);

	if (is_ascii(text) || u8_check(bytes, text.len))
		return add_lower(looking, hasher, text);
	folded = u8_casefold(bytes, text.len, NULL, UNINORM_NFC, small, &len);
	if (!folded)
		return FAIL_MEMORY;
	hasher_add_part(hasher, str_of((const char *)folded, len));
	if (folded != small)
		free(folded);
	return 0;
}

static bool has_secret(const struct action_field *fields, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (fields[i].is_secret || has_secret(fields[i].fields, fields[i].field_count))
			return true;
	}
	return false;
}

/* Is something secret at the pointer, around it or inside? */
static bool is_secret(const struct action *action, struct str pointer)
{
	const struct action_field *fields = action->fields, *field;
	size_t count = action->field_count;

	while (pointer.len) {
		field = action_field_enter(fields, count, &pointer);
		if (!field)
			return false;
		if (field->is_secret)
			return true;
		fields = field->fields;
		count = field->field_count;
	}
	return has_secret(fields, count);
}

static char *put(char *out, struct str text)
{
	if (text.len)
		memcpy(out, text.at, text.len);
	return out + text.len;
}

/* A value for people: on one line, and not as long as a client likes. */
static char *write_shown(char *out, struct str text)
{
	size_t len = text.len > SHOWN_MAX ? SHOWN_MAX : text.len;

	while (len > 0 && len < text.len && ((unsigned char)text.at[len] & 0xc0) == 0x80)
		len--; /* not in the middle of a character */
	for (size_t i = 0; i < len; i++)
		*out++ = (char)(text_is_control(text.at[i]) || text.at[i] == '\t' ? ' '
										  : text.at[i]);
	return len < text.len ? put(out, cut) : out;
}

/* "deployments environment=production service=web" */
static int name_lock(struct looking *looking, const struct part_text *parts, struct str *out_name)
{
	const struct rule_lock *lock = &looking->action->lock;
	size_t size = lock->resource.len;
	char *name, *end;

	for (size_t i = 0; i < lock->count; i++)
		size += 2 + lock->on[i].name.len + SHOWN_MAX + cut.len;
	name = arena_alloc(looking->mem, size);
	if (!name)
		return FAIL_MEMORY;
	end = put(name, lock->resource);
	for (size_t i = 0; i < lock->count; i++) {
		const struct rule_part *part = &lock->on[i];

		if (end > name)
			*end++ = ' ';
		end = put(end, part->name);
		*end++ = '=';
		end = part->pointer.len && is_secret(looking->action, part->pointer)
			      ? put(end, STR("(secret)"))
			      : write_shown(end, parts[i].text);
	}
	*out_name = str_of(name, (size_t)(end - name));
	return 0;
}

/* Beyond 64 bits no lock has such a version, on either side. */
static int64_t version_of(const struct json_number *number)
{
	int64_t version;

	if (json_number_to_i64(number, &version))
		return version;
	return number->is_negative ? INT64_MIN : INT64_MAX;
}

static void find_version(struct looking *looking, struct rule_facts *facts)
{
	const struct rule_lock *lock = &looking->action->lock;
	const struct json_value *value = NULL;

	if (lock->version.len)
		value = value_at(looking, lock->version);
	facts->has_version = value && value->type == JSON_NUMBER;
	if (facts->has_version)
		facts->version = version_of(&value->number);
}

/* "environment", whether it is the field of that name or the parameter. */
static struct str name_of_part(const struct rule_part *part)
{
	return part->pointer.len ? str_from_index(part->pointer, 1) : part->name;
}

/*
 * What kind of thing is held: the resource that is named, or the names of its parts. A ticket 5 is
 * no order 5; but two actions that call one thing by different names can say so.
 */
static int add_kind(struct looking *looking, struct hasher *hasher, const struct rule_lock *lock)
{
	int r = add_folded(looking, hasher, lock->resource);

	for (size_t i = 0; i < lock->count && r == 0 && !lock->resource.len; i++)
		hasher_add_part(hasher, name_of_part(&lock->on[i]));
	return r;
}

static int find_lock(struct looking *looking, struct rule_facts *facts)
{
	const struct rule_lock *lock = &looking->action->lock;
	struct part_text parts[RULE_PARTS_MAX];
	struct hasher hasher;
	int r;

	if (lock->count == 0)
		return 0;
	require(lock->count <= RULE_PARTS_MAX);
	begin(&hasher, STR("counterfoil/lock/1"), looking->account);
	r = add_kind(looking, &hasher, lock);
	for (size_t i = 0; i < lock->count && r == 0; i++) {
		r = find_part(looking, &lock->on[i], &parts[i]);
		if (r == 0)
			r = add_folded(looking, &hasher, parts[i].text);
	}
	if (r == 0)
		r = name_lock(looking, parts, &facts->lock_name);
	if (r != 0)
		return r;
	hasher_end(&hasher, &facts->lock);
	facts->has_lock = true;
	facts->lock_queues = lock->is_queue;
	find_version(looking, facts);
	return 0;
}

/* Budgets */

void budget_hash(struct str account, struct str upstream, struct str id, struct hash *out_hash)
{
	struct hasher hasher;

	begin(&hasher, STR("counterfoil/budget/1"), account);
	hasher_add_part(&hasher, upstream);
	hasher_add_part(&hasher, id);
	hasher_end(&hasher, out_hash);
}

/* Money as command_read() has it. Less than nothing counts as nothing: given back, or taken away,
 * it would make room for others on a stranger's word. */
static int find_money(struct looking *looking, struct str pointer, struct money *out_money)
{
	const struct json_value *value = value_at(looking, pointer), *currency, *amount;

	currency = value ? json_member(value, STR("currency")) : NULL;
	amount = value ? json_member(value, STR("minor_units")) : NULL;
	if (!currency || currency->type != JSON_STRING ||
	    currency->string.len >= sizeof(out_money->currency) || !amount ||
	    amount->type != JSON_NUMBER ||
	    !json_number_to_i64(&amount->number, &out_money->minor_units))
		return PART_ABSENT;
	if (out_money->minor_units < 0)
		out_money->minor_units = 0;
	memset(out_money->currency, 0, sizeof(out_money->currency));
	memcpy(out_money->currency, currency->string.at, currency->string.len);
	return 0;
}

static int find_budget(struct looking *looking, struct rule_facts *facts)
{
	const struct rule_budget *budget = &looking->action->budget;
	struct part_text whose;
	int r;

	if (!budget->is_declared)
		return 0;
	r = find_part(looking, &budget->of, &whose);
	if (r == 0)
		r = find_money(looking, budget->amount, &facts->spends);
	if (r != 0)
		return r;
	budget_hash(looking->account, looking->upstream, whose.text, &facts->budget);
	facts->has_budget = true;
	facts->lets_unknown_budget = budget->lets_unknown;
	return 0;
}

static int find_opened(struct looking *looking, struct rule_facts *facts)
{
	const struct rule_opens_budget *opens = &looking->action->opens_budget;
	int r;

	if (!opens->is_declared)
		return 0;
	r = find_money(looking, opens->amount, &facts->opens);
	if (r != 0)
		return r;
	facts->opens_budget = true;
	facts->budget_ms = opens->for_ms;
	return 0;
}
