/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Cables of two fabrics: drawn ones, with the differences written out; then random ones,
 * against components of the graph of all cables that only one of the two has.
 */
#include "recipe.h"
#include "world.h"
#include "unit.h"

#include <portmajor/analysis/cable_diff.h>
#include <portmajor/base/random.h>

#define PORTS 4
#define NODES 8 /* l0 .. l3, s0, s1, h0, h1 */

static const char *const names[NODES] = {"l0", "l1", "l2", "l3", "s0", "s1", "h0", "h1"};

/* "l0:1-s0:1 l1:1-s0:2": nodes have GUIDs from `guid` on. */
static struct pm_fabric *draw(const char *text, uint64_t guid)
{
	struct pm_fabric *fabric = pm_fabric_new();
	char copy[256], *rest = copy, *word;
	uint32_t at[NODES];

	assert_non_null(fabric);
	for (uint32_t i = 0; i < NODES; i++)
		assert_int_equal(
			pm_fabric_add_node(fabric, *names[i] == 'h' ? PM_CA : PM_SWITCH,
					   guid + i, PORTS, names[i], &at[i], NULL),
			0);
	snprintf(copy, sizeof(copy), "%s", text);
	while ((word = strsep(&rest, " "))) {
		uint32_t node[2] = {0, 0};
		unsigned int port[2];
		char name[2][3];

		if (!*word)
			continue;
		assert_int_equal(sscanf(word, "%2s:%u-%2s:%u", name[0], &port[0], name[1],
					&port[1]),
				 4);
		for (uint32_t i = 0; i < NODES; i++)
			for (int k = 0; k < 2; k++)
				if (!strcmp(names[i], name[k]))
					node[k] = at[i];
		assert_int_equal(
			pm_fabric_link(fabric, node[0], port[0], node[1], port[1], NULL),
			0);
	}
	assert_int_equal(pm_fabric_seal(fabric, NULL), 0);
	return fabric;
}

static void print_end(const struct pm_fabric *fabric, uint32_t port, FILE *out)
{
	fprintf(out, "%s:%u", pm_fabric_name(fabric, fabric->ports[port].node),
		fabric->ports[port].num);
}

static void print_cables(const struct pm_fabric *fabric, const uint32_t *list,
			 uint32_t num, char sign, FILE *out)
{
	for (uint32_t i = 0; i < num; i++) {
		fprintf(out, " %c", sign);
		print_end(fabric, list[i], out);
		fputc('-', out);
		print_end(fabric, fabric->ports[list[i]].peer, out);
	}
}

/* " -MISSING +ADDITIONAL CYCLE=PORT>FOUND" of each. */
static char *print(const struct pm_fabric *wanted, const struct pm_fabric *found,
		   const struct pm_cable_diff *diff)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(out);
	print_cables(wanted, diff->missing, diff->num_missing, '-', out);
	print_cables(found, diff->additional, diff->num_additional, '+', out);
	for (uint32_t i = 0; i < diff->num_swapped; i++) {
		fprintf(out, " %u=", diff->swapped[i].cycle);
		print_end(wanted, diff->swapped[i].port, out);
		fputc('>', out);
		print_end(wanted, diff->swapped[i].found, out);
	}
	assert_int_equal(fclose(out), 0);
	return text;
}

#define WHOLE "l0:1-s0:1 l0:2-s1:1 l1:1-s0:2 l1:2-s1:2 l0:3-h0:1 l1:3-h1:1"

static const struct {
	const char *name, *wanted, *found, *diff;
} rows[] = {
	{"same", WHOLE, WHOLE, ""},
	{"none", "", "", ""},
	{"missing", WHOLE, "l0:1-s0:1 l0:2-s1:1 l1:2-s1:2 l0:3-h0:1 l1:3-h1:1",
	 " -l1:1-s0:2"},
	{"additional", "l0:1-s0:1", "l0:1-s0:1 l2:1-s0:3", " +l2:1-s0:3"},
	{"moved to a free port", "l0:1-s0:1", "l0:1-s0:2", " -l0:1-s0:1 +l0:1-s0:2"},
	{"swapped at the spines", "l0:1-s0:1 l1:1-s0:2", "l0:1-s0:2 l1:1-s0:1",
	 " 0=l0:1>s0:2 0=l1:1>s0:1"},
	{"swapped at one spine and the leaves", "l0:1-s0:1 l1:1-s1:1",
	 "l0:1-l1:1 s0:1-s1:1", " 0=l0:1>l1:1 0=s1:1>s0:1"},
	{"swapped hosts", WHOLE,
	 "l0:1-s0:1 l0:2-s1:1 l1:1-s0:2 l1:2-s1:2 l0:3-h1:1 l1:3-h0:1",
	 " 0=l0:3>h1:1 0=l1:3>h0:1"},
	{"a host and an uplink", "l0:1-s0:1 l0:3-h0:1", "l0:1-h0:1 l0:3-s0:1",
	 " 0=l0:1>h0:1 0=l0:3>s0:1"},
	{"three of them", "l0:1-s0:1 l1:1-s0:2 l2:1-s0:3",
	 "l0:1-s0:2 l1:1-s0:3 l2:1-s0:1", " 0=l0:1>s0:2 0=l2:1>s0:1 0=l1:1>s0:3"},
	{"two pairs", "l0:1-s0:1 l1:1-s0:2 l2:1-s1:1 l3:1-s1:2",
	 "l0:1-s0:2 l1:1-s0:1 l2:1-s1:2 l3:1-s1:1",
	 " 0=l0:1>s0:2 0=l1:1>s0:1 1=l2:1>s1:2 1=l3:1>s1:1"},
	{"not swapped, as one is out", "l0:1-s0:1 l1:1-s0:2 l2:1-s0:3",
	 "l0:1-s0:2 l1:1-s0:3",
	 " -l0:1-s0:1 -l1:1-s0:2 -l2:1-s0:3"
	 " +l0:1-s0:2 +l1:1-s0:3"},
};

static void test_drawn(void **state)
{
	for_each_row(row, rows) {
		/* By GUID, and by name. */
		for (uint64_t guid = 1; guid <= 0x100; guid += 0xff) {
			struct pm_fabric *wanted = draw(row->wanted, 1);
			struct pm_fabric *found = draw(row->found, guid);
			struct pm_cable_diff diff;
			char *text;

			assert_int_equal(pm_cable_diff_find(wanted, found, &diff, NULL),
					 0);
			text = print(wanted, found, &diff);
			if (strcmp(text, row->diff) != 0)
				fail_msg("%s: \"%s\"", row->name, text);
			free(text);
			pm_cable_diff_free(&diff);
			pm_fabric_free(wanted);
			pm_fabric_free(found);
		}
	}
}

/* ---- Random fabrics ---- */

#define SWITCHES 6
#define ALL (SWITCHES * (PORTS + 1))

/* Joins ports at random; most as in another fabric, unless that is NULL. */
static struct pm_fabric *join_random(uint64_t *random, const struct pm_fabric *like)
{
	struct pm_fabric *fabric = pm_fabric_new();
	uint32_t at[SWITCHES];

	assert_non_null(fabric);
	for (uint32_t i = 0; i < SWITCHES; i++) {
		char name[8];

		snprintf(name, sizeof(name), "s%u", i);
		assert_int_equal(pm_fabric_add_node(fabric, PM_SWITCH, i + 1, PORTS, name,
						    &at[i], NULL),
				 0);
	}
	for (uint32_t i = 0; like && i < like->num_ports; i++) {
		uint32_t peer = like->ports[i].peer;

		if (peer != PM_NONE && peer > i && pm_random_below(random, 3))
			assert_int_equal(pm_fabric_link(fabric, like->ports[i].node,
							like->ports[i].num,
							like->ports[peer].node,
							like->ports[peer].num, NULL),
					 0);
	}
	for (uint64_t tries = pm_random_below(random, 40); tries; tries--)
		pm_fabric_link(fabric, (uint32_t)pm_random_below(random, SWITCHES),
			       1 + (unsigned int)pm_random_below(random, PORTS),
			       (uint32_t)pm_random_below(random, SWITCHES),
			       1 + (unsigned int)pm_random_below(random, PORTS), NULL);
	assert_int_equal(pm_fabric_seal(fabric, NULL), 0);
	return fabric;
}

static uint32_t only_in(const struct pm_fabric *a, const struct pm_fabric *b,
			uint32_t port)
{
	uint32_t peer = a->ports[port].peer;

	return peer != PM_NONE && b->ports[port].peer != peer ? peer : PM_NONE;
}

/* The lowest port of each component of differing cables: lowered until nothing changes.
 */
static void find_components(const struct pm_fabric *a, const struct pm_fabric *b,
			    uint32_t *component, bool *closed)
{
	bool changed = true;

	for (uint32_t i = 0; i < ALL; i++) {
		component[i] = i;
		closed[i] = true;
	}
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < ALL; i++) {
			uint32_t next[2] = {only_in(a, b, i), only_in(b, a, i)};

			for (int k = 0; k < 2; k++)
				if (next[k] != PM_NONE &&
				    component[next[k]] > component[i]) {
					component[next[k]] = component[i];
					changed = true;
				}
		}
	}
	for (uint32_t i = 0; i < ALL; i++)
		if (only_in(a, b, i) == PM_NONE || only_in(b, a, i) == PM_NONE)
			closed[component[i]] = false;
}

/* Counts the swapped cables. */
static uint32_t compare_random(uint64_t seed)
{
	uint64_t random = seed;
	struct pm_fabric *a = join_random(&random, NULL), *b = join_random(&random, a);
	uint32_t component[ALL], missing = 0, additional = 0, swapped = 0;
	struct pm_cable_diff diff;
	bool closed[ALL];

	assert_int_equal(a->num_ports, ALL);
	assert_int_equal(pm_cable_diff_find(a, b, &diff, NULL), 0);
	find_components(a, b, component, closed);
	for (uint32_t i = 0; i < ALL; i++) {
		bool gone = only_in(a, b, i) != PM_NONE && i < a->ports[i].peer;
		bool new = only_in(b, a, i) != PM_NONE &&i < b->ports[i].peer;

		if (gone && closed[component[i]])
			swapped++;
		else if (gone && diff.missing[missing++] != i)
			fail_msg("PM_SEED=%llu: missing %u", (unsigned long long)seed, i);
		if (new && !closed[component[i]] && diff.additional[additional++] != i)
			fail_msg("PM_SEED=%llu: new %u", (unsigned long long)seed, i);
	}
	if (diff.num_missing != missing || diff.num_additional != additional ||
	    diff.num_swapped != swapped)
		fail_msg("PM_SEED=%llu: %u missing, %u additional, %u swapped",
			 (unsigned long long)seed, missing, additional, swapped);
	for (uint32_t i = 0; i < diff.num_swapped; i++) {
		const struct pm_swapped_cable *s = &diff.swapped[i];

		assert_int_equal(b->ports[s->port].peer, s->found);
		assert_true(!i || s->cycle == s[-1].cycle || s->cycle == s[-1].cycle + 1);
		assert_true(!i || (s->cycle == s[-1].cycle) ==
					  (component[s->port] == component[s[-1].port]));
	}
	pm_cable_diff_free(&diff);
	pm_fabric_free(a);
	pm_fabric_free(b);
	return swapped;
}

static void test_random(void **state)
{
	uint64_t seed = from_environment("PM_SEED", 29);
	uint64_t rounds = from_environment("PM_ROUNDS", 2000), swapped = 0;

	print_message("PM_SEED=%llu\n", (unsigned long long)seed);
	for (uint64_t i = 0; i < rounds; i++)
		swapped += compare_random(seed + i);
	assert_true(swapped || rounds < 100);
}

/* Names of several nodes match no node; a host is no switch. */
static void test_names(void **state)
{
	struct pm_fabric *a = draw("l0:1-s0:1 l1:1-s0:2", 1);
	struct pm_fabric *b = draw("l0:1-s0:1 l1:1-s0:2", 0x100);
	struct pm_cable_diff diff;
	uint32_t l1 = pm_fabric_find_name(b, "l1");

	assert_int_equal(pm_fabric_rename(b, l1, 0x200, "l0", NULL), 0);
	assert_int_equal(pm_cable_diff_find(a, b, &diff, NULL), 0);
	assert_int_equal(diff.num_missing, 2);
	assert_int_equal(diff.num_additional, 2);
	pm_cable_diff_free(&diff);
	assert_int_equal(pm_fabric_rename(b, l1, 0x200, "h5", NULL), 0);
	assert_int_equal(pm_cable_diff_find(a, b, &diff, NULL), 0);
	assert_int_equal(diff.num_missing, 1);
	pm_cable_diff_free(&diff);
	pm_fabric_free(a);
	pm_fabric_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drawn),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
