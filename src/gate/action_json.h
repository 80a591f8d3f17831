/*
 * The rules of a declared action as JSON, for whoever is about to send one.
 */
#ifndef GATE_ACTION_JSON_H
#define GATE_ACTION_JSON_H

#include "config/settings.h"
#include "json/json.h"

/*
 * The member `rules`: who sends it, whether it needs a token, and an object for each rule that it
 * is under. Nothing of what a rule is secretly made of (probes, secrets) is in it.
 */
void action_rules_json(struct json_writer *json, const struct settings *settings,
		       const struct action *action);

#endif
