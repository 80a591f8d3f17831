/*
 * Judging answers.
 *
 * An answer is evidence of what a server says, no more; the cases hold it against counts. Where
 * memory is short, two answers count as different and an id as absent: that can fail a case, but
 * pass none.
 */
#include "drill/judge.h"

#include "drill/scenario.h"
#include "json/json.h"

enum judged judge(const struct target_answer *answer)
{
	int status = answer->status;

	if (answer->end != TARGET_ANSWERED)
		return JUDGED_NOTHING;
	if (status >= 200 && status <= 299)
		return JUDGED_SUCCESS;
	if (status == 409 || status == 504)
		return JUDGED_UNKNOWN;
	if (status == 408 || status == 425 || status == 429 || status >= 500)
		return JUDGED_AGAIN;
	return JUDGED_REFUSED;
}

struct str judge_words(const struct target_answer *answer, struct arena *mem)
{
	struct str words = answer->end == TARGET_ANSWERED
				   ? arena_printf(mem, "%d", answer->status)
				   : arena_printf(mem, "no answer (%.*s)", STR_ARG(answer->why));

	return words.at ? words : STR("an answer");
}

static struct json_value *read(struct str text, struct arena *mem)
{
	struct json_value *value;
	struct json_error error;

	return json_read(text, &json_limits_default, mem, &value, &error) == 0 ? value : NULL;
}

struct str judge_id(const struct target_answer *answer, struct str pointer, struct arena *mem)
{
	const struct json_value *body = read(answer->body, mem);
	const struct json_value *found = body ? json_at(body, pointer) : NULL;
	struct str text = STR("");

	if (!found || found->type == JSON_NULL)
		return text;
	if (found->type == JSON_STRING)
		text = arena_str(mem, found->string);
	else if (json_canonical_str(found, mem, &text) == 0)
		text = arena_str(mem, text);
	return text.at ? text : STR("");
}

static bool same_body(struct str a, struct str b, struct arena *mem)
{
	const struct json_value *value_a, *value_b;
	struct str text_a, text_b;

	if (str_equal(a, b))
		return true;
	value_a = read(a, mem);
	value_b = read(b, mem);
	return value_a && value_b && json_canonical_str(value_a, mem, &text_a) == 0 &&
	       json_canonical_str(value_b, mem, &text_b) == 0 && str_equal(text_a, text_b);
}

const char *judge_difference(const struct target_answer *first, const struct target_answer *again,
			     struct str id_pointer, struct arena *mem)
{
	struct str id = judge_id(first, id_pointer, mem);
	struct str other = judge_id(again, id_pointer, mem);
	struct str words;

	if (judge(again) != JUDGED_SUCCESS || first->status != again->status) {
		words = judge_words(again, mem);
		words = arena_printf(mem, "was answered %.*s after %d", STR_ARG(words),
				     first->status);
	} else if (!str_equal(id, other)) {
		words = arena_printf(mem, "told id %.60s after %.60s",
				     other.len ? other.at : "none", id.len ? id.at : "none");
	} else if (!same_body(first->body, again->body, mem)) {
		words = STR("told another body");
	} else {
		return NULL;
	}
	return words.at ? words.at : "told something else";
}

bool judge_equals(struct str json, const struct scenario_pairs *equals, struct arena *mem,
		  struct str *out_pointer)
{
	const struct json_value *value = read(json, mem);

	*out_pointer = STR("");
	for (size_t i = 0; value && i < equals->count; i++) {
		const struct json_value *found = json_at(value, equals->items[i].name);
		struct str text;

		*out_pointer = equals->items[i].name;
		if (!found || json_canonical_str(found, mem, &text) != 0 ||
		    !same_body(text, equals->items[i].value, mem))
			return false;
	}
	return value != NULL;
}
