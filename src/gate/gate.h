/*
 * The gate: what its threads share, and what each has for itself.
 *
 * One control thread (signals, the admin listener, the janitor), N workers, and the background
 * (background.h). A worker is a loop with a listener, its upstream clients and its share of the
 * requests; a request lives and dies on one worker. All of them put commands into one store.
 *
 * A reload makes a new generation of settings and clients on every one of those loops. Requests go
 * on with the generation they began with; it goes when its last request has gone.
 */
#ifndef GATE_GATE_H
#define GATE_GATE_H

#include "auth/callers.h"
#include "auth/jwks_file.h"
#include "auth/limiter.h"
#include "config/settings.h"
#include "gate/metrics.h"
#include "gate/waiting.h"
#include "net/client.h"
#include "net/server.h"
#include "store/store.h"

#include <stdatomic.h>

struct background;
struct check_cache;
struct gate;
struct issuer;

/* A loop that can ask the store. */
struct station {
	struct loop loop;
	struct gate *gate;
	struct store_inbox inbox;
	uv_async_t answers;
};

int station_init(struct station *station, struct gate *gate);

/* Settings that several workers hold, with what was read from the files they name. */
struct settings_hold {
	struct settings *settings;
	struct credential *credentials; /* one an upstream: credential.h */
	struct tls_context *tls;	/* of the data listener; NULL: plain */
	struct tls_context *admin_tls;	/* of the admin listener; NULL: plain */
	struct jwks *jwks;		/* accounts.jwt.jwks, as the file was then; NULL: no file */
	struct jwks_stamp jwks_stamp;
	atomic_uint holders; /* freed with the last one */
};

/* The generations of one loop: a worker's, or the background's. */
struct generations {
	struct loop *loop;
	unsigned workers;  /* of the gate, which share the connections to a service */
	struct list list;  /* the newest, and those that still have requests */
	unsigned requests; /* not ended, over all of them */
};

/* What a loop serves with, from one reload to the next. */
struct generation {
	struct list link; /* among its loop's */
	struct generations *home;
	struct settings_hold *hold;
	const struct settings *settings;
	struct client **clients;       /* one an upstream, in the settings' order */
	struct client **token_clients; /* to their token endpoints; NULL: it has none */
	struct client *notify;	       /* of who is told of approvals, the notifier's; or NULL */
	unsigned requests;	       /* that began with it and have not ended */
	bool is_retired;	       /* a newer one has come */
};

struct worker {
	struct station station;
	struct gate *gate;

	/* serving */
	struct service service;
	struct server server;
	struct generation *generation; /* the newest */
	struct generations generations;
	struct metrics metrics;
	struct loop_sweeper sweeper; /* brings the metrics up to date */
	struct check_cache *checks;  /* credentials that hold; NULL: none is remembered */

	/* what the control thread asks for; each may come on the heels of another */
	struct loop_post reload, drain, give_up, stop;
	struct settings_hold *next_hold; /* of the reload */
	atomic_bool is_reloading;	 /* until it is done */

	/* ending */
	bool is_draining;
	bool is_drained;	 /* and counted in gate->drained_workers */
	struct loop_timer close; /* given up: ends what is still connected */
};

struct janitor {
	struct gate *gate;
	struct store_command command;
	struct arena mem;
	struct loop_timer timer;
	bool is_asking;
};

/* When keys were used last, on its way into the store. */
struct key_uses {
	struct store_command command;
	struct arena mem;
	struct buf text;
	struct loop_timer timer;
	int64_t kept_ms; /* the newest use that was written */
	bool is_started, is_asking;
};

/* Where somebody may fail to authenticate. */
enum door { DOOR_DATA, DOOR_ADMIN, DOOR_COUNT };

struct caller_failures {
	_Atomic uint64_t count;
	_Atomic uint64_t put_off; /* of them, those that were told to wait */
};

struct gate {
	/* for every thread */
	const struct env *env;
	struct log *log;
	struct store *store;
	struct vault *vault;	 /* what the store seals with */
	struct secrets *secrets; /* see secrets.h */
	struct waiting_room waiting;
	struct callers *callers; /* the keys that are in force; keys.h changes them */
	struct limiter limiter;	 /* of failed attempts to authenticate */
	struct caller_failures failures[DOOR_COUNT];
	struct worker *workers;
	unsigned worker_count;
	atomic_bool is_draining;
	atomic_uint drained_workers;
	struct background *background; /* see background.h */
	struct issuer *issuer;	       /* see issuer.h */
	atomic_bool is_background_drained;

	/* the control thread's */
	struct station control;
	struct janitor janitor;
	struct key_uses key_uses;
	struct settings_hold *hold; /* the newest */
	const char *config_file;    /* NULL: none */
	struct settings_override overrides;
	unsigned started_workers;
	char listen_text[64];		/* the data listener's address as bound */
	uint64_t interrupted;		/* operations that a former gate left running */
	uv_signal_t signals[3];		/* TERM, INT, HUP */
	struct loop_timer reload_timer; /* asked for while the last one is under way */

	/* the admin listener's to fill */
	struct server *control_server;	       /* its own, drained last; NULL: none */
	void (*on_reload)(void *reload_owner); /* `hold` is new, the old one still there; or NULL */
	void *reload_owner;

	/* the control thread's, draining */
	struct loop_timer drain_timer;
	int64_t drain_until_ms; /* monotonic */
	bool has_given_up;	/* the time for draining is over */
	int64_t last_until_ms;	/* monotonic: for the admin listener's last answers; 0: not yet */
};

/*
 * Open: settings, log, store, control station. Start: the workers; from then on signals count.
 * Run: the control loop until a signal has ended it. Close: everything. 0, or a failure that has
 * been explained in `why`. From the main thread.
 */
int gate_open(struct gate *gate, const char *config_file, const struct settings_override *overrides,
	      struct settings *settings, char *why, size_t why_size);
int gate_start(struct gate *gate, char *why, size_t why_size);
void gate_run(struct gate *gate);
void gate_close(struct gate *gate);

/* The part of one worker; at least one. */
static inline size_t gate_share(size_t whole, unsigned workers)
{
	size_t part = (whole + workers - 1) / workers;

	return part ? part : 1;
}

/* The pause before something that must succeed in the end is tried again; 0: it was tried once. */
enum { GATE_PAUSE_FIRST_MS = 250, GATE_PAUSE_MAX_MS = 5000 };
static inline int64_t gate_next_pause_ms(int64_t last_ms)
{
	int64_t ms = last_ms ? last_ms * 2 : GATE_PAUSE_FIRST_MS;

	return ms < GATE_PAUSE_MAX_MS ? ms : GATE_PAUSE_MAX_MS;
}

/* How many threads share the connections to a service. */
unsigned gate_sharers(const struct settings *settings, unsigned workers);

static inline const struct settings *gate_settings(const struct gate *gate)
{
	return gate->hold->settings;
}

void janitor_start(struct gate *gate);
void janitor_stop(struct gate *gate); /* once the store is closed */

/*
 * Workers. Start: 0, or a failure with *why; `address` gets the port when it was 0. Reload:
 * serve the next requests with `hold`; false while the last reload is still under way. Drain:
 * accept no more, finish what runs, then count in gate->drained_workers. Give up: end the calls
 * that still run, and a little later the connections. Stop: end the thread, whatever runs. All
 * from the control thread.
 */
int worker_start(struct worker *worker, struct gate *gate, unsigned index,
		 struct sockaddr_storage *address, const char **why);
bool worker_reload(struct worker *worker, struct settings_hold *hold);
void worker_drain(struct worker *worker);
void worker_give_up(struct worker *worker);
void worker_stop(struct worker *worker);
void worker_free(struct worker *worker);

/*
 * generation.c, all on the loop's own thread. New: takes `hold`, also on failure (NULL: no
 * memory). Retire: a newer one has come; it goes with its last request. Hold and drop: a request
 * begins, and ends. Give up: cancel every call of every generation.
 */
void generations_init(struct generations *home, struct loop *loop, unsigned workers);
void generations_give_up(struct generations *home);
struct generation *generation_new(struct generations *home, struct settings_hold *hold);
void generation_free(struct generation *generation);
void generation_retire(struct generation *generation);
void generation_hold(struct generation *generation);
void generation_drop(struct generation *generation);

/* A command for the store from a station's own thread, to be answered there. */
void gate_ask(struct station *station, struct store_command *command);

/* The same while the gate starts, before its loops run: the answer is waited for. */
void gate_ask_now(struct store *store, struct store_command *command);

/* One holder. Takes `settings`, also on failure: FAIL_CONFIG with `why`, FAIL_MEMORY. `secrets` has
 * to outlive it. */
int settings_hold_new(struct settings *settings, struct secrets *secrets,
		      struct settings_hold **out_hold, char *why, size_t why_size);
void settings_hold_drop(struct settings_hold *hold);

#endif
