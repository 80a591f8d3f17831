/*
 * The in-memory store, and what its script makes it suffer.
 *
 * It keeps the same promises as the ledger on disk, but for durability, through the same
 * committer. A test scripts failures by the number of a transaction (from 1); purges and
 * every command retried by itself are transactions of their own.
 */
#ifndef STORE_STORE_MEM_H
#define STORE_STORE_MEM_H

#include <stdbool.h>
#include <stdint.h>

enum { STORE_MEM_FAULTS = 64 };

enum store_mem_fault_kind {
	STORE_MEM_REFUSED = 1,	     /* rolled back: FAIL_STORE */
	STORE_MEM_UNCERTAIN_APPLIED, /* FAIL_UNCERTAIN, and it did happen */
	STORE_MEM_UNCERTAIN_LOST,    /* FAIL_UNCERTAIN, and it did not */
	STORE_MEM_SLOW,		     /* takes slow_ms, then goes well */
};

struct store_mem_script {
	struct store_mem_fault {
		uint64_t transaction;
		enum store_mem_fault_kind kind;
	} faults[STORE_MEM_FAULTS];
	int fault_count;
	int slow_ms;
	uint64_t full_after; /* operations: a claim beyond them meets a full disk; 0: never */
	const char *poison;  /* a claim of this token breaks its transaction, or NULL */
	/* A gate for tests: while it is true no transaction ends. Any thread. */
	_Atomic bool is_held;
	/* Transactions begun so far; the store's. */
	_Atomic uint64_t transactions;
};

#endif
