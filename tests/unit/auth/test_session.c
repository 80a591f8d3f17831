/*
 * Sessions and one-time links: auth/session.h, under a clock of the test's own.
 */
#include "auth/session.h"

#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

struct clock {
	int64_t wall_ms, monotonic_ms;
	uint64_t drawn;
};

static int64_t wall(const struct env *env)
{
	return ((struct clock *)env->state)->wall_ms;
}

static int64_t monotonic(const struct env *env)
{
	return ((struct clock *)env->state)->monotonic_ms * 1000;
}

static void count_up(const struct env *env, void *out, size_t len)
{
	struct clock *clock = env->state;

	memset(out, 0, len);
	clock->drawn++;
	memcpy(out, &clock->drawn, sizeof(clock->drawn));
}

struct world {
	struct clock clock;
	struct env env;
	struct sessions sessions;
};

static void begin_world(struct world *world)
{
	*world = (struct world){.clock = {.wall_ms = 1000000, .monotonic_ms = 5000}};
	world->env = (struct env){wall, monotonic, count_up, &world->clock};
	sessions_init(&world->sessions, &world->env);
}

static struct caller caller_of(const char *credential)
{
	return (struct caller){
		.account = STR("acme"),
		.agent = STR("ada"),
		.credential = str_from(credential),
		.role = ROLE_APPROVER,
	};
}

static struct session *sign_in(struct world *world, const char *credential,
			       char cookie[SESSION_TEXT + 1])
{
	struct caller caller = caller_of(credential);
	struct session *session = NULL;

	assert_int_equal(session_begin(&world->sessions, &caller, cookie, &session), 0);
	return session;
}

static int find(struct world *world, const char *cookie)
{
	struct session *session;

	return session_find(&world->sessions, str_from(cookie), true, &session);
}

/* Shows that a session is found by its cookie alone, and is a copy of its caller. */
static void a_session_is_found_by_its_cookie(void **state)
{
	char cookie[SESSION_TEXT + 1], credential[] = "key_1";
	struct session *session, *found;
	struct world world;

	begin_world(&world);
	session = sign_in(&world, credential, cookie);
	credential[4] = '2';
	assert_int_equal(session_find(&world.sessions, str_from(cookie), true, &found), 0);
	assert_ptr_equal(found, session);
	assert_true(str_equal(found->caller.credential, STR("key_1")));
	assert_true(str_equal(found->caller.account, STR("acme")));
	assert_int_equal(found->caller.role, ROLE_APPROVER);
	assert_int_equal(found->expires_ms, 1000000 + SESSION_LONGEST_MS);
	cookie[0] ^= 1;
	assert_int_equal(find(&world, cookie), SESSION_NONE);
	assert_int_equal(find(&world, ""), SESSION_NONE);
	assert_true(session_is_open(&world.sessions, session->number));
	sessions_fini(&world.sessions);
}

/* Shows that what the table keeps is not what lets in. */
static void cookies_are_not_kept(void **state)
{
	char cookie[SESSION_TEXT + 1];
	struct world world;
	struct session *session;

	begin_world(&world);
	session = sign_in(&world, "key_1", cookie);
	assert_int_equal(memcmp(cookie, session->csrf, SESSION_TEXT) == 0, 0);
	assert_int_equal(memcmp(cookie, session->digest.bytes, HASH_SIZE) == 0, 0);
	assert_int_equal(find(&world, session->csrf), SESSION_NONE);
	sessions_fini(&world.sessions);
}

/* Shows that a use keeps a session, and that none outlives its half day. */
static void sessions_end_by_themselves(void **state)
{
	char cookie[SESSION_TEXT + 1];
	struct world world;

	begin_world(&world);
	(void)sign_in(&world, "key_1", cookie);
	world.clock.monotonic_ms += SESSION_IDLE_MS - 1;
	assert_int_equal(find(&world, cookie), 0);
	world.clock.monotonic_ms += SESSION_IDLE_MS;
	assert_int_equal(find(&world, cookie), SESSION_NONE);
	assert_int_equal(world.sessions.count, 0);

	(void)sign_in(&world, "key_1", cookie);
	for (int64_t ms = 0; ms + 60000 < SESSION_LONGEST_MS; ms += 60000) {
		world.clock.monotonic_ms += 60000;
		assert_int_equal(find(&world, cookie), 0);
	}
	world.clock.monotonic_ms += 60000;
	assert_int_equal(find(&world, cookie), SESSION_NONE);
	sessions_fini(&world.sessions);
}

/* Shows that being open is asked without prolonging anything. */
static void looking_prolongs_nothing(void **state)
{
	char cookie[SESSION_TEXT + 1];
	struct session *session;
	struct world world;
	uint64_t number;

	begin_world(&world);
	session = sign_in(&world, "key_1", cookie);
	number = session->number;
	world.clock.monotonic_ms += SESSION_IDLE_MS - 1;
	assert_true(session_is_open(&world.sessions, number));
	assert_int_equal(session_find(&world.sessions, str_from(cookie), false, &session), 0);
	world.clock.monotonic_ms += 1;
	assert_false(session_is_open(&world.sessions, number));
	sessions_fini(&world.sessions);
}

/* Shows that a changed or missing second text is nobody's. */
static void changes_need_the_second_text(void **state)
{
	char cookie[SESSION_TEXT + 1], csrf[SESSION_TEXT + 1];
	struct session *session;
	struct world world;

	begin_world(&world);
	session = sign_in(&world, "key_1", cookie);
	memcpy(csrf, session->csrf, sizeof(csrf));
	assert_true(session_is_meant(session, str_from(csrf)));
	assert_false(session_is_meant(session, str_from(cookie)));
	assert_false(session_is_meant(session, str_of(csrf, SESSION_TEXT - 1)));
	assert_false(session_is_meant(session, STR("")));
	csrf[SESSION_TEXT - 1] ^= 1;
	assert_false(session_is_meant(session, str_from(csrf)));
	sessions_fini(&world.sessions);
}

/* Shows both bounds: one credential pushes out its own sessions only, and a full table is full. */
static void sessions_are_bounded(void **state)
{
	char first[SESSION_TEXT + 1], second[SESSION_TEXT + 1], cookie[SESSION_TEXT + 1], name[32];
	struct session *session;
	struct world world;
	struct caller caller;

	begin_world(&world);
	(void)sign_in(&world, "key_0", first);
	(void)sign_in(&world, "key_0", second);
	assert_int_equal(find(&world, first), 0); /* so the second was used longest ago */
	for (int i = 2; i <= SESSIONS_A_CREDENTIAL; i++)
		(void)sign_in(&world, "key_0", cookie);
	assert_int_equal(world.sessions.count, SESSIONS_A_CREDENTIAL);
	assert_int_equal(find(&world, second), SESSION_NONE);
	assert_int_equal(find(&world, first), 0);
	for (int i = 0; world.sessions.count < SESSIONS_MAX; i++) {
		snprintf(name, sizeof(name), "other_%d", i);
		(void)sign_in(&world, name, cookie);
	}
	caller = caller_of("one more");
	assert_int_equal(session_begin(&world.sessions, &caller, cookie, &session), SESSION_FULL);
	sessions_fini(&world.sessions);
}

/* Shows that a link begins one session, in its time, and that the oldest goes when there are many.
 */
static void links_work_once(void **state)
{
	char link[SESSION_TEXT + 1], late[SESSION_TEXT + 1];
	struct world world;

	begin_world(&world);
	session_link_make(&world.sessions, link);
	assert_int_equal(session_link_use(&world.sessions, STR("")), SESSION_NONE);
	assert_int_equal(session_link_use(&world.sessions, str_from(link)), 0);
	assert_int_equal(session_link_use(&world.sessions, str_from(link)), SESSION_NONE);

	session_link_make(&world.sessions, late);
	world.clock.monotonic_ms += SESSION_LINK_MS;
	assert_int_equal(session_link_use(&world.sessions, str_from(late)), SESSION_NONE);

	session_link_make(&world.sessions, link);
	for (int i = 0; i < SESSION_LINKS_MAX; i++)
		session_link_make(&world.sessions, late);
	assert_int_equal(session_link_use(&world.sessions, str_from(link)), SESSION_NONE);
	assert_int_equal(session_link_use(&world.sessions, str_from(late)), 0);
	sessions_fini(&world.sessions);
}

/* Shows what keeps scripts, other sites and plain connections away from the cookie. */
static void cookies_are_written(void **state)
{
	struct buf out;

	buf_init(&out, 512);
	session_cookie_write(&out, "abc", true);
	assert_true(str_equal(buf_str(&out), STR("counterfoil_session=abc; Path=/; HttpOnly; "
						 "SameSite=Strict; Secure")));
	buf_clear(&out);
	session_cookie_write(&out, NULL, false);
	assert_true(str_equal(buf_str(&out), STR("counterfoil_session=; Path=/; HttpOnly; "
						 "SameSite=Strict; Max-Age=0")));
	buf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_is_found_by_its_cookie),
		cmocka_unit_test(cookies_are_not_kept),
		cmocka_unit_test(sessions_end_by_themselves),
		cmocka_unit_test(looking_prolongs_nothing),
		cmocka_unit_test(changes_need_the_second_text),
		cmocka_unit_test(sessions_are_bounded),
		cmocka_unit_test(links_work_once),
		cmocka_unit_test(cookies_are_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
