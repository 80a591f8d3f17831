/*
 * A sample command of an action, made from what its fields say. Pure: the same wish, the same
 * sample.
 */
#ifndef DRILL_SAMPLE_H
#define DRILL_SAMPLE_H

#include "core/action.h"

enum { SAMPLE_IMPOSSIBLE = 1, SAMPLE_WHY_MAX = 256 };

struct sample_wish {
	struct str run;		      /* a few letters that tell runs apart */
	unsigned number;	      /* another number, another command */
	unsigned same_number;	      /* the number of those named below */
	const struct rule_part *same; /* values that are to be those of `same_number` */
	size_t same_count;
	const struct rule_part *given; /* one value that is given; NULL: none is */
	struct str given_text;
	int64_t amount;	      /* of the field at `amount_at`, in minor units; 0: any */
	struct str amount_at; /* pointer */
	struct str token;     /* for an action whose token is in the body */
};

struct sample {
	struct str path;
	struct str body;   /* JSON */
	bool has_body;	   /* a command without fields has `{}` */
	struct str marker; /* a text that stands in it and in no other; empty: none fits */
};

/* 0; SAMPLE_IMPOSSIBLE with `why`: no such command is to be had; FAIL_MEMORY. Texts are in `mem`.
 */
int sample_make(const struct action *action, const struct sample_wish *wish, struct arena *mem,
		struct sample *out_sample, char why[SAMPLE_WHY_MAX]);

/* A text that `pattern` (POSIX extended) has, `stretch` times what may be repeated, and drawn by
 * `*seed`. False: this pattern is beyond it, or `out` is full. What comes is to be held against the
 * pattern. */
struct buf;
bool sample_pattern(struct str pattern, unsigned stretch, uint64_t *seed, struct buf *out);

#endif
