/* What the command line's tests share. */
#ifndef CLI_TEST_H
#define CLI_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
