/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes the plan's LIDs into guid2lid, OpenSM's table of persistent LIDs. */
#include "guid2lid.h"

#include "io/log.h"
#include "snapshot.h"

#include <opensm/osm_db_pack.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Whether LIDs were given with this LMC: each claim has 2^LMC LIDs, or a switch's one. */
static bool is_of_lmc(const struct pm_claim *claims, uint32_t num, uint8_t lmc)
{
	uint32_t wide = 1u << lmc, matching = 0;

	for (uint32_t i = 0; i < num; i++) {
		uint32_t width = claims[i].high - claims[i].low + 1u;

		if (width != 1 && width != wide)
			return false;
		matching += width == wide;
	}
	return matching > 0;
}

/* Whether at least half of the claims are of present ports. */
static bool is_of_fabric(osm_opensm_t *osm, const struct pm_claim *claims, uint32_t num)
{
	uint32_t there = 0;

	CL_PLOCK_ACQUIRE(&osm->lock);
	for (uint32_t i = 0; i < num; i++)
		there += osm_get_port_by_guid(&osm->subn, cl_hton64(claims[i].guid)) !=
			 NULL;
	CL_PLOCK_RELEASE(&osm->lock);
	return there >= num - there;
}

/* Takes the next GUID that guid2lid has LIDs for off a list; false: none is left. */
static bool take_claim(osm_db_domain_t *guid2lid, cl_qlist_t *guids,
		       struct pm_claim *claim)
{
	cl_list_item_t *item;

	while ((item = cl_qlist_remove_head(guids)) != cl_qlist_end(guids)) {
		claim->guid = ((osm_db_guid_elem_t *)item)->guid;
		free(item);
		if (!osm_db_guid2lid_get(guid2lid, claim->guid, &claim->low,
					 &claim->high))
			return true;
	}
	return false;
}

struct pm_claim *lids_claims(osm_opensm_t *osm, uint32_t *num)
{
	osm_db_domain_t *guid2lid = osm->sm.lid_mgr.p_g2l;
	struct pm_claim *claims, claim;
	cl_qlist_t guids;

	*num = 0;
	cl_qlist_init(&guids);
	if (osm_db_guid2lid_guids(guid2lid, &guids))
		return calloc(1, sizeof(*claims));
	claims = calloc(cl_qlist_count(&guids) + 1, sizeof(*claims));
	while (take_claim(guid2lid, &guids, &claim))
		if (claims)
			claims[(*num)++] = claim;
	if (claims && (!is_of_lmc(claims, *num, osm->subn.opt.lmc) ||
		       !is_of_fabric(osm, claims, *num)))
		*num = 0;
	return claims;
}

/* The GUID that guid2lid has for each LID. */
struct owners {
	uint64_t *guid; /* [LID] 0: none */
};

static void list_owners(osm_db_domain_t *guid2lid, struct owners *owners)
{
	struct pm_claim claim;
	cl_qlist_t guids;

	cl_qlist_init(&guids);
	if (osm_db_guid2lid_guids(guid2lid, &guids))
		return;
	while (take_claim(guid2lid, &guids, &claim))
		for (uint32_t lid = claim.low; lid <= claim.high && lid <= PM_MAX_LID;
		     lid++)
			owners->guid[lid] = claim.guid;
}

/* The base LIDs that a port should have, and has now. */
struct grant {
	uint64_t guid;
	uint16_t lid, num;
	uint16_t has;
};

/* Takes all LIDs that guid2lid has for a GUID from it. */
static void take_all(osm_lid_mgr_t *manager, uint64_t guid, struct owners *owners)
{
	uint16_t low, high;

	if (osm_db_guid2lid_get(manager->p_g2l, guid, &low, &high))
		return;
	for (uint32_t lid = low; lid <= high && lid <= PM_MAX_LID; lid++)
		if (owners->guid[lid] == guid) {
			owners->guid[lid] = 0;
			manager->used_lids[lid] = 0;
		}
}

/* Gives one port its LIDs, and removes their previous owner from guid2lid. */
static void give_lid(osm_lid_mgr_t *manager, const struct grant *grant,
		     struct owners *owners, struct lids_given *given)
{
	uint16_t high = (uint16_t)(grant->lid + grant->num - 1), old_low, old_high;

	for (uint32_t lid = grant->lid; lid <= high; lid++) {
		uint64_t other = owners->guid[lid];

		if (!other || other == grant->guid)
			continue;
		take_all(manager, other, owners);
		osm_db_guid2lid_delete(manager->p_g2l, other);
	}
	if (osm_db_guid2lid_get(manager->p_g2l, grant->guid, &old_low, &old_high) ||
	    old_low != grant->lid || old_high != high) {
		take_all(manager, grant->guid, owners);
		osm_db_guid2lid_set(manager->p_g2l, grant->guid, grant->lid, high);
	}
	for (uint32_t lid = grant->lid; lid <= high; lid++) {
		owners->guid[lid] = grant->guid;
		manager->used_lids[lid] = 1;
	}
	given->assigned += grant->has != grant->lid;
	given->changed += grant->has && grant->has != grant->lid;
}

static void give_all(osm_opensm_t *osm, const struct lids *lids, struct owners *owners,
		     struct lids_given *given)
{
	const struct pm_fabric *fabric = lids->fabric;

	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		const struct pm_port *port = &fabric->ports[i];
		uint32_t place;

		if (!snapshot_has_place(fabric, i))
			continue;
		place = pm_plan_place(lids->plan, fabric, i);
		if (place == PM_NONE)
			continue;
		give_lid(&osm->sm.lid_mgr,
			 &(struct grant){port->guid, lids->plan->lid[place],
					 (uint16_t)pm_plan_num_lids(lids->plan, place),
					 snapshot_lid(&osm->subn, port->guid)},
			 owners, given);
	}
}

bool lids_may_reassign(const osm_subn_t *subn)
{
	return subn->opt.reassign_lids && (subn->first_time_master_sweep ||
					   subn->sm_state != IB_SMINFO_STATE_MASTER);
}

static void take_reassign(osm_opensm_t *osm)
{
	osm_lid_mgr_t *manager = &osm->sm.lid_mgr;

	osm_db_clear(manager->p_g2l);
	memset(manager->used_lids, 0, sizeof(manager->used_lids));
	osm->subn.opt.reassign_lids = FALSE;
}

/*
 * OpenSM's tables end with the last element of this vector, the highest LID that it has
 * seen. They should end with the plan's, even while ports are absent: else every switch
 * would get a further block when the port with a high LID comes.
 */
static void extend_tables(osm_subn_t *subn, const struct pm_plan *plan)
{
	cl_ptr_vector_t *ports = &subn->port_lid_tbl;

	if (cl_ptr_vector_get_size(ports) <= plan->top_lid)
		(void)cl_ptr_vector_set_size(ports, plan->top_lid + 1u);
}

/*
 * OpenSM only ever lowers this limit, to the smallest capacity that it has seen. So one
 * bad switch, even an absent one, would let it run out of LIDs.
 */
static void raise_limit(osm_subn_t *subn, uint16_t limit)
{
	if (limit > IB_LID_UCAST_END_HO)
		limit = IB_LID_UCAST_END_HO;
	if (subn->max_ucast_lid_ho < limit)
		subn->max_ucast_lid_ho = limit;
}

void lids_make_room(osm_subn_t *subn, const struct pm_plan *plan, uint16_t limit)
{
	extend_tables(subn, plan);
	raise_limit(subn, limit);
}

int lids_give(osm_opensm_t *osm, const struct lids *lids, struct lids_given *given,
	      struct pm_error *err)
{
	struct owners owners = {calloc(PM_MAX_LID + 1u, sizeof(uint64_t))};

	if (!owners.guid)
		return pm_error_no_memory(err);
	if (lids->reassign)
		take_reassign(osm);
	list_owners(osm->sm.lid_mgr.p_g2l, &owners);
	give_all(osm, lids, &owners, given);
	lids_make_room(&osm->subn, lids->plan, lids->limit);
	free(owners.guid);
	return 0;
}

void lids_survive_standby(osm_opensm_t *osm, int *honor)
{
	osm_subn_t *subn = &osm->subn;

	if (!subn->coming_out_of_standby)
		return;
	if (osm_db_store(osm->sm.lid_mgr.p_g2l, subn->opt.fsync_high_avail_files)) {
		log_line(&osm->log, OSM_LOG_ERROR,
			 ": guid2lid cannot be stored, LIDs may change");
		return;
	}
	if (*honor < 0)
		*honor = subn->opt.honor_guid2lid_file;
	subn->opt.honor_guid2lid_file = TRUE;
}
