/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Describes what parts cost that return. */
#include "return_output.h"

#include "json.h"
#include "output.h"
#include "text.h"

#include <portmajor/analysis/return_cost.h>
#include <portmajor/memory/xalloc.h>

#include <stdlib.h>

/* ---- The cost ---- */

int cli_return_reset(const struct pm_fabric *fabric, const struct pm_plan *plan,
		     const struct cli_failed *failed, uint8_t *reset)
{
	struct pm_ports things = {0};
	bool any = false;
	int status = EXIT_FINE;

	for (uint32_t i = 0; i < failed->num && !status; i++)
		status = cli_failures_find(fabric, plan, "--fail", failed->list[i],
					   &things);
	for (uint32_t i = 0; i < things.num && !status; i++) {
		const struct pm_port *port = &fabric->ports[things.list[i]];

		if (port->num)
			continue;
		reset[port->node] = 1;
		any = true;
	}
	free(things.list);
	return status || any ? status
			     : cli_fail(EXIT_USAGE, "--reset: --fail names no node");
}

/* *own: the subnet manager's own link has failed, and returns. An exit status. */
static int find_cost(const struct cli_return *back, struct pm_return_cost *cost,
		     bool *own)
{
	uint8_t *reached = pm_xarray(back->fabric->num_switches + 1u, 1);
	const struct pm_return parts = {
		.fabric = back->fabric,
		.ports = back->ports->list,
		.num_ports = back->ports->num,
		.reached = reached,
		.reset = back->reset,
		.table_blocks = pm_plan_blocks(pm_whatif_plan(back->whatif)),
		.at_once = back->settings->wire_smps,
	};
	struct pm_error err;
	int status = EXIT_FINE;

	*own = !pm_whatif_reached(back->whatif, reached);
	if (pm_return_cost_find(&parts, cost, &err))
		status = cli_refuse(&err);
	free(reached);
	return status;
}

/* ---- JSON ---- */

static json_t *service_json(const struct cli_return *back,
			    const struct pm_return_cost *cost)
{
	uint64_t gets = pm_return_cost_gets(cost), sets = pm_return_cost_sets(cost);
	json_t *smps = json_pack(
		"{s:{s:I, s:I, s:I, s:I}, s:{s:I, s:I, s:I, s:I}, s:I}", "gets", "total",
		(json_int_t)gets, "ports", (json_int_t)cost->port_gets, "remote",
		(json_int_t)cost->remote_gets, "switches", (json_int_t)cost->switch_gets,
		"sets", "total", (json_int_t)sets, "lft", (json_int_t)cost->table_sets,
		"values", (json_int_t)cost->value_sets, "states",
		(json_int_t)cost->state_sets, "smps", (json_int_t)(gets + sets));
	json_t *links = json_pack(
		"{s:I, s:I, s:I, s:I, s:f}", "hosts", (json_int_t)cost->hosts, "cables",
		(json_int_t)cost->cables, "whole_tables", (json_int_t)cost->switches,
		"unreached", (json_int_t)cost->unreached, "ms",
		(double)cost->round_trips * back->settings->mad_us / 1000);

	return cli_json_join(links, smps);
}

static json_t *moves_json(const struct cli_return *back)
{
	const struct pm_delta *moves = &back->result->total;

	return json_pack("{s:I, s:I, s:I, s:I, s:f}", "switches",
			 (json_int_t)moves->switches, "blocks", (json_int_t)moves->blocks,
			 "least", (json_int_t)moves->least, "entries",
			 (json_int_t)moves->entries, "ms",
			 settings_ms(back->settings, moves->blocks));
}

int cli_return_json(const struct cli_return *back, json_t *took, json_t *multicast,
		    json_t **object)
{
	struct pm_return_cost cost;
	json_int_t again, all;
	bool own;
	int status = find_cost(back, &cost, &own);

	if (status) {
		json_decref(took);
		json_decref(multicast);
		return status;
	}
	all = (json_int_t)pm_whatif_before(back->whatif)->full_load;
	again = (json_int_t)cost.switches * pm_plan_blocks(pm_whatif_plan(back->whatif));
	*object = cli_json_join(
		cli_json_new("return", 1),
		pm_json_object((const struct pm_json_member[]){
			{"settings", json_incref(back->settings->json)},
			{"returned", cli_failed_json(back->failed)},
			{"took", took},
			{"reset", json_boolean(back->any_reset)},
			{"service", service_json(back, &cost)},
			{"moves", moves_json(back)},
			{"discovery", json_integer(again)},
			{"first_sweep", own ? json_integer(all) : json_null()},
			{"lft_sets",
			 json_integer((json_int_t)cost.table_sets + again +
				      (json_int_t)back->result->total.blocks)},
			{"fails_over",
			 json_boolean(!pm_reachable_enough(&back->result->reachable))},
			{"multicast", multicast},
			{0},
		}));
	return EXIT_FINE;
}

/* ---- Text ---- */

void cli_multicast_print(const json_t *object)
{
	if (json_is_object(json_object_get(object, "multicast")))
		cli_text_print(
			object,
			"multicast, {multicast.groups|group|groups}: "
			"{multicast.blocks|MFT block|MFT blocks} of "
			"{multicast.full_load} in {multicast.sets|Set|Sets}; packets of "
			"{multicast.ordered|group|groups} may be lost for up to "
			"{multicast.longest|Set|Sets}; {multicast.down_and_up|tree|trees} "
			"down and up again, "
			"{multicast.members_left_out|member|members} in none\n");
}

static void print_moves(const json_t *object)
{
	if (cli_json_number(json_object_get(object, "moves"), "blocks"))
		cli_text_print(
			object,
			"then entries move: {moves.blocks|LFT block|LFT blocks} of "
			"{moves.switches|switch|switches}, {moves.least} at least, "
			"about {%moves.ms} ms\n");
	else if (json_is_false(json_object_get(object, "fails_over")))
		puts("no entry moves: all tables are right already");
}

/* The subnet manager's own link: how OpenSM sees it depends on when it looks. */
static void print_own(const json_t *object)
{
	if (!json_is_integer(json_object_get(object, "first_sweep")))
		return;
	cli_text_print(object,
		       "the subnet manager's own link was down: this holds if it did not "
		       "sweep meanwhile; if it did, it has dropped the fabric, and "
		       "its next sweep discovers all and writes all tables: "
		       "{first_sweep|LFT block|LFT blocks}\n");
}

void cli_return_print(const json_t *object)
{
	const json_t *service = json_object_get(object, "service");

	cli_took_print("returned", json_object_get(object, "took"));
	cli_text_print(object, "lid_order {settings.lid_order}\n");
	cli_text_print(
		service,
		"in service: {hosts|host's link|hosts' links} and "
		"{cables|cable|cables} between switches, after {smps|SMP|SMPs}, "
		"about {%ms} ms:\n"
		"  {gets.total|Get|Gets}: {gets.ports} of ports known to be down, "
		"{gets.remote} of remote ends, {gets.switches} of switches\n"
		"  {sets.total|Set|Sets}: {sets.lft} of LFT blocks, for "
		"{whole_tables|whole table|whole tables}; {sets.values} of values, "
		"{sets.states} of states\n");
	if (json_integer_value(json_object_get(service, "unreached")))
		cli_text_print(service,
			       "{unreached|link|links} not in service: the subnet "
			       "manager does not reach either end\n");
	if (json_is_true(json_object_get(object, "fails_over")))
		fputs("without these parts the engine fails over to the next one: entries "
		      "move when it fails back\n",
		      stdout);
	print_moves(object);
	if (json_integer_value(json_object_get(object, "discovery")))
		cli_text_print(object, "then OpenSM's discovery sends these whole tables "
				       "again: {discovery|LFT block|LFT blocks}\n");
	cli_multicast_print(object);
	cli_text_print(
		object,
		"in all {lft_sets|LFT Set|LFT Sets}, with "
		"{settings.max_wire_smps} MADs of {settings.mad_us} us at a time\n");
	print_own(object);
}
