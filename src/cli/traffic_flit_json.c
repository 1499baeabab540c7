/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the flit engine found, as JSON and as text. */
#include "json.h"
#include "text.h"
#include "traffic_flit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MILLION 1e6

const char *flit_flow_name(enum pm_flit_flow flow)
{
	return flow == PM_FLIT_CREDIT ? "credit" : "slack";
}

const char *flit_rule_name(enum pm_flit_rule rule)
{
	static const char *const names[] = {"hop", "dateline", "any", "one"};

	return names[rule];
}

const char *flit_arrivals_name(enum pm_flit_arrivals arrivals)
{
	return arrivals == PM_FLIT_INTERVAL ? "interval" : "poisson";
}

/* ---- JSON ---- */

static json_t *number_if(bool wanted, uint32_t number)
{
	return wanted ? json_integer(number) : json_null();
}

static json_t *string_if(const char *text)
{
	return text ? cli_json_string(text) : json_null();
}

static json_t *network_json(const struct flit_request *request,
			    const struct pm_flit_net *net)
{
	return json_pack("{s:o, s:o, s:o, s:I, s:I, s:I}", "topology",
			 string_if(request->topology), "netlist",
			 string_if(request->netlist), "lfts", string_if(request->lfts),
			 "switches", (json_int_t)net->num_switches, "nodes",
			 (json_int_t)net->num_nodes, "links", (json_int_t)net->num_links);
}

json_t *flit_settings_json(const struct flit_request *request,
			   const struct pm_flit_net *net)
{
	const struct pm_flit_config *c = &request->config;
	bool slack = c->flow == PM_FLIT_SLACK;
	json_t *settings = json_pack(
		"{s:s, s:o, s:o, s:I, s:I, s:I, s:s, s:o, s:I, s:I, s:o, s:s, s:I, s:I, "
		"s:I, s:I}",
		"flow", flit_flow_name(c->flow), "stop", number_if(slack, c->stop), "go",
		number_if(slack, c->go), "cable", (json_int_t)c->cable, "buffer",
		(json_int_t)c->buffer, "vcs", (json_int_t)c->vcs, "vc_rule",
		flit_rule_name(c->rule), "ties",
		net->torus ? json_string(request->ties_up ? "up" : "parity")
			   : json_null(),
		"reads", (json_int_t)c->reads, "delay", (json_int_t)c->delay, "pattern",
		cli_json_string(request->pattern), "arrivals",
		flit_arrivals_name(c->arrivals), "warm_up", (json_int_t)request->warm_up,
		"cycles", (json_int_t)request->cycles, "seed",
		(json_int_t)request->first_seed, "seeds", (json_int_t)request->seeds);

	return cli_json_join(cli_json_new("traffic", 1),
			     json_pack("{s:s, s:o, s:o}", "engine", "flit", "settings",
				       settings, "network", network_json(request, net)));
}

/* Mean of what seeds found, and half of the interval that holds the true one in 19 cases
 * of 20: null with a single seed. */
struct estimate {
	double mean, half;
	bool known;
};

static double student(uint32_t seeds)
{
	static const double table[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
				       2.306,  2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
				       2.131,  2.120, 2.110, 2.101, 2.093, 2.086};
	uint32_t freedom = seeds - 1;

	return freedom <= sizeof(table) / sizeof(*table) ? table[freedom - 1]
							 : 1.96 + 2.5 / freedom;
}

static double accepted_of(const struct pm_flit_result *run)
{
	return run->accepted;
}

static double latency_of(const struct pm_flit_result *run)
{
	return run->mean;
}

static struct estimate estimate(const struct flit_point *point, uint32_t seeds,
				double (*what)(const struct pm_flit_result *run))
{
	struct estimate result = {.known = seeds > 1};
	double squares = 0;

	for (uint32_t i = 0; i < seeds; i++)
		result.mean += what(&point->run[i]) / seeds;
	for (uint32_t i = 0; i < seeds; i++) {
		double away = what(&point->run[i]) - result.mean;

		squares += away * away;
	}
	if (seeds > 1)
		result.half = student(seeds) * sqrt(squares / (seeds - 1) / seeds);
	return result;
}

static json_t *half_json(struct estimate estimate)
{
	return estimate.known ? json_real(estimate.half) : json_null();
}

static json_t *count_json(const struct pm_flit_count *count)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "sent", (json_int_t)count->sent,
			 "arrived", (json_int_t)count->arrived, "lost",
			 (json_int_t)count->lost, "inside", (json_int_t)count->inside);
}

/* Flits that are nowhere, or too many, over all seeds. */
static uint64_t count_missing(const struct flit_point *point, uint32_t seeds)
{
	uint64_t missing = 0;

	for (uint32_t i = 0; i < seeds; i++) {
		const struct pm_flit_count *c = &point->count[i];
		uint64_t known = c->arrived + c->lost + c->inside;

		missing += known > c->sent ? known - c->sent : c->sent - known;
	}
	return missing;
}

static json_t *runs_json(const struct flit_request *request,
			 const struct flit_point *point)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < request->seeds; i++) {
		const struct pm_flit_result *run = &point->run[i];

		list = cli_json_append(
			list,
			json_pack("{s:I, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:f, s:o}",
				  "seed", (json_int_t)request->first_seed + i, "accepted",
				  run->accepted, "latency", run->mean, "p50",
				  (json_int_t)run->p50, "p99", (json_int_t)run->p99,
				  "max", (json_int_t)run->max, "packets",
				  (json_int_t)run->packets, "hops", (json_int_t)run->hops,
				  "fairness", run->fairness, "flits",
				  count_json(&point->count[i])));
	}
	return list;
}

static json_t *deadlock_json(const struct pm_flit_net *net,
			     const struct flit_point *point)
{
	const struct pm_flit_deadlock *d = &point->deadlock;
	json_t *circle = json_array();

	if (!d->cycle) {
		json_decref(circle);
		return json_null();
	}
	for (uint32_t i = 0; i < d->length && i < PM_FLIT_CIRCLE; i++) {
		const struct pm_flit_link *link = &net->links[d->circle[i].link];

		circle = cli_json_append(
			circle, json_pack("{s:o, s:o, s:I}", "from",
					  cli_json_string(net->names[link->from]), "to",
					  cli_json_string(net->names[link->to]), "vc",
					  (json_int_t)d->circle[i].vc));
	}
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:o}", "seed",
			 (json_int_t)point->deadlock_seed, "cycle", (json_int_t)d->cycle,
			 "buffers", (json_int_t)d->buffers, "flits", (json_int_t)d->flits,
			 "length", (json_int_t)d->length, "circle", circle);
}

/* What seeds found that is not averaged, or not with an interval. */
static struct pm_flit_result sum_up(const struct flit_point *point, uint32_t seeds)
{
	struct pm_flit_result sum = {.fairness = 0};
	double p50 = 0, p99 = 0;

	for (uint32_t i = 0; i < seeds; i++) {
		const struct pm_flit_result *run = &point->run[i];

		p50 += (double)run->p50 / seeds;
		p99 += (double)run->p99 / seeds;
		sum.fairness += run->fairness / seeds;
		sum.backlog += run->backlog / seeds;
		sum.max = run->max > sum.max ? run->max : sum.max;
		if (run->highest_fill > sum.highest_fill)
			sum.highest_fill = run->highest_fill;
		sum.lost_flits += run->lost_flits;
		sum.lost_packets += run->lost_packets;
		sum.packets += run->packets;
		sum.hops += run->hops;
		sum.saturated |= run->saturated;
		if (run->busiest > sum.busiest) {
			sum.busiest = run->busiest;
			sum.busiest_link = run->busiest_link;
		}
	}
	sum.p50 = (uint32_t)(p50 + 0.5);
	sum.p99 = (uint32_t)(p99 + 0.5);
	return sum;
}

json_t *flit_point_json(const struct flit_request *request, const struct pm_flit_net *net,
			const struct flit_point *point)
{
	const struct pm_flit_result sum = sum_up(point, request->seeds);
	const struct pm_flit_link *link = &net->links[sum.busiest_link];
	struct estimate accepted = estimate(point, request->seeds, accepted_of);
	struct estimate latency = estimate(point, request->seeds, latency_of);
	json_t *times = json_pack("{s:f, s:o, s:I, s:I, s:I}", "mean", latency.mean,
				  "half", half_json(latency), "p50", (json_int_t)sum.p50,
				  "p99", (json_int_t)sum.p99, "max", (json_int_t)sum.max);
	json_t *busiest = json_pack("{s:f, s:o, s:o}", "load", sum.busiest, "from",
				    cli_json_string(net->names[link->from]), "to",
				    cli_json_string(net->names[link->to]));

	return json_pack(
		"{s:I, s:f, s:f, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:o, s:f, s:f, s:b, "
		"s:I, s:o, s:o}",
		"length", (json_int_t)point->length, "load", point->load / MILLION,
		"accepted", accepted.mean, "half", half_json(accepted), "latency", times,
		"highest_fill", (json_int_t)sum.highest_fill, "lost_flits",
		(json_int_t)sum.lost_flits, "lost_packets", (json_int_t)sum.lost_packets,
		"packets", (json_int_t)sum.packets, "hops", (json_int_t)sum.hops,
		"busiest", busiest, "fairness", sum.fairness, "backlog", sum.backlog,
		"saturated", sum.saturated, "missing_flits",
		(json_int_t)count_missing(point, request->seeds), "deadlock",
		deadlock_json(net, point), "runs", runs_json(request, point));
}

json_t *flit_saturation_json(const json_t *points)
{
	json_t *list = json_array(), *last = NULL;
	const json_t *point;
	size_t i;

	json_array_foreach(points, i, point)
	{
		json_t *accepted = json_object_get(point, "accepted");
		json_int_t length = cli_json_number(point, "length");

		if (!json_is_true(json_object_get(point, "saturated")))
			continue;
		if (last && cli_json_number(last, "length") == length) {
			if (json_real_value(accepted) >
			    json_real_value(json_object_get(last, "accepted")))
				json_object_set(last, "accepted", accepted);
			continue;
		}
		last = json_pack("{s:I, s:O}", "length", length, "accepted", accepted);
		list = cli_json_append(list, last);
	}
	return list;
}

static json_t *finding_json(const char *kind, const json_t *point)
{
	return json_pack("{s:s, s:O, s:O}", "kind", kind, "length",
			 json_object_get(point, "length"), "load",
			 json_object_get(point, "load"));
}

json_t *flit_findings_json(const json_t *points, bool may_lose)
{
	json_t *list = json_array();
	const json_t *point;
	size_t i;

	json_array_foreach(points, i, point)
	{
		if (json_is_object(json_object_get(point, "deadlock")))
			list = cli_json_append(list, finding_json("deadlock", point));
		if (!may_lose && cli_json_number(point, "lost_flits"))
			list = cli_json_append(list, finding_json("loss", point));
		if (cli_json_number(point, "missing_flits"))
			list = cli_json_append(list, finding_json("missing", point));
	}
	return list;
}

/* ---- Text ---- */

static void print_settings(const json_t *object)
{
	const json_t *network = json_object_get(object, "network");
	const json_t *settings = json_object_get(object, "settings");

	cli_text_print(network, json_is_string(json_object_get(network, "topology"))
					? "{topology}: "
					: "{netlist}: ");
	cli_text_print(network, "{switches} switches, {nodes} nodes, {links} links\n");
	cli_text_print(settings, json_is_integer(json_object_get(settings, "stop"))
					 ? "{flow} (STOP {stop}, GO {go}), "
					 : "{flow}, ");
	cli_text_print(settings,
		       "cables of {cable} cycles, {vcs} VCs ({vc_rule}) of {buffer} "
		       "flits\n{pattern}, {arrivals}; {warm_up} + {cycles} cycles, "
		       "{seeds} seeds from {seed}\n");
}

static void print_point(const json_t *point)
{
	cli_text_print(point, "{6length} {6%%load} {9%%%%accepted} ");
	if (json_is_null(json_object_get(point, "half")))
		printf("%7s", "-");
	else
		cli_text_print(point, "{7%%%%half}");
	cli_text_print(point, " {9%latency.mean} {7latency.p50} {7latency.p99} "
			      "{7latency.max} {5highest_fill} {7lost_flits}");
	if (json_is_object(json_object_get(point, "deadlock")))
		puts("  deadlock");
	else
		puts(json_is_true(json_object_get(point, "saturated")) ? "  saturated"
								       : "");
}

static void print_deadlock(const json_t *point)
{
	const json_t *deadlock = json_object_get(point, "deadlock"), *buffer;
	size_t i, length;

	if (!json_is_object(deadlock))
		return;
	length = json_array_size(json_object_get(deadlock, "circle"));
	cli_text_print(point, "finding: deadlock, packets of {length}, load {%%load}, ");
	cli_text_print(deadlock, "seed {seed}: found in cycle {cycle}; {flits} flits in "
				 "{buffers} buffers will never move, among them\n");
	json_array_foreach(json_object_get(deadlock, "circle"), i, buffer)
	{
		cli_text_print(buffer, "  {from} -> {to}, VC {vc}");
		puts(i + 1 < length ? ", which waits for"
		     : (json_int_t)length < cli_json_number(deadlock, "length")
			     ? ", and so on"
			     : ", which waits for the first of them");
	}
}

void flit_print_text(const json_t *object)
{
	const json_t *points = json_object_get(object, "points"), *one;
	size_t i;

	print_settings(object);
	printf("%6s %6s %9s %7s %9s %7s %7s %7s %5s %7s\n", "length", "load", "accepted",
	       "+-", "latency", "p50", "p99", "max", "fill", "lost");
	json_array_foreach(points, i, one) print_point(one);
	json_array_foreach(json_object_get(object, "saturation"), i, one)
		cli_text_print(one, "saturation, packets of {length}: {%%%%accepted} "
				    "flits a node and cycle\n");
	json_array_foreach(points, i, one) print_deadlock(one);
	json_array_foreach(json_object_get(object, "findings"), i, one)
	{
		const char *kind = json_string_value(json_object_get(one, "kind"));

		if (!strcmp(kind, "deadlock"))
			continue;
		cli_text_print(one, !strcmp(kind, "loss")
					    ? "finding: flits lost in spite of credits, "
					    : "finding: flits do not add up, ");
		cli_text_print(one, "packets of {length}, load {%%load}\n");
	}
	if (json_object_get(object, "speed"))
		cli_text_print(object, "{speed.hops} flit-hops in {%%speed.seconds} s of "
				       "CPU: {%%speed.millions} million a second\n");
}
