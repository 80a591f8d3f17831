/*
 * The keys that are in force, for every thread.
 *
 * One table, filled from the store at the start and changed when the store has committed a change:
 * what it says is what is durable. Whoever shows a key is looked up by its digest; whoever has been
 * let in is asked about again, by the key's id, before they are told anything later on. So a key
 * that is revoked is nobody's from that moment, also for who has been waiting.
 *
 * Bounded by the store, which keeps no more than STORE_DOCUMENTS_MAX keys.
 */
#ifndef AUTH_CALLERS_H
#define AUTH_CALLERS_H

#include "auth/key.h"

struct callers;

/* Outcomes of a look-up. */
enum {
	CALLERS_UNKNOWN = 1, /* there is no such key, or it has been revoked */
	CALLERS_EXPIRED = 2,
};

/* 0, FAIL_MEMORY. */
int callers_new(struct callers **out_callers);
void callers_free(struct callers *callers);

/* Any thread, from here on. */

/*
 * Take a record in, in place of the one with its id; copied. One that has been revoked stays known
 * by its id, and opens nothing. 0, FAIL_MEMORY (then it is as if it were revoked).
 */
int callers_put(struct callers *callers, const struct key_record *record);

/* Forget one. */
void callers_drop(struct callers *callers, struct str id);

/*
 * Who shows this text? 0: *out_caller, its texts copied into `mem`; CALLERS_UNKNOWN,
 * CALLERS_EXPIRED; FAIL_MEMORY. What is found counts as used.
 */
int callers_find(struct callers *callers, struct str text, int64_t now_ms, struct arena *mem,
		 struct caller *out_caller);

/* The same by the key's id, for whoever showed it before; it does not count as used. */
int callers_find_id(struct callers *callers, struct str id, int64_t now_ms, struct arena *mem,
		    struct caller *out_caller);

/* Is the key of that id still in force? */
bool callers_holds(struct callers *callers, struct str id, int64_t now_ms);

/*
 * The record of an id, copied into `mem`; `*out_used_ms` is its last use (0: none is known).
 * 0, CALLERS_UNKNOWN, FAIL_MEMORY.
 */
int callers_record(struct callers *callers, struct str id, struct arena *mem,
		   struct key_record *out_record, int64_t *out_used_ms);

/*
 * Every id with its last use, in `mem`, in the order of the ids' making. 0, FAIL_MEMORY.
 */
struct callers_use {
	struct str id;
	int64_t used_ms;
};
int callers_list(struct callers *callers, struct arena *mem, struct callers_use **out_uses,
		 size_t *out_count);

/* Say when a key was used last, as it was kept; an earlier time than is known changes nothing. */
void callers_set_use(struct callers *callers, struct str id, int64_t used_ms);

#endif
