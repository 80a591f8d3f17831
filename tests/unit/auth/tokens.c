/* Keys and signed tokens for tests, by OpenSSL alone. */
#include "tokens.h"

#include "base/err.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/hmac.h>
#include <openssl/rsa.h>
#include <sodium.h>

enum { SIGNATURE_MAX = 2048, COORDINATE_MAX = 66 };

void base64url_put(struct str bytes, struct buf *out)
{
	size_t size =
		sodium_base64_ENCODED_LEN(bytes.len, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	char *room = buf_reserve(out, size);

	require(room);
	sodium_bin2base64(room, size, (const uint8_t *)bytes.at, bytes.len,
			  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	buf_commit(out, size - 1);
}

static const char *curve_of(enum signer_kind kind)
{
	return kind == SIGNER_P256 ? "P-256" : kind == SIGNER_P384 ? "P-384" : "P-521";
}

static size_t coordinate_size(enum signer_kind kind)
{
	return kind == SIGNER_P256 ? 32 : kind == SIGNER_P384 ? 48 : COORDINATE_MAX;
}

void signer_init(struct signer *signer, enum signer_kind kind, unsigned rsa_bits)
{
	signer->kind = kind;
	if (kind == SIGNER_RSA)
		signer->key = EVP_RSA_gen(rsa_bits);
	else if (kind == SIGNER_ED25519)
		signer->key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	else
		signer->key = EVP_EC_gen(curve_of(kind));
	require(signer->key);
}

void signer_fini(struct signer *signer)
{
	EVP_PKEY_free(signer->key);
}

static void put_number(const struct signer *signer, const char *name, int size, struct buf *out)
{
	uint8_t bytes[SIGNATURE_MAX];
	BIGNUM *number = NULL;

	require(EVP_PKEY_get_bn_param(signer->key, name, &number));
	if (size == 0)
		size = BN_num_bytes(number);
	require(BN_bn2binpad(number, bytes, size) == size);
	BN_free(number);
	base64url_put(str_of((const char *)bytes, (size_t)size), out);
}

void signer_jwk(const struct signer *signer, const char *more, struct buf *out)
{
	if (signer->kind == SIGNER_RSA) {
		buf_append_str(out, STR("{\"kty\":\"RSA\",\"n\":\""));
		put_number(signer, OSSL_PKEY_PARAM_RSA_N, 0, out);
		buf_append_str(out, STR("\",\"e\":\""));
		put_number(signer, OSSL_PKEY_PARAM_RSA_E, 0, out);
	} else if (signer->kind == SIGNER_ED25519) {
		uint8_t bytes[32];
		size_t size = sizeof(bytes);

		require(EVP_PKEY_get_raw_public_key(signer->key, bytes, &size));
		buf_append_str(out, STR("{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\""));
		base64url_put(str_of((const char *)bytes, size), out);
	} else {
		int size = (int)coordinate_size(signer->kind);

		buf_printf(out, "{\"kty\":\"EC\",\"crv\":\"%s\",\"x\":\"", curve_of(signer->kind));
		put_number(signer, OSSL_PKEY_PARAM_EC_PUB_X, size, out);
		buf_append_str(out, STR("\",\"y\":\""));
		put_number(signer, OSSL_PKEY_PARAM_EC_PUB_Y, size, out);
	}
	buf_printf(out, "\"%s}", more);
}

/* ECDSA as JWS has it: both numbers side by side, in the place of OpenSSL's DER. */
static size_t raw_from_der(const struct signer *signer, uint8_t *signature, size_t len)
{
	const uint8_t *at = signature;
	ECDSA_SIG *parts = d2i_ECDSA_SIG(NULL, &at, (long)len);
	int size = (int)coordinate_size(signer->kind);

	require(parts);
	require(BN_bn2binpad(ECDSA_SIG_get0_r(parts), signature, size) == size);
	require(BN_bn2binpad(ECDSA_SIG_get0_s(parts), signature + size, size) == size);
	ECDSA_SIG_free(parts);
	return 2 * (size_t)size;
}

static size_t sign(const struct signer *signer, const char *algorithm, struct str input,
		   uint8_t signature[SIGNATURE_MAX])
{
	const char *bits = algorithm + 2;
	const EVP_MD *digest = strcmp(bits, "256") == 0	  ? EVP_sha256()
			       : strcmp(bits, "384") == 0 ? EVP_sha384()
			       : strcmp(bits, "512") == 0 ? EVP_sha512()
							  : NULL;
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	EVP_PKEY_CTX *options = NULL;
	size_t len = SIGNATURE_MAX;

	require(context && EVP_DigestSignInit(context, &options, digest, NULL, signer->key) == 1);
	if (algorithm[0] == 'P') {
		require(EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PSS_PADDING) == 1);
		require(EVP_PKEY_CTX_set_rsa_pss_saltlen(options, RSA_PSS_SALTLEN_DIGEST) == 1);
	}
	require(EVP_DigestSign(context, signature, &len, (const uint8_t *)input.at, input.len) ==
		1);
	EVP_MD_CTX_free(context);
	if (signer->kind != SIGNER_RSA && signer->kind != SIGNER_ED25519)
		len = raw_from_der(signer, signature, len);
	return len;
}

void token_sign(const struct signer *signer, const char *algorithm, struct str secret,
		const char *header, const char *claims, struct buf *out)
{
	uint8_t signature[SIGNATURE_MAX];
	size_t len = 0;

	base64url_put(str_from(header), out);
	buf_append_byte(out, '.');
	base64url_put(str_from(claims), out);
	if (algorithm[0] == 'H') {
		unsigned size = 0;

		require(HMAC(EVP_sha256(), secret.at, (int)secret.len, (const uint8_t *)out->at,
			     out->len, signature, &size));
		len = size;
	} else if (strcmp(algorithm, "none") != 0) {
		len = sign(signer, algorithm, buf_str(out), signature);
	}
	buf_append_byte(out, '.');
	base64url_put(str_of((const char *)signature, len), out);
	require(!out->is_spoiled);
}
