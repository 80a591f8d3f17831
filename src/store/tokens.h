/*
 * The recent tokens, in memory: what keeps random writes off the disk.
 *
 * The same for other things that are found by a hash: the identities of operations, locks and
 * budgets. Each stands for a key of the ledger as a token does, and is called a token here.
 *
 * A token's hash lands anywhere in the index on disk, so writing it at its claim would cost
 * a page of write-ahead log for 24 bytes. Instead a claim adds its token here, and the
 * operation's own row (appended, cheap) is what a restart rebuilds this from. When TOKENS_RUN
 * are together the table is frozen, a new one takes over, and the frozen one is merged
 * into the index a few entries a batch, in the index's own order, so that neighbours share
 * a page. A filter over all tokens, here and on disk, answers "never seen" without touching
 * the disk, which is what a new token is.
 *
 * Memory is bounded: two tables of 3 MiB and 2 MiB of filter, whatever is stored. The filter
 * errs to one side (1 in 400 at a million tokens, 1 in 6 at four million; then a look at
 * the disk is needed again). One thread.
 */
#ifndef STORE_TOKENS_H
#define STORE_TOKENS_H

#include "base/hash.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	TOKEN_HASH = 16,	  /* bytes */
	TOKENS_RUN = 98304,	  /* entries that are merged together: three quarters full */
	TOKENS_SLOTS = 131072,	  /* of a table: a power of two */
	TOKENS_SLOT_BITS = 17,	  /* of TOKENS_SLOTS */
	TOKENS_UNDO_MAX = 1536,	  /* adds in one transaction: a claim's token, identity, lock */
	TOKENS_FILTER_BITS = 24,  /* 2^24 bits: 2 MiB */
	TOKENS_HELD_MAX = 114688, /* entries a table may hold while it waits to be frozen */
};

struct token_hash {
	uint8_t bytes[TOKEN_HASH];
};

struct token_entry {
	struct token_hash hash;
	int64_t op; /* 0: the slot is free; TOKEN_FORGOTTEN */
};
#define TOKEN_FORGOTTEN ((int64_t)-1)

struct token_table {
	struct token_entry *slots;
	size_t used;
	int64_t newest; /* the largest op that was added */
};

struct tokens {
	struct token_table active, frozen;
	size_t merged; /* slots of `frozen` that have been seen by tokens_next() */
	uint64_t *filter;
	struct token_undo {
		size_t slot;
		int64_t op; /* what it held before */
	} undo[TOKENS_UNDO_MAX];
	size_t undo_count;
	size_t merged_before; /* `merged` at tokens_begin() */
};

/* 0, FAIL_MEMORY. */
int tokens_init(struct tokens *tokens);
void tokens_fini(struct tokens *tokens);
/* Know nothing. */
void tokens_clear(struct tokens *tokens);

/* The hash of (account, token) under the ledger's own key: nobody outside can aim it. */
void tokens_hash(const uint8_t key[16], struct str account, struct str token,
		 struct token_hash *out_hash);

/* The same of something else that is found by its hash: never that of a token, or of another
 * kind. */
enum token_kind { KIND_IDENTITY = 1, KIND_LOCK = 2, KIND_BUDGET = 3 };
void tokens_hash_kind(const uint8_t key[16], enum token_kind kind, const struct hash *hash,
		      struct token_hash *out_hash);

/* Add to the filter what the index on disk holds. */
void tokens_mark(struct tokens *tokens, const struct token_hash *hash);

/* False: this token is in no table and not on disk. */
bool tokens_may_know(const struct tokens *tokens, const struct token_hash *hash);

/* The operation of a recent token, or 0: look on disk. */
int64_t tokens_find(const struct tokens *tokens, const struct token_hash *hash);

/* Room for `count` more adds before the frozen table must have been merged. */
bool tokens_has_room(const struct tokens *tokens, size_t count);

/* A token's newest operation. Undone by tokens_undo() until the next tokens_begin(). */
void tokens_add(struct tokens *tokens, const struct token_hash *hash, int64_t op);
void tokens_begin(struct tokens *tokens);
void tokens_undo(struct tokens *tokens);

/* The token no longer stands for `op` (it may stand for a newer one). Not undone. */
void tokens_forget(struct tokens *tokens, const struct token_hash *hash, int64_t op);

/* Freeze the active table if it holds TOKENS_RUN and no other is being merged. */
void tokens_freeze_if_full(struct tokens *tokens);

/* The next frozen entry to merge, in the order of hashes; NULL: none is left. */
const struct token_entry *tokens_next(struct tokens *tokens);

/*
 * How many entries to merge in a transaction that added `added`: so many that the frozen
 * table is done with before the active one is a run itself.
 */
size_t tokens_share(const struct tokens *tokens, size_t added);

/* The frozen table is on disk: forget it. */
void tokens_thaw(struct tokens *tokens);

#endif
