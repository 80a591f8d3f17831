/*
 * The courier's life and its thread (see courier.h).
 *
 * Anchors come first, so that what is elsewhere is as new as can be while a witness is asked; a
 * cosignature is a new revision of the checkpoint, which the anchors then get.
 */
#include "store/courier_internal.h"

#include "audit/publisher.h"
#include "audit/witness.h"
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
	PAUSE_FIRST_S = 1,
	PAUSE_MAX_S = 60,
	START_MS = 15000,
	LINGER_S = 3, /* at the end, for the newest checkpoint */
	IDLE_S = 3600
};

static void *run(void *argument);

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* -- life -------------------------------------------------------------------------- */

static bool set_place(struct courier_place *place, struct str url)
{
	*place = (struct courier_place){.last = COURIER_DONE};
	return snprintf(place->url, sizeof(place->url), "%.*s", STR_ARG(url)) <
	       (int)sizeof(place->url);
}

static int copy_order(struct courier *courier, const struct courier_order *order)
{
	struct str url;

	courier->published = order->published;
	courier->log = order->log;
	if (order->anchor_count > COURIER_PLACES_MAX || order->witness_count > COURIER_PLACES_MAX)
		return FAIL_LIMIT;
	courier->anchors = calloc(order->anchor_count + 1, sizeof(*courier->anchors));
	courier->witnesses = calloc(order->witness_count + 1, sizeof(*courier->witnesses));
	if (!courier->anchors || !courier->witnesses)
		return FAIL_MEMORY;
	for (; courier->anchor_count < order->anchor_count; courier->anchor_count++)
		if (!set_place(&courier->anchors[courier->anchor_count],
			       order->anchors[courier->anchor_count]))
			return FAIL_LIMIT;
	for (; courier->witness_count < order->witness_count; courier->witness_count++) {
		struct courier_place *witness = &courier->witnesses[courier->witness_count];
		struct note_verifier key;

		if (!witness_setting_read(order->witnesses[courier->witness_count], &url, &key) ||
		    !set_place(witness, url))
			return FAIL_LIMIT;
		witness->key = key;
	}
	return 0;
}

int courier_open(const struct courier_order *order, struct courier **out_courier)
{
	struct courier *courier = calloc(1, sizeof(*courier));
	pthread_condattr_t monotonic;
	int r;

	if (!courier)
		return fail(FAIL_MEMORY);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&courier->lock, NULL);
	pthread_cond_init(&courier->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	buf_init(&courier->given, NOTE_SIZE_MAX);
	buf_init(&courier->checkpoint, NOTE_SIZE_MAX);
	buf_init(&courier->request, WITNESS_REQUEST_MAX);
	buf_init(&courier->answer, NOTE_SIZE_MAX);
	buf_init(&courier->scratch, NOTE_SIZE_MAX);
	r = copy_order(courier, order);
	if (r != 0) {
		courier_close(courier);
		return fail(r);
	}
	*out_courier = courier;
	return 0;
}

int courier_start(struct courier *courier)
{
	courier->is_started = pthread_create(&courier->thread, NULL, run, courier) == 0;
	return courier->is_started ? 0 : fail(FAIL_MEMORY);
}

void courier_give(struct courier *courier, uint64_t size, struct str checkpoint)
{
	pthread_mutex_lock(&courier->lock);
	buf_clear(&courier->given);
	courier->has_given = buf_append_str(&courier->given, checkpoint) == 0;
	courier->given_size = size;
	pthread_cond_signal(&courier->changed);
	pthread_mutex_unlock(&courier->lock);
}

static void end_thread(struct courier *courier)
{
	struct timespec until;

	pthread_mutex_lock(&courier->lock);
	courier->is_closing = true;
	pthread_cond_signal(&courier->changed);
	pthread_mutex_unlock(&courier->lock);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += LINGER_S;
	if (pthread_timedjoin_np(courier->thread, NULL, &until) == 0)
		return;
	atomic_store(&courier->is_stopping, true);
	pthread_join(courier->thread, NULL);
}

void courier_close(struct courier *courier)
{
	if (!courier)
		return;
	if (courier->is_started)
		end_thread(courier);
	buf_fini(&courier->given);
	buf_fini(&courier->checkpoint);
	buf_fini(&courier->request);
	buf_fini(&courier->answer);
	buf_fini(&courier->scratch);
	pthread_cond_destroy(&courier->changed);
	pthread_mutex_destroy(&courier->lock);
	free(courier->anchors);
	free(courier->witnesses);
	free(courier);
}

/* -- what becomes of calls --------------------------------------------------------- */

static void tell(struct courier *courier, const struct courier_place *place, enum courier_end end,
		 const char *why)
{
	bool is_witness = place->key.name[0] != '\0';
	bool is_refusal = end == COURIER_REFUSED;
	struct log_line line;

	log_begin(&line, courier->log, is_refusal ? LOG_ERROR : LOG_WARNING,
		  is_witness   ? is_refusal ? "audit_witness_refused" : "audit_witness_unreachable"
		  : is_refusal ? "audit_anchor_contradicts"
			       : "audit_anchor_unreachable");
	log_text(&line, is_witness ? "witness" : "anchor", place->url);
	log_text(&line, "why", why);
	log_end(&line);
}

static void count_trouble(struct courier *courier, const struct courier_place *place,
			  enum courier_end end)
{
	bool is_witness = place->key.name[0] != '\0';
	atomic_size_t *failing =
		is_witness ? &courier->failing_witnesses : &courier->failing_anchors;

	if (place->last == COURIER_DONE && end != COURIER_DONE)
		atomic_fetch_add(failing, 1);
	if (place->last != COURIER_DONE && end == COURIER_DONE)
		atomic_fetch_sub(failing, 1);
}

void courier_troubles(struct courier *courier, struct courier_troubles *out_troubles)
{
	out_troubles->anchors = atomic_load(&courier->failing_anchors);
	out_troubles->witnesses = atomic_load(&courier->failing_witnesses);
}

/* A trouble is told when it begins, or becomes another. */
static void note_end(struct courier *courier, struct courier_place *place, enum courier_end end,
		     const char *why)
{
	count_trouble(courier, place, end);
	if (end != COURIER_DONE && end != place->last)
		tell(courier, place, end, why);
	place->last = end;
	if (end == COURIER_DONE) {
		place->pause_s = 0;
		return;
	}
	place->pause_s = place->pause_s ? place->pause_s * 2 : PAUSE_FIRST_S;
	if (place->pause_s > PAUSE_MAX_S)
		place->pause_s = PAUSE_MAX_S;
	place->due_ms = now_ms() + place->pause_s * INT64_C(1000);
}

int courier_compare(struct courier *courier, char *why, size_t why_size)
{
	int64_t end_ms = now_ms() + START_MS;

	for (size_t i = 0; i < courier->anchor_count && now_ms() < end_ms; i++) {
		enum courier_end end =
			courier_compare_anchor(courier, &courier->anchors[i], why, why_size);

		if (end == COURIER_REFUSED)
			return PUBLISHER_FORKED;
		note_end(courier, &courier->anchors[i], end, why);
	}
	return 0;
}

/* -- the thread -------------------------------------------------------------------- */

static bool has_all(const struct courier *courier, const struct courier_place *place)
{
	bool is_witness = place->key.name[0] != '\0';

	return place->done == (is_witness ? courier->size : courier->revision);
}

/* At the end nothing is waited for: what was reached last gets the newest, others do not. */
static bool is_due(const struct courier *courier, const struct courier_place *place, bool is_last)
{
	if (has_all(courier, place))
		return false;
	return place->pause_s == 0 || (!is_last && now_ms() >= place->due_ms);
}

typedef enum courier_end carrier(struct courier *courier, struct courier_place *place, char *why,
				 size_t why_size);

static void carry_to(struct courier *courier, struct courier_place *places, size_t count,
		     carrier *carry, bool is_last)
{
	char why[COURIER_WHY_MAX];

	for (size_t i = 0; i < count && !atomic_load(&courier->is_stopping); i++) {
		if (!is_due(courier, &places[i], is_last))
			continue;
		why[0] = '\0';
		note_end(courier, &places[i], carry(courier, &places[i], why, sizeof(why)), why);
	}
}

static void carry_all(struct courier *courier, bool is_last)
{
	uint64_t revision = courier->revision;

	if (!courier->size)
		return;
	carry_to(courier, courier->anchors, courier->anchor_count, courier_put, is_last);
	carry_to(courier, courier->witnesses, courier->witness_count, courier_ask, is_last);
	if (courier->revision != revision)
		carry_to(courier, courier->anchors, courier->anchor_count, courier_put, is_last);
}

/* Under the lock: it becomes what is carried. A witness's place in it says what that one knows. */
static void take_given(struct courier *courier)
{
	struct buf before = courier->checkpoint;
	struct cosignature cosignature;
	struct note note;

	if (!courier->has_given)
		return;
	courier->checkpoint = courier->given;
	courier->given = before;
	courier->has_given = false;
	courier->size = courier->given_size;
	courier->revision++;
	if (!note_read(buf_str(&courier->checkpoint), &note))
		return;
	for (size_t i = 0; i < courier->witness_count; i++)
		if (cosignature_check(&note, &courier->witnesses[i].key, &cosignature) == NOTE_GOOD)
			courier->witnesses[i].known = courier->size;
}

static int64_t next_due_ms(const struct courier *courier)
{
	int64_t due_ms = now_ms() + IDLE_S * INT64_C(1000);

	for (size_t i = 0; i < courier->anchor_count + courier->witness_count; i++) {
		const struct courier_place *place =
			i < courier->anchor_count ? &courier->anchors[i]
						  : &courier->witnesses[i - courier->anchor_count];

		if (courier->size && !has_all(courier, place) && place->due_ms < due_ms)
			due_ms = place->due_ms;
	}
	return due_ms;
}

/* Under the lock: until there is something to do. */
static void wait_for_work(struct courier *courier)
{
	int64_t due_ms = next_due_ms(courier);
	struct timespec until = {.tv_sec = due_ms / 1000, .tv_nsec = due_ms % 1000 * 1000000};

	while (!courier->has_given && !courier->is_closing)
		if (pthread_cond_timedwait(&courier->changed, &courier->lock, &until) == ETIMEDOUT)
			break;
}

static void *run(void *argument)
{
	struct courier *courier = argument;
	bool is_last = false;

	pthread_setname_np(pthread_self(), "courier");
	pthread_mutex_lock(&courier->lock);
	while (!is_last) {
		wait_for_work(courier);
		is_last = courier->is_closing;
		take_given(courier);
		pthread_mutex_unlock(&courier->lock);
		carry_all(courier, is_last);
		pthread_mutex_lock(&courier->lock);
	}
	pthread_mutex_unlock(&courier->lock);
	return NULL;
}
