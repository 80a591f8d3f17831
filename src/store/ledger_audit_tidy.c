/*
 * Handing committed entries to the sealer, a slice at a time, after answers have been given.
 *
 * Each bundle's worth goes as soon as it is there, in memory or in rows. Once a checkpoint is due,
 * all that is committed goes, and is sealed with the last slice; what is written meanwhile goes
 * along. A slice is in memory, or read in a fraction of a millisecond, so that no writer waits long
 * for it.
 *
 * A checkpoint is a dozen files and syncs, whatever it covers. So however fast entries come, there
 * is a pause between two.
 */
#include "store/ledger.h"

#include "base/err.h"

#include <stdlib.h>

enum {
	SEAL_PAUSE_MS = 1000, /* between two checkpoints that are due for their entries */
	SEAL_MAX = 16384,     /* sealed at the latest when so many are new, whatever still comes */
	PUBLISHED_MS = 1000,  /* …whether an entry is published by now */
	SOON_MS = 50,	      /* …and what was given to it is asked after */
	ROOM_MS = 5,	      /* when a busy sealer is looked at again */
	STOPPED_MS = 1000,    /* …and one that waits after a failure */
	LAST_SLICES_MAX = 65536, /* handed over at closing; the rest the next time */
};

static void hand_over(struct ledger *ledger, const struct sealer_look *look)
{
	struct ledger_audit *audit = &ledger->audit;
	uint64_t size = audit->tip.frontier.size, end;
	struct sealer_slice *slice;
	bool is_last;

	if (ledger_audit_slice(ledger, look->next, &slice, &end) != 0) {
		audit->is_unreadable = true;
		ledger_audit_show(ledger);
		log_note(ledger->log, LOG_ERROR, "audit_not_sealed", "why",
			 "entries of the audit log cannot be read from the database");
		return;
	}
	if (audit->now.first > look->sealed)
		sealer_turn(audit->sealer, &(struct sealer_turn){.first = audit->now.first,
								 .signer = audit->now.signer});
	is_last = audit->is_handing && (end >= size || end - look->sealed >= SEAL_MAX);
	sealer_give(audit->sealer, slice, is_last);
	if (is_last) {
		audit->is_handing = end < size;
		audit->sealed_ms = env_monotonic_ms(ledger->env);
	}
}

/* Milliseconds until a checkpoint is due; -1: nothing is new. */
static int64_t seal_due_ms(struct ledger *ledger, const struct sealer_look *look)
{
	struct ledger_audit *audit = &ledger->audit;
	uint64_t fresh = audit->tip.frontier.size - look->sealed;
	int64_t pause_ms = audit->checkpoint_interval_ms, left_ms;

	if (audit->is_handing || look->next < audit->now.first)
		return 0;
	if (!fresh)
		return -1;
	if (fresh >= audit->checkpoint_entries && pause_ms > SEAL_PAUSE_MS)
		pause_ms = SEAL_PAUSE_MS;
	left_ms = audit->sealed_ms + pause_ms - env_monotonic_ms(ledger->env);
	return left_ms > 0 ? left_ms : 0;
}

/* Is there more than the sealer has, so much that it is worth while? In memory, or in rows: those
 * that it did not come to, or that a crash or a failure left behind, go as others do. */
static bool has_bundle(const struct ledger *ledger, const struct sealer_look *look)
{
	return ledger->audit.tip.frontier.size - look->next >= TILE_WIDTH;
}

static bool can_seal(const struct ledger *ledger)
{
	return ledger->audit.is_open && ledger->db && !ledger->audit.is_unreadable;
}

static int64_t sealing_due_ms(struct ledger *ledger)
{
	struct sealer_look look;
	int64_t due_ms;

	sealer_look(ledger->audit.sealer, &look);
	due_ms = has_bundle(ledger, &look) ? 0 : seal_due_ms(ledger, &look);
	if (due_ms != 0 || look.has_room)
		return due_ms;
	return look.is_stopped ? STOPPED_MS : ROOM_MS;
}

/* Until something of epochs has come about, or is looked at again; -1: nothing will. */
static int64_t epoch_due_ms(struct ledger *ledger)
{
	const struct ledger_audit *audit = &ledger->audit;
	int64_t due_ms = ledger_epoch_due_ms(ledger);
	struct sealer_look look;

	sealer_look(audit->sealer, &look);
	if (audit->seeds_gone < audit->now.number)
		return look.sealed >= audit->now.first ? 0 : SOON_MS;
	if (audit->is_pruning)
		return sealer_has_pruned(audit->sealer) ? 0 : SOON_MS;
	if (audit->has_prunes && look.sealed > audit->prune_after)
		return 0;
	if (audit->has_prunes && (due_ms < 0 || due_ms > PUBLISHED_MS))
		return PUBLISHED_MS;
	return due_ms;
}

int64_t ledger_audit_due_ms(struct ledger *ledger)
{
	int64_t seal_ms, epoch_ms;

	if (!can_seal(ledger))
		return -1;
	seal_ms = sealing_due_ms(ledger);
	epoch_ms = epoch_due_ms(ledger);
	if (seal_ms < 0 || epoch_ms < 0)
		return seal_ms < 0 ? epoch_ms : seal_ms;
	return seal_ms < epoch_ms ? seal_ms : epoch_ms;
}

void ledger_audit_show(struct ledger *ledger)
{
	struct engine_log *log = &ledger->engine.log;

	atomic_store(&log->entries, ledger->audit.tip.frontier.size);
	atomic_store(&log->is_unreadable, ledger->audit.is_unreadable);
	atomic_store(&log->sealer, ledger->audit.sealer);
}

void ledger_audit_tidy(struct ledger *ledger)
{
	struct sealer_look look;

	if (!can_seal(ledger))
		return;
	sealer_look(ledger->audit.sealer, &look);
	ledger->audit.sealed = look.sealed;
	ledger->audit.kept = look.kept;
	ledger_epoch_tidy(ledger);
	ledger_audit_show(ledger);
	if (!look.has_room)
		return;
	if (seal_due_ms(ledger, &look) == 0)
		ledger->audit.is_handing = true;
	if (ledger->audit.is_handing || has_bundle(ledger, &look))
		hand_over(ledger, &look);
}

/* All that is left, so that a log that was closed is sealed. */
static void hand_over_last(struct ledger *ledger)
{
	struct ledger_audit *audit = &ledger->audit;
	struct sealer_look look;

	for (int i = 0; i < LAST_SLICES_MAX && can_seal(ledger); i++) {
		sealer_wait(audit->sealer, &look);
		if (!look.has_room || look.sealed == audit->tip.frontier.size)
			return;
		audit->is_handing = true;
		hand_over(ledger, &look);
	}
}

/* A key that has signed its last is not left for the next start. */
static void end_epoch(struct ledger *ledger)
{
	struct sealer_look look;

	sealer_wait(ledger->audit.sealer, &look);
	ledger->audit.sealed = look.sealed;
	ledger->audit.rotate_ms = 0;
	ledger->audit.kept_due_ms = INT64_MAX;
	ledger_epoch_tidy(ledger);
}

void ledger_audit_close(struct ledger *ledger)
{
	struct ledger_audit *audit = &ledger->audit;

	if (audit->is_started)
		hand_over_last(ledger);
	if (audit->is_started && can_seal(ledger))
		end_epoch(ledger);
	atomic_store(&ledger->engine.log.sealer, NULL);
	sealer_close(audit->sealer);
	ledger_audit_release(audit);
	note_signer_fini(&audit->now.signer);
	audit_keys_fini(&audit->now.keys);
	note_signer_fini(&audit->now_before.signer);
	audit_keys_fini(&audit->now_before.keys);
	free(audit->keys_path);
	free(audit->log_path);
	*audit = (struct ledger_audit){0};
}
