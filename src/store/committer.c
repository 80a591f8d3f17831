/*
 * The committer: a queue, a thread, one transaction a batch, one wake for each inbox.
 *
 * The thread takes everything that waits, up to STORE_BATCH_MAX. What can be answered from
 * durable state is answered first, without waiting for anybody's fsync. The rest becomes
 * one transaction; while its fsync runs, the next batch gathers, so the batch grows with
 * the load by itself and nobody waits for a timer. Purges follow, each in a transaction of
 * its own, after the others have their answers.
 *
 * Notes and amendments wait: for the next batch that changes something, for NOTE_WAIT_MS, or until
 * STORE_NOTE_MAX of them are there; then they are written in slices.
 *
 * Always true: a command is in exactly one place (queue, batch, notes, inbox); a change is
 * answered as done only after commit() said so. When a transaction is lost because of one
 * command, its neighbours are tried again one by one; when it is lost because of the
 * disk, all of them are told so.
 */
#include "store/committer.h"
#include "store/chain.h"
#include "store/sealer.h"

#include "base/err.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
	NOTE_WAIT_MS = 1000,
	NOTE_SLICE = 256,  /* notes in one transaction */
	INBOXES_MAX = 256, /* inboxes woken once a batch; further ones are woken once an answer */
};

struct store {
	struct engine *engine;
	const struct env *env;
	struct log *log;
	pthread_t thread;

	pthread_mutex_t lock; /* the five below, and `stats` */
	pthread_cond_t arrived;
	struct chain queue;
	struct chain refused; /* came when the queue was full */
	bool is_waiting;      /* the thread sleeps on `arrived` */
	bool is_closing;
	struct store_stats stats;

	atomic_bool is_healthy;

	/* The thread's own. */
	struct chain notes; /* and amendments: gathering */
	int64_t notes_since_us;
	struct chain due;			  /* and being written, by operation */
	struct store_inbox *inboxes[INBOXES_MAX]; /* to be woken */
	size_t inbox_count;
};

static bool is_lazy(const struct store_command *command);
static void read_log_stats(struct engine_log *log, struct store_stats *stats);
static void *run(void *argument);
static bool take(struct store *store, struct chain *out_batch, struct chain *out_refused);
static void serve(struct store *store, struct chain *batch);
static void commit_changes(struct store *store, struct chain *changes);
static void commit_alone(struct store *store, struct store_command *command);
static int apply_all(struct store *store, struct chain *changes);
static void settle_results(struct store *store, struct chain *changes, int r);
static void forget_result(struct store_command *command);
static void answer(struct store *store, struct store_command *command);
static void wake_inboxes(struct store *store);

int committer_start(struct engine *take_engine, const struct env *env, struct log *log,
		    struct store **out_store)
{
	struct store *store = calloc(1, sizeof(*store));
	pthread_condattr_t clock;

	if (!store) {
		take_engine->kind->close(take_engine);
		return fail(FAIL_MEMORY);
	}
	store->engine = take_engine;
	store->env = env;
	store->log = log;
	store->is_healthy = true;
	chain_init(&store->queue);
	chain_init(&store->refused);
	chain_init(&store->notes);
	chain_init(&store->due);
	take_engine->kind->count(take_engine, store->stats.open);
	pthread_mutex_init(&store->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&store->arrived, &clock);
	pthread_condattr_destroy(&clock);
	if (pthread_create(&store->thread, NULL, run, store) != 0) {
		take_engine->kind->close(take_engine);
		pthread_cond_destroy(&store->arrived);
		pthread_mutex_destroy(&store->lock);
		free(store);
		return fail(FAIL_MEMORY);
	}
	*out_store = store;
	return 0;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	pthread_mutex_lock(&store->lock);
	store->is_closing = true;
	pthread_cond_signal(&store->arrived);
	pthread_mutex_unlock(&store->lock);
	pthread_join(store->thread, NULL);
	store->engine->kind->close(store->engine);
	pthread_cond_destroy(&store->arrived);
	pthread_mutex_destroy(&store->lock);
	free(store);
}

void store_submit(struct store *store, struct store_command *command)
{
	require(command->done || is_lazy(command));
	require(command->home || !command->done);
	command->record = NULL;
	command->question = NULL;
	pthread_mutex_lock(&store->lock);
	require(!store->is_closing);
	if (store->queue.count < STORE_QUEUE_MAX)
		chain_append(&store->queue, command);
	else
		chain_append(&store->refused, command);
	if (store->is_waiting) {
		store->is_waiting = false;
		pthread_cond_signal(&store->arrived);
	}
	pthread_mutex_unlock(&store->lock);
}

void store_deliver(struct store_inbox *inbox)
{
	struct store_command *newest = atomic_exchange(&inbox->answered, NULL);
	struct store_command *oldest = NULL, *command;

	while ((command = newest)) { /* turn it round: first answered, first delivered */
		newest = command->next;
		command->next = oldest;
		oldest = command;
	}
	while ((command = oldest)) {
		oldest = command->next;
		command->next = NULL;
		command->done(command);
	}
}

/* Written with company, or after a while. */
static bool is_lazy(const struct store_command *command)
{
	return command->kind == STORE_NOTE || command->kind == STORE_TELL ||
	       command->kind == STORE_AMEND;
}

/* Copies `from` behind *at, and moves *at on. */
static struct str pack(char **at, struct str from)
{
	struct str copy = str_of(*at, from.len);

	if (from.len)
		memcpy(*at, from.at, from.len);
	*at += from.len;
	return copy;
}

static void pack_attempt(char **at, const struct store_attempt *attempt,
			 struct store_attempt *out_copy)
{
	*out_copy = *attempt;
	out_copy->agent = pack(at, attempt->agent);
	out_copy->credential = pack(at, attempt->credential);
	out_copy->task = pack(at, attempt->task);
	out_copy->step = pack(at, attempt->step);
	out_copy->request_id = pack(at, attempt->request_id);
	out_copy->note = pack(at, attempt->note);
}

static void pack_claim(char **at, const struct store_operation *operation,
		       struct store_operation *out_copy)
{
	out_copy->id = operation->id;
	out_copy->fingerprint = operation->fingerprint;
	out_copy->account = pack(at, operation->account);
	out_copy->token = pack(at, operation->token);
	out_copy->action = pack(at, operation->action);
	out_copy->method = pack(at, operation->method);
	out_copy->path = pack(at, operation->path);
}

static void submit_copy(struct store *store, enum store_kind kind,
			const struct store_operation *operation,
			const struct store_attempt *attempt)
{
	size_t text = attempt->agent.len + attempt->credential.len + attempt->task.len +
		      attempt->step.len + attempt->request_id.len + attempt->note.len +
		      operation->account.len + operation->token.len + operation->action.len +
		      operation->method.len + operation->path.len;
	struct store_command *command = calloc(1, sizeof(*command) + text);
	char *at;

	if (!command)
		return;
	at = (char *)(command + 1);
	command->kind = kind;
	pack_attempt(&at, attempt, &command->attempt);
	pack_claim(&at, operation, &command->operation);
	store_submit(store, command);
}

void store_note(struct store *store, const struct operation_id *id,
		const struct store_attempt *attempt)
{
	const struct store_operation named = {.id = *id};

	submit_copy(store, STORE_NOTE, &named, attempt);
}

void store_tell(struct store *store, const struct store_operation *operation,
		const struct store_attempt *attempt)
{
	submit_copy(store, STORE_TELL, operation, attempt);
}

/* `from` with its NUL. */
static const char *pack_text(char **at, const char *from)
{
	char *copy = *at;

	memcpy(copy, from, strlen(from) + 1);
	*at += strlen(from) + 1;
	return copy;
}

void store_tell_administration(struct store *store,
			       const struct store_administration *administration)
{
	const struct store_administration *from = administration;
	size_t text = strlen(from->event) + 1 + from->subject.len + from->account.len +
		      from->agent.len + from->by.len + from->why.len;
	struct store_command *command = calloc(1, sizeof(*command) + text);
	char *at;

	if (!command)
		return;
	at = (char *)(command + 1);
	command->kind = STORE_TELL;
	command->administration.event = pack_text(&at, from->event);
	command->administration.subject = pack(&at, from->subject);
	command->administration.account = pack(&at, from->account);
	command->administration.agent = pack(&at, from->agent);
	command->administration.role = from->role;
	command->administration.by = pack(&at, from->by);
	command->administration.why = pack(&at, from->why);
	store_submit(store, command);
}

void store_amend(struct store *store, const struct store_amendment *amendment)
{
	struct store_command *command = calloc(1, sizeof(*command));

	if (!command)
		return;
	command->kind = STORE_AMEND;
	command->operation.id = amendment->id;
	command->attempt_number = amendment->attempt_number;
	command->attempt.delivered = amendment->delivered;
	store_submit(store, command);
}

bool store_is_healthy(struct store *store)
{
	return atomic_load(&store->is_healthy);
}

void store_stats_read(struct store *store, struct store_stats *out_stats)
{
	pthread_mutex_lock(&store->lock);
	*out_stats = store->stats;
	out_stats->queue_depth = store->queue.count;
	pthread_mutex_unlock(&store->lock);
	read_log_stats(&store->engine->log, out_stats);
}

static void read_log_stats(struct engine_log *log, struct store_stats *stats)
{
	struct sealer *sealer = atomic_load(&log->sealer);
	struct sealer_look look = {.is_stopped = false};

	stats->log_anchors_failing = stats->log_witnesses_failing = 0;
	if (sealer) {
		sealer_look(sealer, &look);
		sealer_failing(sealer, &stats->log_anchors_failing, &stats->log_witnesses_failing);
	}
	stats->log_published = look.sealed;
	stats->log_is_stopped = look.is_stopped || atomic_load(&log->is_unreadable);
	stats->log_entries = atomic_load(&log->entries);
}

static void *run(void *argument)
{
	struct store *store = argument;
	struct chain batch, refused;
	struct store_command *command;

	pthread_setname_np(pthread_self(), "store");
	while (take(store, &batch, &refused)) {
		while ((command = chain_take(&refused))) {
			command->result = FAIL_LIMIT;
			answer(store, command);
		}
		wake_inboxes(store);
		serve(store, &batch);
		store->engine->kind->tidy(store->engine);
	}
	return NULL;
}

/* Milliseconds until the notes are due; -1 when there are none. */
static int64_t notes_due_ms(const struct store *store)
{
	int64_t due_us;

	if (store->due.count)
		return 0;
	if (!store->notes.count)
		return -1;
	due_us = store->notes_since_us + NOTE_WAIT_MS * 1000 - env_monotonic_us(store->env);
	return due_us > 0 ? due_us / 1000 + 1 : 0;
}

/* Milliseconds until there is something to do without a command; -1: never. */
static int64_t due_ms(const struct store *store)
{
	int64_t notes_ms = notes_due_ms(store);
	int64_t tidy_ms = store->engine->kind->tidy_due_ms(store->engine);

	if (notes_ms < 0 || tidy_ms < 0)
		return notes_ms < 0 ? tidy_ms : notes_ms;
	return notes_ms < tidy_ms ? notes_ms : tidy_ms;
}

/* Sleep until something arrives, or is due. Under the lock. */
static void wait_for_work(struct store *store)
{
	int64_t ms = due_ms(store);
	struct timespec until;

	store->is_waiting = true;
	if (ms < 0) {
		pthread_cond_wait(&store->arrived, &store->lock);
	} else {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec += ms / 1000;
		until.tv_nsec += (long)(ms % 1000) * 1000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_sec++;
			until.tv_nsec -= 1000000000;
		}
		pthread_cond_timedwait(&store->arrived, &store->lock, &until);
	}
	store->is_waiting = false;
}

/* The next batch, which may be empty when notes or tidying are due. False: closed, and nothing
 * waits. */
static bool take(struct store *store, struct chain *out_batch, struct chain *out_refused)
{
	bool goes_on;

	chain_init(out_batch);
	chain_init(out_refused);
	pthread_mutex_lock(&store->lock);
	while (!store->queue.count && !store->refused.count && !store->is_closing &&
	       due_ms(store) != 0)
		wait_for_work(store);
	chain_move(out_refused, &store->refused);
	if (store->queue.count <= STORE_BATCH_MAX)
		chain_move(out_batch, &store->queue);
	else
		while (out_batch->count < STORE_BATCH_MAX)
			chain_append(out_batch, chain_take(&store->queue));
	goes_on = out_batch->count || out_refused->count || store->notes.count ||
		  store->due.count || !store->is_closing;
	pthread_mutex_unlock(&store->lock);
	return goes_on;
}

static bool is_closing(struct store *store)
{
	bool closing;

	pthread_mutex_lock(&store->lock);
	closing = store->is_closing;
	pthread_mutex_unlock(&store->lock);
	return closing;
}

/*
 * Notes go along with what changes, a slice at a time: those of one operation together, since
 * they share a page, and never so many that the answers of others wait for them.
 */
static void take_notes(struct store *store, struct chain *changes)
{
	bool are_due = changes->count || store->notes.count >= STORE_NOTE_MAX ||
		       notes_due_ms(store) == 0 || is_closing(store);

	if (are_due && !store->due.count) {
		chain_move(&store->due, &store->notes);
		chain_sort(&store->due);
	}
	for (int i = 0; i < NOTE_SLICE && store->due.count; i++)
		chain_append(changes, chain_take(&store->due));
}

static void serve(struct store *store, struct chain *batch)
{
	struct chain changes, purges;
	struct store_command *command;

	chain_init(&changes);
	chain_init(&purges);
	while ((command = chain_take(batch))) {
		if (is_lazy(command)) {
			if (!store->notes.count)
				store->notes_since_us = env_monotonic_us(store->env);
			chain_append(&store->notes, command);
		} else if (command->kind == STORE_PURGE) {
			chain_append(&purges, command);
		} else if (store->engine->kind->look(store->engine, command)) {
			answer(store, command);
		} else {
			chain_append(&changes, command);
		}
	}
	wake_inboxes(store);
	take_notes(store, &changes);
	if (changes.count)
		commit_changes(store, &changes);
	while ((command = chain_take(&purges)))
		commit_alone(store, command);
}

static size_t bucket_of(uint64_t value, uint64_t unit)
{
	size_t bucket = 0;

	while (bucket < STORE_BUCKETS - 1 && value > unit << bucket)
		bucket++;
	return bucket;
}

/* What one transaction did, for the statistics and for health. */
static void record(struct store *store, size_t commands, int r, int64_t took_us)
{
	uint64_t us = took_us > 0 ? (uint64_t)took_us : 0;

	pthread_mutex_lock(&store->lock);
	store->stats.batches++;
	store->stats.commands += commands;
	store->stats.failures += r < 0;
	store->stats.uncertain += r == FAIL_UNCERTAIN;
	store->stats.batch_sizes[bucket_of(commands, 1)]++;
	store->stats.commit_us[bucket_of(us, 10)]++;
	store->stats.commit_us_sum += us;
	store->engine->kind->count(store->engine, store->stats.open);
	pthread_mutex_unlock(&store->lock);
	if (r == FAIL_UNPLANNED) /* one command's fault says nothing about the disk */
		return;
	if (atomic_exchange(&store->is_healthy, r == 0) != (r == 0))
		log_note(store->log, r ? LOG_ERROR : LOG_INFO,
			 r ? "store_unhealthy" : "store_healthy", "why",
			 r ? fail_text(r) : "a batch was committed");
}

/* One transaction over `changes`, and its results in them; then all are answered. */
static void commit_changes(struct store *store, struct chain *changes)
{
	int64_t started_us = env_monotonic_us(store->env);
	size_t count = changes->count;
	struct store_command *command;
	int r;

	r = store->engine->kind->begin(store->engine);
	if (r == 0)
		r = apply_all(store, changes);
	if (r == 0)
		r = store->engine->kind->commit(store->engine);
	record(store, count, r, env_monotonic_us(store->env) - started_us);
	if (r == FAIL_UNPLANNED && count > 1) {
		while ((command = chain_take(changes)))
			commit_alone(store, command);
		return;
	}
	settle_results(store, changes, r == FAIL_UNPLANNED ? FAIL_STORE : r);
	wake_inboxes(store);
}

static void commit_alone(struct store *store, struct store_command *command)
{
	struct chain alone;

	chain_init(&alone);
	forget_result(command);
	command->did_pick_up = false;
	chain_append(&alone, command);
	commit_changes(store, &alone);
}

static int apply_all(struct store *store, struct chain *changes)
{
	struct store_command *command;
	int r;

	for (command = changes->first; command; command = command->next) {
		r = store->engine->kind->apply(store->engine, command);
		if (r < 0) {
			store->engine->kind->rollback(store->engine);
			return r;
		}
	}
	return 0;
}

/*
 * Nobody knows whether it was committed. Whoever began a sending must be able to settle what may
 * have begun: an operation that is running for ever is worse than one that is not found.
 */
static bool keeps_result(const struct store_command *command)
{
	bool begins = command->kind == STORE_CLAIM || command->kind == STORE_TAKE ||
		      (command->kind == STORE_MOVE && command->event == EVENT_RESENT);

	return begins && command->result == 0;
}

static void forget_result(struct store_command *command)
{
	command->record = NULL;
	command->question = NULL;
	command->errand_count = 0;
	command->fence = 0;
	command->makes_due = false;
}

/* Is there something new to see? What the gate looks after by itself mostly finds nothing to do. */
static bool may_have_changed(const struct store_command *command)
{
	switch (command->kind) {
	case STORE_PURGE:
		return command->purged != 0;
	case STORE_TAKE:
	case STORE_DUE:
		return command->errand_count != 0 || command->cancelled_count != 0;
	default:
		return true;
	}
}

/* The questions to people that a command ended, by how. */
static void count_questions(const struct store_command *command, uint64_t counts[APPROVAL_STANDS])
{
	const struct store_approval *question = command->question;
	bool has_ended = question && question->stand != APPROVAL_WAITS;

	switch (command->kind) {
	case STORE_LAPSE:
		counts[APPROVAL_LAPSED] += command->cancelled_count;
		break;
	case STORE_APPROVE:
	case STORE_DENY:
		if (has_ended && (command->result == 0 || command->result == STORE_LAPSED))
			counts[question->stand]++;
		break;
	case STORE_MOVE:
		if (command->result == 0 && question && question->stand == APPROVAL_WITHDRAWN)
			counts[APPROVAL_WITHDRAWN]++;
		break;
	default:
		break;
	}
}

static void settle_results(struct store *store, struct chain *changes, int r)
{
	uint64_t purged = 0, tombstones = 0, changed = 0, questions[APPROVAL_STANDS] = {0};
	struct store_command *command;

	while ((command = chain_take(changes))) {
		if (r < 0) {
			if (r != FAIL_UNCERTAIN || !keeps_result(command))
				forget_result(command);
			command->result = r;
			command->did_pick_up = false;
		} else if (command->kind == STORE_PURGE) {
			purged += command->purged;
			tombstones += command->tombstones;
		}
		changed += r >= 0 && may_have_changed(command);
		if (r >= 0)
			count_questions(command, questions);
		answer(store, command);
	}
	if (!purged && !tombstones && !changed)
		return;
	pthread_mutex_lock(&store->lock);
	store->stats.changes += changed;
	store->stats.purged += purged;
	store->stats.tombstones_dropped += tombstones;
	for (int i = 0; i < APPROVAL_STANDS; i++)
		store->stats.questions[i] += questions[i];
	pthread_mutex_unlock(&store->lock);
}

/* Remember to wake `inbox`; false when there is no room to remember it. */
static bool remember_inbox(struct store *store, struct store_inbox *inbox)
{
	for (size_t i = 0; i < store->inbox_count; i++)
		if (store->inboxes[i] == inbox)
			return true;
	if (store->inbox_count == INBOXES_MAX)
		return false;
	store->inboxes[store->inbox_count++] = inbox;
	return true;
}

static void answer(struct store *store, struct store_command *command)
{
	struct store_inbox *home = command->home;
	struct store_command *newest;

	if (!command->done) { /* a lazy one that nobody waits for */
		free(command);
		return;
	}
	if (command->record)
		command->operation = *command->record;
	if (command->question)
		command->approval = *command->question;
	newest = atomic_load_explicit(&home->answered, memory_order_relaxed);
	do
		command->next = newest;
	while (!atomic_compare_exchange_weak(&home->answered, &newest, command));
	if (!remember_inbox(store, home))
		home->wake(home);
}

static void wake_inboxes(struct store *store)
{
	for (size_t i = 0; i < store->inbox_count; i++)
		store->inboxes[i]->wake(store->inboxes[i]);
	store->inbox_count = 0;
}
