/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* PortInfo Sets, and their consequences. See wire_links.h. */

#include "wire_links.h"
#include "wire_truth.h"

#include <arpa/inet.h>
#include <string.h>

#define OWN 8192u /* at once; a reboot has some hundreds */
#define OWN_TID 0xf0000000u
#define OWN_TIMEOUT_MS 1000
#define MAX_PHYSICAL_STATE 3

enum step {
	STEP_WIPE,    /* a table of a node that has rebooted */
	STEP_VALUES,  /* a Set without its state */
	STEP_STATE,   /* the state */
	STEP_READ,    /* ibsim has refused it: why? */
	STEP_LOOK,    /* the peer: does it turn ACTIVE? */
	STEP_CATCH_UP /* the peer is to be ACTIVE for ibsim as well */
};

/* An SMP of the wire's own. */
struct own {
	struct packet packet; /* the Set that causes it; otherwise the SMP itself */
	struct target target;
	uint32_t tid;
	enum step step;
	bool invalid; /* the Set has a value that the port refuses: it is sent as a Get */
	bool behind;  /* the peer is ACTIVE, and ibsim has it in ARMED */
};

static struct {
	struct own own[OWN];
	uint32_t next;
	uint64_t random;
} links;

void links_start(uint64_t seed)
{
	links.random = seed * 2 + 1;
}

static bool packet_flows(void)
{
	links.random ^= links.random << 13;
	links.random ^= links.random >> 7;
	links.random ^= links.random << 17;
	return (uint32_t)(links.random >> 32) % 1000000u < truth_file()->packets;
}

static uint8_t state_in(const uint8_t *mad)
{
	return mad[SMP_DATA + PORT_INFO_STATE] & 0x0f;
}

static void put_state(uint8_t *mad, uint8_t state)
{
	uint8_t *at = mad + SMP_DATA + PORT_INFO_STATE;

	*at = (uint8_t)((*at & 0xf0) | state);
}

/*
 * The enabled width and speed matter when a link trains; in ibsim they changed a
 * running one.
 */
static void keep_trained(uint8_t *set)
{
	set[SMP_DATA + PORT_INFO_WIDTH] = 0;
	set[SMP_DATA + PORT_INFO_SPEED] &= 0xf0;
	set[SMP_DATA + PORT_INFO_SPEED_EXT] &= 0xe0;
}

/* Sends p as an SMP of the wire's own; `own` has its purpose. */
static int ask(struct own own, struct packet p)
{
	own.tid = OWN_TID | (links.next++ & ~OWN_TID);
	write_be(packet_mad(&p) + MAD_TRANSACTION_LOW, 4, own.tid);
	links.own[own.tid % OWN] = own;
	return wire_pass_on(&p, OWN_TIMEOUT_MS);
}

/* ---------------------------------------------------------------------- reboots */

static void wipe(const struct packet *to, uint32_t attr, uint32_t modifier,
		 const uint8_t *data)
{
	struct packet p = *to;
	uint8_t *mad = packet_mad(&p);

	mad[MAD_METHOD] = METHOD_SET;
	write_be(mad + MAD_ATTR_ID, 2, attr);
	write_be(mad + MAD_ATTR_MODIFIER, 4, modifier);
	memcpy(mad + SMP_DATA, data, SMP_DATA_BYTES);
	ask((struct own){.step = STEP_WIPE}, p);
}

static void wipe_tables(const struct packet *to, const struct truth_port *had)
{
	uint8_t none[SMP_DATA_BYTES], zero[SMP_DATA_BYTES] = {0};

	memset(none, 0xff, sizeof(none));
	for (uint32_t i = 0; i < had->lft_blocks; i++)
		wipe(to, ATTR_LFT, i, none);
	for (uint32_t i = 0; i < had->mft_blocks; i++)
		for (uint32_t k = 0; k < had->mft_positions; k++)
			wipe(to, ATTR_MFT, k << 28 | i, zero);
	wipe(to, ATTR_SWITCH_INFO, 0, zero); /* its top; no PortStateChange is cleared */
}

static void wipe_p_keys(const struct packet *to, struct target target)
{
	const uint8_t full[SMP_DATA_BYTES] = {0xff, 0xff}, zero[SMP_DATA_BYTES] = {0};

	for (uint32_t port = 0; port <= UINT8_MAX; port++) {
		uint32_t blocks = truth_p_key_blocks(target.guid, (uint8_t)port);

		for (uint32_t i = 0; i < blocks; i++)
			wipe(to, ATTR_P_KEYS, target.is_switch ? port << 16 | i : i,
			     i ? zero : full);
	}
}

/* ibsim processes SMPs in this order: this one finds the node wiped. */
static void end_reboot(const struct packet *p, struct target target)
{
	struct truth_port had;

	if (!truth_has_rebooted(target.guid, &had))
		return;
	if (target.is_switch)
		wipe_tables(p, &had);
	wipe_p_keys(p, target);
}

/* ---------------------------------------------------------------------- packets */

/* A Get of the PortInfo at the other end of a port of the node that p goes to. */
static bool make_peer_get(struct packet *p, struct target at, uint8_t port,
			  struct target peer)
{
	uint8_t *mad = packet_mad(p);
	unsigned int hops = hop_count(mad);
	const uint8_t *route = mad + SMP_PATH;
	uint8_t path[SMP_PATH_BYTES] = {0};

	if (mad[MAD_CLASS] == CLASS_SMP_LID)
		route = nodes_route(at.guid, &hops);
	if (!route || !peer.guid || hops + 1 >= SMP_PATH_BYTES)
		return false;
	memcpy(path, route, hops + 1);
	if (at.is_switch || !hops)
		path[++hops] = port;
	else
		path[hops--] = 0; /* the path that led to the host, back */
	memset(mad + MAD_STATUS, 0, 4);
	memset(mad + SMP_DATA, 0, SMP_BYTES - SMP_DATA);
	memcpy(mad + SMP_PATH, path, sizeof(path));
	mad[MAD_CLASS] = CLASS_SMP_DIRECT;
	mad[SMP_HOP_COUNT] = (uint8_t)hops;
	memset(mad + SMP_DIRECT_LIDS, 0xff, 4);
	mad[MAD_METHOD] = METHOD_GET;
	write_be(mad + MAD_ATTR_MODIFIER, 4, peer.is_switch ? peer.port : 0);
	p->umad.addr.lid = htons(0xffff);
	return true;
}

/* The peer of a port that p was sent to turns ACTIVE, if it is in ARMED. */
static void look_at_peer(struct packet p, struct target at, uint8_t port, bool behind)
{
	struct target peer = nodes_peer(at.guid, port);
	struct own own = {.step = STEP_LOOK, .target = peer, .behind = behind};

	if (!make_peer_get(&p, at, port, peer))
		return;
	own.packet = p;
	ask(own, p);
}

/* The consequences of a state that a port has taken. */
static void follow_up(const struct own *own, uint8_t state)
{
	uint8_t port =
		truth_port_of(own->target, packet_mad((struct packet *)&own->packet));
	struct target peer = nodes_peer(own->target.guid, port);
	uint16_t lid;

	wire_record_state(own->target, port, state, METHOD_SET);
	if (state == PORT_ACTIVE && packet_flows())
		look_at_peer(own->packet, own->target, port, false);
	if (state == PORT_ARMED && truth_is_ahead(peer.guid, peer.port))
		look_at_peer(own->packet, own->target, port, true);
	if (state != PORT_DOWN)
		return;
	/* Down and up at once, at both ends; the other one reports it. */
	truth_put_ahead(own->target.guid, port, false);
	truth_put_ahead(peer.guid, peer.port, false);
	lid = peer.is_switch ? nodes_lid(peer.guid) : 0;
	if (lid)
		wire_make_trap(lid);
}

/* --------------------------------------------------------------- steps of a Set */

/* Turns mad into the answer to the Set. */
static enum links_fate answer(struct own *own, uint8_t *mad, unsigned int status)
{
	const uint8_t *set = packet_mad(&own->packet);

	if (status == STATUS_INVALID_VALUE)
		truth_file()->invalid_values++;
	memcpy(mad + MAD_TRANSACTION_LOW, set + MAD_TRANSACTION_LOW, 4);
	set_status(mad, status);
	truth_show(own->target, set, mad);
	return LINKS_ANSWER;
}

static enum links_fate take_values(struct own *own, uint8_t *mad)
{
	uint8_t port = truth_port_of(own->target, mad), is = state_in(mad);
	uint8_t wanted = state_in(packet_mad(&own->packet));
	struct packet p = own->packet;
	bool may;

	if (mad_status(mad) || own->invalid)
		return answer(own, mad,
			      own->invalid ? STATUS_INVALID_VALUE : mad_status(mad));
	truth_set(own->target, packet_mad(&own->packet));
	if (is != PORT_ARMED)
		truth_put_ahead(own->target.guid, port, false);
	if (truth_is_ahead(own->target.guid, port))
		is = PORT_ACTIVE;
	may = wanted == PORT_DOWN || (wanted == PORT_ARMED && is == PORT_INIT) ||
	      (wanted == PORT_ACTIVE && is == PORT_ARMED);
	if (wanted != PORT_NO_CHANGE && !may)
		return answer(own, mad, STATUS_INVALID_VALUE);
	if (!may || (wanted == PORT_DOWN && is == PORT_DOWN))
		return answer(own, mad, 0);
	own->step = STEP_STATE;
	packet_mad(&p)[SMP_DATA + PORT_INFO_PHYSICAL_STATE] &= 0x0f;
	keep_trained(packet_mad(&p));
	ask(*own, p);
	return LINKS_TAKEN;
}

static enum links_fate take_state(struct own *own, uint8_t *mad)
{
	struct packet p = own->packet;

	if (!mad_status(mad)) {
		follow_up(own, state_in(packet_mad(&p)));
		return answer(own, mad, 0);
	}
	own->step = STEP_READ;
	packet_mad(&p)[MAD_METHOD] = METHOD_GET;
	ask(*own, p);
	return LINKS_TAKEN;
}

/* ibsim refuses ACTIVE while the peer is in INIT. */
static enum links_fate take_read(struct own *own, uint8_t *mad)
{
	uint8_t port = truth_port_of(own->target, mad);
	bool ahead = state_in(packet_mad(&own->packet)) == PORT_ACTIVE &&
		     state_in(mad) == PORT_ARMED && !mad_status(mad);

	if (!ahead)
		return answer(own, mad, STATUS_INVALID_VALUE);
	truth_put_ahead(own->target.guid, port, true);
	wire_record_state(own->target, port, PORT_ACTIVE, METHOD_SET);
	return answer(own, mad, 0);
}

/* ------------------------------------------------------------------- calls */

static void take_look(struct own *own, uint8_t *mad)
{
	uint8_t port = truth_port_of(own->target, mad);
	struct packet p = own->packet;
	uint8_t *set = packet_mad(&p);

	if (mad_status(mad) || state_in(mad) != PORT_ARMED ||
	    own->behind != truth_is_ahead(own->target.guid, port))
		return;
	set[MAD_METHOD] = METHOD_SET;
	memcpy(set + SMP_DATA, mad + SMP_DATA, SMP_DATA_BYTES);
	set[SMP_DATA + PORT_INFO_PHYSICAL_STATE] &= 0x0f;
	keep_trained(set);
	put_state(set, PORT_ACTIVE);
	own->step = STEP_CATCH_UP;
	ask(*own, p);
}

static void take_catch_up(const struct own *own, const uint8_t *mad)
{
	uint8_t port = truth_port_of(own->target, mad);

	if (mad_status(mad))
		return;
	truth_put_ahead(own->target.guid, port, false);
	if (!own->behind) {
		truth_file()->woken++;
		wire_record_state(own->target, port, PORT_ACTIVE, 0);
	} else if (packet_flows()) {
		look_at_peer(own->packet, own->target, port, false);
	}
}

int links_send(struct packet *p, int timeout_ms)
{
	struct target target = nodes_where(p->bytes);
	struct own own = {.packet = *p, .target = target, .step = STEP_VALUES};
	uint8_t *mad = packet_mad(p),
		*physical = mad + SMP_DATA + PORT_INFO_PHYSICAL_STATE;

	if (!truth_file() || !target.guid)
		return wire_pass_on(p, timeout_ms);
	end_reboot(p, target);
	/* A Get's M_Key is checked when it is answered: then the node is known. */
	if (mad[MAD_METHOD] == METHOD_SET && !truth_admits(target, mad))
		return 0;
	truth_note(target, mad);
	if (!is_set_of(mad, ATTR_PORT_INFO))
		return wire_pass_on(p, timeout_ms);
	own.invalid = *physical >> 4 > MAX_PHYSICAL_STATE;
	if (own.invalid)
		mad[MAD_METHOD] = METHOD_GET;
	put_state(mad, PORT_NO_CHANGE);
	keep_trained(mad);
	return ask(own, *p);
}

enum links_fate links_arrive(void *umad)
{
	uint8_t *mad = umad_get_mad(umad);
	struct own *slot = &links.own[transaction(mad) % OWN], own = *slot;

	if (transaction(mad) < OWN_TID || own.tid != transaction(mad))
		return transaction(mad) < OWN_TID ? LINKS_FOREIGN : LINKS_TAKEN;
	slot->tid = 0;
	if (umad_status(umad))
		return own.step == STEP_VALUES || own.step == STEP_STATE ? LINKS_RETURNED
									 : LINKS_TAKEN;
	switch (own.step) {
	case STEP_WIPE:
		break;
	case STEP_VALUES:
		return take_values(&own, mad);
	case STEP_STATE:
		return take_state(&own, mad);
	case STEP_READ:
		return take_read(&own, mad);
	case STEP_LOOK:
		take_look(&own, mad);
		break;
	case STEP_CATCH_UP:
		take_catch_up(&own, mad);
		break;
	}
	return LINKS_TAKEN;
}
