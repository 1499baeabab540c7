/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Describes the results of the flit engine, as JSON and as text. */
#include "no_path_finding.h"
#include "text.h"
#include "traffic.h"
#include "traffic_flit.h"
#include "traffic_shard.h"
#include "write.h"

#include <stdio.h>
#include <string.h>

#define MILLION 1e6

/* ---- JSON ---- */

static json_t *number_if(bool wanted, uint32_t number)
{
	return wanted ? json_integer(number) : json_null();
}

static json_t *string_if(const char *text)
{
	return text ? pm_json_text(text) : json_null();
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

/* null: no stages */
static json_t *stages_json(const struct pm_flit_stages *stages)
{
	if (!stages->vc)
		return json_null();
	return json_pack("{s:i, s:i, s:i, s:i, s:i}", "routing", (int)stages->routing,
			 "vc", (int)stages->vc, "crossbar", (int)stages->crossbar,
			 "crossing", (int)stages->crossing, "credit",
			 (int)stages->credit);
}

static json_t *no_path_json(const struct pm_flit_net *net)
{
	const char **names = net->names + net->num_switches;

	return lab_no_path_json(&net->no_path, net->num_nodes, names[net->no_path.from],
				names[net->no_path.to]);
}

json_t *flit_settings_json(const struct flit_request *request,
			   const struct pm_flit_net *net)
{
	static const char *const rules[] = {"hop", "dateline", "any", "one", "row"};
	const struct pm_flit_config *c = &request->config;
	bool slack = c->flow == PM_FLIT_SLACK;
	json_t *settings = pm_json_object((const struct pm_json_member[]){
		{"flow", json_string(slack ? "slack" : "credit")},
		{"stop", number_if(slack, c->stop)},
		{"go", number_if(slack, c->go)},
		{"cable", json_integer(c->cable)},
		{"buffer", json_integer(c->buffer)},
		{"vcs", json_integer(c->vcs)},
		{"vc_rule", json_string(rules[c->rule])},
		{"ties", net->torus ? json_string(request->ties == 1 ? "up" : "parity")
				    : json_null()},
		{"reads", json_integer(c->reads)},
		{"delay", json_integer(c->delay)},
		{"arbitration",
		 json_string(c->arbitration == PM_FLIT_BY_PACKET ? "packet" : "flit")},
		{"router", stages_json(&c->stages)},
		{"pattern", pm_json_text(request->pattern)},
		{"arrivals",
		 json_string(c->arrivals == PM_FLIT_POISSON ? "poisson" : "interval")},
		{"warm_up", json_integer(request->warm_up)},
		{"cycles", json_integer(request->cycles)},
		{"seed", json_integer(request->first_seed)},
		{"seeds", json_integer(request->seeds)},
		{0},
	});

	return cli_json_join(cli_json_new("traffic", 2),
			     json_pack("{s:s, s:o, s:o, s:o}", "engine", "flit",
				       "settings", settings, "network",
				       network_json(request, net), "no_path",
				       no_path_json(net)));
}

static json_t *count_json(const struct pm_flit_count *count)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "sent", (json_int_t)count->sent,
			 "arrived", (json_int_t)count->arrived, "lost",
			 (json_int_t)count->lost, "inside", (json_int_t)count->inside);
}

/* Counts flits that are nowhere, or too many. */
static uint64_t count_missing(const struct pm_flit_count *c)
{
	uint64_t known = c->arrived + c->lost + c->inside;

	return known > c->sent ? known - c->sent : c->sent - known;
}

static json_t *deadlock_json(const struct pm_flit_net *net, const struct flit_run *run)
{
	const struct pm_flit_deadlock *d = &run->deadlock;
	json_t *loop = json_array();

	if (!d->cycle) {
		json_decref(loop);
		return json_null();
	}
	for (uint32_t i = 0; i < d->length && i < PM_FLIT_LOOP; i++) {
		const struct pm_flit_link *link = &net->links[d->loop[i].link];

		loop = pm_json_append(loop,
				      json_pack("{s:o, s:o, s:I}", "from",
						pm_json_text(net->names[link->from]),
						"to", pm_json_text(net->names[link->to]),
						"vc", (json_int_t)d->loop[i].vc));
	}
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:o}", "seed", (json_int_t)run->seed,
			 "cycle", (json_int_t)d->cycle, "buffers", (json_int_t)d->buffers,
			 "flits", (json_int_t)d->flits, "length", (json_int_t)d->length,
			 "loop", loop);
}

json_t *flit_run_json(const struct pm_flit_net *net, const struct flit_run *run)
{
	const struct pm_flit_result *r = &run->result;
	const struct pm_flit_link *link = &net->links[r->busiest_link];
	json_t *busiest = json_pack("{s:f, s:o, s:o}", "load", r->busiest, "from",
				    pm_json_text(net->names[link->from]), "to",
				    pm_json_text(net->names[link->to]));

	return pm_json_object((const struct pm_json_member[]){
		{"seed", json_integer(run->seed)},
		{"length", json_integer(run->length)},
		{"load", json_real(run->load / MILLION)},
		{"accepted", json_real(r->accepted)},
		{"latency", json_real(r->mean)},
		{"p50", json_integer(r->p50)},
		{"p99", json_integer(r->p99)},
		{"max", json_integer(r->max)},
		{"packets", json_integer((json_int_t)r->packets)},
		{"hops", json_integer((json_int_t)r->hops)},
		{"fairness", json_real(r->fairness)},
		{"flits", count_json(&run->count)},
		{"highest_fill", json_integer(r->highest_fill)},
		{"lost_flits", json_integer((json_int_t)r->lost_flits)},
		{"lost_packets", json_integer((json_int_t)r->lost_packets)},
		{"missing_flits", json_integer((json_int_t)count_missing(&run->count))},
		{"busiest", busiest},
		{"backlog", json_real(r->backlog)},
		{"saturated", json_boolean(r->saturated)},
		{"deadlock", deadlock_json(net, run)},
		{0},
	});
}

static double real(const json_t *object, const char *member)
{
	return json_number_value(json_object_get(object, member));
}

/* Results of seeds that are not averaged, or have no interval. */
struct sum {
	double p50, p99, fairness, backlog;
	json_int_t max, highest_fill, lost_flits, lost_packets, packets, hops, missing;
	bool saturated;
	json_t *busiest, *deadlock; /* borrowed */
};

static void keep_highest(json_int_t *most, json_int_t number)
{
	if (number > *most)
		*most = number;
}

static void add_run(struct sum *sum, const json_t *run, double seeds)
{
	json_t *busiest = json_object_get(run, "busiest");

	sum->p50 += real(run, "p50") / seeds;
	sum->p99 += real(run, "p99") / seeds;
	sum->fairness += real(run, "fairness") / seeds;
	sum->backlog += real(run, "backlog") / seeds;
	keep_highest(&sum->max, cli_json_number(run, "max"));
	keep_highest(&sum->highest_fill, cli_json_number(run, "highest_fill"));
	sum->lost_flits += cli_json_number(run, "lost_flits");
	sum->lost_packets += cli_json_number(run, "lost_packets");
	sum->packets += cli_json_number(run, "packets");
	sum->hops += cli_json_number(run, "hops");
	sum->missing += cli_json_number(run, "missing_flits");
	sum->saturated |= json_is_true(json_object_get(run, "saturated"));
	if (!sum->busiest || real(busiest, "load") > real(sum->busiest, "load"))
		sum->busiest = busiest;
	/* The first seed's with one. */
	if (!json_is_object(sum->deadlock))
		sum->deadlock = json_object_get(run, "deadlock");
}

/* Describes a point from the runs of its seeds, which it takes over. */
static json_t *point_json(json_t *runs)
{
	const json_t *first = json_array_get(runs, 0), *run;
	struct traffic_estimate accepted = traffic_estimate(runs, "accepted", NULL);
	struct traffic_estimate latency = traffic_estimate(runs, "latency", NULL);
	struct sum sum = {0};
	json_t *times;
	size_t i;

	json_array_foreach(runs, i, run)
		add_run(&sum, run, (double)json_array_size(runs));
	times = json_pack("{s:f, s:o, s:I, s:I, s:I}", "mean", latency.mean, "half",
			  traffic_half_json(latency), "p50", (json_int_t)(sum.p50 + 0.5),
			  "p99", (json_int_t)(sum.p99 + 0.5), "max", sum.max);
	return pm_json_object((const struct pm_json_member[]){
		{"length", json_incref(json_object_get(first, "length"))},
		{"load", json_incref(json_object_get(first, "load"))},
		{"accepted", json_real(accepted.mean)},
		{"half", traffic_half_json(accepted)},
		{"latency", times},
		{"highest_fill", json_integer(sum.highest_fill)},
		{"lost_flits", json_integer(sum.lost_flits)},
		{"lost_packets", json_integer(sum.lost_packets)},
		{"packets", json_integer(sum.packets)},
		{"hops", json_integer(sum.hops)},
		{"busiest", json_incref(sum.busiest)},
		{"fairness", json_real(sum.fairness)},
		{"backlog", json_real(sum.backlog)},
		{"saturated", json_boolean(sum.saturated)},
		{"missing_flits", json_integer(sum.missing)},
		{"deadlock", json_incref(sum.deadlock)},
		{"runs", runs},
		{0},
	});
}

static json_t *points_json(const json_t *runs, size_t seeds)
{
	json_t *points = json_array();

	for (size_t i = 0; i < json_array_size(runs); i += seeds)
		points = pm_json_append(points, point_json(traffic_some(runs, i, seeds)));
	return points;
}

static json_t *saturation_json(const json_t *points)
{
	json_t *list = json_array(), *last = NULL;
	const json_t *point;
	size_t i;

	json_array_foreach(points, i, point) {
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
		list = pm_json_append(list, last);
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

	json_array_foreach(points, i, point) {
		if (json_is_object(json_object_get(point, "deadlock")))
			list = pm_json_append(list, finding_json("deadlock", point));
		if (!may_lose && cli_json_number(point, "lost_flits"))
			list = pm_json_append(list, finding_json("loss", point));
		if (cli_json_number(point, "missing_flits"))
			list = pm_json_append(list, finding_json("missing", point));
	}
	return list;
}

/* ---- Text ---- */

static void print_stages(const json_t *router)
{
	if (json_is_object(router))
		cli_text_print(router,
			       "stages: routing {routing}, VC {vc}, crossbar {crossbar}, "
			       "crossing {crossing}, credit {credit}\n");
}

static void print_settings(const json_t *object)
{
	const json_t *network = json_object_get(object, "network");
	const json_t *settings = json_object_get(object, "settings");

	cli_text_print(network, json_is_string(json_object_get(network, "topology"))
					? "{topology}: "
					: "{netlist}: ");
	cli_text_print(
		network,
		"{switches|switch|switches}, {nodes|node|nodes}, {links|link|links}\n");
	cli_text_print(settings, json_is_integer(json_object_get(settings, "stop"))
					 ? "{flow} (STOP {stop}, GO {go}), "
					 : "{flow}, ");
	cli_text_print(settings,
		       "cables of {cable} cycles, {vcs} VCs ({vc_rule}) of {buffer} "
		       "flits\n{pattern}, {arrivals}; {warm_up} + {cycles} cycles, "
		       "{seeds} seeds from {seed}\n");
	print_stages(json_object_get(settings, "router"));
}

static void print_point(const json_t *point)
{
	cli_text_print(point, "{6length} {6~%%load} {9~%%%%accepted} ");
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
	length = json_array_size(json_object_get(deadlock, "loop"));
	cli_text_print(point, "finding: deadlock, packets of {length}, load {~%%load}, ");
	cli_text_print(deadlock, "seed {seed}: found in cycle {cycle}; {flits} flits in "
				 "{buffers} buffers will never move, among them\n");
	json_array_foreach(json_object_get(deadlock, "loop"), i, buffer) {
		cli_text_print(buffer, "  {from} -> {to}, VC {vc}");
		puts(i + 1 < length ? ", which waits for"
		     : (json_int_t)length < cli_json_number(deadlock, "length")
			     ? ", and so on"
			     : ", which waits for the first of them");
	}
}

static void print_curve(const json_t *object)
{
	const json_t *points = json_object_get(object, "points"), *one;
	size_t i;

	print_settings(object);
	lab_no_path_print(object);
	if (!json_array_size(points))
		return;
	printf("%6s %6s %9s %7s %9s %7s %7s %7s %5s %7s\n", "length", "load", "accepted",
	       "+-", "latency", "p50", "p99", "max", "fill", "lost");
	json_array_foreach(points, i, one)
		print_point(one);
	json_array_foreach(json_object_get(object, "saturation"), i, one)
		cli_text_print(one, "saturation, packets of {length}: {%%%%accepted} "
				    "flits a node and cycle\n");
	json_array_foreach(points, i, one)
		print_deadlock(one);
	json_array_foreach(json_object_get(object, "findings"), i, one) {
		const char *kind = json_string_value(json_object_get(one, "kind"));

		if (!strcmp(kind, "deadlock"))
			continue;
		cli_text_print(one, !strcmp(kind, "loss")
					    ? "finding: flits lost in spite of credits, "
					    : "finding: flits do not add up, ");
		cli_text_print(one, "packets of {length}, load {~%%load}\n");
	}
	if (json_object_get(object, "speed"))
		cli_text_print(object, "{speed.hops} flit-hops in {%%speed.seconds} s of "
				       "CPU: {%%speed.millions} million a second\n");
}

/* ---- All results ---- */

/* Whether runs have the members that points are made of; they may come from a file. */
static bool are_good(const json_t *runs)
{
	static const char *const whole[] = {"seed",	    "length",	    "p50",
					    "p99",	    "max",	    "packets",
					    "hops",	    "highest_fill", "lost_flits",
					    "lost_packets", "missing_flits"};
	static const char *const real[] = {"load", "accepted", "latency", "fairness",
					   "backlog"};
	const json_t *run, *deadlock, *loop, *buffer;
	bool good = true;
	size_t i, k;

	json_array_foreach(runs, i, run) {
		for (k = 0; k < sizeof(whole) / sizeof(*whole); k++)
			good &= json_is_integer(json_object_get(run, whole[k]));
		for (k = 0; k < sizeof(real) / sizeof(*real); k++)
			good &= json_is_number(json_object_get(run, real[k]));
		good &= json_is_object(json_object_get(run, "busiest"));
		deadlock = json_object_get(run, "deadlock");
		good &= json_is_object(deadlock) || json_is_null(deadlock);
		loop = json_object_get(deadlock, "loop");
		json_array_foreach(loop, k, buffer)
			good &= json_is_object(buffer);
	}
	return good;
}

int traffic_flit_print(json_t *object, const json_t *runs,
		       const struct cli_output *output)
{
	const json_t *settings = json_object_get(object, "settings");
	const char *flow = json_string_value(json_object_get(settings, "flow"));
	json_int_t seeds = cli_json_number(settings, "seeds");
	json_t *points, *findings;
	int status;

	if (!flow || seeds < 1 || seeds > FLIT_MAX_SEEDS ||
	    json_array_size(runs) % (size_t)seeds || !are_good(runs)) {
		json_decref(object);
		return cli_fail(EXIT_INPUT,
				"runs are not as the flit engine writes them");
	}
	points = points_json(runs, (size_t)seeds);
	findings = flit_findings_json(points, !strcmp(flow, "slack"));
	status = json_array_size(findings) ? EXIT_FINDINGS : lab_no_path_status(object);
	object = cli_json_join(object, json_pack("{s:o, s:o, s:o}", "points", points,
						 "saturation", saturation_json(points),
						 "findings", findings));
	return lab_write(object, output, print_curve, status);
}
