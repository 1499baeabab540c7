/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * VLANs of random trees against walks over tagged ports, and numbers of lines against
 * all possible sets of lines.
 */
#include "expect.h"
#include "recipe.h"
#include "unit.h"

#include <portmajor/vlan/vlan.h>

static uint64_t seed;

struct trial {
	struct random random;
	struct recipe recipe;
	struct pm_fabric *fabric, *skeleton;
	struct pm_tree tree;
	struct pm_vlans vlans;
	struct pm_vlan_table table;
	struct pm_vlan_assignment assignment;
	uint8_t *cut; /* [port] */
	uint32_t
		*from; /* [switch] port by which a walk came there; PM_NONE: it did not */
};

static void end(struct trial *t)
{
	free(t->cut);
	free(t->from);
	free(t->table.host);
	pm_vlans_free(&t->vlans);
	pm_tree_free(&t->tree);
	pm_fabric_free(t->skeleton);
	pm_fabric_free(t->fabric);
	recipe_free(&t->recipe);
}

/* The fabric is there; false: it is no tree or has no hosts. */
static bool make(struct trial *t, uint32_t limit)
{
	struct pm_error err;
	int rc;

	t->skeleton = pm_fabric_skeleton(t->fabric);
	assert_non_null(t->skeleton);
	rc = pm_tree_make(t->skeleton, &t->tree, &err);
	if (!rc)
		rc = pm_vlans_make(t->fabric, &t->tree, limit, &t->vlans, &err);
	EXPECT(!rc || rc == -ENOENT || rc == -ENOTSUP);
	t->cut = calloc(t->fabric->num_ports, 1);
	t->from = calloc(t->fabric->num_nodes, sizeof(*t->from));
	t->table.host = calloc(t->fabric->num_ports, sizeof(*t->table.host));
	assert_non_null(t->cut);
	assert_non_null(t->from);
	assert_non_null(t->table.host);
	return !rc;
}

static bool begin(struct trial *t, const struct recipe_limits *limits)
{
	*t = (struct trial){.random = {seed}};
	recipe_random(&t->recipe, &t->random, limits);
	t->fabric = recipe_build(&t->recipe, NULL);
	return make(t, PM_VLAN_MAX);
}

/* ---- Walks ---- */

static uint32_t remote_end(const struct trial *t, uint32_t port)
{
	return pm_fabric_peer_node(t->fabric, port);
}

/* Goes from a switch over tagged ports; returns the number of switches reached. */
static uint32_t walk(struct trial *t, uint32_t vlan, uint32_t start)
{
	uint32_t num = t->fabric->num_switches, head = 0, tail = 0;
	uint32_t *queue = calloc(num, sizeof(*queue));

	assert_non_null(queue);
	for (uint32_t i = 0; i < num; i++)
		t->from[i] = PM_NONE;
	t->from[start] = PM_VLAN_TOP;
	queue[tail++] = start;
	while (head < tail) {
		uint32_t sw = queue[head++];

		pm_for_each_port(i, t->fabric, sw) {
			if (t->cut[i] || !pm_vlans_tagged(&t->vlans, vlan, i) ||
			    t->from[remote_end(t, i)] != PM_NONE)
				continue;
			t->from[remote_end(t, i)] = i;
			queue[tail++] = remote_end(t, i);
		}
	}
	free(queue);
	return tail;
}

static uint32_t pair_vlan(const struct trial *t, uint32_t a, uint32_t b)
{
	const struct pm_vlan_host *host = t->table.host;

	return host[a].priority > host[b].priority ? host[a].vlan : host[b].vlan;
}

static bool is_gone(const struct trial *t, uint32_t h)
{
	return t->cut[t->vlans.hosts[h]];
}

static bool meets(struct trial *t, uint32_t vlan, uint32_t a, uint32_t b)
{
	walk(t, vlan, t->vlans.site[a]);
	return t->from[t->vlans.site[b]] != PM_NONE;
}

static bool can_meet(struct trial *t, uint32_t a, uint32_t b)
{
	for (uint32_t vlan = 0; vlan < t->vlans.num; vlan++)
		if (meets(t, vlan, a, b))
			return true;
	return false;
}

/* Pairs that their VLAN does not join; `mendable`: of those that another one does. */
static uint64_t count_unreachable(struct trial *t, bool mendable)
{
	uint64_t unreachable = 0;

	for (uint32_t a = 0; a < t->vlans.num_hosts; a++)
		for (uint32_t b = 0; b < a; b++)
			unreachable += !is_gone(t, a) && !is_gone(t, b) &&
				       t->vlans.site[a] != t->vlans.site[b] &&
				       !meets(t, pair_vlan(t, a, b), a, b) &&
				       (!mendable || can_meet(t, a, b));
	return unreachable;
}

/* Of those that are apart, pairs that cables join: walks go on wherever they can. */
static uint64_t count_cabled(struct trial *t)
{
	uint32_t num = t->fabric->num_switches;
	uint8_t *connected = calloc((size_t)num * num, 1);
	uint64_t cabled = 0;

	assert_non_null(connected);
	for (uint32_t i = 0; i < t->fabric->num_ports; i++) {
		uint32_t sw = t->fabric->ports[i].node;

		if (sw < num && t->fabric->ports[i].peer != PM_NONE && !t->cut[i] &&
		    remote_end(t, i) < num)
			connected[(size_t)sw * num + remote_end(t, i)] = 1;
	}
	for (uint32_t k = 0; k < num; k++)
		for (uint32_t i = 0; i < num; i++)
			for (uint32_t j = 0; j < num; j++)
				connected[(size_t)i * num + j] |=
					connected[(size_t)i * num + k] &&
					connected[(size_t)k * num + j];
	for (uint32_t a = 0; a < t->vlans.num_hosts; a++)
		for (uint32_t b = 0; b < a; b++) {
			uint32_t x = t->vlans.site[a], y = t->vlans.site[b];

			cabled += !is_gone(t, a) && !is_gone(t, b) && x != y &&
				  !meets(t, pair_vlan(t, a, b), a, b) &&
				  connected[(size_t)x * num + y];
		}
	free(connected);
	return cabled;
}

static void check_priorities(const struct trial *t)
{
	for (uint32_t a = 0; a < t->vlans.num_hosts; a++) {
		EXPECT(t->table.host[a].priority > 0);
		EXPECT(t->table.host[a].priority < UINT32_MAX);
		EXPECT(t->table.host[a].vlan < t->vlans.num);
		for (uint32_t b = 0; b < a; b++)
			EXPECT(t->table.host[a].priority != t->table.host[b].priority);
	}
	EXPECT(t->table.broadcast < t->vlans.num);
}

/* ---- Trees ---- */

static bool is_up(const struct trial *t, uint32_t port)
{
	return t->tree.direction[port] == PM_UP && t->fabric->ports[port].peer != PM_NONE;
}

static bool is_tagged_anywhere(const struct trial *t, uint32_t port)
{
	for (uint32_t vlan = 0; vlan < t->vlans.num; vlan++)
		if (pm_vlans_tagged(&t->vlans, vlan, port))
			return true;
	return false;
}

/* As many tagged ports as a tree of that size has, and no others. */
static void check_tree(struct trial *t, uint32_t vlan)
{
	uint32_t reached = walk(t, vlan, t->vlans.top[vlan]), ends = 0;

	for (uint32_t i = 0; i < t->skeleton->num_ports; i++)
		if (pm_vlans_tagged(&t->vlans, vlan, i)) {
			ends++;
			EXPECT(t->from[t->fabric->ports[i].node] != PM_NONE);
			EXPECT(is_up(t, i) || is_up(t, t->fabric->ports[i].peer));
		}
	EXPECT(ends == 2 * (reached - 1));
}

/* The choices of earlier VLANs. */
struct choices {
	const struct trial *t;
	const uint32_t *row; /* the present VLAN's links up */
	uint32_t *use;	     /* [port] VLANs */
	uint64_t *load;	     /* [port] hosts' paths, those of the present VLAN too */
};

static bool is_lighter(const struct choices *c, uint32_t a, uint32_t b)
{
	const uint32_t *remote = c->t->tree.remote;

	for (; c->row[a] < PM_VLAN_TOP && c->row[b] < PM_VLAN_TOP;
	     a = remote[c->row[a]], b = remote[c->row[b]])
		if (c->load[c->row[a]] != c->load[c->row[b]])
			return c->load[c->row[a]] < c->load[c->row[b]];
	return false;
}

/* The first of the links up in the fewest VLANs, of those with the lightest path. */
static uint32_t reference_up(const struct choices *c, uint32_t sw)
{
	uint32_t best = PM_NONE;

	pm_for_each_port(i, c->t->fabric, sw) {
		uint32_t to = c->t->tree.remote[i];

		if (!is_up(c->t, i) || c->row[to] == PM_NONE)
			continue;
		if (best == PM_NONE || c->use[i] < c->use[best] ||
		    (c->use[i] == c->use[best] &&
		     is_lighter(c, to, c->t->tree.remote[best])))
			best = i;
	}
	return best;
}

/* A switch chooses its link up, and its hosts' paths count for those after it. */
static void check_choice(struct choices *c, uint32_t vlan, uint32_t sw)
{
	const struct trial *t = c->t;
	uint32_t hosts = 0;

	if (sw == t->vlans.top[vlan]) {
		EXPECT(c->row[sw] == PM_VLAN_TOP);
		return;
	}
	EXPECT(c->row[sw] == reference_up(c, sw));
	for (uint32_t h = 0; h < t->vlans.num_hosts; h++)
		hosts += t->vlans.site[h] == sw;
	for (; c->row[sw] < PM_VLAN_TOP; sw = t->tree.remote[c->row[sw]])
		c->load[c->row[sw]] += hosts;
}

/* Switches choose from the top down, above the leaves component by component. */
static void check_choices(const struct trial *t)
{
	uint32_t num = t->tree.num_switches;
	struct choices c = {.t = t,
			    .use = calloc(t->fabric->num_ports, sizeof(*c.use)),
			    .load = calloc(t->fabric->num_ports, sizeof(*c.load))};

	assert_true(c.use && c.load);
	for (uint32_t vlan = 0; vlan < t->vlans.num; vlan++) {
		c.row = t->vlans.up + (size_t)vlan * num;
		for (int level = t->tree.top_level; level >= 0; level--)
			for (uint32_t part = 0; part <= t->tree.num_components; part++)
				for (uint32_t sw = 0; sw < num; sw++) {
					bool leaf = level <= t->tree.leaf_level;

					if (t->tree.level[sw] == level &&
					    part == (leaf ? 0 : t->tree.component[sw]))
						check_choice(&c, vlan, sw);
				}
		for (uint32_t sw = 0; sw < num; sw++)
			if (c.row[sw] < PM_VLAN_TOP)
				c.use[c.row[sw]]++;
	}
	free(c.use);
	free(c.load);
}

/* The first VLAN with the most hosts. */
static uint32_t reference_access(struct trial *t)
{
	uint32_t most = 0, access = 0;

	for (uint32_t vlan = 0; vlan < t->vlans.num; vlan++) {
		uint32_t num = 0;

		walk(t, vlan, t->vlans.top[vlan]);
		for (uint32_t h = 0; h < t->vlans.num_hosts; h++)
			num += t->from[t->vlans.site[h]] != PM_NONE;
		if (num <= most)
			continue;
		most = num;
		access = vlan;
	}
	return access;
}

static void check_trees(struct trial *t)
{
	uint32_t unused = 0, cables = 0;

	EXPECT(pm_vlans_check(&t->vlans, NULL) == 0);
	for (uint32_t vlan = 0; vlan < t->vlans.num; vlan++)
		check_tree(t, vlan);
	for (uint32_t i = 0; i < t->skeleton->num_ports; i++) {
		cables += is_up(t, i);
		unused += is_up(t, i) && !is_tagged_anywhere(t, i);
	}
	EXPECT(cables == t->vlans.cables);
	EXPECT(unused == t->vlans.unused);
	EXPECT(t->vlans.access == reference_access(t));
	if (t->vlans.num == t->vlans.needed)
		check_choices(t);
	EXPECT(t->vlans.num < t->vlans.needed || !unused);
}

/* A cable too many, or too few, is found. */
static void check_check(struct trial *t)
{
	uint32_t switches = t->tree.num_switches;
	uint32_t vlan = random_below(&t->random, t->vlans.num);
	uint32_t *ups = t->vlans.up + (size_t)vlan * switches;
	uint32_t sw = random_below(&t->random, switches), was = ups[sw];
	struct pm_error err;

	for (uint32_t i = 0; i < t->skeleton->num_ports; i++) {
		uint32_t end = t->fabric->ports[i].node, remote = t->tree.remote[i];

		if (remote == PM_NONE || ups[end] != PM_VLAN_TOP ||
		    ups[remote] == PM_NONE || pm_vlans_tagged(&t->vlans, vlan, i))
			continue;
		ups[end] = i;
		EXPECT(pm_vlans_check(&t->vlans, &err) == -EINVAL);
		ups[end] = PM_VLAN_TOP;
	}
	if (was < PM_VLAN_TOP && walk(t, vlan, sw) > 1) {
		ups[sw] = PM_VLAN_TOP;
		EXPECT(pm_vlans_check(&t->vlans, &err) == -EINVAL);
		EXPECT(strstr(err.text, "is no tree"));
		EXPECT(strstr(err.text, pm_fabric_name(t->fabric, t->vlans.top[vlan])));
		ups[sw] = was;
	}
}

static uint32_t count_assigned(const struct trial *t, uint32_t port)
{
	uint32_t sw = t->fabric->ports[port].node, num = 0;

	for (uint32_t h = 0; h < t->vlans.num_hosts; h++)
		num += t->vlans.site[h] == sw &&
		       t->vlans.up[(size_t)t->table.host[h].vlan * t->tree.num_switches +
				   sw] == port;
	return num;
}

/* A leaf's cables have as many hosts each, or one more, where all VLANs join all. */
static void check_even(struct trial *t)
{
	for (uint32_t vlan = 0; vlan < t->vlans.num; vlan++) {
		walk(t, vlan, t->vlans.top[vlan]);
		for (uint32_t h = 0; h < t->vlans.num_hosts; h++)
			if (t->from[t->vlans.site[h]] == PM_NONE)
				return;
	}
	EXPECT(count_unreachable(t, false) == 0);
	for (uint32_t sw = 0; sw < t->fabric->num_switches; sw++) {
		uint32_t least = UINT32_MAX, most = 0;

		if (t->tree.level[sw])
			continue;
		pm_for_each_port(i, t->fabric, sw) {
			uint32_t num = is_up(t, i) ? count_assigned(t, i) : 0;

			if (!is_up(t, i))
				continue;
			least = num < least ? num : least;
			most = num > most ? num : most;
		}
		EXPECT(!most || most - least <= 1);
	}
}

/* ---- The order of taking ---- */

/* Hosts are taken anew, the highest priority first. */
struct taking {
	struct trial *t;
	const struct pm_vlan_host *host;
	uint8_t *meet;	/* [vlan][switch][switch] */
	uint8_t *site;	/* [switch] it has hosts that are not gone, and is not taken */
	uint8_t *taken; /* [host] */
	uint32_t *met;	/* [switch] sites that VLANs join with it at first, each VLAN's */
};

static const uint8_t *met_by(const struct taking *k, uint32_t vlan, uint32_t sw)
{
	uint32_t num = k->t->fabric->num_switches;

	return k->meet + ((size_t)vlan * num + sw) * num;
}

/* Sites not taken that a VLAN joins with this one. */
static uint32_t count_met(const struct taking *k, uint32_t vlan, uint32_t sw)
{
	uint32_t num = 0;

	for (uint32_t i = 0; i < k->t->fabric->num_switches; i++)
		num += k->site[i] && met_by(k, vlan, sw)[i];
	return num;
}

static void begin_taking(struct taking *k)
{
	uint32_t num = k->t->fabric->num_switches, vlans = k->t->vlans.num;

	k->meet = calloc((size_t)vlans * num * num, 1);
	k->site = calloc(num, 1);
	k->taken = calloc(k->t->vlans.num_hosts, 1);
	k->met = calloc(num, sizeof(*k->met));
	assert_true(k->meet && k->site && k->taken && k->met);
	for (uint32_t vlan = 0; vlan < vlans; vlan++)
		for (uint32_t sw = 0; sw < num; sw++) {
			if (k->t->vlans.up[(size_t)vlan * num + sw] == PM_NONE)
				continue;
			walk(k->t, vlan, sw);
			for (uint32_t i = 0; i < num; i++)
				k->meet[((size_t)vlan * num + sw) * num + i] =
					k->t->from[i] != PM_NONE;
		}
	for (uint32_t h = 0; h < k->t->vlans.num_hosts; h++)
		k->site[k->t->vlans.site[h]] |= !is_gone(k->t, h);
	for (uint32_t vlan = 0; vlan < vlans; vlan++)
		for (uint32_t sw = 0; sw < num; sw++)
			k->met[sw] += count_met(k, vlan, sw);
}

/* The most that one VLAN joins with a switch; *missed: those that only others do. */
static uint32_t most_met(const struct taking *k, uint32_t sw, uint32_t *missed)
{
	uint32_t best = 0, all = 0;

	for (uint32_t vlan = 0; vlan < k->t->vlans.num; vlan++) {
		uint32_t num = count_met(k, vlan, sw);

		best = num > best ? num : best;
	}
	for (uint32_t i = 0; i < k->t->fabric->num_switches; i++) {
		bool any = false;

		for (uint32_t vlan = 0; vlan < k->t->vlans.num; vlan++)
			any |= k->site[i] && met_by(k, vlan, sw)[i];
		all += any;
	}
	*missed = all - best;
	return best;
}

static bool is_suitable(const struct taking *k, uint32_t vlan, uint32_t sw, uint32_t best)
{
	return met_by(k, vlan, sw)[sw] && count_met(k, vlan, sw) == best;
}

/* Hosts taken so far in a VLAN; with a port, those of all VLANs with paths up there.
 */
static uint32_t count_taken(const struct taking *k, uint32_t vlan, uint32_t port)
{
	const struct pm_vlans *v = &k->t->vlans;
	uint32_t num = 0;

	for (uint32_t h = 0; h < v->num_hosts; h++) {
		const uint32_t *up =
			v->up + (size_t)k->host[h].vlan * v->tree->num_switches;

		if (!k->taken[h])
			continue;
		num += port == PM_NONE && k->host[h].vlan == vlan;
		for (uint32_t sw = v->site[h]; port != PM_NONE && up[sw] < PM_VLAN_TOP;
		     sw = v->tree->remote[up[sw]])
			num += up[sw] == port;
	}
	return num;
}

/* Whether VLAN a is emptier than b: the links up from a switch, then all of it. */
static bool is_emptier(const struct taking *k, uint32_t sw, uint32_t a, uint32_t b)
{
	const struct pm_vlans *v = &k->t->vlans;
	const uint32_t *up_a = v->up + (size_t)a * v->tree->num_switches;
	const uint32_t *up_b = v->up + (size_t)b * v->tree->num_switches;
	uint32_t x = sw, y = sw, num_a, num_b;

	for (; up_a[x] < PM_VLAN_TOP && up_b[y] < PM_VLAN_TOP;
	     x = v->tree->remote[up_a[x]], y = v->tree->remote[up_b[y]]) {
		num_a = count_taken(k, a, up_a[x]);
		num_b = count_taken(k, b, up_b[y]);
		if (num_a != num_b)
			return num_a < num_b;
	}
	num_a = count_taken(k, a, PM_NONE);
	num_b = count_taken(k, b, PM_NONE);
	return num_a != num_b ? num_a < num_b : a < b;
}

/* Priorities go down in steps of 1000, to 1000. */
static uint32_t next_priority(const struct taking *k)
{
	uint32_t left = 0;

	for (uint32_t h = 0; h < k->t->vlans.num_hosts; h++)
		left += !k->taken[h];
	return 1000 * left;
}

static void take_site(struct taking *k, uint32_t sw, uint32_t best)
{
	for (uint32_t h = 0; h < k->t->vlans.num_hosts; h++) {
		uint32_t vlan = k->host[h].vlan;

		if (k->t->vlans.site[h] != sw)
			continue;
		EXPECT(k->host[h].priority == next_priority(k));
		EXPECT(is_suitable(k, vlan, sw, best));
		for (uint32_t other = 0; other < k->t->vlans.num; other++)
			EXPECT(other == vlan || !is_suitable(k, other, sw, best) ||
			       is_emptier(k, sw, vlan, other));
		k->taken[h] = 1;
	}
	k->site[sw] = 0;
}

static uint32_t first_left(const struct taking *k)
{
	uint32_t first = PM_NONE;

	for (uint32_t h = 0; h < k->t->vlans.num_hosts; h++)
		if (!k->taken[h] &&
		    (first == PM_NONE || k->host[h].priority > k->host[first].priority))
			first = h;
	return first;
}

/* Whether the switch of host a is tried before that of host b. */
static bool is_tried_before(const struct taking *k, uint32_t a, uint32_t b)
{
	uint32_t x = k->met[k->t->vlans.site[a]], y = k->met[k->t->vlans.site[b]];

	return x != y ? x < y : a < b;
}

/*
 * Hosts assigned anew: the next switch's miss the fewest of the sites not taken (of
 * several, where all miss some, the one that VLANs join with the fewest), and have the
 * emptiest of the VLANs that join the most.
 */
static void check_taking(struct trial *t, const struct pm_vlan_host *host)
{
	struct taking k = {.t = t, .host = host};

	begin_taking(&k);
	for (uint32_t h; (h = first_left(&k)) != PM_NONE;) {
		uint32_t sw = t->vlans.site[h], missed, others;
		uint32_t best = most_met(&k, sw, &missed);

		for (uint32_t i = 0; i < t->vlans.num_hosts; i++) {
			if (k.taken[i])
				continue;
			most_met(&k, t->vlans.site[i], &others);
			EXPECT(missed <= others);
			if (missed && missed == others &&
			    t->vlans.site[i] != t->vlans.site[h])
				EXPECT(is_tried_before(&k, h, i));
		}
		take_site(&k, sw, best);
	}
	free(k.meet);
	free(k.site);
	free(k.taken);
	free(k.met);
}

/* ---- Counts ---- */

struct counts {
	uint8_t *learnt; /* [vlan][switch][host] */
};

static void learn(const struct trial *t, struct counts *c, uint32_t vlan, uint32_t sw,
		  uint32_t h)
{
	c->learnt[((size_t)vlan * t->fabric->num_switches + sw) * t->vlans.num_hosts +
		  h] = 1;
}

/* Every switch of a pair's way. */
static void learn_pair(struct trial *t, struct counts *c, uint32_t a, uint32_t b)
{
	uint32_t vlan = pair_vlan(t, a, b), sw = t->vlans.site[b];

	walk(t, vlan, t->vlans.site[a]);
	if (t->from[sw] == PM_NONE)
		return;
	for (;;) {
		learn(t, c, vlan, sw, a);
		learn(t, c, vlan, sw, b);
		if (t->from[sw] == PM_VLAN_TOP)
			break;
		sw = t->fabric->ports[t->from[sw]].node;
	}
}

/* The most, which that switch has to have. */
static uint64_t reference_macs(struct trial *t, uint32_t fullest)
{
	uint32_t num = t->vlans.num_hosts, switches = t->fabric->num_switches;
	struct counts c = {calloc((size_t)t->vlans.num * switches, num)};
	uint64_t most = 0, told = 0;

	assert_non_null(c.learnt);
	for (uint32_t a = 0; a < num; a++)
		for (uint32_t b = 0; b < a; b++)
			learn_pair(t, &c, a, b);
	walk(t, t->table.broadcast, t->vlans.top[t->table.broadcast]);
	for (uint32_t sw = 0; sw < switches; sw++)
		for (uint32_t h = 0; h < num && t->from[sw] != PM_NONE; h++)
			if (t->from[t->vlans.site[h]] != PM_NONE)
				learn(t, &c, t->table.broadcast, sw, h);
	for (uint32_t sw = 0; sw < switches; sw++) {
		uint64_t total = 0;

		for (uint32_t vlan = 0; vlan < t->vlans.num; vlan++)
			for (uint32_t h = 0; h < num; h++)
				total += c.learnt[((size_t)vlan * switches + sw) * num +
						  h];
		most = total > most ? total : most;
		told = sw == fullest ? total : told;
	}
	free(c.learnt);
	EXPECT(told == most);
	return most;
}

/* The fullest cable, one way, of the shift by `by`. */
static uint32_t reference_shift(struct trial *t, bool tree, uint32_t by)
{
	uint32_t *flows = calloc(t->fabric->num_ports, sizeof(*flows)), most = 0;

	assert_non_null(flows);
	for (uint32_t a = 0; a < t->vlans.num_hosts; a++) {
		uint32_t b = (a + by) % t->vlans.num_hosts, sw = t->vlans.site[b];

		walk(t, tree ? t->table.broadcast : pair_vlan(t, a, b), t->vlans.site[a]);
		if (t->from[sw] == PM_NONE)
			continue;
		for (; t->from[sw] != PM_VLAN_TOP;
		     sw = t->fabric->ports[t->from[sw]].node)
			if (++flows[t->from[sw]] > most)
				most = flows[t->from[sw]];
	}
	free(flows);
	return most;
}

/* So many shifts, spread over all: the way back of each is another one's way there. */
static void check_shifts(struct trial *t, uint32_t samples)
{
	uint32_t all = t->vlans.num_hosts - 1, num = samples < all ? samples : all;
	struct pm_vlan_loads loads, wanted = {0};

	for (uint32_t i = 0; i < num; i++) {
		uint32_t by = 1 + i * all / num;
		uint32_t most = reference_shift(t, false, by);
		uint32_t tree = reference_shift(t, true, by);

		wanted.most = most > wanted.most ? most : wanted.most;
		wanted.tree = tree > wanted.tree ? tree : wanted.tree;
	}
	pm_vlans_shifts(&t->vlans, t->cut, &t->table, samples, &loads);
	EXPECT(loads.most == wanted.most);
	EXPECT(loads.tree == wanted.tree);
}

static void check_counts(struct trial *t)
{
	uint64_t macs;
	uint32_t sw;

	pm_vlans_count_macs(&t->vlans, &t->table, &macs, &sw);
	EXPECT(macs == reference_macs(t, sw));
	check_shifts(t, UINT32_MAX);
	check_shifts(t, 3);
	check_shifts(t, 1);
}

/* ---- Random trees ---- */

static uint32_t num_rounds(uint32_t usual)
{
	return (uint32_t)from_environment("PM_ROUNDS", usual);
}

/* Of all cables that lead from a host to a switch of the tree. */
static void check_hosts(const struct trial *t)
{
	const struct pm_fabric *fabric = t->fabric;
	uint32_t num = 0;

	for (uint32_t i = 0; i < fabric->num_ports; i++)
		if (fabric->ports[i].node >= fabric->num_switches &&
		    fabric->ports[i].peer != PM_NONE &&
		    remote_end(t, i) < fabric->num_switches)
			num += t->tree.level[remote_end(t, i)] != PM_NO_LEVEL;
	EXPECT(t->vlans.num_hosts == num);
}

static void test_trees(void **state)
{
	static const struct recipe_limits limits = {.switches = 16, .hosts = 24};
	/* Of the first 25, in one few shifts have more flows on a way up than down. */
	uint64_t first = from_environment("PM_SEED", 20261160);

	for (uint32_t round = 0; round < num_rounds(300); round++) {
		struct trial t;

		seed = first + round;
		if (begin(&t, &limits)) {
			check_hosts(&t);
			check_trees(&t);
			check_check(&t);
			pm_vlans_assign(&t.vlans, NULL, &t.table, &t.assignment);
			check_priorities(&t);
			EXPECT(t.assignment.unreachable == count_unreachable(&t, false));
			EXPECT(t.assignment.spread <= 1);
			check_even(&t);
			check_taking(&t, t.table.host);
			check_counts(&t);
		}
		end(&t);
	}
}

/* Fewer VLANs than are needed: trees all the same, and hosts have one of these. */
static void test_merged(void **state)
{
	static const struct recipe_limits limits = {.switches = 16, .hosts = 24};
	uint64_t first = from_environment("PM_SEED", 20261123);

	for (uint32_t round = 0; round < num_rounds(100); round++) {
		struct trial t;
		uint32_t limit;

		seed = first + round;
		if (begin(&t, &limits)) {
			limit = random_range(&t.random, 1, t.vlans.num);
			pm_vlans_free(&t.vlans);
			EXPECT(pm_vlans_make(t.fabric, &t.tree, limit, &t.vlans, NULL) ==
			       0);
			EXPECT(t.vlans.num == limit && t.vlans.needed >= limit);
			check_trees(&t);
			pm_vlans_assign(&t.vlans, NULL, &t.table, &t.assignment);
			check_priorities(&t);
			EXPECT(t.assignment.unreachable == count_unreachable(&t, false));
		}
		end(&t);
	}
}

/* ---- Failures ---- */

/* Takes some cables out, of switches mostly; at least one. */
static void cut_some(struct trial *t, uint32_t most)
{
	uint32_t num = random_range(&t->random, 1, most);

	for (uint32_t tries = 0; num && tries < 200; tries++) {
		uint32_t i = random_below(&t->random, t->fabric->num_ports);
		uint32_t peer = t->fabric->ports[i].peer;

		if (peer == PM_NONE ||
		    (t->fabric->ports[i].node >= t->tree.num_switches &&
		     !random_chance(&t->random, 10)))
			continue;
		t->cut[i] = t->cut[peer] = 1;
		num--;
	}
}

/* The fewest hosts that have one of each pair that is apart and could meet. */
static uint32_t reference_cover(struct trial *t)
{
	uint32_t num = t->vlans.num_hosts, best = num;
	uint32_t *unreachable = calloc(num, sizeof(*unreachable));

	assert_non_null(unreachable);
	for (uint32_t a = 0; a < num; a++)
		for (uint32_t b = 0; b < a; b++)
			if (!is_gone(t, a) && !is_gone(t, b) &&
			    t->vlans.site[a] != t->vlans.site[b] &&
			    !meets(t, pair_vlan(t, a, b), a, b) && can_meet(t, a, b))
				unreachable[a] |= 1u << b;
	for (uint32_t set = 0; set < 1u << num; set++) {
		bool covers = true;

		for (uint32_t a = 0; a < num && covers; a++)
			covers = (set >> a & 1) || !(unreachable[a] & ~set);
		if (covers && (uint32_t)__builtin_popcount(set) < best)
			best = (uint32_t)__builtin_popcount(set);
	}
	free(unreachable);
	return best;
}

/* ---- All possible tables ---- */

#define MOST_HOSTS 7 /* for which all of them are tried, .. */
#define MOST_LINES 7 /* .. that differ in fewer lines than so many */
#define MOST_VLANS 64

/* Hosts by priority, highest first; `moved` of them with another line than before. */
struct order {
	struct trial *t;
	uint32_t num, vlans;
	uint32_t host[MOST_HOSTS], vlan[MOST_HOSTS];
	uint8_t connected[PM_VLAN_MAX > 64 ? 64 : PM_VLAN_MAX]
			 [MOST_HOSTS]; /* hosts, as bits */
	uint64_t unreachable;	       /* as many pairs may be */
};

static bool is_good(const struct order *o)
{
	uint32_t below = (1u << o->t->vlans.num_hosts) - 1;
	uint64_t unreachable = 0;

	for (uint32_t i = 0; i < o->num; i++) {
		uint32_t h = o->host[i];

		below &= ~(1u << h);
		if (!is_gone(o->t, h))
			unreachable += (uint32_t)__builtin_popcount(
				below & ~o->connected[o->vlan[i]][h]);
	}
	return unreachable <= o->unreachable;
}

/* Puts a host with a VLAN at a place. */
static struct order with(const struct order *o, uint32_t at, uint32_t h, uint32_t vlan)
{
	struct order next = *o;

	for (uint32_t i = next.num++; i > at; i--) {
		next.host[i] = next.host[i - 1];
		next.vlan[i] = next.vlan[i - 1];
	}
	next.host[at] = h;
	next.vlan[at] = vlan;
	return next;
}

/* Whether these hosts can have lines, with the others' as they are. */
static bool can_be_good(const struct order *o, uint32_t movers)
{
	uint32_t h = (uint32_t)__builtin_ctz(movers | 1u << 31);

	if (!movers)
		return is_good(o);
	for (uint32_t at = 0; at <= o->num; at++)
		for (uint32_t vlan = 0; vlan < o->vlans; vlan++) {
			struct order next = with(o, at, h, vlan);

			if (can_be_good(&next, movers & ~(1u << h)))
				return true;
		}
	return false;
}

/*
 * The fewest lines of a table that leaves no more pairs apart, if they are below
 * `most`.
 */
static uint32_t reference_lines(struct trial *t, const struct pm_vlan_host *old,
				uint64_t unreachable, uint32_t most)
{
	uint32_t num = t->vlans.num_hosts;
	struct order all = {.t = t, .vlans = t->vlans.num, .unreachable = unreachable};

	for (uint32_t vlan = 0; vlan < all.vlans; vlan++)
		for (uint32_t a = 0; a < num; a++)
			for (uint32_t b = 0; b < num; b++)
				if (is_gone(t, b) ||
				    t->vlans.site[a] == t->vlans.site[b] ||
				    meets(t, vlan, a, b))
					all.connected[vlan][a] |= (uint8_t)(1u << b);
	for (uint32_t lines = 0; lines < most; lines++)
		for (uint32_t movers = 0; movers < 1u << num; movers++) {
			struct order fixed = all;

			if ((uint32_t)__builtin_popcount(movers) != lines)
				continue;
			for (uint32_t h = 0; h < num; h++) {
				uint32_t at = 0;

				if (movers >> h & 1)
					continue;
				while (at < fixed.num &&
				       old[fixed.host[at]].priority > old[h].priority)
					at++;
				fixed = with(&fixed, at, h, old[h].vlan);
			}
			if (can_be_good(&fixed, movers))
				return lines;
		}
	return most;
}

struct tally {
	uint32_t failures, exact, few, unreachable;
	uint32_t tried, above; /* against all tables there are */
};

/* Fewer lines would do as well. */
static void check_lines(struct trial *t, const struct pm_vlan_table *old, uint32_t moved,
			struct tally *tally)
{
	uint32_t lines = moved - (old->broadcast != t->table.broadcast), least;

	if (t->vlans.num_hosts > MOST_HOSTS || lines > MOST_LINES ||
	    t->vlans.num > MOST_VLANS)
		return;
	least = reference_lines(t, old->host, t->assignment.unreachable, lines);
	tally->tried++;
	tally->above += least < lines;
	if (least < lines)
		printf("PM_SEED=%llu: %u lines, %u would do\n", (unsigned long long)seed,
		       lines, least);
}

/* Hosts that a broadcast does not reach, sent from where it reaches most. */
static uint32_t reference_without_broadcast(struct trial *t, uint32_t vlan)
{
	uint32_t best = 0, there = 0;

	for (uint32_t a = 0; a < t->vlans.num_hosts; a++) {
		uint32_t heard = 0;

		there += !is_gone(t, a);
		walk(t, vlan, t->vlans.site[a]);
		for (uint32_t b = 0; b < t->vlans.num_hosts; b++)
			heard += !is_gone(t, b) &&
				 t->vlans.up[(size_t)vlan * t->tree.num_switches +
					     t->vlans.site[a]] != PM_NONE &&
				 t->from[t->vlans.site[b]] != PM_NONE;
		best = heard > best ? heard : best;
	}
	return there - best;
}

static void check_broadcast(struct trial *t, uint32_t before)
{
	uint32_t without_broadcast = reference_without_broadcast(t, t->table.broadcast);

	EXPECT(t->assignment.without_broadcast == without_broadcast);
	for (uint32_t vlan = 0; vlan < t->vlans.num; vlan++)
		EXPECT(reference_without_broadcast(t, vlan) >= without_broadcast);
	EXPECT(t->table.broadcast == before ||
	       reference_without_broadcast(t, before) > without_broadcast);
}

/* Few lines leave no more pairs apart than the hosts assigned all anew. */
static void check_anew(struct trial *t)
{
	struct pm_vlan_table anew;
	struct pm_vlan_assignment assignment;

	anew.host = calloc(t->vlans.num_hosts, sizeof(*anew.host));
	assert_non_null(anew.host);
	pm_vlans_assign(&t->vlans, t->cut, &anew, &assignment);
	EXPECT(t->assignment.unreachable <= assignment.unreachable);
	check_taking(t, anew.host);
	free(anew.host);
}

static void check_failure(struct trial *t, struct tally *tally)
{
	struct pm_vlan_table old = t->table;
	size_t size = t->vlans.num_hosts * sizeof(*old.host);
	uint32_t least = reference_cover(t), moved = 0;
	uint64_t before = count_unreachable(t, false),
		 broken = count_unreachable(t, true);

	old.host = malloc(size + 1);
	assert_non_null(old.host);
	memcpy(old.host, t->table.host, size);
	pm_vlans_fail(&t->vlans, t->cut, &t->table, &t->assignment);
	check_priorities(t);
	check_broadcast(t, old.broadcast);
	moved = old.broadcast != t->table.broadcast;
	EXPECT(t->assignment.bound - moved <= least);
	tally->exact += t->assignment.bound - moved == least;
	for (uint32_t h = 0; h < t->vlans.num_hosts; h++)
		moved += memcmp(&old.host[h], &t->table.host[h], sizeof(*old.host)) != 0;
	EXPECT(moved == t->assignment.moved);
	EXPECT(t->assignment.unreachable == count_unreachable(t, false));
	EXPECT(t->assignment.cabled == count_cabled(t));
	EXPECT(t->assignment.unreachable <= before);
	check_anew(t);
	EXPECT(broken || moved == (old.broadcast != t->table.broadcast));
	EXPECT(moved >= t->assignment.bound || count_unreachable(t, true));
	check_lines(t, &old, moved, tally);
	tally->failures++;
	tally->few += moved == least + (old.broadcast != t->table.broadcast);
	tally->unreachable += count_unreachable(t, true) > 0;
	free(old.host);
}

/* One failure, and another one on top of it. */
static struct tally fail_twice(const struct recipe_limits *limits, uint64_t first,
			       uint32_t rounds, uint32_t most)
{
	struct tally tally = {0};

	for (uint32_t round = 0; round < rounds; round++) {
		struct trial t;

		seed = first + round;
		if (begin(&t, limits) && t.vlans.num_hosts <= 14) {
			pm_vlans_assign(&t.vlans, NULL, &t.table, &t.assignment);
			for (int i = 0; i < 2; i++) {
				cut_some(&t, most);
				check_failure(&t, &tally);
			}
		}
		end(&t);
	}
	printf("%u losses: bound exact in %u, reached in %u, pairs left apart in %u; of "
	       "%u %u with more lines than would do\n",
	       tally.failures, tally.exact, tally.few, tally.unreachable, tally.tried,
	       tally.above);
	return tally;
}

static void test_failures(void **state)
{
	static const struct recipe_limits limits = {.switches = 12, .hosts = 12};
	/* Of the first 25, one is assigned all anew. */
	uint64_t first = from_environment("PM_SEED", 20261180);
	struct tally tally = fail_twice(&limits, first, num_rounds(400), 3);

	if (tally.failures > 100)
		assert_true(tally.exact * 100 >= tally.failures * 95);
	assert_int_equal(tally.above, 0);
}

/* So many that pairs are left that no VLAN joins. */
static void test_many_failures(void **state)
{
	static const struct recipe_limits limits = {.switches = 12, .hosts = 8};
	uint64_t first = from_environment("PM_SEED", 20261240);
	struct tally tally = fail_twice(&limits, first, num_rounds(1000), 8);

	assert_int_equal(tally.above, 0);
}

/*
 * With more hosts than allow trying all choices of lines, some pairs stay apart: the
 * lines of a cover change, and few more.
 */
static void test_many_hosts(void **state)
{
	static const struct recipe_limits limits = {.switches = 16, .hosts = 60};
	static const uint64_t seeds[] = {166, 392};

	for (size_t i = 0; i < LENGTH(seeds); i++) {
		struct trial t;

		seed = seeds[i];
		EXPECT(begin(&t, &limits));
		pm_vlans_assign(&t.vlans, NULL, &t.table, &t.assignment);
		cut_some(&t, 8);
		pm_vlans_fail(&t.vlans, t.cut, &t.table, &t.assignment);
		EXPECT(t.assignment.unreachable > 0);
		EXPECT(t.assignment.moved >= t.assignment.bound);
		EXPECT(t.assignment.moved < 2 * t.assignment.bound);
		end(&t);
	}
}

/* Where taking hosts one by one finds a table with a line too many. */
static void test_few_lines(void **state)
{
	static const struct recipe_limits twelve = {.switches = 12, .hosts = 12},
					  eight = {.switches = 12, .hosts = 8};
	static const uint64_t few[] = {3790, 106590, 5002280, 5003645},
			      many[] = {173,  987,    2053,   3659,
					8926, 101454, 105947, 107068};
	uint32_t above = 0;

	for (size_t i = 0; i < LENGTH(few); i++)
		above += fail_twice(&twelve, few[i], 1, 3).above;
	for (size_t i = 0; i < LENGTH(many); i++)
		above += fail_twice(&eight, many[i], 1, 8).above;
	assert_int_equal(above, 0);
}

/* Where the switch that misses the fewest sites is not the first one that is tried. */
static void test_fewest_missed(void **state)
{
	static const struct recipe_limits twelve = {.switches = 12, .hosts = 12},
					  eight = {.switches = 12, .hosts = 8};
	static const uint64_t many[] = {41406, 50589};

	assert_int_equal(fail_twice(&twelve, 30875, 1, 3).above, 0);
	for (size_t i = 0; i < LENGTH(many); i++)
		assert_int_equal(fail_twice(&eight, many[i], 1, 8).above, 0);
}

/* ---- By hand ---- */

static void make_drawn(struct trial *t, const char *text)
{
	*t = (struct trial){.random = {1}};
	t->fabric = recipe_draw(text);
	assert_true(make(t, PM_VLAN_MAX));
	pm_vlans_assign(&t->vlans, NULL, &t->table, &t->assignment);
}

/* Two leaves with as many cables to the spine as hosts: each cable has a VLAN. */
static const char parallel[] =
	"a/8 b/8 top/8 a:1=a1 a:2=a2 a:3=a3 b:1=b1 b:2=b2 b:3=b3 "
	"a:4=top:1 a:5=top:2 a:6=top:3 b:4=top:4 b:5=top:5 b:6=top:6";

static void test_parallel(void **state)
{
	struct trial t;

	make_drawn(&t, parallel);
	assert_int_equal(t.vlans.num, 3);
	assert_int_equal(t.vlans.needed, 3);
	assert_int_equal(t.vlans.cables, 6);
	for (uint32_t h = 0; h < 6; h++)
		assert_int_equal(t.table.host[h].vlan, h % 3);
	check_trees(&t);
	end(&t);
}

static void cut_cable(struct trial *t, const char *name, unsigned int num)
{
	uint32_t node = pm_fabric_find_name(t->fabric, name);
	uint32_t port = t->fabric->nodes[node].first_port + num;

	t->cut[port] = t->cut[t->fabric->ports[port].peer] = 1;
}

static void check_lone_cable(uint8_t untagged)
{
	struct trial t;

	make_drawn(&t,
		   "a/8 b/8 gate/8 top/8 other/8 a:1=a1 a:2=a2 b:1=b1 b:2=b2 "
		   "gate:1=g1 a:3=top:1 a:4=other:1 b:3=top:2 b:4=other:2 gate:2=top:3");
	t.vlans.untagged[4] = untagged;
	pm_vlans_assign(&t.vlans, NULL, &t.table, &t.assignment);
	assert_int_equal(count_unreachable(&t, false), 0);
	assert_int_equal(t.table.host[4].vlan, t.vlans.access);
	for (uint32_t h = 0; h < 4; h++) {
		assert_int_not_equal(t.table.host[h].vlan, t.table.host[h ^ 1].vlan);
		assert_true(t.table.host[h].priority < t.table.host[4].priority);
	}
	end(&t);
}

/* A leaf that has one VLAN comes first, and others have all of theirs. */
static void test_lone_cable(void **state)
{
	check_lone_cable(0);
	check_lone_cable(1);
}

/* A host that sends without tags has the access VLAN for all, and keeps it. */
static void test_untagged(void **state)
{
	struct pm_vlan_assignment assignment;
	struct trial t;

	make_drawn(&t, parallel);
	t.vlans.untagged[4] = 1;
	pm_vlans_assign(&t.vlans, NULL, &t.table, &assignment);
	assert_int_equal(t.table.host[4].vlan, t.vlans.access);
	assert_int_equal(t.table.broadcast, t.vlans.access);
	for (uint32_t h = 0; h < 6; h++)
		assert_true(h == 4 ||
			    t.table.host[h].priority < t.table.host[4].priority);
	check_priorities(&t);
	cut_cable(&t, "a", 4); /* in the access VLAN */
	pm_vlans_fail(&t.vlans, t.cut, &t.table, &assignment);
	assert_int_equal(t.table.host[4].vlan, t.vlans.access);
	assert_int_equal(assignment.unreachable,
			 3); /* a's three, with the one that has no tags */
	assert_int_equal(count_unreachable(&t, false), 3);
	assert_int_not_equal(t.table.broadcast, t.vlans.access);
	assert_int_equal(assignment.without_broadcast, 1);
	end(&t);
}

/* The highest priority is taken: lines go elsewhere. */
static void test_no_priorities(void **state)
{
	struct pm_vlan_assignment assignment;
	struct trial t;

	for (uint32_t h = 0; h < 6; h++) {
		make_drawn(&t, parallel);
		t.table.host[h].priority = PM_VLAN_PINNED - 7;
		cut_cable(&t, "a", 4);
		pm_vlans_fail(&t.vlans, t.cut, &t.table, &assignment);
		check_priorities(&t);
		assert_int_equal(count_unreachable(&t, false), 0);
		for (uint32_t i = 0; i < 6; i++)
			assert_true(t.table.host[i].priority < PM_VLAN_PINNED - 6);
		end(&t);
	}
}

/* A switch between leaves and the top learns more than they do. */
static void test_middle(void **state)
{
	static const char text[] =
		"a/2 b/2 e/2 c/2 m/8 n/8 s/4 t/4 u/4 a:1=a1 b:1=b1 e:1=e1 c:1=c1 a:2=m:1 "
		"b:2=m:2 e:2=m:3 c:2=n:1 m:4=s:1 m:5=t:1 m:6=u:1 n:2=s:2 n:3=t:2 n:4=u:2";
	struct trial t;
	uint64_t macs;
	uint32_t sw;

	make_drawn(&t, text);
	assert_int_equal(t.vlans.num, 3);
	pm_vlans_count_macs(&t.vlans, &t.table, &macs, &sw);
	assert_int_equal(macs, reference_macs(&t, sw));
	assert_string_equal(pm_fabric_name(t.fabric, sw), "m");
	end(&t);
}

/* A switch with nothing above it is a top, whatever others of its level have. */
static void test_low_top(void **state)
{
	static const char text[] =
		"a/4 b/4 c/4 m/4 n/4 low/4 top/4 a:1=a1 b:1=b1 c:1=c1 a:2=m:1 b:2=m:2 "
		"c:2=n:1 m:3=top:1 n:3=top:2 a:3=low:1 b:3=low:2";
	struct trial t;

	make_drawn(&t, text);
	assert_int_equal(t.vlans.num, 2);
	assert_string_equal(pm_fabric_name(t.fabric, t.vlans.top[0]), "top");
	assert_string_equal(pm_fabric_name(t.fabric, t.vlans.top[1]), "low");
	check_trees(&t);
	assert_int_equal(count_unreachable(&t, false), 0);
	end(&t);
}

/* Hosts with this link up on the path to the top of their VLAN. */
static uint32_t count_paths(const struct trial *t, uint32_t port)
{
	uint32_t num = 0;

	for (uint32_t h = 0; h < t->vlans.num_hosts; h++) {
		const uint32_t *up = t->vlans.up +
				     (size_t)t->table.host[h].vlan * t->tree.num_switches;

		for (uint32_t sw = t->vlans.site[h]; up[sw] < PM_VLAN_TOP;
		     sw = t->tree.remote[up[sw]])
			num += up[sw] == port;
	}
	return num;
}

/* Between a switch's links up with the most and with the fewest of these. */
static uint32_t difference(const struct trial *t, const char *name)
{
	uint32_t least = UINT32_MAX, most = 0;

	pm_for_each_port(i, t->fabric, pm_fabric_find_name(t->fabric, name)) {
		uint32_t num = count_paths(t, i);

		if (!is_up(t, i))
			continue;
		least = num < least ? num : least;
		most = num > most ? num : most;
	}
	return most - least;
}

/*
 * Hosts above a leaf: in all tables with as many hosts on one of the leaf's cables as on
 * the other, cables of m differ by 2 or more. 3 hosts of the leaf come by one VLAN alone.
 */
static void test_host_above(void **state)
{
	static const char text[] =
		"l/8 k/4 m/8 n/8 o/8 p/8 t/8 u/8 l:1=a l:2=b l:3=c l:4=d l:5=e l:6=f k:1=g "
		"k:2=h m:1=i l:7=m:2 l:8=n:2 k:3=o:1 k:4=p:1 m:3=t:1 m:4=u:1 n:3=t:2 "
		"n:4=u:2 o:3=t:3 o:4=u:3 p:3=t:4 p:4=u:4";
	struct pm_vlan_host *host;
	struct trial t;
	uint32_t even = 0;

	make_drawn(&t, text);
	assert_int_equal(t.vlans.num, 2);
	assert_int_equal(t.vlans.num_hosts, 9);
	host = t.table.host;
	assert_int_equal(t.assignment.spread, 0);
	assert_int_equal(difference(&t, "l"), 0);
	assert_int_equal(difference(&t, "m"), 2);
	for (uint32_t bits = 0; bits < 1 << 9; bits++) {
		for (uint32_t h = 0; h < 9; h++)
			host[h].vlan = bits >> h & 1;
		if (difference(&t, "l"))
			continue;
		even++;
		assert_true(difference(&t, "m") >= 2);
	}
	assert_int_equal(even, 20 * 8);
	end(&t);
}

/* Two groups of two leaves, all joined: in each VLAN the leaves use both switches above.
 */
static void test_full_groups(void **state)
{
	static const char text[] =
		"a/8 b/8 c/8 d/8 m/8 n/8 o/8 p/8 t/8 u/8 a:1=a1 a:2=a2 b:1=b1 b:2=b2 "
		"c:1=c1 c:2=c2 d:1=d1 d:2=d2 a:3=m:1 a:4=n:1 b:3=m:2 b:4=n:2 "
		"c:3=o:1 c:4=p:1 d:3=o:2 d:4=p:2 m:3=t:1 m:4=u:1 n:3=t:2 n:4=u:2 "
		"o:3=t:3 o:4=u:3 p:3=t:4 p:4=u:4";
	struct trial t;

	make_drawn(&t, text);
	assert_int_equal(t.vlans.num, 2);
	pm_for_each_port(i, t.fabric, pm_fabric_find_name(t.fabric, "m"))
		assert_int_equal(count_paths(&t, i), is_up(&t, i));
	end(&t);
}

/* 36 leaves, 18 spines: the costs of a cable, two cables and a spine. */
static void test_two_levels(void **state)
{
	const struct recipe_xgft shape = {
		.levels = 2,
		.hosts = 18,
		.children = {0, 36},
		.parents = {18},
		.parallel = {1},
	};
	struct pm_vlan_assignment assignment;
	struct trial t = {.random = {1}};
	uint32_t priority[648];
	uint64_t macs;
	uint32_t sw;

	recipe_add_xgft(&t.recipe, &shape);
	t.fabric = recipe_build(&t.recipe, NULL);
	assert_true(make(&t, PM_VLAN_MAX));
	assert_int_equal(t.vlans.num, 18);
	pm_vlans_assign(&t.vlans, NULL, &t.table, &assignment);
	assert_int_equal(assignment.pairs, 648 * 647 / 2);
	assert_int_equal(assignment.unreachable, 0);
	assert_int_equal(assignment.spread, 0);
	pm_vlans_count_macs(&t.vlans, &t.table, &macs, &sw);
	assert_int_equal(macs, 18 * 648 - 18 * 17 / 2);
	for (uint32_t h = 0; h < 648; h++)
		priority[h] = t.table.host[h].priority;
	pm_for_each_port(i, t.fabric, t.vlans.top[3])
		t.cut[i] = t.cut[t.fabric->ports[i].peer] = 1;
	pm_vlans_fail(&t.vlans, t.cut, &t.table, &assignment);
	/* Nobody has to decide for more pairs than before. */
	for (uint32_t h = 0; h < 648; h++)
		assert_int_equal(t.table.host[h].priority, priority[h]);
	assert_int_equal(assignment.unreachable, 0);
	assert_int_equal(assignment.without_broadcast, 0);
	assert_int_equal(assignment.moved, assignment.bound);
	assert_in_range(assignment.moved, 34, 36);

	/*
	 * The last leaf's cable, then, with priorities the other way round, the first
	 * one's: its hosts decide for the fewest pairs, and need a higher priority.
	 */
	for (int last = 1; last >= 0; last--) {
		memset(t.cut, 0, t.fabric->num_ports);
		pm_vlans_assign(&t.vlans, NULL, &t.table, &assignment);
		for (uint32_t h = 0; h < 648 && !last; h++)
			t.table.host[h].priority = priority[647 - h];
		cut_cable(&t, last ? "sw0-35" : "sw0-0", 18 + 4);
		pm_vlans_fail(&t.vlans, t.cut, &t.table, &assignment);
		assert_int_equal(assignment.unreachable, 0);
		assert_int_equal(assignment.moved, 18);
		assert_int_equal(assignment.bound, 18);
	}
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trees),
		cmocka_unit_test(test_merged),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_many_failures),
		cmocka_unit_test(test_many_hosts),
		cmocka_unit_test(test_few_lines),
		cmocka_unit_test(test_fewest_missed),
		cmocka_unit_test(test_parallel),
		cmocka_unit_test(test_lone_cable),
		cmocka_unit_test(test_untagged),
		cmocka_unit_test(test_no_priorities),
		cmocka_unit_test(test_middle),
		cmocka_unit_test(test_low_top),
		cmocka_unit_test(test_host_above),
		cmocka_unit_test(test_full_groups),
		cmocka_unit_test(test_two_levels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
