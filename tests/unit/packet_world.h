/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A world with traffic in it, for tests of the packet engine. */
#ifndef PORTMAJOR_TESTS_PACKET_WORLD_H
#define PORTMAJOR_TESTS_PACKET_WORLD_H

#include "world.h"
#include "unit.h"

#include <portmajor/lab/packet.h>

#define WIRE 7
#define CROSSING 11
#define MAX_PATH 16

/* A world with its hosts, and the run to be tried. */
struct lab {
	struct world world;
	uint8_t *tables; /* the world's, or others */
	struct pm_packet_host *hosts;
	uint32_t num_hosts;
	struct pm_workload_config workload;
	struct pm_packet_config config;
	struct pm_packet *packet;
	struct pm_packet_result r;
};

static inline void list_hosts(struct lab *lab)
{
	const struct pm_fabric *fabric = lab->world.fabric;

	lab->hosts = calloc(fabric->num_ports, sizeof(*lab->hosts));
	assert_non_null(lab->hosts);
	lab->num_hosts = pm_packet_list_hosts(fabric, lab->hosts);
}

static inline void configure(struct lab *lab)
{
	list_hosts(lab);
	lab->workload = (struct pm_workload_config){
		.num_hosts = lab->num_hosts,
		.blocks = 64,
		.seed = 1,
	};
	lab->config = (struct pm_packet_config){
		.fabric = lab->world.fabric,
		.tables = lab->tables,
		.length = lab->world.stride,
		.hosts = lab->hosts,
		.num_hosts = lab->num_hosts,
		.wire = WIRE,
		.crossing = CROSSING,
		.packet = 64,
		.buffer = 256,
		.warmup = 10000,
		.batch = 10000,
		.batches = 10,
	};
}

static inline void begin_with(struct lab *lab, struct pm_fabric *fabric)
{
	*lab = (struct lab){0};
	world_make(&lab->world, fabric, PM_GROUPED);
	lab->tables = lab->world.first;
	configure(lab);
}

static inline struct pm_fabric *tree(unsigned int height, unsigned int arity)
{
	struct pm_generate config = {.kind = PM_GENERATE_XGFT,
				     .xgft = {.height = height}};

	for (unsigned int i = 0; i < height; i++) {
		config.xgft.children[i] = arity;
		config.xgft.parents[i] = i ? arity : 1;
	}
	return world_generate(&config);
}

/* A switch with four hosts. */
static inline void begin_star(struct lab *lab)
{
	begin_with(lab, recipe_draw("s/4 s:1=a s:2=b s:3=c s:4=d"));
	assert_int_equal(lab->num_hosts, 4);
}

/* Four switches in a ring with hosts: all traffic goes in one direction, by ports 2. */
static inline void begin_ring_of(struct lab *lab, const char *drawing)
{
	*lab = (struct lab){.world = {.fabric = recipe_draw(drawing), .stride = 64}};
	lab->tables = malloc(4 * 64);
	assert_non_null(lab->tables);
	memset(lab->tables, 2, 4 * 64);
	configure(lab);
	for (uint32_t h = 0; h < lab->num_hosts; h++) {
		const struct pm_port *ports = lab->world.fabric->ports;
		const struct pm_port *port = &ports[ports[lab->hosts[h].port].peer];

		lab->hosts[h].lid = (uint16_t)(h + 1);
		lab->tables[port->node * 64 + h + 1] = port->num;
	}
	lab->config.buffer = 64;
}

/* Each switch has a host. */
static inline void begin_ring(struct lab *lab)
{
	begin_ring_of(lab, "r0/3 r1/3 r2/3 r3/3 r0:1=a r1:1=b r2:1=c r3:1=d r0:2=r1:3 "
			   "r1:2=r2:3 r2:2=r3:3 r3:2=r0:3");
	lab->workload.pattern = PM_SHIFT;
	lab->workload.load = PM_LOAD_FULL;
}

static inline void end(struct lab *lab)
{
	if (lab->tables != lab->world.first)
		free(lab->tables);
	free(lab->hosts);
	world_free(&lab->world);
}

/* Begins a run; it goes on until run_to, and is over with finish. */
static inline void start(struct lab *lab)
{
	struct pm_error err = {""};

	if (pm_workload_new(&lab->workload, &lab->config.workload, &err) ||
	    pm_packet_new(&lab->config, &lab->packet, &err))
		fail_msg("%s", err.text);
}

static inline void run_to(struct lab *lab, uint32_t tick)
{
	pm_packet_run(lab->packet, tick);
	pm_packet_result(lab->packet, &lab->r);
}

static inline void finish(struct lab *lab)
{
	pm_packet_free(lab->packet);
	pm_workload_free(lab->config.workload);
}

static inline uint32_t end_of(const struct lab *lab)
{
	return lab->config.warmup + lab->config.batch * lab->config.batches + 1;
}

/* A whole run except for finish(). */
static inline void start_to_end(struct lab *lab)
{
	start(lab);
	run_to(lab, end_of(lab));
}

/* A whole run; lab->r has no arrays then. */
static inline void run(struct lab *lab)
{
	start_to_end(lab);
	assert_int_equal(pm_packet_stuck(lab->packet, NULL, 0), 0);
	finish(lab);
}

/* Outputs from a host to another, the host's own first; returns their number. */
static inline uint32_t find_path(const struct lab *lab, uint32_t from, uint32_t to,
				 uint32_t *path)
{
	const struct pm_fabric *fabric = lab->world.fabric;
	uint32_t num = 0, port = lab->hosts[from].port;

	for (;;) {
		uint32_t node;

		assert_true(num < MAX_PATH);
		path[num++] = port;
		node = pm_fabric_peer_node(fabric, port);
		if (node >= fabric->num_switches)
			break;
		port = fabric->nodes[node].first_port +
		       lab->tables[(size_t)node * lab->world.stride + lab->hosts[to].lid];
	}
	assert_int_equal(fabric->ports[path[num - 1]].peer, lab->hosts[to].port);
	return num;
}

static inline uint32_t zero_load(uint32_t links, uint32_t blocks)
{
	return blocks + links * WIRE + (links - 1) * CROSSING;
}

static inline uint64_t mix(uint64_t digest, uint64_t value)
{
	return (digest ^ value) * 0x100000001b3u;
}

static inline uint64_t digest_of(const struct lab *lab)
{
	const struct pm_packet_result *r = &lab->r;
	uint64_t digest = mix(mix(mix(1, r->created), r->delivered), r->events);

	for (uint32_t i = 0; i < r->num_batches; i++)
		digest = mix(mix(digest, r->batches[i].latency), r->batches[i].lag);
	for (uint32_t i = 0; i < lab->world.fabric->num_ports; i++)
		digest = mix(digest, r->busy[i]);
	return mix(mix(digest, r->p99), r->slowest);
}

static inline uint64_t run_digest(struct lab *lab)
{
	uint64_t digest;

	start_to_end(lab);
	digest = digest_of(lab);
	finish(lab);
	return digest;
}

#endif
