/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What OpenSM set last at both ends of each link of a plan: a copy of its records, taken
 * at the end of each sweep, as it deletes the record of a part that it drops. A link that
 * returns gets these values again.
 */
#ifndef PORTMAJOR_LINK_RECORDS_H
#define PORTMAJOR_LINK_RECORDS_H

#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>

#include "lock_share.h"

#include <portmajor/plan/plan.h>

#define LINK_PKEY_BLOCKS 4 /* that are kept; a port with more is left to OpenSM */

/* An end of a link; all zero: OpenSM has not set it. GUIDs are as on the wire. */
struct link_end {
	ib_net64_t node_guid, port_guid;
	ib_port_info_t info;
	uint32_t values; /* see link_records.values, when it was copied */
	uint32_t sweep;	 /* likewise */
	uint8_t num;	 /* of the port */
};

/* An end port's tables of quality of service. */
struct link_qos {
	ib_slvl_table_t sl2vl;
	ib_vl_arb_table_t vlarb[4]; /* low, low, high, high */
	uint8_t blocks;		    /* bits of those of vlarb[] that the port has */
	bool has_sl2vl;
	bool known; /* OpenSM has set all of them */
};

/* An end port at a switch of the plan. */
struct link_host {
	struct link_end end;
	struct link_qos qos; /* all zero without OpenSM's option */
	uint16_t num_pkeys;  /* blocks up to the last one in use */
	ib_pkey_table_t pkeys[LINK_PKEY_BLOCKS];
};

/* Options of OpenSM that its values of ports depend on. */
struct link_values {
	ib_net64_t m_key, subnet_prefix;
	ib_net16_t lease;
	uint8_t protect, lmc, timeout, sm_sl;
	uint8_t phy_errors, overrun_errors, max_op_vls;
	uint8_t lifetime, leaf_lifetime, stall, leaf_stall;
	uint8_t width, speed, speed_ext, fdr10, qos, both_pkeys, enforcement;
	uint32_t partitions; /* a hash of their keys */
};

/* All zero at first. */
struct link_records {
	const struct pm_plan *plan; /* shared; NULL: empty */
	struct link_end *ends;	    /* [port of plan->topology] of its switches */
	ib_switch_info_t *switches; /* [switch], all zero: not known */
	struct link_host *hosts;
	uint32_t *host; /* [port] index of its end port in hosts[], or PM_NONE */
	uint32_t num_hosts;
	struct link_values options;
	uint32_t values; /* changes when the options do */
	uint32_t sweep;	 /* of the last copy */
	ib_net16_t sm_lid;
};

/*
 * Copies the records of this plan's ports; what OpenSM has no values for stays as it was.
 * With osm->lock held shared, in parts of so many switches. -ENOMEM: unchanged. O(ports).
 */
int link_records_copy(struct link_records *records, const struct pm_plan *plan,
		      const osm_subn_t *subn, struct lock_share *share);
void link_records_forget(struct link_records *records);

/* Whether options have changed since the last copy; likewise. */
bool link_records_are_outdated(const struct link_records *records,
			       const osm_subn_t *subn);

/* The end port that was at a switch's port last, or NULL. */
static inline const struct link_host *
link_records_host(const struct link_records *records, uint32_t port)
{
	return records->host[port] == PM_NONE ? NULL
					      : &records->hosts[records->host[port]];
}

/*
 * Makes the values of a port as it answered, with those that OpenSM set last where they
 * can be set, and no change of state. sm_lid: 0 for a switch's port. Returns whether they
 * differ from what the port has.
 */
bool link_records_merge(const ib_port_info_t *has, const ib_port_info_t *last,
			ib_net16_t sm_lid, ib_port_info_t *to);

/* Why a port cannot have these values, or NULL. */
const char *link_records_misfit(const ib_port_info_t *has, const ib_port_info_t *last);

#endif
