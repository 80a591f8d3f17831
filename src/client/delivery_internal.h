/*
 * What the files of a delivery share, and nobody else sees.
 */
#ifndef CLIENT_DELIVERY_INTERNAL_H
#define CLIENT_DELIVERY_INTERNAL_H

#include "client/classify.h"
#include "client/delivery.h"
#include "client/journal_internal.h"

/* What is to be done next. */
enum delivery_move {
	MOVE_SEND, /* the write, under its token */
	MOVE_ASK,  /* the status resource */
	MOVE_STOP  /* the result says it all */
};

/* One delivery at work. */
struct delivery {
	struct journal *journal;
	const struct delivery_request *request;
	struct arena *mem;
	struct journal_error *err;
	struct journal_entry entry; /* ours, or as it was read last */
	bool has_mark;
	char mark[CREDENTIAL_MARK + 1]; /* of the credential that is used now */
	int64_t deadline_ms;		/* monotonic */
	enum delivery_move move;
	bool is_recorded;  /* the sending that comes next is in the journal already */
	uint32_t tries;	   /* in a row, for the pauses between them */
	bool may_send;	   /* it is a delivery, not only a look */
	bool is_certain;   /* nothing that was sent under this token is uncertain now */
	bool is_past_gate; /* what is uncertain was answered past a gate: one that has no record of
			    * it proves nothing */
	bool is_bare;	   /* there is no gate: it has been asked, and nobody answered as one */
	struct web_answer answer; /* the last one, to whatever was asked */
	struct delivery_result result;
};

/* Milliseconds that are left for following up; 0: none. */
int64_t delivery_left(const struct delivery *delivery);

/* Pause for `after_s` seconds, or by growing steps where those are longer; never beyond the end. */
void delivery_pause(struct delivery *delivery, int64_t after_s);

/*
 * Ask the gate what it knows, settle what it said, and make the next move. Where there is no gate:
 * MOVE_SEND if the key is honoured, else MOVE_STOP with an unknown outcome. 0; as
 * delivery_settle().
 */
int delivery_ask(struct delivery *delivery);

/* What was learnt by one request. Empty texts: nothing of the kind. */
struct lesson {
	enum meaning meaning;
	const char *what;   /* of the event */
	const char *source; /* of the result */
	struct str outcome, operation, advice, reason;
	int64_t after_s;
	bool is_gate;
	bool goes_on;	 /* there is more to be done, if there is time for it */
	bool has_answer; /* delivery->answer goes into the result; of an end, also into the journal
			  */
};

/*
 * Write down what was learnt, and put it into the result. Where nothing is to be done any more, or
 * there is no time, the entry is given up and the move is MOVE_STOP. A body that cannot be written
 * where it should be stays in the result, which says so. 0; DELIVERY_UNKEPT: an end, in the result,
 * that the journal does not have; JOURNAL_NONE and failures of journal_settle().
 */
int delivery_settle(struct delivery *delivery, const struct lesson *lesson);

/* Put an answer's body where the request wants it, or beside the journal where it is too large. */
int delivery_put_body(struct delivery *delivery, struct kept_answer *answer);

/* The result of an entry that has ended, or that others are at, as the journal has it. */
void delivery_tell(struct delivery *delivery);

#endif
