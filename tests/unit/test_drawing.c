/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A drawing of a small tree, and its changes, missing and moved parts, when cables,
 * hosts and switches change.
 */
#include "unit.h"

#include <portmajor/plan/drawing.h>

#include <stdio.h>

static uint64_t guid_of(const char *name)
{
	return (uint64_t)(unsigned char)name[0] << 8 | (unsigned char)name[1];
}

static uint32_t find_or_add(struct pm_fabric *fabric, const char *id)
{
	const char *name = id[2] == '=' ? id + 3 : id;
	uint32_t node;

	for (node = 0; node < fabric->num_nodes; node++)
		if (fabric->nodes[node].guid == guid_of(id))
			return node;
	assert_int_equal(pm_fabric_add_node(fabric, *name == 'h' ? PM_CA : PM_SWITCH,
					    guid_of(id), 4, name, &node, NULL),
			 0);
	return node;
}

/*
 * "l0:1-s0:1 l0:2-ha:1": names make nodes, hX hosts and others switches. A node's GUID is
 * its name's bytes; `x9=s0` has the name s0 and the GUID x9.
 */
static struct pm_fabric *draw(const char *text)
{
	struct pm_fabric *fabric = pm_fabric_new();
	char copy[512], *rest = copy, *word;

	snprintf(copy, sizeof(copy), "%s", text);
	while ((word = strsep(&rest, " "))) {
		char a[8], b[8];
		unsigned int p, q;
		uint32_t x, y;

		assert_int_equal(sscanf(word, "%7[^:]:%u-%7[^:]:%u", a, &p, b, &q), 4);
		x = find_or_add(fabric, a);
		y = find_or_add(fabric, b);
		assert_int_equal(pm_fabric_link(fabric, x, p, y, q, NULL), 0);
	}
	assert_int_equal(pm_fabric_seal(fabric, NULL), 0);
	return fabric;
}

static void print_end(const struct pm_fabric *fabric, uint32_t port, FILE *out)
{
	fprintf(out, "%s:%u", pm_fabric_name(fabric, fabric->ports[port].node),
		fabric->ports[port].num);
}

static void print_link(const struct pm_fabric *fabric, uint32_t port, char sign,
		       FILE *out)
{
	fprintf(out, " %c", sign);
	print_end(fabric, port, out);
	if (fabric->ports[port].peer == PM_NONE)
		return;
	fputc('-', out);
	print_end(fabric, fabric->ports[port].peer, out);
}

/* " OLD>NEW -MISSING +ELSEWHERE" after an update, which it makes. */
static char *update(struct pm_fabric **drawing, const struct pm_fabric *now,
		    bool *changed)
{
	struct pm_drawing_replaced *replaced;
	struct pm_drawing_diff diff;
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	uint32_t num;

	assert_int_equal(pm_drawing_update(drawing, now, &replaced, &num, changed, NULL),
			 0);
	for (uint32_t i = 0; i < num; i++) {
		assert_int_equal(replaced[i].name[0], (char)(replaced[i].was >> 8));
		fprintf(out, " %c%c>%c%c", (char)(replaced[i].was >> 8),
			(char)replaced[i].was, (char)(replaced[i].is >> 8),
			(char)replaced[i].is);
	}
	free(replaced);
	assert_int_equal(pm_drawing_compare(*drawing, now, &diff, NULL), 0);
	for (uint32_t i = 0; i < diff.num_missing; i++)
		print_link(*drawing, diff.missing[i], '-', out);
	for (uint32_t i = 0; i < diff.num_elsewhere; i++)
		print_link(now, diff.elsewhere[i], '+', out);
	pm_drawing_diff_free(&diff);
	fclose(out);
	return text;
}

#define WHOLE "l0:1-ha:1 l0:2-hb:1 l1:1-hc:1 l0:3-s0:1 l0:4-s1:1 l1:3-s0:2 l1:4-s1:2"

static const struct row {
	const char *name, *now, *found;
	bool grows;
} rows[] = {
	{"as drawn", WHOLE, "", false},
	{"a host is gone", "l0:1-ha:1 l1:1-hc:1 l0:3-s0:1 l0:4-s1:1 l1:3-s0:2 l1:4-s1:2",
	 " -hb:1-l0:2", false},
	{"a leaf is gone, with its host", "l0:1-ha:1 l0:2-hb:1 l0:3-s0:1 l0:4-s1:1", "",
	 false},
	{"a cable is gone", "l0:1-ha:1 l0:2-hb:1 l1:1-hc:1 l0:3-s0:1 l0:4-s1:1 l1:3-s0:2",
	 " -l1:4-s1:2", false},
	{"an uplink in a host's port",
	 "l0:1-ha:1 l0:2-s1:1 l1:1-hc:1 l0:3-s0:1 l1:3-s0:2 l1:4-s1:2",
	 " -hb:1-l0:2 +l0:2-s1:1", false},
	{"an uplink in a free port",
	 "l0:1-ha:1 l0:2-hb:1 l1:1-hc:1 l0:3-s0:1 l0:4-s1:1 l1:3-s0:2 l1:2-s1:2",
	 " +l1:2-s1:2", false},
	{"two cables swapped",
	 "l0:1-ha:1 l0:2-hb:1 l1:1-hc:1 l0:3-s1:1 l0:4-s0:1 l1:3-s0:2 l1:4-s1:2",
	 " +l0:3-s1:1 +l0:4-s0:1", false},
	{"a host in a free port",
	 "l0:1-ha:1 l1:2-hb:1 l1:1-hc:1 l0:3-s0:1 l0:4-s1:1 l1:3-s0:2 l1:4-s1:2",
	 " +hb:1-l1:2", false},
	{"a host in the port of another one",
	 "l0:1-ha:1 l1:1-hb:1 l0:3-s0:1 l0:4-s1:1 l1:3-s0:2 l1:4-s1:2",
	 " -hc:1-l1:1 +hb:1-l1:1", false},
	{"two hosts have exchanged their ports",
	 "l0:1-hb:1 l0:2-ha:1 l1:1-hc:1 l0:3-s0:1 l0:4-s1:1 l1:3-s0:2 l1:4-s1:2",
	 " +ha:1-l0:2 +hb:1-l0:1", false},
	{"an unknown host in the port of one that is gone",
	 "l0:1-ha:1 l0:2-hx:1 l1:1-hc:1 l0:3-s0:1 l0:4-s1:1 l1:3-s0:2 l1:4-s1:2",
	 " -hb:1-l0:2 +hx:1-l0:2", false},
	{"another adapter",
	 "l0:1-ha:1 y0=hb:1-l0:2 l1:1-hc:1 l0:3-s0:1 l0:4-s1:1 "
	 "l1:3-s0:2 l1:4-s1:2",
	 " hb>y0", true},
	{"another spine",
	 "l0:1-ha:1 l0:2-hb:1 l1:1-hc:1 l0:3-s0:1 l0:4-z9=s1:1 l1:3-s0:2 l1:4-z9=s1:2",
	 " s1>z9", true},
	{"another leaf",
	 "z9=l0:1-ha:1 z9=l0:2-hb:1 l1:1-hc:1 z9=l0:3-s0:1 z9=l0:4-s1:1 l1:3-s0:2 "
	 "l1:4-s1:2",
	 " l0>z9", true},
	{"a spine with cables in other ports",
	 "l0:1-ha:1 l0:2-hb:1 l1:1-hc:1 l0:3-s0:1 "
	 "l0:4-z9=s1:2 l1:3-s0:2 l1:4-z9=s1:1",
	 " +l0:4-s1:2 +l1:4-s1:1", false},
	{"more hosts and switches", WHOLE " l1:2-hd:1 s0:3-l2:3 s1:3-l2:4 l2:1-he:1", "",
	 true},
};

static void test_rows(void **state)
{
	for_each_row(row, rows) {
		struct pm_fabric *whole = draw(WHOLE), *now = draw(row->now);
		struct pm_fabric *drawing = NULL;
		bool changed;
		char *found;

		print_message("%s\n", row->name);
		found = update(&drawing, whole, &changed);
		assert_string_equal(found, "");
		assert_true(changed);
		free(found);
		found = update(&drawing, now, &changed);
		assert_string_equal(found, row->found);
		assert_int_equal(changed, row->grows);
		free(found);
		/* Once more, with the same result. */
		found = update(&drawing, now, &changed);
		assert_false(changed);
		free(found);
		if (!row->grows) {
			found = update(&drawing, whole, &changed);
			assert_string_equal(found, "");
			free(found);
		}
		pm_fabric_free(drawing);
		pm_fabric_free(whole);
		pm_fabric_free(now);
	}
}

/* Adopts all moved parts, and compares again. */
static void check_adopted(const char *text)
{
	struct pm_fabric *whole = draw(WHOLE), *now = draw(text), *drawing = NULL;
	struct pm_drawing_diff diff;
	bool changed;
	char *found;

	free(update(&drawing, whole, &changed));
	free(update(&drawing, now, &changed));
	assert_int_equal(pm_drawing_compare(drawing, now, &diff, NULL), 0);
	for (uint32_t i = 0; i < diff.num_elsewhere; i++)
		assert_int_equal(pm_drawing_adopt(&drawing, now, diff.elsewhere[i], NULL),
				 0);
	pm_drawing_diff_free(&diff);
	found = update(&drawing, now, &changed);
	assert_string_equal(found, "");
	assert_false(changed);
	free(found);
	pm_fabric_free(drawing);
	pm_fabric_free(whole);
	pm_fabric_free(now);
}

static void test_adopt(void **state)
{
	check_adopted("l0:1-ha:1 l0:2-s1:1 l1:1-hc:1 l0:3-s0:1 l1:3-s0:2 l1:4-s1:2");
	check_adopted("l0:1-ha:1 l0:2-hb:1 l1:1-hc:1 l0:3-s1:1 l0:4-s0:1 l1:3-s0:2 "
		      "l1:4-s1:2");
	check_adopted("l0:1-ha:1 l1:1-hb:1 l0:3-s0:1 l0:4-s1:1 l1:3-s0:2 l1:4-s1:2");
	check_adopted("l0:1-ha:1 l0:2-hx:1 l1:1-hc:1 l0:3-s0:1 l0:4-s1:1 l1:3-s0:2 "
		      "l1:4-s1:2");
}

/* A host without a place is drawn where it returns. */
static void test_without_place(void **state)
{
	struct pm_fabric *whole = draw(WHOLE), *drawing = NULL;
	struct pm_fabric *moved =
		draw("l0:1-ha:1 l1:1-hb:1 l0:3-s0:1 l0:4-s1:1 l1:3-s0:2 l1:4-s1:2");
	struct pm_fabric *back = draw("l0:1-ha:1 l1:1-hb:1 l1:2-hc:1 l0:3-s0:1 l0:4-s1:1 "
				      "l1:3-s0:2 l1:4-s1:2");
	struct pm_drawing_diff diff;
	bool changed;
	char *found;

	free(update(&drawing, whole, &changed));
	assert_int_equal(pm_drawing_compare(drawing, moved, &diff, NULL), 0);
	assert_int_equal(diff.num_elsewhere, 1);
	assert_int_equal(pm_drawing_adopt(&drawing, moved, diff.elsewhere[0], NULL), 0);
	pm_drawing_diff_free(&diff);
	found = update(&drawing, back, &changed);
	assert_string_equal(found, "");
	assert_true(changed);
	free(found);
	found = update(&drawing, moved, &changed);
	assert_string_equal(found, " -hc:1-l1:2");
	free(found);
	pm_fabric_free(drawing);
	pm_fabric_free(whole);
	pm_fabric_free(moved);
	pm_fabric_free(back);
}

static void test_fits(void **state)
{
	struct pm_fabric *whole = draw(WHOLE), *other = draw("a0:1-h0:1 a0:2-b0:1");
	struct pm_fabric *less = draw("l0:1-ha:1 l0:3-s0:1 l1:3-s0:2");

	assert_true(pm_drawing_fits(whole, whole));
	assert_true(pm_drawing_fits(whole, less));
	assert_false(pm_drawing_fits(whole, other));
	pm_fabric_free(whole);
	pm_fabric_free(other);
	pm_fabric_free(less);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_adopt),
		cmocka_unit_test(test_without_place),
		cmocka_unit_test(test_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
