/*
 * Shared by the tests of the faulty wire: a server that counts what it is given, and a client.
 *
 * The server sees to one connection after the other, on a thread of its own; what it counted is
 * read once server_wait() says that so many connections are over.
 */
#ifndef PROXY_TEST_H
#define PROXY_TEST_H

#include "drill/proxy.h"
#include "drill_test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGE_MAX = 4096, PATIENCE_S = 20, TOLD_MAX = 64 };

static const char request[] =
	"POST /things HTTP/1.1\r\nHost: here\r\nContent-Length: 10\r\n\r\n0123456789";
static const char answer_head[] = "HTTP/1.1 201 Created\r\nContent-Length: 11\r\n\r\n";

struct server {
	int listener;
	uint16_t port;
	SSL_CTX *context; /* NULL: without TLS */
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int whole;	/* requests that came whole */
	int over;	/* connections that have ended */
	int resets;	/* of them, by a reset */
	size_t partial; /* bytes of the last request that did not come whole */
	char last[MESSAGE_MAX + 1];
};

static inline int listener_on(uint16_t *out_port)
{
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof(here);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&here, size), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&here, &size), 0);
	*out_port = ntohs(here.sin_port);
	return fd;
}

static inline struct timespec patience(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	return until;
}

static inline bool is_whole_request(const char *text, size_t len)
{
	const char *body = strstr(text, "\r\n\r\n");

	if (!body)
		return false;
	if (strstr(text, "chunked"))
		return strstr(body, "\r\n0\r\n\r\n") != NULL;
	return len - (size_t)(body + 4 - text) >= 10;
}

static inline ssize_t server_read(int fd, SSL *ssl, char *out, size_t size)
{
	size_t got = 0;

	if (!ssl)
		return recv(fd, out, size, 0);
	return SSL_read_ex(ssl, out, size, &got) == 1 ? (ssize_t)got : -1;
}

static inline void server_answer(const struct server *server, int fd, SSL *ssl)
{
	char text[128];
	int len = snprintf(text, sizeof(text), "%s{\"id\":%4d}", answer_head, server->whole);
	size_t written;

	if (ssl)
		SSL_write_ex(ssl, text, (size_t)len, &written);
	else
		send(fd, text, (size_t)len, MSG_NOSIGNAL);
}

static inline void server_serve(struct server *server, int fd)
{
	SSL *ssl = server->context ? SSL_new(server->context) : NULL;
	size_t len = 0;
	ssize_t n = 1;
	bool is_reset;

	if (ssl && (SSL_set_fd(ssl, fd) != 1 || SSL_accept(ssl) != 1))
		n = -1;
	memset(server->last, 0, sizeof(server->last));
	errno = 0;
	while (n > 0 && len < MESSAGE_MAX && !is_whole_request(server->last, len)) {
		n = server_read(fd, ssl, server->last + len, MESSAGE_MAX - len);
		len += n > 0 ? (size_t)n : 0;
	}
	is_reset = n < 0 && errno == ECONNRESET;
	pthread_mutex_lock(&server->mutex);
	if (is_whole_request(server->last, len)) {
		server->whole++;
		server_answer(server, fd, ssl);
	} else {
		server->partial = len;
	}
	server->resets += is_reset;
	server->over++;
	pthread_cond_broadcast(&server->changed);
	pthread_mutex_unlock(&server->mutex);
	SSL_free(ssl);
	close(fd);
}

static inline void *server_run(void *owner)
{
	struct server *server = owner;
	int fd;

	while ((fd = accept(server->listener, NULL, NULL)) >= 0)
		server_serve(server, fd);
	return NULL;
}

static inline void server_start(struct server *server, SSL_CTX *context)
{
	memset(server, 0, sizeof(*server));
	server->context = context;
	server->listener = listener_on(&server->port);
	pthread_mutex_init(&server->mutex, NULL);
	pthread_cond_init(&server->changed, NULL);
	assert_int_equal(pthread_create(&server->thread, NULL, server_run, server), 0);
}

static inline void server_stop(struct server *server)
{
	shutdown(server->listener, SHUT_RDWR);
	pthread_join(server->thread, NULL);
	close(server->listener);
	pthread_cond_destroy(&server->changed);
	pthread_mutex_destroy(&server->mutex);
}

/* Until so many connections are over. */
static inline void server_wait(struct server *server, int over)
{
	const struct timespec until = patience();
	int r = 0;

	pthread_mutex_lock(&server->mutex);
	while (server->over < over && r == 0)
		r = pthread_cond_timedwait(&server->changed, &server->mutex, &until);
	pthread_mutex_unlock(&server->mutex);
	assert_int_equal(r, 0);
}

/* What the watch was told. */
struct told {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	char text[TOLD_MAX][128];
	int count;
};

static inline void hear(void *owner, enum drill_move move, int lane, const char *text)
{
	struct told *told = owner;

	pthread_mutex_lock(&told->mutex);
	if (told->count < TOLD_MAX)
		snprintf(told->text[told->count++], sizeof(told->text[0]), "%d %s", lane, text);
	pthread_cond_broadcast(&told->changed);
	pthread_mutex_unlock(&told->mutex);
}

/* Until something with this in it is told. */
static inline void told_wait(struct told *told, const char *part)
{
	const struct timespec until = patience();
	bool is_told = false;
	int r = 0;

	pthread_mutex_lock(&told->mutex);
	while (!is_told && r == 0) {
		for (int i = 0; i < told->count; i++)
			is_told |= strstr(told->text[i], part) != NULL;
		if (!is_told)
			r = pthread_cond_timedwait(&told->changed, &told->mutex, &until);
	}
	pthread_mutex_unlock(&told->mutex);
	if (!is_told)
		fail_msg("nothing was told of \"%s\"", part);
}

static inline int client_connect(uint16_t port)
{
	struct sockaddr_in there = {.sin_family = AF_INET,
				    .sin_port = htons(port),
				    .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct timeval time = {.tv_sec = PATIENCE_S};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
	assert_int_equal(connect(fd, (struct sockaddr *)&there, sizeof(there)), 0);
	return fd;
}

/* What a client saw of one request. */
struct seen {
	char text[MESSAGE_MAX + 1];
	size_t len;
	bool is_reset;
};

static inline struct seen client_read(int fd)
{
	struct seen seen = {.len = 0};
	ssize_t n = 1;

	while (n > 0 && seen.len < MESSAGE_MAX) {
		n = recv(fd, seen.text + seen.len, MESSAGE_MAX - seen.len, 0);
		seen.len += n > 0 ? (size_t)n : 0;
	}
	if (n < 0 && errno != ECONNRESET)
		fail_msg("no end came: %s", strerror(errno));
	seen.is_reset = n < 0;
	close(fd);
	return seen;
}

static inline struct seen client_ask(uint16_t port, const char *text)
{
	int fd = client_connect(port);

	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
	return client_read(fd);
}

#endif
