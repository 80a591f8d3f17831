/*
 * Sessions of the console: who is signed in at a browser, and for how long.
 *
 * Picture a cloakroom. Whoever shows a credential is given a number that nobody can guess (the
 * cookie), and from then on shows the number alone. The room keeps only the digest of each number,
 * so what is in this table lets nobody in. A session ends when nobody has shown it for a while, at
 * the latest half a day after it began, when its person signs out, or when the credential that
 * began it no longer counts: that is looked at on every request, by the caller of this module.
 *
 * A browser sends the cookie by itself, also where another page asked it to. So whatever changes
 * something must bring the session's second text too, its CSRF token, which only a page of ours can
 * have read.
 *
 * A *link* is a session that has not begun: a text for one use, for a person who can read what the
 * gate printed and should not have to copy a key.
 *
 * Always true: sessions and links are bounded, and each credential has its own bound; a text that
 * has been used, or whose time is over, is worth nothing. In memory alone: a restart signs
 * everybody out. One thread; no locks.
 */
#ifndef AUTH_SESSION_H
#define AUTH_SESSION_H

#include "base/arena.h"
#include "base/env.h"
#include "base/hash.h"
#include "base/list.h"
#include "core/caller.h"

enum {
	SESSIONS_MAX = 256,
	SESSIONS_A_CREDENTIAL = 16, /* one more ends the one that was used longest ago */
	SESSION_LINKS_MAX = 16,	    /* one more takes the oldest one's place */
	SESSION_TEXT = 64,	    /* characters of a cookie, a CSRF token, a link */
	SESSION_MEMORY = 16 * 1024, /* what is kept of a caller */
};
#define SESSION_IDLE_MS	   (INT64_C(30) * 60 * 1000)
#define SESSION_LONGEST_MS (INT64_C(12) * 60 * 60 * 1000)
#define SESSION_LINK_MS	   (INT64_C(60) * 60 * 1000)

#define SESSION_COOKIE "counterfoil_session"

enum {
	SESSION_NONE = 1, /* there is none of that text, or its time is over */
	SESSION_FULL = 2, /* SESSIONS_MAX are open */
};

struct session {
	struct caller caller; /* its own copy */
	char csrf[SESSION_TEXT + 1];
	int64_t expires_ms; /* Unix time: when it ends at the latest, used or not */
	uint64_t number;    /* no other session of this process has it */

	/* the table's */
	struct list link;
	struct hash digest;	   /* of the cookie's text */
	int64_t began_ms, used_ms; /* monotonic */
	struct arena mem;
};

struct session_link {
	struct hash digest;
	int64_t until_ms; /* monotonic; 0: none, or used */
};

struct sessions {
	const struct env *env;
	struct list open; /* the one that was used last is the last */
	unsigned count;
	uint64_t numbers;
	struct session_link links[SESSION_LINKS_MAX];
	unsigned next_link;
};

void sessions_init(struct sessions *sessions, const struct env *env);
void sessions_fini(struct sessions *sessions); /* safe on a zeroed one */

/*
 * Begin a session of `caller`, which is copied. 0, *out_session and its cookie's text;
 * SESSION_FULL; FAIL_MEMORY. The session is the table's.
 */
int session_begin(struct sessions *sessions, const struct caller *caller,
		  char out_cookie[SESSION_TEXT + 1], struct session **out_session);

/*
 * The session whose cookie has this text: 0; SESSION_NONE. `is_use`: it counts as used now, so that
 * it does not end for want of use.
 */
int session_find(struct sessions *sessions, struct str cookie, bool is_use,
		 struct session **out_session);

/* Is the session of that number still open? Does not count as a use. */
bool session_is_open(struct sessions *sessions, uint64_t number);

/* May a request that changes something be this session's? `csrf` is what it brought. */
bool session_is_meant(const struct session *session, struct str csrf);

void session_end(struct sessions *sessions, struct session *session);

/* A copy with its own strings in `mem`. False: there is no room. */
bool session_caller_copy(struct arena *mem, const struct caller *from, struct caller *out_caller);

/* A text that begins one session of whoever brings it first. */
void session_link_make(struct sessions *sessions, char out_link[SESSION_TEXT + 1]);

/* 0, and it is used up; SESSION_NONE. */
int session_link_use(struct sessions *sessions, struct str text);

/* "counterfoil_session=…; Path=/; …" of a cookie's text, or (NULL) of one that is to go. */
struct buf;
void session_cookie_write(struct buf *out, const char *cookie, bool is_tls);

#endif
