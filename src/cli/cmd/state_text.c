/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints the plugin's state as text. */
#include "state_text.h"

#include "ends.h"
#include "json.h"
#include "managers_output.h"
#include "missing_output.h"
#include "output.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LISTED 8 /* links of a list in a line */

#define SENT "LFT blocks sent {#sent}, acked {#acked}"
#define BLOCKS SENT ", least {#least}"
#define EVENT "{#number}, {@time}: {change}\n            "

static void print_run(const struct state_file *state)
{
	const json_t *run = state_file_member(state, "run");

	if (!json_is_object(run)) {
		puts("last run    none yet");
		return;
	}
	cli_text_print(run,
		       "last run    " EVENT BLOCKS ", full load {#full_load}\n"
		       "            switches {#switches}, whole tables {#whole_tables}, "
		       "entries {#entries}; LIDs assigned {#lids_assigned}, changed "
		       "{#lids_changed}; computed in {%milliseconds} ms\n");
	if (state->run.stale_entries)
		cli_text_print(
			run,
			"            stale entries removed "
			"{#stale_entries}, LIDs that would have looped {#looping_lids}\n");
}

static void print_shadow(const json_t *shadow)
{
	cli_text_print(shadow, "shadow      {#number}, {@time}: {change}\n            ");
	if (!json_is_true(json_object_get(shadow, "would_route"))) {
		puts("portmajor would not route this fabric");
		return;
	}
	if (json_is_object(json_object_get(shadow, "other")))
		cli_text_print(shadow, "{other.engine} sent LFT blocks {#other.sent}; ");
	fputs("would send LFT blocks ", stdout);
	if (json_is_integer(json_object_get(shadow, "event")))
		cli_text_print(shadow, "{#event} for this, ");
	cli_text_print(shadow, "{#take_over} to take over, full load {#full_load}; LIDs "
			       "out of plan {#lids_out_of_plan}\n");
}

static void print_repair(const json_t *repair)
{
	if (!json_is_object(repair)) {
		puts("last repair none");
		return;
	}
	cli_text_print(
		repair,
		"last repair " EVENT SENT ", restoring {#restoring}, least {#least}; "
		"traps {#traps}, queries {#queries}, unanswered {#unanswered}; {%milliseconds} ms");
	if (json_is_true(json_object_get(repair, "left_to_sweep")))
		cli_text_print(repair,
			       *cli_json_text(repair, "gave_up")
				       ? "; the rest was left to the sweep: {gave_up}"
				       : "; the rest was left to the sweep");
	putchar('\n');
}

/* Prints the first elements of a list, each by `print_one`; ends the line. */
static void print_some(const json_t *list, void (*print_one)(const json_t *one))
{
	size_t count = json_array_size(list);

	for (size_t i = 0; i < count && i < LISTED; i++) {
		fputs(i ? ", " : ": ", stdout);
		print_one(json_array_get(list, i));
	}
	puts(count > LISTED ? ", .." : "");
}

/* Prints a switch's name or, if unknown, its GUID. */
static void put_name(const json_t *sw)
{
	const char *name = cli_json_label(sw);

	if (name && *name)
		cli_text_put(name);
	else
		cli_text_print(sw, "{guid}");
}

static void print_link(const json_t *flap)
{
	char *name = cli_ends_name(flap);

	cli_text_put(name);
	free(name);
	cli_text_print(flap, " ({state}, {#downs|time|times} down");
	if (cli_json_number(flap, "left_ms"))
		printf(", %" JSON_INTEGER_FORMAT " s left",
		       (cli_json_number(flap, "left_ms") + 999) / 1000);
	putchar(')');
}

/*
 * Links that are or were on hold are flapping. Any other one went down, perhaps with a
 * switch, and may be whole.
 */
static void print_flapping(const json_t *list)
{
	json_t *flapping = json_array(), *once = json_array();
	json_t *both, *flap;
	size_t i;

	json_array_foreach(list, i, flap)
		json_array_append(strcmp(cli_json_text(flap, "state"), "noted") ? flapping
										: once,
				  flap);
	both = json_pack("{s:o, s:o}", "flapping", flapping, "once", once);
	cli_text_print(both, "flapping    {#flapping|link|links}");
	print_some(flapping, print_link);
	cli_text_print(both, "went down   {#once|link|links} lately");
	print_some(once, print_link);
	json_decref(both);
}

static void print_drain(const json_t *item)
{
	put_name(item);
	if (cli_json_number(item, "port"))
		cli_text_print(item, ":{#port}");
	cli_text_print(item, " ({state}");
	if (cli_json_number(item, "needed"))
		cli_text_print(item, ", cables in use as last paths {#needed}");
	if (cli_json_number(item, "since"))
		cli_text_print(item, ", since {@since}");
	if (cli_json_number(item, "until"))
		cli_text_print(item, ", until {@until}");
	if (*cli_json_text(item, "by"))
		cli_text_print(item, " by {by}");
	if (*cli_json_text(item, "reason"))
		cli_text_print(item, ": {reason}");
	putchar(')');
}

void status_print_balance(const json_t *balance)
{
	if (!json_is_object(balance))
		fputs("how far tables are off the plan's is not known", stdout);
	else if (!cli_json_number(balance, "entries_off"))
		fputs("tables are the plan's", stdout);
	else
		cli_text_print(balance, "{#entries_off|entry|entries} off the plan's, in "
					"{#blocks_off|LFT block|LFT blocks} of "
					"{#switches_off|switch|switches}");
	if (json_is_true(json_object_get(balance, "rebalancing")))
		cli_text_print(balance,
			       "; rebalancing, {#blocks_left|LFT block|LFT blocks} left");
}

static void print_multicast(const json_t *multicast)
{
	if (!json_is_object(multicast))
		return;
	fputs("multicast   ", stdout);
	if (*cli_json_text(multicast, "left_to_opensm"))
		cli_text_print(multicast, "left to OpenSM: {left_to_opensm}");
	else
		cli_text_print(multicast, "{#groups|group|groups}, {#trees|tree|trees}");
	if (cli_json_number(multicast, "down_and_up"))
		cli_text_print(multicast, ", {#down_and_up} down and up again");
	if (cli_json_number(multicast, "members_left_out"))
		cli_text_print(multicast, "; {#members_left_out|member|members} in none");
	if (json_is_true(json_object_get(multicast, "incomplete")))
		fputs("; tables are not all sent", stdout);
	putchar('\n');
	if (json_is_object(json_object_get(multicast, "last_change")))
		cli_text_print(
			json_object_get(multicast, "last_change"),
			"            last change {@time}: MFT blocks sent {#sent}, "
			"acked {#acked}, bound {#bound}; {%milliseconds} ms\n");
}

/* The mean of times, given as sums over `sent` repairs. */
static double mean_of(const json_t *repairs, const char *member)
{
	return json_number_value(json_object_get(repairs, member)) /
	       (double)cli_json_number(repairs, "sent");
}

/* Prints repairs by the phase of OpenSM's sweep, and their times. */
static void print_phases(const json_t *phases)
{
	json_t *of = json_object();
	const char *name;
	json_t *repairs;

	json_object_foreach((json_t *)phases, name, repairs) {
		if (!cli_json_number(repairs, "repairs"))
			continue;
		fputs("            in phase ", stdout);
		cli_text_put(name);
		fputs(": ", stdout);
		cli_text_print(repairs, "early repairs {#repairs}");
		if (cli_json_number(repairs, "sent")) {
			json_object_set_new(of, "set",
					    json_real(mean_of(repairs, "first_set_ms")));
			json_object_set_new(
				of, "answer",
				json_real(mean_of(repairs, "last_answer_ms")));
			cli_text_print(
				of,
				"; ms from the first trap to the first Set {%set} (at most ");
			cli_text_print(repairs, "{%first_set_ms_max}");
			cli_text_print(of, "), to the last answer {%answer} (at most ");
			cli_text_print(repairs, "{%last_answer_ms_max})");
		}
		putchar('\n');
	}
	json_decref(of);
}

static void print_plan(const json_t *plan)
{
	if (!json_is_object(plan)) {
		puts("plan        none yet");
		return;
	}
	fputs("plan        ", stdout);
	cli_text_print(plan, *cli_json_text(plan, "file") ? "{file}"
							  : "on no disk, in shadow mode");
	fputs(json_is_true(json_object_get(plan, "saved")) ? "" : " (not saved)", stdout);
	cli_text_print(plan, ": lid_order {lid_order}, LMC {#lmc}, switches {#switches}, "
			     "LIDs up to {#top_lid}\n");
}

static void print_totals(const json_t *totals)
{
	cli_text_print(totals, ": runs {#runs}, of other engines {#fallbacks}; " BLOCKS
			       "\n            early repairs {#repairs}, LFT blocks sent "
			       "{#repair_sent}, acked {#repair_acked}\n");
	if (cli_json_number(totals, "returned_hosts") ||
	    cli_json_number(totals, "returned_cables") ||
	    cli_json_number(totals, "returned_left"))
		cli_text_print(totals, "            links that came back: of hosts "
				       "{#returned_hosts}, cables {#returned_cables}, "
				       "left to OpenSM {#returned_left}\n");
	if (cli_json_number(totals, "transitions"))
		cli_text_print(totals,
			       "            transitions {#transitions}, LFT blocks "
			       "sent {#transition_sent}, acked {#transition_acked}\n");
	if (cli_json_number(totals, "multicast_sent"))
		cli_text_print(totals, "            multicast: MFT blocks sent "
				       "{#multicast_sent}, acked {#multicast_acked}\n");
	if (cli_json_number(totals, "traps_dropped"))
		cli_text_print(
			totals,
			"            traps dropped for want of room {#traps_dropped}\n");
}

static void print_engine(const struct state_file *state, json_int_t age)
{
	const json_t *back =
		json_object_get(state_file_member(state, "reachable"), "failback_in_ms");
	json_int_t left = (json_integer_value(back) + 999) / 1000 - age;
	bool other = state->routed && !state->active;

	fputs("engine      ", stdout);
	cli_text_put(state->engine.used ? state->engine.used
		     : other		? "none"
					: "none yet");
	if (other && json_is_integer(back))
		printf(", portmajor again in %" JSON_INTEGER_FORMAT " s",
		       left > 0 ? left : 0);
	putchar('\n');
}

void status_print_fabric(const struct state_file *state)
{
	if (*cli_json_text(state->root, "port_guid"))
		cli_text_print(state->root, "fabric      of port {port_guid}\n");
}

/* Prints which sweep waits. */
static void print_sweep(const json_t *sweep)
{
	json_int_t left = cli_json_number(sweep, "until") - time(NULL);

	if (json_is_object(sweep))
		printf("sweep       has waited for %" JSON_INTEGER_FORMAT
		       " s, at most %" JSON_INTEGER_FORMAT
		       " s more: all changes are known, traps %" JSON_INTEGER_FORMAT "\n",
		       time(NULL) - cli_json_number(sweep, "since"), left > 0 ? left : 0,
		       cli_json_number(sweep, "traps"));
}

static void print_wait(const json_t *port)
{
	char *name = cli_ends_name(port);

	cli_text_put(name);
	free(name);
	cli_text_print(port, " ({#ticks_per_s})");
}

/* Prints the ports at which packets wait longest; how long a tick is is not known. */
static void print_waits(const json_t *list)
{
	if (!json_array_size(list))
		return;
	fputs("waiting     packets, ticks a second", stdout);
	print_some(list, print_wait);
}

/* Whether another OpenSM of this machine is the master now, and knows the fabric. */
static bool is_succeeded(const struct status *status)
{
	return !status->state.running && status->master;
}

/* Prints which OpenSM it is, and what it does. */
static void print_process(const struct status *status)
{
	const json_t *root = status->state.root;

	cli_text_print(root, "OpenSM      {opensm}, ");
	cli_text_print(root, status->state.running ? "{sm_state}" : "ended");
	cli_text_print(root, ", pid {#pid}, state written ");
	printf("%" JSON_INTEGER_FORMAT, status->age);
	cli_text_print(root, " s ago by portmajor {plugin}\n");
	if (is_succeeded(status))
		return;
	print_engine(&status->state, status->age);
	cli_managers_print(state_file_member(&status->state, "managers"));
	if (*cli_json_text(root, "phase"))
		cli_text_print(root, "phase       {phase}\n");
	print_sweep(state_file_member(&status->state, "sweep"));
}

/* Prints links and parts that are not as they should be. */
static void print_parts(const struct status *status)
{
	const struct state_file *state = &status->state;

	print_flapping(state_file_member(state, "flapping"));
	if (json_is_object(state_file_member(state, "degraded_links")))
		cli_text_print(state->root,
			       "degraded    {#degraded_links.count|link|links} slower "
			       "than their neighbours");
	if (json_is_object(state_file_member(state, "degraded_hosts")))
		cli_text_print(state->root, ", and {#degraded_hosts.count|host|hosts}");
	if (json_is_object(state_file_member(state, "degraded_links")))
		putchar('\n');
	if (json_is_object(state_file_member(state, "port_errors")))
		cli_text_print(state->root,
			       "port errors {#port_errors.count|port|ports} with many in "
			       "the last hour\n");
	else if (!strcmp(state->sm, "master"))
		puts("port errors not known: OpenSM's performance manager is off, or has "
		     "read nothing yet");
	print_waits(json_object_get(state->root, "port_waits"));
	cli_missing_print(state_file_member(state, "missing"));
	cli_changed_print(state_file_member(state, "changed"));
	if (status->cables)
		cli_text_print(status->cables, "expected    cables missing {#missing}, "
					       "additional {#additional}, swapped "
					       "{#swapped}\n");
	cli_text_print(state->root, "drained     {#drained.list}");
	print_some(json_object_get(state_file_member(state, "drained"), "list"),
		   print_drain);
}

/* Prints which switches have paths; without a plan nothing is known of them. */
static void print_paths(const struct state_file *state)
{
	if (state->unreachable.text)
		cli_text_print(state->root, "paths       {unreachable.text}\n");
	else if (json_is_object(state_file_member(state, "plan")))
		puts("paths       between all switches with end ports");
	else
		puts("paths       not known");
}

void status_print(const struct status *status)
{
	const struct state_file *state = &status->state;
	const json_t *balance = state_file_member(state, "balance");

	print_process(status);
	if (is_succeeded(status))
		return;
	if (json_is_object(state_file_member(state, "shadow")))
		print_shadow(state_file_member(state, "shadow"));
	print_run(state);
	print_repair(state_file_member(state, "repair"));
	cli_text_print(state->root, "LIDs        {#out_of_plan} out of plan\n");
	print_parts(status);
	print_paths(state);
	print_plan(state_file_member(state, "plan"));
	if (json_is_object(balance)) {
		fputs("balance     ", stdout);
		status_print_balance(balance);
		putchar('\n');
	}
	print_multicast(state_file_member(state, "multicast"));
	cli_text_print(state->root, "since       {@started}");
	print_totals(state_file_member(state, "since_start"));
	print_phases(state_file_member(state, "repairs_by_phase"));
}

void status_print_findings(const struct findings *findings, bool quiet)
{
	for (size_t i = 0; i < findings->count; i++) {
		fputs("finding     ", stdout);
		cli_text_put(findings->text[i]);
		putchar('\n');
	}
	if (!findings->count && !quiet)
		puts("verdict     ok");
}

/* ---- Changes ---- */

static void print_change(const char *guid, const char *kind, const char *text)
{
	char stamp[32] = "?";
	time_t now = time(NULL);
	struct tm local;

	if (localtime_r(&now, &local))
		strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S%z", &local);
	cli_print_line("%s %s%s%-8s %s", stamp, guid ? guid : "", guid ? " " : "", kind,
		       text);
}

void status_print_changes(json_t *shown, const char *path, const char *guid,
			  const struct findings *findings, bool quiet)
{
	json_t *before = json_object_get(shown, path), *now = json_object(), *text;
	const char *kind;

	for (size_t i = 0; i < findings->count; i++)
		json_object_set_new(now, findings->kind[i],
				    pm_json_text(findings->text[i]));
	json_object_foreach(before, kind, text)
		if (!json_object_get(now, kind))
			print_change(guid, "over", json_string_value(text));
	json_object_foreach(now, kind, text)
		if (!before || !json_equal(text, json_object_get(before, kind)))
			print_change(guid, "finding", json_string_value(text));
	if (!quiet && !findings->count && (!before || json_object_size(before)))
		print_change(guid, "verdict", "ok");
	json_object_set_new(shown, path, now);
}
