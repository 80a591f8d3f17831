/*
 * The table behind the settings; for the folder's own use.
 */
#ifndef CONFIG_TABLE_H
#define CONFIG_TABLE_H

#include "config/settings.h"
#include "config/yaml.h"

/* What a value is, and with it the member it is kept in. */
enum setting_kind {
	KIND_ADDRESS,	 /* struct settings_address */
	KIND_PATH,	 /* struct str: a file or directory */
	KIND_URL,	 /* struct settings_url */
	KIND_HEADER,	 /* struct str: the name of a header */
	KIND_DURATION,	 /* int64_t, ms */
	KIND_SIZE,	 /* size_t, bytes */
	KIND_COUNT,	 /* uint32_t */
	KIND_THREADS,	 /* uint32_t; also the word `cores` */
	KIND_BOOL,	 /* bool */
	KIND_CHOICE,	 /* int: index into the words of `range` */
	KIND_METHODS,	 /* settings.protect */
	KIND_STATUSES,	 /* uint64_t[8] of struct status_classes */
	KIND_NETWORKS,	 /* struct network_list */
	KIND_ROUTE,	 /* struct action: its method and route */
	KIND_TEXT,	 /* struct str */
	KIND_POINTER,	 /* struct str: a JSON pointer */
	KIND_HEADERS,	 /* struct action: its headers */
	KIND_FIELDS,	 /* struct field_list */
	KIND_ITEM,	 /* struct field_list of one, without a name */
	KIND_VALUE,	 /* const struct json_value * */
	KIND_VALUES,	 /* struct value_list */
	KIND_PATTERN,	 /* struct action_field: its pattern */
	KIND_NUMBER,	 /* const struct json_number * */
	KIND_SENT,	 /* struct str: the name of a header that the gate itself sends */
	KIND_STATUS,	 /* uint64_t[8]; a status, or a list of them */
	KIND_PART,	 /* struct str: a field by name or pointer, or a parameter of the route */
	KIND_PARTS,	 /* struct text_list of those */
	KIND_PATHS,	 /* struct text_list */
	KIND_MEMBER,	 /* struct str: the name of a member of the body */
	KIND_ANSWER,	 /* struct str: a JSON pointer into an answer; "" is the whole */
	KIND_QUESTION,	 /* struct str: path and query, with {names} */
	KIND_CONDITIONS, /* struct rule_response: its failed_when */
	KIND_SECRET,	 /* struct str: the name of a secret */
	KIND_CREDENTIAL_HEADER, /* struct str: the name of the header that takes a credential */
	KIND_WORDS,		/* struct text_list */
	KIND_WHEN,		/* struct when_list; or the word `always` */
	KIND_ANCHORS,		/* struct text_list: folders and URLs */
	KIND_WITNESSES,		/* struct text_list: "URL KEY" */
	KIND_LATER,		/* nothing: known, and not in this build */
	KIND_COUNT_OF,
};

/*
 * One setting. Its default and range are written as an operator would write them, and go
 * through the same readers as what an operator wrote.
 */
struct setting {
	const char *name; /* its path; '*' stands for a name of the operator's */
	enum setting_kind kind;
	size_t at;		   /* offset in struct settings, or in what setting_owner() says */
	const char *default_value; /* NULL: none */
	const char *range;	   /* "1s to 10m"; the words of a choice: "a | b"; or "" */
	const char *later;	   /* words, or their beginnings ("x://"), that this build lacks */
	const char *example;	   /* shown where there is no default */
	const char *help;	   /* sentences; with KIND_LATER: what is not in this build */
	bool needs_restart;
	bool is_required;
};

/* The settings in the order in which people read about them; NULL past the last one. */
const struct setting *setting_at(size_t index);

/* Its part about actions, for table.c. */
extern const struct setting setting_action_rows[];
extern const size_t setting_action_row_count;

#define UPSTREAM_PREFIX	  "upstreams.*."
#define CREDENTIAL_PREFIX "upstreams.*.credential."
#define OAUTH2_PREFIX	  "upstreams.*.credential.oauth2."
#define ACTION_PREFIX	  "actions.*."
#define FIELD_PREFIX	  "actions.*.fields.*."
#define CONDITION_PREFIX  "actions.*.failed_when.*."
#define WHEN_PREFIX	  "actions.*.approval.when.*."

/* What a setting is part of, and with it the struct that its member is in. */
enum setting_owner {
	OWNER_SETTINGS,	 /* struct settings */
	OWNER_UPSTREAM,	 /* struct settings_upstream */
	OWNER_ACTION,	 /* struct action_draft */
	OWNER_FIELD,	 /* struct field_draft */
	OWNER_CONDITION, /* struct condition_draft */
	OWNER_WHEN,	 /* struct when_draft */
};
enum setting_owner setting_owner(const struct setting *setting);

/* Its name inside of its owner: "url", "token.from". */
const char *setting_short_name(const struct setting *setting);

/* "a duration", "a size", … */
const char *setting_type(const struct setting *setting);

/* The setting of that path, or NULL. */
const struct setting *setting_find(struct str path);

/* Do settings lie below that path ("limits")? */
bool setting_is_section(struct str path);

/*
 * Is its value short for one of the settings below it? `downstream_key: Idempotency-Key` and
 * `downstream_key: {header: Idempotency-Key}` are the same.
 */
bool setting_is_short(const struct setting *setting);

struct field_list {
	struct action_field *fields;
	size_t count;
};

struct value_list {
	const struct json_value **values; /* NULL: not given */
	size_t count;
};

/* One condition of approval.when. */
struct when_draft {
	struct str field; /* as it is written */
	const struct json_value *is;
	struct value_list in; /* `is` too, once it has been read */
	const struct json_number *over;
	struct str currency;
	struct action_field pattern; /* of which the pattern is */
	int first_use;
	const struct node *map; /* where it stands */
	bool is_wrong;		/* it was reported */
};

struct when_list {
	bool is_always;
	struct when_draft *conditions;
	size_t count;
};

/* What its rules name, before it is known what those names stand for. */
struct rules_draft {
	struct text_list unique_by, lock_on;
	struct str lock_version;
	int lock_held; /* enum draft_held */
	struct str budget_of, budget_amount;
	int budget_if_unknown; /* enum draft_if_unknown */
	struct str opens_amount;
	uint32_t probe_as, lookup_as;
	int dispatch; /* enum draft_dispatch */
	struct text_list inbox_secrets;
	struct when_list when;
	uint32_t approval_approvers;
	struct text_list approval_roles, approval_accounts;
};
enum draft_held { DRAFT_HELD_REFUSE, DRAFT_HELD_QUEUE };
enum draft_if_unknown { DRAFT_UNKNOWN_REFUSE, DRAFT_UNKNOWN_ALLOW };
enum draft_dispatch { DRAFT_SYNC, DRAFT_OUTBOX };

/* An action as the file says it, before it has been put together. */
struct action_draft {
	struct action action;
	struct str upstream; /* its name; empty: default */
	struct field_list fields;
	int unknown_fields; /* enum draft_unknown */
	int token_from;	    /* enum draft_token */
	struct rules_draft rules;
	const struct node *key; /* its name in the file; the value is its mapping */
};
enum draft_unknown { DRAFT_REFUSE, DRAFT_KEEP };
enum draft_token { DRAFT_HEADER, DRAFT_BODY };

/* Where the setting of that path ("token.from") stands; else where the action's name does. */
struct place draft_place(const struct action_draft *draft, const char *path);

/* Does the file say it? */
bool draft_gives(const struct action_draft *draft, const char *path);

/* Was its value reported? Then nothing is said of what follows from it. */
bool draft_is_refused(const struct action_draft *draft, const char *path);

/* The file says which fields it has, and they could be read. For actions that are put together. */
bool draft_knows_fields(const struct action_draft *draft);

/* The same of a field. */
struct field_draft {
	struct action_field field;
	int type; /* enum field_type */
	int unit; /* enum draft_unit */
	int unknown_fields;
	uint32_t min_length, max_length, min_items, max_items;
	struct str currency;
	struct value_list choices;
	struct field_list fields;
	const struct node *map; /* its rules in the file */
	bool is_wrong;
};
enum draft_unit { DRAFT_MINOR, DRAFT_MAJOR };

/* One condition of failed_when. */
struct condition_draft {
	struct str at;
	const struct json_value *is;
	struct value_list in;
};

/* What happens while settings are being read. */
struct reading {
	struct settings *settings;
	struct settings_report *report;
	struct node *root; /* the file with the options put over it */
	bool may_look;	   /* files it names may be looked at */

	struct action_draft *drafts; /* of the actions, in the order of the file */
	size_t draft_count;
	size_t field_depth; /* lists of fields that are open, one inside another */
};

/*
 * All of a file, up to one byte more than `max`. 0; SETTINGS_WRONG (it cannot be read:
 * reported); FAIL_MEMORY.
 */
int file_read(const char *file, size_t max, struct buf *text, struct settings_report *report);

/* How many errors have been found. */
size_t reading_errors(const struct reading *reading);

/*
 * Read the settings of `map` into `base`; `section` is where it stands ("limits",
 * "upstreams.*"; "" for the file). Wrong ones are reported. 0 or FAIL_MEMORY.
 */
int read_map(struct reading *reading, const char *section, void *base, struct node *map);

/* Give every member of `owner` that has a default its default. 0 or FAIL_MEMORY. */
int read_defaults(struct reading *reading, void *base, enum setting_owner owner);

/* True, and reported, when the same key stands before it in its mapping. */
bool read_is_duplicate(struct reading *reading, const struct node *map, const struct node *key);

/*
 * Is it a mapping? Else that is reported; `what` names it, and `example` is what it could hold
 * ("url: http://127.0.0.1:9000"; empty: nothing is named).
 */
bool read_is_mapping(struct reading *reading, const char *what, const char *example,
		     const struct node *node);

/* The `actions` of the file into reading->drafts. 0 or FAIL_MEMORY. */
int read_actions(struct reading *reading, struct node *map);

/* Of the kinds that only actions and fields have. 0 or FAIL_MEMORY. */
int value_read_of_action(struct reading *reading, const struct setting *setting, void *member,
			 struct node *node);

/* In a list: an item that is one value? Else it has been reported. */
bool read_is_item(struct reading *reading, const struct setting *setting, const struct node *item);

/* In a list: does the same value stand before the item? */
bool read_is_repeated(const struct node *list, const struct node *item);

/* Of the kinds that only rules of actions have. 0 or FAIL_MEMORY. */
int value_read_of_rule(struct reading *reading, const struct setting *setting, void *member,
		       struct node *node);

/* What `node` says as JSON, in the settings' memory. 0, FAIL_MEMORY; else reported. */
int value_json(struct reading *reading, const struct node *node, struct json_value **out_value);

/* Combinations of one field's rules that cannot be, with its siblings read. 0 or FAIL_MEMORY. */
int check_field(struct reading *reading, struct field_draft *draft,
		const struct field_list *beside);

/*
 * The rules of an action that is put together, token and upstream included: what their names
 * stand for, combinations that cannot be, and what follows from other settings. 0 or FAIL_MEMORY.
 */
int check_rules(struct reading *reading, struct action_draft *draft);

/* Its probe or its look-up, `name`, which the file gives. */
void check_inquiry(struct reading *reading, struct action_draft *draft, const char *name);

/* Its inbox, which the file gives: secrets are read where files may be. 0 or FAIL_MEMORY. */
int check_inbox(struct reading *reading, struct action_draft *draft);
/* What people are asked, where they are. */
int check_approval(struct reading *reading, struct action_draft *draft);

/*
 * The secrets of a file that is its owner's alone, added to `into`; else reported at `place`, and
 * what the file holds is in no report. 0 or FAIL_MEMORY.
 */
int check_secret_file(struct reading *reading, struct place place, const char *path,
		      struct rule_inbox *into);

/* Put the drafts together as settings->actions, and check them. 0 or FAIL_MEMORY. */
int check_actions(struct reading *reading);

/*
 * Read what `node` says into the member of `base` that `setting` names. Wrong values are
 * reported, leave the member alone, and mark the node as refused. 0 or FAIL_MEMORY.
 */
int value_read(struct reading *reading, const struct setting *setting, void *base,
	       struct node *node);

/* Report `setting: what`, with `what` from a format. */
void value_report(struct reading *reading, const struct setting *setting, struct place place,
		  const char *mend, const char *format, ...) __attribute__((format(printf, 5, 6)));

/*
 * Combinations that cannot be, reported; and defaults that follow from other settings.
 * `key` is the upstream's name in the file.
 */
void check_upstream(struct reading *reading, struct settings_upstream *upstream,
		    const struct node *key);
int check_settings(struct reading *reading);

/* The credential of an upstream: `map` is what the file says of the upstream. */
void check_credential(struct reading *reading, const struct settings_upstream *upstream,
		      const struct node *map);
/* Headers that credentials take, held against those that are sent besides. */
void check_credential_headers(struct reading *reading);
/* `accounts` and `auth`; also takes apart where an issuer's keys are. 0 or FAIL_MEMORY. */
int check_accounts(struct reading *reading);
/* `audit`; also brings its URLs into one spelling. 0 or FAIL_MEMORY. */
int check_audit(struct reading *reading);

/* Where a general setting stands, or the nearest thing around it; is it given; was it refused? */
struct place check_place(const struct reading *reading, const char *path);
bool check_gives(const struct reading *reading, const char *path);
bool check_is_refused(const struct reading *reading, const char *path);

#endif
