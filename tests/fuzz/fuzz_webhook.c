/*
 * Fuzzing the signatures of events: four lines, of an id, a time, a signature and a body that goes
 * on to the end; or, behind "s", the text of a secret.
 *
 * Nothing is genuine here: no input knows the key. And what is refused has a reason.
 */
#include "core/webhook.h"

#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { INPUT_MAX = 1 << 14, CEILING = 1 << 20 };

static struct str secret = {"a key that no fuzzer has read in a source file", 46};

static const struct rule_inbox inbox = {
	.is_declared = true, .secrets = &secret, .secret_count = 1, .tolerance_ms = INT64_MAX / 2};

static struct str line(struct str *rest)
{
	size_t end = str_find(*rest, '\n');
	struct str first = str_of(rest->at, end);

	*rest = str_from_index(*rest, end + 1);
	return first;
}

static void check_event(struct str rest)
{
	struct webhook webhook;
	const char *why = NULL;

	webhook.id = line(&rest);
	webhook.timestamp = line(&rest);
	webhook.signature = line(&rest);
	webhook.body = rest;
	require(!webhook_is_genuine(&inbox, &webhook, 0, &why));
	require(why && *why);
}

static void check_secret(struct str text)
{
	struct arena mem;
	struct str key;

	arena_init(&mem, CEILING);
	if (webhook_secret_read(text, &mem, &key)) {
		require(key.len >= 16 && key.len <= text.len);
		require(str_starts_with(text, STR("whsec_")) || str_equal(text, key));
	}
	arena_fini(&mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str text = str_of((const char *)bytes, size);

	if (size == 0 || size > INPUT_MAX)
		return 0;
	if (bytes[0] == 's')
		check_secret(str_from_index(text, 1));
	else
		check_event(text);
	return 0;
}
