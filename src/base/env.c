/* Clock and randomness of the machine, and how a time is written. */
#include "base/env.h"

#include <sodium.h>
#include <string.h>
#include <time.h>

enum { RANDOM_POOL = 512 };

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

/*
 * Randomness comes from the kernel in pools of a thread's own, since each asking is a system
 * call; what has been given out is wiped from the pool.
 */
static void machine_random(const struct env *env, void *out, size_t len)
{
	static _Thread_local uint8_t pool[RANDOM_POOL];
	static _Thread_local size_t left;

	if (len > sizeof(pool)) {
		randombytes_buf(out, len);
		return;
	}
	if (len > left) {
		randombytes_buf(pool, sizeof(pool));
		left = sizeof(pool);
	}
	left -= len;
	memcpy(out, pool + left, len);
	sodium_memzero(pool + left, len);
}

const struct env env_machine = {
	.wall_ms = machine_wall_ms,
	.monotonic_us = machine_monotonic_us,
	.random = machine_random,
};

static char *digits(char *out, unsigned number, int count)
{
	for (int i = count - 1; i >= 0; i--) {
		out[i] = (char)('0' + number % 10);
		number /= 10;
	}
	return out + count;
}

/* Each request writes several: strftime() and its locale would be felt. */
void time_format(int64_t wall_ms, char out[25])
{
	const int64_t first = -62167219200000, last = 253402300799999; /* the years 0 and 9999 */
	int64_t ms = wall_ms < first ? first : wall_ms > last ? last : wall_ms;
	int64_t seconds = ms / 1000 - (ms % 1000 < 0);
	time_t when = (time_t)seconds;
	unsigned millis = (unsigned)(ms - seconds * 1000) % 1000;
	struct tm parts;

	gmtime_r(&when, &parts);
	out = digits(out, (unsigned)(parts.tm_year + 1900) % 10000, 4);
	*out++ = '-';
	out = digits(out, (unsigned)parts.tm_mon + 1, 2);
	*out++ = '-';
	out = digits(out, (unsigned)parts.tm_mday, 2);
	*out++ = 'T';
	out = digits(out, (unsigned)parts.tm_hour, 2);
	*out++ = ':';
	out = digits(out, (unsigned)parts.tm_min, 2);
	*out++ = ':';
	out = digits(out, (unsigned)parts.tm_sec, 2);
	*out++ = '.';
	out = digits(out, millis, 3);
	memcpy(out, "Z", 2);
}
