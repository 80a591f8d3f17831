/*
 * The audit log inside the ledger: one entry with every change, in the change's own transaction.
 *
 *   table audit       seq → the bytes of entries, as audit/entry.h has them, one after another, the
 *                     first of which has this number; appended
 *   table audit_tip   one row: the log's origin, and its tip (audit/tip.h) after the last entry
 *
 * An entry says who did what to which operation and what came of it; never a body, a field of one
 * or a credential. The tip is in memory, undone with the transaction and read again with the file.
 *
 *   ledger_audit.c       what entries say
 *   ledger_audit_rows.c  their rows, and what is kept of them in memory
 *   ledger_audit_open.c  keys, origin, and whether database and files still belong together
 *   ledger_audit_tidy.c  handing committed entries to the sealer (store/sealer.h)
 *   ledger_epoch.c       the keys change, and old ones are erased
 */
#ifndef STORE_LEDGER_AUDIT_H
#define STORE_LEDGER_AUDIT_H

#include "audit/keys.h"
#include "audit/tip.h"
#include "store/sealer.h"
#include "store/store.h"
#include "vault/nonces.h"

#include <sqlite3.h>

struct ledger;

enum {
	AUDIT_EVENTS = 2, /* that one entry may tell of */
};

enum { LEDGER_WHY_MAX = 1024 }; /* bytes of a reason that an entry of ours tells */

/* Whose keys sign and encrypt. A plain value. */
struct ledger_epoch {
	uint32_t number;
	uint64_t first; /* its first entry */
	int64_t begun_ms;
	struct audit_keys keys;
	struct note_signer signer;
};

struct ledger_audit {
	/* Set when it is opened. */
	bool is_open;
	char *keys_path, *log_path;
	char origin[NOTE_NAME_MAX + 1];
	uint64_t checkpoint_entries;
	int64_t checkpoint_interval_ms;
	int64_t rotate_ms, keep_ms; /* 0: never, for ever */

	/* Moves with the transaction. */
	struct ledger_epoch now, now_before;
	struct tip tip, tip_before;
	uint64_t sealed;	   /* entries that are published */
	uint64_t kept;		   /* entries that whole bundles keep */
	uint64_t first_put, first; /* entry in the table: after this transaction, and before */
	uint64_t sealed_put, sealed_written; /* COUNTER_SEALED: in this transaction, and before */

	struct buf text;    /* the entry's that is being written */
	struct buf row;	    /* entries of this transaction that are in no row yet… */
	uint64_t row_first; /* …from this one on… */
	struct buf leaves;  /* …and their leaf hashes */
	struct buf tip_bytes;
	struct sealer_slice fresh; /* entries that were committed last; may be empty… */
	uint64_t fresh_first, fresh_end;
	struct sealer_slice slice; /* what was read for the sealer */
	struct nonces nonces;

	/* Epochs. */
	bool has_turned;	/* an epoch has ended since it was looked what is kept */
	bool has_old_seed;	/* when it was opened, the key before was there */
	uint32_t seeds_gone;	/* epochs whose keys to sign with are erased, from the first on */
	bool has_erased;	/* some data key may have to go */
	bool has_prunes;	/* some entries may have to go… */
	uint64_t prune_after;	/* …once this entry is published */
	bool is_pruning;	/* …and those of this epoch do */
	uint32_t pruning;	/* its number */
	uint32_t kept_oldest;	/* an epoch that can be read… */
	int64_t kept_due_ms;	/* …until then (Unix time) */
	int64_t epoch_again_ms; /* not tried again before (monotonic) */

	/* Sealing. */
	struct sealer *sealer;
	bool is_started;    /* its thread runs */
	bool is_handing;    /* what is committed is being handed over, to be sealed */
	bool is_unreadable; /* entries could not be read: not tried again in this process */
	int64_t sealed_ms;  /* when the last one was begun (monotonic) */
};

/* What an entry tells. Strings are read at once and not kept. */
struct ledger_said {
	enum entry_type type;
	const char *events[AUDIT_EVENTS];	 /* the second may be NULL */
	const struct store_operation *operation; /* as it is after */
	enum operation_state from;		 /* 0: it was not there, or has not moved */
	bool has_moved;
	bool has_end; /* its reference, resource, reason and decided_by are of this change */
	const struct store_attempt *attempt;		   /* NULL: none */
	uint32_t attempt_number;			   /* 0: none */
	const struct store_answer *answer;		   /* NULL, or status 0: none */
	const struct store_approval *approval;		   /* NULL: not of one */
	const struct store_consent *consent;		   /* NULL: nobody answered */
	const struct store_administration *administration; /* then nothing else but the type */
};

/* Append an entry. 0, or a failure that ends the transaction. */
int ledger_say(struct ledger *ledger, const struct ledger_said *said);

/* Append an entry of the text that stands in audit.text. As ledger_say(). */
int ledger_audit_append(struct ledger *ledger, enum entry_type type);

/* The columns account, token, fingerprint, method, path and action of a row, from `first` on; they
 * last as long as the row. */
void ledger_audit_columns(sqlite3_stmt *row, int first, struct store_operation *out_operation);

/* What is told of each change. As ledger_say(). */
int ledger_say_claim(struct ledger *ledger, const struct store_command *command,
		     const struct store_operation *record, enum operation_state from);
int ledger_say_settled(struct ledger *ledger, const struct store_command *command);
int ledger_say_moved(struct ledger *ledger, const struct store_command *command,
		     const struct store_operation *record, enum operation_state from);
int ledger_say_taken(struct ledger *ledger, const struct store_errand *errand,
		     const struct store_attempt *attempt);
int ledger_say_outdated(struct ledger *ledger, const struct store_operation *record);
int ledger_say_released(struct ledger *ledger, const struct store_command *command,
			const struct store_operation *record);
/* A question that is asked (stand waits, and `answer` NULL), answered, or over. */
int ledger_say_approval(struct ledger *ledger, const struct store_command *answer,
			const struct store_operation *record, const struct store_approval *approval,
			enum operation_state from);
int ledger_say_noted(struct ledger *ledger, const struct store_command *command,
		     const struct store_operation *record);
/* Nothing where it has no event. */
int ledger_say_administration(struct ledger *ledger,
			      const struct store_administration *administration);
/* What was running when the last owner stopped: one entry an operation. */
int ledger_say_lost(struct ledger *ledger, const char *reason);

/* All the memory that entries will need, so that none is asked for while they are written. 0,
 * FAIL_MEMORY. */
int ledger_audit_reserve(struct ledger_audit *audit);
void ledger_audit_release(struct ledger_audit *audit);

/* Around a transaction. */
void ledger_audit_begin(struct ledger_audit *audit);
/* Before its commit: write what it says, the tip and what is sealed; drop a few entries that whole
 * bundles keep. Sets *r at a failure. */
void ledger_audit_put(struct ledger *ledger, int *r);
void ledger_audit_committed(struct ledger_audit *audit);
void ledger_audit_undo(struct ledger_audit *audit);

/* Reading committed entries from `from` on, one by one. */
struct ledger_audit_walk {
	sqlite3_stmt *rows;
	uint64_t from, next; /* the number of the entry that `rest` begins with */
	struct str rest;     /* of the row */
};
void ledger_audit_walk(struct ledger *ledger, uint64_t from, struct ledger_audit_walk *walk);
/* 1 and an entry, which lasts until the next call; 0: no more; < 0. */
int ledger_audit_next(struct ledger *ledger, struct ledger_audit_walk *walk, struct str *out_entry);
void ledger_audit_walked(struct ledger_audit_walk *walk);

/*
 * Some committed entries from `first` on, one after another, up to before *out_end; none where
 * there are none. The slice is the ledger's, and may be given away for another one. 0; FAIL_STORE:
 * they cannot be read.
 */
int ledger_audit_slice(struct ledger *ledger, uint64_t first, struct sealer_slice **out_slice,
		       uint64_t *out_end);

/* With every connection: the tip, and what is sealed, as the database has them. */
int ledger_audit_load(struct ledger *ledger);

/* Once: keys, origin, files. 0; FAIL_STORE, FAIL_MEMORY with `why`. */
int ledger_audit_open(struct ledger *ledger, const struct store_audit *settings, const char *path,
		      char *why, size_t why_size);
int ledger_audit_start(struct ledger *ledger); /* 0, FAIL_MEMORY */
void ledger_audit_close(struct ledger *ledger);

/* With every connection: which epoch it is. */
int ledger_epoch_load(struct ledger *ledger);
/* Read the keys of an epoch, and write its public one. 0; KEYS_ABSENT, FAIL_CONFIG and `why`. */
int ledger_epoch_keys(struct ledger *ledger, struct ledger_epoch *epoch, char *why,
		      size_t why_size);
/* STORE_ROTATE and STORE_ERASE. */
int ledger_change_epoch(struct ledger *ledger, struct store_command *command);
/* After a commit: end what it says of erased keys. */
void ledger_epoch_finish(struct ledger *ledger);
/* What is due by itself, and when the next of it is; -1: nothing. */
void ledger_epoch_tidy(struct ledger *ledger);
int64_t ledger_epoch_due_ms(struct ledger *ledger);

/* How the log stands, for whoever asks from another thread: once it is open, after each commit and
 * each look at what is due. */
void ledger_audit_show(struct ledger *ledger);

/* Hand over a slice, where one is due. */
void ledger_audit_tidy(struct ledger *ledger);
/* Milliseconds until that is due; -1: it is not. */
int64_t ledger_audit_due_ms(struct ledger *ledger);

#endif
