/*
 * Where failures begin, and where broken invariants end.
 *
 * Both write one JSON line to stderr with write(2) and a fixed buffer: they are called
 * when memory, locks or the log itself may be what broke.
 */
#include "base/err.h"

#include "base/env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void write_line(const char *line, int length)
{
	ssize_t ignored;

	if (length <= 0)
		return;
	ignored = write(STDERR_FILENO, line, (size_t)length);
	(void)ignored;
}

int fail_at(int code, int error_number, const char *file, int line, const char *function)
{
	char text[512], time[25];
	struct timespec now;
	int length;

	clock_gettime(CLOCK_REALTIME, &now);
	time_format((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000, time);
	length = snprintf(text, sizeof(text),
			  "{\"time\":\"%s\",\"level\":\"error\",\"event\":\"failure\",\"what\":\"%"
			  "s\",\"errno\":%d,"
			  "\"at\":\"%s:%d\",\"in\":\"%s\"}\n",
			  time, fail_text(code), error_number, file, line, function);
	write_line(text, length < (int)sizeof(text) ? length : (int)sizeof(text) - 1);
	return code;
}

const char *fail_text(int code)
{
	switch (code) {
	case FAIL_MEMORY:
		return "out of memory";
	case FAIL_LIMIT:
		return "limit reached";
	case FAIL_IO:
		return "input or output failed";
	case FAIL_STORE:
		return "the store failed";
	case FAIL_UNCERTAIN:
		return "the store did not say whether it committed";
	case FAIL_CONFIG:
		return "configuration is wrong";
	case FAIL_UNPLANNED:
		return "unplanned outcome";
	default:
		return "unknown failure";
	}
}

_Noreturn void broken(const char *what, const char *file, int line, const char *function)
{
	char text[512];
	int length;

	length = snprintf(
		text, sizeof(text),
		"{\"level\":\"fatal\",\"event\":\"broken\",\"at\":\"%s:%d\",\"in\":\"%s\"}\n"
		"counterfoil: %s:%d: this must be true and was not: %s\n",
		file, line, function, file, line, what);
	write_line(text, length < (int)sizeof(text) ? length : (int)sizeof(text) - 1);
	abort();
}
