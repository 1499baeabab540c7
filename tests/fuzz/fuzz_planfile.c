/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Any bytes give a plan or an error; see plan_file.h. The checksum is corrected, so
 * that the code behind it is reached.
 */
#include "fuzz.h"

#include <portmajor/files/plan_file.h>
#include <portmajor/route/route.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 32);
	struct pm_plan *plan = NULL;
	struct pm_routes *routes = NULL;
	uint64_t hash = 0xcbf29ce484222325;
	int rc;

	if (!text)
		return 0;
	memcpy(text, data, size);
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ data[i]) * 0x100000001b3;
	snprintf(text + size, 32, "end %016llx\n", (unsigned long long)hash);
	rc = pm_plan_file_parse(text, size + 21, "in", &plan, NULL);
	if ((rc != 0) != (plan == NULL) || (rc && rc != -EBADMSG && rc != -ENOMEM))
		abort();
	/* An accepted plan can be routed. */
	if (plan && !pm_routes_make(plan, &routes, NULL))
		pm_routes_free(routes);
	pm_plan_free(plan);
	free(text);
	return 0;
}
