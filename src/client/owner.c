/*
 * Owners, by what Linux tells of processes under /proc.
 *
 * A process id alone comes again; with its start and the machine's boot it does not.
 *
 * Always true: a process that runs is never called dead. Where the system does not tell, it is
 * called elsewhere. Cannot fail.
 */
#include "client/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PART_SIZE = 40, STAT_SIZE = 1024, STATE_FIELD = 3, THREADS_FIELD = 20, START_FIELD = 22 };

/* In the place of a start; no process has it. */
#define ENDED "ended"

/* The parts of an owner's name. */
struct parts {
	char machine[PART_SIZE], boot[PART_SIZE], space[PART_SIZE], pid[PART_SIZE],
		start[PART_SIZE];
};

static void place_parts(struct parts *parts);
static void read_start(const char *pid, char out[PART_SIZE]);

void owner_of_self(char out[OWNER_TEXT])
{
	struct parts self;

	place_parts(&self);
	snprintf(self.pid, sizeof(self.pid), "%ld", (long)getpid());
	read_start(self.pid, self.start);
	snprintf(out, OWNER_TEXT, "%s %s %s %s %s", self.machine, self.boot, self.space, self.pid,
		 self.start);
}

static bool is_known(const char *part)
{
	return strcmp(part, "-") != 0;
}

static bool read_parts(struct str owner, struct parts *out)
{
	char *into[] = {out->machine, out->boot, out->space, out->pid, out->start};
	struct str part;
	size_t count = 0;

	while (str_split(&owner, ' ', &part)) {
		if (count == sizeof(into) / sizeof(into[0]) || !part.len || part.len >= PART_SIZE)
			return false;
		memcpy(into[count], part.at, part.len);
		into[count++][part.len] = '\0';
	}
	return count == sizeof(into) / sizeof(into[0]);
}

enum owner_standing owner_standing(struct str owner)
{
	struct parts they, here;
	uint64_t pid;

	if (!read_parts(owner, &they) || !str_to_u64(str_from(they.pid), INT32_MAX, &pid) ||
	    pid == 0)
		return OWNER_DEAD;
	place_parts(&here);
	if (strcmp(they.machine, here.machine) != 0)
		return OWNER_ELSEWHERE;
	if (strcmp(they.boot, here.boot) != 0)
		return is_known(here.machine) ? OWNER_DEAD : OWNER_ELSEWHERE;
	if (strcmp(they.space, here.space) != 0)
		return OWNER_ELSEWHERE;
	read_start(they.pid, here.start);
	if (!is_known(here.start)) /* gone, or nothing tells of processes here */
		return kill((pid_t)pid, 0) != 0 && errno == ESRCH ? OWNER_DEAD : OWNER_ALIVE;
	return !is_known(they.start) || strcmp(they.start, here.start) == 0 ? OWNER_ALIVE
									    : OWNER_DEAD;
}

/* The first word of a small file; "-" where there is none. */
static size_t read_file(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, out, size - 1);

	if (fd >= 0)
		close(fd);
	out[got > 0 ? got : 0] = '\0';
	return got > 0 ? (size_t)got : 0;
}

static void read_word(const char *path, char out[PART_SIZE])
{
	read_file(path, out, PART_SIZE);
	out[strcspn(out, " \t\n")] = '\0';
	if (!*out)
		memcpy(out, "-", sizeof("-"));
}

/* What is the same for every process that we can tell anything of. */
static void place_parts(struct parts *parts)
{
	struct stat space;

	read_word("/etc/machine-id", parts->machine);
	read_word("/proc/sys/kernel/random/boot_id", parts->boot);
	memcpy(parts->space, "-", sizeof("-"));
	if (stat("/proc/self/ns/pid", &space) == 0)
		snprintf(parts->space, PART_SIZE, "%llu", (unsigned long long)space.st_ino);
}

/*
 * Field 22 of /proc/PID/stat (proc(5)), counted behind the last ")": a process may have blanks and
 * parentheses in its name, which is field 2. One that has ended and only waits to be reaped
 * (field 3: Z or X) has no start any more; unless only its first thread has ended, and others run
 * (field 20).
 */
static void read_start(const char *pid, char out[PART_SIZE])
{
	char path[PART_SIZE + 16], text[STAT_SIZE], *at, *word = NULL, *rest = NULL;
	bool has_ended = false;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	memcpy(out, "-", sizeof("-"));
	if (!read_file(path, text, sizeof(text)))
		return;
	at = strrchr(text, ')');
	for (int field = STATE_FIELD; at && field <= START_FIELD; field++) {
		word = strtok_r(field == STATE_FIELD ? at + 1 : NULL, " \n", &rest);
		if (!word)
			return;
		if (field == STATE_FIELD)
			has_ended = *word == 'Z' || *word == 'X';
		if (field == THREADS_FIELD && strlen(word) == 1 && *word <= '1' && has_ended)
			memcpy(out, ENDED, sizeof(ENDED));
	}
	if (word && strlen(word) < PART_SIZE && strcmp(out, ENDED) != 0)
		memcpy(out, word, strlen(word) + 1);
}
