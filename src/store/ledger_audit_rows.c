/*
 * The audit log's rows: where entries are between their transaction and the sealer.
 *
 * What a transaction says is one row, under the number of its first entry; where that is very much,
 * it is several. What was committed last stays in memory as well, so that it is not read again only
 * to be handed to the sealer; what does not fit there is read from its rows. A row is dropped soon
 * after all its entries are in whole bundles that last (audit/publisher.h), published or not: the
 * fewer there are, the more often their pages are used again before they are copied to the
 * database.
 *
 * Always true: the entries of a row follow one another, and so do rows.
 */
#include "store/ledger.h"

#include "base/err.h"

_Static_assert((int)VAULT_NONCE_SIZE == (int)ENTRY_NONCE_SIZE, "one kind of nonce");

enum {
	ROW_MAX = 1 << 20,   /* bytes after which a transaction begins another row */
	FRESH_MAX = 1 << 20, /* bytes that are kept in memory for the sealer */
	LEAVES_MAX = (ROW_MAX + ENTRY_SIZE_MAX) / ENTRY_HEAD_SIZE * HASH_SIZE,
	SLICE = 256, /* entries read at once: what a slice's buffer certainly holds */
	DROP = 1024, /* entries dropped at once: each time, the tree of rows is put right */
};
_Static_assert((int)FRESH_MAX <= (int)TILE_BUNDLE_MAX, "what is kept fits a slice's buffer");
_Static_assert((int)SLICE <= (int)TILE_WIDTH, "and so does what is read at once");

int ledger_audit_reserve(struct ledger_audit *audit)
{
	buf_init(&audit->text, ENTRY_TEXT_MAX);
	buf_init(&audit->row, ROW_MAX + ENTRY_SIZE_MAX);
	buf_init(&audit->leaves, LEAVES_MAX);
	buf_init(&audit->tip_bytes, TIP_SIZE_MAX);
	sealer_slice_init(&audit->fresh);
	sealer_slice_init(&audit->slice);
	if (buf_reserve(&audit->text, ENTRY_TEXT_MAX) &&
	    buf_reserve(&audit->row, ROW_MAX + ENTRY_SIZE_MAX) &&
	    buf_reserve(&audit->leaves, LEAVES_MAX) && buf_reserve(&audit->tip_bytes, TIP_SIZE_MAX))
		return 0;
	return fail(FAIL_MEMORY);
}

void ledger_audit_release(struct ledger_audit *audit)
{
	buf_fini(&audit->text);
	buf_fini(&audit->row);
	buf_fini(&audit->leaves);
	buf_fini(&audit->tip_bytes);
	sealer_slice_fini(&audit->fresh);
	sealer_slice_fini(&audit->slice);
}

/* -- writing ----------------------------------------------------------------------- */

static void begin_row(struct ledger_audit *audit)
{
	audit->row_first = audit->tip.frontier.size;
	buf_clear(&audit->row);
	buf_clear(&audit->leaves);
}

void ledger_audit_begin(struct ledger_audit *audit)
{
	audit->tip_before = audit->tip;
	audit->now_before = audit->now;
	begin_row(audit);
}

void ledger_audit_undo(struct ledger_audit *audit)
{
	audit->tip = audit->tip_before;
	audit->now = audit->now_before;
}

static int put_row(struct ledger *ledger)
{
	struct ledger_audit *audit = &ledger->audit;
	sqlite3_stmt *put = ledger_statement(ledger, SQL_AUDIT_PUT);

	sqlite3_bind_int64(put, 1, (int64_t)audit->row_first);
	bind_blob(put, 2, buf_str(&audit->row));
	return ledger_run(ledger, put);
}

int ledger_audit_append(struct ledger *ledger, enum entry_type type)
{
	struct ledger_audit *audit = &ledger->audit;
	struct tip_entry entry = {.type = type,
				  .epoch = audit->now.number,
				  .time_ms = (uint64_t)env_wall_ms(ledger->env),
				  .text = buf_str(&audit->text)};
	int r = 0;

	require(audit->is_open && !audit->text.is_spoiled);
	if (audit->row.len > ROW_MAX) {
		r = put_row(ledger);
		begin_row(audit);
	}
	if (entry_type_is_encrypted(type))
		nonces_next(&audit->nonces, ledger->env, entry.nonce);
	if (r == 0 &&
	    tip_append(&audit->tip, &entry, &audit->now.keys.data, &audit->row, NULL) != 0)
		r = fail(FAIL_STORE);
	if (r == 0)
		require(buf_append(&audit->leaves, audit->tip.last.bytes, HASH_SIZE) == 0);
	return r;
}

static int put_tip(struct ledger *ledger)
{
	struct ledger_audit *audit = &ledger->audit;
	sqlite3_stmt *put = ledger_statement(ledger, SQL_AUDIT_TIP_PUT);

	buf_clear(&audit->tip_bytes);
	require(tip_write(&audit->tip, &audit->tip_bytes) == 0);
	bind_blob(put, 1, buf_str(&audit->tip_bytes));
	return ledger_run(ledger, put);
}

static int drop(struct ledger *ledger)
{
	struct ledger_audit *audit = &ledger->audit;
	sqlite3_stmt *drop = ledger_statement(ledger, SQL_AUDIT_DROP);

	if (audit->kept < audit->first + DROP)
		return 0;
	audit->first_put = audit->first + DROP;
	sqlite3_bind_int64(drop, 1, (int64_t)audit->first_put);
	return ledger_run(ledger, drop);
}

void ledger_audit_put(struct ledger *ledger, int *r)
{
	struct ledger_audit *audit = &ledger->audit;

	audit->sealed_put = audit->sealed;
	audit->first_put = audit->first;
	if (audit->sealed_put != audit->sealed_written)
		ledger_counter_put(ledger, COUNTER_SEALED, (int64_t)audit->sealed_put, r);
	if (*r == 0 && audit->row.len)
		*r = put_row(ledger);
	if (*r == 0 && audit->tip.frontier.size != audit->tip_before.frontier.size)
		*r = put_tip(ledger);
	if (*r == 0)
		*r = drop(ledger);
}

/* What does not follow what is kept, or is too much, is read from its rows. */
static void keep_fresh(struct ledger_audit *audit)
{
	struct sealer_slice *fresh = &audit->fresh;
	bool is_all = audit->row_first == audit->tip_before.frontier.size;
	bool follows = !fresh->entries.len || audit->fresh_end == audit->row_first;

	if (!audit->row.len)
		return;
	if (!is_all || !follows || fresh->entries.len + audit->row.len > FRESH_MAX)
		sealer_slice_clear(fresh);
	if (!fresh->entries.len)
		audit->fresh_first = audit->row_first;
	if (audit->row.len > FRESH_MAX ||
	    buf_append_str(&fresh->entries, buf_str(&audit->row)) != 0 ||
	    buf_append_str(&fresh->leaves, buf_str(&audit->leaves)) != 0)
		sealer_slice_clear(fresh);
	audit->fresh_end = audit->tip.frontier.size;
}

void ledger_audit_committed(struct ledger_audit *audit)
{
	audit->sealed_written = audit->sealed_put;
	audit->first = audit->first_put;
	keep_fresh(audit);
}

/* -- reading ----------------------------------------------------------------------- */

void ledger_audit_walk(struct ledger *ledger, uint64_t from, struct ledger_audit_walk *walk)
{
	*walk = (struct ledger_audit_walk){.from = from,
					   .rows = ledger_statement(ledger, SQL_AUDIT_FROM)};
	sqlite3_bind_int64(walk->rows, 1, (int64_t)from);
}

int ledger_audit_next(struct ledger *ledger, struct ledger_audit_walk *walk, struct str *out_entry)
{
	int r;

	for (;;) {
		while (entry_next(&walk->rest, out_entry))
			if (walk->next++ >= walk->from)
				return 1;
		r = ledger_step(ledger, walk->rows);
		if (r <= 0)
			return r;
		walk->next = (uint64_t)sqlite3_column_int64(walk->rows, 0);
		walk->rest = column_bytes(walk->rows, 1);
	}
}

void ledger_audit_walked(struct ledger_audit_walk *walk)
{
	sqlite3_reset(walk->rows);
}

/* Entries from `first` on, but none that are kept in memory. */
static int read_slice(struct ledger *ledger, uint64_t first, uint64_t *out_end)
{
	struct ledger_audit *audit = &ledger->audit;
	uint64_t end = first, until = audit->fresh.entries.len ? audit->fresh_first : UINT64_MAX;
	struct ledger_audit_walk walk;
	struct str entry;
	int r = 1;

	ledger_audit_walk(ledger, first, &walk);
	while (end < until && end - first < SLICE &&
	       (r = ledger_audit_next(ledger, &walk, &entry)) > 0) {
		if (entry.len > ENTRY_SIZE_MAX || buf_append_str(&audit->slice.entries, entry) != 0)
			break;
		end++;
	}
	ledger_audit_walked(&walk);
	*out_end = end;
	return r >= 0 && end > first ? 0 : FAIL_STORE;
}

int ledger_audit_slice(struct ledger *ledger, uint64_t first, struct sealer_slice **out_slice,
		       uint64_t *out_end)
{
	struct ledger_audit *audit = &ledger->audit;

	if (audit->fresh.entries.len && audit->fresh_first < first)
		sealer_slice_clear(&audit->fresh);
	if (audit->fresh.entries.len && audit->fresh_first == first) {
		*out_slice = &audit->fresh;
		*out_end = audit->fresh_end;
		return 0;
	}
	*out_slice = &audit->slice;
	*out_end = first;
	sealer_slice_clear(&audit->slice);
	return first == audit->tip.frontier.size ? 0 : read_slice(ledger, first, out_end);
}
