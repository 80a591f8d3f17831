/*
 * Of a key set the public keys for signatures are taken, and what is none, weak or of another use
 * is passed over.
 */
#include "auth/jwks.h"

#include "base/err.h"
#include "tokens.h"
#undef fail /* cmocka has one too */

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { TEXT_MAX = 1 << 19 };

struct keys {
	struct signer rsa, weak, p256, p384, p521, ed25519;
	struct buf text;
};

static int setup(void **state)
{
	static struct keys keys;

	signer_init(&keys.rsa, SIGNER_RSA, 2048);
	signer_init(&keys.weak, SIGNER_RSA, 1024);
	signer_init(&keys.p256, SIGNER_P256, 0);
	signer_init(&keys.p384, SIGNER_P384, 0);
	signer_init(&keys.p521, SIGNER_P521, 0);
	signer_init(&keys.ed25519, SIGNER_ED25519, 0);
	buf_init(&keys.text, TEXT_MAX);
	*state = &keys;
	return 0;
}

static int teardown(void **state)
{
	struct keys *keys = *state;

	signer_fini(&keys->rsa);
	signer_fini(&keys->weak);
	signer_fini(&keys->p256);
	signer_fini(&keys->p384);
	signer_fini(&keys->p521);
	signer_fini(&keys->ed25519);
	buf_fini(&keys->text);
	return 0;
}

static void begin(struct keys *keys)
{
	buf_clear(&keys->text);
	buf_append_str(&keys->text, STR("{\"keys\":["));
}

static void add(struct keys *keys, const struct signer *signer, const char *more)
{
	if (keys->text.at[keys->text.len - 1] != '[')
		buf_append_byte(&keys->text, ',');
	signer_jwk(signer, more, &keys->text);
}

/* What the set is worth: keys that are taken; 0 where it is refused, which must say why. */
static size_t taken(struct keys *keys, const char *expected_why)
{
	char why[JWKS_WHY_MAX] = "";
	struct jwks *set = NULL;
	size_t count;
	int r;

	buf_append_str(&keys->text, STR("]}"));
	r = jwks_read(buf_str(&keys->text), &set, why);
	if (r == JWKS_REFUSED) {
		assert_null(set);
		assert_non_null(strstr(why, expected_why));
		return 0;
	}
	assert_int_equal(r, 0);
	count = jwks_count(set);
	jwks_drop(set);
	return count;
}

static size_t taken_alone(struct keys *keys, const struct signer *signer, const char *more)
{
	begin(keys);
	add(keys, signer, more);
	return taken(keys, "none of its 1 keys");
}

static void test_every_kind_is_taken(void **state)
{
	struct keys *keys = *state;

	begin(keys);
	add(keys, &keys->rsa, ",\"kid\":\"r\",\"use\":\"sig\",\"alg\":\"PS256\"");
	add(keys, &keys->p256, ",\"kid\":\"a\",\"key_ops\":[\"verify\"]");
	add(keys, &keys->p384, ",\"kid\":\"b\",\"x5c\":[\"not looked at\"]");
	add(keys, &keys->p521, "");
	add(keys, &keys->ed25519, ",\"alg\":\"EdDSA\"");
	assert_int_equal(taken(keys, ""), 5);
}

static void test_what_is_not_for_us_is_passed_over(void **state)
{
	struct keys *keys = *state;

	assert_int_equal(taken_alone(keys, &keys->weak, ""), 0);
	assert_int_equal(taken_alone(keys, &keys->rsa, ",\"use\":\"enc\""), 0);
	assert_int_equal(taken_alone(keys, &keys->rsa, ",\"key_ops\":[\"sign\"]"), 0);
	assert_int_equal(taken_alone(keys, &keys->rsa, ",\"key_ops\":\"verify\""), 0);
	assert_int_equal(taken_alone(keys, &keys->rsa, ",\"alg\":\"HS256\""), 0);
	assert_int_equal(taken_alone(keys, &keys->rsa, ",\"alg\":\"none\""), 0);
	assert_int_equal(taken_alone(keys, &keys->rsa, ",\"alg\":\"ES256\""), 0);
	assert_int_equal(taken_alone(keys, &keys->p256, ",\"alg\":\"ES384\""), 0);
	assert_int_equal(taken_alone(keys, &keys->rsa, ",\"alg\":7"), 0);
	assert_int_equal(taken_alone(keys, &keys->rsa, ",\"kid\":7"), 0);
	assert_int_equal(taken_alone(keys, &keys->rsa, ",\"d\":\"AQ\""), 0);
	assert_int_equal(taken_alone(keys, &keys->rsa, ""), 1);

	begin(keys);
	add(keys, &keys->p256, "");
	buf_append_str(&keys->text,
		       STR(",{\"kty\":\"oct\",\"k\":\"AAAA\"},{\"kty\":\"new\"},7,{}"));
	assert_int_equal(taken(keys, ""), 1);
}

static size_t taken_text(struct keys *keys, const char *key, const char *why)
{
	begin(keys);
	buf_append_str(&keys->text, str_from(key));
	return taken(keys, why);
}

#define ONES "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE"

static void test_broken_material(void **state)
{
	struct keys *keys = *state;
	const char *none = "none of its 1 keys";

	assert_int_equal(taken_text(keys, "{\"kty\":\"RSA\"}", none), 0);
	assert_int_equal(taken_text(keys, "{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}", none),
			 0);
	/* a point that is not on the curve */
	assert_int_equal(taken_text(keys,
				    "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" ONES
				    "\",\"y\":\"" ONES "\"}",
				    none),
			 0);
	assert_int_equal(taken_text(keys,
				    "{\"kty\":\"EC\",\"crv\":\"secp256k1\",\"x\":\"" ONES
				    "\",\"y\":\"" ONES "\"}",
				    none),
			 0);
	assert_int_equal(
		taken_text(keys, "{\"kty\":\"OKP\",\"crv\":\"X25519\",\"x\":\"" ONES "\"}", none),
		0);
	/* padding, and spare bits */
	assert_int_equal(
		taken_text(keys, "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" ONES "=\"}", none),
		0);
	assert_int_equal(taken_text(keys,
				    "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":"
				    "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAF\"}",
				    none),
			 0);
	assert_int_equal(
		taken_text(keys, "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" ONES "\"}", none),
		1);
}

static void refused(const char *text, const char *expected)
{
	char why[JWKS_WHY_MAX] = "";
	struct jwks *set = NULL;

	assert_int_equal(jwks_read(str_from(text), &set, why), JWKS_REFUSED);
	assert_null(set);
	assert_non_null(strstr(why, expected));
}

static void test_what_is_no_set(void **state)
{
	refused("", "not JSON");
	refused("[", "not JSON");
	refused("{\"keys\":[],\"keys\":[]}", "not JSON");
	refused("[]", "no list");
	refused("{}", "no list");
	refused("{\"keys\":{}}", "no list");
	refused("{\"keys\":[]}", "none of its 0 keys");
}

static void test_bounds(void **state)
{
	struct keys *keys = *state;

	begin(keys);
	for (int i = 0; i < JWKS_KEYS_MAX; i++)
		add(keys, &keys->ed25519, "");
	assert_int_equal(taken(keys, ""), JWKS_KEYS_MAX);
	begin(keys);
	for (int i = 0; i <= JWKS_KEYS_MAX; i++)
		add(keys, &keys->ed25519, "");
	assert_int_equal(taken(keys, "more than 64 keys"), 0);
	begin(keys);
	while (keys->text.len < JWKS_BYTES_MAX)
		buf_append_byte(&keys->text, ' ');
	assert_int_equal(taken(keys, "larger than"), 0);
}

static int pick(const struct jwks *set, const char *kid, const char *algorithm)
{
	const struct jwks_key *key = NULL;
	int r = jwks_pick(set, str_from(kid), jwks_algorithm(str_from(algorithm)), &key);

	assert_true((r == 0) == (key != NULL));
	return r;
}

static void test_picking(void **state)
{
	struct keys *keys = *state;
	char why[JWKS_WHY_MAX];
	struct jwks *set;

	begin(keys);
	add(keys, &keys->rsa, ",\"kid\":\"r\"");
	add(keys, &keys->p256, ",\"kid\":\"a\"");
	add(keys, &keys->p256, ",\"kid\":\"b\"");
	add(keys, &keys->p384, ",\"kid\":\"r\"");
	buf_append_str(&keys->text, STR("]}"));
	assert_int_equal(jwks_read(buf_str(&keys->text), &set, why), 0);
	assert_int_equal(pick(set, "r", "RS256"), 0);
	assert_int_equal(pick(set, "r", "PS512"), 0);
	assert_int_equal(pick(set, "r", "ES384"), 0);
	assert_int_equal(pick(set, "r", "ES256"), JWKS_OTHER_ALGORITHM);
	assert_int_equal(pick(set, "z", "RS256"), JWKS_ABSENT);
	assert_int_equal(pick(set, "", "RS256"), 0);
	assert_int_equal(pick(set, "", "ES256"), JWKS_AMBIGUOUS);
	assert_int_equal(pick(set, "", "EdDSA"), JWKS_ABSENT);
	jwks_drop(set);
}

static void test_algorithms(void **state)
{
	static const char *const not_taken[] = {"",	 "none",   "None",   "HS256", "HS512",
						"rs256", "RS256 ", "ES256K", "dir",   "RSA-OAEP"};

	for (size_t i = 0; i < sizeof(not_taken) / sizeof(not_taken[0]); i++)
		assert_null(jwks_algorithm(str_from(not_taken[i])));
	assert_non_null(jwks_algorithm(STR("RS256")));
	assert_non_null(jwks_algorithm(STR("EdDSA")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind_is_taken),
		cmocka_unit_test(test_what_is_not_for_us_is_passed_over),
		cmocka_unit_test(test_broken_material),
		cmocka_unit_test(test_what_is_no_set),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_picking),
		cmocka_unit_test(test_algorithms),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
