/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sends the plugin's SMPs through OpenSM: Gets, and Sets of ports and tables.
 *
 * Answers to the plugin's Gets must not reach OpenSM's discovery. So the plugin's
 * handlers replace OpenSM's for the attributes of enum smp_kind. They recognise answers
 * to the plugin by a mark in the context, and pass the others on. Answers to LFT Sets go
 * on to OpenSM, which notes them in its record of the switch; those to other Sets do not
 * (osm/mcast_quiet.h, returns.h). Traps are seen before OpenSM drops repeated ones.
 *
 * On a real wire an SMP to a dead switch comes back after its time-out times (1 +
 * transaction_retries), and holds one of OpenSM's max_wire_smps slots (4 by default)
 * until then; OpenSM's next step waits for it. So no more SMPs are handed over than the
 * wire takes, with a shorter time-out than OpenSM's, and they overtake OpenSM's queue, in
 * which thousands wait while a large fabric is discovered. smp_run returns when all SMPs
 * have come back, failed or were given up.
 *
 * At most one Set for a switch and block is out at a time, OpenSM's or ours. A given-up
 * SMP is out until it comes back. Its block is not sent again before that (smp_is_out),
 * so a late answer still shows the switch's table.
 */
#ifndef PORTMAJOR_SMP_H
#define PORTMAJOR_SMP_H

#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>

#include <stdbool.h>

struct smp_sender;

enum smp_kind {
	SMP_PORT_INFO, /* Get(PortInfo), modifier: port */
	SMP_SET_PORT,  /* Set(PortInfo) */
	SMP_NODE_INFO,
	SMP_SWITCH_INFO,
	SMP_SET_SWITCH,
	SMP_PKEYS, /* Get(P_KeyTable), modifier: block, of a switch's port << 16 as well
		    */
	SMP_SET_PKEYS,
	SMP_SET_SL2VL, /* Set(SLtoVLMappingTable) of an end port */
	SMP_SET_VLARB, /* Set(VLArbitrationTable), modifier: block << 16, from 1 */
	SMP_BLOCK,     /* Get(LinearForwardingTable), modifier: block */
	SMP_SET_BLOCK, /* Set(LinearForwardingTable), modifier: block */
	SMP_MFT,     /* Get(MulticastForwardingTable), modifier: smp_mft_modifier() .. */
	SMP_SET_MFT, /* .. and Set */
};

/* The modifier of a block of 32 MLIDs and a position of 16 ports. */
static inline uint32_t smp_mft_modifier(uint32_t block, uint32_t position)
{
	return position << 28 | block;
}

#define SMP_DATA 64   /* bytes of an SMP's data */
#define SMP_SLOTS 128 /* SMPs that can be out */

/*
 * For struct smp_batch. SMPs in OpenSM's queue beside those on the wire; more where
 * OpenSM uses it, too, as answers then wait behind those of a discovery.
 */
#define SMP_AHEAD 4
#define SMP_AHEAD_BESIDE 16
#define SMP_AHEAD_MOST 100 /* of 265 us each: a reply of OpenSM's waits 27 ms */
#define SMP_TOTAL_MS 800   /* as OpenSM's default time-out and retries */

/* An SMP for a switch of OpenSM's record, or with `sw` NULL for any node. */
struct smp_request {
	enum smp_kind kind;
	const osm_switch_t *sw;
	ib_net64_t guid, m_key; /* of the node, without sw */
	uint32_t modifier;
	osm_dr_path_t route;
	uint8_t data[SMP_DATA]; /* of a Set */
};

enum smp_outcome {
	SMP_ANSWERED,  /* with status 0, and after a Set with the content that was set,
			  unless that may change by itself or have unused bits:
			  PortInfo, SwitchInfo, qos tables */
	SMP_DIFFERENT, /* with status 0, and other content than was set */
	SMP_REFUSED,   /* another status, or not sent */
	SMP_SILENT,    /* timed out */
};

struct smp_answer {
	uint32_t index; /* of the SMP in its batch */
	enum smp_outcome outcome;
	uint16_t status;     /* of SMP_REFUSED, or 0: it was not sent */
	const uint8_t *data; /* [SMP_DATA] of an answer; until take() returns */
};

/* Why the block of a Set with another outcome than SMP_ANSWERED is not done. */
static inline const char *smp_fault(enum smp_outcome outcome)
{
	return outcome == SMP_DIFFERENT ? "a block acknowledged with other content"
					: "a block not answered";
}

/* Whether to send an SMP now. */
enum smp_make {
	SMP_SEND,
	SMP_OMIT,  /* never */
	SMP_LATER, /* when an outstanding SMP has come back */
};

/* SMPs that are sent as fast as the wire takes them, in this order. */
struct smp_batch {
	uint32_t num;
	uint32_t ahead;	     /* SMPs that may wait in OpenSM's queue at first */
	uint32_t ahead_most; /* `ahead` grows with each answer, up to this, and starts
				anew after a time-out: answers may wait in OpenSM's
				dispatcher while the wire is free */
	uint32_t total_ms;   /* when an SMP counts as silent, including retries */
	bool exclusive;	     /* whether osm->lock is held exclusively in make() */
	void *context;
	/* Fills *smp, which is zero, with osm->lock held. */
	enum smp_make (*make)(void *context, uint32_t index, struct smp_request *smp);
	/* Called for each SMP sent, without a lock. False: send no more. */
	bool (*take)(void *context, const struct smp_answer *answer);
};

struct smp_count {
	uint32_t sent, silent, refused, different;
	double queued_ms; /* time in OpenSM's queue, without any answer */
};

/* An LFT block with one of the plugin's Sets out. */
struct smp_block {
	ib_net64_t guid; /* of the switch's node */
	uint32_t number;
};

/*
 * Of the plugin, on threads of OpenSM's dispatcher with no lock held. on_trap: a trap,
 * before OpenSM sees it; true: OpenSM does not, but for its answer and its reports to
 * subscribers. hides_change: whether a light sweep is not to see that a port of the
 * switch with this LID has changed. on_set_down: OpenSM has taken a switch's port out of
 * service.
 */
struct smp_hooks {
	bool (*on_trap)(void *context, const ib_mad_notice_attr_t *notice);
	bool (*hides_change)(void *context, uint16_t lid);
	void (*on_set_down)(void *context, ib_net64_t guid, uint8_t num);
	void *context;
};

/* Installs the plugin's handlers. NULL without memory; then OpenSM's are back. */
struct smp_sender *smp_start(osm_opensm_t *osm, const struct smp_hooks *hooks);

/* The handlers must be gone: OpenSM shuts the dispatcher down before its plugins. */
void smp_stop(struct smp_sender *smps);

/*
 * Sends a batch and adds to *count. On one thread at a time, with no lock held. Returns
 * at most total_ms and a tenth of a second after the last SMP went to the wire. It waits
 * SMP_QUEUED_MS at most for the wire, as SMPs to dead switches may hold all its slots.
 */
#define SMP_QUEUED_MS 5000
void smp_run(struct smp_sender *smps, const struct smp_batch *batch,
	     struct smp_count *count);

/*
 * Whether one of the plugin's Sets for this LFT block is out, given up or not. On any
 * thread, with osm->lock held. O(SMP_SLOTS).
 */
bool smp_is_out(struct smp_sender *smps, ib_net64_t guid, uint32_t number);

/* The same for an MFT block, or a port; only on the thread that sends them. */
bool smp_is_mft_out(struct smp_sender *smps, ib_net64_t guid, uint32_t modifier);
bool smp_is_port_out(struct smp_sender *smps, ib_net64_t guid, uint32_t modifier);

/* Lists all such LFT blocks, at most SMP_SLOTS; returns their number. Likewise. */
uint32_t smp_list_out(struct smp_sender *smps, struct smp_block *blocks);

/* The number of LFT blocks that the plugin has set so far. With osm->lock held. */
uint64_t smp_count_set(struct smp_sender *smps);

/*
 * Notes that another engine writes the switches' tables from now on: late answers are not
 * noted in OpenSM's record. On any thread.
 */
void smp_disown(struct smp_sender *smps);

/*
 * The number of PortInfos that OpenSM has received, without answers to its Sets, which
 * change no link. On any thread.
 */
uint64_t smp_count_infos(const struct smp_sender *smps);

/* Whether more than `count` PortInfos were, or are being, received. */
bool smp_has_infos_since(const struct smp_sender *smps, uint64_t count);

#endif
