/*
 * The table of locks: what is locked, who holds it and since when, who is next. The name comes
 * first, for that is what an operator was told; ids of all that wait are in the JSON.
 */
#include "cli/lock_view.h"

#include "cli/op_view.h"

enum { COLUMNS = 9 };

static const struct table_column columns[COLUMNS] = {
	{"LOCK", 44}, {"HELD BY", 29}, {"STATE", 17},	{"SINCE", 24},	 {"WAITING", 10},
	{"NEXT", 29}, {"FENCE", 20},   {"VERSION", 20}, {"ACCOUNT", 24},
};

static struct str first_text(const struct json_value *list)
{
	if (!list || list->type != JSON_ARRAY || list->array.count == 0 ||
	    list->array.items[0]->type != JSON_STRING)
		return STR("");
	return list->array.items[0]->string;
}

static void add_row(const struct json_value *lock, struct arena *mem, struct table *table)
{
	const struct json_value *holder = op_member(lock, "holder");
	const struct str texts[COLUMNS] = {
		op_member_text(lock, "name", mem),    op_member_text(holder, "id", mem),
		op_member_text(holder, "state", mem), op_member_text(holder, "since", mem),
		op_member_text(lock, "waiting", mem), first_text(op_member(lock, "waiters")),
		op_member_text(lock, "fence", mem),   op_member_text(lock, "version", mem),
		op_member_text(lock, "account", mem),
	};

	table_add(table, texts);
}

size_t lock_view_list(const struct json_value *locks, struct arena *mem, struct buf *out)
{
	return op_list_table(locks, columns, COLUMNS, add_row, mem, out);
}
