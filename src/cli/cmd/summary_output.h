/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The results of a sweep over many failures, as text and as JSON. Shards are read from
 * JSON; their sum has the same text and JSON as the whole.
 */
#ifndef PORTMAJOR_CLI_SUMMARY_OUTPUT_H
#define PORTMAJOR_CLI_SUMMARY_OUTPUT_H

#include <portmajor/analysis/failure_summary.h>
#include <portmajor/analysis/failures.h>

#include <jansson.h>

/* A sweep's settings, as far as the output depends on them. */
struct settings {
	/* All settings, owned; the same for all shards, and written unchanged. */
	json_t *json;
	uint64_t total;		    /* failures in all shards */
	uint32_t worst;		    /* number of worst failures to keep */
	enum pm_metric by;	    /* the metric that makes a failure worse */
	uint32_t mad_us;	    /* round trip of one MAD */
	uint32_t wire_smps;	    /* MADs at a time, 1 and up */
	uint32_t shard, num_shards; /* shard: 1 to num_shards */
};

/* The time of this number of blocks, in ms. */
double settings_ms(const struct settings *settings, uint64_t blocks);

/* The failed parts, by pm_row.name. Zeroed: none. */
struct names {
	/*
	 * Owned objects: "failed", an array of one object or, for a pair, two; and
	 * "cut_off", an array with the names of hosts that are cut off.
	 */
	json_t **list;
	uint32_t num, room;
};

/*
 * Adds an object with these two members to the end of the list, and takes them over;
 * `cut_off` may be null. -EINVAL: no valid name. NULL for one of them: out of memory.
 */
int names_add(struct names *names, json_t *failed, json_t *cut_off);
void names_free(struct names *names);

/* The JSON object of a finished summary; NULL without memory. */
json_t *summary_json(const struct pm_failure_summary *summary, const struct names *names,
		     const struct settings *settings);

/*
 * Prints the worst failures as comma-separated values: a line for each, behind a header
 * line.
 */
void summary_print_csv(const struct pm_failure_summary *summary,
		       const struct names *names, const struct settings *settings);

/* Prints the first few names of hosts that are cut off. */
void cut_off_print(const json_t *cut_off);

/* Prints the object of summary_json as text, to stdout. */
void summary_print(const struct pm_failure_summary *summary, const struct names *names,
		   const struct settings *settings);

/*
 * The first reads settings from an object of summary_json, the second a summary and its
 * names, and adds both. -1: `text` has the error, also without memory. The caller frees
 * the results, on failure as well. settings->json takes a new reference.
 */
#define SUMMARY_TEXT 200
int settings_read(struct settings *settings, json_t *object, char text[SUMMARY_TEXT]);
int summary_read(struct pm_failure_summary *summary, struct names *names,
		 const struct settings *settings, json_t *object,
		 char text[SUMMARY_TEXT]);

#endif
