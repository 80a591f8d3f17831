/* Claims with rules, and the small steps of a life (see ruled.h). */
#include "ruled.h"

struct hash ruled_hash(char kind, char letter)
{
	struct hash hash = {0};

	hash.bytes[0] = (uint8_t)kind;
	hash.bytes[HASH_SIZE - 1] = (uint8_t)letter;
	return hash;
}

struct store_command *ruled_claim(struct world *world, const char *token)
{
	return world_claim(world, "acme", token, 'a');
}

struct store_command *ruled_unique(struct store_command *claim, char identity)
{
	claim->rules.has_unique = true;
	claim->rules.unique = ruled_hash('u', identity);
	claim->rules.unique_ms = RULED_FOR_MS;
	return claim;
}

struct store_command *ruled_lock(struct store_command *claim, char lock)
{
	claim->rules.has_lock = true;
	claim->rules.lock = ruled_hash('l', lock);
	claim->rules.lock_name = STR("service=web");
	return claim;
}

struct store_command *ruled_queue(struct store_command *claim, char lock)
{
	ruled_lock(claim, lock);
	claim->rules.lock_queues = true;
	claim->operation.is_dispatched = true;
	claim->request.method = STR("POST");
	claim->request.target = STR("/v1/tickets");
	return claim;
}

struct store_command *ruled_version(struct store_command *claim, int64_t version)
{
	claim->rules.has_version = true;
	claim->rules.version = version;
	return claim;
}

struct store_command *ruled_budget(struct store_command *claim, char budget, int64_t cents)
{
	claim->rules.has_budget = true;
	claim->rules.budget = ruled_hash('b', budget);
	claim->rules.spends = (struct money){.currency = "EUR", .minor_units = cents};
	return claim;
}

struct store_command *ruled_opens(struct store_command *claim, int64_t cents)
{
	claim->rules.opens_budget = true;
	claim->rules.opens = (struct money){.currency = "EUR", .minor_units = cents};
	claim->rules.budget_ms = RULED_FOR_MS;
	return claim;
}

struct store_command *ruled_outbox(struct store_command *claim)
{
	claim->operation.state = STATE_QUEUED;
	claim->operation.is_dispatched = true;
	claim->request = (struct store_request){.method = STR("POST"),
						.target = STR("/v1/tickets?dry=no"),
						.headers = STR("Content-Type: text/plain\r\n"),
						.body = STR("hello"),
						.has_body = true,
						.lookup = STR("/v1/tickets?title=hello"),
						.key_place = STR("header X-Key")};
	return claim;
}

struct store_command *ruled_asking(struct store_command *claim, unsigned needed)
{
	claim->operation.action = STR("payments.create");
	claim->operation.upstream = STR("default");
	claim->request = (struct store_request){.method = STR("POST"),
						.target = STR("/v1/payments"),
						.body = STR("{\"amount\":1}"),
						.has_body = true};
	claim->approval = (struct store_approval){.needed = needed,
						  .for_ms = RULED_OPEN_MS,
						  .policy = ruled_hash('p', 'p'),
						  .alike = ruled_hash('s', 's'),
						  .shown = STR("{\"summary\":\"Pay\"}"),
						  .asked_by = STR("key_agent"),
						  .asked_agent = STR("bot"),
						  .agent_hash = ruled_hash('k', 'k')};
	return claim;
}

struct store_command *ruled_answering(struct world *world, enum store_kind kind,
				      const struct store_operation *operation, const char *by)
{
	struct store_command *answer = world_command(world, kind);

	answer->operation.id = operation->id;
	answer->consent = (struct store_consent){.fingerprint = operation->fingerprint,
						 .policy = ruled_hash('p', 'p'),
						 .by = str_from(by),
						 .agent = str_from(by),
						 .account = STR("acme"),
						 .role = ROLE_APPROVER,
						 .why = STR("looks right")};
	return answer;
}

struct store_operation ruled_done(struct world *world, struct store_command *claim)
{
	assert_int_equal(world_do(world, claim), 0);
	return claim->operation;
}

struct store_command *ruled_settled(struct world *world, const struct store_operation *operation,
				    enum operation_event event)
{
	return ruled_settled_until(world, operation, event, 0);
}

struct store_command *ruled_settled_until(struct world *world,
					  const struct store_operation *operation,
					  enum operation_event event, int64_t after_ms)
{
	struct store_command *settle = world_settle(world, operation, event);

	settle->next_ms = world->now_ms + after_ms;
	assert_int_equal(world_do(world, settle), 0);
	return settle;
}

struct store_command *ruled_moved(struct world *world, const struct store_operation *operation,
				  enum operation_event event)
{
	struct store_command *move = world_command(world, STORE_MOVE);

	move->operation.id = operation->id;
	move->any_epoch = true;
	move->event = event;
	move->next_ms = world->now_ms;
	assert_int_equal(world_do(world, move), 0);
	return move;
}

void ruled_open_budget(struct world *world, const char *token, char budget, int64_t cents)
{
	struct store_operation payment =
		ruled_done(world, ruled_opens(ruled_claim(world, token), cents));
	struct store_command *settle = world_settle(world, &payment, EVENT_SUCCEEDED);

	settle->opens = ruled_hash('b', budget);
	assert_int_equal(world_do(world, settle), 0);
}

static struct store_command *errands(struct world *world, enum store_kind kind, size_t limit)
{
	struct store_command *command = world_command(world, kind);

	command->operation.upstream = STR("default");
	command->limit = limit;
	command->attempt = (struct store_attempt){.at_ms = world->now_ms,
						  .by = ACTOR_DISPATCHER,
						  .note = STR("its turn"),
						  .delivered = -1};
	assert_int_equal(world_do(world, command), 0);
	return command;
}

struct store_command *ruled_taken(struct world *world, size_t limit)
{
	return errands(world, STORE_TAKE, limit);
}

struct store_command *ruled_looked(struct world *world, size_t limit)
{
	return errands(world, STORE_DUE, limit);
}

struct store_command *ruled_found(struct world *world, const struct store_operation *operation)
{
	struct store_command *find = world_find_id(world, &operation->id, "acme");

	assert_int_equal(find->result, 0);
	return find;
}

void assert_same_id(const struct operation_id *id, const struct operation_id *expected)
{
	assert_memory_equal(id, expected, OPERATION_ID_SIZE);
}
