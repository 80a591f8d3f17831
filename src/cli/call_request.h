/*
 * The options of `counterfoil call`, and the request they make.
 */
#ifndef CLI_CALL_REQUEST_H
#define CLI_CALL_REQUEST_H

#include "cli/command.h"
#include "client/delivery.h"

enum {
	CALL_TASK,
	CALL_STEP,
	CALL_KEY,
	CALL_NEW,
	CALL_HEADER,
	CALL_DATA,
	CALL_OUTPUT,
	CALL_WAIT,
	CALL_HONOURS_KEY,
	CALL_SAME_ACCOUNT,
	CALL_CREDENTIAL_ENV,
	CALL_CREDENTIAL_FILE,
	CALL_JOURNAL,
	CALL_MAX_TIME,
	CALL_CONNECT_TIMEOUT,
	CALL_PROXY,
	CALL_NO_PROXY,
	CALL_CA_FILE,
	CALL_CERTIFICATE,
	CALL_CERTIFICATE_KEY,
	CALL_INSECURE,
	CALL_OPTIONS
};
extern const struct command_option call_options[CALL_OPTIONS];

enum {
	CALL_BODY_MAX = 64 * 1024 * 1024, /* bytes of a request's body */
	CALL_HEADER_FILE_MAX = 64 * 1024, /* bytes of a file of headers, or of a credential */
	CALL_SECONDS_MAX = 86400,
};

/*
 * The request that a command line means; everything lives in `mem`. EXIT_DONE, or the exit status
 * after a message.
 */
int call_request_read(const struct command_call *call, struct arena *mem,
		      struct delivery_request *out_request);

#endif
