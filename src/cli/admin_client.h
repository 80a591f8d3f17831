/*
 * Speaking to a running gate from the command line.
 *
 * A gate writes two files into its data directory, both for its own user alone:
 *
 *   gate.json     {"pid", "listen", "admin"}: where it is
 *   admin-token   what to show it as a bearer token; who has a key of their own shows that
 *
 * A command finds the gate by its data directory (or a configuration that names it), or is
 * told where its admin listener is. Whatever goes wrong is said on stderr here; the caller
 * gets an exit status.
 *
 * One thread; blocks. No proxy is used and no redirect followed: the token goes to the gate
 * or nowhere.
 */
#ifndef CLI_ADMIN_CLIENT_H
#define CLI_ADMIN_CLIENT_H

#include "base/arena.h"
#include "base/buf.h"
#include "cli/command.h"
#include "json/json.h"

#include <curl/curl.h>

enum {
	ADMIN_FILE_MAX = 16 * 1024,	      /* bytes of gate.json and of admin-token */
	ADMIN_ANSWER_MAX = 16 * 1024 * 1024,  /* bytes of one answer */
	ADMIN_MEMORY_MAX = 256 * 1024 * 1024, /* bytes for reading it */
	ADMIN_CONNECT_S = 5,
	ADMIN_TOTAL_S = 60,
};

/* The options that say where the gate is; a command puts them at the end of its own. */
#define ADMIN_OPTIONS                                                                              \
	{"--data", "DIR", "the gate's data directory (default ./counterfoil-data)"},               \
		{"--config", "FILE", "the gate's configuration, which names that directory"},      \
		{"--admin", "URL", "its admin listener, where DIR does not tell"},                 \
		{"--key-file", "FILE",                                                             \
		 "a key of yours, in place of DIR's admin-token (or put it\n"                      \
		 "into COUNTERFOIL_KEY)"},                                                         \
	{                                                                                          \
		"--json", NULL, "print the gate's answer as JSON"                                  \
	}
enum { ADMIN_OPTION_COUNT = 5 };

struct admin_client {
	struct str url;	       /* scheme://host:port, no slash at the end */
	struct str token;      /* shown as a bearer token */
	struct str token_file; /* where it came from, for messages */
	struct str ca_file;    /* PEM to trust; empty: the system's */
	struct arena mem;      /* everything here and the last answer's tree */
	CURL *easy;

	/* the last answer */
	long status;
	struct buf text;
	struct json_value *json; /* NULL: it had none */
};

/*
 * Find the gate that `call` means; its last ADMIN_OPTION_COUNT options are ADMIN_OPTIONS.
 * EXIT_DONE, or the exit status after a message. admin_client_close() it in either case.
 */
int admin_client_open(struct admin_client *client, const struct command_call *call);
void admin_client_close(struct admin_client *client);

/* Did the call ask for --json? */
int admin_wants_json(const struct command_call *call);

/*
 * Ask the gate; `target` is a path with its query, `body` JSON, or empty for none.
 *   EXIT_DONE    it did: client->json and client->text are its answer
 *   EXIT_NOT_SO  it did not, or it cannot be reached; why has been said
 */
int admin_ask(struct admin_client *client, const char *method, struct str target, struct str body);

/* The last answer's JSON on stdout, as it came but for controls a terminal would obey. */
void admin_print_json(const struct admin_client *client);

/* Append `text` percent-encoded, all but RFC 3986's unreserved characters. */
void admin_append_encoded(struct buf *out, struct str text);

#endif
