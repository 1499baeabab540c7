/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Any text gives a request that can be printed and read, or an error with its line. */
#include "fuzz.h"

#include <portmajor/base/print.h>
#include <portmajor/files/rebalance.h>

static int print(FILE *file, const void *arg)
{
	pm_rebalance_print(arg, file);
	return 0;
}

static void check_again(const struct pm_rebalance *request)
{
	struct pm_rebalance again;
	char *text;
	size_t length;

	if (pm_text_print(print, request, &text, &length))
		return;
	if (pm_rebalance_parse(text, "again", &again, NULL) ||
	    again.rate != request->rate || request->rate > PM_REBALANCE_RATE_MAX)
		abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_rebalance request;
	struct pm_error err = {""};
	char *text = strndup((const char *)data, size);
	int rc;

	if (!text)
		return 0;
	rc = pm_rebalance_parse(text, "in", &request, &err);
	if (rc && (rc != -EINVAL || strncmp(err.text, "in:", 3)))
		abort();
	if (!rc)
		check_again(&request);
	free(text);
	return 0;
}
