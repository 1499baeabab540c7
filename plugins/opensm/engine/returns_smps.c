/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The SMPs of links that come back. */
#include "returns_parts.h"

#include <string.h>

void returns_add_smp(struct work *work, const struct item *item)
{
	if (pm_grow(&work->items, &work->items_room, work->num_items + 1,
		    sizeof(*work->items)))
		work->no_memory = true;
	else
		work->items[work->num_items++] = *item;
}

static bool is_set(enum smp_kind kind)
{
	return kind == SMP_SET_PORT || kind == SMP_SET_PKEYS || kind == SMP_SET_SL2VL ||
	       kind == SMP_SET_VLARB;
}

/* Whether OpenSM sets neither end in this sweep. */
static bool is_apart(const struct work *work, const struct link *link)
{
	const osm_subn_t *subn = &work->on->sender->osm->subn;
	const struct link_end *near = link->near.last, *far = link->far.last;
	const osm_physp_t *here = returns_find_physp(subn, near->node_guid, near->num);
	const osm_physp_t *there = returns_find_physp(subn, far->node_guid, far->num);
	uint8_t state = there ? osm_physp_get_port_state(there) : IB_LINK_DOWN;

	if (here && osm_physp_get_port_state(here) != IB_LINK_DOWN)
		return false;
	if (!there || link->host)
		return !there;
	return state == IB_LINK_DOWN ||
	       (state == IB_LINK_INIT && !osm_physp_get_remote(there));
}

/* Fills a Set of an end port's table, of which `data` is all zero. */
static void fill_table(const struct link_host *host, const struct item *item,
		       uint8_t *data)
{
	if (item->kind == SMP_SET_PKEYS)
		memcpy(data, &host->pkeys[item->block], sizeof(host->pkeys[0]));
	else if (item->kind == SMP_SET_SL2VL)
		memcpy(data, &host->qos.sl2vl, sizeof(host->qos.sl2vl));
	else
		memcpy(data, &host->qos.vlarb[item->block], sizeof(host->qos.vlarb[0]));
}

/* Fills a Set. */
static void fill_set(const struct link *link, const struct item *item,
		     struct smp_request *smp)
{
	const struct end *end = item->end ? &link->far : &link->near;
	ib_port_info_t info = end->want;

	if (item->kind != SMP_SET_PORT) {
		fill_table(link->host, item, smp->data);
		return;
	}
	ib_port_info_set_port_state(&info, item->state);
	if (item->state != IB_LINK_NO_CHANGE)
		ib_port_info_set_client_rereg(&info, 0);
	memcpy(smp->data, &info, sizeof(info));
}

/* Whether a port understands bit 31 of the modifier, and has extended speeds. */
static bool has_speeds(const struct work *work, const struct link *link, uint8_t end)
{
	const ib_port_info_t *info = &link->far.has;

	if (!end || !link->host) { /* a switch's port 0 has the mask */
		uint32_t node = work->topology->ports[end ? link->peer : link->port].node;

		info = &work->on->records->ends[work->topology->nodes[node].first_port]
				.info;
	}
	return info->capability_mask & IB_PORT_CAP_HAS_EXT_SPEEDS;
}

static uint32_t modifier_of(const struct work *work, const struct item *item)
{
	const struct link *link = &work->links[item->link];
	uint32_t num = item->end ? link->far.last->num : link->near.last->num;

	if (item->kind == SMP_PKEYS || item->kind == SMP_SET_PKEYS)
		return item->block;
	if (item->kind == SMP_SET_VLARB)
		return (item->block + 1u) << 16;
	if (item->kind == SMP_NODE_INFO || item->kind == SMP_SET_SL2VL)
		return 0;
	if (item->kind == SMP_SET_PORT && has_speeds(work, link, item->end))
		num |= 1u << 31;
	return num;
}

static enum smp_make make_smp(void *context, uint32_t index, struct smp_request *smp)
{
	struct work *work = context;
	const struct item *item = &work->items[index];
	struct link *link = &work->links[item->link];
	const struct end *end = item->end ? &link->far : &link->near;

	if (returns_is_over(work) || link->silent || link->why || link->waits)
		return SMP_OMIT;
	if (is_set(item->kind) && work->on->sets_ports(work->on->context) &&
	    !is_apart(work, link)) {
		link->waits = work->waits = true;
		return SMP_OMIT;
	}
	*smp = (struct smp_request){.kind = item->kind,
				    .guid = end->last->node_guid,
				    .m_key = end->m_key,
				    .modifier = modifier_of(work, item),
				    .route = item->kind == SMP_NODE_INFO && !item->end
						     ? link->back
						     : end->route};
	if (is_set(item->kind))
		fill_set(link, item, smp);
	/* One that was given up: its port is set again when it has come back. */
	link->silent = item->kind == SMP_SET_PORT &&
		       smp_is_port_out(work->on->sender->smps, smp->guid, smp->modifier);
	return link->silent ? SMP_OMIT : SMP_SEND;
}

/* Whether the node at an end, and its port, are those of before. */
static bool is_same_node(const struct link *link, uint8_t end, const ib_node_info_t *info)
{
	const struct link_end *last = end ? link->far.last : link->near.last;

	return info->node_guid == last->node_guid &&
	       (!link->host || info->port_guid == last->port_guid) &&
	       ib_node_info_get_local_port_num(info) == last->num;
}

static void take_info(struct link *link, const struct item *item,
		      const struct smp_answer *answer)
{
	ib_port_info_t *to = item->end ? &link->far.has : &link->near.has;

	memcpy(to, answer->data, sizeof(*to));
	if (item->kind == SMP_SET_PORT && ib_port_info_get_port_state(to) < item->state)
		link->why = "a port did not change its state";
}

/* The answer to an SMP of a link. */
static bool take_answer(void *context, const struct smp_answer *answer)
{
	struct work *work = context;
	const struct item *item = &work->items[answer->index];
	struct link *link = &work->links[item->link];

	if (answer->outcome == SMP_REFUSED && answer->status == ALREADY_ACTIVE &&
	    item->state == IB_LINK_ACTIVE)
		ib_port_info_set_port_state(item->end ? &link->far.has : &link->near.has,
					    IB_LINK_ACTIVE);
	else if (answer->outcome == SMP_SILENT)
		link->silent = true;
	else if (answer->outcome != SMP_ANSWERED)
		link->why = "an end refuses";
	else if (item->kind == SMP_PORT_INFO || item->kind == SMP_SET_PORT)
		take_info(link, item, answer);
	else if (item->kind == SMP_NODE_INFO &&
		 !is_same_node(link, item->end, (const ib_node_info_t *)answer->data))
		link->why = "another node or port is there";
	else if (item->kind == SMP_PKEYS &&
		 memcmp(answer->data, &link->host->pkeys[item->block], SMP_DATA) != 0)
		link->wrong_pkeys |= (uint8_t)(1u << item->block);
	return true;
}

void returns_send_smps(struct work *work, struct smp_count *count)
{
	returns_send(work, count, make_smp, take_answer);
}
