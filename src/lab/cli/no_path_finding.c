/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Describes pairs of hosts without a path. */
#include "no_path_finding.h"

#include "json.h"
#include "output.h"
#include "text.h"

json_t *lab_no_path_json(const struct pm_no_path *found, uint32_t hosts, const char *from,
			 const char *to)
{
	if (!found->pairs)
		return json_null();
	return json_pack("{s:I, s:I, s:o, s:o}", "pairs", (json_int_t)found->pairs, "of",
			 (json_int_t)hosts * (hosts - 1), "from", pm_json_text(from),
			 "to", pm_json_text(to));
}

void lab_no_path_print(const json_t *object)
{
	const json_t *found = json_object_get(object, "no_path");

	if (json_is_object(found))
		cli_text_print(found, "finding: the tables have no path for {pairs} of "
				      "{of} pairs of hosts, as from {from} to {to}\n");
}

int lab_no_path_status(const json_t *object)
{
	return json_is_object(json_object_get(object, "no_path")) ? EXIT_FINDINGS
								  : EXIT_FINE;
}
