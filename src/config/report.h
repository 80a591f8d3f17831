/*
 * Adding to a report; for the folder's own use.
 */
#ifndef CONFIG_REPORT_H
#define CONFIG_REPORT_H

#include "config/settings.h"

/* Where something stands. */
struct place {
	const char *source; /* the file, or an option */
	size_t line;	    /* from 1; 0: an option */
	size_t column;
};

/*
 * Add an error. `mend` is copied; the sentence before it comes from `format`. Beyond the
 * maximum it is only counted.
 */
void report_add(struct settings_report *report, struct place place, const char *mend,
		const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Put the errors in the order of the file; those of options come last. */
void report_sort(struct settings_report *report);

enum { QUOTE_SIZE = 80 };

/*
 * What somebody wrote, fit to be shown: cut when it is long, control characters as '?'.
 * Writes to `out` and returns it.
 */
const char *quote(char out[QUOTE_SIZE], struct str text);

#endif
