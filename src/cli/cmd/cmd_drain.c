/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor drain, undrain: excludes parts from hosts' paths, by the plugin. */
#include "cache.h"
#include "commands.h"
#include "drain_effect.h"
#include "json.h"
#include "failure_options.h"
#include "outfile.h"
#include "text.h"
#include "unset_output.h"

#include <portmajor/files/plan_file.h>
#include <portmajor/files/drain_file.h>

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define POLL_US 100000

struct request {
	const char *netlist; /* NULL: the plan file */
	const char *reason;  /* or NULL */
	bool all;
	bool dry_run, force;
	uint32_t wait_s;
	struct cli_output output;
};

struct outcome {
	json_t *effect; /* NULL: no new drain */
	char *text;	/* the effect in words */
	bool harsh;	/* refused without --force */
	uint32_t first; /* index of the first new drain */
};

/* ---- Several parts of one name ---- */

static void add_guid(struct cli_names *guids, uint64_t guid, unsigned int num)
{
	char text[20];

	snprintf(text, sizeof(text), "0x%016" PRIx64, guid);
	cli_names_add(guids, text, num);
}

static int refuse_several(const char *what, const char *text,
			  const struct cli_names *guids)
{
	return cli_fail(EXIT_USAGE, "%s: the name \"%s\" is ambiguous: give a GUID (%s)",
			what, text, guids->text);
}

/* ---- Adding ---- */

/* Adds one part, as cli_failures_find gives it. */
static int add_thing(struct pm_drains *drains, const struct pm_fabric *fabric,
		     uint32_t thing)
{
	const struct pm_port *port = &fabric->ports[thing];
	const struct pm_node *node = &fabric->nodes[port->node];
	const char *name = pm_fabric_label(fabric, port->node);
	struct pm_error err;

	if (port->node >= fabric->num_switches)
		return cli_fail(
			EXIT_USAGE,
			"drain: %s is a host: only links between switches can be drained",
			name);
	if (port->num && pm_fabric_peer_node(fabric, thing) >= fabric->num_switches)
		return cli_fail(
			EXIT_USAGE,
			"drain: port %u of %s leads to a host (%s): only links "
			"between switches can be drained",
			port->num, name,
			pm_fabric_label(fabric, pm_fabric_peer_node(fabric, thing)));
	if (!port->num && pm_fabric_count_hosts(fabric, port->node, NULL))
		return cli_fail(
			EXIT_USAGE,
			"drain: %s has hosts, which need it: name cables of it (%s:PORT)",
			name, name);
	if (pm_drains_add(drains, node->guid, port->num, name, NULL, &err))
		return cli_refuse(&err);
	return EXIT_FINE;
}

/* A pattern may mean several parts, but a name only one. */
static int check_several(const struct pm_fabric *fabric, const char *text,
			 const struct pm_ports *things, bool quiet)
{
	struct cli_names guids = {0};

	if (things->num > 1 && pm_failures_is_name(fabric, things->list[0], text)) {
		for (uint32_t i = 0; i < things->num; i++) {
			const struct pm_port *port = &fabric->ports[things->list[i]];

			add_guid(&guids, fabric->nodes[port->node].guid, port->num);
		}
		return refuse_several("drain", text, &guids);
	}
	if (!quiet)
		cli_failures_print(fabric, "drain", text, things);
	return EXIT_FINE;
}

static int add_all(struct pm_drains *drains, const struct pm_fabric *fabric,
		   const struct pm_plan *plan, char **operands, bool quiet)
{
	int status = EXIT_FINE;

	for (; *operands && !status; operands++) {
		struct pm_ports things = {0};

		status = cli_failures_find(fabric, plan, "drain", *operands, &things);
		if (!status)
			status = check_several(fabric, *operands, &things, quiet);
		for (uint32_t i = 0; i < things.num && !status; i++)
			status = add_thing(drains, fabric, things.list[i]);
		free(things.list);
	}
	return status;
}

/* Reads the plugin's plan and state. */
static int read_plan(struct pm_plan **plan, json_t **state)
{
	struct cache_paths files;
	struct pm_error err;
	char *wanted, *path;
	int status = EXIT_FINE;

	if (cache_find("plan", &files, &wanted))
		cli_no_memory();
	if (!files.count)
		status = cli_fail(EXIT_INPUT, "%s: no such file (name a netlist with -n)",
				  wanted);
	else if (files.count > 1)
		status = cli_fail(EXIT_INPUT,
				  "%s: plans of %zu fabrics (name a netlist with -n)",
				  wanted, files.count);
	else if (pm_plan_file_read(files.path[0], plan, &err))
		status = cli_refuse(&err);
	if (!status) {
		path = cli_text_make("%.*sstate",
				     (int)(strlen(files.path[0]) - strlen("plan")),
				     files.path[0]);
		*state = cli_json_load(path);
		free(path);
	}
	free(wanted);
	cache_paths_free(&files);
	return status;
}

/* The fabric in which parts are looked up. */
struct place {
	struct pm_plan *plan;
	struct pm_fabric *fabric; /* of a netlist, or NULL */
	uint8_t *there;		  /* [port of plan->topology] */
};

static int open_place(const struct request *request, struct place *place)
{
	const struct cli_fabric config = {.plan = {.order = PM_GROUPED}};
	json_t *state = NULL;
	struct pm_error err;
	int status;

	if (!request->netlist) {
		status = read_plan(&place->plan, &state);
	} else {
		status = cli_fabric_read(request->netlist, &config, &place->fabric);
		if (!status &&
		    pm_plan_make(place->fabric, &config.plan, &place->plan, &err))
			status = cli_fail(EXIT_INPUT, "%s: %s", request->netlist,
					  err.text);
	}
	if (!status) {
		place->there = calloc(place->plan->topology->num_ports + 1u, 1);
		if (!place->there)
			cli_no_memory();
		drain_effect_there(place->plan, state, place->there);
	}
	json_decref(state);
	return status;
}

static void close_place(struct place *place)
{
	free(place->there);
	pm_plan_free(place->plan);
	pm_fabric_free(place->fabric);
}

/*
 * The user that gives the command, also by sudo, for the caller to free. Takes it from
 * the environment: the C library's lookup of users ends the process when out of memory.
 */
static char *find_user(void)
{
	static const char *const variables[] = {"SUDO_USER", "LOGNAME", "USER"};

	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		const char *user = getenv(variables[i]);

		if (user && *user)
			return cli_text_make("%s", user);
	}
	return cli_text_make("uid:%u", (unsigned int)getuid());
}

/* Adds the time, user and reason to new drains. */
static void note_new(struct pm_drains *drains, uint32_t first, const char *reason)
{
	char *user = find_user();

	for (uint32_t i = first; i < drains->num; i++)
		if (pm_drains_note(drains, i, (uint64_t)time(NULL), user, reason, NULL))
			cli_no_memory();
	free(user);
}

/* Finds the effects of new drains, and if they are allowed. */
static int judge(const struct place *place, struct pm_drains *before,
		 struct pm_drains *drains, const struct request *request,
		 struct outcome *outcome)
{
	struct drain_effect effect;
	char *text;
	int status = EXIT_FINE;

	if (drain_effect_find(place->plan, place->there, before, drains, &effect, NULL))
		cli_no_memory();
	text = drain_effect_text(place->plan, &effect);
	outcome->effect = drain_effect_describe(place->plan, &effect);
	outcome->harsh = drain_effect_is_harsh(&effect);
	if (outcome->harsh && !request->force && !request->dry_run)
		status = cli_fail(
			EXIT_FINDINGS,
			"drain: %s: less than half; --force drains it all the same",
			text);
	else if (!request->output.quiet && !request->dry_run)
		cli_note("drain: %s", text);
	outcome->text = text;
	return status;
}

static int drain(struct pm_drains *drains, const struct request *request, char **operands,
		 struct outcome *outcome)
{
	struct pm_drains before = {0};
	struct place place = {NULL, NULL, NULL};
	int status = open_place(request, &place);

	if (pm_drains_copy(drains, &before, NULL))
		cli_no_memory();
	outcome->first = drains->num;
	if (!status)
		status = add_all(drains,
				 place.fabric ? place.fabric : place.plan->topology,
				 place.plan, operands, request->output.quiet);
	note_new(drains, before.num, request->reason);
	if (!status && drains->num > before.num)
		status = judge(&place, &before, drains, request, outcome);
	pm_drains_free(&before);
	close_place(&place);
	return status;
}

/* ---- undrain ---- */

enum meant {
	NOT_MEANT,
	BY_PATTERN,
	BY_NAME,
	BY_GUID, /* or by label */
};

/* Whether text is a name, with or without its port; or matches it as a pattern. */
static bool is_named(const char *text, const char *name, unsigned int num, bool pattern)
{
	char *with_port;
	bool named = pattern ? !fnmatch(text, name, 0) : !strcmp(text, name);

	if (named || !num)
		return named;
	with_port = cli_text_make("%s:%u", name, num);
	named = pattern ? !fnmatch(text, with_port, 0) : !strcmp(text, with_port);
	free(with_port);
	return named;
}

static bool has_guid(const char *text, const struct pm_drain *d)
{
	char *end;
	uint64_t guid = strncmp(text, "0x", 2) ? 0 : strtoull(text, &end, 16);
	char number[20];

	if (!guid || guid != d->guid)
		return false;
	snprintf(number, sizeof(number), ":%u", d->num);
	return !*end || (d->num && !strcmp(end, number));
}

static enum meant is_meant(const char *text, const struct pm_drain *d)
{
	if (is_named(text, d->name, d->num, false))
		return BY_NAME;
	if (is_named(text, d->label, d->num, false) || has_guid(text, d))
		return BY_GUID;
	return is_named(text, d->name, d->num, true) ? BY_PATTERN : NOT_MEANT;
}

/*
 * Prints the matches of a name, if there are several. Returns an exit status: an error if
 * several switches have the name.
 */
static int print_meant(const struct pm_drains *drains, const char *text, bool quiet)
{
	struct cli_names names = {0}, guids = {0};
	uint64_t guid = 0;
	bool differ = false;

	for (uint32_t i = 0; i < drains->num; i++) {
		const struct pm_drain *d = &drains->list[i];
		enum meant meant = is_meant(text, d);

		if (!meant)
			continue;
		cli_names_add(&names, d->label, d->num);
		if (meant != BY_NAME)
			continue;
		differ = differ || (guids.num && d->guid != guid);
		guid = d->guid;
		add_guid(&guids, d->guid, d->num);
	}
	if (differ)
		return refuse_several("undrain", text, &guids);
	if (names.num > 1 && !guids.num && !quiet)
		cli_note("undrain: \"%s\" matches %u drains: %s", text, names.num,
			 names.text);
	return EXIT_FINE;
}

static int undrain(struct pm_drains *drains, const struct request *request,
		   char **operands)
{
	for (; *operands; operands++) {
		uint32_t before = drains->num, i = 0;
		int status = print_meant(drains, *operands, request->output.quiet);

		if (status)
			return status;
		while (i < drains->num) {
			if (is_meant(*operands, &drains->list[i]))
				pm_drains_remove(drains, i);
			else
				i++;
		}
		if (drains->num == before)
			return cli_fail(
				EXIT_USAGE,
				"undrain: \"%s\" is not drained (`portmajor drain` lists what is)",
				*operands);
	}
	return EXIT_FINE;
}

/* ---- What OpenSM has done ---- */

/*
 * Merges the drains that another OpenSM follows. All follow one list, but only one OpenSM
 * knows an item's switch. False if the numbers of items differ: one OpenSM lags behind.
 */
static bool merge_drained(json_t *list, const json_t *more)
{
	const char *unknown = pm_drain_state_name(PM_DRAIN_UNKNOWN);
	json_t *item;
	size_t i;

	if (json_array_size(list) != json_array_size(more))
		return false;
	json_array_foreach(more, i, item) {
		const char *state = cli_json_text(item, "state");

		if (*state && strcmp(state, unknown) != 0)
			json_array_set(list, i, item);
	}
	return true;
}

/* The states of all running OpenSMs, in a new array. */
static json_t *read_running(void)
{
	json_t *states = json_array();
	struct cache_paths files;
	char *wanted;

	if (cache_find("state", &files, &wanted))
		cli_no_memory();
	for (size_t i = 0; i < files.count; i++) {
		json_t *root = cli_json_load(files.path[i]);

		if (json_is_true(json_object_get(root, "running")) &&
		    !cache_is_left(files.path[i]))
			json_array_append(states, root);
		json_decref(root);
	}
	free(wanted);
	cache_paths_free(&files);
	return states;
}

/* What running OpenSMs follow. */
struct followed {
	json_t *list; /* drains, or NULL */
	char *cause;  /* why tables are not all set, as far as is known, or NULL */
};

static void free_followed(struct followed *followed)
{
	json_decref(followed->list);
	free(followed->cause);
	*followed = (struct followed){NULL, NULL};
}

/*
 * Reads the drains that running OpenSMs follow; false if unknown, or not the same, or if
 * some switch has not acknowledged its table. A standby sets no tables.
 */
static bool read_followed(struct followed *followed)
{
	json_t *states = read_running(), *state;
	bool same = true;
	size_t i;

	json_array_foreach(states, i, state) {
		const json_t *drained = json_object_get(state, "drained");
		json_t *its = json_object_get(drained, "list");

		if (!strcmp(cli_json_text(state, "sm_state"), "standby"))
			continue;
		if (!followed->list)
			followed->list = json_incref(its);
		else
			same = same && merge_drained(followed->list, its);
		same = same && !json_is_false(json_object_get(drained, "settled"));
		if (!followed->cause)
			followed->cause =
				cli_unset_cause(json_object_get(state, "unset"));
	}
	json_decref(states);
	return same && json_is_array(followed->list);
}

/*
 * The state of a drain: the plugin's word, or "pending". Its word on a former drain of
 * the same part does not count: tables may be changing for what came between.
 */
static const char *find_state(const json_t *list, const struct pm_drain *d)
{
	const json_t *item;
	char guid[20];
	size_t i;

	snprintf(guid, sizeof(guid), "0x%016" PRIx64, d->guid);
	json_array_foreach(list, i, item) {
		const char *state = cli_json_text(item, "state");

		if (*state && !strcmp(cli_json_text(item, "guid"), guid) &&
		    cli_json_number(item, "port") == (int)d->num &&
		    cli_json_number(item, "since") == (json_int_t)d->since)
			return state;
	}
	return "pending";
}

/* Whether the plugin follows exactly these drains. */
static bool is_followed(const json_t *list, const struct pm_drains *drains)
{
	if (json_array_size(list) != drains->num)
		return false;
	for (uint32_t i = 0; i < drains->num; i++)
		if (!strcmp(find_state(list, &drains->list[i]), "pending"))
			return false;
	return true;
}

/* Reads states until all drains are followed, or the time is over. */
static bool wait_followed(const struct pm_drains *drains, uint32_t wait_s,
			  struct followed *followed)
{
	for (uint64_t looks = wait_s * UINT64_C(1000000) / POLL_US;; looks--) {
		if (read_followed(followed) && is_followed(followed->list, drains))
			return true;
		if (!looks)
			return false;
		free_followed(followed);
		usleep(POLL_US);
	}
}

static json_t *describe_drain(const struct pm_drain *d, const char *state)
{
	json_t *since = d->since ? json_integer((json_int_t)d->since) : json_null();
	json_t *thing = json_pack(
		"{s:o, s:o, s:i, s:s, s:o, s:o, s:o}", "guid", pm_json_guid(d->guid),
		"name", pm_json_text(d->name), "port", (int)d->num, "state", state,
		"since", since, "by", d->by ? pm_json_text(d->by) : json_null(), "reason",
		d->reason ? pm_json_text(d->reason) : json_null());

	if (strcmp(d->name, d->label) != 0)
		json_object_set_new(thing, "label", pm_json_text(d->label));
	return thing;
}

static json_t *describe_drained(const struct pm_drains *drains,
				const struct followed *found, bool followed,
				const struct outcome *outcome)
{
	json_t *object = cli_json_new("drain", 1), *things = json_array();

	for (uint32_t i = 0; i < drains->num; i++)
		json_array_append_new(
			things,
			describe_drain(&drains->list[i],
				       find_state(found->list, &drains->list[i])));
	json_object_set_new(object, "followed", json_boolean(followed));
	json_object_set_new(object, "cause", pm_json_text(found->cause));
	json_object_set_new(object, "drained", things);
	json_object_set_new(object, "effect",
			    outcome->effect ? json_incref(outcome->effect) : json_null());
	return object;
}

/* cause: why it is pending, or NULL */
static void print_thing(const json_t *thing, const char *state, const char *cause)
{
	const char *label = cli_json_label(thing);

	printf("%-9s", state);
	if (*label)
		cli_text_put(label);
	else
		cli_text_print(thing, "{guid}");
	cli_text_print(thing, cli_json_number(thing, "port") ? ":{port}" : "");
	if (cli_json_number(thing, "since"))
		cli_text_print(thing, ", since {@since}");
	if (json_is_string(json_object_get(thing, "by")))
		cli_text_print(thing, " by {by}");
	if (json_is_string(json_object_get(thing, "reason")))
		cli_text_print(thing, ": {reason}");
	if (cause) {
		fputs(" (", stdout);
		cli_text_put(cause);
		putchar(')');
	}
	putchar('\n');
}

/* Prints the result of a dry run. */
static int show_trial(const struct pm_drains *drains, const struct request *request,
		      const struct outcome *outcome)
{
	const struct followed none = {NULL, NULL};
	json_t *object = describe_drained(drains, &none, false, outcome);
	const json_t *things = json_object_get(object, "drained");
	int status = EXIT_FINE;

	if (request->output.json) {
		status = cli_json_print(object);
	} else {
		for (uint32_t i = outcome->first; i < drains->num; i++)
			if (!request->output.quiet)
				print_thing(json_array_get(things, i), "would", NULL);
		if (outcome->text && !request->output.quiet) {
			cli_text_put(outcome->text);
			puts(outcome->harsh
				     ? ": less than half, and refused without --force"
				     : "");
		}
		json_decref(object);
	}
	return status ? status : outcome->harsh ? EXIT_FINDINGS : EXIT_FINE;
}

/* Prints the drained parts, and the cause once if none of them is pending. */
static void print_drained(const json_t *things, const char *cause)
{
	const json_t *thing;
	bool named = false;
	size_t i;

	json_array_foreach(things, i, thing) {
		const char *state = cli_json_text(thing, "state");
		bool pending = !strcmp(state, "pending");

		print_thing(thing, state, pending ? cause : NULL);
		named = named || pending;
	}
	if (!cause || named)
		return;
	printf("%-9s", "pending");
	cli_text_put(cause);
	putchar('\n');
}

/* Whether each of these drains is out of hosts' paths. */
static bool are_out(const json_t *things)
{
	const json_t *thing;
	size_t i;

	json_array_foreach(things, i, thing) {
		if (strcmp(cli_json_text(thing, "state"),
			   pm_drain_state_name(PM_DRAIN_OUT)) != 0)
			return false;
	}
	return true;
}

/*
 * Prints the drained parts; returns EXIT_FINDINGS if not all are out, or some switch has
 * not acknowledged its table; or an exit status.
 */
static int show_drained(const struct pm_drains *drains, const struct request *request,
			const struct outcome *outcome)
{
	struct followed found = {NULL, NULL};
	bool followed = wait_followed(drains, request->wait_s, &found);
	bool done = followed || (!drains->num && !request->wait_s && !found.cause);
	json_t *object = describe_drained(drains, &found, followed, outcome);
	const json_t *things = json_object_get(object, "drained");
	int status = EXIT_FINE;

	done = done && are_out(things);
	if (!request->output.json && !request->output.quiet)
		print_drained(things, found.cause);
	if (request->output.json)
		status = cli_json_print(object);
	else
		json_decref(object);
	free_followed(&found);
	return status ? status : done ? EXIT_FINE : EXIT_FINDINGS;
}

/* ---- The commands ---- */

static int write_drains(FILE *file, const void *arg)
{
	pm_drains_print(arg, file);
	return 0;
}

/* Whether an OpenSM runs in shadow mode, and so follows no drain. */
static bool is_in_shadow(void)
{
	json_t *states = read_running(), *state;
	bool shadow = false;
	size_t i;

	json_array_foreach(states, i, state)
		shadow = shadow || json_is_object(json_object_get(state, "shadow"));
	json_decref(states);
	return shadow;
}

static int change(struct request *request, char **operands, bool back)
{
	char *path = cache_path("portmajor.drained");
	struct pm_drains drains = {0};
	struct pm_error err = {"out of memory"};
	struct outcome outcome = {NULL, NULL, false, 0};
	bool changes = *operands || request->all;
	int status = EXIT_FINE;

	if (!path || pm_drains_read(path, &drains, &err))
		status = cli_refuse(&err);
	else if (request->all)
		pm_drains_free(&drains);
	else if (back)
		status = undrain(&drains, request, operands);
	else if (changes)
		status = drain(&drains, request, operands, &outcome);
	if (!status && changes && request->dry_run) {
		status = show_trial(&drains, request, &outcome);
	} else if (!status) {
		if (changes)
			status = cli_outfile_write_followed(path, write_drains, &drains);
		if (!status && changes && is_in_shadow())
			cli_note("%s: OpenSM runs portmajor in shadow mode, in which "
				 "nothing is drained: it follows when portmajor routes",
				 back ? "undrain" : "drain");
		if (!status)
			status = show_drained(&drains, request, &outcome);
		if (status == EXIT_FINDINGS && changes && !request->wait_s)
			status = EXIT_FINE; /* without --wait */
	}
	json_decref(outcome.effect);
	free(outcome.text);
	pm_drains_free(&drains);
	free(path);
	return status;
}

static const struct cli_option common_options[] = {
	{0, "wait", "SECONDS", "wait until OpenSM has followed, at most so long",
	 CLI_MEMBER(struct request, wait_s), .high = 86400},
	CLI_OUTPUT(struct request, output, "print nothing but errors",
		   "print JSON, see docs/json.md"),
	{0},
};

static const struct cli_option drain_options[] = {
	{'n', NULL, "NETLIST",
	 "where names are looked up: an ibsim, ibnetdiscover or opensm-subnet.lst file "
	 "(default: the plan file in OpenSM's cache folder)",
	 CLI_MEMBER(struct request, netlist)},
	{0, "dry-run", NULL,
	 "print what would be drained and its effect, and drain nothing",
	 CLI_MEMBER(struct request, dry_run)},
	{0, "force", NULL, "even if a leaf keeps less than half of its uplinks",
	 CLI_MEMBER(struct request, force)},
	{0, "reason", "TEXT", "why; kept and listed with the drain",
	 CLI_MEMBER(struct request, reason)},
	{.include = common_options},
	{0},
};

static const struct cli_command drain_command = {
	.synopsis = "drain [OPTION]... [WHAT[:PORT]]...",
	.about =
		"Has a running OpenSM take cables, or all cables of switches, out of "
		"hosts' paths, new paths first, until `portmajor undrain`; also over "
		"restarts. Nodes are named as for whatif --fail: by name, pattern with * "
		"and ?, or GUID. A cable without which hosts would be cut off stays in use "
		"(\"needed\"). Says first how much busier the busiest link gets, and how "
		"many uplinks leaves keep: less than half is refused. Then, or without "
		"operands, lists what is drained: \"out\" "
		"is out of hosts' paths. Exit status 1, for a list or with --wait, if "
		"anything is not.",
	.options = drain_options,
	.max_operands = INT_MAX,
};

int cmd_drain(int argc, char **argv)
{
	struct request request = {0};
	int status = cli_command_read(&drain_command, argc, argv, &request);

	return status < 0 ? change(&request, argv + optind, false) : status;
}

static const struct cli_option undrain_options[] = {
	{0, "all", NULL, "all there is", CLI_MEMBER(struct request, all)},
	{.include = common_options},
	{0},
};

static const struct cli_command undrain_command = {
	.synopsis = "undrain [OPTION]... --all | WHAT[:PORT]...",
	.about = "Takes back what `portmajor drain` has taken out. WHAT is the name of a "
		 "switch, a pattern with * and ?, or a GUID, as `portmajor drain` lists "
		 "them; without a port, cables that were drained by themselves are taken "
		 "back too. Exit status 1 if OpenSM has not followed after --wait.",
	.options = undrain_options,
	.max_operands = INT_MAX,
};

int cmd_undrain(int argc, char **argv)
{
	struct request request = {0};
	int status = cli_command_read(&undrain_command, argc, argv, &request);

	if (status < 0 && request.all != (optind == argc))
		status = cli_command_misused(
			&undrain_command, request.all ? "--all excludes operands"
						      : "--all or an operand is needed");
	return status < 0 ? change(&request, argv + optind, true) : status;
}
