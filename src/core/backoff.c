/*
 * Pauses that grow, and are never quite the same: what failed together does not come back together.
 */
#include "core/backoff.h"

/* `span` scaled by `random` / 2^32. */
static int64_t share(int64_t span, uint32_t random)
{
	uint64_t high = (uint64_t)span >> 32, low = (uint64_t)span & UINT32_MAX;

	return (int64_t)(high * random + (low * random >> 32));
}

int64_t backoff_ms(int64_t first_ms, int64_t max_ms, uint32_t tries, uint32_t random)
{
	int64_t pause = first_ms < 1 ? 1 : first_ms;

	for (uint32_t i = 1; i < tries && pause < max_ms; i++)
		pause = pause > INT64_MAX / 4 ? max_ms : 2 * pause;
	if (pause > max_ms)
		pause = max_ms < 1 ? 1 : max_ms;
	if (pause > INT64_MAX / 2)
		pause = INT64_MAX / 2;
	pause += share(pause / 2, random) - pause / 4;
	return pause < 1 ? 1 : pause;
}
