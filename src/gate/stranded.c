/*
 * Operations that wait for an upstream that nobody declares any more.
 *
 * They are the gate's own to send, or to find out about, but lanes are those of declared upstreams:
 * nobody would ever see to them, and nobody say so. So after a start and after each reload a page
 * of what is queued and one of what is unknown are looked through, and the log names some.
 */
#include "gate/background_internal.h"

#include <stdlib.h>

enum { STRANDED_MEMORY = 8 * 1024 * 1024 };

struct listing {
	struct background *background;
	struct store_command command;
	struct arena mem;
};

static void list_state(struct listing *listing, enum operation_state state);

static bool is_the_gates(const struct store_operation *operation)
{
	return operation->state == STATE_QUEUED ? operation->is_dispatched : operation->due_ms != 0;
}

static void warn_of(struct background *background, const struct store_operation *operation)
{
	const struct settings *settings = background->generation->settings;

	if (is_the_gates(operation) && !settings_upstream(settings, operation->upstream))
		background_warn(background, operation, "its upstream is no longer declared");
}

static void finish(struct listing *listing)
{
	listing->background->is_listing = false;
	free(listing);
}

static void listed(struct store_command *command)
{
	struct listing *listing = command->owner;
	struct background *background = listing->background;
	bool was_first = command->filter_state == STATE_QUEUED;

	background->commands--;
	for (size_t i = 0; command->result == 0 && i < command->found_count; i++)
		warn_of(background, &command->found[i]);
	arena_fini(&listing->mem);
	if (was_first && !background->is_draining)
		list_state(listing, STATE_UNKNOWN);
	else
		finish(listing);
}

static void list_state(struct listing *listing, enum operation_state state)
{
	arena_init(&listing->mem, STRANDED_MEMORY);
	listing->command = (struct store_command){
		.kind = STORE_LIST,
		.mem = &listing->mem,
		.done = listed,
		.owner = listing,
		.filter_state = state,
		.limit = STORE_LIST_MAX,
	};
	listing->background->commands++;
	gate_ask(&listing->background->station, &listing->command);
}

void stranded_look(struct background *background)
{
	struct listing *listing;

	if (background->is_listing)
		return;
	listing = calloc(1, sizeof(*listing));
	if (!listing)
		return;
	listing->background = background;
	background->is_listing = true;
	list_state(listing, STATE_QUEUED);
}
