/* Shows that an address that has failed often is refused for a while, alone, and that the table of
 * addresses is bounded. */
#include "auth_test.h"

#include "auth/limiter.h"

static struct limiter limiter;

static int set_up(void **state)
{
	limiter_init(&limiter);
	return 0;
}

static int tear_down(void **state)
{
	limiter_fini(&limiter);
	return 0;
}

static void empty_it(const char *address, int64_t now_ms)
{
	for (int i = 0; i < LIMITER_BURST; i++) {
		assert_int_equal(limiter_wait_s(&limiter, address, now_ms), 0);
		assert_true(limiter_failed(&limiter, address, now_ms));
	}
}

static void a_burst_is_let_through_and_no_more(void **state)
{
	empty_it("192.0.2.1", 0);
	assert_int_equal(limiter_wait_s(&limiter, "192.0.2.1", 0), LIMITER_REFILL_MS / 1000);
	assert_false(limiter_failed(&limiter, "192.0.2.1", 0));
	assert_int_equal(limiter_wait_s(&limiter, "192.0.2.2", 0), 0);
}

static void it_fills_again_with_time(void **state)
{
	empty_it("192.0.2.1", 0);
	assert_int_equal(limiter_wait_s(&limiter, "192.0.2.1", LIMITER_REFILL_MS - 1), 1);
	assert_int_equal(limiter_wait_s(&limiter, "192.0.2.1", LIMITER_REFILL_MS), 0);
	assert_true(limiter_failed(&limiter, "192.0.2.1", LIMITER_REFILL_MS));
	assert_true(limiter_wait_s(&limiter, "192.0.2.1", LIMITER_REFILL_MS) > 0);
	empty_it("192.0.2.1", (LIMITER_BURST + 2) * (int64_t)LIMITER_REFILL_MS);
}

/* However often it failed, it waits no longer than for one more try. */
static void nobody_is_shut_out_for_long(void **state)
{
	for (int i = 0; i < 1000; i++)
		limiter_failed(&limiter, "192.0.2.1", 0);
	assert_int_equal(limiter_wait_s(&limiter, "192.0.2.1", LIMITER_REFILL_MS), 0);
}

static void a_network_of_ipv6_is_one_address(void **state)
{
	empty_it("2001:db8:1:2:3:4:5:6", 0);
	assert_true(limiter_wait_s(&limiter, "2001:db8:1:2:ffff::1", 0) > 0);
	assert_int_equal(limiter_wait_s(&limiter, "2001:db8:1:3::1", 0), 0);
	empty_it("::ffff:192.0.2.1", 0);
	assert_int_equal(limiter_wait_s(&limiter, "::ffff:192.0.2.2", 0), 0);
}

static void who_failed_longest_ago_makes_room(void **state)
{
	char address[LIMITER_ADDRESS_TEXT];

	empty_it("198.51.100.1", 0);
	for (int i = 0; i < LIMITER_ADDRESSES - 1; i++) {
		snprintf(address, sizeof(address), "10.0.%d.%d", i / 256, i % 256);
		limiter_failed(&limiter, address, 1);
	}
	assert_true(limiter_wait_s(&limiter, "198.51.100.1", 1) > 0);
	limiter_failed(&limiter, "203.0.113.1", 2);
	assert_int_equal(limiter_wait_s(&limiter, "198.51.100.1", 2), 0);
	assert_int_equal(limiter.count, LIMITER_ADDRESSES);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_burst_is_let_through_and_no_more), TEST(it_fills_again_with_time),
		TEST(nobody_is_shut_out_for_long),	  TEST(a_network_of_ipv6_is_one_address),
		TEST(who_failed_longest_ago_makes_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
