/*
 * Entries have the bytes of the vectors, one spelling, and one key that opens them. The argument
 * is tests/vectors/audit.json.
 */
#include "vectors.h"

#include "audit/entry.h"
#include "audit/tip.h"
#include "base/err.h"
#undef fail /* cmocka has one too */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const char *vectors_file;

struct fixture {
	const struct json_value *vectors;
	struct entry_key key;
	struct buf out; /* the second entry of the vectors */
};

static const struct json_value *entry_at(struct fixture *fixture, unsigned index)
{
	char pointer[32];

	snprintf(pointer, sizeof(pointer), "/entries/%u", index);
	return json_at(fixture->vectors, str_from(pointer));
}

static struct entry describe(const struct json_value *value)
{
	struct entry entry = {
		.type = (enum entry_type)vectors_number(value, "/type"),
		.epoch = (uint32_t)vectors_number(value, "/epoch"),
		.seq = vectors_number(value, "/seq"),
		.time_ms = vectors_number(value, "/time_ms"),
	};

	memcpy(entry.nonce, vectors_bytes(value, "/nonce").at, ENTRY_NONCE_SIZE);
	return entry;
}

static int begin(void **state)
{
	static struct fixture fixture;

	fixture.vectors = vectors_read(vectors_file);
	entry_key_init(&fixture.key,
		       (const uint8_t *)vectors_bytes(fixture.vectors, "/encryption_key").at);
	buf_init(&fixture.out, 2 * ENTRY_SIZE_MAX);
	(void)buf_append_str(&fixture.out, vectors_bytes(entry_at(&fixture, 1), "/bytes"));
	*state = &fixture;
	return 0;
}

static int end(void **state)
{
	struct fixture *fixture = *state;

	buf_fini(&fixture->out);
	return 0;
}

static void test_commitment(void **state)
{
	struct fixture *fixture = *state;
	struct str want = vectors_bytes(fixture->vectors, "/key_commitment");

	assert_memory_equal(fixture->key.commitment.bytes, want.at, HASH_SIZE);
}

/* A tip that appends the vectors' texts makes their bytes, leaves and root. */
static void test_the_vectors(void **state)
{
	struct fixture *fixture = *state;
	struct tree_growth growth;
	struct hash root;
	struct tip tip;

	tip_init(&tip);
	for (unsigned i = 0; i < 2; i++) {
		const struct json_value *value = entry_at(fixture, i);
		struct entry entry = describe(value);
		struct tip_entry next = {.type = entry.type,
					 .epoch = entry.epoch,
					 .time_ms = entry.time_ms,
					 .text = vectors_text(value, "/plaintext")};

		memcpy(next.nonce, entry.nonce, ENTRY_NONCE_SIZE);
		buf_clear(&fixture->out);
		assert_int_equal(tip_append(&tip, &next, &fixture->key, &fixture->out, &growth), 0);
		assert_true(str_equal(buf_str(&fixture->out), vectors_bytes(value, "/bytes")));
		assert_memory_equal(&growth.nodes[0], vectors_bytes(value, "/leaf").at, HASH_SIZE);
		assert_memory_equal(&tip.last, vectors_bytes(value, "/leaf").at, HASH_SIZE);
	}
	tip_root(&tip, &root);
	assert_memory_equal(&root, vectors_bytes(fixture->vectors, "/root").at, HASH_SIZE);
}

static void test_reading_the_vectors(void **state)
{
	struct fixture *fixture = *state;
	struct str bytes = buf_str(&fixture->out);
	const struct json_value *value = entry_at(fixture, 1);
	struct entry entry, want = describe(value);
	const char *why;
	struct buf text;

	assert_int_equal(entry_read(bytes, &entry, &why), 0);
	assert_int_equal(entry.type, want.type);
	assert_int_equal(entry.epoch, want.epoch);
	assert_int_equal(entry.seq, want.seq);
	assert_int_equal(entry.time_ms, want.time_ms);
	assert_true(entry.is_encrypted);
	assert_memory_equal(&entry.prev, vectors_bytes(entry_at(fixture, 0), "/leaf").at,
			    HASH_SIZE);
	buf_init(&text, ENTRY_SIZE_MAX);
	assert_int_equal(entry_open(bytes, &fixture->key, &text), 0);
	assert_true(str_equal(buf_str(&text), vectors_text(value, "/plaintext")));
	buf_fini(&text);
}

/* Whatever bit is changed, it is malformed, names another key, or does not open. */
static void test_no_bit_is_idle(void **state)
{
	struct fixture *fixture = *state;
	struct buf text;

	buf_init(&text, ENTRY_SIZE_MAX);
	for (size_t bit = 0; bit < 8 * fixture->out.len; bit++) {
		fixture->out.at[bit / 8] ^= (char)(1 << bit % 8);
		if (entry_open(buf_str(&fixture->out), &fixture->key, &text) == 0)
			fail_msg("bit %zu of byte %zu", bit % 8, bit / 8);
		assert_int_equal(text.len, 0);
		fixture->out.at[bit / 8] ^= (char)(1 << bit % 8);
	}
	buf_fini(&text);
}

static void check_malformed(struct fixture *fixture, size_t at, char byte)
{
	char before = fixture->out.at[at];
	struct entry entry;
	const char *why = NULL;

	fixture->out.at[at] = byte;
	assert_int_equal(entry_read(buf_str(&fixture->out), &entry, &why), ENTRY_MALFORMED);
	assert_true(why && *why);
	fixture->out.at[at] = before;
}

static void test_what_is_malformed(void **state)
{
	struct fixture *fixture = *state;

	check_malformed(fixture, 0, 'c');
	check_malformed(fixture, 3, '2');
	check_malformed(fixture, 4, 0);
	check_malformed(fixture, 4, ENTRY_TYPES);
	check_malformed(fixture, 4, (char)0xff);
	check_malformed(fixture, 4, ENTRY_SEAL);
	check_malformed(fixture, 5, 0);
	check_malformed(fixture, 5, 3);
	check_malformed(fixture, 114, 1);
	check_malformed(fixture, 117, 0);
}

static void test_lengths(void **state)
{
	struct fixture *fixture = *state;
	struct str bytes = buf_str(&fixture->out);
	struct entry entry;
	const char *why;

	for (size_t len = 0; len < bytes.len; len++)
		assert_int_equal(entry_read(str_of(bytes.at, len), &entry, &why), ENTRY_MALFORMED);
	(void)buf_append_byte(&fixture->out, 0);
	assert_int_equal(entry_read(buf_str(&fixture->out), &entry, &why), ENTRY_MALFORMED);
}

/* Entries that stand one after another come apart; what is no entry is given out to be refused. */
static void test_row(void **state)
{
	struct fixture *fixture = *state;
	struct str first = vectors_bytes(entry_at(fixture, 0), "/bytes");
	struct str second = vectors_bytes(entry_at(fixture, 1), "/bytes");
	struct str rest, entry;
	struct buf row;

	buf_init(&row, 3 * ENTRY_SIZE_MAX);
	assert_int_equal(buf_append_str(&row, first), 0);
	assert_int_equal(buf_append_str(&row, second), 0);
	rest = buf_str(&row);
	assert_true(entry_next(&rest, &entry));
	assert_true(str_equal(entry, first));
	assert_true(entry_next(&rest, &entry));
	assert_true(str_equal(entry, second));
	assert_false(entry_next(&rest, &entry));
	for (size_t cut = 1; cut < second.len; cut++) {
		const char *why;
		struct entry read;

		rest = str_of(row.at, row.len - cut);
		assert_true(entry_next(&rest, &entry));
		assert_true(str_equal(entry, first));
		assert_true(entry_next(&rest, &entry));
		assert_int_equal(entry.len, second.len - cut);
		assert_int_equal(entry_read(entry, &read, &why), ENTRY_MALFORMED);
		assert_false(entry_next(&rest, &entry));
	}
	buf_fini(&row);
}

static void test_another_key(void **state)
{
	struct fixture *fixture = *state;
	uint8_t secret[ENTRY_KEY_SIZE] = {1};
	struct entry_key other;
	struct buf text;

	buf_init(&text, ENTRY_SIZE_MAX);
	entry_key_init(&other, secret);
	assert_int_equal(entry_open(buf_str(&fixture->out), &other, &text), ENTRY_OTHER_KEY);
	assert_int_equal(entry_open(buf_str(&fixture->out), NULL, &text), ENTRY_OTHER_KEY);
	memcpy(other.commitment.bytes, fixture->key.commitment.bytes, HASH_SIZE);
	assert_int_equal(entry_open(buf_str(&fixture->out), &other, &text), ENTRY_FORGED);
	buf_fini(&text);
}

/* What verifiers must read is not encrypted, and then names no key and no nonce. */
static void test_plain_entries(void **state)
{
	struct fixture *fixture = *state;
	struct entry seal = {.type = ENTRY_SEAL, .seq = 7, .nonce = {1}}, entry;
	const char *why;
	struct buf text;

	buf_clear(&fixture->out);
	buf_init(&text, ENTRY_SIZE_MAX);
	assert_int_equal(entry_write(&seal, NULL, STR("{}"), &fixture->out), 0);
	assert_int_equal(fixture->out.len, ENTRY_HEAD_SIZE + 2);
	assert_int_equal(entry_read(buf_str(&fixture->out), &entry, &why), 0);
	assert_false(entry.is_encrypted);
	assert_true(str_equal(entry.payload, STR("{}")));
	assert_int_equal(entry_open(buf_str(&fixture->out), NULL, &text), 0);
	assert_true(str_equal(buf_str(&text), STR("{}")));
	check_malformed(fixture, 5, 1);
	check_malformed(fixture, 58, 1);
	check_malformed(fixture, 89, 1);
	check_malformed(fixture, 90, 1);
	check_malformed(fixture, 113, 1);
	buf_fini(&text);
}

static void test_the_longest_text(void **state)
{
	struct fixture *fixture = *state;
	static char longest[ENTRY_TEXT_MAX + 1];
	struct entry entry = {.type = ENTRY_CLAIM};
	struct buf text;

	buf_clear(&fixture->out);
	buf_init(&text, ENTRY_SIZE_MAX);
	assert_int_equal(
		entry_write(&entry, &fixture->key, str_of(longest, sizeof(longest)), &fixture->out),
		FAIL_LIMIT);
	assert_int_equal(fixture->out.len, 0);
	assert_int_equal(
		entry_write(&entry, &fixture->key, str_of(longest, ENTRY_TEXT_MAX), &fixture->out),
		0);
	assert_int_equal(fixture->out.len, ENTRY_SIZE_MAX);
	assert_int_equal(entry_open(buf_str(&fixture->out), &fixture->key, &text), 0);
	assert_int_equal(text.len, ENTRY_TEXT_MAX);
	buf_fini(&text);
}

static void test_an_empty_text(void **state)
{
	struct fixture *fixture = *state;
	struct entry entry = {.type = ENTRY_CLAIM};
	struct buf text;

	buf_clear(&fixture->out);
	buf_init(&text, 0);
	assert_int_equal(entry_write(&entry, &fixture->key, str_of(NULL, 0), &fixture->out), 0);
	assert_int_equal(entry_open(buf_str(&fixture->out), &fixture->key, &text), 0);
	buf_fini(&text);
}

/* An append that fails leaves the tip where it was; a tip that was written goes on. */
static void test_the_tip_is_kept(void **state)
{
	struct fixture *fixture = *state;
	struct tip_entry next = {.type = ENTRY_CLAIM, .text = STR("{}")};
	struct tip tip, again;
	struct buf small, written;

	tip_init(&tip);
	buf_init(&small, ENTRY_HEAD_SIZE);
	buf_init(&written, TIP_SIZE_MAX);
	buf_clear(&fixture->out);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(tip_append(&tip, &next, &fixture->key, &fixture->out, NULL), 0);
	assert_int_equal(tip_write(&tip, &written), 0);
	assert_int_equal(tip_append(&tip, &next, &fixture->key, &small, NULL), FAIL_LIMIT);
	assert_true(tip_read(buf_str(&written), &again));
	assert_int_equal(again.frontier.size, tip.frontier.size);
	assert_memory_equal(&again.last, &tip.last, HASH_SIZE);
	buf_clear(&fixture->out);
	assert_int_equal(tip_append(&tip, &next, &fixture->key, &fixture->out, NULL), 0);
	assert_int_equal(tip_append(&again, &next, &fixture->key, &fixture->out, NULL), 0);
	assert_memory_equal(&again.last, &tip.last, HASH_SIZE);
	assert_false(tip_read(str_of(written.at, written.len - 1), &again));
	assert_false(tip_read(str_of(written.at, 31), &again));
	buf_fini(&written);
	buf_fini(&small);
}

static void test_types_have_names(void **state)
{
	for (unsigned type = 1; type < ENTRY_TYPES; type++)
		assert_string_not_equal(entry_type_text((enum entry_type)type), "?");
	assert_string_equal(entry_type_text((enum entry_type)0), "?");
	assert_string_equal(entry_type_text(ENTRY_TYPES), "?");
}

int main(int argc, char **argv)
{
#define WITH_ENTRY(test) cmocka_unit_test_setup_teardown(test, begin, end)
	const struct CMUnitTest tests[] = {
		WITH_ENTRY(test_commitment),
		WITH_ENTRY(test_the_vectors),
		WITH_ENTRY(test_reading_the_vectors),
		WITH_ENTRY(test_no_bit_is_idle),
		WITH_ENTRY(test_what_is_malformed),
		WITH_ENTRY(test_lengths),
		WITH_ENTRY(test_row),
		WITH_ENTRY(test_another_key),
		WITH_ENTRY(test_plain_entries),
		WITH_ENTRY(test_the_longest_text),
		WITH_ENTRY(test_an_empty_text),
		WITH_ENTRY(test_the_tip_is_kept),
		WITH_ENTRY(test_types_have_names),
	};

	vectors_file = argc == 2 ? argv[1] : "audit.json";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
