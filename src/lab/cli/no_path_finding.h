/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The finding that tables have no path for pairs of hosts, the same for all engines. */
#ifndef PORTMAJOR_LAB_CLI_NO_PATH_FINDING_H
#define PORTMAJOR_LAB_CLI_NO_PATH_FINDING_H

#include <portmajor/lab/no_path.h>

#include <jansson.h>

/* Describes it with the names of the first pair; null if there is none. */
json_t *lab_no_path_json(const struct pm_no_path *found, uint32_t hosts, const char *from,
			 const char *to);

/* Prints the member no_path of an object, unless it is null. */
void lab_no_path_print(const json_t *object);

/* The exit status for that member. */
int lab_no_path_status(const json_t *object);

#endif
