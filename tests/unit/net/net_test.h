/*
 * What the tests of this folder share: a clock that a test moves, a loop that it turns by
 * hand, and a peer on the other end of a socket.
 *
 * Nothing here has a thread. A test says what the peer sends, turns the loop until something
 * is true, and looks. Waiting is for real sockets on loopback only; it is bounded, and a test
 * that would wait longer has failed.
 */
#ifndef TESTS_UNIT_NET_NET_TEST_H
#define TESTS_UNIT_NET_NET_TEST_H

#include "base/buf.h"
#include "base/err.h"
#include "net/loop.h"

#undef fail /* cmocka has its own */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATIENCE_MS = 3000, HEARD_MAX = 16 * 1024 * 1024 };

/* A clock that stands still until a test moves it. */
struct twin {
	struct env env;
	int64_t wall_ms, monotonic_us;
};

static inline int64_t twin_wall(const struct env *env)
{
	return ((const struct twin *)env->state)->wall_ms;
}

static inline int64_t twin_monotonic(const struct env *env)
{
	return ((const struct twin *)env->state)->monotonic_us;
}

static inline void twin_random(const struct env *env, void *out, size_t len)
{
	memset(out, 0xa5, len);
}

static inline void twin_init(struct twin *twin)
{
	*twin = (struct twin){.wall_ms = 1769847300250, .monotonic_us = 5000000};
	twin->env = (struct env){twin_wall, twin_monotonic, twin_random, twin};
}

static inline void twin_pass(struct twin *twin, int64_t ms)
{
	twin->wall_ms += ms;
	twin->monotonic_us += ms * 1000;
}

static inline void turn(struct loop *loop)
{
	uv_run(&loop->uv, UV_RUN_NOWAIT);
}

static inline void turn_times(struct loop *loop, int times)
{
	for (int i = 0; i < times; i++)
		turn(loop);
}

/* Turn until `condition` holds; the test fails when it does not within PATIENCE_MS. */
#define turn_until(loop, condition)                                                                \
	do {                                                                                       \
		int64_t give_up_ms = env_monotonic_ms(&env_machine) + PATIENCE_MS;                 \
		bool has_come;                                                                     \
                                                                                                   \
		while (!(has_come = (condition)) && env_monotonic_ms(&env_machine) < give_up_ms)   \
			turn(loop);                                                                \
		if (!has_come)                                                                     \
			print_error("this did not come true: %s\n", #condition);                   \
		assert_true(has_come);                                                             \
	} while (0)

/* The other end of a connection. */
struct peer {
	int fd;		  /* -1: closed */
	struct buf heard; /* all that came, until peer_forget() */
	bool has_eof;	  /* the other side has ended */
	bool is_reset;	  /* and rudely */
};

static inline void peer_init(struct peer *peer, int fd)
{
	*peer = (struct peer){.fd = fd};
	buf_init(&peer->heard, HEARD_MAX);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static inline void peer_close(struct peer *peer)
{
	if (peer->fd >= 0)
		close(peer->fd);
	peer->fd = -1;
}

static inline void peer_fini(struct peer *peer)
{
	peer_close(peer);
	buf_fini(&peer->heard);
}

/* A connection that ends with a reset, as that of a client that was killed. */
static inline void peer_vanish(struct peer *peer)
{
	struct linger now = {.l_onoff = 1};

	setsockopt(peer->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	peer_close(peer);
}

/* Its buffer is of one size, whatever the machine would make of it. */
static inline void peer_connect(struct peer *peer, const struct sockaddr_storage *address)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), room = 256 * 1024;

	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)), 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)address, sizeof(struct sockaddr_in)),
			 0);
	peer_init(peer, fd);
}

/* Take what has come, without waiting. */
static inline void peer_listen(struct peer *peer)
{
	char bytes[64 * 1024];
	ssize_t n = 0;

	while (peer->fd >= 0 && !peer->has_eof &&
	       (n = recv(peer->fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		assert_int_equal(buf_append(&peer->heard, bytes, (size_t)n), 0);
	if (peer->fd >= 0 && !peer->has_eof && (n == 0 || (errno != EAGAIN && errno != EINTR))) {
		peer->has_eof = true;
		peer->is_reset = n < 0;
	}
}

static inline void peer_forget(struct peer *peer)
{
	buf_clear(&peer->heard);
}

static inline bool text_has(struct str text, const char *part)
{
	return text.len && memmem(text.at, text.len, part, strlen(part)) != NULL;
}

static inline bool peer_heard(struct peer *peer, const char *part)
{
	peer_listen(peer);
	return text_has(buf_str(&peer->heard), part);
}

static inline bool peer_heard_bytes(struct peer *peer, size_t count)
{
	peer_listen(peer);
	return peer->heard.len >= count;
}

static inline bool peer_saw_end(struct peer *peer)
{
	peer_listen(peer);
	return peer->has_eof;
}

static inline size_t peer_count(struct peer *peer, const char *part)
{
	struct str rest = buf_str(&peer->heard);
	size_t count = 0;
	const char *found;

	while (rest.len && (found = memmem(rest.at, rest.len, part, strlen(part)))) {
		rest = str_from_index(rest, (size_t)(found - rest.at) + strlen(part));
		count++;
	}
	return count;
}

/* Send all of it, turning the loop where the socket is full. */
static inline void peer_send(struct loop *loop, struct peer *peer, struct str text)
{
	int64_t give_up_ms = env_monotonic_ms(&env_machine) + PATIENCE_MS;

	while (text.len && env_monotonic_ms(&env_machine) < give_up_ms) {
		ssize_t n = send(peer->fd, text.at, text.len, MSG_NOSIGNAL);

		if (n > 0)
			text = str_from_index(text, (size_t)n);
		else
			assert_int_equal(errno, EAGAIN);
		if (text.len)
			turn(loop);
	}
	assert_int_equal(text.len, 0);
}

static inline void peer_say(struct loop *loop, struct peer *peer, const char *text)
{
	peer_send(loop, peer, str_from(text));
}

/* A listening socket on a free port of loopback. */
static inline int listen_somewhere(struct sockaddr_storage *address)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)address;
	socklen_t size = sizeof(*v4);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	memset(address, 0, sizeof(*address));
	v4->sin_family = AF_INET;
	v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)address, sizeof(*v4)), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)address, &size), 0);
	return fd;
}

/* Accept if somebody has come. */
static inline bool peer_accept(struct peer *peer, int listener)
{
	int fd = accept(listener, NULL, NULL);

	if (fd < 0)
		return false;
	peer_init(peer, fd);
	return true;
}

#endif
