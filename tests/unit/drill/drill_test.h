/*
 * Shared by the tests of drill: memory, and answers as a server would give them.
 */
#ifndef DRILL_TEST_H
#define DRILL_TEST_H

#include "drill/scenario.h"
#include "drill/target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { TEST_MEMORY_MAX = 4 << 20 };

static inline struct target_answer answer_of(int status, const char *body)
{
	return (struct target_answer){.end = status ? TARGET_ANSWERED : TARGET_NO_ANSWER,
				      .status = status,
				      .headers = STR(""),
				      .body = str_from(body),
				      .why = STR("it broke off")};
}

static inline void assert_str(struct str text, const char *expected)
{
	if (!str_equal(text, str_from(expected)))
		fail_msg("\"%.*s\" is not \"%s\"", STR_ARG(text), expected);
}

#endif
