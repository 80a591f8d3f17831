/*
 * Pauses between tries.
 */
#ifndef CORE_BACKOFF_H
#define CORE_BACKOFF_H

#include <stdint.h>

/*
 * The pause after `tries` tries, the one that has just ended among them: `first_ms` after the first
 * (and before any), doubled with each further one, at most `max_ms`, then moved by up to a quarter
 * either way by `random`. At least 1.
 */
int64_t backoff_ms(int64_t first_ms, int64_t max_ms, uint32_t tries, uint32_t random);

#endif
