/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Multicast groups named to a subcommand, or made by IPoIB. */
#ifndef PORTMAJOR_CLI_GROUPS_H
#define PORTMAJOR_CLI_GROUPS_H

#include "options.h"

#include <portmajor/multicast/multicast.h>

/* Zeroed: none. */
struct cli_groups {
	struct pm_group *list; /* by MLID */
	uint32_t num, room;
	struct cli_member {
		uint16_t mlid;
		uint32_t place;
	} * members; /* by MLID */
	uint32_t num_members, members_room;
	uint32_t *places; /* memory of all groups' members */
};

/*
 * Reads groups from a file, "-" for standard input. Its lines are `MLID WHAT`: an MLID as
 * 0xc000, and a part as --fail names it: all end ports of a host, one end port, or a
 * switch, which means its port 0. Lines of one MLID add up; empty lines, and lines that
 * begin with #, are ignored. Members are places of the plan or, if that is NULL, ports of
 * the fabric. An exit status.
 */
int cli_groups_read(const char *path, const struct pm_fabric *fabric,
		    const struct pm_plan *plan, struct cli_groups *groups);

/*
 * The same for text in memory, for tests. -EINVAL: the message begins with "source:LINE:
 * ". The caller calls cli_groups_free, after an error too.
 */
int cli_groups_parse(const char *text, size_t length, const char *source,
		     const struct pm_fabric *fabric, const struct pm_plan *plan,
		     struct cli_groups *groups, struct pm_error *err);

/* Groups named by a subcommand's options. Zeroed: no groups. */
struct cli_group_options {
	const char *file;
	bool ipoib;
};

/* Rows for a struct cli_group_options. */
#define CLI_GROUPS(request, member, file_help)                                                \
	{0, "groups", "FILE", file_help, CLI_MEMBER(request, member.file)},                   \
	{                                                                                     \
		0, "ipoib", NULL,                                                             \
			"The same for IPoIB's broadcast group: MLID 0xc000, with all hosts.", \
			CLI_MEMBER(request, member.ipoib)                                     \
	}

/* Why these options contradict each other, or NULL. */
const char *cli_groups_misused(const struct cli_group_options *options);

/* Whether these options name groups. */
bool cli_groups_named(const struct cli_group_options *options);

/* Reads or makes the groups of these options, as places of the plan; an exit status. */
int cli_groups_get(const struct cli_group_options *options,
		   const struct pm_fabric *fabric, const struct pm_plan *plan,
		   struct cli_groups *groups);

void cli_groups_free(struct cli_groups *groups);

#endif
