/*
 * Accounts from credentials: the same credential, the same account.
 *
 * Requests without a credential share the account of the empty one; an Authorization header
 * whose value is empty is the same thing.
 */
#include "gate/account.h"

#include "base/hash.h"
#include "gate/headers.h"

enum { SHOWN_MAX = 12 }; /* digits of a digest; an inbox's name may be shorter */

struct str account_of(struct exchange *exchange)
{
	const struct http_request *request = &exchange->request;
	struct str credential = headers_value(request, STR("Authorization"));
	char *text = arena_alloc(&exchange->mem, 2 * HASH_SIZE);
	struct hash hash;

	if (!text)
		return str_of(NULL, 0);
	hash_bytes(credential.at, credential.len, &hash);
	hex_write(hash.bytes, HASH_SIZE, text);
	return str_of(text, 2 * HASH_SIZE);
}

struct str account_shown(struct str account)
{
	return str_of(account.at, account.len < SHOWN_MAX ? account.len : SHOWN_MAX);
}
