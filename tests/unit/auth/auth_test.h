/* What the tests of this folder share. */
#ifndef TESTS_UNIT_AUTH_AUTH_TEST_H
#define TESTS_UNIT_AUTH_AUTH_TEST_H

#include "base/err.h"

#undef fail /* cmocka has its own */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#endif
