/* Shows that a listener's certificate and key are checked when they are read, and that requests
 * and answers of any size pass through TLS, goodbyes included. */
#include "server_test.h"

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

struct files {
	char directory[64];
	char certificate[96], key[96], other_key[96], garbage[96];
};

static EVP_PKEY *write_key(const char *path)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	FILE *file = fopen(path, "w");

	assert_non_null(key);
	assert_non_null(file);
	assert_int_equal(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
	fclose(file);
	return key;
}

static void write_certificate(const char *path, EVP_PKEY *key)
{
	X509 *certificate = X509_new();
	X509_NAME *name = X509_get_subject_name(certificate);
	FILE *file = fopen(path, "w");

	X509_set_version(certificate, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
	X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
	X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"localhost", -1,
				   -1, 0);
	X509_set_issuer_name(certificate, name);
	X509_set_pubkey(certificate, key);
	assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
	assert_non_null(file);
	assert_int_equal(PEM_write_X509(file, certificate), 1);
	fclose(file);
	X509_free(certificate);
}

static struct files files;

static int make_files(void **state)
{
	EVP_PKEY *key, *other;
	FILE *file;

	snprintf(files.directory, sizeof(files.directory), "/tmp/counterfoil-tls-XXXXXX");
	assert_non_null(mkdtemp(files.directory));
	snprintf(files.certificate, sizeof(files.certificate), "%s/cert.pem", files.directory);
	snprintf(files.key, sizeof(files.key), "%s/key.pem", files.directory);
	snprintf(files.other_key, sizeof(files.other_key), "%s/other.pem", files.directory);
	snprintf(files.garbage, sizeof(files.garbage), "%s/garbage.pem", files.directory);
	key = write_key(files.key);
	other = write_key(files.other_key);
	write_certificate(files.certificate, key);
	file = fopen(files.garbage, "w");
	fputs("-----BEGIN CERTIFICATE-----\nnot base64!\n-----END CERTIFICATE-----\n", file);
	fclose(file);
	EVP_PKEY_free(key);
	EVP_PKEY_free(other);
	return 0;
}

static int remove_files(void **state)
{
	unlink(files.certificate);
	unlink(files.key);
	unlink(files.other_key);
	unlink(files.garbage);
	rmdir(files.directory);
	return 0;
}

/* Reading the files. */

static void assert_refused(const char *certificate, const char *key, const char *named)
{
	struct tls_context *context = NULL;
	char why[256] = "";

	assert_int_equal(tls_context_new(certificate, key, &context, why, sizeof(why)),
			 FAIL_CONFIG);
	assert_null(context);
	if (!strstr(why, named))
		print_error("%s is not named in: %s\n", named, why);
	assert_non_null(strstr(why, named));
}

static void files_that_are_not_usable_are_named(void **state)
{
	assert_refused("/nonexistent/cert.pem", files.key, "/nonexistent/cert.pem");
	assert_refused(files.certificate, "/nonexistent/key.pem", "/nonexistent/key.pem");
	assert_refused(files.garbage, files.key, files.garbage);
	assert_refused(files.key, files.key, files.key);
	assert_refused(files.certificate, files.certificate, files.certificate);
	assert_refused(files.certificate, files.other_key, files.other_key);
}

static void a_reason_fits_where_there_is_little_room(void **state)
{
	struct tls_context *context = NULL;
	char why[16];

	memset(why, '#', sizeof(why));
	assert_int_equal(tls_context_new("/nonexistent/cert.pem", files.key, &context, why, 8),
			 FAIL_CONFIG);
	assert_int_equal(strlen(why), 7);
	assert_int_equal(why[8], '#');
	tls_context_free(NULL);
}

/* Talking. */

struct secret_world {
	struct world *world;
	struct tls_context *context;
	SSL_CTX *client_context;
	SSL *ssl;
};

static int set_up_secret(void **state)
{
	struct secret_world *secret = calloc(1, sizeof(*secret));
	char why[256];

	secret->world = world_new();
	assert_int_equal(
		tls_context_new(files.certificate, files.key, &secret->context, why, sizeof(why)),
		0);
	world_serve(secret->world, secret->context);
	secret->client_context = SSL_CTX_new(TLS_client_method());
	assert_int_equal(SSL_CTX_load_verify_file(secret->client_context, files.certificate), 1);
	SSL_CTX_set_verify(secret->client_context, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_mode(secret->client_context,
			 SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	world_connect(secret->world);
	secret->ssl = SSL_new(secret->client_context);
	SSL_set_fd(secret->ssl, secret->world->peer.fd);
	*state = secret;
	return 0;
}

static int tear_down_secret(void **state)
{
	struct secret_world *secret = *state;

	SSL_free(secret->ssl);
	SSL_CTX_free(secret->client_context);
	world_free(secret->world);
	tls_context_free(secret->context);
	free(secret);
	return 0;
}

/* True once the handshake is over; fails the test when it cannot be. */
static bool shake_hands(struct secret_world *secret)
{
	int r = SSL_connect(secret->ssl);
	int error = r == 1 ? SSL_ERROR_NONE : SSL_get_error(secret->ssl, r);

	assert_true(error == SSL_ERROR_NONE || error == SSL_ERROR_WANT_READ ||
		    error == SSL_ERROR_WANT_WRITE);
	return r == 1;
}

static void say(struct secret_world *secret, struct str text)
{
	while (text.len) {
		int n = SSL_write(secret->ssl, text.at, (int)text.len);

		if (n > 0)
			text = str_from_index(text, (size_t)n);
		else
			assert_int_equal(SSL_get_error(secret->ssl, n), SSL_ERROR_WANT_WRITE);
		turn(&secret->world->loop);
	}
}

/* Take what has come into the peer's buffer; notes a proper goodbye. */
static bool hears(struct secret_world *secret, const char *part, bool *out_is_over)
{
	struct peer *peer = &secret->world->peer;
	char bytes[16 * 1024];
	int n;

	while ((n = SSL_read(secret->ssl, bytes, sizeof(bytes))) > 0)
		buf_append(&peer->heard, bytes, (size_t)n);
	*out_is_over = SSL_get_error(secret->ssl, n) == SSL_ERROR_ZERO_RETURN;
	return text_has(buf_str(&peer->heard), part);
}

static void a_request_and_its_answer_pass_through(void **state)
{
	struct secret_world *secret = *state;
	struct world *world = secret->world;
	const unsigned char *protocol;
	unsigned protocol_len;
	bool is_over;

	world->on_begin = begin_answering;
	SSL_set_alpn_protos(secret->ssl, (const unsigned char *)"\x02h2\x08http/1.1", 12);
	turn_until(&world->loop, shake_hands(secret));
	SSL_get0_alpn_selected(secret->ssl, &protocol, &protocol_len);
	assert_int_equal(protocol_len, 8);
	assert_memory_equal(protocol, "http/1.1", 8);
	assert_true(SSL_version(secret->ssl) >= TLS1_2_VERSION);
	for (int i = 0; i < 3; i++) { /* the connection is kept */
		say(secret, STR("GET /x HTTP/1.1\r\nHost: x\r\n\r\n"));
		turn_until(&world->loop, hears(secret, "\r\n\r\n/x", &is_over));
		peer_forget(&world->peer);
	}
	assert_true(world->visits[0].exchange->is_tls);
	assert_int_equal(world->visits[0].delivery, DELIVERY_DONE);
}

static void the_end_is_announced(void **state)
{
	struct secret_world *secret = *state;
	struct world *world = secret->world;
	bool is_over = false;

	world->on_begin = begin_answering;
	turn_until(&world->loop, shake_hands(secret));
	say(secret, STR("GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
	turn_until(&world->loop, (hears(secret, "/x", &is_over), is_over));
	assert_true(text_has(buf_str(&world->peer.heard), "\r\n\r\n/x"));
}

static void a_large_answer_is_whole(void **state)
{
	struct secret_world *secret = *state;
	struct world *world = secret->world;
	const size_t size = 5 * 1024 * 1024;
	char *body = malloc(size + 1);
	bool is_over;

	memset(body, 'x', size);
	memcpy(body + size - 4, "end.", 5);
	turn_until(&world->loop, shake_hands(secret));
	say(secret, STR("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
	world_begins(world, 1);
	ASK(world, exchange_answer(world->visits[0].exchange, 200, STR(""), str_of(body, size)));
	free(body);
	turn_until(&world->loop, hears(secret, "end.", &is_over));
	assert_true(world->peer.heard.len > size);
	turn_until(&world->loop, world->visits[0].finished);
	assert_int_equal(world->visits[0].delivery, DELIVERY_DONE);
}

static void a_large_body_is_collected(void **state)
{
	struct secret_world *secret = *state;
	struct world *world = secret->world;
	static char body[1000 * 1000];

	memset(body, 'y', sizeof(body));
	world->on_begin = begin_collecting;
	turn_until(&world->loop, shake_hands(secret));
	say(secret, STR("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"));
	say(secret, str_of(body, sizeof(body)));
	turn_until(&world->loop, world->visits[0].collected);
	assert_int_equal(world->visits[0].refusal_status, 0);
	assert_int_equal(world->visits[0].body.len, sizeof(body));
	assert_memory_equal(world->visits[0].body.at, body, sizeof(body));
}

static void a_paused_upload_goes_on_where_it_stood(void **state)
{
	struct secret_world *secret = *state;
	struct world *world = secret->world;
	struct visit *visit = &world->visits[0];

	world->on_begin = begin_streaming;
	world->pauses = true;
	turn_until(&world->loop, shake_hands(secret));
	say(secret, STR("PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
			"3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n"));
	turn_until(&world->loop, visit->pieces == 1);
	turn_times(&world->loop, 10);
	assert_int_equal(visit->pieces, 1);
	world->pauses = false;
	ASK(world, exchange_resume(visit->exchange));
	turn_until(&world->loop, visit->data_ends == 1);
	assert_true(str_equal(buf_str(&visit->body), STR("abcdef")));
	assert_int_equal(visit->refusal_status, 0);
}

/* The goodbye may be in the very bytes that bring the request. */
static void a_goodbye_right_after_the_request_still_gets_an_answer(void **state)
{
	struct secret_world *secret = *state;
	struct world *world = secret->world;
	BIO *held = BIO_new(BIO_s_mem());
	char *bytes;
	long len;
	bool is_over = false;

	world->on_begin = begin_answering;
	turn_until(&world->loop, shake_hands(secret));
	turn_times(&world->loop, 5);
	SSL_set0_wbio(secret->ssl, held);
	say(secret, STR("GET /bye HTTP/1.1\r\nHost: x\r\n\r\n"));
	SSL_shutdown(secret->ssl);
	len = BIO_get_mem_data(held, &bytes);
	peer_send(&world->loop, &world->peer, str_of(bytes, (size_t)len));
	turn_until(&world->loop, (hears(secret, "\r\n\r\n/bye", &is_over), world->begun == 1));
	turn_until(&world->loop, hears(secret, "\r\n\r\n/bye", &is_over));
	turn_until(&world->loop, world->visits[0].finished);
}

static void what_is_not_tls_is_cut_off(void **state)
{
	struct secret_world *secret = *state;
	struct world *world = secret->world;

	world_say(world, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	turn_until(&world->loop, peer_saw_end(&world->peer));
	assert_int_equal(world->begun, 0);
	assert_false(peer_heard(&world->peer, "HTTP"));
}

static void old_versions_are_refused(void **state)
{
	struct secret_world *secret = *state;
	struct world *world = secret->world;
	int r;

	SSL_set_security_level(secret->ssl, 0);
	SSL_set_min_proto_version(secret->ssl, TLS1_VERSION);
	SSL_set_max_proto_version(secret->ssl, TLS1_1_VERSION);
	for (int i = 0; i < 1000; i++) {
		r = SSL_connect(secret->ssl);
		assert_int_not_equal(r, 1);
		if (SSL_get_error(secret->ssl, r) == SSL_ERROR_SSL)
			break;
		turn(&world->loop);
	}
	assert_int_equal(SSL_get_error(secret->ssl, r), SSL_ERROR_SSL);
	turn_until(&world->loop, server_is_idle(&world->server));
}

static void a_handshake_that_never_ends_is_cut_off(void **state)
{
	struct secret_world *secret = *state;
	struct world *world = secret->world;

	SSL_connect(secret->ssl); /* the first flight, and no more */
	turn_until(&world->loop, peer_heard_bytes(&world->peer, 1));
	world_pass(world, 9999);
	assert_false(peer_saw_end(&world->peer));
	world_pass(world, 1);
	turn_until(&world->loop, peer_saw_end(&world->peer));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_secret, tear_down_secret)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_that_are_not_usable_are_named),
		cmocka_unit_test(a_reason_fits_where_there_is_little_room),
		TEST(a_request_and_its_answer_pass_through),
		TEST(the_end_is_announced),
		TEST(a_large_answer_is_whole),
		TEST(a_large_body_is_collected),
		TEST(a_paused_upload_goes_on_where_it_stood),
		TEST(a_goodbye_right_after_the_request_still_gets_an_answer),
		TEST(what_is_not_tls_is_cut_off),
		TEST(old_versions_are_refused),
		TEST(a_handshake_that_never_ends_is_cut_off),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
