/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "recipe.h"
#include "unit.h"

#include <portmajor/files/mft_file.h>

#define READ(guid)                                                                       \
	"Multicast mlids [0xc000-0xc3ff] of switch DR path slid 0; dlid 0; 0,1,5 guid "  \
	"0x" guid " (a (b)):\n"                                                          \
	"            0                   1                   2 \n"                       \
	"     Ports: 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 \n MLid\n"

struct row {
	const char *name, *text;
	unsigned int line; /* that the message must name; 0: the text is good */
	const char *word;  /* in the message */
};

/* Good ones have ports 1 and 18 of l1 in 0xc045, and nothing else. */
static const struct row rows[] = {
	{"opensm.mcfdbs", "\nSwitch 0x11\nLID    : Out Port(s)\n0xC045 : 0x001  0x012 \n",
	 0, ""},
	{"a switch in two pieces",
	 "Switch 0x11\n0xC045 : 0x001  0x012 \n\nSwitch 0x10\n\nSwitch 0x11\n", 0, ""},
	{"dump_mfts",
	 READ("11") "0xc045        x                                 x   \n"
		    "1 valid mlids dumped \n",
	 0, ""},
	{"dump_mfts -a",
	 "*** WARNING ***: this command has been replaced by dump_fts -M\n" READ(
		 "11") "0xc000      \n0xc045        x                                 "
		       "x\r\n2 mlids dumped \n",
	 0, ""},
	{"empty", "", 0, "no multicast tables"},
	{"another switch", "Switch 0x12\n", 1, "no switch 0x0000000000000012"},
	{"no switch", "Switch zero\n", 1, "no GUID"},
	{"an end node", "Switch 0x1001\n", 1, "no switch"},
	{"no such port", "Switch 0x10\n0xC045 : 0x005 \n", 2, "\"l0\" has no port 5"},
	{"a column too many", READ("10") "0xc045                x\n", 5,
	 "\"l0\" has no port 5"},
	{"a column between", READ("10") "0xc045         x\n", 5, "no ports in"},
	{"no port", "Switch 0x10\n0xC045 : 0x001 up\n", 2, "no port in"},
	{"a port above all", "Switch 0x10\n0xC045 : 0x0ff\n", 2, "no port in"},
	{"no MLID", "Switch 0x10\n0xBFFF : 0x001\n", 2, "no MLID"},
	{"above all MLIDs", "Switch 0x10\n0xFFFF : 0x001\n", 2, "no MLID"},
	{"twice", "Switch 0x10\n0xC045 : 0x001\n0xC045 : 0x001\n", 3,
	 "a second entry for MLID 0xc045"},
	{"outside", "0xC045 : 0x001\n", 1, "outside"},
	{"cut off", "Switch 0x10\n0xC045 : 0x001", 2, "in the middle of a line"},
	{"unicast", "Unicast lids [0-3] of switch Lid 2 guid 0x10 ('l0'):\n", 1,
	 "no line of a multicast table"},
};

static void check_good(const struct row *row, const struct pm_fabric *fabric,
		       const struct pm_mfts *mfts)
{
	uint32_t sw = pm_fabric_find_guid(fabric, 0x11), ports = 0;

	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t mlid = PM_MLID_FIRST; mlid < 0xc100; mlid++)
			for (unsigned int port = 0; port <= fabric->nodes[i].num_ports;
			     port++)
				ports += pm_mfts_has_port(mfts, i, (uint16_t)mlid, port);
	if (ports != 2 || !pm_mfts_has_port(mfts, sw, 0xc045, 1) ||
	    !pm_mfts_has_port(mfts, sw, 0xc045, 18))
		fail_msg("%s: %u ports", row->name, ports);
}

static void test_rows(void **state)
{
	struct pm_fabric *fabric = recipe_draw("l0/4 l1/20 l0:1=l1:1 l1:18=a");

	fabric->nodes[0].guid = 0x10;
	fabric->nodes[1].guid = 0x11;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		const struct row *row = &rows[i];
		struct pm_mfts *mfts = NULL;
		struct pm_error err = {""};
		char where[32];
		int rc = pm_mfts_parse(row->text, strlen(row->text), "in", fabric, &mfts,
				       &err);

		snprintf(where, sizeof(where), "in:%u: ", row->line);
		if (rc != (*row->word ? -EINVAL : 0))
			fail_msg("%s: %d %s", row->name, rc, err.text);
		if (rc && (!strstr(err.text, row->word) ||
			   (row->line && strncmp(err.text, where, strlen(where)))))
			fail_msg("%s: %s", row->name, err.text);
		if (!rc)
			check_good(row, fabric, mfts);
		if (!rc)
			pm_mfts_free(mfts);
	}
	pm_fabric_free(fabric);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
