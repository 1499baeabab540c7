/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Begins and ends a run. */
#include "packet_parts.h"

#include <portmajor/memory/xalloc.h>

#include <errno.h>

static int check_sets(const struct pm_packet_config *config, struct pm_error *err)
{
	for (uint32_t i = 0; i < config->num_sets; i++) {
		const struct pm_packet_set *set = &config->sets[i];

		if (set->sw >= config->fabric->num_switches ||
		    set->block >= config->length / 64)
			return pm_error_set(err, -EINVAL,
					    "Set %u: there is no block %u of switch %u",
					    i, set->block, set->sw);
		if (i && set->time < config->sets[i - 1].time)
			return pm_error_set(err, -EINVAL,
					    "Set %u is older than the one before it", i);
	}
	return 0;
}

static int check_numbers(const struct pm_packet_config *config, struct pm_error *err)
{
	uint64_t end = config->warmup + (uint64_t)config->batch * config->batches;

	if (!config->packet || config->packet > PM_PACKET_MAX_BLOCKS)
		return pm_error_set(err, -EINVAL, "packets of %u blocks: not 1 to %u",
				    config->packet, PM_PACKET_MAX_BLOCKS);
	if (config->buffer < config->packet || config->buffer > INT16_MAX)
		return pm_error_set(err, -EINVAL,
				    "buffers of %u blocks: not %u, a packet, to %u",
				    config->buffer, config->packet, INT16_MAX);
	if (!config->wire || config->wire > UINT16_MAX || config->crossing > UINT16_MAX)
		return pm_error_set(err, -EINVAL,
				    "delays of %u and %u ticks: not 1 and 0 to %u",
				    config->wire, config->crossing, UINT16_MAX);
	if (!config->batch || !config->batches || config->batches > PM_PACKET_BATCHES ||
	    end >= PM_PACKET_MAX_TICKS)
		return pm_error_set(
			err, -EINVAL,
			"%u batches of %u ticks after %u: not 1 to %u, or too long",
			config->batches, config->batch, config->warmup,
			PM_PACKET_BATCHES);
	if (config->lifetime >= PM_PACKET_MAX_TICKS ||
	    config->timeout >= PM_PACKET_MAX_TICKS || config->tries > UINT8_MAX - 1)
		return pm_error_set(
			err, -EINVAL,
			"a lifetime of %u ticks, answers in %u and %u tries: too many",
			config->lifetime, config->timeout, config->tries);
	for (uint32_t i = 0; i < config->num_returns; i++)
		if (config->returns[i].time <= config->fail_at ||
		    (i && config->returns[i].time < config->returns[i - 1].time))
			return pm_error_set(
				err, -EINVAL,
				"a cable is back at tick %u: not by time, or it "
				"failed at %u",
				config->returns[i].time, config->fail_at);
	return 0;
}

static int check_ticks(const struct pm_packet_config *config, struct pm_error *err)
{
	for (uint32_t i = 0; config->ticks && i < config->fabric->num_ports; i++)
		if (!config->ticks[i])
			return pm_error_set(err, -EINVAL,
					    "port %u: a block takes 0 ticks", i);
	return 0;
}

static bool is_table(const struct pm_packet_weight *table, uint32_t num, uint32_t lanes)
{
	bool good = num <= PM_PACKET_WEIGHTS;

	for (uint32_t i = 0; good && i < num; i++)
		good = table[i].lane < lanes;
	return good;
}

static int check_lanes(const struct pm_packet_lanes *lanes, struct pm_error *err)
{
	if (!lanes->num || lanes->num > PM_PACKET_MAX_LANES)
		return pm_error_set(err, -EINVAL, "%u lanes: not 1 to %u", lanes->num,
				    PM_PACKET_MAX_LANES);
	for (uint32_t i = 0; i < PM_MAX_SLS; i++)
		if (lanes->of_sl[i] >= lanes->num)
			return pm_error_set(err, -EINVAL,
					    "service level %u: there is no lane %u", i,
					    lanes->of_sl[i]);
	if (!is_table(lanes->high, lanes->num_high, lanes->num) ||
	    !is_table(lanes->low, lanes->num_low, lanes->num) ||
	    lanes->limit > PM_PACKET_NO_LIMIT)
		return pm_error_set(err, -EINVAL,
				    "an arbitration table with more than %u entries, "
				    "with a lane that is not there, or a limit above %u",
				    PM_PACKET_WEIGHTS, PM_PACKET_NO_LIMIT);
	return 0;
}

uint32_t pm_packet_list_hosts(const struct pm_fabric *fabric,
			      struct pm_packet_host *hosts)
{
	uint32_t num = 0;

	for (uint32_t sw = 0; sw < fabric->num_switches; sw++)
		pm_for_each_port(i, fabric, sw) {
			uint32_t peer = fabric->ports[i].peer;

			if (peer != PM_NONE &&
			    fabric->ports[peer].node >= fabric->num_switches)
				hosts[num++] = (struct pm_packet_host){
					peer, fabric->ports[peer].lid};
		}
	return num;
}

static int check_config(const struct pm_packet_config *config, struct pm_error *err)
{
	const struct pm_fabric *fabric = config->fabric;
	int rc = check_numbers(config, err);

	if (!rc)
		rc = check_ticks(config, err);
	if (!rc && config->lanes)
		rc = check_lanes(config->lanes, err);
	if (rc)
		return rc;
	for (uint32_t h = 0; h < config->num_hosts; h++) {
		uint32_t port = config->hosts[h].port;

		if (fabric->ports[port].node < fabric->num_switches ||
		    pm_fabric_peer_node(fabric, port) >= fabric->num_switches)
			return pm_error_set(
				err, -EINVAL,
				"\"%s\" is no host with a cable to a switch",
				pm_fabric_label(fabric, fabric->ports[port].node));
		if (!config->hosts[h].lid)
			return pm_error_set(
				err, -EINVAL, "\"%s\" has no LID",
				pm_fabric_label(fabric, fabric->ports[port].node));
	}
	return check_sets(config, err);
}

static void begin_ports(struct pm_packet *sim)
{
	const struct pm_fabric *fabric = sim->config.fabric;

	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		*port_of(sim, i) = (struct port){
			.peer = fabric->ports[i].peer,
			.node = fabric->ports[i].node,
			.from = PM_NONE,
			.ticks = sim->config.ticks ? sim->config.ticks[i] : 1,
			.arrived = PM_NONE,
			.to_host = pm_fabric_peer_node(fabric, i) >= fabric->num_switches,
			.host = PM_NONE,
		};
		for (uint32_t l = 0; l < sim->lanes; l++) {
			*lane_of(sim, i, l) = (struct lane){
				.head = PM_NONE,
				.tail = PM_NONE,
				.credit = (int32_t)sim->config.buffer,
			};
			if (sim->line)
				line_of(sim, i, l)->head = PM_NONE;
		}
	}
}

static void begin_hosts(struct pm_packet *sim)
{
	for (uint32_t h = 0; h < sim->config.num_hosts; h++) {
		struct port *p = port_of(sim, sim->config.hosts[h].port);

		p->host = h;
		sim->source[h].wake = NO_TIME;
		sim->source[h].ticks = p->ticks;
	}
	for (uint32_t h = 0; h < sim->config.num_hosts; h++)
		packet_feed(sim, h);
}

static void allocate_packet(struct pm_packet *sim)
{
	const struct pm_fabric *fabric = sim->config.fabric;
	struct pm_pool *pool = &sim->pool;
	size_t lanes = (size_t)fabric->num_ports * sim->lanes;

	sim->tables =
		pm_pool_xbytes(pool, (size_t)fabric->num_switches * sim->config.length);
	sim->stride =
		(sizeof(struct port) + sim->lanes * sizeof(struct lane) + 63) / 64 * 64;
	sim->ports = pm_pool_xbytes(pool, fabric->num_ports * sim->stride);
	if (sim->config.in_line)
		sim->line = pm_pool_xarray(pool, lanes, sizeof(*sim->line));
	if (sim->lanes > 1)
		sim->arbiters =
			pm_pool_xarray(pool, fabric->num_ports, sizeof(*sim->arbiters));
	if (sim->config.reads)
		sim->starved = pm_pool_xarray(pool, (size_t)fabric->num_switches * 4,
					      sizeof(*sim->starved));
	sim->source = pm_pool_xarray(pool, sim->config.num_hosts, sizeof(*sim->source));
	sim->senders = pm_pool_xarray(pool, sim->config.num_hosts, sizeof(*sim->senders));
	sim->drops_at = pm_pool_xarray(pool, fabric->num_nodes, sizeof(*sim->drops_at));
	sim->windows = pm_pool_xarray(pool, sim->num_windows, sizeof(*sim->windows));
	sim->latencies = pm_pool_xarray(pool, BUCKETS, sizeof(*sim->latencies));
	sim->busy_before =
		pm_pool_xarray(pool, fabric->num_ports, sizeof(*sim->busy_before));
	sim->busy = pm_pool_xarray(pool, fabric->num_ports, sizeof(*sim->busy));
}

int pm_packet_new(const struct pm_packet_config *config, struct pm_packet **result,
		  struct pm_error *err)
{
	struct pm_packet *sim;
	int rc = check_config(config, err);

	if (rc)
		return rc;
	sim = pm_xarray(1, sizeof(*sim));
	wheel_begin(&sim->wheel);
	sim->config = *config;
	sim->lanes = config->lanes ? config->lanes->num : 1;
	sim->free = PM_NONE;
	if (config->window)
		sim->num_windows = (config->warmup + config->batch * config->batches) /
				   config->window;
	allocate_packet(sim);
	if (config->timeout)
		rc_begin(&sim->rc, config->num_hosts, config->timeout, config->tries);
	memcpy(sim->tables, config->tables,
	       (size_t)config->fabric->num_switches * config->length);
	if (sim->lanes > 1)
		arbiter_begin(sim);
	begin_ports(sim);
	if (config->num_failed && !config->fail_at)
		packet_fail_links(sim); /* before anything is sent */
	begin_hosts(sim);
	*result = sim;
	return 0;
}

void pm_packet_free(struct pm_packet *sim)
{
	if (!sim)
		return;
	wheel_end(&sim->wheel);
	free(sim->packets);
	free(sim->deadlocks);
	free(sim->tags);
	rc_end(&sim->rc);
	pm_pool_free(&sim->pool);
	free(sim);
}

bool pm_packet_is_idle(const struct pm_packet *sim)
{
	if (sim->inside || sim->waste || !wheel_is_empty(&sim->wheel))
		return false;
	for (uint32_t i = 0; i < sim->config.fabric->num_ports; i++)
		for (uint32_t l = 0; l < sim->lanes; l++)
			if (port_of(sim, i)->peer != PM_NONE &&
			    lane_of(sim, i, l)->credit != (int32_t)sim->config.buffer)
				return false;
	return true;
}
