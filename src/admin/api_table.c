/*
 * The admin listener's endpoints, one row each.
 *
 * What is not here is not served. The rows that are open are those a machine asks without a name,
 * the console's own files and signing in; they tell nothing of anybody's operations. `GET
 * /api/endpoints` lists this table, and a test walks it from outside.
 */
#include "admin/api.h"

#define OPERATION "/api/operations/{operation}"
#define APPROVAL  "/api/approvals/{operation}"

static const struct api_member why[] = {{"why", true}, {0}};
static const struct api_member sign_in[] = {{"key", true}, {"link", true}, {0}};
static const struct api_member resolve[] = {{"happened", false}, {"why", true},	   {"retry", false},
					    {"reference", true}, {"epoch", false}, {0}};
static const struct api_member answer[] = {
	{"fingerprint", true}, {"question", true}, {"why", true}, {0}};
static const struct api_member erase[] = {{"epoch", false}, {"prune", false}, {"why", true}, {0}};
static const struct api_member secret[] = {{"value", true}, {0}};
static const struct api_member key[] = {
	{"account", true},  {"agent", true},	     {"role", true},
	{"label", true},    {"expires_in", true},    {"expires_at", true},
	{"actions", false}, {"all_accounts", false}, {0}};

static const struct api_endpoint endpoints[] = {
	{
		.method = "GET",
		.path = "/healthz",
		.is_open = true,
		.handler = api_health,
		.summary = "the process answers",
	},
	{
		.method = "GET",
		.path = "/readyz",
		.is_open = true,
		.handler = api_ready,
		.summary = "it would take work: the store commits, and it is not stopping",
	},
	{
		.method = "GET",
		.path = "/",
		.is_open = true,
		.handler = api_console_page,
		.summary = "the console",
	},
	{
		.method = "GET",
		.path = "/console/{file}",
		.is_open = true,
		.handler = api_console_file,
		.summary = "the console's own files",
	},
	{
		.method = "GET",
		.path = "/api/openapi.json",
		.power = POWER_LOOK,
		.handler = api_description,
		.summary = "this API as OpenAPI 3.1",
	},
	{
		.method = "POST",
		.path = "/api/session",
		.is_open = true,
		.body = API_BODY_OBJECT,
		.members = sign_in,
		.handler = api_sign_in,
		.summary = "sign in, with a key or a link for one use",
	},
	{
		.method = "GET",
		.path = "/api/session",
		.power = POWER_LOOK,
		.handler = api_show_session,
		.summary = "who is signed in",
	},
	{
		.method = "DELETE",
		.path = "/api/session",
		.power = POWER_LOOK,
		.handler = api_sign_out,
		.summary = "sign out",
	},
	{
		.method = "GET",
		.path = "/api/events",
		.power = POWER_LOOK,
		.handler = api_events,
		.summary = "that something has changed, as server-sent events",
	},
	{
		.method = "GET",
		.path = "/api/outcomes",
		.power = POWER_LOOK,
		.is_of_all = true,
		.handler = api_outcomes,
		.summary = "how requests have ended, over time",
	},
	{
		.method = "GET",
		.path = "/metrics",
		.power = POWER_LOOK,
		.is_of_all = true,
		.handler = api_metrics,
		.summary = "counters, as Prometheus text",
	},
	{
		.method = "GET",
		.path = "/.counterfoil/help",
		.power = POWER_LOOK,
		.handler = api_help,
		.summary = "what each problem means, and how tokens are used here",
	},
	{
		.method = "GET",
		.path = "/api/endpoints",
		.power = POWER_LOOK,
		.handler = api_list_endpoints,
		.summary = "this table",
	},
	{
		.method = "GET",
		.path = "/api/operations",
		.power = POWER_LOOK,
		.handler = api_list_operations,
		.summary = "operations, newest first, a page",
	},
	{
		.method = "GET",
		.path = OPERATION,
		.power = POWER_LOOK,
		.handler = api_show_operation,
		.summary = "one operation with its history",
	},
	{
		.method = "POST",
		.path = OPERATION "/cancel",
		.power = POWER_OPERATE,
		.body = API_BODY_OBJECT,
		.members = why,
		.handler = api_cancel,
		.summary = "withdraw one that has not been sent",
	},
	{
		.method = "POST",
		.path = OPERATION "/resolve",
		.power = POWER_OPERATE,
		.body = API_BODY_OBJECT,
		.members = resolve,
		.handler = api_resolve,
		.summary = "say what became of one that is unknown",
	},
	{
		.method = "POST",
		.path = OPERATION "/release",
		.power = POWER_OPERATE,
		.body = API_BODY_OBJECT,
		.members = why,
		.handler = api_release,
		.summary = "take its lock away by force",
	},
	{
		.method = "GET",
		.path = "/api/locks",
		.power = POWER_LOOK,
		.handler = api_list_locks,
		.summary = "locks that are held or waited for, a page",
	},
	{
		.method = "GET",
		.path = "/api/budgets",
		.power = POWER_LOOK,
		.handler = api_list_budgets,
		.summary = "budgets that are open, newest first, a page",
	},
	{
		.method = "GET",
		.path = "/api/approvals",
		.power = POWER_LOOK,
		.handler = api_list_approvals,
		.summary = "questions to people, those that wait first, a page",
	},
	{
		.method = "GET",
		.path = APPROVAL,
		.power = POWER_LOOK,
		.handler = api_show_approval,
		.summary = "one question, with all that there is to know of it",
	},
	{
		.method = "POST",
		.path = APPROVAL "/approve",
		.power = POWER_DECIDE,
		.body = API_BODY_OBJECT,
		.members = answer,
		.handler = api_approve,
		.summary = "agree to it",
	},
	{
		.method = "POST",
		.path = APPROVAL "/deny",
		.power = POWER_DECIDE,
		.body = API_BODY_OBJECT,
		.members = answer,
		.handler = api_deny,
		.summary = "refuse it",
	},
	{
		.method = "GET",
		.path = "/api/audit",
		.power = POWER_AUDIT,
		.handler = api_audit,
		.summary = "entries of the audit log, newest first, a page",
	},
	{
		.method = "GET",
		.path = "/api/audit/status",
		.power = POWER_AUDIT,
		.handler = api_audit_status,
		.summary = "how far the audit log is published and signed",
	},
	{
		.method = "POST",
		.path = "/api/audit/verify",
		.power = POWER_AUDIT,
		.handler = api_audit_verify,
		.summary = "begin to verify the whole audit log, beside what the gate does",
	},
	{
		.method = "POST",
		.path = "/api/audit/rotate",
		.power = POWER_ADMINISTER,
		.is_of_all = true,
		.body = API_BODY_OBJECT,
		.members = why,
		.handler = api_audit_rotate,
		.summary = "end the audit log's epoch: new keys",
	},
	{
		.method = "POST",
		.path = "/api/audit/erase",
		.power = POWER_ADMINISTER,
		.is_of_all = true,
		.body = API_BODY_OBJECT,
		.members = erase,
		.handler = api_audit_erase,
		.summary = "erase the data key of an epoch that has ended",
	},
	{
		.method = "GET",
		.path = "/api/secrets",
		.power = POWER_ADMINISTER,
		.is_of_all = true,
		.handler = api_list_secrets,
		.summary = "names of secrets, and which upstreams want them; never a value",
	},
	{
		.method = "PUT",
		.path = "/api/secrets/{name}",
		.power = POWER_ADMINISTER,
		.is_of_all = true,
		.body = API_BODY_OBJECT,
		.members = secret,
		.handler = api_set_secret,
		.summary = "keep a secret, in place of the one that has its name",
	},
	{
		.method = "DELETE",
		.path = "/api/secrets/{name}",
		.power = POWER_ADMINISTER,
		.is_of_all = true,
		.handler = api_remove_secret,
		.summary = "forget a secret",
	},
	{
		.method = "GET",
		.path = "/api/keys",
		.power = POWER_ADMINISTER,
		.handler = api_list_keys,
		.summary = "the gate's own keys, without their texts",
	},
	{
		.method = "POST",
		.path = "/api/keys",
		.power = POWER_ADMINISTER,
		.body = API_BODY_OBJECT,
		.members = key,
		.handler = api_create_key,
		.summary = "make a key; its text is told once",
	},
	{
		.method = "POST",
		.path = "/api/keys/{key}/revoke",
		.power = POWER_ADMINISTER,
		.body = API_BODY_OBJECT,
		.members = why,
		.handler = api_revoke_key,
		.summary = "revoke a key, at once",
	},
	{
		.method = "DELETE",
		.path = "/api/keys/{key}",
		.power = POWER_ADMINISTER,
		.handler = api_remove_key,
		.summary = "forget a key that is revoked or expired",
	},
};

const struct api_endpoint *api_endpoints(size_t *out_count)
{
	*out_count = sizeof(endpoints) / sizeof(endpoints[0]);
	return endpoints;
}
