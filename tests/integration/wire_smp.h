/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Management datagrams (SMPs) for the parts of libwire.so. Numbers in a datagram are in
 * network order; the results of functions here are not.
 */
#ifndef PM_TESTS_WIRE_SMP_H
#define PM_TESTS_WIRE_SMP_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/umad.h>

enum { /* byte offsets in an SMP */
       MAD_CLASS = 1,
       MAD_METHOD = 3,
       MAD_STATUS = 4,
       SMP_HOP_COUNT = 7, /* directed route only */
       MAD_TRANSACTION_LOW = 12,
       MAD_ATTR_ID = 16,
       MAD_ATTR_MODIFIER = 20,
       SMP_M_KEY = 24,
       SMP_DIRECT_LIDS = 32, /* both 0xffff: directed all the way */
       SMP_DATA = 64,
       SMP_PATH = 128, /* of this and the next: directed route only */
       SMP_DATA_BYTES = 64,
       SMP_PATH_BYTES = 64,
       SMP_BYTES = 256,
       NODE_INFO_TYPE = SMP_DATA + 2,
       NODE_INFO_GUID = SMP_DATA + 12,
       NODE_INFO_PORT = SMP_DATA + 36,
};

enum { /* byte offsets in a PortInfo */
       PORT_INFO_M_KEY = 0,
       PORT_INFO_LID = 16,
       PORT_INFO_CAPABILITIES = 20,
       PORT_INFO_LEASE = 26, /* of the M_Key, s */
       PORT_INFO_WIDTH = 29, /* enabled; then supported */
       PORT_INFO_WIDTH_SUPPORTED = 30,
       PORT_INFO_STATE = 32, /* lower half of the byte; upper: LinkSpeedSupported */
       PORT_INFO_PHYSICAL_STATE = 33, /* upper half; lower: LinkDownDefaultState */
       PORT_INFO_PROTECT = 34,	      /* upper two bits */
       PORT_INFO_SPEED = 35,	      /* lower half: enabled */
       PORT_INFO_MTU = 36,	      /* upper half; lower: master SM's SL */
       PORT_INFO_VL_CAP = 37,	      /* upper half */
       PORT_INFO_HIGH_LIMIT = 38,
       PORT_INFO_STALL = 42,	  /* upper three bits; lower: HOQLife */
       PORT_INFO_OPER_VLS = 43,	  /* upper half; lower: enforcement and filters */
       PORT_INFO_VIOLATIONS = 44, /* three counters; M_Key's is the first */
       PORT_INFO_TIMEOUT = 51,	  /* lower five bits; the uppermost: ClientReregister */
       PORT_INFO_THRESHOLDS = 53,
       PORT_INFO_SPEED_EXT_SUPPORTED = 62, /* lower half */
       PORT_INFO_SPEED_EXT = 63,	   /* lower five bits: enabled */
};

enum { /* byte offsets in a Notice */
       NOTICE_PRODUCER = 3,
       NOTICE_TRAP = 4,
       NOTICE_ISSUER = 6,
       NOTICE_LID_128 = 10,
       NOTICE_CAPABILITIES_144 = 16,
};

enum {
	CLASS_SMP_LID = 0x01,
	CLASS_SMP_DIRECT = 0x81,
	METHOD_GET = 0x01,
	METHOD_SET = 0x02,
	METHOD_TRAP = 0x05,
	METHOD_RESPONSE = 0x80,
	ATTR_NOTICE = 0x02,
	ATTR_NODE_INFO = 0x11,
	ATTR_SWITCH_INFO = 0x12,
	ATTR_PORT_INFO = 0x15,
	ATTR_P_KEYS = 0x16,
	ATTR_LFT = 0x19,
	ATTR_MFT = 0x1b,
	ATTR_SM_INFO = 0x20,
	NODE_HOST = 1,
	NODE_SWITCH = 2,
	TRAP_LINK_STATE = 128,
	TRAP_CAPABILITIES = 144,
	PORT_NO_CHANGE = 0,
	PORT_DOWN = 1,
	PORT_INIT = 2,
	PORT_ARMED = 3,
	PORT_ACTIVE = 4,
	STATUS_INVALID_VALUE = 0x1c,
	STATUS_MASK = 0x7fff, /* the uppermost bit is a directed route's direction */
};

struct packet {
	int port, agent, length;
	union {
		ib_user_mad_t umad;
		uint8_t bytes[sizeof(ib_user_mad_t) + SMP_BYTES];
	};
};

static inline uint64_t read_be(const uint8_t *at, unsigned int bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | *at++;
	return value;
}

static inline void write_be(uint8_t *at, unsigned int bytes, uint64_t value)
{
	for (; bytes--; value >>= 8)
		at[bytes] = (uint8_t)value;
}

static inline bool is_smp(const uint8_t *mad)
{
	return mad[MAD_CLASS] == CLASS_SMP_LID || mad[MAD_CLASS] == CLASS_SMP_DIRECT;
}

static inline uint32_t attr_id(const uint8_t *mad)
{
	return (uint32_t)read_be(mad + MAD_ATTR_ID, 2);
}

static inline uint32_t attr_modifier(const uint8_t *mad)
{
	return (uint32_t)read_be(mad + MAD_ATTR_MODIFIER, 4);
}

static inline uint32_t transaction(const uint8_t *mad)
{
	return (uint32_t)read_be(mad + MAD_TRANSACTION_LOW, 4);
}

static inline unsigned int hop_count(const uint8_t *mad)
{
	return mad[SMP_HOP_COUNT] % SMP_PATH_BYTES;
}

static inline unsigned int mad_status(const uint8_t *mad)
{
	return (unsigned int)read_be(mad + MAD_STATUS, 2) & STATUS_MASK;
}

static inline void set_status(uint8_t *mad, unsigned int status)
{
	write_be(mad + MAD_STATUS, 2,
		 (read_be(mad + MAD_STATUS, 2) & ~(uint64_t)STATUS_MASK) | status);
}

static inline bool is_set_of(const uint8_t *mad, uint32_t attr)
{
	return mad[MAD_METHOD] == METHOD_SET && attr_id(mad) == attr;
}

static inline uint8_t *packet_mad(struct packet *p)
{
	return p->bytes + sizeof(p->umad);
}

#endif
