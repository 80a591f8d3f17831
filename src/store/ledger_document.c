/*
 * Documents: small records under a name, kept, replaced, forgotten and listed.
 *
 * What they hold is their writer's affair. Each change is told by the audit log in the transaction
 * that makes it, where its command names an event; the value never is.
 */
#include "store/ledger.h"

#include "base/err.h"

static int count(struct ledger *ledger, enum ledger_statement which,
		 const struct store_document *document, int64_t *out)
{
	sqlite3_stmt *statement = ledger_statement(ledger, which);

	sqlite3_bind_int(statement, 1, (int)document->kind);
	if (which == SQL_DOCUMENT_IS)
		bind_str(statement, 2, document->name);
	return ledger_number(ledger, statement, 0, out);
}

/* May it be kept? 0, STORE_EXISTS, STORE_FULL. */
static int judge(struct ledger *ledger, const struct store_command *command)
{
	int64_t same = 0, all = 0;
	int r = count(ledger, SQL_DOCUMENT_IS, &command->document, &same);

	if (r == 0)
		r = count(ledger, SQL_DOCUMENT_COUNT, &command->document, &all);
	if (r < 0)
		return r;
	if (same)
		return command->must_be_new ? STORE_EXISTS : 0;
	return all >= STORE_DOCUMENTS_MAX ? STORE_FULL : 0;
}

static struct vault_place place_of(const struct store_document *document)
{
	return (struct vault_place){"document", (int64_t)document->kind, document->name};
}

static int put(struct ledger *ledger, const struct store_document *document)
{
	sqlite3_stmt *statement = ledger_statement(ledger, SQL_DOCUMENT_PUT);
	int r = ledger_bind_sealed(ledger, statement, 3, place_of(document), document->value);

	if (r < 0)
		return r;
	sqlite3_bind_int(statement, 1, (int)document->kind);
	bind_str(statement, 2, document->name);
	sqlite3_bind_int64(statement, 4, document->updated_ms);
	return ledger_run(ledger, statement);
}

int ledger_keep(struct ledger *ledger, struct store_command *command)
{
	int r = document_fits(&command->document) ? judge(ledger, command) : FAIL_LIMIT;

	if (r != 0)
		return r;
	command->document.updated_ms = env_wall_ms(ledger->env);
	r = put(ledger, &command->document);
	return r == 0 ? ledger_say_administration(ledger, &command->administration) : r;
}

int ledger_drop(struct ledger *ledger, const struct store_command *command)
{
	sqlite3_stmt *statement = ledger_statement(ledger, SQL_DOCUMENT_DELETE);
	int r;

	if (!document_fits(&command->document))
		return FAIL_LIMIT;
	sqlite3_bind_int(statement, 1, (int)command->document.kind);
	bind_str(statement, 2, command->document.name);
	r = ledger_run(ledger, statement);
	if (r < 0)
		return r;
	if (!sqlite3_changes(ledger->db))
		return STORE_ABSENT;
	return ledger_say_administration(ledger, &command->administration);
}

static int read_row(struct ledger *ledger, sqlite3_stmt *row, struct arena *mem,
		    struct store_document *out)
{
	bool is_full = false;

	out->name = column_str(row, 0, mem, &is_full);
	out->updated_ms = sqlite3_column_int64(row, 2);
	if (is_full)
		return FAIL_MEMORY;
	return ledger_column_unsealed(ledger, row, 1, place_of(out), mem, &out->value);
}

static int read_rows(struct ledger *ledger, sqlite3_stmt *list, struct store_command *command,
		     size_t room)
{
	int r;

	while ((r = ledger_step(ledger, list)) > 0) {
		struct store_document *document = &command->documents[command->document_count];

		require(command->document_count < room);
		document->kind = command->document.kind;
		r = read_row(ledger, list, command->mem, document);
		if (r < 0) {
			sqlite3_reset(list);
			return r;
		}
		command->document_count++;
	}
	return r;
}

int ledger_kept(struct ledger *ledger, struct store_command *command)
{
	sqlite3_stmt *list = ledger_statement(ledger, SQL_DOCUMENT_LIST);
	int64_t all = 0;
	int r = count(ledger, SQL_DOCUMENT_COUNT, &command->document, &all);

	command->document_count = 0;
	if (r < 0)
		return r;
	command->documents =
		arena_zalloc(command->mem, ((size_t)all + 1) * sizeof(*command->documents));
	if (!command->documents)
		return FAIL_MEMORY;
	sqlite3_bind_int(list, 1, (int)command->document.kind);
	sqlite3_bind_int64(list, 2, all);
	return read_rows(ledger, list, command, (size_t)all);
}
