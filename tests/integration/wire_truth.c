/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ports that remember, check M_Keys and reboot. See wire_truth.h. */

#include "wire_truth.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Bits of a PortInfo that a Set sets, and that ibsim forgets or, in a reboot, keeps. */
static const uint8_t remembered[SMP_DATA_BYTES] = {
	[PORT_INFO_M_KEY] = 0xff,
	0xff,
	0xff,
	0xff,
	0xff,
	0xff,
	0xff,
	0xff,
	[PORT_INFO_LEASE] = 0xff,
	0xff,
	[PORT_INFO_WIDTH] = 0xff,
	[PORT_INFO_PHYSICAL_STATE] = 0x0f,
	[PORT_INFO_PROTECT] = 0xc0,
	[PORT_INFO_SPEED] = 0x0f,
	[PORT_INFO_MTU] = 0xff,
	[PORT_INFO_HIGH_LIMIT] = 0xff,
	[PORT_INFO_STALL] = 0xff,
	[PORT_INFO_OPER_VLS] = 0xff,
	[PORT_INFO_VIOLATIONS] = 0xff,
	0xff,
	0xff,
	0xff,
	0xff,
	0xff,
	[PORT_INFO_TIMEOUT] = 0x7f,
	[PORT_INFO_THRESHOLDS] = 0xff,
	[PORT_INFO_SPEED_EXT] = 0x1f,
};

/* For these a Set of 0 changes nothing. */
static const uint8_t zero_is_nothing[SMP_DATA_BYTES] = {
	[PORT_INFO_WIDTH] = 0xff,    [PORT_INFO_PHYSICAL_STATE] = 0x0f,
	[PORT_INFO_SPEED] = 0x0f,    [PORT_INFO_MTU] = 0xf0,
	[PORT_INFO_OPER_VLS] = 0xf0, [PORT_INFO_SPEED_EXT] = 0x1f,
};

#define CAN_REREGISTER 0x02 /* in the first byte of the CapabilityMask */
#define REREGISTER 0x80

static struct truth *truth;

/* ------------------------------------------------------------------------- file */

static void fail(const char *what)
{
	fprintf(stderr, "wire: %s: %s\n", what, strerror(errno));
	abort();
}

static pthread_mutex_t *mutex(void)
{
	static_assert(sizeof(pthread_mutex_t) <= sizeof(truth->lock), "room for a mutex");
	return (pthread_mutex_t *)(void *)truth->lock;
}

static void lock(void)
{
	if (pthread_mutex_lock(mutex()) == EOWNERDEAD)
		pthread_mutex_consistent(mutex()); /* each entry is whole at any time */
}

static void unlock(void)
{
	pthread_mutex_unlock(mutex());
}

static void init_file(void)
{
	pthread_mutexattr_t attr;

	if (truth->magic == TRUTH_MAGIC)
		return;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(mutex(), &attr);
	truth->version = TRUTH_VERSION;
	truth->magic = TRUTH_MAGIC;
}

void truth_open(const char *path)
{
	int fd;

	if (!path)
		return;
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX))
		fail(path);
	truth = mmap(NULL, sizeof(*truth), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (truth == MAP_FAILED)
		fail(path);
	init_file();
	flock(fd, LOCK_UN); /* the mapping would keep it */
	close(fd);
}

struct truth *truth_file(void)
{
	return truth;
}

/* With the lock. NULL: there is none, and none is made. */
static struct truth_port *find(uint64_t guid, uint8_t port, bool make)
{
	uint64_t hash = (guid * 0x100 + port) * 0x9e3779b97f4a7c15u;
	struct truth_port *found;

	for (uint64_t i = hash >> 44;; i++) {
		uint32_t *slot = &truth->index[i % TRUTH_INDEX];

		found = *slot ? &truth->ports[*slot - 1] : NULL;
		if (found && found->guid == guid && found->port == port)
			return found;
		if (found)
			continue;
		if (!make)
			return NULL;
		if (truth->num_ports == TRUTH_PORTS) {
			errno = ENOBUFS;
			fail("ports");
		}
		found = &truth->ports[truth->num_ports++];
		*found = (struct truth_port){.guid = guid, .port = port};
		*slot = truth->num_ports;
		return found;
	}
}

uint8_t truth_port_of(struct target target, const uint8_t *mad)
{
	uint8_t port = (uint8_t)attr_modifier(mad);

	return target.is_switch || port ? port : target.port;
}

static bool can_reregister(struct target target)
{
	return !target.is_switch;
}

/* ----------------------------------------------------------------------- M_Keys */

/* The port with the M_Key that is checked. */
static struct truth_port *keeper(struct target target)
{
	return find(target.guid, target.is_switch ? 0 : target.port, false);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool knows_key(const struct truth_port *port, const uint8_t *question)
{
	uint64_t key = read_be(port->value + PORT_INFO_M_KEY, 8);

	return !key || key == read_be(question + SMP_M_KEY, 8);
}

static unsigned int protection(const struct truth_port *port)
{
	return port->value[PORT_INFO_PROTECT] >> 6;
}

/* A wrong M_Key starts the lease, a right one stops it; at its end protection ends. */
static bool admits(struct truth_port *port, const uint8_t *question)
{
	uint64_t lease = read_be(port->value + PORT_INFO_LEASE, 2), now = now_ns(), times;

	if (port->lease_ends && now >= port->lease_ends) {
		port->lease_ends = 0;
		port->value[PORT_INFO_PROTECT] &= 0x3f;
	}
	if (knows_key(port, question)) {
		port->lease_ends = 0;
		return true;
	}
	if (question[MAD_METHOD] == METHOD_GET && protection(port) < 2)
		return true;
	port->refused++;
	times = read_be(port->value + PORT_INFO_VIOLATIONS, 2);
	write_be(port->value + PORT_INFO_VIOLATIONS, 2, times + (times < UINT16_MAX));
	memset(port->set + PORT_INFO_VIOLATIONS, 0xff, 2);
	if (lease && !port->lease_ends)
		port->lease_ends = now + lease * 1000000000u;
	truth->wrong_m_keys++;
	return false;
}

bool truth_admits(struct target target, const uint8_t *question)
{
	struct truth_port *port;
	bool does;

	/* An SMInfo belongs to the subnet managers, not to the port. */
	if (!truth || !target.guid || attr_id(question) == ATTR_SM_INFO)
		return true;
	lock();
	port = keeper(target);
	does = !port || admits(port, question);
	unlock();
	return does;
}

/* --------------------------------------------------------------------- PortInfo */

void truth_set(struct target target, const uint8_t *question)
{
	const uint8_t *data = question + SMP_DATA;
	struct truth_port *port;

	if (!truth || !target.guid)
		return;
	lock();
	port = find(target.guid, truth_port_of(target, question), true);
	for (int i = 0; i < SMP_DATA_BYTES; i++) {
		uint8_t bits = remembered[i];

		if (!(data[i] & zero_is_nothing[i]))
			bits &= (uint8_t)~zero_is_nothing[i];
		port->set[i] |= bits;
		port->value[i] = (uint8_t)((port->value[i] & ~bits) | (data[i] & bits));
	}
	if (data[PORT_INFO_TIMEOUT] & REREGISTER && can_reregister(target))
		port->reregistered++;
	unlock();
}

/*
 * Values that were not set since the reboot are the default ones, where ibsim has kept
 * them.
 */
static void show_delivered(const struct truth_port *port, uint8_t *data)
{
	if (!(port->set[PORT_INFO_OPER_VLS] & 0xf0))
		data[PORT_INFO_OPER_VLS] = (uint8_t)((data[PORT_INFO_VL_CAP] & 0xf0) |
						     (data[PORT_INFO_OPER_VLS] & 0x0f));
	if (!port->set[PORT_INFO_STALL])
		data[PORT_INFO_STALL] = 0;
}

/* "All bits" enables what is supported. */
static void show_supported(uint8_t *data)
{
	if (data[PORT_INFO_WIDTH] == 0xff)
		data[PORT_INFO_WIDTH] = data[PORT_INFO_WIDTH_SUPPORTED];
	if ((data[PORT_INFO_SPEED] & 0x0f) == 0x0f)
		data[PORT_INFO_SPEED] = (uint8_t)((data[PORT_INFO_SPEED] & 0xf0) |
						  data[PORT_INFO_STATE] >> 4);
	if ((data[PORT_INFO_SPEED_EXT] & 0x1f) == 0x1f)
		data[PORT_INFO_SPEED_EXT] =
			(uint8_t)((data[PORT_INFO_SPEED_EXT] & 0xe0) |
				  (data[PORT_INFO_SPEED_EXT_SUPPORTED] & 0x0f));
}

static void show(const struct truth_port *port, const uint8_t *question, uint8_t *data)
{
	for (int i = 0; i < SMP_DATA_BYTES; i++)
		data[i] = (uint8_t)((data[i] & ~port->set[i]) |
				    (port->value[i] & port->set[i]));
	show_supported(data);
	if (port->rebooted)
		show_delivered(port, data);
	if (port->ahead && (data[PORT_INFO_STATE] & 0x0f) == PORT_ARMED)
		data[PORT_INFO_STATE] =
			(uint8_t)((data[PORT_INFO_STATE] & 0xf0) | PORT_ACTIVE);
	if (question[MAD_METHOD] == METHOD_GET && protection(port) == 1 &&
	    !knows_key(port, question))
		memset(data + PORT_INFO_M_KEY, 0, 8);
}

void truth_show(struct target target, const uint8_t *question, uint8_t *answer)
{
	uint8_t *data = answer + SMP_DATA;
	struct truth_port *port;

	if (!truth || !target.guid)
		return;
	lock();
	port = find(target.guid, truth_port_of(target, question), false);
	if (port)
		show(port, question, data);
	unlock();
	if (!can_reregister(target))
		return;
	data[PORT_INFO_CAPABILITIES] |= CAN_REREGISTER;
	/* Sent once: in the answer to the Set with the bit, and in no other. */
	data[PORT_INFO_TIMEOUT] &= (uint8_t)~REREGISTER;
	if (question[MAD_METHOD] == METHOD_SET)
		data[PORT_INFO_TIMEOUT] |=
			question[SMP_DATA + PORT_INFO_TIMEOUT] & REREGISTER;
}

void truth_show_trap(uint8_t *trap)
{
	uint8_t *data = trap + SMP_DATA;

	if (truth && read_be(data + NOTICE_TRAP, 2) == TRAP_CAPABILITIES &&
	    data[NOTICE_PRODUCER] == NODE_HOST)
		data[NOTICE_CAPABILITIES_144] |= CAN_REREGISTER;
}

bool truth_is_ahead(uint64_t guid, uint8_t number)
{
	const struct truth_port *port;
	bool ahead;

	if (!truth || !guid)
		return false;
	lock();
	port = find(guid, number, false);
	ahead = port && port->ahead;
	unlock();
	return ahead;
}

void truth_put_ahead(uint64_t guid, uint8_t number, bool ahead)
{
	struct truth_port *port;

	if (!truth || !guid)
		return;
	lock();
	port = find(guid, number, ahead);
	if (port)
		port->ahead = ahead;
	unlock();
}

/* ---------------------------------------------------------------------- reboots */

static void raise_to(uint16_t *most, uint32_t value)
{
	if (value > *most)
		*most = (uint16_t)value;
}

void truth_note(struct target target, const uint8_t *question)
{
	uint32_t attr = attr_id(question), modifier = attr_modifier(question);
	struct truth_port *port;

	if (!truth || !target.guid || question[MAD_METHOD] != METHOD_SET)
		return;
	if (attr != ATTR_LFT && attr != ATTR_MFT && attr != ATTR_P_KEYS)
		return;
	lock();
	if (attr == ATTR_P_KEYS) {
		port = find(target.guid,
			    target.is_switch ? (uint8_t)(modifier >> 16) : target.port,
			    true);
		raise_to(&port->p_key_blocks, (modifier & 0xffff) + 1);
	} else {
		port = find(target.guid, 0, true);
		if (attr == ATTR_LFT) {
			raise_to(&port->lft_blocks, modifier + 1);
		} else {
			raise_to(&port->mft_blocks, (modifier & 0x1ff) + 1);
			raise_to(&port->mft_positions, (modifier >> 28) + 1);
		}
	}
	unlock();
}

static void forget(uint64_t guid)
{
	for (int number = 0; number <= UINT8_MAX; number++) {
		struct truth_port *port = find(guid, (uint8_t)number, !number);

		if (!port)
			continue;
		memset(port->set, 0, sizeof(port->set));
		memset(port->value, 0, sizeof(port->value));
		port->lease_ends = 0;
		port->ahead = 0;
		port->rebooted = 1;
		port->due = !number;
	}
}

bool truth_has_rebooted(uint64_t guid, struct truth_port *had)
{
	struct truth_port *node;
	bool due = false;

	if (!truth || !guid)
		return false;
	lock();
	while (truth->reboots_done !=
	       __atomic_load_n(&truth->reboots, __ATOMIC_ACQUIRE)) {
		forget(truth->reboot[truth->reboots_done % TRUTH_REBOOTS]);
		truth->reboots_done++;
	}
	node = find(guid, 0, false);
	if (node && node->due) {
		due = true;
		*had = *node;
		node->due = 0;
		node->lft_blocks = node->mft_blocks = node->mft_positions = 0;
		truth->wiped++;
	}
	unlock();
	return due;
}

unsigned int truth_p_key_blocks(uint64_t guid, uint8_t number)
{
	struct truth_port *port;
	unsigned int blocks = 0;

	lock();
	port = find(guid, number, false);
	if (port) {
		blocks = port->p_key_blocks;
		port->p_key_blocks = 0;
	}
	unlock();
	return blocks;
}
