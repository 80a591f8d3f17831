/*
 * Blocking sockets, with and without TLS.
 *
 * Always true: a wire that is closed or reset has no descriptor any more; doing either twice is
 * fine. Can fail: as sockets do; a reason is given where a person will read it.
 */
#include "drill/proxy_wire.h"

#include <errno.h>
#include <netdb.h>
#include <openssl/err.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int connect_to(const struct proxy_settings *settings, char why[PROXY_WHY_MAX]);
static bool begin_tls(struct proxy_wire *wire, const struct proxy_settings *settings,
		      SSL_CTX *context, char why[PROXY_WHY_MAX]);

bool proxy_wire_open(struct proxy_wire *wire, const struct proxy_settings *settings,
		     SSL_CTX *context, char why[PROXY_WHY_MAX])
{
	*wire = (struct proxy_wire){.fd = connect_to(settings, why)};
	if (wire->fd < 0)
		return false;
	if (!context || begin_tls(wire, settings, context, why))
		return true;
	proxy_wire_reset(wire);
	return false;
}

void proxy_wire_patience(int fd, int64_t timeout_ms)
{
	struct timeval time = {timeout_ms / 1000, timeout_ms % 1000 * 1000};

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
}

/* One of the name's addresses. SO_SNDTIMEO bounds connecting, too. */
static int connect_to(const struct proxy_settings *settings, char why[PROXY_WHY_MAX])
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
	char port[8];
	int fd = -1, r;

	snprintf(port, sizeof(port), "%u", (unsigned)settings->port);
	r = getaddrinfo(settings->host, port, &hints, &found);
	if (r != 0) {
		snprintf(why, PROXY_WHY_MAX, "%s: %s", settings->host, gai_strerror(r));
		return -1;
	}
	for (struct addrinfo *at = found; at && fd < 0; at = at->ai_next) {
		fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
		if (fd < 0)
			continue;
		proxy_wire_patience(fd, settings->timeout_ms);
		if (connect(fd, at->ai_addr, at->ai_addrlen) != 0) {
			snprintf(why, PROXY_WHY_MAX, "%s", strerror(errno));
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(found);
	return fd;
}

static void say_tls(char why[PROXY_WHY_MAX], const char *what)
{
	char text[128];

	ERR_error_string_n(ERR_peek_last_error(), text, sizeof(text));
	snprintf(why, PROXY_WHY_MAX, "%s: %s", what, text);
	ERR_clear_error();
}

SSL_CTX *proxy_wire_context(const struct proxy_settings *settings, char why[PROXY_WHY_MAX])
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	bool is_fine = context != NULL;

	if (is_fine && settings->ca_file)
		is_fine = SSL_CTX_load_verify_locations(context, settings->ca_file, NULL) == 1;
	else if (is_fine)
		is_fine = SSL_CTX_set_default_verify_paths(context) == 1;
	if (is_fine) {
		SSL_CTX_set_verify(context, settings->verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE,
				   NULL);
		SSL_CTX_set_mode(context, SSL_MODE_AUTO_RETRY);
		SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF);
		return context;
	}
	say_tls(why, settings->ca_file ? settings->ca_file : "TLS");
	SSL_CTX_free(context);
	return NULL;
}

static bool begin_tls(struct proxy_wire *wire, const struct proxy_settings *settings,
		      SSL_CTX *context, char why[PROXY_WHY_MAX])
{
	static const unsigned char http_1_1[] = "\x08http/1.1";

	wire->ssl = SSL_new(context);
	if (wire->ssl && SSL_set_fd(wire->ssl, wire->fd) == 1 &&
	    SSL_set_tlsext_host_name(wire->ssl, settings->host) == 1 &&
	    (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(wire->ssl), settings->host) == 1 ||
	     SSL_set1_host(wire->ssl, settings->host) == 1) &&
	    SSL_set_alpn_protos(wire->ssl, http_1_1, sizeof(http_1_1) - 1) == 0 &&
	    SSL_connect(wire->ssl) == 1)
		return true;
	say_tls(why, "TLS with the server");
	return false;
}

bool proxy_wire_write(struct proxy_wire *wire, const char *bytes, size_t len)
{
	size_t at = 0;

	while (at < len) {
		size_t written = 0;
		ssize_t n;

		if (wire->ssl) {
			n = SSL_write_ex(wire->ssl, bytes + at, len - at, &written) == 1
				    ? (ssize_t)written
				    : -1;
		} else {
			n = send(wire->fd, bytes + at, len - at, MSG_NOSIGNAL);
			if (n < 0 && errno == EINTR)
				continue;
		}
		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

ssize_t proxy_wire_read(struct proxy_wire *wire, char *out, size_t size)
{
	size_t got = 0;
	ssize_t n;

	if (wire->ssl) {
		if (SSL_read_ex(wire->ssl, out, size, &got) == 1)
			return (ssize_t)got;
		return SSL_get_error(wire->ssl, 0) == SSL_ERROR_ZERO_RETURN ? 0 : -1;
	}
	do
		n = recv(wire->fd, out, size, 0);
	while (n < 0 && errno == EINTR);
	return n;
}

static void end(struct proxy_wire *wire)
{
	SSL_free(wire->ssl);
	if (wire->fd >= 0)
		close(wire->fd);
	*wire = (struct proxy_wire){.fd = -1};
}

void proxy_wire_close(struct proxy_wire *wire)
{
	if (wire->ssl)
		SSL_shutdown(wire->ssl);
	end(wire);
}

void proxy_wire_reset(struct proxy_wire *wire)
{
	struct linger at_once = {.l_onoff = 1, .l_linger = 0};

	if (wire->fd >= 0)
		setsockopt(wire->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	end(wire);
}
