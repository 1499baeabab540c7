/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory of the commands. */
#ifndef PORTMAJOR_LAB_CLI_MEMORY_H
#define PORTMAJOR_LAB_CLI_MEMORY_H

#include "output.h"

#include <portmajor/base/alloc.h>

/* A zeroed array; ends the program without memory. */
static inline void *lab_array(size_t length, size_t size)
{
	void *array = pm_array(length, size);

	if (!array)
		cli_no_memory();
	return array;
}

#endif
