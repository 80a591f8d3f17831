/*
 * A regular expression that texts of strangers are held against.
 *
 * The library that matches has two ways to be led astray: it keeps a state for every set of
 * positions that it has met, for as long as the expression lives, and it tries an expression
 * that is not anchored from every byte of the text. A matcher bounds both: it is compiled anew
 * once it has seen much text, it takes no long ones, and says what a text may cost.
 */
#ifndef CORE_MATCHER_H
#define CORE_MATCHER_H

#include "base/str.h"

#include <pthread.h>
#include <regex.h>
#include <stdbool.h>

enum {
	MATCHER_TEXT_MAX = 8192,	     /* bytes of one text */
	MATCHER_COST_MAX = 64 * 1024 * 1024, /* of all texts of one command; under a second */
};

struct matcher {
	pthread_mutex_t lock;
	const char *pattern; /* borrowed */
	regex_t regex;
	bool is_compiled;
	bool is_anchored; /* the match can begin at the text's first byte only */
	size_t seen;	  /* bytes, since it was compiled */
};

/*
 * `pattern` is POSIX extended, ends in a NUL and outlives the matcher. 0 (matcher_fini() it), or
 * the library's code: nothing is held then, and regerror() knows its words with &matcher->regex.
 */
int matcher_init(struct matcher *matcher, const char *pattern);
void matcher_fini(struct matcher *matcher);

/* What matching a text of that length may cost. */
size_t matcher_cost(const struct matcher *matcher, size_t len);

/*
 * Does `text`, without a NUL and of MATCHER_TEXT_MAX bytes at most, match, and nothing behind it?
 * Any thread may ask. 0, FAIL_MEMORY.
 */
int matcher_ask(struct matcher *matcher, struct str text, bool *out_does);

#endif
