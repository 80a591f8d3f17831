/*
 * Reading answers.
 *
 * A service may say "failed" under 200, or name what it made; where is declared, and nothing is
 * guessed. The tree of an answer takes up to 32 times its bytes, so it is built in memory of its
 * own, no more than the caller's may still take, and is given back at once: the caller's memory
 * gets the texts only.
 *
 * Media types are often wrong on the services that answer failures with 200, and overlooking such
 * a failure would make a success of it. So any object or array is read; a text or number by
 * itself is JSON only when the media type says so.
 */
#include "core/response.h"

#include "base/err.h"
#include "core/media_type.h"

bool response_is_read(const struct action *action)
{
	const struct rule_response *response = &action->response;

	return response->reference.len || response->resource.len || response->failed_when_count ||
	       action->opens_budget.is_declared;
}

static bool is_declared_json(struct str content_type)
{
	struct fingerprint_error error;
	struct media_type media_type;

	return media_type_read(content_type, "The Content-Type", &media_type, &error) == 0 &&
	       media_type_kind(&media_type) == BODY_JSON;
}

static bool looks_structured(struct str body)
{
	size_t at = 0;

	while (at < body.len && (body.at[at] == ' ' || body.at[at] == '\t' || body.at[at] == '\r' ||
				 body.at[at] == '\n'))
		at++;
	return at < body.len && (body.at[at] == '{' || body.at[at] == '[');
}

struct json_value *response_json(struct str content_type, struct str body, struct arena *mem,
				 bool *out_is_declared)
{
	bool is_declared = is_declared_json(content_type);
	struct json_value *value;
	struct json_error error;

	if (out_is_declared)
		*out_is_declared = is_declared;
	if (!is_declared && !looks_structured(body))
		return NULL;
	return json_read(body, &json_limits_default, mem, &value, &error) == 0 ? value : NULL;
}

void response_read(const struct action *action, struct str content_type, struct str body,
		   struct arena *mem, struct response_facts *out_facts)
{
	struct json_value *value;
	struct arena trees;

	*out_facts = (struct response_facts){.has_failed = false};
	if (!response_is_read(action))
		return;
	arena_init(&trees, mem->ceiling - mem->used);
	value = response_json(content_type, body, &trees, NULL);
	if (value)
		response_read_value(action, value, mem, out_facts);
	arena_fini(&trees);
}

/* The text or number at the pointer; empty: there is none that can be kept. */
static struct str text_at(const struct json_value *value, struct str pointer, struct arena *mem)
{
	const struct json_value *found = json_at(value, pointer);
	struct str text = STR("");

	if (found && found->type == JSON_NUMBER)
		(void)json_canonical_str(found, mem, &text);
	else if (found && found->type == JSON_STRING)
		text = found->string;
	return text.len <= RESPONSE_TEXT_MAX ? arena_str(mem, text) : STR("");
}

void response_read_value(const struct action *action, const struct json_value *value,
			 struct arena *mem, struct response_facts *out_facts)
{
	const struct rule_response *response = &action->response;
	struct response_facts facts = {.has_failed = false};

	if (response->reference.len)
		facts.reference = text_at(value, response->reference, mem);
	if (response->resource.len)
		facts.resource = text_at(value, response->resource, mem);
	if (action->opens_budget.is_declared)
		facts.budget_id = text_at(value, action->opens_budget.id, mem);
	for (size_t i = 0; i < response->failed_when_count && !facts.has_failed; i++)
		facts.has_failed = condition_holds(&response->failed_when[i], value);
	*out_facts = facts;
}

static bool is_choice(const struct json_value *choice, const struct json_value *value)
{
	if (choice->type != value->type)
		return false;
	switch (value->type) {
	case JSON_NULL:
	case JSON_FALSE:
	case JSON_TRUE:
		return true;
	case JSON_NUMBER:
		return json_number_compare(&choice->number, &value->number) == 0;
	case JSON_STRING:
		return str_equal(choice->string, value->string);
	case JSON_ARRAY:
	case JSON_OBJECT:
		return false;
	}
	unreachable("a JSON value of no type");
}

bool condition_holds(const struct rule_condition *condition, const struct json_value *value)
{
	const struct json_value *found = value ? json_at(value, condition->pointer) : NULL;

	if (!found)
		return false;
	if (condition->choice_count == 0)
		return found->type != JSON_NULL;
	for (size_t i = 0; i < condition->choice_count; i++) {
		if (is_choice(condition->choices[i], found))
			return true;
	}
	return false;
}
