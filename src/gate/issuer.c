/*
 * Keeping an issuer's keys fresh.
 *
 *   look ──► file: read ─────────────► looked ──► wait ──► look …
 *       └──► URL: fetch ──► fetched ──┘   ▲
 *                           a wish, from another thread: sooner
 *
 * Everything but the set and the room of those who wait is the control thread's. What is looked at
 * belongs to the settings that the issuer holds, so a fetch that is under way outlives a reload;
 * its answer is then dropped.
 */
#include "gate/issuer.h"

#include "auth/jwks_file.h"
#include "base/err.h"
#include "gate/gate.h"

#include <stdio.h>
#include <stdlib.h>

struct issuer {
	struct gate *gate;

	/* the control thread's */
	struct settings_hold *hold; /* whose source it is; NULL: nothing to look at */
	struct client *client;	    /* NULL: a file */
	struct call call;
	struct buf body;
	bool is_fetching;
	bool must_adopt; /* newer settings have come during the fetch */
	struct loop_timer timer;
	int64_t looked_ms; /* monotonic: when the last look began; 0: never */
	int64_t pause_ms;  /* before the next one, when the last has failed; 0: it has not */
	struct jwks_stamp stamp;

	/* everybody's, under the lock */
	pthread_mutex_t lock;
	struct jwks *set;
	bool is_stale;
	bool is_closed; /* the gate is stopping; set by the control thread */
	bool is_wished; /* posted, and not yet run */
	struct list waiters;
	unsigned waiter_count;
	struct loop_post wish;
};

static void look(struct issuer *issuer);
static void adopt(struct issuer *issuer);

static const struct settings_jwt *source_of(const struct issuer *issuer)
{
	return &issuer->hold->settings->accounts.jwt;
}

static struct loop *loop_of(const struct issuer *issuer)
{
	return &issuer->gate->control.loop;
}

struct jwks *issuer_keys(struct issuer *issuer, bool *out_is_stale)
{
	struct jwks *set;

	pthread_mutex_lock(&issuer->lock);
	set = jwks_hold(issuer->set);
	*out_is_stale = issuer->is_stale;
	pthread_mutex_unlock(&issuer->lock);
	return set;
}

bool issuer_wait(struct issuer *issuer, struct issuer_waiter *waiter)
{
	bool may_wait, must_post = false;

	pthread_mutex_lock(&issuer->lock);
	may_wait = !issuer->is_closed && issuer->waiter_count < ISSUER_WAITERS_MAX;
	if (may_wait) {
		list_append(&issuer->waiters, &waiter->link);
		issuer->waiter_count++;
		must_post = !issuer->is_wished;
		issuer->is_wished = true;
	}
	pthread_mutex_unlock(&issuer->lock);
	if (must_post)
		loop_post(loop_of(issuer), &issuer->wish);
	return may_wait;
}

static void run_waiter(struct loop_post *post)
{
	struct issuer_waiter *waiter = list_entry(post, struct issuer_waiter, post);

	waiter->woken(waiter);
}

/* The look is over: put the set in force if there is one, and wake whoever waited for it. Each
 * waiter's memory is its own loop's again with the post. */
static void tell(struct issuer *issuer, struct jwks *take_set, bool is_stale)
{
	struct jwks *old = NULL;

	pthread_mutex_lock(&issuer->lock);
	if (take_set) {
		old = issuer->set;
		issuer->set = take_set;
	}
	issuer->is_stale = is_stale;
	while (!list_is_empty(&issuer->waiters)) {
		struct issuer_waiter *waiter =
			list_entry(issuer->waiters.next, struct issuer_waiter, link);

		list_remove(&waiter->link);
		issuer->waiter_count--;
		waiter->post.run = run_waiter;
		loop_post(waiter->loop, &waiter->post);
	}
	pthread_mutex_unlock(&issuer->lock);
	jwks_drop(old);
}

static void wait_for_next(struct issuer *issuer, int64_t ms)
{
	loop_timer_start(loop_of(issuer), &issuer->timer, ms);
}

static void log_keys(struct issuer *issuer, const struct jwks *set)
{
	struct log_line line;

	log_begin(&line, issuer->gate->log, LOG_INFO, "keys-read");
	log_str(&line, "from", source_of(issuer)->jwks);
	log_int(&line, "keys", (int64_t)jwks_count(set));
	log_int(&line, "passed_over", (int64_t)jwks_passed_over(set));
	log_end(&line);
}

static void log_failure(struct issuer *issuer, const char *why)
{
	struct log_line line;

	log_begin(&line, issuer->gate->log, LOG_WARNING, "keys-not-read");
	log_str(&line, "from", source_of(issuer)->jwks);
	log_text(&line, "why", why);
	log_text(&line, "what", "the last good keys stay in force, if there are any");
	log_end(&line);
}

static void looked(struct issuer *issuer, struct jwks *take_set, const char *why)
{
	int64_t next_ms = source_of(issuer)->refresh_ms;

	if (take_set) {
		log_keys(issuer, take_set);
		issuer->pause_ms = 0;
	} else {
		log_failure(issuer, why);
		issuer->pause_ms = issuer->pause_ms ? issuer->pause_ms * 2 : ISSUER_QUIET_MS;
		if (issuer->pause_ms > ISSUER_PAUSE_MAX_MS)
			issuer->pause_ms = ISSUER_PAUSE_MAX_MS;
		next_ms = issuer->pause_ms < next_ms ? issuer->pause_ms : next_ms;
	}
	tell(issuer, take_set, take_set == NULL);
	if (issuer->is_closed)
		return;
	wait_for_next(issuer, issuer->client ? next_ms : ISSUER_FILE_LOOK_MS);
}

/* Files. */

static void look_at_file(struct issuer *issuer)
{
	char why[JWKS_WHY_MAX] = "there is no memory for it";
	struct jwks *set = NULL;

	jwks_read_file(source_of(issuer)->jwks.at, &set, &issuer->stamp, why);
	looked(issuer, set, why);
}

/* URLs. */

static void call_head(struct call *call)
{
}

static bool call_data(struct call *call, struct str piece)
{
	struct issuer *issuer = call->owner;

	buf_append_str(&issuer->body, piece); /* too much of it shows at the end */
	return true;
}

static struct jwks *read_answer(struct issuer *issuer, enum sending sending, char *why)
{
	const struct call *call = &issuer->call;
	struct jwks *set = NULL;

	if (sending != SENDING_ANSWERED)
		snprintf(why, JWKS_WHY_MAX, "%s",
			 call->reason ? call->reason : "there was no whole answer");
	else if (call->answer.status != 200)
		snprintf(why, JWKS_WHY_MAX, "the answer has status %d", call->answer.status);
	else if (issuer->body.is_spoiled)
		snprintf(why, JWKS_WHY_MAX, "it is larger than %d bytes", JWKS_BYTES_MAX);
	else
		jwks_read(buf_str(&issuer->body), &set, why);
	return set;
}

static void fetched(struct call *call, enum sending sending)
{
	struct issuer *issuer = call->owner;
	char why[JWKS_WHY_MAX] = "there is no memory for it";
	struct jwks *set = NULL;

	if (!issuer->must_adopt)
		set = read_answer(issuer, sending, why);
	issuer->is_fetching = false;
	call_fini(call);
	buf_fini(&issuer->body);
	if (issuer->must_adopt)
		adopt(issuer);
	else
		looked(issuer, set, why);
}

static const struct call_events call_events = {
	.head = call_head,
	.data = call_data,
	.done = fetched,
};

static void fetch(struct issuer *issuer)
{
	issuer->is_fetching = true;
	buf_init(&issuer->body, JWKS_BYTES_MAX);
	issuer->call = (struct call){
		.events = &call_events,
		.owner = issuer,
		.method = STR("GET"),
		.target = source_of(issuer)->target,
		.headers = STR("Accept: application/jwk-set+json, application/json\r\n"
			       "Accept-Encoding: identity\r\n"
			       "User-Agent: counterfoil\r\n"),
		.has_total_timeout = true,
		.timeout_ms = ISSUER_TIMEOUT_MS,
	};
	call_start(issuer->client, &issuer->call);
}

/* Whoever wishes for a look from now on is told by another one. */
static void look(struct issuer *issuer)
{
	loop_timer_cancel(&issuer->timer);
	issuer->looked_ms = loop_of(issuer)->now_ms;
	if (issuer->client)
		fetch(issuer);
	else
		look_at_file(issuer);
}

/* The time for a look has come; at a file that is the same as before, nobody needs to. */
static void look_again(struct loop_timer *timer)
{
	struct issuer *issuer = list_entry(timer, struct issuer, timer);
	bool has_waiters;

	pthread_mutex_lock(&issuer->lock);
	has_waiters = issuer->waiter_count > 0;
	pthread_mutex_unlock(&issuer->lock);
	if (issuer->client || has_waiters ||
	    jwks_file_has_changed(source_of(issuer)->jwks.at, &issuer->stamp))
		look(issuer);
	else
		wait_for_next(issuer, ISSUER_FILE_LOOK_MS);
}

static void run_wish(struct loop_post *post)
{
	struct issuer *issuer = list_entry(post, struct issuer, wish);
	int64_t quiet_ms = issuer->looked_ms + ISSUER_QUIET_MS - loop_of(issuer)->now_ms;

	pthread_mutex_lock(&issuer->lock);
	issuer->is_wished = false;
	pthread_mutex_unlock(&issuer->lock);
	if (issuer->is_fetching)
		return;
	if (!issuer->hold || issuer->is_closed)
		tell(issuer, NULL, false);
	else if (quiet_ms > 0)
		wait_for_next(issuer, quiet_ms);
	else
		look(issuer);
}

/* Its life. */

static void forget_source(struct issuer *issuer)
{
	loop_timer_cancel(&issuer->timer);
	if (issuer->client)
		client_release(issuer->client);
	issuer->client = NULL;
	settings_hold_drop(issuer->hold);
	issuer->hold = NULL;
}

/* Keys of a source that is no more are nobody's. */
static void forget_keys(struct issuer *issuer)
{
	struct jwks *old;

	pthread_mutex_lock(&issuer->lock);
	old = issuer->set;
	issuer->set = NULL;
	issuer->is_stale = false;
	pthread_mutex_unlock(&issuer->lock);
	jwks_drop(old);
}

static bool is_same_source(const struct issuer *issuer, const struct settings *settings)
{
	return issuer->hold && str_equal(source_of(issuer)->jwks, settings->accounts.jwt.jwks);
}

static int make_client(struct issuer *issuer)
{
	const struct settings_jwt *source = source_of(issuer);
	const struct client_settings wanted = {
		.url = source->url.text.at,
		.base_path = STR(""),
		.ca_file = source->ca_file.len ? source->ca_file.at : NULL,
		.verify = true,
		.timeout_ms = ISSUER_TIMEOUT_MS,
		.connect_timeout_ms = ISSUER_TIMEOUT_MS,
		.max_connections = 1,
	};

	return client_new(loop_of(issuer), &wanted, &issuer->client);
}

/* Go by the newest settings. A set from a file has been read together with them. */
static void adopt(struct issuer *issuer)
{
	struct settings_hold *hold = issuer->gate->hold;
	const struct settings *settings = hold->settings;
	bool is_ours = settings->accounts.from == SETTINGS_ACCOUNTS_JWT;

	issuer->must_adopt = false;
	if (!is_ours || !is_same_source(issuer, settings))
		forget_keys(issuer);
	forget_source(issuer);
	if (!is_ours) {
		tell(issuer, NULL, false);
		return;
	}
	atomic_fetch_add(&hold->holders, 1);
	issuer->hold = hold;
	issuer->pause_ms = 0;
	if (!source_of(issuer)->url.text.len) {
		issuer->stamp = hold->jwks_stamp;
		looked(issuer, jwks_hold(hold->jwks), NULL);
	} else if (make_client(issuer) == 0) {
		look(issuer);
	} else {
		forget_source(issuer);
		tell(issuer, NULL, true);
	}
}

struct issuer *issuer_open(struct gate *gate)
{
	struct issuer *issuer = calloc(1, sizeof(*issuer));

	if (!issuer)
		return NULL;
	issuer->gate = gate;
	issuer->wish.run = run_wish;
	list_init(&issuer->waiters);
	loop_timer_init(&issuer->timer, look_again);
	pthread_mutex_init(&issuer->lock, NULL);
	adopt(issuer);
	return issuer;
}

void issuer_reload(struct issuer *issuer)
{
	if (!issuer->is_fetching) {
		adopt(issuer);
		return;
	}
	if (!issuer->must_adopt)
		call_cancel(&issuer->call);
	issuer->must_adopt = true;
}

void issuer_stop(struct issuer *issuer)
{
	pthread_mutex_lock(&issuer->lock);
	issuer->is_closed = true;
	pthread_mutex_unlock(&issuer->lock);
	loop_timer_cancel(&issuer->timer);
	if (issuer->is_fetching)
		call_cancel(&issuer->call);
	else
		tell(issuer, NULL, issuer->is_stale);
}

void issuer_close(struct issuer *issuer)
{
	if (!issuer)
		return;
	if (issuer->is_fetching) /* the loop was ended in the middle of it, and so is the process */
		return;
	forget_source(issuer);
	jwks_drop(issuer->set);
	pthread_mutex_destroy(&issuer->lock);
	free(issuer);
}
