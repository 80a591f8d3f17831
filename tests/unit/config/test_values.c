/*
 * Shows what a duration, a size, an address, a URL, a network, a method and a header name
 * may look like, at the edges of each, and that everything beside them is refused.
 */
#include "config/values.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void durations(void **state)
{
	static const struct {
		const char *text;
		int64_t ms; /* -1: refused */
	} cases[] = {
		{"0s", 0},
		{"0ms", 0},
		{"250ms", 250},
		{"30s", 30000},
		{"15m", 900000},
		{"24h", 86400000},
		{"30d", INT64_C(2592000000)},
		{"007s", 7000},
		{"forever", SETTINGS_FOREVER_MS},
		{"9223372036854775807ms", INT64_MAX},
		{"9223372036854775808ms", -1},
		{"9223372036854775s", INT64_C(9223372036854775000)},
		{"9223372036854776s", -1},
		{"106751991168d", -1},
		{"", -1},
		{"30", -1},
		{"0", -1},
		{"s", -1},
		{"30 s", -1},
		{" 30s", -1},
		{"30s ", -1},
		{"-1s", -1},
		{"+1s", -1},
		{"1.5s", -1},
		{"1h30m", -1},
		{"1S", -1},
		{"1w", -1},
		{"1sec", -1},
		{"Forever", -1},
		{"1e3s", -1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t ms = -1;
		bool is_one = value_duration(str_from(cases[i].text), &ms);

		if (ms != cases[i].ms || is_one != (cases[i].ms >= 0))
			fail_msg("%s gave %lld", cases[i].text, (long long)ms);
	}
}

static void forever_can_be_added_to_a_time(void **state)
{
	int64_t year_9000_ms = INT64_C(221845392000000);

	assert_true(SETTINGS_FOREVER_MS > INT64_C(500) * 365 * 86400 * 1000);
	assert_true(year_9000_ms + 2 * SETTINGS_FOREVER_MS > year_9000_ms);
}

static void sizes(void **state)
{
	static const struct {
		const char *text;
		int64_t bytes;
	} cases[] = {
		{"0", 0},
		{"1", 1},
		{"1024", 1024},
		{"12B", 12},
		{"1KB", 1000},
		{"1MB", 1000000},
		{"2GB", INT64_C(2000000000)},
		{"64KiB", 65536},
		{"1MiB", 1048576},
		{"1GiB", 1073741824},
		{"9223372036854775807", INT64_MAX},
		{"9223372036854775808", -1},
		{"8589934591GiB", INT64_C(9223372035781033984)},
		{"8589934592GiB", -1},
		{"", -1},
		{"MiB", -1},
		{"1 MiB", -1},
		{"1mib", -1},
		{"1M", -1},
		{"1kb", -1},
		{"-1", -1},
		{"1.5MiB", -1},
		{"0x10", -1},
		{"1TiB", -1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t bytes = -1;
		bool is_one = value_size(str_from(cases[i].text), &bytes);

		if (bytes != cases[i].bytes || is_one != (cases[i].bytes >= 0))
			fail_msg("%s gave %lld", cases[i].text, (long long)bytes);
	}
}

static void addresses(void **state)
{
	static const struct {
		const char *text, *shown; /* NULL: refused */
		int port;
		bool is_ipv6, is_loopback;
	} cases[] = {
		{"127.0.0.1:8080", "127.0.0.1:8080", 8080, false, true},
		{"127.9.9.9:1", "127.9.9.9:1", 1, false, true},
		{"0.0.0.0:0", "0.0.0.0:0", 0, false, false},
		{"10.1.2.3:65535", "10.1.2.3:65535", 65535, false, false},
		{"localhost:80", "127.0.0.1:80", 80, false, true},
		{"[::1]:8080", "[::1]:8080", 8080, true, true},
		{"[0:0:0:0:0:0:0:1]:80", "[::1]:80", 80, true, true},
		{"[::ffff:127.0.0.1]:80", "[::ffff:127.0.0.1]:80", 80, true, true},
		{"[::]:8080", "[::]:8080", 8080, true, false},
		{"[FE80::1]:9", "[fe80::1]:9", 9, true, false},
		{"", NULL},
		{"8080", NULL},
		{":8080", NULL},
		{"*:8080", NULL},
		{"127.0.0.1", NULL},
		{"127.0.0.1:", NULL},
		{"127.0.0.1:65536", NULL},
		{"127.0.0.1:-1", NULL},
		{"127.0.0.1:80x", NULL},
		{"127.0.0.1:80:80", NULL},
		{"127.0.0:80", NULL},
		{"256.0.0.1:80", NULL},
		{"gate.example.test:80", NULL},
		{"::1:8080", NULL},
		{"[::1]", NULL},
		{"[::1]8080", NULL},
		{"[::1:8080", NULL},
		{"[127.0.0.1]:8080", NULL},
		{"[localhost]:8080", NULL},
		{"[]:8080", NULL},
		{"http://127.0.0.1:80", NULL},
		{" 127.0.0.1:80", NULL},
	};
	struct arena mem;

	arena_init(&mem, 65536);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct settings_address address;
		struct value_refusal refusal = {0};
		int r = value_address(str_from(cases[i].text), &mem, &address, &refusal);

		if ((r == 0) != (cases[i].shown != NULL))
			fail_msg("%s gave %d", cases[i].text, r);
		if (r != 0) {
			assert_int_equal(r, VALUE_REFUSED);
			assert_non_null(refusal.what);
			assert_non_null(refusal.mend);
			continue;
		}
		assert_string_equal(address.text.at, cases[i].shown);
		assert_int_equal(address.port, cases[i].port);
		assert_int_equal(address.is_ipv6, cases[i].is_ipv6);
		assert_int_equal(address.is_loopback, cases[i].is_loopback);
		assert_int_equal(str_find(address.host, '['), address.host.len);
	}
	arena_fini(&mem);
}

static void an_address_needs_memory(void **state)
{
	struct settings_address address;
	struct value_refusal refusal;
	struct arena mem;

	arena_init(&mem, 8);
	assert_true(value_address(STR("127.0.0.1:1"), &mem, &address, &refusal) < 0);
	arena_fini(&mem);
}

/* A URL and what becomes of it; nothing else: it is refused. */
static const struct {
	const char *text, *shown, *host, *authority, *base_path;
	int port;
} url_cases[] = {
	{"http://127.0.0.1:9000", "http://127.0.0.1:9000", "127.0.0.1", "127.0.0.1:9000", "", 9000},
	{"http://a", "http://a", "a", "a", "", 80},
	{"https://a", "https://a", "a", "a", "", 443},
	{"https://a:443/", "https://a", "a", "a", "", 443},
	{"http://a:443", "http://a:443", "a", "a:443", "", 443},
	{"HTTPS://API.Example.Test/v1/", "https://api.example.test/v1", "api.example.test",
	 "api.example.test", "/v1", 443},
	{"http://[::1]:80/a/b%20c", "http://[::1]/a/b%20c", "::1", "[::1]", "/a/b%20c", 80},
	{"http://[::1]:81", "http://[::1]:81", "::1", "[::1]:81", "", 81},
	{"http://my_service-1:8000", "http://my_service-1:8000", "my_service-1",
	 "my_service-1:8000", "", 8000},
	{""},
	{"127.0.0.1:9000"},
	{"ftp://a"},
	{"unix:///run/a"},
	{"http:/a"},
	{"http://"},
	{"http:///v1"},
	{"http://user@a"},
	{"http://user:password@a"},
	{"http://a?x=1"},
	{"http://a/#x"},
	{"http://a/v1?"},
	{"http://a:0"},
	{"http://a:"},
	{"http://a:65536"},
	{"http://a:80:80"},
	{"http://::1"},
	{"http://[::1"},
	{"http://[::g]"},
	{"http://[127.0.0.1]"},
	{"http://[::1]x"},
	{"http://999.1.1.1"},
	{"http://1.2.3"},
	{"http://a..b"},
	{"http://.a"},
	{"http://-a"},
	{"http://a b"},
	{"http://a/b c"},
	{"http://a/../b"},
	{"http://a/b/."},
	{"http://a//b"},
	{"http://a//"},
	{"http://a/%2"},
	{"http://a/%zz"},
	{"http://a\\b"},
	{"http://a/b\\c"},
	{"http://a/\xc3\xa9"},
	{"http://a\r\nHost: b"},
};

static void urls(void **state)
{
	struct arena mem;

	arena_init(&mem, 65536);
	for (size_t i = 0; i < sizeof(url_cases) / sizeof(url_cases[0]); i++) {
		struct value_refusal refusal = {0};
		struct settings_url url;
		int r = value_url(str_from(url_cases[i].text), &mem, &url, &refusal);

		if ((r == 0) != (url_cases[i].shown != NULL))
			fail_msg("%s gave %d", url_cases[i].text, r);
		if (r != 0)
			continue;
		assert_string_equal(url.text.at, url_cases[i].shown);
		assert_string_equal(url.host.at, url_cases[i].host);
		assert_string_equal(url.authority.at, url_cases[i].authority);
		assert_string_equal(url.base_path.at, url_cases[i].base_path);
		assert_int_equal(url.port, url_cases[i].port);
		assert_int_equal(url.is_tls, url_cases[i].shown[4] == 's');
	}
	arena_fini(&mem);
}

static void networks(void **state)
{
	static const struct {
		const char *network, *address; /* NULL: the network is refused */
		bool has;
	} cases[] = {
		{"10.0.0.7", "10.0.0.7", true},
		{"10.0.0.7", "10.0.0.8", false},
		{"10.0.0.0/8", "10.255.255.255", true},
		{"10.0.0.0/8", "11.0.0.0", false},
		{"192.168.4.0/22", "192.168.7.255", true},
		{"192.168.4.0/22", "192.168.8.0", false},
		{"0.0.0.0/0", "255.1.2.3", true},
		{"0.0.0.0/0", "::1", false},
		{"::1", "::1", true},
		{"::1", "::2", false},
		{"fd00::/8", "fdff::1", true},
		{"fd00::/8", "fe00::1", false},
		{"2001:db8::/33", "2001:db8:7fff::1", true},
		{"2001:db8::/33", "2001:db8:8000::1", false},
		{"::/0", "fe80::1", true},
		{"10.0.0.1/8", NULL, false},
		{"10.0.0.0/33", NULL, false},
		{"10.0.0.0/", NULL, false},
		{"10.0.0.0/-1", NULL, false},
		{"10.0.0.0/8/8", NULL, false},
		{"10.0.0", NULL, false},
		{"fd00::/129", NULL, false},
		{"fd00::1/64", NULL, false},
		{"[::1]", NULL, false},
		{"localhost", NULL, false},
		{"", NULL, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct value_refusal refusal = {0};
		struct settings_network network;
		uint8_t bytes[16];
		int r = value_network(str_from(cases[i].network), &network, &refusal);
		bool is_ipv6;

		if ((r == 0) != (cases[i].address != NULL))
			fail_msg("%s gave %d", cases[i].network, r);
		if (r != 0)
			continue;
		is_ipv6 = strchr(cases[i].address, ':') != NULL;
		assert_int_equal(inet_pton(is_ipv6 ? AF_INET6 : AF_INET, cases[i].address, bytes),
				 1);
		if (network_has(&network, is_ipv6, bytes) != cases[i].has)
			fail_msg("%s and %s", cases[i].network, cases[i].address);
	}
}

static void words(void **state)
{
	static const char *const methods[] = {"POST", "PATCH", "PUT", "DELETE", "M-SEARCH"};
	static const char *const no_methods[] = {"",	  "post", "GET",   "HEAD",   "OPTIONS",
						 "P OST", "-A",	  "TRACE", "CONNECT"};
	static const char *const headers[] = {"Idempotency-Key", "X-Request.Id", "k"};
	static const char *const no_headers[] = {"",	   "a b", "a:b",      "Host",
						 "prefer", "K\n", "\xc3\xa9", "authorization"};
	struct value_refusal refusal;

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		assert_int_equal(value_method(str_from(methods[i]), &refusal), 0);
	for (size_t i = 0; i < sizeof(no_methods) / sizeof(no_methods[0]); i++)
		assert_int_equal(value_method(str_from(no_methods[i]), &refusal), VALUE_REFUSED);
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		assert_int_equal(value_header(str_from(headers[i]), &refusal), 0);
	for (size_t i = 0; i < sizeof(no_headers) / sizeof(no_headers[0]); i++)
		assert_int_equal(value_header(str_from(no_headers[i]), &refusal), VALUE_REFUSED);
}

/* Shows that a name which begins like a loopback address is another machine's. */
static void this_machine(void **state)
{
	static const char *const here[] = {"localhost", "LOCALHOST", "127.0.0.1",
					   "127.9.8.7", "::1",	     "::ffff:127.0.0.1"};
	static const char *const elsewhere[] = {"127.example.com",
						"127.0.0.1.example.com",
						"127.1",
						"localhost.example.com",
						"10.0.0.1",
						"::2",
						""};

	for (size_t i = 0; i < sizeof(here) / sizeof(here[0]); i++)
		assert_true(
			url_is_of_this_machine(&(struct settings_url){.host = str_from(here[i])}));
	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
		assert_false(url_is_of_this_machine(
			&(struct settings_url){.host = str_from(elsewhere[i])}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations),
		cmocka_unit_test(forever_can_be_added_to_a_time),
		cmocka_unit_test(sizes),
		cmocka_unit_test(addresses),
		cmocka_unit_test(an_address_needs_memory),
		cmocka_unit_test(urls),
		cmocka_unit_test(networks),
		cmocka_unit_test(words),
		cmocka_unit_test(this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
