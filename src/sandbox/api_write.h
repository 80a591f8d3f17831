/*
 * Writes to the practice API: what each kind of record needs, and making it.
 *
 * One table has the kinds. A write is checked in full, then its records are made, and only
 * then anything changes: a write that is refused, or finds no memory, leaves no trace.
 */
#ifndef SANDBOX_API_WRITE_H
#define SANDBOX_API_WRITE_H

#include "sandbox/api.h"

/* One request at work. */
struct api_work {
	struct world *world;
	const struct api_request *request;
	struct api_reply *reply;
};

struct draft;

/* A collection under /v1. */
struct resource {
	const char *name;   /* in the path */
	const char *prefix; /* of the ids made here: "tkt_"; NULL: the client names them */
	enum kind kind;	    /* KIND_COUNT: environments, which only deployments write */
	bool has_list;
	bool is_put; /* written by PUT /{id} */
	/* Is the draft acceptable? False: an error has been answered. */
	bool (*check)(struct api_work *work, struct draft *draft);
};

/* NULL: there is none of that name. */
const struct resource *resource_find(struct str name);

struct record *resource_record(const struct world *world, const struct resource *resource,
			       struct str id);

/*
 * Carry out a write; `id` is the client's own (PUT) or empty (POST). Returns 201 or 200 and
 * the record, which the world keeps; 0 when an error has been answered. 200 to a POST: the
 * record was there, by a key that is honoured.
 */
int resource_write(struct api_work *work, const struct resource *resource, struct str id,
		   const struct record **out_record);

/* The body as a JSON object; false when it is none and an error has been answered. */
bool api_read_object(struct api_work *work, struct json_value **out_object);

#endif
