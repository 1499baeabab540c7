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
	uint32_t *places; /* what the groups' members point into */
};

/*
 * Reads groups from a file, "-" for standard input: lines `MLID WHAT`, an MLID as 0xc000
 * and one that --fail would name: all end ports of a host, one of them, or a switch,
 * which is its port 0. Lines of one MLID add up; empty lines and those that begin with #
 * do not count. Members are places of the plan, or without one (NULL) ports of the
 * fabric. An exit status.
 */
int cli_groups_read(const char *path, const struct pm_fabric *fabric,
		    const struct pm_plan *plan, struct cli_groups *groups);

/* The same of a text in memory, for tests: -EINVAL, the message begins with
 * "source:LINE: "; -ENOMEM. What was read is for cli_groups_free, also then. */
int cli_groups_parse(const char *text, size_t length, const char *source,
		     const struct pm_fabric *fabric, const struct pm_plan *plan,
		     struct cli_groups *groups, struct pm_error *err);

/* Groups named by a subcommand's options. Zeroed: no groups. */
struct cli_group_options {
	const char *file;
	bool ipoib;
};

/* Rows for a struct cli_group_options. */
#define CLI_GROUPS(request, member, file_help)                                           \
	{0, "groups", "FILE", file_help, CLI_MEMBER(request, member.file)},              \
	{                                                                                \
		0, "ipoib", NULL,                                                        \
			"the same for IPoIB's broadcast group, MLID 0xc000 with all "    \
			"hosts",                                                         \
			CLI_MEMBER(request, member.ipoib)                                \
	}

/* Why these options do not go together, or NULL. */
const char *cli_groups_misused(const struct cli_group_options *options);

/* Whether they name groups. */
bool cli_groups_named(const struct cli_group_options *options);

/* Reads or makes the groups that they name, as places of the plan; an exit status. */
int cli_groups_get(const struct cli_group_options *options,
		   const struct pm_fabric *fabric, const struct pm_plan *plan,
		   struct cli_groups *groups);

void cli_groups_free(struct cli_groups *groups);

#endif
