/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a sweep over many losses found: how often each value came up and which losses
 * were worst. Summaries of parts add up to that of the whole, be the parts threads or
 * shards read from files, so that both end in the same text and JSON.
 */
#ifndef PORTMAJOR_CLI_SUMMARY_H
#define PORTMAJOR_CLI_SUMMARY_H

#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum metric {
	METRIC_BLOCKS,
	METRIC_BOUND,
	METRIC_SWITCHES, /* with a block that changes */
	METRIC_ENTRIES,
	METRIC_PAIRS_CUT,
	METRIC_SWITCHES_CUT,
	METRIC_LOAD,  /* 0 unless asked for */
	METRIC_SHIFT, /* likewise */
	METRICS,
};

/* The name in JSON. */
const char *metric_name(enum metric metric);
/* -1: no such metric. */
int metric_parse(const char *name, enum metric *metric);

/* What a sweep was told, as far as a summary depends on it. */
struct settings {
	json_t *json;		    /* all of it, owned */
	uint64_t total;		    /* losses in all shards */
	uint32_t worst;		    /* how many to keep */
	enum metric by;		    /* which makes one worse than another */
	uint32_t mad_us;	    /* of one MAD, there and back */
	uint32_t wire_smps;	    /* MADs at a time, 1 and up */
	uint32_t shard, num_shards; /* shard: 1 to num_shards */
};

/* Milliseconds that so many blocks take. */
double settings_ms(const struct settings *settings, uint64_t blocks);

/* One loss. */
struct row {
	uint64_t number; /* among all losses: what remains the same in shards */
	uint64_t value[METRICS];
	json_t *lost; /* its name, owned; NULL: not made yet */
};

/* Values and how often they came, as a hash table; a count of 0 is free room. */
struct bin {
	uint64_t value, count;
};
struct histogram {
	struct bin *bin;
	uint32_t used, room; /* room is a power of two or 0 */
};

/* Zeroed: nothing found yet. */
struct summary {
	uint64_t count;
	struct histogram histogram[METRICS];
	struct row *row; /* candidates for the worst */
	uint32_t num_rows, rows_room;
};

/* All three: -1 without memory. Rows that are kept take their `lost` over. */
int summary_add(struct summary *summary, const struct settings *settings,
		struct row *row);
/* Empties `from`. */
int summary_merge(struct summary *into, struct summary *from,
		  const struct settings *settings);
/* Sorts the rows and strikes off what is not among the worst. */
void summary_finish(struct summary *summary, const struct settings *settings);
void summary_free(struct summary *summary);

/* The JSON object of a finished summary; NULL without memory. */
json_t *summary_json(const struct summary *summary, const struct settings *settings);

/* The same as text. */
void summary_print(const struct summary *summary, const struct settings *settings,
		   FILE *out);

/*
 * Reads settings from the object that summary_json made of them, or a summary. `text` is
 * then said what is wrong: -1. Without memory too. The caller frees what was made, on
 * failure as well. settings->json takes a new reference.
 */
#define SUMMARY_TEXT 200
int settings_read(struct settings *settings, json_t *object, char text[SUMMARY_TEXT]);
int summary_read(struct summary *summary, const struct settings *settings, json_t *object,
		 char text[SUMMARY_TEXT]);

#endif
