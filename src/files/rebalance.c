/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads and writes requests for rebalancing. */
#include <portmajor/base/lexer.h>
#include <portmajor/base/textfile.h>
#include <portmajor/files/rebalance.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define MAX_FILE ((size_t)1 << 20)

static int parse_request_line(const struct pm_lexer *lexer, struct pm_text line,
			      struct pm_rebalance *request)
{
	struct pm_text rest = pm_text_before(line, '#'), key, more;
	uint64_t rate;

	if (!pm_text_take_word(&rest, &key))
		return 0;
	if (!pm_text_is(key, "rate"))
		return pm_lexer_fail(lexer, "unknown key \"%.*s\"", PM_SHOWN(key));
	if (request->rate)
		return pm_lexer_fail(lexer, "rate was given already");
	pm_text_skip_blanks(&rest);
	more = rest;
	if (!pm_text_take_number(&rest, 10, PM_REBALANCE_RATE_MAX, &rate) || !rate ||
	    pm_text_take_word(&rest, &key))
		return pm_lexer_fail(
			lexer, "rate must be 1 to %d blocks per second, not \"%.*s\"",
			PM_REBALANCE_RATE_MAX, PM_SHOWN(more));
	request->rate = (uint32_t)rate;
	return 0;
}

int pm_rebalance_parse(const char *text, const char *source, struct pm_rebalance *request,
		       struct pm_error *err)
{
	struct pm_lexer lexer = pm_lexer_begin(text, strlen(text), source, -EINVAL, err);
	struct pm_rebalance result = {0};
	struct pm_text line;
	int rc = 0;

	while (!rc && pm_lexer_next(&lexer, &line))
		rc = parse_request_line(&lexer, line, &result);
	if (!rc)
		*request = result;
	return rc;
}

int pm_rebalance_read(const char *path, struct pm_rebalance *request,
		      struct pm_error *err)
{
	char *text = NULL;
	int rc = pm_textfile_read_string(path, MAX_FILE, &text, err);

	if (!rc)
		rc = pm_rebalance_parse(text, path, request, err);
	free(text);
	return rc;
}

void pm_rebalance_print(const struct pm_rebalance *request, FILE *file)
{
	if (request->rate)
		fprintf(file, "rate %" PRIu32 "\n", request->rate);
}
