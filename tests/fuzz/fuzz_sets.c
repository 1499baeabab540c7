/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Any bytes give a recording of a small fabric, which can be followed and reads back the
 * same, or an error with its line; see lft_trace.h.
 */
#include "fuzz.h"

#include <portmajor/base/print.h>
#include <portmajor/lab/mixture.h>
#include <portmajor/lab/outage.h>
#include <portmajor/netlist/netlist.h>

static const char net[] =
	"Switch 4 \"l0\"\n[1] \"a\"[1]\n[2] \"s0\"[1]\n[3] \"s1\"[1]\n\n"
	"Switch 4 \"l1\"\n[1] \"b\"[1]\n[2] \"s0\"[2]\n[3] \"s1\"[2]\n\n"
	"Switch 2 \"s0\"\n[1] \"l0\"[2]\n[2] \"l1\"[2]\n\n"
	"Switch 2 \"s1\"\n[1] \"l0\"[3]\n[2] \"l1\"[3]\n\n"
	"Hca 1 \"a\"\n[1] \"l0\"[1]\n\nHca 1 \"b\"\n[1] \"l1\"[1]\n";

static void check_sets(const struct pm_fabric *fabric, const struct pm_lft_trace *trace)
{
	check(trace->length > 0 && trace->length % PM_LFT_BLOCK == 0 &&
	      trace->num_failed > 0);
	for (uint32_t i = 0; i < trace->num; i++) {
		const struct pm_lft_trace_set *set = &trace->set[i];

		check(set->sw < fabric->num_switches &&
		      (set->block + 1) * PM_LFT_BLOCK <= trace->length);
		check(set->sent <= set->arrived && set->arrived <= set->acked);
		check(!i || trace->set[i - 1].sent <= set->sent);
	}
	for (uint32_t i = 0; i < trace->num_active; i++)
		check(trace->active[i].ns >
		      (i ? trace->active[i - 1].ns - 1 : trace->failed_at));
	for (uint32_t i = 0; i < trace->num_reset; i++)
		check(trace->reset[i] < fabric->num_switches);
}

/* The written file is read again, and has the same cost for hosts. */
static void check_again(const struct pm_fabric *fabric, const struct pm_lft_trace *trace)
{
	const struct pm_lft_trace_file file = {trace, fabric};
	struct pm_outage first, second;
	struct pm_mixture mixture;
	struct pm_lft_trace *again;
	size_t length;
	char *text;

	check(!pm_text_print(pm_lft_trace_print, &file, &text, &length));
	check(!pm_lft_trace_parse(text, length, "out", fabric, &again, NULL));
	pm_outage_follow(fabric, trace, &first);
	pm_outage_follow(fabric, again, &second);
	check(first.num_points == second.num_points && first.end == second.end &&
	      first.at_once == second.at_once && first.last == second.last &&
	      first.end <= first.paths && first.at_once <= first.paths);
	pm_mixture_follow(fabric, trace, &mixture);
	check(mixture.loops.most <= mixture.loops.num || !mixture.loops.ns);
	check(!first.loops_end || mixture.loops.num);
	pm_mixture_free(&mixture);
	free(first.curve);
	free(second.curve);
	pm_lft_trace_free(again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_fabric *fabric;
	struct pm_lft_trace *trace = NULL;
	struct pm_error err = {""};
	int rc;

	check(!pm_netlist_parse(net, strlen(net), "net", &fabric, NULL));
	rc = pm_lft_trace_parse((const char *)data, size, "in", fabric, &trace, &err);
	if (rc) {
		check(rc == -EINVAL && !trace && !strncmp(err.text, "in:", 3));
	} else {
		check_sets(fabric, trace);
		check_again(fabric, trace);
		pm_lft_trace_free(trace);
	}
	pm_fabric_free(fabric);
	return 0;
}
