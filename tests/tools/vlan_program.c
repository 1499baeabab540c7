/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tc program in the kernel, without any device (BPF_PROG_TEST_RUN):
 *
 *     vlan_program OBJECT try ROUNDS    frames and tables drawn at random, from PM_SEED,
 *                                       against a reference that searches a list
 *     vlan_program OBJECT cost HOSTS    nanoseconds a frame, the best of several runs
 *
 * Exit status 77: no right to load a program, or no BPF.
 */
#include "../../plugins/vlan/content.h"
#include "../../plugins/vlan/vlan_maps.h"

#include <portmajor/base/random.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_HOSTS 30
#define FRAME 60
#define TAG 0x8100
#define SERVICE_TAG 0x88a8
#define FRAMES 200 /* for each table */

static uint64_t seed;

#define MUST(what)                                                                       \
	do {                                                                             \
		if (!(what)) {                                                           \
			printf("PM_SEED=%" PRIu64 ": not so: %s (line %d)\n", seed,      \
			       #what, __LINE__);                                         \
			exit(1);                                                         \
		}                                                                        \
	} while (0)

/* A frame, and its fate. */
struct frame {
	uint64_t to, from;
	uint16_t beside_type, beside_vlan; /* a tag that is not in the bytes; 0: none */
	uint16_t in_type, in_vlan;	   /* one that is */
	int verdict;
	enum vlan_count counted; /* VLAN_COUNTS: nothing */
};

struct lab {
	struct bpf_object *object;
	int tables, counts;
	struct vlan_content content;
	const struct pm_host_line *own;
};

/* ---- The kernel ---- */

static int program(const struct lab *lab, const char *name)
{
	return bpf_program__fd(bpf_object__find_program_by_name(lab->object, name));
}

static void put_in_force(const struct lab *lab)
{
	const __u32 only = 0;
	struct pm_error err = {""};
	int fd;

	MUST(!vlan_content_to_map(&lab->content, lab->own, &fd, &err));
	MUST(!bpf_map_update_elem(lab->tables, &only, &fd, BPF_ANY));
	close(fd);
}

/* The counters that were incremented once since the last call. */
static enum vlan_count take_count(const struct lab *lab)
{
	int processors = libbpf_num_possible_cpus();
	uint64_t *each = calloc((size_t)processors, sizeof(*each)), total = 0;
	enum vlan_count found = VLAN_COUNTS;

	MUST(each);
	for (__u32 what = 0; what < VLAN_COUNTS; what++) {
		uint64_t sum = 0;

		MUST(!bpf_map_lookup_elem(lab->counts, &what, each));
		for (int i = 0; i < processors; i++)
			sum += each[i];
		if (sum)
			found = (enum vlan_count)what;
		total += sum;
		memset(each, 0, (size_t)processors * sizeof(*each));
		MUST(!bpf_map_update_elem(lab->counts, &what, each, BPF_ANY));
	}
	MUST(total < 2);
	free(each);
	return found;
}

static size_t write_frame(const struct frame *frame, uint8_t *bytes)
{
	uint8_t *at = bytes;

	memset(bytes, 0x5a, FRAME);
	for (int i = 0; i < 6; i++) {
		bytes[i] = (uint8_t)(frame->to >> (40 - 8 * i));
		bytes[6 + i] = (uint8_t)(frame->from >> (40 - 8 * i));
	}
	at += 12;
	if (frame->in_type) {
		*at++ = (uint8_t)(frame->in_type >> 8);
		*at++ = (uint8_t)frame->in_type;
		*at++ = (uint8_t)(frame->in_vlan >> 8);
		*at++ = (uint8_t)frame->in_vlan;
	}
	at[0] = 0x08;
	at[1] = 0x00;
	return FRAME;
}

/* Passes it to the program and sets its fate. */
static void run_frame(const struct lab *lab, const char *name, struct frame *frame)
{
	uint8_t in[FRAME], out[FRAME + 64], want[FRAME];
	struct __sk_buff before = {.cb = {0, frame->beside_type, frame->beside_vlan}};
	struct __sk_buff after = {0};
	struct bpf_test_run_opts opts = {.sz = sizeof(opts),
					 .data_in = in,
					 .data_out = out,
					 .data_size_in = (__u32)write_frame(frame, in),
					 .data_size_out = sizeof(out),
					 .ctx_in = &before,
					 .ctx_out = &after,
					 .ctx_size_in = sizeof(before),
					 .ctx_size_out = sizeof(after)};
	size_t less = 0;

	MUST(!bpf_prog_test_run_opts(program(lab, name), &opts));
	frame->verdict = (int)after.cb[0];
	frame->beside_type = (uint16_t)after.cb[1];
	frame->beside_vlan = (uint16_t)after.cb[2];
	frame->counted = take_count(lab);
	/* The bytes are unchanged but for a tag. */
	if (opts.data_size_out != FRAME) {
		frame->in_type = frame->in_vlan = 0;
		less = 4;
	}
	MUST(opts.data_size_out == FRAME - less);
	write_frame(frame, want);
	MUST(!memcmp(out, want, FRAME - less));
}

/* ---- The reference ---- */

static const struct pm_host_line *search(const struct pm_host_table *table, uint64_t mac)
{
	for (uint32_t i = 0; i < table->num; i++)
		if (table->lines[i].mac == mac)
			return &table->lines[i];
	return NULL;
}

static void expect_leave(const struct lab *lab, struct frame *frame)
{
	const struct pm_host_line *to = search(&lab->content.table, frame->to),
				  *from = search(&lab->content.table, frame->from),
				  *group = search(&lab->content.table, PM_MAC_GROUP),
				  *line;

	frame->verdict = TC_ACT_UNSPEC;
	if (frame->beside_type || frame->in_type ||
	    (frame->to & ~0xfULL) == 0x0180c2000000) {
		frame->counted = VLAN_COUNT_PASSED;
		return;
	}
	if (frame->to >> 40 & 1) {
		frame->counted = VLAN_COUNT_GROUP;
		line = group ? group : from ? from : lab->own;
	} else if (!to) {
		frame->counted = VLAN_COUNT_UNKNOWN;
		line = from ? from : group ? group : lab->own;
	} else if (!from || to->priority > from->priority) {
		frame->counted = VLAN_COUNT_PARTNER;
		line = to;
	} else {
		frame->counted = VLAN_COUNT_OWN;
		line = from;
	}
	frame->beside_type = TAG;
	frame->beside_vlan = (uint16_t)line->vlan;
}

/* A tag beside the bytes is the outer one; the kernel puts the next one in its place. */
static void expect_arrive(const struct lab *lab, struct frame *frame)
{
	uint16_t *type = frame->beside_type ? &frame->beside_type : &frame->in_type;
	uint16_t *vlan = frame->beside_type ? &frame->beside_vlan : &frame->in_vlan;

	frame->verdict = TC_ACT_UNSPEC;
	frame->counted = VLAN_COUNTS;
	if (!*type)
		return;
	frame->counted = VLAN_COUNT_FOREIGN;
	if (*type == TAG && lab->content.popped[*vlan & 0xfff]) {
		frame->counted = VLAN_COUNT_POPPED;
		*type = frame->in_type;
		*vlan = frame->in_vlan;
		frame->in_type = frame->in_vlan = 0;
	}
}

static void compare(const struct frame *got, const struct frame *want)
{
	if (!memcmp(got, want, sizeof(*got)))
		return;
	printf("PM_SEED=%" PRIu64 ": %012" PRIx64 " to %012" PRIx64
	       ": verdict %d, tag %04x.%u, inner %04x.%u, counter %u; not %d, %04x.%u, "
	       "%04x.%u, %u\n",
	       seed, got->from, got->to, got->verdict, got->beside_type, got->beside_vlan,
	       got->in_type, got->in_vlan, got->counted, want->verdict, want->beside_type,
	       want->beside_vlan, want->in_type, want->in_vlan, want->counted);
	exit(1);
}

/* ---- Draws ---- */

static uint32_t below(uint32_t count)
{
	static uint64_t state, last;

	if (last != seed) {
		last = seed;
		state = seed;
	}
	return (uint32_t)pm_random_below(&state, count);
}

static uint64_t host_mac(uint32_t host)
{
	return 0x020000000000 | (uint64_t)host << 16 | (host * 37 & 0xff);
}

static int by_mac(const void *a, const void *b)
{
	const struct pm_host_line *x = a, *y = b;

	return x->mac < y->mac ? -1 : x->mac > y->mac;
}

/* Up to MAX_HOSTS hosts, every third without a line, and mostly a line of groups. */
static void draw_table(struct lab *lab)
{
	static struct pm_host_line lines[MAX_HOSTS + 1];
	uint32_t num = 0, start = below(UINT32_MAX);

	memset(&lab->content, 0, sizeof(lab->content));
	for (uint32_t i = 0; i < MAX_HOSTS; i++)
		if (!i || below(3))
			lines[num++] = (struct pm_host_line){
				.mac = host_mac(i),
				.vlan = below(9) ? 100 + below(9) : 1 + below(4094),
				.priority = (start + i * 0x9e3779b1u) | !(start + i)};
	if (below(4))
		lines[num++] = (struct pm_host_line){
			.mac = PM_MAC_GROUP, .vlan = 100 + below(9), .priority = 5};
	qsort(lines, num, sizeof(*lines), by_mac);
	lab->content.table = (struct pm_host_table){lines, num};
	lab->own = &lines[below(num)];
	lab->content.popped[1 + below(4094)] = true;
	vlan_content_pop_own(&lab->content);
}

static void draw_tag(uint16_t *type, uint16_t *vlan)
{
	*type = below(3) ? TAG : SERVICE_TAG;
	*vlan = (uint16_t)(below(3) ? 98 + below(12) : below(4096));
}

static struct frame draw_frame(void)
{
	static const uint64_t groups[] = {PM_MAC_GROUP,	  0x01005e000001, 0x3333ff000001,
					  0x0180c2000000, 0x0180c200000e, 0x0180c200000f,
					  0x0180c2000010, 0x0180c2000100};
	struct frame frame;

	memset(&frame, 0, sizeof(frame)); /* also between members: they are compared */
	frame.to = below(4) ? host_mac(below(MAX_HOSTS)) : groups[below(8)];
	frame.from = host_mac(below(MAX_HOSTS));
	if (!below(3))
		draw_tag(&frame.beside_type, &frame.beside_vlan);
	if (!below(3))
		draw_tag(&frame.in_type, &frame.in_vlan);
	return frame;
}

static void try(struct lab *lab, uint64_t rounds)
{
	const char *text = getenv("PM_SEED");

	seed = text ? strtoull(text, NULL, 0) : 1;
	for (uint64_t last = seed + rounds; seed < last; seed++) {
		draw_table(lab);
		put_in_force(lab);
		for (int i = 0; i < FRAMES; i++) {
			struct frame frame = draw_frame(), want = frame;
			bool leaves = below(2);

			if (leaves)
				expect_leave(lab, &want);
			else
				expect_arrive(lab, &want);
			run_frame(lab, leaves ? "try_leave" : "try_arrive", &frame);
			compare(&frame, &want);
		}
	}
	printf("%" PRIu64 " frames as the reference has them\n", rounds * FRAMES);
}

/* ---- Cost ---- */

/* One host's frames to another one; the best of several runs is without interruptions. */
static uint32_t measure(const struct lab *lab, const char *name, uint64_t to)
{
	const struct frame frame = {.to = to, .from = host_mac(1)};
	uint32_t best = UINT32_MAX;
	uint8_t in[FRAME];

	for (int i = 0; i < 15; i++) {
		struct bpf_test_run_opts opts = {.sz = sizeof(opts),
						 .data_in = in,
						 .data_size_in =
							 (__u32)write_frame(&frame, in),
						 .repeat = 200000};

		MUST(!bpf_prog_test_run_opts(program(lab, name), &opts));
		if (opts.duration < best)
			best = opts.duration;
	}
	return best;
}

static void cost(struct lab *lab, uint32_t hosts)
{
	struct pm_host_line *lines = calloc(hosts + 1, sizeof(*lines));
	static const struct {
		const char *program, *text;
		bool group;
	} rows[] = {
		{"cost_nothing", "nothing", false},
		{"cost_push_pop", "a tag pushed and popped", false},
		{"cost_leave_pop", "sent to a host, popped", false},
		{"cost_leave_pop", "sent to a group, popped", true},
		{"cost_push_arrive", "pushed, received", false},
		{"cost_untagged", "received without a tag", false},
	};

	MUST(lines && hosts > 2);
	for (uint32_t i = 0; i < hosts; i++)
		lines[i] = (struct pm_host_line){
			.mac = host_mac(i), .vlan = 101 + i % 18, .priority = i + 1};
	lines[hosts] = (struct pm_host_line){
		.mac = PM_MAC_GROUP, .vlan = 101, .priority = hosts + 1};
	lab->content.table = (struct pm_host_table){lines, hosts + 1};
	vlan_content_pop_own(&lab->content);
	lab->own = &lines[1];
	put_in_force(lab);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		printf("%-24s %" PRIu32 " ns\n", rows[i].text,
		       measure(lab, rows[i].program,
			       rows[i].group ? PM_MAC_GROUP : host_mac(hosts / 2)));
	free(lines);
}

static int say_nothing(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, format, args) : 0;
}

int main(int argc, char **argv)
{
	struct lab lab = {0};
	int rc;

	if (argc != 4)
		return 2;
	libbpf_set_print(say_nothing);
	lab.object = bpf_object__open(argv[1]);
	MUST(lab.object);
	rc = bpf_object__load(lab.object);
	if (rc == -EPERM || rc == -ENOSYS)
		return 77;
	MUST(!rc);
	lab.tables = bpf_object__find_map_fd_by_name(lab.object, "pm_vlan_table");
	lab.counts = bpf_object__find_map_fd_by_name(lab.object, "pm_vlan_counts");
	if (strcmp(argv[2], "cost"))
		try(&lab, strtoull(argv[3], NULL, 10));
	else
		cost(&lab, (uint32_t)strtoul(argv[3], NULL, 10));
	bpf_object__close(lab.object);
	return 0;
}
