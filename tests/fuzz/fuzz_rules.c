/*
 * Fuzzing what rules make of texts. The first byte says which.
 *
 * "t": a template; what is behind a line feed goes into it as a field. However it is filled, what
 * was filled in adds no delimiter to it, and it is never filled twice.
 * "i": the answer to a question. Found and absent are never both possible for one answer, and what
 * was found is canonical.
 * "r": an answer. What is kept of it is no longer than it may be.
 * "n": two names of locks, apart by a line feed. Names that differ in their ASCII case only are one
 * lock; as identities any two names are two.
 * "s": a body that a key is put into. It reads as JSON, with one member of that name.
 */
#include "base/err.h"
#include "core/downstream_key.h"
#include "core/inquiry.h"
#include "core/response.h"
#include "core/rule_facts.h"
#include "core/template.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { INPUT_MAX = 1 << 14, CEILING = 1 << 26 };

static struct action_field field = {.name = {"x", 1}, .type = FIELD_ANY};
static struct rule_part part = {.name = {"x", 1}, .pointer = {"/x", 2}};
static struct rule_condition condition = {.pointer = {"/error", 6}};

static const struct action action = {
	.name = {"things.create", 13},
	.fields = &field,
	.field_count = 1,
	.has_fields = true,
	.unique = {.by = &part, .count = 1},
	.lock = {.on = &part, .count = 1},
	.response = {.reference = {"/id", 3},
		     .resource = {"/data/0/url", 11},
		     .failed_when = &condition,
		     .failed_when_count = 1},
	.opens_budget = {.is_declared = true, .id = {"", 0}},
};

static bool is_utf8(struct str text)
{
	struct buf out;
	bool is_same;
	struct json_writer json;
	static const char replacement[] = "\xef\xbf\xbd";

	buf_init(&out, CEILING);
	json_writer_init(&json, &out);
	json_string(&json, text);
	is_same = !memmem(out.at, out.len, replacement, 3);
	buf_fini(&out);
	return is_same;
}

static size_t count_of(struct str text, char byte)
{
	size_t count = 0;

	for (size_t i = 0; i < text.len; i++)
		count += text.at[i] == byte;
	return count;
}

static struct json_value *command_of(struct str text, struct arena *mem)
{
	struct json_value *values = arena_zalloc(mem, 2 * sizeof(*values));
	struct json_member *member = arena_zalloc(mem, sizeof(*member));

	require(values && member);
	values[1].type = JSON_STRING;
	values[1].string = text;
	member->name = STR("x");
	member->value = &values[1];
	values[0].type = JSON_OBJECT;
	values[0].object.members = member;
	values[0].object.count = 1;
	return values;
}

/* Cut at the first line feed; without one the second is empty. */
static struct str first_line(struct str *text)
{
	size_t end = str_find(*text, '\n');
	struct str first = str_of(text->at, end);

	*text = str_from_index(*text, end + 1);
	return first;
}

static void check_pieces(struct str text)
{
	struct str rest = text, literal, name;
	size_t seen = 0;

	while (template_next(&rest, &literal, &name)) {
		require(name.len == 0 || (count_of(name, '{') == 0 && count_of(name, '}') == 0));
		seen += literal.len + (name.len ? name.len + 2 : 0);
		require(rest.len == 0 || seen + rest.len == text.len);
	}
	require(seen == text.len);
}

static void check_template(struct str text, struct arena *mem)
{
	static const char delimiters[] = "{}/?#&=%+ \"";
	struct str template = first_line(&text), plain, filled, target;
	struct operation_id id = {{1}};
	int r;

	check_pieces(template);
	r = template_fill(template, &action, STR("/"), STR("t"), command_of(text, mem), mem,
			  &filled);
	require(r == 0 || r == TEMPLATE_ABSENT);
	if (r != 0)
		return;
	require(template_finish(filled, &id, mem, &target) == 0);
	/* A literal that ends in % needs digits behind it. */
	if (template_fill(template, &action, STR("/"), STR("t"), command_of(STR("x"), mem), mem,
			  &plain) != 0)
		return;
	for (size_t i = 0; delimiters[i]; i++) {
		if (delimiters[i] != '%')
			require(count_of(filled, delimiters[i]) == count_of(plain, delimiters[i]));
	}
}

static void check_canonical(struct str text, struct arena *mem)
{
	struct json_error error;
	struct json_value *tree;
	struct buf again;

	require(json_read(text, &json_limits_default, mem, &tree, &error) == 0);
	buf_init(&again, CEILING);
	require(json_canonical(tree, mem, &again) == 0);
	require(str_equal(buf_str(&again), text));
	buf_fini(&again);
}

static enum inquiry_verdict judge(struct str at, bool has_empty, bool is_absent_too,
				  struct str body, struct arena *mem)
{
	struct rule_inquiry inquiry = {
		.found_at = at, .absent_empty = STR("/data"), .has_absent_empty = has_empty};
	const struct json_value *value = NULL;
	enum inquiry_verdict verdict;
	const char *why = NULL;
	struct str found;

	status_class_add(inquiry.found, 200);
	if (is_absent_too)
		status_class_add(inquiry.absent, 200);
	verdict = inquiry_judge(&inquiry, 200, STR("application/json"), body, mem, &value, &found,
				&why);
	require(why && *why);
	if (verdict == INQUIRY_FOUND && value)
		check_canonical(found, mem);
	return verdict;
}

/* What is evidence of one is never evidence of the other, however it is declared. */
static void check_inquiry(struct str body, struct arena *mem)
{
	static const struct str places[] = {{"/data/0", 7}, {"/data", 5}};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		enum inquiry_verdict evident = judge(places[i], true, true, body, mem);
		enum inquiry_verdict alone = judge(places[i], false, false, body, mem);

		require(alone != INQUIRY_ABSENT);
		require(evident != INQUIRY_FOUND || alone == INQUIRY_FOUND);
		require(evident != INQUIRY_ABSENT || alone != INQUIRY_FOUND);
	}
}

static void check_response(struct str body, struct arena *mem)
{
	struct response_facts facts;

	response_read(&action, str_of(NULL, 0), body, mem, &facts);
	require(facts.reference.len <= RESPONSE_TEXT_MAX);
	require(facts.resource.len <= RESPONSE_TEXT_MAX);
	require(facts.budget_id.len <= RESPONSE_TEXT_MAX);
}

static struct rule_facts facts_of(struct str name, struct arena *mem)
{
	struct action locking = action;
	struct rule_facts facts;

	locking.opens_budget.is_declared = false;
	require(rule_facts_of(&locking, STR("a"), STR("u"), STR("/"), command_of(name, mem), mem,
			      &facts) == 0);
	require(facts.has_unique && facts.has_lock);
	return facts;
}

static void check_names(struct str text, struct arena *mem)
{
	struct str name = first_line(&text);
	struct rule_facts first, second, upper;
	char *shouted = arena_alloc(mem, name.len + 1);

	if (!is_utf8(name) || !is_utf8(text))
		return;
	require(shouted);
	for (size_t i = 0; i < name.len; i++)
		shouted[i] = (char)(name.at[i] >= 'a' && name.at[i] <= 'z' ? name.at[i] - 32
									   : name.at[i]);
	first = facts_of(name, mem);
	second = facts_of(text, mem);
	upper = facts_of(str_of(shouted, name.len), mem);
	require(hash_equal(&first.lock, &upper.lock));
	require(hash_equal(&first.unique, &second.unique) == str_equal(name, text));
	require(!str_equal(name, text) || hash_equal(&first.lock, &second.lock));
	require(is_utf8(first.lock_name));
}

static void check_splice(struct str body, struct arena *mem)
{
	struct json_value *tree, *key;
	struct json_error error;
	struct buf out;

	buf_init(&out, CEILING);
	if (downstream_key_splice(body, STR("x"), "key", &out) == 0) {
		require(json_read(buf_str(&out), &json_limits_default, mem, &tree, &error) == 0);
		key = json_member(tree, STR("x"));
		require(key && str_equal(key->string, STR("key")));
	}
	buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str text;
	struct arena mem;

	if (size == 0 || size > INPUT_MAX)
		return 0;
	text = str_of((const char *)bytes + 1, size - 1);
	arena_init(&mem, CEILING);
	if (bytes[0] == 't')
		check_template(text, &mem);
	else if (bytes[0] == 'i')
		check_inquiry(text, &mem);
	else if (bytes[0] == 'r')
		check_response(text, &mem);
	else if (bytes[0] == 'n')
		check_names(text, &mem);
	else if (bytes[0] == 's')
		check_splice(text, &mem);
	arena_fini(&mem);
	return 0;
}
