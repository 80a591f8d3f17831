/*
 * The stage of a rehearsal: a folder, a stand-in, and a gate between them and us.
 */
#ifndef DRILL_STAGE_H
#define DRILL_STAGE_H

#include "config/yaml.h"
#include "drill/interrupt.h"
#include "drill/shell.h"
#include "drill/standin.h"
#include "drill/target.h"

enum { STAGE_FAILED = 1, STAGE_PATH_MAX = 512, STAGE_GATE_MAX = 1024, STAGE_START_MS = 20000 };

struct stage {
	struct interrupt *interrupt;
	char folder[STAGE_PATH_MAX]; /* empty: there is none */
	struct standin *standin;
	struct shell_child gate;
	struct str url, admin_url; /* without a slash at the end */
	struct str admin_token;	   /* empty: the gate wrote none */
};

/* 0; STAGE_FAILED with `why`; FAIL_MEMORY. Whatever comes, stage_end(). Texts live in `mem`. */
int stage_begin(struct stage *stage, const struct node *config, const char *gate,
		struct interrupt *interrupt, struct arena *mem, char why[SHELL_WHY_MAX]);

/* End the gate and the stand-in, and remove the folder. */
void stage_end(struct stage *stage);

#endif
