/* One question to a running gate, its answer shown (see admin_call.h). */
#include "cli/admin_call.h"

enum { TABLE_BYTES_MAX = 4 * 1024 * 1024 };

int admin_call(const struct command_call *call, const char *method, struct str target,
	       struct str body, admin_print *print)
{
	struct admin_client client;
	int r = admin_client_open(&client, call);

	if (r == EXIT_DONE)
		r = admin_ask(&client, method, target, body);
	if (r == EXIT_DONE && admin_wants_json(call))
		admin_print_json(&client);
	else if (r == EXIT_DONE)
		print(call, &client);
	admin_client_close(&client);
	return r;
}

int admin_call_take_body(const struct command_call *call, struct str target, struct buf *body,
			 admin_print *print)
{
	int r = body->is_spoiled ? command_misused(call->command, "these texts are too long")
				 : admin_call(call, "POST", target, buf_str(body), print);

	buf_fini(body);
	return r;
}

bool admin_read_id(const struct command_call *call, char out_id[OPERATION_ID_TEXT + 1])
{
	struct operation_id id;

	if (!operation_id_read(str_from(call->operands[0]), &id)) {
		command_misused(call->command,
				"\"%s\" is no operation id: op_ and 26 letters and digits",
				call->operands[0]);
		return false;
	}
	operation_id_write(&id, out_id);
	return true;
}

void admin_print_table(struct admin_client *client, const char *name,
		       const struct table_column *columns, size_t column_count, op_add_row *add_row,
		       const char *none)
{
	struct buf out;

	buf_init(&out, TABLE_BYTES_MAX);
	if (op_list_table(op_member(client->json, name), columns, column_count, add_row,
			  &client->mem, &out) == 0)
		command_message("%s", none);
	admin_print_buf(&out);
}

void admin_print_buf(struct buf *out)
{
	if (out->is_spoiled)
		command_message("the answer is too long to be shown; try --json");
	fwrite(out->at, 1, out->len, stdout);
	buf_fini(out);
}
