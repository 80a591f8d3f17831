/*
 * The credential of an upstream: combinations that cannot be.
 *
 * What it would do to a secret is looked at as well: a token endpoint without TLS would be told the
 * client's secret in the clear (RFC 6749 § 3.2), so it has to be on this machine.
 */
#include "config/table.h"
#include "config/values.h"
#include "core/text.h"

#define CREDENTIAL "credential"
#define OAUTH2	   "credential.oauth2"

static bool is_refused(const struct node *map, const char *path)
{
	const struct node *node = node_at(map, path);

	return node && node->is_refused;
}

static void report_at(struct reading *reading, const struct node *map, const char *path,
		      const char *mend, const char *what)
{
	report_add(reading->report, node_at(map, path)->place, mend, "%s", what);
}

static void check_header(struct reading *reading, const struct settings_credential *credential,
			 const struct node *map)
{
	bool wants_header = credential->as == SETTINGS_AS_HEADER;
	bool has_header = node_at(map, CREDENTIAL ".header") != NULL;

	if (is_refused(map, CREDENTIAL ".as"))
		return;
	if (wants_header && !has_header)
		report_at(reading, map, CREDENTIAL ".as",
			  "add header: with the name that the service reads, like X-Api-Key",
			  "credential.as: header needs credential.header");
	if (!wants_header && has_header)
		report_at(reading, map, CREDENTIAL ".header", "add as: header, or remove it",
			  "credential.header has no use without as: header");
}

static void check_token_url(struct reading *reading, const struct settings_credential *credential,
			    const struct node *map)
{
	const struct settings_url *url = &credential->oauth2.token_url;

	if (!node_at(map, OAUTH2 ".token_url"))
		report_at(reading, map, OAUTH2, "add token_url: https://…/token",
			  "credential.oauth2 has no token_url");
	else if (url->text.len && !url->is_tls && !url_is_of_this_machine(url))
		report_at(reading, map, OAUTH2 ".token_url", "write an https:// URL",
			  "token_url would send the client's secret over the network without TLS");
}

static void check_oauth2(struct reading *reading, const struct settings_credential *credential,
			 const struct node *map)
{
	const struct node *section = node_at(map, OAUTH2);

	if (!section || section->is_refused || section->kind != NODE_MAP)
		return;
	check_token_url(reading, credential, map);
	if (!node_at(map, OAUTH2 ".client_id"))
		report_at(reading, map, OAUTH2,
			  "add client_id:", "credential.oauth2 has no client_id");
	if (credential->as == SETTINGS_AS_BASIC)
		report_at(reading, map, CREDENTIAL ".as",
			  "remove it; auth says how the client shows its secret",
			  "credential.as: basic cannot be with oauth2, whose tokens are no "
			  "passwords");
}

void check_credential(struct reading *reading, const struct settings_upstream *upstream,
		      const struct node *map)
{
	const struct settings_credential *credential = &upstream->credential;
	const struct node *section = node_at(map, CREDENTIAL);

	if (!section || section->is_refused || section->kind != NODE_MAP)
		return;
	if (!node_at(map, CREDENTIAL ".secret"))
		report_at(reading, map, CREDENTIAL,
			  "add secret: NAME, and keep its value with `counterfoil secret set NAME`",
			  "credential has no secret");
	check_header(reading, credential, map);
	check_oauth2(reading, credential, map);
}

/* What else is sent to the service under the same name; NULL: nothing. */
static const char *header_twin(const struct settings *settings, size_t index)
{
	const struct settings_upstream *upstream = &settings->upstreams[index];
	struct str header = upstream->credential.header;

	if (text_names_header(header, settings->tokens.header))
		return "tokens.header";
	if (text_names_header(header, upstream->downstream_key))
		return "downstream_key";
	for (size_t i = 0; i < settings->action_count; i++) {
		const struct action *action = &settings->actions[i];

		if (action->upstream != index)
			continue;
		if (text_names_header(header, action->downstream_key.header))
			return "the downstream_key of an action";
		if (text_names_header(header, action->lock.fencing))
			return "the lock.fencing of an action";
	}
	return NULL;
}

void check_credential_headers(struct reading *reading)
{
	const struct settings *settings = reading->settings;
	char path[128];

	for (size_t i = 0; i < settings->upstream_count; i++) {
		const struct settings_upstream *upstream = &settings->upstreams[i];
		const char *twin =
			upstream->credential.header.len ? header_twin(settings, i) : NULL;
		const struct node *node;

		snprintf(path, sizeof(path), "upstreams.%s.credential.header", upstream->name.at);
		node = node_at(reading->root, path);
		if (twin && node)
			report_add(reading->report, node->place, "give one of them another name",
				   "credential.header is the same header as %s", twin);
	}
}
