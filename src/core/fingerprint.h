/*
 * The fingerprint: what makes two requests the same intention.
 *
 * SHA-256 over "counterfoil/fp/1", NUL, then each part as a 32-bit big-endian length and its
 * bytes: account, method (or action), normalised path, query, media type, the selected
 * headers (by name), canonical body. What two honest retries may differ in (member order,
 * white space, spelling of a number, multipart boundary, transfer and content coding) is
 * taken out; everything else counts.
 *
 * The parts in detail:
 *   query       empty when there is none, else a question mark and the query as it came
 *   media type  lower case; parameters without charset and boundary, ordered by name, each
 *               as ;name="value"; empty when there is none
 *   headers     for each pair, ordered by name (lines of one name in the order they came),
 *               name in lower case and trimmed value, each with its own length before it
 *   body        empty for an empty one; JSON: its canonical text; form: form.h;
 *               multipart: multipart.h; all others: SHA-256 of the bytes
 */
#ifndef CORE_FINGERPRINT_H
#define CORE_FINGERPRINT_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/str.h"
#include "core/command.h"

#include <stdbool.h>
#include <stddef.h>

enum { FINGERPRINT_HEADERS_MAX = 64 }; /* selected header lines of one request */

enum {
	FINGERPRINT_REFUSED = 1,   /* 400: ambiguous or malformed; never guessed at */
	FINGERPRINT_TOO_LARGE = 2, /* 413: over the body limit once decoded */
	FINGERPRINT_CODING = 3,	   /* 415: a coding or media type that is not understood here */
	FINGERPRINT_COMMAND = 4,   /* 422: the command breaks the action's fields; see its faults */
};

/* What was sent. Every string is as it came, undecoded; absent headers are empty. */
struct fingerprint_request {
	struct str account;
	struct str method; /* or the action's name */
	struct str path;   /* without the query */
	struct str query;
	bool has_query;
	struct str content_type;
	struct str content_encoding;
	struct str body;
	const struct str *headers;   /* selected ones: name, value, name, value, … */
	size_t header_count;	     /* pairs */
	size_t max_body;	     /* bytes, once decoded */
	const struct action *action; /* whose command the body is; NULL: none is declared */
};

/* What understanding the body brought to light. */
struct fingerprint_command {
	const struct json_value
		*body; /* of JSON: as it was sent, in the request's memory; or NULL */
	const struct json_value
		*command;	      /* its canonical tree, where fields are declared; or NULL */
	struct str path;	      /* normalised */
	struct command_faults faults; /* with FINGERPRINT_COMMAND */
};

struct fingerprint_error {
	char detail[240]; /* a sentence: what is wrong, where, how to mend it */
};

/*
 * 0 and *out_fingerprint; one of the outcomes above and *out_error; FAIL_MEMORY, also when a
 * body needs more than the ceiling of `mem`, which is for what it needs on the way.
 */
int fingerprint_of(const struct fingerprint_request *request, struct arena *mem,
		   struct hash *out_fingerprint, struct fingerprint_command *out_command,
		   struct fingerprint_error *out_error);

/*
 * The path in its one spelling: unreserved escapes decoded, the others upper-cased, %2F kept.
 * 0 and *out_path (in `mem`); FINGERPRINT_REFUSED (no slash at its start, dot segments also
 * behind %2F and %5C, control bytes, NUL, blanks, \ ? #, broken escapes); FAIL_MEMORY.
 */
int path_normalise(struct str path, struct arena *mem, struct str *out_path,
		   struct fingerprint_error *out_error);

/* Write the sentence and return FINGERPRINT_REFUSED: `return fingerprint_refuse(…);`. */
int fingerprint_refuse(struct fingerprint_error *out_error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
