/*
 * Tokens of callers.
 *
 * The token stands in Authorization, which goes on to the service: it is the caller's. What is kept
 * of it is who it names.
 */
#include "gate/caller_jwt.h"

#include "auth/jwt.h"
#include "gate/account.h"
#include "gate/headers.h"
#include "gate/issuer.h"

#include "base/err.h"

#include <stdio.h>

enum {
	DETAIL_MAX = 256,
	TOKEN_MEMORY = 32 * JWT_BYTES_MAX + 64 * 1024, /* the most that reading one takes */
	CREDENTIAL_DIGITS = 32, /* of a digest: enough to tell callers apart */
};

#define BEARER "Bearer "

static struct str token_of(const struct exchange *exchange)
{
	struct str value = headers_value(&exchange->request, STR("Authorization"));

	return str_starts_with_nocase(value, STR(BEARER))
		       ? str_trim(str_from_index(value, sizeof(BEARER) - 1))
		       : STR("");
}

static enum problem refuse(struct problem_facts *facts, enum problem problem, const char *detail)
{
	*facts = (struct problem_facts){.problem = problem, .detail = detail, .after_s = -1};
	return problem;
}

static enum problem refuse_token(struct worker *worker, struct exchange *exchange, const char *why,
				 struct problem_facts *out_refusal)
{
	char *detail = arena_alloc(&exchange->mem, DETAIL_MAX);
	enum problem problem;
	int after_s;

	if (!detail)
		return refuse(out_refusal, PROBLEM_OVERLOADED, NULL);
	snprintf(detail, DETAIL_MAX, "The token is not taken: %s.", why);
	problem = caller_failed(worker->gate, DOOR_DATA, exchange->peer, str_from(why), &after_s);
	refuse(out_refusal, problem, detail);
	out_refusal->after_s = after_s;
	return problem;
}

static struct jwt_rules rules_of(const struct settings_jwt *settings)
{
	return (struct jwt_rules){
		.issuer = settings->issuer,
		.audience = settings->audience,
		.account_claim = settings->account_claim,
		.agent_claim = settings->agent_claim,
		.tolerance_ms = settings->tolerance_ms,
	};
}

/* {NULL, 0} without memory. */
static struct str credential_of(const struct settings_jwt *settings,
				const struct jwt_claims *claims, struct arena *mem)
{
	char digits[2 * HASH_SIZE];
	struct hasher hasher;
	struct hash hash;

	hasher_init(&hasher);
	hasher_add_part(&hasher, settings->issuer);
	hasher_add_part(&hasher, claims->account);
	hasher_add_part(&hasher, claims->agent);
	hasher_end(&hasher, &hash);
	hex_write(hash.bytes, HASH_SIZE, digits);
	return arena_printf(mem, "jwt:%.*s", CREDENTIAL_DIGITS, digits);
}

static enum problem take(const struct settings_jwt *settings, const struct jwt_claims *claims,
			 struct arena *mem, struct caller *out_caller,
			 struct problem_facts *out_refusal)
{
	struct caller caller = {
		.account = arena_str(mem, claims->account),
		.agent = arena_str(mem, claims->agent),
		.credential = credential_of(settings, claims, mem),
		.role = ROLE_AGENT,
		.expires_ms = time_add(claims->expires_ms, settings->tolerance_ms),
	};

	if (!caller.account.at || !caller.agent.at || !caller.credential.at)
		return refuse(out_refusal, PROBLEM_OVERLOADED, NULL);
	*out_caller = caller;
	return PROBLEM_NONE;
}

/* Its key is not there, and the last look at the keys failed: it may be good all the same. */
static enum problem no_keys(struct problem_facts *out_refusal)
{
	return refuse(out_refusal, PROBLEM_KEYS_UNAVAILABLE, NULL);
}

static enum problem judge(struct worker *worker, struct exchange *exchange, const struct jwks *set,
			  bool is_stale, struct arena *mem, struct caller *out_caller,
			  struct problem_facts *out_refusal)
{
	const struct settings_jwt *settings = &worker->generation->settings->accounts.jwt;
	struct jwt_rules rules = rules_of(settings);
	int64_t now_ms = env_wall_ms(worker->gate->env);
	struct jwt_claims claims;
	const char *why;

	switch (jwt_verify(set, &rules, token_of(exchange), now_ms, mem, &claims, &why)) {
	case 0:
		if (!account_is_a_callers(claims.account))
			return refuse_token(worker, exchange, "its account is no caller's",
					    out_refusal);
		return take(settings, &claims, &exchange->mem, out_caller, out_refusal);
	case JWT_UNKNOWN_KEY:
		if (is_stale)
			return no_keys(out_refusal);
		return refuse_token(worker, exchange, why, out_refusal);
	case JWT_REFUSED:
		return refuse_token(worker, exchange, why, out_refusal);
	default:
		return refuse(out_refusal, PROBLEM_OVERLOADED, NULL);
	}
}

enum problem caller_by_token(struct worker *worker, struct exchange *exchange,
			     struct caller *out_caller, struct problem_facts *out_refusal)
{
	enum problem problem;
	bool is_stale;
	struct jwks *set;
	struct arena mem;

	if (!token_of(exchange).len)
		return refuse(out_refusal, PROBLEM_UNAUTHENTICATED,
			      "Send a token of the issuer in Authorization: Bearer.");
	set = issuer_keys(worker->gate->issuer, &is_stale);
	if (!set)
		return no_keys(out_refusal);
	arena_init(&mem, TOKEN_MEMORY);
	problem = judge(worker, exchange, set, is_stale, &mem, out_caller, out_refusal);
	arena_fini(&mem);
	jwks_drop(set);
	return problem;
}

/* Waiting. */

struct wait {
	struct issuer_waiter waiter;
	struct worker *worker;
	struct exchange *exchange;
	void (*then)(struct worker *worker, struct exchange *exchange);
};

static void finished(struct exchange *exchange, enum delivery delivery)
{
	exchange_release(exchange);
}

/* Nothing but its end can happen to an exchange whose body nobody has asked for. */
static const struct exchange_events events = {.finished = finished};

static void woken(struct issuer_waiter *waiter)
{
	struct wait *wait = list_entry(waiter, struct wait, waiter);

	if (wait->exchange->is_gone)
		exchange_abort(wait->exchange);
	else
		wait->then(wait->worker, wait->exchange);
}

static bool knows_key(struct worker *worker, struct str token)
{
	struct arena mem;
	struct jwks *set;
	bool is_stale, knows;

	set = issuer_keys(worker->gate->issuer, &is_stale);
	if (!set)
		return false;
	arena_init(&mem, TOKEN_MEMORY);
	knows = jwt_key_is_known(set, token, &mem);
	arena_fini(&mem);
	jwks_drop(set);
	return knows;
}

bool caller_waits_for_keys(struct worker *worker, struct exchange *exchange,
			   void (*then)(struct worker *worker, struct exchange *exchange))
{
	struct str token = token_of(exchange);
	struct wait *wait;

	if (worker->generation->settings->accounts.from != SETTINGS_ACCOUNTS_JWT ||
	    !jwt_is_like(token) || knows_key(worker, token))
		return false;
	wait = arena_zalloc(&exchange->mem, sizeof(*wait));
	if (!wait)
		return false;
	wait->worker = worker;
	wait->exchange = exchange;
	wait->then = then;
	wait->waiter.loop = exchange->loop;
	wait->waiter.woken = woken;
	exchange->owner = wait;
	exchange->events = &events;
	return issuer_wait(worker->gate->issuer, &wait->waiter);
}
