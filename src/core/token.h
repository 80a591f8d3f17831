/*
 * The token: the client's opaque name for one intended action.
 *
 * A structured-field string ("abc", RFC 8941 § 3.3.3) and the same bare (abc) are one and
 * the same token. 1–255 visible ASCII characters (0x21–0x7e), so no blank inside either.
 */
#ifndef CORE_TOKEN_H
#define CORE_TOKEN_H

#include "base/arena.h"
#include "base/str.h"

enum { TOKEN_MAX = 255 };
enum { TOKEN_MALFORMED = 1 };

/*
 * Read the value of one header line. 0 and *out_token (in `mem` when it had escapes, else
 * inside `value`); TOKEN_MALFORMED and *out_detail, a constant sentence that says how to mend
 * it; FAIL_MEMORY. A list, parameters and a quote inside a bare token are malformed.
 */
int token_read(struct str value, struct arena *mem, struct str *out_token, const char **out_detail);

/* Is this text, as it is, a token: 1 to 255 visible ASCII characters? */
bool token_is_fine(struct str text);

#endif
