/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tries many losses, on several threads. */
#ifndef PORTMAJOR_CLI_SWEEP_H
#define PORTMAJOR_CLI_SWEEP_H

#include "losses.h"
#include "summary.h"

#include <portmajor/whatif.h>

struct sweep {
	const struct pm_fabric *fabric;
	const struct pm_whatif_config *config;
	const struct pm_losses *losses;
	const struct settings *settings; /* with the shard: losses whose number leaves
					  * the remainder shard - 1 */
	unsigned int threads;		 /* 1 and up; each has tables of its own */
	bool progress;			 /* on stderr */
};

/*
 * Tries all of them; an exit status. `first` is a whatif of that configuration, which one
 * thread uses. The summary is finished, the same for any number of threads, and freed by
 * the caller.
 */
int sweep_run(const struct sweep *sweep, struct pm_whatif *first,
	      struct summary *summary);

/* Processors that this process may use, 1 and up. */
unsigned int sweep_processors(void);

#endif
