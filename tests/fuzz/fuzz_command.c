/*
 * Fuzzing the reading of a command: a body for an action that has a field of every type.
 *
 * Whatever is accepted is canonical JSON, and the same command when its members come in the
 * other order. Whatever is refused has a fault, and each fault a pointer, a whole sentence in
 * proper UTF-8, and none of what the secret field holds.
 */
#include "base/err.h"
#include "core/command.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { INPUT_MAX = 1 << 14, CEILING = 1 << 26, SECRET_MIN = 12 };

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const struct json_value low = {.type = JSON_STRING, .string = {"low", 3}};
static const struct json_value high = {.type = JSON_STRING, .string = {"high", 4}};
static const struct json_value instant = {.type = JSON_STRING,
					  .string = {"2026-01-01T01:00:00+01:00", 25}};
static const struct json_number one = {.digits = {"1", 1}, .point = 1};
static const struct json_value *priorities[] = {&low, &high};

static struct action_field line_fields[] = {
	{.name = {"n", 1}, .type = FIELD_INTEGER, .is_required = true, .minimum = &one},
	{.name = {"price", 5}, .type = FIELD_MONEY, .currency = {"KWD", 3}, .is_major = true},
};
static struct action_field line = {
	.type = FIELD_OBJECT, .fields = line_fields, .field_count = LENGTH(line_fields)};

static struct action_field fields[] = {
	{.name = {"amount", 6},
	 .type = FIELD_MONEY,
	 .currency_field = {"currency", 8},
	 .is_major = true,
	 .minimum = &one},
	{.name = {"currency", 8}, .type = FIELD_STRING, .is_nullable = true},
	{.name = {"title", 5},
	 .type = FIELD_STRING,
	 .has_maximum_length = true,
	 .maximum_length = 8},
	{.name = {"priority", 8},
	 .type = FIELD_STRING,
	 .default_value = &low,
	 .choices = priorities,
	 .choice_count = LENGTH(priorities)},
	{.name = {"secret", 6},
	 .type = FIELD_STRING,
	 .is_secret = true,
	 .has_maximum_length = true,
	 .maximum_length = 3},
	{.name = {"rate", 4}, .type = FIELD_DECIMAL},
	{.name = {"is_on", 5}, .type = FIELD_BOOLEAN},
	{.name = {"artifact", 8}, .type = FIELD_REFERENCE},
	{.name = {"at", 2}, .type = FIELD_TIMESTAMP, .default_value = &instant},
	{.name = {"created", 7}, .type = FIELD_TIMESTAMP, .is_server_assigned = true},
	{.name = {"lines", 5},
	 .type = FIELD_ARRAY,
	 .fields = &line,
	 .field_count = 1,
	 .has_maximum_length = true,
	 .maximum_length = 4},
	{.name = {"extra", 5}, .type = FIELD_ANY},
};

static const struct action action = {
	.name = {"things.create", 13},
	.fields = fields,
	.field_count = LENGTH(fields),
	.has_fields = true,
	.token_pointer = {"/extra/key", 10},
};

static void check_canonical(struct str command, struct arena *mem)
{
	struct json_error error;
	struct json_value *tree;
	struct buf again;

	require(json_read(command, &json_limits_default, mem, &tree, &error) == 0);
	buf_init(&again, CEILING);
	require(json_canonical(tree, mem, &again) == 0);
	require(str_equal(buf_str(&again), command));
	buf_fini(&again);
}

/* A text is proper UTF-8 when it can be read as JSON. */
static void check_sentence(struct str text, struct arena *mem)
{
	struct json_error error;
	struct json_value *tree;
	struct json_writer json;
	struct buf out;

	require(text.len > 0);
	buf_init(&out, CEILING);
	json_writer_init(&json, &out);
	json_string(&json, text);
	require(json_read(buf_str(&out), &json_limits_default, mem, &tree, &error) == 0);
	require(str_equal(tree->string, text));
	buf_fini(&out);
}

static bool is_elsewhere(struct str whole, struct str part)
{
	const char *first = memmem(whole.at, whole.len, part.at, part.len);

	return first &&
	       memmem(first + 1, whole.len - (size_t)(first + 1 - whole.at), part.at, part.len);
}

/*
 * Unless the text stands elsewhere in the body too, its only way into a fault is this field. Texts
 * with a # only: none of the sentences has one.
 */
static void check_untold(struct str text, const struct json_value *body, const char *detail)
{
	const struct json_value *secret = json_member(body, STR("secret"));

	if (secret && secret->type == JSON_STRING && secret->string.len >= SECRET_MIN &&
	    str_find(secret->string, '#') < secret->string.len &&
	    memmem(text.at, text.len, secret->string.at, secret->string.len) &&
	    !is_elsewhere(text, secret->string))
		require(!memmem(detail, strlen(detail), secret->string.at, secret->string.len));
}

static void check_faults(const struct command_faults *faults, struct str text,
			 const struct json_value *body, struct arena *mem)
{
	require(faults->count >= 1 && faults->count <= COMMAND_FAULTS_MAX);
	require(faults->left_out == 0 || faults->count == COMMAND_FAULTS_MAX);
	for (size_t i = 0; i < faults->count; i++) {
		const struct command_fault *fault = &faults->faults[i];

		require(memchr(fault->detail, '\0', sizeof(fault->detail)));
		check_sentence(str_from(fault->detail), mem);
		require(fault->pointer.len == 0 || fault->pointer.at[0] == '/');
		check_untold(text, body, fault->detail);
	}
}

static void turn_round(struct json_value *object)
{
	struct json_member *members = object->object.members;
	size_t count = object->type == JSON_OBJECT ? object->object.count : 0;

	for (size_t i = 0; i < count / 2; i++) {
		struct json_member member = members[i];

		members[i] = members[count - 1 - i];
		members[count - 1 - i] = member;
	}
}

static void check(struct str text, struct json_value *body, struct arena *mem)
{
	struct command_faults faults, again_faults;
	const struct json_value *tree;
	struct buf command, again;
	int r;

	buf_init(&command, CEILING);
	buf_init(&again, CEILING);
	r = command_read(&action, body, mem, &command, &tree, &faults);
	if (r == 0) {
		check_canonical(buf_str(&command), mem);
	} else {
		require(r == COMMAND_REFUSED && command.len == 0);
		check_faults(&faults, text, body, mem);
	}
	turn_round(body);
	require(command_read(&action, body, mem, &again, &tree, &again_faults) == r);
	require(str_equal(buf_str(&command), buf_str(&again)));
	require(r == 0 || faults.count == again_faults.count);
	buf_fini(&command);
	buf_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str text = str_of((const char *)bytes, size);
	struct json_error error;
	struct json_value *body;
	struct arena mem;

	if (size > INPUT_MAX)
		return 0;
	arena_init(&mem, CEILING);
	if (json_read(text, &json_limits_default, &mem, &body, &error) == 0)
		check(text, body, &mem);
	arena_fini(&mem);
	return 0;
}
