/*
 * Sessions of the console, for the files of the admin listener that ask who calls.
 */
#ifndef ADMIN_API_SESSION_H
#define ADMIN_API_SESSION_H

#include "admin/admin.h"
#include "auth/session.h"

/* Does it bring a cookie of our name, whatever is in it? */
bool api_brings_cookie(const struct exchange *exchange);

/* The session whose cookie the request brings; NULL: none. */
struct session *api_session_of(const struct admin *admin, const struct exchange *exchange);

/*
 * The caller of that session: its credential still counts and, where the request may change
 * something, it brought the session's second text. False: *out_detail says what is missing.
 */
bool api_session_identify(const struct admin *admin, struct exchange *exchange,
			  struct caller *out_caller, const char **out_detail);

#endif
