/*
 * One grant: the token at hand, the fetch that is under way, and who waits for it (see grant.h).
 *
 *   take ─► good: given out ─(refresh_ms)─► fetch, nobody waits
 *     └───► none: wait ─► fetch ─► told, each on a loop of its own
 *
 * Always true: at most one fetch is under way; whoever waits is told by it, or has left.
 * Can fail: the endpoint cannot be reached, refuses, gives no usable token; then everybody who
 * waits is told so, nothing of theirs was sent, and the next one who comes tries again.
 *
 * A wait is told by a post to its own loop, so it may leave until that post has run: leaving and
 * being told are both on that loop's thread.
 */
#include "gate/grant.h"

#include "base/err.h"
#include "core/access_token.h"
#include "core/secret.h"

#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>

enum {
	QUESTION_MAX = 128 * 1024, /* body and lines: the secret, three bytes for each of it */
	ANSWER_MEMORY = 33 * ACCESS_TOKEN_ANSWER_MAX, /* the most that json/ ever takes */
	REFRESH_AHEAD_MS = 60 * 1000,		      /* before its end, at most… */
	REFRESH_PART = 5,			      /* …and this part of its life */
	MARGIN_MS = 10 * 1000, /* not used any more so long before its end, at most… */
	MARGIN_PART = 10,      /* …and this part of its life */
};

struct grant {
	const struct settings_upstream *upstream;
	struct secrets *secrets;
	pthread_mutex_t lock; /* for all below */
	struct token *token;  /* NULL: none */
	bool is_fetching;
	struct list waits;
};

struct grant_wait {
	struct list link; /* among its grant's, until it is told */
	struct grant *grant;
	struct loop *loop;
	struct loop_post post;
	struct token *token;
	const char *why_not;
	void *owner; /* NULL: it has left */
	grant_ready ready;
};

struct fetch {
	struct grant *grant;
	struct generation *generation; /* held */
	size_t index;
	uint64_t secret_version;
	int64_t began_ms; /* monotonic: the token's life is counted from here */
	struct call call;
	struct buf lines, body, answer;
};

static void fetch_begin(struct grant *grant, struct generation *generation, size_t index);

/* Tokens. */

static struct token *token_hold(struct token *token)
{
	if (token)
		atomic_fetch_add(&token->holders, 1);
	return token;
}

void token_drop(struct token *token)
{
	if (!token || atomic_fetch_sub(&token->holders, 1) != 1)
		return;
	sodium_free(token->text);
	free(token);
}

static int64_t lesser(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static struct token *token_new(const struct access_token *read, uint64_t secret_version,
			       int64_t began_ms)
{
	struct token *token = calloc(1, sizeof(*token));
	int64_t life_ms = read->life_s * 1000, end_ms = began_ms + life_ms;

	if (token)
		token->text = sodium_malloc(read->text.len);
	if (!token || !token->text) {
		free(token);
		return NULL;
	}
	atomic_init(&token->holders, 1);
	token->secret_version = secret_version;
	token->refresh_ms = end_ms - lesser(REFRESH_AHEAD_MS, life_ms / REFRESH_PART);
	token->good_until_ms = end_ms - lesser(MARGIN_MS, life_ms / MARGIN_PART);
	token->len = read->text.len;
	memcpy(token->text, read->text.at, read->text.len);
	return token;
}

/* Grants. */

int grant_new(const struct settings_upstream *upstream, struct secrets *secrets, struct grant **out)
{
	struct grant *grant = calloc(1, sizeof(*grant));

	if (!grant)
		return fail(FAIL_MEMORY);
	grant->upstream = upstream;
	grant->secrets = secrets;
	list_init(&grant->waits);
	pthread_mutex_init(&grant->lock, NULL);
	*out = grant;
	return 0;
}

void grant_free(struct grant *grant)
{
	if (!grant)
		return;
	token_drop(grant->token);
	pthread_mutex_destroy(&grant->lock);
	free(grant);
}

void grant_refuse(struct grant *grant, const struct token *token)
{
	struct token *refused = NULL;

	pthread_mutex_lock(&grant->lock);
	if (grant->token == token) {
		refused = grant->token;
		grant->token = NULL;
	}
	pthread_mutex_unlock(&grant->lock);
	token_drop(refused);
}

/* Waiting. */

static struct grant_wait *wait_new(struct grant *grant, struct loop *loop, void *owner,
				   grant_ready ready)
{
	struct grant_wait *wait = calloc(1, sizeof(*wait));

	if (!wait)
		return NULL;
	list_init(&wait->link);
	wait->grant = grant;
	wait->loop = loop;
	wait->owner = owner;
	wait->ready = ready;
	return wait;
}

void grant_leave(struct grant_wait *wait)
{
	bool was_waiting;

	pthread_mutex_lock(&wait->grant->lock);
	was_waiting = !list_is_empty(&wait->link);
	list_remove(&wait->link);
	pthread_mutex_unlock(&wait->grant->lock);
	if (was_waiting)
		free(wait);
	else
		wait->owner = NULL; /* its post is on its way */
}

static void told(struct loop_post *post)
{
	struct grant_wait *wait = list_entry(post, struct grant_wait, post);

	if (wait->owner)
		wait->ready(wait->owner, wait->token, wait->why_not);
	else
		token_drop(wait->token);
	free(wait);
}

/* The end of a fetch. Whoever comes from here on finds the token, or begins the next one. A wait's
 * link says whether it is told already; so it comes off under the lock. */
static void tell_all(struct grant *grant, struct token *token, const char *why_not)
{
	struct token *old = NULL;

	pthread_mutex_lock(&grant->lock);
	if (token) { /* else the old one may still be good for a while */
		old = grant->token;
		grant->token = token;
	}
	grant->is_fetching = false;
	while (!list_is_empty(&grant->waits)) {
		struct grant_wait *wait = list_entry(grant->waits.next, struct grant_wait, link);

		list_remove(&wait->link);
		wait->token = token_hold(token);
		wait->why_not = why_not;
		wait->post.run = told;
		loop_post(wait->loop, &wait->post);
	}
	pthread_mutex_unlock(&grant->lock);
	token_drop(old);
}

/* With the lock held: is the one at hand good? */
static bool is_good(const struct grant *grant, uint64_t secret_version, int64_t now_ms)
{
	const struct token *token = grant->token;

	return token && token->secret_version == secret_version && now_ms < token->good_until_ms;
}

int grant_take(struct grant *grant, struct generation *generation, size_t index, void *owner,
	       grant_ready ready, struct token **out_token, struct grant_wait **out_wait)
{
	struct loop *loop = generation->home->loop;
	uint64_t version = secrets_version(grant->secrets, grant->upstream->credential.secret);
	struct grant_wait *wait = version ? wait_new(grant, loop, owner, ready) : NULL;
	int64_t now_ms = env_monotonic_ms(loop->env);
	bool must_fetch;

	if (!version)
		return GRANT_UNSET;
	if (!wait)
		return fail(FAIL_MEMORY);
	pthread_mutex_lock(&grant->lock);
	if (is_good(grant, version, now_ms)) {
		*out_token = token_hold(grant->token);
		must_fetch = now_ms >= grant->token->refresh_ms && !grant->is_fetching;
	} else {
		*out_token = NULL;
		list_append(&grant->waits, &wait->link);
		must_fetch = !grant->is_fetching;
	}
	grant->is_fetching |= must_fetch;
	pthread_mutex_unlock(&grant->lock);
	if (*out_token)
		free(wait);
	else
		*out_wait = wait;
	if (must_fetch)
		fetch_begin(grant, generation, index);
	return *out_token ? 0 : GRANT_WAITS;
}

/* Fetching. */

static void log_failed(const struct fetch *fetch, const char *why)
{
	struct loop *loop = fetch->generation->home->loop;
	const struct call *call = &fetch->call;
	struct log_line line;
	struct arena mem;

	arena_init(&mem, ANSWER_MEMORY);
	log_begin(&line, loop->log, LOG_WARNING, "token-not-fetched");
	log_str(&line, "upstream", fetch->grant->upstream->name);
	log_text(&line, "why", why);
	if (call->client && call->answer.status) {
		log_int(&line, "status", call->answer.status);
		log_str(&line, "error", access_token_error(buf_str(&fetch->answer), &mem));
	}
	if (call->client && call_error(call))
		log_text(&line, "upstream_error", call_error(call));
	log_end(&line);
	arena_fini(&mem);
}

static void fetch_free(struct fetch *fetch)
{
	if (fetch->call.client)
		call_fini(&fetch->call);
	buf_fini_wiped(&fetch->lines);
	buf_fini_wiped(&fetch->body);
	buf_fini_wiped(&fetch->answer);
	generation_drop(fetch->generation);
	free(fetch);
}

/* The secret was changed meanwhile: what was fetched with the old one is nobody's any more. */
static bool is_outdated(const struct fetch *fetch)
{
	const struct grant *grant = fetch->grant;

	return secrets_version(grant->secrets, grant->upstream->credential.secret) !=
	       fetch->secret_version;
}

static void fetch_end(struct fetch *fetch, struct token *token, const char *why_not)
{
	struct grant *grant = fetch->grant;

	if (is_outdated(fetch)) {
		token_drop(token);
		fetch_begin(grant, fetch->generation, fetch->index);
	} else {
		tell_all(grant, token, why_not);
	}
	fetch_free(fetch);
}

static bool call_data(struct call *call, struct str piece)
{
	struct fetch *fetch = call->owner;

	buf_append_str(&fetch->answer, piece);
	return true;
}

static void call_head(struct call *call)
{
}

/* What the answer is worth. NULL, and *out_why. */
static struct token *read_answer(struct fetch *fetch, const char **out_why)
{
	struct access_token read;
	struct token *token = NULL;
	struct arena mem;
	int r;

	arena_init(&mem, ANSWER_MEMORY);
	*out_why = "its answer is too large";
	if (!fetch->answer.is_spoiled) {
		*out_why = "there was no memory for its answer";
		r = access_token_read(buf_str(&fetch->answer), &mem, &read, out_why);
		if (r == 0)
			token = token_new(&read, fetch->secret_version, fetch->began_ms);
	}
	arena_fini(&mem); /* strings without escapes are in the answer, which is wiped */
	return token;
}

static const char not_fetched[] =
	"no access token could be had from the service's token endpoint; the gate's log says why";

static void call_done(struct call *call, enum sending sending)
{
	struct fetch *fetch = call->owner;
	struct token *token = NULL;
	const char *why = call->reason ? call->reason : "it was not answered";

	if (sending == SENDING_ANSWERED && call->answer.status == 200)
		token = read_answer(fetch, &why);
	else if (sending == SENDING_ANSWERED)
		why = "it refused";
	if (!token)
		log_failed(fetch, why);
	fetch_end(fetch, token, not_fetched);
}

static const struct call_events call_events = {
	.head = call_head,
	.data = call_data,
	.done = call_done,
};

/* False: the secret is not set any more, or there is no memory. */
static bool write_question(struct fetch *fetch)
{
	const struct settings_credential *credential = &fetch->grant->upstream->credential;
	struct access_token_question question = {
		.client_id = credential->oauth2.client_id,
		.scope = credential->oauth2.scope,
		.audience = credential->oauth2.audience,
		.is_in_body = credential->oauth2.auth == SETTINGS_CLIENT_POST,
	};
	struct buf secret;
	int r;

	buf_init(&secret, SECRET_VALUE_MAX);
	(void)buf_reserve(&secret, SECRET_VALUE_MAX);
	(void)buf_reserve(&fetch->lines, QUESTION_MAX);
	(void)buf_reserve(&fetch->body, QUESTION_MAX);
	r = secrets_read(fetch->grant->secrets, credential->secret, &secret,
			 &fetch->secret_version);
	question.secret = buf_str(&secret);
	if (r == 0) {
		access_token_body(&question, &fetch->body);
		access_token_line(&question, &fetch->lines);
		buf_append_str(&fetch->lines,
			       STR("Content-Type: application/x-www-form-urlencoded\r\n"
				   "Accept: application/json\r\n"));
	}
	r = secret.is_spoiled ? FAIL_MEMORY : r;
	buf_fini_wiped(&secret);
	return r == 0 && !fetch->body.is_spoiled && !fetch->lines.is_spoiled;
}

static void fetch_start(struct fetch *fetch)
{
	const struct settings_url *url = &fetch->grant->upstream->credential.oauth2.token_url;

	fetch->began_ms = env_monotonic_ms(fetch->generation->home->loop->env);
	fetch->call = (struct call){
		.events = &call_events,
		.owner = fetch,
		.method = STR("POST"),
		.target = url->base_path.len ? url->base_path : STR("/"),
		.headers = buf_str(&fetch->lines),
		.body = buf_str(&fetch->body),
		.has_body = true,
		.has_total_timeout = true,
	};
	call_start(fetch->generation->token_clients[fetch->index], &fetch->call);
}

static void fetch_begin(struct grant *grant, struct generation *generation, size_t index)
{
	struct fetch *fetch = calloc(1, sizeof(*fetch));

	if (!fetch) {
		tell_all(grant, NULL, "there was no memory to fetch an access token");
		return;
	}
	generation_hold(generation);
	fetch->grant = grant;
	fetch->generation = generation;
	fetch->index = index;
	buf_init(&fetch->lines, QUESTION_MAX);
	buf_init(&fetch->body, QUESTION_MAX);
	buf_init(&fetch->answer, ACCESS_TOKEN_ANSWER_MAX);
	(void)buf_reserve(&fetch->answer, ACCESS_TOKEN_ANSWER_MAX);
	if (write_question(fetch)) {
		fetch_start(fetch);
	} else {
		tell_all(grant, NULL, "the secret of the token endpoint's client is not set");
		fetch_free(fetch);
	}
}
