/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * InfiniBand's reliable connections, one for each pair of hosts in use: packets are
 * numbered, taken in order and answered. A receiver reports a gap once. Then, or when no
 * answer comes in time, the sender goes back to the first unanswered packet. After
 * `tries` times without an answer the connection is broken.
 *
 * This module has only the state of both ends: packet_host.c sends packets.
 */
#ifndef PORTMAJOR_LAB_PACKET_RC_H
#define PORTMAJOR_LAB_PACKET_RC_H

#include <portmajor/lab/packet.h>

#define RC_WINDOW 64 /* most packets sent and not answered */
#define RC_EVERY 16  /* every 16th packet requests an answer, and a message's last */

/* An unanswered packet of a message. */
struct rc_record {
	uint32_t next; /* the pair's next, or the next free one; or PM_NONE */
	uint32_t created, id;
	uint8_t size, sl;
	bool last;
};

struct rc_pair {
	uint32_t from, to;
	/*
	 * The sender: numbers of packets. Their records follow each other from `record`
	 * on.
	 */
	uint32_t answered, sent;
	uint32_t record, sending, tail; /* first, next to be sent, last; or PM_NONE */
	uint32_t deadline;
	uint32_t next_ready; /* in the list of its host */
	uint8_t tries;
	bool ready, timed, again, late, broken;
	/* The receiver. */
	bool nak_sent; /* the gap before the expected packet was reported */
	uint32_t expected;
};

struct rc {
	uint32_t num_hosts, timeout, tries;
	struct rc_pair *pairs;
	uint32_t num_pairs, room;
	uint32_t *slots; /* hash table: pairs, or PM_NONE; a power of two
			  */
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

/* The response to a received packet; bits. */
enum rc_answer {
	RC_TAKE = 1,	    /* it is the expected packet */
	RC_ACKNOWLEDGE = 2, /* answer with the packet that is expected next */
	RC_GAP = 4,	    /* the same, as this packet is not the expected one */
};

void rc_begin(struct rc *rc, uint32_t num_hosts, uint32_t timeout, uint32_t tries);
void rc_end(struct rc *rc);

/* Adds a message of a host, in packets of `packet` blocks. */
void rc_add(struct rc *rc, uint32_t from, const struct pm_message *message,
	    uint32_t packet);

/*
 * Takes the host's next packet, if it has one. *timed: the caller must call rc_look at
 * the pair's deadline.
 */
bool rc_next(struct rc *rc, uint32_t host, uint32_t now, struct rc_tag *tag,
	     struct rc_record *record, bool *timed);

/* Notes a received packet; returns bits of enum rc_answer. */
unsigned int rc_receive(struct rc *rc, struct rc_tag tag, bool last);

/*
 * Notes a received answer: all packets before tag.number have arrived, and with a gap
 * that packet has not.
 */
void rc_answered(struct rc *rc, struct rc_tag tag, bool gap, uint32_t now);

/* Handles the deadline; returns when to call it again, or PM_NONE. */
uint32_t rc_look(struct rc *rc, uint32_t pair, uint32_t now);

#endif
