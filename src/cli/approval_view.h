/*
 * A question to a person, as a terminal shows it.
 *
 * Whoever answers must see all that they answer for: where it goes, what it does, whether it can be
 * undone, each member of the command, what is new since the last time. Nothing of that is cut. The
 * texts come from agents, so each is made harmless for a terminal; what the person has to compare
 * stands under names that are the gate's own, one a line, so that no text can pass for another.
 */
#ifndef CLI_APPROVAL_VIEW_H
#define CLI_APPROVAL_VIEW_H

#include "base/arena.h"
#include "base/buf.h"
#include "json/json.h"

/*
 * One approval as the gate's JSON has it, on a page. A member that is missing shows as nothing.
 * `mem` is used on the way; a refusal of the buffer shows in out->is_spoiled, and then nothing of
 * it is to be shown.
 */
void approval_view_show(const struct json_value *approval, struct arena *mem, struct buf *out);

/* In one line: how it stands with the operation, and how many have agreed of how many. */
void approval_view_standing(const struct json_value *approval, struct arena *mem, struct buf *out);

#endif
