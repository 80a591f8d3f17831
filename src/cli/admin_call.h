/*
 * What the commands that ask a running gate have in common: one question, one answer, shown.
 *
 * Each opens a client, asks once, and prints the answer as JSON (--json) or by a function of the
 * command's own. Outcomes are exit statuses; whatever went wrong has been said on stderr.
 */
#ifndef CLI_ADMIN_CALL_H
#define CLI_ADMIN_CALL_H

#include "cli/admin_client.h"
#include "cli/op_view.h"
#include "core/operation.h"

/* Shows the answer that `client` has to a person. */
typedef void admin_print(const struct command_call *call, struct admin_client *client);

/* The first operand as an operation id in its one spelling; false after a message. */
bool admin_read_id(const struct command_call *call, char out_id[OPERATION_ID_TEXT + 1]);

/* Ask as admin_ask() does, and show the answer by `print`. */
int admin_call(const struct command_call *call, const char *method, struct str target,
	       struct str body, admin_print *print);

/* POST a body that has been written, and let go of it. */
int admin_call_take_body(const struct command_call *call, struct str target, struct buf *body,
			 admin_print *print);

/* The answer's list `name` as a table on stdout; `none` is said where it is empty. */
void admin_print_table(struct admin_client *client, const char *name,
		       const struct table_column *columns, size_t column_count, op_add_row *add_row,
		       const char *none);

/* What has been written, on stdout; lets go of it. */
void admin_print_buf(struct buf *out);

#endif
