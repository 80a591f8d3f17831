/* Shows that the hash is SHA-256, in one piece or in many, and that parts never run into one. */
#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_hash(const struct hash *hash, const char *expected)
{
	char text[2 * HASH_SIZE + 1] = "";

	hex_write(hash->bytes, HASH_SIZE, text);
	assert_string_equal(text, expected);
}

/* The examples of FIPS 180-2, appendix B, and the empty message. */
static void known_messages_have_their_known_digests(void **state)
{
	const char *two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
	struct hash hash;

	hash_bytes(NULL, 0, &hash);
	assert_hash(&hash, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	hash_bytes("abc", 3, &hash);
	assert_hash(&hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	hash_bytes(two_blocks, strlen(two_blocks), &hash);
	assert_hash(&hash, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void a_million_letters_in_uneven_pieces(void **state)
{
	char letters[997];
	struct hasher hasher;
	struct hash hash;
	size_t left = 1000000;

	memset(letters, 'a', sizeof(letters));
	hasher_init(&hasher);
	hasher_add(&hasher, NULL, 0);
	while (left) {
		size_t piece = left < sizeof(letters) ? left : sizeof(letters);

		hasher_add(&hasher, letters, piece);
		left -= piece;
	}
	hasher_end(&hasher, &hash);
	assert_hash(&hash, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void hash_parts(struct str first, struct str second, struct hash *out_hash)
{
	struct hasher hasher;

	hasher_init(&hasher);
	hasher_add_part(&hasher, first);
	hasher_add_part(&hasher, second);
	hasher_end(&hasher, out_hash);
}

static void a_part_is_its_length_and_its_bytes(void **state)
{
	struct hash parts, bytes;

	hash_parts(STR("ab"), str_of(NULL, 0), &parts);
	hash_bytes("\0\0\0\2ab\0\0\0\0", 10, &bytes);
	assert_true(hash_equal(&parts, &bytes));
}

static void a_long_part_has_a_big_endian_length(void **state)
{
	static char bytes[4 + 0x10203];
	struct hasher hasher;
	struct hash part, whole;

	memcpy(bytes, "\0\1\2\3", 4);
	hasher_init(&hasher);
	hasher_add_part(&hasher, str_of(bytes + 4, 0x10203));
	hasher_end(&hasher, &part);
	hash_bytes(bytes, sizeof(bytes), &whole);
	assert_true(hash_equal(&part, &whole));
}

static void the_border_between_parts_counts(void **state)
{
	struct hash one, other;

	hash_parts(STR("ab"), STR("c"), &one);
	hash_parts(STR("a"), STR("bc"), &other);
	assert_false(hash_equal(&one, &other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_messages_have_their_known_digests),
		cmocka_unit_test(a_million_letters_in_uneven_pieces),
		cmocka_unit_test(a_part_is_its_length_and_its_bytes),
		cmocka_unit_test(a_long_part_has_a_big_endian_length),
		cmocka_unit_test(the_border_between_parts_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
