/*
 * Outcomes, failures and things that must be true.
 *
 * Every function that can go wrong returns an int:
 *   0          done
 *   positive   an outcome that only the direct caller understands; dealt with there
 *   negative   a failure: something broke. Pass it up; the origin has been logged.
 *
 * `require()` states what must be true whatever comes from outside; it stays on in
 * production, because a gate that goes on with a broken invariant may act twice.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

/* Failures. Their texts are in fail_text(). */
enum {
	FAIL_MEMORY = -1,    /* malloc said no, or an arena reached its ceiling */
	FAIL_LIMIT = -2,     /* a named bound was reached */
	FAIL_IO = -3,	     /* the operating system refused a read, a write or a socket call */
	FAIL_STORE = -4,     /* the store could not do what it was asked; nothing was changed */
	FAIL_UNCERTAIN = -5, /* the store was asked to commit and did not say what happened */
	FAIL_CONFIG = -6,    /* a file or an option is wrong; it has been explained */
	FAIL_UNPLANNED = -7, /* an outcome its caller did not foresee */
};

/*
 * Record where a failure began and return it: `return fail(FAIL_IO);`. One line on
 * stderr (JSON), naming the place. Any thread.
 */
#define fail(code)	    fail_at((code), 0, __FILE_NAME__, __LINE__, __func__)
#define fail_errno(code, e) fail_at((code), (e), __FILE_NAME__, __LINE__, __func__)
int fail_at(int code, int error_number, const char *file, int line, const char *function);

/* A constant text for a failure; "unknown failure" for anything else. */
const char *fail_text(int code);

/* Stop the process, saying what was not true. Never called for what came from outside. */
#define require(condition)                                                                         \
	((condition) ? (void)0 : broken(#condition, __FILE_NAME__, __LINE__, __func__))
#define unreachable(why) broken((why), __FILE_NAME__, __LINE__, __func__)
_Noreturn void broken(const char *what, const char *file, int line, const char *function);

#endif
