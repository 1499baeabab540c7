/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor-lab dsm: finds the times of software shared memory over InfiniBand. */
#include "lab_commands.h"
#include "lists.h"
#include "text.h"
#include "write.h"

#include <portmajor/json/rows.h>
#include <portmajor/lab/dsm.h>

#include <stdio.h>

#define NS 1000	   /* picoseconds */
#define US 1000000 /* picoseconds */

enum transport { TRANSPORT_IP, TRANSPORT_UD, TRANSPORT_RDMA, NUM_TRANSPORTS };

static const char *const transport_names[] = {"ip", "ud", "rdma"};

struct request {
	struct cli_list nodes, bursts;
	uint32_t page, pages, posted, small, tries, mbps;
	uint32_t ip_delay_ns, delay_ns, touch_ns, latency_ns;
	uint32_t timeout_us, compute_us;
	struct cli_output output;
};

static struct pm_dsm_config config_of(const struct request *request, uint32_t nodes,
				      enum transport transport)
{
	uint32_t delay =
		transport == TRANSPORT_IP ? request->ip_delay_ns : request->delay_ns;

	return (struct pm_dsm_config){
		.nodes = nodes,
		.rdma = transport == TRANSPORT_RDMA,
		.delay = (uint64_t)delay * NS,
		.touch = (uint64_t)request->touch_ns * NS,
		.latency = (uint64_t)request->latency_ns * NS,
		.timeout = (uint64_t)request->timeout_us * US,
		.mbps = request->mbps,
		.posted = request->posted * nodes,
		.tries = request->tries,
		.small = request->small,
		.page = request->page,
	};
}

/* ---- Describing ---- */

static double us_of(uint64_t picoseconds)
{
	return (double)picoseconds / US;
}

#define RESULT(member) PM_JSON_ROW(struct pm_dsm_result, member)

static const struct pm_json_row result_rows[] = {
	{"messages", RESULT(messages)},
	{"packets", RESULT(packets)},
	{"bytes", RESULT(bytes)},
	{"headers", RESULT(headers)},
	{"lost", RESULT(lost)},
	{"repeats", RESULT(repeats)},
	{"unanswered", RESULT(unanswered)},
	{0},
};

static json_t *result_json(const struct pm_dsm_result *result)
{
	return cli_json_join(json_pack("{s:f, s:f}", "first_us", us_of(result->first),
				       "last_us", us_of(result->last)),
			     pm_json_rows(result_rows, result));
}

/* Runs a number of nodes with one transport. */
static int describe_transport(const struct request *request, uint32_t nodes,
			      enum transport transport, json_t *rows, bool *gave_up)
{
	const struct pm_dsm_config config = config_of(request, nodes, transport);
	struct pm_dsm_result invalidate, update, exchange;
	struct pm_error err;
	int rc = pm_dsm_invalidate(&config, &invalidate, &err);

	if (!rc)
		rc = pm_dsm_update(&config, 1, &update, &err);
	if (!rc)
		rc = pm_dsm_exchange(&config, request->pages, &exchange, &err);
	if (rc)
		return cli_fail(EXIT_USAGE, "%s", err.text);
	*gave_up |= invalidate.unanswered || update.unanswered || exchange.unanswered;
	json_array_append_new(
		rows,
		json_pack("{s:I, s:s, s:I, s:o, s:o, s:o, s:f}", "nodes",
			  (json_int_t)nodes, "transport", transport_names[transport],
			  "posted", (json_int_t)config.posted, "invalidate",
			  result_json(&invalidate), "update", result_json(&update),
			  "exchange", result_json(&exchange), "iteration_us",
			  (double)request->compute_us / nodes + us_of(exchange.last)));
	return EXIT_FINE;
}

/* Runs bursts of pages of one packet each. */
static int describe_burst(const struct request *request, uint32_t packets, json_t *rows,
			  bool *gave_up)
{
	struct pm_dsm_config config = config_of(request, 2, TRANSPORT_UD);
	struct pm_dsm_result result;
	struct pm_error err;
	json_t *row;
	int rc;

	config.page = PM_DSM_PACKET - PM_DSM_HEADER;
	rc = pm_dsm_update(&config, packets, &result, &err);
	if (rc)
		return cli_fail(EXIT_USAGE, "%s", err.text);
	*gave_up |= result.unanswered > 0;
	row = json_pack("{s:I, s:I}", "burst", (json_int_t)packets, "posted",
			(json_int_t)config.posted);
	json_array_append_new(rows, cli_json_join(row, result_json(&result)));
	return EXIT_FINE;
}

#define SETTING(member)                                                                  \
	{                                                                                \
#member, PM_JSON_ROW(struct request, member)                             \
	}

static const struct pm_json_row setting_rows[] = {
	SETTING(page),
	SETTING(pages),
	SETTING(posted),
	SETTING(small),
	SETTING(tries),
	SETTING(mbps),
	SETTING(delay_ns),
	SETTING(ip_delay_ns),
	SETTING(touch_ns),
	SETTING(latency_ns),
	SETTING(timeout_us),
	SETTING(compute_us),
	{0},
};

static int describe_tables(const struct request *request, json_t *object, bool *gave_up)
{
	json_t *rows = json_array(), *bursts = json_array();
	int status = EXIT_FINE;

	for (uint32_t i = 0; i < request->nodes.num; i++)
		for (unsigned int transport = 0; !status && transport < NUM_TRANSPORTS;
		     transport++)
			status = describe_transport(request, request->nodes.values[i],
						    (enum transport)transport, rows,
						    gave_up);
	for (uint32_t i = 0; !status && i < request->bursts.num; i++)
		status = describe_burst(request, request->bursts.values[i], bursts,
					gave_up);
	json_object_set_new(object, "settings", pm_json_rows(setting_rows, request));
	json_object_set_new(object, "nodes", rows);
	json_object_set_new(object, "bursts", bursts);
	return status;
}

/* ---- Text ---- */

static void print_tables(const json_t *object)
{
	const json_t *row;
	size_t i;

	puts("microseconds       invalidate     update   (last)     exchange    "
	     "iteration   lost repeats");
	json_array_foreach(json_object_get(object, "nodes"), i, row) {
		cli_text_print(row, "{5nodes} nodes, ");
		printf("%-4s ", json_string_value(json_object_get(row, "transport")));
		cli_text_print(
			row, "{11%invalidate.last_us} {10%update.first_us} "
			     "{8%update.last_us} {12%exchange.last_us} "
			     "{12%iteration_us} {6exchange.lost} {7exchange.repeats}\n");
	}
	if (json_array_size(json_object_get(object, "bursts")))
		puts("\n  burst  posted    lost repeats microseconds (ud)");
	json_array_foreach(json_object_get(object, "bursts"), i, row)
		cli_text_print(row,
			       "{7burst} {7posted} {7lost} {7repeats} {12%last_us}\n");
}

/* ---- Options ---- */

#define MEMBER(member) CLI_MEMBER(struct request, member)

static const struct cli_option options[] = {
	{'N', "nodes", "LIST", "Numbers of nodes, such as 1..4, the default.",
	 cli_take_list, offsetof(struct request, nodes), .low = 1,
	 .high = PM_DSM_MAX_NODES},
	{0, "page", "BYTES", "Size of a page. Default 4096.", MEMBER(page),
	 .high = 1 << 20},
	{0, "pages", "N", "Pages that a node reads from each neighbour. Default 4.",
	 MEMBER(pages), .low = 1, .high = PM_DSM_MAX_PAGES},
	{0, "posted", "N", "Receives that each node posts for each node. Default 4.",
	 MEMBER(posted), .low = 1, .high = 65536},
	{0, "bursts", "LIST",
	 "Also print the results of bursts of these numbers of packets to one of "
	 "two nodes.",
	 cli_take_list, offsetof(struct request, bursts), .low = 1,
	 .high = PM_DSM_MAX_PAGES},
	{0, "delay-ns", "N",
	 "Delay of a message in the software at each end, with ud and rdma. "
	 "Default 23000.",
	 MEMBER(delay_ns), .high = 1000000000},
	{0, "ip-delay-ns", "N", "The same with ip. Default 48000.", MEMBER(ip_delay_ns),
	 .high = 1000000000},
	{0, "touch-ns", "N",
	 "Time of the processor for a packet at each end. Default 1000.",
	 MEMBER(touch_ns), .high = 1000000000},
	{0, "latency-ns", "N", "Delay of the switches. Default 2000.", MEMBER(latency_ns),
	 .high = 1000000000},
	{0, "mbps", "N", "Rate of a link in megabits a second. Default 8000.",
	 MEMBER(mbps), .low = 1, .high = 10000000},
	{0, "small", "BYTES", "Size of a request and of an acknowledgement. Default 32.",
	 MEMBER(small), .high = 1 << 20},
	{0, "timeout-us", "N", "Time until a node repeats a request. Default 100000.",
	 MEMBER(timeout_us), .low = 1, .high = 1000000000},
	{0, "tries", "N", "Requests until a node gives up. Default 100.", MEMBER(tries),
	 .low = 1, .high = 1000000},
	{0, "compute-us", "N",
	 "Computing time of an iteration on one node; two nodes do half each. "
	 "Default 150000.",
	 MEMBER(compute_us), .high = 1000000000},
	CLI_OUTPUT(struct request, output, "Print nothing.",
		   "Print one JSON object (docs/json.md)."),
	{0},
};

static const struct cli_command command = {
	.synopsis = "dsm [OPTION]...",
	.about = "Print the times and packet losses of shared memory in software: over "
		 "IP, over datagrams (UD), and with pages by RDMA. A node invalidates "
		 "the copies of all others; all others read a page of it; each reads "
		 "pages of its neighbours, after computing. Exit status 1 if a node gave "
		 "up.",
	.options = options,
};

int cmd_dsm(int argc, char **argv)
{
	struct request request = {
		.nodes = {{1, 2, 3, 4}, 4},
		.page = 4096,
		.pages = 4,
		.posted = 4,
		.small = 32,
		.tries = 100,
		.mbps = 8000,
		.delay_ns = 23000,
		.ip_delay_ns = 48000,
		.touch_ns = 1000,
		.latency_ns = 2000,
		.timeout_us = 100000,
		.compute_us = 150000,
	};
	int status = cli_command_read(&command, argc, argv, &request);
	bool gave_up = false;
	json_t *object;

	if (status >= 0)
		return status;
	object = cli_json_new("dsm", 1);
	status = describe_tables(&request, object, &gave_up);
	if (status)
		json_decref(object);
	else
		status = lab_write(object, &request.output, print_tables, EXIT_FINE);
	if (!status && gave_up)
		status = cli_fail(EXIT_FINDINGS, "a node gave up: see --tries");
	return status;
}
