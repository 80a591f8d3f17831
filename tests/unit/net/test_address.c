/* Shows which texts are addresses to listen on, and that an address becomes its text again. */
#include "net_test.h"

#include "net/server.h"

static void assert_round(const char *text, const char *expected)
{
	struct sockaddr_storage address;
	char out[64];

	assert_true(address_parse(str_from(text), &address));
	address_format((const struct sockaddr *)&address, out);
	assert_string_equal(out, expected);
}

static void assert_none(const char *text)
{
	struct sockaddr_storage address;
	bool is_one = address_parse(str_from(text), &address);

	if (is_one)
		print_error("taken for an address: %.*s\n", STR_ARG(str_from(text)));
	assert_false(is_one);
}

static void addresses_become_their_text_again(void **state)
{
	assert_round("127.0.0.1:8080", "127.0.0.1:8080");
	assert_round("0.0.0.0:0", "0.0.0.0:0");
	assert_round("255.255.255.255:65535", "255.255.255.255:65535");
	assert_round("[::1]:443", "[::1]:443");
	assert_round("[::]:1", "[::]:1");
	assert_round("[2001:DB8:0:0:0:0:0:1]:80", "[2001:db8::1]:80");
	assert_round("[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]:65535",
		     "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535");
}

static void localhost_is_a_name_that_is_known(void **state)
{
	assert_round("localhost:80", "127.0.0.1:80");
	assert_none("localhos:80");
	assert_none("localhost.:80");
}

static void the_text_may_be_part_of_another(void **state)
{
	struct sockaddr_storage address;
	char out[64];

	assert_true(address_parse(str_of("10.1.2.3:80999", 11), &address));
	address_format((const struct sockaddr *)&address, out);
	assert_string_equal(out, "10.1.2.3:80");
}

static void other_texts_are_no_addresses(void **state)
{
	static const char *const texts[] = {
		"",
		":",
		":80",
		"127.0.0.1",
		"127.0.0.1:",
		"127.0.0.1:65536",
		"127.0.0.1:-1",
		"127.0.0.1:8o",
		"127.0.0.1: 80",
		"127.0.0.1:80 ",
		"127.0.0.1:80:81",
		"127.0.0:80",
		"127.0.0.256:80",
		"example.test:80",
		"::1:80",
		"[::1]",
		"[::1]:",
		"[::1]80",
		"[::1:80",
		"[127.0.0.1]:80",
		"[]:80",
		"[localhost]:80",
		"[::1%lo]:80",
		"1111111111111111111111111111111111111111111111111111111111111111111:80",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_none(texts[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_become_their_text_again),
		cmocka_unit_test(localhost_is_a_name_that_is_known),
		cmocka_unit_test(the_text_may_be_part_of_another),
		cmocka_unit_test(other_texts_are_no_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
