/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Loops and cycles of channels in mixtures of tables, as JSON and as text. */
#ifndef PORTMAJOR_CLI_TRAFFIC_MIXTURE_H
#define PORTMAJOR_CLI_TRAFFIC_MIXTURE_H

#include <portmajor/lab/mixture.h>

#include <jansson.h>

/* The loops and cycles while the Sets of a recording arrived; only the first of many. */
json_t *traffic_mixture_json(const struct pm_fabric *fabric,
			     const struct pm_lft_trace *trace,
			     const struct pm_mixture *mixture);

/* Prints the member "mixture" of a recording, if there is one. */
void traffic_mixture_print(const json_t *recording);

#endif
