/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes the trees of VLANs (vlan.h). Each switch below the top has one link up, so there
 * is one path between any two switches.
 */
#include <portmajor/memory/xalloc.h>
#include <portmajor/vlan/vlan.h>

#include <errno.h>
#include <string.h>

/* Data for making VLANs. */
struct maker {
	struct pm_vlans *vlans;
	uint32_t *order;     /* switches with a level, the highest first */
	uint32_t num;	     /* their number */
	uint32_t *use;	     /* [port] up: number of VLANs so far */
	uint32_t *hosts;     /* [switch] its own hosts */
	uint64_t *load;	     /* [port] up: hosts' paths to the tops of VLANs so far */
	uint32_t *row;	     /* [switch] as in pm_vlans.up */
	uint32_t made, kept; /* VLANs, and how many of them are kept */
	uint32_t total;	     /* how many will be made; 0: unknown */
};

static bool is_usable(const struct pm_vlans *v, uint32_t port)
{
	return v->tree->direction[port] == PM_UP &&
	       v->fabric->ports[port].peer != PM_NONE;
}

static bool is_top(const struct pm_vlans *v, uint32_t sw)
{
	pm_for_each_port(i, v->fabric, sw)
		if (is_usable(v, i))
			return false;
	return true;
}

/* Whether links above switch a have fewer paths than those above b, the lowest first. */
static bool has_lighter_path(const struct maker *m, uint32_t a, uint32_t b)
{
	const uint32_t *remote = m->vlans->tree->remote;

	while (m->row[a] < PM_VLAN_TOP && m->row[b] < PM_VLAN_TOP) {
		uint32_t p = m->row[a], q = m->row[b];

		if (m->load[p] != m->load[q])
			return m->load[p] < m->load[q];
		a = remote[p];
		b = remote[q];
	}
	return false;
}

/*
 * The link up, to a switch of the tree, that is in the fewest VLANs. Of several, the one
 * with the lightest path. If all switches took the first port, leaves with links to the
 * same switches would all use one switch in one VLAN, and the links from the other
 * switches to this top in none.
 */
static uint32_t choose_up(const struct maker *m, uint32_t sw)
{
	const struct pm_vlans *v = m->vlans;
	uint32_t best = PM_NONE;

	pm_for_each_port(i, v->fabric, sw) {
		if (!is_usable(v, i) || m->row[v->tree->remote[i]] == PM_NONE)
			continue;
		if (best == PM_NONE || m->use[i] < m->use[best] ||
		    (m->use[i] == m->use[best] &&
		     has_lighter_path(m, v->tree->remote[i], v->tree->remote[best])))
			best = i;
	}
	return best;
}

/* Whether this VLAN is among the v->num that are kept of all. */
static bool is_kept(const struct maker *m)
{
	uint64_t before = (uint64_t)m->made * m->vlans->num;

	return m->total && before / m->total != (before + m->vlans->num) / m->total;
}

/* Adds a switch's hosts to its path to the top, or removes them. */
static void count_path(struct maker *m, uint32_t sw, bool add)
{
	uint64_t num = m->hosts[sw];

	for (; m->row[sw] < PM_VLAN_TOP; sw = m->vlans->tree->remote[m->row[sw]])
		m->load[m->row[sw]] += add ? num : -num;
}

/* Makes the tree below a top switch, over links in few VLANs, and counts its paths. */
static void fill_row(struct maker *m, uint32_t top)
{
	for (uint32_t i = 0; i < m->vlans->tree->num_switches; i++)
		m->row[i] = PM_NONE;
	m->row[top] = PM_VLAN_TOP;
	for (uint32_t i = 0; i < m->num; i++) {
		if (m->order[i] == top)
			continue;
		m->row[m->order[i]] = choose_up(m, m->order[i]);
		count_path(m, m->order[i], true);
	}
}

/* Adds the VLAN below a top switch. */
static void add_tree(struct maker *m, uint32_t top)
{
	struct pm_vlans *v = m->vlans;
	uint32_t switches = v->tree->num_switches;

	fill_row(m, top);
	for (uint32_t i = 0; i < switches; i++)
		if (m->row[i] < PM_VLAN_TOP)
			m->use[m->row[i]]++;
	if (is_kept(m)) {
		v->top[m->kept] = top;
		memcpy(v->up + (size_t)m->kept * switches, m->row,
		       switches * sizeof(*m->row));
		m->kept++;
	}
	m->made++;
}

/*
 * Whether some cable in no VLAN leads up to this top switch or, with `below`, to any
 * switch of its tree.
 */
static bool lacks_cable(struct maker *m, uint32_t top, bool below)
{
	const struct pm_vlans *v = m->vlans;

	fill_row(m, top);
	for (uint32_t i = 0; i < m->num; i++)
		count_path(m, m->order[i], false);
	for (uint32_t i = 0; i < v->tree->num_ports; i++) {
		uint32_t remote = v->tree->remote[i];

		if (is_usable(v, i) && !m->use[i] && m->row[remote] != PM_NONE &&
		    (below || remote == top))
			return true;
	}
	return false;
}

/*
 * Makes a VLAN for each top switch, and more for its own parallel cables. Then makes more
 * for cables below that are in none. Whatever cables the switches of a tree choose, the
 * tree has the same switches, and a switch with a cable in no VLAN chooses such a cable:
 * so this ends.
 */
static void add_trees(struct maker *m)
{
	for (int below = 0; below < 2; below++)
		for (uint32_t i = 0; i < m->num; i++) {
			uint32_t top = m->order[i];

			if (!is_top(m->vlans, top))
				continue;
			if (!below)
				add_tree(m, top);
			while (lacks_cable(m, top, below))
				add_tree(m, top);
		}
}

/* Sorts switches by level, from the top, then by component. */
static void sort_switches(struct maker *m)
{
	const struct pm_tree *tree = m->vlans->tree;

	for (int level = tree->top_level; level >= 0; level--) {
		bool leaves = level <= tree->leaf_level;
		uint32_t components = leaves ? 1 : tree->num_components;

		for (uint32_t c = 0; c < components; c++)
			for (uint32_t sw = 0; sw < tree->num_switches; sw++)
				if (tree->level[sw] == level &&
				    (leaves || tree->component[sw] == c))
					m->order[m->num++] = sw;
	}
}

static int find_hosts(struct pm_vlans *v, struct pm_error *err)
{
	const struct pm_fabric *fabric = v->fabric;

	v->hosts = pm_pool_xarray(&v->pool, fabric->num_ports, sizeof(*v->hosts));
	v->site = pm_pool_xarray(&v->pool, fabric->num_ports, sizeof(*v->site));
	v->untagged = pm_pool_xarray(&v->pool, fabric->num_ports, 1);
	for (uint32_t sw = 0; sw < fabric->num_switches; sw++)
		pm_for_each_port(i, fabric, sw) {
			uint32_t peer = fabric->ports[i].peer;

			if (peer == PM_NONE ||
			    fabric->ports[peer].node < fabric->num_switches ||
			    v->tree->level[sw] == PM_NO_LEVEL)
				continue;
			v->site[v->num_hosts] = sw;
			v->hosts[v->num_hosts++] = peer;
		}
	return v->num_hosts ? 0 : pm_error_set(err, -ENOENT, "there are no hosts");
}

/* Counts the trees first, and keeps them in a second pass. */
static void make_trees(struct maker *m, uint32_t limit)
{
	struct pm_vlans *v = m->vlans;
	uint32_t switches = v->tree->num_switches;

	add_trees(m);
	v->needed = m->total = m->made;
	v->num = v->needed < limit ? v->needed : limit;
	v->top = pm_pool_xarray(&v->pool, v->num, sizeof(*v->top));
	v->up = pm_pool_xarray(&v->pool, (size_t)v->num * switches, sizeof(*v->up));
	memset(m->use, 0, v->fabric->num_ports * sizeof(*m->use));
	memset(m->load, 0, v->fabric->num_ports * sizeof(*m->load));
	m->made = 0;
	add_trees(m);
	memset(m->use, 0, v->fabric->num_ports * sizeof(*m->use));
	for (size_t k = 0; k < (size_t)v->num * switches; k++)
		if (v->up[k] < PM_VLAN_TOP)
			m->use[v->up[k]]++;
	for (uint32_t i = 0; i < v->tree->num_ports; i++)
		if (is_usable(v, i)) {
			v->cables++;
			v->unused += !m->use[i];
		}
}

/* The first VLAN with the most hosts becomes the access VLAN. */
static void choose_access(struct pm_vlans *v)
{
	uint32_t most = 0;

	for (uint32_t vlan = 0; vlan < v->num; vlan++) {
		const uint32_t *up = v->up + (size_t)vlan * v->tree->num_switches;
		uint32_t num = 0;

		for (uint32_t h = 0; h < v->num_hosts; h++)
			num += up[v->site[h]] != PM_NONE;
		if (num <= most)
			continue;
		most = num;
		v->access = vlan;
	}
}

int pm_vlans_make(const struct pm_fabric *fabric, const struct pm_tree *tree,
		  uint32_t limit, struct pm_vlans *vlans, struct pm_error *err)
{
	struct pm_pool pool = {0};
	struct maker m = {.vlans = vlans};
	int rc;

	*vlans = (struct pm_vlans){.fabric = fabric, .tree = tree};
	m.order = pm_pool_xarray(&pool, tree->num_switches, sizeof(*m.order));
	m.row = pm_pool_xarray(&pool, tree->num_switches, sizeof(*m.row));
	m.use = pm_pool_xarray(&pool, fabric->num_ports, sizeof(*m.use));
	m.load = pm_pool_xarray(&pool, fabric->num_ports, sizeof(*m.load));
	m.hosts = pm_pool_xarray(&pool, fabric->num_nodes, sizeof(*m.hosts));
	rc = find_hosts(vlans, err);
	if (!rc) {
		for (uint32_t h = 0; h < vlans->num_hosts; h++)
			m.hosts[vlans->site[h]]++;
		sort_switches(&m);
		make_trees(&m, limit);
		choose_access(vlans);
	}
	pm_pool_free(&pool);
	return rc;
}

void pm_vlans_free(struct pm_vlans *vlans)
{
	pm_pool_free(&vlans->pool);
	*vlans = (struct pm_vlans){0};
}

bool pm_vlans_tagged(const struct pm_vlans *vlans, uint32_t vlan, uint32_t port)
{
	const struct pm_fabric *fabric = vlans->fabric;
	const uint32_t *up = vlans->up + (size_t)vlan * vlans->tree->num_switches;
	uint32_t peer = fabric->ports[port].peer;

	if (peer == PM_NONE || fabric->ports[peer].node >= fabric->num_switches)
		return false;
	return up[fabric->ports[port].node] == port ||
	       up[fabric->ports[peer].node] == peer;
}
