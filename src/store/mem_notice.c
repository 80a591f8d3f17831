/*
 * Notices, in the in-memory store: a short list in the row of their operation, which has been
 * touched where one is added.
 */
#include "store/mem_internal.h"

#include "base/err.h"

static void put(struct record *record, enum notice_event event, int64_t now_ms)
{
	record->notices[record->notice_count] = (struct store_notice){
		.id = record->operation.id,
		.number = (uint32_t)record->notice_count + 1,
		.event = event,
		.at_ms = now_ms,
		.due_ms = now_ms,
	};
	record->notice_count++;
}

void notices_begin(const struct store_command *command, struct record *record)
{
	if (command->approval.is_told)
		put(record, NOTICE_ASKED, record->operation.created_ms);
}

void notices_add(struct record *record, enum notice_event event, int64_t now_ms)
{
	if (record->notice_count && record->notice_count < STORE_NOTICES_OF_ONE_MAX)
		put(record, event, now_ms);
}

/* The one that has been due for longest of those not in `command` yet; NULL: none is. */
static const struct store_notice *next_due(const struct memory *memory,
					   const struct store_notice *after, int64_t now_ms)
{
	const struct store_notice *found = NULL;

	for (size_t i = 0; i < record_count(memory); i++) {
		const struct record *record = record_at(memory, i);

		for (size_t n = 0; record_is_there(record) && n < record->notice_count; n++) {
			const struct store_notice *notice = &record->notices[n];
			bool is_past =
				after && (notice->due_ms < after->due_ms ||
					  (notice->due_ms == after->due_ms && notice <= after));

			if (!notice->due_ms || notice->due_ms > now_ms || is_past)
				continue;
			if (!found || notice->due_ms < found->due_ms)
				found = notice;
		}
	}
	return found;
}

/* When the next one is due, and how many there are. */
static int64_t next_ms(const struct memory *memory, int64_t now_ms, size_t *out_waiting)
{
	int64_t next = 0;

	*out_waiting = 0;

	for (size_t i = 0; i < record_count(memory); i++) {
		const struct record *record = record_at(memory, i);

		for (size_t n = 0; record_is_there(record) && n < record->notice_count; n++) {
			int64_t due_ms = record->notices[n].due_ms;

			*out_waiting += due_ms && *out_waiting < STORE_NOTICES_COUNTED;
			if (due_ms > now_ms && (!next || due_ms < next))
				next = due_ms;
		}
	}
	return next;
}

int mem_notices(const struct memory *memory, struct store_command *command)
{
	int64_t now_ms = env_wall_ms(memory->env);
	const struct store_notice *notice = NULL;

	require(command->limit >= 1 && command->limit <= STORE_ERRANDS_MAX);
	command->notice_count = 0;
	command->notices = arena_zalloc(command->mem, command->limit * sizeof(*command->notices));
	if (!command->notices)
		return FAIL_MEMORY;
	while (command->notice_count < command->limit &&
	       (notice = next_due(memory, notice, now_ms)))
		command->notices[command->notice_count++] = *notice;
	command->due_ms = next_ms(memory, now_ms, &command->notices_waiting);
	return 0;
}

int mem_noticed(struct memory *memory, struct store_command *command)
{
	struct record *record = record_by_id(memory, &command->notice.id, STR(""));
	uint32_t number = command->notice.number;
	int r;

	if (!record || number == 0 || number > record->notice_count)
		return 0;
	r = record_touch(memory, record);
	if (r < 0)
		return r;
	record->notices[number - 1].due_ms = command->next_ms;
	record->notices[number - 1].tries++;
	return 0;
}
