/*
 * A table for people: texts in columns that are as wide as they need to be.
 *
 * Made with its first row of titles, given row after row, then written. Texts are made harmless
 * for a terminal and cut to the width of their column.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "base/arena.h"
#include "base/buf.h"

#include <stdbool.h>

enum { TABLE_COLUMNS_MAX = 12 };

struct table_column {
	const char *title;
	size_t width_max; /* characters; a longer text is cut */
};

struct table {
	const struct table_column *columns;
	size_t column_count;
	struct arena *mem;
	struct str *cells; /* row by row, cleaned; the titles first */
	size_t row_count, rows_max;
};

/* For at most `rows` rows; false where `mem` has no room for them. `columns` is borrowed. */
bool table_begin(struct table *table, const struct table_column *columns, size_t column_count,
		 size_t rows, struct arena *mem);

/* Add a row: a text for each column. */
void table_add(struct table *table, const struct str *texts);

/* Append all of it. Refusals of the buffer show in out->is_spoiled. */
void table_write(const struct table *table, struct buf *out);

#endif
