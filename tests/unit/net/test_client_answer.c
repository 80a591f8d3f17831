/* Shows which parts of an upstream's answer are passed on, and which answers are none. */
#include "client_test.h"

static void answer_with(struct world *world, struct trial *trial, const char *text)
{
	trial_init(trial, world, "POST", "/");
	start(trial);
	upstream_hears(world, "\r\n\r\n");
	upstream_says(world, text);
}

static void an_answer_is_given_as_it_came(void **state)
{
	struct world *world = *state;
	struct trial trial;

	answer_with(world, &trial,
		    "HTTP/1.1 201 Made\r\nContent-Length: 5\r\nLocation:  /x \r\n"
		    "Set-Cookie: a\r\nSet-Cookie: b\r\nX-Empty:\r\n\r\nhello");
	ends(&trial, SENDING_ANSWERED);
	assert_int_equal(trial.call.answer.status, 201);
	assert_int_equal(trial.call.answer.length, 5);
	assert_true(str_equal(buf_str(&trial.call.answer.fields),
			      STR("Content-Length: 5\r\nLocation: /x\r\nSet-Cookie: a\r\n"
				  "Set-Cookie: b\r\nX-Empty: \r\n")));
	assert_true(str_equal(buf_str(&trial.body), STR("hello")));
	assert_int_equal(trial.heads, 1);
	assert_int_equal(trial.call.sends, 1);
	trial_fini(&trial);
}

static void a_redirect_is_an_answer_and_is_not_followed(void **state)
{
	struct world *world = *state;
	struct trial trial;

	answer_with(world, &trial,
		    "HTTP/1.1 307 Again\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n");
	ends(&trial, SENDING_ANSWERED);
	assert_int_equal(trial.call.answer.status, 307);
	turn_times(&world->loop, 20);
	assert_int_equal(peer_count(&world->peer, "POST"), 1);
	trial_fini(&trial);
}

static void a_coding_is_left_as_it_is(void **state)
{
	struct world *world = *state;
	struct trial trial;

	answer_with(world, &trial,
		    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnogz");
	ends(&trial, SENDING_ANSWERED);
	assert_true(str_equal(buf_str(&trial.body), STR("nogz")));
	trial_fini(&trial);
}

static void interim_answers_are_not_the_answer(void **state)
{
	struct world *world = *state;
	struct trial trial;

	answer_with(world, &trial,
		    "HTTP/1.1 100 Continue\r\n\r\n"
		    "HTTP/1.1 103 Early Hints\r\nLink: </style>\r\nContent-Length: 9\r\n\r\n");
	turn_times(&world->loop, 20);
	assert_int_equal(trial.heads, 0);
	upstream_says(world, "HTTP/1.1 200 OK\r\nX-Own: 1\r\nContent-Length: 2\r\n\r\nok");
	ends(&trial, SENDING_ANSWERED);
	assert_int_equal(trial.call.answer.status, 200);
	assert_true(str_equal(buf_str(&trial.call.answer.fields),
			      STR("X-Own: 1\r\nContent-Length: 2\r\n")));
	trial_fini(&trial);
}

static void trailers_are_dropped(void **state)
{
	struct world *world = *state;
	struct trial trial;

	answer_with(world, &trial,
		    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Late\r\n\r\n"
		    "2\r\nok\r\n0\r\nX-Late: 1\r\nContent-Length: 7\r\n\r\n");
	ends(&trial, SENDING_ANSWERED);
	assert_int_equal(trial.call.answer.status, 200);
	assert_int_equal(trial.call.answer.length, -1);
	assert_false(text_has(buf_str(&trial.call.answer.fields), "X-Late: 1"));
	assert_true(str_equal(buf_str(&trial.body), STR("ok")));
	trial_fini(&trial);
}

static void two_lengths_are_no_answer(void **state)
{
	struct world *world = *state;
	struct trial trial;

	answer_with(world, &trial,
		    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!");
	ends(&trial, SENDING_UNCLEAR);
	assert_int_equal(trial.heads, 0);
	trial_fini(&trial);
}

static void a_length_that_is_none_is_no_answer(void **state)
{
	struct world *world = *state;
	struct trial trial;

	answer_with(world, &trial, "HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\nok!");
	ends(&trial, SENDING_UNCLEAR);
	assert_int_equal(trial.heads, 0);
	trial_fini(&trial);
}

/* A line of the head that looks like another status line is a field, and no good one. */
static void a_head_has_one_status_line(void **state)
{
	static const char *const lines[] = {"HTTP/1.1 500 No: x\r\n", "HTTP/1.1 099 : x\r\n",
					    "HTTP/x-long-name-without-a-space:x\r\n"};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct world *world = *state;
		struct trial trial;
		char answer[256];

		snprintf(answer, sizeof(answer),
			 "HTTP/1.1 201 Created\r\nX-Own: 1\r\n%sContent-Length: 2\r\n\r\nok",
			 lines[i]);
		answer_with(world, &trial, answer);
		ends(&trial, SENDING_ANSWERED);
		assert_int_equal(trial.call.answer.status, 201);
		assert_true(str_equal(buf_str(&trial.call.answer.fields),
				      STR("X-Own: 1\r\nContent-Length: 2\r\n")));
		trial_fini(&trial);
		peer_forget(&world->peer);
	}
}

static void a_head_over_its_maximum_is_no_answer(void **state)
{
	struct world *world = *state;
	struct trial trial;
	char line[1100];

	memset(line, 'v', sizeof(line));
	memcpy(line, "X-Filler: ", 10);
	memcpy(line + sizeof(line) - 3, "\r\n", 3);
	answer_with(world, &trial, "HTTP/1.1 200 OK\r\n");
	for (int i = 0; i < 70 && !trial.dones; i++)
		upstream_says(world, line);
	upstream_says(world, "Content-Length: 0\r\n\r\n");
	ends(&trial, SENDING_UNCLEAR);
	assert_int_equal(trial.heads, 0);
	trial_fini(&trial);
}

static void an_answer_waits_for_whoever_takes_it(void **state)
{
	struct world *world = *state;
	struct trial trial;

	trial_init(&trial, world, "GET", "/");
	trial.takes_nothing = true;
	start(&trial);
	upstream_hears(world, "\r\n\r\n");
	upstream_says(world, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
	turn_until(&world->loop, trial.heads);
	turn_times(&world->loop, 20);
	assert_int_equal(trial.dones, 0);
	trial.takes_nothing = false;
	ASK(world, call_resume(&trial.call));
	ends(&trial, SENDING_ANSWERED);
	assert_true(str_equal(buf_str(&trial.body), STR("hello")));
	trial_fini(&trial);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_answer_is_given_as_it_came),
		TEST(a_redirect_is_an_answer_and_is_not_followed),
		TEST(a_coding_is_left_as_it_is),
		TEST(interim_answers_are_not_the_answer),
		TEST(trailers_are_dropped),
		TEST(two_lengths_are_no_answer),
		TEST(a_length_that_is_none_is_no_answer),
		TEST(a_head_has_one_status_line),
		TEST(a_head_over_its_maximum_is_no_answer),
		TEST(an_answer_waits_for_whoever_takes_it),
	};

	assert_int_equal(client_init_process(), 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
