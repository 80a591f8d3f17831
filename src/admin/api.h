/*
 * The admin listener's endpoints, for the files that serve them.
 *
 * api_table.c has one row for each: method, path, the power that it takes, its handler. api.c finds
 * the row, makes sure who calls (api_caller.c) and that their role has the power, reads the body,
 * and calls the handler; handlers are in files by subject (api_operations.c, api_locks.c, …).
 *
 *   begin ─► who? ─► which row? ─► may they? ─► body ─► who, still? ─► handler ─► answer
 *
 * Always true: a handler runs for a caller whose role has its row's power (or for a row that is
 * open), never inside the call that began the exchange, and answers exactly once, now or later.
 * Which accounts the caller sees is for the handler: caller_may_see() of what it found, or
 * api_scope() for what the store is asked; what is not theirs to see is not there (404).
 */
#ifndef ADMIN_API_H
#define ADMIN_API_H

#include "admin/admin.h"
#include "core/caller.h"
#include "json/json.h"

enum {
	API_PARAMETERS_MAX = 2,
	API_BODY_MAX = 64 * 1024,
	API_ANSWER_MAX = 8 * 1024 * 1024,
	API_HEADERS_MAX = 4096,
};

struct api_call;

/* What an endpoint reads of the request's body. */
enum api_body {
	API_BODY_NONE,	 /* nothing; what is sent is dropped */
	API_BODY_OBJECT, /* a JSON object; without one: 400 */
};

/* A member of a body. One that is not known might have been meant to limit what is done. */
struct api_member {
	const char *name;
	bool is_text; /* else the handler says what it is */
};

struct api_endpoint {
	const char *method;	 /* a GET is a HEAD's too */
	const char *path;	 /* "{name}" stands for one segment, not empty */
	bool is_open;		 /* answers whoever asks; `power` is not looked at */
	enum caller_power power; /* of the caller's role */
	bool is_of_all;		 /* and only for who sees all accounts: it cannot be told apart */
	enum api_body body;
	const struct api_member
		*members; /* of API_BODY_OBJECT: all that it may have, then {NULL} */
	void (*handler)(struct api_call *call);
	const char *summary; /* what it is for, one line */
};

struct api_call {
	/* for the handler to read */
	struct admin *admin;
	struct exchange *exchange; /* its `mem` is the call's */
	const struct api_endpoint *endpoint;
	struct caller caller;			   /* no role where the row is open */
	struct str parameters[API_PARAMETERS_MAX]; /* what the path has for each {…}, decoded */
	const struct json_value *body;		   /* API_BODY_OBJECT */

	/* for the handler to fill */
	struct store_command command; /* for api_ask() */
	void *state;		      /* its own */
};

/* api_table.c: all rows. */
const struct api_endpoint *api_endpoints(size_t *out_count);

/*
 * api.c: the endpoint of a method and a path, or NULL. `*out_method`: one that the path is served
 * under; NULL: it is not served.
 */
const struct api_endpoint *api_endpoint_find(struct str method, struct str path, struct arena *mem,
					     struct str out_parameters[API_PARAMETERS_MAX],
					     const char **out_method);

/*
 * api_caller.c: who sends this. False: nobody who is let in; *out_detail says what would be. Asked
 * when the head is there and again when the body is: what has been revoked meanwhile is not let in.
 */
bool api_identify(const struct admin *admin, struct exchange *exchange, struct caller *out_caller,
		  const char **out_detail);

/* Does it show something that could have let it in? Then it failed, and is counted. */
bool api_shows_credential(const struct exchange *exchange);

/* Somebody failed to authenticate: count it by address, tell of it, answer 401 or 429. */
void api_refuse_caller(struct api_call *call, struct str why, const char *detail);

/* api_identify() of a credential's text: a bearer token, or what is typed at the console. */
bool api_identify_text(const struct admin *admin, struct exchange *exchange, struct str text,
		       struct caller *out_caller, const char **out_detail);

/* Does the credential of somebody who signed in still count? *out_caller is what it may now. */
bool api_credential_holds(const struct admin *admin, struct exchange *exchange,
			  const struct caller *signed_in, struct caller *out_caller);

/* Whoever may read the data directory, or what the gate printed as it started. */
extern const struct caller api_operator;

/* -- for handlers ------------------------------------------------------------------ */

/* `size` bytes of zeros, as call->state. NULL: no memory, and the exchange has ended. */
void *api_state_new(struct api_call *call, size_t size);

/* Ask the store call->command; `done` gets it with owner == call. */
void api_ask(struct api_call *call, store_done done);

/* The call that a command was asked for. */
struct api_call *api_call_of(struct store_command *command);

/*
 * The account that the caller is limited to, for a command's filter or its operation.account; empty
 * where it sees all of them.
 */
struct str api_scope(const struct api_call *call);

/*
 * Narrow the filter of call->command to it. False: it asks for another account, whether there is
 * one or not, and 403 has been answered.
 */
bool api_keep_to_scope(struct api_call *call);

/* The id in the path's first parameter. False: it is none, and 404 has been answered. */
bool api_operation_id(struct api_call *call, struct operation_id *out_id);

/*
 * What every command may end with. True: it did (absent: 404, a failure: 503), and the answer has
 * been given; other outcomes, and 0, are the handler's.
 */
bool api_failed(struct api_call *call, const char *absent_detail);

/* Ask the store for one operation that the caller may see, with all that is told of it. */
void api_find_operation(struct api_call *call, const struct operation_id *id, store_done done);

/* api_failed() of a command about one operation, or about a list of them. */
bool api_operation_failed(struct api_call *call);

/* Answers. A buffer of api_json_begin() is taken back, and freed, by api_json_end(). */
void api_json_begin(struct json_writer *json, struct buf *body);
void api_json_end(struct api_call *call, int status, struct buf *body);
/* The same with more header lines. */
void api_json_end_with(struct api_call *call, int status, struct str headers, struct buf *body);
void api_problem(struct api_call *call, enum problem problem, const char *detail);

/* api_audit_verify.c: how the log's verification stands, as an object. */
void api_verification_write(struct api_call *call, struct json_writer *json);

/* Members of call->body. A text that is not there is empty. */
struct str api_text(const struct api_call *call, const char *name);

/* -- handlers, by file ------------------------------------------------------------- */

void api_health(struct api_call *call);
void api_ready(struct api_call *call);
void api_metrics(struct api_call *call);
void api_help(struct api_call *call);
void api_list_endpoints(struct api_call *call);

const char *api_power_name(enum caller_power power);

/* console.c */
void api_console_page(struct api_call *call);
void api_console_file(struct api_call *call);
void api_description(struct api_call *call);

void api_sign_in(struct api_call *call);
void api_show_session(struct api_call *call);
void api_sign_out(struct api_call *call);

void api_events(struct api_call *call);
void api_outcomes(struct api_call *call);

void api_list_operations(struct api_call *call);
void api_show_operation(struct api_call *call);
void api_cancel(struct api_call *call);
void api_resolve(struct api_call *call);
void api_release(struct api_call *call);

void api_list_locks(struct api_call *call);

void api_list_budgets(struct api_call *call);

void api_list_approvals(struct api_call *call);
void api_show_approval(struct api_call *call);
void api_approve(struct api_call *call);
void api_deny(struct api_call *call);

void api_list_keys(struct api_call *call);
void api_create_key(struct api_call *call);
void api_revoke_key(struct api_call *call);
void api_remove_key(struct api_call *call);

void api_audit(struct api_call *call);
void api_audit_status(struct api_call *call);
void api_audit_verify(struct api_call *call);
void api_audit_rotate(struct api_call *call);
void api_audit_erase(struct api_call *call);
void api_list_secrets(struct api_call *call);
void api_set_secret(struct api_call *call);
void api_remove_secret(struct api_call *call);

#endif
