/*
 * The token: the client's opaque name for one intended action.
 *
 * A structured-field string ("abc", RFC 8941 § 3.3.3) and the same bare (abc) are one and
 * the same token. 1–255 visible ASCII characters.
 */
#ifndef CORE_TOKEN_H
#define CORE_TOKEN_H

#include "base/arena.h"
#include "base/str.h"

enum { TOKEN_MAX = 255 };
enum { TOKEN_MALFORMED = 1 };

/*
 * Read the value of one header line. 0 and *out_token (in `mem` when it had escapes, else
 * inside `value`); TOKEN_MALFORMED and *out_detail, a sentence that says how to mend it;
 * FAIL_MEMORY.
 */
int token_read(struct str value, struct arena *mem, struct str *out_token, const char **out_detail);

#endif
