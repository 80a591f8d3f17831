/* Each fault of the wire, by what the server got and what the client saw. */
#include "proxy_test.h"

#include <openssl/pem.h>
#include <openssl/x509.h>
#include <poll.h>
#include <signal.h>

enum { ADDED = sizeof("Connection: close\r\n") - 1, ANSWER = sizeof(answer_head) - 1 + 11 };

static struct server server;
static struct told told = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {{0}}, 0};

static struct proxy *wire_to(struct proxy_settings settings)
{
	struct proxy *proxy = NULL;
	char why[PROXY_WHY_MAX] = "";

	settings.timeout_ms = PATIENCE_S * 1000;
	if (proxy_start(&settings, &proxy, why) != 0)
		fail_msg("%s", why);
	told.count = 0;
	proxy_watch(proxy, (struct proxy_watch){hear, &told});
	return proxy;
}

static struct proxy *wire(enum proxy_fault fault)
{
	struct proxy *proxy;

	server_start(&server, NULL);
	proxy = wire_to((struct proxy_settings){.host = "127.0.0.1", .port = server.port});
	proxy_plan(proxy, (struct proxy_plan){.fault = fault, .delay_ms = 1});
	return proxy;
}

static void end(struct proxy *proxy)
{
	proxy_stop(proxy);
	server_stop(&server);
}

static void assert_answer(const struct seen *seen, int id)
{
	char body[32];

	snprintf(body, sizeof(body), "{\"id\":%4d}", id);
	assert_int_equal(seen->len, ANSWER);
	assert_non_null(strstr(seen->text, body));
}

static void test_passed_on(void **state)
{
	struct proxy *proxy = wire(PROXY_NONE);
	struct seen seen = client_ask(proxy_port(proxy), request);

	assert_answer(&seen, 1);
	assert_int_equal(server.whole, 1);
	assert_non_null(strstr(server.last, "\r\nConnection: close\r\n"));
	assert_non_null(strstr(server.last, "\r\n\r\n0123456789"));
	told_wait(&told, "the server answered 201");
	end(proxy);
}

static void test_chunks(void **state)
{
	struct proxy *proxy = wire(PROXY_NONE);
	struct seen seen =
		client_ask(proxy_port(proxy), "POST / HTTP/1.1\r\nTransfer-Encoding: chunked"
					      "\r\n\r\n5;x=1\r\n01234\r\n0\r\n\r\n");

	assert_answer(&seen, 1);
	assert_non_null(strstr(server.last, "5;x=1\r\n01234\r\n0\r\n\r\n"));
	end(proxy);
}

static void test_what_is_no_chunk(void **state)
{
	/* Shows that a size that is none, or that would turn over, ends no body. */
	static const char *const sizes[] = {"zz", "10000000000000000"};
	struct proxy *proxy = wire(PROXY_NONE);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char text[256];
		int fd = client_connect(proxy_port(proxy));
		struct seen seen;

		snprintf(text, sizeof(text),
			 "POST / HTTP/1.1\r\nTransfer-Encoding: "
			 "chunked\r\n\r\n%s\r\n\r\n\r\n0\r\n\r\n",
			 sizes[i]);
		assert_int_equal(send(fd, text, strlen(text), 0), (ssize_t)strlen(text));
		shutdown(fd, SHUT_WR);
		seen = client_read(fd);
		assert_int_equal(seen.len, 0);
	}
	end(proxy);
	assert_int_equal(server.over, 0);
}

static void test_dropped(void **state)
{
	struct proxy *proxy = wire(PROXY_DROP_ANSWER);
	struct seen seen = client_ask(proxy_port(proxy), request);

	assert_int_equal(seen.len, 0);
	assert_int_equal(server.whole, 1);
	seen = client_ask(proxy_port(proxy), request); /* the plan was for one */
	assert_answer(&seen, 2);
	assert_int_equal(server.whole, 2);
	end(proxy);
}

static void test_halved(void **state)
{
	struct proxy *proxy = wire(PROXY_HALF_ANSWER);
	struct seen seen = client_ask(proxy_port(proxy), request);

	assert_int_equal(seen.len, ANSWER / 2);
	assert_int_equal(server.whole, 1);
	end(proxy);
}

static void test_reset_before(void **state)
{
	struct proxy *proxy = wire(PROXY_RESET_BEFORE);
	struct seen seen = client_ask(proxy_port(proxy), request);

	assert_true(seen.is_reset);
	assert_int_equal(seen.len, 0);
	server_wait(&server, 1);
	assert_int_equal(server.whole, 0);
	assert_int_equal(server.resets, 1);
	assert_int_equal(server.partial, 0);
	end(proxy);
}

static void test_cut(void **state)
{
	struct proxy *proxy = wire(PROXY_CUT_REQUEST);
	struct seen seen = client_ask(proxy_port(proxy), request);

	assert_true(seen.is_reset);
	server_wait(&server, 1);
	assert_int_equal(server.whole, 0);
	assert_int_equal(server.resets, 1);
	assert_int_equal(server.partial, (strlen(request) + ADDED) / 2);
	end(proxy);
}

static void test_duplicated(void **state)
{
	struct proxy *proxy = wire(PROXY_DUPLICATE);
	struct seen seen = client_ask(proxy_port(proxy), request);

	assert_answer(&seen, 1);
	assert_int_equal(server.whole, 2);
	assert_int_equal(server.over, 2);
	told_wait(&told, "to the second one");
	end(proxy);
}

static void test_delayed(void **state)
{
	struct proxy *proxy = wire(PROXY_DELAY_ANSWER);
	struct seen seen = client_ask(proxy_port(proxy), request);

	assert_answer(&seen, 1);
	told_wait(&told, "the answer waits for 1 ms");
	end(proxy);
}

/* Send what will be held, until it is. */
static int hold(struct proxy *proxy)
{
	struct pollfd poll_fd = {.events = POLLIN};

	poll_fd.fd = client_connect(proxy_port(proxy));
	assert_int_equal(send(poll_fd.fd, request, strlen(request), 0), (ssize_t)strlen(request));
	assert_int_equal(proxy_wait_sent(proxy, PATIENCE_S * 1000), 0);
	told_wait(&told, "held back");
	assert_int_equal(poll(&poll_fd, 1, 0), 0);
	assert_int_equal(server.whole, 1);
	return poll_fd.fd;
}

static void test_held(void **state)
{
	struct proxy *proxy = wire(PROXY_HOLD_ANSWER);
	int fd = hold(proxy);
	struct seen seen = client_ask(proxy_port(proxy), request); /* another goes by */

	assert_answer(&seen, 2);
	proxy_release(proxy);
	seen = client_read(fd);
	assert_answer(&seen, 1);
	end(proxy);
}

static void test_stopped_while_held(void **state)
{
	struct proxy *proxy = wire(PROXY_HOLD_ANSWER);
	int fd = hold(proxy);

	end(proxy);
	close(fd);
}

static void test_stopped_within_a_request(void **state)
{
	struct proxy *proxy = wire(PROXY_NONE);
	int fd = client_connect(proxy_port(proxy));

	assert_int_equal(send(fd, request, 20, 0), 20);
	assert_int_equal(proxy_wait_sent(proxy, 0), 1);
	end(proxy);
	close(fd);
	assert_int_equal(server.over, 0);
}

static void test_nobody_there(void **state)
{
	struct proxy *proxy;
	struct seen seen;
	uint16_t port;

	close(listener_on(&port));
	proxy = wire_to((struct proxy_settings){.host = "127.0.0.1", .port = port});
	seen = client_ask(proxy_port(proxy), request);
	assert_int_equal(seen.len, 0);
	told_wait(&told, "cannot be reached");
	proxy_stop(proxy);
}

/* -- TLS ----------------------------------------------------------------------------- */

static char ca_file[] = "/tmp/counterfoil-proxy-XXXXXX";

static SSL_CTX *tls_server(void)
{
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *certificate = X509_new();
	X509_NAME *name = X509_get_subject_name(certificate);
	FILE *file = fdopen(mkstemp(ca_file), "w");

	X509_set_version(certificate, 2);
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
	assert_int_equal(SSL_CTX_use_certificate(context, certificate), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(context, key), 1);
	X509_free(certificate);
	EVP_PKEY_free(key);
	return context;
}

static void try_tls(const char *host, const char *roots, bool verify, bool is_trusted)
{
	int before = server.whole;
	struct proxy *proxy = wire_to((struct proxy_settings){.host = host,
							      .port = server.port,
							      .is_tls = true,
							      .ca_file = roots,
							      .verify = verify});
	struct seen seen;

	proxy_plan(proxy, (struct proxy_plan){.fault = PROXY_DUPLICATE});
	seen = client_ask(proxy_port(proxy), request);
	if (is_trusted)
		assert_answer(&seen, before + 1);
	else
		assert_int_equal(seen.len, 0);
	told_wait(&told, is_trusted ? "answer passed on" : "cannot be reached: TLS");
	proxy_stop(proxy);
	assert_int_equal(server.whole, before + (is_trusted ? 2 : 0));
}

static void test_tls(void **state)
{
	SSL_CTX *context = tls_server();

	server_start(&server, context);
	try_tls("localhost", ca_file, true, true);
	try_tls("127.0.0.1", ca_file, true, false); /* the certificate is another name's */
	try_tls("localhost", NULL, true, false);
	try_tls("localhost", NULL, false, true);
	server_stop(&server);
	SSL_CTX_free(context);
	unlink(ca_file);
}

static void test_roots_that_are_none(void **state)
{
	struct proxy_settings settings = {.host = "x", .is_tls = true, .ca_file = "/nowhere.pem"};
	struct proxy *proxy = NULL;
	char why[PROXY_WHY_MAX] = "";

	assert_int_equal(proxy_start(&settings, &proxy, why), 1);
	assert_null(proxy);
	assert_non_null(strstr(why, "/nowhere.pem"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_passed_on),
		cmocka_unit_test(test_chunks),
		cmocka_unit_test(test_what_is_no_chunk),
		cmocka_unit_test(test_dropped),
		cmocka_unit_test(test_halved),
		cmocka_unit_test(test_reset_before),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_duplicated),
		cmocka_unit_test(test_delayed),
		cmocka_unit_test(test_held),
		cmocka_unit_test(test_stopped_while_held),
		cmocka_unit_test(test_stopped_within_a_request),
		cmocka_unit_test(test_nobody_there),
		cmocka_unit_test(test_tls),
		cmocka_unit_test(test_roots_that_are_none),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
