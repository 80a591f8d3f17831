/*
 * "Did you mean …?": the known word nearest to one that is not.
 */
#ifndef CLI_SUGGEST_H
#define CLI_SUGGEST_H

#include <stddef.h>

enum { SUGGEST_WORD_MAX = 32 }; /* longer words get no suggestion */

struct suggestion {
	const char *word; /* what was typed */
	const char *best; /* the nearest so far; NULL: none is near enough */
	size_t distance;  /* of `best`, in single edits */
};

void suggest_begin(struct suggestion *suggestion, const char *word);

/* Take `known` if it is nearer than what there is, and near enough to be meant. */
void suggest_offer(struct suggestion *suggestion, const char *known);

#endif
