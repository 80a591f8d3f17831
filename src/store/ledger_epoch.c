/*
 * Epochs of the audit log: the key that signs, and the one that encrypts, change together
 * (audit/epoch.h).
 *
 *   table audit_epoch   epoch, its first entry, when it began; `erased`: the entry that says that
 *                       its data key is erased (-1: none); `gone`: and the file is; `prune`: 1 its
 *                       entries are to be taken away, 2 they are
 *
 * Ending one takes these steps, and a crash after any of them ends in the same place:
 *
 *   the next keys are files      nobody uses them yet; the next try finds them
 *   certificate, seal, the row   one transaction: from now on entries are of the next epoch
 *   a checkpoint up to there     by the old key (store/sealer.h), which is there for it until then
 *   the old seed is erased       when it is published, before the next end, or at the next start
 *
 * The row says before the file goes that a data key is to be erased, so what was begun is ended at
 * the next start.
 */
#include "store/ledger.h"

#include "audit/epoch.h"
#include "base/err.h"
#include "json/json.h"

#include <errno.h>
#include <stdio.h>

enum { AGAIN_MS = 60000 }; /* what could not be done by itself is tried again after */

/* -- the table --------------------------------------------------------------------- */

static int run_sql(struct ledger *ledger, const char *sql, int64_t a, int64_t b, int64_t c)
{
	sqlite3_stmt *statement = NULL;
	int r;

	if (sqlite3_prepare_v2(ledger->db, sql, -1, &statement, NULL) != SQLITE_OK)
		return fail(FAIL_STORE);
	sqlite3_bind_int64(statement, 1, a);
	if (sqlite3_bind_parameter_count(statement) > 1)
		sqlite3_bind_int64(statement, 2, b);
	if (sqlite3_bind_parameter_count(statement) > 2)
		sqlite3_bind_int64(statement, 3, c);
	r = ledger_run(ledger, statement);
	sqlite3_finalize(statement);
	return r;
}

/* What a query's first row says: 1 and up to three integers; 0: it has none; < 0. */
static int look_up(struct ledger *ledger, const char *sql, int64_t parameter, int64_t out[3])
{
	sqlite3_stmt *statement = NULL;
	int r;

	if (sqlite3_prepare_v2(ledger->db, sql, -1, &statement, NULL) != SQLITE_OK)
		return fail(FAIL_STORE);
	if (sqlite3_bind_parameter_count(statement) > 0)
		sqlite3_bind_int64(statement, 1, parameter);
	r = ledger_step(ledger, statement);
	for (int i = 0; r > 0 && i < 3; i++)
		out[i] = sqlite3_column_int64(statement, i);
	sqlite3_finalize(statement);
	return r;
}

/* When the oldest epoch that has ended and can still be read is kept no longer. */
static int load_keep_due(struct ledger *ledger)
{
	struct ledger_audit *audit = &ledger->audit;
	int64_t found[3];
	int r = look_up(ledger,
			"SELECT e.epoch, n.begun_ms, 0 FROM audit_epoch e"
			" JOIN audit_epoch n ON n.epoch = e.epoch + 1"
			" WHERE e.erased < 0 ORDER BY e.epoch LIMIT 1",
			0, found);

	audit->kept_due_ms = INT64_MAX;
	if (r > 0 && audit->keep_ms) {
		audit->kept_oldest = (uint32_t)found[0];
		audit->kept_due_ms = time_add(found[1], audit->keep_ms);
	}
	return r < 0 ? r : 0;
}

int ledger_epoch_load(struct ledger *ledger)
{
	static const char table[] =
		"CREATE TABLE IF NOT EXISTS audit_epoch(epoch INTEGER PRIMARY KEY,"
		" first INTEGER NOT NULL, begun_ms INTEGER NOT NULL,"
		" erased INTEGER NOT NULL DEFAULT -1, gone INTEGER NOT NULL DEFAULT 0,"
		" prune INTEGER NOT NULL DEFAULT 0)";
	struct ledger_audit *audit = &ledger->audit;
	int64_t newest[3];
	int r = 0;

	if (!audit->is_open && sqlite3_exec(ledger->db, table, NULL, NULL, NULL) != SQLITE_OK)
		return fail(FAIL_STORE);
	if (!audit->is_open)
		r = run_sql(ledger,
			    "INSERT INTO audit_epoch(epoch, first, begun_ms) SELECT 0, 0, ?1"
			    " WHERE NOT EXISTS (SELECT 1 FROM audit_epoch)",
			    env_wall_ms(ledger->env), 0, 0);
	if (r == 0)
		r = look_up(ledger,
			    "SELECT epoch, first, begun_ms FROM audit_epoch"
			    " ORDER BY epoch DESC LIMIT 1",
			    0, newest);
	if (r <= 0)
		return r < 0 ? r : fail(FAIL_STORE);
	/* After a commit of which nobody knew: it is one or the other. */
	if (audit->is_open && (uint32_t)newest[0] != audit->now.number)
		audit->now = audit->now_before;
	if (audit->is_open && (uint32_t)newest[0] != audit->now.number)
		return fail(FAIL_STORE);
	audit->now.number = (uint32_t)newest[0];
	audit->now.first = (uint64_t)newest[1];
	audit->now.begun_ms = newest[2];
	audit->now_before = audit->now;
	audit->has_erased = audit->has_prunes = true;
	return load_keep_due(ledger);
}

/* -- entries ----------------------------------------------------------------------- */

/* That somebody, or the gate by itself, did this to an epoch. */
static int say_who(struct ledger *ledger, const struct store_command *command, const char *event,
		   uint32_t epoch)
{
	struct buf *text = &ledger->audit.text;
	struct str by = command->operation.decided_by, why = command->operation.reason;
	struct json_writer json;
	char subject[24];

	snprintf(subject, sizeof(subject), "epoch %u", (unsigned)epoch);
	buf_clear(text);
	json_writer_init(&json, text);
	json_open_object(&json);
	json_name(&json, "events");
	json_open_array(&json);
	json_text(&json, event);
	json_close_array(&json);
	json_name(&json, "subject");
	json_text(&json, subject);
	json_name(&json, "by");
	json_string(&json, by.len ? by : STR("gate"));
	if (why.len) {
		json_name(&json, "reason");
		json_string(&json, why.len > LEDGER_WHY_MAX ? str_of(why.at, LEDGER_WHY_MAX) : why);
	}
	json_close_object(&json);
	return ledger_audit_append(ledger, ENTRY_ADMINISTRATION);
}

static int say_note(struct ledger *ledger, enum entry_type type, const struct note_verifier *next)
{
	struct ledger_audit *audit = &ledger->audit;
	struct epoch_note said = {.epoch = audit->now.number,
				  .seq = audit->tip.frontier.size,
				  .next = *next,
				  .first_seq = audit->now.first};
	int r;

	tip_root(&audit->tip, &said.root);
	buf_clear(&audit->text);
	r = type == ENTRY_CERTIFICATE
		    ? epoch_certificate_write(&said, &audit->now.signer, &audit->text)
		    : epoch_seal_write(&said, &audit->now.signer, &audit->text);
	return r == 0 ? ledger_audit_append(ledger, type) : r;
}

/* The range names what may be missing; {} where its entries stay. */
static int say_erased(struct ledger *ledger, uint32_t epoch, const struct entry_key *key,
		      const int64_t *range)
{
	struct buf *text = &ledger->audit.text;
	char hex[2 * HASH_SIZE + 1];
	struct json_writer json;

	buf_clear(text);
	json_writer_init(&json, text);
	json_open_object(&json);
	json_name(&json, "events");
	json_open_array(&json);
	json_text(&json, "key_erased");
	json_close_array(&json);
	json_name(&json, "erased_epoch");
	json_integer(&json, epoch);
	if (key) {
		hex_write(key->commitment.bytes, HASH_SIZE, hex);
		json_name(&json, "commitment");
		json_text(&json, hex);
	}
	if (range) {
		json_name(&json, "pruned_from");
		json_integer(&json, range[0]);
		json_name(&json, "pruned_to");
		json_integer(&json, range[1]);
	}
	json_close_object(&json);
	return ledger_audit_append(ledger, ENTRY_KEY_ERASED);
}

/* -- the next epoch ---------------------------------------------------------------- */

int ledger_epoch_keys(struct ledger *ledger, struct ledger_epoch *epoch, char *why, size_t why_size)
{
	struct ledger_audit *audit = &ledger->audit;
	int r = audit_keys_read(audit->keys_path, ledger->vault, epoch->number, &epoch->keys, why,
				why_size);

	if (r != 0)
		return r;
	require(note_signer_init(&epoch->signer, str_from(audit->origin), epoch->keys.seed));
	return audit_vkey_write(audit->keys_path, epoch->number, &epoch->signer.verifier, why,
				why_size);
}

/* Its keys, as files that last. */
static int make_next(struct ledger *ledger, struct ledger_epoch *next)
{
	struct ledger_audit *audit = &ledger->audit;
	char why[512] = "";
	int r = audit_keys_make(audit->keys_path, ledger->vault, next->number, ledger->env, why,
				sizeof(why));

	if (r == 0)
		r = ledger_epoch_keys(ledger, next, why, sizeof(why));
	if (r != 0)
		log_note(ledger->log, LOG_ERROR, "audit_not_rotated", "why", why);
	return r;
}

/* Once an epoch's end is published its key has nothing to sign any more. After a crash, and where a
 * copy of the folder was put back, there may be several. */
static void erase_old_seeds(struct ledger *ledger)
{
	struct ledger_audit *audit = &ledger->audit;

	if (audit->sealed < audit->now.first)
		return;
	for (; audit->seeds_gone < audit->now.number; audit->seeds_gone++)
		if (audit_seed_erase(audit->keys_path, audit->seeds_gone) != 0)
			log_note(ledger->log, LOG_ERROR, "audit_key_not_erased", "why",
				 strerror(errno));
}

static int rotate(struct ledger *ledger, struct store_command *command)
{
	struct ledger_audit *audit = &ledger->audit;
	struct ledger_epoch next = {.number = audit->now.number + 1,
				    .begun_ms = env_wall_ms(ledger->env)};
	int r;

	if (audit->sealed < audit->now.first)
		return STORE_LOST; /* its key still has to sign */
	if (next.number >= STORE_EPOCHS_MAX)
		return STORE_FULL;
	erase_old_seeds(ledger);
	if (make_next(ledger, &next) != 0)
		return STORE_ABSENT;
	r = say_who(ledger, command, "epoch_ended", audit->now.number);
	if (r == 0)
		r = say_note(ledger, ENTRY_CERTIFICATE, &next.signer.verifier);
	if (r == 0)
		r = say_note(ledger, ENTRY_SEAL, &next.signer.verifier);
	next.first = audit->tip.frontier.size;
	if (r == 0)
		r = run_sql(ledger,
			    "INSERT INTO audit_epoch(epoch, first, begun_ms) VALUES(?1, ?2, ?3)",
			    next.number, (int64_t)next.first, next.begun_ms);
	if (r == 0) {
		command->log_epoch = next.number;
		audit->now = next;
		audit->has_turned = true;
	}
	audit_keys_fini(&next.keys);
	note_signer_fini(&next.signer);
	return r;
}

/* -- erasing ----------------------------------------------------------------------- */

static int erase(struct ledger *ledger, struct store_command *command)
{
	struct ledger_audit *audit = &ledger->audit;
	uint32_t epoch = command->log_epoch;
	struct entry_key key;
	char why[512] = "";
	bool has_key;
	int64_t found[3];
	int r;

	if (epoch >= audit->now.number)
		return STORE_LOST;
	r = look_up(ledger,
		    "SELECT e.first, n.first, e.erased FROM audit_epoch e"
		    " JOIN audit_epoch n ON n.epoch = e.epoch + 1 WHERE e.epoch = ?1",
		    epoch, found);
	if (r <= 0)
		return r < 0 ? r : STORE_ABSENT;
	if (found[2] >= 0)
		return STORE_EXISTS;
	has_key = audit_data_key_read(audit->keys_path, ledger->vault, epoch, &key, why,
				      sizeof(why)) == 0;
	r = say_who(ledger, command, "audit_key_erased", epoch);
	if (r == 0)
		r = say_erased(ledger, epoch, has_key ? &key : NULL,
			       command->prunes ? found : NULL);
	if (has_key)
		entry_key_fini(&key);
	if (r == 0)
		r = run_sql(ledger,
			    "UPDATE audit_epoch SET erased = ?2, prune = ?3 WHERE epoch = ?1",
			    epoch, (int64_t)audit->tip.frontier.size - 1, command->prunes);
	audit->has_erased = true;
	if (command->prunes && !audit->has_prunes) {
		audit->has_prunes = true;
		audit->prune_after = audit->tip.frontier.size - 1;
	}
	return r;
}

/* The files of data keys that the log says are erased, and when the next of them is. */
void ledger_epoch_finish(struct ledger *ledger)
{
	struct ledger_audit *audit = &ledger->audit;
	int64_t found[3];

	if (audit->has_turned) {
		audit->has_turned = false;
		(void)load_keep_due(ledger);
	}
	if (!audit->has_erased)
		return;
	while (look_up(ledger,
		       "SELECT epoch, 0, 0 FROM audit_epoch WHERE erased >= 0 AND gone = 0"
		       " ORDER BY epoch LIMIT 1",
		       0, found) > 0) {
		if (audit_data_key_erase(audit->keys_path, (uint32_t)found[0]) != 0) {
			log_note(ledger->log, LOG_ERROR, "audit_key_not_erased", "why",
				 strerror(errno));
			return;
		}
		if (run_sql(ledger, "UPDATE audit_epoch SET gone = 1 WHERE epoch = ?1", found[0], 0,
			    0) != 0)
			return;
	}
	audit->has_erased = false;
	(void)load_keep_due(ledger);
}

/* -- by itself --------------------------------------------------------------------- */

/* Entries of which a published entry says that they go. One epoch at a time. */
static void prune(struct ledger *ledger)
{
	struct ledger_audit *audit = &ledger->audit;
	int64_t found[3];
	int r;

	if (!audit->has_prunes || !sealer_has_pruned(audit->sealer))
		return;
	if (audit->is_pruning)
		(void)run_sql(ledger, "UPDATE audit_epoch SET prune = 2 WHERE epoch = ?1",
			      audit->pruning, 0, 0);
	audit->is_pruning = false;
	r = look_up(ledger,
		    "SELECT e.epoch, e.first, n.first FROM audit_epoch e"
		    " JOIN audit_epoch n ON n.epoch = e.epoch + 1"
		    " WHERE e.prune = 1 AND e.erased >= 0 AND e.erased < ?1"
		    " ORDER BY e.epoch LIMIT 1",
		    (int64_t)audit->sealed, found);
	if (r > 0) {
		audit->is_pruning = true;
		audit->pruning = (uint32_t)found[0];
		sealer_prune(audit->sealer, (uint64_t)found[1], (uint64_t)found[2]);
	} else if (r == 0) {
		r = look_up(ledger,
			    "SELECT erased, 0, 0 FROM audit_epoch WHERE prune = 1"
			    " ORDER BY erased LIMIT 1",
			    0, found);
		audit->has_prunes = r > 0;
		audit->prune_after = r > 0 ? (uint64_t)found[0] : 0;
	}
}

int ledger_change_epoch(struct ledger *ledger, struct store_command *command)
{
	return command->kind == STORE_ROTATE ? rotate(ledger, command) : erase(ledger, command);
}

/* One that nobody waits for, in a transaction of its own. */
static void change_alone(struct ledger *ledger, struct store_command *command)
{
	const struct engine_kind *kind = ledger->engine.kind;
	int r = kind->begin(&ledger->engine);

	if (r == 0) {
		r = ledger_change_epoch(ledger, command);
		if (r == 0)
			r = kind->commit(&ledger->engine);
		else
			kind->rollback(&ledger->engine);
	}
	if (r != 0)
		ledger->audit.epoch_again_ms = env_monotonic_ms(ledger->env) + AGAIN_MS;
}

static int64_t change_due_ms(const struct ledger *ledger)
{
	const struct ledger_audit *audit = &ledger->audit;
	int64_t due_ms = audit->kept_due_ms;

	if (audit->rotate_ms && time_add(audit->now.begun_ms, audit->rotate_ms) < due_ms)
		due_ms = time_add(audit->now.begun_ms, audit->rotate_ms);
	return due_ms;
}

int64_t ledger_epoch_due_ms(struct ledger *ledger)
{
	struct ledger_audit *audit = &ledger->audit;
	int64_t due_ms = change_due_ms(ledger), left_ms, again_ms;

	if (audit->sealed < audit->now.first || due_ms == INT64_MAX)
		return -1;
	left_ms = due_ms - env_wall_ms(ledger->env);
	again_ms = audit->epoch_again_ms - env_monotonic_ms(ledger->env);
	if (left_ms < again_ms)
		left_ms = again_ms;
	return left_ms > 0 ? left_ms : 0;
}

void ledger_epoch_tidy(struct ledger *ledger)
{
	struct ledger_audit *audit = &ledger->audit;
	struct store_command command = {
		.kind = STORE_ROTATE, .prunes = true, .log_epoch = audit->kept_oldest};

	erase_old_seeds(ledger);
	prune(ledger);
	if (ledger_epoch_due_ms(ledger) != 0)
		return;
	if (audit->kept_due_ms <= env_wall_ms(ledger->env))
		command.kind = STORE_ERASE;
	change_alone(ledger, &command);
}
