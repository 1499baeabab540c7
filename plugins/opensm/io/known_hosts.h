/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The hosts that were discovered, each with its last port. So a missing host has a name,
 * and the leaf of a host's port is known. They belong to the writer's thread.
 */
#ifndef PORTMAJOR_IO_KNOWN_HOSTS_H
#define PORTMAJOR_IO_KNOWN_HOSTS_H

#include <portmajor/fabric/fabric.h>

#include <stdbool.h>
#include <stdint.h>

struct known_host {
	uint64_t leaf, guid; /* of the switch, and of the host */
	uint8_t leaf_port, num;
	bool old; /* not in the newest fabric */
	char *name;
};

/* All zero at first. */
struct known_hosts {
	struct known_host *list; /* by leaf and leaf_port */
	uint32_t count;
};

/*
 * Takes over the end ports of a sealed fabric. Another host at a port, or the same host
 * elsewhere, replaces the earlier entry. -ENOMEM: nothing changes. O(ports log ports).
 */
int known_hosts_learn(struct known_hosts *hosts, const struct pm_fabric *fabric);

/* The host at a switch's port, or NULL. O(log hosts). */
const struct known_host *known_hosts_at(const struct known_hosts *hosts, uint64_t leaf,
					unsigned int leaf_port);

/* The entry of a host's port, or NULL. O(hosts). */
const struct known_host *known_hosts_of(const struct known_hosts *hosts, uint64_t guid,
					unsigned int num);

void known_hosts_free(struct known_hosts *hosts);

#endif
