/*
 * What somebody who makes a key wants of it, read from the body of a request. Pure.
 *
 * Whoever is limited to one account makes keys of that account alone; what is left out is taken in
 * its narrowest sense: no agent, no other account, never for ever by mistake (an expiry that cannot
 * be read is refused).
 */
#ifndef ADMIN_KEY_WISH_H
#define ADMIN_KEY_WISH_H

#include "auth/key.h"
#include "json/json.h"

/*
 * Read {"account", "agent", "role", "label", "actions", "all_accounts", "expires_in", "expires_at"}
 * for a key that `maker` makes at `now_ms`. NULL, or a sentence that says what is wrong; texts are
 * borrowed from `body`, or live in `mem`. *out_is_beyond: it is wrong because the maker's own
 * credential does not reach so far.
 */
const char *key_wish_read(const struct json_value *body, const struct caller *maker, int64_t now_ms,
			  struct arena *mem, struct key_record *out_record, bool *out_is_beyond);

#endif
