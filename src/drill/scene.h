/*
 * One action of a rehearsal: what its cases work with.
 */
#ifndef DRILL_SCENE_H
#define DRILL_SCENE_H

#include "config/settings.h"
#include "drill/result.h"
#include "drill/sample.h"
#include "drill/stage.h"

enum {
	SCENE_MEMORY_MAX = 64 * 1024 * 1024, /* of one action */
	SCENE_ENOUGH = 100000,		     /* opened once, for all cases of a budget */
	SCENE_ANSWER_MS = 20000,	     /* of one request */
	SCENE_SETTLE_MS = 15000,	     /* of one command, until it has its end */
	SCENE_FIND_OUT_MS = 6000,	     /* of one that is unknown, and may be found out */
	SCENE_TOKEN_MAX = 48,
};

struct scene {
	struct stage *stage;
	const struct settings *settings;
	const struct action *action;
	struct str run;
	unsigned *number; /* the last that was used */
	struct arena mem; /* dies with the scene */
	struct arena *out;
	struct drill_case_result *result; /* of the case that runs */
	int64_t began_us;
	struct str opened; /* the id of a budget for this action; empty: none is needed */
};

/* One intended action. */
struct act {
	const struct action *action;
	struct sample sample;
	unsigned number; /* of its sample */
	char token[SCENE_TOKEN_MAX];
	int64_t before; /* effects before it */
};

/* -- verdicts: the first stands; each returns false ---------------------------------- */
bool scene_pass(struct scene *, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool scene_fail(struct scene *, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool scene_skip(struct scene *, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool scene_error(struct scene *, const char *format, ...) __attribute__((format(printf, 2, 3)));

void scene_event(struct scene *, enum drill_move, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* -- acts: false: the verdict has been given ----------------------------------------- */

/* A new command under a new token. `same` (may be NULL) has the values of `like`'s number. */
bool scene_act(struct scene *, struct act *out_act);

/* The command of that number under that token; empty: under a new one. */
bool scene_act_again(struct scene *, unsigned number, const char *token, struct act *out_act);
bool scene_act_of(struct scene *, const struct action *, struct sample_wish *, struct act *out_act);

/* A budget of so much for this action, opened through the gate; *out_id is empty where its action
 * needs none. */
bool scene_open(struct scene *, int64_t amount, struct str *out_id);

/* The request of an act; texts in the scene's memory. */
struct target_request scene_request(struct scene *, const struct act *);

bool scene_send(struct scene *, const struct act *, struct target_answer *out_answer);

/* Where people are asked, they agree. */
bool scene_agree(struct scene *, const struct target_answer *);

/* Send, agree, and ask again until it has its end or time is over. */
bool scene_complete(struct scene *, const struct act *, struct target_answer *out_answer);

/* The same; anything but a success makes the case not applicable. */
bool scene_do(struct scene *, const struct act *, struct target_answer *out_answer);

/* -- what is true -------------------------------------------------------------------- */

/* Effects since the act was made, of any command. */
int64_t scene_effects(struct scene *, const struct act *);

/* That they are `wanted`; put into the result. */
bool scene_wants(struct scene *, const struct act *, int64_t wanted, const char *what);

struct str scene_outcome(const struct target_answer *);
bool scene_is_success(const struct target_answer *);

/* The stand-in behaves as the settings say of the service of `action`. */
void scene_behave(struct scene *, const struct action *);

#endif
