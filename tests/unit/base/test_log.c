/* Shows that each log line is one JSON object whatever went into it, and that a reader who
 * is slow or gone loses whole lines, which are counted, and never holds the writer for long. */
#include "base/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define STAMP "{\"time\":\"1970-01-01T00:00:01.234Z\","

enum { MANY = 4 * 1024 * 1024 };

static int64_t fixed_ms(const struct env *env)
{
	return 1234;
}

static const struct env fixed = {.wall_ms = fixed_ms, .monotonic_us = fixed_ms};

struct reader {
	struct log *log;
	int from;
	int to;
};

static void reader_open(struct reader *reader, enum log_level level)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	reader->from = ends[0];
	reader->to = ends[1];
	assert_true(fcntl(reader->from, F_SETFL, O_NONBLOCK) == 0);
	reader->log = log_new(&fixed, reader->to, level);
	assert_non_null(reader->log);
}

static void reader_close(struct reader *reader)
{
	log_free(reader->log);
	close(reader->from);
	close(reader->to);
}

/* What has arrived, as a text: in `out`, of `size` bytes. Returns its length. */
static size_t arrived(struct reader *reader, char *out, size_t size)
{
	size_t len = 0;
	ssize_t n;

	while (len < size - 1 && (n = read(reader->from, out + len, size - 1 - len)) > 0)
		len += (size_t)n;
	out[len] = '\0';
	return len;
}

static void assert_arrived(struct reader *reader, const char *expected)
{
	char text[8192];

	arrived(reader, text, sizeof(text));
	assert_string_equal(text, expected);
}

static void a_line_has_its_members_in_order(void **state)
{
	struct log_line line;
	struct reader reader;

	reader_open(&reader, LOG_INFO);
	log_begin(&line, reader.log, LOG_INFO, "claimed");
	log_str(&line, "operation", STR("op_1"));
	log_text(&line, "why", "new");
	log_int(&line, "bytes", INT64_MIN);
	log_bool(&line, "durable", true);
	log_bool(&line, "replayed", false);
	log_end(&line);
	log_flush(reader.log);
	assert_arrived(&reader,
		       STAMP "\"level\":\"info\",\"event\":\"claimed\",\"operation\":\"op_1\","
			     "\"why\":\"new\",\"bytes\":-9223372036854775808,\"durable\":true,"
			     "\"replayed\":false}\n");
	reader_close(&reader);
}

static void lines_below_the_level_cost_nothing(void **state)
{
	struct log_line line;
	struct reader reader;

	reader_open(&reader, LOG_WARNING);
	log_begin(&line, reader.log, LOG_INFO, "quiet");
	assert_null(line.log);
	log_text(&line, "a", "b");
	log_int(&line, "c", 1);
	log_bool(&line, "d", true);
	log_end(&line);
	log_note(NULL, LOG_ERROR, "nowhere", "a", "b");
	log_flush(reader.log);
	log_flush(NULL);
	log_free(NULL);
	assert_arrived(&reader, "");
	reader_close(&reader);
}

static void info_waits_for_a_flush_and_warnings_do_not(void **state)
{
	struct reader reader;

	reader_open(&reader, LOG_DEBUG);
	log_note(reader.log, LOG_INFO, "first", "a", "1");
	assert_arrived(&reader, "");
	log_note(reader.log, LOG_WARNING, "second", "a", "2");
	assert_arrived(&reader, STAMP "\"level\":\"info\",\"event\":\"first\",\"a\":\"1\"}\n" STAMP
				      "\"level\":\"warning\",\"event\":\"second\",\"a\":\"2\"}\n");
	log_note(reader.log, LOG_DEBUG, "third", "a", "3");
	log_free(reader.log);
	assert_arrived(&reader, STAMP "\"level\":\"debug\",\"event\":\"third\",\"a\":\"3\"}\n");
	reader.log = NULL;
	reader_close(&reader);
}

static void a_busy_log_flushes_itself(void **state)
{
	static char text[MANY];
	struct reader reader;

	reader_open(&reader, LOG_INFO);
	assert_true(fcntl(reader.to, F_SETPIPE_SZ, 1024 * 1024) > 0);
	for (int i = 0; i < 3000; i++)
		log_note(reader.log, LOG_INFO, "busy", "a", "b");
	assert_true(arrived(&reader, text, sizeof(text)) > 64 * 1024);
	reader_close(&reader);
}

static void hostile_bytes_are_escaped(void **state)
{
	struct reader reader;
	struct log_line line;

	reader_open(&reader, LOG_INFO);
	log_begin(&line, reader.log, LOG_ERROR, "odd");
	log_str(&line, "v", str_of("a\"b\\c\n\0\x1f\x7f\x80\xff/~ ", 14));
	log_end(&line);
	assert_arrived(&reader, STAMP "\"level\":\"error\",\"event\":\"odd\",\"v\":\"a\\u0022b"
				      "\\u005cc\\u000a\\u0000\\u001f\\u007f\\u0080\\u00ff/~ \"}\n");
	reader_close(&reader);
}

static void a_member_too_long_is_left_out_whole(void **state)
{
	char *much = malloc(100000);
	struct reader reader;
	struct log_line line;

	assert_non_null(much);
	memset(much, '"', 100000);
	reader_open(&reader, LOG_INFO);
	log_begin(&line, reader.log, LOG_ERROR, "long");
	log_str(&line, "target", str_of(much, 100000));
	log_str(&line, "operation", STR("op_1"));
	log_end(&line);
	assert_arrived(&reader, STAMP "\"level\":\"error\",\"event\":\"long\","
				      "\"operation\":\"op_1\",\"cut\":true}\n");
	free(much);
	reader_close(&reader);
}

/* Every length around the edge: the member is there whole or not at all, the end always. */
static void a_line_fits_to_its_last_byte(void **state)
{
	char value[LOG_LINE_MAX], text[2 * LOG_LINE_MAX];
	struct reader reader;
	struct log_line line;
	size_t longest = 0;

	memset(value, 'v', sizeof(value));
	reader_open(&reader, LOG_INFO);
	for (size_t len = LOG_LINE_MAX - 200; len < LOG_LINE_MAX; len++) {
		size_t total;
		bool is_cut;

		log_begin(&line, reader.log, LOG_ERROR, "edge");
		log_str(&line, "v", str_of(value, len));
		log_end(&line);
		total = arrived(&reader, text, sizeof(text));
		is_cut = strstr(text, "\"cut\":true") != NULL;
		assert_true(total <= LOG_LINE_MAX);
		assert_string_equal(text + total - 2, "}\n");
		assert_int_equal(strstr(text, "vvvv") == NULL, is_cut);
		if (!is_cut)
			longest = len;
	}
	assert_in_range(longest, LOG_LINE_MAX - 150, LOG_LINE_MAX - 80);
	reader_close(&reader);
}

static int64_t milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Count whole lines; each must be one that we wrote, and the drops that were told. */
static size_t count_lines(char *text, unsigned long long *out_dropped)
{
	size_t lines = 0;
	char *end;

	*out_dropped = 0;
	for (char *at = text; *at; at = end + 1) {
		const char *note = "{\"level\":\"warning\",\"event\":\"log-dropped\",\"lines\":";

		end = strchr(at, '\n');
		assert_non_null(end);
		assert_int_equal(end[-1], '}');
		if (strncmp(at, note, strlen(note)) == 0) {
			*out_dropped += strtoull(at + strlen(note), NULL, 10);
			continue;
		}
		assert_memory_equal(at, STAMP, strlen(STAMP));
		assert_null(memchr(at + 1, '{', (size_t)(end - at - 1)));
		lines++;
	}
	return lines;
}

static void a_stuck_reader_loses_counted_lines_and_no_time(void **state)
{
	static char text[MANY];
	unsigned long long dropped;
	int64_t start = milliseconds();
	struct reader reader;
	size_t len = 0, more, lines;

	reader_open(&reader, LOG_INFO);
	for (int i = 0; i < 20000; i++)
		log_note(reader.log, i % 100 ? LOG_INFO : LOG_WARNING, "much", "a", "b");
	assert_in_range(milliseconds() - start, 0, 5000);
	for (int i = 0; i < 1000; i++) {
		more = arrived(&reader, text + len, sizeof(text) - len);
		len += more;
		log_flush(reader.log);
		if (!more)
			break;
	}
	lines = count_lines(text, &dropped);
	assert_true(dropped > 0);
	assert_int_equal(lines + dropped, 20000);
	log_note(reader.log, LOG_WARNING, "again", "a", "b");
	assert_arrived(&reader, STAMP "\"level\":\"warning\",\"event\":\"again\",\"a\":\"b\"}\n");
	reader_close(&reader);
}

static void a_reader_that_is_gone_stops_nobody(void **state)
{
	void (*before)(int) = signal(SIGPIPE, SIG_IGN);
	struct reader reader;

	reader_open(&reader, LOG_INFO);
	close(reader.from);
	for (int i = 0; i < 10000; i++)
		log_note(reader.log, i % 10 ? LOG_INFO : LOG_ERROR, "gone", "a", "b");
	log_free(reader.log);
	close(reader.to);
	signal(SIGPIPE, before);
}

static void *write_hundreds(void *given)
{
	for (int i = 0; i < 500; i++)
		log_note(given, i % 50 ? LOG_INFO : LOG_WARNING, "thread", "a", "b");
	return NULL;
}

static void lines_of_several_threads_never_mix(void **state)
{
	static char text[MANY];
	unsigned long long dropped;
	pthread_t threads[4];
	struct reader reader;

	reader_open(&reader, LOG_INFO);
	assert_true(fcntl(reader.to, F_SETPIPE_SZ, 1024 * 1024) > 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_hundreds, reader.log), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	log_flush(reader.log);
	arrived(&reader, text, sizeof(text));
	assert_int_equal(count_lines(text, &dropped), 2000);
	assert_int_equal(dropped, 0);
	reader_close(&reader);
}

static void levels_have_names(void **state)
{
	enum log_level level = LOG_ERROR;

	assert_true(log_level_from(STR("debug"), &level) && level == LOG_DEBUG);
	assert_true(log_level_from(STR("info"), &level) && level == LOG_INFO);
	assert_true(log_level_from(STR("error"), &level) && level == LOG_ERROR);
	assert_true(log_level_from(STR("warning"), &level) && level == LOG_WARNING);
	assert_false(log_level_from(STR("Warning"), &level));
	assert_false(log_level_from(STR(""), &level));
	assert_int_equal(level, LOG_WARNING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_has_its_members_in_order),
		cmocka_unit_test(lines_below_the_level_cost_nothing),
		cmocka_unit_test(info_waits_for_a_flush_and_warnings_do_not),
		cmocka_unit_test(a_busy_log_flushes_itself),
		cmocka_unit_test(hostile_bytes_are_escaped),
		cmocka_unit_test(a_member_too_long_is_left_out_whole),
		cmocka_unit_test(a_line_fits_to_its_last_byte),
		cmocka_unit_test(a_stuck_reader_loses_counted_lines_and_no_time),
		cmocka_unit_test(a_reader_that_is_gone_stops_nobody),
		cmocka_unit_test(lines_of_several_threads_never_mix),
		cmocka_unit_test(levels_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
