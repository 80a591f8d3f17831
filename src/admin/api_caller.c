/*
 * Who calls the admin listener.
 *
 * Whoever may read the file `admin-token` of the data directory is the operator of all accounts:
 * they could as well write the directory itself. Everybody else has a key of the gate's own.
 */
#include "admin/api.h"

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

bool api_identify(const struct admin *admin, struct exchange *exchange, struct caller *out_caller,
		  const char **out_detail)
{
	const struct gate *gate = admin->gate;
	struct str bearer = bearer_of(exchange);

	if (is_admin_token(admin, bearer)) {
		*out_caller = (struct caller){
			.account = STR(""),
			.agent = STR("admin-token"),
			.credential = STR("admin-token"),
			.role = ROLE_OPERATOR,
			.has_all_accounts = true,
		};
		return true;
	}
	if (callers_find(gate->callers, bearer, env_wall_ms(gate->env), &exchange->mem,
			 out_caller) == 0)
		return true;
	*out_detail = "Send a key that is in force, or the token in the file admin-token of the "
		      "data directory, as a bearer token.";
	return false;
}
