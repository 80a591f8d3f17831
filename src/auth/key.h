/*
 * The gate's own keys: how one looks, and what is kept of it.
 *
 * A key is a text that its bearer shows: `cfk_` and 43 characters that stand for 32 random bytes.
 * Of the text the gate keeps its SHA-256 alone (a random text of that length needs no slower
 * digest), and beside it who the key is: account, agent, role, the actions it may be used for. A
 * key is called by its id, `key_` and 16 characters, which is no secret.
 */
#ifndef AUTH_KEY_H
#define AUTH_KEY_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/env.h"
#include "base/hash.h"
#include "core/caller.h"

enum {
	KEY_RANDOM = 32,
	KEY_TEXT = 4 + 43,
	KEY_ID_TEXT = 4 + 16,
	KEY_NAME_MAX = 200,   /* bytes of an account, an agent, a label */
	KEY_ACTION_MAX = 128, /* bytes of a pattern */
	KEY_RECORD_MAX = 16 * 1024,
};

/* What is kept of a key. */
struct key_record {
	struct str id;
	struct hash digest; /* SHA-256 of its text */
	struct str account; /* never empty, but for one of all accounts */
	struct str agent;
	struct str label; /* what its maker calls it; or empty */
	enum caller_role role;
	bool has_all_accounts;
	struct str *actions; /* patterns; none: all */
	size_t action_count;
	int64_t created_ms;
	int64_t expires_ms;    /* 0: never */
	struct str created_by; /* credential of its maker */
	int64_t revoked_ms;    /* 0: it is in force */
	struct str revoked_by, revoked_why;
};

/* Make a text and an id, each with a NUL after it. */
void key_make(const struct env *env, char out_text[KEY_TEXT + 1], char out_id[KEY_ID_TEXT + 1]);

/* Has a text the beginning of a key, good or not? */
bool key_is_meant(struct str text);

/* Has it the form of one? */
bool key_is_whole(struct str text);

/* Has a text the form of a key's id? */
bool key_id_is_whole(struct str text);

void key_digest(struct str text, struct hash *out_digest);

/* The record as JSON, appended; the digest with it. */
void key_record_write(const struct key_record *record, struct buf *out);

/*
 * Back from JSON. 0; FAIL_CONFIG: it is no record, FAIL_MEMORY. Its texts live in `mem`, or point
 * into `text`.
 */
int key_record_read(struct str id, struct str text, struct arena *mem,
		    struct key_record *out_record);

#endif
