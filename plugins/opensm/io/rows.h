/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rows that describe the members of a structure that the state's document shows as an
 * object: the name, where the value is, and the metric that is made of it. The document,
 * and from it the metrics, come from the same rows.
 */
#ifndef PORTMAJOR_ROWS_H
#define PORTMAJOR_ROWS_H

#include <jansson.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum row_type {
	ROW_U32,
	ROW_U64,
	ROW_TIME, /* time_t */
	ROW_REAL, /* double */
	ROW_BOOL,
	ROW_POINTED, /* const char *, NULL: null */
	ROW_TEXT,    /* char [] */
	ROW_IS_SET,  /* whether a pointer is not NULL */
};

/* Tables end with an empty one. */
struct row {
	const char *name;
	enum row_type type;
	size_t offset;
	const char *metric, *help; /* without portmajor_ before it; NULL: there is none */
};

/* A member goes to the document by its type. */
/* clang-format off */
#define ROW_AT(structure, member)                                                        \
	.type = _Generic(((structure *)0)->member,                                             \
		 uint32_t: ROW_U32,                                                      \
		 uint64_t: ROW_U64,                                                      \
		 time_t: ROW_TIME,                                                       \
		 double: ROW_REAL,                                                       \
		 bool: ROW_BOOL,                                                         \
		 const char *: ROW_POINTED,                                              \
		 char *: ROW_TEXT),                                                      \
	.offset = offsetof(structure, member)
/* clang-format on */

/* Sets the members of an object; -1: no memory, or no object. */
int rows_set(const struct row *rows, const void *structure, json_t *object);

/* A new object with them; NULL without memory. */
json_t *rows_describe(const struct row *rows, const void *structure);

/* An object of the document, and the labels that its metrics have. */
struct row_source {
	const char *labels; /* `port_guid="0x..."` */
	const json_t *object;
};

/* Begins a metric: a counter if its name ends in _total, else a gauge. */
void rows_print_head(FILE *out, const char *metric, const char *help);

/* Prints a value of a metric, unless it is neither number nor boolean. */
void rows_print_value(FILE *out, const char *metric, const char *labels,
		      const json_t *value);

/*
 * Prints the metrics of all rows, for each the values of all sources; without any:
 * nothing.
 */
void rows_print_metrics(FILE *out, const struct row *rows,
			const struct row_source *sources, size_t num);

#endif
