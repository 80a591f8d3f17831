/*
 * Claims that this process has left behind (see left.h).
 *
 * This is of the process as the owner's name is: journals come and go, and whatever they left stays
 * claimed. Hence it hangs from no journal, and has a lock of its own.
 *
 * Always true: what is in the list was claimed by this process, and given up. What is not, because
 * it was forgotten, is taken for somebody at work, which is on the safe side.
 * Cannot fail.
 */
#include "client/left.h"

#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct left_claim claims[LEFT_MAX];
static size_t next; /* where the next one goes */

/* An entry's id is never 0: such a place is empty. */
static struct left_claim *find(const struct left_claim *claim)
{
	for (size_t i = 0; i < LEFT_MAX; i++)
		if (claims[i].entry == claim->entry && claims[i].file == claim->file &&
		    claims[i].device == claim->device)
			return &claims[i];
	return NULL;
}

void left_add(const struct left_claim *claim)
{
	pthread_mutex_lock(&lock);
	if (!find(claim)) {
		claims[next] = *claim;
		next = (next + 1) % LEFT_MAX;
	}
	pthread_mutex_unlock(&lock);
}

bool left_has(const struct left_claim *claim)
{
	bool is_there;

	pthread_mutex_lock(&lock);
	is_there = find(claim) != NULL;
	pthread_mutex_unlock(&lock);
	return is_there;
}

void left_remove(const struct left_claim *claim)
{
	struct left_claim *found;

	pthread_mutex_lock(&lock);
	found = find(claim);
	if (found)
		*found = (struct left_claim){.entry = 0};
	pthread_mutex_unlock(&lock);
}
