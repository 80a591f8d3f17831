/*
 * Reading a command.
 *
 * The body is walked as the action declares it: one C call a declared level, which a
 * configuration bounds, never one a level of the body. Each object is read twice over: every
 * declared field finds its member (or its default), then every member has to be a declared one.
 * What is read builds a second tree beside the body, in which values have their one spelling;
 * its canonical text is the command. Values that nothing is declared of are shared with the body.
 *
 * Left out of the command, but checked: what the server assigns, and the token where it stands
 * in the body, because two tokens for one intention are exactly what must be found out. (A token
 * that is an item of an array stays.) A token need not be declared; the objects around it do.
 *
 * Always true: a refusal appends nothing and comes with a fault.
 */
#include "core/command_internal.h"

#include "base/err.h"
#include "core/alike.h"
#include "core/nearest.h"
#include "core/text.h"

/* Names of the body are spelled in a pointer up to here; beyond, it points at the object. */
enum { NAME_SPELLED_MAX = 128, LIST_SIZE = 100 };

static int read_value(struct reading *reading, const struct spot *spot, struct json_value *given,
		      struct json_value **out_value);
static int read_body(struct reading *reading, const struct action *action, const struct spot *spot,
		     struct json_value *body, struct json_value **out_value);
static int strip(struct reading *reading, struct str token, struct json_value *given,
		 struct json_value **out_value);

int command_read(const struct action *action, const struct json_value *body, struct arena *mem,
		 struct buf *out, const struct json_value **out_command,
		 struct command_faults *out_faults)
{
	struct reading reading = {
		.mem = mem, .faults = out_faults, .reserved = action->downstream_key.field};
	struct spot spot = {.token = action->token_pointer,
			    .leads_to_token = action->token_pointer.len > 0};
	struct json_value *copy, *command;
	int r;

	out_faults->count = out_faults->left_out = 0;
	if (!body && action->has_fields)
		return fault_tell(&reading, &spot, NULL,
				  "The body is empty; send a JSON object, {} for one without "
				  "fields");
	if (!body) {
		*out_command = NULL;
		return 0;
	}
	copy = arena_alloc(mem, sizeof(*copy));
	if (!copy)
		return FAIL_MEMORY;
	*copy = *body;
	r = read_body(&reading, action, &spot, copy, &command);
	if (r == 0)
		r = json_canonical(command, mem, out);
	if (r == 0)
		*out_command = command;
	return r;
}

static int read_object(struct reading *reading, const struct spot *spot,
		       const struct record *record, struct json_value **out_value);

static int read_body(struct reading *reading, const struct action *action, const struct spot *spot,
		     struct json_value *body, struct json_value **out_value)
{
	const struct record record = {
		.fields = action->fields,
		.field_count = action->field_count,
		.keeps_unknown = action->keeps_unknown,
		.object = body,
	};

	if (!action->has_fields)
		return strip(reading, spot->token, body, out_value);
	if (body->type != JSON_OBJECT)
		return fault_tell(reading, spot, body, "Expected a JSON object");
	return read_object(reading, spot, &record, out_value);
}

static struct spot spot_below(const struct spot *above, const struct record *beside,
			      const struct action_field *field, struct str name)
{
	struct spot spot = {
		.above = above,
		.field = field,
		.beside = beside,
		.name = name,
		.is_secret = above->is_secret || (field && field->is_secret),
	};

	spot.leads_to_token =
		above->leads_to_token && text_pointer_enters(above->token, name, &spot.token);
	return spot;
}

static bool is_token(const struct spot *spot)
{
	return spot->leads_to_token && spot->token.len == 0;
}

/* Objects */

static int read_field(struct reading *reading, const struct spot *above,
		      const struct record *record, const struct action_field *field,
		      struct json_value **out_value);
static int take_unknown(struct reading *reading, const struct spot *above,
			const struct record *record, const struct json_member *member,
			struct json_value **out_value);

static struct json_value *new_object(struct arena *mem, size_t room)
{
	struct json_value *object = arena_zalloc(mem, sizeof(*object));

	if (!object)
		return NULL;
	object->type = JSON_OBJECT;
	if (room)
		object->object.members = arena_alloc(mem, room * sizeof(struct json_member));
	return room && !object->object.members ? NULL : object;
}

/* Every member, and every default, has its place. */
static size_t count_members(const struct record *record)
{
	size_t count = record->object->object.count;

	for (size_t i = 0; i < record->field_count; i++)
		count += record->fields[i].default_value != NULL;
	return count;
}

static void add_member(struct json_value *object, struct str name, struct json_value *value)
{
	if (value)
		object->object.members[object->object.count++] =
			(struct json_member){.name = name, .value = value};
}

static int read_object(struct reading *reading, const struct spot *spot,
		       const struct record *record, struct json_value **out_value)
{
	const struct json_value *given = record->object;
	struct json_value *object = new_object(reading->mem, count_members(record)), *value;
	int refused = 0, r;

	if (!object)
		return FAIL_MEMORY;
	for (size_t i = 0; i < record->field_count; i++) {
		r = read_field(reading, spot, record, &record->fields[i], &value);
		if (r < 0)
			return r;
		if (r == 0)
			add_member(object, record->fields[i].name, value);
		refused |= r;
	}
	for (size_t i = 0; i < given->object.count; i++) {
		struct json_member *member = &given->object.members[i];

		if (record_field(record, member->name))
			continue;
		r = take_unknown(reading, spot, record, member, &value);
		if (r < 0)
			return r;
		if (r == 0)
			add_member(object, member->name, value);
		refused |= r;
	}
	*out_value = object;
	return refused;
}

const struct action_field *record_field(const struct record *record, struct str name)
{
	return action_field(record->fields, record->field_count, name);
}

static int refuse_absent(struct reading *reading, const struct spot *above,
			 const struct record *record, const struct action_field *field)
{
	struct spot spot;

	if (reading->faults && reading->faults->count == COMMAND_FAULTS_MAX) {
		reading->faults->left_out++;
		return COMMAND_REFUSED;
	}
	spot = spot_below(above, record, field, field->name);
	return fault_tell(reading, &spot, NULL, "This field is required (%s)",
			  field_type_name(field->type));
}

/* *out_value is NULL where nothing of it belongs to the command. */
static int read_field(struct reading *reading, const struct spot *above,
		      const struct record *record, const struct action_field *field,
		      struct json_value **out_value)
{
	struct json_value *given = json_member(record->object, field->name);
	struct spot spot;
	int r;

	*out_value = NULL;
	/* An array may have very many objects in which fields are absent: first what is quick. */
	if (!given && !field->default_value)
		return field->is_required ? refuse_absent(reading, above, record, field) : 0;
	spot = spot_below(above, record, field, field->name);
	if (!given) {
		given = arena_alloc(reading->mem, sizeof(*given));
		if (!given)
			return FAIL_MEMORY;
		*given = *field->default_value;
	}
	r = read_value(reading, &spot, given, out_value);
	if (field->is_server_assigned || is_token(&spot))
		*out_value = NULL;
	return r;
}

static int refuse_unknown(struct reading *reading, const struct spot *above,
			  const struct record *record, struct str name);

static int take_kept(struct reading *reading, const struct spot *spot, const struct record *record,
		     const struct json_member *member, struct json_value **out_value);

static int take_unknown(struct reading *reading, const struct spot *above,
			const struct record *record, const struct json_member *member,
			struct json_value **out_value)
{
	struct spot spot = spot_below(above, record, NULL, member->name);

	*out_value = NULL;
	if (is_token(&spot))
		return member->value->type == JSON_STRING
			       ? 0
			       : fault_tell(reading, &spot, member->value,
					    "Expected the operation's token, a string");
	if (!above->above && member->name.len && str_equal(member->name, reading->reserved))
		return fault_tell(reading, &spot, NULL,
				  "This field is set by the gate; leave it out");
	if (!record->keeps_unknown)
		return refuse_unknown(reading, above, record, member->name);
	return take_kept(reading, &spot, record, member, out_value);
}

/* One that a service may take for a declared field would go past all that is declared of that. */
static int take_kept(struct reading *reading, const struct spot *spot, const struct record *record,
		     const struct json_member *member, struct json_value **out_value)
{
	struct str plain, name = STR("");
	bool are = false;
	int r = alike_plain(member->name, reading->mem, &plain);

	for (size_t i = 0; r == 0 && !are && i < record->field_count; i++) {
		name = record->fields[i].name;
		r = alike_ask_plain(plain, name, reading->mem, &are);
	}
	if (r < 0)
		return r;
	if (are && spot->is_secret)
		return fault_tell(reading, spot->above, NULL,
				  "There is a field in it whose name is written in two ways");
	if (are)
		return fault_tell(
			reading, spot->above, NULL,
			"There is a second spelling of the field \"%.*s\"; write its name "
			"as it is declared",
			STR_ARG(name));
	return strip(reading, spot->token, member->value, out_value);
}

static const struct action_field *nearest_field(const struct record *record, struct str name)
{
	size_t best_distance = nearest_allowance(name) + 1;
	const struct action_field *best = NULL;

	for (size_t i = 0; i < record->field_count; i++) {
		size_t distance = nearest_distance(name, record->fields[i].name);

		if (distance < best_distance) {
			best_distance = distance;
			best = &record->fields[i];
		}
	}
	return best;
}

/*
 * One more of a list for people; false when only the dots had room, which ends it. `out` begins
 * as "" and has room for the dots.
 */
static bool list_add(char *out, size_t size, struct str text)
{
	static const char dots[] = ", …";
	size_t len = strlen(out);

	if (len + 2 + text.len + sizeof(dots) > size) {
		memcpy(out + len, len ? dots : dots + 2, sizeof(dots) - (len ? 0 : 2));
		return false;
	}
	if (len) {
		memcpy(out + len, ", ", 2);
		len += 2;
	}
	memcpy(out + len, text.at, text.len);
	out[len + text.len] = '\0';
	return true;
}

static void list_fields(const struct record *record, char *out, size_t size)
{
	size_t i = 0;

	out[0] = '\0';
	while (i < record->field_count && list_add(out, size, record->fields[i].name))
		i++;
}

static int refuse_unknown(struct reading *reading, const struct spot *above,
			  const struct record *record, struct str name)
{
	struct spot below = spot_below(above, record, NULL, name);
	const struct spot *spot = name.len > NAME_SPELLED_MAX ? above : &below;
	const struct action_field *near;
	char shown[SHOWN_SIZE], known[LIST_SIZE];

	if (above->is_secret)
		return fault_tell(reading, above, NULL, "There is a field in it that is not known");
	/* Once no more is told, nothing is looked for either: a body may have very many. */
	if (!reading->faults || reading->faults->count == COMMAND_FAULTS_MAX)
		return fault_tell(reading, spot, NULL, "This field is not known");
	near = nearest_field(record, name);
	fault_show_text(name, shown);
	if (near)
		return fault_tell(reading, spot, NULL,
				  "There is no field %s; did you mean \"%.*s\"?", shown,
				  STR_ARG(near->name));
	if (record->field_count == 0)
		return fault_tell(reading, spot, NULL, "There is no field %s; none is expected",
				  shown);
	list_fields(record, known, sizeof(known));
	return fault_tell(reading, spot, NULL, "There is no field %s; known are %s", shown, known);
}

/* Values with something inside */

static int read_array(struct reading *reading, const struct spot *spot,
		      const struct json_value *given, struct json_value **out_value)
{
	const struct action_field *field = spot->field, *item = field->fields;
	struct json_value *array = arena_zalloc(reading->mem, sizeof(*array));
	size_t count = given->array.count;
	int refused = 0;

	if (field->has_minimum_length && count < field->minimum_length)
		refused = fault_tell(reading, spot, NULL, "Expected at least %zu items, not %zu",
				     field->minimum_length, count);
	if (field->has_maximum_length && count > field->maximum_length)
		refused = fault_tell(reading, spot, NULL, "Expected at most %zu items, not %zu",
				     field->maximum_length, count);
	if (refused < 0 || !array)
		return FAIL_MEMORY;
	array->type = JSON_ARRAY;
	array->array.items = arena_alloc(reading->mem, count * sizeof(array->array.items[0]) + 1);
	if (!array->array.items)
		return FAIL_MEMORY;
	array->array.count = count;
	for (size_t i = 0; i < count; i++) {
		struct spot below = {.above = spot,
				     .field = item,
				     .beside = spot->beside,
				     .index = i,
				     .is_item = true,
				     .is_secret = spot->is_secret || item->is_secret};
		int r = read_value(reading, &below, given->array.items[i], &array->array.items[i]);

		if (r < 0)
			return r;
		refused |= r;
	}
	*out_value = array;
	return refused;
}

/* An object or array of which nothing more is declared is taken as it is. */
static int read_structure(struct reading *reading, const struct spot *spot,
			  struct json_value *given, struct json_value **out_value)
{
	const struct action_field *field = spot->field;
	const struct record record = {
		.fields = field->fields,
		.field_count = field->field_count,
		.keeps_unknown = field->keeps_unknown,
		.object = given,
	};
	bool is_object = field->type == FIELD_OBJECT;

	if (given->type != (is_object ? JSON_OBJECT : JSON_ARRAY))
		return fault_tell(reading, spot, given, "Expected an %s",
				  is_object ? "object" : "array");
	if (is_object && field->fields)
		return read_object(reading, spot, &record, out_value);
	if (!is_object && field->fields)
		return read_array(reading, spot, given, out_value);
	return strip(reading, spot->token, given, out_value);
}

static int check_choices(struct reading *reading, const struct spot *spot,
			 const struct json_value *given, const struct json_value *value);

/* Null is one of the values of any, unless there has to be one. */
static bool is_any_null(const struct action_field *field)
{
	return field->type == FIELD_ANY && !field->is_required;
}

/* As its type says, without the choices; what null is has been settled. */
static int read_typed(struct reading *reading, const struct spot *spot, struct json_value *given,
		      struct json_value **out_value)
{
	switch (spot->field->type) {
	case FIELD_OBJECT:
	case FIELD_ARRAY:
		return read_structure(reading, spot, given, out_value);
	case FIELD_ANY:
		return strip(reading, spot->token, given, out_value);
	default:
		return field_read(reading, spot, given, out_value);
	}
}

static int read_value(struct reading *reading, const struct spot *spot, struct json_value *given,
		      struct json_value **out_value)
{
	struct json_value *value;
	int r;

	if (given->type == JSON_NULL && spot->field->is_nullable) {
		*out_value = given;
		return 0;
	}
	if (given->type == JSON_NULL && !is_any_null(spot->field))
		return fault_tell(
			reading, spot, NULL, "This field is not nullable: send a value (%s)%s",
			field_type_name(spot->field->type),
			spot->field->is_required || spot->is_item ? "" : ", or leave it out");
	r = read_typed(reading, spot, given, &value);
	if (r == 0 && spot->field->choices)
		r = check_choices(reading, spot, given, value);
	if (r == 0)
		*out_value = value;
	return r;
}

static void list_choices(const struct action_field *field, char *out, size_t size)
{
	char shown[SHOWN_SIZE];
	size_t i = 0;

	out[0] = '\0';
	for (bool has_room = true; has_room && i < field->choice_count; i++) {
		fault_show(field->choices[i], shown);
		has_room = list_add(out, size, str_from(shown));
	}
}

/* A choice means what it would mean as a value: brought to its one spelling before. */
static int check_choices(struct reading *reading, const struct spot *spot,
			 const struct json_value *given, const struct json_value *value)
{
	struct reading trial = {.mem = reading->mem};
	char known[LIST_SIZE];

	for (size_t i = 0; i < spot->field->choice_count; i++) {
		struct json_value choice = *spot->field->choices[i], *spelled;
		bool is_equal = false;
		bool is_fine = choice.type != JSON_NULL || is_any_null(spot->field);
		int r = is_fine ? read_typed(&trial, spot, &choice, &spelled) : COMMAND_REFUSED;

		if (r == 0)
			r = field_equal(reading, value, spelled, &is_equal);
		if (r < 0)
			return r;
		if (is_equal)
			return 0;
	}
	if (spot->is_secret)
		return fault_tell(reading, spot, NULL, "Expected one of its declared values");
	list_choices(spot->field, known, sizeof(known));
	return fault_tell(reading, spot, given, "Expected one of %s", known);
}

/* The token taken out of what nothing is declared of */

/*
 * `given` without what the pointer `token` leads to; `given` itself when it leads nowhere. The
 * objects on the way are copied, as far as their members.
 */
static int strip(struct reading *reading, struct str token, struct json_value *given,
		 struct json_value **out_value)
{
	struct json_value **place = out_value;

	*place = given;
	while (token.len && given->type == JSON_OBJECT) {
		size_t count = given->object.count, at = 0;
		struct json_value *copy;
		struct str rest = {NULL, 0};

		while (at < count &&
		       !text_pointer_enters(token, given->object.members[at].name, &rest))
			at++;
		if (at == count)
			return 0;
		copy = new_object(reading->mem, count);
		if (!copy)
			return FAIL_MEMORY;
		memcpy(copy->object.members, given->object.members,
		       count * sizeof(copy->object.members[0]));
		copy->object.count = count;
		*place = copy;
		if (rest.len == 0) {
			copy->object.members[at] = copy->object.members[--copy->object.count];
			return 0;
		}
		place = &copy->object.members[at].value;
		given = *place;
		token = rest;
	}
	return 0;
}
