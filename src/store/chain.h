/*
 * A chain of commands, oldest first: what the committer's thread passes from place to place.
 */
#ifndef STORE_CHAIN_H
#define STORE_CHAIN_H

#include "store/store.h"

struct chain {
	struct store_command *first;
	struct store_command **end;
	size_t count;
};

void chain_init(struct chain *chain);
void chain_append(struct chain *chain, struct store_command *command);
struct store_command *chain_take(struct chain *chain); /* the oldest; NULL: empty */

/* Everything of `from`, after what `to` has. */
void chain_move(struct chain *to, struct chain *from);

/* By operation; those of one operation stay in their order. */
void chain_sort(struct chain *chain);

#endif
