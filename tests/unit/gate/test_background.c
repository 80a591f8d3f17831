/* Shows the dispatcher and the reconciler on their thread, with a store that loses sight of its
 * commits and a service that counts what it is sent: one effect, whatever fails. */
#include "gate_test.h"

#include "core/downstream_key.h"
#include "core/inquiry.h"
#include "gate/background.h"
#include "store/store_mem.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WAIT_MS = 20000, TURN_MS = 2, TALK_MAX = 8192 };

/* What the service does with the next request. */
enum manner { ANSWER, BUSY, DROP, SLOW };

struct world {
	struct gate gate;
	struct store_mem_script script;
	struct store_inbox inbox;
	struct arena mem;
	int log_file;

	int listener;
	pthread_t service;
	_Atomic bool is_over;
	_Atomic int posts, gets; /* that arrived whole */
	_Atomic int manner;	 /* of the next POST; then ANSWER again */
	_Atomic bool is_there;	 /* a GET finds something */
	char key[64];		 /* of the last POST; read it when nothing is under way */
};

/* The service. */

static void talk(int peer, const char *text)
{
	if (write(peer, text, strlen(text)) < 0)
		return;
}

static void answer_post(struct world *world, int peer, const char *request)
{
	const char *key = strstr(request, "\r\nX-Key: ");

	if (key)
		snprintf(world->key, sizeof(world->key), "%.32s", key + 9);
	atomic_fetch_add(&world->posts, 1);
	switch (atomic_exchange(&world->manner, ANSWER)) {
	case BUSY:
		talk(peer, "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
		return;
	case DROP:
		return;
	case SLOW:
		poll(NULL, 0, 400);
		break;
	default:
		break;
	}
	talk(peer, "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\n"
		   "Content-Length: 10\r\n\r\n{\"id\":\"a\"}");
}

static void answer_get(struct world *world, int peer)
{
	atomic_fetch_add(&world->gets, 1);
	talk(peer, atomic_load(&world->is_there)
			   ? "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
			     "Content-Length: 21\r\n\r\n{\"data\":[{\"id\":\"a\"}]}"
			   : "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
			     "Content-Length: 11\r\n\r\n{\"data\":[]}");
}

/* Requests here have bodies of two bytes, or none. */
static bool is_whole(const char *request)
{
	const char *end = strstr(request, "\r\n\r\n");

	return end && (strncmp(request, "POST", 4) != 0 || strlen(end + 4) >= 2);
}

static void serve(struct world *world, int peer)
{
	char request[TALK_MAX] = "";
	size_t len = 0;
	ssize_t n = 1;

	while (n > 0 && !is_whole(request) && len < sizeof(request) - 1) {
		n = read(peer, request + len, sizeof(request) - 1 - len);
		len += n > 0 ? (size_t)n : 0;
		request[len] = '\0';
	}
	if (is_whole(request) && strncmp(request, "POST", 4) == 0)
		answer_post(world, peer, request);
	else if (is_whole(request))
		answer_get(world, peer);
	close(peer);
}

static void *run_service(void *argument)
{
	struct world *world = argument;

	while (!atomic_load(&world->is_over)) {
		struct pollfd ready = {.fd = world->listener, .events = POLLIN};
		int peer;

		if (poll(&ready, 1, TURN_MS) < 1)
			continue;
		peer = accept(world->listener, NULL, NULL);
		if (peer >= 0)
			serve(world, peer);
	}
	return NULL;
}

static int start_service(struct world *world)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t len = sizeof(address);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	world->listener = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(world->listener, (struct sockaddr *)&address, len), 0);
	assert_int_equal(listen(world->listener, 64), 0);
	assert_int_equal(getsockname(world->listener, (struct sockaddr *)&address, &len), 0);
	assert_int_equal(pthread_create(&world->service, NULL, run_service, world), 0);
	return ntohs(address.sin_port);
}

/* The gate, without workers. */

static struct settings *settings_for(int port)
{
	static const char format[] =
		"upstreams:\n"
		"  default: {url: \"http://127.0.0.1:%d\", timeout: 5s}\n"
		"outbox: {attempts: 3, first_pause: 100ms, max_pause: 200ms}\n"
		"actions:\n"
		"  queued: {route: POST /queued, dispatch: outbox}\n"
		"  keyed: {route: POST /keyed, downstream_key: X-Key}\n"
		"  probed:\n"
		"    route: POST /probed\n"
		"    probe: {get: \"/probed?of={operation}\", found: {status: 200, at: /data/0, "
		"as: 201},\n"
		"            absent: {status: 200, empty: /data}, settle: 1s, every: 1s}\n";
	struct settings *settings = NULL;
	struct settings_override none = {0};
	struct settings_report report;
	char text[1024];

	snprintf(text, sizeof(text), format, port);
	settings_report_init(&report);
	if (settings_parse(str_from(text), "test", &none, &settings, &report) != 0)
		settings_report_print(&report, stderr);
	assert_non_null(settings);
	settings_report_fini(&report);
	return settings;
}

static void start_gate(struct world *world, int port)
{
	struct gate *gate = &world->gate;
	char why[128];

	world->log_file = open("/dev/null", O_WRONLY);
	gate->env = &env_machine;
	gate->worker_count = 1;
	gate->log = log_new(gate->env, world->log_file, LOG_DEBUG);
	waiting_room_init(&gate->waiting);
	assert_int_equal(store_open_memory(&world->script, gate->env, gate->log, &gate->store), 0);
	assert_int_equal(settings_hold_new(settings_for(port), NULL, &gate->hold, why, sizeof(why)),
			 0);
	assert_int_equal(client_init_process(), 0);
	assert_int_equal(background_open(gate), 0);
	assert_int_equal(background_start(gate), 0);
}

/* The tests look by themselves. */
static void no_wake(struct store_inbox *inbox)
{
}

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	*state = world;
	world->inbox = (struct store_inbox){.wake = no_wake, .owner = world};
	arena_init(&world->mem, 16 * 1024 * 1024);
	start_gate(world, start_service(world));
	return 0;
}

static bool has_drained(struct world *world)
{
	return atomic_load(&world->gate.is_background_drained);
}

static int tear_down(void **state)
{
	struct world *world = *state;
	struct gate *gate = &world->gate;

	background_drain(gate);
	for (int ms = 0; ms < WAIT_MS && !has_drained(world); ms += TURN_MS)
		poll(NULL, 0, TURN_MS);
	assert_true(has_drained(world));
	background_stop(gate);
	store_close(gate->store);
	background_close(gate);
	assert_null(gate->background); /* nothing was left behind */
	atomic_store(&world->is_over, true);
	pthread_join(world->service, NULL);
	close(world->listener);
	settings_hold_drop(gate->hold);
	waiting_room_fini(&gate->waiting);
	log_free(gate->log);
	close(world->log_file);
	arena_fini(&world->mem);
	free(world);
	return 0;
}

/* Asking its store. */

static void answered(struct store_command *command)
{
	*(bool *)command->owner = true;
}

static void ask(struct world *world, struct store_command *command)
{
	bool is_answered = false;

	command->home = &world->inbox;
	command->mem = &world->mem;
	command->done = answered;
	command->owner = &is_answered;
	store_submit(world->gate.store, command);
	for (int ms = 0; ms < WAIT_MS && !is_answered; ms += TURN_MS) {
		store_deliver(&world->inbox);
		if (!is_answered)
			poll(NULL, 0, TURN_MS);
	}
	assert_true(is_answered);
}

static struct store_command find(struct world *world, const struct operation_id *id)
{
	struct store_command command = {
		.kind = STORE_FIND, .by_id = true, .operation = {.id = *id}};

	ask(world, &command);
	assert_int_equal(command.result, 0);
	return command;
}

static struct store_command wait_for(struct world *world, const struct operation_id *id,
				     enum operation_state wanted)
{
	struct store_command command = find(world, id);

	for (int ms = 0; ms < WAIT_MS && command.operation.state != wanted; ms += TURN_MS) {
		poll(NULL, 0, TURN_MS);
		command = find(world, id);
	}
	assert_string_equal(operation_state_name(command.operation.state),
			    operation_state_name(wanted));
	return command;
}

/* The question about it, marked by the declaration that is in force. */
static struct str probe_of(struct world *world, const char *path)
{
	const struct settings *settings = world->gate.hold->settings;
	const struct action *action = settings_action(settings, str_from(path + 1));
	struct str marked = STR("");

	if (action && action->probe.get.len)
		assert_int_equal(inquiry_mark(&action->probe,
					      settings->upstreams[action->upstream].url.text,
					      STR("/probed?of={operation}"), &world->mem, &marked),
				 0);
	return marked;
}

static struct str key_place(struct world *world)
{
	const struct rule_downstream_key rule = {.header = STR("X-Key")};
	struct str place;

	assert_int_equal(downstream_key_place(&rule,
					      world->gate.hold->settings->upstreams[0].url.text,
					      &world->mem, &place),
			 0);
	return place;
}

/* Of an action's, in `state`. `path` begins with a slash; the action is called like the rest. */
static struct store_command claim(struct world *world, const char *path, enum operation_state state)
{
	struct store_command command = {
		.kind = STORE_CLAIM,
		.retention_ms = 3600000,
		.operation =
			{
				.account = STR("account"),
				.token = str_from(path),
				.method = STR("POST"),
				.path = str_from(path),
				.action = str_from(path + 1),
				.upstream = STR("default"),
				.state = state,
				.is_dispatched = state == STATE_QUEUED,
				.probe = probe_of(world, path),
			},
		.request =
			{
				.method = STR("POST"),
				.target = str_from(path),
				.headers = STR("Content-Type: application/json\r\n"),
				.body = STR("{}"),
				.has_body = true,
				.key_place =
					strcmp(path, "/keyed") == 0 ? key_place(world) : STR(""),
			},
	};

	ask(world, &command);
	assert_int_equal(command.result, 0);
	return command;
}

/* One that was sent by a caller, and lost sight of: only a wish makes the gate look again. */
static struct store_command lose(struct world *world, const char *path)
{
	struct store_command claimed = claim(world, path, STATE_RUNNING);
	struct store_command command = {
		.kind = STORE_SETTLE,
		.event = EVENT_LOST_SIGHT,
		.attempt = {.outcome = OUTCOME_UNKNOWN},
		.attempt_number = claimed.attempt_number,
		.operation = {.id = claimed.operation.id, .epoch = claimed.operation.epoch},
	};

	ask(world, &command);
	assert_int_equal(command.result, 0);
	return claimed;
}

/* The store meets `kind` in its next transaction but `skip`. */
static void spoil(struct world *world, unsigned skip, enum store_mem_fault_kind kind)
{
	uint64_t begun = atomic_load(&world->script.transactions);

	world->script.faults[world->script.fault_count++] = (struct store_mem_fault){
		.transaction = begun + 1 + skip,
		.kind = kind,
	};
}

static size_t count_outcomes(const struct store_command *command, enum outcome outcome)
{
	size_t count = 0;

	for (size_t i = 0; i < command->attempt_count; i++)
		count += command->attempts[i].by != ACTOR_CALLER &&
			 command->attempts[i].outcome == outcome;
	return count;
}

/* Spoils the transaction of the take, `skip` 0, or of the settlement, 1. */
static struct store_command dispatch(struct world *world, unsigned skip,
				     enum store_mem_fault_kind kind)
{
	struct store_command claimed;

	if (kind)
		spoil(world, 1 + skip, kind); /* the first is the claim's */
	claimed = claim(world, "/queued", STATE_QUEUED);
	background_poke(&world->gate);
	return wait_for(world, &claimed.operation.id, STATE_COMPLETED);
}

/* The dispatcher. */

static void what_is_queued_is_sent_once(void **state)
{
	struct world *world = *state;
	struct store_command found = dispatch(world, 0, 0);

	assert_int_equal(atomic_load(&world->posts), 1);
	assert_int_equal(found.operation.answer.status, 201);
	assert_int_equal(count_outcomes(&found, OUTCOME_CREATED), 1);
}

static void a_take_that_was_refused_is_tried_again(void **state)
{
	struct world *world = *state;

	dispatch(world, 0, STORE_MEM_REFUSED);
	assert_int_equal(atomic_load(&world->posts), 1);
}

/* Its first attempt says that it was not sent, which is true. */
static void a_take_that_was_made_unseen_is_not_sent(void **state)
{
	struct world *world = *state;
	struct store_command found = dispatch(world, 0, STORE_MEM_UNCERTAIN_APPLIED);

	assert_int_equal(atomic_load(&world->posts), 1);
	assert_int_equal(count_outcomes(&found, OUTCOME_NOT_SENT), 1);
	assert_int_equal(count_outcomes(&found, OUTCOME_CREATED), 1);
}

static void a_take_that_was_lost_is_made_again(void **state)
{
	struct world *world = *state;
	struct store_command found = dispatch(world, 0, STORE_MEM_UNCERTAIN_LOST);

	assert_int_equal(atomic_load(&world->posts), 1);
	assert_int_equal(count_outcomes(&found, OUTCOME_NOT_SENT), 0);
}

static void a_settlement_that_was_refused_is_made_again(void **state)
{
	struct world *world = *state;

	dispatch(world, 1, STORE_MEM_REFUSED);
	assert_int_equal(atomic_load(&world->posts), 1);
}

static void a_settlement_that_was_lost_is_made_again(void **state)
{
	struct world *world = *state;

	dispatch(world, 1, STORE_MEM_UNCERTAIN_LOST);
	assert_int_equal(atomic_load(&world->posts), 1);
}

static void a_settlement_that_was_made_unseen_counts(void **state)
{
	struct world *world = *state;
	struct store_command found = dispatch(world, 1, STORE_MEM_UNCERTAIN_APPLIED);

	assert_int_equal(atomic_load(&world->posts), 1);
	assert_int_equal(count_outcomes(&found, OUTCOME_CREATED), 1);
}

static void what_did_not_arrive_is_sent_again(void **state)
{
	struct world *world = *state;
	struct store_command found;

	atomic_store(&world->manner, BUSY);
	found = dispatch(world, 0, 0);
	assert_int_equal(atomic_load(&world->posts), 2);
	assert_int_equal(count_outcomes(&found, OUTCOME_NOT_SENT), 1);
}

static void what_was_lost_sight_of_is_not(void **state)
{
	struct world *world = *state;
	struct store_command claimed;

	atomic_store(&world->manner, DROP);
	claimed = claim(world, "/queued", STATE_QUEUED);
	background_poke(&world->gate);
	wait_for(world, &claimed.operation.id, STATE_UNKNOWN);
	background_poke(&world->gate);
	poll(NULL, 0, 300);
	assert_int_equal(atomic_load(&world->posts), 1);
}

static void an_action_that_is_gone_is_waited_for(void **state)
{
	struct world *world = *state;
	struct store_command claimed = claim(world, "/gone", STATE_QUEUED), found;

	background_poke(&world->gate);
	do {
		found = find(world, &claimed.operation.id);
	} while (!count_outcomes(&found, OUTCOME_NOT_SENT));
	assert_int_equal(found.operation.state, STATE_QUEUED);
	assert_int_equal(atomic_load(&world->posts), 0);
}

static void draining_takes_nothing_new(void **state)
{
	struct world *world = *state;
	struct store_command claimed;

	background_drain(&world->gate);
	for (int ms = 0; ms < WAIT_MS && !has_drained(world); ms += TURN_MS)
		poll(NULL, 0, TURN_MS);
	claimed = claim(world, "/queued", STATE_QUEUED);
	background_poke(&world->gate);
	poll(NULL, 0, 300);
	assert_int_equal(find(world, &claimed.operation.id).operation.state, STATE_QUEUED);
	assert_int_equal(atomic_load(&world->posts), 0);
}

static void draining_finishes_what_runs(void **state)
{
	struct world *world = *state;
	struct store_command claimed;

	atomic_store(&world->manner, SLOW);
	claimed = claim(world, "/queued", STATE_QUEUED);
	background_poke(&world->gate);
	while (!atomic_load(&world->posts))
		poll(NULL, 0, TURN_MS);
	background_drain(&world->gate);
	for (int ms = 0; ms < WAIT_MS && !has_drained(world); ms += TURN_MS)
		poll(NULL, 0, TURN_MS);
	assert_int_equal(find(world, &claimed.operation.id).operation.state, STATE_COMPLETED);
}

/* The reconciler. */

static void what_honours_a_key_is_sent_again(void **state)
{
	struct world *world = *state;
	struct store_command lost = lose(world, "/keyed");
	char first[64];

	atomic_store(&world->manner, DROP);
	assert_true(background_find_out(&world->gate, &lost.operation.id));
	while (!atomic_load(&world->posts))
		poll(NULL, 0, TURN_MS);
	wait_for(world, &lost.operation.id, STATE_UNKNOWN);
	memcpy(first, world->key, sizeof(first));
	while (find(world, &lost.operation.id).operation.state == STATE_UNKNOWN) {
		background_find_out(&world->gate, &lost.operation.id);
		poll(NULL, 0, TURN_MS);
	}
	wait_for(world, &lost.operation.id, STATE_COMPLETED);
	assert_int_equal(strlen(first), 32);
	assert_string_equal(world->key, first);
}

/* It did not arrive; but the first one may have. */
static void a_second_sending_that_does_not_arrive_leaves_it_unknown(void **state)
{
	struct world *world = *state;
	struct store_command lost = lose(world, "/keyed");

	atomic_store(&world->manner, BUSY);
	assert_true(background_find_out(&world->gate, &lost.operation.id));
	while (!atomic_load(&world->posts))
		poll(NULL, 0, TURN_MS);
	wait_for(world, &lost.operation.id, STATE_UNKNOWN);
}

static void resend_in_doubt(struct world *world, enum store_mem_fault_kind kind)
{
	struct store_command lost = lose(world, "/keyed");
	uint64_t begun;

	spoil(world, 0, kind);
	begun = atomic_load(&world->script.transactions);
	assert_true(background_find_out(&world->gate, &lost.operation.id));
	while (atomic_load(&world->script.transactions) == begun)
		poll(NULL, 0, TURN_MS);
	wait_for(world, &lost.operation.id, STATE_UNKNOWN);
	assert_int_equal(atomic_load(&world->posts), 0);
	while (find(world, &lost.operation.id).operation.state == STATE_UNKNOWN) {
		background_find_out(&world->gate, &lost.operation.id);
		poll(NULL, 0, TURN_MS);
	}
	wait_for(world, &lost.operation.id, STATE_COMPLETED);
	assert_int_equal(atomic_load(&world->posts), 1);
}

static void a_move_to_running_that_was_made_unseen_is_not_sent(void **state)
{
	resend_in_doubt(*state, STORE_MEM_UNCERTAIN_APPLIED);
}

static void a_move_to_running_that_was_lost_is_not_sent(void **state)
{
	resend_in_doubt(*state, STORE_MEM_UNCERTAIN_LOST);
}

static void a_move_to_running_that_was_refused_is_not_sent(void **state)
{
	resend_in_doubt(*state, STORE_MEM_REFUSED);
}

static void what_is_found_has_happened(void **state)
{
	struct world *world = *state;
	struct store_command lost = lose(world, "/probed"), found;

	atomic_store(&world->is_there, true);
	assert_true(background_find_out(&world->gate, &lost.operation.id));
	found = wait_for(world, &lost.operation.id, STATE_COMPLETED);
	assert_int_equal(found.operation.answer.status, 201);
	assert_text(found.operation.answer.headers, STR("Content-Type: application/json\r\n"));
	assert_text(found.operation.answer.body, STR("{\"id\":\"a\"}"));
	assert_int_equal(atomic_load(&world->posts), 0);
}

/* settle: one second. Before it an absence is no news; after it the caller may try again. */
static void what_is_absent_may_be_tried_again_once_it_has_settled(void **state)
{
	struct world *world = *state;
	struct store_command lost = lose(world, "/probed"), found;
	int64_t lost_ms = env_wall_ms(&env_machine);

	assert_true(background_find_out(&world->gate, &lost.operation.id));
	found = wait_for(world, &lost.operation.id, STATE_QUEUED);
	assert_true(env_wall_ms(&env_machine) - lost_ms >= 900);
	assert_int_equal(count_outcomes(&found, OUTCOME_UNKNOWN), 1);
	assert_int_equal(atomic_load(&world->posts), 0);
}

static void what_is_due_is_asked_after_without_a_wish(void **state)
{
	struct world *world = *state;
	struct store_command claimed = claim(world, "/probed", STATE_RUNNING);
	struct store_command command = {
		.kind = STORE_SETTLE,
		.event = EVENT_LOST_SIGHT,
		.next_ms = env_wall_ms(&env_machine) + 200,
		.operation = {.id = claimed.operation.id, .epoch = claimed.operation.epoch},
	};

	atomic_store(&world->is_there, true);
	ask(world, &command);
	background_poke(&world->gate);
	wait_for(world, &claimed.operation.id, STATE_COMPLETED);
	assert_int_equal(atomic_load(&world->gets), 1);
}

static void many_wishes_are_one_question(void **state)
{
	struct world *world = *state;
	struct store_command lost = lose(world, "/probed");

	atomic_store(&world->is_there, true);
	for (int i = 0; i < 10 * BACKGROUND_WISHES_MAX; i++)
		assert_true(background_find_out(&world->gate, &lost.operation.id));
	wait_for(world, &lost.operation.id, STATE_COMPLETED);
	poll(NULL, 0, 100);
	assert_int_equal(atomic_load(&world->gets), 1);
}

static void a_wish_for_what_is_not_there_harms_nobody(void **state)
{
	struct world *world = *state;
	struct operation_id nobody = {{1}};

	assert_true(background_find_out(&world->gate, &nobody));
	what_is_found_has_happened(state);
	assert_int_equal(atomic_load(&world->gets), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_queued_is_sent_once),
		TEST(a_take_that_was_refused_is_tried_again),
		TEST(a_take_that_was_made_unseen_is_not_sent),
		TEST(a_take_that_was_lost_is_made_again),
		TEST(a_settlement_that_was_refused_is_made_again),
		TEST(a_settlement_that_was_lost_is_made_again),
		TEST(a_settlement_that_was_made_unseen_counts),
		TEST(what_did_not_arrive_is_sent_again),
		TEST(what_was_lost_sight_of_is_not),
		TEST(an_action_that_is_gone_is_waited_for),
		TEST(draining_takes_nothing_new),
		TEST(draining_finishes_what_runs),
		TEST(what_honours_a_key_is_sent_again),
		TEST(a_second_sending_that_does_not_arrive_leaves_it_unknown),
		TEST(a_move_to_running_that_was_made_unseen_is_not_sent),
		TEST(a_move_to_running_that_was_lost_is_not_sent),
		TEST(a_move_to_running_that_was_refused_is_not_sent),
		TEST(what_is_found_has_happened),
		TEST(what_is_absent_may_be_tried_again_once_it_has_settled),
		TEST(what_is_due_is_asked_after_without_a_wish),
		TEST(many_wishes_are_one_question),
		TEST(a_wish_for_what_is_not_there_harms_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
