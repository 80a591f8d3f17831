/*
 * Fuzzing what a vault reads: behind "j" the text of vault.json, else sealed bytes.
 *
 * A text that is understood is written and read again as the same; no key in it was wrapped by a
 * master key that no input knows. No sealed bytes are opened that were not sealed.
 */
#include "base/err.h"
#include "vault/master.h"
#include "vault/vault_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { CEILING = 1 << 20 };

static const uint8_t secret[VAULT_SECRET_SIZE] = "no fuzzer has this as its key!";

static void check_box(struct str text)
{
	static struct box box, again;
	uint8_t opened[VAULT_SECRET_SIZE];
	const char *why;
	struct buf out;

	if (!box_read(text, &box, &why)) {
		require(why != NULL);
		return;
	}
	require(box.count >= 1 && box.count <= VAULT_KEYS_MAX);
	for (size_t i = 0; i < box.count; i++)
		require(!master_unwrap(secret, &box.keys[i], opened));
	buf_init(&out, BOX_TEXT_MAX);
	box_write(&box, &out);
	require(!out.is_spoiled && box_read(buf_str(&out), &again, &why));
	require(again.count == box.count && again.has_passphrase == box.has_passphrase);
	require(memcmp(again.keys[0].wrapped, box.keys[0].wrapped, VAULT_WRAPPED_SIZE) == 0);
	buf_fini(&out);
}

static void check_sealed(struct str bytes)
{
	static struct ring ring;
	static struct vault vault = {.ring = &ring, .count = 1};
	const struct vault_place place = {"answer", 7, STR("")};
	struct arena mem;
	struct str plain;
	int r;

	ring.keys[0].number = 1;
	memcpy(ring.keys[0].secret, secret, sizeof(secret));
	arena_init(&mem, CEILING);
	r = vault_unseal(&vault, place, bytes, &mem, &plain);
	require(r == VAULT_FALSE || r == VAULT_NO_KEY || r == FAIL_MEMORY);
	arena_fini(&mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str text = str_of((const char *)bytes, size);

	if (size > 0 && bytes[0] == 'j')
		check_box(str_from_index(text, 1));
	else
		check_sealed(text);
	return 0;
}
