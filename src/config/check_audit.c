/*
 * The audit log's settings: its name, and whom its checkpoints go to.
 *
 * An anchor or a witness is there against somebody on the way, too: without TLS it has to be on
 * this machine.
 */
#include "audit/note.h"
#include "audit/remote.h"
#include "audit/witness.h"
#include "base/err.h"
#include "config/table.h"
#include "config/values.h"

enum { URL_MAX = REMOTE_URL_MAX - 1 };

static void check_origin(struct reading *reading)
{
	struct str origin = reading->settings->audit.origin;

	if (check_is_refused(reading, "audit.origin") || !origin.len || note_name_is_good(origin))
		return;
	report_add(reading->report, check_place(reading, "audit.origin"),
		   "write a name like counterfoil.example.com/payments",
		   "audit.origin has spaces or a +, or more than 255 bytes");
}

/* The URL in its one spelling takes the place of `text`. */
static int check_url(struct reading *reading, const struct node *item, const char *what,
		     struct str text, struct str *out_url)
{
	struct settings_url url;
	struct value_refusal refusal;
	int r = value_url(text, &reading->settings->mem, &url, &refusal);

	if (r < 0)
		return r;
	if (r > 0) {
		report_add(reading->report, item->place, refusal.mend, "%s %.*s %s", what,
			   STR_ARG(text), refusal.what);
		return 0;
	}
	if (url.text.len > URL_MAX)
		report_add(reading->report, item->place, "write a shorter one",
			   "%s has a URL of more than %d bytes", what, (int)URL_MAX);
	if (!url.is_tls && !url_is_of_this_machine(&url))
		report_add(reading->report, item->place, "write an https:// URL",
			   "%s %.*s is on another machine, without TLS", what, STR_ARG(text));
	*out_url = url.text;
	return 0;
}

/* The texts are there, one for each item. */
static bool are_whole(const struct node *list, const struct text_list *texts)
{
	return list && !list->is_refused && list->kind == NODE_LIST && list->count == texts->count;
}

static int check_anchors(struct reading *reading)
{
	const struct node *list = node_at(reading->root, "audit.anchors");
	struct text_list *anchors = &reading->settings->audit.anchors;
	size_t i = 0;
	int r = 0;

	if (!are_whole(list, anchors))
		return 0;
	for (const struct node *item = list->first; r == 0 && item; item = item->next, i++)
		if (remote_is_url(anchors->texts[i]))
			r = check_url(reading, item, "the anchor", anchors->texts[i],
				      &anchors->texts[i]);
	return r;
}

static int check_witness(struct reading *reading, const struct node *item, struct str *setting)
{
	struct note_verifier key;
	struct str url, key_text;
	int r;

	if (!witness_setting_read(*setting, &url, &key)) {
		report_add(reading->report, item->place,
			   "write its URL, a blank, and its key: name+id+base64 with the algorithm "
			   "4, of Ed25519 cosignatures",
			   "the witness %.*s is not a URL and the key of a witness",
			   STR_ARG(*setting));
		return 0;
	}
	key_text = str_trim(str_from_index(*setting, url.len));
	r = check_url(reading, item, "the witness", url, &url);
	if (r != 0)
		return r;
	setting->at =
		arena_printf(&reading->settings->mem, "%.*s %.*s", STR_ARG(url), STR_ARG(key_text))
			.at;
	setting->len = url.len + 1 + key_text.len;
	return setting->at ? 0 : FAIL_MEMORY;
}

static int check_witnesses(struct reading *reading)
{
	const struct node *list = node_at(reading->root, "audit.witnesses");
	struct text_list *witnesses = &reading->settings->audit.witnesses;
	size_t i = 0;
	int r = 0;

	if (!are_whole(list, witnesses))
		return 0;
	for (const struct node *item = list->first; r == 0 && item; item = item->next, i++)
		r = check_witness(reading, item, &witnesses->texts[i]);
	return r;
}

int check_audit(struct reading *reading)
{
	int r;

	check_origin(reading);
	r = check_anchors(reading);
	return r == 0 ? check_witnesses(reading) : r;
}
