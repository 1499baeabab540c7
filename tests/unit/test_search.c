/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Breadth-first searches over a drawing, by their results and their paths. */

#include "recipe.h"
#include "world.h"
#include "unit.h"

#include <portmajor/fabric/reach.h>
#include <portmajor/fabric/search.h>

/*
 *  a --- b --- d     f --- g     Switches, sorted as their names are; two cables
 *  |           |                 join a and c, and h is alone.
 *  +==== c ----+     h
 *        |
 *        e
 */
#define DRAWING                                                                          \
	"a/3 b/2 c/4 d/2 e/1 f/1 g/1 h/1 a:1=b:1 a:2=c:1 a:3=c:4 b:2=d:1 c:2=d:2 "       \
	"c:3=e:1 f:1=g:1"
#define NUM 8

struct row {
	const char *name;
	const char *starts; /* the search runs at each '|' and at the end */
	const char *barred; /* switches with cables that are not passed, away from them */
	const char *found;  /* in this order */
	const char *ports;  /* [found] number of the port before it, 0: a start */
	const char *distances, *origins;
};

static const struct row rows[] = {
	{"from one", "a", "", "abcde", "01223", "01122", "aaaaa"},
	{"from the end", "e", "", "ecadb", "01121", "01223", "eeeee"},
	{"from two at once", "eb", "", "ebcad", "00112", "00111", "ebebb"},
	{"from two, one after the other", "a|f", "", "abcdefg", "0122301", "0112201",
	 "aaaaaff"},
	{"a start that was found", "a|c", "", "abcde", "01223", "01122", "aaaaa"},
	{"around b", "a", "b", "abcde", "01223", "01122", "aaaaa"},
	{"around c", "a", "c", "abcd", "0122", "0112", "aaaa"},
	{"around b and c", "a", "bc", "abc", "012", "011", "aaa"},
	{"from nowhere", "", "", "", "", "", ""},
	{"alone", "h", "", "h", "0", "0", "h"},
};

struct ground {
	struct pm_fabric *fabric;
	const char *barred;
	uint32_t queue[NUM], by[NUM];
};

static bool passes(const void *context, uint32_t port)
{
	const struct ground *g = context;

	assert_int_not_equal(g->fabric->ports[port].peer, PM_NONE);
	return !strchr(g->barred, 'a' + (int)g->fabric->ports[port].node);
}

static struct pm_search search(struct ground *g, const struct row *row)
{
	struct pm_search s = {.fabric = g->fabric, .queue = g->queue, .by = g->by};
	pm_search_passes *filter = row->barred[0] ? passes : NULL;

	g->barred = row->barred;
	memset(g->queue, 0x55, sizeof(g->queue));
	memset(g->by, 0x55, sizeof(g->by));
	pm_search_begin(&s);
	for (const char *at = row->starts; *at; at++) {
		uint32_t before = s.count;
		bool is_new = *at != '|' && g->by[*at - 'a'] == PM_NONE;

		if (*at == '|')
			pm_search_run(&s, filter, g);
		else if (pm_search_start(&s, (uint32_t)(*at - 'a')) != is_new ||
			 s.count != before + is_new)
			fail_msg("%s: start %c", row->name, *at);
	}
	pm_search_run(&s, filter, g);
	return s;
}

/* The nodes found, in their order: a character for each. */
static void check(const struct row *row, const char *what, const char *expected,
		  const struct pm_search *s, char first, const uint32_t *values)
{
	char text[NUM + 1] = "";

	for (uint32_t k = 0; k < s->count; k++)
		text[k] = (char)(first + (int)values[k]);
	if (strcmp(text, expected))
		fail_msg("%s: %s: %s, not %s", row->name, what, text, expected);
}

static void check_by(const struct row *row, const char *what, const char *expected,
		     const struct pm_search *s, char first)
{
	uint32_t values[NUM], left = NUM;

	for (uint32_t k = 0; k < s->count; k++)
		values[k] = s->by[s->queue[k]];
	check(row, what, expected, s, first, values);
	for (uint32_t node = 0; node < NUM; node++)
		left -= s->by[node] != PM_NONE;
	assert_int_equal(left, NUM - s->count);
}

static void test_rows(void **state)
{
	struct ground g = {.fabric = recipe_draw(DRAWING)};

	assert_int_equal(g.fabric->num_nodes, NUM);
	for (size_t i = 0; i < LENGTH(rows); i++) {
		const struct row *row = &rows[i];
		struct pm_search s = search(&g, row);
		uint32_t ports[NUM];

		check(row, "found", row->found, &s, 'a', s.queue);
		for (uint32_t k = 0; k < s.count; k++) {
			const struct pm_port *port = &g.fabric->ports[s.by[s.queue[k]]];

			ports[k] = port->num;
			assert_int_equal(port->num == 0, port->node == s.queue[k]);
		}
		check(row, "ports", row->ports, &s, '0', ports);
		pm_search_distances(&s);
		check_by(row, "distances", row->distances, &s, '0');
		s = search(&g, row);
		pm_search_origins(&s);
		check_by(row, "origins", row->origins, &s, 'a');
	}
	pm_fabric_free(g.fabric);
}

/* Parts are what searches from all nodes find; a cable that is not usable joins nothing.
 */
static void test_parts(void **state)
{
	struct pm_fabric *fabric = recipe_draw(DRAWING);
	uint8_t *usable = malloc(fabric->num_ports);
	uint32_t part[NUM], queue[NUM];
	static const uint32_t whole[NUM] = {0, 0, 0, 0, 0, 5, 5, 7};
	static const uint32_t cut[NUM] = {0, 0, 2, 0, 2, 5, 5, 7};

	assert_non_null(usable);
	pm_reach_parts(fabric, NULL, part, queue);
	assert_memory_equal(part, whole, sizeof(part));
	memset(usable, 1, fabric->num_ports);
	pm_reach_parts(fabric, usable, part, queue);
	assert_memory_equal(part, whole, sizeof(part));
	for (unsigned int num = 1; num <= 4; num++) {
		uint32_t port = world_port(fabric, "c", num);

		if (num != 3)
			usable[port] = usable[fabric->ports[port].peer] = 0;
	}
	pm_reach_parts(fabric, usable, part, queue);
	assert_memory_equal(part, cut, sizeof(part));
	free(usable);
	pm_fabric_free(fabric);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
