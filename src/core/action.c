/* What can be asked of a declared action and its fields. */
#include "core/action.h"

#include "base/err.h"
#include "core/text.h"

static const char *const names[FIELD_TYPE_COUNT] = {
	[FIELD_STRING] = "string",	 [FIELD_INTEGER] = "integer",
	[FIELD_DECIMAL] = "decimal",	 [FIELD_BOOLEAN] = "boolean",
	[FIELD_MONEY] = "money",	 [FIELD_REFERENCE] = "reference",
	[FIELD_TIMESTAMP] = "timestamp", [FIELD_OBJECT] = "object",
	[FIELD_ARRAY] = "array",	 [FIELD_ANY] = "any",
};

const char *field_type_name(enum field_type type)
{
	require(type < FIELD_TYPE_COUNT);
	return names[type];
}

bool field_type_from(struct str name, enum field_type *out_type)
{
	for (size_t i = 0; i < FIELD_TYPE_COUNT; i++) {
		if (str_equal(name, str_from(names[i]))) {
			*out_type = (enum field_type)i;
			return true;
		}
	}
	return false;
}

const struct action_field *action_field(const struct action_field *fields, size_t count,
					struct str name)
{
	for (size_t i = 0; i < count; i++) {
		if (str_equal(fields[i].name, name))
			return &fields[i];
	}
	return NULL;
}

const struct action_field *action_field_enter(const struct action_field *fields, size_t count,
					      struct str *pointer)
{
	size_t step = 1 + str_find(str_from_index(*pointer, 1), '/');
	struct str first = str_of(pointer->at, step), rest;
	bool are_items = count == 1 && fields[0].name.len == 0;

	*pointer = str_from_index(*pointer, step);
	if (are_items)
		return &fields[0];
	for (size_t i = 0; i < count; i++) {
		if (text_pointer_enters(first, fields[i].name, &rest))
			return &fields[i];
	}
	return NULL;
}

bool action_is_named_like_method(struct str name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.at[i];

		if ((c < 'A' || c > 'Z') && c != '-' && c != '_')
			return false;
	}
	return true;
}

bool action_may_resend(const struct action *action)
{
	return action->is_natural || action->downstream_key.header.len ||
	       action->downstream_key.field.len;
}

bool action_keeps_request(const struct action *action)
{
	return action->is_outbox || action->approval.is_declared ||
	       (action->lock.count && action->lock.is_queue) || action->probe.get.len ||
	       action_may_resend(action);
}
