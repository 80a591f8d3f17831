/*
 * One HTTP request, sent once.
 *
 * libcurl may by itself send a request a second time, when a connection that was kept turns out
 * dead. Here each request has a connection of its own, and the second time one is about to be
 * written, it is ended instead. So what ends tells one of three certain things (core/outcome.h):
 * no byte left; bytes left and there is no whole answer; here is the whole answer.
 *
 * Redirects are never followed, answers never decoded. Proxies are those of the options, else those
 * of the environment, as with curl. Blocks; any thread, each with requests of its own.
 */
#ifndef CLIENT_WEB_H
#define CLIENT_WEB_H

#include "base/buf.h"
#include "base/str.h"
#include "core/outcome.h"

enum {
	WEB_ANSWER_MAX = 64 * 1024 * 1024, /* bytes of an answer's body */
	WEB_HEAD_MAX = 64 * 1024,	   /* bytes of its header lines */
	WEB_CONNECT_MS = 10000,		   /* how long a connection may take, where nobody says */
	WEB_REASON_MAX = 256,
};

/* How to get there. Zeroed: as libcurl does it. */
struct web_options {
	const char *proxy;	 /* URL; "": none at all; NULL: the environment's */
	const char *no_proxy;	 /* hosts that are reached without it; NULL: the environment's */
	const char *ca_file;	 /* PEM roots to trust; NULL: the system's */
	const char *certificate; /* PEM, of the client; NULL: none */
	const char *key;	 /* PEM, its private key; NULL: in `certificate` */
	bool is_insecure;	 /* the server's certificate is not checked */
	int64_t connect_ms;	 /* 0: WEB_CONNECT_MS */
};

struct web_request {
	const struct web_options *options;
	struct str method, url;
	struct str headers; /* "Name: value\r\n" lines, without Host and framing */
	struct str body;
	bool has_body;	    /* else the body is empty; a GET has none */
	int64_t timeout_ms; /* of all of it; at least 1 */
};

struct web_answer {
	enum sending sending;
	int status;	    /* where it was answered */
	struct buf headers; /* "Name: value\n" lines, without those of the connection */
	struct buf body;
	bool is_body_cut;	     /* it was over WEB_ANSWER_MAX: the rest was not read */
	char reason[WEB_REASON_MAX]; /* a sentence: why there is no answer */
};

void web_answer_init(struct web_answer *answer);
void web_answer_fini(struct web_answer *answer);

/* Send `request` into an initialised answer, which is emptied first. */
void web_ask(const struct web_request *request, struct web_answer *answer);

/* The value of a header, without regard to case; the first of several. Empty: there is none. */
struct str web_header(struct str headers, struct str name);

#endif
