/*
 * The table of sessions (session.h has the picture).
 *
 * Texts are 32 random bytes in hexadecimal. They are found by their digest: how long a comparison
 * of digests takes says nothing of a text that would be let in. Times are monotonic, so that a
 * clock that is set back prolongs nothing.
 */
#include "auth/session.h"

#include "base/buf.h"
#include "base/err.h"

#include <sodium.h>
#include <stdlib.h>

enum { SECRET_SIZE = SESSION_TEXT / 2 };

void sessions_init(struct sessions *sessions, const struct env *env)
{
	*sessions = (struct sessions){.env = env};
	list_init(&sessions->open);
}

void sessions_fini(struct sessions *sessions)
{
	struct list *link, *after;

	if (!sessions->env)
		return;
	list_for_each (link, after, &sessions->open)
		session_end(sessions, list_entry(link, struct session, link));
	*sessions = (struct sessions){0};
}

static void draw(const struct env *env, char out_text[SESSION_TEXT + 1])
{
	uint8_t bytes[SECRET_SIZE];

	env_random(env, bytes, sizeof(bytes));
	hex_write(bytes, sizeof(bytes), out_text);
	out_text[SESSION_TEXT] = '\0';
	sodium_memzero(bytes, sizeof(bytes));
}

/* -- whose it is ------------------------------------------------------------------- */

static bool copy(struct arena *mem, struct str *text)
{
	*text = arena_str(mem, *text);
	return text->at != NULL;
}

static bool copy_actions(struct arena *mem, struct caller *caller)
{
	struct str *actions = arena_alloc(mem, (caller->action_count + 1) * sizeof(*actions));

	if (!actions)
		return false;
	for (size_t i = 0; i < caller->action_count; i++) {
		actions[i] = caller->actions[i];
		if (!copy(mem, &actions[i]))
			return false;
	}
	caller->actions = actions;
	return true;
}

bool session_caller_copy(struct arena *mem, const struct caller *from, struct caller *out_caller)
{
	*out_caller = *from;
	return copy(mem, &out_caller->account) && copy(mem, &out_caller->agent) &&
	       copy(mem, &out_caller->credential) && copy_actions(mem, out_caller);
}

/* -- sessions ---------------------------------------------------------------------- */

static bool is_over(const struct session *session, int64_t now_ms)
{
	return now_ms - session->used_ms >= SESSION_IDLE_MS ||
	       now_ms - session->began_ms >= SESSION_LONGEST_MS;
}

static void sweep(struct sessions *sessions)
{
	int64_t now_ms = env_monotonic_ms(sessions->env);
	struct list *link, *after;

	list_for_each (link, after, &sessions->open) {
		struct session *session = list_entry(link, struct session, link);

		if (is_over(session, now_ms))
			session_end(sessions, session);
	}
}

/* The list is in the order of use: the first of a credential is the one to go. */
static void make_room(struct sessions *sessions, struct str credential)
{
	struct session *oldest = NULL;
	struct list *link, *after;
	unsigned count = 0;

	list_for_each (link, after, &sessions->open) {
		struct session *session = list_entry(link, struct session, link);

		if (!str_equal(session->caller.credential, credential))
			continue;
		count++;
		if (!oldest)
			oldest = session;
	}
	if (count >= SESSIONS_A_CREDENTIAL)
		session_end(sessions, oldest);
}

static struct session *new_session(const struct caller *caller)
{
	struct session *session = calloc(1, sizeof(*session));

	if (!session)
		return NULL;
	arena_init(&session->mem, SESSION_MEMORY);
	list_init(&session->link);
	if (session_caller_copy(&session->mem, caller, &session->caller))
		return session;
	arena_fini(&session->mem);
	free(session);
	return NULL;
}

int session_begin(struct sessions *sessions, const struct caller *caller,
		  char out_cookie[SESSION_TEXT + 1], struct session **out_session)
{
	struct session *session;

	sweep(sessions);
	make_room(sessions, caller->credential);
	if (sessions->count >= SESSIONS_MAX)
		return SESSION_FULL;
	session = new_session(caller);
	if (!session)
		return FAIL_MEMORY;
	draw(sessions->env, out_cookie);
	draw(sessions->env, session->csrf);
	hash_bytes(out_cookie, SESSION_TEXT, &session->digest);
	session->number = ++sessions->numbers;
	session->began_ms = session->used_ms = env_monotonic_ms(sessions->env);
	session->expires_ms = time_add(env_wall_ms(sessions->env), SESSION_LONGEST_MS);
	list_append(&sessions->open, &session->link);
	sessions->count++;
	*out_session = session;
	return 0;
}

static void use(struct sessions *sessions, struct session *session)
{
	session->used_ms = env_monotonic_ms(sessions->env);
	list_remove(&session->link);
	list_append(&sessions->open, &session->link);
}

int session_find(struct sessions *sessions, struct str cookie, bool is_use,
		 struct session **out_session)
{
	struct list *link, *after;
	struct hash digest;

	if (cookie.len != SESSION_TEXT)
		return SESSION_NONE;
	sweep(sessions);
	hash_bytes(cookie.at, cookie.len, &digest);
	list_for_each (link, after, &sessions->open) {
		struct session *session = list_entry(link, struct session, link);

		if (sodium_memcmp(digest.bytes, session->digest.bytes, HASH_SIZE) != 0)
			continue;
		if (is_use)
			use(sessions, session);
		*out_session = session;
		return 0;
	}
	return SESSION_NONE;
}

bool session_is_open(struct sessions *sessions, uint64_t number)
{
	struct list *link, *after;

	sweep(sessions);
	list_for_each (link, after, &sessions->open) {
		if (list_entry(link, struct session, link)->number == number)
			return true;
	}
	return false;
}

bool session_is_meant(const struct session *session, struct str csrf)
{
	return csrf.len == SESSION_TEXT && sodium_memcmp(csrf.at, session->csrf, SESSION_TEXT) == 0;
}

void session_end(struct sessions *sessions, struct session *session)
{
	require(sessions->count > 0);
	sessions->count--;
	list_remove(&session->link);
	arena_fini(&session->mem);
	sodium_memzero(session, sizeof(*session));
	free(session);
}

/* -- links ------------------------------------------------------------------------- */

void session_link_make(struct sessions *sessions, char out_link[SESSION_TEXT + 1])
{
	struct session_link *link = &sessions->links[sessions->next_link++ % SESSION_LINKS_MAX];

	draw(sessions->env, out_link);
	hash_bytes(out_link, SESSION_TEXT, &link->digest);
	link->until_ms = time_add(env_monotonic_ms(sessions->env), SESSION_LINK_MS);
}

int session_link_use(struct sessions *sessions, struct str text)
{
	int64_t now_ms = env_monotonic_ms(sessions->env);
	struct hash digest;

	if (text.len != SESSION_TEXT)
		return SESSION_NONE;
	hash_bytes(text.at, text.len, &digest);
	for (unsigned i = 0; i < SESSION_LINKS_MAX; i++) {
		struct session_link *link = &sessions->links[i];

		if (link->until_ms <= now_ms ||
		    sodium_memcmp(digest.bytes, link->digest.bytes, HASH_SIZE) != 0)
			continue;
		*link = (struct session_link){0};
		return 0;
	}
	return SESSION_NONE;
}

/* Lax would let another site's link open the console signed in; nothing of ours needs that. */
void session_cookie_write(struct buf *out, const char *cookie, bool is_tls)
{
	buf_printf(out, "%s=%s; Path=/; HttpOnly; SameSite=Strict%s%s", SESSION_COOKIE,
		   cookie ? cookie : "", is_tls ? "; Secure" : "", cookie ? "" : "; Max-Age=0");
}
