/*
 * Generations: what a loop serves with, from one reload to the next.
 *
 * The settings are shared by the loops and counted (settings_hold); the clients are each loop's
 * own. A generation goes when a newer one has come and its last request has ended, so nothing
 * that a request borrows from its settings goes before it.
 */
#include "gate/credential.h"
#include "gate/gate.h"

#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>

static int load_tls(const struct settings_tls *tls, struct tls_context **out_context, char *why,
		    size_t why_size)
{
	if (!tls->certificate.len)
		return 0;
	return tls_context_new(tls->certificate.at, tls->key.at, out_context, why, why_size);
}

static int load_credentials(struct settings_hold *hold, struct secrets *secrets)
{
	const struct settings *settings = hold->settings;

	hold->credentials = calloc(settings->upstream_count, sizeof(*hold->credentials));
	if (!hold->credentials)
		return fail(FAIL_MEMORY);
	return credentials_init(hold->credentials, settings, secrets);
}

static int load_keys(struct settings_hold *hold, char *why, size_t why_size)
{
	const struct settings *settings = hold->settings;
	const struct settings_jwt *jwt = &settings->accounts.jwt;
	char reason[JWKS_WHY_MAX];
	int r;

	if (settings->accounts.from != SETTINGS_ACCOUNTS_JWT || jwt->url.text.len)
		return 0;
	r = jwks_read_file(jwt->jwks.at, &hold->jwks, &hold->jwks_stamp, reason);
	if (r <= 0)
		return r;
	snprintf(why, why_size, "accounts.jwt.jwks (%s) is no key set: %s", jwt->jwks.at, reason);
	return FAIL_CONFIG;
}

int settings_hold_new(struct settings *settings, struct secrets *secrets,
		      struct settings_hold **out_hold, char *why, size_t why_size)
{
	struct settings_hold *hold = calloc(1, sizeof(*hold));
	int r;

	if (!hold) {
		settings_free(settings);
		return fail(FAIL_MEMORY);
	}
	hold->settings = settings;
	atomic_init(&hold->holders, 1);
	r = load_credentials(hold, secrets);
	if (r == 0)
		r = load_tls(&settings->tls, &hold->tls, why, why_size);
	if (r == 0)
		r = load_tls(&settings->admin_tls, &hold->admin_tls, why, why_size);
	if (r == 0)
		r = load_keys(hold, why, why_size);
	if (r != 0) {
		settings_hold_drop(hold);
		return r;
	}
	*out_hold = hold;
	return 0;
}

void settings_hold_drop(struct settings_hold *hold)
{
	if (!hold || atomic_fetch_sub(&hold->holders, 1) != 1)
		return;
	tls_context_free(hold->tls);
	tls_context_free(hold->admin_tls);
	if (hold->credentials)
		credentials_fini(hold->credentials, hold->settings);
	free(hold->credentials);
	jwks_drop(hold->jwks);
	settings_free(hold->settings);
	free(hold);
}

void generations_init(struct generations *home, struct loop *loop, unsigned workers)
{
	home->loop = loop;
	home->workers = workers;
	home->requests = 0;
	list_init(&home->list);
}

void generations_give_up(struct generations *home)
{
	struct list *link, *after;

	list_for_each (link, after, &home->list) {
		struct generation *generation = list_entry(link, struct generation, link);

		for (size_t i = 0; i < generation->settings->upstream_count; i++) {
			client_give_up(generation->clients[i]);
			if (generation->token_clients[i])
				client_give_up(generation->token_clients[i]);
		}
		if (generation->notify)
			client_give_up(generation->notify);
	}
}

void generation_free(struct generation *generation)
{
	list_remove(&generation->link);
	for (size_t i = 0; i < generation->settings->upstream_count; i++) {
		client_release(generation->clients[i]);
		client_release(generation->token_clients[i]);
	}
	if (generation->notify)
		client_release(generation->notify);
	free(generation->clients);
	free(generation->token_clients);
	settings_hold_drop(generation->hold);
	free(generation);
}

/* Has the gate ever something to send, or to ask, by itself? */
static bool has_background(const struct settings *settings)
{
	for (size_t i = 0; i < settings->upstream_count; i++) {
		if (settings->upstreams[i].downstream_key.len)
			return true;
	}
	for (size_t i = 0; i < settings->action_count; i++) {
		if (action_keeps_request(&settings->actions[i]))
			return true;
	}
	return false;
}

unsigned gate_sharers(const struct settings *settings, unsigned workers)
{
	return workers + (has_background(settings) ? 1 : 0);
}

/* To the token endpoint of an upstream, where it has one. Fetches go one at a time. */
static int make_token_client(struct generation *generation, size_t index)
{
	const struct settings_upstream *upstream = &generation->settings->upstreams[index];
	const struct settings_credential *credential = &upstream->credential;
	const struct client_settings wanted = {
		.url = credential->oauth2.token_url.text.at,
		.ca_file = credential->oauth2.token_ca_file.len
				   ? credential->oauth2.token_ca_file.at
				   : NULL,
		.verify = true,
		.timeout_ms = credential->oauth2.timeout_ms,
		.connect_timeout_ms = credential->oauth2.timeout_ms,
		.max_connections = 1,
	};

	if (!credential->oauth2.token_url.text.len)
		return 0;
	return client_new(generation->home->loop, &wanted, &generation->token_clients[index]);
}

static int make_clients(struct generation *generation, unsigned sharers)
{
	const struct settings *settings = generation->settings;

	for (size_t i = 0; i < settings->upstream_count; i++) {
		const struct settings_upstream *upstream = &settings->upstreams[i];
		const struct client_settings wanted = {
			.url = upstream->url.text.at,
			.base_path = upstream->url.base_path,
			.ca_file = upstream->ca_file.len ? upstream->ca_file.at : NULL,
			.verify = upstream->verify,
			.timeout_ms = upstream->timeout_ms,
			.connect_timeout_ms = upstream->connect_timeout_ms,
			.max_connections = gate_share(upstream->max_connections, sharers),
		};
		int r = client_new(generation->home->loop, &wanted, &generation->clients[i]);

		if (r == 0)
			r = make_token_client(generation, i);
		if (r != 0)
			return r;
	}
	return 0;
}

struct generation *generation_new(struct generations *home, struct settings_hold *hold)
{
	struct generation *generation = calloc(1, sizeof(*generation));

	if (generation) {
		generation->clients =
			calloc(hold->settings->upstream_count, sizeof(struct client *));
		generation->token_clients =
			calloc(hold->settings->upstream_count, sizeof(struct client *));
	}
	if (!generation || !generation->clients || !generation->token_clients) {
		if (generation) {
			free(generation->clients);
			free(generation->token_clients);
		}
		free(generation);
		settings_hold_drop(hold);
		return NULL;
	}
	list_append(&home->list, &generation->link);
	generation->home = home;
	generation->hold = hold;
	generation->settings = hold->settings;
	if (make_clients(generation, gate_sharers(hold->settings, home->workers)) != 0) {
		generation_free(generation);
		return NULL;
	}
	return generation;
}

void generation_retire(struct generation *generation)
{
	generation->is_retired = true;
	if (generation->requests == 0)
		generation_free(generation);
}

void generation_hold(struct generation *generation)
{
	generation->requests++;
	generation->home->requests++;
}

void generation_drop(struct generation *generation)
{
	require(generation->requests > 0);
	generation->requests--;
	generation->home->requests--;
	if (generation->is_retired && generation->requests == 0)
		generation_free(generation);
}
