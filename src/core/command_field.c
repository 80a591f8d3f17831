/*
 * Reading one value as its field declares it: type, rules, its one spelling.
 *
 * The canonical forms: integers and decimals are exact decimals, so 1.0 is the integer 1; money
 * is {"currency":"USD","minor_units":4900} whatever unit it was declared in, so that a changed
 * declaration cannot make 49 dollars of 49 cents; references and instants are strings in the
 * spelling of reference.h and timestamp.h; the currency of an amount is upper case.
 *
 * Rules are checked on the one spelling, one fault a field: the first that is broken.
 */
#include "core/command_internal.h"

#include "base/err.h"
#include "core/money.h"
#include "core/reference.h"
#include "core/timestamp.h"

static int read_string(struct reading *reading, const struct spot *spot, struct json_value *given,
		       struct json_value **out_value);
static int read_number(struct reading *reading, const struct spot *spot, struct json_value *given,
		       struct json_value **out_value);
static int read_boolean(struct reading *reading, const struct spot *spot, struct json_value *given,
			struct json_value **out_value);
static int read_money(struct reading *reading, const struct spot *spot, struct json_value *given,
		      struct json_value **out_value);
static int read_reference(struct reading *reading, const struct spot *spot,
			  struct json_value *given, struct json_value **out_value);
static int read_timestamp(struct reading *reading, const struct spot *spot,
			  struct json_value *given, struct json_value **out_value);

int field_read(struct reading *reading, const struct spot *spot, struct json_value *given,
	       struct json_value **out_value)
{
	switch (spot->field->type) {
	case FIELD_STRING:
		return read_string(reading, spot, given, out_value);
	case FIELD_INTEGER:
	case FIELD_DECIMAL:
		return read_number(reading, spot, given, out_value);
	case FIELD_BOOLEAN:
		return read_boolean(reading, spot, given, out_value);
	case FIELD_MONEY:
		return read_money(reading, spot, given, out_value);
	case FIELD_REFERENCE:
		return read_reference(reading, spot, given, out_value);
	case FIELD_TIMESTAMP:
		return read_timestamp(reading, spot, given, out_value);
	default:
		unreachable("a field with something inside is not read here");
	}
}

static int new_string(struct reading *reading, struct str text, struct json_value **out_value)
{
	struct json_value *value = arena_zalloc(reading->mem, sizeof(*value));

	if (!value)
		return FAIL_MEMORY;
	value->type = JSON_STRING;
	value->string = text;
	*out_value = value;
	return 0;
}

/* Strings */

static size_t count_characters(struct str text)
{
	size_t count = 0;

	for (size_t i = 0; i < text.len; i++)
		count += ((unsigned char)text.at[i] & 0xc0) != 0x80;
	return count;
}

/* A text with a NUL inside matches nothing, lest the part behind it go unseen. */
static int matches(struct matcher *pattern, struct str text, bool *out_does)
{
	*out_does = false;
	if (str_find(text, '\0') < text.len)
		return 0;
	return matcher_ask(pattern, text, out_does);
}

/* May the text be held against the pattern? Strangers write both its length and their number. */
static int check_matching(struct reading *reading, const struct spot *spot, struct str text)
{
	if (text.len > MATCHER_TEXT_MAX)
		return fault_tell(reading, spot, NULL,
				  "Expected a string of at most %d bytes, as it is held against a "
				  "pattern",
				  MATCHER_TEXT_MAX);
	reading->matching_cost += matcher_cost(spot->field->pattern, text.len);
	if (reading->matching_cost > MATCHER_COST_MAX)
		return fault_tell(reading, spot, NULL,
				  "The command has too much text that is held against patterns; "
				  "send less of it");
	return 0;
}

static int check_pattern(struct reading *reading, const struct spot *spot,
			 const struct json_value *given, struct str text)
{
	char shown[SHOWN_SIZE];
	bool does = true;
	int r;

	/* A trial is of a choice, and only what has matched is compared with those. */
	if (!spot->field->pattern || !reading->faults)
		return 0;
	r = check_matching(reading, spot, text);
	if (r == 0)
		r = matches(spot->field->pattern, text, &does);
	if (r != 0 || does)
		return r;
	fault_show_text(spot->field->pattern_text, shown);
	return fault_tell(reading, spot, given, "Expected a string that matches the pattern %s",
			  shown);
}

static int check_string(struct reading *reading, const struct spot *spot,
			const struct json_value *given, struct str text)
{
	const struct action_field *field = spot->field;
	size_t length = count_characters(text);

	if (field->has_minimum_length && length < field->minimum_length)
		return fault_tell(reading, spot, given,
				  "Expected a string of at least %zu characters",
				  field->minimum_length);
	if (field->has_maximum_length && length > field->maximum_length)
		return fault_tell(reading, spot, given,
				  "Expected a string of at most %zu characters",
				  field->maximum_length);
	return check_pattern(reading, spot, given, text);
}

static int read_currency(struct reading *reading, const struct spot *spot,
			 const struct json_value *given, struct json_value **out_value);

static int read_string(struct reading *reading, const struct spot *spot, struct json_value *given,
		       struct json_value **out_value)
{
	struct json_value *value = given;
	int r = 0;

	if (given->type != JSON_STRING)
		return fault_tell(reading, spot, given, "Expected a string");
	if (record_has_currency(spot->beside, spot->field))
		r = read_currency(reading, spot, given, &value);
	if (r == 0)
		r = check_string(reading, spot, given, value->string);
	if (r == 0)
		*out_value = value;
	return r;
}

static bool has_currency(const struct action_field *field, struct str name)
{
	while (field->type == FIELD_ARRAY && field->fields)
		field = field->fields;
	return field->type == FIELD_MONEY && field->currency_field.len &&
	       str_equal(field->currency_field, name);
}

bool record_has_currency(const struct record *record, const struct action_field *field)
{
	if (!record || field->type != FIELD_STRING || field->name.len == 0)
		return false;
	for (size_t i = 0; i < record->field_count; i++) {
		if (has_currency(&record->fields[i], field->name))
			return true;
	}
	return false;
}

static int read_currency(struct reading *reading, const struct spot *spot,
			 const struct json_value *given, struct json_value **out_value)
{
	int exponent = money_exponent(given->string);
	char *upper;

	if (exponent == -2)
		return fault_tell(reading, spot, given,
				  "Expected a currency with a minor unit, like EUR or JPY");
	if (exponent < 0)
		return fault_tell(reading, spot, given,
				  "Expected a currency code of ISO 4217, like EUR or JPY");
	upper = arena_alloc(reading->mem, given->string.len);
	if (!upper)
		return FAIL_MEMORY;
	for (size_t i = 0; i < given->string.len; i++) {
		char c = ascii_lower(given->string.at[i]);

		upper[i] = (char)(c - 'a' + 'A');
	}
	return new_string(reading, str_of(upper, given->string.len), out_value);
}

/* Numbers */

static int check_range(struct reading *reading, const struct spot *spot,
		       const struct json_value *given, const struct json_number *number)
{
	const struct json_number *minimum = spot->field->minimum, *maximum = spot->field->maximum;
	char shown[SHOWN_SIZE];

	if (minimum && json_number_compare(number, minimum) < 0) {
		fault_show_number(minimum, shown);
		return fault_tell(reading, spot, given, "Expected %s or more", shown);
	}
	if (maximum && json_number_compare(number, maximum) > 0) {
		fault_show_number(maximum, shown);
		return fault_tell(reading, spot, given, "Expected %s or less", shown);
	}
	return 0;
}

static bool is_whole(const struct json_number *number)
{
	return number->digits.len == 0 ||
	       (number->point > 0 && (size_t)number->point >= number->digits.len);
}

static int read_number(struct reading *reading, const struct spot *spot, struct json_value *given,
		       struct json_value **out_value)
{
	bool is_integer = spot->field->type == FIELD_INTEGER;
	const char *mend = given->type == JSON_STRING ? ", without quotes" : "";
	int r;

	if (given->type != JSON_NUMBER)
		return fault_tell(reading, spot, given, "Expected a %snumber%s",
				  is_integer ? "whole " : "", mend);
	if (is_integer && !is_whole(&given->number))
		return fault_tell(reading, spot, given, "Expected a whole number");
	r = check_range(reading, spot, given, &given->number);
	if (r == 0)
		*out_value = given;
	return r;
}

static int read_boolean(struct reading *reading, const struct spot *spot, struct json_value *given,
			struct json_value **out_value)
{
	if (given->type != JSON_TRUE && given->type != JSON_FALSE)
		return fault_tell(reading, spot, given, "Expected true or false%s",
				  given->type == JSON_STRING ? ", without quotes" : "");
	*out_value = given;
	return 0;
}

/* Money */

/* The code that counts for an amount; {NULL, 0} when none was sent. */
static struct str currency_of(const struct spot *spot)
{
	const struct action_field *money = spot->field, *field;
	const struct json_value *value;

	if (money->currency.len)
		return money->currency;
	value = json_member(spot->beside->object, money->currency_field);
	field = record_field(spot->beside, money->currency_field);
	if (!value && field)
		value = field->default_value;
	return value && value->type == JSON_STRING ? value->string : str_of(NULL, 0);
}

/* No amount without its currency. What is wrong with one that was sent, its own field says. */
static int refuse_currency(struct reading *reading, const struct spot *spot)
{
	const struct action_field *money = spot->field;
	const struct record *beside = spot->beside;
	const struct action_field *field;
	struct json_value *value;

	if (money->currency.len)
		return fault_tell(reading, spot, NULL,
				  "Its currency is declared as one without minor units; the "
				  "configuration has to be mended");
	field = record_field(beside, money->currency_field);
	value = json_member(beside->object, money->currency_field);
	if (field && field->type == FIELD_STRING && value && value->type != JSON_NULL)
		return COMMAND_REFUSED;
	if (field && field->is_required && !value)
		return COMMAND_REFUSED;
	return fault_tell(reading, spot, NULL,
			  "An amount needs its currency: send its code, like EUR, in \"%.*s\"",
			  STR_ARG(money->currency_field));
}

static int refuse_money(struct reading *reading, const struct spot *spot,
			const struct json_value *given, enum money_fault fault, struct str currency)
{
	bool is_major = spot->field->is_major;
	int digits = is_major ? money_exponent(currency) : 0;

	switch (fault) {
	case MONEY_NO_AMOUNT:
		return fault_tell(reading, spot, given,
				  "Expected an amount in %s units, like %s: digits without "
				  "grouping, blanks or symbols",
				  is_major ? "major" : "minor", is_major ? "49.00" : "4900");
	case MONEY_TOO_FINE:
		if (!is_major)
			return fault_tell(reading, spot, given,
					  "Expected a whole number of minor units, like 4900");
		return fault_tell(reading, spot, given,
				  "Expected at most %d digits after the point, as many as its "
				  "currency has",
				  digits);
	case MONEY_TOO_LARGE:
		return fault_tell(reading, spot, given,
				  "Expected an amount of at most 2^63 - 1 minor units");
	case MONEY_FINE:
	case MONEY_UNKNOWN_CURRENCY:
	case MONEY_NO_MINOR_UNIT:
		break;
	}
	return refuse_currency(reading, spot);
}

/* A whole number as an exact decimal. */
static int number_from_i64(struct reading *reading, int64_t amount, struct json_number *out_number)
{
	struct str text = arena_printf(reading->mem, "%lld", (long long)amount);

	if (!text.at)
		return FAIL_MEMORY;
	return json_number_read(text, &json_limits_default, reading->mem, out_number);
}

/* The number in the unit of the field, against its bounds. */
static int check_money(struct reading *reading, const struct spot *spot,
		       const struct json_value *given, const struct money *money,
		       struct json_number number)
{
	int exponent = money_exponent(str_from(money->currency));

	require(exponent >= 0);
	if (spot->field->is_major && number.digits.len)
		number.point -= exponent;
	return check_range(reading, spot, given, &number);
}

/* {"currency": "USD", "minor_units": 4900} */
static int new_money(struct reading *reading, const struct money *money, struct json_number number,
		     struct json_value **out_value)
{
	struct json_value *values = arena_zalloc(reading->mem, 3 * sizeof(*values));
	struct json_member *members = arena_alloc(reading->mem, 2 * sizeof(*members));
	struct str currency = arena_str(reading->mem, str_from(money->currency));

	if (!values || !members || !currency.at)
		return FAIL_MEMORY;
	values[1].type = JSON_STRING;
	values[1].string = currency;
	values[2].type = JSON_NUMBER;
	values[2].number = number;
	members[0] = (struct json_member){.name = STR("currency"), .value = &values[1]};
	members[1] = (struct json_member){.name = STR("minor_units"), .value = &values[2]};
	values[0].type = JSON_OBJECT;
	values[0].object.members = members;
	values[0].object.count = 2;
	*out_value = values;
	return 0;
}

static int read_money(struct reading *reading, const struct spot *spot, struct json_value *given,
		      struct json_value **out_value)
{
	struct str currency = currency_of(spot);
	enum money_fault fault = MONEY_NO_AMOUNT;
	struct json_number number;
	struct money money;
	int r;

	if (given->type == JSON_NUMBER)
		fault = money_from_number(&given->number, currency, spot->field->is_major, &money);
	else if (given->type == JSON_STRING)
		fault = money_from_text(given->string, currency, spot->field->is_major, &money);
	if (fault != MONEY_FINE)
		return refuse_money(reading, spot, given, fault, currency);
	r = number_from_i64(reading, money.minor_units, &number);
	if (r == 0)
		r = check_money(reading, spot, given, &money, number);
	return r ? r : new_money(reading, &money, number, out_value);
}

/* References and instants */

static int read_reference(struct reading *reading, const struct spot *spot,
			  struct json_value *given, struct json_value **out_value)
{
	struct str reference;
	int r = REFERENCE_MALFORMED;

	if (given->type == JSON_STRING)
		r = reference_read(given->string, reading->mem, &reference);
	if (r == REFERENCE_MUTABLE)
		return fault_tell_mutable(reading, spot, given);
	if (r == REFERENCE_MALFORMED)
		return fault_tell(reading, spot, given,
				  "Expected sha256: and 64 hexadecimal digits, sha512: and 128, "
				  "either behind name@, or a commit id of 40 or 64");
	return r ? r : new_string(reading, reference, out_value);
}

static int read_timestamp(struct reading *reading, const struct spot *spot,
			  struct json_value *given, struct json_value **out_value)
{
	struct str instant;
	int r = TIMESTAMP_MALFORMED;

	if (given->type == JSON_STRING)
		r = timestamp_read(given->string, reading->mem, &instant);
	if (r == TIMESTAMP_MALFORMED)
		return fault_tell(reading, spot, given,
				  "Expected an instant of RFC 3339 with its offset, like "
				  "2026-01-31T09:30:00Z");
	return r ? r : new_string(reading, instant, out_value);
}

/* Comparing */

static int equal_texts(struct reading *reading, const struct json_value *a,
		       const struct json_value *b, bool *out_is_equal)
{
	struct buf text_a, text_b;
	int r;

	buf_init(&text_a, SIZE_MAX / 4);
	buf_init(&text_b, SIZE_MAX / 4);
	r = json_canonical(a, reading->mem, &text_a);
	if (r == 0)
		r = json_canonical(b, reading->mem, &text_b);
	if (r == 0)
		*out_is_equal = str_equal(buf_str(&text_a), buf_str(&text_b));
	buf_fini(&text_a);
	buf_fini(&text_b);
	return r ? FAIL_MEMORY : 0;
}

int field_equal(struct reading *reading, const struct json_value *a, const struct json_value *b,
		bool *out_is_equal)
{
	*out_is_equal = false;
	if (a->type != b->type)
		return 0;
	switch (a->type) {
	case JSON_NULL:
	case JSON_FALSE:
	case JSON_TRUE:
		*out_is_equal = true;
		return 0;
	case JSON_STRING:
		*out_is_equal = str_equal(a->string, b->string);
		return 0;
	case JSON_NUMBER:
		*out_is_equal = json_number_compare(&a->number, &b->number) == 0;
		return 0;
	case JSON_ARRAY:
	case JSON_OBJECT:
		return equal_texts(reading, a, b, out_is_equal);
	}
	unreachable("a JSON value of no type");
}
