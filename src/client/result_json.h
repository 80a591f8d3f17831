/*
 * The JSON of results: the same object from `counterfoil call`, the C library and the bindings.
 *
 * Where there is no memory, the writer's buffer is spoiled or the body is null. Any thread.
 */
#ifndef CLIENT_RESULT_JSON_H
#define CLIENT_RESULT_JSON_H

#include "client/delivery.h"
#include "json/json.h"

/* The whole object. */
void result_json_write(struct json_writer *json, const struct delivery_result *result);

/* Members of it, into an object that is open: token, task, step, method, url; */
void result_json_step(struct json_writer *json, const struct step *step);
/* status, headers, body (and body_base64, where it is neither JSON nor text), file; */
void result_json_answer(struct json_writer *json, const struct kept_answer *answer);
/* retry, with its advice and seconds; */
void result_json_retry(struct json_writer *json, struct str advice, int64_t after_s);
/* and any number. */
void result_json_count(struct json_writer *json, const char *name, int64_t number);

#endif
