/*
 * The time line of an operation is put together from what the gate has in several places: the
 * claim, the attempts, the last change.
 */
#include "cli/op_view.h"

#include "base/terminal.h"
#include "core/money.h"
#include "core/operation.h"

#include <stdlib.h>

enum {
	COLUMNS = 7,	 /* of the table */
	FACT_WIDTH = 13, /* of the names on a page */
};

/* Times from then on are `forever`: the gate counts that as a thousand years from now. */
#define FOREVER "2900-"

static const struct table_column columns[COLUMNS] = {
	{"OPERATION", 29}, {"STATE", 17}, {"CREATED", 24}, {"TRIES", 6},
	{"REQUEST", 44},   {"TOKEN", 36}, {"ACCOUNT", 24},
};

const struct json_value *op_member(const struct json_value *object, const char *name)
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

	if (!value || value->type == JSON_NULL)
		return STR("");
	if (value->type == JSON_STRING)
		return value->string;
	return json_canonical_str(value, mem, &text) == 0 ? text : STR("?");
}

struct str op_member_text(const struct json_value *object, const char *name, struct arena *mem)
{
	return value_text(op_member(object, name), mem);
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

size_t op_list_table(const struct json_value *list, const struct table_column *list_columns,
		     size_t column_count, op_add_row *add_row_of, struct arena *mem,
		     struct buf *out)
{
	size_t count = list && list->type == JSON_ARRAY ? list->array.count : 0;
	struct table table;

	if (count == 0 || !table_begin(&table, list_columns, column_count, count, mem))
		return 0;
	for (size_t i = 0; i < count; i++)
		add_row_of(list->array.items[i], mem, &table);
	table_write(&table, out);
	return count;
}

size_t op_view_list(const struct json_value *operations, struct arena *mem, struct buf *out)
{
	return op_list_table(operations, columns, COLUMNS, add_row, mem, out);
}

/* -- the page of one --------------------------------------------------------------- */

void op_append_fact(struct buf *out, const char *name, struct str text)
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
	op_append_fact(out, "Response",
		       arena_printf(mem, "%.*s, %.*s bytes%s", STR_ARG(status), STR_ARG(length),
				    is_true(op_member(response, "kept")) ? "" : ", body not kept"));
	op_append_fact(out, "", digest);
}

/* Of several names: "op_1, op_2". */
static void append_names(const char *title, const struct json_value *names, struct arena *mem,
			 struct buf *out)
{
	size_t count = names && names->type == JSON_ARRAY ? names->array.count : 0;
	struct str text = STR("");

	for (size_t i = 0; i < count; i++) {
		struct str name = value_text(names->array.items[i], mem);

		text = arena_printf(mem, "%.*s%s%.*s", STR_ARG(text), i ? ", " : "", STR_ARG(name));
	}
	op_append_fact(out, title, text);
}

static bool has_ended(const struct json_value *operation, struct arena *mem)
{
	enum operation_state state;

	return operation_state_from(op_member_text(operation, "state", mem), &state) &&
	       operation_is_terminal(state);
}

/* A time, or `word` where it never comes. RFC 3339 times are in order by their bytes. */
static struct str time_or(const struct json_value *object, const char *name, const char *word,
			  struct arena *mem)
{
	struct str at = op_member_text(object, name, mem);

	return str_compare(at, STR(FOREVER)) > 0 ? str_from(word) : at;
}

/* What the gate itself did of late, and does next. */
static void append_tries(const struct json_value *operation, struct arena *mem, struct buf *out)
{
	struct str tries = op_member_text(operation, "tries", mem);

	if (tries.len && !str_equal(tries, STR("0")) && !has_ended(operation, mem))
		op_append_fact(out, "Gate tried",
			       arena_printf(mem, "%.*s in a row", STR_ARG(tries)));
	op_append_fact(out, "Next try", op_member_text(operation, "due", mem));
}

/* -- what the rules have to do with it --------------------------------------------- */

/* What it has to do with its lock: "waits; held by op_1". */
static struct str lock_text(const struct json_value *lock, struct arena *mem)
{
	struct str holder = op_member_text(lock, "holder", mem);
	bool waits = is_true(op_member(lock, "waits"));

	if (is_true(op_member(lock, "holds")))
		return STR("held by it");
	if (holder.len)
		return arena_printf(mem, "%sheld by %.*s", waits ? "waits for it; " : "",
				    STR_ARG(holder));
	return waits ? STR("waits for it; its turn has come") : STR("not held");
}

static void append_lock(const struct json_value *lock, struct arena *mem, struct buf *out)
{
	struct str name = op_member_text(lock, "name", mem);
	struct str fence = op_member_text(lock, "fence", mem);
	struct str version = op_member_text(lock, "version", mem);
	struct str text;

	if (!name.len)
		return;
	text = lock_text(lock, mem);
	if (fence.len && !str_equal(fence, STR("0")))
		text = arena_printf(mem, "%.*s, fencing number %.*s", STR_ARG(text),
				    STR_ARG(fence));
	if (version.len)
		text = arena_printf(mem, "%.*s, version %.*s", STR_ARG(text), STR_ARG(version));
	op_append_fact(out, "Lock", name);
	op_append_fact(out, "", text);
}

/* Minor units, as the gate counts them, with the currency's point: 4900 is "49.00". */
static struct str amount_text(const struct json_value *budget, const char *name, struct arena *mem)
{
	const struct json_value *value = op_member(budget, name);
	char text[MONEY_TEXT];
	int64_t amount;

	if (!value || value->type != JSON_NUMBER || !json_number_to_i64(&value->number, &amount))
		return value_text(value, mem);
	money_write(amount, op_member_text(budget, "currency", mem), text);
	return arena_str(mem, str_from(text));
}

static void append_budget(const struct json_value *budget, struct arena *mem, struct buf *out)
{
	struct str currency = op_member_text(budget, "currency", mem);
	struct str spends = amount_text(budget, "spends", mem);
	struct str total = amount_text(budget, "total", mem);
	struct str used = amount_text(budget, "used", mem);
	struct str left = amount_text(budget, "left", mem);

	if (!spends.len)
		return;
	op_append_fact(out, "Budget",
		       arena_printf(mem, "spends %.*s %.*s", STR_ARG(spends), STR_ARG(currency)));
	if (total.len)
		op_append_fact(out, "",
			       arena_printf(mem, "%.*s of %.*s %.*s used, %.*s left", STR_ARG(used),
					    STR_ARG(total), STR_ARG(currency), STR_ARG(left)));
}

static void append_rules(const struct json_value *rules, struct arena *mem, struct buf *out)
{
	op_append_fact(out, "Unique until",
		       time_or(op_member(rules, "unique"), "until", "forever", mem));
	append_lock(op_member(rules, "lock"), mem, out);
	append_budget(op_member(rules, "budget"), mem, out);
}

static void append_facts(const struct json_value *operation, struct arena *mem, struct buf *out)
{
	static const struct {
		const char *title, *name;
		bool is_time;
	} facts[] = {
		{"Action", "action", false},
		{"Upstream", "upstream", false},
		{"Token", "token", false},
		{"Account", "account", false},
		{"Fingerprint", "fingerprint", false},
		{"Epoch", "epoch", false},
		{"Expires", "expires", true},
		{"Retry of", "retry_of", false},
		{"Service key", "downstream_key", false},
		{"Reference", "reference", false},
		{"Resource", "resource", false},
		{"Decided by", "decided_by", false},
		{"Reason", "reason", false},
	};
	struct str method = op_member_text(operation, "method", mem);

	op_append_fact(out, "Operation", op_member_text(operation, "id", mem));
	op_append_fact(out, "State", op_member_text(operation, "state", mem));
	if (method.len)
		op_append_fact(out, "Request",
			       arena_printf(mem, "%.*s %.*s", STR_ARG(method),
					    STR_ARG(op_member_text(operation, "path", mem))));
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		op_append_fact(out, facts[i].title,
			       facts[i].is_time ? time_or(operation, facts[i].name, "never", mem)
						: op_member_text(operation, facts[i].name, mem));
	append_names("Retried by", op_member(operation, "retried_by"), mem, out);
	append_tries(operation, mem, out);
	append_rules(op_member(operation, "rules"), mem, out);
	append_response(op_member(operation, "response"), mem, out);
}

/* -- its time line ----------------------------------------------------------------- */

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

/* Whose doing it was: what the gate or an operator did is no attempt of a caller's. */
static struct str actor_text(const struct json_value *attempt, struct arena *mem)
{
	struct str by = op_member_text(attempt, "by", mem);

	return by.len && !str_equal(by, STR("caller")) ? by : STR("attempt");
}

/* A decision is no attempt: its note says all, what was decided and why. */
static bool is_a_decision(const struct json_value *attempt, struct arena *mem)
{
	return str_equal(op_member_text(attempt, "by", mem), STR("operator")) &&
	       op_member_text(attempt, "note", mem).len;
}

static struct str deed_text(const struct json_value *attempt, struct arena *mem)
{
	return op_member_text(attempt, is_a_decision(attempt, mem) ? "note" : "outcome", mem);
}

static struct str note_text(const struct json_value *attempt, struct arena *mem)
{
	struct str note = op_member_text(attempt, "note", mem);

	return note.len && !is_a_decision(attempt, mem)
		       ? arena_printf(mem, "  (%.*s)", STR_ARG(note))
		       : STR("");
}

static struct str attempt_text(const struct json_value *attempt, struct arena *mem)
{
	const struct json_value *delivered = op_member(attempt, "delivered");
	const char *delivery = !delivered		       ? ""
			       : delivered->type == JSON_TRUE  ? "  (answer delivered)"
			       : delivered->type == JSON_FALSE ? "  (answer not delivered)"
							       : "";

	return arena_printf(
		mem, "%.*s: %.*s%.*s%.*s%.*s%.*s%s%.*s", STR_ARG(actor_text(attempt, mem)),
		STR_ARG(deed_text(attempt, mem)),
		STR_ARG(with_word("by", op_member_text(attempt, "agent", mem), mem)),
		STR_ARG(with_word("task", op_member_text(attempt, "task", mem), mem)),
		STR_ARG(with_word("step", op_member_text(attempt, "step", mem), mem)),
		STR_ARG(with_word("request", op_member_text(attempt, "request_id", mem), mem)),
		delivery, STR_ARG(note_text(attempt, mem)));
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
	const struct json_value *attempts = op_member(operation, "attempts");
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
	const struct json_value *attempts = op_member(operation, "attempts");
	const struct json_value *counted = op_member(operation, "attempt_count");
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
