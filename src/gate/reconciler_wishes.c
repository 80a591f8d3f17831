/*
 * Which operations the reconciler tries: those that somebody wishes to know about, and those that
 * are due (see reconciler.c).
 *
 * A wish comes by an operation's id alone, so it is looked up before it has a lane; where that has
 * no room it waits there. Wishes come before what is merely due. What the store has handed out as
 * due is leased to us, and nobody else tries it meanwhile.
 */
#include "gate/reconciler_internal.h"

#include <stdlib.h>

static bool is_tried(const struct background *background, const struct operation_id *id)
{
	struct list *link, *after;

	list_for_each (link, after, &background->tries) {
		const struct trial *trial = list_entry(link, struct trial, link);

		if (memcmp(&trial->id, id, sizeof(*id)) == 0)
			return true;
	}
	return false;
}

/* `lane` NULL: it is not known yet where it belongs. False: no memory. */
static bool try_it(struct background *background, struct lane *lane, const struct operation_id *id,
		   bool is_wished)
{
	struct trial *trial = calloc(1, sizeof(*trial));

	if (!trial)
		return false;
	trial->background = background;
	trial->id = *id;
	trial->is_wished = is_wished;
	trial->lane = lane;
	if (lane)
		lane->trying++;
	else
		background->finds++;
	list_append(&background->tries, &trial->link);
	trial_start(trial);
	return true;
}

/* Is somebody already going to find out, so that whoever waits for it will be called? */
static bool is_seen_to(const struct background *background, const struct operation_id *id)
{
	struct list *link, *after;

	list_for_each (link, after, &background->lanes) {
		if (wish_is_among(&list_entry(link, struct lane, link)->wishes, id))
			return true;
	}
	return is_tried(background, id);
}

void reconciler_take_wishes(struct background *background)
{
	struct operation_id id;

	while (!background->is_draining && background->finds < BACKGROUND_FINDS_MAX &&
	       background_next_wish(background, &id)) {
		background_forget_wish(background);
		if (!is_seen_to(background, &id) && !try_it(background, NULL, &id, true))
			call_waiters(background, &id);
	}
}

/* Wishes that wait for room come before what is merely due. */
static void grant_wishes(struct lane *lane)
{
	struct list *link, *after;

	list_for_each (link, after, &lane->wishes) {
		struct wish *wish = list_entry(link, struct wish, link);

		if (lane->trying >= lane_asks_max(lane))
			return;
		list_remove(&wish->link);
		background_forget_wish(lane->background);
		if (!try_it(lane->background, lane, &wish->id, true))
			call_waiters(lane->background, &wish->id);
		free(wish);
	}
}

/* What is due. */

struct due {
	struct lane *lane;
	struct store_command command;
	struct arena mem;
};

/* They are leased to us: where a wish has taken the room meanwhile, they are tried all the same. */
static void told_due(struct store_command *command)
{
	struct due *due = command->owner;
	struct lane *lane = due->lane;
	struct background *background = lane->background;

	lane->is_looking = false;
	background->commands--;
	if (command->result == 0)
		lane->ask_ms = command->due_ms;
	else
		lane_rest(lane);
	for (size_t i = 0; command->result == 0 && i < command->errand_count; i++) {
		const struct operation_id *id = &command->errands[i].operation.id;

		if (!background->is_draining && !is_tried(background, id))
			try_it(background, lane, id, false);
	}
	arena_fini(&due->mem);
	free(due);
	if (lane->looks_again)
		reconciler_look(lane);
	lane_wait(lane);
}

static void look(struct lane *lane)
{
	struct due *due = calloc(1, sizeof(*due));

	if (!due) {
		lane_rest(lane);
		return;
	}
	due->lane = lane;
	arena_init(&due->mem, BACKGROUND_MEMORY);
	due->command = (struct store_command){
		.kind = STORE_DUE,
		.mem = &due->mem,
		.done = told_due,
		.owner = due,
		.limit = lane_asks_max(lane) - lane->trying,
		.operation = {.upstream = lane->name},
	};
	lane->is_looking = true;
	lane->looks_again = false;
	lane->background->commands++;
	gate_ask(&lane->background->station, &due->command);
}

void reconciler_look(struct lane *lane)
{
	if (lane->background->is_draining || !lane->is_declared)
		return;
	grant_wishes(lane);
	if (lane->is_looking)
		lane->looks_again = true;
	else if (lane->trying < lane_asks_max(lane) && !lane_rests(lane))
		look(lane);
}

void wish_wait_in(struct lane *lane, const struct operation_id *id)
{
	struct wish *wish = calloc(1, sizeof(*wish));

	if (!wish) {
		call_waiters(lane->background, id);
		return;
	}
	wish->id = *id;
	pthread_mutex_lock(&lane->background->lock);
	lane->background->wish_count++;
	pthread_mutex_unlock(&lane->background->lock);
	list_append(&lane->wishes, &wish->link);
}
