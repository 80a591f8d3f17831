/*
 * The keys of a scenario.
 *
 * A key that is not here is refused with the nearest one that is; what a row says of range and
 * example is what the refusal says. docs/guide/drill.md tells what each is for.
 */
#include "drill/scenario_table.h"

#include "drill/scenario.h"

#define IN(member) offsetof(struct scenario, member)
#define HOUR_MS	   3600000

const struct scenario_key scenario_keys[] = {
	{"name", SCENARIO_TEXT, IN(name), .example = "open a ticket"},
	{"target", SCENARIO_URL, IN(target), .example = "http://127.0.0.1:8080"},

	{"write.method", SCENARIO_METHOD, IN(write.method), "POST", .example = "POST"},
	{"write.path", SCENARIO_PATH, IN(write.path), .example = "/v1/tickets"},
	{"write.headers", SCENARIO_HEADERS, IN(write.headers),
	 .example = "{Authorization: Bearer a}"},
	{"write.body", SCENARIO_BODY, IN(write.body), .example = "{title: \"{marker}\"}"},
	{"change", SCENARIO_POINTERS, IN(change), .example = "{/title: \"{marker} changed\"}"},

	{"key.header", SCENARIO_HEADER, IN(key.header), "Idempotency-Key",
	 .example = "Idempotency-Key"},
	{"key.required", SCENARIO_BOOL, IN(key.required), "true", .example = "true"},
	{"key.max_length", SCENARIO_COUNT, IN(key.max_length), "255", .min = 16,
	 .max = SCENARIO_KEY_MAX, .example = "255"},

	{"id", SCENARIO_POINTER, IN(id), .example = "/id"},
	{"effects.get", SCENARIO_PLACE, IN(effects.get),
	 .example = "\"/v1/tickets?title={marker}\""},
	{"effects.count", SCENARIO_POINTER, IN(effects.count), .example = "/data"},
	{"effects.headers", SCENARIO_HEADERS, IN(effects.headers),
	 .example = "{Authorization: Bearer a}"},
	{"effects.command", SCENARIO_COMMAND, IN(effects.command),
	 .example = "psql -tAc 'select count(*) from ticket'"},
	{"effects.sandbox", SCENARIO_URL, IN(effects.sandbox), .example = "http://127.0.0.1:9000"},
	{"effects.kind", SCENARIO_TEXT, IN(effects.kinds), .example = "tickets"},

	{"resource.get", SCENARIO_PLACE, IN(resource.get), .example = "\"/v1/tickets/{id}\""},
	{"resource.headers", SCENARIO_HEADERS, IN(resource.headers),
	 .example = "{Authorization: Bearer a}"},
	{"resource.equals", SCENARIO_POINTERS, IN(resource.equals),
	 .example = "{/title: \"{marker}\"}"},

	{"second_account.headers", SCENARIO_HEADERS, IN(second_account.headers),
	 .example = "{Authorization: Bearer b}"},
	{"other_write.method", SCENARIO_METHOD, IN(other_write.method), "POST", .example = "POST"},
	{"other_write.path", SCENARIO_PATH, IN(other_write.path), .example = "/v1/payments"},
	{"other_write.headers", SCENARIO_HEADERS, IN(other_write.headers),
	 .example = "{Authorization: Bearer a}"},
	{"other_write.body", SCENARIO_BODY, IN(other_write.body), .example = "{amount: 1}"},
	{"other_write.effects.get", SCENARIO_PLACE, IN(other_effects.get),
	 .example = "\"/v1/payments?note={marker}\""},
	{"other_write.effects.count", SCENARIO_POINTER, IN(other_effects.count),
	 .example = "/data"},
	{"other_write.effects.headers", SCENARIO_HEADERS, IN(other_effects.headers),
	 .example = "{Authorization: Bearer a}"},
	{"other_write.effects.command", SCENARIO_COMMAND, IN(other_effects.command),
	 .example = "psql -tAc 'select count(*) from payment'"},
	{"other_write.effects.sandbox", SCENARIO_URL, IN(other_effects.sandbox),
	 .example = "http://127.0.0.1:9000"},
	{"other_write.effects.kind", SCENARIO_TEXT, IN(other_effects.kinds), .example = "payments"},

	{"server.start", SCENARIO_COMMAND, IN(server.start), .example = "./server --port 8080"},
	{"server.kill", SCENARIO_COMMAND, IN(server.kill),
	 .example = "kill -9 \"$(cat server.pid)\""},
	{"server.reset", SCENARIO_COMMAND, IN(server.reset), .example = "./empty-the-database"},
	{"server.ready.get", SCENARIO_PLACE, IN(server.ready_get), .example = "/healthz"},
	{"server.ready.within", SCENARIO_DURATION, IN(server.ready_within_ms), "20s", .min = 100,
	 .max = HOUR_MS, .example = "20s"},

	{"expiry.after", SCENARIO_DURATION, IN(expiry.after_ms), .min = 1, .max = HOUR_MS,
	 .example = "3s"},
	{"expiry.clock", SCENARIO_COMMAND, IN(expiry.clock), .example = "./clock forward 25h"},
	{"expiry.then", SCENARIO_CHOICE, IN(expiry.then), "refused", .words = "refused | new",
	 .example = "refused"},

	{"revoke.command", SCENARIO_COMMAND, IN(revoke.command), .example = "./keys revoke c"},
	{"revoke.headers", SCENARIO_HEADERS, IN(revoke.headers),
	 .example = "{Authorization: Bearer c}"},

	{"failing.headers", SCENARIO_HEADERS, IN(failing.headers),
	 .example = "{Sandbox-Fault: status=503}"},
	{"failing.command", SCENARIO_COMMAND, IN(failing.command), .example = "./fail-next"},
	{"slow.headers", SCENARIO_HEADERS, IN(slow.headers),
	 .example = "{Sandbox-Fault: delay=500}"},
	{"slow.command", SCENARIO_COMMAND, IN(slow.command), .example = "./slow-next"},

	{"copies", SCENARIO_COUNT, IN(copies), "20", .min = 2, .max = SCENARIO_COPIES_MAX,
	 .example = "20"},
	{"timeout", SCENARIO_DURATION, IN(timeout_ms), "10s", .min = 100, .max = HOUR_MS,
	 .example = "10s"},
	{"settle", SCENARIO_DURATION, IN(settle_ms), "5s", .min = 100, .max = HOUR_MS,
	 .example = "5s"},
	{"tls.ca_file", SCENARIO_TEXT, IN(tls.ca_file), .example = "ca.pem"},
	{"tls.verify", SCENARIO_BOOL, IN(tls.verify), "true", .example = "true"},
};

const size_t scenario_key_count = sizeof(scenario_keys) / sizeof(scenario_keys[0]);
