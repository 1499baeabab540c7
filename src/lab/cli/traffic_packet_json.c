/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Describes the results of the packet engine, as JSON and as text. */

#include "no_path_finding.h"
#include "packet_jobs.h"
#include "text.h"
#include "traffic.h"
#include "traffic_packet.h"
#include "write.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PRINTED_DEADLOCKS 4

/* ---- Describing ---- */

static json_t *gbps_json(uint32_t mbps)
{
	return mbps % 1000 ? json_real(mbps / 1000.0) : json_integer(mbps / 1000);
}

/* The fastest first; none with --gbps. */
static json_t *rates_json(const struct pm_rates *rates)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < rates->num; i++)
		list = pm_json_append(list,
				      json_pack("{s:o, s:I, s:I}", "gbps",
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
		list = pm_json_append(list, json_integer(request->sls[i]));
	return list;
}

json_t *packet_settings_json(const struct packet_lab *lab)
{
	const struct packet_request *request = lab->request;
	const struct pm_packet_config *config = &lab->config;
	json_t *object = pm_json_object((const struct pm_json_member[]){
		{"engine", json_string("packet")},
		{"tables", json_string(request->sets   ? "recording"
				       : request->lfts ? "file"
						       : "plan")},
		{"pattern",
		 json_string(request->collective ? pm_collective_name(request->algorithm)
						 : pm_pattern_name(request->pattern))},
		{"poisson", json_boolean(request->poisson)},
		{"hosts", json_integer(lab->scene.num_hosts)},
		{"bytes", json_integer((json_int_t)lab->workload.blocks * 64)},
		{"mtu", json_integer(request->mtu)},
		{"gbps", gbps_json(rate_of(lab))},
		{"rates", rates_json(&lab->rates)},
		{"wire_us", json_real(packet_us(lab, config->wire))},
		{"crossing_us", json_real(packet_us(lab, config->crossing))},
		{"buffer", json_integer(config->buffer)},
		{"reads", json_integer(config->reads)},
		{"in_line", json_boolean(config->in_line)},
		{"seed", json_integer(request->seed)},
		{"warmup_us", json_real(packet_us(lab, config->warmup))},
		{"time_us",
		 json_real(packet_us(lab, (double)config->batch * config->batches))},
		{"batches", json_integer(config->batches)},
		{"failed", cli_failed_json(&request->failed)},
		{"seeds", json_integer(request->seeds)},
		{"vls", json_integer(request->lanes.num)},
		{"sls", sls_json(request)},
		{"collective", packet_collective_json(lab)},
		{"jobs", packet_jobs_json(lab)},
		{0},
	});

	return cli_json_join(object, traffic_replay_json(lab));
}

static json_t *drops_json(const struct packet_lab *lab, const struct pm_packet_result *r)
{
	json_t *list = json_array();

	for (uint32_t node = 0; node < lab->scene.fabric->num_nodes; node++)
		for (unsigned int reason = 0; reason < PM_DROPS; reason++)
			if (r->drops_at[node][reason])
				list = pm_json_append(
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

/* How busy cables were, in both directions: those between switches, or of hosts. */
static json_t *links_json(const struct packet_lab *lab, const struct pm_packet_result *r,
			  bool of_hosts)
{
	const struct pm_fabric *fabric = lab->scene.fabric;
	uint64_t sum = 0, most = 0, num = 0, busy;
	double ticks = r->measured;

	for (uint32_t port = 0; port < fabric->num_ports; port++) {
		uint32_t remote = pm_fabric_peer_node(fabric, port);
		bool ends = fabric->ports[port].node >= fabric->num_switches;

		if (remote == PM_NONE ||
		    (ends || remote >= fabric->num_switches) != of_hosts)
			continue;
		busy = r->busy[port];
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

static json_t *mean_us(const struct packet_lab *lab, const struct pm_packet_while *w)
{
	return packet_us_json(lab, w->messages,
			      (double)w->latency / fmax((double)w->messages, 1));
}

static json_t *max_us(const struct packet_lab *lab, const struct pm_packet_while *w)
{
	return packet_us_json(lab, w->messages, (double)w->slowest);
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
		list = pm_json_append(
			list,
			json_pack("{s:f, s:f, s:o, s:o, s:I, s:I}", "us",
				  packet_us(lab, i * window - lab->config.warmup), "rate",
				  (double)w->ticks / window / lab->scene.num_hosts,
				  "mean_us", mean_us(lab, w), "max_us", max_us(lab, w),
				  "dropped", (json_int_t)w->dropped, "sets",
				  (json_int_t)sets));
	}
	return list;
}

/* The service levels in use. */
static json_t *classes_json(const struct packet_lab *lab,
			    const struct pm_packet_result *r)
{
	double us = packet_us(lab, r->measured);
	json_t *list = json_array();

	for (uint32_t sl = 0; sl < PM_MAX_SLS && us > 0; sl++) {
		const struct pm_packet_while *w = &r->sls[sl];

		if (!w->packets)
			continue;
		list = pm_json_append(
			list,
			json_pack("{s:I, s:I, s:I, s:f, s:o, s:o}", "sl", (json_int_t)sl,
				  "vl", (json_int_t)lab->config.lanes->of_sl[sl],
				  "messages", (json_int_t)w->messages, "gbps",
				  (double)w->blocks * 512 / us / 1000, "mean_us",
				  mean_us(lab, w), "max_us", max_us(lab, w)));
	}
	return list;
}

static json_t *latency_json(const struct packet_lab *lab,
			    const struct pm_packet_result *r)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "mean",
			 packet_us_json(lab, r->messages, r->mean), "half",
			 packet_us_json(lab, r->means > 1, r->half), "p50",
			 packet_us_json(lab, r->messages, (double)r->p50), "p99",
			 packet_us_json(lab, r->messages, (double)r->p99), "max",
			 packet_us_json(lab, r->messages, (double)r->slowest));
}

static json_t *loop_json(const struct packet_lab *lab, const uint32_t *loop, uint32_t num)
{
	json_t *list = json_array();

	if (!num) {
		json_decref(list);
		return json_null();
	}
	for (uint32_t i = 0; i < num && i < PM_PACKET_LOOP; i++)
		list = pm_json_append(list, cli_link_json(lab->scene.fabric, loop[i]));
	return list;
}

/* A time from the beginning of the measurement. */
static json_t *when_json(const struct packet_lab *lab, uint32_t tick)
{
	return json_real(packet_us(lab, (double)tick - lab->config.warmup));
}

static json_t *deadlocks_json(const struct packet_lab *lab, const struct packet_run *run)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < run->num_deadlocks; i++) {
		const struct pm_packet_deadlock *found = &run->deadlocks[i];

		list = pm_json_append(
			list, json_pack("{s:o, s:o, s:f, s:b, s:I, s:I, s:o}", "begin_us",
					when_json(lab, found->begin), "end_us",
					when_json(lab, found->end), "us",
					packet_us(lab, (double)found->end - found->begin),
					"lasts", found->end == run->r.now, "hosts",
					(json_int_t)found->hosts, "length",
					(json_int_t)found->length, "links",
					loop_json(lab, found->loop, found->length)));
	}
	return list;
}

static json_t *findings_json(const struct packet_lab *lab, const struct packet_run *run,
			     const uint32_t *loop, uint32_t num)
{
	bool closed = packet_request_closed(lab->request);
	bool left = pm_workload_left(run->workload);

	return json_pack("{s:b, s:o, s:o, s:s?, s:b}", "loss",
			 run->r.dropped && !lab->config.num_failed, "deadlock",
			 loop_json(lab, loop, num), "deadlocks", deadlocks_json(lab, run),
			 "unfinished",
			 !closed || !left ? NULL
			 : run->r.over	  ? "stuck"
					  : "time",
			 "unmeasured", closed && !left && !run->r.measured);
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

/* loop: `num` ports with packets that wait for each other. */
static json_t *point_json(const struct packet_lab *lab, const struct packet_run *run,
			  const uint32_t *loop, uint32_t num)
{
	const struct pm_packet_result *r = &run->r;
	uint32_t load = lab->workload.load;

	return pm_json_object((const struct pm_json_member[]){
		{"seed", json_integer((json_int_t)lab->workload.seed)},
		{"offered", load ? json_real(load / (double)PM_LOAD_FULL) : json_null()},
		{"accepted", json_real(r->accepted)},
		{"latency_us", latency_json(lab, r)},
		{"unstable", json_boolean(r->unstable)},
		{"fairness", r->fairness > 0 ? json_real(r->fairness) : json_null()},
		{"links", links_json(lab, r, false)},
		{"host_links", links_json(lab, r, true)},
		{"packets", json_integer((json_int_t)r->created)},
		{"delivered", json_integer((json_int_t)r->delivered)},
		{"uncounted", json_integer((json_int_t)r->uncounted)},
		{"dropped", json_integer((json_int_t)r->dropped)},
		{"inside", json_integer((json_int_t)r->inside)},
		{"drops", drops_json(lab, r)},
		{"windows", windows_json(lab, r)},
		{"events", json_integer((json_int_t)r->events)},
		{"block_hops", json_integer((json_int_t)r->hops)},
		{"pairs", pairs_json(lab, &r->pairs)},
		{"done", done_json(lab, run)},
		{"findings", findings_json(lab, run, loop, num)},
		{"sls", classes_json(lab, r)},
		{0},
	});
}

json_t *packet_run_point(const struct packet_lab *lab, struct packet_run *run)
{
	uint32_t loop[PM_PACKET_LOOP];
	uint32_t num = pm_packet_stuck(run->packet, loop, PM_PACKET_LOOP);

	run->num_deadlocks = pm_packet_deadlocks(run->packet, &run->deadlocks);
	return point_json(lab, run, loop, num);
}

/* ---- Text ---- */

static void print_loop(const json_t *loop)
{
	const json_t *link;
	size_t i;

	if (!json_is_array(loop))
		return;
	fputs("finding: deadlock, packets wait for each other:", stdout);
	json_array_foreach(loop, i, link) {
		putchar(' ');
		cli_text_put(cli_json_label(link));
	}
	putchar('\n');
}

static void print_deadlocks(const json_t *list)
{
	size_t i, num = json_array_size(list);
	const json_t *row;

	json_array_foreach(list, i, row) {
		if (i == PRINTED_DEADLOCKS)
			break;
		cli_text_print(row, "finding: deadlock of {length|cable|cables} from "
				    "{%%%begin_us} to {%%%end_us} us");
		fputs(json_is_true(json_object_get(row, "lasts")) ? ", the end" : "",
		      stdout);
		cli_text_print(row, ": {%%%us} us, {hosts|host|hosts} blocked\n");
	}
	if (num > PRINTED_DEADLOCKS)
		printf("and %zu more\n", num - PRINTED_DEADLOCKS);
}

static void print_drops(const json_t *list)
{
	for (unsigned int reason = 0; reason < PM_DROPS; reason++) {
		const char *name = pm_packet_drop_name((enum pm_packet_drop)reason);
		const json_t *row, *worst = NULL;
		json_int_t sum = 0, nodes = 0;
		size_t i;

		json_array_foreach(list, i, row) {
			if (strcmp(json_string_value(json_object_get(row, "reason")),
				   name))
				continue;
			sum += cli_json_number(row, "packets");
			nodes++;
			if (!worst || cli_json_number(row, "packets") >
					      cli_json_number(worst, "packets"))
				worst = row;
		}
		if (!worst)
			continue;
		printf("dropped %" JSON_INTEGER_FORMAT ": %s, at %" JSON_INTEGER_FORMAT
		       " node%s",
		       sum, name, nodes, nodes == 1 ? "" : "s");
		fputs(", most at ", stdout);
		cli_text_put(cli_json_label(json_object_get(worst, "node")));
		cli_text_print(worst, ": {packets}\n");
	}
}

static bool is_finding(const json_t *point, const char *name)
{
	const json_t *finding = json_object_get(json_object_get(point, "findings"), name);

	return json_is_true(finding) || json_is_string(finding);
}

/* A closed loop that the measurement does not cover. */
static void print_unfinished(const json_t *point)
{
	const char *end = json_string_value(
		json_object_get(json_object_get(point, "findings"), "unfinished"));

	if (end) {
		cli_text_print(point,
			       "finding: not done, {done.left|message has|messages "
			       "have} not arrived ");
		puts(strcmp(end, "time") ? "and never will" : "at the end of --time");
	}
	if (is_finding(point, "unmeasured"))
		puts("finding: unmeasured, done within the warm-up (--warmup)");
}

static void print_more(const json_t *point)
{
	const json_t *list, *row;
	size_t i;

	print_drops(json_object_get(point, "drops"));
	if (json_is_object(json_object_get(point, "pairs")))
		cli_text_print(
			point,
			"{pairs.used|pair|pairs} of hosts: {pairs.again} sent "
			"{pairs.resent|packet|packets} again, "
			"{pairs.late|was|were} late, {pairs.broken|is|are} broken\n");
	list = json_object_get(point, "sls");
	json_array_foreach(list, i, row)
		if (json_array_size(list) > 1)
			cli_text_print(row, "SL {sl} on VL {vl}: {%%%gbps} Gb/s, latency "
					    "{%%%mean_us} us, at most {%%%max_us}\n");
	list = json_object_get(point, "windows");
	if (json_array_size(list))
		printf("%10s %8s %10s %10s %8s %6s\n", "from us", "rate", "mean us",
		       "max us", "dropped", "Sets");
	json_array_foreach(list, i, row)
		cli_text_print(row, "{10%us} {8~%%%rate} {10%%%mean_us} {10%%%max_us} "
				    "{8dropped} {6sets}\n");
	row = json_object_get(point, "findings");
	if (is_finding(point, "loss"))
		puts("finding: packets were lost, and nothing had failed");
	print_loop(json_object_get(row, "deadlock"));
	print_deadlocks(json_object_get(row, "deadlocks"));
	if (json_is_number(json_object_get(json_object_get(point, "done"), "us")))
		cli_text_print(point, "done after {%%%done.us} us\n");
	print_unfinished(point);
	packet_jobs_print(point);
	if (json_object_get(point, "cpu_seconds"))
		cli_text_print(point, "{events} events, {block_hops} blocks over cables, "
				      "{%%%cpu_seconds} s CPU\n");
}

static void print_mean(const json_t *mean)
{
	if (json_is_number(json_object_get(mean, "offered")))
		cli_text_print(mean, "offered {~%%%offered}");
	else
		fputs("closed loop", stdout);
	cli_text_print(mean,
		       ", over seeds: accepted {~%%%accepted} +- {~%%%half}, latency "
		       "{%%%latency_us.mean} +- {%%%latency_us.half} us");
	if (json_is_object(json_object_get(mean, "done_us")))
		cli_text_print(mean,
			       ", done after {%%%done_us.mean} +- {%%%done_us.half} us");
	putchar('\n');
}

static void print_settings(const json_t *object)
{
	const json_t *settings = json_object_get(object, "settings"), *rate;
	const json_t *rates = json_object_get(settings, "rates");
	bool whole = json_is_integer(json_object_get(settings, "gbps"));
	size_t i;

	if (json_is_object(json_object_get(settings, "collective")))
		cli_text_print(settings, "{pattern}, {collective.processes} processes of "
					 "{hosts} hosts, {collective.bytes} bytes, ");
	else
		cli_text_print(settings,
			       "{pattern}, {hosts} hosts, messages of {bytes} bytes, ");
	if (cli_json_number(json_object_get(settings, "jobs"), "num") > 1)
		cli_text_print(settings, "{jobs.num} jobs, ");
	cli_text_print(settings, "packets of {mtu}, ");
	if (json_array_size(rates) < 2)
		cli_text_print(settings, whole ? "{gbps} Gb/s" : "{%%%gbps} Gb/s");
	json_array_foreach(rates, i, rate)
		if (json_array_size(rates) > 1) {
			whole = json_is_integer(json_object_get(rate, "gbps"));
			cli_text_print(rate, whole ? "{gbps} Gb/s" : "{%%%gbps} Gb/s");
			cli_text_print(rate, i + 1 < json_array_size(rates)
						     ? " ({links|cable|cables}), "
						     : " ({links})");
		}
	puts("; latencies in us");
}

static void print_run(const json_t *object)
{
	const json_t *point;
	size_t i;

	print_settings(object);
	lab_no_path_print(object);
	traffic_replay_print(json_object_get(object, "settings"));
	printf("%8s %8s %9s %8s %9s %9s %9s %8s %8s %8s %7s %8s\n", "offered", "accepted",
	       "mean", "+-", "p50", "p99", "max", "link", "mean", "host", "Jain",
	       "dropped");
	json_array_foreach(json_object_get(object, "points"), i, point) {
		cli_text_print(point,
			       "{8~%%%offered} {8~%%%accepted} {9%%%latency_us.mean} "
			       "{8%%%latency_us.half} {9%%%latency_us.p50} "
			       "{9%%%latency_us.p99} {9%%%latency_us.max} "
			       "{8~%%%links.max} {8~%%%links.mean} "
			       "{8~%%%host_links.max} {7%%%fairness} {8dropped}");
		puts(is_finding(point, "unfinished")			? " unfinished"
		     : is_finding(point, "unmeasured")			? " unmeasured"
		     : json_is_true(json_object_get(point, "unstable")) ? " unstable"
									: "");
		print_more(point);
	}
	json_array_foreach(json_object_get(object, "means"), i, point)
		print_mean(point);
}

static void print_runs(const json_t *object)
{
	const json_t *other;
	size_t i;

	print_run(object);
	json_array_foreach(json_object_get(object, "compared"), i, other) {
		putchar('\n');
		print_run(other);
	}
}

/* Whether a point has the members that the text needs; it may come from a file. */
static bool is_good(const json_t *point)
{
	const json_t *row, *list = json_object_get(point, "drops");
	bool good = json_is_object(json_object_get(point, "latency_us")) &&
		    json_is_object(json_object_get(point, "findings")) &&
		    json_is_number(json_object_get(point, "accepted"));
	size_t i;

	json_array_foreach(list, i, row)
		good &= json_is_string(json_object_get(row, "reason"));
	return good;
}

bool packet_has_findings(const json_t *points)
{
	const json_t *point, *findings;
	size_t i;

	json_array_foreach(points, i, point) {
		findings = json_object_get(point, "findings");
		if (is_finding(point, "loss") || is_finding(point, "unfinished") ||
		    is_finding(point, "unmeasured") ||
		    json_is_array(json_object_get(findings, "deadlock")) ||
		    json_array_size(json_object_get(findings, "deadlocks")))
			return true;
	}
	return false;
}

/* Null unless the inner member is a number for all seeds. */
static json_t *mean_json(const json_t *points, const char *member, const char *inner)
{
	struct traffic_estimate found = traffic_estimate(points, member, inner);
	const json_t *point;
	size_t i;

	json_array_foreach(points, i, point)
		if (!json_is_number(
			    json_object_get(json_object_get(point, member), inner)))
			return json_null();
	return json_pack("{s:f, s:o}", "mean", found.mean, "half",
			 traffic_half_json(found));
}

static json_t *means_json(const json_t *points, size_t seeds)
{
	json_t *list = json_array();

	for (size_t i = 0; i < json_array_size(points); i += seeds) {
		json_t *some = traffic_some(points, i, seeds);
		struct traffic_estimate accepted =
			traffic_estimate(some, "accepted", NULL);
		json_t *offered = json_object_get(json_array_get(some, 0), "offered");

		list = pm_json_append(
			list, json_pack("{s:O?, s:f, s:o, s:o, s:o}", "offered", offered,
					"accepted", accepted.mean, "half",
					traffic_half_json(accepted), "latency_us",
					mean_json(some, "latency_us", "mean"), "done_us",
					mean_json(some, "done", "us")));
		json_decref(some);
	}
	return list;
}

json_t *traffic_packet_describe(json_t *object, const json_t *runs, int *status)
{
	json_int_t seeds = cli_json_number(json_object_get(object, "settings"), "seeds");
	json_t *points = json_array(), *run;
	bool good = seeds > 0 && seeds <= PACKET_MAX_SEEDS &&
		    !(json_array_size(runs) % (size_t)seeds);
	size_t i;

	*status = packet_has_findings(runs) ? EXIT_FINDINGS : lab_no_path_status(object);
	json_array_foreach(runs, i, run) {
		good &= is_good(run);
		points = pm_json_append(points, json_incref(run));
	}
	object = cli_json_join(object, json_pack("{s:o}", "points", points));
	if (!good)
		*status = cli_fail(EXIT_INPUT,
				   "runs are not as the packet engine writes them");
	else if (seeds > 1)
		json_object_set_new(object, "means", means_json(runs, (size_t)seeds));
	return object;
}

int traffic_packet_print(json_t *object, const json_t *runs,
			 const struct cli_output *output)
{
	int status;

	object = traffic_packet_describe(object, runs, &status);
	if (status != EXIT_INPUT)
		return lab_write(object, output, print_runs, status);
	json_decref(object);
	return status;
}
