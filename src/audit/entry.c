/*
 * Writing and reading the bytes of an entry.
 *
 * Reading accepts what writing makes and nothing else: no spare flags, no unknown types, no
 * commitment on a plain entry, a length that is all there is. Whoever can add a byte that nobody
 * looks at can make two logs out of one.
 */
#include "audit/entry.h"

#include "base/err.h"

#include <sodium.h>

enum {
	AT_TYPE = 4,
	AT_FLAGS = 5,
	AT_EPOCH = 6,
	AT_SEQ = 10,
	AT_TIME = 18,
	AT_PREV = 26,
	AT_COMMITMENT = 58,
	AT_NONCE = 90,
	AT_LENGTH = 114,
};

enum { FLAG_ENCRYPTED = 1 };

static const char magic[] = {'C', 'F', 'A', '1'};

_Static_assert(ENTRY_TAG_SIZE == crypto_aead_xchacha20poly1305_ietf_ABYTES, "the tag's size");
_Static_assert(ENTRY_KEY_SIZE == crypto_aead_xchacha20poly1305_ietf_KEYBYTES, "the key's size");
_Static_assert(ENTRY_NONCE_SIZE == crypto_aead_xchacha20poly1305_ietf_NPUBBYTES, "the nonce's");

void entry_key_init(struct entry_key *key, const uint8_t secret[ENTRY_KEY_SIZE])
{
	static const char tag[] = "counterfoil/audit-kc/1"; /* hashed with its NUL */
	struct hasher hasher;

	memcpy(key->secret, secret, ENTRY_KEY_SIZE);
	hasher_init(&hasher);
	hasher_add(&hasher, tag, sizeof(tag));
	hasher_add(&hasher, secret, ENTRY_KEY_SIZE);
	hasher_end(&hasher, &key->commitment);
	sodium_memzero(&hasher, sizeof(hasher));
}

void entry_key_fini(struct entry_key *key)
{
	if (key)
		sodium_memzero(key, sizeof(*key));
}

bool entry_type_is_encrypted(enum entry_type type)
{
	return type != ENTRY_CERTIFICATE && type != ENTRY_KEY_ERASED && type != ENTRY_SEAL;
}

const char *entry_type_text(enum entry_type type)
{
	static const char *const texts[ENTRY_TYPES] = {
		[ENTRY_CLAIM] = "claim",
		[ENTRY_APPROVAL] = "approval",
		[ENTRY_SEND] = "send",
		[ENTRY_OUTCOME] = "outcome",
		[ENTRY_RESOLUTION] = "resolution",
		[ENTRY_LOCK] = "lock",
		[ENTRY_CERTIFICATE] = "certificate",
		[ENTRY_KEY_ERASED] = "key_erased",
		[ENTRY_SEAL] = "seal",
		[ENTRY_REPLAY] = "replay",
		[ENTRY_ADMINISTRATION] = "administration",
	};

	return type < ENTRY_TYPES && texts[type] ? texts[type] : "?";
}

static void put(uint8_t *at, size_t len, uint64_t number)
{
	for (size_t i = 0; i < len; i++)
		at[i] = (uint8_t)(number >> 8 * (len - 1 - i));
}

static uint64_t get(const uint8_t *at, size_t len)
{
	uint64_t number = 0;

	for (size_t i = 0; i < len; i++)
		number = number << 8 | at[i];
	return number;
}

static void write_head(const struct entry *entry, const struct entry_key *key, size_t payload_len,
		       uint8_t *head)
{
	memset(head, 0, ENTRY_HEAD_SIZE);
	memcpy(head, magic, sizeof(magic));
	head[AT_TYPE] = (uint8_t)entry->type;
	put(head + AT_EPOCH, 4, entry->epoch);
	put(head + AT_SEQ, 8, entry->seq);
	put(head + AT_TIME, 8, entry->time_ms);
	memcpy(head + AT_PREV, entry->prev.bytes, HASH_SIZE);
	put(head + AT_LENGTH, 4, payload_len);
	if (entry_type_is_encrypted(entry->type)) {
		head[AT_FLAGS] = FLAG_ENCRYPTED;
		memcpy(head + AT_COMMITMENT, key->commitment.bytes, HASH_SIZE);
		memcpy(head + AT_NONCE, entry->nonce, ENTRY_NONCE_SIZE);
	}
}

int entry_write(const struct entry *entry, const struct entry_key *key, struct str text,
		struct buf *out)
{
	bool is_encrypted = entry_type_is_encrypted(entry->type);
	size_t len = text.len + (is_encrypted ? ENTRY_TAG_SIZE : 0);
	uint8_t *at;

	require(entry->type > 0 && entry->type < ENTRY_TYPES);
	require(key || !is_encrypted);
	if (text.len > ENTRY_TEXT_MAX)
		return FAIL_LIMIT;
	at = (uint8_t *)buf_reserve(out, ENTRY_HEAD_SIZE + len);
	if (!at)
		return out->len + ENTRY_HEAD_SIZE + len > out->max ? FAIL_LIMIT : FAIL_MEMORY;
	write_head(entry, key, len, at);
	if (is_encrypted)
		(void)crypto_aead_xchacha20poly1305_ietf_encrypt(
			at + ENTRY_HEAD_SIZE, NULL, (const uint8_t *)text.at, text.len, at,
			ENTRY_HEAD_SIZE, NULL, at + AT_NONCE, key->secret);
	else if (text.len)
		memcpy(at + ENTRY_HEAD_SIZE, text.at, text.len);
	buf_commit(out, ENTRY_HEAD_SIZE + len);
	return 0;
}

static bool is_plain_head(const uint8_t *head)
{
	return sodium_is_zero(head + AT_COMMITMENT, HASH_SIZE) &&
	       sodium_is_zero(head + AT_NONCE, ENTRY_NONCE_SIZE);
}

/* NULL, or what is wrong with the head. */
static const char *look_at_head(const uint8_t *head, size_t payload_len)
{
	bool is_encrypted;

	if (memcmp(head, magic, sizeof(magic)) != 0)
		return "it does not begin with CFA1";
	if (head[AT_TYPE] == 0 || head[AT_TYPE] >= ENTRY_TYPES)
		return "its type is not known";
	if (head[AT_FLAGS] & ~FLAG_ENCRYPTED)
		return "it has flags that are not known";
	is_encrypted = head[AT_FLAGS] & FLAG_ENCRYPTED;
	if (is_encrypted != entry_type_is_encrypted((enum entry_type)head[AT_TYPE]))
		return is_encrypted ? "an entry of its type is not encrypted"
				    : "an entry of its type is encrypted";
	if (!is_encrypted && !is_plain_head(head))
		return "it is not encrypted and names a key";
	if (get(head + AT_LENGTH, 4) != payload_len)
		return "its length is not what it says";
	if (is_encrypted && payload_len < ENTRY_TAG_SIZE)
		return "it is too short for its tag";
	return NULL;
}

bool entry_next(struct str *rest, struct str *out_bytes)
{
	size_t len = rest->len;

	if (!len)
		return false;
	if (len > ENTRY_HEAD_SIZE) {
		uint64_t payload = get((const uint8_t *)rest->at + AT_LENGTH, 4);

		if (payload < len - ENTRY_HEAD_SIZE)
			len = ENTRY_HEAD_SIZE + payload;
	}
	*out_bytes = str_of(rest->at, len);
	*rest = str_from_index(*rest, len);
	return true;
}

int entry_read(struct str bytes, struct entry *out_entry, const char **out_why)
{
	const uint8_t *head = (const uint8_t *)bytes.at;

	*out_why = "it is too short or too long";
	if (bytes.len < ENTRY_HEAD_SIZE || bytes.len > ENTRY_SIZE_MAX)
		return ENTRY_MALFORMED;
	*out_why = look_at_head(head, bytes.len - ENTRY_HEAD_SIZE);
	if (*out_why)
		return ENTRY_MALFORMED;
	out_entry->type = (enum entry_type)head[AT_TYPE];
	out_entry->is_encrypted = head[AT_FLAGS] & FLAG_ENCRYPTED;
	out_entry->epoch = (uint32_t)get(head + AT_EPOCH, 4);
	out_entry->seq = get(head + AT_SEQ, 8);
	out_entry->time_ms = get(head + AT_TIME, 8);
	memcpy(out_entry->prev.bytes, head + AT_PREV, HASH_SIZE);
	memcpy(out_entry->commitment.bytes, head + AT_COMMITMENT, HASH_SIZE);
	memcpy(out_entry->nonce, head + AT_NONCE, ENTRY_NONCE_SIZE);
	out_entry->payload = str_from_index(bytes, ENTRY_HEAD_SIZE);
	return 0;
}

static int decrypt(struct str bytes, const struct entry *entry, const struct entry_key *key,
		   struct buf *out)
{
	size_t len = entry->payload.len - ENTRY_TAG_SIZE;
	uint8_t nothing, *at = len ? (uint8_t *)buf_reserve(out, len) : &nothing;

	if (!at)
		return out->len + len > out->max ? FAIL_LIMIT : FAIL_MEMORY;
	if (crypto_aead_xchacha20poly1305_ietf_decrypt(
		    at, NULL, NULL, (const uint8_t *)entry->payload.at, entry->payload.len,
		    (const uint8_t *)bytes.at, ENTRY_HEAD_SIZE, entry->nonce, key->secret) != 0)
		return ENTRY_FORGED;
	if (len)
		buf_commit(out, len);
	return 0;
}

int entry_open(struct str bytes, const struct entry_key *key, struct buf *out)
{
	struct entry entry;
	const char *why;

	if (entry_read(bytes, &entry, &why) != 0)
		return ENTRY_MALFORMED;
	if (!entry.is_encrypted)
		return buf_append_str(out, entry.payload);
	if (!key || !hash_equal(&entry.commitment, &key->commitment))
		return ENTRY_OTHER_KEY;
	return decrypt(bytes, &entry, key, out);
}
