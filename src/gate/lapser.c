/*
 * Questions whose time is over end, also when nobody looks.
 *
 * The store remembers until when each is open; this asks it to cancel those that are past that, a
 * bounded number at a time, when the next one is due, when somebody pokes, and now and then, since
 * the wall clock may step. Whoever waits for the end of one is called.
 */
#include "gate/background_internal.h"

enum { LAPSER_MEMORY = 1024 * 1024 };

static void lapsed(struct store_command *command);

static void look_in(struct lapser *lapser, int64_t ms)
{
	loop_timer_start(&lapser->background->station.loop, &lapser->timer, ms);
}

void lapser_look(struct lapser *lapser)
{
	struct background *background = lapser->background;

	if (lapser->is_asking) {
		lapser->asks_again = true;
		return;
	}
	loop_timer_cancel(&lapser->timer);
	if (background->is_draining)
		return;
	arena_init(&lapser->mem, LAPSER_MEMORY);
	lapser->command = (struct store_command){
		.kind = STORE_LAPSE,
		.mem = &lapser->mem,
		.done = lapsed,
		.owner = lapser,
		.limit = STORE_ERRANDS_MAX,
		.retention_ms = background->generation->settings->tokens.retention_ms,
	};
	lapser->is_asking = true;
	lapser->asks_again = false;
	background->commands++;
	gate_ask(&background->station, &lapser->command);
}

static void tell(struct background *background, const struct operation_id *id)
{
	char text[OPERATION_ID_TEXT + 1];
	struct log_line line;

	operation_id_write(id, text);
	log_begin(&line, background->gate->log, LOG_INFO, "approval-expired");
	log_text(&line, "operation", text);
	log_end(&line);
	waiting_call(&background->gate->waiting, id);
}

/* Nothing waits: whoever makes a question pokes. */
static void wait_for_next(struct lapser *lapser, int64_t due_ms)
{
	int64_t ms = due_ms - background_wall_ms(lapser->background);

	if (!due_ms)
		return;
	if (ms < BACKGROUND_SOON_MS)
		ms = BACKGROUND_SOON_MS;
	look_in(lapser, ms < BACKGROUND_LOOK_MS ? ms : BACKGROUND_LOOK_MS);
}

static void lapsed(struct store_command *command)
{
	struct lapser *lapser = command->owner;
	struct background *background = lapser->background;

	background->commands--;
	lapser->is_asking = false;
	if (background->is_draining)
		;
	else if (command->result != 0)
		look_in(lapser, BACKGROUND_FAILED_MS);
	else
		wait_for_next(lapser, command->due_ms);
	if (command->result == 0)
		metrics_set(&background->metrics.oldest_asked_ms, (uint64_t)command->oldest_ms);
	for (size_t i = 0; command->result == 0 && i < command->cancelled_count; i++)
		tell(background, &command->cancelled[i]);
	if (command->result == 0 && command->cancelled_count)
		notifier_look(&background->notifier);
	lapser->asks_again |= command->result == 0 && command->has_more;
	arena_fini(&lapser->mem);
	if (lapser->asks_again)
		lapser_look(lapser);
}

static void time_to_look(struct loop_timer *timer)
{
	lapser_look(list_entry(timer, struct lapser, timer));
}

void lapser_init(struct lapser *lapser, struct background *background)
{
	lapser->background = background;
	loop_timer_init(&lapser->timer, time_to_look);
}

void lapser_stop(struct lapser *lapser)
{
	loop_timer_cancel(&lapser->timer);
}
