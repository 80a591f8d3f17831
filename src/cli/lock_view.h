/*
 * Locks as an operator reads them: a table, like that of operations.
 */
#ifndef CLI_LOCK_VIEW_H
#define CLI_LOCK_VIEW_H

#include "base/arena.h"
#include "base/buf.h"
#include "json/json.h"

/*
 * The members of `locks` as a table in the gate's order; returns how many there are (0: nothing
 * is written). `mem` is used on the way. Refusals of the buffer show in out->is_spoiled.
 */
size_t lock_view_list(const struct json_value *locks, struct arena *mem, struct buf *out);

#endif
