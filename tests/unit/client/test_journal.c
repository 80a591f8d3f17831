/*
 * Shows which token a step has, who may send under it, and that what has ended stays so.
 */
#include "client_test.h"

#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, place_teardown)

/* A process that has ended, on this machine or on no other: it has no name of an owner. */
#define DEAD_OWNER "UPDATE entry SET owner = 'a b c 0 0' WHERE owner IS NOT NULL"

static int set_up(void **state)
{
	place_setup(state);
	place_open(*state);
	return 0;
}

static void assert_same(struct str a, struct str b)
{
	if (!str_equal(a, b))
		fail_msg("%.*s is not %.*s", STR_ARG(a), STR_ARG(b));
}

/* The first one of a step is derived, so a journal that was lost finds it again. */
static void a_step_keeps_its_token(void **state)
{
	struct place *place = *state;
	struct journal_entry entry = place_entry(place, "s");
	struct step step = place_step("s");
	char token[STEP_TOKEN_TEXT + 1];

	token_derive(&step, token);
	assert_same(entry.step.token, str_from(token));
	assert_int_equal(entry.state, ENTRY_NEW);
	assert_int_equal(entry.created_ms, place->now_ms);
	assert_true(entry.is_current);
	place_close(place);
	place_open(place);
	assert_int_equal(place_entry(place, "s").id, entry.id);
	assert_same(place_entry(place, "s").step.token, entry.step.token);
	assert_false(str_equal(place_entry(place, "other").step.token, entry.step.token));
}

static void a_new_action_has_another_token_that_stays(void **state)
{
	struct place *place = *state;
	struct journal_entry first = place_entry(place, "s"), second = place_entry_anew(place, "s"),
			     third = place_entry_anew(place, "s");

	assert_false(str_equal(first.step.token, second.step.token));
	assert_false(str_equal(second.step.token, third.step.token));
	assert_int_equal(third.step.token.len, STEP_TOKEN_TEXT);
	assert_int_equal(place_entry(place, "s").id, third.id);
}

/* The gate is told that it is a retry of what has failed, and of nothing else. */
static void a_new_action_after_a_failure_names_it(void **state)
{
	struct place *place = *state;
	struct journal_settlement failed = {
		.state = ENTRY_FAILED, .operation = STR("op_1"), .what = "answered"};
	struct journal_entry entry = place_entry(place, "s"), found;

	assert_int_equal(place_claim(place, entry.id, 1, &found), 0);
	assert_int_equal(journal_settle(place->journal, entry.id, &failed, &place->err), 0);
	assert_same(place_entry_anew(place, "s").retry_of, STR("op_1"));
	assert_int_equal(place_entry_anew(place, "s").retry_of.len, 0);
}

static struct step by_hand(struct str token)
{
	return (struct step){.method = STR("POST"), .url = STR("http://h.test/"), .token = token};
}

static void a_token_by_hand_is_one_action(void **state)
{
	struct place *place = *state;
	struct step step = by_hand(STR("key-1"));
	struct journal_entry entry, again;

	assert_int_equal(
		journal_token(place->journal, &step, false, &place->mem, &entry, &place->err), 0);
	assert_int_equal(
		journal_token(place->journal, &step, false, &place->mem, &again, &place->err), 0);
	assert_int_equal(entry.id, again.id);
	assert_same(entry.step.token, STR("key-1"));
	assert_int_equal(entry.step.task.len, 0);
	assert_int_equal(
		journal_token(place->journal, &step, true, &place->mem, &again, &place->err),
		JOURNAL_REFUSED);
}

/* A token is one action, whichever way it is named. */
static void a_steps_own_token_by_hand_is_the_step(void **state)
{
	struct place *place = *state;
	struct journal_entry named = place_entry(place, "s"), found;
	struct step step = by_hand(named.step.token), other = place_step("other");
	char token[STEP_TOKEN_TEXT + 1];

	assert_int_equal(
		journal_token(place->journal, &step, false, &place->mem, &found, &place->err), 0);
	assert_int_equal(found.id, named.id);
	token_derive(&other, token);
	step = by_hand(str_from(token));
	assert_int_equal(
		journal_token(place->journal, &step, false, &place->mem, &found, &place->err), 0);
	assert_int_equal(place_entry(place, "other").id, found.id);
}

static void a_claim_comes_before_the_first_byte(void **state)
{
	struct place *place = *state;
	struct journal_entry entry = place_entry(place, "s"), found;

	place->now_ms += 5;
	assert_int_equal(place_claim(place, entry.id, 1, &found), 0);
	assert_int_equal(found.state, ENTRY_NEW);
	found = place_entry(place, "s");
	assert_int_equal(found.state, ENTRY_SENDING);
	assert_int_equal(found.attempts, 1);
	assert_int_equal(found.payload.len, PAYLOAD_HEX);
	assert_same(found.credential, STR("abcd"));
	assert_true(found.is_owner_alive);
	assert_int_equal(found.changed_ms, entry.created_ms + 5);
}

static struct journal *second_journal(struct place *place)
{
	struct journal *second = NULL;

	assert_int_equal(journal_open(place->path, &place->env, &second, &place->err), 0);
	return second;
}

/* Claim with body 1 through another journal of this process. */
static int claim_beside(struct place *place, struct journal *second, int64_t id)
{
	struct journal *first = place->journal;
	struct journal_entry found;
	int r;

	place->journal = second;
	r = place_claim(place, id, 1, &found);
	place->journal = first;
	return r;
}

static void an_owner_that_is_alive_is_not_disturbed(void **state)
{
	struct place *place = *state;
	struct journal *second = second_journal(place);
	struct journal_entry entry = place_entry(place, "s"), found;
	struct step step = place_step("s");

	assert_int_equal(place_claim(place, entry.id, 1, &found), 0);
	assert_int_equal(claim_beside(place, second, entry.id), JOURNAL_BUSY);
	assert_int_equal(journal_token(second, &step, true, &place->mem, &found, &place->err),
			 JOURNAL_BUSY);
	assert_int_equal(journal_forget(second, entry.id, true, &place->err), JOURNAL_BUSY);
	assert_int_equal(place_settle(place, entry.id, ENTRY_UNKNOWN), 0);
	assert_int_equal(claim_beside(place, second, entry.id), 0);
	assert_int_equal(place_settle(place, entry.id, ENTRY_DONE), 0); /* the same process */
	journal_close(second);
}

/* Settling may fail, on a full disk say. Who tries again in the same process is not kept out by
 * itself, and knows that something may have happened. */
static void what_could_not_be_settled_is_claimed_again(void **state)
{
	struct place *place = *state;
	struct journal_entry entry = place_entry(place, "s"), found;

	assert_int_equal(place_claim(place, entry.id, 1, &found), 0);
	assert_int_equal(place_claim(place, entry.id, 1, &found), 0);
	assert_int_equal(found.state, ENTRY_SENDING);
	assert_int_equal(place_entry(place, "s").attempts, 1);
}

/* Also where it tries again through another journal; and then only one of them is at it. */
static void what_was_left_is_claimed_through_another_journal(void **state)
{
	struct place *place = *state;
	struct journal *second = second_journal(place);
	struct journal_entry a = place_entry(place, "a"), b = place_entry(place, "b"), found;

	assert_int_equal(place_claim(place, a.id, 1, &found), 0);
	assert_int_equal(claim_beside(place, second, a.id), JOURNAL_BUSY);
	assert_int_equal(place_claim(place, b.id, 1, &found), 0); /* that of a has been given up */
	assert_int_equal(claim_beside(place, second, b.id), JOURNAL_BUSY);
	assert_int_equal(claim_beside(place, second, a.id), 0);
	assert_int_equal(place_claim(place, a.id, 1, &found), JOURNAL_BUSY);
	assert_int_equal(place_entry(place, "a").attempts, 1);
	journal_close(second);
	assert_int_equal(place_claim(place, a.id, 1, &found), 0);
	assert_int_equal(found.state, ENTRY_SENDING);
}

static void a_dead_owner_leaves_doubt(void **state)
{
	struct place *place = *state;
	struct journal_entry entry = place_entry(place, "s"), found;

	assert_int_equal(place_claim(place, entry.id, 1, &found), 0);
	place_sql(place, DEAD_OWNER);
	assert_int_equal(place_settle(place, entry.id, ENTRY_DONE), JOURNAL_NONE);
	assert_int_equal(place_claim(place, entry.id, 1, &found), 0);
	assert_int_equal(found.state, ENTRY_SENDING);
	assert_int_equal(place_entry(place, "s").attempts, 1);
	assert_int_equal(place_settle(place, entry.id, ENTRY_DONE), 0);
}

/* Those that are elsewhere cannot be asked: what they did is in doubt, and they cannot settle it.
 */
static void an_owner_elsewhere_is_taken_over(void **state)
{
	struct place *place = *state;
	struct journal_entry entry = place_entry(place, "s"), found;

	assert_int_equal(place_claim(place, entry.id, 1, &found), 0);
	place_sql(place, "UPDATE entry SET owner = '0123456789abcdef b 1 7 7'");
	assert_int_equal(place_claim(place, entry.id, 1, &found), 0);
	assert_int_equal(found.state, ENTRY_SENDING);
}

static void another_payload_is_told_by_its_members(void **state)
{
	struct place *place = *state;
	struct journal_entry entry = place_entry(place, "s"), found;

	assert_int_equal(place_claim(place, entry.id, 1, &found), 0);
	assert_int_equal(place_claim(place, entry.id, 2, &found), JOURNAL_CHANGED);
	assert_string_equal(place->err.text, "changed: /n");
	assert_int_equal(place_settle(place, entry.id, ENTRY_DONE), 0);
	assert_int_equal(place_claim(place, entry.id, 2, &found), JOURNAL_CHANGED);
	assert_int_equal(place_claim(place, entry.id, 1, &found), JOURNAL_ENDED);
}

/* What was certainly not sent may be sent again, but not something else under its token; unless
 * nothing of it was recorded anywhere. */
static void what_was_not_sent_is_new_again(void **state)
{
	struct place *place = *state;
	struct journal_settlement forgotten = {
		.state = ENTRY_NEW, .is_forgotten = true, .what = "refused"};
	struct journal_entry entry = place_entry(place, "s"), found;

	assert_int_equal(place_claim(place, entry.id, 1, &found), 0);
	assert_int_equal(place_settle(place, entry.id, ENTRY_NEW), 0);
	assert_int_equal(place_claim(place, entry.id, 2, &found), JOURNAL_CHANGED);
	assert_int_equal(place_claim(place, entry.id, 1, &found), 0);
	assert_int_equal(found.state, ENTRY_NEW);
	assert_int_equal(place_entry(place, "s").attempts, 2);
	assert_int_equal(journal_settle(place->journal, entry.id, &forgotten, &place->err), 0);
	assert_int_equal(place_claim(place, entry.id, 2, &found), 0);
	assert_int_equal(found.payload.len, 0);
}

static void who_only_asks_sends_nothing(void **state)
{
	struct place *place = *state;
	struct journal_entry entry = place_entry(place, "s"), found;

	assert_int_equal(journal_claim(place->journal, entry.id, NULL, NULL, &place->mem, &found,
				       &place->err),
			 JOURNAL_NONE);
	assert_int_equal(place_claim(place, entry.id, 1, &found), 0);
	assert_int_equal(place_settle(place, entry.id, ENTRY_UNKNOWN), 0);
	assert_int_equal(journal_claim(place->journal, entry.id, NULL, NULL, &place->mem, &found,
				       &place->err),
			 0);
	assert_int_equal(found.state, ENTRY_UNKNOWN);
	assert_int_equal(place_entry(place, "s").attempts, 1);
}

static void sending_again_is_recorded_first(void **state)
{
	struct place *place = *state;
	struct journal_entry entry = place_entry(place, "s"), found;

	assert_int_equal(journal_send_again(place->journal, entry.id, NULL, "", &place->err),
			 JOURNAL_NONE);
	assert_int_equal(place_claim(place, entry.id, 1, &found), 0);
	assert_int_equal(journal_send_again(place->journal, entry.id, NULL, "again", &place->err),
			 0);
	found = place_entry(place, "s");
	assert_int_equal(found.attempts, 2);
	assert_int_equal(found.credential.len, 0);
	assert_int_equal(found.state, ENTRY_SENDING);
}

static void the_answer_is_kept_whole(void **state)
{
	struct place *place = *state;
	struct journal_settlement done = {.state = ENTRY_DONE,
					  .is_gate = true,
					  .outcome = STR("created"),
					  .operation = STR("op_1"),
					  .advice = STR("stop"),
					  .reason = STR("because"),
					  .answer = {.status = 201,
						     .headers = STR("A: b\n"),
						     .body = str_of("a\0b", 3),
						     .has_body = true},
					  .what = "answered",
					  .note = STR("created")};
	struct journal_entry entry = place_entry(place, "s"), found;

	assert_int_equal(place_claim(place, entry.id, 1, &found), 0);
	assert_int_equal(journal_settle(place->journal, entry.id, &done, &place->err), 0);
	assert_int_equal(place_claim(place, entry.id, 1, &found), JOURNAL_ENDED);
	assert_int_equal(found.answer.status, 201);
	assert_same(found.answer.headers, STR("A: b\n"));
	assert_same(found.answer.body, str_of("a\0b", 3));
	assert_true(found.answer.has_body && found.is_gate);
	assert_same(found.outcome, STR("created"));
	assert_same(found.operation, STR("op_1"));
	assert_same(found.advice, STR("stop"));
	assert_same(found.reason, STR("because"));
	assert_int_equal(found.owner.len, 0);
}

static void an_empty_body_is_a_body(void **state)
{
	struct place *place = *state;
	struct journal_settlement done = {.state = ENTRY_DONE,
					  .answer = {.status = 200, .has_body = true},
					  .what = "answered"};
	struct journal_entry entry = place_entry(place, "s"), found;

	assert_int_equal(place_claim(place, entry.id, 1, &found), 0);
	assert_int_equal(journal_settle(place->journal, entry.id, &done, &place->err), 0);
	found = place_entry(place, "s");
	assert_true(found.answer.has_body);
	assert_int_equal(found.answer.body.len, 0);
}

/* What is known of the outcome stays when a later question learns nothing. */
static void what_was_known_stays(void **state)
{
	struct place *place = *state;
	struct journal_settlement open = {.state = ENTRY_OPEN,
					  .is_still_ours = true,
					  .is_gate = true,
					  .outcome = STR("running"),
					  .operation = STR("op_1"),
					  .what = "answered"};
	struct journal_entry entry = place_entry(place, "s"), found;

	assert_int_equal(place_claim(place, entry.id, 1, &found), 0);
	assert_int_equal(journal_settle(place->journal, entry.id, &open, &place->err), 0);
	assert_true(place_entry(place, "s").is_owner_alive);
	assert_int_equal(place_settle(place, entry.id, ENTRY_UNKNOWN), 0);
	found = place_entry(place, "s");
	assert_same(found.outcome, STR("running"));
	assert_same(found.operation, STR("op_1"));
	assert_true(found.is_gate);
	assert_false(found.is_owner_alive);
}

static void a_state_of_tomorrow_is_doubt(void **state)
{
	struct place *place = *state;

	place_entry(place, "s");
	place_sql(place, "UPDATE entry SET state = 'paused'");
	assert_int_equal(place_entry(place, "s").state, ENTRY_UNKNOWN);
}

static size_t list_of(struct place *place, struct journal_filter filter,
		      struct journal_entry **out_entries)
{
	size_t count = 0;

	assert_int_equal(journal_list(place->journal, &filter, &place->mem, out_entries, &count,
				      &place->err),
			 0);
	return count;
}

static void the_list_has_the_newest_first(void **state)
{
	struct place *place = *state;
	struct journal_entry first = place_entry(place, "a"), second = place_entry(place, "b"),
			     *list;

	place->now_ms -= 3600000; /* whatever the clock says */
	assert_int_equal(place_claim(place, second.id, 1, &(struct journal_entry){.id = 0}), 0);
	assert_int_equal(place_settle(place, second.id, ENTRY_DONE), 0);
	place_entry_anew(place, "a");
	assert_int_equal(list_of(place, (struct journal_filter){.limit = 10}, &list), 3);
	assert_int_equal(list[1].id, second.id);
	assert_int_equal(list[2].id, first.id);
	assert_false(list[2].is_current);
	assert_int_equal(list_of(place, (struct journal_filter){.limit = 2}, &list), 2);
	assert_int_equal(
		list_of(place, (struct journal_filter){.limit = 9, .step = STR("a")}, &list), 2);
	assert_int_equal(
		list_of(place, (struct journal_filter){.limit = 9, .task = STR("u")}, &list), 0);
	assert_int_equal(
		list_of(place, (struct journal_filter){.limit = 9, .is_open_only = true}, &list),
		2);
	assert_int_equal(
		list_of(place, (struct journal_filter){.limit = 9, .is_current_only = true}, &list),
		2);
	assert_int_equal(list_of(place,
				 (struct journal_filter){.limit = 9, .token = first.step.token},
				 &list),
			 1);
}

/* Of ever so many events the newest are kept, whatever the clock did meanwhile. */
static void events_are_bounded(void **state)
{
	struct place *place = *state;
	struct journal_entry entry = place_entry(place, "s"), other = place_entry(place, "other"),
			     found;
	struct journal_event *events;
	char note[16];
	size_t count;

	assert_int_equal(place_claim(place, entry.id, 1, &found), 0);
	for (int i = 0; i < JOURNAL_EVENTS_MAX + 10; i++) {
		place->now_ms -= 1000;
		snprintf(note, sizeof(note), "%d", i);
		assert_int_equal(
			journal_send_again(place->journal, entry.id, NULL, note, &place->err), 0);
	}
	assert_int_equal(journal_show(place->journal, entry.step.token, &place->mem, &found,
				      &events, &count, &place->err),
			 0);
	assert_int_equal(count, JOURNAL_EVENTS_MAX);
	assert_same(events[0].note, STR("10"));
	assert_same(events[count - 1].note, STR("209"));
	assert_same(events[count - 1].what, STR("sent"));
	assert_int_equal(journal_show(place->journal, other.step.token, &place->mem, &found,
				      &events, &count, &place->err),
			 0);
	assert_int_equal(count, 1);
	assert_int_equal(journal_show(place->journal, STR("none"), &place->mem, &found, &events,
				      &count, &place->err),
			 JOURNAL_NONE);
}

static void a_note_is_cut_between_characters(void **state)
{
	struct place *place = *state;
	struct journal_entry entry = place_entry(place, "s"), found;
	char text[JOURNAL_NOTE_MAX + 2] = "x";
	struct journal_event *events;
	size_t count;

	for (size_t i = 1; i + 1 < sizeof(text); i += 2)
		memcpy(text + i, "\xc3\xbc", 2);
	assert_int_equal(place_claim(place, entry.id, 1, &found), 0);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(journal_send_again(place->journal, entry.id, NULL, text, &place->err), 0);
	assert_int_equal(journal_show(place->journal, entry.step.token, &place->mem, &found,
				      &events, &count, &place->err),
			 0);
	assert_int_equal(events[count - 1].note.len, JOURNAL_NOTE_MAX - 1);
}

static void what_is_open_is_forgotten_only_by_force(void **state)
{
	struct place *place = *state;
	struct journal_entry entry = place_entry(place, "s"), found;

	assert_int_equal(place_claim(place, entry.id, 1, &found), 0);
	assert_int_equal(place_settle(place, entry.id, ENTRY_UNKNOWN), 0);
	assert_int_equal(journal_forget(place->journal, entry.id, false, &place->err),
			 JOURNAL_REFUSED);
	assert_int_equal(journal_forget(place->journal, entry.id, true, &place->err), 0);
	assert_int_equal(journal_forget(place->journal, entry.id, true, &place->err), JOURNAL_NONE);
	assert_int_equal(place_settle(place, entry.id, ENTRY_DONE), JOURNAL_NONE);
	entry = place_entry(place, "s");
	assert_int_equal(entry.state, ENTRY_NEW);
	assert_int_equal(journal_forget(place->journal, entry.id, false, &place->err), 0);
}

/* Between finding an entry and claiming it, somebody may forget it and make another. */
static void an_id_is_never_given_twice(void **state)
{
	struct place *place = *state;
	struct journal_entry entry = place_entry(place, "s"), other, found;

	assert_int_equal(journal_forget(place->journal, entry.id, false, &place->err), 0);
	other = place_entry(place, "other");
	assert_int_not_equal(other.id, entry.id);
	assert_int_equal(place_claim(place, entry.id, 1, &found), JOURNAL_NONE);
	assert_non_null(strstr(place->err.text, "forgotten"));
}

/* The one before it is the step's again, not a new one that would be sent. */
static void a_successor_that_is_forgotten_leaves_the_one_before(void **state)
{
	struct place *place = *state;
	struct journal_entry first = place_entry(place, "s"), second = place_entry_anew(place, "s"),
			     third = place_entry_anew(place, "s");

	assert_int_equal(journal_forget(place->journal, third.id, false, &place->err), 0);
	assert_int_equal(place_entry(place, "s").id, second.id);
	assert_true(place_entry(place, "s").is_current);
	assert_int_equal(journal_forget(place->journal, first.id, false, &place->err), 0);
	assert_int_equal(place_entry(place, "s").id, second.id);
	assert_int_not_equal(place_entry_anew(place, "s").id, second.id);
}

/* What an older client may have left: the step's first entry, and none that is current. */
static void a_first_entry_is_found_by_its_token(void **state)
{
	struct place *place = *state;
	struct journal_entry first = place_entry(place, "s");

	place_sql(place, "UPDATE entry SET is_current = 0");
	assert_int_equal(place_entry(place, "s").id, first.id);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_step_keeps_its_token),
		TEST(a_new_action_has_another_token_that_stays),
		TEST(a_new_action_after_a_failure_names_it),
		TEST(a_token_by_hand_is_one_action),
		TEST(a_steps_own_token_by_hand_is_the_step),
		TEST(a_claim_comes_before_the_first_byte),
		TEST(an_owner_that_is_alive_is_not_disturbed),
		TEST(what_could_not_be_settled_is_claimed_again),
		TEST(what_was_left_is_claimed_through_another_journal),
		TEST(a_dead_owner_leaves_doubt),
		TEST(an_owner_elsewhere_is_taken_over),
		TEST(another_payload_is_told_by_its_members),
		TEST(what_was_not_sent_is_new_again),
		TEST(who_only_asks_sends_nothing),
		TEST(sending_again_is_recorded_first),
		TEST(the_answer_is_kept_whole),
		TEST(an_empty_body_is_a_body),
		TEST(what_was_known_stays),
		TEST(a_state_of_tomorrow_is_doubt),
		TEST(the_list_has_the_newest_first),
		TEST(events_are_bounded),
		TEST(a_note_is_cut_between_characters),
		TEST(what_is_open_is_forgotten_only_by_force),
		TEST(an_id_is_never_given_twice),
		TEST(a_successor_that_is_forgotten_leaves_the_one_before),
		TEST(a_first_entry_is_found_by_its_token),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
