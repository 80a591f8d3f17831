/*
 * What somebody outside is to be told of questions to people is there with what it tells of, in the
 * same transaction, until it has been told; whatever restarts.
 */
#include "ruled.h"

enum { OPEN_MS = 60000, LIMIT = 16 };

/* A claim that people have to agree to. */
static struct store_command *ask(struct world *world, const char *token, unsigned needed,
				 bool is_told)
{
	struct store_command *claim = ruled_outbox(ruled_claim(world, token));

	claim->approval = (struct store_approval){
		.needed = needed,
		.for_ms = OPEN_MS,
		.shown = STR("{\"command\":{}}"),
		.asked_by = STR("the asker"),
		.is_told = is_told,
	};
	return claim;
}

static struct store_operation asked(struct world *world, const char *token, unsigned needed)
{
	struct store_operation operation = ruled_done(world, ask(world, token, needed, true));

	assert_int_equal(operation.state, STATE_AWAITING_APPROVAL);
	return operation;
}

static struct store_command *notices(struct world *world)
{
	struct store_command *command = world_command(world, STORE_NOTICES);

	command->limit = LIMIT;
	assert_int_equal(world_do(world, command), 0);
	return command;
}

/* The events that are due, in order, as digits. */
static void expect_due(struct world *world, const char *events)
{
	const struct store_command *command = notices(world);

	assert_int_equal(command->notice_count, strlen(events));
	for (size_t i = 0; i < command->notice_count; i++)
		assert_int_equal(command->notices[i].event, events[i] - '0');
}

static void noticed(struct world *world, const struct store_notice *notice, int64_t next_ms)
{
	struct store_command *command = world_command(world, STORE_NOTICED);

	command->notice = *notice;
	command->next_ms = next_ms;
	assert_int_equal(world_do(world, command), 0);
}

static void answer(struct world *world, const struct store_operation *operation,
		   enum store_kind kind, const char *by)
{
	struct store_command *command = world_command(world, kind);

	command->operation.id = operation->id;
	command->consent = (struct store_consent){
		.fingerprint = operation->fingerprint,
		.by = str_from(by),
		.role = ROLE_APPROVER,
		.why = STR("because"),
	};
	assert_int_equal(world_do(world, command), 0);
}

static void a_question_is_told_until_it_has_been(void **state)
{
	struct world *world = world_of(state);
	struct store_operation operation = asked(world, "t1", 1);
	struct store_notice notice;
	struct store_command *command = notices(world);

	assert_int_equal(command->notice_count, 1);
	notice = command->notices[0];
	assert_same_id(&notice.id, &operation.id);
	assert_int_equal(notice.number, 1);
	assert_int_equal(notice.event, NOTICE_ASKED);
	assert_int_equal(notice.at_ms, operation.created_ms);
	assert_int_equal(notice.tries, 0);
	noticed(world, &notice, world->now_ms + 500);
	command = notices(world);
	assert_int_equal(command->notice_count, 0);
	assert_int_equal(command->notices_waiting, 1);
	assert_int_equal(command->due_ms, world->now_ms + 500);
	world->now_ms += 500;
	command = notices(world);
	assert_int_equal(command->notice_count, 1);
	assert_int_equal(command->notices[0].tries, 1);
	assert_int_equal(command->notices[0].number, 1);
	noticed(world, &notice, 0);
	command = notices(world);
	assert_int_equal(command->notice_count, 0);
	assert_int_equal(command->notices_waiting, 0);
	assert_int_equal(command->due_ms, 0);
}

static void each_answer_is_told(void **state)
{
	struct world *world = world_of(state);
	struct store_operation operation = asked(world, "t1", 2);

	answer(world, &operation, STORE_APPROVE, "ann");
	expect_due(world, "12");
	answer(world, &operation, STORE_APPROVE, "bob");
	expect_due(world, "123");
}

static void a_no_is_told(void **state)
{
	struct world *world = world_of(state);
	struct store_operation operation = asked(world, "t1", 1);

	answer(world, &operation, STORE_DENY, "ann");
	expect_due(world, "14");
}

static void too_late_is_told(void **state)
{
	struct world *world = world_of(state);
	struct store_command *lapse = world_command(world, STORE_LAPSE);

	asked(world, "t1", 1);
	world->now_ms += OPEN_MS;
	lapse->limit = LIMIT;
	assert_int_equal(world_do(world, lapse), 0);
	expect_due(world, "15");
}

static void taken_back_is_told(void **state)
{
	struct world *world = world_of(state);
	struct store_operation operation = asked(world, "t1", 1);

	ruled_moved(world, &operation, EVENT_CANCELLED);
	expect_due(world, "16");
}

static void asked_anew_is_told(void **state)
{
	struct world *world = world_of(state);
	struct store_operation operation = asked(world, "t1", 1);
	struct store_command *again = world_command(world, STORE_ASK_AGAIN);

	again->operation.id = operation.id;
	again->approval =
		(struct store_approval){.needed = 1, .for_ms = OPEN_MS, .shown = STR("{}")};
	assert_int_equal(world_do(world, again), 0);
	expect_due(world, "11");
}

static void nobody_is_told_unless_it_was_said(void **state)
{
	struct world *world = world_of(state);
	struct store_operation operation = ruled_done(world, ask(world, "t1", 1, false));

	answer(world, &operation, STORE_APPROVE, "ann");
	expect_due(world, "");
}

static void what_was_refused_is_not_told(void **state)
{
	struct world *world = world_of(state);
	struct store_operation operation = asked(world, "t1", 1);
	struct store_command *command = world_command(world, STORE_APPROVE);

	command->operation.id = operation.id;
	command->consent = (struct store_consent){.fingerprint = operation.fingerprint,
						  .by = STR("the asker")};
	assert_int_equal(world_do(world, command), STORE_OWN);
	expect_due(world, "1");
}

static void what_is_not_there_has_been_told(void **state)
{
	struct world *world = world_of(state);
	struct store_notice notice = {.number = 1};

	noticed(world, &notice, 0);
	notice.id = asked(world, "t1", 1).id;
	notice.number = 7;
	noticed(world, &notice, 0);
	expect_due(world, "1");
}

static void one_question_has_so_many_at_most(void **state)
{
	struct world *world = world_of(state);
	struct store_operation operation = asked(world, "t1", 1);
	struct store_command *command;

	for (int i = 0; i < STORE_NOTICES_OF_ONE_MAX + 5; i++) {
		command = world_command(world, STORE_ASK_AGAIN);
		command->operation.id = operation.id;
		command->approval =
			(struct store_approval){.needed = 1, .for_ms = OPEN_MS, .shown = STR("{}")};
		assert_int_equal(world_do(world, command), 0);
	}
	command = world_command(world, STORE_NOTICES);
	command->limit = STORE_ERRANDS_MAX;
	assert_int_equal(world_do(world, command), 0);
	assert_int_equal(command->notice_count, STORE_NOTICES_OF_ONE_MAX);
}

/* On disk alone: what there is to tell outlives its store. */
static void it_is_there_after_a_restart(void **state)
{
	struct store_operation operation;
	struct world world = {.now_ms = 0};
	char directory[64];

	world_directory(directory);
	assert_int_equal(world_open(&world, directory), 0);
	operation = asked(&world, "t1", 1);
	answer(&world, &operation, STORE_APPROVE, "ann");
	world_close(&world);
	assert_int_equal(world_open(&world, directory), 0);
	expect_due(&world, "13");
	world_close(&world);
	world_remove(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_BOTH(a_question_is_told_until_it_has_been),
		WORLD_BOTH(each_answer_is_told),
		WORLD_BOTH(a_no_is_told),
		WORLD_BOTH(too_late_is_told),
		WORLD_BOTH(taken_back_is_told),
		WORLD_BOTH(asked_anew_is_told),
		WORLD_BOTH(nobody_is_told_unless_it_was_said),
		WORLD_BOTH(what_was_refused_is_not_told),
		WORLD_BOTH(what_is_not_there_has_been_told),
		WORLD_BOTH(one_question_has_so_many_at_most),
		cmocka_unit_test(it_is_there_after_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
