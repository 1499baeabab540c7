/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * InfiniBand's reliable connections, one for each pair of hosts that is used: packets are
 * numbered, taken in order and answered. A receiver reports a gap once; then, or when no
 * answer comes in time, the sender goes back to the first packet that is not answered.
 * After so many times without an answer the connection is broken.
 *
 * Only what both ends know is here: packets are sent by packet.c.
 */
#ifndef PORTMAJOR_LAB_PACKET_RC_H
#define PORTMAJOR_LAB_PACKET_RC_H

#include <portmajor/lab/packet.h>

#define RC_WINDOW 64 /* packets sent and not answered */
#define RC_EVERY 16  /* every so many packets request an answer; and a message's last */

/* A packet of a message that is not answered. */
struct rc_record {
	uint32_t next; /* of the pair, or free ones; or PM_NONE */
	uint32_t created, id;
	uint8_t size, sl;
	bool last;
};

struct rc_pair {
	uint32_t from, to;
	/* The sender. Numbers of packets; their records follow each other from `record`
	 * on. */
	uint32_t answered, sent;
	uint32_t record, sending, tail; /* first, next to be sent, last; or PM_NONE */
	uint32_t deadline;
	uint32_t next_ready; /* in the list of its host */
	uint8_t tries;
	bool ready, timed, again, late, broken;
	/* The receiver. */
	bool nak_sent; /* of the gap before the expected packet */
	uint32_t expected;
};

struct rc {
	uint32_t num_hosts, timeout, tries;
	struct rc_pair *pairs;
	uint32_t num_pairs, room;
	uint32_t *slots; /* a hash: pairs, or PM_NONE; a power of two */
	uint32_t num_slots;
	struct rc_record *records;
	uint32_t num_records, records_room, free;
	uint32_t *first_ready, *last_ready; /* [host] pairs with packets to send */
	struct pm_packet_pairs totals;
};

/* A packet's content. */
struct rc_tag {
	uint32_t pair, number;
};

/* The response to a packet that has come in. */
enum rc_answer {
	RC_TAKE = 1,	    /* it is the one that was expected */
	RC_ACKNOWLEDGE = 2, /* answer with the packet expected now */
	RC_GAP = 4,	    /* the same, and it is not this one */
};

/* -ENOMEM. */
int rc_begin(struct rc *rc, uint32_t num_hosts, uint32_t timeout, uint32_t tries);
void rc_end(struct rc *rc);

/* A host has a message to send; `packet` blocks a packet. -ENOMEM. */
int rc_add(struct rc *rc, uint32_t from, const struct pm_message *message,
	   uint32_t packet);

/* The host's next packet, if it has one. *timed: see to it that rc_look is called at its
 * pair's deadline. */
bool rc_next(struct rc *rc, uint32_t host, uint32_t now, struct rc_tag *tag,
	     struct rc_record *record, bool *timed);

/* A packet has come in: enum rc_answer. */
unsigned int rc_receive(struct rc *rc, struct rc_tag tag, bool last);

/* An answer has come in: all packets before tag.number have arrived, and, if there is a
 * gap, that one has not. */
void rc_answered(struct rc *rc, struct rc_tag tag, bool gap, uint32_t now);

/* The announced deadline: when to look again, or PM_NONE. */
uint32_t rc_look(struct rc *rc, uint32_t pair, uint32_t now);

#endif
