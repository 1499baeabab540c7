/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lists failures: named ones, or every one of a kind. */
#include <portmajor/analysis/failures.h>

#include <portmajor/base/alloc.h>

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define MAX_NAMED 8 /* GUIDs in a message */

/* ---- By name ---- */

static int add_failed_port(struct pm_ports *ports, uint32_t port)
{
	if (pm_grow(&ports->list, &ports->room, ports->num + 1, sizeof(*ports->list)))
		return -ENOMEM;
	ports->list[ports->num++] = port;
	return 0;
}

static int add_ports_of(const struct pm_fabric *fabric, uint32_t node,
			struct pm_ports *ports)
{
	pm_for_each_port(i, fabric, node)
		if (fabric->ports[i].peer != PM_NONE && add_failed_port(ports, i))
			return -ENOMEM;
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
	if (plan->topology->ports[place].num == 0)
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
	return any || !plan ? PM_NONE : find_planned_lid(fabric, plan, lid);
}

/* Finds a node by ibnetdiscover's kind of name, S-, H- or R- and the GUID; or PM_NONE. */
static uint32_t find_guid_name(const struct pm_fabric *fabric, const char *text)
{
	uint64_t value;

	return strchr("SHR", text[0]) && text[0] && text[1] == '-' &&
			       strlen(text) == 2 + 16 &&
			       parse_number(text + 2, 16, &value)
		       ? find_guid(fabric, value)
		       : PM_NONE;
}

/* Finds a node by GUID or LID, or PM_NONE. */
static uint32_t find_number(const struct pm_fabric *fabric, const struct pm_plan *plan,
			    const char *text)
{
	uint64_t value;

	if (!strncasecmp(text, "0x", 2))
		return parse_number(text, 16, &value) ? find_guid(fabric, value)
						      : PM_NONE;
	if (text[0] && text[1] == '-')
		return find_guid_name(fabric, text);
	if (!strncasecmp(text, "lid:", 4))
		text += 4;
	return parse_number(text, 10, &value) ? find_lid(fabric, plan, value) : PM_NONE;
}

/* Adds the switches of a chassis: "s0" for s0-line0 and s0-fab0. */
static int add_chassis(const struct pm_fabric *fabric, const char *text,
		       struct pm_ports *nodes)
{
	size_t length = strlen(text);

	for (uint32_t i = 0; i < fabric->num_switches && length; i++) {
		const char *name = pm_fabric_name(fabric, i);

		if (!strncmp(name, text, length) && name[length] == '-' &&
		    add_failed_port(nodes, i))
			return -ENOMEM;
	}
	return 0;
}

/* Finds all nodes with exactly this name. */
static int find_exactly(const struct pm_fabric *fabric, const char *text,
			struct pm_ports *nodes)
{
	for (uint32_t i = 0; i < fabric->num_nodes; i++)
		if (!strcmp(pm_fabric_name(fabric, i), text) && add_failed_port(nodes, i))
			return -ENOMEM;
	return 0;
}

/*
 * Finds all nodes with exactly this name. If there are none: the node with this label; or
 * nodes that match the pattern, have the number, or are in the chassis.
 */
static int find_nodes(const struct pm_fabric *fabric, const struct pm_plan *plan,
		      const char *text, struct pm_ports *nodes)
{
	uint32_t node;

	if (find_exactly(fabric, text, nodes))
		return -ENOMEM;
	if (nodes->num)
		return 0;
	node = pm_fabric_find_label(fabric, text);
	if (node != PM_NONE)
		return add_failed_port(nodes, node);
	for (uint32_t i = 0; i < fabric->num_nodes; i++)
		if (!fnmatch(text, pm_fabric_name(fabric, i), 0) &&
		    add_failed_port(nodes, i))
			return -ENOMEM;
	if (nodes->num)
		return 0;
	node = find_number(fabric, plan, text);
	return node == PM_NONE ? add_chassis(fabric, text, nodes)
			       : add_failed_port(nodes, node);
}

/* The text behind this node's name or label; NULL if it does not begin with either. */
static const char *skip_node(const struct pm_fabric *fabric, uint32_t node,
			     const char *text)
{
	const char *name = pm_fabric_name(fabric, node);
	const char *before = *name ? " (0x" : "0x", *behind = *name ? ")" : "";
	size_t length = strlen(name), skipped = strlen(before);
	char *end;

	if (strncmp(text, name, length) != 0)
		return NULL;
	text += length;
	if (*text == '[')
		return text;
	if (strncmp(text, before, skipped) != 0 ||
	    strtoull(text + skipped, &end, 16) != fabric->nodes[node].guid ||
	    strncmp(end, behind, strlen(behind)) != 0)
		return NULL;
	return end + strlen(behind);
}

/* Whether a text begins with NAME[PORT] of this port; *rest: the text behind it. */
static bool begins_with_port(const struct pm_fabric *fabric, uint32_t port,
			     const char *text, const char **rest)
{
	uint64_t number = 0;

	text = skip_node(fabric, fabric->ports[port].node, text);
	if (!text || *text != '[')
		return false;
	for (text++; *text >= '0' && *text <= '9' && number <= PM_MAX_PORTS;)
		number = number * 10 + (uint64_t)(*text++ - '0');
	*rest = text + 1;
	return *text == ']' && number == fabric->ports[port].num;
}

/*
 * Adds links by printed name, NAME[PORT] or NAME[PORT]-NAME[PORT]. Of several nodes with
 * one name only those with such a link count.
 */
static int find_links(const struct pm_fabric *fabric, const char *text,
		      struct pm_ports *ports)
{
	const char *rest;

	if (!*text || text[strlen(text) - 1] != ']')
		return 0;
	for (uint32_t port = 0; port < fabric->num_ports; port++) {
		uint32_t peer = fabric->ports[port].peer;

		if (peer == PM_NONE || !begins_with_port(fabric, port, text, &rest))
			continue;
		if (*rest == '-' &&
		    (!begins_with_port(fabric, peer, rest + 1, &rest) || *rest))
			continue;
		if (!*rest && add_failed_port(ports, port))
			return -ENOMEM;
	}
	return 0;
}

/* Finds the port behind a name, as :PORT or [PORT]; or NULL. */
static const char *find_port_text(const char *text)
{
	const char *colon = strrchr(text, ':'), *bracket = strrchr(text, '[');
	size_t length = strlen(text);

	if (length && text[length - 1] == ']')
		return bracket;
	return colon;
}

/* The number in ":17" or "[17]". */
static bool parse_port_number(const char *text, uint64_t *port)
{
	size_t length = strlen(text) - (*text == '[') - 1;
	char number[8];

	if (length >= sizeof(number))
		return false;
	memcpy(number, text + 1, length);
	number[length] = '\0';
	return parse_number(number, 0, port) && *port && *port <= PM_MAX_PORTS;
}

/* Finds the nodes that a text names, and the port number behind them; 0: no number. */
static int find_things(const struct pm_fabric *fabric, const struct pm_plan *plan,
		       const char *what, const char *text, struct pm_ports *nodes,
		       uint64_t *port, struct pm_error *err)
{
	const char *behind = find_port_text(text);
	char *name;
	int rc = find_nodes(fabric, plan, text, nodes);

	*port = 0;
	if (rc)
		return pm_error_no_memory(err);
	if (nodes->num)
		return 0;
	if (!behind)
		return pm_error_set(err, -EINVAL, "%s: no node is named \"%s\"", what,
				    text);
	if (!parse_port_number(behind, port))
		return pm_error_set(err, -EINVAL, "%s %s: no such node, port or cable",
				    what, text);
	name = strndup(text, (size_t)(behind - text));
	if (!name || find_nodes(fabric, plan, name, nodes))
		rc = pm_error_no_memory(err);
	else if (!nodes->num && *behind == '[')
		rc = pm_error_set(err, -EINVAL, "%s: no node or cable is named \"%s\"",
				  what, text);
	else if (!nodes->num)
		rc = pm_error_set(err, -EINVAL, "%s: no node is named \"%s\"", what,
				  name);
	free(name);
	return rc;
}

/*
 * Reports why a port has no cable. A plan's own fabric has places of hosts that were
 * there at some time, but no hosts.
 */
static int fail_no_cable(const struct pm_fabric *fabric, const struct pm_plan *plan,
			 const char *what, uint32_t node, uint32_t num,
			 struct pm_error *err)
{
	const struct pm_node *n = &fabric->nodes[node];

	if (plan && fabric == plan->topology && num <= n->num_ports &&
	    plan->lid[n->first_port + num])
		return pm_error_set(
			err, -EINVAL,
			"%s: port %u of %s is a host's or free, and no link between "
			"switches",
			what, num, pm_fabric_label(fabric, node));
	return pm_error_set(err, -EINVAL, "%s: \"%s\" has no cable at port %u", what,
			    pm_fabric_label(fabric, node), num);
}

/* Adds one port of each node. */
static int add_ports(const struct pm_fabric *fabric, const struct pm_plan *plan,
		     const char *what, const struct pm_ports *nodes, uint64_t port,
		     struct pm_ports *ports, struct pm_error *err)
{
	for (uint32_t i = 0; i < nodes->num; i++) {
		const struct pm_node *n = &fabric->nodes[nodes->list[i]];
		uint32_t at = n->first_port + (uint32_t)port;

		if (port && (port > n->num_ports || fabric->ports[at].peer == PM_NONE))
			return fail_no_cable(fabric, plan, what, nodes->list[i],
					     (uint32_t)port, err);
		if (add_failed_port(ports, at))
			return pm_error_no_memory(err);
	}
	return 0;
}

int pm_failures_find(const struct pm_fabric *fabric, const struct pm_plan *plan,
		     const char *what, const char *text, struct pm_ports *ports,
		     struct pm_error *err)
{
	struct pm_ports nodes = {0};
	uint32_t before = ports->num;
	uint64_t port;
	int rc = 0;

	/* A node's name precedes all other readings. */
	if (pm_fabric_find_name(fabric, text) == PM_NONE &&
	    find_links(fabric, text, ports))
		rc = pm_error_no_memory(err);
	if (!rc && ports->num > before)
		return 0;
	if (!rc)
		rc = find_things(fabric, plan, what, text, &nodes, &port, err);
	if (!rc)
		rc = add_ports(fabric, plan, what, &nodes, port, ports, err);
	if (rc)
		ports->num = before;
	free(nodes.list);
	return rc;
}

bool pm_failures_is_name(const struct pm_fabric *fabric, uint32_t thing, const char *text)
{
	const char *name = pm_fabric_name(fabric, fabric->ports[thing].node);
	size_t length = strlen(name);

	return !strncmp(text, name, length) && strchr(":[", text[length]);
}

/* Reports that a text names several nodes, with their GUIDs. */
static int fail_several(const struct pm_fabric *fabric, const char *what,
			const char *text, const struct pm_ports *nodes,
			struct pm_error *err)
{
	char guids[MAX_NAMED * 20 + 8];
	size_t used = 0;

	for (uint32_t i = 0; i < nodes->num && i < MAX_NAMED; i++)
		used += (size_t)snprintf(guids + used, sizeof(guids) - used,
					 "%s0x%016" PRIx64, i ? ", " : "",
					 fabric->nodes[nodes->list[i]].guid);
	return pm_error_set(err, -EINVAL,
			    "%s: %u nodes are named \"%s\": give the GUID of one (%s%s)",
			    what, nodes->num, text, guids,
			    nodes->num > MAX_NAMED ? ", .." : "");
}

int pm_failures_find_node(const struct pm_fabric *fabric, const struct pm_plan *plan,
			  const char *what, const char *text, uint32_t *node,
			  struct pm_error *err)
{
	struct pm_ports nodes = {0};
	int rc = find_nodes(fabric, plan, text, &nodes);

	if (rc)
		pm_error_no_memory(err);
	else if (!nodes.num)
		rc = pm_error_set(err, -EINVAL, "%s: no node is named \"%s\"", what,
				  text);
	else if (nodes.num > 1)
		rc = fail_several(fabric, what, text, &nodes, err);
	else
		*node = nodes.list[0];
	free(nodes.list);
	return rc;
}

int pm_failures_add(const struct pm_fabric *fabric, const struct pm_plan *plan,
		    const char *what, const char *text, struct pm_ports *ports,
		    struct pm_error *err)
{
	struct pm_ports things = {0};
	uint32_t before = ports->num;
	int rc = pm_failures_find(fabric, plan, what, text, &things, err);

	for (uint32_t i = 0; i < things.num && !rc; i++) {
		const struct pm_port *port = &fabric->ports[things.list[i]];

		if (port->num ? add_failed_port(ports, things.list[i])
			      : add_ports_of(fabric, port->node, ports))
			rc = pm_error_no_memory(err);
	}
	if (rc)
		ports->num = before;
	free(things.list);
	return rc;
}

/* ---- All of a kind ---- */

static const char *const kind_names[PM_FAILURE_KINDS] = {"links", "switches", "leaves",
							 "spines", "hosts"};

const char *pm_failure_kind_name(enum pm_failure_kind kind)
{
	return kind_names[kind];
}

int pm_failure_kind_parse(const char *name, enum pm_failure_kind *kind)
{
	for (unsigned int k = 0; k < PM_FAILURE_KINDS; k++)
		if (!strcmp(name, kind_names[k])) {
			*kind = (enum pm_failure_kind)k;
			return 0;
		}
	return -EINVAL;
}

static bool is_node_of(const struct pm_fabric *fabric, const struct pm_tree *tree,
		       enum pm_failure_kind kind, uint32_t node)
{
	if (kind == PM_FAIL_HOSTS || node >= fabric->num_switches)
		return kind == PM_FAIL_HOSTS && node >= fabric->num_switches;
	if (kind == PM_FAIL_LEAVES)
		return pm_tree_is_leaf(tree, node);
	if (kind == PM_FAIL_SPINES)
		return tree->level[node] == tree->top_level;
	return kind == PM_FAIL_SWITCHES;
}

static int list_nodes(const struct pm_fabric *fabric, const struct pm_tree *tree,
		      enum pm_failure_kind kind, struct pm_ports *list)
{
	for (uint32_t i = 0; i < fabric->num_nodes; i++)
		if (is_node_of(fabric, tree, kind, i) && add_failed_port(list, i))
			return -ENOMEM;
	return 0;
}

static int list_links(const struct pm_fabric *fabric, struct pm_ports *list)
{
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		uint32_t peer = fabric->ports[i].peer;

		if (peer == PM_NONE || peer < i ||
		    fabric->ports[peer].node >= fabric->num_switches ||
		    fabric->ports[i].node >= fabric->num_switches)
			continue;
		if (add_failed_port(list, i))
			return -ENOMEM;
	}
	return 0;
}

int pm_failures_list(const struct pm_fabric *fabric, const struct pm_tree *tree,
		     enum pm_failure_kind kind, bool pairs, struct pm_failures *failures,
		     struct pm_error *err)
{
	struct pm_ports list = {0};
	uint64_t n;
	int rc = kind == PM_FAIL_LINKS ? list_links(fabric, &list)
				       : list_nodes(fabric, tree, kind, &list);

	if (rc) {
		free(list.list);
		return pm_error_no_memory(err);
	}
	n = list.num;
	*failures = (struct pm_failures){.fabric = fabric,
					 .kind = kind,
					 .pairs = pairs,
					 .element = list.list,
					 .num_elements = list.num,
					 .count = !pairs ? n
						  : n	 ? n * (n - 1) / 2
							 : 0};
	return 0;
}

void pm_failures_free(struct pm_failures *failures)
{
	free(failures->element);
	failures->element = NULL;
}

/* Pair number k has the largest j with j (j - 1) / 2 <= k. */
uint32_t pm_failures_elements(const struct pm_failures *failures, uint64_t number,
			      uint32_t element[2])
{
	uint64_t j;

	if (!failures->pairs) {
		element[0] = failures->element[number];
		return 1;
	}
	j = (uint64_t)((1 + sqrt(1 + 8 * (double)number)) / 2);
	while (j * (j - 1) / 2 > number)
		j--;
	while (j * (j + 1) / 2 <= number)
		j++;
	element[0] = failures->element[number - j * (j - 1) / 2];
	element[1] = failures->element[j];
	return 2;
}

int pm_failures_ports(const struct pm_failures *failures, uint64_t number,
		      struct pm_ports *ports)
{
	uint32_t element[2], num = pm_failures_elements(failures, number, element);
	int rc = 0;

	for (uint32_t i = 0; i < num && !rc; i++)
		rc = failures->kind == PM_FAIL_LINKS
			     ? add_failed_port(ports, element[i])
			     : add_ports_of(failures->fabric, element[i], ports);
	return rc;
}
