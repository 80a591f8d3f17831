/*
 * Asking the store before there is a loop to be answered on: what the gate has to know before it
 * serves. The answer is waited for right here; only while it starts.
 */
#include "gate/gate.h"

#include <pthread.h>

struct answer_box {
	struct store_inbox inbox;
	pthread_mutex_t lock;
	pthread_cond_t came;
	bool has_come;
};

static void wake(struct store_inbox *inbox)
{
	struct answer_box *box = inbox->owner;

	pthread_mutex_lock(&box->lock);
	box->has_come = true;
	pthread_cond_signal(&box->came);
	pthread_mutex_unlock(&box->lock);
}

static void done(struct store_command *command)
{
}

void gate_ask_now(struct store *store, struct store_command *command)
{
	struct answer_box box = {.inbox = {.wake = wake}};

	box.inbox.owner = &box;
	pthread_mutex_init(&box.lock, NULL);
	pthread_cond_init(&box.came, NULL);
	command->home = &box.inbox;
	command->done = done;
	store_submit(store, command);
	pthread_mutex_lock(&box.lock);
	while (!box.has_come)
		pthread_cond_wait(&box.came, &box.lock);
	pthread_mutex_unlock(&box.lock);
	store_deliver(&box.inbox);
	pthread_cond_destroy(&box.came);
	pthread_mutex_destroy(&box.lock);
}
