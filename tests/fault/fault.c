/*
 * A machine that fails on demand: preloaded before a gate, it strikes at a chosen call.
 *
 * The test and this library share one page of memory, the file named in FAULT_CONTROL: the
 * test arms a fault there while the gate runs, and reads how many calls have been made. Only
 * calls on files below FAULT_DIRECTORY count, and of those only the ones that change a disk:
 * write, pwrite, fsync, fdatasync, ftruncate. Without FAULT_CONTROL nothing changes.
 *
 * Besides the disk it moves the wall clock, makes syncs slow, and lets an allocation fail. Where
 * the folder FAULT_SYNCED is named, it keeps there what each file was at its last sync: what
 * a power cut would leave of it at worst. Below audit/ names count too: a file is kept by its
 * inode and time of change, and a folder's sync keeps which names stood for which of these.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum kind {
	KIND_NONE,
	KIND_ERROR,    /* the call fails with `number` */
	KIND_SHORT,    /* a write takes half of its bytes; other calls go well */
	KIND_KILL,     /* the process dies before the call */
	KIND_KILLED,   /* the process dies after the call */
	KIND_TORN,     /* a write takes half of its bytes, then the process dies */
	KIND_NO_SYNC,  /* syncs fail with `number`, the other calls go well */
	KIND_UNSYNCED, /* the process dies before a sync, the other calls go well */
};

/* What the test writes and reads, in the order harness/fault.py knows. */
struct control {
	_Atomic int64_t kind;
	_Atomic int64_t first;	    /* the call that is struck, counted from 1 */
	_Atomic int64_t times;	    /* how many from there on */
	_Atomic int64_t number;	    /* errno */
	_Atomic int64_t calls;	    /* made so far */
	_Atomic int64_t sync_ms;    /* how long a sync takes longer */
	_Atomic int64_t clock_ms;   /* how far the wall clock is off */
	_Atomic int64_t allocation; /* the allocation that fails, counted from 1 */
	_Atomic int64_t allocations;
	_Atomic int64_t log_syncs; /* syncs of a write-ahead log */
};

static struct control *control;
static char directory[4096], synced[4096];
static size_t directory_len;

__attribute__((constructor)) static void begin(void)
{
	const char *file = getenv("FAULT_CONTROL"), *below = getenv("FAULT_DIRECTORY");
	void *page;
	int fd;

	if (!file || !below)
		return;
	fd = open(file, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	page = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (page == MAP_FAILED)
		return;
	directory_len = strlen(below);
	if (directory_len >= sizeof(directory))
		return;
	memcpy(directory, below, directory_len + 1);
	if (getenv("FAULT_SYNCED"))
		snprintf(synced, sizeof(synced), "%s", getenv("FAULT_SYNCED"));
	control = page;
}

static bool path_of(int fd, char *out, size_t size)
{
	char link[40];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, out, size - 1);
	if (len < 0)
		return false;
	out[len] = '\0';
	return strncmp(out, directory, directory_len) == 0;
}

static void die(void)
{
	syscall(SYS_kill, getpid(), SIGKILL);
	for (;;)
		pause();
}

/* Count this call; what is to happen to it. */
static enum kind fate(int fd, bool is_sync)
{
	char path[4096];
	enum kind kind;
	int64_t call, first;

	if (!control || !path_of(fd, path, sizeof(path)))
		return KIND_NONE;
	call = atomic_fetch_add(&control->calls, 1) + 1;
	if (is_sync && strstr(path, "-wal"))
		atomic_fetch_add(&control->log_syncs, 1);
	if (is_sync && atomic_load(&control->sync_ms))
		usleep((useconds_t)atomic_load(&control->sync_ms) * 1000);
	kind = (enum kind)atomic_load(&control->kind);
	first = atomic_load(&control->first);
	if (kind == KIND_NONE || call < first || call - first >= atomic_load(&control->times))
		return KIND_NONE;
	if (kind == KIND_NO_SYNC)
		kind = is_sync ? KIND_ERROR : KIND_NONE;
	if (kind == KIND_UNSYNCED)
		kind = is_sync ? KIND_KILL : KIND_NONE;
	if (kind == KIND_KILL)
		die();
	if (kind == KIND_ERROR)
		errno = (int)atomic_load(&control->number);
	return kind;
}

static bool is_audit(const char *path)
{
	const char *below = path + directory_len;

	return strncmp(below, "/audit", 6) == 0 && (below[6] == '/' || below[6] == '\0');
}

/* Neither a rename nor an inode that is used again leads to another file's content. */
static void shadow_name(const struct stat *about, char *out, size_t size)
{
	snprintf(out, size, "%s/file-%llu-%lld-%ld", synced, (unsigned long long)about->st_ino,
		 (long long)about->st_mtim.tv_sec, about->st_mtim.tv_nsec);
}

/* The folder's names as they have just been synced: a line each, `/` for a folder. */
static void keep_names(const char *folder)
{
	char to[8192], beside[8200], file[8192];
	struct dirent *entry;
	struct stat about;
	DIR *listing;
	int out;

	if (strcmp(folder, directory) != 0 && !is_audit(folder))
		return;
	snprintf(to, sizeof(to), "%s/names%s", synced, folder + directory_len);
	for (char *c = to + strlen(synced) + 1; *c; c++)
		*c = *c == '/' ? '%' : *c;
	snprintf(beside, sizeof(beside), "%s.new", to);
	listing = opendir(folder);
	out = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (!listing || out < 0)
		abort();
	while ((entry = readdir(listing))) {
		if (entry->d_name[0] == '.' ||
		    fstatat(dirfd(listing), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		shadow_name(&about, file, sizeof(file));
		dprintf(out, "%s %s\n", entry->d_name,
			S_ISDIR(about.st_mode) ? "/" : strrchr(file, '/') + 1);
	}
	closedir(listing);
	close(out);
	if (rename(beside, to) != 0)
		abort();
}

/* Copy the file, as it has just been synced. Whole or not at all: a gate may be killed meanwhile.
 */
static void keep(int fd)
{
	char from[4096], to[8192], beside[8200], piece[65536];
	struct stat about;
	ssize_t len;
	int in, out;

	if (!synced[0] || !path_of(fd, from, sizeof(from)) || !strrchr(from, '/'))
		return;
	if (fstat(fd, &about) != 0)
		abort();
	if (S_ISDIR(about.st_mode)) {
		keep_names(from);
		return;
	}
	if (is_audit(from))
		shadow_name(&about, to, sizeof(to));
	else
		snprintf(to, sizeof(to), "%s%s", synced, strrchr(from, '/'));
	in = open(from, O_RDONLY | O_CLOEXEC);
	snprintf(beside, sizeof(beside), "%s.new", to);
	out = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	while (in >= 0 && out >= 0 && (len = read(in, piece, sizeof(piece))) > 0) {
		if (syscall(SYS_write, out, piece, (size_t)len) != len)
			abort();
	}
	if (in >= 0)
		close(in);
	if (out >= 0) {
		close(out);
		if (rename(beside, to) != 0)
			abort();
	}
}

static int keep_if_fine(int fd, long r)
{
	if (control && r == 0)
		keep(fd);
	return (int)r;
}

static ssize_t outcome(enum kind kind, ssize_t r)
{
	if (kind == KIND_KILLED || kind == KIND_TORN)
		die();
	return r;
}

static size_t amount(enum kind kind, size_t len)
{
	return (kind == KIND_SHORT || kind == KIND_TORN) && len > 1 ? len / 2 : len;
}

ssize_t write(int fd, const void *bytes, size_t len)
{
	enum kind kind = fate(fd, false);

	if (kind == KIND_ERROR)
		return -1;
	return outcome(kind, syscall(SYS_write, fd, bytes, amount(kind, len)));
}

/* With 64-bit offsets, which Meson asks for, this is pwrite64, and so below. */
ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at)
{
	enum kind kind = fate(fd, false);

	if (kind == KIND_ERROR)
		return -1;
	return outcome(kind, syscall(SYS_pwrite64, fd, bytes, amount(kind, len), at));
}

int fsync(int fd)
{
	enum kind kind = fate(fd, true);

	if (kind == KIND_ERROR)
		return -1;
	return (int)outcome(kind, keep_if_fine(fd, syscall(SYS_fsync, fd)));
}

int fdatasync(int fd)
{
	enum kind kind = fate(fd, true);

	if (kind == KIND_ERROR)
		return -1;
	return (int)outcome(kind, keep_if_fine(fd, syscall(SYS_fdatasync, fd)));
}

int ftruncate(int fd, off_t size)
{
	enum kind kind = fate(fd, false);

	if (kind == KIND_ERROR)
		return -1;
	return (int)outcome(kind, syscall(SYS_ftruncate, fd, size));
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
	int r = (int)syscall(SYS_clock_gettime, clock, out);
	int64_t ms;

	if (r != 0 || clock != CLOCK_REALTIME || !control)
		return r;
	ms = atomic_load(&control->clock_ms);
	out->tv_sec += ms / 1000;
	return r;
}

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

static bool allocation_fails(void)
{
	int64_t wanted;

	if (!control)
		return false;
	wanted = atomic_load(&control->allocation);
	if (!wanted || atomic_fetch_add(&control->allocations, 1) + 1 != wanted)
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return allocation_fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return allocation_fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
	return allocation_fails() ? NULL : __libc_realloc(memory, size);
}
