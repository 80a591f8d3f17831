/*
 * Claims that this process has left behind.
 *
 * An owner's name stands for a process. One that could not settle a claim, on a full disk say, is
 * still alive, and its claim would keep its own next try out until it ends. So who gives up on a
 * claim says so here, to every journal that this process opens.
 */
#ifndef CLIENT_LEFT_H
#define CLIENT_LEFT_H

#include <stdbool.h>
#include <stdint.h>

enum { LEFT_MAX = 64 }; /* claims that are remembered; one more takes the place of the oldest */

/* One entry of one file, by whatever path it was opened. */
struct left_claim {
	uint64_t device, file;
	int64_t entry;
};

/* Nobody in this process is at it any more. Any thread. */
void left_add(const struct left_claim *claim);

/* Is it one of those? Any thread. */
bool left_has(const struct left_claim *claim);

/* Somebody is at it again. Any thread. */
void left_remove(const struct left_claim *claim);

#endif
