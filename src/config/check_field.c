/*
 * Rules of one field that cannot stand together, each being right by itself.
 *
 * A field is put together here from its draft. What a rule means depends on the type, so
 * first come the rules that the type does not have; only a field without any of those is
 * looked at further. Values (default, enum) are checked by what checks commands, against the
 * field's own rules, so that a default is a value that a command could have had.
 */
#include "config/table.h"

#include "base/err.h"
#include "core/command.h"
#include "core/money.h"

#include <stdarg.h>

enum {
	CHECK_MEMORY_MAX = 4 * 1024 * 1024, /* of reading one value as a command */
	COMMAND_BYTES_MAX = 2 * 1024 * 1024,
};

#define OF(type) (1U << FIELD_##type)
#define NUMBERS	 (OF(INTEGER) | OF(DECIMAL) | OF(MONEY))

/* Which types have a rule. */
static const struct {
	const char *key;
	unsigned types;
	const char *mend;
} rules[] = {
	{"enum", OF(STRING) | OF(INTEGER) | OF(DECIMAL),
	 "remove it: strings, integers and decimals have one"},
	{"min_length", OF(STRING), "remove it, or make the type string"},
	{"max_length", OF(STRING), "remove it, or make the type string"},
	{"pattern", OF(STRING), "remove it, or make the type string"},
	{"minimum", NUMBERS, "remove it: integers, decimals and money have one"},
	{"maximum", NUMBERS, "remove it: integers, decimals and money have one"},
	{"currency", OF(MONEY), "remove it, or make the type money"},
	{"unit", OF(MONEY), "remove it, or make the type money"},
	{"fields", OF(OBJECT), "remove it, or make the type object"},
	{"unknown_fields", OF(OBJECT), "remove it, or make the type object"},
	{"items", OF(ARRAY), "remove it, or make the type array"},
	{"min_items", OF(ARRAY), "remove it, or make the type array"},
	{"max_items", OF(ARRAY), "remove it, or make the type array"},
};

/* What a check works on. */
struct checking {
	struct reading *reading;
	struct field_draft *draft;
	struct action_field *field;
	const struct field_list *beside;
};

static void complain(struct checking *checking, const char *key, const char *mend,
		     const char *format, ...) __attribute__((format(printf, 4, 5)));

static bool is_given(const struct checking *checking, const char *key)
{
	return node_key(checking->draft->map, str_from(key)) != NULL;
}

static const char *type_name(const struct checking *checking)
{
	return field_type_name(checking->field->type);
}

/* "the field amount" or "items", and what is wrong, where its rule `key` stands. */
static void complain(struct checking *checking, const char *key, const char *mend,
		     const char *format, ...)
{
	const struct node *map = checking->draft->map;
	const struct node *at = key ? node_key(map, str_from(key)) : NULL;
	char what[320], shown[QUOTE_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	quote(shown, checking->field->name);
	report_add(checking->reading->report, at ? at->value->place : map->place, mend, "%s%s %s",
		   shown[0] ? "the field " : "items", shown, what);
	checking->draft->is_wrong = true;
}

/* What lies in a secret is one: its default and its choices are shown to nobody either. */
static void make_secret(struct action_field *fields, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		fields[i].is_secret = true;
		make_secret(fields[i].fields, fields[i].field_count);
	}
}

static void put_together(struct checking *checking)
{
	const struct field_draft *draft = checking->draft;
	struct action_field *field = checking->field;
	bool is_array = field->type == FIELD_ARRAY;

	field->has_minimum_length = is_given(checking, is_array ? "min_items" : "min_length");
	field->has_maximum_length = is_given(checking, is_array ? "max_items" : "max_length");
	field->minimum_length = is_array ? draft->min_items : draft->min_length;
	field->maximum_length = is_array ? draft->max_items : draft->max_length;
	field->choices = draft->choices.values;
	field->choice_count = draft->choices.count;
	field->is_major = draft->unit == DRAFT_MAJOR;
	field->fields = draft->fields.fields;
	field->field_count = draft->fields.count;
	field->keeps_unknown = draft->unknown_fields == DRAFT_KEEP;
	if (field->is_secret)
		make_secret(field->fields, field->field_count);
	if (field->type == FIELD_OBJECT && !is_given(checking, "fields") &&
	    !is_given(checking, "unknown_fields"))
		field->keeps_unknown = true;
}

static void check_rules_of_type(struct checking *checking)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (is_given(checking, rules[i].key) &&
		    !(rules[i].types & (1U << checking->field->type)))
			complain(checking, rules[i].key, rules[i].mend,
				 "is of type %s, which has no %s", type_name(checking),
				 rules[i].key);
	}
}

static void check_presence(struct checking *checking)
{
	const struct action_field *field = checking->field;
	bool is_item = field->name.len == 0;

	if (is_item && field->is_required)
		complain(checking, "required", "remove it; min_items says how many there must be",
			 "cannot be required");
	if (is_item && field->default_value)
		complain(checking, "default", "remove it", "cannot have a default");
	if (is_item && field->is_server_assigned)
		complain(checking, "server_assigned", "give it to the array itself",
			 "cannot be server_assigned");
	if (is_item)
		return;
	if (field->is_required && field->default_value)
		complain(checking, "default", "remove it, or required",
			 "is required, so its default is never taken");
	if (field->is_server_assigned && field->is_required)
		complain(checking, "server_assigned", "remove it, or required",
			 "is required of the caller and assigned by the server");
	if (field->is_server_assigned && field->default_value)
		complain(checking, "default", "remove it, or server_assigned",
			 "is left out of the fingerprint, so its default counts for nothing");
}

static void check_unknown_fields(struct checking *checking)
{
	if (checking->field->type == FIELD_OBJECT && is_given(checking, "unknown_fields") &&
	    !is_given(checking, "fields"))
		complain(checking, "unknown_fields", "declare fields, or remove it",
			 "may have any member as it declares none: unknown_fields has no use");
}

static void check_bounds(struct checking *checking)
{
	const struct action_field *field = checking->field;
	bool is_array = field->type == FIELD_ARRAY;

	if (field->has_minimum_length && field->has_maximum_length &&
	    field->minimum_length > field->maximum_length)
		complain(checking, is_array ? "min_items" : "min_length",
			 "make it at most as large as the other", "has a least over its most");
	if (field->minimum && field->maximum &&
	    json_number_compare(field->minimum, field->maximum) > 0)
		complain(checking, "minimum", "make it at most the maximum",
			 "has a minimum over its maximum");
}

/* A field that can hold the code of a currency, beside this one; NULL: there is none. */
static const struct action_field *find_beside(const struct checking *checking, struct str name)
{
	for (size_t i = 0; i < checking->beside->count; i++) {
		const struct action_field *other = &checking->beside->fields[i];

		if (other->name.len > 0 && str_equal(other->name, name))
			return other;
	}
	return NULL;
}

static bool is_code(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.at[i] < 'A' || text.at[i] > 'Z')
			return false;
	}
	return text.len == 3;
}

static void check_currency(struct checking *checking)
{
	struct action_field *field = checking->field;
	struct str currency = checking->draft->currency;
	const struct action_field *other = find_beside(checking, currency);
	char shown[QUOTE_SIZE];

	if (field->type != FIELD_MONEY)
		return;
	if (currency.len == 0) {
		complain(checking, NULL,
			 "add currency: with the name of the field that holds it, or a code like "
			 "EUR",
			 "is money without a currency");
	} else if (other && (other->type != FIELD_STRING || other->is_server_assigned)) {
		complain(checking, "currency", "make it a string that the caller sends",
			 "takes its currency from %s, which is %s", quote(shown, currency),
			 other->is_server_assigned ? "server_assigned" : "no string");
	} else if (other) {
		field->currency_field = currency;
	} else if (!is_code(currency)) {
		complain(checking, "currency",
			 "declare that field beside it, or write a code like EUR",
			 "takes its currency from %s, which is not declared beside it",
			 quote(shown, currency));
	} else if (money_exponent(currency) < 0) {
		complain(checking, "currency", "write a code of ISO 4217, like EUR",
			 "has the currency %s, which %s", quote(shown, currency),
			 money_exponent(currency) == -2 ? "has no minor unit" : "is not known");
	} else {
		field->currency = currency;
	}
}

/* An array whose items are not described holds any. */
static int describe_items(struct checking *checking)
{
	struct action_field *field = checking->field;

	if (field->type != FIELD_ARRAY || field->field_count > 0)
		return 0;
	field->fields = arena_zalloc(&checking->reading->settings->mem, sizeof(*field->fields));
	if (!field->fields)
		return fail(FAIL_MEMORY);
	field->fields[0] = (struct action_field){
		.name = STR(""), .type = FIELD_ANY, .is_nullable = true, .keeps_unknown = true};
	field->field_count = 1;
	return 0;
}

/* The field alone, as a command of one; money in a currency with the finest unit there is. */
static struct action_field probe_of(const struct action_field *field, bool is_choice)
{
	struct action_field probe = *field;

	probe.name = STR("value");
	probe.default_value = NULL;
	probe.is_required = probe.is_server_assigned = false;
	if (is_choice) {
		probe.choices = NULL;
		probe.choice_count = 0;
	}
	if (probe.currency_field.len > 0) {
		probe.currency_field = STR("");
		probe.currency = STR("CLF");
	}
	return probe;
}

/* Would a command be refused for that value? 0 or 1 with `detail`; FAIL_MEMORY. */
static int try_value(const struct action_field *probe, const struct json_value *value,
		     struct arena *mem, char detail[200])
{
	struct json_member member = {.name = STR("value"), .value = (struct json_value *)value};
	struct json_value body = {.type = JSON_OBJECT, .object = {&member, 1}};
	struct action action = {
		.name = STR("check"),
		.fields = (struct action_field *)probe,
		.field_count = 1,
		.has_fields = true,
	};
	struct command_faults *faults = arena_zalloc(mem, sizeof(*faults));
	const struct json_value *command;
	struct buf out;
	int r;

	if (!faults)
		return fail(FAIL_MEMORY);
	buf_init(&out, COMMAND_BYTES_MAX);
	r = command_read(&action, &body, mem, &out, &command, faults);
	buf_fini(&out);
	if (r != COMMAND_REFUSED)
		return r;
	snprintf(detail, 200, "%s",
		 faults->count > 0 ? faults->faults[0].detail : "it is not of the field's type");
	return COMMAND_REFUSED;
}

/* Without the full stop of its sentence. */
static size_t length_without_stop(const char *detail)
{
	size_t len = strlen(detail);

	return len > 0 && detail[len - 1] == '.' ? len - 1 : len;
}

static const char *mend_of(const struct checking *checking, const struct json_value *value)
{
	bool is_text = checking->field->type == FIELD_STRING && value->type != JSON_STRING;

	return is_text ? "put it in quotes to make it a text, or write one that the field may have"
		       : "write one that a command could have";
}

static int check_value(struct checking *checking, const char *key, const struct json_value *value,
		       const struct node *at)
{
	struct action_field probe = probe_of(checking->field, strcmp(key, "enum") == 0);
	struct place place = at->place;
	char detail[200] = "", shown[QUOTE_SIZE];
	struct arena mem;
	int r;

	arena_init(&mem, CHECK_MEMORY_MAX);
	r = try_value(&probe, value, &mem, detail);
	arena_fini(&mem);
	if (r != COMMAND_REFUSED)
		return r;
	report_add(checking->reading->report, place, mend_of(checking, value),
		   "%s of the field %s breaks its own rules (%.*s)",
		   strcmp(key, "enum") == 0 ? "a value in enum" : "the default",
		   quote(shown, checking->field->name), (int)length_without_stop(detail), detail);
	checking->draft->is_wrong = true;
	return 0;
}

static int check_values(struct checking *checking)
{
	struct action_field *field = checking->field;
	const struct node *list = node_key(checking->draft->map, STR("enum"));
	const struct node *fallback = node_key(checking->draft->map, STR("default"));
	const struct node *item = list ? list->value->first : NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < field->choice_count; i++, item = item->next)
		r = check_value(checking, "enum", field->choices[i], item);
	if (r == 0 && !checking->draft->is_wrong && field->default_value)
		r = check_value(checking, "default", field->default_value, fallback->value);
	return r;
}

int check_field(struct reading *reading, struct field_draft *draft, const struct field_list *beside)
{
	struct checking checking = {reading, draft, &draft->field, beside};
	int r;

	if (draft->is_wrong)
		return 0;
	draft->field.type = (enum field_type)draft->type;
	put_together(&checking);
	check_rules_of_type(&checking);
	check_presence(&checking);
	check_unknown_fields(&checking);
	check_bounds(&checking);
	check_currency(&checking);
	r = describe_items(&checking);
	if (r == 0 && !draft->is_wrong)
		r = check_values(&checking);
	return r;
}
