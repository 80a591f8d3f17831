/*
 * The settings: everything an operator may choose, as one plain struct.
 *
 * A configuration file and the command line's options are read into a `struct settings`
 * that never changes afterwards: a reload makes a new one and drops the old one when its
 * last reader is done. One table (table.c) has a row for every setting: its name, type,
 * default, range and text. Reading, defaults, the example and the manual come from it, so
 * none of them can say something else than the others.
 *
 * Always true of a loaded one: every value is in its range, no two contradict each other,
 * upstreams[0] is the upstream called "default", every string is in the settings' own
 * memory and has a NUL after it.
 * Can fail: the file is wrong. Then all that is wrong with it is in the report at once,
 * each with line, column, what is wrong and how to mend it.
 */
#ifndef CONFIG_SETTINGS_H
#define CONFIG_SETTINGS_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/str.h"
#include "core/action.h"
#include "core/outcome.h"
#include "vault/vault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { SETTINGS_WRONG = 1 };

enum {
	SETTINGS_FILE_MAX = 1024 * 1024, /* bytes of a configuration file */
	SETTINGS_DEPTH_MAX = 64,	 /* mappings and lists inside one another */
	SETTINGS_NODES_MAX = 65536,	 /* keys and values in one file */
	SETTINGS_TEXT_MAX = 4096,	 /* bytes of one value */
	SETTINGS_PLACES_MAX = 16,	 /* of audit.anchors, and of audit.witnesses */
	SETTINGS_ERRORS_MAX = 100,	 /* errors in one report; more are counted */
	SETTINGS_MEMORY_MAX = 33554432,	 /* bytes of one loaded configuration */
	SETTINGS_UPSTREAMS_MAX = 256,	 /* upstreams */
	SETTINGS_ACTIONS_MAX = 1024,	 /* declared actions */
	SETTINGS_FIELDS_MAX = 256,	 /* fields side by side in a command or an object */
	SETTINGS_FIELD_DEPTH_MAX = 16,	 /* fields inside one another */
	SETTINGS_PATTERN_MAX = 512,	 /* bytes of a regular expression */
	SETTINGS_LIST_MAX = 256,	 /* items of one list */
	SETTINGS_THREADS_MAX = 64,	 /* loops */
};

/* `forever`: a thousand years of milliseconds, so that adding it to a time is still a time. */
#define SETTINGS_FOREVER_MS INT64_C(31536000000000)

/* Where a listener binds. */
struct settings_address {
	struct str text;  /* as it is shown: "127.0.0.1:8080", "[::1]:8080" */
	struct str host;  /* a numeric address without brackets */
	uint16_t port;	  /* 0: any free one */
	bool is_ipv6;	  /* which family `host` is */
	bool is_loopback; /* only this machine reaches it */
};

/* Certificate and key of a listener, PEM files. Both empty: no TLS. */
struct settings_tls {
	struct str certificate; /* chain, the listener's own first */
	struct str key;		/* its private key */
};

/* A URL taken apart. */
struct settings_url {
	struct str text;      /* scheme://authority + base_path, no slash at the end */
	bool is_tls;	      /* https */
	struct str host;      /* a name or a numeric address, without brackets */
	uint16_t port;	      /* the scheme's own when none was given */
	struct str authority; /* for a Host header: the port only where it is not the scheme's */
	struct str base_path; /* put before each request's path: "" or "/v1" */
};

enum settings_credential_as {
	SETTINGS_AS_BEARER,
	SETTINGS_AS_BASIC,
	SETTINGS_AS_HEADER,
};
enum settings_client_auth { SETTINGS_CLIENT_BASIC, SETTINGS_CLIENT_POST };

/* How the gate speaks to a service in its own name. */
struct settings_credential {
	struct str secret; /* the secret's name; empty: callers' own credentials go through */
	int as;		   /* enum settings_credential_as */
	struct str header; /* with AS_HEADER: which */
	struct {
		struct settings_url token_url;	       /* empty text: the secret itself is sent */
		struct str client_id, scope, audience; /* the latter two may be empty */
		int auth;			       /* enum settings_client_auth */
		int64_t timeout_ms;		       /* of a fetch */
		struct str token_ca_file;	       /* PEM roots to trust; empty: the system's */
	} oauth2;
};

/* A service behind the gate. */
struct settings_upstream {
	struct str name;	    /* its key under `upstreams` */
	struct settings_url url;    /* where it is */
	int64_t timeout_ms;	    /* from the connection's start to the answer's last byte */
	int64_t connect_timeout_ms; /* name, connection and TLS handshake */
	struct str ca_file;	    /* PEM roots to trust; empty: the system's */
	bool verify;		    /* check its certificate and name */
	uint32_t max_connections;   /* connections open to it at once, over all threads */
	struct str downstream_key;  /* the header in which it honours one; or empty */
	int64_t downstream_key_ms;  /* how long it remembers one */
	struct settings_credential credential;
	struct str service; /* who is there: the URL, and the name of the credential it is shown; no
			       blanks. Two that differ do not know each other's effects */
	struct str auth_check; /* the path of its own for auth.check; empty: auth.check.get;
				  "none": it is not asked */
};

/* An address or a range of them. */
struct settings_network {
	bool is_ipv6;
	uint8_t bytes[16]; /* network order; IPv4 uses the first four */
	uint8_t bits;	   /* of the prefix: 0–32 or 0–128 */
};

struct network_list {
	struct settings_network *networks;
	size_t count;
};

enum settings_store { SETTINGS_STORE_SQLITE };
enum settings_accounts {
	SETTINGS_ACCOUNTS_CREDENTIAL,
	SETTINGS_ACCOUNTS_KEY,
	SETTINGS_ACCOUNTS_JWT,
	SETTINGS_ACCOUNTS_HEADER
};
enum settings_undeclared {
	SETTINGS_UNDECLARED_PROTECT,
	SETTINGS_UNDECLARED_PASS,
	SETTINGS_UNDECLARED_DENY
};

/* A compiled regular expression, which holds memory of its own. */
struct settings_pattern {
	struct matcher matcher;
	struct settings_pattern *next;
};

struct text_list {
	struct str *texts;
	size_t count;
};

/* Accounts from tokens that somebody else issues (accounts.from: jwt). */
struct settings_jwt {
	struct str jwks;	  /* where the issuer's keys are: a file, or a URL */
	struct settings_url url;  /* of it, without its path; text empty: it is a file */
	struct str target;	  /* path and query of that URL */
	struct str ca_file;	  /* PEM roots to trust for it; empty: the system's */
	struct str issuer;	  /* what `iss` must be */
	struct str audience;	  /* what `aud` must be, or have among others */
	struct str account_claim; /* which claim is the account */
	struct str agent_claim;	  /* which is the agent */
	int64_t tolerance_ms;	  /* of the issuer's clock */
	int64_t refresh_ms;	  /* from one fetch of the keys to the next */
};

/* Accounts from headers that something in front of the gate sets (accounts.from: header). */
struct settings_caller_headers {
	struct str account; /* the header that names the account */
	struct str agent;   /* the one that names the agent; empty: none does */
	struct network_list trusted;
};

/* Does a credential still hold at the service? */
struct settings_check {
	struct str get;	    /* the path to ask; empty: nobody is asked */
	int64_t cache_ms;   /* how long "it holds" is remembered */
	int64_t timeout_ms; /* of the question */
	int if_unknown;	    /* enum settings_if_unknown */
};
enum settings_if_unknown { SETTINGS_UNKNOWN_REFUSE, SETTINGS_UNKNOWN_ALLOW };

struct settings {
	/* Listeners and files. A reload cannot change these. */
	struct settings_address listen; /* the data listener */
	struct settings_address admin;	/* the admin listener */
	struct str data;		/* the directory of everything kept */
	int store;			/* enum settings_store */
	uint32_t threads;		/* loops, 1–64; `cores` has been resolved */

	struct settings_tls tls;       /* of the data listener */
	struct settings_tls admin_tls; /* of the admin listener */
	bool insecure;		       /* the admin listener may leave this machine without TLS */

	struct settings_upstream *upstreams; /* [0] is "default" */
	size_t upstream_count;

	struct action *actions; /* the declared ones, in the order of the file */
	size_t action_count;
	struct settings_pattern *patterns; /* of their fields; settings_free() frees them */

	struct {
		int from; /* enum settings_accounts: where a caller's account comes from */
		struct settings_jwt jwt;
		struct settings_caller_headers header;
	} accounts;

	struct {
		struct settings_check check; /* before a record is shown */
	} auth;

	struct {
		bool required;	       /* a protected request without a token is refused */
		struct str header;     /* the request header that holds it */
		int64_t retention_ms;  /* how long a terminal operation is kept */
		int64_t tombstones_ms; /* how long its token is remembered after that; 0: not */
		int64_t max_wait_ms;   /* longest `Prefer: wait` */
		uint32_t max_waiters;  /* requests that wait at once, over the whole gate */
	} tokens;

	struct {
		uint32_t max_waiting; /* queued operations of the dispatcher's, over the whole gate
				       */
		uint32_t concurrency; /* sendings of the dispatcher's at once, an upstream */
		uint32_t attempts;    /* sendings that did not arrive before it is failed */
		int64_t first_pause_ms; /* after the first of those; it doubles */
		int64_t max_pause_ms;	/* up to here */
	} outbox;

	struct {
		struct settings_url url; /* who is told of approvals; empty: nobody */
		struct str secret_file;	 /* what that is signed with */
		struct str ca_file;	 /* PEM roots to trust; empty: the system's */
		int64_t timeout_ms;	 /* of one telling */
		struct str *secrets;	 /* raw keys of that file, where files may be looked at */
		size_t secret_count;
	} notify;

	struct {
		struct settings_url url; /* where people find the console; or empty */
	} console;

	struct {
		size_t max_body;	  /* bytes of a protected request's body */
		size_t max_response;	  /* bytes of an answer's body that are kept */
		size_t max_head;	  /* bytes of a request's line and fields together */
		size_t request_memory;	  /* bytes that understanding one request may take */
		uint32_t max_connections; /* of clients, over the whole gate */
		int64_t idle_timeout_ms;  /* between two requests of a connection */
		int64_t head_timeout_ms;  /* from a head's first byte to its last */
		int64_t body_timeout_ms;  /* without progress of a request's body */
		int64_t drain_timeout_ms; /* from SIGTERM until what still runs is left behind */
	} limits;

	struct {
		struct str *methods; /* protected where no action matches */
		size_t count;
	} protect;
	int undeclared;			/* enum settings_undeclared: writes that match no action */
	struct status_classes statuses; /* what the upstreams' statuses mean */

	struct vault_master master_key; /* at most one of its three is given */

	struct {
		struct str origin;		/* the log's name; empty: one is drawn */
		uint32_t checkpoint_entries;	/* a checkpoint each time so many are new… */
		int64_t checkpoint_interval_ms; /* …and so long after the last one */
		struct text_list anchors;	/* folders and URLs that get each checkpoint too */
		struct text_list witnesses;	/* who cosign them: "URL KEY" */
		int64_t rotate_ms;		/* how long an epoch lasts; forever: until told */
		int64_t keep_ms;		/* how long its entries are kept after that */
		int64_t verify_ms; /* how often the gate verifies it by itself; forever: never */
	} audit;

	struct {
		int level;     /* enum log_level */
		bool requests; /* one line for each request */
	} log;

	struct network_list trusted_proxies; /* whose X-Forwarded-* are kept */

	struct arena mem; /* every string and array above */
};

/* Options of the command line, which win over the file. NULL: not given. */
struct settings_override {
	const char *listen;   /* --listen */
	const char *admin;    /* --admin */
	const char *upstream; /* --upstream: the url of the upstream "default" */
	const char *data;     /* --data */
	const char *store;    /* --store */
};

/* One thing that is wrong. All strings end in NUL and live as long as the report. */
struct settings_error {
	const char *source; /* the file, or the option ("--listen") */
	size_t line;	    /* from 1; 0: no place in a file */
	size_t column;	    /* from 1, in characters */
	const char *what;   /* what is wrong */
	const char *mend;   /* how to mend it */
};

/* All that is wrong, in the order of the file. */
struct settings_report {
	struct settings_error errors[SETTINGS_ERRORS_MAX];
	size_t count;
	size_t left_out;  /* errors beyond the maximum */
	struct arena mem; /* the strings */
};

void settings_report_init(struct settings_report *report);
void settings_report_fini(struct settings_report *report); /* safe on a zeroed one */

/* A line each: `file:line:column: what; mend`. */
void settings_report_print(const struct settings_report *report, FILE *out);

/*
 * {"ok": false, "errors": [{"file", "line", "column", "what", "mend"}], "left_out": 0}.
 * `line` and `column` are null where there is none. A refusal of the buffer shows in
 * out->is_spoiled.
 */
void settings_report_json(const struct settings_report *report, struct buf *out);

/*
 * Read `file` (NULL: none, then overrides->upstream is needed) and put `overrides` (NULL:
 * none) over it. Also sees whether the files it names can be read. Blocks; any thread.
 *   0               *out_settings is whole; settings_free() it
 *   SETTINGS_WRONG  the report says what is wrong (also: the file cannot be read)
 *   FAIL_MEMORY
 */
int settings_load(const char *file, const struct settings_override *overrides,
		  struct settings **out_settings, struct settings_report *report);

/* The same from memory; `name` stands for the file in errors. Touches no file. */
int settings_parse(struct str text, const char *name, const struct settings_override *overrides,
		   struct settings **out_settings, struct settings_report *report);

void settings_free(struct settings *settings); /* NULL is fine */

/*
 * May a running gate go from `old` to `new`? 0, or SETTINGS_WRONG with an entry in the
 * report for each change that needs a restart. `source` is the file's name in them.
 */
int settings_reloadable(const struct settings *old, const struct settings *new, const char *source,
			struct settings_report *report);

/* The upstream of that name; NULL when there is none. */
const struct settings_upstream *settings_upstream(const struct settings *settings, struct str name);

/* The declared action of that name; NULL when there is none. */
const struct action *settings_action(const struct settings *settings, struct str name);

/* Is a request's method one that `protect` lists? Methods compare with case. */
bool settings_protects(const struct settings *settings, struct str method);

/*
 * Is this numeric address ("10.0.0.7", "fe80::1", also "::ffff:10.0.0.7") one of
 * trusted_proxies?
 */
bool settings_trusts_proxy(const struct settings *settings, const char *address);

/* The same for any list of addresses and ranges. */
bool network_list_has(const struct network_list *list, const char *address);

/* The path at which that upstream is asked whether a credential holds; empty: it is not asked. */
struct str settings_check_path(const struct settings *settings, size_t upstream);

/* One setting, for whoever writes about them. Constant texts. */
struct settings_row {
	const char *name;	   /* "tokens.retention"; "upstreams.*.url" */
	const char *type;	   /* "a duration", … */
	const char *default_value; /* as it is written; NULL: none */
	const char *range;	   /* "1s to forever"; "" when the type says it all */
	const char *help;	   /* what it is for */
	bool needs_restart;	   /* a reload cannot change it */
};

/* The row at `index`, in the order of the manual; false past the last one. */
bool settings_row_at(size_t index, struct settings_row *out_row);

/* A commented configuration with every setting, which passes its own check. */
void settings_write_example(FILE *out);

/* The JSON Schema (draft 2020-12) of a configuration file, for editors. 0, FAIL_MEMORY. */
int settings_write_schema(FILE *out);

/* The rows as the list of a manual page (man(7) macros). */
void settings_write_manual(FILE *out);

#endif
