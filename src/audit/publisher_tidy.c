/*
 * What goes from a published log: checkpoints that have become too many, and entries that nobody
 * can read any more.
 *
 * Of the history the newest HISTORY_NEWEST checkpoints stay; when there are HISTORY_MAX, every
 * second one of those before goes, so that it is the sparser the older it is, and never longer. The
 * first one stays for good. Nothing is lost that verifying needs: the newest checkpoint covers all
 * that the others do.
 *
 * Entries are taken away in whole bundles, and only where all in it are encrypted: certificates,
 * seals and what says that a key was erased are what later keys are believed by. Tiles of hashes
 * stay, so the tree is as it was, and so are proofs.
 */
#include "audit/publisher.h"

#include "audit/checkpoint.h"
#include "base/err.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { HISTORY_NEWEST = 256, HISTORY_MAX = 768, HISTORY_READ_MAX = 1 << 20 };

/* -- checkpoints ------------------------------------------------------------------- */

struct history {
	uint64_t *sizes;
	size_t count, room;
};

static int note_size(void *state, struct str name)
{
	struct history *history = state;
	uint64_t size, *more;
	size_t room;

	if (!checkpoint_number_read(name, &size) || history->count == HISTORY_READ_MAX)
		return 0;
	if (history->count == history->room) {
		room = history->room ? 2 * history->room : 64;
		more = realloc(history->sizes, room * sizeof(*more));
		if (!more)
			return fail(FAIL_MEMORY);
		history->sizes = more;
		history->room = room;
	}
	history->sizes[history->count++] = size;
	return 0;
}

static int compare_sizes(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

static size_t thin_out(int folder, const struct history *history)
{
	size_t gone = 0;
	char path[48];

	for (size_t i = 1; i + HISTORY_NEWEST < history->count; i += 2) {
		snprintf(path, sizeof(path), "checkpoints/%" PRIu64, history->sizes[i]);
		gone += unlinkat(folder, path, 0) == 0;
	}
	return gone;
}

void publisher_thin(struct log_folder *folder, size_t *count)
{
	struct history history = {0};

	if (*count && ++*count <= HISTORY_MAX)
		return;
	if (folder->reader.list(folder, note_size, &history) == 0) {
		*count = history.count;
		if (history.count > HISTORY_MAX) {
			qsort(history.sizes, history.count, sizeof(*history.sizes), compare_sizes);
			*count -= thin_out(folder->fd, &history);
		}
	}
	free(history.sizes);
}

/* -- entries ----------------------------------------------------------------------- */

static bool are_encrypted(struct str bundle)
{
	struct entry entry;
	struct str bytes;
	const char *why;

	while (bundle_next(&bundle, &bytes))
		if (entry_read(bytes, &entry, &why) != 0 || !entry.is_encrypted)
			return false;
	return bundle.len == 0;
}

int publisher_prune(struct publisher *publisher, uint64_t from, uint64_t to)
{
	uint64_t end = (to < publisher->published ? to : publisher->published) / TILE_WIDTH;
	char path[TILE_PATH_MAX];
	int r = 0;

	for (uint64_t i = from / TILE_WIDTH + (from % TILE_WIDTH != 0); r == 0 && i < end; i++) {
		tile_path(&(struct tile){.is_entries = true, .index = i, .width = TILE_WIDTH},
			  path);
		buf_clear(&publisher->file);
		r = publisher->folder.reader.read(&publisher->folder, path, &publisher->file);
		if (r == 0 && are_encrypted(buf_str(&publisher->file)))
			(void)unlinkat(publisher->folder.fd, path, 0);
		if (r > 0)
			r = 0; /* it is gone, or none of ours */
	}
	return r;
}
