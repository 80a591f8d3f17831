/*
 * A token is taken when all of it is right, and refused, with a reason, when one thing is wrong.
 * Tokens are signed by OpenSSL.
 */
#include "auth/jwt.h"

#include "base/err.h"
#include "tokens.h"
#include "json/json.h"
#undef fail /* cmocka has one too */

#include <dlfcn.h>
#include <openssl/pem.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { TEXT_MAX = 1 << 16, MEMORY_MAX = 1 << 21, LINE_MAX_ = 512 };

#define NOW_S 1800000000
#define GOOD                                                                                       \
	"\"iss\":\"https://id.test\",\"aud\":\"gate\",\"sub\":\"bot\",\"org\":\"acme\","           \
	"\"exp\":1800000600"

static const struct jwt_rules rules = {
	.issuer = {"https://id.test", 15},
	.audience = {"gate", 4},
	.account_claim = {"org", 3},
	.agent_claim = {"sub", 3},
	.tolerance_ms = 30000,
};

struct world {
	struct signer rsa, other_rsa, p256, p384, p521, ed25519;
	struct jwks *set;
	struct buf text, token;
	struct arena mem;
};

static int setup(void **state)
{
	static struct world world;
	char why[JWKS_WHY_MAX];

	signer_init(&world.rsa, SIGNER_RSA, 2048);
	signer_init(&world.other_rsa, SIGNER_RSA, 2048);
	signer_init(&world.p256, SIGNER_P256, 0);
	signer_init(&world.p384, SIGNER_P384, 0);
	signer_init(&world.p521, SIGNER_P521, 0);
	signer_init(&world.ed25519, SIGNER_ED25519, 0);
	buf_init(&world.text, TEXT_MAX);
	buf_init(&world.token, TEXT_MAX);
	arena_init(&world.mem, MEMORY_MAX);
	buf_append_str(&world.text, STR("{\"keys\":["));
	signer_jwk(&world.rsa, ",\"kid\":\"rsa\"", &world.text);
	buf_append_byte(&world.text, ',');
	signer_jwk(&world.p256, ",\"kid\":\"p256\"", &world.text);
	buf_append_byte(&world.text, ',');
	signer_jwk(&world.p384, ",\"kid\":\"p384\"", &world.text);
	buf_append_byte(&world.text, ',');
	signer_jwk(&world.p521, ",\"kid\":\"p521\"", &world.text);
	buf_append_byte(&world.text, ',');
	signer_jwk(&world.ed25519, ",\"kid\":\"ed\"", &world.text);
	buf_append_str(&world.text, STR("]}"));
	assert_int_equal(jwks_read(buf_str(&world.text), &world.set, why), 0);
	assert_int_equal(jwks_count(world.set), 5);
	*state = &world;
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;

	signer_fini(&world->rsa);
	signer_fini(&world->other_rsa);
	signer_fini(&world->p256);
	signer_fini(&world->p384);
	signer_fini(&world->p521);
	signer_fini(&world->ed25519);
	buf_fini(&world->text);
	buf_fini(&world->token);
	arena_fini(&world->mem);
	jwks_drop(world->set);
	return 0;
}

static int verify(struct world *world, const char **out_why, struct jwt_claims *out)
{
	int r;

	arena_fini(&world->mem);
	*out_why = NULL;
	r = jwt_verify(world->set, &rules, buf_str(&world->token), INT64_C(1000) * NOW_S,
		       &world->mem, out, out_why);
	if (r != 0 && (!*out_why || !**out_why))
		fail_msg("it was refused without a reason");
	return r;
}

/* The token that was made last is refused, for a reason that has `why` in it. */
static void refused(struct world *world, const char *why)
{
	struct jwt_claims claims = {0};
	const char *said;

	if (verify(world, &said, &claims) != JWT_REFUSED || !strstr(said, why))
		fail_msg("not refused because %s: %s", why, said ? said : "taken");
	assert_null(claims.account.at);
}

static void taken(struct world *world)
{
	struct jwt_claims claims = {0};
	const char *said;

	if (verify(world, &said, &claims) != 0)
		fail_msg("refused: %s", said);
	assert_true(str_equal(claims.account, STR("acme")));
	assert_true(str_equal(claims.agent, STR("bot")));
	assert_int_equal(claims.expires_ms, INT64_C(1800000600000));
}

static void make(struct world *world, const struct signer *signer, const char *algorithm,
		 const char *header, const char *claims)
{
	buf_clear(&world->token);
	token_sign(signer, algorithm, STR(""), header, claims, &world->token);
}

static void make_plain(struct world *world, const struct signer *signer, const char *algorithm,
		       const char *kid)
{
	char header[LINE_MAX_];

	snprintf(header, sizeof(header), "{\"alg\":\"%s\",\"kid\":\"%s\",\"typ\":\"JWT\"}",
		 algorithm, kid);
	make(world, signer, algorithm, header, "{" GOOD "}");
}

static void test_every_algorithm(void **state)
{
	struct world *world = *state;
	const struct {
		const struct signer *signer;
		const char *algorithm, *kid;
	} rows[] = {
		{&world->rsa, "RS256", "rsa"},	    {&world->rsa, "RS384", "rsa"},
		{&world->rsa, "RS512", "rsa"},	    {&world->rsa, "PS256", "rsa"},
		{&world->rsa, "PS384", "rsa"},	    {&world->rsa, "PS512", "rsa"},
		{&world->p256, "ES256", "p256"},    {&world->p384, "ES384", "p384"},
		{&world->p521, "ES512", "p521"},    {&world->ed25519, "EdDSA", "ed"},
		{&world->ed25519, "Ed25519", "ed"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make_plain(world, rows[i].signer, rows[i].algorithm, rows[i].kid);
		taken(world);
		/* one bit of the claims, and it is another token */
		world->token.at[str_find(buf_str(&world->token), '.') + 9] ^= 1;
		refused(world, "");
	}
}

static void test_every_byte_of_the_signature_counts(void **state)
{
	struct world *world = *state;
	size_t first;

	make_plain(world, &world->p256, "ES256", "p256");
	first = world->token.len - 86; /* 64 bytes */
	for (size_t i = first; i < world->token.len; i++) {
		char was = world->token.at[i];

		world->token.at[i] = was == 'A' ? 'B' : 'A';
		if (i + 1 < world->token.len || was != 'A')
			refused(world, "signature is wrong");
		world->token.at[i] = was;
	}
	taken(world);
	world->token.len -= 4; /* ECDSA with shorter numbers */
	refused(world, "signature is wrong");
	world->token.len += 4;
	buf_append_str(&world->token, STR("AAAA"));
	refused(world, "signature is wrong");
}

static void test_the_key_decides_how(void **state)
{
	struct world *world = *state;

	make_plain(world, &world->other_rsa, "RS256", "rsa");
	refused(world, "signature is wrong");
	make_plain(world, &world->p256, "ES256", "rsa");
	refused(world, "algorithm is not its key's");
	make_plain(world, &world->rsa, "RS256", "p256");
	refused(world, "algorithm is not its key's");
	make_plain(world, &world->p384, "ES256", "p384");
	refused(world, "algorithm is not its key's");
	make(world, &world->rsa, "RS256", "{\"alg\":\"PS256\",\"kid\":\"rsa\"}", "{" GOOD "}");
	refused(world, "signature is wrong");
}

/* The oldest trick: the public key as the secret of a symmetric algorithm. */
static void test_a_public_key_is_no_secret(void **state)
{
	struct world *world = *state;
	BIO *out = BIO_new(BIO_s_mem());
	char *pem = NULL;
	size_t len;

	assert_int_equal(PEM_write_bio_PUBKEY(out, world->rsa.key), 1);
	len = (size_t)BIO_get_mem_data(out, &pem);
	buf_clear(&world->token);
	token_sign(&world->rsa, "HS256", str_of(pem, len), "{\"alg\":\"HS256\",\"kid\":\"rsa\"}",
		   "{" GOOD "}", &world->token);
	refused(world, "algorithm is not one that is taken");
	buf_clear(&world->token);
	token_sign(&world->rsa, "HS256", str_of(pem, len), "{\"alg\":\"RS256\",\"kid\":\"rsa\"}",
		   "{" GOOD "}", &world->token);
	refused(world, "signature is wrong");
	BIO_free(out);
}

static void test_unsigned_ones(void **state)
{
	struct world *world = *state;

	make_plain(world, &world->rsa, "none", "rsa");
	refused(world, "no signed token");
	buf_append_str(&world->token, STR("AAAA"));
	refused(world, "algorithm is not one that is taken");
	make(world, &world->rsa, "RS256", "{\"alg\":\"nOnE\"}", "{" GOOD "}");
	refused(world, "algorithm is not one that is taken");
	make(world, &world->rsa, "RS256", "{\"kid\":\"rsa\"}", "{" GOOD "}");
	refused(world, "algorithm is not one that is taken");
	make(world, &world->rsa, "RS256", "{\"alg\":[\"RS256\"]}", "{" GOOD "}");
	refused(world, "algorithm is not one that is taken");
}

static void test_headers(void **state)
{
	struct world *world = *state;
	const struct {
		const char *header, *why;
	} rows[] = {
		{"{\"alg\":\"RS256\",\"kid\":\"rsa\",\"crit\":[\"exp\"]}", "extension"},
		{"{\"alg\":\"RS256\",\"kid\":\"rsa\",\"crit\":[],\"b64\":true}", "extension"},
		{"{\"alg\":\"RS256\",\"kid\":\"rsa\",\"b64\":false}", "extension"},
		{"{\"alg\":\"RS256\",\"kid\":7}", "names no key"},
		{"{\"alg\":\"RS256\",\"kid\":\"\"}", "names no key"},
		{"{\"alg\":\"RS256\",\"kid\":\"rsa\",\"typ\":\"logout+jwt\"}", "type"},
		{"{\"alg\":\"RS256\",\"kid\":\"rsa\",\"typ\":7}", "type"},
		{"{\"alg\":\"RS256\",\"kid\":\"rsa\",\"alg\":\"RS256\"}", "cannot be read"},
		{"{\"alg\":\"none\",\"alg\":\"RS256\",\"kid\":\"rsa\"}", "cannot be read"},
		{"[\"RS256\"]", "cannot be read"},
		{"{\"alg\":\"RS256\"", "cannot be read"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make(world, &world->rsa, "RS256", rows[i].header, "{" GOOD "}");
		refused(world, rows[i].why);
	}
	make(world, &world->rsa, "RS256",
	     "{\"alg\":\"RS256\",\"kid\":\"rsa\",\"typ\":\"application/AT+jwt\",\"jku\":\"https://"
	     "evil."
	     "test\"}",
	     "{" GOOD "}");
	taken(world);
}

static void test_keys_without_name(void **state)
{
	struct world *world = *state;
	struct jwt_claims claims;
	const char *why;

	make(world, &world->rsa, "RS256", "{\"alg\":\"RS256\"}", "{" GOOD "}");
	taken(world); /* only one key fits */
	make_plain(world, &world->rsa, "RS256", "next");
	assert_int_equal(verify(world, &why, &claims), JWT_UNKNOWN_KEY);
	assert_false(jwt_key_is_known(world->set, buf_str(&world->token), &world->mem));
	make_plain(world, &world->rsa, "RS256", "rsa");
	assert_true(jwt_key_is_known(world->set, buf_str(&world->token), &world->mem));
	assert_true(jwt_key_is_known(world->set, STR("no token"), &world->mem));
}

#define AROUND(claims) "{\"alg\":\"ES256\",\"kid\":\"p256\"}", claims

static void test_claims(void **state)
{
	struct world *world = *state;
	const struct {
		const char *claims, *why;
	} rows[] = {
		{"{\"iss\":\"https://id.test\",\"aud\":\"gate\",\"sub\":\"bot\",\"org\":\"acme\"}",
		 "does not say when it expires"},
		{"{" GOOD ",\"exp\":1800000600}", "cannot be read"},
		{"{" GOOD ",\"sub\":\"bot\"}", "cannot be read"},
		{"{\"iss\":\"https://id.test\",\"aud\":\"gate\",\"sub\":\"bot\",\"org\":\"acme\","
		 "\"exp\":\"1800000600\"}",
		 "does not say when it expires"},
		{"{\"iss\":\"https://id.test\",\"aud\":\"gate\",\"sub\":\"bot\",\"org\":\"acme\","
		 "\"exp\":-1}",
		 "does not say when it expires"},
		{"{\"iss\":\"https://id.test\",\"aud\":\"gate\",\"sub\":\"bot\",\"org\":\"acme\","
		 "\"exp\":1e300}",
		 "does not say when it expires"},
		{"{\"iss\":\"https://id.test\",\"aud\":\"gate\",\"sub\":\"bot\",\"org\":\"acme\","
		 "\"exp\":1799999970}",
		 "has expired"},
		{"{" GOOD ",\"nbf\":1800000031}", "not yet valid"},
		{"{" GOOD ",\"nbf\":null}", "no time"},
		{"{" GOOD ",\"iat\":1800000031}", "in the future"},
		{"{" GOOD ",\"iat\":true}", "no time"},
		{"{\"iss\":\"https://id.test/\",\"aud\":\"gate\",\"exp\":1800000600}", "issuer"},
		{"{\"aud\":\"gate\",\"exp\":1800000600}", "issuer"},
		{"{\"iss\":[\"https://id.test\"],\"exp\":1800000600}", "issuer"},
		{"{\"iss\":\"https://id.test\",\"exp\":1800000600}", "audience"},
		{"{\"iss\":\"https://id.test\",\"aud\":\"Gate\",\"exp\":1800000600}", "audience"},
		{"{\"iss\":\"https://id.test\",\"aud\":[],\"exp\":1800000600}", "audience"},
		{"{\"iss\":\"https://id.test\",\"aud\":[\"gate\",7],\"exp\":1800000600}",
		 "audience"},
		{"{\"iss\":\"https://id.test\",\"aud\":\"gate\",\"exp\":1800000600,"
		 "\"sub\":\"bot\"}",
		 "account"},
		{"{\"iss\":\"https://id.test\",\"aud\":\"gate\",\"exp\":1800000600,"
		 "\"sub\":\"bot\",\"org\":\"\"}",
		 "account"},
		{"{\"iss\":\"https://id.test\",\"aud\":\"gate\",\"exp\":1800000600,"
		 "\"sub\":\"bot\",\"org\":7}",
		 "account"},
		{"{\"iss\":\"https://id.test\",\"aud\":\"gate\",\"exp\":1800000600,"
		 "\"sub\":\"bot\",\"org\":\"a\\nb\"}",
		 "account"},
		{"{\"iss\":\"https://id.test\",\"aud\":\"gate\",\"exp\":1800000600,"
		 "\"org\":\"acme\"}",
		 "agent"},
		{"[]", "cannot be read"},
		{"acme", "cannot be read"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make(world, &world->p256, "ES256", AROUND(rows[i].claims));
		refused(world, rows[i].why);
	}
}

static void test_claims_that_are_good(void **state)
{
	struct world *world = *state;
	struct jwt_claims claims = {0};
	const char *why;

	make(world, &world->p256, "ES256",
	     AROUND("{" GOOD ",\"nbf\":1800000030,\"iat\":1800000029.75}"));
	taken(world);
	make(world, &world->p256, "ES256",
	     AROUND("{\"iss\":\"https://id.test\",\"aud\":[\"other\",\"gate\"],\"sub\":\"bot\","
		    "\"org\":\"acme\",\"exp\":1.8000006e9}"));
	taken(world);
	/* within the tolerance, a fraction of a second before its end */
	make(world, &world->p256, "ES256",
	     AROUND("{\"iss\":\"https://id.test\",\"aud\":\"gate\",\"sub\":\"bot\","
		    "\"org\":\"acme\",\"exp\":1799999970.001}"));
	assert_int_equal(verify(world, &why, &claims), 0);
	assert_int_equal(claims.expires_ms, INT64_C(1799999970001));
}

static void test_a_claim_by_its_pointer(void **state)
{
	struct world *world = *state;
	struct jwt_rules deep = rules;
	struct jwt_claims claims;
	const char *why;

	deep.account_claim = STR("/tenant/id");
	make(world, &world->p256, "ES256", AROUND("{" GOOD ",\"tenant\":{\"id\":\"t1\"}}"));
	arena_fini(&world->mem);
	assert_int_equal(jwt_verify(world->set, &deep, buf_str(&world->token),
				    INT64_C(1000) * NOW_S, &world->mem, &claims, &why),
			 0);
	assert_true(str_equal(claims.account, STR("t1")));
}

static void test_texts_that_are_no_tokens(void **state)
{
	struct world *world = *state;
	static const char *const texts[] = {"",	     ".",	"..",	"...",	"a.b",
					    "a.b.c", "a.b.c.d", "a..c", ".b.c", "Bearer a.b.c"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		buf_clear(&world->token);
		buf_append_str(&world->token, str_from(texts[i]));
		refused(world, "");
	}
	make_plain(world, &world->p256, "ES256", "p256");
	buf_append_byte(&world->token, '=');
	refused(world, "signature is wrong");
	while (world->token.len <= JWT_BYTES_MAX)
		buf_append_byte(&world->token, 'A');
	refused(world, "no signed token");
}

/*
 * Both our JSON and the one that cjose uses have a json_string(). Were ours visible, cjose would be
 * given it in the place of its own.
 */
static void test_libraries_do_not_meet_our_names(void **state)
{
	assert_true(dlsym(RTLD_DEFAULT, "json_string") != (void *)(uintptr_t)json_string);
	assert_true(dlsym(RTLD_DEFAULT, "json_integer") != (void *)(uintptr_t)json_integer);
	assert_non_null(dlsym(RTLD_DEFAULT, "json_string"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_algorithm),
		cmocka_unit_test(test_every_byte_of_the_signature_counts),
		cmocka_unit_test(test_the_key_decides_how),
		cmocka_unit_test(test_a_public_key_is_no_secret),
		cmocka_unit_test(test_unsigned_ones),
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_keys_without_name),
		cmocka_unit_test(test_claims),
		cmocka_unit_test(test_claims_that_are_good),
		cmocka_unit_test(test_a_claim_by_its_pointer),
		cmocka_unit_test(test_texts_that_are_no_tokens),
		cmocka_unit_test(test_libraries_do_not_meet_our_names),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
