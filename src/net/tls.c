/*
 * TLS for a connection, through OpenSSL's memory BIOs.
 *
 * TLS 1.2 and later; no renegotiation, no compression, and no early data, which a network
 * could replay. Only HTTP/1.1 is offered by ALPN.
 */
#include "net/tls.h"

#include "base/err.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>

enum { TLS_PIECE = 16 * 1024 };

struct tls_context {
	SSL_CTX *openssl;
};

struct tls {
	SSL *ssl;
	BIO *from_socket;
	BIO *to_socket;
};

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
			   const unsigned char *in, unsigned int in_len, void *unused)
{
	static const unsigned char http_1_1[] = "\x08http/1.1";

	if (SSL_select_next_proto((unsigned char **)(uintptr_t)out, out_len, http_1_1,
				  sizeof(http_1_1) - 1, in, in_len) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_NOACK;
	return SSL_TLSEXT_ERR_OK;
}

static int explain(char *why, size_t why_size, const char *what, const char *file)
{
	unsigned long error = ERR_get_error();

	snprintf(why, why_size, "%s %s: %s", what, file,
		 error ? ERR_reason_error_string(error) : "not usable");
	ERR_clear_error();
	return FAIL_CONFIG;
}

static int load_files(SSL_CTX *openssl, const char *certificate_file, const char *key_file,
		      char *why, size_t why_size)
{
	if (SSL_CTX_use_certificate_chain_file(openssl, certificate_file) != 1)
		return explain(why, why_size, "no certificate can be read from", certificate_file);
	if (SSL_CTX_use_PrivateKey_file(openssl, key_file, SSL_FILETYPE_PEM) != 1)
		return explain(why, why_size, "no key of the certificate can be read from",
			       key_file);
	if (SSL_CTX_check_private_key(openssl) != 1)
		return explain(why, why_size,
			       "the key does not belong to the certificate:", key_file);
	return 0;
}

int tls_context_new(const char *certificate_file, const char *key_file, struct tls_context **out,
		    char *why, size_t why_size)
{
	struct tls_context *context = calloc(1, sizeof(*context));
	int r;

	if (!context)
		return fail(FAIL_MEMORY);
	context->openssl = SSL_CTX_new(TLS_server_method());
	if (!context->openssl) {
		free(context);
		return fail(FAIL_MEMORY);
	}
	SSL_CTX_set_min_proto_version(context->openssl, TLS1_2_VERSION);
	SSL_CTX_set_options(context->openssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_mode(context->openssl, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_alpn_select_cb(context->openssl, choose_protocol, NULL);
	r = load_files(context->openssl, certificate_file, key_file, why, why_size);
	if (r != 0) {
		tls_context_free(context);
		return r;
	}
	*out = context;
	return 0;
}

void tls_context_free(struct tls_context *context)
{
	if (!context)
		return;
	SSL_CTX_free(context->openssl);
	free(context);
}

struct tls *tls_new(struct tls_context *context)
{
	struct tls *tls = calloc(1, sizeof(*tls));

	if (!tls)
		return NULL;
	tls->ssl = SSL_new(context->openssl);
	tls->from_socket = BIO_new(BIO_s_mem());
	tls->to_socket = BIO_new(BIO_s_mem());
	if (!tls->ssl || !tls->from_socket || !tls->to_socket) {
		BIO_free(tls->from_socket);
		BIO_free(tls->to_socket);
		SSL_free(tls->ssl);
		free(tls);
		return NULL;
	}
	SSL_set_bio(tls->ssl, tls->from_socket, tls->to_socket); /* they are the ssl's now */
	SSL_set_accept_state(tls->ssl);
	return tls;
}

void tls_free(struct tls *tls)
{
	if (!tls)
		return;
	SSL_free(tls->ssl);
	free(tls);
}

/* Move what OpenSSL wants sent to `wire`. */
static int take_wire(struct tls *tls, struct buf *wire)
{
	char *bytes;
	long len = BIO_get_mem_data(tls->to_socket, &bytes);

	if (len <= 0)
		return 0;
	if (buf_append(wire, bytes, (size_t)len) != 0)
		return FAIL_LIMIT;
	(void)BIO_reset(tls->to_socket);
	return 0;
}

static int read_plain(struct tls *tls, struct buf *plain)
{
	for (;;) {
		char *room = buf_reserve(plain, TLS_PIECE);
		int n;

		if (!room)
			return FAIL_LIMIT;
		n = SSL_read(tls->ssl, room, TLS_PIECE);
		if (n > 0) {
			buf_commit(plain, (size_t)n);
			continue;
		}
		switch (SSL_get_error(tls->ssl, n)) {
		case SSL_ERROR_WANT_READ:
		case SSL_ERROR_WANT_WRITE:
			return 0;
		case SSL_ERROR_ZERO_RETURN:
			return TLS_CLOSED;
		default:
			ERR_clear_error();
			return FAIL_IO;
		}
	}
}

int tls_received(struct tls *tls, struct str bytes, struct buf *plain, struct buf *wire)
{
	int r, sent;

	if (bytes.len > INT32_MAX ||
	    BIO_write(tls->from_socket, bytes.at, (int)bytes.len) != (int)bytes.len)
		return FAIL_MEMORY;
	ERR_clear_error();
	r = read_plain(tls, plain);
	sent = take_wire(tls, wire);
	return r != 0 ? r : sent;
}

int tls_send(struct tls *tls, struct str plain, struct buf *wire)
{
	ERR_clear_error();
	while (plain.len) {
		size_t piece = plain.len < TLS_PIECE ? plain.len : TLS_PIECE;
		int n = SSL_write(tls->ssl, plain.at, (int)piece);

		if (n <= 0) {
			ERR_clear_error();
			return FAIL_IO;
		}
		plain = str_from_index(plain, (size_t)n);
		if (take_wire(tls, wire) != 0)
			return FAIL_LIMIT;
	}
	return 0;
}

void tls_close(struct tls *tls, struct buf *wire)
{
	ERR_clear_error();
	if (SSL_is_init_finished(tls->ssl))
		(void)SSL_shutdown(tls->ssl);
	(void)take_wire(tls, wire);
	ERR_clear_error();
}
