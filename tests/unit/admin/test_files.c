/* Shows that the admin token is made once, for its owner alone, that a file which others can
 * read or which holds something else is refused, and that gate.json is whole and private. */
#include "admin_test.h"

#include "admin/files.h"
#include "json/json.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIGITS "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct place {
	char directory[64];
	char token_file[96], gate_file[96];
	char token[65], why[256];
};

static int set_up(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	snprintf(place->directory, sizeof(place->directory), "/tmp/counterfoil-admin-XXXXXX");
	assert_non_null(mkdtemp(place->directory));
	snprintf(place->token_file, sizeof(place->token_file), "%s/admin-token", place->directory);
	snprintf(place->gate_file, sizeof(place->gate_file), "%s/gate.json", place->directory);
	*state = place;
	return 0;
}

static int tear_down(void **state)
{
	struct place *place = *state;

	unlink(place->token_file);
	unlink(place->gate_file);
	assert_int_equal(rmdir(place->directory), 0); /* nothing else was left behind */
	free(place);
	return 0;
}

static int read_token(struct place *place)
{
	return admin_token_file(place->directory, &env_machine, place->token, place->why,
				sizeof(place->why));
}

static void write_token(struct place *place, const char *text, size_t len, mode_t mode)
{
	int fd = open(place->token_file, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static mode_t mode_of(const char *path)
{
	struct stat facts;

	assert_int_equal(stat(path, &facts), 0);
	return facts.st_mode & 07777;
}

static void count_up(const struct env *env, void *out, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((uint8_t *)out)[i] = (uint8_t)i;
}

static void a_token_is_made_of_randomness_for_its_owner_alone(void **state)
{
	static const char expected[] =
		"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
	const struct env env = {.random = count_up};
	struct place *place = *state;
	char text[128] = "";
	mode_t before = umask(0);
	int fd;

	assert_int_equal(admin_token_file(place->directory, &env, place->token, place->why, 256),
			 0);
	umask(before);
	assert_string_equal(place->token, expected);
	assert_int_equal(mode_of(place->token_file), 0600); /* whatever the umask */
	fd = open(place->token_file, O_RDONLY);
	assert_int_equal(read(fd, text, sizeof(text) - 1), 65);
	close(fd);
	assert_memory_equal(text, expected, 64);
	assert_int_equal(text[64], '\n');
}

static void a_token_that_was_made_is_read_again(void **state)
{
	struct place *place = *state;
	char first[65];

	assert_int_equal(read_token(place), 0);
	memcpy(first, place->token, sizeof(first));
	assert_int_equal(strlen(first), 64);
	assert_int_equal(read_token(place), 0);
	assert_string_equal(place->token, first);
}

static void two_places_have_two_tokens(void **state)
{
	struct place *place = *state;
	char first[65];

	assert_int_equal(read_token(place), 0);
	memcpy(first, place->token, sizeof(first));
	unlink(place->token_file);
	assert_int_equal(read_token(place), 0);
	assert_string_not_equal(place->token, first);
}

static void a_token_may_be_written_by_hand(void **state)
{
	struct place *place = *state;

	write_token(place, DIGITS, 64, 0600);
	assert_int_equal(read_token(place), 0);
	assert_string_equal(place->token, DIGITS);
	write_token(place, DIGITS "\n", 65, 0400);
	assert_int_equal(read_token(place), 0);
	assert_string_equal(place->token, DIGITS);
}

static void a_token_that_others_can_reach_is_refused(void **state)
{
	static const mode_t modes[] = {0640, 0604, 0644, 0620, 0602, 0610, 0601, 0777};
	struct place *place = *state;

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		write_token(place, DIGITS "\n", 65, modes[i]);
		place->token[0] = '\0';
		assert_int_equal(read_token(place), FAIL_CONFIG);
		assert_non_null(strstr(place->why, "chmod 600"));
		assert_non_null(strstr(place->why, place->token_file));
		assert_string_equal(place->token, "");
		assert_int_equal(mode_of(place->token_file), modes[i]); /* left as it is */
	}
}

static void a_file_that_holds_something_else_is_refused_and_left(void **state)
{
	static const char *const texts[] = {
		"",
		"\n",
		"0123456789abcdef",
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n",
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdeg\n",
		" " DIGITS "\n",
		DIGITS "0\n",
		DIGITS "0",
		DIGITS " ",
		DIGITS "\n\n",
		DIGITS "\n" DIGITS "\n",
	};
	struct place *place = *state;
	struct stat facts;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		write_token(place, texts[i], strlen(texts[i]), 0600);
		if (read_token(place) != FAIL_CONFIG)
			print_error("accepted: \"%s\"\n", texts[i]);
		assert_int_equal(read_token(place), FAIL_CONFIG);
		assert_non_null(strstr(place->why, place->token_file));
		assert_int_equal(stat(place->token_file, &facts), 0);
		assert_int_equal(facts.st_size, strlen(texts[i]));
	}
}

static void a_directory_that_is_not_there_is_named(void **state)
{
	struct place *place = *state;

	assert_int_equal(admin_token_file("/nonexistent/place", &env_machine, place->token,
					  place->why, sizeof(place->why)),
			 FAIL_IO);
	assert_non_null(strstr(place->why, "/nonexistent/place"));
}

static void a_path_that_is_too_long_is_refused(void **state)
{
	struct place *place = *state;
	char *path = malloc(5000);

	memset(path, 'd', 4999);
	path[4999] = '\0';
	assert_int_equal(admin_token_file(path, &env_machine, place->token, place->why, 256),
			 FAIL_CONFIG);
	assert_int_equal(admin_write_gate_file(path, "a", "b", place->why, 256), FAIL_CONFIG);
	admin_remove_gate_file(path);
	free(path);
}

/* gate.json. */

static void assert_says(const struct json_value *json, const char *name, const char *expected)
{
	struct json_value *value = json_member(json, str_from(name));

	assert_non_null(value);
	assert_int_equal(value->type, JSON_STRING);
	assert_true(str_equal(value->string, str_from(expected)));
}

static void the_gates_file_is_json_for_its_owner_and_goes_with_it(void **state)
{
	struct place *place = *state;
	struct json_value *json, *pid;
	struct json_error error;
	struct arena mem;
	char text[512];
	ssize_t len;
	int64_t number;
	int fd;

	for (int round = 0; round < 2; round++) /* the second replaces the first */
		assert_int_equal(admin_write_gate_file(place->directory, "127.0.0.1:1",
						       round ? "https://[::1]:2" : "old",
						       place->why, 256),
				 0);
	assert_int_equal(mode_of(place->gate_file), 0600);
	fd = open(place->gate_file, O_RDONLY);
	len = read(fd, text, sizeof(text));
	close(fd);
	assert_true(len > 0);
	arena_init(&mem, 64 * 1024);
	assert_int_equal(
		json_read(str_of(text, (size_t)len), &json_limits_default, &mem, &json, &error), 0);
	assert_says(json, "listen", "127.0.0.1:1");
	assert_says(json, "admin", "https://[::1]:2");
	pid = json_member(json, STR("pid"));
	assert_non_null(pid);
	assert_true(json_number_to_i64(&pid->number, &number));
	assert_int_equal(number, getpid());
	arena_fini(&mem);
	admin_remove_gate_file(place->directory);
	assert_int_not_equal(access(place->gate_file, F_OK), 0);
	admin_remove_gate_file(place->directory); /* nothing to remove: fine */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_token_is_made_of_randomness_for_its_owner_alone),
		TEST(a_token_that_was_made_is_read_again),
		TEST(two_places_have_two_tokens),
		TEST(a_token_may_be_written_by_hand),
		TEST(a_token_that_others_can_reach_is_refused),
		TEST(a_file_that_holds_something_else_is_refused_and_left),
		TEST(a_directory_that_is_not_there_is_named),
		TEST(a_path_that_is_too_long_is_refused),
		TEST(the_gates_file_is_json_for_its_owner_and_goes_with_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
