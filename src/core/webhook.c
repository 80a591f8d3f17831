/*
 * Checking the signature of an event, and signing one.
 *
 * The time is judged first: it is cheap, and an old event that is sent again is refused whoever
 * signed it. Then one HMAC for each secret (there are several while one is being replaced), held
 * against every signature of the list. Only version 1 is known; others may stand beside it and are
 * passed over.
 *
 * A signature is compared as its text, all 44 characters in constant time, so a forger learns
 * nothing from how long a refusal takes. The sentences do not say how near it was.
 */
#include "core/webhook.h"

#include <sodium.h>

enum {
	SIGNATURE_TEXT = 44, /* base64 of 32 bytes */
	KEY_MIN = 16,
	SECOND_MS = 1000,
};

static bool is_in_time(struct str timestamp, int64_t tolerance_ms, int64_t now_ms)
{
	uint64_t seconds;
	int64_t at_ms, apart_ms;

	if (!str_to_u64(timestamp, INT64_MAX / (2 * SECOND_MS), &seconds))
		return false;
	at_ms = (int64_t)seconds * SECOND_MS;
	apart_ms = at_ms > now_ms ? at_ms - now_ms : now_ms - at_ms;
	return apart_ms <= tolerance_ms;
}

static void add(crypto_auth_hmacsha256_state *state, struct str text)
{
	if (text.len)
		(void)crypto_auth_hmacsha256_update(state, (const unsigned char *)text.at,
						    text.len);
}

/* What one secret would have signed it with. */
static void sign(struct str key, const struct webhook *webhook, char out[SIGNATURE_TEXT + 1])
{
	unsigned char digest[crypto_auth_hmacsha256_BYTES];
	crypto_auth_hmacsha256_state state;

	(void)crypto_auth_hmacsha256_init(&state, (const unsigned char *)key.at, key.len);
	add(&state, webhook->id);
	add(&state, STR("."));
	add(&state, webhook->timestamp);
	add(&state, STR("."));
	add(&state, webhook->body);
	(void)crypto_auth_hmacsha256_final(&state, digest);
	(void)sodium_bin2base64(out, SIGNATURE_TEXT + 1, digest, sizeof(digest),
				sodium_base64_VARIANT_ORIGINAL);
}

/* Is one of the list the right one? All are looked at. */
static bool is_listed(struct str list, const char right[SIGNATURE_TEXT + 1])
{
	bool is_found = false;
	struct str one;

	while (str_split(&list, ' ', &one)) {
		if (str_starts_with(one, STR("v1,")) && one.len == 3 + SIGNATURE_TEXT)
			is_found |= sodium_memcmp(one.at + 3, right, SIGNATURE_TEXT) == 0;
	}
	return is_found;
}

bool webhook_is_genuine(const struct rule_inbox *inbox, const struct webhook *webhook,
			int64_t now_ms, const char **out_why)
{
	char right[SIGNATURE_TEXT + 1];
	bool is_genuine = false;

	if (inbox->secret_count == 0)
		return true;
	*out_why = "A header is missing: events carry webhook-id, webhook-timestamp and "
		   "webhook-signature.";
	if (webhook->id.len == 0 || webhook->timestamp.len == 0 || webhook->signature.len == 0)
		return false;
	*out_why = "The webhook-timestamp is not a time in seconds that is near enough to now.";
	if (!is_in_time(webhook->timestamp, inbox->tolerance_ms, now_ms))
		return false;
	*out_why = "No webhook-signature is one that an accepted secret gives.";
	for (size_t i = 0; i < inbox->secret_count; i++) {
		sign(inbox->secrets[i], webhook, right);
		is_genuine |= is_listed(webhook->signature, right);
	}
	sodium_memzero(right, sizeof(right));
	return is_genuine;
}

void webhook_signatures(const struct str *keys, size_t count, const struct webhook *webhook,
			struct buf *out)
{
	char signature[SIGNATURE_TEXT + 1];

	for (size_t i = 0; i < count; i++) {
		sign(keys[i], webhook, signature);
		buf_printf(out, "%sv1,%s", i ? " " : "", signature);
	}
	sodium_memzero(signature, sizeof(signature));
}

/* With its padding or without: secrets are copied by people. */
static bool decode(struct str text, struct arena *mem, struct str *out_bytes)
{
	unsigned char *bytes = arena_alloc(mem, text.len + 1);
	const char *end = text.at + text.len, *read;
	size_t len;

	if (!bytes)
		return false;
	if (sodium_base642bin(bytes, text.len, text.at, text.len, NULL, &len, &read,
			      sodium_base64_VARIANT_ORIGINAL) != 0 ||
	    read != end) {
		if (sodium_base642bin(bytes, text.len, text.at, text.len, NULL, &len, &read,
				      sodium_base64_VARIANT_ORIGINAL_NO_PADDING) != 0 ||
		    read != end)
			return false;
	}
	*out_bytes = str_of((const char *)bytes, len);
	return true;
}

bool webhook_secret_read(struct str text, struct arena *mem, struct str *out_key)
{
	static const struct str prefix = {"whsec_", 6};
	struct str key;

	if (str_starts_with(text, prefix)) {
		if (!decode(str_from_index(text, prefix.len), mem, &key))
			return false;
	} else {
		key = arena_str(mem, text);
	}
	if (!key.at || key.len < KEY_MIN)
		return false;
	*out_key = key;
	return true;
}
