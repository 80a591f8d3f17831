/*
 * Writing and reading the text of a checkpoint.
 *
 * Numbers and hashes have one spelling each, so two checkpoints of one size and root are the same
 * bytes, whoever wrote them.
 */
#include "audit/checkpoint.h"

#include "audit/base64.h"
#include "audit/tree.h"

#include <sodium.h>
#include <stdio.h>

void checkpoint_hash_write(const struct hash *hash, char out[CHECKPOINT_HASH_TEXT + 1])
{
	(void)sodium_bin2base64(out, CHECKPOINT_HASH_TEXT + 1, hash->bytes, HASH_SIZE,
				sodium_base64_VARIANT_ORIGINAL);
}

bool checkpoint_hash_read(struct str text, struct hash *out_hash)
{
	struct hash hash;
	size_t len;

	if (text.len != CHECKPOINT_HASH_TEXT || !base64_read(text, hash.bytes, HASH_SIZE, &len) ||
	    len != HASH_SIZE)
		return false;
	*out_hash = hash;
	return true;
}

bool checkpoint_number_read(struct str text, uint64_t *out_number)
{
	if (text.len > 1 && text.at[0] == '0')
		return false;
	return str_to_u64(text, TREE_SIZE_MAX, out_number);
}

int checkpoint_sign(uint64_t size, const struct hash *root, const struct note_signer *signer,
		    struct buf *out)
{
	char text[CHECKPOINT_TEXT_MAX + 1], coded[CHECKPOINT_HASH_TEXT + 1];
	int len;

	checkpoint_hash_write(root, coded);
	len = snprintf(text, sizeof(text), "%s\n%llu\n%s\n", signer->verifier.name,
		       (unsigned long long)size, coded);
	return note_sign(str_of(text, (size_t)len), signer, out);
}

bool checkpoint_read(struct str text, struct checkpoint *out_checkpoint)
{
	struct checkpoint checkpoint;
	struct str line;

	if (text.len == 0 || text.at[text.len - 1] != '\n')
		return false;
	text.len--;
	if (!str_split(&text, '\n', &checkpoint.origin) || checkpoint.origin.len == 0)
		return false;
	if (!str_split(&text, '\n', &line) || !checkpoint_number_read(line, &checkpoint.size))
		return false;
	if (!str_split(&text, '\n', &line) || !checkpoint_hash_read(line, &checkpoint.root))
		return false;
	while (str_split(&text, '\n', &line)) {
		if (line.len == 0)
			return false;
	}
	*out_checkpoint = checkpoint;
	return true;
}
