/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Layout of the file that tells libwire.so how to treat the management datagrams (SMPs)
 * of a process, and of the trace that it writes.
 *
 * libwire.so is preloaded below libmadcount.so, which thus counts OpenSM's own
 * requests, and in front of libumad2sim.so. It behaves like a kernel and a wire, not
 * like ibsim:
 *
 *  - A question (Get or Set) that nothing answers is sent again as often as OpenSM asked
 *    for, each time after the timeout that it gave; only then does it come back as timed
 *    out. What ibsim returns at once as undeliverable is lost without a word.
 *  - An answer that comes twice, or after the question was given up, is dropped.
 *  - Ports are as real ones, also where ibsim's are not: see wire_truth.h for what they
 *    keep, wire_links.h for their states.
 *
 * Rules describe other effects on single transmissions; each transmission of an SMP is
 * judged anew. All matching rules are applied, in their order.
 *
 * The process maps the file named by WIRE_FILE at its first datagram. Another process
 * writes rules at any time: it fills a slot at the end, or one that is not on, and
 * then sets `on`. Fields marked "out" are the library's. Native byte order, naturally
 * aligned, no padding.
 *
 * A datagram's node is known by its directed route, cable by cable, from the NodeInfo
 * that came back over each; or by its LID, from the node's PortInfo. So the first
 * question over a cable matches no rule with a GUID; its answer does.
 */
#ifndef PM_TESTS_WIRE_H
#define PM_TESTS_WIRE_H

#include <assert.h>
#include <stdint.h>

#define WIRE_MAGIC 0x52574d50u /* "PMWR" read as little endian */
#define WIRE_VERSION 1u
#define WIRE_RULES 128u
#define WIRE_STORM_LIDS 64u

/* The datagrams that a rule looks at. */
enum wire_direction {
	WIRE_REQUEST, /* each transmission of a question of ours */
	WIRE_ANSWER,  /* an answer to one; method and modifier are the question's */
	WIRE_TRAP,    /* a trap that comes in */
};

enum wire_action {
	WIRE_DROP,
	WIRE_DELAY, /* by delay_ms; others overtake it */
	WIRE_TWICE, /* a request or a trap */
	WIRE_ALTER, /* length bytes of the SMP's 64 bytes of data, from offset on */
	WIRE_FAKE,  /* a Set changes nothing and is acknowledged all the same */
	WIRE_STALE, /* likewise, and the answer has what the node has */
	WIRE_HOLD,  /* nothing passes until `released` has reached `held` */
	/*
	 * A node's answers have the value that was set last, at first `value`: length
	 * bytes of data from offset on that the simulator does not know.
	 */
	WIRE_KEEP,
};

struct wire_rule {
	uint64_t guid;	  /* of the node; 0: any */
	uint64_t skip;	  /* matching ones that pass first */
	uint64_t times;	  /* then so many are acted on; 0: all */
	uint64_t matches; /* out: those that met the conditions and the chance */
	uint64_t acted;	  /* out */
	uint32_t on;
	uint32_t direction;
	uint32_t action;
	uint32_t method; /* 0: any */
	uint32_t attr;	 /* host order; 0: any */
	uint32_t first_modifier;
	uint32_t last_modifier;
	uint32_t chance; /* in a million */
	uint32_t delay_ms;
	uint32_t offset;
	uint32_t length; /* 8 at most */
	uint32_t reserved;
	uint8_t value[8];
	uint8_t mask[8]; /* bits that are taken from value */
};

struct wire {
	uint32_t magic; /* out */
	uint32_t version;
	uint64_t seed;		/* of the chances; read at the start */
	uint64_t transmissions; /* out: questions sent, also again */
	uint64_t again;		/* out: of these, sent again */
	uint64_t timed_out;	/* out: questions given up */
	uint64_t returned;	/* out: datagrams that the simulator could not deliver */
	uint64_t surplus;	/* out: answers that came after their SMP was given up */
	uint64_t held;		/* out: how often a rule has held the wire */
	uint64_t released;
	uint64_t storm;	     /* traps 128 to make up, in all; only grows */
	uint64_t storm_done; /* out */
	uint16_t storm_lid[WIRE_STORM_LIDS]; /* from these LIDs in turn, */
	uint32_t storm_lids;		     /* so many of them */
	uint32_t num_rules;
	struct wire_rule rules[WIRE_RULES];
};

/*
 * WIRE_TRACE, if set, names a file to which such a record is appended for each of
 * these.
 */
enum wire_event {
	WIRE_ASKED,	/* OpenSM has sent a question */
	WIRE_ANSWERED,	/* its answer is given to OpenSM */
	WIRE_TIMED_OUT, /* it is given back to OpenSM */
	WIRE_TRAPPED,	/* a trap is given to OpenSM */
	/*
	 * A node has answered a Get or Set of an LFT block: data is in its table now,
	 * whatever rules do with the answer. method is the answer's.
	 */
	WIRE_APPLIED,
	/*
	 * A port has taken a state: by a Set (method), or by a packet (method 0). attr
	 * is PortInfo, modifier the port, status the state. Links that ibsim's console
	 * takes down or up do not show here.
	 */
	WIRE_STATE,
};

struct wire_record {
	uint64_t ns;	 /* CLOCK_MONOTONIC */
	uint64_t cpu_ns; /* the process's CPU time, this library's included */
	uint64_t guid;	 /* of the node, 0 if not known */
	uint32_t tid;	 /* the transaction's lower half; of a trap 0 */
	uint32_t modifier;
	uint16_t attr;
	uint16_t status;	/* of an answer */
	uint16_t transmissions; /* so far; when asked 0 */
	uint8_t event;
	uint8_t method; /* of the question, but for WIRE_APPLIED */
	uint8_t hops;	/* 255: LID-routed */
	uint8_t plugin; /* the question is the plugin's own, not OpenSM's; not of
			 * WIRE_APPLIED */
	uint8_t reserved[6];
	uint8_t data[64];
};

static_assert(sizeof(struct wire_rule) == 104, "wire layout");
static_assert(sizeof(struct wire) ==
		      96 + WIRE_STORM_LIDS * 2 + WIRE_RULES * sizeof(struct wire_rule),
	      "wire layout");
static_assert(sizeof(struct wire_record) == 112, "wire layout");

#endif
