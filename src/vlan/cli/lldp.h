/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads a node's neighbours by LLDP, as lldpd's `lldpctl -f json` prints them:
 *
 *	{"lldp": {"interface": {"swp3": {
 *		"chassis": {"spine0": {"id": {"type": "mac", "value": ".."}, ..}},
 *		"port": {"id": {"type": "mac", "value": ".."}, "descr": "swp1", ..}}}}}
 *
 * `interface` is a list of such objects if there are several neighbours, and is missing
 * if there is none. For a neighbour without a name `chassis` has the members of the named
 * object itself. A port's name is its id, or its `descr` if the id is an address.
 */
#ifndef PORTMAJOR_CLI_LLDP_H
#define PORTMAJOR_CLI_LLDP_H

#include <jansson.h>

#include <stdint.h>

struct lldp_neighbour {
	const char *interface; /* of the node, to which the neighbour is attached */
	const char *name;      /* of the neighbour's system; NULL: none */
	const char *id;	       /* of the neighbour's chassis */
	const char *port;      /* "": not known */
};

struct lldp {
	json_t *root; /* owns all texts */
	struct lldp_neighbour *list;
	uint32_t num, room;
};

/* Reads a file. An exit status, with a message that names the file. */
int lldp_read(const char *path, struct lldp *lldp);

void lldp_free(struct lldp *lldp);

#endif
