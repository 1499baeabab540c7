/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state of the flit engine. */
#ifndef PORTMAJOR_FLIT_PARTS_H
#define PORTMAJOR_FLIT_PARTS_H

#include <portmajor/lab/flit.h>

/* A flit: its packet's index, and these flags. */
#define FLIT_TAIL 1u
#define FLIT_DAMAGED 2u /* the packet has lost its end */
#define FLIT_SHIFT 2

/* A VC of a link; its index is link << vc_shift | vc. */
struct vc {
	/* The buffer at the link's end: a ring. */
	uint32_t first, fill;
	uint32_t ready;	    /* flits of these that have passed the switch's delay */
	uint32_t last_read; /* cycle */
	/* The packet in front: its VC, or PM_NONE while its head waits for one. */
	uint32_t next_vc;
	uint32_t want;		/* the link that it wants */
	uint32_t after, before; /* neighbours in the list of that link */
	bool listed;
	bool upper; /* PM_FLIT_ROW: it wants the upper half of that link's VCs */
	bool sent_stop;
	/*
	 * Of arriving packets: within: the last kept flit was no tail; throwing: the rest
	 * of the packet is discarded; unseen: no flit of it was kept.
	 */
	bool within, throwing, unseen;
	/* For the sender at the other end of the link. */
	uint32_t credits;
	uint32_t owner; /* VC with its packet in front, or PM_NONE */
};

struct link {
	uint64_t open;	    /* VCs that flow control lets through */
	uint64_t taken;	    /* VCs that belong to a packet */
	uint32_t head, end; /* list of VCs that wait to send by it, in turn */
	uint32_t
		sending; /* PM_FLIT_BY_PACKET: VC in the middle of a packet, or PM_NONE */
	uint32_t turn;	 /* VC at which the search for a free VC begins */
	uint32_t read_at,
		reads; /* reads at its end: the last cycle, and their number in it */
	uint64_t sent;
};

struct packet {
	uint32_t born; /* cycle; of an unused packet, the next unused one */
	uint32_t from, to;
};

struct source {
	uint64_t random;
	uint64_t
		birth; /* of the next packet, in 1 / 65536 of a cycle; UINT64_MAX: none */
	uint32_t vc;   /* of the packet being sent */
	uint32_t packet, left;
	uint64_t arrived; /* its arrived packets, since measuring */
};

/* For a switch with stages. A turn is the index behind the last one served. */
struct stage_vc {
	uint32_t at;	 /* the front takes part in allocation from this cycle on */
	uint32_t grants; /* as an output: turn of the VCs that request it */
	uint32_t takes;	 /* as an input: turn of the VCs that it may take */
	uint32_t offer;	 /* in a cycle, or PM_NONE */
};

struct stage_link {
	uint32_t reads;	 /* as an input: turn of its VCs */
	uint32_t grants; /* as an output: turn of the inputs */
	uint32_t takes;	 /* as an input: turn of the outputs */
	uint32_t front;	 /* in a cycle: the VC with its offer, or PM_NONE */
	uint32_t offer; /* in a cycle: the output with the offer that it takes, or PM_NONE
			 */
};

/* A flit on a link. */
struct moving {
	uint32_t vc, flit;
};

struct pm_flit {
	struct pm_pool pool;
	const struct pm_flit_net *net;
	struct pm_flit_config config;
	uint32_t now;
	uint32_t cable_span; /* slots for flits on links; now is in now % cable_span
			      */
	uint32_t signal_span;
	uint32_t vc_shift;
	uint64_t all_vcs; /* as bits */
	uint64_t interval;
	uint64_t random;	/* for paths */
	struct vc *vcs;		/* [link << vc_shift | vc] */
	struct link *links;	/* [link] */
	uint32_t *flits;	/* [vc][buffer] */
	uint32_t *num_listed;	/* [switch] */
	struct source *sources; /* [node] */
	struct moving *cables;	/* [cable_span][link] */
	uint32_t *num_cables;	/* [cable_span] */
	uint32_t *signals;	/* [signal_span][2 x link] vc << 1 | stop */
	uint32_t *num_signals;	/* [signal_span] */
	uint32_t *passing;	/* [delay][link] VCs with a new flit */
	uint32_t *num_passing;	/* [delay] */
	/* Only with stages. */
	struct stage_vc *stage_vcs;	/* [vc] */
	struct stage_link *stage_links; /* [link] */
	uint32_t *asking;		/* [vc] VCs that request a VC of a link */
	struct packet *packets;
	uint32_t room_packets, free_packets, num_free;
	uint64_t sent, arrived, lost; /* flits */
	/* Since measuring. */
	uint32_t since;
	uint64_t flits_in, packets_in, lost_flits, lost_packets, latency;
	uint64_t first_backlog; /* packets */
	uint32_t longest, highest_fill;
	uint64_t *histogram; /* [FLIT_BINS] of latencies */
	struct pm_flit_deadlock deadlock;
	uint8_t *moves; /* [vc] scratch for the search of deadlocks */
};

/*
 * Each latency below 2048 has its own bin; longer ones are counted by their first 11
 * bits.
 */
#define FLIT_BINS 23552u /* 23 x 1024 */

/* The number of a VC in its link, and its bit. */
static inline uint32_t flit_number(const struct pm_flit *flit, uint32_t vc)
{
	return vc & ((1u << flit->vc_shift) - 1);
}

static inline uint64_t flit_bit(const struct pm_flit *flit, uint32_t vc)
{
	return (uint64_t)1 << flit_number(flit, vc);
}

static inline uint32_t flit_vc_shift(uint32_t vcs)
{
	uint32_t shift = 0;

	while (1u << shift < vcs)
		shift++;
	return shift;
}

/* The VCs that the packet in front of a VC may take of the link that it wants. */
static inline uint64_t flit_choice(const struct pm_flit *flit, uint32_t vc)
{
	const struct vc *v = &flit->vcs[vc];
	const struct pm_flit_link *to = &flit->net->links[v->want];
	const struct pm_flit_link *from = &flit->net->links[vc >> flit->vc_shift];
	uint32_t number = flit_number(flit, vc), half = flit->config.vcs / 2;
	uint64_t lower = ((uint64_t)1 << half) - 1;
	bool out = to->to >= flit->net->num_switches, upper = v->upper;

	if (flit->config.rule == PM_FLIT_ONE)
		return 1;
	if (flit->config.rule == PM_FLIT_HOP)
		return (uint64_t)1 << (number + !out);
	if (flit->config.rule == PM_FLIT_ANY || out)
		return flit->all_vcs;
	if (flit->config.rule == PM_FLIT_DATELINE)
		upper = to->wrap || (from->dimension == to->dimension && number >= half);
	return upper ? flit->all_vcs & ~lower : lower;
}

static inline bool flit_vc_open(const struct pm_flit *flit, uint32_t vc)
{
	return flit->links[vc >> flit->vc_shift].open & flit_bit(flit, vc);
}

/* Sends a buffer's flow-control signal to the sending end of its link. */
static inline void flit_send_signal(struct pm_flit *flit, uint32_t vc, bool stop)
{
	size_t room = (size_t)2 * flit->net->num_links;
	uint32_t delay = flit->config.cable + flit->config.stages.credit;
	uint32_t slot = (flit->now + delay) % flit->signal_span;
	uint32_t i = flit->num_signals[slot]++;

	flit->signals[slot * room + i] = vc << 1 | stop;
}

/* Add a VC to, and remove it from, the list of the link that its front wants. */
void flit_list_vc(struct pm_flit *flit, uint32_t vc);
void flit_unlist_vc(struct pm_flit *flit, uint32_t vc);

/* Notes that another flit is in front of a VC, and may leave in this cycle. */
void flit_bring_forward(struct pm_flit *flit, uint32_t vc, uint32_t cycle);

/* Sends the front flit of a VC by its link. */
void flit_send_front(struct pm_flit *flit, uint32_t vc);

/* Send the flits that leave a node, or a switch with listed VCs, in this cycle. */
void flit_send_of_node(struct pm_flit *flit, uint32_t node);
void flit_send_of_switch(struct pm_flit *flit, uint32_t sw);

static inline bool flit_has_stages(const struct pm_flit *flit)
{
	return flit->config.stages.vc;
}

/* Notes that a front flit enters the stages in a cycle. */
static inline void flit_enter_stages(struct pm_flit *flit, uint32_t vc, uint32_t cycle)
{
	const struct pm_flit_stages *stages = &flit->config.stages;

	if (flit->vcs[vc].next_vc == PM_NONE)
		cycle += stages->routing + stages->vc - 1;
	else
		cycle += stages->crossbar - 1;
	flit->stage_vcs[vc].at = cycle;
}

/* As flit_send_of_switch, for a switch with stages. */
void flit_send_by_stages(struct pm_flit *flit, uint32_t sw);

/* Starts a node's packets. */
void flit_source_begin(struct pm_flit *flit, uint32_t node);

/* Whether a node has a packet to send. */
static inline bool flit_source_waits(const struct pm_flit *flit, uint32_t node)
{
	return flit->sources[node].birth <= (uint64_t)flit->now << 16;
}

/* Takes a node's next packet, when it is due, so that another one can be created. */
struct packet flit_source_take(struct pm_flit *flit, uint32_t node);

/* The number of created and unsent packets over all nodes; with Poisson arrivals the
 * expected number. */
uint64_t flit_source_backlog(const struct pm_flit *flit);

/* Looks for packets that wait for each other, and notes them. */
void flit_find_deadlock(struct pm_flit *flit);

#endif
