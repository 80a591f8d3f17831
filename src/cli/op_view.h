/*
 * Operations as an operator reads them: a table of many, a page of one.
 *
 * Both take the gate's JSON as it is; a member that is missing shows as nothing, one of an
 * unexpected type as its JSON. All text is made harmless for a terminal.
 */
#ifndef CLI_OP_VIEW_H
#define CLI_OP_VIEW_H

#include "base/arena.h"
#include "base/buf.h"
#include "cli/table.h"
#include "json/json.h"

/*
 * The members of `operations` as a table, newest as the gate ordered them; returns how many
 * there are (0: nothing is written). `mem` is used on the way. Refusals of the buffer show
 * in out->is_spoiled.
 */
size_t op_view_list(const struct json_value *operations, struct arena *mem, struct buf *out);

/* One operation: its facts, then its time line, oldest first. */
void op_view_show(const struct json_value *operation, struct arena *mem, struct buf *out);

/* Adds one member of a list as a row; texts that it makes live in `mem`. */
typedef void op_add_row(const struct json_value *member, struct arena *mem, struct table *table);

/* A list as a table; returns how many members it has (0, or no memory: nothing is written). */
size_t op_list_table(const struct json_value *list, const struct table_column *columns,
		     size_t column_count, op_add_row *add_row, struct arena *mem, struct buf *out);

/* A line of a page: a name, and a text that is made harmless. Nothing where the text is empty. */
void op_append_fact(struct buf *out, const char *name, struct str text);

/* A member of what may not be an object; NULL: it is not there. */
const struct json_value *op_member(const struct json_value *object, const char *name);

/* The text of a member: a string as it is, null or nothing as "", anything else as JSON. */
struct str op_member_text(const struct json_value *object, const char *name, struct arena *mem);

#endif
