/*
 * Callers by headers: something in front of the gate has made sure who it is, and says so.
 *
 * Believed is only who stands in accounts.header.trusted, by the address of the connection. A
 * header that stands there twice is not believed either: one of both may be somebody else's.
 */
#include "gate/caller_jwt.h"

#include "core/text.h"
#include "gate/account.h"
#include "gate/headers.h"

static enum problem refuse(struct problem_facts *facts, enum problem problem, const char *detail)
{
	*facts = (struct problem_facts){.problem = problem, .detail = detail, .after_s = -1};
	return problem;
}

static bool is_trusted(const struct settings *settings, const struct exchange *exchange)
{
	return network_list_has(&settings->accounts.header.trusted, exchange->peer);
}

bool caller_is_false_header(const struct settings *settings, const struct exchange *exchange,
			    struct str name)
{
	const struct settings_caller_headers *headers = &settings->accounts.header;

	if (settings->accounts.from != SETTINGS_ACCOUNTS_HEADER)
		return false;
	if (!text_names_header(name, headers->account) &&
	    !(headers->agent.len && text_names_header(name, headers->agent)))
		return false;
	return !is_trusted(settings, exchange);
}

/*
 * A header that names somebody: there once, in any spelling that a service behind could take for
 * it, and a name.
 */
static bool read_name(const struct http_request *request, struct str name, struct str *out)
{
	size_t count = 0;

	for (size_t i = 0; i < request->field_count; i++)
		count += text_names_header(request->fields[i].name, name);
	if (count != 1)
		return false;
	*out = headers_value(request, name);
	return account_is_a_name(*out);
}

/* {NULL, 0} without memory. */
static struct str credential_of(struct str account, struct str agent, struct arena *mem)
{
	char digits[2 * HASH_SIZE];
	struct hasher hasher;
	struct hash hash;

	hasher_init(&hasher);
	hasher_add_part(&hasher, account);
	hasher_add_part(&hasher, agent);
	hasher_end(&hasher, &hash);
	hex_write(hash.bytes, HASH_SIZE, digits);
	return arena_printf(mem, "header:%.*s", HASH_SIZE, digits);
}

enum problem caller_by_headers(struct worker *worker, struct exchange *exchange,
			       struct caller *out_caller, struct problem_facts *out_refusal)
{
	const struct settings *settings = worker->generation->settings;
	const struct settings_caller_headers *headers = &settings->accounts.header;
	struct caller caller = {.role = ROLE_AGENT, .agent = STR("")};

	if (!is_trusted(settings, exchange))
		return refuse(out_refusal, PROBLEM_UNAUTHENTICATED,
			      "Callers come through the proxy in front of this gate.");
	if (!read_name(&exchange->request, headers->account, &caller.account) ||
	    !account_is_a_callers(caller.account))
		return refuse(out_refusal, PROBLEM_UNAUTHENTICATED,
			      "The proxy in front of this gate names no account.");
	if (headers->agent.len && !read_name(&exchange->request, headers->agent, &caller.agent))
		return refuse(out_refusal, PROBLEM_UNAUTHENTICATED,
			      "The proxy in front of this gate names no agent.");
	caller.credential = credential_of(caller.account, caller.agent, &exchange->mem);
	if (!caller.credential.at)
		return refuse(out_refusal, PROBLEM_OVERLOADED, NULL);
	*out_caller = caller;
	return PROBLEM_NONE;
}
