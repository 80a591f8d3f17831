/*
 * A declared action: a kind of write of the API, described once.
 *
 * What the configuration says of it, as plain data: its route, the fields of its command and
 * the rules they keep. Filled by src/config, never changed afterwards; every string and tree
 * lives in the settings' memory.
 */
#ifndef CORE_ACTION_H
#define CORE_ACTION_H

#include "core/matcher.h"
#include "core/outcome.h"
#include "core/route.h"
#include "core/rule.h"
#include "json/json.h"

#include <stdbool.h>
#include <stdint.h>

enum field_type {
	FIELD_STRING,
	FIELD_INTEGER,
	FIELD_DECIMAL,
	FIELD_BOOLEAN,
	FIELD_MONEY,	 /* an amount of the currency that another field names, or a fixed one */
	FIELD_REFERENCE, /* names one thing that never changes: a digest, a full commit id */
	FIELD_TIMESTAMP, /* an instant, RFC 3339 */
	FIELD_OBJECT,
	FIELD_ARRAY,
	FIELD_ANY,
	FIELD_TYPE_COUNT,
};

struct action_field {
	struct str name; /* of the member; empty for an array's items */
	enum field_type type;
	bool is_required;	 /* it must be there, and not null */
	bool is_nullable;	 /* null is a value of it */
	bool is_server_assigned; /* left out of the fingerprint */
	bool is_secret;		 /* never in logs, errors, the console or the audit */
	struct str text;	 /* description for people; may be empty */

	const struct json_value *default_value; /* filled in where it is absent; NULL: none */
	const struct json_value **choices;	/* enum: one of these; NULL: any */
	size_t choice_count;

	/* strings: lengths in characters (code points); arrays: items */
	bool has_minimum_length, has_maximum_length;
	size_t minimum_length, maximum_length;
	struct str pattern_text; /* POSIX extended, as written; empty: none */
	struct matcher *pattern; /* compiled; over bytes, anywhere unless anchored */

	/* integer, decimal, money (in the unit of the field) */
	const struct json_number *minimum, *maximum; /* NULL: none */

	/* money */
	struct str currency_field; /* the member beside it that holds the code; or empty */
	struct str currency;	   /* a fixed code; or empty */
	bool is_major;		   /* unit: major (49.00); else minor (4900) */

	/* object, and array (one: what each item is); NULL: whatever is in it */
	struct action_field *fields;
	size_t field_count;
	bool keeps_unknown; /* members that are not declared are kept, else refused */
};

struct action {
	struct str name;    /* "payments.create" */
	struct str summary; /* with {field} in it, for people */
	struct str method;
	struct route route;
	size_t upstream; /* index into the settings' upstreams */

	struct action_field *fields;
	size_t field_count;
	bool has_fields; /* a command is expected; else any body */
	bool keeps_unknown;

	struct str token_pointer; /* JSON pointer to the token in the body; empty: the header */
	struct str *headers;	  /* names that are part of the fingerprint */
	size_t header_count;
	bool is_natural; /* the service's own id makes it idempotent: no token needed */

	bool has_statuses; /* else the settings' own */
	struct status_classes statuses;
	int64_t timeout_ms;	       /* 0: the upstream's */
	size_t max_body, max_response; /* bytes; 0: the settings' */
	int64_t retention_ms;	       /* 0: the settings' */

	struct rule_unique unique;
	struct rule_lock lock;
	struct rule_budget budget;
	struct rule_opens_budget opens_budget;
	struct rule_response response;
	struct rule_downstream_key downstream_key; /* its own, or its upstream's */
	struct rule_inquiry probe;
	struct rule_inquiry lookup;
	struct rule_inbox inbox;
	struct rule_approval approval;
	bool is_outbox; /* dispatch: outbox; sent by the dispatcher, whoever waits */
};

/* The field of that name; NULL: none is declared. */
const struct action_field *action_field(const struct action_field *fields, size_t count,
					struct str name);

/*
 * The field of the first step of *pointer, a JSON pointer that is not empty; NULL: none is
 * declared. Of an array that is what its items are, whichever it is. *pointer goes on behind the
 * step.
 */
const struct action_field *action_field_enter(const struct action_field *fields, size_t count,
					      struct str *pointer);

/* May the same operation be sent again without a second effect, once it is unknown? */
bool action_may_resend(const struct action *action);

/* May the gate have to send it, or ask after it, when its caller has gone? Its request is kept. */
bool action_keeps_request(const struct action *action);

/*
 * Is `name` one that a method could have? An action's name stands in the fingerprint where
 * undeclared requests have their method, so it must not be.
 */
bool action_is_named_like_method(struct str name);

const char *field_type_name(enum field_type type);
bool field_type_from(struct str name, enum field_type *out_type);

#endif
