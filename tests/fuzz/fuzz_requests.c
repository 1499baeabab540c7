/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Any text gives requests that read back the same, or an error; and, as a line of a
 * client, changes them as a whole or not at all.
 */
#include "fuzz.h"

#include <portmajor/files/answer.h>
#include <portmajor/files/requests.h>

/* The requests as a text, to be freed. */
static char *print(const struct pm_requests *requests)
{
	json_t *root = pm_requests_json(requests);
	char *text = json_dumps(root, 0);

	json_decref(root);
	return text;
}

static void read_back(const char *data, size_t size)
{
	struct pm_requests requests = {0}, again = {0};
	struct pm_error err = {""};
	char *text, *more;

	if (pm_requests_parse(data, size, "in", &requests, &err)) {
		if (strncmp(err.text, "in:", 3) || requests.number)
			abort();
		return;
	}
	text = print(&requests);
	if (pm_requests_parse(text, strlen(text), "out", &again, &err))
		abort();
	more = print(&again);
	if (strcmp(text, more))
		abort();
	free(text);
	free(more);
	pm_requests_free(&requests);
	pm_requests_free(&again);
}

static const char STATE[] =
	"{\"sm_state\": \"master\", \"flapping\": [{\"state\": \"on-hold\", \"ends\": "
	"[{\"guid\": \"0x1\", \"port\": 1}]}], \"missing\": {\"parts\": [{\"since\": 7, "
	"\"ends\": [{\"guid\": \"0x2\", \"port\": 0}]}]}}";

static void apply(const char *data, size_t size)
{
	json_t *line = json_loadb(data, size, JSON_REJECT_DUPLICATES, NULL);
	const struct pm_request_facts facts = {NULL, json_loads(STATE, 0, NULL), 5};
	struct pm_requests requests = {0};
	struct pm_answer_facts shown = {.state = facts.state};
	struct pm_error err = {""};
	uint64_t number;
	bool over;
	char *before = print(&requests), *after;
	int rc = pm_requests_apply(&requests, line, &facts, &number, &err);

	after = print(&requests);
	if (rc ? !err.text[0] || strcmp(before, after) != 0 : number > 1)
		abort();
	shown.requests = pm_requests_json(&requests);
	if (!rc)
		json_decref(pm_answer_make(line, number, &shown, &over));
	json_decref((json_t *)(uintptr_t)shown.requests);
	json_decref((json_t *)(uintptr_t)facts.state);
	json_decref(line);
	free(before);
	free(after);
	pm_requests_free(&requests);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_back((const char *)data, size);
	apply((const char *)data, size);
	return 0;
}
