/*
 * Claims with rules, and the small steps of a life, for the tests of rules and errands. Identities,
 * locks and budgets are named by a letter. What is not said to be checked by the caller is done
 * (0).
 */
#ifndef TESTS_STORE_RULED_H
#define TESTS_STORE_RULED_H

#include "world.h"

enum { RULED_FOR_MS = 1000000, RULED_OPEN_MS = 60000 };

struct hash ruled_hash(char kind, char letter);

/* A claim of account "acme", not yet submitted; then rules onto it. */
struct store_command *ruled_claim(struct world *world, const char *token);
struct store_command *ruled_unique(struct store_command *claim, char identity);
struct store_command *ruled_lock(struct store_command *claim, char lock);  /* held: refuse */
struct store_command *ruled_queue(struct store_command *claim, char lock); /* held: queue */
struct store_command *ruled_version(struct store_command *claim, int64_t version);
struct store_command *ruled_budget(struct store_command *claim, char budget, int64_t cents);
struct store_command *ruled_opens(struct store_command *claim, int64_t cents);
/* Nothing but the dispatcher sends it; it keeps a request. */
struct store_command *ruled_outbox(struct store_command *claim);

/* So many people have to agree to it; it keeps a request. The credential "key_agent" of "bot" asks.
 */
struct store_command *ruled_asking(struct store_command *claim, unsigned needed);
/* An answer of `by`, not yet submitted: STORE_APPROVE, STORE_DENY. */
struct store_command *ruled_answering(struct world *world, enum store_kind kind,
				      const struct store_operation *operation, const char *by);

/* Submit it; it is done. */
struct store_operation ruled_done(struct world *world, struct store_command *claim);

/* The sending of a running one ends; the command, answered. */
struct store_command *ruled_settled(struct world *world, const struct store_operation *operation,
				    enum operation_event event);
/* The same, and it is due again after `after_ms`. */
struct store_command *ruled_settled_until(struct world *world,
					  const struct store_operation *operation,
					  enum operation_event event, int64_t after_ms);
/* Somebody moves it; the command, answered. */
struct store_command *ruled_moved(struct world *world, const struct store_operation *operation,
				  enum operation_event event);
/* A success of `cents` opens the budget. */
void ruled_open_budget(struct world *world, const char *token, char budget, int64_t cents);

struct store_command *ruled_taken(struct world *world, size_t limit);  /* upstream "default" */
struct store_command *ruled_looked(struct world *world, size_t limit); /* STORE_DUE */
struct store_command *ruled_found(struct world *world, const struct store_operation *operation);

void assert_same_id(const struct operation_id *id, const struct operation_id *expected);

#endif
