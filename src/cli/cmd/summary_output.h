/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a sweep over many failures found, as text and as JSON. Shards are read from JSON
 * and, added up, end in the same text and JSON as the whole.
 */
#ifndef PORTMAJOR_CLI_SUMMARY_OUTPUT_H
#define PORTMAJOR_CLI_SUMMARY_OUTPUT_H

#include <portmajor/analysis/failure_summary.h>
#include <portmajor/analysis/failures.h>

#include <jansson.h>

/* A sweep's settings, as far as the output depends on them. */
struct settings {
	/* All of it, owned: the same for all shards, and written as it is. */
	json_t *json;
	uint64_t total;		    /* failures in all shards */
	uint32_t worst;		    /* how many to keep */
	enum pm_metric by;	    /* which makes one worse than another */
	uint32_t mad_us;	    /* of one MAD, there and back */
	uint32_t wire_smps;	    /* MADs at a time, 1 and up */
	uint32_t shard, num_shards; /* shard: 1 to num_shards */
};

/* Milliseconds that so many blocks take. */
double settings_ms(const struct settings *settings, uint64_t blocks);

/* The failed parts, by pm_row.name. Zeroed: none. */
struct names {
	/* Objects, owned: "failed", an array of an object for one thing, or two of a
	 * pair, and "cut_off", an array of the names of hosts that are cut off. */
	json_t **list;
	uint32_t num, room;
};

/*
 * Adds one, which it takes over, as the last of the list; `cut_off` may be null. -EINVAL:
 * that is no name; -ENOMEM, also if one of them is NULL.
 */
int names_add(struct names *names, json_t *failed, json_t *cut_off);
void names_free(struct names *names);

/* The JSON object of a finished summary; NULL without memory. */
json_t *summary_json(const struct pm_failure_summary *summary, const struct names *names,
		     const struct settings *settings);

/* Its worst as comma-separated values, a line each behind one with their names. */
void summary_print_csv(const struct pm_failure_summary *summary,
		       const struct names *names, const struct settings *settings);

/* Prints the first few of these names. */
void cut_off_print(const json_t *cut_off);

/* The same as text, to stdout. */
void summary_print(const struct pm_failure_summary *summary, const struct names *names,
		   const struct settings *settings);

/*
 * Reads settings from the object that summary_json made of them, or a summary with its
 * names, which are added. `text` then has the fault: -1. Without memory too. The caller
 * frees the results, on failure as well. settings->json takes a new reference.
 */
#define SUMMARY_TEXT 200
int settings_read(struct settings *settings, json_t *object, char text[SUMMARY_TEXT]);
int summary_read(struct pm_failure_summary *summary, struct names *names,
		 const struct settings *settings, json_t *object,
		 char text[SUMMARY_TEXT]);

#endif
