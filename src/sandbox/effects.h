/*
 * Counting effects: how often the practice API really did something.
 *
 * By kind, and by the key that the writer sent along: what a test of a gate asks for is that
 * no key ever has more than one.
 *
 * Always true: the counts by kind never forget; of keys, the EFFECT_KEYS_MAX that were seen
 * first longest ago are forgotten, and how many were is counted too.
 */
#ifndef SANDBOX_EFFECTS_H
#define SANDBOX_EFFECTS_H

#include "base/list.h"
#include "base/str.h"
#include "json/json.h"

enum kind {
	KIND_TICKET,
	KIND_PAYMENT,
	KIND_REFUND,
	KIND_DEPLOYMENT,
	KIND_ORDER,
	KIND_HOOK,
	KIND_COUNT
};

/* The collection's name: "tickets", … */
const char *kind_name(enum kind kind);

enum {
	EFFECT_KEYS_MAX = 10000, /* keys with a count of their own */
	EFFECT_KEY_BYTES = 255,	 /* of a key; a longer one is cut */
	EFFECT_BUCKETS = 16384,
};

struct effects {
	uint64_t of_kind[KIND_COUNT];
	uint64_t resent; /* writes that were no effect, because their key was honoured */
	uint64_t keys_forgotten;
	size_t key_count;
	struct list keys;			    /* in the order first seen */
	struct effect_key *buckets[EFFECT_BUCKETS]; /* chains */
};

void effects_init(struct effects *effects);
void effects_fini(struct effects *effects); /* usable again after effects_init() */

/* One more. An empty key counts by kind alone. 0 or FAIL_MEMORY (then nothing is counted). */
int effects_add(struct effects *effects, enum kind kind, struct str key);

/*
 * {"total", "kinds": {kind: count}, "keys": {key: count}, "keys_forgotten",
 * "resent"}. With `only` not
 * empty, "keys" has at most that one.
 */
void effects_write(const struct effects *effects, struct str only, struct json_writer *writer);

#endif
