/*
 * The background: a loop without a listener, where the dispatcher and the reconciler live.
 *
 * It reloads, drains, gives up and stops as a worker does. Draining, it takes nothing new and
 * finishes what runs; what is left behind is running in the store, and the next gate calls it
 * unknown. Other threads reach it by a poke and by wishes: a poke says nothing but that it is
 * worth looking, a wish names an operation. Neither is remembered by more than this process, and
 * neither has to be: the store knows what is due.
 */
#include "gate/background_internal.h"

#include "base/err.h"
#include "gate/account.h"

#include <stdlib.h>

/* Lanes. */

struct lane *lane_find(struct background *background, struct str name)
{
	struct list *link, *after;

	list_for_each (link, after, &background->lanes) {
		struct lane *lane = list_entry(link, struct lane, link);

		if (str_equal(lane->name, name))
			return lane;
	}
	return NULL;
}

size_t lane_connections(const struct lane *lane)
{
	const struct background *background = lane->background;
	const struct settings *settings = background->generation->settings;

	require(lane->is_declared);
	return gate_share(settings->upstreams[lane->index].max_connections,
			  gate_sharers(settings, background->generations.workers));
}

size_t lane_asks_max(const struct lane *lane)
{
	size_t half = lane_connections(lane) / 2;

	if (half > BACKGROUND_ASKS_MAX)
		return BACKGROUND_ASKS_MAX;
	return half ? half : 1;
}

/* Look for what is due, if there is room for it. */
static void lane_look(struct lane *lane)
{
	dispatcher_look(lane);
	reconciler_look(lane);
	lane_wait(lane);
}

static void time_to_look(struct loop_timer *timer)
{
	lane_look(list_entry(timer, struct lane, timer));
}

static struct lane *lane_new(struct background *background, struct str name)
{
	struct lane *lane = calloc(1, sizeof(*lane) + name.len);

	if (!lane)
		return NULL;
	memcpy(lane + 1, name.at, name.len);
	lane->name = str_of((const char *)(lane + 1), name.len);
	lane->background = background;
	list_init(&lane->wishes);
	loop_timer_init(&lane->timer, time_to_look);
	list_append(&background->lanes, &lane->link);
	return lane;
}

static bool is_idle(const struct lane *lane)
{
	return !lane->sending && !lane->trying && !lane->is_taking && !lane->is_looking &&
	       list_is_empty(&lane->wishes);
}

static void lane_free(struct lane *lane)
{
	loop_timer_cancel(&lane->timer);
	list_remove(&lane->link);
	free(lane);
}

/* Who wishes for something there is called: nobody will find out. */
static void drop_wishes(struct lane *lane)
{
	struct list *link, *after;

	list_for_each (link, after, &lane->wishes) {
		struct wish *wish = list_entry(link, struct wish, link);

		list_remove(&wish->link);
		background_forget_wish(lane->background);
		waiting_call(&lane->background->gate->waiting, &wish->id);
		free(wish);
	}
}

static void free_idle_lanes(struct background *background)
{
	struct list *link, *after;

	list_for_each (link, after, &background->lanes) {
		struct lane *lane = list_entry(link, struct lane, link);

		if (!lane->is_declared)
			drop_wishes(lane);
		if (!lane->is_declared && is_idle(lane))
			lane_free(lane);
	}
}

/* One for each upstream of the newest generation. False: no memory; those there are go on. */
static bool declare_lanes(struct background *background, struct generation *generation)
{
	const struct settings *settings = generation->settings;
	struct list *link, *after;

	for (size_t i = 0; i < settings->upstream_count; i++) {
		struct str name = settings->upstreams[i].name;

		if (!lane_find(background, name) && !lane_new(background, name))
			return false;
	}
	list_for_each (link, after, &background->lanes) {
		struct lane *lane = list_entry(link, struct lane, link);
		const struct settings_upstream *upstream = settings_upstream(settings, lane->name);

		lane->is_declared = upstream != NULL;
		lane->index = upstream ? (size_t)(upstream - settings->upstreams) : 0;
	}
	return true;
}

void lane_rest(struct lane *lane)
{
	lane->quiet_until_ms = lane->background->station.loop.now_ms + BACKGROUND_FAILED_MS;
	lane_wait(lane);
}

static int64_t nearer(int64_t ms, int64_t due_ms, int64_t now_ms)
{
	if (!due_ms || due_ms - now_ms >= ms)
		return ms;
	return due_ms > now_ms ? due_ms - now_ms : 0;
}

void background_see_clock(struct background *background)
{
	const struct env *env = background->gate->env;

	steps_see(&background->steps, env_wall_ms(env), env_monotonic_ms(env));
}

/* By the wall clock, which may step; so never for long. */
void lane_wait(struct lane *lane)
{
	struct loop *loop = &lane->background->station.loop;
	int64_t now_ms = background_wall_ms(lane->background), ms = BACKGROUND_LOOK_MS;

	background_see_clock(lane->background);
	if (lane->background->is_draining || !lane->is_declared) {
		loop_timer_cancel(&lane->timer);
		return;
	}
	ms = nearer(nearer(ms, lane->take_ms, now_ms), lane->ask_ms, now_ms);
	if (lane_rests(lane))
		ms = BACKGROUND_FAILED_MS;
	else if (ms == 0)
		ms = BACKGROUND_SOON_MS; /* it was due when we looked, and could not be taken */
	loop_timer_start(loop, &lane->timer, ms);
}

void background_look(struct background *background)
{
	struct list *link, *after;

	list_for_each (link, after, &background->lanes)
		lane_look(list_entry(link, struct lane, link));
	lapser_look(&background->lapser);
	notifier_look(&background->notifier);
}

/* What other threads ask for. */

static void run_poke(struct loop_post *post)
{
	struct background *background = list_entry(post, struct background, poke);

	atomic_store(&background->is_poked, false); /* first: what comes now is seen by a new one */
	background_look(background);
}

void background_poke(struct gate *gate)
{
	struct background *background = gate->background;

	if (!atomic_exchange(&background->is_poked, true))
		loop_post(&background->station.loop, &background->poke);
}

static void run_wished(struct loop_post *post)
{
	struct background *background = list_entry(post, struct background, wished);

	pthread_mutex_lock(&background->lock);
	background->is_wished = false;
	pthread_mutex_unlock(&background->lock);
	reconciler_take_wishes(background);
}

bool wish_is_among(const struct list *wishes, const struct operation_id *id)
{
	for (const struct list *link = wishes->next; link != wishes; link = link->next) {
		if (memcmp(&list_entry(link, struct wish, link)->id, id, sizeof(*id)) == 0)
			return true;
	}
	return false;
}

/* Under the lock. */
static bool add_wish(struct background *background, const struct operation_id *id)
{
	struct wish *wish;

	if (wish_is_among(&background->wishes, id))
		return true;
	if (background->wish_count >= BACKGROUND_WISHES_MAX)
		return false;
	wish = calloc(1, sizeof(*wish));
	if (!wish)
		return false;
	wish->id = *id;
	list_append(&background->wishes, &wish->link);
	background->wish_count++;
	if (!background->is_wished)
		loop_post(&background->station.loop, &background->wished);
	background->is_wished = true;
	return true;
}

bool background_find_out(struct gate *gate, const struct operation_id *id)
{
	struct background *background = gate->background;
	bool is_added;

	if (atomic_load(&gate->is_draining))
		return false;
	pthread_mutex_lock(&background->lock);
	is_added = add_wish(background, id);
	pthread_mutex_unlock(&background->lock);
	return is_added;
}

bool background_next_wish(struct background *background, struct operation_id *out_id)
{
	struct wish *wish = NULL;

	pthread_mutex_lock(&background->lock);
	if (!list_is_empty(&background->wishes)) {
		wish = list_entry(background->wishes.next, struct wish, link);
		list_remove(&wish->link);
	}
	pthread_mutex_unlock(&background->lock);
	if (!wish)
		return false;
	*out_id = wish->id;
	free(wish);
	return true;
}

void background_forget_wish(struct background *background)
{
	pthread_mutex_lock(&background->lock);
	background->wish_count--;
	pthread_mutex_unlock(&background->lock);
}

/* The log. */

void background_line(struct log_line *line, const struct background *background, const char *event,
		     const struct store_operation *operation)
{
	char id[OPERATION_ID_TEXT + 1];

	operation_id_write(&operation->id, id);
	log_begin(line, background->gate->log, LOG_INFO, event);
	log_text(line, "operation", id);
	if (operation->action.len)
		log_str(line, "action", operation->action);
	log_str(line, "account", account_shown(operation->account));
}

void background_warn(struct background *background, const struct store_operation *operation,
		     const char *what)
{
	char id[OPERATION_ID_TEXT + 1];
	struct log_line line;

	if (background->warnings++ >= BACKGROUND_WARNINGS_MAX)
		return;
	operation_id_write(&operation->id, id);
	log_begin(&line, background->gate->log, LOG_WARNING, "operation-waits");
	log_text(&line, "operation", id);
	if (operation->action.len)
		log_str(&line, "action", operation->action);
	log_str(&line, "upstream", operation->upstream);
	log_text(&line, "what", what);
	log_end(&line);
}

/* Life. */

static bool is_done(const struct background *background)
{
	return background->is_draining && background->generations.requests == 0 &&
	       background->commands == 0;
}

static void sweep(struct loop_sweeper *sweeper, int64_t now_ms)
{
	struct background *background = list_entry(sweeper, struct background, sweeper);

	free_idle_lanes(background);
	if (is_done(background))
		atomic_store(&background->gate->is_background_drained, true);
}

static int prepare(struct background *background, struct settings_hold *hold)
{
	int r = station_init(&background->station, background->gate);

	if (r != 0)
		return r;
	background->has_loop = true;
	generations_init(&background->generations, &background->station.loop,
			 background->gate->worker_count);
	atomic_fetch_add(&hold->holders, 1);
	background->generation = generation_new(&background->generations, hold);
	if (!background->generation || !declare_lanes(background, background->generation))
		return fail(FAIL_MEMORY);
	background->sweeper.sweep = sweep;
	loop_add_sweeper(&background->station.loop, &background->sweeper);
	return 0;
}

int background_open(struct gate *gate)
{
	struct background *background = calloc(1, sizeof(*background));

	if (!background)
		return fail(FAIL_MEMORY);
	gate->background = background;
	background->gate = gate;
	list_init(&background->lanes);
	list_init(&background->tries);
	list_init(&background->questions);
	list_init(&background->wishes);
	pthread_mutex_init(&background->lock, NULL);
	lapser_init(&background->lapser, background);
	notifier_init(&background->notifier, background);
	background->poke.run = run_poke;
	background->wished.run = run_wished;
	return prepare(background, gate->hold);
}

static void run_begin(struct loop_post *post)
{
	struct background *background = list_entry(post, struct background, begin);

	stranded_look(background);
	background_look(background);
}

int background_start(struct gate *gate)
{
	struct background *background = gate->background;
	int r = loop_start(&background->station.loop);

	background->is_running = r == 0;
	background->begin.run = run_begin;
	if (r == 0)
		loop_post(&background->station.loop, &background->begin);
	return r;
}

static void run_reload(struct loop_post *post)
{
	struct background *background = list_entry(post, struct background, reload);
	struct generation *old = background->generation;
	struct generation *next = generation_new(&background->generations, background->next_hold);

	if (next && declare_lanes(background, next)) {
		background->generation = next;
		background->warnings = 0;
		generation_retire(old);
		stranded_look(background);
		background_look(background);
	} else if (next) {
		generation_free(next);
	}
	atomic_store(&background->is_reloading, false);
}

bool background_reload(struct gate *gate, struct settings_hold *hold)
{
	struct background *background = gate->background;

	if (atomic_exchange(&background->is_reloading, true))
		return false;
	atomic_fetch_add(&hold->holders, 1);
	background->next_hold = hold;
	background->reload.run = run_reload;
	loop_post(&background->station.loop, &background->reload);
	return true;
}

bool background_is_reloading(struct gate *gate)
{
	return atomic_load(&gate->background->is_reloading);
}

void background_ask(struct background *background, struct generation *generation, struct ask *ask)
{
	list_append(&background->questions, &ask->link);
	ask_start(generation, ask);
}

void background_asked(struct background *background, struct ask *ask)
{
	list_remove(&ask->link);
	metrics_add(&background->metrics.asked[ask->verdict], 1);
}

static void break_off_questions(struct background *background)
{
	struct list *link, *after;

	list_for_each (link, after, &background->questions)
		ask_break_off(list_entry(link, struct ask, link));
}

static void run_drain(struct loop_post *post)
{
	struct background *background = list_entry(post, struct background, drain);
	struct list *link, *after;

	background->is_draining = true;
	list_for_each (link, after, &background->lanes)
		lane_wait(list_entry(link, struct lane, link));
	lapser_stop(&background->lapser);
	notifier_stop(&background->notifier);
	break_off_questions(background);
}

void background_drain(struct gate *gate)
{
	gate->background->drain.run = run_drain;
	loop_post(&gate->background->station.loop, &gate->background->drain);
}

static void run_give_up(struct loop_post *post)
{
	generations_give_up(&list_entry(post, struct background, give_up)->generations);
}

void background_give_up(struct gate *gate)
{
	gate->background->give_up.run = run_give_up;
	loop_post(&gate->background->station.loop, &gate->background->give_up);
}

static void run_stop(struct loop_post *post)
{
	loop_stop(&list_entry(post, struct background, stop)->station.loop);
}

void background_stop(struct gate *gate)
{
	struct background *background = gate->background;

	if (!background || !background->is_running)
		return;
	background->stop.run = run_stop;
	loop_post(&background->station.loop, &background->stop);
	loop_join(&background->station.loop);
}

static void free_wishes(struct background *background)
{
	struct operation_id unused;

	while (background_next_wish(background, &unused))
		background_forget_wish(background);
}

static void free_lanes(struct background *background)
{
	struct list *link, *after;

	list_for_each (link, after, &background->lanes) {
		struct lane *lane = list_entry(link, struct lane, link);

		drop_wishes(lane);
		lane_free(lane);
	}
}

/* What is left behind keeps what it needs: the process is about to end. */
void background_close(struct gate *gate)
{
	struct background *background = gate->background;

	if (!background || background->generations.requests || background->commands)
		return;
	free_wishes(background);
	free_lanes(background);
	if (background->generation)
		generation_free(background->generation);
	if (background->has_loop)
		loop_fini(&background->station.loop);
	pthread_mutex_destroy(&background->lock);
	free(background);
	gate->background = NULL;
}

const struct metrics *background_metrics(const struct gate *gate)
{
	return gate->background ? &gate->background->metrics : NULL;
}
