/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the failures that options name, and describes them in JSON. */
#include "failure_options.h"

#include "json.h"
#include "output.h"
#include "text.h"

#include <portmajor/memory/xalloc.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cli_take_failed(const struct cli_option *option, char *argument, void *to)
{
	struct cli_failed *failed = to;

	(void)option;
	failed->list[failed->num++] = argument;
	return EXIT_FINE;
}

json_t *cli_failed_json(const struct cli_failed *failed)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < failed->num; i++)
		list = pm_json_append(list, pm_json_text(failed->list[i]));
	return list;
}

int cli_failures_find(const struct pm_fabric *fabric, const struct pm_plan *plan,
		      const char *what, const char *text, struct pm_ports *ports)
{
	struct pm_error err;
	int rc = pm_failures_find(fabric, plan, what, text, ports, &err);

	return rc ? cli_fail(rc == -EINVAL ? EXIT_USAGE : EXIT_INPUT, "%s", err.text)
		  : EXIT_FINE;
}

/* The noun for these parts, after a number. */
static const char *kind_of(const struct pm_fabric *fabric, const struct pm_ports *things)
{
	uint32_t switches = 0;

	if (fabric->ports[things->list[0]].num)
		return "cables";
	for (uint32_t i = 0; i < things->num; i++)
		switches += fabric->ports[things->list[i]].node < fabric->num_switches;
	return switches == things->num ? "switches" : switches ? "nodes" : "hosts";
}

void cli_failures_print(const struct pm_fabric *fabric, const char *what,
			const char *text, const struct pm_ports *things)
{
	struct cli_names names = {0};

	if (things->num < 2)
		return;
	for (uint32_t i = 0; i < things->num; i++) {
		const struct pm_port *port = &fabric->ports[things->list[i]];

		cli_names_add(&names, pm_fabric_label(fabric, port->node), port->num);
	}
	cli_note("%s: \"%s\" matches %u %s: %s", what, text, names.num,
		 kind_of(fabric, things), names.text);
}

void cli_failed_print(const struct pm_fabric *fabric, const struct pm_plan *plan,
		      const struct cli_failed *failed)
{
	for (uint32_t i = 0; i < failed->num; i++) {
		struct pm_ports things = {0};

		int rc = pm_failures_find(fabric, plan, "--fail", failed->list[i],
					  &things, NULL);

		if (rc == -ENOMEM)
			pm_no_memory();
		if (!rc)
			cli_failures_print(fabric, "--fail", failed->list[i], &things);
		free(things.list);
	}
}

int cli_failures_add(const struct pm_fabric *fabric, const struct pm_plan *plan,
		     const struct cli_failed *failed, struct pm_ports *ports)
{
	struct pm_error err;
	int rc = 0;

	for (uint32_t i = 0; i < failed->num && !rc; i++)
		rc = pm_failures_add(fabric, plan, "--fail", failed->list[i], ports,
				     &err);
	return rc ? cli_fail(rc == -EINVAL ? EXIT_USAGE : EXIT_INPUT, "%s", err.text)
		  : EXIT_FINE;
}

int cli_failures_cut(const struct pm_fabric *fabric, const struct pm_plan *plan,
		     const struct cli_failed *failed, struct pm_fabric **broken)
{
	struct pm_ports ports = {0};
	int status = cli_failures_add(fabric, plan, failed, &ports);

	*broken = status ? NULL : pm_fabric_clone(fabric);
	if (!status && !*broken)
		pm_no_memory();
	for (uint32_t i = 0; i < ports.num && !status; i++)
		pm_fabric_cut(*broken, ports.list[i]);
	free(ports.list);
	return status;
}

/* An object with a name and, if it differs, a label. */
static json_t *name_json(const char *name, const char *label)
{
	json_t *object = json_pack("{s:o}", "name", pm_json_text(name));

	if (strcmp(name, label) != 0)
		json_object_set_new(object, "label", pm_json_text(label));
	return object;
}

typedef const char *name_of(const struct pm_fabric *fabric, uint32_t node);

/* "leaf5[20]-s1-line0[6]"; the caller frees it. */
static char *name_link(const struct pm_fabric *fabric, uint32_t port, name_of *name)
{
	const struct pm_port *a = &fabric->ports[port], *b = &fabric->ports[a->peer];

	return cli_text_make("%s[%u]-%s[%u]", name(fabric, a->node), a->num,
			     name(fabric, b->node), b->num);
}

json_t *cli_link_json(const struct pm_fabric *fabric, uint32_t port)
{
	const struct pm_port *a = &fabric->ports[port], *b = &fabric->ports[a->peer];
	char *name = name_link(fabric, port, pm_fabric_name);
	char *label = name_link(fabric, port, pm_fabric_label);
	json_t *object = cli_json_join(
		name_json(name, label),
		json_pack("{s:o, s:i, s:o, s:i}", "guid",
			  pm_json_guid(fabric->nodes[a->node].guid), "port", a->num,
			  "peer_guid", pm_json_guid(fabric->nodes[b->node].guid),
			  "peer_port", b->num));

	free(label);
	free(name);
	return object;
}

json_t *cli_node_json(const struct pm_fabric *fabric, uint32_t node)
{
	return cli_json_join(
		name_json(pm_fabric_name(fabric, node), pm_fabric_label(fabric, node)),
		json_pack("{s:o}", "guid", pm_json_guid(fabric->nodes[node].guid)));
}

/* Describes the nodes and cables at these ports, as pm_failures_find gives them. */
static json_t *things_json(const struct pm_fabric *fabric, const struct pm_ports *things)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < things->num; i++) {
		const struct pm_port *port = &fabric->ports[things->list[i]];

		list = pm_json_append(list,
				      port->num ? cli_link_json(fabric, things->list[i])
						: cli_node_json(fabric, port->node));
	}
	return list;
}

int cli_took_json(const struct pm_fabric *fabric, const struct pm_plan *plan,
		  const struct cli_failed *failed, json_t **took)
{
	struct pm_ports things = {0};
	int status = EXIT_FINE;

	for (uint32_t i = 0; i < failed->num && !status; i++)
		status = cli_failures_find(fabric, plan, "--fail", failed->list[i],
					   &things);
	*took = status ? NULL : things_json(fabric, &things);
	free(things.list);
	return status;
}

static void put_thing(const json_t *thing)
{
	if (json_object_get(thing, "peer_guid")) {
		fputs("cable ", stdout);
		cli_text_put(cli_json_label(thing));
	} else {
		cli_text_print(thing, "{name} ({guid})");
	}
}

void cli_took_print(const char *what, const json_t *took)
{
	printf("%s: ", what);
	cli_text_first(took, put_thing);
	putchar('\n');
}

json_t *cli_failures_json(const struct pm_failures *failures, uint64_t number)
{
	uint32_t element[2], num = pm_failures_elements(failures, number, element);
	json_t *list = json_array();

	for (uint32_t i = 0; i < num; i++)
		list = pm_json_append(
			list, failures->kind == PM_FAIL_LINKS
				      ? cli_link_json(failures->fabric, element[i])
				      : cli_node_json(failures->fabric, element[i]));
	return list;
}
