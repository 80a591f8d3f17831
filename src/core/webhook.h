/*
 * Signatures of events that come in, and of those that go out, as Standard Webhooks has them:
 * base64(HMAC-SHA256(key, id "." timestamp "." body)) behind "v1,", several apart by blanks.
 */
#ifndef CORE_WEBHOOK_H
#define CORE_WEBHOOK_H

#include "base/arena.h"
#include "base/buf.h"
#include "core/rule.h"

struct webhook {
	struct str id;	      /* webhook-id */
	struct str timestamp; /* webhook-timestamp, seconds */
	struct str signature; /* webhook-signature */
	struct str body;      /* exactly as it came */
};

/*
 * True: one signature is by one of the secrets, and the time is within the tolerance of
 * `now_ms`. Else *out_why, a constant sentence that gives no hint at the right one. Compared in
 * constant time. An inbox without secrets takes everything.
 */
bool webhook_is_genuine(const struct rule_inbox *inbox, const struct webhook *webhook,
			int64_t now_ms, const char **out_why);

/* What `webhook` (its signature aside) is signed with, by each of the keys: "v1,… v1,…". */
void webhook_signatures(const struct str *keys, size_t count, const struct webhook *webhook,
			struct buf *out);

/*
 * The key in the text of a secret: "whsec_" and base64, or any other text as its bytes. False:
 * base64 that cannot be read, or fewer than 16 bytes.
 */
bool webhook_secret_read(struct str text, struct arena *mem, struct str *out_key);

#endif
