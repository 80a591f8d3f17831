/* Clock and randomness of the machine, and how a time is written. */
#include "base/env.h"

#include <sodium.h>
#include <stdio.h>
#include <time.h>

static int64_t machine_wall_ms(const struct env *env)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t machine_monotonic_us(const struct env *env)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void machine_random(const struct env *env, void *out, size_t len)
{
	randombytes_buf(out, len);
}

const struct env env_machine = {
	.wall_ms = machine_wall_ms,
	.monotonic_us = machine_monotonic_us,
	.random = machine_random,
};

void time_format(int64_t wall_ms, char out[25])
{
	const int64_t first = -62167219200000, last = 253402300799999; /* the years 0 and 9999 */
	int64_t ms = wall_ms < first ? first : wall_ms > last ? last : wall_ms;
	int64_t seconds = ms / 1000 - (ms % 1000 < 0);
	time_t when = (time_t)seconds;
	unsigned millis = (unsigned)(ms - seconds * 1000) % 1000;
	unsigned year;
	struct tm parts;

	gmtime_r(&when, &parts);
	year = (unsigned)(parts.tm_year + 1900) % 10000; /* strftime() would not pad it */
	snprintf(out, 6, "%04u-", year);
	strftime(out + 5, 15, "%m-%dT%H:%M:%S", &parts);
	snprintf(out + 19, 6, ".%03uZ", millis);
}
