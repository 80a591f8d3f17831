/*
 * The downstream key: the name by which a service that honours one knows the operation.
 *
 * Derived from the operation, never from the attempt or from the client's token: every sending of
 * one operation carries the same, and two operations never share one.
 */
#ifndef CORE_DOWNSTREAM_KEY_H
#define CORE_DOWNSTREAM_KEY_H

#include "base/buf.h"
#include "core/operation.h"
#include "core/rule.h"

enum { DOWNSTREAM_KEY_TEXT = 32 };
enum { DOWNSTREAM_KEY_NO_PLACE = 1 };

/* 32 characters [a-z2-7] (RFC 4648 base32, 160 bits of SHA-256 over a tag and the id), a NUL. */
void downstream_key_write(const struct operation_id *id, char out[DOWNSTREAM_KEY_TEXT + 1]);

/*
 * Append `body`, a JSON object, with "field":"key" as its first member and every other byte as
 * it was. 0; DOWNSTREAM_KEY_NO_PLACE: it is no object, or has that member (as the body was
 * checked, a caller's mistake); FAIL_MEMORY, FAIL_LIMIT.
 */
int downstream_key_splice(struct str body, struct str field, const char *key, struct buf *out);

/*
 * Where a key is put ("header Idempotency-Key https://…", "field reference https://…"; without a
 * key "none https://…"), as a text that is kept with the operation. Only that service (its URL, and
 * the name of the credential that it is shown) was sent it, and knows the key only in the place in
 * which it was given; what the configuration says of both may change.
 * 0, FAIL_MEMORY.
 */
int downstream_key_place(const struct rule_downstream_key *rule, struct str service,
			 struct arena *mem, struct str *out_place);

/* Is it the place of what was sent to this service, whatever the key? */
bool downstream_key_is_for(struct str place, struct str service);

/* Is it put there by this rule, for this service? */
bool downstream_key_is_at(const struct rule_downstream_key *rule, struct str service,
			  struct str place);

/* Put it there: `header` and `field`, the place's own bytes. */
void downstream_key_put_at(struct rule_downstream_key *rule, struct str place);

#endif
