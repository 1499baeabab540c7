/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The end of a command: its result, as JSON or as text. */
#ifndef PORTMAJOR_LAB_CLI_WRITE_H
#define PORTMAJOR_LAB_CLI_WRITE_H

#include "json.h"
#include "output.h"

/* Writes the object, and takes it over; returns status, or EXIT_INPUT on failure. */
static inline int lab_write(json_t *object, const struct cli_output *output,
			    void (*print)(const json_t *), int status)
{
	if (output->json)
		return cli_json_print(object) ? EXIT_INPUT : status;
	if (!output->quiet)
		print(object);
	json_decref(object);
	return status;
}

#endif
