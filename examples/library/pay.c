/*
 * Opens one ticket, however often it is run: pay URL TASK STEP.
 *
 *   cc pay.c $(pkg-config --cflags --libs counterfoil) -o pay
 */
#include <counterfoil.h>

#include <stdio.h>
#include <string.h>

static const char body[] = "{\"project\": \"web\", \"title\": \"Pay invoice 1873\"}";

static int fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, counterfoil_error());
	return 1;
}

static int pay(counterfoil_journal *journal, const counterfoil_request *request)
{
	char token[COUNTERFOIL_TOKEN_SIZE];
	counterfoil_result *result;
	int is_done;

	if (counterfoil_token(journal, request, token, sizeof(token)) != COUNTERFOIL_OK)
		return fail("token");
	if (counterfoil_send(journal, request, &result) != COUNTERFOIL_OK)
		return fail("send");
	printf("send %s %d %s\n", counterfoil_result_outcome(result),
	       counterfoil_result_status(result),
	       strcmp(token, counterfoil_result_token(result)) ? "another" : "token");
	counterfoil_result_free(result);

	if (counterfoil_resolve(journal, request, &result) != COUNTERFOIL_OK)
		return fail("resolve");
	is_done = strcmp(counterfoil_result_state(result), "done") == 0;
	printf("resolve %s %s\n", counterfoil_result_outcome(result),
	       counterfoil_result_advice(result));
	counterfoil_result_free(result);
	return is_done ? 0 : 1;
}

int main(int argc, char **argv)
{
	counterfoil_journal *journal = NULL;
	counterfoil_request *request;
	int status = 1;

	if (argc != 4) {
		fprintf(stderr, "usage: pay URL TASK STEP\n");
		return 2;
	}
	request = counterfoil_request_new("POST", argv[1]);
	if (!request || counterfoil_request_set_step(request, argv[2], argv[3]) != COUNTERFOIL_OK ||
	    counterfoil_request_set_body(request, "application/json", body, sizeof(body) - 1) !=
		    COUNTERFOIL_OK ||
	    counterfoil_journal_open(NULL, &journal) != COUNTERFOIL_OK)
		fail("pay");
	else
		status = pay(journal, request);
	counterfoil_journal_close(journal);
	counterfoil_request_free(request);
	return status;
}
