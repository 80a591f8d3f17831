/*
 * Clock and randomness, through one table that tests replace.
 *
 * Wall time decides expiry (a person's hours); monotonic time decides waits, so that a
 * stepped clock neither hangs nor hurries them.
 */
#ifndef BASE_ENV_H
#define BASE_ENV_H

#include <stddef.h>
#include <stdint.h>

struct env {
	int64_t (*wall_ms)(const struct env *env);	/* Unix time, milliseconds */
	int64_t (*monotonic_us)(const struct env *env); /* since some moment, microseconds */
	void (*random)(const struct env *env, void *out, size_t len); /* unpredictable bytes */
	void *state;						      /* the twin's own */
};

/* The machine's clock and randomness. Any thread. */
extern const struct env env_machine;

static inline int64_t env_wall_ms(const struct env *env)
{
	return env->wall_ms(env);
}

static inline int64_t env_monotonic_us(const struct env *env)
{
	return env->monotonic_us(env);
}

static inline int64_t env_monotonic_ms(const struct env *env)
{
	return env->monotonic_us(env) / 1000;
}

/* a + b; what runs over is for ever. */
static inline int64_t time_add(int64_t a_ms, int64_t b_ms)
{
	int64_t sum;

	return __builtin_add_overflow(a_ms, b_ms, &sum) ? INT64_MAX : sum;
}

static inline void env_random(const struct env *env, void *out, size_t len)
{
	env->random(env, out, len);
}

/*
 * RFC 3339 in UTC with milliseconds ("2026-01-31T08:15:00.250Z") into `out`: 24
 * characters and a NUL. Times outside the years 0–9999 are clamped.
 */
void time_format(int64_t wall_ms, char out[25]);

#endif
