/*
 * A scenario: one write of an API, and how to see what became of it.
 *
 * Texts may hold {marker}, {run}, {case}, {key} and, where a resource is looked at, {id}:
 * names.h puts in what they stand for. Everything lives in the arena it was read into.
 */
#ifndef DRILL_SCENARIO_H
#define DRILL_SCENARIO_H

#include "base/arena.h"
#include "config/report.h"
#include "config/settings.h"

enum {
	SCENARIO_FILE_MAX = 256 * 1024,	       /* bytes of one file */
	SCENARIO_MEMORY_MAX = 8 * 1024 * 1024, /* of one scenario, with its tree */
	SCENARIO_COPIES_MAX = 200,
	SCENARIO_KEY_MAX = 4096, /* of key.max_length */
};

/* What a list of names and values holds: headers, or JSON pointers with JSON texts. */
struct scenario_pair {
	struct str name, value;
};

struct scenario_pairs {
	struct scenario_pair *items;
	size_t count;
};

struct scenario_body {
	bool is_given;
	bool is_json;	 /* it was a mapping or a list */
	struct str text; /* a mapping as JSON, its members in the order of the file */
};

struct scenario_write {
	struct str method;
	struct str path; /* with its query */
	struct scenario_pairs headers;
	struct scenario_body body;
};

/* How effects are counted: one of the three is given. */
struct scenario_effects {
	struct str get; /* a URL, or a path of the target */
	struct str count;
	struct scenario_pairs headers;
	struct str command;
	struct str sandbox; /* the URL of a practice API */
	struct str kinds;   /* "tickets" */
};

/* What is done to bring something about: headers of the attempt, a command before it, or both. */
struct scenario_means {
	struct scenario_pairs headers;
	struct str command;
};

enum scenario_then { SCENARIO_REFUSED, SCENARIO_NEW };

struct scenario {
	struct str file;
	struct str name;
	struct str target; /* scheme, host, port and base path; no slash at the end */
	struct scenario_write write;
	struct scenario_pairs change; /* of the body, for another payload; may be empty */
	struct {
		struct str header;
		bool required; /* a write without a key is refused */
		int64_t max_length;
	} key;
	struct str id; /* pointer into the write's answer */
	struct scenario_effects effects;
	struct {
		struct str get; /* empty: it is not looked at */
		struct scenario_pairs headers, equals;
	} resource;
	struct {
		struct scenario_pairs headers; /* none: there is no second account */
	} second_account;
	struct scenario_write other_write; /* no path: there is none */
	struct scenario_effects other_effects;
	struct {
		struct str start, kill, reset; /* commands */
		struct str ready_get;	       /* a URL, or a path of the target */
		int64_t ready_within_ms;
	} server;
	struct {
		int64_t after_ms; /* 0: keys do not expire while we look */
		struct str clock; /* a command that lets the time pass instead of waiting */
		int then;	  /* enum scenario_then */
	} expiry;
	struct {
		struct str command; /* empty: nothing is revoked */
		struct scenario_pairs headers;
	} revoke;
	struct scenario_means failing; /* the service fails the next write before its work */
	struct scenario_means slow;    /* the service takes its time for the next write */
	int64_t copies;
	int64_t timeout_ms, settle_ms;
	struct {
		struct str ca_file;
		bool verify;
	} tls;
};

/* What the command line says instead of the file. NULL: not given. */
struct scenario_override {
	const char *target, *kill, *start;
};

/*
 * Read a scenario. Blocks; any thread.
 *   0               *out_scenario is whole
 *   SETTINGS_WRONG  the report says all that is wrong, with its places
 *   FAIL_MEMORY
 */
int scenario_load(const char *file, const struct scenario_override *override, struct arena *mem,
		  struct scenario *out_scenario, struct settings_report *report);

/* The same from memory; `name` stands for the file. */
int scenario_parse(struct str text, const char *name, const struct scenario_override *override,
		   struct arena *mem, struct scenario *out_scenario,
		   struct settings_report *report);

static inline bool scenario_counts(const struct scenario_effects *effects)
{
	return effects->get.len || effects->command.len || effects->sandbox.len;
}

static inline bool scenario_has_means(const struct scenario_means *means)
{
	return means->headers.count || means->command.len;
}

#endif
