/*
 * Any bytes as a query, and as a path, of the gate's own resources.
 *
 * A query is read into filters within their bounds, or a sentence says what is wrong with it; what
 * was read says the same when it is written and read again. An account is taken only from those
 * who may choose one. Fuzzing starts at the first byte: its lowest bit says who may.
 */
#include "base/buf.h"
#include "base/err.h"
#include "gate/query.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { MEM_MAX = 1 << 20, QUERY_MAX = 1 << 20 };

static void write_value(struct buf *out, struct str name, struct str value)
{
	static const char digits[] = "0123456789ABCDEF";

	if (!value.len)
		return;
	buf_append_str(out, out->len ? STR("&") : STR(""));
	buf_append_str(out, name);
	buf_append_byte(out, '=');
	for (size_t i = 0; i < value.len; i++) {
		unsigned char c = (unsigned char)value.at[i];

		buf_append_byte(out, '%');
		buf_append_byte(out, digits[c >> 4]);
		buf_append_byte(out, digits[c & 15]);
	}
}

static void write_query(struct buf *out, const struct store_command *command)
{
	static const struct operation_id none;
	char id[OPERATION_ID_TEXT + 1];

	write_value(out, STR("token"), command->filter_token);
	write_value(out, STR("task"), command->filter_task);
	write_value(out, STR("action"), command->filter_action);
	write_value(out, STR("account"), command->filter_account);
	if (command->filter_state)
		write_value(out, STR("state"),
			    str_from(operation_state_name(command->filter_state)));
	if (memcmp(&command->before, &none, sizeof(none)) != 0) {
		operation_id_write(&command->before, id);
		write_value(out, STR("cursor"), str_from(id));
	}
	buf_append_str(out, out->len ? STR("&limit=") : STR("limit="));
	buf_append_u64(out, command->limit);
	require(!out->is_spoiled);
}

static void check_again(const struct store_command *command, struct arena *mem)
{
	struct store_command again = {.kind = STORE_LIST};
	struct buf query;

	buf_init(&query, QUERY_MAX);
	write_query(&query, command);
	require(query_list(buf_str(&query), true, mem, &again) == NULL);
	require(str_equal(again.filter_token, command->filter_token));
	require(str_equal(again.filter_task, command->filter_task));
	require(str_equal(again.filter_action, command->filter_action));
	require(str_equal(again.filter_account, command->filter_account));
	require(again.filter_state == command->filter_state);
	require(again.limit == command->limit);
	require(memcmp(&again.before, &command->before, sizeof(again.before)) == 0);
	buf_fini(&query);
}

static void check_query(struct str query, bool may_choose)
{
	struct store_command command = {.kind = STORE_LIST};
	const char *wrong;
	struct arena mem;
	struct str value;

	arena_init(&mem, 8 * query.len + MEM_MAX);
	wrong = query_list(query, may_choose, &mem, &command);
	require(!wrong || wrong[0]);
	require(may_choose || !command.filter_account.len);
	if (!wrong) {
		require(command.limit >= 1 && command.limit <= STORE_LIST_MAX);
		check_again(&command, &mem);
	}
	if (query_value(query, STR("wait"), &mem, &value))
		require(value.len <= query.len);
	arena_fini(&mem);
}

static void check_path(struct str path)
{
	struct operation_id id;
	struct str verb;

	if (!query_operation_path(path, STR("/o"), &id, &verb))
		return;
	require(str_starts_with_nocase(path, STR("/o/op_")));
	require(path.len == 3 + OPERATION_ID_TEXT + (verb.len ? 1 + verb.len : 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str input;

	if (!size)
		return 0;
	input = str_of((const char *)bytes + 1, size - 1);
	check_query(input, bytes[0] & 1);
	check_path(input);
	return 0;
}
