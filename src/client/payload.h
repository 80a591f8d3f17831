/*
 * What is sent under a token, as far as it may never change: media type and body.
 *
 * JSON that can be read in one way only is compared by its canonical text, so white space, the
 * order of members and the spelling of a number do not count; everything else byte by byte.
 * A difference is named by the members that differ, never by their values: what is kept for that
 * is a short digest of each leaf, salted with the token.
 */
#ifndef CLIENT_PAYLOAD_H
#define CLIENT_PAYLOAD_H

#include "base/arena.h"
#include "base/str.h"

enum {
	PAYLOAD_HEX = 64,
	PAYLOAD_LEAVES_MAX = 500, /* of a body whose members can be named */
	PAYLOAD_NAMED_MAX = 10,	  /* members that one difference names */
	CREDENTIAL_MARK = 4,
};

struct payload {
	char hex[PAYLOAD_HEX + 1];
	struct str members; /* JSON {pointer: 16 hex}; empty: the members cannot be named */
};

/*
 * The payload of `body` under `token`. `content_type` is the header's value, empty for none. What
 * is kept lives in `mem`, which must have room for 64 bytes for each of the body's. 0, FAIL_MEMORY.
 */
int payload_of(struct str content_type, struct str body, struct str token, struct arena *mem,
	       struct payload *out_payload);

/*
 * What differs between two payloads of one token, as a text: "changed: /amount; added: /note", or
 * "the body differs" where it cannot be named. In `mem`; {NULL, 0} without memory.
 */
struct str payload_difference(struct str before, struct str after, struct arena *mem);

/* The mark of a credential (the value of Authorization): enough to notice that it is another one.
 */
void credential_mark(struct str token, struct str authorization, char out[CREDENTIAL_MARK + 1]);

#endif
