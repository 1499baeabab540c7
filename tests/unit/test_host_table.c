/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Host tables and changes of them, and faults in such files. */

#include "world.h"
#include "unit.h"

#include <portmajor/base/random.h>
#include <portmajor/fabric/mac.h>
#include <portmajor/files/host_table.h>

#include <inttypes.h>
#include <unistd.h>

#define ONE "02:00:00:00:00:01"
#define TWO "02:00:00:00:00:02"

static int parse(const char *text, bool changes, struct pm_host_table *table,
		 struct pm_error *err)
{
	return changes ? pm_host_changes_parse(text, strlen(text), "f", table, err)
		       : pm_host_table_parse(text, strlen(text), "f", table, err);
}

static struct pm_host_table read_well(const char *text, bool changes)
{
	struct pm_host_table table;
	struct pm_error err = {""};

	if (parse(text, changes, &table, &err))
		fail_msg("%s", err.text);
	return table;
}

static void test_read(void **state)
{
	struct pm_host_table table =
		read_well("# a table\n\n" TWO " 4094 4294967295 # h0-2\r\n"
			  "\t" ONE "  1 1#h0-1\nFF:ff:FF:ff:ff:ff 7 3",
			  false);
	const struct pm_host_line *line = pm_host_table_find(&table, 0x020000000001);
	char text[PM_MAC_TEXT];

	assert_int_equal(table.num, 3);
	assert_ptr_equal(line, table.lines);
	assert_int_equal(line->vlan, 1);
	assert_int_equal(line->priority, 1);
	assert_int_equal(line->line, 4);
	line = pm_host_table_find(&table, 0x020000000002);
	assert_int_equal(line->vlan, PM_HOST_VLAN_MAX);
	assert_int_equal(line->priority, UINT32_MAX);
	assert_int_equal(pm_host_table_find(&table, PM_MAC_GROUP)->vlan, 7);
	assert_null(pm_host_table_find(&table, 0x020000000003));
	assert_null(pm_host_table_find(&table, 0));
	assert_string_equal(pm_mac_print(0x0a0b0c0d0e0f, text), "0a:0b:0c:0d:0e:0f");
	pm_host_table_free(&table);
	table = read_well("", false);
	assert_int_equal(table.num, 0);
	assert_null(pm_host_table_find(&table, 1));
	pm_host_table_free(&table);
}

static void test_files(void **state)
{
	char path[] = "/tmp/test_host_table-XXXXXX";
	struct pm_host_table table;
	struct pm_error err = {""};
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	dprintf(fd, "%s 2 3\n", ONE);
	close(fd);
	assert_int_equal(pm_host_table_read(path, &table, &err), 0);
	assert_int_equal(table.num, 1);
	assert_int_equal(table.lines[0].priority, 3);
	pm_host_table_free(&table);
	unlink(path);
	assert_int_equal(pm_host_changes_read(path, &table, &err), -ENOENT);
	assert_non_null(strstr(err.text, path));
}

static const struct {
	const char *text, *message;
	bool changes;
} bad[] = {
	{"02:00:00:00:00 1 1\n", "f:1: no MAC address: 02:00:00:00:00", false},
	{"\n02-00-00-00-00-01 1 1\n", "f:2: no MAC address: 02-00-00-00-00-01", false},
	{"02:00:00:00:00:0g 1 1\n", "f:1: no MAC address: 02:00:00:00:00:0g", false},
	{"02:00:00:00:00:011 1 1\n", "f:1: no MAC address: 02:00:00:00:00:011", false},
	{"00:00:00:00:00:00 1 1\n", "f:1: 00:00:00:00:00:00 is no host's address", false},
	{"01:00:5e:00:00:01 1 1\n", "f:1: 01:00:5e:00:00:01 is no host's address", false},
	{ONE "\n", "f:1: no VLAN", false},
	{ONE " 0 1\n", "f:1: VLAN 0 is not 1 to 4094", false},
	{ONE " 4095 1\n", "f:1: VLAN 4095 is not 1 to 4094", false},
	{ONE " 1x 1\n", "f:1: VLAN 1x is not 1 to 4094", false},
	{ONE " -1 1\n", "f:1: VLAN -1 is not 1 to 4094", false},
	{ONE " 1 # 5\n", "f:1: no priority", false},
	{ONE " 1 0\n", "f:1: priority 0 is not 1 to 4294967295", false},
	{ONE " 1 4294967296\n", "f:1: priority 4294967296 is not 1 to 4294967295", false},
	{ONE " 1 18446744073709551617\n",
	 "f:1: priority 18446744073709551617 is not 1 to 4294967295", false},
	{ONE " 1 1 h0-1\n", "f:1: more than a line has: h0-1", false},
	{ONE " 1 1\n" TWO " 1 2\n" ONE " 2 3\n", "f:3: " ONE " is in line 1, too", false},
	{ONE " 1 9\n#\n" TWO " 1 9\n", "f:3: priority 9 is that of line 1, too", false},
	{ONE " 1 9\nff:ff:ff:ff:ff:ff 1 9\n", "f:2: priority 9 is that of line 1, too",
	 false},
	{"- " ONE "\n", "f:1: no MAC address: -", false},
	{"\x01\n", "f:1: not text: byte 0x01", false},
	{"-\n", "f:1: no MAC address", true},
	{"- " ONE " 1 1\n", "f:1: more than a line has: 1", true},
	{"- " ONE "\n" ONE " 1 1\n", "f:2: " ONE " is in line 1, too", true},
	{ONE " 1 9\n" TWO " 1 9\n", "f:2: priority 9 is that of line 1, too", true},
};

static void test_bad_lines(void **state)
{
	for_each_row(row, bad) {
		struct pm_host_table table = {(void *)1, 77};
		struct pm_error err = {""};

		assert_int_equal(parse(row->text, row->changes, &table, &err), -EINVAL);
		assert_string_equal(err.text, row->message);
		assert_int_equal(table.num, 77);
	}
}

static void test_bad_changes(void **state)
{
	struct pm_host_table table = read_well(ONE " 1 1\n" TWO " 2 2\n", false);
	struct pm_host_table changes = read_well(TWO " 3 1\n", true), made;
	struct pm_error err;

	assert_int_equal(pm_host_table_change(&table, &changes, "c", &made, &err),
			 -EINVAL);
	assert_string_equal(err.text,
			    "c: " ONE " and " TWO " would both have priority 1");
	pm_host_table_free(&changes);
	/* Priorities may be exchanged, and several hosts may be absent. */
	changes = read_well(TWO " 3 1\n" ONE " 1 2\n", true);
	assert_int_equal(pm_host_table_change(&table, &changes, "c", &made, &err), 0);
	pm_host_table_free(&changes);
	pm_host_table_free(&table);
	changes = read_well("- " ONE "\n- " TWO "\n", true);
	assert_int_equal(pm_host_table_change(&made, &changes, "c", &table, &err), 0);
	assert_int_equal(table.num, 0);
	/* Applied once more, as when they are distributed again. */
	pm_host_table_free(&made);
	assert_int_equal(pm_host_table_change(&table, &changes, "c", &made, &err), 0);
	assert_int_equal(made.num, 0);
	pm_host_table_free(&changes);
	pm_host_table_free(&made);
	pm_host_table_free(&table);
}

/* ---- Old + changes = new, with tables that are drawn ---- */

#define HOSTS 40

/* Half of the hosts in random order, or all; vlans[i] is 0 for absent hosts. */
static void draw(uint64_t *random, uint32_t vlans[HOSTS], uint32_t *priority, FILE *out,
		 const uint32_t *old, const uint32_t *old_priority)
{
	uint32_t first = (uint32_t)pm_random_below(random, HOSTS);

	for (uint32_t k = 0; k < HOSTS; k++) {
		uint32_t i = (first + k * 7) % HOSTS;

		vlans[i] = pm_random_below(random, 3)
				   ? 1 + (uint32_t)pm_random_below(random, 3)
				   : 0;
		priority[i] = old && pm_random_below(random, 2)
				      ? old_priority[i]
				      : (old ? 1000 : 0) + i + 1;
		if (old && vlans[i] == old[i] && priority[i] == old_priority[i])
			continue;
		if (vlans[i])
			fprintf(out, "02:00:00:00:%02x:00 %" PRIu32 " %" PRIu32 "\n",
				(unsigned int)i, vlans[i], priority[i]);
		else if (old && old[i])
			fprintf(out, "- 02:00:00:00:%02x:00\n", (unsigned int)i);
	}
}

static void check_table(const struct pm_host_table *table, const uint32_t *vlans,
			const uint32_t *priority)
{
	uint32_t num = 0;

	for (uint32_t i = 0; i < HOSTS; i++) {
		const struct pm_host_line *line =
			pm_host_table_find(table, 0x020000000000 | (uint64_t)i << 8);

		assert_int_equal(line != NULL, vlans[i] != 0);
		if (!line)
			continue;
		assert_int_equal(line->vlan, vlans[i]);
		assert_int_equal(line->priority, priority[i]);
		num++;
	}
	assert_int_equal(table->num, num);
}

static void test_drawn(void **state)
{
	uint64_t seed = from_environment("PM_SEED", 1),
		 rounds = from_environment("PM_ROUNDS", 300);

	for (uint64_t round = 0; round < rounds; round++) {
		uint64_t random = seed + round;
		uint32_t vlans[2][HOSTS], priority[2][HOSTS];
		struct pm_host_table old, changes, made;
		char *text = NULL, *diff = NULL;
		size_t length;
		FILE *out = open_memstream(&text, &length);

		print_message("PM_SEED=%" PRIu64 "\n", random);
		draw(&random, vlans[0], priority[0], out, NULL, NULL);
		fclose(out);
		out = open_memstream(&diff, &length);
		draw(&random, vlans[1], priority[1], out, vlans[0], priority[0]);
		fclose(out);
		old = read_well(text, false);
		check_table(&old, vlans[0], priority[0]);
		changes = read_well(diff, true);
		assert_int_equal(pm_host_table_change(&old, &changes, "c", &made, NULL),
				 0);
		check_table(&made, vlans[1], priority[1]);
		check_table(&old, vlans[0], priority[0]);
		if (changes.num)
			assert_int_not_equal(pm_host_table_sum(&old),
					     pm_host_table_sum(&made));
		else
			assert_int_equal(pm_host_table_sum(&old),
					 pm_host_table_sum(&made));
		pm_host_table_free(&old);
		pm_host_table_free(&changes);
		pm_host_table_free(&made);
		free(text);
		free(diff);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),	  cmocka_unit_test(test_files),
		cmocka_unit_test(test_bad_lines), cmocka_unit_test(test_bad_changes),
		cmocka_unit_test(test_drawn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
