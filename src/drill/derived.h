/*
 * The configuration that a rehearsal runs: the rules of another one, with nothing of its world.
 */
#ifndef DRILL_DERIVED_H
#define DRILL_DERIVED_H

#include "base/buf.h"
#include "config/yaml.h"

struct derived_places {
	struct str data;     /* the folder of everything kept */
	struct str upstream; /* the URL that stands in for every upstream */
};

/*
 * Append to `out` the YAML of `root`, the tree of a configuration that passes its check. Kept are
 * actions, tokens, statuses, limits, what is protected, and names, timeouts and downstream keys of
 * upstreams. Left out is all that leaves this machine or the folder, needs a secret, or a second
 * person: listeners, certificates, credentials, accounts, checks, notices, anchors, witnesses,
 * inboxes, and who or how many have to agree. A refusal of the buffer shows in out->is_spoiled.
 */
void derived_write(const struct node *root, const struct derived_places *places, struct buf *out);

#endif
