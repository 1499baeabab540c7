/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * States of links, in libwire.so. A PortInfo Set goes to ibsim in two steps: first its
 * values, whose answer tells the state that the port really is in, and then, if the port
 * would take it, its state. What follows by itself is done likewise: a port in ARMED
 * whose peer is ACTIVE turns ACTIVE by the first packet. Such SMPs of the wire's own are
 * nobody's questions: neither counted nor recorded nor subject to rules. Under the
 * library's lock.
 */
#ifndef PM_TESTS_WIRE_LINKS_H
#define PM_TESTS_WIRE_LINKS_H

#include "wire_nodes.h"

#pragma GCC visibility push(hidden)

/* What becomes of what has come. */
enum links_fate {
	LINKS_FOREIGN,	/* not an answer to a question of the wire's own */
	LINKS_TAKEN,	/* it is, and that is all */
	LINKS_RETURNED, /* it is, and ibsim could not deliver the question */
	LINKS_ANSWER,	/* it has become the answer that somebody waits for */
};

void links_start(uint64_t seed);

/* Sends a question as a real fabric takes it. Returns what umad_send does. */
int links_send(struct packet *p, int timeout_ms);

enum links_fate links_arrive(void *umad);

/* wire.c's: sends as it is; has OpenSM get a trap 128 from that LID; records that a port
 * has taken a state, by a Set or (method 0) by a packet. */
int wire_pass_on(struct packet *p, int timeout_ms);
void wire_make_trap(uint16_t lid);
void wire_record_state(struct place place, uint8_t port, uint8_t state, uint8_t method);

#pragma GCC visibility pop

#endif
