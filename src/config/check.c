/*
 * Combinations of settings that cannot be, each value being right by itself.
 *
 * Each rule looks at values that were read, and reports where the one stands that is to be
 * mended. A value that was wrong has kept its default, so a rule may stay silent until it
 * is mended; it never speaks because of another error.
 */
#include "config/table.h"

#include "base/err.h"

#include <sys/stat.h>
#include <unistd.h>

enum {
	MEMORY_PER_BODY = 8,	 /* what request_memory is to max_body unless it is given */
	MEMORY_PER_BODY_MIN = 2, /* a body, and as much again to read it */
};

/* Where the setting stands, or the nearest thing around it that is there. */
static struct place find_place(const struct reading *reading, const char *path)
{
	const struct node *node = node_at(reading->root, path);
	const char *dot = strrchr(path, '.');
	char section[128];

	if (node)
		return node->place;
	if (!dot)
		return reading->root->place;
	snprintf(section, sizeof(section), "%.*s", (int)(dot - path), path);
	return find_place(reading, section);
}

static bool is_given(const struct reading *reading, const char *path)
{
	return node_at(reading->root, path) != NULL;
}

/* Has its value been reported as wrong? Then the member holds the default. */
static bool is_wrong(const struct reading *reading, const char *path)
{
	const struct node *node = node_at(reading->root, path);

	return node && node->is_refused;
}

struct place check_place(const struct reading *reading, const char *path)
{
	return find_place(reading, path);
}

bool check_gives(const struct reading *reading, const char *path)
{
	return is_given(reading, path);
}

bool check_is_refused(const struct reading *reading, const char *path)
{
	return is_wrong(reading, path);
}

static bool is_any(const struct settings_address *address)
{
	return str_equal(address->host, address->is_ipv6 ? STR("::") : STR("0.0.0.0"));
}

/* Would binding both fail? [::] takes IPv4 along. */
static bool addresses_collide(const struct settings_address *a, const struct settings_address *b)
{
	if (a->port != b->port || a->port == 0)
		return false;
	if (str_equal(a->host, b->host))
		return true;
	if (a->is_ipv6 == b->is_ipv6)
		return is_any(a) || is_any(b);
	return (a->is_ipv6 && is_any(a)) || (b->is_ipv6 && is_any(b));
}

static void check_listeners(struct reading *reading)
{
	const struct settings *settings = reading->settings;

	if (is_wrong(reading, "admin"))
		return;
	if (!is_wrong(reading, "listen") && addresses_collide(&settings->listen, &settings->admin))
		report_add(reading->report, find_place(reading, "admin"),
			   "give each listener an address or a port of its own",
			   "admin %s collides with listen %s", settings->admin.text.at,
			   settings->listen.text.at);
	if (!settings->admin.is_loopback && !settings->insecure && !is_given(reading, "admin_tls"))
		report_add(reading->report, find_place(reading, "admin"),
			   "give admin_tls a certificate and a key, bind 127.0.0.1, or say "
			   "insecure: true",
			   "admin %s can be reached from other machines without TLS",
			   settings->admin.text.at);
}

static void check_pair(struct reading *reading, const char *section)
{
	char certificate[64], key[64];

	snprintf(certificate, sizeof(certificate), "%s.certificate", section);
	snprintf(key, sizeof(key), "%s.key", section);
	if (!is_given(reading, section) ||
	    (is_given(reading, certificate) && is_given(reading, key)))
		return;
	if (node_at(reading->root, section)->kind != NODE_MAP)
		return; /* reported as such */
	report_add(reading->report, find_place(reading, section),
		   "name both files, or remove the section for no TLS", "%s needs %s", section,
		   is_given(reading, key)	    ? "a certificate with its key"
		   : is_given(reading, certificate) ? "a key with its certificate"
						    : "a certificate and a key");
}

static void check_statuses(struct reading *reading)
{
	const struct status_classes *statuses = &reading->settings->statuses;

	for (int status = 100; status < 600; status++) {
		if (!status_class_has(statuses->not_sent, status) ||
		    !status_class_has(statuses->unknown, status))
			continue;
		report_add(reading->report,
			   find_place(reading, is_given(reading, "statuses.unknown")
						       ? "statuses.unknown"
						       : "statuses.not_sent"),
			   "list it in one of them; both lists replace their defaults",
			   "%d is in statuses.not_sent and in statuses.unknown", status);
	}
}

/* The largest body that any request may have. */
static size_t largest_body(const struct settings *settings)
{
	size_t largest = settings->limits.max_body;

	for (size_t i = 0; i < settings->action_count; i++) {
		if (settings->actions[i].max_body > largest)
			largest = settings->actions[i].max_body;
	}
	return largest;
}

static void check_memory(struct reading *reading)
{
	struct settings *settings = reading->settings;
	size_t body = largest_body(settings);

	if (!is_given(reading, "limits.request_memory")) {
		if (settings->limits.request_memory < MEMORY_PER_BODY * body)
			settings->limits.request_memory = MEMORY_PER_BODY * body;
		return;
	}
	if (is_wrong(reading, "limits.request_memory") || is_wrong(reading, "limits.max_body"))
		return;
	if (settings->limits.request_memory < MEMORY_PER_BODY_MIN * body)
		report_add(reading->report, find_place(reading, "limits.request_memory"),
			   "make it at least twice max_body, or remove it",
			   "limits.request_memory is too small for %s",
			   body > settings->limits.max_body ? "the max_body of an action"
							    : "limits.max_body");
}

static void check_outbox(struct reading *reading)
{
	const struct settings *settings = reading->settings;

	if (is_wrong(reading, "outbox.first_pause") || is_wrong(reading, "outbox.max_pause") ||
	    settings->outbox.first_pause_ms <= settings->outbox.max_pause_ms)
		return;
	report_add(
		reading->report,
		find_place(reading, is_given(reading, "outbox.max_pause") ? "outbox.max_pause"
									  : "outbox.first_pause"),
		"make max_pause at least as long", "outbox.first_pause is longer than max_pause");
}

/* Whoever is told must be able to know that it was this gate. */
static void check_notify(struct reading *reading)
{
	bool has_url = is_given(reading, "notify.url");
	bool has_secret = is_given(reading, "notify.secret_file");

	if (has_url && !has_secret)
		report_add(reading->report, find_place(reading, "notify.url"),
			   "add notify.secret_file, a file with whsec_ and base64 in it",
			   "notify.url has no secret, so nobody could tell who sent it");
	if (has_secret && !has_url)
		report_add(reading->report, find_place(reading, "notify.secret_file"),
			   "add notify.url, or remove it",
			   "notify has a secret and no url, so nobody is told");
}

static int read_notify_secrets(struct reading *reading)
{
	struct settings *settings = reading->settings;
	struct rule_inbox inbox = {0};
	int r;

	if (!settings->notify.secret_file.len)
		return 0;
	r = check_secret_file(reading, find_place(reading, "notify.secret_file"),
			      settings->notify.secret_file.at, &inbox);
	settings->notify.secrets = inbox.secrets;
	settings->notify.secret_count = inbox.secret_count;
	return r;
}

static void check_master_key(struct reading *reading)
{
	static const char *const names[] = {"master_key.file", "master_key.credential",
					    "master_key.passphrase_file"};
	const char *last = NULL;
	size_t given = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!is_given(reading, names[i]))
			continue;
		given++;
		last = names[i];
	}
	if (given > 1)
		report_add(reading->report, find_place(reading, last), "name one of them",
			   "the master key cannot be in several places");
}

static void check_default_upstream(struct reading *reading)
{
	const struct node *upstreams = node_at(reading->root, "upstreams");

	if (upstreams && upstreams->kind != NODE_MAP)
		return; /* reported as such */
	if (node_key(upstreams, STR("default")))
		return;
	if (reading->root->place.line == 0)
		report_add(reading->report, reading->root->place,
			   "give --upstream URL, or a configuration with --config FILE",
			   "nothing says where requests are to go");
	else
		report_add(reading->report, find_place(reading, "upstreams"),
			   "add upstreams: {default: {url: http://127.0.0.1:9000}}, if need be "
			   "with the url of another, or give --upstream URL",
			   "the upstream called default is missing, to which goes what is no "
			   "action's: reads, also with undeclared: deny");
}

static bool is_this_gate(const struct settings *settings, const struct settings_url *url)
{
	bool is_local = str_equal(url->host, STR("localhost")) && settings->listen.is_loopback;

	if (url->port == 0 || settings->listen.port != url->port)
		return false;
	return is_local || str_equal(url->host, settings->listen.host);
}

static void check_loops(struct reading *reading)
{
	const struct settings *settings = reading->settings;
	char path[128];

	if (is_wrong(reading, "listen"))
		return;
	for (size_t i = 0; i < settings->upstream_count; i++) {
		const struct settings_upstream *upstream = &settings->upstreams[i];

		if (!is_this_gate(settings, &upstream->url))
			continue;
		snprintf(path, sizeof(path), "upstreams.%s.url", upstream->name.at);
		report_add(reading->report, find_place(reading, path),
			   "give the address of the service behind the gate",
			   "the upstream %s is the gate's own data listener", upstream->name.at);
	}
}

/* The file must be there and be one we may read. What it holds its user will see. */
static void look_at(struct reading *reading, const char *path, struct str file)
{
	struct stat status;

	if (file.len == 0)
		return;
	if (stat(file.at, &status) != 0 || S_ISDIR(status.st_mode) || access(file.at, R_OK) != 0)
		report_add(reading->report, find_place(reading, path),
			   "put a PEM file there that the gate may read",
			   "%s is %s, which cannot be read", path, file.at);
}

static void check_files(struct reading *reading)
{
	const struct settings *settings = reading->settings;
	char path[160];

	look_at(reading, "tls.certificate", settings->tls.certificate);
	look_at(reading, "tls.key", settings->tls.key);
	look_at(reading, "admin_tls.certificate", settings->admin_tls.certificate);
	look_at(reading, "admin_tls.key", settings->admin_tls.key);
	look_at(reading, "accounts.jwt.ca_file", settings->accounts.jwt.ca_file);
	look_at(reading, "notify.ca_file", settings->notify.ca_file);
	for (size_t i = 0; i < settings->upstream_count; i++) {
		const struct settings_upstream *upstream = &settings->upstreams[i];

		snprintf(path, sizeof(path), "upstreams.%s.ca_file", upstream->name.at);
		look_at(reading, path, upstream->ca_file);
		snprintf(path, sizeof(path), "upstreams.%s.credential.oauth2.token_ca_file",
			 upstream->name.at);
		look_at(reading, path, upstream->credential.oauth2.token_ca_file);
	}
}

/* 0 or FAIL_MEMORY. */
static int name_services(struct settings *settings)
{
	for (size_t i = 0; i < settings->upstream_count; i++) {
		struct settings_upstream *upstream = &settings->upstreams[i];
		struct str secret = upstream->credential.secret;

		upstream->service =
			arena_printf(&settings->mem, "%.*s%s%.*s", STR_ARG(upstream->url.text),
				     secret.len ? "#" : "", STR_ARG(secret));
		if (!upstream->service.at)
			return fail(FAIL_MEMORY);
	}
	return 0;
}

int check_settings(struct reading *reading)
{
	int r;

	check_listeners(reading);
	check_pair(reading, "tls");
	check_pair(reading, "admin_tls");
	check_default_upstream(reading);
	check_loops(reading);
	check_statuses(reading);
	check_outbox(reading);
	check_master_key(reading);
	r = check_audit(reading);
	if (r != 0)
		return r;
	r = check_accounts(reading);
	if (r != 0)
		return r;
	check_notify(reading);
	r = check_actions(reading);
	if (r != 0)
		return r;
	check_credential_headers(reading);
	r = name_services(reading->settings);
	if (r != 0)
		return r;
	check_memory(reading);
	if (!reading->may_look)
		return 0;
	check_files(reading);
	return read_notify_secrets(reading);
}

void check_upstream(struct reading *reading, struct settings_upstream *upstream,
		    const struct node *key)
{
	const struct node *connect = node_at(key->value, "connect_timeout");
	const struct node *timeout = node_at(key->value, "timeout");
	const struct node *ca_file = node_at(key->value, "ca_file");
	bool is_longer = upstream->connect_timeout_ms > upstream->timeout_ms;

	if (!node_key(key->value, STR("url")))
		report_add(reading->report, key->place, "add url: http://HOST:PORT under its name",
			   "the upstream %s has no url", upstream->name.at);
	if (!connect && is_longer)
		upstream->connect_timeout_ms = upstream->timeout_ms;
	if (connect && !connect->is_refused && !(timeout && timeout->is_refused) && is_longer)
		report_add(reading->report, connect->place, "make it at most as long, or remove it",
			   "connect_timeout is longer than timeout");
	if (ca_file && !ca_file->is_refused && !upstream->verify)
		report_add(reading->report, ca_file->place, "remove verify: false, or the ca_file",
			   "ca_file has no use while verify is false");
	check_credential(reading, upstream, key->value);
}
