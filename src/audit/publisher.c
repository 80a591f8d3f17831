/*
 * Taking entries and sealing them (see publisher.h).
 *
 * In memory are the tiles that are not whole: one of each level, and the bundle. All else is on
 * disk.
 */
#include "audit/publisher_internal.h"

#include "audit/disk.h"
#include "base/err.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TILE_FOLDER = 1000 }; /* tiles whose names stand in one folder */

/* -- files ------------------------------------------------------------------------- */

/* Every folder on the way to `path`; each is durable before something is put into it. */
static int make_way(int folder, const char *path)
{
	char way[TILE_PATH_MAX + 16];

	require(snprintf(way, sizeof(way), "%s", path) < (int)sizeof(way));
	for (char *slash = strchr(way, '/'); slash; slash = strchr(slash + 1, '/')) {
		int fd;

		*slash = '\0';
		if (mkdirat(folder, way, 0700) == 0) {
			fd = openat(folder, way, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			if (fd < 0 || disk_sync_parent(fd) != 0) {
				if (fd >= 0)
					close(fd);
				return fail_errno(FAIL_IO, errno);
			}
			close(fd);
		} else if (errno != EEXIST) {
			return fail_errno(FAIL_IO, errno);
		}
		*slash = '/';
	}
	return 0;
}

static int sync_folder_of(int folder, const char *path)
{
	char way[TILE_PATH_MAX + 16];
	char *slash;
	int fd, r;

	snprintf(way, sizeof(way), "%s", path);
	slash = strrchr(way, '/');
	if (slash)
		*slash = '\0';
	fd = openat(folder, slash ? way : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fail_errno(FAIL_IO, errno);
	r = fsync(fd) == 0 ? 0 : fail_errno(FAIL_IO, errno);
	close(fd);
	return r;
}

static int write_there(struct disk_group *group, int folder, const char *path, struct str bytes)
{
	return group ? disk_group_put(group, folder, path, bytes, 0600)
		     : disk_replace(folder, path, bytes, 0600);
}

/* Into a group, or NULL: by itself. Its name lasts once its folder is synced. */
static int write_file(struct disk_group *group, int folder, const char *path, struct str bytes)
{
	int r;

	if (write_there(group, folder, path, bytes) == 0)
		return 0;
	if (errno != ENOENT)
		return fail_errno(FAIL_IO, errno);
	r = make_way(folder, path);
	if (r == 0 && write_there(group, folder, path, bytes) != 0)
		r = fail_errno(FAIL_IO, errno);
	return r;
}

int publisher_put_file(int folder, const char *path, struct str bytes)
{
	int r = write_file(NULL, folder, path, bytes);

	return r == 0 ? sync_folder_of(folder, path) : r;
}

/* The name of a whole tile lasts once its folder is synced. */
static int sync_name(struct publisher *publisher, struct publisher_part *part)
{
	char path[TILE_PATH_MAX];
	int r;

	if (!part->whole.width)
		return 0;
	tile_path(&part->whole, path);
	r = sync_folder_of(publisher->folder.fd, path);
	part->whole.width = 0;
	return r;
}

/* All whole tiles last: before the folder of one changes, and before they are signed. */
static int keep_whole(struct publisher *publisher)
{
	int r = 0;

	if (disk_group_keep(&publisher->whole, publisher->folder.fd) != 0)
		return fail_errno(FAIL_IO, errno);
	for (unsigned level = 0; r == 0 && level < TILE_LEVELS; level++)
		r = sync_name(publisher, &publisher->levels[level]);
	if (r == 0)
		r = sync_name(publisher, &publisher->bundle);
	if (r == 0)
		publisher->kept = publisher->bundle.index * TILE_WIDTH;
	return r;
}

/* A whole tile is written once. One that a crash left behind its checkpoint must be this one. */
static int put_whole(struct publisher *publisher, const struct tile *tile, struct str bytes)
{
	char path[TILE_PATH_MAX];
	int r;

	tile_path(tile, path);
	buf_clear(&publisher->file);
	r = publisher->folder.reader.read(&publisher->folder, path, &publisher->file);
	if (r == LOG_ABSENT)
		return write_file(&publisher->whole, publisher->folder.fd, path, bytes);
	if (r < 0)
		return r;
	return r == 0 && str_equal(buf_str(&publisher->file), bytes) ? 0 : PUBLISHER_FORKED;
}

static void remove_part(struct publisher *publisher, const struct tile *tile)
{
	char path[TILE_PATH_MAX];

	if (!tile->width)
		return;
	tile_path(tile, path);
	(void)unlinkat(publisher->folder.fd, path, 0);
}

/* All parts of a tile that is whole, whoever wrote them. */
static void remove_parts(struct publisher *publisher, const struct tile *whole)
{
	char path[TILE_PATH_MAX], parts_path[TILE_PATH_MAX + 2];
	struct dirent *item;
	DIR *parts;
	int fd;

	tile_path(whole, path);
	snprintf(parts_path, sizeof(parts_path), "%s.p", path);
	fd = openat(publisher->folder.fd, parts_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	parts = fd < 0 ? NULL : fdopendir(fd);
	if (!parts) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((item = readdir(parts)))
		(void)unlinkat(fd, item->d_name, 0);
	closedir(parts);
	(void)unlinkat(publisher->folder.fd, parts_path, AT_REMOVEDIR);
}

/* -- taking ------------------------------------------------------------------------ */

static struct tile tile_of(const struct publisher *publisher, const struct publisher_part *part)
{
	bool is_bundle = part == &publisher->bundle;

	return (struct tile){.is_entries = is_bundle,
			     .level = is_bundle ? 0 : (unsigned)(part - publisher->levels),
			     .index = part->index,
			     .width = part->width};
}

/* One more hash or entry is in the part: write it where it is whole. */
static int grow_part(struct publisher *publisher, struct publisher_part *part)
{
	bool has_parts = part->last.width || part->older.width;
	struct tile whole;
	int r = 0;

	if (++part->width < TILE_WIDTH)
		return 0;
	whole = tile_of(publisher, part);
	if (whole.index % TILE_FOLDER == 0 || publisher->whole.count == DISK_GROUP_MAX)
		r = keep_whole(publisher);
	if (r == 0)
		r = put_whole(publisher, &whole, buf_str(&part->bytes));
	if (r != 0)
		return r;
	part->whole = whole;
	buf_clear(&part->bytes);
	part->index++;
	part->width = 0;
	part->last.width = part->older.width = 0;
	if (!has_parts)
		return 0;
	r = keep_whole(publisher); /* the last checkpoint needs one or the other */
	if (r == 0)
		remove_parts(publisher, &whole);
	return r;
}

static int grow_levels(struct publisher *publisher, const struct tree_growth *growth)
{
	int r = 0;

	for (unsigned level = 0; r == 0 && level * TILE_HEIGHT < growth->count; level++) {
		struct publisher_part *part = &publisher->levels[level];

		r = buf_append(&part->bytes, growth->nodes[level * TILE_HEIGHT].bytes, HASH_SIZE);
		if (r == 0)
			r = grow_part(publisher, part);
	}
	return r;
}

bool publisher_follow(struct tip *tip, struct str bytes, const struct hash *leaf,
		      struct tree_growth *out_growth)
{
	struct entry entry;
	struct hash made;
	const char *why;

	if (entry_read(bytes, &entry, &why) != 0 || entry.seq != tip->frontier.size ||
	    !hash_equal(&entry.prev, &tip->last))
		return false;
	if (!leaf) {
		tree_hash_leaf(bytes, &made);
		leaf = &made;
	}
	if (tree_append(&tip->frontier, leaf, out_growth) != 0)
		return false;
	tip->last = *leaf;
	return true;
}

int publisher_take(struct publisher *publisher, struct str entry, const struct hash *leaf)
{
	struct tree_growth growth;
	int r;

	require(!publisher->is_behind);
	if (!publisher_follow(&publisher->tip, entry, leaf, &growth))
		return PUBLISHER_FORKED;
	r = bundle_append(entry, &publisher->bundle.bytes);
	if (r == 0)
		r = grow_part(publisher, &publisher->bundle);
	if (r == 0)
		r = grow_levels(publisher, &growth);
	publisher->is_behind = r != 0;
	return r;
}

/* -- sealing ----------------------------------------------------------------------- */

static bool same_tile(const struct tile *a, const struct tile *b)
{
	return a->width == b->width && a->index == b->index;
}

static int put_part(struct publisher *publisher, struct publisher_part *part)
{
	struct tile tile = tile_of(publisher, part);
	char path[TILE_PATH_MAX];
	int r;

	if (!tile.width || same_tile(&tile, &part->last))
		return 0;
	tile_path(&tile, path);
	r = publisher_put_file(publisher->folder.fd, path, buf_str(&part->bytes));
	if (r != 0)
		return r;
	remove_part(publisher, &part->older);
	part->older = part->last;
	part->last = tile;
	return 0;
}

int publisher_put_checkpoint(int folder, uint64_t size, struct str checkpoint)
{
	char path[48];
	int r;

	snprintf(path, sizeof(path), "checkpoints/%" PRIu64, size);
	r = publisher_put_file(folder, path, checkpoint);
	return r == 0 ? publisher_put_file(folder, "checkpoint", checkpoint) : r;
}

static int sign(struct publisher *publisher)
{
	struct hash root;

	tip_root(&publisher->tip, &root);
	buf_clear(&publisher->checkpoint);
	return checkpoint_sign(publisher->tip.frontier.size, &root, publisher->keys.signer,
			       &publisher->checkpoint);
}

int publisher_seal(struct publisher *publisher)
{
	int r = 0;

	require(!publisher->is_behind);
	if (publisher->tip.frontier.size == publisher->published)
		return 0;
	r = keep_whole(publisher);
	if (r == 0)
		r = put_part(publisher, &publisher->bundle);
	for (unsigned level = 0; r == 0 && level < TILE_LEVELS; level++)
		r = put_part(publisher, &publisher->levels[level]);
	if (r == 0)
		r = sign(publisher);
	if (r == 0)
		r = publisher_put_checkpoint(publisher->folder.fd, publisher->tip.frontier.size,
					     buf_str(&publisher->checkpoint));
	publisher->is_behind = r != 0;
	if (r == 0) {
		publisher->published = publisher->tip.frontier.size;
		publisher_thin(&publisher->folder, &publisher->history);
	}
	return r;
}

void publisher_turn(struct publisher *publisher, const struct note_signer *signer)
{
	require(publisher->published == publisher->tip.frontier.size);
	publisher->keys.signer = signer;
}
