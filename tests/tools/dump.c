/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "dump.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_SIZE 65536

/* A node as it is read; links are joined at the end. */
struct record {
	char id[128];
	uint64_t guid;
	unsigned int num_ports;
	enum pm_node_type type;
	uint16_t top;
	uint8_t *table;
	struct peer {
		char id[128];
		unsigned int port;
		uint16_t lid;
		uint8_t lmc;
		int not_active;
	} * ports;
};

struct records {
	struct record *list;
	size_t count, room;
	unsigned int sm_lid;
};

static struct record *add_record(struct records *records)
{
	if (records->count == records->room) {
		records->room = records->room ? records->room * 2 : 1024;
		records->list = reallocarray(records->list, records->room,
					     sizeof(*records->list));
		if (!records->list)
			abort();
	}
	memset(&records->list[records->count], 0, sizeof(*records->list));
	return &records->list[records->count++];
}

static void parse_header(struct records *records, const char *line)
{
	struct record *r;
	char type[16], id[128];
	unsigned int ports;
	uint64_t guid;

	if (sscanf(line, "%15s %u \"%127[^\"]\" nodeguid %" SCNx64, type, &ports, id,
		   &guid) != 4)
		return;
	r = add_record(records);
	memcpy(r->id, id, sizeof(id));
	r->guid = guid;
	r->num_ports = ports;
	r->type = !strcmp(type, "Switch")				   ? PM_SWITCH
		  : !strncmp(type, "Rt", 2) || !strncmp(type, "Router", 6) ? PM_ROUTER
									   : PM_CA;
	r->ports = calloc(ports + 1, sizeof(*r->ports));
	if (r->type == PM_SWITCH)
		r->table = malloc(TABLE_SIZE);
	if (!r->ports || (r->type == PM_SWITCH && !r->table))
		abort();
	if (r->table)
		memset(r->table, 255, TABLE_SIZE);
}

/* "#\tForwarding table 0-15: [0]FF [1]13 ..." */
static void parse_table(struct record *r, const char *line)
{
	const char *at = strchr(line, ':');

	if (!at)
		return;
	while ((at = strchr(at, '['))) {
		char *end;
		unsigned long lid = strtoul(at + 1, &end, 10);

		if (*end == ']' && lid < TABLE_SIZE)
			r->table[lid] = (uint8_t)strtoul(end + 1, &end, 16);
		at = end;
	}
}

/* "200000\t[1]\t\"h0-1\"[1]\t ... lid 5 lmc 0 ... Active/LinkUp" */
static void parse_port(struct records *records, struct record *r, const char *line)
{
	const char *bracket = strchr(line, '['), *quote, *lid;
	unsigned long num;
	struct peer *peer;

	if (!bracket)
		return;
	num = strtoul(bracket + 1, NULL, 10);
	if (num > r->num_ports)
		return;
	peer = &r->ports[num];
	quote = strchr(bracket, '"');
	if (quote && num)
		sscanf(quote, "\"%127[^\"]\"[%u]", peer->id, &peer->port);
	lid = strstr(line, " lid ");
	if (lid) {
		unsigned int value = 0, lmc = 0, sm_lid = 0;

		sscanf(lid, " lid %u lmc %u smlid %u", &value, &lmc, &sm_lid);
		if (sm_lid)
			records->sm_lid = sm_lid;
		peer->lid = (uint16_t)value;
		peer->lmc = (uint8_t)lmc;
	}
	peer->not_active = peer->id[0] && !strstr(line, "Active/");
}

static void parse_line(struct records *records, const char *line)
{
	struct record *r = records->count ? &records->list[records->count - 1] : NULL;
	const char *top = strstr(line, "FDBtop ");

	if (strstr(line, "nodeguid"))
		parse_header(records, line);
	else if (r && r->table && !strncmp(line, "#\tForwarding table", 18))
		parse_table(r, line);
	else if (r && line[0] == '#' && top)
		r->top = (uint16_t)strtoul(top + 7, NULL, 10);
	else if (r && line[0] != '#' && strchr(line, '['))
		parse_port(records, r, line);
}

static int link_all(const struct records *records, struct pm_fabric *fabric,
		    const uint32_t *index, struct pm_error *err)
{
	struct hsearch_data table = {0};
	int rc = 0;

	if (!hcreate_r(records->count * 2, &table))
		return -ENOMEM;
	for (size_t i = 0; i < records->count; i++) {
		ENTRY entry = {records->list[i].id, (void *)i}, *found;

		if (!hsearch_r(entry, ENTER, &found, &table))
			rc = -ENOMEM;
	}
	for (size_t i = 0; i < records->count && !rc; i++)
		for (unsigned int p = 1; p <= records->list[i].num_ports && !rc; p++) {
			const struct peer *peer = &records->list[i].ports[p];
			ENTRY entry = {(char *)(uintptr_t)peer->id, NULL}, *found;
			size_t far;

			if (!peer->id[0])
				continue;
			if (!hsearch_r(entry, FIND, &found, &table)) {
				rc = pm_error_set(err, -EINVAL,
						  "\"%s\"[%u]: no node \"%s\"",
						  records->list[i].id, p, peer->id);
				break;
			}
			far = (size_t)(uintptr_t)found->data;
			if (far < i || (far == i && peer->port < p))
				continue;
			rc = pm_fabric_link(fabric, index[i], p, index[far], peer->port,
					    err);
		}
	hdestroy_r(&table);
	return rc;
}

static int build(const struct records *records, struct dump *dump, struct pm_error *err)
{
	uint32_t *index = calloc(records->count + 1, sizeof(*index));
	int rc = 0;

	dump->fabric = pm_fabric_new();
	if (!index || !dump->fabric)
		return -ENOMEM;
	for (size_t i = 0; i < records->count && !rc; i++) {
		const struct record *r = &records->list[i];

		rc = pm_fabric_add_node(dump->fabric, r->type, r->guid, r->num_ports,
					r->id, &index[i], err);
		for (unsigned int p = 0; p <= r->num_ports && !rc; p++) {
			struct pm_port *port =
				&dump->fabric->ports
					 [dump->fabric->nodes[index[i]].first_port + p];

			port->lid = r->ports[p].lid;
			port->lmc = r->ports[p].lmc;
			if (r->type == PM_SWITCH)
				dump->links_not_active +=
					(uint32_t)r->ports[p].not_active;
		}
	}
	if (!rc)
		rc = link_all(records, dump->fabric, index, err);
	if (!rc)
		rc = pm_fabric_seal(dump->fabric, err);
	free(index);
	return rc;
}

static int take_tables(const struct records *records, struct dump *dump)
{
	dump->table = calloc(dump->fabric->num_switches + 1u, sizeof(*dump->table));
	dump->top = calloc(dump->fabric->num_switches + 1u, sizeof(*dump->top));
	if (!dump->table || !dump->top)
		return -ENOMEM;
	for (size_t i = 0; i < records->count; i++) {
		struct record *r = &records->list[i];
		uint32_t sw;

		if (r->type != PM_SWITCH)
			continue;
		sw = pm_fabric_find_guid(dump->fabric, r->guid);
		dump->table[sw] = r->table;
		r->table = NULL;
		dump->top[sw] = r->top;
	}
	return 0;
}

static void find_manager(const struct records *records, struct dump *dump)
{
	const struct pm_port *ports = dump->fabric->ports;

	dump->manager = PM_NONE;
	for (uint32_t i = 0; records->sm_lid && i < dump->fabric->num_ports; i++)
		if (ports[i].lid && records->sm_lid >= ports[i].lid &&
		    records->sm_lid < ports[i].lid + (1u << ports[i].lmc))
			dump->manager = i;
}

int dump_read(const char *path, struct dump *dump, struct pm_error *err)
{
	struct records records = {0};
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t size = 0;
	int rc;

	memset(dump, 0, sizeof(*dump));
	if (!file)
		return pm_error_set(err, -errno, "%s: %s", path, strerror(errno));
	while (getline(&line, &size, file) > 0)
		parse_line(&records, line);
	fclose(file);
	free(line);
	rc = build(&records, dump, err);
	if (!rc)
		rc = take_tables(&records, dump);
	if (!rc)
		find_manager(&records, dump);
	if (!rc && !dump->fabric->num_switches)
		rc = pm_error_set(err, -EINVAL, "%s: no switch in it", path);
	for (size_t i = 0; i < records.count; i++) {
		free(records.list[i].table);
		free(records.list[i].ports);
	}
	free(records.list);
	if (rc)
		dump_free(dump);
	return rc;
}

void dump_free(struct dump *dump)
{
	if (dump->table)
		for (uint32_t i = 0; i < dump->fabric->num_switches; i++)
			free(dump->table[i]);
	free(dump->table);
	free(dump->top);
	pm_fabric_free(dump->fabric);
	memset(dump, 0, sizeof(*dump));
}
