/*
 * Tiles (c2sp.org/tlog-tiles): the tree and the entries as files that never change.
 *
 *   tile/<L>/<N>            256 hashes: the nodes of level 8 L, from index 256 N on
 *   tile/<L>/<N>.p/<W>      the first W of them, while there are not more
 *   tile/entries/<N>[.p/W]  the entries 256 N…, each with a 16-bit length before it
 *
 * N is written in groups of three digits, all but the last behind an x: 1234067 is x001/x234/067.
 * A tile that is whole is one hash of the level above.
 *
 * Whoever writes a log writes tiles first (tiles_grown() names them) and the checkpoint after,
 * so a checkpoint never promises what is not there.
 *
 * Any thread; no I/O but what a given table does.
 */
#ifndef AUDIT_TILES_H
#define AUDIT_TILES_H

#include "audit/tree.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	TILE_HEIGHT = 8,
	TILE_WIDTH = 256,
	TILE_LEVELS = 8, /* for any size: 0 to 7 */
	TILE_PATH_MAX = 64,
	TILE_SIZE_MAX = TILE_WIDTH * HASH_SIZE,
	TILE_BUNDLE_MAX = TILE_WIDTH * (2 + 65535),
};

struct tile {
	bool is_entries; /* a bundle of entries; its level is 0 */
	unsigned level;	 /* L */
	uint64_t index;	 /* N */
	unsigned width;	 /* 1 to 256; 256 is a whole one */
};

/* The tile's path below the log's folder, with a NUL. */
void tile_path(const struct tile *tile, char out[TILE_PATH_MAX]);

/* All of `path` must be the one spelling of a tile's. */
bool tile_path_read(struct str path, struct tile *out_tile);

/* How wide tile `index` of `level` is in a tree of `size` leaves: 0 to 256. */
unsigned tile_width(unsigned level, uint64_t index, uint64_t size);

/*
 * Every tile, of hashes and of entries, that a tree of `size` has and one of `old_size` has not,
 * in the order in which they are to be written. `visit` returns 0 to go on; anything else ends
 * it and is returned.
 */
int tiles_grown(uint64_t old_size, uint64_t size, int (*visit)(void *state, const struct tile *),
		void *state);

/* The tile of hashes that holds the node of `level` (any) and `index`, at its width in `size`. */
void tile_of_node(unsigned level, uint64_t index, uint64_t size, struct tile *out_tile);

/*
 * A node of the tree from the bytes of the tile that tile_of_node() names. False when they do
 * not reach so far.
 */
bool tile_node(struct str bytes, unsigned level, uint64_t index, struct hash *out_hash);

/*
 * Nodes out of tiles, for proofs in a tree of `size` leaves: give {tile_nodes_read, &reader} as a
 * struct tree_nodes. The last tile is kept, as proofs ask for neighbours.
 */
struct tile_nodes {
	/* Fill `out` (empty, holds TILE_SIZE_MAX) with a tile. 0; anything else ends the proof. */
	int (*read_tile)(void *state, const struct tile *tile, struct buf *out);
	void *state;
	uint64_t size;
	struct tile last; /* what `bytes` holds; width 0: nothing */
	struct buf bytes;
};
enum { TILES_SHORT = 100 }; /* from tile_nodes_read(): a tile that is shorter than it should be */

void tile_nodes_init(struct tile_nodes *nodes, uint64_t size,
		     int (*read_tile)(void *state, const struct tile *tile, struct buf *out),
		     void *state);
void tile_nodes_fini(struct tile_nodes *nodes);
int tile_nodes_read(void *nodes, unsigned level, uint64_t index, struct hash *out_hash);

/* Append an entry (at most 65,535 bytes) to a bundle. As buf_append(). */
int bundle_append(struct str entry, struct buf *out);

/* The next entry of a bundle. False at its end and where it is cut off: then rest->len > 0. */
bool bundle_next(struct str *rest, struct str *out_entry);

#endif
