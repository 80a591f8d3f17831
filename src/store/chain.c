/* Chains of commands. */
#include "store/chain.h"

void chain_init(struct chain *chain)
{
	chain->first = NULL;
	chain->end = &chain->first;
	chain->count = 0;
}

void chain_append(struct chain *chain, struct store_command *command)
{
	command->next = NULL;
	*chain->end = command;
	chain->end = &command->next;
	chain->count++;
}

struct store_command *chain_take(struct chain *chain)
{
	struct store_command *command = chain->first;

	if (!command)
		return NULL;
	chain->first = command->next;
	if (!chain->first)
		chain->end = &chain->first;
	chain->count--;
	return command;
}

void chain_move(struct chain *to, struct chain *from)
{
	struct store_command *command;

	if (!from->first)
		return;
	if (!to->first) { /* the common case is free */
		*to = *from;
		chain_init(from);
		return;
	}
	while ((command = chain_take(from)))
		chain_append(to, command);
}

static struct store_command *merge(struct store_command *a, struct store_command *b)
{
	struct store_command *merged = NULL, **end = &merged;

	while (a && b) {
		struct store_command **lesser =
			memcmp(&a->operation.id, &b->operation.id, OPERATION_ID_SIZE) <= 0 ? &a
											   : &b;

		*end = *lesser;
		end = &(*lesser)->next;
		*lesser = *end;
	}
	*end = a ? a : b;
	return merged;
}

/* The first `count` of `list`, which has at least that many, sorted; *out_rest is what follows. */
static struct store_command *sort(struct store_command *list, size_t count,
				  struct store_command **out_rest)
{
	struct store_command *left, *right;

	if (count == 1) {
		*out_rest = list->next;
		list->next = NULL;
		return list;
	}
	left = sort(list, count / 2, &right);
	right = sort(right, count - count / 2, out_rest);
	return merge(left, right);
}

void chain_sort(struct chain *chain)
{
	struct store_command *rest;

	if (chain->count < 2)
		return;
	chain->first = sort(chain->first, chain->count, &rest);
	chain->end = &chain->first;
	while (*chain->end)
		chain->end = &(*chain->end)->next;
}
