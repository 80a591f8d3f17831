/*
 * The head of an upstream's answer, line by line.
 *
 * Whoever reads the bytes (libcurl) finds where an answer's body ends by rules of its own; this
 * reader says what may be passed on, and refuses a head that somebody else could read
 * otherwise: the one would see an answer where the other sees two, or none.
 */
#ifndef HTTP_ANSWER_H
#define HTTP_ANSWER_H

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	HTTP_ANSWER_FIELDS_MAX = 256,	  /* fields of a head */
	HTTP_ANSWER_HEAD_MAX = 64 * 1024, /* bytes of its fields */
};

/* Outcomes of a line, besides HTTP_REFUSED. */
enum { HTTP_ANSWER_WHOLE = 4 };

struct http_answer {
	/* of the head that was begun last, for the caller to read */
	int status;	   /* 100–999; 0: none yet */
	struct buf fields; /* "Name: value\r\n" lines as they came, checked */
	int64_t length;	   /* Content-Length, or -1 */
	bool is_whole;	   /* the final head is here, and sound */

	/* the reader's */
	bool is_refused;
	bool is_in_head; /* between a status line and an empty line */
	bool has_coding; /* Transfer-Encoding */
	unsigned field_count;
};

void http_answer_init(struct http_answer *answer);
void http_answer_fini(struct http_answer *answer);

/*
 * The next line, with or without its line end.
 *   0                  go on: lines of the head, interim (1xx) heads, and trailers, which are
 *                      dropped
 *   HTTP_ANSWER_WHOLE  that was the end of the final head; said once
 *   HTTP_REFUSED       no answer, or one that could be read in two ways; so is every line after it.
 *                      101 is refused too: nobody asked to speak another protocol
 *
 * A line of the head that is no field is passed over, and so kept from whoever reads after us.
 */
int http_answer_line(struct http_answer *answer, struct str line);

#endif
