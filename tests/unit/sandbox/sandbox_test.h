/* What the practice API's tests share. */
#ifndef SANDBOX_TEST_H
#define SANDBOX_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
