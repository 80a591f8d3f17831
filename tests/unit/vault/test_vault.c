/*
 * Shows what a vault opens and what it refuses: sealed texts in their place and out of it, changed
 * ones, other master keys, files that others can read; and that keys can be replaced.
 */
#include "vault/vault.h"

#include "base/err.h"
#include "vault/box.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64], path[160], text[1024], why[512];
static const struct vault_master own;
static struct arena mem;

/* -- a world that is the same each time -------------------------------------------- */

static uint64_t counter;

static int64_t fixed_wall(const struct env *env)
{
	return 1700000000000;
}

/* Bytes that count on, so that two draws never agree and each test knows what was drawn. */
static void counted(const struct env *env, void *out, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((uint8_t *)out)[i] = (uint8_t)(++counter * 0x9e3779b97f4a7c15u >> 56);
}

static const struct env env = {.wall_ms = fixed_wall, .random = counted};

static int remove_one(const char *name, const struct stat *facts, int kind, struct FTW *place)
{
	return remove(name);
}

static int set_up(void **state)
{
	counter = 0;
	arena_init(&mem, 1 << 20);
	snprintf(folder, sizeof(folder), "/tmp/counterfoil-vault-XXXXXX");
	assert_non_null(mkdtemp(folder));
	return 0;
}

static int tear_down(void **state)
{
	arena_fini(&mem);
	return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static const char *in_folder(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static struct str put_file(const char *name, const char *bytes, mode_t mode)
{
	static char paths[4][160];
	static int next;
	char *at = paths[next++ % 4];
	FILE *file;

	snprintf(at, sizeof(paths[0]), "%s/%s", folder, name);
	file = fopen(at, "w");
	assert_non_null(file);
	fputs(bytes, file);
	fclose(file);
	assert_int_equal(chmod(at, mode), 0);
	return str_from(at);
}

static const char *get_file(const char *name)
{
	FILE *file = fopen(in_folder(name), "r");

	assert_non_null(file);
	memset(text, 0, sizeof(text));
	assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
	fclose(file);
	return text;
}

static struct vault *open_with(const struct vault_master *master)
{
	struct vault *vault = NULL;

	if (vault_open(folder, master, &env, &vault, why, sizeof(why)) != 0)
		print_error("%s\n", why);
	assert_non_null(vault);
	return vault;
}

static void assert_refused(const struct vault_master *master, const char *part)
{
	struct vault *vault = NULL;

	assert_int_equal(vault_open(folder, master, &env, &vault, why, sizeof(why)), FAIL_CONFIG);
	assert_null(vault);
	if (!strstr(why, part))
		print_error("%s\n", why);
	assert_non_null(strstr(why, part));
}

static struct buf seal(struct vault *vault, struct vault_place place, const char *plain)
{
	struct buf sealed;

	buf_init(&sealed, 4096);
	vault_seal(vault, place, str_from(plain), &sealed);
	assert_false(sealed.is_spoiled);
	assert_int_equal(sealed.len, strlen(plain) + VAULT_OVERHEAD);
	return sealed;
}

static void assert_opens(struct vault *vault, struct vault_place place, const struct buf *sealed,
			 const char *plain)
{
	struct str opened;

	assert_int_equal(vault_unseal(vault, place, buf_str(sealed), &mem, &opened), 0);
	assert_int_equal(opened.len, strlen(plain));
	assert_memory_equal(opened.at, plain, opened.len);
}

static void assert_closed(struct vault *vault, struct vault_place place, struct str sealed)
{
	struct str opened;

	assert_int_equal(vault_unseal(vault, place, sealed, &mem, &opened), VAULT_FALSE);
}

static const struct vault_place here = {"answer", 7, {"n", 1}};

/* -- sealed texts ------------------------------------------------------------------ */

static void what_is_sealed_opens_in_its_place(void **state)
{
	struct vault *vault = open_with(&own);
	struct buf sealed = seal(vault, here, "a secret"), empty = seal(vault, here, "");

	assert_null(memmem(sealed.at, sealed.len, "secret", 6));
	assert_opens(vault, here, &sealed, "a secret");
	assert_opens(vault, here, &empty, "");
	buf_fini(&sealed);
	buf_fini(&empty);
	vault_close(vault);
}

static void parts_are_sealed_as_one(void **state)
{
	const struct str parts[] = {STR("one "), STR(""), STR("two")};
	struct vault *vault = open_with(&own);
	struct buf sealed;

	buf_init(&sealed, 4096);
	buf_append_str(&sealed, STR("before"));
	vault_seal_parts(vault, here, parts, 3, &sealed);
	buf_consume(&sealed, 6);
	assert_opens(vault, here, &sealed, "one two");
	buf_fini(&sealed);
	vault_close(vault);
}

static void no_text_is_sealed_twice_alike(void **state)
{
	struct vault *vault = open_with(&own);
	struct buf first = seal(vault, here, "same"), second;

	for (int i = 0; i < 200; i++) { /* past the nonces that are drawn together */
		second = seal(vault, here, "same");
		assert_memory_not_equal(first.at, second.at, first.len);
		assert_opens(vault, here, &second, "same");
		buf_fini(&second);
	}
	buf_fini(&first);
	vault_close(vault);
}

static void other_place_stays_closed(void **state)
{
	static const struct vault_place others[] = {
		{"answers", 7, {"n", 1}}, {"answe", 7, {"n", 1}}, {"answer", 8, {"n", 1}},
		{"answer", 7, {"m", 1}},  {"answer", 7, {"", 0}}, {"answer", 7, {"nn", 2}},
	};
	struct vault *vault = open_with(&own);
	struct buf sealed = seal(vault, here, "a secret");

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_closed(vault, others[i], buf_str(&sealed));
	buf_fini(&sealed);
	vault_close(vault);
}

static void each_changed_bit_is_seen(void **state)
{
	struct vault *vault = open_with(&own);
	struct buf sealed = seal(vault, here, "a secret");
	struct str opened;

	for (size_t i = 0; i < 8 * sealed.len; i++) {
		sealed.at[i / 8] ^= (char)(1 << i % 8);
		bool names_other_key = i / 8 >= 1 && i / 8 <= 4 && vault_key_of(buf_str(&sealed));

		assert_int_equal(vault_unseal(vault, here, buf_str(&sealed), &mem, &opened),
				 names_other_key ? VAULT_NO_KEY : VAULT_FALSE);
		sealed.at[i / 8] ^= (char)(1 << i % 8);
	}
	for (size_t len = 0; len < sealed.len; len++)
		assert_closed(vault, here, str_of(sealed.at, len));
	assert_opens(vault, here, &sealed, "a secret");
	buf_fini(&sealed);
	vault_close(vault);
}

static void full_arena_is_no_lie(void **state)
{
	struct vault *vault = open_with(&own);
	struct buf sealed = seal(vault, here, "a secret");
	struct arena small;
	struct str opened;

	arena_init(&small, 4);
	assert_int_equal(vault_unseal(vault, here, buf_str(&sealed), &small, &opened), FAIL_MEMORY);
	arena_fini(&small);
	buf_fini(&sealed);
	buf_init(&sealed, VAULT_OVERHEAD);
	vault_seal(vault, here, STR("x"), &sealed);
	assert_true(sealed.is_spoiled);
	buf_fini(&sealed);
	vault_close(vault);
}

static void other_vault_opens_nothing(void **state)
{
	struct vault *vault = open_with(&own), *other;
	struct buf sealed = seal(vault, here, "a secret");

	vault_close(vault);
	assert_int_equal(remove(in_folder("vault.json")), 0);
	other = open_with(&own);
	assert_closed(other, here, buf_str(&sealed));
	buf_fini(&sealed);
	vault_close(other);
}

/* -- files ------------------------------------------------------------------------- */

static void opens_again(void **state)
{
	struct vault *vault = open_with(&own);
	struct buf sealed = seal(vault, here, "a secret");
	struct stat facts;

	vault_close(vault);
	assert_int_equal(stat(in_folder("vault.json"), &facts), 0);
	assert_int_equal(facts.st_mode & 0777, 0600);
	assert_int_equal(stat(in_folder("master.key"), &facts), 0);
	assert_int_equal(facts.st_mode & 0777, 0600);
	assert_int_equal(facts.st_size, VAULT_SECRET_SIZE);
	vault = open_with(&own);
	assert_opens(vault, here, &sealed, "a secret");
	buf_fini(&sealed);
	vault_close(vault);
}

static void who_only_looks_makes_nothing(void **state)
{
	struct vault *vault = NULL;

	assert_int_equal(vault_open_there(folder, &own, &env, &vault, why, sizeof(why)),
			 VAULT_ABSENT);
	assert_int_equal(access(in_folder("master.key"), F_OK), -1);
	assert_int_equal(
		vault_open_there(in_folder("nowhere"), &own, &env, &vault, why, sizeof(why)),
		FAIL_CONFIG);
	assert_int_equal(access(in_folder("nowhere"), F_OK), -1);
	vault_close(open_with(&own));
	assert_int_equal(vault_open_there(folder, &own, &env, &vault, why, sizeof(why)), 0);
	vault_close(vault);
}

static void files_that_others_can_read_are_refused(void **state)
{
	vault_close(open_with(&own));
	assert_int_equal(chmod(in_folder("master.key"), 0640), 0);
	assert_refused(&own, "master.key can be read by others");
	assert_int_equal(chmod(in_folder("master.key"), 0600), 0);
	assert_int_equal(chmod(in_folder("vault.json"), 0604), 0);
	assert_refused(&own, "vault.json can be read by others");
	assert_int_equal(chmod(in_folder("vault.json"), 0600), 0);
	assert_int_equal(chmod(folder, 0750), 0);
	assert_refused(&own, "others can look into");
	assert_int_equal(chmod(folder, 0700), 0);
	vault_close(open_with(&own));
}

static void missing_master_key_is_not_made_again(void **state)
{
	vault_close(open_with(&own));
	assert_int_equal(remove(in_folder("master.key")), 0);
	assert_refused(&own, "master.key is missing: put the master key back");
	assert_int_equal(access(in_folder("master.key"), F_OK), -1);
}

static void wrong_master_key_is_refused(void **state)
{
	vault_close(open_with(&own));
	put_file("master.key", "0123456789abcdef0123456789abcdef", 0600);
	assert_refused(&own, "the master key does not open");
	put_file("master.key", "short", 0600);
	assert_refused(&own, "is no master key");
}

static void changed_wrapping_is_refused(void **state)
{
	char *digit;

	vault_close(open_with(&own));
	digit = strstr((char *)(uintptr_t)get_file("vault.json"), "wrapped\":\"") + 60;
	*digit = *digit == '0' ? '1' : '0';
	put_file("vault.json", text, 0600);
	assert_refused(&own, "does not open");
	put_file("vault.json", "{\"version\":2}", 0600);
	assert_refused(&own, "newer counterfoil");
	put_file("vault.json", "", 0600);
	assert_refused(&own, "vault.json is no JSON");
}

static void master_key_may_be_elsewhere(void **state)
{
	const char *hex = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n";
	struct vault_master file = {.file = put_file("elsewhere", hex, 0400)};
	struct vault_master credential = {.credential = STR("elsewhere")};
	struct vault *vault = open_with(&file);
	struct buf sealed = seal(vault, here, "a secret");

	vault_close(vault);
	assert_int_equal(access(in_folder("master.key"), F_OK), -1);
	unsetenv("CREDENTIALS_DIRECTORY");
	assert_refused(&credential, "there is no CREDENTIALS_DIRECTORY");
	setenv("CREDENTIALS_DIRECTORY", folder, 1);
	vault = open_with(&credential);
	assert_opens(vault, here, &sealed, "a secret");
	vault_close(vault);
	credential.credential = STR("../elsewhere");
	assert_refused(&credential, "a name without slashes");
	assert_int_equal(chmod(in_folder("elsewhere"), 0444), 0);
	assert_refused(&file, "elsewhere can be read by others");
	buf_fini(&sealed);
}

static void named_file_is_not_made(void **state)
{
	struct vault_master file = {.file = STR("/tmp/counterfoil-no-such-key")};

	assert_refused(&file, "is missing: make it (head -c 32 /dev/urandom)");
	assert_int_equal(access(in_folder("vault.json"), F_OK), -1);
}

static void passphrase_opens_and_another_does_not(void **state)
{
	struct vault_master right = {.passphrase_file = put_file("p", "correct horse\n", 0600)};
	struct vault_master same = {.passphrase_file = put_file("q", "correct horse", 0600)};
	struct vault_master wrong = {.passphrase_file = put_file("w", "battery staple", 0600)};
	struct vault_master brief = {.passphrase_file = put_file("b", "short", 0600)};

	assert_refused(&brief, "too short");
	vault_close(open_with(&right));
	assert_non_null(strstr(get_file("vault.json"), "\"kind\":\"argon2id\",\"salt\":\""));
	vault_close(open_with(&same));
	assert_refused(&wrong, "does not open");
	assert_refused(&own, "is wrapped by a passphrase, and the settings name a key");
}

/* -- changes ----------------------------------------------------------------------- */

static void new_data_key_seals_and_the_old_one_still_opens(void **state)
{
	struct vault *vault = open_with(&own), *later;
	struct buf old = seal(vault, here, "old"), new;
	struct str opened;
	uint32_t number = 0;

	assert_int_equal(vault_add_key(folder, &own, &env, &number, why, sizeof(why)), 0);
	assert_int_equal(number, 2);
	assert_int_equal(vault_newest_key(vault), 1); /* until it looks again */
	later = open_with(&own);
	new = seal(later, here, "new");
	assert_int_equal(new.at[4], 2);
	assert_opens(later, here, &old, "old");
	assert_int_equal(vault_unseal(vault, here, buf_str(&new), &mem, &opened), VAULT_NO_KEY);
	assert_int_equal(vault_reload(vault, &own, why, sizeof(why)), 0);
	assert_int_equal(vault_key_count(vault), 2);
	assert_opens(vault, here, &new, "new");
	vault_close(vault);
	vault_close(later);
	buf_fini(&old);
	buf_fini(&new);
}

static void data_keys_have_a_bound(void **state)
{
	uint32_t number;

	vault_close(open_with(&own));
	for (int i = 1; i < VAULT_KEYS_MAX; i++)
		assert_int_equal(vault_add_key(folder, &own, &env, &number, why, sizeof(why)), 0);
	assert_int_equal(vault_add_key(folder, &own, &env, &number, why, sizeof(why)), FAIL_LIMIT);
	vault_close(open_with(&own));
}

static void new_master_key_takes_the_place_of_the_old(void **state)
{
	struct vault *vault = open_with(&own);
	struct buf sealed = seal(vault, here, "a secret");
	char old[VAULT_SECRET_SIZE + 1];

	memcpy(old, get_file("master.key"), VAULT_SECRET_SIZE);
	assert_int_equal(vault_rewrap(folder, &own, &own, &env, why, sizeof(why)), 0);
	assert_memory_not_equal(old, get_file("master.key"), VAULT_SECRET_SIZE);
	assert_opens(vault, here, &sealed, "a secret"); /* whoever runs notices nothing */
	assert_int_equal(vault_reload(vault, &own, why, sizeof(why)), 0);
	vault_close(vault);
	vault = open_with(&own);
	assert_opens(vault, here, &sealed, "a secret");
	vault_close(vault);
	buf_fini(&sealed);
}

static void master_key_moves_to_a_passphrase_and_back(void **state)
{
	struct vault_master words = {.passphrase_file = put_file("p", "correct horse", 0600)};
	struct vault *vault = open_with(&own);
	struct buf sealed = seal(vault, here, "a secret");

	vault_close(vault);
	assert_int_equal(vault_rewrap(folder, &own, &words, &env, why, sizeof(why)), 0);
	assert_refused(&own, "is wrapped by a passphrase");
	vault = open_with(&words);
	assert_opens(vault, here, &sealed, "a secret");
	vault_close(vault);
	assert_int_equal(vault_rewrap(folder, &words, &own, &env, why, sizeof(why)), 0);
	vault = open_with(&own);
	assert_opens(vault, here, &sealed, "a secret");
	vault_close(vault);
	buf_fini(&sealed);
}

/* The process ended between the two files: vault.json is wrapped by the key beside the old one. */
static void half_a_rewrapping_is_finished(void **state)
{
	char old[VAULT_SECRET_SIZE + 1] = "";
	char next[160], now[160];

	vault_close(open_with(&own));
	snprintf(next, sizeof(next), "%s/master.key.next", folder);
	snprintf(now, sizeof(now), "%s/master.key", folder);
	memcpy(old, get_file("master.key"), VAULT_SECRET_SIZE);
	assert_int_equal(vault_rewrap(folder, &own, &own, &env, why, sizeof(why)), 0);
	assert_int_equal(rename(now, next), 0);
	FILE *file = fopen(now, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(old, 1, VAULT_SECRET_SIZE, file), VAULT_SECRET_SIZE);
	fclose(file);
	assert_int_equal(chmod(now, 0600), 0);
	vault_close(open_with(&own));
	assert_int_equal(access(next, F_OK), -1);
	vault_close(open_with(&own));
}

static void rewrapping_with_a_wrong_key_changes_nothing(void **state)
{
	struct vault_master file = {
		.file = put_file("k", "0123456789abcdef0123456789abcdef", 0600)};
	char before[sizeof(text)];

	vault_close(open_with(&own));
	memcpy(before, get_file("vault.json"), sizeof(before));
	assert_int_equal(vault_rewrap(folder, &file, &own, &env, why, sizeof(why)), FAIL_CONFIG);
	assert_string_equal(before, get_file("vault.json"));
	file.file = STR("/tmp/counterfoil-no-such-key");
	assert_int_equal(vault_rewrap(folder, &own, &file, &env, why, sizeof(why)), FAIL_CONFIG);
	assert_string_equal(before, get_file("vault.json"));
	vault_close(open_with(&own));
}

static void other_vaults_file_is_not_taken_over(void **state)
{
	struct vault *vault = open_with(&own);

	assert_int_equal(remove(in_folder("vault.json")), 0);
	vault_close(open_with(&own));
	assert_int_equal(vault_reload(vault, &own, why, sizeof(why)), FAIL_CONFIG);
	assert_non_null(strstr(why, "was changed"));
	vault_close(vault);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(what_is_sealed_opens_in_its_place),
		ROW(parts_are_sealed_as_one),
		ROW(no_text_is_sealed_twice_alike),
		ROW(other_place_stays_closed),
		ROW(each_changed_bit_is_seen),
		ROW(full_arena_is_no_lie),
		ROW(other_vault_opens_nothing),
		ROW(opens_again),
		ROW(who_only_looks_makes_nothing),
		ROW(files_that_others_can_read_are_refused),
		ROW(missing_master_key_is_not_made_again),
		ROW(wrong_master_key_is_refused),
		ROW(changed_wrapping_is_refused),
		ROW(master_key_may_be_elsewhere),
		ROW(named_file_is_not_made),
		ROW(passphrase_opens_and_another_does_not),
		ROW(new_data_key_seals_and_the_old_one_still_opens),
		ROW(data_keys_have_a_bound),
		ROW(new_master_key_takes_the_place_of_the_old),
		ROW(master_key_moves_to_a_passphrase_and_back),
		ROW(half_a_rewrapping_is_finished),
		ROW(rewrapping_with_a_wrong_key_changes_nothing),
		ROW(other_vaults_file_is_not_taken_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
