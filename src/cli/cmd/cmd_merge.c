/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor merge: joins the shards of a sweep. */
#include "commands.h"
#include "json.h"
#include "merge.h"
#include "summary_output.h"

#include <portmajor/memory/xalloc.h>

#include <stdlib.h>

/* The whole, as far as it was read. */
struct whole {
	struct settings settings; /* those of the first file */
	struct pm_failure_summary summary;
	struct names names; /* names in its rows */
	bool *present;	    /* [shard - 1] */
	uint32_t num_present;
};

/* Checks that the file is a shard of the same whole. */
static int check_shard(struct whole *whole, const struct settings *settings,
		       const char *path)
{
	if (!whole->present) {
		whole->settings = *settings;
		whole->summary.by = settings->by;
		whole->summary.worst = settings->worst;
		json_incref(settings->json);
		whole->present = pm_xarray(settings->num_shards, sizeof(*whole->present));
	}
	if (settings->num_shards != whole->settings.num_shards ||
	    !json_equal(settings->json, whole->settings.json))
		return cli_fail(
			EXIT_INPUT,
			"%s: of another fabric or with other options than the files "
			"before",
			path);
	if (whole->present[settings->shard - 1])
		return cli_fail(EXIT_INPUT, "%s: shard %u was there already", path,
				settings->shard);
	whole->present[settings->shard - 1] = true;
	whole->num_present++;
	return EXIT_FINE;
}

static int add_shard(void *to, json_t *object, const char *path)
{
	struct whole *whole = to;
	struct settings settings = {0};
	struct pm_failure_summary summary = {0};
	char text[SUMMARY_TEXT];
	int status;

	if (settings_read(&settings, object, text) ||
	    summary_read(&summary, &whole->names, &settings, object, text))
		status = cli_fail(EXIT_INPUT, "%s: %s", path, text);
	else
		status = check_shard(whole, &settings, path);
	if (!status && pm_failure_summary_merge(&whole->summary, &summary))
		pm_no_memory();
	pm_failure_summary_free(&summary);
	json_decref(settings.json);
	return status;
}

/* Checks that no shard is missing. */
static int check_whole(const struct whole *whole)
{
	uint32_t first = 0;

	if (whole->num_present == whole->settings.num_shards) {
		if (whole->summary.count == whole->settings.total)
			return EXIT_FINE;
		return cli_fail(EXIT_INPUT, "the shards have %llu failures of %llu",
				(unsigned long long)whole->summary.count,
				(unsigned long long)whole->settings.total);
	}
	while (whole->present[first])
		first++;
	return cli_fail(EXIT_INPUT, "%u of %u shards are missing, %u the first of them",
			whole->settings.num_shards - whole->num_present,
			whole->settings.num_shards, first + 1);
}

static int print_whole(void *from, const struct cli_output *output)
{
	struct whole *whole = from;
	int status = check_whole(whole);

	if (status)
		return status;
	whole->settings.shard = 1;
	whole->settings.num_shards = 1;
	pm_failure_summary_finish(&whole->summary);
	if (output->json)
		return cli_json_print(
			summary_json(&whole->summary, &whole->names, &whole->settings));
	if (!output->quiet)
		summary_print(&whole->summary, &whole->names, &whole->settings);
	return EXIT_FINE;
}

static const struct cli_merge merge = {
	.about = "Join the N files of `portmajor whatif --all KIND --shard I/N --json`, "
		 "and print the result of the same command without --shard.",
	.add = add_shard,
	.print = print_whole,
};

int cmd_merge(int argc, char **argv)
{
	struct whole whole = {0};
	int status = cli_merge_run(&merge, &whole, argc, argv);

	names_free(&whole.names);
	pm_failure_summary_free(&whole.summary);
	json_decref(whole.settings.json);
	free(whole.present);
	return status;
}
