/* The payloads of certificates and seals: a signed note inside a JSON object. */
#include "audit/epoch.h"

#include "audit/tree.h"
#include "json/json.h"

#include <stdio.h>

static const struct str certificate_line = {"counterfoil/epoch-certificate/1", 31};
static const struct str seal_line = {"counterfoil/epoch-seal/1", 24};

static int write_note(const char *member, struct str first_line, const struct epoch_note *said,
		      const char *last_line, const struct note_signer *signer, struct buf *out)
{
	char root[CHECKPOINT_HASH_TEXT + 1];
	struct json_writer json;
	struct buf text, note;
	int r;

	buf_init(&text, EPOCH_NOTE_MAX);
	buf_init(&note, EPOCH_NOTE_MAX);
	checkpoint_hash_write(&said->root, root);
	r = buf_printf(&text, "%.*s\n%s\n%u\n%llu\n%s\n%s\n", STR_ARG(first_line),
		       signer->verifier.name, said->epoch, (unsigned long long)said->seq, root,
		       last_line);
	if (r == 0)
		r = note_sign(buf_str(&text), signer, &note);
	if (r == 0) {
		json_writer_init(&json, out);
		json_open_object(&json);
		json_name(&json, member);
		json_string(&json, buf_str(&note));
		json_close_object(&json);
		r = buf_append(out, NULL, 0); /* what became of the whole */
	}
	buf_fini(&note);
	buf_fini(&text);
	return r;
}

int epoch_certificate_write(const struct epoch_note *said, const struct note_signer *signer,
			    struct buf *out)
{
	char next[NOTE_KEY_MAX];

	note_verifier_write(&said->next, next);
	return write_note("certificate", certificate_line, said, next, signer, out);
}

int epoch_seal_write(const struct epoch_note *said, const struct note_signer *signer,
		     struct buf *out)
{
	char first[24];

	snprintf(first, sizeof(first), "%llu", (unsigned long long)said->first_seq);
	return write_note("seal", seal_line, said, first, signer, out);
}

/* The note in the only member of the object. */
static bool read_member(struct str payload, struct str name, struct arena *mem,
			struct note *out_note)
{
	struct json_value *object;
	struct json_error error;

	if (json_read(payload, &json_limits_default, mem, &object, &error) != 0 ||
	    object->type != JSON_OBJECT || object->object.count != 1 ||
	    !str_equal(object->object.members[0].name, name) ||
	    object->object.members[0].value->type != JSON_STRING)
		return false;
	return note_read(object->object.members[0].value->string, out_note);
}

/* All lines but the last, which is handed on. */
static bool read_lines(struct str first_line, struct str origin, struct epoch_note *said,
		       struct str *out_last)
{
	struct str rest = str_of(said->note.text.at, said->note.text.len - 1), line;
	uint64_t number;

	if (!str_split(&rest, '\n', &line) || !str_equal(line, first_line))
		return false;
	if (!str_split(&rest, '\n', &line) || !str_equal(line, origin))
		return false;
	if (!str_split(&rest, '\n', &line) || !checkpoint_number_read(line, &number) ||
	    number > UINT32_MAX)
		return false;
	said->epoch = (uint32_t)number;
	if (!str_split(&rest, '\n', &line) || !checkpoint_number_read(line, &said->seq))
		return false;
	if (!str_split(&rest, '\n', &line) || !checkpoint_hash_read(line, &said->root))
		return false;
	return str_split(&rest, '\n', out_last) && !rest.at;
}

bool epoch_certificate_read(struct str payload, struct str origin, struct arena *mem,
			    struct epoch_note *out_said)
{
	struct str last;

	/* The next key is this log's too: it has the origin's name. */
	return read_member(payload, STR("certificate"), mem, &out_said->note) &&
	       read_lines(certificate_line, origin, out_said, &last) &&
	       note_verifier_read(last, &out_said->next) &&
	       str_equal(str_from(out_said->next.name), origin);
}

bool epoch_seal_read(struct str payload, struct str origin, struct arena *mem,
		     struct epoch_note *out_said)
{
	struct str last;

	return read_member(payload, STR("seal"), mem, &out_said->note) &&
	       read_lines(seal_line, origin, out_said, &last) &&
	       checkpoint_number_read(last, &out_said->first_seq);
}
