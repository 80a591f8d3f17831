/*
 * What the dispatcher and the reconciler share: the loop, and one lane for each upstream.
 *
 * A lane has room for outbox.concurrency sendings and BACKGROUND_ASKS_MAX tries to find out, and
 * for no more of both than it has connections: half of them are for tries, where that is less. It
 * looks into the store when somebody pokes, when one of its own has ended, when something is
 * due, and now and then. All of it is the background's own thread's.
 */
#ifndef GATE_BACKGROUND_INTERNAL_H
#define GATE_BACKGROUND_INTERNAL_H

#include "gate/ask.h"
#include "gate/background.h"
#include "gate/plan.h"
#include "gate/steps.h"

#define BACKGROUND_MEMORY                                                                          \
	((size_t)1 << 30) /* of one answer of the store: what it holds was bounded                 \
			     when it was let in, maybe by other settings */

enum {
	BACKGROUND_LOOK_MS = 10 * 1000, /* at the latest: the wall clock may have stepped */
	BACKGROUND_SOON_MS = 250,     /* at the earliest, for what is due and could not be taken */
	BACKGROUND_FAILED_MS = 1000,  /* after the store could not say what is due */
	BACKGROUND_WARNINGS_MAX = 16, /* of one generation, about what waits for a declaration */
	BACKGROUND_FINDS_MAX = 16,    /* wishes whose upstream is not known yet, at once */
	BACKGROUND_ASK_MEMORY = 64 * 1024 * 1024, /* to read one answer of ASK_ANSWER_MAX */
};

struct lane {
	struct list link; /* among the background's */
	struct background *background;
	struct str name; /* of the upstream */
	bool is_declared;
	size_t index;		 /* in the newest generation's settings */
	struct loop_timer timer; /* the next look */
	int64_t quiet_until_ms;	 /* monotonic: the store failed */

	/* the dispatcher's */
	unsigned sending; /* errands */
	unsigned doubts;  /* of them, those of a take of which nobody knows */
	bool is_taking, takes_again;
	int64_t take_ms; /* Unix time: when the next one is due; 0: none is known */

	/* the reconciler's */
	unsigned trying;
	bool is_looking, looks_again;
	int64_t ask_ms;
	struct list wishes; /* that wait for room */
};

/* Ends questions to people whose time is over: lapser.c. */
struct lapser {
	struct background *background;
	struct loop_timer timer; /* the next look */
	bool is_asking, asks_again;
	struct store_command command;
	struct arena mem;
};

enum { NOTIFIER_MAX = 8 }; /* notices on their way at once */

/* Tells somebody outside of questions to people: notifier.c. */
struct notifier {
	struct background *background;
	struct loop_timer timer; /* the next look */
	bool is_looking, looks_again;
	bool has_failed; /* the store, or memory: not again at once */
	struct store_command command;
	struct arena mem;
	struct list tellings;
	unsigned under_way;
};

/* Somebody wants to know about an operation. */
struct wish {
	struct list link;
	struct operation_id id;
};

struct background {
	struct gate *gate;
	struct station station;
	struct generation *generation; /* the newest */
	struct generations generations;
	struct metrics metrics;
	struct list lanes;
	struct list tries;     /* of the reconciler: at most one an operation */
	struct list questions; /* that are under way: their ask.link */
	unsigned finds;	       /* of them, those that have no lane yet */
	unsigned commands;     /* looks into the store, under way */
	unsigned warnings;     /* that were written since the last reload */
	struct steps steps;    /* of the wall clock */
	struct lapser lapser;
	struct notifier notifier;
	bool is_listing; /* those that nobody would see to: stranded.c */
	bool has_loop, is_running;

	/* wishes, filled by any thread */
	pthread_mutex_t lock;
	struct list wishes;
	unsigned wish_count; /* also those that wait in lanes */
	struct loop_post wished;
	bool is_wished; /* posted, and not yet run */

	/* pokes, by any thread */
	struct loop_post poke;
	atomic_bool is_poked;

	/* what the control thread asks for */
	struct loop_post begin, reload, drain, give_up, stop;
	struct settings_hold *next_hold;
	atomic_bool is_reloading;
	bool is_draining;
	struct loop_sweeper sweeper; /* says when it is drained */
};

/* The lane of an upstream; NULL: nothing is known of one called so. */
struct lane *lane_find(struct background *background, struct str name);

/* Look again when the next one is due. */
void lane_wait(struct lane *lane);

/* The store could not: leave it alone for a moment. */
void lane_rest(struct lane *lane);

static inline bool lane_rests(const struct lane *lane)
{
	return lane->background->station.loop.now_ms < lane->quiet_until_ms;
}

/* Something may have become due, in whatever lane. */
void background_look(struct background *background);

/* Does somebody wish for it in this list? */
bool wish_is_among(const struct list *wishes, const struct operation_id *id);

/* Take the next wish that has no lane; false: there is none. */
bool background_next_wish(struct background *background, struct operation_id *out_id);
/* One that was taken, or put into a lane, is no more. */
void background_forget_wish(struct background *background);

static inline int64_t background_wall_ms(const struct background *background)
{
	return env_wall_ms(background->gate->env);
}

/* See whether the wall clock has stepped. */
void background_see_clock(struct background *background);

static inline uint32_t background_random(const struct background *background)
{
	uint32_t random;

	env_random(background->gate->env, &random, sizeof(random));
	return random;
}

/* Ask; to be ended by background_asked() first of all. A question changes nothing: a gate that is
 * about to stop breaks it off. */
void background_ask(struct background *background, struct generation *generation, struct ask *ask);
void background_asked(struct background *background, struct ask *ask);

/* It waits for something that the configuration does not have (any more): say so, within bounds. */
void background_warn(struct background *background, const struct store_operation *operation,
		     const char *what);

/* Begin a line about an operation; the caller ends it. */
void background_line(struct log_line *line, const struct background *background, const char *event,
		     const struct store_operation *operation);

/* Say which operations no lane will ever see to, since their upstream is not declared. */
void stranded_look(struct background *background);

/* lapser.c: look for questions whose time is over; end what is under way before closing. */
void lapser_init(struct lapser *lapser, struct background *background);
void lapser_look(struct lapser *lapser);
void lapser_stop(struct lapser *lapser);

/* notifier.c: look for what is to be told; break off what is being told. */
void notifier_init(struct notifier *notifier, struct background *background);
void notifier_look(struct notifier *notifier);
void notifier_stop(struct notifier *notifier);

/* How many connections a declared lane has; how many tries to find out at once it may have. Each at
 * least one. */
size_t lane_connections(const struct lane *lane);
size_t lane_asks_max(const struct lane *lane);

/* dispatcher.c, reconciler_wishes.c */
void dispatcher_look(struct lane *lane);
void reconciler_look(struct lane *lane);
void reconciler_take_wishes(struct background *background);

#endif
