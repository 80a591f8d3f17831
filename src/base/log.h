/*
 * The log: one JSON object a line, on stderr.
 *
 * A line is built in a `struct log_line` on the caller's stack and handed over whole, so
 * lines of several threads never mix. Lines wait in a bounded buffer until log_flush()
 * (each loop calls it before it sleeps) or until the buffer is half full; a line of level
 * warning or above is written at once. When the reader is slower than the gate, lines are
 * dropped and counted, and the count is logged: the log never blocks a request for long
 * and never grows.
 *
 * Never in the log: tokens, credentials, bodies, header values. Every line about an
 * operation carries its id as "operation".
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/env.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR };

enum { LOG_LINE_MAX = 2048 };

struct log;

struct log_line {
	struct log *log; /* NULL: the line is below the level, every call is a no-op */
	enum log_level level;
	size_t len;
	bool is_cut; /* a member did not fit: it is left out whole, and the line says so */
	char text[LOG_LINE_MAX];
};

/* A log to a file descriptor (borrowed). NULL without memory. */
struct log *log_new(const struct env *env, int fd, enum log_level level);
void log_free(struct log *log); /* flushes; NULL is fine */

/* "debug", "info", "warning", "error"; false for any other text. */
bool log_level_from(struct str name, enum log_level *out_level);

/* Lines below `level` are left out from now on. Any thread. */
void log_set_level(struct log *log, enum log_level level);

/* Write what waits. Any thread. */
void log_flush(struct log *log);

/* Start a line: time, level and event are filled in. `log` may be NULL: nothing is logged. */
void log_begin(struct log_line *line, struct log *log, enum log_level level, const char *event);
void log_str(struct log_line *line, const char *name, struct str value);
void log_text(struct log_line *line, const char *name, const char *value);
void log_int(struct log_line *line, const char *name, int64_t value);
void log_bool(struct log_line *line, const char *name, bool value);
void log_end(struct log_line *line);

/* A line with one text member. */
void log_note(struct log *log, enum log_level level, const char *event, const char *name,
	      const char *value);

#endif
