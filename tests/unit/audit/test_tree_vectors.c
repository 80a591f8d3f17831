/*
 * The proofs that others publish (Apache-2.0; testdata of a tree library) hold or not, as each
 * file says.
 *
 * They are no part of this repository. They are looked for in $COUNTERFOIL_VECTORS, else in
 * shared/vectors beside the checkout or beside a folder that it is in. Without them nothing
 * is tested, and the program says so by exit status 77.
 */
#include "vectors.h"

#include "audit/checkpoint.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { SKIPPED = 77, UP_MAX = 4 };

static char folder[4096];
static size_t file_count;

static bool find_vectors(void)
{
	const char *named = getenv("COUNTERFOIL_VECTORS"), *source = getenv("COUNTERFOIL_SOURCE");
	char up[3 * UP_MAX + 1] = "";

	if (named) {
		snprintf(folder, sizeof(folder), "%s/rfc6962/testdata", named);
		return access(folder, R_OK) == 0;
	}
	for (int i = 0; i < UP_MAX && source; i++) {
		memcpy(up + 3 * i, "../", 4);
		snprintf(folder, sizeof(folder), "%s/%sshared/vectors/rfc6962/testdata", source,
			 up);
		if (access(folder, R_OK) == 0)
			return true;
	}
	return false;
}

/* What is no hash, and what is no size, cannot be asked of us: refused before. */
static bool read_hash(struct json_value *value, const char *name, struct hash *out_hash)
{
	return checkpoint_hash_read(json_member(value, str_from(name))->string, out_hash);
}

/* Where no hash matters the files have other texts; equal ones become equal hashes. */
static void read_any(struct json_value *value, const char *name, struct hash *out_hash)
{
	struct str text = json_member(value, str_from(name))->string;

	if (!checkpoint_hash_read(text, out_hash))
		hash_bytes(text.at, text.len, out_hash);
}

static bool read_number(struct json_value *value, const char *name, uint64_t *out_number)
{
	int64_t number = -1;
	struct json_value *member = json_member(value, str_from(name));

	if (!json_number_to_i64(&member->number, &number) || number < 0)
		return false;
	*out_number = (uint64_t)number;
	return true;
}

static bool read_proof(struct json_value *value, struct tree_proof *proof)
{
	struct json_value *hashes = json_member(value, STR("proof"));

	proof->count = 0;
	for (size_t i = 0; hashes->type == JSON_ARRAY && i < hashes->array.count; i++) {
		if (proof->count == TREE_PROOF_MAX ||
		    !checkpoint_hash_read(hashes->array.items[i]->string,
					  &proof->hashes[proof->count++]))
			return false;
	}
	return true;
}

static bool inclusion_holds(struct json_value *value)
{
	struct hash leaf, root;
	struct tree_proof proof;
	uint64_t index, size;

	return read_number(value, "leafIdx", &index) && read_number(value, "treeSize", &size) &&
	       read_hash(value, "leafHash", &leaf) && read_hash(value, "root", &root) &&
	       read_proof(value, &proof) && tree_inclusion_holds(&proof, index, size, &leaf, &root);
}

static bool consistency_holds(struct json_value *value)
{
	struct hash before, root;
	struct tree_proof proof;
	uint64_t old_size, size;

	read_any(value, "root1", &before);
	read_any(value, "root2", &root);
	return read_number(value, "size1", &old_size) && read_number(value, "size2", &size) &&
	       read_proof(value, &proof) &&
	       tree_consistency_holds(&proof, old_size, size, &before, &root);
}

static int check_file(const char *path, const struct stat *stat, int kind, struct FTW *place)
{
	struct json_value *value;
	bool want, got;

	if (kind != FTW_F)
		return 0;
	value = vectors_read(path);
	want = json_member(value, STR("wantErr"))->type == JSON_FALSE;
	got = json_member(value, STR("leafIdx")) ? inclusion_holds(value)
						 : consistency_holds(value);
	if (want != got)
		fail_msg("%s: %s", path, got ? "holds" : "does not hold");
	file_count++;
	return 0;
}

static void check_folder(const char *name)
{
	char path[8192];

	file_count = 0;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(nftw(path, check_file, 8, FTW_PHYS), 0);
	assert_true(file_count > 50);
}

static void test_inclusion(void **state)
{
	check_folder("inclusion");
}

static void test_consistency(void **state)
{
	check_folder("consistency");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inclusion),
		cmocka_unit_test(test_consistency),
	};

	if (!find_vectors()) {
		fprintf(stderr, "skipped: no shared/vectors beside the checkout, and "
				"COUNTERFOIL_VECTORS does not name them\n");
		return SKIPPED;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
