/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "losses.h"

#include "cli.h"
#include "json.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- By name ---- */

static int add_port(struct cli_ports *ports, uint32_t port)
{
	if (ports->num == ports->room) {
		uint32_t room = ports->room ? ports->room * 2 : 64;
		uint32_t *list = reallocarray(ports->list, room, sizeof(*list));

		if (!list)
			return -1;
		ports->list = list;
		ports->room = room;
	}
	ports->list[ports->num++] = port;
	return 0;
}

static int add_node(const struct pm_fabric *fabric, uint32_t node,
		    struct cli_ports *ports)
{
	const struct pm_node *n = &fabric->nodes[node];

	for (uint32_t i = n->first_port + 1; i <= n->first_port + n->num_ports; i++)
		if (fabric->ports[i].peer != PM_NONE && add_port(ports, i))
			return -1;
	return 0;
}

static bool parse_number(const char *text, int base, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, base);
	return !errno && end != text && !*end && text[0] != '-' && text[0] != '+';
}

static uint32_t find_guid(const struct pm_fabric *fabric, uint64_t guid)
{
	uint32_t node = pm_fabric_find_guid(fabric, guid);

	for (uint32_t i = 0; node == PM_NONE && guid && i < fabric->num_ports; i++)
		if (fabric->ports[i].guid == guid)
			node = fabric->ports[i].node;
	return node;
}

/* The node of the plan's place with this LID. */
static uint32_t find_planned_lid(const struct pm_fabric *fabric,
				 const struct pm_plan *plan, uint64_t lid)
{
	uint32_t place = lid <= PM_MAX_LID ? plan->owner[lid] : PM_NONE;
	uint32_t peer;

	if (place == PM_NONE)
		return PM_NONE;
	peer = fabric->ports[place].peer;
	if (plan->known->ports[place].num == 0)
		return fabric->ports[place].node;
	return peer == PM_NONE ? PM_NONE : fabric->ports[peer].node;
}

static uint32_t find_lid(const struct pm_fabric *fabric, const struct pm_plan *plan,
			 uint64_t lid)
{
	bool any = false;

	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		const struct pm_port *p = &fabric->ports[i];

		any = any || p->lid;
		if (p->lid && lid >= p->lid && lid < p->lid + (1u << p->lmc))
			return p->node;
	}
	return any ? PM_NONE : find_planned_lid(fabric, plan, lid);
}

/* A node by GUID or LID, or PM_NONE. */
static uint32_t find_number(const struct pm_fabric *fabric, const struct pm_plan *plan,
			    const char *text)
{
	uint64_t value;

	if (!strncasecmp(text, "0x", 2))
		return parse_number(text, 16, &value) ? find_guid(fabric, value)
						      : PM_NONE;
	if (!strncasecmp(text, "lid:", 4))
		text += 4;
	return parse_number(text, 10, &value) ? find_lid(fabric, plan, value) : PM_NONE;
}

/* All nodes of that very name or, if there is none, that match or have the number. */
static int find_nodes(const struct pm_fabric *fabric, const struct pm_plan *plan,
		      const char *text, struct cli_ports *nodes)
{
	uint32_t node;

	for (int exact = 1; exact >= 0 && !nodes->num; exact--)
		for (uint32_t i = 0; i < fabric->num_nodes; i++) {
			const char *name = pm_fabric_name(fabric, i);

			if ((exact ? strcmp(name, text) : fnmatch(text, name, 0)) == 0 &&
			    add_port(nodes, i))
				return -1;
		}
	node = nodes->num ? PM_NONE : find_number(fabric, plan, text);
	return node == PM_NONE ? 0 : add_port(nodes, node);
}

/* One port of each node; an exit status. */
static int add_one_port(const struct pm_fabric *fabric, const char *option,
			const struct cli_ports *nodes, unsigned long port,
			struct cli_ports *ports)
{
	for (uint32_t i = 0; i < nodes->num; i++) {
		const struct pm_node *n = &fabric->nodes[nodes->list[i]];

		if (port > n->num_ports ||
		    fabric->ports[n->first_port + port].peer == PM_NONE)
			return cli_fail(EXIT_USAGE, "%s: \"%s\" has no cable at port %lu",
					option, pm_fabric_name(fabric, nodes->list[i]),
					port);
		if (add_port(ports, n->first_port + (uint32_t)port))
			return cli_fail(EXIT_INPUT, "out of memory");
	}
	return EXIT_FINE;
}

static int add_port_zero(const struct pm_fabric *fabric, const struct cli_ports *nodes,
			 struct cli_ports *ports)
{
	for (uint32_t i = 0; i < nodes->num; i++)
		if (add_port(ports, fabric->nodes[nodes->list[i]].first_port))
			return cli_fail(EXIT_INPUT, "out of memory");
	return EXIT_FINE;
}

int cli_losses_find(const struct pm_fabric *fabric, const struct pm_plan *plan,
		    const char *option, const char *text, struct cli_ports *ports)
{
	struct cli_ports nodes = {0};
	char *copy = strdup(text), *colon = copy ? strrchr(copy, ':') : NULL;
	unsigned long port = 0;
	int status = EXIT_FINE;

	if (!copy || find_nodes(fabric, plan, text, &nodes))
		status = cli_fail(EXIT_INPUT, "out of memory");
	else if (!nodes.num && colon && !cli_number(colon + 1, 1, PM_MAX_PORTS, &port))
		status =
			cli_fail(EXIT_USAGE, "%s %s: no such node or port", option, text);
	else if (!nodes.num && colon) {
		*colon = '\0';
		if (find_nodes(fabric, plan, copy, &nodes))
			status = cli_fail(EXIT_INPUT, "out of memory");
	}
	if (!status && !nodes.num)
		status =
			cli_fail(EXIT_USAGE, "%s: no node is named \"%s\"", option, copy);
	if (!status)
		status = port ? add_one_port(fabric, option, &nodes, port, ports)
			      : add_port_zero(fabric, &nodes, ports);
	free(copy);
	free(nodes.list);
	return status;
}

int cli_losses_add(const struct pm_fabric *fabric, const struct pm_plan *plan,
		   const char *text, struct cli_ports *ports)
{
	struct cli_ports things = {0};
	int status = cli_losses_find(fabric, plan, "--lose", text, &things);

	for (uint32_t i = 0; i < things.num && !status; i++) {
		const struct pm_port *port = &fabric->ports[things.list[i]];

		if (port->num ? add_port(ports, things.list[i])
			      : add_node(fabric, port->node, ports))
			status = cli_fail(EXIT_INPUT, "out of memory");
	}
	free(things.list);
	return status;
}

/* ---- Every one of a kind ---- */

static const char *const kind_names[CLI_KINDS] = {"links", "switches", "leaves", "spines",
						  "hosts"};

const char *cli_kind_name(enum cli_kind kind)
{
	return kind_names[kind];
}

int cli_kind_parse(const char *name, enum cli_kind *kind)
{
	for (unsigned int k = 0; k < CLI_KINDS; k++)
		if (!strcmp(name, kind_names[k])) {
			*kind = (enum cli_kind)k;
			return 0;
		}
	return -1;
}

static bool is_node_of(const struct pm_fabric *fabric, const struct pm_tree *tree,
		       enum cli_kind kind, uint32_t node)
{
	if (kind == CLI_HOSTS || node >= fabric->num_switches)
		return kind == CLI_HOSTS && node >= fabric->num_switches;
	if (kind == CLI_LEAVES)
		return tree->level[node] == 0;
	if (kind == CLI_SPINES)
		return tree->level[node] == tree->top_level;
	return kind == CLI_SWITCHES;
}

static int list_nodes(const struct pm_fabric *fabric, const struct pm_tree *tree,
		      enum cli_kind kind, struct cli_ports *list)
{
	for (uint32_t i = 0; i < fabric->num_nodes; i++)
		if (is_node_of(fabric, tree, kind, i) && add_port(list, i))
			return -1;
	return 0;
}

static int list_links(const struct pm_fabric *fabric, struct cli_ports *list)
{
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		uint32_t peer = fabric->ports[i].peer;

		if (peer == PM_NONE || peer < i ||
		    fabric->ports[peer].node >= fabric->num_switches ||
		    fabric->ports[i].node >= fabric->num_switches)
			continue;
		if (add_port(list, i))
			return -1;
	}
	return 0;
}

int cli_losses_list(const struct pm_fabric *fabric, const struct pm_plan *plan,
		    enum cli_kind kind, bool pairs, struct cli_losses *losses)
{
	struct cli_ports list = {0};
	uint64_t n;
	int rc = kind == CLI_LINKS ? list_links(fabric, &list)
				   : list_nodes(fabric, &plan->tree, kind, &list);

	if (rc) {
		free(list.list);
		return cli_fail(EXIT_INPUT, "out of memory");
	}
	n = list.num;
	*losses = (struct cli_losses){.fabric = fabric,
				      .kind = kind,
				      .pairs = pairs,
				      .element = list.list,
				      .num_elements = list.num,
				      .count = !pairs ? n
					       : n    ? n * (n - 1) / 2
						      : 0};
	return EXIT_FINE;
}

void cli_losses_free(struct cli_losses *losses)
{
	free(losses->element);
	losses->element = NULL;
}

/*
 * The elements of a loss; returns how many. Pairs (i, j), i < j, go by j and then i, so
 * that pair number k has the largest j with j (j - 1) / 2 <= k.
 */
static uint32_t get_elements(const struct cli_losses *losses, uint64_t number,
			     uint32_t element[2])
{
	uint64_t j;

	if (!losses->pairs) {
		element[0] = losses->element[number];
		return 1;
	}
	j = (uint64_t)((1 + sqrt(1 + 8 * (double)number)) / 2);
	while (j * (j - 1) / 2 > number)
		j--;
	while (j * (j + 1) / 2 <= number)
		j++;
	element[0] = losses->element[number - j * (j - 1) / 2];
	element[1] = losses->element[j];
	return 2;
}

int cli_losses_ports(const struct cli_losses *losses, uint64_t number,
		     struct cli_ports *ports)
{
	uint32_t element[2], num = get_elements(losses, number, element);
	int rc = 0;

	for (uint32_t i = 0; i < num && !rc; i++)
		rc = losses->kind == CLI_LINKS
			     ? add_port(ports, element[i])
			     : add_node(losses->fabric, element[i], ports);
	return rc;
}

json_t *cli_link_json(const struct pm_fabric *fabric, uint32_t port)
{
	const struct pm_port *a = &fabric->ports[port], *b = &fabric->ports[a->peer];
	json_t *object = NULL, *string;
	char *text;

	if (asprintf(&text, "%s[%u]-%s[%u]", pm_fabric_name(fabric, a->node), a->num,
		     pm_fabric_name(fabric, b->node), b->num) < 0)
		return NULL;
	string = cli_json_string(text);
	free(text);
	if (string)
		object = json_pack("{s:o, s:o, s:i, s:o, s:i}", "name", string, "guid",
				   cli_json_guid(fabric->nodes[a->node].guid), "port",
				   a->num, "peer_guid",
				   cli_json_guid(fabric->nodes[b->node].guid),
				   "peer_port", b->num);
	return object;
}

json_t *cli_node_json(const struct pm_fabric *fabric, uint32_t node)
{
	return json_pack("{s:o, s:o}", "name",
			 cli_json_string(pm_fabric_name(fabric, node)), "guid",
			 cli_json_guid(fabric->nodes[node].guid));
}

json_t *cli_losses_json(const struct cli_losses *losses, uint64_t number)
{
	uint32_t element[2], num = get_elements(losses, number, element);
	json_t *array = json_array();

	for (uint32_t i = 0; array && i < num; i++) {
		json_t *one = losses->kind == CLI_LINKS
				      ? cli_link_json(losses->fabric, element[i])
				      : cli_node_json(losses->fabric, element[i]);

		if (json_array_append_new(array, one)) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}
