/*
 * Judging the answer to a question.
 *
 * What hangs on it: "found" ends an operation, "absent" lets it be sent again. So both need
 * evidence that the declaration names, and never the lack of it: an answer that shows both, two
 * things where one was asked for, an empty list where a thing should be, a body that cannot be
 * read are doubt, and doubt is left to the next question or to a person.
 */
#include "core/inquiry.h"

#include "base/err.h"
#include "base/hash.h"
#include "core/response.h"

/* One answer being judged. */
struct judging {
	const struct rule_inquiry *inquiry;
	const struct json_value *value; /* NULL: it is not JSON, or cannot be read */
	bool is_unreadable;		/* it says it is JSON */
	const char *why;
};

/* What one half of the declaration sees in an answer. */
enum sight {
	SIGHT_NOTHING, /* not what it names */
	SIGHT_CLEAR,
	SIGHT_BLURRED, /* that may be it, or not */
};

static enum sight blurred(struct judging *judging, const char *why)
{
	judging->why = why;
	return SIGHT_BLURRED;
}

static bool is_empty(const struct json_value *value)
{
	switch (value->type) {
	case JSON_NULL:
		return true;
	case JSON_STRING:
		return value->string.len == 0;
	case JSON_ARRAY:
		return value->array.count == 0;
	case JSON_OBJECT:
		return value->object.count == 0;
	default:
		return false;
	}
}

/* The list that the last step of the pointer is an index of; NULL when it is none. */
static const struct json_value *list_around(const struct json_value *value, struct str pointer)
{
	const struct json_value *list;
	size_t slash = pointer.len;

	while (slash > 0 && pointer.at[slash - 1] != '/')
		slash--;
	if (slash == 0)
		return NULL;
	list = json_at(value, str_of(pointer.at, slash - 1));
	return list && list->type == JSON_ARRAY ? list : NULL;
}

static enum sight look_for_it(struct judging *judging, const struct json_value **out_found)
{
	const struct str at = judging->inquiry->found_at;
	const struct json_value *list;

	*out_found = NULL;
	if (judging->is_unreadable)
		return blurred(judging, "The answer says that it is JSON and cannot be read.");
	if (!judging->value)
		return at.len == 0 ? SIGHT_CLEAR
				   : blurred(judging, "The answer is not JSON that can be read.");
	*out_found = json_at(judging->value, at);
	if (!*out_found || is_empty(*out_found))
		return SIGHT_NOTHING;
	list = list_around(judging->value, at);
	if ((list && list->array.count > 1) ||
	    ((*out_found)->type == JSON_ARRAY && (*out_found)->array.count > 1))
		return blurred(judging, "More than one was found.");
	return SIGHT_CLEAR;
}

static enum sight look_for_absence(struct judging *judging)
{
	const struct rule_inquiry *inquiry = judging->inquiry;
	const struct json_value *found;

	if (!inquiry->has_absent_empty)
		return SIGHT_CLEAR;
	if (!judging->value)
		return blurred(judging, "The answer is not JSON that can be read.");
	if (judging->value->type != JSON_OBJECT && judging->value->type != JSON_ARRAY)
		return blurred(judging, "The answer is neither an object nor a list.");
	found = json_at(judging->value, inquiry->absent_empty);
	return found && is_empty(found) ? SIGHT_CLEAR : SIGHT_NOTHING;
}

static enum inquiry_verdict weigh(struct judging *judging, enum sight found, enum sight absent)
{
	const struct rule_inquiry *inquiry = judging->inquiry;
	/* A thing at its place outweighs a status that an absence would have as well. */
	bool is_shown = inquiry->found_at.len && !inquiry->has_absent_empty;

	if (found == SIGHT_CLEAR && (absent == SIGHT_NOTHING || is_shown)) {
		judging->why = "It was found.";
		return INQUIRY_FOUND;
	}
	if (found == SIGHT_NOTHING && absent == SIGHT_CLEAR) {
		judging->why = "It is not there.";
		return INQUIRY_ABSENT;
	}
	if (found == SIGHT_CLEAR && absent == SIGHT_CLEAR)
		judging->why = "The answer shows that it is there, and that it is not.";
	else if (found == SIGHT_NOTHING && absent == SIGHT_NOTHING)
		judging->why = "The answer shows neither that it is there nor that it is not.";
	return INQUIRY_DOUBT;
}

enum inquiry_verdict inquiry_judge(const struct rule_inquiry *inquiry, int status,
				   struct str content_type, struct str body, struct arena *mem,
				   const struct json_value **out_found, struct str *out_body,
				   const char **out_why)
{
	struct judging judging = {.inquiry = inquiry};
	enum sight found = SIGHT_NOTHING, absent = SIGHT_NOTHING;
	bool says_found = status_class_has(inquiry->found, status);
	bool says_absent = status_class_has(inquiry->absent, status);
	enum inquiry_verdict verdict;
	const struct json_value *value = NULL;
	struct str text = STR("");
	bool is_declared;

	*out_why = "The answer has a status that the question does not name.";
	if (!says_found && !says_absent)
		return INQUIRY_DOUBT;
	judging.value = response_json(content_type, body, mem, &is_declared);
	judging.is_unreadable = is_declared && !judging.value;
	if (says_absent)
		absent = look_for_absence(&judging);
	if (says_found)
		found = look_for_it(&judging, &value);
	verdict = weigh(&judging, found, absent);
	if (verdict == INQUIRY_FOUND && value && json_canonical_str(value, mem, &text) != 0) {
		judging.why = "What was found is too large to be kept.";
		verdict = INQUIRY_DOUBT;
	}
	if (verdict == INQUIRY_FOUND) {
		*out_found = value;
		*out_body = text;
	}
	*out_why = judging.why;
	return verdict;
}

enum { MARK_BYTES = 8, MARK_TEXT = 2 * MARK_BYTES + 1 }; /* digits and a space */

/* Of all that an answer is judged by; not of when one asks. */
static void write_mark(const struct rule_inquiry *inquiry, struct str service, char out[MARK_TEXT])
{
	struct hasher hasher;
	struct hash hash;
	uint8_t how[] = {(uint8_t)(inquiry->found_as >> 8), (uint8_t)inquiry->found_as,
			 inquiry->has_absent_empty};

	hasher_init(&hasher);
	hasher_add_part(&hasher, service);
	hasher_add_part(&hasher, inquiry->get);
	hasher_add_part(&hasher, inquiry->found_at);
	hasher_add_part(&hasher, inquiry->absent_empty);
	hasher_add(&hasher, how, sizeof(how));
	for (int status = 100; status < 600; status++) {
		uint8_t says = (uint8_t)(status_class_has(inquiry->found, status) |
					 status_class_has(inquiry->absent, status) << 1);

		hasher_add(&hasher, &says, 1);
	}
	hasher_end(&hasher, &hash);
	hex_write(hash.bytes, MARK_BYTES, out);
	out[MARK_TEXT - 1] = ' ';
}

int inquiry_mark(const struct rule_inquiry *inquiry, struct str service, struct str question,
		 struct arena *mem, struct str *out_marked)
{
	char mark[MARK_TEXT];

	*out_marked = STR("");
	if (!question.len)
		return 0;
	write_mark(inquiry, service, mark);
	*out_marked = arena_printf(mem, "%.*s%.*s", MARK_TEXT, mark, STR_ARG(question));
	return out_marked->at ? 0 : FAIL_MEMORY;
}

bool inquiry_unmark(const struct rule_inquiry *inquiry, struct str service, struct str marked,
		    struct str *out_question)
{
	char mark[MARK_TEXT];

	write_mark(inquiry, service, mark);
	if (!str_starts_with(marked, str_of(mark, MARK_TEXT)))
		return false;
	*out_question = str_from_index(marked, MARK_TEXT);
	return true;
}
