/*
 * Who is at an entry: a process, by a name that no other process on any machine has.
 *
 * "MACHINE BOOT NAMESPACE PID START": the machine's id, the id of its boot, the pid namespace,
 * the process id there, and when that process started, in the kernel's own ticks. A part that
 * cannot be learnt is "-".
 */
#ifndef CLIENT_OWNER_H
#define CLIENT_OWNER_H

#include "base/str.h"

enum { OWNER_TEXT = 200 };

enum owner_standing {
	OWNER_ALIVE,	/* that very process runs */
	OWNER_DEAD,	/* it certainly does not */
	OWNER_ELSEWHERE /* on another machine or in another namespace: it cannot be told */
};

/* This process, with a NUL at the end. */
void owner_of_self(char out[OWNER_TEXT]);

/* What has become of an owner. What is no owner's name is dead. */
enum owner_standing owner_standing(struct str owner);

#endif
