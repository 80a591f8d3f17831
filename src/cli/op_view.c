/*
 * The time line of an operation is put together from what the gate has in several places: the
 * claim, the attempts, the last change.
 */
#include "cli/op_view.h"

#include "cli/table.h"
#include "cli/terminal.h"

#include <stdlib.h>

enum {
	COLUMNS = 7,	       /* of the table */
	VALUE_MAX = 64 * 1024, /* bytes of one value's JSON */
	FACT_WIDTH = 13,       /* of the names on the page of one operation */
};

static const struct table_column columns[COLUMNS] = {
	{"OPERATION", 29}, {"STATE", 17}, {"CREATED", 24}, {"TRIES", 6},
	{"REQUEST", 44},   {"TOKEN", 36}, {"ACCOUNT", 24},
};

static const struct json_value *member(const struct json_value *object, const char *name)
{
	if (!object || object->type != JSON_OBJECT)
		return NULL;
	return json_member(object, str_from(name));
}

static bool is_true(const struct json_value *value)
{
	return value && value->type == JSON_TRUE;
}

static struct str value_text(const struct json_value *value, struct arena *mem)
{
	struct str text;
	struct buf out;

	if (!value || value->type == JSON_NULL)
		return STR("");
	if (value->type == JSON_STRING)
		return value->string;
	buf_init(&out, VALUE_MAX);
	json_canonical(value, mem, &out);
	text = out.is_spoiled ? STR("?") : arena_str(mem, buf_str(&out));
	buf_fini(&out);
	return text;
}

struct str op_member_text(const struct json_value *object, const char *name, struct arena *mem)
{
	return value_text(member(object, name), mem);
}

/* -- the table --------------------------------------------------------------------- */

/* The action's name where there is one, else method and path. */
static struct str request_text(const struct json_value *operation, struct arena *mem)
{
	struct str action = op_member_text(operation, "action", mem);
	struct str method = op_member_text(operation, "method", mem);
	struct str path = op_member_text(operation, "path", mem);

	if (action.len)
		return action;
	return arena_printf(mem, "%.*s %.*s", STR_ARG(method), STR_ARG(path));
}

static void add_row(const struct json_value *operation, struct arena *mem, struct table *table)
{
	const struct str texts[COLUMNS] = {
		op_member_text(operation, "id", mem),
		op_member_text(operation, "state", mem),
		op_member_text(operation, "created", mem),
		op_member_text(operation, "attempt_count", mem),
		request_text(operation, mem),
		op_member_text(operation, "token", mem),
		op_member_text(operation, "account", mem),
	};

	table_add(table, texts);
}

size_t op_view_list(const struct json_value *operations, struct arena *mem, struct buf *out)
{
	size_t count = operations && operations->type == JSON_ARRAY ? operations->array.count : 0;
	struct table table;

	if (count == 0 || !table_begin(&table, columns, COLUMNS, count, mem))
		return 0;
	for (size_t i = 0; i < count; i++)
		add_row(operations->array.items[i], mem, &table);
	table_write(&table, out);
	return count;
}

/* -- the page of one --------------------------------------------------------------- */

static void append_fact(struct buf *out, const char *name, struct str text)
{
	if (!text.len)
		return;
	buf_printf(out, "%-*s", FACT_WIDTH, name);
	terminal_append(out, text);
	buf_append_byte(out, '\n');
}

static void append_response(const struct json_value *response, struct arena *mem, struct buf *out)
{
	struct str status = op_member_text(response, "status", mem);
	struct str length = op_member_text(response, "length", mem);
	struct str digest = op_member_text(response, "digest", mem);

	if (!status.len)
		return;
	append_fact(out, "Response",
		    arena_printf(mem, "%.*s, %.*s bytes%s", STR_ARG(status), STR_ARG(length),
				 is_true(member(response, "kept")) ? "" : ", body not kept"));
	append_fact(out, "", digest);
}

static void append_facts(const struct json_value *operation, struct arena *mem, struct buf *out)
{
	static const struct {
		const char *title, *name;
	} facts[] = {
		{"Action", "action"},
		{"Upstream", "upstream"},
		{"Token", "token"},
		{"Account", "account"},
		{"Fingerprint", "fingerprint"},
		{"Epoch", "epoch"},
		{"Expires", "expires"},
		{"Retry of", "retry_of"},
		{"Reference", "reference"},
		{"Decided by", "decided_by"},
		{"Reason", "reason"},
	};
	struct str method = op_member_text(operation, "method", mem);

	append_fact(out, "Operation", op_member_text(operation, "id", mem));
	append_fact(out, "State", op_member_text(operation, "state", mem));
	if (method.len)
		append_fact(out, "Request",
			    arena_printf(mem, "%.*s %.*s", STR_ARG(method),
					 STR_ARG(op_member_text(operation, "path", mem))));
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		append_fact(out, facts[i].title, op_member_text(operation, facts[i].name, mem));
	append_response(member(operation, "response"), mem, out);
}

/* A moment of the time line. RFC 3339 times in UTC order by their bytes. */
struct moment {
	struct str at;
	struct str what;
	size_t position; /* as the gate listed them: decides between equal times */
};

static int compare_moments(const void *left, const void *right)
{
	const struct moment *a = left, *b = right;
	int order = str_compare(a->at, b->at);

	if (order != 0)
		return order;
	return a->position < b->position ? -1 : a->position > b->position;
}

/* " word text" when there is a text. */
static struct str with_word(const char *word, struct str text, struct arena *mem)
{
	return text.len ? arena_printf(mem, "  %s %.*s", word, STR_ARG(text)) : STR("");
}

static struct str attempt_text(const struct json_value *attempt, struct arena *mem)
{
	const struct json_value *delivered = member(attempt, "delivered");
	const char *delivery = !delivered		       ? ""
			       : delivered->type == JSON_TRUE  ? "  (answer delivered)"
			       : delivered->type == JSON_FALSE ? "  (answer not delivered)"
							       : "";

	return arena_printf(
		mem, "attempt: %.*s%.*s%.*s%.*s%.*s%s",
		STR_ARG(op_member_text(attempt, "outcome", mem)),
		STR_ARG(with_word("by", op_member_text(attempt, "agent", mem), mem)),
		STR_ARG(with_word("task", op_member_text(attempt, "task", mem), mem)),
		STR_ARG(with_word("step", op_member_text(attempt, "step", mem), mem)),
		STR_ARG(with_word("request", op_member_text(attempt, "request_id", mem), mem)),
		delivery);
}

static size_t add_moment(struct moment *moments, size_t count, struct str at, struct str what)
{
	if (!at.len)
		return count;
	moments[count] = (struct moment){.at = at, .what = what, .position = count};
	return count + 1;
}

static void append_time_line(const struct json_value *operation, struct arena *mem, struct buf *out)
{
	const struct json_value *attempts = member(operation, "attempts");
	size_t listed = attempts && attempts->type == JSON_ARRAY ? attempts->array.count : 0;
	struct moment *moments = arena_alloc(mem, (listed + 2) * sizeof(*moments));
	struct str state = op_member_text(operation, "state", mem);
	size_t count = 0;

	if (!moments)
		return;
	count = add_moment(moments, count, op_member_text(operation, "created", mem),
			   STR("claimed"));
	for (size_t i = 0; i < listed; i++)
		count = add_moment(moments, count,
				   op_member_text(attempts->array.items[i], "at", mem),
				   attempt_text(attempts->array.items[i], mem));
	count = add_moment(moments, count, op_member_text(operation, "updated", mem),
			   arena_printf(mem, "last change; now %.*s", STR_ARG(state)));
	qsort(moments, count, sizeof(*moments), compare_moments);
	buf_append_str(out, STR("\nTime line\n"));
	for (size_t i = 0; i < count; i++) {
		buf_append_str(out, STR("  "));
		terminal_append(out, moments[i].at);
		buf_append_str(out, STR("  "));
		terminal_append(out, moments[i].what);
		buf_append_byte(out, '\n');
	}
}

static void append_left_out(const struct json_value *operation, struct buf *out)
{
	const struct json_value *attempts = member(operation, "attempts");
	const struct json_value *counted = member(operation, "attempt_count");
	int64_t listed =
		attempts && attempts->type == JSON_ARRAY ? (int64_t)attempts->array.count : 0;
	int64_t count;

	if (counted && counted->type == JSON_NUMBER &&
	    json_number_to_i64(&counted->number, &count) && count > listed)
		buf_printf(out, "  (%lld of %lld attempts are not listed)\n",
			   (long long)(count - listed), (long long)count);
}

void op_view_show(const struct json_value *operation, struct arena *mem, struct buf *out)
{
	append_facts(operation, mem, out);
	append_time_line(operation, mem, out);
	append_left_out(operation, out);
}
