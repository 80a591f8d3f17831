/*
 * The janitor: forgets what has expired, a little at a time.
 *
 * One bounded purge a second, and the next one soon while more has expired: writers never
 * wait for more than one small batch of it.
 */
#include "gate/gate.h"

enum { JANITOR_EVERY_MS = 1000, JANITOR_BUSY_MS = 20, JANITOR_MEMORY = 64 * 1024 };

static void purged(struct store_command *command)
{
	struct janitor *janitor = command->owner;
	struct gate *gate = janitor->gate;
	struct log_line line;

	janitor->is_asking = false;
	arena_fini(&janitor->mem);
	if (command->purged) {
		log_begin(&line, gate->log, LOG_DEBUG, "purged");
		log_int(&line, "operations", (int64_t)command->purged);
		log_int(&line, "tombstones_dropped", (int64_t)command->tombstones);
		log_end(&line);
	}
	loop_timer_start(&gate->control.loop, &janitor->timer,
			 command->result == 0 && command->has_more ? JANITOR_BUSY_MS
								   : JANITOR_EVERY_MS);
}

static void time_to_purge(struct loop_timer *timer)
{
	struct janitor *janitor = list_entry(timer, struct janitor, timer);

	arena_init(&janitor->mem, JANITOR_MEMORY);
	janitor->is_asking = true;
	janitor->command = (struct store_command){
		.kind = STORE_PURGE,
		.mem = &janitor->mem,
		.done = purged,
		.owner = janitor,
		.tombstone_ms = gate_settings(janitor->gate)->tokens.tombstones_ms,
	};
	gate_ask(&janitor->gate->control, &janitor->command);
}

void janitor_start(struct gate *gate)
{
	gate->janitor.gate = gate;
	loop_timer_init(&gate->janitor.timer, time_to_purge);
	loop_timer_start(&gate->control.loop, &gate->janitor.timer, JANITOR_EVERY_MS);
}

void janitor_stop(struct gate *gate)
{
	if (!gate->janitor.gate)
		return;
	loop_timer_cancel(&gate->janitor.timer);
	if (gate->janitor.is_asking)
		arena_fini(&gate->janitor.mem); /* its answer is not delivered any more */
}
