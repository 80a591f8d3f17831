/*
 * Faults: what is to go wrong with a request to the practice API, and the one way in which it
 * can be asked to be less naive: to honour keys.
 *
 * A fault is written as a comma list, "delay=200, status=503;work". It comes with a write
 * (Sandbox-Fault) or waits in a queue for requests of its method and path. What a request
 * gets is a plan; this file knows the words, the service carries plans out.
 *
 *   delay=MS      wait, then go on
 *   hide=MS       what is made now is in no list and at no id before that
 *   twice         the list shows each of its records twice
 *   drop          do the work, then close the connection without an answer
 *   half          do the work, then send half of the answer and close
 *   reset         reset the connection instead of doing the work
 *   hang          neither work nor answer, until the client goes away
 *   hang;work     work, and never answer
 *   status=N      answer N instead of doing the work
 *   status=N;work do the work and answer N
 *   decline       answer 200 with a failure in its body, and do nothing
 */
#ifndef SANDBOX_FAULTS_H
#define SANDBOX_FAULTS_H

#include "base/list.h"
#include "base/str.h"
#include "json/json.h"

enum { FAULT_REFUSED = 1 };

enum {
	FAULT_DELAY_MAX_MS = 600000, /* of delay= and hide= */
	FAULTS_MAX = 1000,	     /* waiting in the queue */
	FAULT_TIMES_MAX = 1000000,   /* requests of one entry */
	FAULT_TEXT_MAX = 200,	     /* bytes of a fault, a method or a path in the queue */
};

enum ending {
	ENDING_ANSWER, /* as if nothing were */
	ENDING_STATUS,
	ENDING_DROP,
	ENDING_HALF,
	ENDING_RESET,
	ENDING_HANG,
	ENDING_DECLINE,
};

struct fault_plan {
	int64_t delay_ms;
	int64_t hide_ms;
	bool is_twice;
	enum ending ending;
	bool does_work;
	int status; /* with ENDING_STATUS */
};

/* May requests of this path meet faults at all? Those of the API itself, not of its counters. */
bool fault_may_meet(struct str path);

/* No fault at all. */
void fault_plan_none(struct fault_plan *out_plan);

/* Read a fault. 0, or FAULT_REFUSED with a sentence in *out_why (a constant text). */
int fault_plan_read(struct str text, struct fault_plan *out_plan, const char **out_why);

struct faults {
	struct list queue;
	size_t count;
	bool honours_keys; /* a key or reference that was there before makes nothing new */
};

void faults_init(struct faults *faults);
void faults_clear(struct faults *faults); /* naive again, too */

/*
 * With {"honour_keys": true or false} switch that. Else queue {"fault", "times": 1, "path",
 * "method"} as `wish` has it. Without a path any of fault_may_meet() is meant, without a method any
 * that writes ("*": any at all). 0, FAULT_REFUSED with a sentence, FAIL_MEMORY.
 */
int faults_add(struct faults *faults, const struct json_value *wish, const char **out_why);

/* Take the first fault that is meant for this request; false and no fault when none is. */
bool faults_take(struct faults *faults, struct str method, struct str path,
		 struct fault_plan *out_plan);

/* {"faults": [{"fault", "times", "path", "method"}], "honour_keys"}, the next one first. */
void faults_write(const struct faults *faults, struct json_writer *writer);

#endif
