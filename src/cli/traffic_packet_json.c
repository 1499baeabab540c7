/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the packet engine found, as JSON and as text. */
#include "traffic_packet.h"

#include "json.h"
#include "packet_jobs.h"
#include "text.h"
#include "traffic.h"

#include <stdio.h>
#include <string.h>

/* ---- Describing ---- */

static json_t *gbps_json(uint32_t mbps)
{
	return mbps % 1000 ? json_real(mbps / 1000.0) : json_integer(mbps / 1000);
}

/* As the fabric's cables have them, the fastest first; none with --gbps. */
static json_t *rates_json(const struct pm_rates *rates)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < rates->num; i++)
		list = cli_json_append(
			list, json_pack("{s:o, s:I, s:I}", "gbps",
					gbps_json(rates->list[i].rate), "ticks",
					(json_int_t)rates->list[i].ticks, "links",
					(json_int_t)rates->list[i].links));
	return list;
}

/* The fastest rate, in Mb/s. */
static uint32_t rate_of(const struct packet_lab *lab)
{
	if (lab->rates.num)
		return lab->rates.list[0].rate;
	return (lab->request->gbps ? lab->request->gbps : PACKET_GBPS) * 1000;
}

static json_t *sls_json(const struct packet_request *request)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < request->num_sls; i++)
		list = cli_json_append(list, json_integer(request->sls[i]));
	return list;
}

json_t *packet_settings_json(const struct packet_lab *lab)
{
	const struct packet_request *request = lab->request;
	const struct pm_packet_config *config = &lab->config;
	json_t *object = json_pack(
		"{s:s, s:s, s:s, s:b, s:I, s:I, s:I, s:o, s:o, s:f, s:f, s:I, s:I, s:b, "
		"s:I, "
		"s:f, s:f, s:I, s:o, s:I, s:I, s:o, s:o, s:o}",
		"engine", "packet", "tables",
		request->sets	? "recording"
		: request->lfts ? "file"
				: "plan",
		"pattern",
		request->collective ? pm_collective_name(request->algorithm)
				    : pm_pattern_name(request->pattern),
		"poisson", request->poisson, "hosts", (json_int_t)lab->scene.num_hosts,
		"bytes", (json_int_t)lab->workload.blocks * 64, "mtu",
		(json_int_t)request->mtu, "gbps", gbps_json(rate_of(lab)), "rates",
		rates_json(&lab->rates), "wire_us", packet_us(lab, config->wire),
		"crossing_us", packet_us(lab, config->crossing), "buffer",
		(json_int_t)config->buffer, "reads", (json_int_t)config->reads, "in_line",
		config->in_line, "seed", (json_int_t)request->seed, "warmup_us",
		packet_us(lab, config->warmup), "time_us",
		packet_us(lab, (double)config->batch * config->batches), "batches",
		(json_int_t)config->batches, "lost", cli_lost_json(&request->lost),
		"seeds", (json_int_t)request->seeds, "vls",
		(json_int_t)request->lanes.num, "sls", sls_json(request), "collective",
		packet_collective_json(lab), "jobs", packet_jobs_json(lab));

	return cli_json_join(object, traffic_replay_json(lab));
}

static json_t *drops_json(const struct packet_lab *lab, const struct pm_packet_result *r)
{
	json_t *list = json_array();

	for (uint32_t node = 0; node < lab->scene.fabric->num_nodes; node++)
		for (unsigned int reason = 0; reason < PM_DROPS; reason++)
			if (r->drops_at[node][reason])
				list = cli_json_append(
					list,
					json_pack("{s:o, s:s, s:I}", "node",
						  cli_node_json(lab->scene.fabric, node),
						  "reason",
						  pm_packet_drop_name(
							  (enum pm_packet_drop)reason),
						  "packets",
						  (json_int_t)r->drops_at[node][reason]));
	return list;
}

/* What became of connections, or null. */
static json_t *pairs_json(const struct packet_lab *lab, const struct pm_packet_pairs *p)
{
	if (!lab->request->reliable)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "used",
			 (json_int_t)p->pairs, "again", (json_int_t)p->again, "late",
			 (json_int_t)p->late, "broken", (json_int_t)p->broken, "timeouts",
			 (json_int_t)p->timeouts, "gaps", (json_int_t)p->gaps, "resent",
			 (json_int_t)p->resent, "refused", (json_int_t)p->refused);
}

/* How busy cables between switches were, each in both directions. */
static json_t *links_json(const struct packet_lab *lab, const struct pm_packet_result *r)
{
	const struct pm_fabric *fabric = lab->scene.fabric;
	uint64_t sum = 0, most = 0, num = 0, busy;
	double ticks = r->measured;

	for (uint32_t sw = 0; sw < fabric->num_switches; sw++)
		pm_for_each_port(port, fabric, sw) {
			uint32_t far = pm_fabric_peer_node(fabric, port);

			if (far == PM_NONE || far >= fabric->num_switches)
				continue;
			busy = r->sent[port] * (lab->ticks ? lab->ticks[port] : 1);
			sum += busy;
			num++;
			if (busy > most)
				most = busy;
		}
	if (!num || ticks <= 0)
		return json_null();
	return json_pack("{s:f, s:f}", "max", (double)most / ticks, "mean",
			 (double)sum / (double)num / ticks);
}

static double mean_us(const struct packet_lab *lab, const struct pm_packet_while *w)
{
	return w->messages ? packet_us(lab, (double)w->latency / (double)w->messages) : 0;
}

static json_t *windows_json(const struct packet_lab *lab,
			    const struct pm_packet_result *r)
{
	json_t *list = json_array();
	double window = lab->config.window, sets = 0;

	for (uint32_t i = 0; i < r->num_windows; i++) {
		const struct pm_packet_while *w = &r->windows[i];
		double end = (i + 1) * window;

		while (sets < lab->scene.replay.num &&
		       lab->scene.replay.list[(uint32_t)sets].time <= end)
			sets++;
		list = cli_json_append(
			list,
			json_pack("{s:f, s:f, s:f, s:f, s:I, s:I}", "us",
				  packet_us(lab, i * window - lab->config.warmup), "rate",
				  (double)w->ticks / window / lab->scene.num_hosts,
				  "mean_us", mean_us(lab, w), "max_us",
				  packet_us(lab, (double)w->slowest), "dropped",
				  (json_int_t)w->dropped, "sets", (json_int_t)sets));
	}
	return list;
}

/* What came of each service level that was used. */
static json_t *classes_json(const struct packet_lab *lab,
			    const struct pm_packet_result *r)
{
	double us = packet_us(lab, r->measured);
	json_t *list = json_array();

	for (uint32_t sl = 0; sl < PM_MAX_SLS && us > 0; sl++) {
		const struct pm_packet_while *w = &r->sls[sl];

		if (!w->packets)
			continue;
		list = cli_json_append(
			list,
			json_pack("{s:I, s:I, s:I, s:f, s:f, s:f}", "sl", (json_int_t)sl,
				  "vl", (json_int_t)lab->config.lanes->of_sl[sl],
				  "messages", (json_int_t)w->messages, "gbps",
				  (double)w->blocks * 512 / us / 1000, "mean_us",
				  mean_us(lab, w), "max_us",
				  packet_us(lab, (double)w->slowest)));
	}
	return list;
}

static json_t *latency_json(const struct packet_lab *lab,
			    const struct pm_packet_result *r)
{
	return json_pack("{s:f, s:f, s:f, s:f, s:f}", "mean", packet_us(lab, r->mean),
			 "half", packet_us(lab, r->half), "p50",
			 packet_us(lab, (double)r->p50), "p99",
			 packet_us(lab, (double)r->p99), "max",
			 packet_us(lab, (double)r->slowest));
}

/* The circle in which packets wait for each other, or null. */
static json_t *circle_json(const struct packet_lab *lab, const uint32_t *circle, int num)
{
	json_t *list = json_array();

	if (!num) {
		json_decref(list);
		return json_null();
	}
	for (int i = 0; i < num && i < PACKET_CIRCLE; i++)
		list = cli_json_append(list, cli_link_json(lab->scene.fabric, circle[i]));
	return list;
}

/* What is not in order. */
static json_t *findings_json(const struct packet_lab *lab,
			     const struct pm_packet_result *r, const uint32_t *circle,
			     int num)
{
	return json_pack("{s:b, s:o}", "loss", r->dropped && !lab->config.num_lost,
			 "deadlock", circle_json(lab, circle, num));
}

static json_t *done_json(const struct packet_lab *lab, const struct packet_run *run)
{
	uint64_t left = pm_workload_left(run->workload);

	if (!packet_request_closed(lab->request))
		return json_null();
	return json_pack("{s:o, s:I}", "us",
			 left ? json_null() : json_real(packet_us(lab, run->r.done)),
			 "left", (json_int_t)left);
}

json_t *packet_point_json(const struct packet_lab *lab, const struct packet_run *run,
			  const uint32_t *circle, int num)
{
	const struct pm_packet_result *r = &run->r;
	uint32_t load = lab->workload.load;

	return json_pack(
		"{s:I, s:o, s:f, s:o, s:b, s:f, s:o, s:I, s:I, s:I, s:I, s:I, s:o, s:o, "
		"s:I, s:I, s:o, s:o, s:o, s:o}",
		"seed", (json_int_t)lab->workload.seed, "offered",
		load ? json_real(load / (double)PM_LOAD_FULL) : json_null(), "accepted",
		r->accepted, "latency_us", latency_json(lab, r), "unstable", r->unstable,
		"fairness", r->fairness, "links", links_json(lab, r), "packets",
		(json_int_t)r->created, "delivered", (json_int_t)r->delivered, "spare",
		(json_int_t)r->spare, "dropped", (json_int_t)r->dropped, "inside",
		(json_int_t)r->inside, "drops", drops_json(lab, r), "windows",
		windows_json(lab, r), "events", (json_int_t)r->events, "block_hops",
		(json_int_t)r->hops, "pairs", pairs_json(lab, &r->pairs), "done",
		done_json(lab, run), "findings", findings_json(lab, r, circle, num),
		"sls", classes_json(lab, r));
}

bool packet_has_findings(const json_t *points)
{
	const json_t *point, *findings;
	size_t i;

	json_array_foreach(points, i, point)
	{
		findings = json_object_get(point, "findings");
		if (json_is_true(json_object_get(findings, "loss")) ||
		    json_is_array(json_object_get(findings, "deadlock")))
			return true;
	}
	return false;
}
