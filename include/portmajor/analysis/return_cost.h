/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The cost of links that return: the SMPs of the plugin until both ends of each are
 * ACTIVE, in an idle fabric. The plugin brings them into service without a discovery; its
 * steps are those of plugins/opensm/engine/returns.c, returns_ask.c, returns_serve.c
 * and returned_switch.c:
 *
 *     Gets   each port known to be down of a switch that reports a change    PortInfo
 *            the remote end: its node and port                               2 a link
 *            a host's P_Keys                                                 1 a host
 *            port 0 of the link's switches: LID and subnet manager           1 a switch
 *            SwitchInfo of a switch that was reset
 *     Sets   SwitchInfo and port 0 of a switch that was reset
 *            the table of a switch that OpenSM has dropped                   LFT blocks
 *            the values of a port that was reset
 *            ARMED, then ACTIVE, at both ends                                4 a link
 *
 * A run begins with a switch whose trap comes first, here that with the lowest index, and
 * asks what is at its links; a switch that OpenSM has dropped is read next, as its other
 * links may be back. Then all these are brought into service. Other links wait for
 * another trap and run. With more traps at first both ends of a link may be read.
 *
 * All links are back when the first trap comes, all parts but the returning ones are up,
 * OpenSM has dropped what it did not reach, a host has one block of P_Keys, which a reset
 * leaves as OpenSM set it (the default partition), and qos is off.
 */
#ifndef PORTMAJOR_RETURN_COST_H
#define PORTMAJOR_RETURN_COST_H

#include <portmajor/fabric/fabric.h>

/* Parts that return. All is borrowed. */
struct pm_return {
	const struct pm_fabric *fabric; /* whole */
	const uint32_t *ports;		/* ends of the links that return; those without a
					   link, and repeated links, are ignored */
	uint32_t num_ports;
	const uint8_t *reached; /* [switch] in the subnet manager's reach before; OpenSM
				   has dropped the others */
	const uint8_t *reset;	/* [node] it has lost what OpenSM set; NULL: none has */
	uint32_t table_blocks;	/* of a table, see pm_plan_blocks */
	uint32_t at_once;	/* SMPs on the wire at a time, at least 1 */
};

struct pm_return_cost {
	uint32_t hosts, cables; /* links that are in service */
	uint32_t switches;	/* that got their whole table */
	uint32_t unreached;	/* links out of the subnet manager's reach */
	/* Gets of: */
	uint32_t port_gets;   /* ports known to be down */
	uint32_t remote_gets; /* remote nodes, ports and P_Keys */
	uint32_t switch_gets; /* port 0 and SwitchInfo */
	/* Sets of: */
	uint32_t table_sets;  /* LFT blocks of whole tables */
	uint32_t value_sets;  /* values of ports, and SwitchInfo */
	uint32_t state_sets;  /* ARMED and ACTIVE */
	uint32_t round_trips; /* of at_once SMPs each, one after the other */
};

/* The SMPs of all these steps. */
uint64_t pm_return_cost_gets(const struct pm_return_cost *cost);
uint64_t pm_return_cost_sets(const struct pm_return_cost *cost);

/* -ENOMEM. O(rounds x (ports + returning links)); rounds: about twice the levels. */
int pm_return_cost_find(const struct pm_return *parts, struct pm_return_cost *cost,
			struct pm_error *err);

#endif
