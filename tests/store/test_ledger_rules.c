/*
 * Shows that rules outlive the process that judged by them: identities, locks, lines, budgets and
 * errands are after a restart what they were before, whatever was under way.
 */
#include "world.h"

#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[64];
static struct world world;

static int set_up(void **state)
{
	world_directory(directory);
	return world_open(&world, directory);
}

static int tear_down(void **state)
{
	world_close(&world);
	world_remove(directory);
	return 0;
}

static void restart(void)
{
	world_close(&world);
	assert_int_equal(world_open(&world, directory), 0);
}

/* The one number of a query, while no gate has the file. */
static int number(const char *sql)
{
	sqlite3_stmt *statement;
	char path[128];
	sqlite3 *db;
	int n;

	snprintf(path, sizeof(path), "%s/counterfoil.db", directory);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	n = sqlite3_column_int(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return n;
}

static struct store_command *claim(const char *token)
{
	return world_claim(&world, "acme", token, 'a');
}

static struct store_command *claim_unique(const char *token, char identity)
{
	struct store_command *command = claim(token);

	command->rules.has_unique = true;
	memset(command->rules.unique.bytes, identity, HASH_SIZE);
	command->rules.unique_ms = DAY_MS;
	return command;
}

static struct store_command *claim_lock(const char *token, char lock, bool queues)
{
	struct store_command *command = claim(token);

	command->rules.has_lock = true;
	memset(command->rules.lock.bytes, lock, HASH_SIZE);
	command->rules.lock_name = STR("service=web");
	command->rules.lock_queues = queues;
	if (!queues)
		return command;
	command->operation.is_dispatched = true;
	command->request = (struct store_request){.method = STR("POST"),
						  .target = STR("/v1/tickets?x=1"),
						  .headers = STR("Authorization: Bearer t\r\n"),
						  .body = STR("{\"a\":1}"),
						  .has_body = true,
						  .lookup = STR("")};
	return command;
}

static struct store_command *claim_spending(const char *token, int64_t amount)
{
	struct store_command *command = claim(token);

	command->rules.has_budget = true;
	memset(command->rules.budget.bytes, 'b', HASH_SIZE);
	command->rules.spends = (struct money){"EUR", amount};
	return command;
}

static void open_budget(const char *token, int64_t amount, int64_t for_ms)
{
	struct store_command *command = claim(token), *settle;

	command->rules.opens_budget = true;
	command->rules.opens = (struct money){"EUR", amount};
	command->rules.budget_ms = for_ms;
	assert_int_equal(world_do(&world, command), 0);
	settle = world_settle(&world, &command->operation, EVENT_SUCCEEDED);
	memset(settle->opens.bytes, 'b', HASH_SIZE);
	assert_int_equal(world_do(&world, settle), 0);
}

static struct store_command *settle(const struct store_operation *operation,
				    enum operation_event event)
{
	struct store_command *command = world_settle(&world, operation, event);

	assert_int_equal(world_do(&world, command), 0);
	return command;
}

static struct store_command *errands(enum store_kind kind)
{
	struct store_command *command = world_command(&world, kind);

	command->operation.upstream = STR("default");
	command->limit = STORE_ERRANDS_MAX;
	command->attempt = (struct store_attempt){
		.at_ms = world.now_ms, .delivered = -1, .by = ACTOR_DISPATCHER};
	assert_int_equal(world_do(&world, command), 0);
	return command;
}

static void assert_id(const struct store_operation *operation, const struct operation_id *id)
{
	assert_memory_equal(operation->id.bytes, id->bytes, OPERATION_ID_SIZE);
}

/* Claimed, and what remains of it after a restart. */
static struct operation_id claimed(struct store_command *command)
{
	assert_int_equal(world_do(&world, command), 0);
	return command->operation.id;
}

/* An identity that is taken is so in the next process, which has it from the operation's row. */
static void identity_is_taken_after_a_restart(void **state)
{
	struct store_command *first = claim_unique("t1", 'i'), *second;
	struct operation_id first_id;

	first_id = claimed(first);
	settle(&first->operation, EVENT_SUCCEEDED);
	restart();
	second = claim_unique("t2", 'i');
	assert_int_equal(world_do(&world, second), STORE_REUSED);
	assert_id(&second->operation, &first_id);
	assert_str(second->operation.answer.body, "{\"id\":7}");
	assert_int_equal(world_find_token(&world, "acme", "t2")->result, STORE_ABSENT);
}

/* The newer of two operations with one identity counts, also where the older is in the index on
 * disk and the newer only in memory. */
static void newer_identity_counts(void **state)
{
	struct store_command *old = claim_unique("t1", 'i'), *new, *third;
	struct operation_id new_id;

	assert_int_equal(world_do(&world, old), 0);
	settle(&old->operation, EVENT_REFUSED);
	new = claim_unique("t2", 'i');
	new_id = claimed(new);
	restart();
	third = claim_unique("t3", 'i');
	assert_int_equal(world_do(&world, third), STORE_REUSED);
	assert_id(&third->operation, &new_id);
}

/* Forgetting an operation leaves the identity to a newer one, and frees its own. */
static void purge_forgets_identities(void **state)
{
	struct store_command *first = claim_unique("t1", 'i'), *purge, *second;

	assert_int_equal(world_do(&world, first), 0);
	settle(&first->operation, EVENT_SUCCEEDED);
	world.now_ms += DAY_MS;
	second = claim_unique("t2", 'i');
	assert_int_equal(world_do(&world, second), 0);
	purge = world_command(&world, STORE_PURGE);
	assert_int_equal(world_do(&world, purge), 0);
	assert_int_equal(purge->purged, 1);
	assert_int_equal(world_do(&world, claim_unique("t3", 'i')), STORE_REUSED);
	restart();
	assert_int_equal(world_do(&world, claim_unique("t3", 'i')), STORE_REUSED);
	world_close(&world);
	assert_int_equal(number("SELECT count(*) FROM rule"), 1);
	assert_int_equal(world_open(&world, directory), 0);
}

/* What was running when the gate died has its lock still, being unknown. */
static void unknown_holds_its_lock(void **state)
{
	struct store_command *holder = claim_lock("t1", 'l', false), *second, *move;
	struct operation_id holder_id;

	holder_id = claimed(holder);
	assert_int_equal(holder->fence, 1);
	restart();
	second = claim_lock("t2", 'l', false);
	assert_int_equal(world_do(&world, second), STORE_LOCKED);
	assert_id(&second->operation, &holder_id);
	assert_str(second->view.lock_name, "service=web");
	move = world_command(&world, STORE_MOVE);
	move->operation.id = holder_id;
	move->any_epoch = true;
	move->event = EVENT_FOUND_DONE;
	assert_int_equal(world_do(&world, move), 0);
	second = claim_lock("t2", 'l', false);
	second->rules.has_version = true;
	second->rules.version = 1;
	assert_int_equal(world_do(&world, second), 0);
	assert_int_equal(second->fence, 2);
}

/* A line is what it was, in the order of the claims; each gets the lock with its turn. */
static void line_outlives_its_process(void **state)
{
	struct store_command *holder = claim_lock("t1", 'l', true), *second, *third, *take;
	struct operation_id holder_id, second_id;

	holder_id = claimed(holder);
	assert_int_equal(holder->operation.state, STATE_RUNNING);
	second = claim_lock("t2", 'l', true);
	third = claim_lock("t3", 'l', true);
	second_id = claimed(second);
	assert_int_equal(second->operation.state, STATE_QUEUED);
	assert_int_equal(world_do(&world, third), 0);
	assert_int_equal(errands(STORE_TAKE)->errand_count, 0);
	restart();
	third = claim_lock("t4", 'm', true);
	third->operation.state = STATE_QUEUED;
	third->waiting_max = 2;
	assert_int_equal(world_do(&world, third), STORE_FULL);
	take = world_command(&world, STORE_MOVE);
	take->operation.id = holder_id;
	take->any_epoch = true;
	take->event = EVENT_FOUND_FAILED;
	assert_int_equal(world_do(&world, take), 0);
	assert_true(take->makes_due);
	take = errands(STORE_TAKE);
	assert_int_equal(take->errand_count, 1);
	assert_id(&take->errands[0].operation, &second_id);
	assert_int_equal(take->errands[0].fence, 2);
	assert_int_equal(take->errands[0].attempt_number, 2);
	assert_str(take->errands[0].request.body, "{\"a\":1}");
	assert_int_equal(errands(STORE_TAKE)->errand_count, 0);
}

/* Who comes back is the first again, and the next one waits while it backs off. */
static void returned_one_keeps_its_place(void **state)
{
	struct store_command *first = claim_lock("t1", 'l', true), *second, *back, *take;

	assert_int_equal(world_do(&world, first), 0);
	second = claim_lock("t2", 'l', true);
	assert_int_equal(world_do(&world, second), 0);
	back = world_settle(&world, &first->operation, EVENT_NOT_SENT);
	back->next_ms = world.now_ms + 5000;
	assert_int_equal(world_do(&world, back), 0);
	take = errands(STORE_TAKE);
	assert_int_equal(take->errand_count, 0);
	assert_int_equal(take->due_ms, world.now_ms + 5000);
	world.now_ms += 5000;
	take = errands(STORE_TAKE);
	assert_int_equal(take->errand_count, 1);
	assert_id(&take->errands[0].operation, &first->operation.id);
	assert_int_equal(take->errands[0].operation.tries, 2);
}

/* Who expected another version is cancelled when its turn comes, and the next one has it. */
static void outdated_waiter_is_cancelled(void **state)
{
	struct store_command *first = claim_lock("t1", 'l', true), *second, *third, *found;

	assert_int_equal(world_do(&world, first), 0);
	second = claim_lock("t2", 'l', true);
	second->rules.has_version = true;
	second->rules.version = 0;
	assert_int_equal(world_do(&world, second), 0);
	third = claim_lock("t3", 'l', true);
	assert_int_equal(world_do(&world, third), 0);
	settle(&first->operation, EVENT_SUCCEEDED);
	found = errands(STORE_TAKE);
	assert_int_equal(found->errand_count, 1);
	assert_id(&found->errands[0].operation, &third->operation.id);
	found = world_find_id(&world, &second->operation.id, "acme");
	assert_int_equal(found->operation.state, STATE_CANCELLED);
	assert_str(found->operation.decided_by, "gate");
	assert_int_equal(found->request.method.len, 0);
}

/* Taken away by force, the lock goes to the next one; the number of the first is the older. */
static void lock_is_released_by_force(void **state)
{
	struct store_command *first = claim_lock("t1", 'l', true), *second, *release, *list;

	assert_int_equal(world_do(&world, first), 0);
	second = claim_lock("t2", 'l', true);
	assert_int_equal(world_do(&world, second), 0);
	settle(&first->operation, EVENT_LOST_SIGHT);
	list = world_command(&world, STORE_LOCKS);
	list->lock_count = 10;
	assert_int_equal(world_do(&world, list), 0);
	assert_int_equal(list->lock_count, 1);
	assert_memory_equal(&list->locks[0].holder, &first->operation.id, OPERATION_ID_SIZE);
	assert_int_equal(list->locks[0].holder_state, STATE_UNKNOWN);
	assert_int_equal(list->locks[0].waiting, 1);
	release = world_command(&world, STORE_RELEASE);
	release->operation.id = first->operation.id;
	release->attempt.outcome = OUTCOME_UNKNOWN;
	release->attempt.by = ACTOR_OPERATOR;
	release->attempt.note = STR("the machine is gone");
	assert_int_equal(world_do(&world, release), 0);
	assert_true(release->makes_due);
	assert_int_equal(errands(STORE_TAKE)->errands[0].fence, 2);
	release = world_find_id(&world, &first->operation.id, "acme");
	assert_false(release->view.holds_lock);
	assert_int_equal(release->attempts[1].by, ACTOR_OPERATOR);
	assert_str(release->attempts[1].note, "the machine is gone");
	assert_str(release->request.target, "/v1/tickets?x=1");
}

/* What is spent stays spent, and what failed is given back, whatever restarts between. */
static void budget_outlives_its_process(void **state)
{
	struct store_command *spends, *over;
	struct operation_id spends_id;

	open_budget("t1", 1000, INT64_MAX);
	restart();
	spends = claim_spending("t2", 700);
	spends_id = claimed(spends);
	restart();
	over = claim_spending("t3", 301);
	assert_int_equal(world_do(&world, over), STORE_OVER_BUDGET);
	assert_int_equal(over->view.budget_total, 1000);
	assert_int_equal(over->view.budget_used, 700);
	over = world_command(&world, STORE_MOVE);
	over->operation.id = spends_id;
	over->any_epoch = true;
	over->event = EVENT_FOUND_FAILED;
	assert_int_equal(world_do(&world, over), 0);
	assert_int_equal(world_do(&world, claim_spending("t3", INT64_MAX)), STORE_OVER_BUDGET);
	assert_int_equal(world_do(&world, claim_spending("t3", 1000)), 0);
}

/* Its time over, a budget is as if nobody had opened it, and may be opened anew. */
static void budget_is_forgotten(void **state)
{
	struct store_command *purge;

	open_budget("t1", 1000, 1000);
	assert_int_equal(world_do(&world, claim_spending("t2", 1)), 0);
	world.now_ms += 1000;
	assert_int_equal(world_do(&world, claim_spending("t3", 1)), STORE_NO_BUDGET);
	purge = world_command(&world, STORE_PURGE);
	assert_int_equal(world_do(&world, purge), 0);
	restart();
	assert_int_equal(world_do(&world, claim_spending("t3", 1)), STORE_NO_BUDGET);
	open_budget("t4", 5, INT64_MAX);
	assert_int_equal(world_do(&world, claim_spending("t5", 5)), 0);
	assert_int_equal(world_do(&world, claim_spending("t6", 1)), STORE_OVER_BUDGET);
}

/* A request is kept as long as it may be sent, and not a moment longer. */
static void ended_operations_keep_no_request(void **state)
{
	struct store_command *ends = claim_lock("t1", 'l', true),
			     *stays = claim_lock("t2", 'm', true);

	assert_int_equal(world_do(&world, ends), 0);
	assert_int_equal(world_do(&world, stays), 0);
	settle(&ends->operation, EVENT_SUCCEEDED);
	world_close(&world);
	assert_int_equal(number("SELECT count(*) FROM request"), 1);
	assert_int_equal(world_open(&world, directory), 0);
}

/* What the gate can find out about is due at once after a restart, and other things are not. */
static void interrupted_errands_are_due(void **state)
{
	struct store_command *probed = claim("t1"), *plain = claim("t2"), *due;
	struct operation_id probed_id;
	uint32_t epoch;

	probed->operation.probe = STR("/v1/tickets?reference=7");
	probed_id = claimed(probed);
	assert_int_equal(world_do(&world, plain), 0);
	restart();
	due = errands(STORE_DUE);
	assert_int_equal(due->errand_count, 1);
	assert_id(&due->errands[0].operation, &probed_id);
	assert_str(due->errands[0].operation.probe, "/v1/tickets?reference=7");
	epoch = due->errands[0].operation.epoch;
	due = errands(STORE_DUE); /* it is in somebody's hands now */
	assert_int_equal(due->errand_count, 0);
	assert_int_equal(due->due_ms, world.now_ms + 60000);
	probed = world_command(&world, STORE_POSTPONE);
	probed->operation.id = probed_id;
	probed->operation.epoch = epoch;
	probed->next_ms = world.now_ms + 7;
	assert_int_equal(world_do(&world, probed), 0);
	assert_int_equal(errands(STORE_DUE)->due_ms, world.now_ms + 7);
}

/* Whoever had it in hand is gone: a restart does not leave it alone until the lease ends. */
static void leases_end_with_their_process(void **state)
{
	struct store_command *probed = claim("p");
	struct operation_id id;

	probed->operation.probe = STR("/v1/tickets?reference=7");
	id = claimed(probed);
	restart();
	assert_int_equal(errands(STORE_DUE)->errand_count, 1);
	assert_int_equal(errands(STORE_DUE)->errand_count, 0);
	restart();
	assert_id(&errands(STORE_DUE)->errands[0].operation, &id);
}

/* A failure is kept as long as any record, and only a success as long as its identity. */
static void failures_are_kept_shorter(void **state)
{
	struct store_command *first = claim_unique("t1", 'i'), *end;

	assert_int_equal(world_do(&world, first), 0);
	end = world_settle(&world, &first->operation, EVENT_REFUSED);
	end->plain_retention_ms = 1000;
	assert_int_equal(world_do(&world, end), 0);
	assert_int_equal(end->operation.expires_ms, world.now_ms + 1000);
	assert_int_equal(world_find_id(&world, &first->operation.id, "")->operation.expires_ms,
			 world.now_ms + 1000);
}

/* The operation that was retried knows by whom. */
static void retries_are_found(void **state)
{
	struct store_command *first = claim("t1"), *second = claim("t2"), *found;
	struct operation_id first_id, second_id;
	char text[OPERATION_ID_TEXT + 1];

	first_id = claimed(first);
	settle(&first->operation, EVENT_REFUSED);
	operation_id_write(&first_id, text);
	second->operation.retry_of = str_from(text);
	second_id = claimed(second);
	restart();
	found = world_find_id(&world, &first_id, "acme");
	assert_int_equal(found->retry_count, 1);
	assert_memory_equal(found->retries[0].bytes, second_id.bytes, OPERATION_ID_SIZE);
}

enum { ROUND_LEAST = 4 }; /* claims of a child before it is killed, however slow the machine is */

/* Without an end: claims with all rules; most end well, some are lost sight of or come back. */
static void child(int fd, int round)
{
	static const enum operation_event ends[] = {EVENT_SUCCEEDED, EVENT_REFUSED,
						    EVENT_LOST_SIGHT, EVENT_NOT_SENT};
	struct store_command *command;
	char token[32];

	if (world_open(&world, directory) != 0)
		_exit(1);
	for (int i = 0;; i++) {
		snprintf(token, sizeof(token), "r%d-%d", round, i);
		command = claim_lock(token, (char)('a' + rand() % 9), rand() % 2);
		command->rules.has_budget = command->rules.has_unique = true;
		memset(command->rules.budget.bytes, 'b', HASH_SIZE);
		memset(command->rules.unique.bytes, rand() % 50, HASH_SIZE);
		command->rules.unique_ms = DAY_MS;
		command->rules.spends = (struct money){"EUR", 3};
		if (world_do(&world, command) == 0 && command->operation.state == STATE_RUNNING) {
			command = world_settle(&world, &command->operation, ends[rand() % 4]);
			command->next_ms = world.now_ms;
			world_do(&world, command);
		}
		if (i % 8 == 0)
			errands(STORE_TAKE);
		if (i == ROUND_LEAST && write(fd, "", 1) != 1)
			_exit(2);
	}
}

/* Killed at any moment, the ledger's rules agree with its operations. */
static void killed_gate_leaves_rules_that_agree(void **state)
{
	static const char *const breaches[] = {
		"SELECT count(*) FROM lock l LEFT JOIN operation o ON o.op = l.holder"
		" WHERE l.holder <> 0 AND coalesce(o.state, 0) NOT IN (3, 4)",
		"SELECT count(*) FROM operation o JOIN rule r ON r.op = o.op JOIN lock l"
		" ON l.op = r.lock WHERE o.state IN (3, 4) AND l.holder <> o.op",
		"SELECT count(*) FROM (SELECT r.op FROM rule r JOIN operation o ON o.op = r.op"
		" WHERE o.state = 2 AND r.flags & 32 AND r.lock EXCEPT SELECT op FROM line)",
		"SELECT count(*) FROM (SELECT op FROM line EXCEPT SELECT r.op FROM rule r"
		" JOIN operation o ON o.op = r.op WHERE o.state = 2 AND r.flags & 32)",
		"SELECT used - (SELECT coalesce(sum(spends), 0) FROM rule r JOIN operation o"
		" ON o.op = r.op WHERE r.budget = b.op AND o.state < 6) FROM budget b",
		"SELECT value - (SELECT count(*) FROM line) FROM counter WHERE id = 10",
		"SELECT count(*) FROM (SELECT 1 FROM rule r JOIN operation o ON o.op = r.op"
		" WHERE length(identity) AND o.state < 6 GROUP BY identity HAVING count(*) > 1)",
	};
	int status, ends[2];
	struct pollfd pipe_end;
	pid_t pid;

	open_budget("opens", 1000000, INT64_MAX);
	for (int round = 0; round < 8; round++) {
		world_close(&world);
		assert_int_equal(pipe(ends), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			child(ends[1], round);
		pipe_end = (struct pollfd){.fd = ends[0], .events = POLLIN};
		assert_int_equal(poll(&pipe_end, 1, 30000), 1);
		usleep((useconds_t)(round * 17000));
		kill(pid, SIGKILL);
		close(ends[0]);
		close(ends[1]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		for (size_t i = 0; i < sizeof(breaches) / sizeof(breaches[0]); i++)
			assert_int_equal(number(breaches[i]), 0);
		assert_int_equal(world_open(&world, directory), 0);
	}
	world_close(&world);
	assert_true(number("SELECT count(*) FROM rule") > 0);
	assert_int_equal(world_open(&world, directory), 0);
}

#define ON_DISK(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		ON_DISK(identity_is_taken_after_a_restart),
		ON_DISK(newer_identity_counts),
		ON_DISK(purge_forgets_identities),
		ON_DISK(unknown_holds_its_lock),
		ON_DISK(line_outlives_its_process),
		ON_DISK(returned_one_keeps_its_place),
		ON_DISK(outdated_waiter_is_cancelled),
		ON_DISK(lock_is_released_by_force),
		ON_DISK(budget_outlives_its_process),
		ON_DISK(budget_is_forgotten),
		ON_DISK(ended_operations_keep_no_request),
		ON_DISK(interrupted_errands_are_due),
		ON_DISK(leases_end_with_their_process),
		ON_DISK(failures_are_kept_shorter),
		ON_DISK(retries_are_found),
		ON_DISK(killed_gate_leaves_rules_that_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
