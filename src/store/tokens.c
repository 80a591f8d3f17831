/*
 * Two open-addressing tables and a Bloom filter (see tokens.h).
 *
 * A slot is found by the first bits of the hash, so the table is almost sorted as it
 * stands: walking the slots is walking the index on disk, and freezing costs nothing.
 * Undo works because adds are undone last first: the slot that is freed is the last one
 * that was taken, so no later entry can have been pushed past it.
 */
#include "store/tokens.h"

#include "base/err.h"

#include <sodium.h>
#include <stdlib.h>

enum { FILTER_WORDS = 1 << (TOKENS_FILTER_BITS - 6), FILTER_PROBES = 4 };

int tokens_init(struct tokens *tokens)
{
	*tokens = (struct tokens){0};
	tokens->active.slots = calloc(TOKENS_SLOTS, sizeof(struct token_entry));
	tokens->frozen.slots = calloc(TOKENS_SLOTS, sizeof(struct token_entry));
	tokens->filter = calloc(FILTER_WORDS, sizeof(uint64_t));
	if (tokens->active.slots && tokens->frozen.slots && tokens->filter)
		return 0;
	tokens_fini(tokens);
	return fail(FAIL_MEMORY);
}

void tokens_fini(struct tokens *tokens)
{
	if (!tokens)
		return;
	free(tokens->active.slots);
	free(tokens->frozen.slots);
	free(tokens->filter);
	*tokens = (struct tokens){0};
}

static void table_clear(struct token_table *table)
{
	if (table->used)
		memset(table->slots, 0, TOKENS_SLOTS * sizeof(struct token_entry));
	table->used = 0;
	table->newest = 0;
}

void tokens_clear(struct tokens *tokens)
{
	table_clear(&tokens->active);
	table_clear(&tokens->frozen);
	tokens->merged = tokens->merged_before = 0;
	tokens->undo_count = 0;
	memset(tokens->filter, 0, FILTER_WORDS * sizeof(uint64_t));
}

void tokens_hash(const uint8_t key[16], struct str account, struct str token,
		 struct token_hash *out_hash)
{
	uint8_t both[2][TOKEN_HASH];

	crypto_shorthash_siphashx24(both[0], (const uint8_t *)account.at, account.len, key);
	crypto_shorthash_siphashx24(both[1], (const uint8_t *)token.at, token.len, key);
	crypto_shorthash_siphashx24(out_hash->bytes, both[0], sizeof(both), key);
}

/* One byte longer than what tokens_hash() hashes, so that the two never meet. */
void tokens_hash_kind(const uint8_t key[16], enum token_kind kind, const struct hash *hash,
		      struct token_hash *out_hash)
{
	uint8_t input[1 + HASH_SIZE];

	input[0] = (uint8_t)kind;
	memcpy(input + 1, hash->bytes, HASH_SIZE);
	crypto_shorthash_siphashx24(out_hash->bytes, input, sizeof(input), key);
}

static uint32_t filter_bit(const struct token_hash *hash, int probe)
{
	const uint8_t *at = hash->bytes + 4 + 3 * probe;

	return (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2];
}

void tokens_mark(struct tokens *tokens, const struct token_hash *hash)
{
	for (int i = 0; i < FILTER_PROBES; i++) {
		uint32_t bit = filter_bit(hash, i);

		tokens->filter[bit / 64] |= (uint64_t)1 << bit % 64;
	}
}

bool tokens_may_know(const struct tokens *tokens, const struct token_hash *hash)
{
	for (int i = 0; i < FILTER_PROBES; i++) {
		uint32_t bit = filter_bit(hash, i);

		if (!(tokens->filter[bit / 64] >> bit % 64 & 1))
			return false;
	}
	return true;
}

/* The slot that holds `hash`, or the free one where it would go. */
static size_t slot_of(const struct token_table *table, const struct token_hash *hash)
{
	const uint8_t *at = hash->bytes;
	uint32_t first = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8;
	size_t slot = first >> (32 - TOKENS_SLOT_BITS);

	while (table->slots[slot].op != 0 &&
	       memcmp(table->slots[slot].hash.bytes, hash->bytes, TOKEN_HASH) != 0)
		slot = (slot + 1) % TOKENS_SLOTS;
	return slot;
}

int64_t tokens_find(const struct tokens *tokens, const struct token_hash *hash)
{
	int64_t op = tokens->active.slots[slot_of(&tokens->active, hash)].op;

	if (op > 0)
		return op;
	op = tokens->frozen.slots[slot_of(&tokens->frozen, hash)].op;
	return op > 0 ? op : 0;
}

bool tokens_has_room(const struct tokens *tokens, size_t count)
{
	return tokens->active.used + count <= TOKENS_HELD_MAX;
}

void tokens_add(struct tokens *tokens, const struct token_hash *hash, int64_t op)
{
	struct token_table *table = &tokens->active;
	size_t slot = slot_of(table, hash);

	require(table->used < TOKENS_HELD_MAX);
	require(tokens->undo_count < TOKENS_UNDO_MAX);
	tokens->undo[tokens->undo_count++] = (struct token_undo){slot, table->slots[slot].op};
	if (table->slots[slot].op == 0)
		table->used++;
	table->slots[slot] = (struct token_entry){*hash, op};
	if (op > table->newest)
		table->newest = op;
	tokens_mark(tokens, hash);
}

void tokens_begin(struct tokens *tokens)
{
	tokens->undo_count = 0;
	tokens->merged_before = tokens->merged;
}

void tokens_undo(struct tokens *tokens)
{
	while (tokens->undo_count) {
		const struct token_undo *undo = &tokens->undo[--tokens->undo_count];

		tokens->active.slots[undo->slot].op = undo->op;
		if (undo->op == 0)
			tokens->active.used--;
	}
	tokens->merged = tokens->merged_before;
}

static void table_forget(struct token_table *table, const struct token_hash *hash, int64_t op)
{
	size_t slot = slot_of(table, hash);

	if (table->slots[slot].op == op)
		table->slots[slot].op = TOKEN_FORGOTTEN;
}

void tokens_forget(struct tokens *tokens, const struct token_hash *hash, int64_t op)
{
	table_forget(&tokens->active, hash, op);
	table_forget(&tokens->frozen, hash, op);
}

void tokens_freeze_if_full(struct tokens *tokens)
{
	struct token_table empty = tokens->frozen;

	if (tokens->active.used < TOKENS_RUN || empty.used)
		return;
	tokens->frozen = tokens->active;
	tokens->active = empty;
	tokens->merged = tokens->merged_before = 0;
	tokens->undo_count = 0;
}

const struct token_entry *tokens_next(struct tokens *tokens)
{
	if (!tokens->frozen.used)
		return NULL;
	while (tokens->merged < TOKENS_SLOTS) {
		const struct token_entry *entry = &tokens->frozen.slots[tokens->merged++];

		if (entry->op > 0)
			return entry;
	}
	return NULL;
}

size_t tokens_share(const struct tokens *tokens, size_t added)
{
	size_t left = (TOKENS_SLOTS - tokens->merged) * tokens->frozen.used / TOKENS_SLOTS;
	size_t least = added + added / 4 + 1, wanted;

	if (!tokens_has_room(tokens, TOKENS_UNDO_MAX))
		return TOKENS_SLOTS + 1; /* all of it, now */
	if (tokens->active.used >= TOKENS_RUN)
		return 8 * added + 64; /* late: after a restart, or batches that failed */
	wanted = added * left / (TOKENS_RUN - tokens->active.used) + 1;
	return wanted > least ? wanted : least;
}

void tokens_thaw(struct tokens *tokens)
{
	table_clear(&tokens->frozen);
	tokens->merged = tokens->merged_before = 0;
}
