/*
 * Beginning a verification, and judging at its end.
 *
 * The order of judging is the table at the end of this file's story: what says most of the entries
 * comes first (verify.h). A root that differs is a fork where a key has also signed, at that size
 * or later, a root that is this log's; else the entries are not what was signed.
 */
#include "audit/verify_internal.h"

#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static int begin(struct walk *walk, bool *out_can_go_on);
static void judge(struct walk *walk);

static const char *const result_texts[VERIFY_RESULTS] = {
	[VERIFY_OK] = "ok",
	[VERIFY_OK_UNSEALED] = "ok-unsealed",
	[VERIFY_TAMPERED] = "tampered",
	[VERIFY_TRUNCATED] = "truncated",
	[VERIFY_FORKED] = "forked",
	[VERIFY_ROLLED_BACK] = "rolled-back",
	[VERIFY_BAD_SIGNATURE] = "bad-signature",
	[VERIFY_MISSING_ANCHOR] = "missing-anchor",
	[VERIFY_KEY_MISMATCH] = "key-mismatch",
	[VERIFY_NOT_WITNESSED] = "not-witnessed",
};

const char *verify_result_text(enum verify_result result)
{
	require(result < VERIFY_RESULTS);
	return result_texts[result];
}

static void init(struct walk *walk, const struct verify_order *order, struct verify_report *report)
{
	memset(walk, 0, sizeof(*walk));
	memset(report, 0, sizeof(*report));
	walk->order = order;
	walk->report = report;
	walk->is_assumed = true;
	walk->epoch.has_key = true;
	walk->epoch.key = *order->key;
	tree_frontier_init(&walk->frontier);
	arena_init(&walk->mem, WALK_NOTE_MEMORY);
	buf_init(&walk->bundle, TILE_BUNDLE_MAX);
	buf_init(&walk->file, NOTE_SIZE_MAX);
	buf_init(&walk->newer, NOTE_SIZE_MAX);
	buf_init(&walk->tip.bytes, NOTE_SIZE_MAX);
	buf_init(&walk->since.bytes, NOTE_SIZE_MAX);
	for (size_t i = 0; i < TILE_LEVELS; i++)
		buf_init(&walk->tiles[i].bytes, TILE_SIZE_MAX);
}

static void fini(struct walk *walk)
{
	for (size_t i = 0; i < TILE_LEVELS; i++)
		buf_fini(&walk->tiles[i].bytes);
	buf_fini(&walk->since.bytes);
	buf_fini(&walk->tip.bytes);
	buf_fini(&walk->newer);
	buf_fini(&walk->file);
	buf_fini(&walk->bundle);
	arena_fini(&walk->mem);
	free(walk->sizes);
	free(walk->gaps);
	free(walk->allowed);
}

int verify_log(const struct verify_order *order, struct verify_report *out_report)
{
	struct walk *walk = malloc(sizeof(*walk));
	bool can_go_on = false;
	int r;

	if (!walk)
		return fail(FAIL_MEMORY);
	init(walk, order, out_report);
	r = begin(walk, &can_go_on);
	if (r == 0 && can_go_on)
		r = walk_entries(walk);
	if (r == 0 && can_go_on)
		r = walk_meet_beyond(walk);
	if (r == 0 && can_go_on)
		judge(walk);
	fini(walk);
	free(walk);
	return r;
}

static void say(struct walk *walk, enum verify_result result, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void say(struct walk *walk, enum verify_result result, const char *format, ...)
{
	va_list arguments;

	walk->report->result = result;
	va_start(arguments, format);
	vsnprintf(walk->report->why, sizeof(walk->report->why), format, arguments);
	va_end(arguments);
}

void walk_blame(struct walk *walk, uint64_t from, uint64_t to, const char *why)
{
	struct verify_report *report = walk->report;

	if (report->has_bad && report->bad_from <= from)
		return;
	report->has_bad = true;
	report->bad_from = from;
	report->bad_to = to;
	walk->bad_why = why;
}

static void claim_size(struct walk *walk, uint64_t size)
{
	if (size > walk->size_max)
		walk->size_max = size;
}

static bool read_anchor(struct walk_anchor *anchor)
{
	anchor->is_there = note_read(buf_str(&anchor->bytes), &anchor->note) &&
			   checkpoint_read(anchor->note.text, &anchor->checkpoint);
	return anchor->is_there;
}

static int note_size(void *state, struct str name)
{
	struct walk *walk = state;
	uint64_t size, *more;
	size_t room;

	if (!checkpoint_number_read(name, &size))
		return 0; /* a file that is being written, or somebody's own */
	if (walk->size_count == VERIFY_CHECKPOINTS_MAX)
		return fail(FAIL_LIMIT);
	if (walk->size_count == walk->size_room) {
		room = walk->size_room ? 2 * walk->size_room : 64;
		more = realloc(walk->sizes, room * sizeof(*more));
		if (!more)
			return fail(FAIL_MEMORY);
		walk->sizes = more;
		walk->size_room = room;
	}
	walk->sizes[walk->size_count++] = size;
	claim_size(walk, size);
	return 0;
}

static int compare_sizes(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* The checkpoint kept elsewhere. False: nothing can be held against it. */
static bool begin_since(struct walk *walk)
{
	if (!walk->order->since.at)
		return true;
	if (buf_append_str(&walk->since.bytes, walk->order->since) != 0 ||
	    !read_anchor(&walk->since)) {
		say(walk, VERIFY_MISSING_ANCHOR, "what was given to start from is no checkpoint");
		return false;
	}
	claim_size(walk, walk->since.checkpoint.size);
	return true;
}

static int begin_tip(struct walk *walk)
{
	const struct log_reader *log = walk->order->log;
	int r = log->read(log->state, "checkpoint", &walk->tip.bytes);

	if (r < 0 || r == LOG_ABSENT)
		return r < 0 ? r : 0;
	if (r == 0 && read_anchor(&walk->tip))
		claim_size(walk, walk->tip.checkpoint.size);
	else
		walk->signature_why = "the file `checkpoint` is none";
	return 0;
}

static bool is_of_another_log(const struct walk *walk, const struct walk_anchor *anchor)
{
	return anchor->is_there &&
	       !str_equal(anchor->checkpoint.origin, str_from(walk->order->key->name));
}

/* The buffers change places; what the note points into stays where it is. */
int walk_read_tip(struct walk *walk, bool *out_has_moved)
{
	const struct log_reader *log = walk->order->log;
	struct walk_anchor newer = {0};
	int r;

	*out_has_moved = false;
	newer.bytes = walk->newer;
	buf_clear(&newer.bytes);
	r = log->read(log->state, "checkpoint", &newer.bytes);
	walk->newer = newer.bytes;
	if (r != 0 || !walk->tip.is_there || !read_anchor(&newer) ||
	    is_of_another_log(walk, &newer) || newer.checkpoint.size <= walk->tip.checkpoint.size)
		return r < 0 ? r : 0;
	walk->newer = walk->tip.bytes;
	walk->tip = newer;
	claim_size(walk, newer.checkpoint.size);
	*out_has_moved = true;
	return 0;
}

/* Everything signed that is known before the first entry. */
static int begin(struct walk *walk, bool *out_can_go_on)
{
	const struct log_reader *log = walk->order->log;
	int r;

	if (!begin_since(walk))
		return 0;
	r = begin_tip(walk);
	if (r == 0)
		r = log->list(log->state, note_size, walk);
	if (r != 0)
		return r;
	if (walk->size_count > 0)
		qsort(walk->sizes, walk->size_count, sizeof(*walk->sizes), compare_sizes);
	if (is_of_another_log(walk, &walk->tip) || is_of_another_log(walk, &walk->since))
		say(walk, VERIFY_KEY_MISMATCH, "the checkpoint is of another log than the key");
	else if (!walk->tip.is_there && !walk->since.is_there && walk->size_count == 0 &&
		 !walk->signature_why)
		say(walk, VERIFY_MISSING_ANCHOR, "there is no checkpoint");
	else
		*out_can_go_on = true;
	return 0;
}

static void judge_mismatch(struct walk *walk)
{
	if (walk->good_size >= walk->mismatch_size) {
		say(walk, VERIFY_FORKED,
		    "the log's key has signed another history, of %llu entries",
		    (unsigned long long)walk->mismatch_size);
		return;
	}
	walk_blame(walk, walk->mismatch_after,
		   walk->mismatch_size > walk->mismatch_after ? walk->mismatch_size - 1
							      : walk->mismatch_after,
		   "the entries are not those that were signed");
	say(walk, VERIFY_TAMPERED, "%s", walk->bad_why);
}

static void judge_missing(struct walk *walk)
{
	unsigned long long have = walk->report->entries, claimed = walk->size_max;

	if (claimed <= have)
		say(walk, VERIFY_TRUNCATED, "%llu tiles are missing or too short",
		    (unsigned long long)walk->report->missing_tiles);
	else if (walk->tip.is_there && walk->tip.checkpoint.size <= have)
		say(walk, VERIFY_ROLLED_BACK, "%llu entries are there, and %llu had been signed",
		    have, claimed);
	else
		say(walk, VERIFY_TRUNCATED, "%llu entries are there of the %llu that were signed",
		    have, claimed);
}

int walk_note_gap(struct walk_gap **gaps, size_t *count, struct walk_gap gap)
{
	struct walk_gap *last = *count ? &(*gaps)[*count - 1] : NULL, *more;

	if (last && last->to == gap.from && last->seq == gap.seq) {
		last->to = gap.to;
		return 0;
	}
	if (*count == WALK_GAPS_MAX)
		return fail(FAIL_LIMIT);
	more = realloc(*gaps, (*count + 1) * sizeof(*more));
	if (!more)
		return fail(FAIL_MEMORY);
	more[(*count)++] = gap;
	*gaps = more;
	return 0;
}

/* Does something that is signed for allow that bundle of entries to be gone? */
static bool is_allowed(const struct walk *walk, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < walk->allowed_count; i++) {
		const struct walk_gap *allowed = &walk->allowed[i];

		if (allowed->from <= from && to <= allowed->to && walk->report->has_head &&
		    allowed->seq < walk->report->head_size)
			return true;
	}
	return false;
}

static void judge_gaps(struct walk *walk)
{
	for (size_t i = 0; i < walk->gap_count; i++) {
		const struct walk_gap *gap = &walk->gaps[i];

		for (uint64_t from = gap->from; from < gap->to; from += TILE_WIDTH) {
			if (is_allowed(walk, from, from + TILE_WIDTH))
				walk->report->pruned += TILE_WIDTH;
			else
				walk_blame(walk, from, from,
					   "entries are missing, and later ones are there");
		}
	}
}

static void judge(struct walk *walk)
{
	struct verify_report *report = walk->report;

	judge_gaps(walk);
	report->unsealed = report->entries - (report->has_head ? report->head_size : 0);
	if (!walk->key_why)
		walk->key_why = walk->early_why;
	if (report->has_bad)
		say(walk, VERIFY_TAMPERED, "%s", walk->bad_why);
	else if (walk->signature_why)
		say(walk, VERIFY_BAD_SIGNATURE, "%s", walk->signature_why);
	else if (walk->key_why)
		say(walk, VERIFY_KEY_MISMATCH, "%s", walk->key_why);
	else if (walk->has_mismatch)
		judge_mismatch(walk);
	else if (walk->size_max > report->entries || report->missing_tiles > 0)
		judge_missing(walk);
	else if (!report->has_head)
		say(walk, VERIFY_MISSING_ANCHOR, "no checkpoint could be checked with this key");
	else if (walk->order->witness && !report->is_witnessed)
		say(walk, VERIFY_NOT_WITNESSED, "%s has not cosigned the newest checkpoint",
		    walk->order->witness->name);
	else if (report->unsealed > 0)
		say(walk, VERIFY_OK_UNSEALED, "%llu entries are not covered by a checkpoint yet",
		    (unsigned long long)report->unsealed);
}
