/*
 * What the files that read a command share, and nobody else sees.
 */
#ifndef CORE_COMMAND_INTERNAL_H
#define CORE_COMMAND_INTERNAL_H

#include "core/command.h"

/* What a reading works with. */
struct reading {
	struct arena *mem;
	struct command_faults *faults; /* NULL: a trial, nobody is told */
	size_t matching_cost;	       /* of all texts that were held against patterns */
	struct str reserved;	       /* the body's member that the gate writes; empty: none */
};

/* An object of the body and the fields it is read by. */
struct record {
	const struct action_field *fields;
	size_t field_count;
	bool keeps_unknown;
	const struct json_value *object; /* as it came */
};

/*
 * A place in the command: chained up to the body, which has nothing above it. Lives on the
 * stack of whoever reads it; there are as many as the fields are declared deep.
 */
struct spot {
	const struct spot *above;	  /* NULL: the body */
	const struct action_field *field; /* what is declared for it; NULL for the body */
	const struct record *beside;	  /* the nearest object around it */
	struct str name;		  /* of the member */
	size_t index;			  /* of the item */
	bool is_item;
	bool is_secret; /* it, or something around it */
	bool leads_to_token;
	struct str token; /* the pointer from here on to it */
};

/* Is `field` the currency of an amount beside it? */
bool record_has_currency(const struct record *record, const struct action_field *field);

/* The declared field of this name, or NULL. */
const struct action_field *record_field(const struct record *record, struct str name);

/*
 * Read a value that is no object and no array: *out_value is its one spelling, `given` itself or
 * in memory. COMMAND_REFUSED: the fault has been told. FAIL_MEMORY.
 */
int field_read(struct reading *reading, const struct spot *spot, struct json_value *given,
	       struct json_value **out_value);

/* Are they one value? Arrays and objects by their canonical texts. 0, FAIL_MEMORY. */
int field_equal(struct reading *reading, const struct json_value *a, const struct json_value *b,
		bool *out_is_equal);

/*
 * Tell a fault at `spot`. "; X was sent." goes behind the sentence, X being `given`, shortened,
 * in printable ASCII; unless it is NULL, or the spot is secret, when it is a plain full stop (and
 * nothing behind a question mark).
 * COMMAND_REFUSED, FAIL_MEMORY.
 */
int fault_tell(struct reading *reading, const struct spot *spot, const struct json_value *given,
	       const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The same, said of a reference that is well-formed and can change. */
int fault_tell_mutable(struct reading *reading, const struct spot *spot,
		       const struct json_value *given);

/* A value for people: shortened, printable ASCII, strings in quotes. */
enum { SHOWN_SIZE = 64 };
void fault_show(const struct json_value *value, char out[SHOWN_SIZE]);
void fault_show_text(struct str text, char out[SHOWN_SIZE]);
void fault_show_number(const struct json_number *number, char out[SHOWN_SIZE]);

#endif
