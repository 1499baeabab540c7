/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ports of MAC addresses, and faults in such files. */
#include "unit.h"

#include <portmajor/fabric/fabric.h>
#include <portmajor/fabric/mac.h>
#include <portmajor/files/mac_list.h>

static void test_guid(void **state)
{
	/* As in the example of EUI-64: the bit of local addresses is turned round. */
	assert_int_equal(pm_mac_guid(0x001122334455), 0x021122fffe334455);
	assert_int_equal(pm_mac_guid(0x020000000001), 0x000000fffe000001);
	assert_int_equal(pm_guid_mac(0x021122fffe334455), 0x001122334455);
	assert_int_equal(pm_guid_mac(0x000000fffe000001), 0x020000000001);
	assert_int_equal(pm_guid_mac(0xfefffffffeffffff), 0xfcffffffffff);
	assert_int_equal(pm_guid_mac(0x021122fffd334455), 0);
	assert_int_equal(pm_guid_mac(0x021122ffff334455), 0);
	assert_int_equal(pm_guid_mac(0x0211220ffe334455), 0);
}

static uint32_t add(struct pm_fabric *fabric, enum pm_node_type type, uint64_t guid,
		    unsigned int ports, const char *name)
{
	uint32_t node;

	assert_int_equal(pm_fabric_add_node(fabric, type, guid, ports, name, &node, NULL),
			 0);
	return node;
}

/* A leaf; gw has two cables, idle has none, and two nodes are called same. */
static struct pm_fabric *make(void)
{
	static const struct {
		const char *name;
		unsigned int ports, links[2];
	} rows[] = {
		{"h0", 1, {1}},	  {"h0 HCA-1", 1, {1}}, {"gw", 3, {1, 3}},
		{"same", 1, {1}}, {"same", 1, {1}},	{"late", 2, {2}},
		{"idle", 2, {0}},
	};
	struct pm_fabric *fabric = pm_fabric_new();
	uint32_t leaf, top;
	unsigned int port = 1;

	assert_non_null(fabric);
	leaf = add(fabric, PM_SWITCH, 0x10, 10, "leaf");
	top = add(fabric, PM_SWITCH, 0x11, 10, "top");
	assert_int_equal(pm_fabric_link(fabric, leaf, 10, top, 10, NULL), 0);
	for (size_t i = 0; i < LENGTH(rows); i++) {
		uint32_t node = add(fabric, PM_CA, 0x20 + i, rows[i].ports, rows[i].name);

		for (int k = 0; k < 2; k++)
			if (rows[i].links[k])
				assert_int_equal(pm_fabric_link(fabric, leaf, port++,
								node, rows[i].links[k],
								NULL),
						 0);
	}
	assert_int_equal(pm_fabric_seal(fabric, NULL), 0);
	return fabric;
}

static uint32_t port_of(const struct pm_fabric *fabric, uint64_t guid, uint32_t num)
{
	uint32_t node = pm_fabric_find_guid(fabric, guid);

	assert_int_not_equal(node, PM_NONE);
	return fabric->nodes[node].first_port + num;
}

static int parse(const char *text, const struct pm_fabric *fabric, uint64_t *mac,
		 struct pm_error *err)
{
	return pm_mac_list_parse(text, strlen(text), "f", fabric, mac, err);
}

static void test_read(void **state)
{
	static const char text[] = "# hosts\n\n"
				   "h0 02:00:00:00:00:01\r\n"
				   " \th0 HCA-1 \t 02:00:00:00:00:02 # two words\n"
				   "gw[3]\t02:00:00:00:00:03#behind\n"
				   "gw[1] 02:00:00:00:00:04\n"
				   "idle[2] 02:00:00:00:00:06\n"
				   "late 02:00:00:00:00:05";
	struct pm_fabric *fabric = make();
	uint64_t *mac = calloc(fabric->num_ports, sizeof(*mac));
	struct pm_error err = {""};
	uint32_t num = 0;

	mac[port_of(fabric, 0x23, 1)] = 7;
	if (parse(text, fabric, mac, &err))
		fail_msg("%s", err.text);
	assert_int_equal(mac[port_of(fabric, 0x20, 1)], 0x020000000001);
	assert_int_equal(mac[port_of(fabric, 0x21, 1)], 0x020000000002);
	assert_int_equal(mac[port_of(fabric, 0x22, 3)], 0x020000000003);
	assert_int_equal(mac[port_of(fabric, 0x22, 1)], 0x020000000004);
	assert_int_equal(mac[port_of(fabric, 0x25, 2)], 0x020000000005);
	assert_int_equal(mac[port_of(fabric, 0x26, 2)], 0x020000000006);
	assert_int_equal(mac[port_of(fabric, 0x23, 1)], 7);
	for (uint32_t i = 0; i < fabric->num_ports; i++)
		num += mac[i] != 0;
	assert_int_equal(num, 7); /* with the one that was there */
	assert_int_equal(parse("", fabric, mac, &err), 0);
	free(mac);
	pm_fabric_free(fabric);
}

#define A "02:00:00:00:00:01"
#define B "02:00:00:00:00:02"

static void test_refused(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{"h0", "f:1: a line is NAME MAC, not h0"},
		{"\n" A, "f:2: a line is NAME MAC, not " A},
		{"h0 02:00:00:00:00", "f:1: no MAC address: 02:00:00:00:00"},
		{A " h0", "f:1: no MAC address: h0"},
		{"h0 01:00:5e:00:00:01", "f:1: 01:00:5e:00:00:01 is no host's address"},
		{"h0 00:00:00:00:00:00", "f:1: 00:00:00:00:00:00 is no host's address"},
		{"h " A, "f:1: no node is named h"},
		{"h0 HCA-12 " A, "f:1: no node is named h0 HCA-12"},
		{"h0[2] " A, "f:1: no node is named h0[2]"},
		{"h0[0] " A, "f:1: no node is named h0[0]"},
		{"h0[1 " A, "f:1: no node is named h0[1"},
		{"h0[] " A, "f:1: no node is named h0[]"},
		{"[1] " A, "f:1: no node is named [1]"},
		{"h0[1]x " A, "f:1: no node is named h0[1]x"},
		{"zz[1] " A, "f:1: no node is named zz[1]"},
		{"gw " A, "f:1: gw has several ports: NAME[PORT] says which"},
		{"idle " A, "f:1: idle has no cable"},
		{"leaf " A, "f:1: leaf has several ports"},
		{"top " A, "f:1: top is a switch"},
		{"leaf[1] " A, "f:1: leaf[1] is a switch"},
		{"same " A, "f:1: several nodes are named same"},
		{"same[1] " A, "f:1: several nodes are named same[1]"},
		{"h0 " A "\n#\nlate " A, "f:3: " A " is in line 1, too"},
		{"late " A "\nh0 " B "\nh0 " A, "f:3: " A " is in line 1, too"},
		{"h0 " A "\nh0 " B, "f:2: h0 has an address in line 1, too"},
		{"h0 " B "\nh0[1] " A, "f:2: h0 has an address in line 1, too"},
		{"h0 \x01 " A, "f:1: not text: byte 0x01"},
	};
	struct pm_fabric *fabric = make();
	uint64_t *mac = calloc(fabric->num_ports, sizeof(*mac));

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_error err = {""};

		if (parse(rows[i].text, fabric, mac, &err) != -EINVAL ||
		    strncmp(err.text, rows[i].message, strlen(rows[i].message)) != 0)
			fail_msg("\"%s\": %s", rows[i].text, err.text);
	}
	for (uint32_t i = 0; i < fabric->num_ports; i++)
		assert_int_equal(mac[i], 0);
	free(mac);
	pm_fabric_free(fabric);
}

/* Names of many nodes that begin alike. */
static void test_many(void **state)
{
	struct pm_fabric *fabric = pm_fabric_new();
	struct pm_error err = {""};
	char text[100 * 32] = "", line[64];
	uint32_t leaf;
	uint64_t *mac;

	assert_non_null(fabric);
	leaf = add(fabric, PM_SWITCH, 0x10, 200, "h");
	for (unsigned int i = 0; i < 100; i++) {
		(void)snprintf(line, sizeof(line), "h%u", i);
		assert_int_equal(pm_fabric_link(fabric, leaf, i + 1,
						add(fabric, PM_CA, 0x100 + i, 1, line), 1,
						NULL),
				 0);
		(void)snprintf(line, sizeof(line), "h%u 02:00:00:00:00:%02x\n", 99 - i,
			       99 - i);
		strcat(text, line);
	}
	assert_int_equal(pm_fabric_seal(fabric, NULL), 0);
	mac = calloc(fabric->num_ports, sizeof(*mac));
	if (parse(text, fabric, mac, &err))
		fail_msg("%s", err.text);
	for (unsigned int i = 0; i < 100; i++)
		assert_int_equal(mac[port_of(fabric, 0x100 + i, 1)], 0x020000000000 + i);
	free(mac);
	pm_fabric_free(fabric);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_guid),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
