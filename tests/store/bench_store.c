/*
 * What a first write costs at the store: claim, settlement, answer and attempt, 64 in
 * flight, with nothing stored and with a million operations stored.
 *
 *   bench_store DIRECTORY [STORED [MEASURED [rules|plain [clear]]]]
 *
 * With `rules` each has an identity and a lock of its own, and spends from one of BUDGETS budgets.
 *
 * CPU is the whole process's: the store's thread and the loop that feeds it.
 */
#include "base/env.h"
#include "store/store.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FLIGHTS_MAX = 512, BUDGETS = 1000 };

struct flight {
	struct store_command command;
	struct arena mem;
	char token[40];
};

struct bench {
	struct store *store;
	struct store_inbox inbox;
	pthread_mutex_t lock;
	pthread_cond_t woken;
	bool is_woken;
	bool is_clear;	       /* without a vault */
	bool has_rules, opens; /* the writes that are made now */
	uint64_t to_start, to_finish, number;
	struct flight flights[FLIGHTS_MAX];
};

static char body[300];
static const char headers[] = "Content-Type: application/json\r\nLocation: /v1/tickets/4711\r\n";

static void wake(struct store_inbox *inbox)
{
	struct bench *bench = inbox->owner;

	pthread_mutex_lock(&bench->lock);
	bench->is_woken = true;
	pthread_cond_signal(&bench->woken);
	pthread_mutex_unlock(&bench->lock);
}

static void finished(struct store_command *command);

static void hash_number(char kind, uint64_t number, struct hash *out_hash)
{
	char text[40];

	snprintf(text, sizeof(text), "%c%llu", kind, (unsigned long long)number);
	hash_bytes(text, strlen(text), out_hash);
}

static void add_rules(struct bench *bench, struct flight *flight)
{
	struct rule_facts *rules = &flight->command.rules;

	if (bench->opens) {
		rules->opens_budget = true;
		rules->opens = (struct money){"EUR", INT64_MAX};
		rules->budget_ms = INT64_MAX;
	}
	if (!bench->has_rules)
		return;
	rules->has_unique = rules->has_lock = rules->has_budget = true;
	hash_number('u', bench->number, &rules->unique);
	rules->unique_ms = 86400000;
	hash_number('l', bench->number, &rules->lock);
	rules->lock_name = str_from(flight->token);
	hash_number('b', bench->number % BUDGETS, &rules->budget);
	rules->spends = (struct money){"EUR", 100};
}

static void start(struct bench *bench, struct flight *flight)
{
	struct store_command *command = &flight->command;

	if (!bench->to_start)
		return;
	bench->to_start--;
	snprintf(flight->token, sizeof(flight->token), "f81d4fae-7dec-11d0-%016llx",
		 (unsigned long long)(bench->number++));
	*command = (struct store_command){
		.kind = STORE_CLAIM,
		.mem = &flight->mem,
		.home = &bench->inbox,
		.done = finished,
		.owner = bench,
		.retention_ms = 86400000,
		.tombstone_ms = 86400000,
	};
	command->operation.account = STR("acme-corporation");
	command->operation.token = str_from(flight->token);
	command->operation.method = STR("POST");
	command->operation.path = STR("/v1/tickets");
	command->operation.action = STR("tickets.create");
	command->operation.upstream = STR("default");
	command->attempt.at_ms = env_wall_ms(&env_machine);
	command->attempt.agent = STR("agent-7");
	command->attempt.request_id = STR("req-0123456789abcdef");
	command->attempt.delivered = -1;
	add_rules(bench, flight);
	store_submit(bench->store, command);
}

static void settle(struct bench *bench, struct store_command *command)
{
	command->kind = STORE_SETTLE;
	command->event = EVENT_SUCCEEDED;
	command->answer.status = 201;
	command->answer.is_kept = true;
	command->answer.headers = str_from(headers);
	command->answer.body = str_of(body, sizeof(body));
	command->answer.length = sizeof(body);
	command->attempt.outcome = OUTCOME_CREATED;
	if (bench->opens)
		hash_number('b', bench->to_finish % BUDGETS, &command->opens);
	store_submit(bench->store, command);
}

static void finished(struct store_command *command)
{
	struct bench *bench = command->owner;
	struct flight *flight = (struct flight *)(void *)command;

	if (command->result != 0) {
		fprintf(stderr, "a command ended with %d\n", command->result);
		exit(1);
	}
	if (command->kind == STORE_CLAIM) {
		settle(bench, command);
		return;
	}
	bench->to_finish--;
	start(bench, flight);
}

static double cpu_us(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void run(struct bench *bench, uint64_t operations, size_t in_flight, const char *what)
{
	double cpu = cpu_us();
	int64_t wall = env_monotonic_us(&env_machine);
	struct store_stats before, after;

	store_stats_read(bench->store, &before);
	bench->to_start = bench->to_finish = operations;
	for (size_t i = 0; i < in_flight; i++)
		start(bench, &bench->flights[i]);
	while (bench->to_finish) {
		pthread_mutex_lock(&bench->lock);
		while (!bench->is_woken)
			pthread_cond_wait(&bench->woken, &bench->lock);
		bench->is_woken = false;
		pthread_mutex_unlock(&bench->lock);
		store_deliver(&bench->inbox);
	}
	store_stats_read(bench->store, &after);
	printf("%-22s %8llu writes  %5.1f us CPU  %5.1f us wall  %.0f commands a batch\n", what,
	       (unsigned long long)operations, (cpu_us() - cpu) / (double)operations,
	       (double)(env_monotonic_us(&env_machine) - wall) / (double)operations,
	       (double)(after.commands - before.commands) /
		       (double)(after.batches - before.batches));
}

static void print_memory(void)
{
	char line[200];
	FILE *file = fopen("/proc/self/status", "r");

	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, "VmRSS", 5) == 0 || strncmp(line, "VmHWM", 5) == 0)
			fputs(line, stdout);
	if (file)
		fclose(file);
}

/* Answers are sealed, as a gate's are. */
static struct vault *open_vault(const char *directory)
{
	static const struct vault_master own;
	struct vault *vault = NULL;
	char folder[4096], why[512];

	mkdir(directory, 0700);
	snprintf(folder, sizeof(folder), "%s/keys", directory);
	if (vault_open(folder, &own, &env_machine, &vault, why, sizeof(why)) != 0) {
		fprintf(stderr, "%s\n", why);
		exit(1);
	}
	return vault;
}

static void open_store(struct bench *bench, const char *directory)
{
	const struct store_options options = {.vault = bench->is_clear ? NULL
								       : open_vault(directory)};
	int64_t before = env_monotonic_us(&env_machine);
	uint64_t interrupted;
	char why[512];

	if (store_open_sqlite(directory, &options, &env_machine, NULL, &bench->store, &interrupted,
			      why, sizeof(why)) != 0) {
		fprintf(stderr, "%s\n", why);
		exit(1);
	}
	printf("opened in %.3f s\n", (double)(env_monotonic_us(&env_machine) - before) / 1e6);
}

int main(int argc, char **argv)
{
	static struct bench bench;
	uint64_t stored = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
	uint64_t measured = argc > 3 ? strtoull(argv[3], NULL, 10) : 100000;

	if (argc < 2) {
		fprintf(stderr, "usage: bench_store DIRECTORY [STORED [MEASURED [rules]]]\n");
		return 2;
	}
	pthread_mutex_init(&bench.lock, NULL);
	pthread_cond_init(&bench.woken, NULL);
	bench.inbox.wake = wake;
	bench.inbox.owner = &bench;
	for (size_t i = 0; i < FLIGHTS_MAX; i++)
		arena_init(&bench.flights[i].mem, 1 << 20);
	bench.number = (uint64_t)env_wall_ms(&env_machine) << 20; /* no token twice */
	bench.is_clear = argc > 5;
	open_store(&bench, argv[1]);
	if (argc > 4 && strcmp(argv[4], "rules") == 0) {
		bench.opens = true;
		run(&bench, BUDGETS, 1, "opening budgets");
		bench.opens = false;
		bench.has_rules = true;
	}
	run(&bench, measured, 64, "as it was");
	run(&bench, stored, FLIGHTS_MAX, "filling");
	run(&bench, measured, 64, "with all that stored");
	print_memory();
	store_close(bench.store);
	open_store(&bench, argv[1]);
	print_memory();
	store_close(bench.store);
	return 0;
}
