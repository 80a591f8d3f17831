/*
 * Accounts from credentials: the same credential, the same account.
 *
 * Requests without a credential share the account of the empty one; an Authorization header
 * whose value is empty is the same thing.
 */
#include "gate/account.h"

#include "base/hash.h"
#include "gate/headers.h"
#include "json/json.h"

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

bool account_is_a_name(struct str name)
{
	if (!name.len || name.len > ACCOUNT_NAME_MAX || !json_is_utf8(name))
		return false;
	for (size_t i = 0; i < name.len; i++) {
		unsigned char byte = (unsigned char)name.at[i];

		if (byte < 0x20 || byte == 0x7f)
			return false;
	}
	return true;
}

bool account_is_a_callers(struct str account)
{
	return !str_starts_with(account, STR(ACCOUNT_OF_INBOXES));
}

struct str account_shown(struct str account)
{
	return str_of(account.at, account.len < SHOWN_MAX ? account.len : SHOWN_MAX);
}
