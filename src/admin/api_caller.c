/*
 * Who calls the admin listener.
 *
 * Whoever may read the file `admin-token` of the data directory is the operator of all accounts:
 * they could as well write the directory itself. Everybody else has a key of the gate's own; a
 * browser brings the cookie of a session that began with one of those.
 */
#include "admin/api.h"

#include "admin/api_session.h"
#include "auth/callers.h"

#include <sodium.h>

/* The bearer token of the request; empty: it brings none. */
static struct str bearer_of(const struct exchange *exchange)
{
	const struct http_field *field = http_field_find(
		exchange->request.fields, exchange->request.field_count, STR("Authorization"));
	struct str value = field ? field->value : STR("");

	if (!str_starts_with_nocase(value, STR("Bearer ")))
		return STR("");
	return str_trim(str_from_index(value, 7));
}

/* Compared in constant time, so that nobody learns the token by its beginning. */
static bool is_admin_token(const struct admin *admin, struct str text)
{
	return text.len == ADMIN_TOKEN_TEXT &&
	       sodium_memcmp(text.at, admin->token, ADMIN_TOKEN_TEXT) == 0;
}

bool api_shows_credential(const struct exchange *exchange)
{
	return bearer_of(exchange).len != 0;
}

const struct caller api_operator = {
	.account = {"", 0},
	.agent = {"admin-token", 11},
	.credential = {"admin-token", 11},
	.role = ROLE_OPERATOR,
	.has_all_accounts = true,
};

bool api_identify_text(const struct admin *admin, struct exchange *exchange, struct str text,
		       struct caller *out_caller, const char **out_detail)
{
	const struct gate *gate = admin->gate;

	if (is_admin_token(admin, text)) {
		*out_caller = api_operator;
		return true;
	}
	if (callers_find(gate->callers, text, env_wall_ms(gate->env), &exchange->mem, out_caller) ==
	    0)
		return true;
	*out_detail = "Send a key that is in force, or the token in the file admin-token of the "
		      "data directory, as a bearer token.";
	return false;
}

bool api_credential_holds(const struct admin *admin, struct exchange *exchange,
			  const struct caller *signed_in, struct caller *out_caller)
{
	const struct gate *gate = admin->gate;

	if (str_equal(signed_in->credential, api_operator.credential))
		return session_caller_copy(&exchange->mem, signed_in, out_caller);
	return callers_find_id(gate->callers, signed_in->credential, env_wall_ms(gate->env),
			       &exchange->mem, out_caller) == 0;
}

/* A bearer token comes before a cookie: programs send what they mean, browsers what they have. */
bool api_identify(const struct admin *admin, struct exchange *exchange, struct caller *out_caller,
		  const char **out_detail)
{
	struct str bearer = bearer_of(exchange);

	if (!bearer.len && api_brings_cookie(exchange))
		return api_session_identify(admin, exchange, out_caller, out_detail);
	return api_identify_text(admin, exchange, bearer, out_caller, out_detail);
}
