/*
 * Publishing beside the store (see sealer.h).
 *
 * One slice is under way at a time, so the queue is one buffer, which changes hands.
 *
 * The publisher and its files have two users: this thread, and the courier's, which compares,
 * proves and puts cosignatures there. Each holds `files` meanwhile; under it nothing waits for the
 * network.
 */
#include "store/sealer.h"

#include "audit/remote.h"
#include "base/err.h"
#include "store/courier.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PAUSE_FIRST_S = 1, PAUSE_MAX_S = 60 };

struct sealer {
	char *path;
	char **anchors; /* those that are folders */
	size_t anchor_count;
	struct courier *courier; /* NULL: nothing is to be carried */
	struct log *log;
	struct note_verifier *verifiers; /* the last one: of the epoch that ended last here */
	size_t verifier_count;

	pthread_t thread;
	bool is_started;
	pthread_mutex_t lock; /* what follows, down to `look` */
	pthread_cond_t given, taken;
	bool has_slice, then_seal, is_closing;
	struct sealer_slice slice;
	struct sealer_look look;
	uint64_t prune_from, prune_to; /* to 0: nothing is to be pruned */

	/* The thread's own, once it runs; but for `turn` while there is room. The publisher and
	 * what is of anchors are changed with `files` held. */
	pthread_mutex_t files;
	struct note_signer signer;
	struct sealer_turn turn; /* first 0: none */
	struct publisher publisher;
	bool is_publisher_open;
	atomic_size_t lost_anchors; /* that are folders: the last checkpoint is not there */
	int pause_s;
};

static void *run(void *argument);
static void copy_to_anchors(struct sealer *sealer);
static int take_found(void *state, struct str entry);

static int copy_order(struct sealer *sealer, const struct sealer_order *order)
{
	sealer->log = order->log;
	sealer->signer = *order->signer;
	if (order->turn)
		sealer->turn = *order->turn;
	sealer->verifiers = calloc(order->verifier_count + 1, sizeof(*sealer->verifiers));
	if (!sealer->verifiers)
		return FAIL_MEMORY;
	memcpy(sealer->verifiers, order->verifiers,
	       order->verifier_count * sizeof(*sealer->verifiers));
	sealer->verifier_count = order->verifier_count + 1;
	sealer->path = strdup(order->path);
	sealer->anchors = calloc(order->anchor_count + 1, sizeof(*sealer->anchors));
	if (!sealer->path || !sealer->anchors)
		return FAIL_MEMORY;
	for (size_t i = 0; i < order->anchor_count; i++) {
		if (remote_is_url(order->anchors[i]))
			continue;
		sealer->anchors[sealer->anchor_count] =
			strndup(order->anchors[i].at, order->anchors[i].len);
		if (!sealer->anchors[sealer->anchor_count++])
			return FAIL_MEMORY;
	}
	return 0;
}

static void warn_of_anchor(struct sealer *sealer, const char *anchor, const char *why)
{
	struct log_line line;

	log_begin(&line, sealer->log, LOG_WARNING, "audit_anchor_unreachable");
	log_text(&line, "anchor", anchor);
	log_text(&line, "why", why);
	log_end(&line);
}

/* 0, or PUBLISHER_FORKED with `why`. */
static int compare_anchors(struct sealer *sealer, char *why, size_t why_size)
{
	int r = 0;

	for (size_t i = 0; r <= 0 && i < sealer->anchor_count; i++) {
		r = publisher_compare(&sealer->publisher, sealer->anchors[i], why, why_size);
		if (r < 0)
			warn_of_anchor(sealer, sealer->anchors[i], why);
	}
	return r > 0 ? r : 0;
}

/* All of the epoch that ends is published: its successor signs. */
static void turn_if_there(struct sealer *sealer)
{
	struct publisher *publisher = &sealer->publisher;

	if (!sealer->turn.first || publisher->published < sealer->turn.first)
		return;
	sealer->verifiers[sealer->verifier_count - 1] = sealer->signer.verifier;
	note_signer_fini(&sealer->signer);
	sealer->signer = sealer->turn.signer;
	publisher_turn(publisher, &sealer->signer);
	note_signer_fini(&sealer->turn.signer);
	sealer->turn.first = 0;
}

/* 0; PUBLISHER_FORKED, FAIL_IO, FAIL_MEMORY with `why`. */
static int open_publisher(struct sealer *sealer, char *why, size_t why_size)
{
	const struct publisher_keys keys = {
		.signer = &sealer->signer,
		.known = sealer->verifiers,
		.known_count = sealer->verifier_count,
	};
	int r = publisher_open(&sealer->publisher, sealer->path, &keys, why, why_size);

	sealer->is_publisher_open = r == 0;
	if (r == 0)
		turn_if_there(sealer);
	return r;
}

/* What the store may not have any more. As open_publisher(). */
static int find(struct sealer *sealer, uint64_t to, char *why, size_t why_size)
{
	int r = publisher_find(&sealer->publisher, to, take_found, sealer);

	if (r > 0)
		snprintf(why, why_size,
			 "tampered: entry %" PRIu64 " of the audit log is not in the database, and "
			 "the bundle that kept it is not in %s as it was; keep the data directory "
			 "as it is, and go on from a copy of it that is whole",
			 sealer->publisher.tip.frontier.size, sealer->path);
	if (r < 0)
		snprintf(why, why_size, "%s cannot be read or written", sealer->path);
	return r;
}

/* With nothing given: what goes on from here. */
static void show(struct sealer *sealer)
{
	const struct publisher *publisher = &sealer->publisher;

	sealer->look.next = publisher->tip.frontier.size;
	sealer->look.sealed = publisher->published;
	if (sealer->look.kept < publisher->kept)
		sealer->look.kept = publisher->kept;
}

/* -- for the courier --------------------------------------------------------------- */

static int compare_there(void *state, const char *anchor, const struct buf *bytes, char *why,
			 size_t why_size)
{
	struct sealer *sealer = state;
	int r = FAIL_IO;

	snprintf(why, why_size, "the log's own files cannot be read now");
	pthread_mutex_lock(&sealer->files);
	if (sealer->is_publisher_open)
		r = publisher_compare_bytes(&sealer->publisher, anchor, bytes, why, why_size);
	pthread_mutex_unlock(&sealer->files);
	return r;
}

static int prove_there(void *state, uint64_t old_size, uint64_t size, struct tree_proof *out_proof)
{
	struct sealer *sealer = state;
	int r = FAIL_IO;

	pthread_mutex_lock(&sealer->files);
	if (sealer->is_publisher_open)
		r = publisher_prove(&sealer->publisher, old_size, size, out_proof);
	pthread_mutex_unlock(&sealer->files);
	return r;
}

static int cosign_there(void *state, uint64_t size, struct str line)
{
	struct sealer *sealer = state;
	bool is_newest = false;
	int r = FAIL_IO;

	pthread_mutex_lock(&sealer->files);
	if (sealer->is_publisher_open)
		r = publisher_cosign(&sealer->publisher, size, line, &is_newest);
	if (r == 0 && is_newest)
		copy_to_anchors(sealer);
	pthread_mutex_unlock(&sealer->files);
	return r;
}

static int open_courier(struct sealer *sealer, const struct sealer_order *order)
{
	struct str urls[COURIER_PLACES_MAX];
	struct courier_order carried = {
		.anchors = urls,
		.witnesses = order->witnesses,
		.witness_count = order->witness_count,
		.published = {compare_there, prove_there, cosign_there, sealer},
		.log = order->log,
	};

	for (size_t i = 0; i < order->anchor_count; i++) {
		if (!remote_is_url(order->anchors[i]))
			continue;
		if (carried.anchor_count == COURIER_PLACES_MAX)
			return fail(FAIL_LIMIT);
		urls[carried.anchor_count++] = order->anchors[i];
	}
	if (!carried.anchor_count && !carried.witness_count)
		return 0;
	return courier_open(&carried, &sealer->courier);
}

/* The newest checkpoint. With `files` held, or before anything runs. */
static void give_courier(struct sealer *sealer)
{
	const struct publisher *publisher = &sealer->publisher;

	if (sealer->courier && publisher->published)
		courier_give(sealer->courier, publisher->published,
			     buf_str(&publisher->checkpoint));
}

int sealer_open(const struct sealer_order *order, struct sealer **out_sealer,
		struct tip *out_published, char *why, size_t why_size)
{
	struct sealer *sealer = calloc(1, sizeof(*sealer));
	int r = sealer ? copy_order(sealer, order) : FAIL_MEMORY;

	if (r == 0)
		r = open_courier(sealer, order);
	if (sealer)
		pthread_mutex_init(&sealer->files, NULL);
	if (r != 0) {
		snprintf(why, why_size, "there is no memory to open %s", order->path);
		fail(r);
	}
	if (r == 0)
		r = open_publisher(sealer, why, why_size);
	if (r == 0)
		r = compare_anchors(sealer, why, why_size);
	if (r == 0 && sealer->courier)
		r = courier_compare(sealer->courier, why, why_size);
	if (r != 0) {
		sealer_close(sealer);
		return r;
	}
	pthread_mutex_init(&sealer->lock, NULL);
	pthread_cond_init(&sealer->given, NULL);
	pthread_cond_init(&sealer->taken, NULL);
	sealer_slice_init(&sealer->slice);
	sealer->look.has_room = true;
	show(sealer);
	*out_published = sealer->publisher.tip;
	*out_sealer = sealer;
	return 0;
}

int sealer_find(struct sealer *sealer, uint64_t to, struct tip *out_tip, char *why, size_t why_size)
{
	int r = find(sealer, to, why, why_size);

	sealer->look.kept = to;
	show(sealer);
	*out_tip = sealer->publisher.tip;
	return r;
}

int sealer_start(struct sealer *sealer)
{
	give_courier(sealer);
	if (sealer->courier && courier_start(sealer->courier) != 0)
		return FAIL_MEMORY;
	sealer->is_started = pthread_create(&sealer->thread, NULL, run, sealer) == 0;
	return sealer->is_started ? 0 : fail(FAIL_MEMORY);
}

void sealer_look(struct sealer *sealer, struct sealer_look *out_look)
{
	pthread_mutex_lock(&sealer->lock);
	*out_look = sealer->look;
	pthread_mutex_unlock(&sealer->lock);
}

void sealer_failing(struct sealer *sealer, size_t *out_anchors, size_t *out_witnesses)
{
	struct courier_troubles troubles = {0};

	if (sealer->courier)
		courier_troubles(sealer->courier, &troubles);
	*out_anchors = atomic_load(&sealer->lost_anchors) + troubles.anchors;
	*out_witnesses = troubles.witnesses;
}

void sealer_wait(struct sealer *sealer, struct sealer_look *out_look)
{
	pthread_mutex_lock(&sealer->lock);
	while (!sealer->look.has_room && !sealer->look.is_stopped)
		pthread_cond_wait(&sealer->taken, &sealer->lock);
	*out_look = sealer->look;
	pthread_mutex_unlock(&sealer->lock);
}

void sealer_slice_init(struct sealer_slice *slice)
{
	buf_init(&slice->entries, TILE_BUNDLE_MAX);
	buf_init(&slice->leaves, TILE_BUNDLE_MAX);
}

void sealer_slice_fini(struct sealer_slice *slice)
{
	buf_fini(&slice->entries);
	buf_fini(&slice->leaves);
}

void sealer_slice_clear(struct sealer_slice *slice)
{
	buf_clear(&slice->entries);
	buf_clear(&slice->leaves);
}

void sealer_give(struct sealer *sealer, struct sealer_slice *slice, bool then_seal)
{
	struct sealer_slice empty;

	pthread_mutex_lock(&sealer->lock);
	require(sealer->look.has_room);
	empty = sealer->slice;
	sealer->slice = *slice;
	sealer->then_seal = then_seal;
	sealer->has_slice = true;
	sealer->look.has_room = false;
	pthread_cond_signal(&sealer->given);
	pthread_mutex_unlock(&sealer->lock);
	*slice = empty;
	sealer_slice_clear(slice);
}

void sealer_turn(struct sealer *sealer, const struct sealer_turn *turn)
{
	pthread_mutex_lock(&sealer->lock);
	require(sealer->look.has_room);
	if (sealer->turn.first != turn->first && sealer->look.sealed < turn->first) {
		require(!sealer->turn.first);
		sealer->turn = *turn;
	}
	pthread_mutex_unlock(&sealer->lock);
}

void sealer_prune(struct sealer *sealer, uint64_t from, uint64_t to)
{
	pthread_mutex_lock(&sealer->lock);
	sealer->prune_from = from;
	sealer->prune_to = to;
	pthread_cond_signal(&sealer->given);
	pthread_mutex_unlock(&sealer->lock);
}

bool sealer_has_pruned(struct sealer *sealer)
{
	bool has_pruned;

	pthread_mutex_lock(&sealer->lock);
	has_pruned = sealer->prune_to == 0;
	pthread_mutex_unlock(&sealer->lock);
	return has_pruned;
}

void sealer_close(struct sealer *sealer)
{
	if (!sealer)
		return;
	if (sealer->is_started) {
		pthread_mutex_lock(&sealer->lock);
		sealer->is_closing = true;
		pthread_cond_signal(&sealer->given);
		pthread_mutex_unlock(&sealer->lock);
		pthread_join(sealer->thread, NULL);
	}
	courier_close(sealer->courier);
	sealer_slice_fini(&sealer->slice);
	if (sealer->is_publisher_open)
		publisher_close(&sealer->publisher);
	for (size_t i = 0; i < sealer->anchor_count; i++)
		free(sealer->anchors[i]);
	note_signer_fini(&sealer->turn.signer);
	note_signer_fini(&sealer->signer);
	free(sealer->verifiers);
	free(sealer->anchors);
	free(sealer->path);
	pthread_mutex_destroy(&sealer->files);
	free(sealer);
}

/* -- the thread -------------------------------------------------------------------- */

/* An anchor is on other storage, which may be away: the log goes on, and the next one is copied. */
static void copy_to_anchors(struct sealer *sealer)
{
	bool was_lost = atomic_load(&sealer->lost_anchors) != 0;
	size_t lost = 0;

	for (size_t i = 0; i < sealer->anchor_count; i++) {
		if (publisher_anchor(&sealer->publisher, sealer->anchors[i]) == 0)
			continue;
		lost++;
		if (!was_lost)
			warn_of_anchor(sealer, sealer->anchors[i], strerror(errno));
	}
	atomic_store(&sealer->lost_anchors, lost);
}

static int seal(struct sealer *sealer)
{
	int r = publisher_seal(&sealer->publisher);

	if (r == 0) {
		copy_to_anchors(sealer);
		give_courier(sealer);
	}
	return r;
}

/* The next entry. What an epoch ends with is sealed at once, by its own key. */
static int take(struct sealer *sealer, struct str entry, const struct hash *leaf)
{
	int r = publisher_take(&sealer->publisher, entry, leaf);

	if (r == 0 && sealer->publisher.tip.frontier.size == sealer->turn.first) {
		r = seal(sealer);
		if (r == 0)
			turn_if_there(sealer);
	}
	return r;
}

static int take_found(void *state, struct str entry)
{
	return take(state, entry, NULL);
}

static int take_slice(struct sealer *sealer)
{
	struct str rest = buf_str(&sealer->slice.entries), entry;
	const struct hash *leaf = (const void *)sealer->slice.leaves.at;
	size_t known = sealer->slice.leaves.len / HASH_SIZE;
	int r = 0;

	pthread_mutex_lock(&sealer->files);
	for (size_t i = 0; r == 0 && entry_next(&rest, &entry); i++)
		r = take(sealer, entry, i < known ? &leaf[i] : NULL);
	if (r == 0 && sealer->then_seal)
		r = seal(sealer);
	pthread_mutex_unlock(&sealer->files);
	return r;
}

/* Under the lock: wait, unless the gate closes. False: it does. */
static bool pause_for(struct sealer *sealer)
{
	struct timespec until;

	sealer->pause_s = sealer->pause_s ? sealer->pause_s * 2 : PAUSE_FIRST_S;
	if (sealer->pause_s > PAUSE_MAX_S)
		sealer->pause_s = PAUSE_MAX_S;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += sealer->pause_s;
	while (!sealer->is_closing &&
	       pthread_cond_timedwait(&sealer->given, &sealer->lock, &until) != ETIMEDOUT)
		;
	return !sealer->is_closing;
}

/* Under the lock: the files again, from their checkpoint on. 0; PUBLISHER_FORKED; < 0: closing. */
static int reopen(struct sealer *sealer)
{
	char why[512] = "";
	int r = FAIL_IO;

	sealer->look.is_stopped = true;
	pthread_cond_broadcast(&sealer->taken);
	while (r < 0 && pause_for(sealer)) {
		pthread_mutex_unlock(&sealer->lock);
		pthread_mutex_lock(&sealer->files);
		if (sealer->is_publisher_open)
			publisher_close(&sealer->publisher);
		r = open_publisher(sealer, why, sizeof(why));
		if (r == 0)
			r = find(sealer, sealer->look.kept, why, sizeof(why));
		pthread_mutex_unlock(&sealer->files);
		pthread_mutex_lock(&sealer->lock);
	}
	if (r > 0)
		log_note(sealer->log, LOG_ERROR, "audit_broken", "why", why);
	sealer->look.is_stopped = r != 0;
	return r;
}

/* Under the lock: what was given has been dealt with. False: nothing more can be. */
static bool settle(struct sealer *sealer, int r)
{
	if (r > 0)
		log_note(sealer->log, LOG_ERROR, "audit_broken", "why",
			 "the audit log in the database, or its files, were changed by somebody "
			 "else; nothing more is signed: keep both, and verify them");
	if (r < 0) {
		log_note(sealer->log, LOG_ERROR, "audit_not_sealed", "why",
			 "the files of the audit log cannot be written; entries are safe in the "
			 "database, and writing is tried again");
		r = reopen(sealer);
	} else {
		sealer->pause_s = 0;
	}
	sealer->has_slice = false;
	sealer->look.has_room = r == 0;
	sealer->look.is_stopped = r != 0;
	if (r == 0)
		show(sealer);
	pthread_cond_broadcast(&sealer->taken);
	return r == 0;
}

/* Under the lock, which it lets go meanwhile. */
static void prune(struct sealer *sealer)
{
	uint64_t from = sealer->prune_from, to = sealer->prune_to;

	pthread_mutex_unlock(&sealer->lock);
	pthread_mutex_lock(&sealer->files);
	(void)publisher_prune(&sealer->publisher, from, to);
	pthread_mutex_unlock(&sealer->files);
	pthread_mutex_lock(&sealer->lock);
	sealer->prune_to = 0;
}

static void *run(void *argument)
{
	struct sealer *sealer = argument;
	bool goes_on = true;
	int r;

	pthread_setname_np(pthread_self(), "sealer");
	pthread_mutex_lock(&sealer->files);
	copy_to_anchors(sealer);
	pthread_mutex_unlock(&sealer->files);
	pthread_mutex_lock(&sealer->lock);
	while (goes_on) {
		while (!sealer->has_slice && !sealer->prune_to && !sealer->is_closing)
			pthread_cond_wait(&sealer->given, &sealer->lock);
		if (!sealer->has_slice && sealer->prune_to)
			prune(sealer);
		else if (!sealer->has_slice)
			break;
		if (!sealer->has_slice)
			continue;
		pthread_mutex_unlock(&sealer->lock);
		r = take_slice(sealer);
		pthread_mutex_lock(&sealer->lock);
		goes_on = settle(sealer, r);
	}
	sealer->look.has_room = false;
	sealer->look.is_stopped = true;
	pthread_cond_broadcast(&sealer->taken);
	pthread_mutex_unlock(&sealer->lock);
	return NULL;
}
