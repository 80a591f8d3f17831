/*
 * The admin listener's endpoints, one row each.
 *
 * What is not here is not served. The rows that are open are those a machine asks without a name;
 * they tell nothing of anybody's operations. `GET /api/endpoints` lists this table, and a test
 * walks it from outside.
 */
#include "admin/api.h"

#define OPERATION "/api/operations/{operation}"

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
		.path = "/metrics",
		.power = POWER_LOOK,
		.is_of_all = true,
		.handler = api_metrics,
		.summary = "counters, as Prometheus text",
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
		.handler = api_cancel,
		.summary = "withdraw one that has not been sent",
	},
	{
		.method = "POST",
		.path = OPERATION "/resolve",
		.power = POWER_OPERATE,
		.body = API_BODY_OBJECT,
		.handler = api_resolve,
		.summary = "say what became of one that is unknown",
	},
	{
		.method = "POST",
		.path = OPERATION "/release",
		.power = POWER_OPERATE,
		.body = API_BODY_OBJECT,
		.handler = api_release,
		.summary = "take its lock away by force",
	},
	{
		.method = "GET",
		.path = "/api/locks",
		.power = POWER_LOOK,
		.handler = api_list_locks,
		.summary = "locks that are held or waited for",
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
		.handler = api_create_key,
		.summary = "make a key; its text is told once",
	},
	{
		.method = "POST",
		.path = "/api/keys/{key}/revoke",
		.power = POWER_ADMINISTER,
		.body = API_BODY_OBJECT,
		.handler = api_revoke_key,
		.summary = "revoke a key, at once",
	},
};

const struct api_endpoint *api_endpoints(size_t *out_count)
{
	*out_count = sizeof(endpoints) / sizeof(endpoints[0]);
	return endpoints;
}
