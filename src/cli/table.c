/*
 * A table is laid out in two passes: cells are cleaned and cut as they come, then the widths are
 * known. The last column is not filled up, so that no line ends in blanks for nothing.
 */
#include "cli/table.h"

#include "base/err.h"
#include "base/terminal.h"

enum {
	GAP = 2,	 /* blanks between two columns */
	CELL_MAX = 4096, /* bytes of a cell */
};

static struct str clean(struct str text, size_t width_max, struct arena *mem)
{
	struct str cell;
	struct buf out;

	buf_init(&out, CELL_MAX);
	terminal_append_cut(&out, text, width_max);
	cell = arena_str(mem, buf_str(&out));
	buf_fini(&out);
	return cell;
}

bool table_begin(struct table *table, const struct table_column *columns, size_t column_count,
		 size_t rows, struct arena *mem)
{
	struct str titles[TABLE_COLUMNS_MAX];

	require(column_count > 0 && column_count <= TABLE_COLUMNS_MAX);
	*table = (struct table){
		.columns = columns,
		.column_count = column_count,
		.mem = mem,
		.rows_max = rows + 1,
		.cells = arena_alloc(mem, (rows + 1) * column_count * sizeof(struct str)),
	};
	if (!table->cells)
		return false;
	for (size_t i = 0; i < column_count; i++)
		titles[i] = str_from(columns[i].title);
	table_add(table, titles);
	return true;
}

void table_add(struct table *table, const struct str *texts)
{
	struct str *row = &table->cells[table->row_count * table->column_count];

	require(table->row_count < table->rows_max);
	for (size_t i = 0; i < table->column_count; i++)
		row[i] = clean(texts[i], table->columns[i].width_max, table->mem);
	table->row_count++;
}

static void measure(const struct table *table, size_t widths[TABLE_COLUMNS_MAX])
{
	for (size_t i = 0; i < table->row_count * table->column_count; i++) {
		size_t *width_max = &widths[i % table->column_count];
		size_t width = terminal_width(table->cells[i]);

		*width_max = width > *width_max ? width : *width_max;
	}
}

void table_write(const struct table *table, struct buf *out)
{
	size_t widths[TABLE_COLUMNS_MAX] = {0};

	measure(table, widths);
	for (size_t i = 0; i < table->row_count * table->column_count; i++) {
		size_t column = i % table->column_count;
		size_t blanks = widths[column] - terminal_width(table->cells[i]) + GAP;

		buf_append_str(out, table->cells[i]);
		if (column + 1 < table->column_count)
			buf_printf(out, "%*s", (int)blanks, "");
		else
			buf_append_byte(out, '\n');
	}
}
