/*
 * The bench: what a case works with.
 *
 * A case makes strands (one intended action each, with a marker and a key of its own), sends
 * attempts of them, and holds what it was told against counts and the resource. The first verdict
 * stands. Functions that return bool have given the verdict when they return false: the case
 * returns at once.
 */
#ifndef DRILL_BENCH_H
#define DRILL_BENCH_H

#include "drill/judge.h"
#include "drill/late.h"
#include "drill/names.h"
#include "drill/proxy.h"
#include "drill/result.h"
#include "drill/scenario.h"
#include "drill/server.h"

#include <pthread.h>

enum {
	BENCH_MEMORY_MAX = 256 * 1024 * 1024, /* of one case */
	BENCH_TEXT_MAX = 1024,		      /* bytes of one sentence */
};

struct bench {
	const struct scenario *scenario;
	struct server *server;
	struct str run, test_case;
	struct arena mem;  /* dies with the case */
	struct arena *out; /* of the report */
	struct late *late; /* what is counted once more at the end */
	struct drill_case_result *result;
	int64_t began_us;
	unsigned strands;
	bool is_judged;
	struct proxy *proxy; /* NULL until it is needed */
	uint16_t proxy_port;
	pthread_mutex_t mutex; /* of the events: the proxy tells some from its threads */
};

/* One intended action. */
struct strand {
	struct names names;
	struct str method, path;
	struct scenario_pairs headers; /* without the key */
	struct str body;
	bool has_body;
	const struct scenario_effects *effects;
	int64_t before; /* effects before its first attempt */
};

/* One sending of a strand; zeroed is the plain one. */
struct attempt {
	bool is_without_key;
	bool is_by_proxy;
	const struct scenario_pairs *extra;   /* headers besides; may be NULL */
	const struct scenario_pairs *account; /* headers of another caller; may be NULL */
	struct str key;			      /* another one than the strand's; at NULL: its own */
	struct str body;		      /* another one; at NULL: its own */
	struct target_line *line;	      /* it waits for the others there; may be NULL */
	int lane;
};

/* -- verdicts ------------------------------------------------------------------------ */

void bench_pass(struct bench *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Each returns false. */
bool bench_fail(struct bench *, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool bench_error(struct bench *, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool bench_not_applicable(struct bench *, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Something happened. Any thread. */
void bench_event(struct bench *, enum drill_move, int lane, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* -- strands ------------------------------------------------------------------------- */

/* A new one of the scenario's write, with its effects counted. */
bool bench_strand(struct bench *, struct strand *out_strand);

/* One of other_write, under the key of `first`. */
bool bench_other_strand(struct bench *, const struct strand *first, struct strand *out_strand);

/* -- attempts ------------------------------------------------------------------------ */

/* Send and wait for what comes. An answer or none: both are fine. */
bool bench_send(struct bench *, const struct strand *, const struct attempt *,
		struct target_answer *out_answer);

/* Begin one; the call is finished by bench_finish(). */
bool bench_begin(struct bench *, const struct strand *, const struct attempt *,
		 struct target_call **out_call);
bool bench_finish(struct bench *, const struct attempt *, struct target_call *,
		  struct target_answer *out_answer);

/* The first write of a case: a success, or the case cannot be judged. */
bool bench_write(struct bench *, const struct strand *, const struct attempt *,
		 struct target_answer *out_answer);

/* Ask again, with pauses, until something else than "ask again" is said or the time to settle is
 * over; at least once. *out_answer is the last answer. */
bool bench_retry(struct bench *, const struct strand *, const struct attempt *,
		 struct target_answer *out_answer);

/* The proxy in front of the target, started when it is first asked for; plans its next request. */
bool bench_fault(struct bench *, enum proxy_fault, int64_t delay_ms);

/* Run a command of the scenario. */
bool bench_command(struct bench *, const char *name, struct str command, const struct strand *);

/* -- what is true -------------------------------------------------------------------- */

/* Exactly `wanted` effects of the strand, once it has settled. */
bool bench_effects(struct bench *, const struct strand *, int64_t wanted);

/* Wait until there is an effect of the strand, or the time to settle is over. No verdict. */
void bench_await_effect(struct bench *, const struct strand *);

/* How many there are, once they are `hoped` or the time to settle is over. */
bool bench_count(struct bench *, const struct strand *, int64_t hoped, int64_t *out_effects);

/* The resource is what the write made it; true where the scenario does not look at it. */
bool bench_resource(struct bench *, const struct strand *, const struct target_answer *);

/* `again` is `first` once more. */
bool bench_same(struct bench *, const struct target_answer *first,
		const struct target_answer *again);

/*
 * The end of a case in which the answer was lost: `last` is what a retry was told, `again` what
 * the next one was (NULL: none was sent). A success has one effect, is told again, and is the
 * resource; an honest "unknown" has one effect at most; all else fails.
 */
bool bench_settled(struct bench *, const struct strand *, const struct target_answer *last,
		   const struct target_answer *again, const char *story);

#endif
