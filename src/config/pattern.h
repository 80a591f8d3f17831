/*
 * Regular expressions of the configuration, compiled within bounds.
 */
#ifndef CONFIG_PATTERN_H
#define CONFIG_PATTERN_H

#include "core/matcher.h"

enum { PATTERN_WRONG = 1, PATTERN_DETAIL_MAX = 160 };

/*
 * Compile `text`, which ends in a NUL: POSIX extended, for yes or no alone; it outlives
 * *out_matcher, which is the caller's to end. 0, PATTERN_WRONG and a sentence, FAIL_MEMORY.
 */
int pattern_compile(struct str text, struct matcher *out_matcher,
		    char out_detail[PATTERN_DETAIL_MAX]);

#endif
