/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor preflight: checks the installation before OpenSM starts, a line per check. */
#include "commands.h"
#include "json.h"
#include "preflight.h"

#include <portmajor/analysis/change_text.h>
#include <portmajor/base/trusted.h>
#include <portmajor/fabric/apart.h>
#include <portmajor/files/config.h>
#include <portmajor/files/plan_file.h>
#include <portmajor/memory/xalloc.h>
#include <portmajor/netlist/netlist.h>
#include <portmajor/plan/guess.h>
#include <portmajor/route/route.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define DEFAULT_CONF "/etc/opensm/opensm.conf"
#define LIBRARY "libportmajor.so"
#define NAMED 4 /* unknown keys in a line */

/* Whether there is an error; being out of memory is no finding, but ends the program. */
static bool failed(int rc)
{
	if (rc == -ENOMEM)
		pm_no_memory();
	return rc != 0;
}

/* ---- OpenSM and its configuration ---- */

static void check_opensm(struct preflight *p)
{
	struct pm_error err;

	if (!p->program)
		p->program = p->found = opensm_find();
	if (!p->program)
		preflight_report(p, false, "opensm",
				 "no opensm found: install it, or name it with --opensm");
	else if (failed(opensm_version(p->program, &p->version, &err)))
		preflight_report(p, false, "opensm", "%s", err.text);
	else
		preflight_report(p, true, "opensm", "%s: %s", p->program, p->version);
}

/* Whether OpenSM reads this key, but does not write it to its configuration. */
static bool is_silent_key(const char *key)
{
	return !strcmp(key, "dimn_ports_file");
}

static void check_keys(struct preflight *p)
{
	const struct pm_opensm_conf *known = &p->defaults;
	struct pm_error err;
	unsigned int unknown = 0;

	if (!p->version)
		return;
	if (failed(opensm_defaults(p->program, &p->defaults, &err))) {
		preflight_report(p, false, "keys", "%s", err.text);
		return;
	}
	for (size_t i = 0; i < p->conf.count; i++) {
		const struct pm_opensm_conf_item *item = &p->conf.items[i];

		if (pm_opensm_conf_find(known, item->key) || is_silent_key(item->key))
			continue;
		if (unknown++ < NAMED)
			preflight_report(
				p, false, "keys",
				"%s:%u: OpenSM knows no key \"%s\" and would ignore it",
				p->conf_path, item->line, item->key);
	}
	if (unknown > NAMED)
		preflight_report(p, false, "keys", "%s: and %u more", p->conf_path,
				 unknown - NAMED);
	if (!unknown)
		preflight_report(p, true, "keys", "OpenSM knows all %zu keys of %s",
				 p->conf.count, p->conf_path);
}

static void check_lmc(struct preflight *p)
{
	const char *value = pm_opensm_conf_value(&p->conf, "lmc");
	const char *esp0 = pm_opensm_conf_value(&p->conf, "lmc_esp0");
	unsigned long lmc = 0;

	if (value && !cli_number(value, 0, PM_MAX_LMC, &lmc))
		preflight_report(p, false, "lmc", "%s: portmajor routes with 0 to %d",
				 value, PM_MAX_LMC);
	else if (lmc && esp0 && !strcmp(esp0, "TRUE"))
		preflight_report(
			p, false, "lmc",
			"lmc_esp0 TRUE with lmc %lu: portmajor declines that; set it to "
			"FALSE",
			lmc);
	else
		preflight_report(p, true, "lmc", "%lu", lmc);
	p->lmc = (uint8_t)lmc;
}

/* Checks that the folder of the metrics' file exists. */
static void check_prometheus(struct preflight *p, const char *path)
{
	char *folder = strdup(path), *slash;

	if (!folder)
		pm_no_memory();
	slash = strrchr(folder, '/');
	if (*folder && access(folder, F_OK)) {
		slash[slash == folder] = '\0';
		if (access(folder, F_OK))
			preflight_report(p, false, "prometheus", "%s: no folder %s", path,
					 folder);
	}
	free(folder);
}

static void check_options(struct preflight *p)
{
	const char *path = pm_opensm_conf_value(&p->conf, "event_plugin_options");
	struct pm_config config;
	struct pm_error err;

	pm_config_init(&config);
	if (!path)
		preflight_report(p, true, "configuration",
				 "defaults (no event_plugin_options)");
	else if (failed(pm_config_read_trusted(path, &config, &err)))
		preflight_report(p, false, "configuration",
				 config.shadow
					 ? "%s (all keys but shadow would have their "
					   "defaults)"
					 : "%s (portmajor would decline to route, and "
					   "the next engine route)",
				 err.text);
	else if (config.shadow && !preflight_has_next_engine(p))
		preflight_report(
			p, false, "configuration",
			"%s: shadow mode, and no other engine to route: name the one that "
			""
			""
			"the fabric runs with behind portmajor in routing_engine",
			path);
	else
		preflight_report(p, true, "configuration", "%s%s", path,
				 config.shadow ? ": shadow mode, the next engine routes"
					       : "");
	p->plugin_conf = path && !pm_config_read(path, &config, &err) ? path : NULL;
	p->shadow = config.shadow;
	check_prometheus(p, config.prometheus);
	p->plan.order = config.lid_order;
	p->plan.lmc = p->lmc;
}

/* Checks that OpenSM's service reads this file, and starts. */
static void check_service(struct preflight *p)
{
	const struct preflight_service *service = &p->service;
	const char *conf = service->conf ? service->conf : DEFAULT_CONF;
	bool same = !strcmp(p->conf_path, conf);

	preflight_report(p, true, "service", "reads %s%s%s%s%s", conf,
			 service->named_by ? ", as named in " : "",
			 service->named_by ? service->named_by : "", same ? "" : ", not ",
			 same ? "" : p->conf_path);
	if (service->disabled && !p->shadow)
		preflight_report(
			p, false, "service",
			"starts no subnet manager: " PREFLIGHT_DEFAULTS
			" has PORTS=NONE; set it back to ALL, or to the GUIDs of "
			"this machine's ports");
	preflight_check_rotation(p);
}

static void check_conf(struct preflight *p)
{
	struct pm_error err;

	if (failed(pm_opensm_conf_read(p->conf_path, &p->conf, &err))) {
		preflight_report(p, false, "opensm.conf", "%s", err.text);
		return;
	}
	check_keys(p);
	preflight_check_plugin_name(p);
	preflight_check_engines(p);
	check_lmc(p);
	preflight_check_values(p);
	check_options(p);
}

/* ---- The library ---- */

static void check_version(struct preflight *p, const char *path)
{
	struct pm_error err;
	char *built_for;

	if (failed(opensm_built_for(path, &built_for, &err)))
		preflight_report(p, false, "version", "%s", err.text);
	else {
		bool same = !strcmp(built_for, p->version);

		preflight_report(p, same, "version", "built for %s%s%s", built_for,
				 same ? "" : ", but installed is ",
				 same ? "" : p->version);
		free(built_for);
	}
}

static void check_library(struct preflight *p)
{
	struct opensm_library library;
	struct pm_error err;

	if (!p->version)
		return;
	if (failed(opensm_trace(p->program, LIBRARY, &library, &err))) {
		preflight_report(p, false, "library", "%s", err.text);
		return;
	}
	if (!library.path)
		preflight_report(p, false, "library",
				 LIBRARY
				 " cannot be loaded (%s): install it in a folder of the "
				 "dynamic linker and run ldconfig",
				 library.reason ? library.reason : "?");
	else if (library.missing)
		preflight_report(p, false, "library",
				 "%s needs %s, which is not installed", library.path,
				 library.missing);
	else if (library.symbol)
		preflight_report(p, false, "library",
				 "%s needs %s, which this opensm does not have",
				 library.path, library.symbol);
	else
		preflight_report(p, true, "library", "%s", library.path);
	if (library.path)
		check_version(p, library.path);
	opensm_library_free(&library);
}

/* ---- The plan and the fabric ---- */

/* Reads the plan; NULL if the file is bad. */
static struct pm_plan *check_plan(struct preflight *p, const char *path)
{
	struct pm_plan *plan = NULL;
	struct pm_error err;

	if (failed(pm_trusted_file(path, NULL, &err)) ||
	    failed(pm_plan_file_read(path, &plan, &err)))
		preflight_report(
			p, false, "plan file",
			"%s (it would not be used, and the plan be made anew: LIDs stay, "
			"entries may change; restore a copy if you have one)",
			err.text);
	else if (plan->lmc != p->lmc)
		preflight_report(p, false, "plan file",
				 "%s: made for LMC %u, not %u, and would not be used",
				 path, plan->lmc, p->lmc);
	else
		preflight_report(p, true, "plan file",
				 "%s: lid_order %s, switches %u, LIDs up to %u", path,
				 pm_lid_order_name(plan->order),
				 plan->topology->num_switches, plan->top_lid);
	return plan;
}

static void check_plans(struct preflight *p)
{
	char *wanted;

	cache_find("plan", &p->files, &wanted);
	p->stored = pm_xarray(p->files.count + 1, sizeof(struct pm_plan *));
	if (!p->files.count)
		preflight_report(p, true, "plan file",
				 "%s: none yet; the first run makes it", wanted);
	for (size_t i = 0; i < p->files.count; i++)
		p->stored[i] = check_plan(p, p->files.path[i]);
	free(wanted);
}

static void free_plans(struct preflight *p)
{
	for (size_t i = 0; p->stored && i < p->files.count; i++)
		pm_plan_free(p->stored[i]);
	free(p->stored);
	cache_paths_free(&p->files);
}

/* Reports which plan fits this fabric. */
static void check_fit(struct preflight *p, const struct pm_fabric *fabric)
{
	size_t plans = 0;

	for (size_t i = 0; p->stored && i < p->files.count; i++) {
		if (p->stored[i] && pm_plan_fits(p->stored[i], fabric)) {
			preflight_report(p, true, "plan and fabric",
					 "%s is one for this fabric", p->files.path[i]);
			return;
		}
		plans += p->stored[i] != NULL;
	}
	if (plans)
		preflight_report(
			p, false, "plan and fabric",
			"%s: another fabric's: the plan would be made anew; restore a "
			"copy "
			"of this fabric's if you have one",
			plans > 1 ? "all plan files" : "the plan file");
}

static int read_fabric(struct preflight *p, struct pm_fabric **fabric)
{
	struct cli_fabric config = {
		.files = {.roots = pm_opensm_conf_value(&p->conf, "root_guid_file"),
			  .compute = pm_opensm_conf_value(&p->conf, "cn_guid_file"),
			  .io = pm_opensm_conf_value(&p->conf, "io_guid_file")},
		.config = p->plugin_conf,
	};

	return cli_fabric_read(p->netlist, &config, fabric);
}

/* Reports pairs of end ports that the plan's tables would not join. */
static void check_paths(struct preflight *p, const struct pm_plan *plan,
			const struct pm_fabric *fabric)
{
	const char *connect = pm_opensm_conf_value(&p->conf, "connect_roots");
	struct pm_unreachable unreachable = {0};
	struct pm_routes *routes = NULL;
	struct pm_apart apart = {0};
	char text[PM_CHANGE_TEXT];
	struct pm_error err;
	int rc;

	rc = pm_routes_make_for(plan, fabric, PM_NONE,
				connect && !strcasecmp(connect, "TRUE"), &routes, &err);
	if (!rc)
		rc = pm_routes_unreachable(routes, &unreachable, &err);
	if (!rc)
		rc = pm_apart_find(fabric, &apart, &err);
	if (failed(rc))
		preflight_report(p, false, "paths", "%s", err.text);
	else if (pm_change_unreachable(plan, &unreachable, text, sizeof(text)))
		preflight_report(p, !pm_change_paths_cut(&unreachable), "paths", "%s",
				 text);
	if (pm_apart_describe(fabric, &apart, text, sizeof(text)))
		preflight_report(p, false, "paths", "%s", text);
	pm_routes_free(routes);
}

/* Checks the fabric. An unreadable netlist is an error, not a finding. */
static int check_fabric(struct preflight *p)
{
	struct pm_fabric *fabric = NULL;
	struct pm_plan *plan = NULL;
	char guess[PM_GUESS_TEXT];
	struct pm_error err;
	int status;

	if (!p->netlist)
		return EXIT_FINE;
	status = read_fabric(p, &fabric);
	if (status != EXIT_FINE)
		return status;
	if (failed(pm_plan_make(fabric, &p->plan, &plan, &err)))
		preflight_report(p, false, "fabric", "%s: %s", p->netlist, err.text);
	else
		preflight_report(p, true, "fabric",
				 "switches %u, leaves %u, levels 0 to %u, LIDs up to %u",
				 plan->tree.num_switches, plan->tree.num_leaves,
				 plan->tree.top_level, plan->top_lid);
	if (plan && pm_guess_describe(plan, fabric, guess, sizeof(guess)))
		preflight_report(p, true, "roles", "%s", guess);
	if (plan)
		check_paths(p, plan, fabric);
	check_fit(p, fabric);
	pm_plan_free(plan);
	pm_fabric_free(fabric);
	return status;
}

/* ---- The command ---- */

static int print_json(struct preflight *p)
{
	json_t *object = cli_json_new("preflight", 1);

	json_object_set_new(object, "findings", json_integer(p->findings));
	json_object_set(object, "checks", p->checks);
	return cli_json_print(object);
}

static int check_all(struct preflight *p)
{
	int status;

	preflight_find_service(&p->service);
	if (!p->conf_path)
		p->conf_path = p->service.conf ? p->service.conf : DEFAULT_CONF;
	check_opensm(p);
	check_conf(p);
	check_service(p);
	check_library(p);
	check_plans(p);
	status = check_fabric(p);
	if (status == EXIT_FINE && p->checks)
		status = print_json(p);
	return status == EXIT_FINE && p->findings ? EXIT_FINDINGS : status;
}

static const struct cli_option options[] = {
	{'F', NULL, "FILE",
	 "The opensm.conf to check. Default: the one that systemd's units name, "
	 "else " DEFAULT_CONF ".",
	 CLI_MEMBER(struct preflight, conf_path)},
	{'n', NULL, "NETLIST",
	 "Also check whether this fabric is supported and whether its plan gives "
	 "end ports paths, and print the plan.",
	 CLI_MEMBER(struct preflight, netlist)},
	{0, "opensm", "FILE", "The opensm to check. Default: that in $PATH or /usr/sbin.",
	 CLI_MEMBER(struct preflight, program)},
	CLI_OUTPUT(struct preflight, output, "Print findings only.",
		   "Print one JSON object (docs/json.md)."),
	{0},
};

static const struct cli_command command = {
	.synopsis = "preflight [OPTION]...",
	.about = "Check an OpenSM configuration before it is used: opensm.conf, and the "
		 "plugin's library, configuration and plan files. Nothing is sent to the "
		 "fabric. Print a line for each check: ok, or the remedy. Exit status 1 "
		 "if a check fails.",
	.options = options,
};

int cmd_preflight(int argc, char **argv)
{
	struct preflight p = {0};
	int status = cli_command_read(&command, argc, argv, &p);

	if (status >= 0)
		return status;
	if (p.output.json)
		p.checks = json_array();
	status = check_all(&p);
	free(p.found);
	free(p.version);
	pm_opensm_conf_free(&p.conf);
	pm_opensm_conf_free(&p.defaults);
	preflight_service_free(&p.service);
	free_plans(&p);
	json_decref(p.checks);
	return status;
}
