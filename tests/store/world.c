/* What the tests of this folder share (see world.h). */
#include "world.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

static int64_t world_wall_ms(const struct env *env)
{
	struct world *world = env->state;

	return world->now_ms;
}

static int64_t world_monotonic_us(const struct env *env)
{
	struct world *world = env->state;
	int64_t passed_ms = world->now_ms - world->wrong_ms - world->began_ms;

	return env_machine.monotonic_us(&env_machine) + (passed_ms > 0 ? passed_ms * 1000 : 0);
}

static void world_random(const struct env *env, void *out, size_t len)
{
	env_machine.random(&env_machine, out, len);
}

static void wake(struct store_inbox *inbox)
{
	struct world *world = inbox->owner;

	pthread_mutex_lock(&world->lock);
	world->wakes++;
	pthread_cond_broadcast(&world->woken);
	pthread_mutex_unlock(&world->lock);
}

static void wake_gate(struct store_inbox *inbox)
{
	struct world *world = inbox->owner;

	pthread_mutex_lock(&world->lock);
	world->is_at_gate = true;
	pthread_cond_broadcast(&world->woken);
	while (world->is_held)
		pthread_cond_wait(&world->woken, &world->lock);
	world->is_at_gate = false;
	pthread_cond_broadcast(&world->woken);
	pthread_mutex_unlock(&world->lock);
}

static void at_gate(struct store_command *command)
{
}

const struct store_audit *world_audit;
bool world_is_in_clear;

static int open_vault(struct world *world)
{
	static const struct vault_master own;
	char folder[96];

	if (world_is_in_clear)
		return 0;
	mkdir(world->directory, 0700);
	snprintf(folder, sizeof(folder), "%s/keys", world->directory);
	return vault_open(folder, &own, &world->env, &world->vault, world->why, sizeof(world->why));
}

int world_open(struct world *world, const char *directory)
{
	struct store_options options = {.audit = world_audit};
	int r;
	int64_t now_ms = world->now_ms;

	*world = (struct world){0};
	world->now_ms = world->began_ms = now_ms ? now_ms : 1700000000000;
	world->env = (struct env){world_wall_ms, world_monotonic_us, world_random, world};
	pthread_mutex_init(&world->lock, NULL);
	pthread_cond_init(&world->woken, NULL);
	world->inbox.wake = wake;
	world->inbox.owner = world;
	world->gate.wake = wake_gate;
	world->gate.owner = world;
	arena_init(&world->mem, 256 << 20);
	arena_init(&world->results, 256 << 20);
	arena_init(&world->gate_mem, 1 << 20);
	if (!directory)
		return store_open_memory(&world->script, &world->env, NULL, &world->store);
	snprintf(world->directory, sizeof(world->directory), "%s", directory);
	r = open_vault(world);
	if (r != 0)
		return r;
	options.vault = world->vault;
	r = store_open_sqlite(directory, &options, &world->env, NULL, &world->store,
			      &world->interrupted, world->why, sizeof(world->why));
	if (r != 0) {
		vault_close(world->vault);
		world->vault = NULL;
	}
	return r;
}

void world_close(struct world *world)
{
	store_close(world->store);
	world->store = NULL;
	vault_close(world->vault);
	world->vault = NULL;
	arena_fini(&world->mem);
	arena_fini(&world->results);
	arena_fini(&world->gate_mem);
	pthread_cond_destroy(&world->woken);
	pthread_mutex_destroy(&world->lock);
}

/* Memory where there is enough of it: a killed process leaves there what it leaves on a disk, and
 * the disks that fail are made by the tests. Nothing here can show what a power cut would do. */
void world_directory(char out[64])
{
	struct statvfs memory;
	bool fits = access("/dev/shm", W_OK) == 0 && statvfs("/dev/shm", &memory) == 0 &&
		    (uint64_t)memory.f_bavail * memory.f_frsize >= WORLD_MEMORY;

	snprintf(out, 64, "%s/counterfoil-store-XXXXXX", fits ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(out));
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *place)
{
	return remove(path);
}

void world_remove(const char *directory)
{
	nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

struct world_bench world_on_disk = {.on_disk = true}, world_in_memory;

int world_set_up(void **state)
{
	struct world_bench *bench = *state;
	char directory[64];

	bench->world.now_ms = 0;
	if (!bench->on_disk)
		return world_open(&bench->world, NULL);
	world_directory(directory);
	return world_open(&bench->world, directory);
}

int world_tear_down(void **state)
{
	struct world_bench *bench = *state;

	world_close(&bench->world);
	if (bench->on_disk)
		world_remove(bench->world.directory);
	return 0;
}

struct world *world_of(void **state)
{
	return &((struct world_bench *)*state)->world;
}

void assert_str(struct str text, const char *expected)
{
	assert_int_equal(text.len, strlen(expected));
	assert_memory_equal(text.at, expected, text.len);
}

static void done(struct store_command *command)
{
	struct world *world = command->owner;

	world->answered++;
}

struct store_command *world_command(struct world *world, enum store_kind kind)
{
	struct store_command *command = arena_zalloc(&world->mem, sizeof(*command));

	assert_non_null(command);
	command->kind = kind;
	command->mem = &world->results;
	command->home = &world->inbox;
	command->done = done;
	command->owner = world;
	command->retention_ms = DAY_MS;
	command->tombstone_ms = 30 * (int64_t)DAY_MS;
	command->limit = STORE_LIST_MAX;
	command->result = 12345;
	return command;
}

struct store_command *world_claim(struct world *world, const char *account, const char *token,
				  char fingerprint)
{
	struct store_command *command = world_command(world, STORE_CLAIM);
	struct store_operation *operation = &command->operation;

	operation->account = arena_str(&world->mem, str_from(account));
	operation->token = arena_str(&world->mem, str_from(token));
	memset(operation->fingerprint.bytes, fingerprint, HASH_SIZE);
	operation->method = STR("POST");
	operation->path = STR("/v1/tickets");
	operation->action = STR("tickets.create");
	operation->upstream = STR("default");
	command->attempt = (struct store_attempt){.at_ms = world->now_ms,
						  .agent = STR("agent-1"),
						  .task = STR("task-1"),
						  .step = STR("step-1"),
						  .request_id = STR("request-1"),
						  .delivered = -1};
	return command;
}

struct store_command *world_settle(struct world *world, const struct store_operation *operation,
				   enum operation_event event)
{
	struct store_command *command = world_command(world, STORE_SETTLE);

	command->operation.id = operation->id;
	command->operation.epoch = operation->epoch;
	command->event = event;
	if (event == EVENT_SUCCEEDED || event == EVENT_REFUSED) {
		command->answer.status = event == EVENT_SUCCEEDED ? 201 : 422;
		command->answer.is_kept = true;
		command->answer.headers = STR("Location: /v1/tickets/7\r\n");
		command->answer.body = STR("{\"id\":7}");
		command->answer.length = 8;
		memset(command->answer.digest.bytes, 9, HASH_SIZE);
	}
	command->attempt.outcome = OUTCOME_CREATED;
	command->attempt_number = operation->attempts;
	return command;
}

void world_submit(struct world *world, struct store_command *command)
{
	store_submit(world->store, command);
}

void world_wait(struct world *world, int count)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += WORLD_WAIT_S;
	store_deliver(&world->inbox);
	while (world->answered < count) {
		pthread_mutex_lock(&world->lock);
		while (!world->wakes)
			assert_int_equal(
				pthread_cond_timedwait(&world->woken, &world->lock, &until), 0);
		world->wakes = 0;
		pthread_mutex_unlock(&world->lock);
		store_deliver(&world->inbox);
	}
	assert_int_equal(world->answered, count);
	world->answered = 0;
}

int world_do(struct world *world, struct store_command *command)
{
	world_submit(world, command);
	world_wait(world, 1);
	return command->result;
}

struct store_command *world_find_id(struct world *world, const struct operation_id *id,
				    const char *account)
{
	struct store_command *find = world_command(world, STORE_FIND);

	find->by_id = true;
	find->operation.id = *id;
	find->operation.account = str_from(account);
	world_do(world, find);
	return find;
}

struct store_command *world_find_token(struct world *world, const char *account, const char *token)
{
	struct store_command *find = world_command(world, STORE_FIND);

	find->operation.account = str_from(account);
	find->operation.token = str_from(token);
	world_do(world, find);
	return find;
}

void world_hold(struct world *world)
{
	world->gate_command = (struct store_command){.kind = STORE_COUNT_STATES,
						     .mem = &world->gate_mem,
						     .home = &world->gate,
						     .done = at_gate};
	world->is_held = true;
	store_submit(world->store, &world->gate_command);
	pthread_mutex_lock(&world->lock);
	while (!world->is_at_gate)
		pthread_cond_wait(&world->woken, &world->lock);
	pthread_mutex_unlock(&world->lock);
}

void world_release(struct world *world)
{
	pthread_mutex_lock(&world->lock);
	world->is_held = false;
	pthread_cond_broadcast(&world->woken);
	while (world->is_at_gate)
		pthread_cond_wait(&world->woken, &world->lock);
	pthread_mutex_unlock(&world->lock);
	store_deliver(&world->gate);
}

struct store_operation world_completed(struct world *world, const char *account, const char *token)
{
	struct store_command *claim = world_claim(world, account, token, 'a');
	struct store_command *settle;

	assert_int_equal(world_do(world, claim), 0);
	settle = world_settle(world, &claim->operation, EVENT_SUCCEEDED);
	assert_int_equal(world_do(world, settle), 0);
	claim->operation.state = settle->operation.state;
	return claim->operation;
}
