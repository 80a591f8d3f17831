/*
 * Finding what a name in a rule stands for (see check_part.h).
 */
#include "config/check_part.h"

#include "base/err.h"
#include "core/nearest.h"

#include <stdarg.h>

enum { MEND_MAX = 256, WHAT_MAX = 320 };

void naming_complain(const struct naming *naming, const char *mend, const char *format, ...)
{
	char what[WHAT_MAX], shown[QUOTE_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	report_add(naming->reading->report, naming->place, mend, "%s names `%s`, %s", naming->key,
		   quote(shown, naming->name), what);
}

static void take_field(struct naming *naming, const struct action_field *field)
{
	naming->field = field;
	naming->is_assigned = naming->is_assigned || field->is_server_assigned;
	naming->is_sure = naming->is_sure &&
			  (field->is_required || (field->default_value && !field->is_nullable));
}

/* Along a pointer. False, and reported: it does not lead to a declared field. */
static bool follow_pointer(struct naming *naming)
{
	const struct action_field *fields = naming->draft->action.fields;
	size_t count = naming->draft->action.field_count;
	struct str rest = naming->name;

	do {
		const struct action_field *field = action_field_enter(fields, count, &rest);

		if (!field) {
			naming_complain(naming, "declare the fields that it leads through",
					"which leads to a field that is not declared");
			return false;
		}
		take_field(naming, field);
		count = field->type == FIELD_OBJECT ? field->field_count : 0;
		fields = field->fields;
	} while (rest.len > 0);
	naming->part.pointer = naming->part.name;
	return true;
}

/* "/name", with what a pointer escapes. 0 or FAIL_MEMORY. */
static int write_pointer(struct arena *mem, struct str name, struct str *out_pointer)
{
	char *text = arena_alloc(mem, 2 * name.len + 2);
	size_t len = 0;

	if (!text)
		return fail(FAIL_MEMORY);
	text[len++] = '/';
	for (size_t i = 0; i < name.len; i++) {
		bool is_escaped = name.at[i] == '~' || name.at[i] == '/';

		text[len++] = is_escaped ? '~' : name.at[i];
		if (is_escaped)
			text[len++] = name.at[i] == '~' ? '0' : '1';
	}
	text[len] = '\0';
	*out_pointer = str_of(text, len);
	return 0;
}

static void complain_of_undeclared(const struct naming *naming)
{
	const struct action *action = &naming->draft->action;
	size_t best = nearest_allowance(naming->name) + 1;
	char mend[MEND_MAX], shown[QUOTE_SIZE];

	snprintf(mend, sizeof(mend), "name a field of the action or a parameter of its route");
	for (size_t i = 0; i < action->field_count; i++) {
		size_t distance = nearest_distance(naming->name, action->fields[i].name);

		if (distance >= best)
			continue;
		best = distance;
		snprintf(mend, sizeof(mend), "did you mean %s?",
			 quote(shown, action->fields[i].name));
	}
	naming_complain(naming, mend, "which is not declared");
}

/* 0; PART_WRONG: reported; FAIL_MEMORY. */
static int find_part(struct naming *naming)
{
	const struct action *action = &naming->draft->action;
	const struct action_field *field;

	naming->part = (struct rule_part){.name = naming->name};
	naming->is_sure = true;
	if (naming->name.at[0] == '/')
		return follow_pointer(naming) ? 0 : PART_WRONG;
	field = action_field(action->fields, action->field_count, naming->name);
	if (field) {
		take_field(naming, field);
		return write_pointer(&naming->reading->settings->mem, naming->name,
				     &naming->part.pointer);
	}
	if (route_parameter(&action->route, naming->name, &naming->part.parameter))
		return 0;
	complain_of_undeclared(naming);
	return PART_WRONG;
}

/* Is it the token in the body, or what that lies in? */
static bool holds_token(const struct naming *naming)
{
	struct str token = naming->draft->action.token_pointer, pointer = naming->part.pointer;

	return naming->draft->token_from == DRAFT_BODY && pointer.len > 0 &&
	       str_starts_with(token, pointer) &&
	       (token.len == pointer.len || token.at[pointer.len] == '/');
}

int naming_take(struct naming *naming)
{
	int r = find_part(naming);

	if (r != 0)
		return r;
	if (naming->is_assigned)
		naming_complain(naming, "name a field that the caller decides",
				"which is server_assigned: it says nothing of what is meant");
	else if (holds_token(naming))
		naming_complain(naming, "name a field that says what is meant",
				"which holds the token, another one for each operation");
	else if (naming->is_needed && !naming->is_sure)
		naming_complain(naming, "make it required, or give it a default",
				"which a command may lack or have as null");
	else
		return 0;
	return PART_WRONG;
}

struct naming naming_at(struct reading *reading, const struct action_draft *draft, const char *key,
			struct str name)
{
	return (struct naming){.reading = reading,
			       .draft = draft,
			       .key = key,
			       .name = name,
			       .place = draft_place(draft, key),
			       .is_needed = true};
}
