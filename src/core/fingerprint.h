/*
 * The fingerprint: what makes two requests the same intention.
 *
 * SHA-256 over "counterfoil/fp/1", NUL, then each part as a 32-bit big-endian length and its
 * bytes: account, method (or action), normalised path, query, media type, the selected
 * headers (by name), canonical body. What two honest retries may differ in (member order,
 * white space, spelling of a number, multipart boundary, transfer and content coding) is
 * taken out; everything else counts.
 */
#ifndef CORE_FINGERPRINT_H
#define CORE_FINGERPRINT_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	FINGERPRINT_REFUSED = 1,   /* 400: ambiguous or malformed; never guessed at */
	FINGERPRINT_TOO_LARGE = 2, /* 413: over the body limit once decoded */
	FINGERPRINT_CODING = 3,	   /* 415: a Content-Encoding that is not known here */
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
	const struct str *headers; /* selected ones: name, value, name, value, … */
	size_t header_count;	   /* pairs */
	size_t max_body;	   /* bytes, once decoded */
};

struct fingerprint_error {
	char detail[240]; /* a sentence: what is wrong, where, how to mend it */
};

/*
 * 0 and *out_fingerprint; one of the outcomes above and *out_error; FAIL_MEMORY. `mem` is
 * for what it needs on the way.
 */
int fingerprint_of(const struct fingerprint_request *request, struct arena *mem,
		   struct hash *out_fingerprint, struct fingerprint_error *out_error);

/*
 * The path in its one spelling: unreserved escapes decoded, the others upper-cased, %2F kept.
 * 0, FINGERPRINT_REFUSED (dot segments, control bytes, NUL, broken escapes), FAIL_MEMORY.
 */
int path_normalise(struct str path, struct arena *mem, struct str *out_path,
		   struct fingerprint_error *out_error);

#endif
