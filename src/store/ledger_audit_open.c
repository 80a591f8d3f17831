/*
 * Opening the audit log: keys, origin, and whether what is in the database still belongs to what
 * has been published of it.
 *
 *   found                                              means
 *   no keys, no entries                                a new directory: keys are made
 *   no keys, and entries                               refused: nobody else can go on with the log
 *   the published checkpoint is of more entries        the database is an older copy: it has
 *   than there are                                     forgotten operations. Refused
 *   it is of fewer than the database knows of          the files are an older copy. Refused
 *   entries that do not follow it, or not the tip      changed by somebody. Refused
 */
#include "store/ledger.h"

#include "base/err.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	ENTRIES_DEFAULT = 1000,
	INTERVAL_DEFAULT_MS = 10000,
};

/* The tip as the database has it. An empty one is that of a log without entries. */
static int read_tip(struct ledger *ledger, sqlite3_stmt *row)
{
	struct ledger_audit *audit = &ledger->audit;
	const void *bytes = sqlite3_column_blob(row, 0);
	size_t len = (size_t)sqlite3_column_bytes(row, 0);

	tip_init(&audit->tip);
	if (len && !tip_read(str_of(bytes, len), &audit->tip))
		return fail(FAIL_STORE);
	snprintf(audit->origin, sizeof(audit->origin), "%s",
		 (const char *)sqlite3_column_text(row, 1));
	audit->sealed_written = (uint64_t)sqlite3_column_int64(row, 2);
	audit->first = sqlite3_column_type(row, 3) == SQLITE_NULL
			       ? audit->tip.frontier.size
			       : (uint64_t)sqlite3_column_int64(row, 3);
	if (!audit->is_open)
		audit->sealed = audit->sealed_written;
	audit->tip_before = audit->tip;
	return 0;
}

int ledger_audit_load(struct ledger *ledger)
{
	static const char sql[] = "SELECT tip, origin, (SELECT value FROM counter WHERE id = 11),"
				  " (SELECT min(seq) FROM audit) FROM audit_tip WHERE id = 1";
	sqlite3_stmt *row = NULL;
	int r;

	if (sqlite3_prepare_v2(ledger->db, sql, -1, &row, NULL) != SQLITE_OK)
		return fail(FAIL_STORE);
	r = ledger_step(ledger, row);
	if (r > 0)
		r = read_tip(ledger, row);
	else if (r == 0)
		r = fail(FAIL_STORE);
	sqlite3_finalize(row);
	return r == 0 ? ledger_epoch_load(ledger) : r;
}

/* -- origin and keys --------------------------------------------------------------- */

static int put_origin(struct ledger *ledger, struct str origin)
{
	sqlite3_stmt *put = NULL;
	int r;

	if (sqlite3_prepare_v2(ledger->db, "UPDATE audit_tip SET origin = ?1 WHERE id = 1", -1,
			       &put, NULL) != SQLITE_OK)
		return fail(FAIL_STORE);
	bind_str(put, 1, origin);
	r = ledger_run(ledger, put);
	sqlite3_finalize(put);
	return r;
}

static int take_origin(struct ledger *ledger, struct str wanted, char *why, size_t why_size)
{
	struct ledger_audit *audit = &ledger->audit;

	if (!wanted.len || str_equal(wanted, str_from(audit->origin)))
		return 0;
	if (!note_name_is_good(wanted)) {
		snprintf(why, why_size,
			 "audit.origin is a name without spaces or +, of at most 255 bytes");
		return FAIL_STORE;
	}
	if (audit->tip.frontier.size) {
		snprintf(why, why_size,
			 "the audit log in %s began as %s: audit.origin cannot change while it "
			 "lasts; set it back",
			 ledger->path, audit->origin);
		return FAIL_STORE;
	}
	snprintf(audit->origin, sizeof(audit->origin), "%.*s", (int)wanted.len, wanted.at);
	if (put_origin(ledger, wanted) == 0)
		return 0;
	snprintf(why, why_size, "%s cannot be written", ledger->path);
	return FAIL_STORE;
}

static int take_keys(struct ledger *ledger, char *why, size_t why_size)
{
	struct ledger_audit *audit = &ledger->audit;
	int r = ledger_epoch_keys(ledger, &audit->now, why, why_size);
	size_t len;

	if (r == KEYS_ABSENT && audit->tip.frontier.size) {
		len = strlen(why);
		snprintf(why + len, why_size - len,
			 ", and the audit log is not empty: put it back from your copy of %s; "
			 "without it the log cannot go on",
			 audit->keys_path);
		return FAIL_STORE;
	}
	if (r == KEYS_ABSENT) {
		r = audit_keys_make(audit->keys_path, ledger->vault, audit->now.number, ledger->env,
				    why, why_size);
		if (r == 0)
			r = ledger_epoch_keys(ledger, &audit->now, why, why_size);
	}
	for (uint32_t i = 0; r == 0 && ledger->vault && i <= audit->now.number; i++)
		r = audit_keys_seal(audit->keys_path, ledger->vault, i, why, why_size);
	return r == 0 ? 0 : FAIL_STORE;
}

static void tell_key(struct ledger *ledger)
{
	struct ledger_audit *audit = &ledger->audit;
	char key[NOTE_KEY_MAX];
	struct note_verifier first;
	struct log_line line;

	/* That of the first epoch, which vouches for all others. */
	if (!audit_vkey_read(audit->keys_path, 0, &first))
		first = audit->now.signer.verifier;
	note_verifier_write(&first, key);
	log_begin(&line, ledger->log, LOG_INFO, "audit_log");
	log_text(&line, "verifier_key", key);
	log_int(&line, "epoch", audit->now.number);
	log_int(&line, "entries", (int64_t)ledger->audit.tip.frontier.size);
	log_end(&line);
}

/* -- database and files ------------------------------------------------------------ */

/* Move `tip` over what is in the database. 0; 1: an entry is missing or does not follow; < 0. */
static int follow_rows(struct ledger *ledger, struct tip *tip)
{
	struct ledger_audit_walk walk;
	struct tree_growth growth;
	struct str entry;
	int r;

	ledger_audit_walk(ledger, tip->frontier.size, &walk);
	while ((r = ledger_audit_next(ledger, &walk, &entry)) > 0)
		if (!publisher_follow(tip, entry, NULL, &growth))
			break;
	ledger_audit_walked(&walk);
	return r;
}

static bool same_tip(const struct tip *a, const struct tip *b)
{
	struct hash left, right;

	tip_root(a, &left);
	tip_root(b, &right);
	return a->frontier.size == b->frontier.size && hash_equal(&left, &right) &&
	       hash_equal(&a->last, &b->last);
}

static int check_sizes(const struct ledger *ledger, const struct tip *published, char *why,
		       size_t why_size)
{
	const struct ledger_audit *audit = &ledger->audit;
	uint64_t files = published->frontier.size;

	if (files > audit->tip.frontier.size) {
		snprintf(why, why_size,
			 "rolled back: %s has published %" PRIu64
			 " entries of the audit log, and %s has %" PRIu64
			 ": it is an older copy, which has forgotten operations; put the newest "
			 "one back",
			 audit->log_path, files, ledger->path, audit->tip.frontier.size);
		return FAIL_STORE;
	}
	if (files < audit->sealed_written || (files < audit->now.first && !audit->has_old_seed)) {
		snprintf(why, why_size,
			 "%s has %" PRIu64 " entries of the audit log, and %" PRIu64
			 " had been published there: put the folder back from your copy",
			 audit->log_path, files,
			 audit->sealed_written > audit->now.first ? audit->sealed_written
								  : audit->now.first);
		return FAIL_STORE;
	}
	return 0;
}

/* What is not published is in bundles up to the first row, and then in rows. */
static int check_rest(struct ledger *ledger, char *why, size_t why_size)
{
	struct tip tip;
	int r = sealer_find(ledger->audit.sealer, ledger->audit.first, &tip, why, why_size);

	if (r != 0)
		return r;
	r = follow_rows(ledger, &tip);
	if (r == 0 && same_tip(&tip, &ledger->audit.tip))
		return 0;
	snprintf(why, why_size,
		 "tampered: from entry %" PRIu64 " on the audit log in %s is not what was written; "
		 "keep the data directory as it is, and go on from a copy of it that is whole",
		 tip.frontier.size, ledger->path);
	return FAIL_STORE;
}

/* The public keys of all epochs that are there: an anchor may be of an old one. */
static struct note_verifier *read_verifiers(const struct ledger_audit *audit, size_t *out_count)
{
	struct note_verifier *all = calloc((size_t)audit->now.number + 1, sizeof(*all));

	*out_count = 0;
	for (uint32_t i = 0; all && i <= audit->now.number; i++)
		if (audit_vkey_read(audit->keys_path, i, &all[*out_count]))
			++*out_count;
	return all;
}

/* Where an epoch ended and nobody could publish it yet, its key is there, and signs that first. */
static bool take_old_seed(struct ledger_audit *audit, struct vault *vault,
			  struct note_signer *out_signer)
{
	uint8_t seed[NOTE_SEED_SIZE];
	char why[512];

	if (!audit->now.number || audit_seed_read(audit->keys_path, vault, audit->now.number - 1,
						  seed, why, sizeof(why)) != 0)
		return false;
	require(note_signer_init(out_signer, str_from(audit->origin), seed));
	sodium_memzero(seed, sizeof(seed));
	return true;
}

static int open_sealer(struct ledger *ledger, const struct store_audit *settings,
		       struct tip *out_published, char *why, size_t why_size)
{
	struct ledger_audit *audit = &ledger->audit;
	struct sealer_turn turn = {.first = audit->now.first, .signer = audit->now.signer};
	struct sealer_order order = {
		.path = audit->log_path,
		.signer = &audit->now.signer,
		.anchors = settings->anchors,
		.anchor_count = settings->anchor_count,
		.witnesses = settings->witnesses,
		.witness_count = settings->witness_count,
		.log = ledger->log,
	};
	struct note_verifier *verifiers = read_verifiers(audit, &order.verifier_count);
	struct note_signer old;
	int r;

	order.verifiers = verifiers;
	audit->has_old_seed = take_old_seed(audit, ledger->vault, &old);
	if (audit->has_old_seed) {
		order.signer = &old;
		order.turn = &turn;
	}
	r = verifiers ? sealer_open(&order, &audit->sealer, out_published, why, why_size)
		      : fail(FAIL_MEMORY);
	if (audit->has_old_seed)
		note_signer_fini(&old);
	note_signer_fini(&turn.signer);
	free(verifiers);
	return r;
}

static int open_files(struct ledger *ledger, const struct store_audit *settings, char *why,
		      size_t why_size)
{
	struct tip published;
	int r = open_sealer(ledger, settings, &published, why, why_size);

	if (r == 0)
		r = check_sizes(ledger, &published, why, why_size);
	if (r == 0)
		r = check_rest(ledger, why, why_size);
	if (r == 0)
		ledger->audit.sealed = published.frontier.size;
	return r == 0 ? 0 : FAIL_STORE;
}

/* -- all of it --------------------------------------------------------------------- */

static int reserve(struct ledger_audit *audit, const char *path)
{
	if (asprintf(&audit->keys_path, "%s/keys", path) < 0)
		audit->keys_path = NULL;
	if (asprintf(&audit->log_path, "%s/audit", path) < 0)
		audit->log_path = NULL;
	return audit->keys_path && audit->log_path ? ledger_audit_reserve(audit)
						   : fail(FAIL_MEMORY);
}

int ledger_audit_open(struct ledger *ledger, const struct store_audit *settings, const char *path,
		      char *why, size_t why_size)
{
	static const struct store_audit none;
	struct ledger_audit *audit = &ledger->audit;
	int r = reserve(audit, path);

	if (r < 0) {
		snprintf(why, why_size, "there is no memory to open %s", path);
		return r;
	}
	settings = settings ? settings : &none;
	audit->checkpoint_entries =
		settings->checkpoint_entries ? settings->checkpoint_entries : ENTRIES_DEFAULT;
	audit->checkpoint_interval_ms = settings->checkpoint_interval_ms
						? settings->checkpoint_interval_ms
						: INTERVAL_DEFAULT_MS;
	audit->rotate_ms = settings->rotate_ms;
	audit->keep_ms = settings->keep_ms;
	r = take_origin(ledger, settings->origin, why, why_size);
	if (r == 0)
		r = take_keys(ledger, why, why_size);
	if (r == 0)
		r = open_files(ledger, settings, why, why_size);
	if (r < 0)
		return r;
	audit->sealed_ms = env_monotonic_ms(ledger->env);
	audit->now_before = audit->now;
	audit->is_open = true;
	tell_key(ledger);
	return ledger_epoch_load(ledger);
}

int ledger_audit_start(struct ledger *ledger)
{
	int r = sealer_start(ledger->audit.sealer);

	ledger->audit.is_started = r == 0;
	ledger_audit_show(ledger);
	return r;
}
