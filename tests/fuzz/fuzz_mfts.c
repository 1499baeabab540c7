/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Any bytes give multicast tables that can be judged, or an error; see mft_file.h. */
#include "fuzz.h"

#include <portmajor/check/check_mfts.h>
#include <portmajor/files/mft_file.h>
#include <portmajor/netlist/netlist.h>

static const char net[] =
	"switchguid=0x10(10)\nSwitch 4 \"leaf0\"\n[1] \"h0\"[1]\n[2] \"h1\"[1]\n"
	"[3] \"s0\"[1]\n[4] \"s0\"[3]\n\n"
	"switchguid=0x11(11)\nSwitch 40 \"s0\"\n[1] \"leaf0\"[3]\n[3] \"leaf0\"[4]\n"
	"[39] \"h2\"[1]\n\n"
	"Hca 1 \"h0\"\n[1] \"leaf0\"[1]\n\nHca 2 \"h1\"\n[1] \"leaf0\"[2]\n\n"
	"Hca 1 \"h2\"\n[1] \"s0\"[39]\n";

static struct pm_fabric *fabric;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_mfts *mfts = NULL;
	struct pm_error err = {""};
	struct pm_check_mfts found;
	int rc;

	if (!fabric && pm_netlist_parse(net, sizeof(net) - 1, "net", &fabric, NULL))
		abort();
	rc = pm_mfts_parse((const char *)data, size, "in", fabric, &mfts, &err);
	if (rc) {
		if (rc != -EINVAL || mfts || strncmp(err.text, "in:", 3) != 0)
			abort();
		return 0;
	}
	if (pm_check_mfts(fabric, mfts, NULL, 0, &found, NULL) ||
	    found.count[PM_MFT_STRANGER] || found.delivered > found.pairs ||
	    found.pairs - found.delivered != found.count[PM_MFT_MISSED])
		abort();
	pm_mfts_free(mfts);
	return 0;
}
