/*
 * What is signed: checkpoints, certificates, seals.
 *
 * Only the key of the epoch that an entry stands in may speak of the tree up to it; where the
 * entry is a seal, the next epoch's key may too, as an idle log is signed again. So a later key
 * cannot speak for an earlier time.
 */
#include "audit/verify_internal.h"

#include "audit/cosignature.h"
#include "audit/epoch.h"
#include "json/json.h"

#include <stdio.h>

static void note_mismatch(struct walk *walk, uint64_t size)
{
	if (walk->has_mismatch && walk->mismatch_size <= size)
		return;
	walk->has_mismatch = true;
	walk->mismatch_size = size;
	walk->mismatch_after = walk->good_size < size ? walk->good_size : size;
}

/* Forgive what was signed by keys before the operator's: it has turned out to be a later one. */
static void forgive(struct walk *walk)
{
	walk->report->unchecked += walk->early_count;
	if (walk->early_mismatch)
		note_mismatch(walk, walk->early_mismatch - 1);
	walk->early_count = 0;
	walk->early_why = NULL;
	walk->is_assumed = false;
}

/* By a key that is not known, and need not be: the root must be this tree's all the same. */
static void meet_unchecked(struct walk *walk, bool is_same, const char *why_unknown)
{
	if (!walk->is_assumed) {
		walk->report->unchecked++;
		if (!is_same)
			note_mismatch(walk, walk->frontier.size);
		return;
	}
	walk->early_count++;
	if (!walk->early_why)
		walk->early_why = why_unknown;
	if (!is_same && !walk->early_mismatch)
		walk->early_mismatch = walk->frontier.size + 1;
}

/*
 * Something signed that says `root` of the tree as it is now. True: by the right key, and so it
 * is; else the finding has been noted. Strict things must be signed by a key that is known; others
 * may be older than the operator's key.
 */
static bool meet_root(struct walk *walk, const struct note *note, const struct hash *root,
		      bool is_strict, const char *why_unknown)
{
	struct walk_epoch *epoch = &walk->epoch;
	bool is_early = walk->is_assumed || (!epoch->has_key && epoch->next_is_known);
	struct note_verifier keys[2];
	size_t count = 0, who;
	struct hash here;
	bool is_same;

	tree_root(&walk->frontier, &here);
	is_same = hash_equal(root, &here);
	if (epoch->has_key)
		keys[count++] = epoch->key;
	if (epoch->is_sealed && epoch->next_is_known)
		keys[count++] = epoch->next;
	switch (note_check(note, keys, count, &who)) {
	case NOTE_BAD_SIGNATURE:
		if (!walk->signature_why)
			walk->signature_why = "a signature by the log's key does not hold";
		return false;
	case NOTE_UNKNOWN:
		if (is_early && !is_strict)
			meet_unchecked(walk, is_same, why_unknown);
		else if (!walk->key_why)
			walk->key_why = why_unknown;
		return false;
	case NOTE_GOOD:
		break;
	}
	walk->is_assumed = false;
	if (is_same)
		walk->good_size = walk->frontier.size;
	else
		note_mismatch(walk, walk->frontier.size);
	return is_same;
}

static void meet_checkpoint(struct walk *walk, const struct note *note,
			    const struct checkpoint *checkpoint, bool is_strict)
{
	struct verify_report *report = walk->report;

	if (!meet_root(walk, note, &checkpoint->root, is_strict,
		       "a checkpoint is signed by an unknown key"))
		return;
	report->checkpoints++;
	report->has_head = true;
	report->head_size = checkpoint->size;
	report->head_root = checkpoint->root;
}

static bool is_of_this_log(const struct walk *walk, const struct checkpoint *checkpoint)
{
	return str_equal(checkpoint->origin, str_from(walk->order->key->name));
}

/*
 * A checkpoint of the history; *out_note points into walk->file. 0 and whether it can be used. One
 * that is gone by now has been thinned out: its size was claimed all the same.
 */
static int read_history(struct walk *walk, uint64_t size, bool *out_is_usable,
			struct checkpoint *out_checkpoint, struct note *out_note)
{
	char path[64];
	int r;

	snprintf(path, sizeof(path), "checkpoints/%llu", (unsigned long long)size);
	buf_clear(&walk->file);
	r = walk->order->log->read(walk->order->log->state, path, &walk->file);
	*out_is_usable = false;
	if (r < 0 || r == LOG_ABSENT)
		return r < 0 ? r : 0;
	*out_is_usable = r == 0 && note_read(buf_str(&walk->file), out_note) &&
			 checkpoint_read(out_note->text, out_checkpoint) &&
			 out_checkpoint->size == size;
	if (*out_is_usable && !is_of_this_log(walk, out_checkpoint)) {
		*out_is_usable = false;
		if (!walk->key_why)
			walk->key_why = "a checkpoint of the history is another log's";
	} else if (!*out_is_usable && !walk->signature_why) {
		walk->signature_why = "a file of the history is no checkpoint of its size";
	}
	return 0;
}

/* The one asked for must have cosigned the newest checkpoint; others are passed over. */
static void meet_witness(struct walk *walk, const struct note *note)
{
	struct cosignature cosignature;

	if (!walk->order->witness)
		return;
	walk->report->is_witnessed = false;
	switch (cosignature_check(note, walk->order->witness, &cosignature)) {
	case NOTE_BAD_SIGNATURE:
		if (!walk->signature_why)
			walk->signature_why = "a cosignature by the witness's key does not hold";
		break;
	case NOTE_UNKNOWN:
		break;
	case NOTE_GOOD:
		walk->report->is_witnessed = true;
		walk->report->witnessed_s = cosignature.time_s;
		break;
	}
}

int walk_meet_signed(struct walk *walk)
{
	uint64_t size = walk->frontier.size;
	struct checkpoint checkpoint;
	struct note note;
	bool is_usable;
	int r;

	while (walk->next_size < walk->size_count && walk->sizes[walk->next_size] == size) {
		walk->next_size++;
		r = read_history(walk, size, &is_usable, &checkpoint, &note);
		if (r != 0)
			return r;
		if (is_usable)
			meet_checkpoint(walk, &note, &checkpoint, false);
	}
	if (walk->since.is_there && walk->since.checkpoint.size == size)
		meet_checkpoint(walk, &walk->since.note, &walk->since.checkpoint, true);
	if (walk->tip.is_there && walk->tip.checkpoint.size == size) {
		meet_checkpoint(walk, &walk->tip.note, &walk->tip.checkpoint, true);
		meet_witness(walk, &walk->tip.note);
	}
	return 0;
}

/*
 * Whose it is cannot be said where the certificate of its key may be among what is missing; but
 * a signature that does not hold is one.
 */
static void meet_beyond(struct walk *walk, const struct note *note)
{
	struct note_verifier keys[3] = {*walk->order->key};
	size_t count = 1, who;

	if (walk->epoch.has_key)
		keys[count++] = walk->epoch.key;
	if (walk->epoch.next_is_known)
		keys[count++] = walk->epoch.next;
	if (note_check(note, keys, count, &who) == NOTE_BAD_SIGNATURE && !walk->signature_why)
		walk->signature_why = "a signature by the log's key does not hold";
}

int walk_meet_beyond(struct walk *walk)
{
	uint64_t size = walk->frontier.size;
	struct checkpoint checkpoint;
	struct note note;
	bool is_usable;
	int r;

	for (; walk->next_size < walk->size_count; walk->next_size++) {
		r = read_history(walk, walk->sizes[walk->next_size], &is_usable, &checkpoint,
				 &note);
		if (r != 0)
			return r;
		if (is_usable)
			meet_beyond(walk, &note);
	}
	if (walk->since.is_there && walk->since.checkpoint.size > size)
		meet_beyond(walk, &walk->since.note);
	if (walk->tip.is_there && walk->tip.checkpoint.size > size)
		meet_beyond(walk, &walk->tip.note);
	return 0;
}

/* What a certificate or a seal says of its place. False: the entry has been blamed. */
static bool is_in_place(struct walk *walk, const struct entry *entry, const struct epoch_note *said)
{
	if (said->epoch == entry->epoch && said->seq == walk->frontier.size &&
	    said->epoch == walk->epoch.number)
		return true;
	walk_blame(walk, walk->frontier.size, walk->frontier.size,
		   "a certificate or seal is not of the place where it stands");
	return false;
}

/*
 * The next epoch's key may be believed where this epoch's signed for it, and also where it is the
 * operator's own: then all before was signed by keys that he does not give.
 */
static void meet_certificate(struct walk *walk, const struct entry *entry)
{
	struct walk_epoch *epoch = &walk->epoch;
	uint64_t seq = walk->frontier.size;
	struct str origin = str_from(walk->order->key->name);
	struct epoch_note said;
	size_t who;

	if (!epoch_certificate_read(entry->payload, origin, &walk->mem, &said)) {
		walk_blame(walk, seq, seq, "a certificate cannot be read");
		return;
	}
	if (!is_in_place(walk, entry, &said))
		return;
	if (epoch->has_next) {
		walk_blame(walk, seq, seq, "an epoch has two certificates");
		return;
	}
	epoch->has_next = true;
	epoch->next = said.next;
	epoch->next_is_known =
		epoch->has_key && note_check(&said.note, &epoch->key, 1, &who) == NOTE_GOOD;
	(void)meet_root(walk, &said.note, &said.root, false,
			"a certificate is signed by an unknown key");
	if (walk->is_assumed && note_verifier_equal(&said.next, walk->order->key)) {
		forgive(walk);
		epoch->next_is_known = true;
		epoch->has_key = false;
	}
}

static void meet_seal(struct walk *walk, const struct entry *entry)
{
	uint64_t seq = walk->frontier.size;
	struct str origin = str_from(walk->order->key->name);
	struct epoch_note said;

	if (!epoch_seal_read(entry->payload, origin, &walk->mem, &said)) {
		walk_blame(walk, seq, seq, "a seal cannot be read");
		return;
	}
	if (!is_in_place(walk, entry, &said))
		return;
	if (said.first_seq != walk->epoch.first_seq)
		walk_blame(walk, seq, seq, "a seal does not say where its epoch begins");
	(void)meet_root(walk, &said.note, &said.root, false, "a seal is signed by an unknown key");
	walk->epoch.is_sealed = true;
	walk->report->seals++;
}

static void begin_next_epoch(struct walk *walk)
{
	struct walk_epoch *epoch = &walk->epoch;

	epoch->number++;
	epoch->first_seq = walk->frontier.size;
	/* Without a certificate nobody vouches for its key, unless the operator's is a later one.
	 */
	epoch->has_key = epoch->next_is_known || walk->is_assumed;
	if (epoch->next_is_known)
		epoch->key = epoch->next;
	epoch->has_next = epoch->next_is_known = epoch->is_sealed = false;
}

static bool read_integer(const struct json_value *object, struct str name, uint64_t *out_number)
{
	const struct json_value *value = json_member(object, name);
	int64_t number;

	if (!value || value->type != JSON_NUMBER || !json_number_to_i64(&value->number, &number) ||
	    number < 0)
		return false;
	*out_number = (uint64_t)number;
	return true;
}

/* It may allow that entries before it are gone. One that cannot be read allows nothing. */
static int meet_erased(struct walk *walk, const struct entry *entry)
{
	struct walk_gap allowed = {.seq = walk->frontier.size};
	struct json_value *object;
	struct json_error error;

	walk->report->erased++;
	if (json_read(entry->payload, &json_limits_default, &walk->mem, &object, &error) != 0 ||
	    object->type != JSON_OBJECT ||
	    !read_integer(object, STR("pruned_from"), &allowed.from) ||
	    !read_integer(object, STR("pruned_to"), &allowed.to) || allowed.to > allowed.seq)
		return 0;
	return walk_note_gap(&walk->allowed, &walk->allowed_count, allowed);
}

void walk_meet_pruned(struct walk *walk)
{
	if (walk->epoch.is_sealed)
		begin_next_epoch(walk);
	walk->report->epochs = (uint64_t)walk->epoch.number + 1;
}

int walk_meet_entry(struct walk *walk, const struct entry *entry)
{
	uint64_t seq = walk->frontier.size;
	int r = 0;

	if (walk->epoch.is_sealed)
		begin_next_epoch(walk);
	if (entry->epoch != walk->epoch.number)
		walk_blame(walk, seq, seq,
			   "an entry is of another epoch than its place: each ends with one seal");
	arena_fini(&walk->mem);
	if (entry->type == ENTRY_CERTIFICATE)
		meet_certificate(walk, entry);
	else if (entry->type == ENTRY_SEAL)
		meet_seal(walk, entry);
	else if (entry->type == ENTRY_KEY_ERASED)
		r = meet_erased(walk, entry);
	walk->report->epochs = (uint64_t)walk->epoch.number + 1;
	return r;
}
