/*
 * A store whose audit log is looked at: in its files, and in the rows of its database.
 *
 * One directory and one world at a time, for one test program.
 */
#ifndef TESTS_STORE_LOGGED_H
#define TESTS_STORE_LOGGED_H

#include "audit/verify.h"
#include "world.h"

enum { ENTRIES_MAX = 64, TEXT_SIZE = 2048 };

extern char directory[64];
extern struct world world;

/* The log as its files have it. */
extern struct logged {
	struct entry_key key;
	struct verify_report report;
	char texts[ENTRIES_MAX][TEXT_SIZE];
	enum entry_type types[ENTRIES_MAX];
	size_t count;
} told;

int logged_set_up(void **state);
int logged_tear_down(void **state);

#define LOGGED_ROW(test) cmocka_unit_test_setup_teardown(test, logged_set_up, logged_tear_down)

/* Open the world: it is there, or refused with these words. */
void open_world(void);
void assert_refused(const char *part);

/* Close it; its log verifies, and is read into `told`, or has as many entries whatever they say. */
void close_and_read(size_t entries);
void close_and_count(size_t entries);

/* An entry of `told` is of that type and says so. */
void assert_told(size_t index, enum entry_type type, const char *part);

/* A file of the directory is there, or will be. */
bool is_there(const char *name);
void assert_comes(const char *name);

/* In the database; and in a shell that knows the directory as $D. */
void execute(const char *sql);
int number_of(const char *sql);
void shell(const char *script);

#endif
