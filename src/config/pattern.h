/*
 * Regular expressions of the configuration, compiled within bounds.
 */
#ifndef CONFIG_PATTERN_H
#define CONFIG_PATTERN_H

#include "base/str.h"

#include <regex.h>

enum { PATTERN_WRONG = 1, PATTERN_DETAIL_MAX = 160 };

/*
 * Compile `text`, which ends in a NUL: POSIX extended, for yes or no alone. 0 and *out_regex
 * (the caller's to regfree), PATTERN_WRONG and a sentence, FAIL_MEMORY.
 */
int pattern_compile(struct str text, regex_t *out_regex, char out_detail[PATTERN_DETAIL_MAX]);

#endif
