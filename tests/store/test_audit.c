/*
 * Shows that every change has its entry in the audit log, that what is published verifies, and that
 * a directory which does not fit what was published of it is refused.
 */
#include "logged.h"
#include "ruled.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* -- what is told ------------------------------------------------------------------ */

static void first_write_has_two_entries(void **state)
{
	open_world();
	world_completed(&world, "acme", "t1");
	close_and_read(2);
	assert_told(0, ENTRY_CLAIM, "\"events\":[\"attempted\",\"sent\"],\"operation\":\"op_");
	assert_told(0, ENTRY_CLAIM, "\"account\":\"acme\",\"token\":\"t1\",\"fingerprint\":\"6161");
	assert_told(0, ENTRY_CLAIM, "\"action\":\"tickets.create\",\"method\":\"POST\"");
	assert_told(0, ENTRY_CLAIM, "\"to\":\"running\",\"epoch\":1,\"attempt\":1");
	assert_told(0, ENTRY_CLAIM,
		    "\"agent\":\"agent-1\",\"task\":\"task-1\",\"step\":\"step-1\","
		    "\"request\":\"request-1\"");
	assert_told(1, ENTRY_OUTCOME, "\"events\":[\"completed\"]");
	assert_told(1, ENTRY_OUTCOME, "\"token\":\"t1\"");
	assert_told(1, ENTRY_OUTCOME, "\"from\":\"running\",\"to\":\"completed\"");
	assert_told(1, ENTRY_OUTCOME, "\"status\":201,\"digest\":\"0909");
}

static void bodies_and_headers_are_not_told(void **state)
{
	open_world();
	world_completed(&world, "acme", "t1");
	close_and_read(2);
	for (size_t i = 0; i < told.count; i++) {
		assert_null(strstr(told.texts[i], "{\\\"id\\\""));
		assert_null(strstr(told.texts[i], "Location"));
	}
}

static void note_has_an_entry_of_its_own(void **state)
{
	struct store_operation first;
	struct store_attempt note = {.at_ms = 1700000000123,
				     .outcome = OUTCOME_REPLAYED,
				     .request_id = STR("again"),
				     .delivered = -1};

	open_world();
	first = world_completed(&world, "acme", "t1");
	store_note(world.store, &first.id, &note);
	note.outcome = OUTCOME_CONFLICT;
	store_note(world.store, &first.id, &note);
	close_and_read(4);
	assert_told(2, ENTRY_REPLAY, "\"events\":[\"replayed\"]");
	assert_told(2, ENTRY_REPLAY, "\"request\":\"again\",\"at_ms\":1700000000123");
	assert_told(3, ENTRY_REPLAY, "\"events\":[\"conflict\"]");
}

static void refusal_is_told_though_it_leaves_nothing(void **state)
{
	const struct store_operation refused = {.account = STR("acme"),
						.token = STR("t9"),
						.method = STR("POST"),
						.path = STR("/v1/deployments")};
	const struct store_attempt attempt = {
		.at_ms = 1700000000123, .outcome = OUTCOME_LOCKED, .delivered = -1};

	open_world();
	store_tell(world.store, &refused, &attempt);
	close_and_read(1);
	assert_told(0, ENTRY_REPLAY,
		    "{\"events\":[\"refused\"],\"account\":\"acme\",\"token\":\"t9\"");
	assert_told(0, ENTRY_REPLAY, "\"outcome\":\"locked\"");
}

static void administration_is_told_with_its_document(void **state)
{
	struct store_command *keep;

	open_world();
	keep = world_command(&world, STORE_KEEP);
	keep->document =
		(struct store_document){DOCUMENT_SECRET, STR("pay_key"), STR("hunter2"), 0};
	keep->administration = (struct store_administration){
		"secret_set", STR("pay_key"), STR("acme"), STR("key_1"), STR("it was old")};
	assert_int_equal(world_do(&world, keep), 0);
	keep->administration.event = NULL; /* nothing that is to be told */
	assert_int_equal(world_do(&world, keep), 0);
	keep->kind = STORE_DROP;
	keep->administration.event = "secret_removed";
	assert_int_equal(world_do(&world, keep), 0);
	assert_int_equal(world_do(&world, keep), STORE_ABSENT);
	close_and_read(2);
	assert_told(0, ENTRY_ADMINISTRATION,
		    "{\"events\":[\"secret_set\"],\"subject\":\"pay_key\",\"account\":\"acme\","
		    "\"by\":\"key_1\",\"reason\":\"it was old\"}");
	assert_told(1, ENTRY_ADMINISTRATION, "\"secret_removed\"");
	assert_null(strstr(told.texts[0], "hunter2"));
}

static void administration_without_a_document_is_told(void **state)
{
	char subject[] = "key_2";
	struct store_administration failed = {.event = "authentication_failed",
					      .subject = str_from(subject),
					      .by = STR("192.0.2.1")};

	open_world();
	store_tell_administration(world.store, &failed);
	memset(subject, 'x', sizeof(subject) - 1); /* it was copied */
	close_and_read(1);
	assert_told(0, ENTRY_ADMINISTRATION,
		    "{\"events\":[\"authentication_failed\"],\"subject\":\"key_2\","
		    "\"by\":\"192.0.2.1\"}");
}

static void resolution_says_who_and_why(void **state)
{
	struct store_command *claim, *move;

	open_world();
	claim = world_claim(&world, "acme", "t1", 'a');
	assert_int_equal(world_do(&world, claim), 0);
	world_do(&world, world_settle(&world, &claim->operation, EVENT_LOST_SIGHT));
	move = world_command(&world, STORE_MOVE);
	move->operation.id = claim->operation.id;
	move->event = EVENT_FOUND_DONE;
	move->any_epoch = true;
	move->operation.reason = STR("looked");
	move->operation.reference = STR("ticket-7");
	move->operation.decided_by = STR("operator");
	assert_int_equal(world_do(&world, move), 0);
	close_and_read(3);
	assert_told(1, ENTRY_OUTCOME, "\"events\":[\"unknown\"]");
	assert_told(2, ENTRY_RESOLUTION, "\"events\":[\"resolved\",\"completed\"]");
	assert_told(2, ENTRY_RESOLUTION, "\"from\":\"unknown\",\"to\":\"completed\"");
	assert_told(2, ENTRY_RESOLUTION,
		    "\"by\":\"operator\",\"reference\":\"ticket-7\","
		    "\"reason\":\"looked\"");
}

static void what_was_lost_sight_of_is_told_at_the_next_start(void **state)
{
	open_world();
	assert_int_equal(world_do(&world, world_claim(&world, "acme", "t1", 'a')), 0);
	world_close(&world);
	open_world();
	close_and_read(2);
	assert_told(1, ENTRY_OUTCOME, "\"events\":[\"unknown\"]");
	assert_told(1, ENTRY_OUTCOME, "\"token\":\"t1\"");
	assert_told(1, ENTRY_OUTCOME, "\"by\":\"gate\",\"reason\":\"the gate stopped");
}

static void take_and_forced_release_are_told(void **state)
{
	struct store_operation holder, next;
	struct store_command *release, *take;

	open_world();
	holder = ruled_done(&world, ruled_lock(ruled_claim(&world, "h"), 'x'));
	next = ruled_done(&world, ruled_queue(ruled_claim(&world, "w"), 'x'));
	release = world_command(&world, STORE_RELEASE);
	release->operation.id = holder.id;
	release->operation.reason = STR("it hangs");
	release->operation.decided_by = STR("operator");
	assert_int_equal(world_do(&world, release), 0);
	take = world_command(&world, STORE_TAKE);
	take->operation.upstream = next.upstream;
	take->limit = 4;
	take->attempt = (struct store_attempt){.by = ACTOR_DISPATCHER, .delivered = -1};
	assert_int_equal(world_do(&world, take), 0);
	assert_int_equal(take->errand_count, 1);
	close_and_read(4);
	assert_told(1, ENTRY_CLAIM, "\"events\":[\"attempted\"],");
	assert_told(1, ENTRY_CLAIM, "\"to\":\"queued\"");
	assert_told(2, ENTRY_LOCK, "\"events\":[\"lock_forced\"]");
	assert_told(2, ENTRY_LOCK, "\"by\":\"operator\",\"reason\":\"it hangs\"");
	assert_told(3, ENTRY_SEND, "\"events\":[\"sent\"]");
	assert_told(3, ENTRY_SEND, "\"by\":\"dispatcher\"");
}

static void what_is_refused_leaves_no_entry(void **state)
{
	struct store_operation first;
	struct store_command *settle;

	open_world();
	first = world_completed(&world, "acme", "t1");
	settle = world_settle(&world, &first, EVENT_SUCCEEDED);
	assert_int_equal(world_do(&world, settle), STORE_LOST);
	assert_int_equal(world_do(&world, world_claim(&world, "acme", "t1", 'a')), STORE_EXISTS);
	close_and_read(2);
}

/* However long the texts of a service and a caller are, a settlement finds room for its entry. */
static void texts_that_are_too_long_are_cut(void **state)
{
	static char reason[60000];
	struct store_command *claim, *settle;

	memset(reason, 1, sizeof(reason)); /* escaped, six times as long */
	open_world();
	claim = world_claim(&world, "acme", "t1", 'a');
	claim->operation.path = str_of(reason, sizeof(reason));
	assert_int_equal(world_do(&world, claim), 0);
	settle = world_settle(&world, &claim->operation, EVENT_REFUSED);
	settle->operation.reason = settle->operation.reference = str_of(reason, sizeof(reason));
	assert_int_equal(world_do(&world, settle), 0);
	world_close(&world);
	open_world();
	assert_int_equal(world_find_token(&world, "acme", "t1")->operation.state, STATE_FAILED);
	world_close(&world);
}

/* -- sealing ----------------------------------------------------------------------- */

static void checkpoint_comes_with_the_entries(void **state)
{
	static const struct store_audit often = {.checkpoint_entries = 4,
						 .checkpoint_interval_ms = 3600000};

	world_audit = &often;
	open_world();
	world_completed(&world, "acme", "t1");
	assert_false(is_there("audit/checkpoint"));
	world_completed(&world, "acme", "t2");
	assert_comes("audit/checkpoints/4");
	world_close(&world);
}

static const struct store_audit soon = {.checkpoint_interval_ms = 100};

static void checkpoint_comes_with_time(void **state)
{
	world_audit = &soon;
	open_world();
	world_completed(&world, "acme", "t1");
	assert_comes("audit/checkpoints/2");
	world_close(&world);
}

/* -- what is refused --------------------------------------------------------------- */

static void keys_are_their_owners_alone(void **state)
{
	static const char *const names[] = {"audit.key", "audit-data.key"};
	char path[128];
	struct stat facts;

	open_world();
	world_close(&world);
	snprintf(path, sizeof(path), "%s/keys", directory);
	assert_int_equal(stat(path, &facts), 0);
	assert_int_equal(facts.st_mode & 0777, 0700);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/keys/%s", directory, names[i]);
		assert_int_equal(stat(path, &facts), 0);
		assert_int_equal(facts.st_mode & 0777, 0600);
		assert_int_equal(facts.st_size, 32 + VAULT_OVERHEAD); /* sealed */
	}
	chmod(path, 0640);
	assert_refused("chmod 600");
	assert_non_null(strstr(world.why, "audit-data.key"));
	chmod(path, 0600);
	assert_int_equal(truncate(path, 31), 0);
	assert_refused("wrong size");
}

static void missing_key_is_refused_once_there_are_entries(void **state)
{
	open_world();
	world_close(&world);
	shell("rm $D/keys/audit.key"); /* nothing was written yet */
	open_world();
	world_completed(&world, "acme", "t1");
	world_close(&world);
	shell("mv $D/keys/audit.key $D/kept");
	assert_refused("audit.key is missing");
	assert_non_null(strstr(world.why, "put it back"));
	shell("mv $D/kept $D/keys/audit.key");
	open_world();
	close_and_read(2);
}

static void older_database_is_rolled_back(void **state)
{
	open_world();
	world_completed(&world, "acme", "t1");
	world_close(&world);
	shell("cp $D/counterfoil.db $D/older");
	open_world();
	world_completed(&world, "acme", "t2");
	world_close(&world);
	shell("mv $D/older $D/counterfoil.db");
	assert_refused("rolled back");
}

static void files_that_are_gone_are_missed(void **state)
{
	open_world();
	world_completed(&world, "acme", "t1");
	world_close(&world);
	open_world();
	world_completed(&world, "acme", "t2"); /* the database learns what is published */
	world_close(&world);
	shell("rm -r $D/audit");
	assert_refused("had been published");
}

static void older_directory_is_older_than_its_anchor(void **state)
{
	char anchor[80];
	struct str folder = {0};
	struct store_audit audit = {.anchors = &folder, .anchor_count = 1};

	snprintf(anchor, sizeof(anchor), "%s/anchor", directory);
	folder = str_from(anchor);
	world_audit = &audit;
	shell("mkdir $D/anchor");
	open_world();
	world_completed(&world, "acme", "t1");
	world_close(&world);
	assert_true(is_there("anchor/checkpoints/2"));
	shell("mkdir $D/old && cd $D && cp -a counterfoil.db audit old/");
	open_world();
	world_completed(&world, "acme", "t2");
	world_close(&world);
	shell("cd $D && rm -r counterfoil.db audit && cp -a old/* $D/");
	assert_refused("rolled back");
	world_audit = NULL;
	open_world(); /* by itself it looks whole: that is what anchors are for */
	world_close(&world);
}

/* A gate that died before anything was sealed. */
static void leave_unsealed(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (world_open(&world, directory) != 0)
			_exit(1);
		world_completed(&world, "acme", "t1");
		world_completed(&world, "acme", "t2");
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void unsealed_entries_are_sealed_by_the_next_one(void **state)
{
	leave_unsealed();
	assert_false(is_there("audit/checkpoint"));
	open_world();
	close_and_read(4);
}

static void changed_rows_are_never_signed(void **state)
{
	static const char *const changes[] = {
		"UPDATE audit SET entry = x'00' WHERE seq = 1",
		"DELETE FROM audit WHERE seq = 2",
		"DELETE FROM audit WHERE seq = 3",
		"UPDATE audit SET entry = (SELECT entry FROM audit WHERE seq = 2) WHERE seq = 3",
		("UPDATE audit SET entry = CAST(substr(entry, 1, 200) || x'55' ||"
		 " substr(entry, 202) AS BLOB) WHERE seq = 3"),
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		leave_unsealed();
		execute(changes[i]);
		assert_refused("tampered");
		assert_false(is_there("audit/checkpoint"));
		shell("rm -r $D/*");
	}
}

static void origin_stays(void **state)
{
	static const struct store_audit first = {.origin = {"one.test/log", 12}};
	static const struct store_audit second = {.origin = {"two.test/log", 12}};

	world_audit = &first;
	open_world();
	world_completed(&world, "acme", "t1");
	world_close(&world);
	world_audit = &second;
	assert_refused("began as one.test/log");
	world_audit = NULL;
	open_world();
	close_and_read(2);
}

/* Who asked, who answered and what became of it: entries of their own. */
static void people_are_told_of(void **state)
{
	struct store_operation first, second, third;
	struct store_command *lapse;

	open_world();
	first = ruled_done(&world, ruled_asking(ruled_claim(&world, "t1"), 2));
	assert_int_equal(world_do(&world, ruled_answering(&world, STORE_APPROVE, &first, "alice")),
			 0);
	assert_int_equal(world_do(&world, ruled_answering(&world, STORE_APPROVE, &first, "bob")),
			 0);
	second = ruled_done(&world, ruled_asking(ruled_claim(&world, "t2"), 1));
	assert_int_equal(world_do(&world, ruled_answering(&world, STORE_DENY, &second, "alice")),
			 0);
	third = ruled_done(&world, ruled_asking(ruled_claim(&world, "t3"), 1));
	ruled_moved(&world, &third, EVENT_CANCELLED);
	ruled_done(&world, ruled_asking(ruled_claim(&world, "t4"), 1));
	world.now_ms += RULED_OPEN_MS;
	lapse = world_command(&world, STORE_LAPSE);
	lapse->limit = 8;
	assert_int_equal(world_do(&world, lapse), 0);
	close_and_read(13);
	assert_told(0, ENTRY_CLAIM, "\"events\":[\"attempted\"]");
	assert_told(1, ENTRY_APPROVAL, "\"events\":[\"asked\"]");
	assert_told(1, ENTRY_APPROVAL, "\"needed\":2");
	assert_told(2, ENTRY_APPROVAL, "\"events\":[\"approved\"]");
	assert_told(2, ENTRY_APPROVAL, "\"given\":1");
	assert_told(2, ENTRY_APPROVAL, "\"by\":\"alice\"");
	assert_told(2, ENTRY_APPROVAL, "\"role\":\"approver\"");
	assert_null(strstr(told.texts[2], "\"to\":"));
	assert_told(3, ENTRY_APPROVAL, "\"from\":\"awaiting_approval\",\"to\":\"queued\"");
	assert_told(6, ENTRY_APPROVAL, "\"events\":[\"denied\"]");
	assert_told(6, ENTRY_APPROVAL, "\"reason\":\"looks right\"");
	assert_told(9, ENTRY_APPROVAL, "\"events\":[\"withdrawn\",\"cancelled\"]");
	assert_told(12, ENTRY_APPROVAL, "\"events\":[\"expired\"]");
	for (size_t i = 0; i < told.count; i++)
		assert_null(strstr(told.texts[i], "Pay")); /* what was shown is in none */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOGGED_ROW(first_write_has_two_entries),
		LOGGED_ROW(bodies_and_headers_are_not_told),
		LOGGED_ROW(note_has_an_entry_of_its_own),
		LOGGED_ROW(refusal_is_told_though_it_leaves_nothing),
		LOGGED_ROW(administration_is_told_with_its_document),
		LOGGED_ROW(administration_without_a_document_is_told),
		LOGGED_ROW(people_are_told_of),
		LOGGED_ROW(resolution_says_who_and_why),
		LOGGED_ROW(what_was_lost_sight_of_is_told_at_the_next_start),
		LOGGED_ROW(take_and_forced_release_are_told),
		LOGGED_ROW(what_is_refused_leaves_no_entry),
		LOGGED_ROW(texts_that_are_too_long_are_cut),
		LOGGED_ROW(checkpoint_comes_with_the_entries),
		LOGGED_ROW(checkpoint_comes_with_time),
		LOGGED_ROW(keys_are_their_owners_alone),
		LOGGED_ROW(missing_key_is_refused_once_there_are_entries),
		LOGGED_ROW(older_database_is_rolled_back),
		LOGGED_ROW(files_that_are_gone_are_missed),
		LOGGED_ROW(older_directory_is_older_than_its_anchor),
		LOGGED_ROW(unsealed_entries_are_sealed_by_the_next_one),
		LOGGED_ROW(changed_rows_are_never_signed),
		LOGGED_ROW(origin_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
