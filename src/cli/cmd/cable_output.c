/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Missing, additional and swapped cables as JSON and as text. */
#include "cable_output.h"

#include "ends.h"
#include "json.h"
#include "output.h"
#include "text.h"

#include <portmajor/memory/xalloc.h>

#include <stdio.h>
#include <stdlib.h>

#define NAMED 8 /* of a kind */

/* ---- JSON ---- */

static json_t *describe_end(const struct pm_fabric *fabric, uint32_t port)
{
	const struct pm_port *p = &fabric->ports[port];

	return pm_json_end(fabric, fabric->nodes[p->node].guid, p->num);
}

static json_t *describe_cables(const struct pm_fabric *fabric, const uint32_t *ports,
			       uint32_t num)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < num; i++)
		json_array_append_new(
			list,
			json_pack("{s:[o, o]}", "ends", describe_end(fabric, ports[i]),
				  describe_end(fabric, fabric->ports[ports[i]].peer)));
	return list;
}

static json_t *describe_swapped(const struct pm_fabric *fabric,
				const struct pm_cable_diff *diff)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < diff->num_swapped; i++) {
		const struct pm_swapped_cable *s = &diff->swapped[i];

		json_array_append_new(
			list,
			json_pack("{s:[o, o], s:[o, o], s:i}", "ends",
				  describe_end(fabric, s->port),
				  describe_end(fabric, fabric->ports[s->port].peer),
				  "found", describe_end(fabric, s->port),
				  describe_end(fabric, s->found), "swap", (int)s->cycle));
	}
	return list;
}

json_t *cable_diff_describe(const struct pm_fabric *wanted, const struct pm_fabric *found)
{
	struct pm_cable_diff diff;
	json_t *cables;

	if (pm_cable_diff_find(wanted, found, &diff, NULL))
		pm_no_memory();
	cables = json_pack("{s:o, s:o, s:o}", "missing",
			   describe_cables(wanted, diff.missing, diff.num_missing),
			   "additional",
			   describe_cables(found, diff.additional, diff.num_additional),
			   "swapped", describe_swapped(wanted, &diff));
	pm_cable_diff_free(&diff);
	return cables;
}

/* ---- Text ---- */

/* The name of one of two ends; the caller frees this and the following texts. */
static char *name_end_of(const json_t *ends, size_t which)
{
	json_t *end = json_pack("{s:[O]}", "ends", json_array_get(ends, which));
	char *name = cli_ends_name(end);

	json_decref(end);
	return name;
}

/* `leaf0[20]-s1[3]`; of a swapped cable: `leaf0[20] leads to s2[3], not s1[3]`. */
static char *name_cable(const json_t *cable)
{
	const json_t *ends = json_object_get(cable, "ends");
	const json_t *found = json_object_get(cable, "found");
	char *from, *to, *instead, *text;

	if (!found)
		return cli_ends_name(cable);
	from = name_end_of(ends, 0);
	to = name_end_of(found, 1);
	instead = name_end_of(ends, 1);
	text = cli_text_make("%s leads to %s, not %s", from, to, instead);
	free(from);
	free(to);
	free(instead);
	return text;
}

static const char *const kinds[] = {"missing", "additional", "swapped"};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

bool cable_diff_any(const json_t *cables)
{
	for (size_t i = 0; i < KINDS; i++)
		if (json_array_size(json_object_get(cables, kinds[i])))
			return true;
	return false;
}

void cable_diff_print(const json_t *cables, bool all)
{
	cli_text_print(cables, "cables: missing {#missing}, additional {#additional}, "
			       "swapped {#swapped}\n");
	for (size_t i = 0; i < KINDS; i++) {
		const json_t *list = json_object_get(cables, kinds[i]), *cable;
		size_t k;

		json_array_foreach(list, k, cable) {
			char *name;

			if (k == NAMED && !all) {
				printf("cable %s: and %zu more\n", kinds[i],
				       json_array_size(list) - k);
				break;
			}
			name = name_cable(cable);
			printf("cable %s: ", kinds[i]);
			cli_text_put(name);
			putchar('\n');
			free(name);
		}
	}
}

/* Joins two texts, and frees the first; if that is NULL, copies the second. */
static char *join_texts(char *text, const char *between, const char *more)
{
	char *both = text ? cli_text_make("%s%s%s", text, between, more)
			  : cli_text_make("%s", more);

	free(text);
	return both;
}

/* "1 missing (leaf0[20]-s1[3])" */
static char *list_kind(const json_t *list, const char *kind)
{
	char *names = NULL, *text;
	const json_t *cable;
	size_t i;

	json_array_foreach(list, i, cable) {
		char *name = i < NAMED ? name_cable(cable) : cli_text_make("..");

		names = join_texts(names, "; ", name);
		free(name);
		if (i == NAMED)
			break;
	}
	text = cli_text_make("%zu %s (%s)", json_array_size(list), kind, names);
	free(names);
	return text;
}

char *cable_diff_finding(const json_t *cables, const char *file)
{
	char *text = NULL, *all;

	for (size_t i = 0; i < KINDS; i++) {
		const json_t *list = json_object_get(cables, kinds[i]);
		char *kind;

		if (!json_array_size(list))
			continue;
		kind = list_kind(list, kinds[i]);
		text = join_texts(text, ", ", kind);
		free(kind);
	}
	if (!text)
		return NULL;
	all = cli_text_make("cables are not those of %s: %s", file, text);
	free(text);
	return all;
}
