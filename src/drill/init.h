/*
 * `drill init`: a scenario out of a few answers, or out of the description of an API.
 */
#ifndef DRILL_INIT_H
#define DRILL_INIT_H

#include <stdbool.h>
#include <stdio.h>

enum { DRILL_INIT_UNFIT = 1 };

/* What the command line says already; NULL: it is asked, or has its default. */
struct drill_init_options {
	const char *url;       /* where the API is */
	const char *write;     /* "POST /v1/tickets" */
	const char *body;      /* JSON with {marker} in it */
	const char *id;	       /* JSON pointer to the id in the answer */
	const char *count_get; /* a path or URL that lists what the write made */
	const char *count;     /* JSON pointer to the list or number in that */
	const char *openapi;   /* a file: the description of the API */
	bool is_sure;	       /* ask nothing */
};

/*
 * Ask on `in` (questions go to stderr) what the options leave open, and write a commented scenario
 * to `out`; of a description one for each POST, as documents for files of their own. 0;
 * DRILL_INIT_UNFIT: it has been said on stderr what is wrong; FAIL_MEMORY.
 */
int drill_init(const struct drill_init_options *options, FILE *in, FILE *out);

#endif
