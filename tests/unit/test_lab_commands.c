/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor-lab with each of its allocations failing. */
#include "command_faults.h"

#define FLIT_SHARD                                                                       \
	"traffic --engine flit --json --topology chain:1 --load .5,1 --seeds 2 "         \
	"--cycles 20 --warm-up 0 --length 2 --shard "
#define PACKET_SHARD                                                                     \
	"traffic --engine packet --json --time 2us --warmup 0us --load .2,.5 --seeds 2 --shard "

static const struct command_row rows[] = {
	{"dsm", "dsm -N 2 --bursts 1,9", NULL, NULL},
	{"dsm.json", "dsm --json -N 1..3", NULL, NULL},
	{"collective", "collective -p 4 -n 1 -k 2", NULL, NULL},
	{"collective.json", "collective -a ring -p 4 -n 1,1K -k 1,2 --json", NULL, NULL},
	{"traffic", "traffic --fail leaf0:3 -s leaf0 net", NULL, NULL},
	{"traffic.write", "traffic -q --fail leaf0:3 --write out net", "out", "before"},
	{"share", "traffic --engine share --permutations 2 --vlans 1,2 net", NULL, NULL},
	{"share.json",
	 "traffic --engine share --json --permutations 1 --fail leaf0:3 net", NULL, NULL},
	{"traffic.json", "traffic --json --fail leaf0:3 --sets sets --compare sets net",
	 NULL, NULL},
	{"merge.flit", "merge flit1 flit2", NULL, NULL},
	{"merge.packet", "merge --json packet1 packet2", NULL, NULL},
	{"packet", "traffic --engine packet --time 5us --warmup 1us --load 0.2,0.5 net",
	 NULL, NULL},
	{"packet.json",
	 "traffic --json --time 5us --warmup 1us --pattern hot-spot:h0-1:0.5 --window "
	 "1us --transport rc --in-line --reads 1 net",
	 NULL, NULL},
	{"packet.lose",
	 "traffic --engine packet --time 5us --warmup 1us --fail spine0 --at 1us "
	 "--repair order --smp 1us net",
	 NULL, NULL},
	{"packet.sets",
	 "traffic --engine packet --json --time 5us --warmup 1us --sets sets --fail "
	 "leaf0:3 --return-after 3us net",
	 NULL, NULL},
	{"packet.shard", PACKET_SHARD "2/2 net", NULL, NULL},
	{"packet.ring", "traffic --collective ring --repeat 2 --fail spine0 net", NULL,
	 NULL},
	{"packet.jobs",
	 "traffic --collective linear --jobs 2 --alone --placement random --json net",
	 NULL, NULL},
	{"packet.lfts", "traffic --messages all --pattern all-to-all --lfts other net",
	 NULL, NULL},
	{"flit",
	 "traffic --engine flit --topology mesh:2x2 --length 2,3 --load .5..1/.5 "
	 "--cycles 50 --warm-up 10",
	 NULL, NULL},
	{"flit.shard", FLIT_SHARD "2/2", NULL, NULL},
	{"flit.json",
	 "traffic --engine flit --topology torus:3x3 --vc-rule one --load 1 --cycles "
	 "300 --warm-up 0 --flow slack --seeds 1 --json",
	 NULL, NULL},
	{"flit.deadlock",
	 "traffic --engine flit --topology torus:5x5 --vc-rule one --load 1 --seeds 1 "
	 "--length 8 --buffer 8 --cable 1 --warm-up 0",
	 NULL, NULL},
	{"flit.tables",
	 "traffic --engine flit --lfts tables --cycles 50 --warm-up 0 --load 1 net", NULL,
	 NULL},
	{"flit.plan", "traffic --engine flit --cycles 50 --warm-up 0 --load 1 net", NULL,
	 NULL},
};

static int make_files(void)
{
	make_file_by_portmajor("net", "generate two-level 2 2 2 1");
	make_file_by_portmajor("tables", "plan -q --lfts /dev/stdout net");
	make_file_by_portmajor("other", "plan -q -o leaf-major --lfts /dev/stdout net");
	make_file("flit1", FLIT_SHARD "1/2");
	make_file("flit2", FLIT_SHARD "2/2");
	make_file("packet1", PACKET_SHARD "1/2 net");
	make_file("packet2", PACKET_SHARD "2/2 net");
	make_file("sets", "traffic -q --fail leaf0:3 --write /dev/stdout net");
	return 0;
}

int __wrap_main(int argc, char **argv)
{
	const struct command_tests all = {rows, sizeof(rows) / sizeof(*rows), make_files};

	return command_tests_run(&all, argc, argv);
}
