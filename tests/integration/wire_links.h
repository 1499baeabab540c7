/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * States of links, in libwire.so. A PortInfo Set goes to ibsim in two steps: first its
 * values, whose answer has the real state of the port, and then, if the port would
 * accept it, its state. Automatic changes are made likewise: a port in ARMED whose peer
 * is ACTIVE turns ACTIVE by the first packet. Such SMPs of the wire's own are neither
 * counted nor recorded nor subject to rules. Under the library's lock.
 */
#ifndef PM_TESTS_WIRE_LINKS_H
#define PM_TESTS_WIRE_LINKS_H

#include "wire_nodes.h"

#pragma GCC visibility push(hidden)

/* The fate of a datagram that has come. */
enum links_fate {
	LINKS_FOREIGN,	/* not an answer to an SMP of the wire's own */
	LINKS_TAKEN,	/* it is one, and needs no more work */
	LINKS_RETURNED, /* it is one, and ibsim could not deliver the SMP */
	LINKS_ANSWER,	/* it has become the answer to a sender's SMP */
};

void links_start(uint64_t seed);

/* Sends an SMP as a real fabric treats it. Returns the result of umad_send. */
int links_send(struct packet *p, int timeout_ms);

enum links_fate links_arrive(void *umad);

/*
 * In wire.c: sends it unchanged; has OpenSM get a trap 128 from that LID; records that
 * a port has taken a state, by a Set or (method 0) by a packet.
 */
int wire_pass_on(struct packet *p, int timeout_ms);
void wire_make_trap(uint16_t lid);
void wire_record_state(struct target target, uint8_t port, uint8_t state, uint8_t method);

#pragma GCC visibility pop

#endif
