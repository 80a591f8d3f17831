/*
 * The gate as a whole: opening, running, reloading, draining, closing.
 *
 * The control thread is the main one. SIGTERM and SIGINT drain: no new connection, nobody waits
 * for news any longer, what runs is finished. After limits.drain_timeout the calls that still
 * run are given up, and their operations become unknown. A second signal ends at once. SIGHUP
 * reads the configuration again and keeps the old one if the new one is wrong. Whatever ends
 * the process before its operations have, the next gate finds them and calls them unknown.
 */
#include "gate/background.h"
#include "gate/issuer.h"
#include "gate/keys.h"

#include "base/err.h"
#include "gate/credential.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>

enum {
	RELOAD_AGAIN_MS = 20,
	DRAIN_LOOK_MS = 50,
	DRAIN_GRACE_MS = 2000, /* for what is given up to be recorded and told */
	DRAIN_LAST_MS = 1000,  /* for the admin listener's last answers */
	FILES_BESIDES = 64,    /* open files that are no client's */
	PATH_SIZE = 4096,
};

static int explain(char *why, size_t why_size, int code, const char *text)
{
	snprintf(why, why_size, "%s", text);
	return code;
}

/* Keys before what they seal. */
static int open_vault(struct gate *gate, char *why, size_t why_size)
{
	const struct settings *settings = gate_settings(gate);
	char folder[PATH_SIZE];

	if (snprintf(folder, sizeof(folder), "%s/keys", settings->data.at) >= (int)sizeof(folder))
		return explain(why, why_size, FAIL_CONFIG,
			       "the path of the data directory is too "
			       "long");
	if (store_make_directory(settings->data.at, why, why_size) != 0)
		return FAIL_CONFIG;
	return vault_open(folder, &settings->master_key, gate->env, &gate->vault, why, why_size);
}

static int open_store(struct gate *gate, char *why, size_t why_size)
{
	const struct settings *settings = gate_settings(gate);
	const struct store_audit audit = {
		.origin = settings->audit.origin,
		.checkpoint_entries = settings->audit.checkpoint_entries,
		.checkpoint_interval_ms = settings->audit.checkpoint_interval_ms,
		.anchors = settings->audit.anchors.texts,
		.anchor_count = settings->audit.anchors.count,
		.witnesses = settings->audit.witnesses.texts,
		.witness_count = settings->audit.witnesses.count,
		.rotate_ms = settings->audit.rotate_ms,
		.keep_ms = settings->audit.keep_ms,
	};
	const struct store_options options = {.audit = &audit, .vault = gate->vault};
	struct log_line line;
	int r;

	r = store_open_sqlite(settings->data.at, &options, gate->env, gate->log, &gate->store,
			      &gate->interrupted, why, why_size);
	if (r != 0)
		return r;
	if (gate->interrupted) {
		log_begin(&line, gate->log, LOG_WARNING, "interrupted-operations");
		log_int(&line, "unknown", (int64_t)gate->interrupted);
		log_end(&line);
	}
	return 0;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MAY_BE_TRACED = 1 }; /* the leak checker is a tracer of its own process */
#else
enum { MAY_BE_TRACED = 0 };
#endif

/* What is in memory stays there: no core file, and no other process of this user may look. */
static void keep_memory_secret(void)
{
	const struct rlimit none = {0, 0};

	setrlimit(RLIMIT_CORE, &none);
	if (!MAY_BE_TRACED)
		prctl(PR_SET_DUMPABLE, 0);
}

/* Each client and each upstream connection is a file: ask for as many as the system allows. */
static void raise_file_limit(struct gate *gate)
{
	uint64_t wanted = gate_settings(gate)->limits.max_connections + FILES_BESIDES;
	struct rlimit limit;
	struct log_line line;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur >= wanted)
		return;
	log_begin(&line, gate->log, LOG_WARNING, "few-files");
	log_int(&line, "open_files_limit", (int64_t)limit.rlim_cur);
	log_int(&line, "wanted", (int64_t)wanted);
	log_text(&line, "what",
		 "limits.max_connections is more than the system lets this process open; "
		 "raise the limit on open files (ulimit -n, LimitNOFILE), or lower the setting");
	log_end(&line);
}

int gate_open(struct gate *gate, const char *config_file, const struct settings_override *overrides,
	      struct settings *settings, char *why, size_t why_size)
{
	int r;

	signal(SIGPIPE, SIG_IGN);
	*gate = (struct gate){
		.env = &env_machine,
		.config_file = config_file,
		.overrides = *overrides,
		.worker_count = settings->threads,
	};
	waiting_room_init(&gate->waiting);
	limiter_init(&gate->limiter);
	gate->log = log_new(gate->env, STDERR_FILENO, (enum log_level)settings->log.level);
	r = secrets_new(&gate->secrets);
	if (r != 0) {
		settings_free(settings);
		return explain(why, why_size, r, "out of memory");
	}
	r = settings_hold_new(settings, gate->secrets, &gate->hold, why, why_size);
	if (r != 0)
		return r;
	gate->workers = calloc(gate->worker_count, sizeof(*gate->workers));
	if (!gate->log || !gate->workers || client_init_process() != 0 ||
	    callers_new(&gate->callers) != 0)
		return explain(why, why_size, FAIL_MEMORY, "out of memory");
	raise_file_limit(gate);
	keep_memory_secret();
	r = station_init(&gate->control, gate);
	if (r != 0)
		return explain(why, why_size, r, "the control loop could not be made");
	gate->issuer = issuer_open(gate);
	if (!gate->issuer)
		return explain(why, why_size, FAIL_MEMORY, "out of memory");
	r = open_vault(gate, why, why_size);
	if (r == 0)
		r = open_store(gate, why, why_size);
	if (r == 0 && credentials_load(gate->store, gate->secrets) != 0)
		return explain(why, why_size, FAIL_IO, "the secrets in the store cannot be read");
	if (r == 0)
		r = keys_load(gate, why, why_size);
	if (r == 0 && background_open(gate) != 0)
		return explain(why, why_size, FAIL_MEMORY, "out of memory");
	return r;
}

static void take_signals(struct gate *gate);

int gate_start(struct gate *gate, char *why, size_t why_size)
{
	const struct settings_address *listen = &gate_settings(gate)->listen;
	struct sockaddr_storage address;
	const char *reason = NULL;

	if (!address_parse(listen->text, &address))
		return explain(why, why_size, FAIL_CONFIG, "the listen address cannot be used");
	for (unsigned i = 0; i < gate->worker_count; i++) {
		int r = worker_start(&gate->workers[i], gate, i, &address, &reason);

		gate->started_workers = i + (r == 0);
		if (r != 0) {
			snprintf(why, why_size, "cannot listen on %.*s: %s", STR_ARG(listen->text),
				 reason);
			return r;
		}
	}
	address_format((struct sockaddr *)&address, gate->listen_text);
	if (background_start(gate) != 0)
		return explain(why, why_size, FAIL_IO, "the background thread could not be made");
	credentials_warn(gate_settings(gate), gate->secrets, gate->log);
	janitor_start(gate);
	keys_start(gate);
	take_signals(gate);
	return 0;
}

/* Reloading. */

static void log_report(struct gate *gate, const struct settings_report *report)
{
	struct log_line line;

	for (size_t i = 0; i < report->count; i++) {
		const struct settings_error *error = &report->errors[i];

		log_begin(&line, gate->log, LOG_ERROR, "reload-refused");
		log_text(&line, "file", error->source);
		log_int(&line, "line", (int64_t)error->line);
		log_int(&line, "column", (int64_t)error->column);
		log_text(&line, "what", error->what);
		log_text(&line, "mend", error->mend);
		log_end(&line);
	}
}

static bool is_reloading(struct gate *gate)
{
	for (unsigned i = 0; i < gate->worker_count; i++) {
		if (atomic_load(&gate->workers[i].is_reloading))
			return true;
	}
	return background_is_reloading(gate);
}

static void put_in_force(struct gate *gate, struct settings_hold *hold)
{
	struct settings_hold *old = gate->hold;

	gate->hold = hold;
	for (unsigned i = 0; i < gate->worker_count; i++)
		require(worker_reload(&gate->workers[i], hold));
	require(background_reload(gate, hold));
	issuer_reload(gate->issuer);
	if (gate->on_reload)
		gate->on_reload(gate->reload_owner);
	log_set_level(gate->log, (enum log_level)hold->settings->log.level);
	settings_hold_drop(old);
	credentials_warn(hold->settings, gate->secrets, gate->log);
	log_note(gate->log, LOG_INFO, "reloaded", "file", gate->config_file);
}

/* NULL: nothing is. While draining, new clients of services would not be given up in time. */
static const char *against_reload(struct gate *gate)
{
	if (!gate->config_file)
		return "there is no configuration file to read again";
	return atomic_load(&gate->is_draining) ? "the gate is stopping" : NULL;
}

static void reload(struct gate *gate)
{
	struct settings *settings = NULL;
	struct settings_hold *hold;
	struct settings_report report;
	const char *against = against_reload(gate);
	char why[512] = "";

	if (against) {
		log_note(gate->log, LOG_WARNING, "reload-refused", "what", against);
		return;
	}
	if (is_reloading(gate)) { /* the file may have changed since: read it once more, then */
		loop_timer_start(&gate->control.loop, &gate->reload_timer, RELOAD_AGAIN_MS);
		return;
	}
	settings_report_init(&report);
	if (settings_load(gate->config_file, &gate->overrides, &settings, &report) != 0) {
		log_report(gate, &report);
	} else if (settings_reloadable(gate_settings(gate), settings, gate->config_file, &report) !=
		   0) {
		log_report(gate, &report);
		settings_free(settings);
	} else if (vault_reload(gate->vault, &settings->master_key, why, sizeof(why)) != 0) {
		log_note(gate->log, LOG_ERROR, "reload-refused", "what", why);
		settings_free(settings);
	} else if (settings_hold_new(settings, gate->secrets, &hold, why, sizeof(why)) != 0) {
		log_note(gate->log, LOG_ERROR, "reload-refused", "what", why);
	} else {
		put_in_force(gate, hold);
	}
	settings_report_fini(&report);
}

static void reload_again(struct loop_timer *timer)
{
	reload(list_entry(timer, struct gate, reload_timer));
}

/* Draining. */

static void give_up(struct gate *gate)
{
	log_note(gate->log, LOG_WARNING, "drain-timeout", "what",
		 "what still runs is given up; its operations are unknown");
	gate->has_given_up = true;
	gate->drain_until_ms += DRAIN_GRACE_MS;
	for (unsigned i = 0; i < gate->worker_count; i++)
		worker_give_up(&gate->workers[i]);
	background_give_up(gate);
}

/* The workers are done. True: and so is the admin listener, which until now has told how it goes.
 */
static bool has_said_all(struct gate *gate)
{
	int64_t now_ms = gate->control.loop.now_ms;

	if (!gate->control_server)
		return true;
	if (!gate->last_until_ms) {
		gate->last_until_ms = now_ms + DRAIN_LAST_MS;
		server_drain(gate->control_server);
	}
	return server_is_idle(gate->control_server) || now_ms >= gate->last_until_ms;
}

static void look_if_drained(struct loop_timer *timer)
{
	struct gate *gate = list_entry(timer, struct gate, drain_timer);
	bool is_over = gate->control.loop.now_ms >= gate->drain_until_ms;
	bool are_drained = atomic_load(&gate->drained_workers) == gate->worker_count &&
			   atomic_load(&gate->is_background_drained);

	if ((are_drained || (is_over && gate->has_given_up)) && has_said_all(gate)) {
		loop_stop(&gate->control.loop);
		return;
	}
	if (is_over && !are_drained && !gate->has_given_up)
		give_up(gate);
	loop_timer_start(&gate->control.loop, timer, DRAIN_LOOK_MS);
}

static void drain(struct gate *gate)
{
	if (atomic_exchange(&gate->is_draining, true)) {
		loop_stop(&gate->control.loop);
		return;
	}
	loop_timer_cancel(&gate->reload_timer);
	log_note(gate->log, LOG_INFO, "draining", "what", "no new connections");
	gate->drain_until_ms =
		gate->control.loop.now_ms + gate_settings(gate)->limits.drain_timeout_ms;
	waiting_close(&gate->waiting);
	for (unsigned i = 0; i < gate->worker_count; i++)
		worker_drain(&gate->workers[i]);
	background_drain(gate);
	issuer_stop(gate->issuer);
	loop_timer_init(&gate->drain_timer, look_if_drained);
	loop_timer_start(&gate->control.loop, &gate->drain_timer, DRAIN_LOOK_MS);
}

static void on_signal(uv_signal_t *handle, int signal)
{
	struct gate *gate = handle->data;

	if (signal == SIGHUP)
		reload(gate);
	else
		drain(gate);
}

static void take_signals(struct gate *gate)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP};

	loop_timer_init(&gate->reload_timer, reload_again);
	for (size_t i = 0; i < 3; i++) {
		require(uv_signal_init(&gate->control.loop.uv, &gate->signals[i]) == 0);
		gate->signals[i].data = gate;
		uv_signal_start(&gate->signals[i], on_signal, signals[i]);
	}
}

void gate_run(struct gate *gate)
{
	loop_run(&gate->control.loop);
}

void gate_close(struct gate *gate)
{
	for (unsigned i = 0; i < gate->started_workers; i++)
		worker_stop(&gate->workers[i]);
	background_stop(gate);
	if (gate->store)
		store_close(gate->store);
	vault_close(gate->vault);
	janitor_stop(gate);
	keys_stop(gate);
	background_close(gate);
	if (gate->workers) {
		for (unsigned i = 0; i < gate->worker_count; i++)
			worker_free(&gate->workers[i]);
	}
	issuer_close(gate->issuer);
	loop_fini(&gate->control.loop);
	settings_hold_drop(gate->hold);
	secrets_free(gate->secrets);
	waiting_room_fini(&gate->waiting);
	callers_free(gate->callers);
	limiter_fini(&gate->limiter);
	free(gate->workers);
	log_free(gate->log);
}
