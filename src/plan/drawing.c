/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Draws where parts of a fabric belong, and compares a fabric with that. */
#include <portmajor/base/alloc.h>
#include <portmajor/plan/drawing.h>

#include <errno.h>
#include <stdio.h>

static bool is_end_node(const struct pm_fabric *fabric, uint32_t port)
{
	return fabric->ports[port].node >= fabric->num_switches;
}

/* The same port of another fabric, if it has a link there; else PM_NONE. */
static uint32_t find_linked(const struct pm_fabric *from, uint32_t port,
			    const struct pm_fabric *to)
{
	uint32_t same = pm_fabric_same_port(from, port, to);

	return same != PM_NONE && to->ports[same].peer != PM_NONE ? same : PM_NONE;
}

uint32_t pm_drawing_peer(const struct pm_fabric *from, uint32_t port,
			 const struct pm_fabric *to)
{
	uint32_t peer = from->ports[port].peer;

	return peer == PM_NONE ? PM_NONE : pm_fabric_same_port(from, peer, to);
}

bool pm_drawing_is_present(const struct pm_fabric *now, uint64_t guid)
{
	uint32_t node = pm_fabric_find_guid(now, guid);

	return node != PM_NONE && pm_fabric_has_link(now, node);
}

/* ---- Drawing ---- */

/* What a new drawing is made of, and where its nodes are in it. */
struct making {
	const struct pm_fabric *drawing, *now; /* drawing: NULL: none yet */
	uint32_t adopted;		       /* port of now, or PM_NONE */
	struct pm_fabric *made;
	uint32_t *of_drawing, *of_now; /* [node] in made, or PM_NONE */
};

/* Whether a link of the fabric is to be drawn: nothing is drawn at either end. */
static bool is_new(const struct making *m, uint32_t port)
{
	uint32_t peer = m->now->ports[port].peer;

	if (peer == PM_NONE)
		return false;
	if (port == m->adopted || peer == m->adopted || !m->drawing)
		return true;
	return find_linked(m->now, port, m->drawing) == PM_NONE &&
	       find_linked(m->now, peer, m->drawing) == PM_NONE;
}

static bool has_new_link(const struct making *m, uint32_t node)
{
	pm_for_each_port(i, m->now, node)
		if (is_new(m, i))
			return true;
	return false;
}

static int add_node(struct making *m, const struct pm_fabric *from, uint32_t node,
		    unsigned int ports, const char *name, uint32_t *at,
		    struct pm_error *err)
{
	const struct pm_node *n = &from->nodes[node];
	int rc = pm_fabric_add_node(m->made, n->type, n->guid, ports, name, at, err);

	if (!rc) {
		m->made->nodes[*at].key = n->key;
		m->made->nodes[*at].device = n->device;
	}
	return rc;
}

/* A present node's name and number of ports count. */
static int add_drawn(struct making *m, uint32_t node, struct pm_error *err)
{
	const struct pm_node *n = &m->drawing->nodes[node];
	uint32_t there = m->now ? pm_fabric_find_guid(m->now, n->guid) : PM_NONE;
	const char *name = pm_fabric_name(m->drawing, node);
	unsigned int ports = n->num_ports;
	int rc;

	if (node >= m->drawing->num_switches && !pm_fabric_has_link(m->drawing, node))
		return 0; /* it has no place any more */
	if (there != PM_NONE && *pm_fabric_name(m->now, there))
		name = pm_fabric_name(m->now, there);
	if (there != PM_NONE && m->now->nodes[there].num_ports > ports)
		ports = m->now->nodes[there].num_ports;
	rc = add_node(m, m->drawing, node, ports, name, &m->of_drawing[node], err);
	if (!rc && there != PM_NONE)
		m->of_now[there] = m->of_drawing[node];
	return rc;
}

static int add_nodes(struct making *m, struct pm_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; m->drawing && i < m->drawing->num_nodes && !rc; i++)
		rc = add_drawn(m, i, err);
	for (uint32_t i = 0; m->now && i < m->now->num_nodes && !rc; i++)
		if (m->of_now[i] == PM_NONE && has_new_link(m, i))
			rc = add_node(m, m->now, i, m->now->nodes[i].num_ports,
				      pm_fabric_name(m->now, i), &m->of_now[i], err);
	return rc;
}

/* Draws a link unless one of its ports is used; nodes: of_drawing or of_now. */
static void draw_link(struct making *m, const struct pm_fabric *from,
		      const uint32_t *nodes, uint32_t port)
{
	const struct pm_port *a = &from->ports[port], *b;
	uint32_t peer = a->peer;

	if (peer == PM_NONE)
		return;
	b = &from->ports[peer];
	if (nodes[a->node] != PM_NONE && nodes[b->node] != PM_NONE)
		pm_fabric_link(m->made, nodes[a->node], a->num, nodes[b->node], b->num,
			       NULL);
}

/* The adopted link comes first, then those that are drawn. */
static void draw_links(struct making *m)
{
	if (m->adopted != PM_NONE)
		draw_link(m, m->now, m->of_now, m->adopted);
	for (uint32_t i = 0; m->drawing && i < m->drawing->num_ports; i++)
		if (i < m->drawing->ports[i].peer)
			draw_link(m, m->drawing, m->of_drawing, i);
	for (uint32_t i = 0; m->now && i < m->now->num_ports; i++)
		if (i < m->now->ports[i].peer && is_new(m, i))
			draw_link(m, m->now, m->of_now, i);
}

static uint32_t *make_indexes(const struct pm_fabric *fabric)
{
	uint32_t num = fabric ? fabric->num_nodes : 0;
	uint32_t *indexes = pm_array(num, sizeof(*indexes));

	if (indexes)
		memset(indexes, 0xff, num * sizeof(*indexes));
	return indexes;
}

/* Replaces *drawing by what `m` describes. -ENOMEM. */
static int redraw(struct pm_fabric **drawing, struct making *m, struct pm_error *err)
{
	int rc;

	m->made = pm_fabric_new();
	m->of_drawing = make_indexes(m->drawing);
	m->of_now = make_indexes(m->now);
	rc = m->made && m->of_drawing && m->of_now ? add_nodes(m, err)
						   : pm_error_no_memory(err);
	if (!rc) {
		draw_links(m);
		rc = pm_fabric_seal(m->made, err);
	}
	free(m->of_drawing);
	free(m->of_now);
	if (rc) {
		pm_fabric_free(m->made);
		return rc;
	}
	pm_fabric_free(*drawing);
	*drawing = m->made;
	return 0;
}

/* ---- New parts ---- */

/* Whether a drawn node has another name or fewer ports than now. */
static bool is_outdated(const struct making *m, uint32_t node)
{
	uint32_t drawn = pm_fabric_find_guid(m->drawing, m->now->nodes[node].guid);

	if (drawn == PM_NONE)
		return false;
	return (*pm_fabric_name(m->now, node) &&
		strcmp(pm_fabric_name(m->now, node), pm_fabric_name(m->drawing, drawn)) !=
			0) ||
	       m->now->nodes[node].num_ports > m->drawing->nodes[drawn].num_ports;
}

static bool has_news(const struct making *m)
{
	if (!m->drawing)
		return true;
	for (uint32_t i = 0; i < m->now->num_nodes; i++)
		if (is_outdated(m, i) || has_new_link(m, i))
			return true;
	return false;
}

/*
 * Finds the drawn node whose place a node has taken that is not drawn: each of its links
 * to a drawn node is drawn at the same port of that node, which is gone. PM_NONE: none.
 */
static uint32_t find_predecessor(const struct pm_fabric *drawing,
				 const struct pm_fabric *now, uint32_t node)
{
	uint32_t found = PM_NONE;

	pm_for_each_port(i, now, node) {
		uint32_t there = pm_drawing_peer(now, i, drawing), was;

		if (there == PM_NONE)
			continue; /* not drawn, either */
		was = drawing->ports[there].peer;
		if (was == PM_NONE || drawing->ports[was].num != now->ports[i].num ||
		    (found != PM_NONE && drawing->ports[was].node != found))
			return PM_NONE;
		found = drawing->ports[was].node;
	}
	if (found == PM_NONE || drawing->nodes[found].type != now->nodes[node].type ||
	    drawing->nodes[found].num_ports != now->nodes[node].num_ports ||
	    pm_drawing_is_present(now, drawing->nodes[found].guid) ||
	    (node >= now->num_switches &&
	     (!*pm_fabric_name(now, node) ||
	      strcmp(pm_fabric_name(drawing, found), pm_fabric_name(now, node)) != 0)))
		return PM_NONE;
	return found;
}

/* One round over all nodes; *any: a node was renamed. */
static int rename_round(struct pm_fabric *drawing, const struct pm_fabric *now,
			struct pm_drawing_replaced *list, uint32_t *num, bool *any,
			struct pm_error *err)
{
	for (uint32_t i = 0; i < now->num_nodes; i++) {
		uint64_t guid = now->nodes[i].guid;
		struct pm_drawing_replaced replaced;
		uint32_t old;
		int rc;

		if (pm_fabric_find_guid(drawing, guid) != PM_NONE)
			continue;
		old = find_predecessor(drawing, now, i);
		if (old == PM_NONE)
			continue;
		replaced.was = drawing->nodes[old].guid;
		replaced.is = guid;
		snprintf(replaced.name, sizeof(replaced.name), "%s",
			 pm_fabric_name(drawing, old));
		rc = pm_fabric_rename(drawing, old, guid, pm_fabric_name(now, i), err);
		if (rc)
			return rc;
		list[(*num)++] = replaced;
		*any = true;
	}
	return 0;
}

/*
 * Takes rounds, as of a new chassis the switches next to known ones are recognised first.
 */
static int rename_replaced(struct pm_fabric *drawing, const struct pm_fabric *now,
			   struct pm_drawing_replaced *list, uint32_t *num,
			   struct pm_error *err)
{
	bool any = true;
	int rc = 0;

	while (any && !rc) {
		any = false;
		rc = rename_round(drawing, now, list, num, &any, err);
	}
	return rc;
}

int pm_drawing_update(struct pm_fabric **drawing, const struct pm_fabric *now,
		      struct pm_drawing_replaced **replaced, uint32_t *num, bool *changed,
		      struct pm_error *err)
{
	struct making m = {.drawing = *drawing, .now = now, .adopted = PM_NONE};
	struct pm_drawing_replaced *list = pm_array(now->num_nodes, sizeof(*list));
	uint32_t count = 0;
	int rc = list ? 0 : pm_error_no_memory(err);

	if (!rc && *drawing)
		rc = rename_replaced(*drawing, now, list, &count, err);
	*changed = count != 0;
	if (!rc && has_news(&m)) {
		*changed = true;
		rc = redraw(drawing, &m, err);
	}
	*num = count;
	*replaced = list;
	return rc;
}

int pm_drawing_adopt(struct pm_fabric **drawing, const struct pm_fabric *now,
		     uint32_t port, struct pm_error *err)
{
	struct making m = {.drawing = *drawing, .now = now, .adopted = port};

	return redraw(drawing, &m, err);
}

/* ---- Differences ---- */

/* Whether a port is the end at which its link is listed, and that is not as drawn. */
static bool is_elsewhere(const struct pm_fabric *drawing, const struct pm_fabric *now,
			 uint32_t port)
{
	uint32_t peer = now->ports[port].peer, drawn;

	if (peer == PM_NONE || is_end_node(now, peer) ||
	    (!is_end_node(now, port) && peer < port))
		return false;
	drawn = pm_fabric_same_port(now, port, drawing);
	return drawn == PM_NONE || drawing->ports[drawn].peer == PM_NONE ||
	       pm_drawing_peer(now, port, drawing) != drawing->ports[drawn].peer;
}

static bool is_missing(const struct pm_fabric *drawing, const struct pm_fabric *now,
		       uint32_t port)
{
	uint32_t peer = drawing->ports[port].peer;

	if (peer == PM_NONE || is_end_node(drawing, peer) ||
	    find_linked(drawing, port, now) != PM_NONE ||
	    !pm_drawing_is_present(now, drawing->nodes[drawing->ports[peer].node].guid))
		return false;
	return is_end_node(drawing, port) ||
	       (peer > port && find_linked(drawing, peer, now) == PM_NONE &&
		pm_drawing_is_present(now,
				      drawing->nodes[drawing->ports[port].node].guid));
}

int pm_drawing_compare(const struct pm_fabric *drawing, const struct pm_fabric *now,
		       struct pm_drawing_diff *diff, struct pm_error *err)
{
	struct pm_drawing_diff found = {
		.elsewhere = pm_array(now->num_ports, sizeof(*found.elsewhere)),
		.missing = pm_array(drawing->num_ports, sizeof(*found.missing)),
	};

	if (!found.elsewhere || !found.missing) {
		pm_drawing_diff_free(&found);
		return pm_error_no_memory(err);
	}
	for (uint32_t i = 0; i < now->num_ports; i++)
		if (is_elsewhere(drawing, now, i))
			found.elsewhere[found.num_elsewhere++] = i;
	for (uint32_t i = 0; i < drawing->num_ports; i++)
		if (is_missing(drawing, now, i))
			found.missing[found.num_missing++] = i;
	*diff = found;
	return 0;
}

void pm_drawing_diff_free(struct pm_drawing_diff *diff)
{
	free(diff->elsewhere);
	free(diff->missing);
	*diff = (struct pm_drawing_diff){0};
}

/* Whether a switch is not drawn, or has a link to a switch that is drawn elsewhere. */
static bool is_stranger(const struct pm_fabric *drawing, const struct pm_fabric *now,
			uint32_t sw)
{
	if (pm_fabric_find_guid(drawing, now->nodes[sw].guid) == PM_NONE)
		return true;
	pm_for_each_port(i, now, sw) {
		uint32_t peer = now->ports[i].peer;

		if (peer != PM_NONE && !is_end_node(now, peer) &&
		    find_linked(now, i, drawing) != PM_NONE &&
		    pm_drawing_peer(now, i, drawing) != PM_NONE &&
		    is_elsewhere(drawing, now, peer < i ? peer : i))
			return true;
	}
	return false;
}

bool pm_drawing_fits(const struct pm_fabric *drawing, const struct pm_fabric *now)
{
	uint32_t strangers = 0;

	for (uint32_t sw = 0; sw < now->num_switches; sw++)
		strangers += is_stranger(drawing, now, sw);
	return strangers * 10 <= now->num_switches;
}
