/*
 * Credentials of the gate's own, in the lines of a call (see credential.h).
 *
 * A secret is a line at once. An access token may have to be fetched first: then the call is
 * started held, so that its client gives it up and its owner cancels it as any other, and is
 * released with the token.
 */
#include "gate/credential.h"

#include "base/err.h"
#include "core/secret.h"
#include "core/text.h"
#include "http/http.h"

#include <stdio.h>

enum { STATUS_UNAUTHORIZED = 401 };

/* Of all that the store may keep. */
#define SECRETS_MEMORY ((size_t)STORE_DOCUMENTS_MAX * (STORE_DOCUMENT_VALUE_MAX + 1024))

static bool has_credential(const struct settings_upstream *upstream)
{
	return upstream->credential.secret.len > 0;
}

int credentials_init(struct credential *credentials, const struct settings *settings,
		     struct secrets *secrets)
{
	for (size_t i = 0; i < settings->upstream_count; i++) {
		const struct settings_upstream *upstream = &settings->upstreams[i];
		struct credential *credential = &credentials[i];
		int r = 0;

		credential->upstream = upstream;
		credential->secrets = secrets;
		snprintf(credential->unset, sizeof(credential->unset),
			 "the gate has no credential for this service yet; whoever runs it sets it "
			 "with: counterfoil secret set %.*s",
			 STR_ARG(upstream->credential.secret));
		if (upstream->credential.oauth2.token_url.text.len)
			r = grant_new(upstream, secrets, &credential->grant);
		if (r != 0)
			return r;
	}
	return 0;
}

void credentials_fini(struct credential *credentials, const struct settings *settings)
{
	for (size_t i = 0; i < settings->upstream_count; i++)
		grant_free(credentials[i].grant);
}

void credentials_warn(const struct settings *settings, struct secrets *secrets, struct log *log)
{
	for (size_t i = 0; i < settings->upstream_count; i++) {
		const struct settings_upstream *upstream = &settings->upstreams[i];
		struct log_line line;

		if (!has_credential(upstream) ||
		    secrets_version(secrets, upstream->credential.secret) != 0)
			continue;
		log_begin(&line, log, LOG_WARNING, "secret-not-set");
		log_str(&line, "upstream", upstream->name);
		log_str(&line, "secret", upstream->credential.secret);
		log_text(&line, "what",
			 "nothing is sent to this upstream until it is: counterfoil secret set "
			 "NAME");
		log_end(&line);
	}
}

int credentials_load(struct store *store, struct secrets *secrets)
{
	struct store_command command = {
		.kind = STORE_KEPT,
		.document = {.kind = DOCUMENT_SECRET},
	};
	struct arena mem;
	int r;

	arena_init(&mem, SECRETS_MEMORY);
	command.mem = &mem;
	gate_ask_now(store, &command);
	r = command.result;
	for (size_t i = 0; r == 0 && i < command.document_count; i++) {
		const struct store_document *document = &command.documents[i];

		if (secret_name_is_fine(document->name))
			r = secrets_put(secrets, document->name, document->value,
					document->updated_ms);
		explicit_bzero((char *)document->value.at, document->value.len);
	}
	arena_fini(&mem);
	return r;
}

bool credential_replaces(const struct settings_upstream *upstream, struct str name)
{
	struct str header = upstream->credential.header;

	return has_credential(upstream) && (str_equal_nocase(name, STR("Authorization")) ||
					    (header.len && text_names_header(name, header)));
}

/* The lines. */

static void write_line(const struct settings_credential *credential, struct str value,
		       struct buf *out)
{
	switch (credential->as) {
	case SETTINGS_AS_BEARER:
		buf_append_str(out, STR("Authorization: Bearer "));
		buf_append_str(out, value);
		break;
	case SETTINGS_AS_BASIC:
		buf_append_str(out, STR("Authorization: Basic "));
		text_append_base64(out, value);
		break;
	default:
		buf_append_str(out, credential->header);
		buf_append_str(out, STR(": "));
		buf_append_str(out, value);
		break;
	}
	buf_append_str(out, STR("\r\n"));
}

/* All of it at once, so that no copy stays behind where the buffer grew out of its room. */
static void add_line(struct credential_use *use, struct str value)
{
	(void)buf_reserve(use->headers, 2 * value.len + 256);
	write_line(&use->credential->upstream->credential, value, use->headers);
	use->call->headers = buf_str(use->headers);
	use->call->is_spoiled |= use->headers->is_spoiled;
}

/* Starting. */

static void spoil(struct credential_use *use, const char *why)
{
	use->call->is_spoiled = true;
	use->call->why_not = why;
}

static void without_secret(struct credential_use *use)
{
	use->is_unset = true;
	spoil(use, use->credential->unset);
}

static bool is_usable(const struct settings_credential *credential, struct str secret)
{
	return credential->as != SETTINGS_AS_BASIC || str_find(secret, ':') < secret.len;
}

static void add_secret(struct credential_use *use)
{
	const struct credential *credential = use->credential;
	const struct settings_credential *settings = &credential->upstream->credential;
	struct buf secret;
	uint64_t version;

	buf_init(&secret, SECRET_VALUE_MAX);
	(void)buf_reserve(&secret, SECRET_VALUE_MAX);
	if (secrets_read(credential->secrets, settings->secret, &secret, &version) != 0)
		without_secret(use);
	else if (secret.is_spoiled)
		spoil(use, "there was no memory for the service's credential");
	else if (!is_usable(settings, buf_str(&secret)))
		spoil(use, "the secret for this service is no user:password, which credential.as: "
			   "basic wants");
	else
		add_line(use, buf_str(&secret));
	buf_fini_wiped(&secret);
}

static void ready(void *owner, struct token *token, const char *why_not)
{
	struct credential_use *use = owner;

	use->wait = NULL;
	use->token = token;
	if (!token) {
		call_refuse(use->call, why_not);
		return;
	}
	add_line(use, str_of(token->text, token->len));
	call_release(use->call);
}

static void add_token(struct credential_use *use, struct generation *generation, size_t index)
{
	switch (grant_take(use->credential->grant, generation, index, use, ready, &use->token,
			   &use->wait)) {
	case 0:
		add_line(use, str_of(use->token->text, use->token->len));
		return;
	case GRANT_WAITS:
		use->call->is_held = true;
		use->call->why_not =
			"no access token came from the service's token endpoint in time";
		return;
	case GRANT_UNSET:
		without_secret(use);
		return;
	default:
		spoil(use, "there was no memory for the service's credential");
		return;
	}
}

void credential_start(struct credential_use *use, struct generation *generation, size_t index,
		      struct call *call, struct buf *headers)
{
	*use = (struct credential_use){
		.credential = &generation->hold->credentials[index],
		.log = generation->home->loop->log,
		.call = call,
		.headers = headers,
	};
	call->headers = buf_str(headers);
	call->is_spoiled |= headers->is_spoiled;
	if (use->credential->grant)
		add_token(use, generation, index);
	else if (has_credential(use->credential->upstream))
		add_secret(use);
	call_start(generation->clients[index], call);
}

/* The end. */

static void log_refused(const struct credential_use *use)
{
	struct log_line line;

	log_begin(&line, use->log, LOG_WARNING, "credential-refused");
	log_str(&line, "upstream", use->credential->upstream->name);
	log_str(&line, "secret", use->credential->upstream->credential.secret);
	log_text(&line, "what",
		 use->credential->grant
			 ? "the service answered 401; the access token is fetched anew"
			 : "the service answered 401; is the secret still the right one?");
	log_end(&line);
}

bool credential_end(struct credential_use *use)
{
	bool can_renew = false;

	if (!use->credential)
		return false;
	if (use->wait)
		grant_leave(use->wait);
	use->wait = NULL;
	if (has_credential(use->credential->upstream) &&
	    use->call->answer.status == STATUS_UNAUTHORIZED) {
		log_refused(use);
		can_renew = use->token != NULL;
		if (can_renew)
			grant_refuse(use->credential->grant, use->token);
	}
	token_drop(use->token);
	use->token = NULL;
	return can_renew;
}
