/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor with each of its allocations failing. */
#include "command_faults.h"
#include "unit.h"

#include <portmajor/fabric/degrade.h>
#include <portmajor/fabric/link.h>
#include <portmajor/files/plan_file.h>
#include <portmajor/netlist/netlist.h>

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STATE(running)                                                                        \
	"{\"schema\": \"portmajor-state\", \"version\": 2, \"time\": 0, "                     \
	"\"running\": " running                                                               \
	", \"sm_state\": \"master\", \"opensm\": \"OpenSM 3.3.23\", \"plugin\": "             \
	"\"0.1.0\", \"pid\": 1, \"started\": 0, \"engine\": {\"active\": false, "             \
	"\"used\": \"updn\", \"reason\": \"a ring\"}, \"run\": {\"number\": 3, "              \
	"\"time\": 0, \"change\": \"no change\", \"sent\": 7, \"acked\": 5, \"least\": "      \
	"5}, \"repair\": null, \"since_start\": {\"runs\": 3}, \"out_of_plan\": 0, "          \
	"\"port_guid\": \"0x0000000000000001\", \"phase\": \"idle\", \"balance\": "           \
	"{\"entries_off\": 2, \"blocks_off\": 1, \"switches_off\": 1, "                       \
	"\"rebalancing\": true, \"blocks_left\": 1}, \"repairs_by_phase\": "                  \
	"{\"idle\": {\"repairs\": 2, \"sent\": 1, \"first_set_ms\": 3.5}}, "                  \
	"\"flapping\": [], \"unreachable\": {\"pairs\": 0, \"text\": null}, \"plan\": null, " \
	"\"degraded_links\": {\"count\": 1, \"list\": [{\"ends\": [{\"name\": \"leaf0\", "    \
	"\"port\": 3}, {\"guid\": \"0x0000000000200002\"}], \"link\": \"1xQDR\", "            \
	"\"neighbours\": \"4xQDR\"}]}, "                                                      \
	"\"drained\": {\"list\": [{\"guid\": \"0x0000000000200000\", \"port\": 3, "           \
	"\"state\": \"out\"}]}}"
#define DRAINED                                                                              \
	"{\"schema\": \"portmajor-requests\", \"version\": 1, \"number\": 1, "               \
	"\"drains\": [{\"guid\": \"0x0000000000200000\", \"name\": \"leaf0\", \"port\": 3, " \
	"\"number\": 1, \"since\": 7, \"by\": null, \"reason\": null}], \"releases\": [], "  \
	"\"rebalance\": null, \"acknowledged\": []}\n"
#define CONF                                                                             \
	"event_plugin_name portmajor\nrouting_engine portmajor,updn\nlmc 0\nodd 1\n"     \
	"event_plugin_options portmajor.conf\n"
/* Knows its version, its keys, and the dynamic linker's message. */
#define OPENSM                                                                           \
	"#!/bin/sh\n"                                                                    \
	"[ \"$LD_TRACE_LOADED_OBJECTS\" ] && printf "                                    \
	"'\\tlibportmajor.so => ./library (0x0)\\n' && exit\n"                           \
	"[ \"$1\" = --version ] && printf 'OpenSM 3.3.23\\n' && exit\n"                  \
	"printf 'event_plugin_name x\\nrouting_engine x\\nlmc 0\\n"                      \
	"event_plugin_options x\\n' > \"$2\"\n"

#define REQUESTS "portmajor.1/requests"

static const struct command_row rows[] = {
	{"generate", "generate two-level 2 1 1 1", NULL, NULL},
	{"generate.xgft", "generate xgft 2 2,2 1,2", NULL, NULL},
	{"generate.degrade", "generate --degrade links=1 two-level 2 2 1 1", NULL, NULL},
	{"generate.json", "generate --json --degrade hosts=1 two-level 2 2 1 1", NULL,
	 NULL},
	{"plan", "plan -l net", NULL, NULL},
	{"plan.json", "plan -l --json net", NULL, NULL},
	{"plan.slow", "plan slow", NULL, NULL},
	{"plan.mlids", "plan --mlid-blocks 2 net", NULL, NULL},
	{"plan.mlids-json", "plan --mlid-blocks 2 --json net", NULL, NULL},
	{"plan.names", "plan -l --node-name-map names --root_guid_file guids net", NULL,
	 NULL},
	{"plan.leaf-major", "plan -o leaf-major -m 1 -l net", NULL, NULL},
	{"plan.guid2lid", "plan -q --guid2lid out net", "out", "before"},
	{"plan.lfts", "plan -q --lfts out -s leaf0 --connect_roots net", "out", NULL},
	{"plan.lfts-pipe", "plan -q --lfts /dev/stdout net", NULL, NULL},
	{"plan.ibdmchk", "plan -q --ibdmchk . net", "opensm.fdbs", NULL},
	{"plan.roots", "plan -q --roots out net", "out", "before"},
	{"plan.slurm", "plan -q --slurm out net", "out", "before"},
	{"plan.simgrid", "plan -q --simgrid out net", "out", "before"},
	{"plan.lose", "plan -q --lfts out --fail leaf0:3 net", "out", NULL},
	{"check", "check net tables", NULL, NULL},
	{"check.json", "check --json net tables", NULL, NULL},
	{"check.conform", "check --conform --balance 1.1 net other", NULL, NULL},
	{"check.conform-json", "check --json --conform --sm leaf0 net other", NULL, NULL},
	{"check.plan", "check --plan plan net other", NULL, NULL},
	{"diff", "diff tables other", NULL, NULL},
	{"diff.list", "diff --list tables other", NULL, NULL},
	{"diff.json", "diff --json --list tables other", NULL, NULL},
	{"diff.nets", "diff --list net less", NULL, NULL},
	{"diff.cables", "diff --cables net less", NULL, NULL},
	{"diff.nets-json", "diff --json less net", NULL, NULL},
	{"table", "table --fail leaf0:3 net", NULL, NULL},
	{"table.slow", "table slow", NULL, NULL},
	{"table.json", "table --json --switch spine0 net --fail leaf0:3", NULL, NULL},
	{"whatif", "whatif --fail leaf0:3 -s leaf0 net", NULL, NULL},
	{"whatif.json", "whatif --json --fail spine* net", NULL, NULL},
	{"whatif.host", "whatif --json --fail h0-1 pair", NULL, NULL},
	{"whatif.no-loads", "whatif --no-loads --shifts 0 --fail leaf0 net", NULL, NULL},
	{"whatif.ipoib", "whatif --no-loads --ipoib --fail leaf0:3 net", NULL, NULL},
	{"whatif.groups", "whatif --json --no-loads --groups groups --fail h0-1 net",
	 NULL, NULL},
	{"whatif.return", "whatif --return --reset --ipoib --fail leaf0 net", NULL, NULL},
	{"whatif.return-json", "whatif --json --return --fail spine* net", NULL, NULL},
	{"plan.reboots", "plan --reboots net", NULL, NULL},
	{"plan.reboots-json", "plan --json --reboots net", NULL, NULL},
	{"whatif.now", "whatif --now --fail spine1", REQUESTS, DRAINED},
	{"whatif.all", "whatif --all links --threads 1 --worst 3 net", NULL, NULL},
	{"whatif.all-json", "whatif --json --all switches --threads 1 net", NULL, NULL},
	{"whatif.pairs", "whatif --all links --pairs --threads 2 --json net", NULL, NULL},
	{"merge", "merge shard1 shard2", NULL, NULL},
	{"merge.json", "merge --json shard1 shard2", NULL, NULL},
	{"status", "status state", NULL, NULL},
	{"status.json", "status --json state", NULL, NULL},
	{"status.all", "status", NULL, NULL},
	{"status.expect", "status --expect less portmajor.1/state", NULL, NULL},
	{"drain", "drain -n net leaf0:3", REQUESTS, NULL},
	{"drain.plan", "drain spine1", REQUESTS, DRAINED},
	{"drain.list", "drain", REQUESTS, DRAINED},
	{"drain.json", "drain --json", REQUESTS, DRAINED},
	{"drain.dry-run", "drain --dry-run --json spine1", REQUESTS, DRAINED},
	{"rebalance", "rebalance", NULL, NULL},
	{"rebalance.dry-run", "rebalance --dry-run", NULL, NULL},
	{"acknowledge", "acknowledge --all", REQUESTS, DRAINED},
	{"undrain", "undrain leaf0:3", REQUESTS, DRAINED},
	{"undrain.pattern", "undrain leaf*:*", REQUESTS, DRAINED},
	{"preflight", "preflight -F conf --opensm ./opensm -n net", NULL, NULL},
	{"preflight.json", "preflight --json -F conf -n net", NULL, NULL},
};

static void make_plan_file(const char *path, const char *netlist)
{
	const struct pm_plan_config config = {.order = PM_GROUPED};
	struct pm_fabric *fabric = NULL;
	struct pm_plan *plan = NULL;
	char *text = NULL;
	size_t length;

	assert_int_equal(pm_netlist_read(netlist, &fabric, NULL, NULL), 0);
	assert_int_equal(pm_plan_make(fabric, &config, &plan, NULL), 0);
	assert_int_equal(pm_plan_file_print(plan, &text, &length), 0);
	write_file(path, text);
	free(text);
	pm_plan_free(plan);
	pm_fabric_free(fabric);
}

/* A fabric with one slow link. */
static void make_slow_file(const char *path, const char *netlist)
{
	struct pm_fabric *fabric = NULL;
	char *text = NULL;
	size_t length;
	uint32_t port;
	FILE *file = open_memstream(&text, &length);

	assert_non_null(file);
	assert_int_equal(pm_netlist_read(netlist, &fabric, NULL, NULL), 0);
	port = fabric->nodes[0].first_port + fabric->nodes[0].num_ports;
	fabric->ports[port].link = fabric->ports[fabric->ports[port].peer].link =
		pm_link_code(1, PM_QDR);
	pm_netlist_write(fabric, file);
	assert_int_equal(fclose(file), 0);
	write_file(path, text);
	free(text);
	pm_fabric_free(fabric);
}

static int make_files(void)
{
	make_file("net", "generate two-level 2 2 2 1");
	make_file("pair", "generate two-level 2 1 1 1");
	make_file("less", "generate -q --degrade hosts=1 two-level 2 2 2 1");
	make_file("tables", "plan -q --lfts /dev/stdout net");
	make_file("other", "plan -q -o leaf-major --lfts /dev/stdout net");
	make_file("shard1", "whatif --json --all links --shard 1/2 --threads 1 net");
	make_file("shard2", "whatif --json --all links --shard 2/2 --threads 1 net");
	make_slow_file("slow", "net");
	make_plan_file("plan", "net");
	write_file("names", "# names\n0x200000 \"leaf zero\"\n");
	write_file("groups", "0xc000 h*\n0xc001 h0-1\n0xc001 spine0\n");
	write_file("guids", "0x200000\n0x200010\n");
	write_file("state", STATE("false"));
	if (mkdir("portmajor.1", 0755))
		return -1;
	write_file("portmajor.1/state", STATE("true"));
	make_plan_file("portmajor.1/plan", "net");
	make_file("portmajor.1/fabric.net", "generate two-level 2 2 2 1");
	if (mkdir("portmajor.2", 0755))
		return -1;
	write_file("portmajor.2/state", STATE("false"));
	write_file("conf", CONF);
	write_file("portmajor.conf", "lid_order grouped\n");
	write_file("library", "junk portmajor built for OpenSM 3.3.23\n");
	write_file("opensm", OPENSM);
	return chmod("opensm", 0755);
}

int __wrap_main(int argc, char **argv)
{
	const struct command_tests all = {rows, LENGTH(rows), make_files};

	return command_tests_run(&all, argc, argv);
}
