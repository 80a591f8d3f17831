/*
 * Verifying beside a gate (see verification.h).
 *
 * The run reads through a reader of ours, which ends it when it has to and keeps the bytes of the
 * newest `checkpoint`: they are what the next run starts from, where this one has found them good.
 */
#include "audit/verification.h"

#include "audit/checkpoint.h"
#include "audit/keys.h"
#include "base/err.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { PATH_MAX_SIZE = 4096, EPOCHS_MAX = 4096 };

struct verification {
	const struct env *env;
	void (*ended)(void *owner, const struct verification_end *end);
	void *owner;
	const struct log_reader *given; /* NULL: the files */
	char path[PATH_MAX_SIZE];	/* of their folder */
	struct note_verifier key;
	bool has_key;

	pthread_t thread;
	bool has_thread; /* it has been begun and not joined */
	atomic_bool is_ending;
	_Atomic uint64_t walked;
	pthread_mutex_t lock; /* `look` */
	struct verification_look look;

	/* The run's own. */
	struct log_folder folder;
	struct log_reader reader;
	int64_t until_ms; /* monotonic */
	uint64_t published;
	struct buf newest; /* `checkpoint`, as it was read last; empty: it is not there */
	struct buf good;   /* the newest one that was found good */
};

static void *run(void *argument);
static int verify(struct verification *verification, struct verify_report *out_report);
static int open_log(struct verification *verification);
static int read_watched(void *state, const char *path, struct buf *out);
static int list_watched(void *state, int (*visit)(void *visitor, struct str name), void *visitor);

/* The oldest epoch's, which vouches for all later ones. */
static void read_key(struct verification *verification, const char *data)
{
	char keys[PATH_MAX_SIZE];

	snprintf(keys, sizeof(keys), "%s/keys", data);
	for (uint32_t i = 0; i < EPOCHS_MAX && !verification->has_key; i++)
		verification->has_key = audit_vkey_read(keys, i, &verification->key);
	verification->look.has_key = verification->has_key;
	if (verification->has_key)
		note_verifier_write(&verification->key, verification->look.key);
}

/* The checkpoint that the gate has compared as it was opened. One that is none is no beginning. */
static void read_first(struct verification *verification)
{
	if (open_log(verification) != 0)
		return;
	buf_clear(&verification->good);
	if (read_watched(verification, "checkpoint", &verification->good) != 0)
		buf_clear(&verification->good);
	log_folder_close(&verification->folder);
}

int verification_new(const struct verification_order *order, struct verification **out_verification)
{
	struct verification *verification = calloc(1, sizeof(*verification));

	if (!verification)
		return fail(FAIL_MEMORY);
	verification->env = order->env;
	verification->ended = order->ended;
	verification->owner = order->owner;
	verification->given = order->reader;
	verification->reader = (struct log_reader){read_watched, list_watched, verification};
	verification->until_ms = INT64_MAX;
	if (snprintf(verification->path, PATH_MAX_SIZE, "%s/audit", order->data) >= PATH_MAX_SIZE) {
		free(verification);
		return fail(FAIL_LIMIT);
	}
	pthread_mutex_init(&verification->lock, NULL);
	buf_init(&verification->newest, NOTE_SIZE_MAX);
	buf_init(&verification->good, NOTE_SIZE_MAX);
	read_key(verification, order->data);
	read_first(verification);
	*out_verification = verification;
	return 0;
}

/* True: nothing runs, and from now on something does. */
static bool take_turn(struct verification *verification)
{
	struct verification_look *look = &verification->look;
	bool is_ours;

	pthread_mutex_lock(&verification->lock);
	is_ours = !look->is_running;
	if (is_ours) {
		look->is_running = true;
		look->begun_ms = env_wall_ms(verification->env);
		look->changes++;
	}
	pthread_mutex_unlock(&verification->lock);
	return is_ours;
}

static void end_turn(struct verification *verification, const struct verification_end *end)
{
	struct verification_look *look = &verification->look;

	pthread_mutex_lock(&verification->lock);
	look->is_running = false;
	look->changes++;
	if (end) {
		look->has_last = true;
		look->last = *end;
	}
	pthread_mutex_unlock(&verification->lock);
}

int verification_start(struct verification *verification, uint64_t published)
{
	if (!take_turn(verification))
		return VERIFICATION_RUNS;
	if (verification->has_thread) /* it has said its last word */
		pthread_join(verification->thread, NULL);
	verification->published = published;
	verification->until_ms = env_monotonic_ms(verification->env) + VERIFICATION_MAX_MS;
	atomic_store(&verification->walked, 0);
	verification->has_thread =
		pthread_create(&verification->thread, NULL, run, verification) == 0;
	if (verification->has_thread)
		return 0;
	end_turn(verification, NULL);
	return fail(FAIL_MEMORY);
}

void verification_look(struct verification *verification, struct verification_look *out_look)
{
	pthread_mutex_lock(&verification->lock);
	*out_look = verification->look;
	pthread_mutex_unlock(&verification->lock);
	out_look->walked = out_look->is_running ? atomic_load(&verification->walked) : 0;
}

void verification_free(struct verification *verification)
{
	if (!verification)
		return;
	atomic_store(&verification->is_ending, true);
	if (verification->has_thread)
		pthread_join(verification->thread, NULL);
	buf_fini(&verification->newest);
	buf_fini(&verification->good);
	pthread_mutex_destroy(&verification->lock);
	free(verification);
}

/* -- the thread -------------------------------------------------------------------- */

static void *run(void *argument)
{
	struct verification *verification = argument;
	struct verification_end end = {.begun_ms = verification->look.begun_ms};
	int r;

	pthread_setname_np(pthread_self(), "verification");
	r = verify(verification, &end.report);
	end.is_whole = r == 0;
	if (r != 0 && !end.report.why[0])
		snprintf(end.report.why, sizeof(end.report.why),
			 "the log could not be read to its end: %s", fail_text(r));
	end.ended_ms = env_wall_ms(verification->env);
	if (!atomic_load(&verification->is_ending))
		verification->ended(verification->owner, &end);
	end_turn(verification, &end);
	return NULL;
}

static int on_entry(void *state, uint64_t index, struct str bytes, const struct entry *entry)
{
	struct verification *verification = state;

	atomic_store_explicit(&verification->walked, index + 1, memory_order_relaxed);
	return atomic_load_explicit(&verification->is_ending, memory_order_relaxed) ? FAIL_LIMIT
										    : 0;
}

/* What `checkpoint` said when it was read last. False: it is not there, or is none. */
static bool read_newest(struct verification *verification, struct checkpoint *out_checkpoint)
{
	struct note note;

	return note_read(buf_str(&verification->newest), &note) &&
	       checkpoint_read(note.text, out_checkpoint);
}

/*
 * Files that agree with themselves, and say less than this gate has published: somebody has put
 * older ones back, or has left none. Where they do not agree, what that is called says more.
 */
static void judge_published(struct verification *verification, struct verify_report *report)
{
	struct checkpoint newest = {.size = 0};

	if (report->result == VERIFY_MISSING_ANCHOR && !report->entries && verification->published)
		report->result = VERIFY_TRUNCATED;
	if (!verify_result_is_good(report->result))
		return;
	(void)read_newest(verification, &newest);
	if (newest.size >= verification->published)
		return;
	report->result = VERIFY_ROLLED_BACK;
	snprintf(report->why, sizeof(report->why),
		 "the newest checkpoint is of %" PRIu64 " entries, and this gate has published "
		 "%" PRIu64,
		 newest.size, verification->published);
}

/* The next run starts from here. Where the gate went on meanwhile the older one is good enough. */
static void remember(struct verification *verification, const struct verify_report *report)
{
	struct checkpoint newest;
	struct buf older = verification->good;

	if (!verify_result_is_good(report->result) || !read_newest(verification, &newest) ||
	    !report->has_head || newest.size != report->head_size ||
	    !hash_equal(&newest.root, &report->head_root))
		return;
	verification->good = verification->newest;
	verification->newest = older;
}

static int verify(struct verification *verification, struct verify_report *out_report)
{
	const struct verify_order order = {
		.log = &verification->reader,
		.key = &verification->key,
		.since = verification->good.len ? buf_str(&verification->good) : (struct str){0},
		.on_entry = on_entry,
		.state = verification,
	};
	int r;

	if (!verification->has_key) {
		snprintf(out_report->why, sizeof(out_report->why),
			 "the log's verifier key was not in the data directory at the start");
		return FAIL_CONFIG;
	}
	r = open_log(verification);
	if (r != 0)
		return r;
	buf_clear(&verification->newest);
	r = verify_log(&order, out_report);
	log_folder_close(&verification->folder);
	if (r == 0)
		judge_published(verification, out_report);
	if (r == 0)
		remember(verification, out_report);
	return r;
}

/* -- its reader -------------------------------------------------------------------- */

/* A folder that is not there has no files: what was signed of it is missed then. */
static int open_log(struct verification *verification)
{
	int r;

	verification->folder.fd = -1;
	r = verification->given ? 0 : log_folder_open(&verification->folder, verification->path);
	return r == LOG_ABSENT ? 0 : r;
}

static const struct log_reader *log_of(const struct verification *verification)
{
	if (verification->given)
		return verification->given;
	return verification->folder.fd >= 0 ? &verification->folder.reader : NULL;
}

/* Has it to end, by order or by the clock? */
static bool must_end(const struct verification *verification)
{
	return atomic_load(&verification->is_ending) ||
	       env_monotonic_ms(verification->env) >= verification->until_ms;
}

static int read_watched(void *state, const char *path, struct buf *out)
{
	struct verification *verification = state;
	const struct log_reader *log = log_of(verification);
	int r;

	if (must_end(verification))
		return FAIL_LIMIT;
	r = log ? log->read(log->state, path, out) : LOG_ABSENT;
	if (strcmp(path, "checkpoint") != 0)
		return r;
	buf_clear(&verification->newest);
	if (r == 0 && buf_append_str(&verification->newest, buf_str(out)) != 0)
		return FAIL_MEMORY;
	return r;
}

static int list_watched(void *state, int (*visit)(void *visitor, struct str name), void *visitor)
{
	const struct log_reader *log = log_of(state);

	return log ? log->list(log->state, visit, visitor) : 0;
}

bool verification_is_bad(const struct verification_end *end)
{
	const struct verify_report *report = &end->report;
	bool is_empty = report->result == VERIFY_MISSING_ANCHOR && !report->entries;

	return !end->is_whole || (!verify_result_is_good(report->result) && !is_empty);
}
