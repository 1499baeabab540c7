/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The command with each of its allocations failing alone, and then with all behind it:
 * exit status 3 and a message, or the very output, files and exit status of a run without
 * failures. It is linked into this program, which runs it in a child for each of them.
 * Arguments choose rows by their names.
 */
#include "memfault.h"

#include <portmajor/base/textfile.h>
#include <portmajor/fabric/degrade.h>
#include <portmajor/fabric/link.h>
#include <portmajor/files/plan_file.h>
#include <portmajor/netlist/netlist.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define MAX_ARGS 24
#define SHOWN 8 /* wrong results of a row */

/* The linker makes calls of main calls of __wrap_main. */
int __real_main(int argc, char **argv);
int __wrap_main(int argc, char **argv);

#define STATE(running)                                                                   \
	"{\"schema\": \"portmajor-state\", \"version\": 2, \"time\": 0, "                \
	"\"running\": " running                                                          \
	", \"sm_state\": \"master\", \"opensm\": \"OpenSM 3.3.23\", \"plugin\": "        \
	"\"0.1.0\", \"pid\": 1, \"started\": 0, \"engine\": {\"active\": false, "        \
	"\"used\": \"updn\", \"reason\": \"a ring\"}, \"run\": {\"number\": 3, "         \
	"\"time\": 0, \"change\": \"no change\", \"sent\": 7, \"acked\": 5, \"bound\": " \
	"5}, \"repair\": null, \"since_start\": {\"runs\": 3}, \"out_of_plan\": 0, "     \
	"\"port_guid\": \"0x0000000000000001\", \"phase\": \"idle\", \"balance\": "      \
	"{\"entries_off\": 2, \"blocks_off\": 1, \"switches_off\": 1, "                  \
	"\"rebalancing\": true, \"blocks_left\": 1}, \"repairs_by_phase\": "             \
	"{\"idle\": {\"repairs\": 2, \"sent\": 1, \"first_set_ms\": 3.5}}, "             \
	"\"flapping\": [], \"apart\": {\"pairs\": 0, \"text\": null}, \"plan\": null, "  \
	"\"slow_links\": {\"count\": 1, \"list\": [{\"ends\": [{\"name\": \"leaf0\", "   \
	"\"port\": 3}, {\"guid\": \"0x0000000000200002\"}], \"link\": \"1xQDR\", "       \
	"\"neighbours\": \"4xQDR\"}]}, "                                                 \
	"\"drained\": {\"list\": [{\"guid\": \"0x0000000000200000\", \"port\": 3, "      \
	"\"state\": \"out\"}]}}"
#define DRAINED "portmajor-drained 1\n0x0000000000200000 3 leaf0\n"
#define CONF                                                                             \
	"event_plugin_name portmajor\nrouting_engine portmajor,updn\nlmc 0\nodd 1\n"     \
	"event_plugin_options portmajor.conf\n"
/* Knows its version, its keys, and what the dynamic linker would say. */
#define OPENSM                                                                           \
	"#!/bin/sh\n"                                                                    \
	"[ \"$LD_TRACE_LOADED_OBJECTS\" ] && printf "                                    \
	"'\\tlibportmajor.so => ./library (0x0)\\n' && exit\n"                           \
	"[ \"$1\" = --version ] && printf 'OpenSM 3.3.23\\n' && exit\n"                  \
	"printf 'event_plugin_name x\\nrouting_engine x\\nlmc 0\\n"                      \
	"event_plugin_options x\\n' > \"$2\"\n"

#define MACS                                                                             \
	"h0-1 02:00:00:00:00:01\nh0-2 02:00:00:00:00:02\nh1-1 02:00:00:00:00:03\n"       \
	"h1-2 02:00:00:00:00:04\n"
/* With a host that is gone. */
#define FORMER                                                                           \
	"ff:ff:ff:ff:ff:ff 101 9\n02:00:00:00:00:01 101 4\n02:00:00:00:00:02 102 3\n"    \
	"02:00:00:00:00:03 101 2\n02:00:00:00:00:04 102 1\n02:00:00:00:00:05 102 7\n"

struct row {
	const char *name, *args;
	const char *file;   /* that is written, or NULL */
	const char *before; /* what is in it when the command begins; NULL: not there */
};

#define DRAIN_FILE "portmajor.drained"
#define REBALANCE_FILE "portmajor.1/rebalance"
#define FLIT_SHARD                                                                       \
	"traffic --engine flit --json --topology chain:1 --load .5,1 --seeds 2 "         \
	"--cycles 20 --warm-up 0 --length 2 --shard "
#define PACKET_SHARD                                                                     \
	"traffic --engine packet --json --time 2us --warmup 0us --load .2,.5 --seeds 2 " \
	"--shard "

static const struct row rows[] = {
	{"dsm", "dsm -N 2 --bursts 1,9", NULL, NULL},
	{"dsm.json", "dsm --json -N 1..3", NULL, NULL},
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
	{"plan.slurm", "plan -q --slurm out net", "out", "before"},
	{"plan.simgrid", "plan -q --simgrid out net", "out", "before"},
	{"plan.vlan", "plan --vlan . --macs macs --untagged h1-1 --diff former net",
	 "switches.json", "before"},
	{"plan.vlan-merge", "plan --json --vlan . --macs macs --merge --mac-table 4 net",
	 "leaf1.bridge", NULL},
	{"plan.vlan-lose", "plan --vlan . --macs macs --lose leaf0:3 --diff former net",
	 "hosts.diff", "before"},
	{"plan.lose", "plan -q --lfts out --lose leaf0:3 net", "out", NULL},
	{"check", "check net tables", NULL, NULL},
	{"check.json", "check --json net tables", NULL, NULL},
	{"check.conform", "check --conform --balance 1.1 net other", NULL, NULL},
	{"check.conform-json", "check --json --conform --sm leaf0 net other", NULL, NULL},
	{"check.plan", "check --plan plan net other", NULL, NULL},
	{"collective", "collective -p 4 -n 1 -k 2", NULL, NULL},
	{"collective.json", "collective -a ring -p 4 -n 1,1K -k 1,2 --json", NULL, NULL},
	{"diff", "diff tables other", NULL, NULL},
	{"diff.list", "diff --list tables other", NULL, NULL},
	{"diff.json", "diff --json --list tables other", NULL, NULL},
	{"diff.nets", "diff --list net less", NULL, NULL},
	{"diff.nets-json", "diff --json less net", NULL, NULL},
	{"table", "table --lose leaf0:3 net", NULL, NULL},
	{"table.slow", "table slow", NULL, NULL},
	{"table.json", "table --json --switch spine0 net --lose leaf0:3", NULL, NULL},
	{"traffic", "traffic --lose leaf0:3 -s leaf0 net", NULL, NULL},
	{"traffic.write", "traffic -q --lose leaf0:3 --write out net", "out", "before"},
	{"share", "traffic --engine share --permutations 2 --vlans 1,2 net", NULL, NULL},
	{"share.json",
	 "traffic --engine share --json --permutations 1 --lose leaf0:3 net", NULL, NULL},
	{"traffic.json", "traffic --json --lose leaf0:3 --sets sets --compare sets net",
	 NULL, NULL},
	{"whatif", "whatif --lose leaf0:3 -s leaf0 net", NULL, NULL},
	{"whatif.json", "whatif --json --lose spine* net", NULL, NULL},
	{"whatif.host", "whatif --json --lose h0-1 pair", NULL, NULL},
	{"whatif.no-loads", "whatif --no-loads --shifts 0 --lose leaf0 net", NULL, NULL},
	{"whatif.ipoib", "whatif --no-loads --ipoib --lose leaf0:3 net", NULL, NULL},
	{"whatif.groups", "whatif --json --no-loads --groups groups --lose h0-1 net",
	 NULL, NULL},
	{"whatif.all", "whatif --all links --threads 1 --worst 3 net", NULL, NULL},
	{"whatif.all-json", "whatif --json --all switches --threads 1 net", NULL, NULL},
	{"whatif.pairs", "whatif --all links --pairs --threads 2 --json net", NULL, NULL},
	{"merge", "merge shard1 shard2", NULL, NULL},
	{"merge.json", "merge --json shard1 shard2", NULL, NULL},
	{"merge.flit", "merge flit1 flit2", NULL, NULL},
	{"merge.packet", "merge --json packet1 packet2", NULL, NULL},
	{"packet", "traffic --engine packet --time 5us --warmup 1us --load 0.2,0.5 net",
	 NULL, NULL},
	{"packet.json",
	 "traffic --json --time 5us --warmup 1us --pattern hot-spot:h0-1:0.5 --window "
	 "1us --transport rc --in-line --reads 1 net",
	 NULL, NULL},
	{"packet.lose",
	 "traffic --engine packet --time 5us --warmup 1us --lose spine0 --at 1us "
	 "--repair order --smp 1us net",
	 NULL, NULL},
	{"packet.sets",
	 "traffic --engine packet --json --time 5us --warmup 1us --sets sets --lose "
	 "leaf0:3 --return-after 3us net",
	 NULL, NULL},
	{"packet.shard", PACKET_SHARD "2/2 net", NULL, NULL},
	{"packet.ring", "traffic --collective ring --repeat 2 --lose spine0 net", NULL,
	 NULL},
	{"packet.jobs",
	 "traffic --collective linear --jobs 2 --alone --placement random --json net",
	 NULL, NULL},
	{"packet.lfts", "traffic --messages all --pattern all-to-all --lfts other net",
	 NULL, NULL},
	{"status", "status state", NULL, NULL},
	{"status.json", "status --json state", NULL, NULL},
	{"status.all", "status", NULL, NULL},
	{"drain", "drain -n net leaf0:3", DRAIN_FILE, NULL},
	{"drain.plan", "drain spine1", DRAIN_FILE, DRAINED},
	{"drain.list", "drain", DRAIN_FILE, DRAINED},
	{"drain.json", "drain --json", DRAIN_FILE, DRAINED},
	{"rebalance", "rebalance", REBALANCE_FILE, NULL},
	{"rebalance.rate", "rebalance --json --rate 5", REBALANCE_FILE, "before"},
	{"rebalance.dry-run", "rebalance --dry-run", REBALANCE_FILE, "before"},
	{"undrain", "undrain leaf0:3", DRAIN_FILE, DRAINED},
	{"undrain.pattern", "undrain leaf*:*", DRAIN_FILE, DRAINED},
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
	{"preflight", "preflight -F conf --opensm ./opensm -n net", NULL, NULL},
	{"preflight.json", "preflight --json -F conf -n net", NULL, NULL},
};

/* The age of a state is the same in all runs. */
time_t time(time_t *seconds)
{
	if (seconds)
		*seconds = 1000;
	return 1000;
}

/* ---- One run ---- */

/* What came of it; freed by free_result. */
struct result {
	int status; /* of exit, or -1: it ended otherwise */
	uint64_t allocations;
	int64_t leaked;
	char *out, *err, *file;
};

/* What the child tells of its memory. */
static struct {
	uint64_t allocations;
	int64_t leaked;
} * shared;

static char *text_of(int fd)
{
	off_t length = lseek(fd, 0, SEEK_END);
	char *text = calloc((size_t)length + 1, 1);

	assert_non_null(text);
	assert_int_equal(pread(fd, text, (size_t)length, 0), length);
	close(fd);
	return text;
}

static char *text_of_file(const char *path)
{
	char *text = NULL, *ended;
	size_t length = 0;

	if (!path || access(path, F_OK))
		return strdup("not there");
	assert_int_equal(pm_textfile_read(path, &text, &length, NULL), 0);
	ended = strndup(text, length);
	assert_non_null(ended);
	free(text);
	return ended;
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void run_child(const char *args, const struct memfault *fault, int out, int err)
{
	static char text[512], *argv[MAX_ARGS + 1];
	char *rest = text;
	int64_t live;
	int argc = 0, status;

	snprintf(text, sizeof(text), "portmajor %s", args);
	while (argc < MAX_ARGS && (argv[argc] = strsep(&rest, " ")))
		argc++;
	if (dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(99);
	alarm(60);
	live = memfault_live();
	memfault_begin(fault);
	status = __real_main(argc, argv);
	shared->allocations = memfault_end();
	shared->leaked = memfault_live() - live;
	_exit(status);
}

static struct result run(const struct row *row, struct memfault fault)
{
	int out = memfd_create("out", 0), err = memfd_create("err", 0), wstatus;
	struct result result;
	pid_t pid;

	assert_true(out >= 0 && err >= 0);
	if (row->file)
		unlink(row->file);
	if (row->before)
		write_file(row->file, row->before);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		run_child(row->args, &fault, out, err);
	assert_int_equal(waitpid(pid, &wstatus, 0), pid);
	result = (struct result){
		.status = WIFEXITED(wstatus) ? WEXITSTATUS(wstatus) : -1,
		.allocations = shared->allocations,
		.leaked = shared->leaked,
		.out = text_of(out),
		.err = text_of(err),
		.file = text_of_file(row->file),
	};
	return result;
}

static void free_result(struct result *result)
{
	free(result->out);
	free(result->err);
	free(result->file);
}

/* What is wrong with a result, or NULL. */
static const char *judge(const struct result *found, const struct result *wanted,
			 const struct row *row)
{
	bool same_file = !strcmp(found->file, wanted->file);
	bool as_before = !strcmp(found->file, row->before ? row->before : "not there");

	if (found->status < 0)
		return "it crashed";
	if (found->status != 3 && found->leaked > wanted->leaked)
		return "it leaks";
	if (found->status == 3 && strncmp(found->err, "portmajor: ", 11))
		return "no message";
	if (found->status == 3 && !strstr(found->err, "emory"))
		return "another reason";
	if (found->status == 3)
		return same_file || as_before ? NULL : "half a file";
	if (found->status != wanted->status)
		return "another exit status";
	if (strcmp(found->err, wanted->err) != 0)
		return "other messages";
	if (!same_file)
		return "another file";
	return strcmp(found->out, wanted->out) ? "another output" : NULL;
}

/* ---- All of them ---- */

#ifndef EVERY
#define EVERY 1 /* a build that is slow may leave some out */
#endif

static void test_row(void **state)
{
	const struct row *row = *state;
	struct result wanted, found;
	uint64_t last;
	unsigned int wrong = 0;

	if (EVERY > 1 && strstr(row->args, "--threads 2"))
		skip(); /* AddressSanitizer needs memory itself for a thread */
	wanted = run(row, (struct memfault){0, false});
	last = wanted.allocations;
	print_message("%s: %llu allocations, exit status %d\n", row->name,
		      (unsigned long long)last, wanted.status);
	assert_true(wanted.status == 0 || wanted.status == 1);
	for (uint64_t i = 2; i < 2 * last + 2; i += EVERY) {
		const struct memfault fault = {.nth = i / 2, .onwards = i % 2};
		const char *what;

		found = run(row, fault);
		what = judge(&found, &wanted, row);
		if (what && wrong++ < SHOWN)
			print_error(
				"portmajor %s: allocation %llu%s: %s: exit status %d, %s\n",
				row->args, (unsigned long long)fault.nth,
				fault.onwards ? " and all that follow" : "", what,
				found.status, found.err);
		free_result(&found);
	}
	free_result(&wanted);
	if (wrong)
		fail_msg("%s: %u of %llu runs are wrong", row->name, wrong,
			 (unsigned long long)(2 * last));
}

/* A file with what a command prints. */
static void make_file(const char *path, const char *args)
{
	struct result made =
		run(&(struct row){"", args, NULL, NULL}, (struct memfault){0});

	if (made.status)
		fail_msg("%s: %s", args, made.err);
	write_file(path, made.out);
	free_result(&made);
}

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

static char folder[] = "/tmp/test_commands-XXXXXX";

static int make_folder(void **state)
{
	(void)state;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || !mkdtemp(folder) || chdir(folder))
		return -1;
	setenv("OSM_CACHE_DIR", folder, 1);
	setenv("PATH", folder, 1);
	make_file("net", "generate two-level 2 2 2 1");
	make_file("pair", "generate two-level 2 1 1 1");
	make_file("less", "generate -q --degrade hosts=1 two-level 2 2 2 1");
	make_file("tables", "plan -q --lfts /dev/stdout net");
	make_file("other", "plan -q -o leaf-major --lfts /dev/stdout net");
	make_file("shard1", "whatif --json --all links --shard 1/2 --threads 1 net");
	make_file("shard2", "whatif --json --all links --shard 2/2 --threads 1 net");
	make_file("flit1", FLIT_SHARD "1/2");
	make_file("flit2", FLIT_SHARD "2/2");
	make_file("packet1", PACKET_SHARD "1/2 net");
	make_file("packet2", PACKET_SHARD "2/2 net");
	make_file("sets", "traffic -q --lose leaf0:3 --write /dev/stdout net");
	make_slow_file("slow", "net");
	make_plan_file("plan", "net");
	write_file("names", "# names\n0x200000 \"leaf zero\"\n");
	write_file("groups", "0xc000 h*\n0xc001 h0-1\n0xc001 spine0\n");
	write_file("guids", "0x200000\n0x200010\n");
	write_file("macs", MACS);
	write_file("former", FORMER);
	write_file("state", STATE("false"));
	if (mkdir("portmajor.1", 0755))
		return -1;
	write_file("portmajor.1/state", STATE("true"));
	make_plan_file("portmajor.1/plan", "net");
	if (mkdir("portmajor.2", 0755))
		return -1;
	write_file("portmajor.2/state", STATE("false"));
	write_file("conf", CONF);
	write_file("portmajor.conf", "lid_order grouped\n");
	write_file("library", "junk portmajor built for OpenSM 3.3.23\n");
	write_file("opensm", OPENSM);
	return chmod("opensm", 0755);
}

static int remove_folder(void **state)
{
	static const char *const files[] = {
		"net",
		"pair",
		"less",
		"slow",
		"tables",
		"other",
		"shard1",
		"shard2",
		"flit1",
		"flit2",
		"packet1",
		"packet2",
		"sets",
		"plan",
		"names",
		"groups",
		"guids",
		"state",
		"conf",
		"portmajor.conf",
		"library",
		"opensm",
		"out",
		DRAIN_FILE,
		REBALANCE_FILE,
		"portmajor.1/state",
		"portmajor.1/plan",
		"portmajor.2/state",
		"opensm.fdbs",
		"opensm.mcfdbs",
		"opensm-subnet.lst",
		"macs",
		"former",
		"hosts",
		"hosts.diff",
		"switches.json",
		"leaf0.ovs",
		"leaf0.bridge",
		"leaf1.ovs",
		"leaf1.bridge",
		"spine0.ovs",
		"spine0.bridge",
		"spine1.ovs",
		"spine1.bridge",
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(files); i++)
		unlink(files[i]);
	return rmdir("portmajor.1") || chdir("/") || rmdir(folder);
}

int __wrap_main(int argc, char **argv)
{
	struct CMUnitTest tests[LENGTH(rows)];
	size_t num = 0;

	for (size_t i = 0; i < LENGTH(rows); i++) {
		bool chosen = argc < 2;

		for (int a = 1; a < argc; a++)
			chosen |= !strcmp(argv[a], rows[i].name);
		if (chosen)
			tests[num++] = (struct CMUnitTest){
				.name = rows[i].name,
				.test_func = test_row,
				.initial_state = (void *)(uintptr_t)&rows[i]};
	}
	return _cmocka_run_group_tests("commands", tests, num, make_folder,
				       remove_folder);
}
