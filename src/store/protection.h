/*
 * Whether the store keeps an audit log and seals what it keeps: always, but in the
 * program that is made to measure what both cost (meson option bench_unprotected): it brings
 * protection_off.c, which the library's protection.c then gives way to.
 */
#ifndef STORE_PROTECTION_H
#define STORE_PROTECTION_H

#include <stdbool.h>

bool store_is_protected(void);

#endif
