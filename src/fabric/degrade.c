/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Removes switches, hosts and links at random, and writes the rest as a netlist. */
#include <portmajor/base/alloc.h>
#include <portmajor/base/escape.h>
#include <portmajor/base/random.h>
#include <portmajor/fabric/degrade.h>
#include <portmajor/fabric/link.h>

#include <errno.h>
#include <inttypes.h>

#define WHOLE 100000 /* 100% in thousandths of a percent */

/* ---- What is requested ---- */

/* Reads "5", "3%" or "0.25%" up to a comma or the end; *at goes behind it. */
static bool take_share(const char **at, struct pm_share *share)
{
	uint64_t number = 0, scale = WHOLE / 100;
	bool point = false, digits = false;

	for (;; (*at)++) {
		if (**at == '.' && !point) {
			point = true;
		} else if (**at >= '0' && **at <= '9' && scale > 1) {
			number = number * 10 + (uint64_t)(**at - '0');
			scale /= point ? 10 : 1;
			digits = true;
		} else {
			break;
		}
		if (number > UINT32_MAX)
			return false;
	}
	share->percent = **at == '%';
	*at += share->percent;
	if (!digits || (point && !share->percent) || (**at && **at != ','))
		return false;
	if (share->percent && number * scale > WHOLE)
		return false;
	share->number = (uint32_t)(share->percent ? number * scale : number);
	return true;
}

int pm_degrade_parse(const char *text, struct pm_degrade *degrade, struct pm_error *err)
{
	static const char *const names[] = {"links=", "switches=", "hosts="};
	struct pm_share share[3] = {{0, false}, {0, false}, {0, false}};
	bool given[3] = {false, false, false};
	const char *at = text;

	for (;;) {
		size_t i = 0;

		while (i < 3 && strncmp(at, names[i], strlen(names[i])))
			i++;
		if (i == 3 || given[i])
			return pm_error_set(
				err, -EINVAL,
				"\"%s\" is not links=, switches= or hosts=, each once",
				at);
		given[i] = true;
		at += strlen(names[i]);
		if (!take_share(&at, &share[i]))
			return pm_error_set(
				err, -EINVAL,
				"%s is followed by a number, or by 0%% to 100%%",
				names[i]);
		if (!*at)
			break;
		at++;
	}
	degrade->links = share[0];
	degrade->switches = share[1];
	degrade->hosts = share[2];
	return 0;
}

/* ---- Losing it ---- */

static void cut_node(struct pm_fabric *fabric, uint32_t node)
{
	pm_for_each_port(i, fabric, node)
		pm_fabric_cut(fabric, i);
}

/* Moves a random selection to the front of list[0..count), as large as the share says. */
static int choose_share(const struct pm_share *share, const char *what, uint32_t *list,
			uint32_t count, uint64_t *state, uint32_t *chosen,
			struct pm_error *err)
{
	uint64_t number = share->number;

	if (share->percent)
		number = (number * count + WHOLE / 2) / WHOLE;
	if (number > count)
		return pm_error_set(err, -EINVAL, "there are only %" PRIu32 " %s", count,
				    what);
	for (uint32_t i = 0; i < number; i++) {
		uint32_t other = i + (uint32_t)pm_random_below(state, count - i);
		uint32_t drawn = list[other];

		list[other] = list[i];
		list[i] = drawn;
	}
	*chosen = (uint32_t)number;
	return 0;
}

/* Lists one end of every link between switches. */
static uint32_t list_links(const struct pm_fabric *fabric, uint32_t *list)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		uint32_t peer = fabric->ports[i].peer;

		if (peer != PM_NONE && peer > i &&
		    fabric->ports[peer].node < fabric->num_switches)
			list[count++] = i;
	}
	return count;
}

static uint32_t list_nodes(uint32_t first, uint32_t end, uint32_t *list)
{
	for (uint32_t i = first; i < end; i++)
		list[i - first] = i;
	return end - first;
}

int pm_degrade_apply(const struct pm_degrade *degrade, struct pm_fabric *fabric,
		     struct pm_error *err)
{
	uint32_t *list =
		pm_array((size_t)fabric->num_ports + fabric->num_nodes, sizeof(*list));
	uint64_t state = degrade->seed;
	uint32_t count, chosen;
	int rc;

	if (!list)
		return pm_error_no_memory(err);
	count = list_nodes(0, fabric->num_switches, list);
	rc = choose_share(&degrade->switches, "switches", list, count, &state, &chosen,
			  err);
	for (uint32_t i = 0; !rc && i < chosen; i++)
		cut_node(fabric, list[i]);
	if (!rc) {
		count = list_nodes(fabric->num_switches, fabric->num_nodes, list);
		rc = choose_share(&degrade->hosts, "hosts", list, count, &state, &chosen,
				  err);
	}
	for (uint32_t i = 0; !rc && i < chosen; i++)
		cut_node(fabric, list[i]);
	if (!rc) {
		count = list_links(fabric, list);
		rc = choose_share(&degrade->links, "cables between switches", list, count,
				  &state, &chosen, err);
	}
	for (uint32_t i = 0; !rc && i < chosen; i++)
		pm_fabric_cut(fabric, list[i]);
	free(list);
	return rc;
}

/* ---- Writing it ---- */

#define GUID_ID (sizeof("S-0123456789abcdef")) /* bytes of such an id */

/* Whether a name has the form of the ids that are made of GUIDs. */
static bool is_guid_id(const char *name)
{
	return *name && strchr("SHR", *name) && name[1] == '-' &&
	       strlen(name) == GUID_ID - 1 &&
	       strspn(name + 2, "0123456789abcdefABCDEF") == GUID_ID - 3;
}

/*
 * Whether a node's name can be its id: unique, also among ids made of GUIDs, without
 * blanks, quotes and marks.
 */
static bool names_node(const struct pm_fabric *fabric, uint32_t node)
{
	const char *name = pm_fabric_name(fabric, node);

	if (!*name || strcmp(name, pm_fabric_label(fabric, node)) != 0 ||
	    is_guid_id(name))
		return false;
	for (const char *c = name; *c; c++)
		if ((unsigned char)*c <= ' ' || strchr("\"#@\x7f", *c))
			return false;
	return true;
}

/*
 * A node's id in the netlist: its name or, where the name cannot be one (as with all
 * aggregation nodes), its GUID.
 */
static const char *node_id(const struct pm_fabric *fabric, uint32_t node,
			   char id[GUID_ID])
{
	if (names_node(fabric, node))
		return pm_fabric_name(fabric, node);
	snprintf(id, GUID_ID, "%c-%016" PRIx64, "SHR"[fabric->nodes[node].type],
		 fabric -> nodes[node].guid);
	return id;
}

/* Writes a name behind the id. */
static void write_description(const char *name, FILE *file)
{
	fputs("\t# \"", file);
	pm_put_field(file, name, SIZE_MAX, "\"");
	fputc('"', file);
}

/* `lid 3 lmc 0`, as ibnetdiscover has it. */
static void write_lid(const struct pm_port *port, FILE *file)
{
	fprintf(file, "lid %u lmc %u", port->lid, port->lmc);
}

/* `# lid 3 lmc 0 4xQDR`. ibsim warns about lines that do not end in a LID and a link. */
static void write_port_comment(const struct pm_port *port, FILE *file)
{
	char link[PM_LINK_TEXT];

	if (!port->link && !port->lid)
		return;
	fputs("\t# ", file);
	if (port->lid)
		write_lid(port, file);
	else
		fputs("lid 0", file);
	if (port->link)
		fprintf(file, " %s", pm_link_print(port->link, link));
}

/* *device: the device ID of the last record. */
static void write_node(const struct pm_fabric *fabric, uint32_t node, uint16_t *device,
		       FILE *file)
{
	static const struct {
		const char *guid, *kind;
	} words[] = {{"switchguid", "Switch"}, {"caguid", "Hca"}, {"rtguid", "Rt"}};
	const struct pm_node *n = &fabric->nodes[node];
	const struct pm_port *own = &fabric->ports[n->first_port];
	bool has_lid = n->type == PM_SWITCH && own->lid;
	char id[GUID_ID];

	if (n->device != *device)
		fprintf(file, "devid=0x%x\n", n->device);
	*device = n->device;
	fprintf(file, "%s=0x%" PRIx64 "\n%s\t%u \"%s\"", words[n->type].guid, n->guid,
		words[n->type].kind, n->num_ports, node_id(fabric, node, id));
	if (has_lid || !names_node(fabric, node))
		write_description(pm_fabric_name(fabric, node), file);
	if (has_lid) {
		fputs(" base port 0 ", file);
		write_lid(own, file);
	}
	fputc('\n', file);
	pm_for_each_port(i, fabric, node) {
		uint32_t peer = fabric->ports[i].peer;

		if (peer == PM_NONE)
			continue;
		fprintf(file, "[%u]\t\"%s\"[%u]", fabric->ports[i].num,
			node_id(fabric, fabric->ports[peer].node, id),
			fabric->ports[peer].num);
		write_port_comment(&fabric->ports[i], file);
		fputc('\n', file);
	}
	/* ibsim needs the blank line to find the next record's header. */
	fputc('\n', file);
}

void pm_netlist_write(const struct pm_fabric *fabric, FILE *file)
{
	uint16_t device = 0;

	for (uint32_t node = 0; node < fabric->num_nodes; node++)
		if (pm_fabric_has_link(fabric, node))
			write_node(fabric, node, &device, file);
}
