/*
 * Callers of the data listener.
 *
 * credential: whatever the Authorization header says is an account of its own, and nobody is turned
 * away. key: the gate's own keys, in Counterfoil-Key, or as a bearer token; the former leaves the
 * Authorization header to the service behind. jwt and header: caller_jwt.c, caller_header.c.
 *
 * A good key is let in whatever its address has done before: who guesses from the same address as
 * an honest agent must not be able to lock it out, and a random key of 32 bytes is not guessed.
 */
#include "gate/caller.h"

#include "gate/account.h"
#include "gate/caller_jwt.h"
#include "gate/headers.h"

#include "auth/callers.h"
#include "base/err.h"

#define KEY_HEADER "Counterfoil-Key"
#define BEARER	   "Bearer "

static const char show_a_key[] =
	"Send a key of this gate as a bearer token, or in the header Counterfoil-Key.";

static struct str bearer_of(struct str value)
{
	return str_starts_with_nocase(value, STR(BEARER))
		       ? str_trim(str_from_index(value, sizeof(BEARER) - 1))
		       : STR("");
}

struct str caller_key_shown(const struct http_request *request)
{
	size_t count = http_field_count(request->fields, request->field_count, STR(KEY_HEADER));
	struct str key = headers_value(request, STR(KEY_HEADER));

	if (count > 1)
		return STR("");
	return key.len ? key : bearer_of(headers_value(request, STR("Authorization")));
}

bool caller_is_own_credential(const struct settings *settings, const struct http_field *field)
{
	if (settings->accounts.from != SETTINGS_ACCOUNTS_KEY)
		return false;
	if (str_equal_nocase(field->name, STR(KEY_HEADER)))
		return true;
	return str_equal_nocase(field->name, STR("Authorization")) &&
	       key_is_meant(bearer_of(field->value));
}

static enum problem refuse(struct problem_facts *facts, enum problem problem, const char *detail,
			   int after_s)
{
	*facts = (struct problem_facts){
		.problem = problem,
		.detail = detail,
		.after_s = after_s,
	};
	return problem;
}

/* -- who --------------------------------------------------------------------------- */

static enum problem by_credential(struct exchange *exchange, struct caller *out_caller,
				  struct problem_facts *out_refusal)
{
	struct str account = account_of(exchange);

	if (!account.at)
		return refuse(out_refusal, PROBLEM_OVERLOADED, NULL, -1);
	*out_caller = (struct caller){
		.account = account,
		.agent = STR(""),
		.credential = account,
		.role = ROLE_AGENT,
	};
	return PROBLEM_NONE;
}

enum problem caller_failed(struct gate *gate, enum door door, const char *address, struct str why,
			   int *out_after_s)
{
	int64_t now_ms = env_monotonic_ms(gate->env);
	const struct store_administration failure = {
		.event = "authentication_failed",
		.subject = str_from(address),
		.why = why,
	};
	int wait_s = limiter_wait_s(&gate->limiter, address, now_ms);

	*out_after_s = wait_s ? wait_s : -1;
	metrics_add(&gate->failures[door].count, 1);
	metrics_add(&gate->failures[door].put_off, wait_s != 0);
	if (limiter_failed(&gate->limiter, address, now_ms))
		store_tell_administration(gate->store, &failure);
	return wait_s ? PROBLEM_TOO_MANY_ATTEMPTS : PROBLEM_UNAUTHENTICATED;
}

static enum problem not_let_in(struct worker *worker, struct exchange *exchange, int r,
			       struct problem_facts *out_refusal)
{
	bool is_over = r == CALLERS_EXPIRED;
	enum problem problem;
	int after_s;

	if (r < 0)
		return refuse(out_refusal, PROBLEM_OVERLOADED, NULL, -1);
	problem = caller_failed(worker->gate, DOOR_DATA, exchange->peer,
				is_over ? STR("the key has expired") : STR("there is no such key"),
				&after_s);
	return refuse(out_refusal, problem,
		      is_over ? "The key has expired." : "The key is not one that is let in.",
		      after_s);
}

static enum problem by_key(struct worker *worker, struct exchange *exchange,
			   struct caller *out_caller, struct problem_facts *out_refusal)
{
	struct gate *gate = worker->gate;
	struct str text = caller_key_shown(&exchange->request);
	int r;

	if (!text.len)
		return refuse(out_refusal, PROBLEM_UNAUTHENTICATED, show_a_key, -1);
	r = callers_find(gate->callers, text, env_wall_ms(gate->env), &exchange->mem, out_caller);
	if (r != 0)
		return not_let_in(worker, exchange, r, out_refusal);
	return PROBLEM_NONE;
}

int caller_key_id(struct worker *worker, struct exchange *exchange, struct str *out_id)
{
	const struct gate *gate = worker->gate;
	struct str text = bearer_of(headers_value(&exchange->request, STR("Authorization")));
	bool is_digest =
		worker->generation->settings->accounts.from == SETTINGS_ACCOUNTS_CREDENTIAL;
	struct caller caller;
	int r = CALLERS_UNKNOWN;

	if (is_digest && key_is_meant(text))
		r = callers_find(gate->callers, text, env_wall_ms(gate->env), &exchange->mem,
				 &caller);
	if (r == 0)
		*out_id = caller.credential;
	return r < 0 ? r : 0;
}

enum problem caller_identify(struct worker *worker, struct exchange *exchange,
			     struct caller *out_caller, struct problem_facts *out_refusal)
{
	switch (worker->generation->settings->accounts.from) {
	case SETTINGS_ACCOUNTS_CREDENTIAL:
		return by_credential(exchange, out_caller, out_refusal);
	case SETTINGS_ACCOUNTS_KEY:
		return by_key(worker, exchange, out_caller, out_refusal);
	case SETTINGS_ACCOUNTS_JWT:
		return caller_by_token(worker, exchange, out_caller, out_refusal);
	case SETTINGS_ACCOUNTS_HEADER:
		return caller_by_headers(worker, exchange, out_caller, out_refusal);
	}
	unreachable("the settings have no other way to tell an account");
}

/* -- may they, still ---------------------------------------------------------------- */

enum problem caller_permit(const struct caller *caller, struct str action,
			   struct problem_facts *out_refusal)
{
	if (!role_may(caller->role, POWER_CALL))
		return refuse(out_refusal, PROBLEM_FORBIDDEN,
			      "This key is a person's: it is for the admin listener.", -1);
	if (!caller_may_call(caller, action))
		return refuse(out_refusal, PROBLEM_ACTION_FORBIDDEN, NULL, -1);
	return PROBLEM_NONE;
}

bool caller_holds(const struct gate *gate, const struct caller *caller)
{
	int64_t now_ms = env_wall_ms(gate->env);

	if (caller->expires_ms && now_ms >= caller->expires_ms)
		return false;
	return !key_id_is_whole(caller->credential) ||
	       callers_holds(gate->callers, caller->credential, now_ms);
}
