/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libwire.so: a kernel and a wire between OpenSM and ibsim. See wire.h.
 *
 * One lock is held from a datagram's arrival here to its end: rules, trace and tables
 * are one sequence. OpenSM's receiver is the only thread that waits in umad_recv; it
 * also does the work that is due at some time, and so never waits longer than SLICE_MS.
 */

#include "wire.h"
#include "wire_links.h"
#include "wire_sender.h"
#include "wire_truth.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/umad.h>

#define QUESTIONS 1024 /* OpenSM keeps max_wire_smps, by default 4, on the wire */
#define DELAYED 4096
#define KEPT 1024
#define TRAPS 256
#define SLICE_MS 4
/* Arrived answers are handled before an SMP counts as unanswered. */
#define GRACE_NS 20000000u
#define MS 1000000u

typedef int send_fn(int, int, void *, int, int, int);
typedef int recv_fn(int, void *, int *, int);

struct question {
	struct packet packet;
	uint64_t deadline; /* of this transmission */
	int timeout_ms;
	int retries; /* left */
	uint16_t transmissions;
	bool plugin;  /* the sender, not OpenSM */
	bool faked;   /* the last one */
	bool changes; /* the node, if it is a Set */
};

struct delayed {
	struct packet packet;
	uint64_t due;
	bool outgoing;
};

/* A field that a node has by a rule of WIRE_KEEP. */
struct kept {
	const struct wire_rule *rule;
	uint64_t guid;
	uint8_t value[8];
};

/* The effects of rules on a datagram, beside those that are done. */
struct fate {
	uint32_t delay_ms;
	bool drop, twice, fake, stale;
};

static struct {
	pthread_once_t once;
	pthread_mutex_t lock;
	send_fn *send;
	recv_fn *recv;
	struct wire *shared;
	int trace; /* -1: none */
	int agent; /* the last sender of an SMP */
	uint64_t random;
	uint64_t paused_ns; /* while held, time stands still */
	struct question questions[QUESTIONS];
	struct delayed delayed[DELAYED];
	struct kept kept[KEPT];
	uint16_t traps[TRAPS]; /* to be made up: their LIDs */
	size_t num_questions, num_delayed, num_kept, num_traps;
} lib = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

/* ------------------------------------------------------------------------ start */

static void fail(const char *what)
{
	fprintf(stderr, "wire: %s: %s\n", what, strerror(errno));
	abort();
}

static void *next_symbol(const char *name)
{
	void *symbol = dlsym(RTLD_NEXT, name);

	if (!symbol)
		fail(name);
	return symbol;
}

static struct wire *map_file(const char *path)
{
	int flags = path ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	struct wire *shared;

	if (path && (fd < 0 || ftruncate(fd, sizeof(*shared))))
		fail(path);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, flags, fd, 0);
	if (shared == MAP_FAILED)
		fail("mmap");
	if (fd >= 0)
		close(fd);
	return shared;
}

static void lib_init(void)
{
	const char *trace = getenv("WIRE_TRACE");

	*(void **)&lib.send = next_symbol("umad_send");
	*(void **)&lib.recv = next_symbol("umad_recv");
	lib.shared = map_file(getenv("WIRE_FILE"));
	lib.shared->version = WIRE_VERSION;
	lib.random = lib.shared->seed * 2 + 1; /* xorshift must not start at 0 */
	links_start(lib.shared->seed);
	truth_open(getenv("WIRE_PORTS"));
	__atomic_store_n(&lib.shared->magic, WIRE_MAGIC, __ATOMIC_RELEASE);
	lib.trace = -1;
	if (trace) {
		lib.trace = open(trace, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
		if (lib.trace < 0)
			fail(trace);
	}
}

/* A thread that is cancelled while it has the lock would stop all others. */
static int enter(void)
{
	int old;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	pthread_mutex_lock(&lib.lock);
	return old;
}

static void leave(int old)
{
	pthread_mutex_unlock(&lib.lock);
	pthread_setcancelstate(old, &old);
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec;
}

static uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC) - lib.paused_ns;
}

/* -------------------------------------------------------------------- datagrams */

static struct packet make_packet(int port, int agent, const void *umad, int length)
{
	struct packet p = {.port = port, .agent = agent, .length = length};

	if (length > SMP_BYTES)
		p.length = SMP_BYTES;
	memcpy(p.bytes, umad, sizeof(p.umad) + (size_t)p.length);
	return p;
}

static struct question *find_question(const uint8_t *answer)
{
	for (size_t i = 0; i < lib.num_questions; i++) {
		const uint8_t *mad = packet_mad(&lib.questions[i].packet);

		if (transaction(mad) == transaction(answer) &&
		    mad[MAD_CLASS] == answer[MAD_CLASS])
			return &lib.questions[i];
	}
	return NULL;
}

static void forget_question(struct question *q)
{
	*q = lib.questions[--lib.num_questions];
}

static void put_off(const struct packet *p, uint32_t ms, bool outgoing)
{
	if (lib.num_delayed == DELAYED) {
		errno = ENOBUFS;
		fail("datagrams that are delayed");
	}
	lib.delayed[lib.num_delayed++] = (struct delayed){
		.packet = *p,
		.due = now_ns() + (uint64_t)ms * MS,
		.outgoing = outgoing,
	};
}

static uint64_t guid_of(const void *umad)
{
	return nodes_where(umad).guid;
}

/* ------------------------------------------------------------------------ rules */

static uint32_t next_random(void)
{
	lib.random ^= lib.random << 13;
	lib.random ^= lib.random >> 7;
	lib.random ^= lib.random << 17;
	return (uint32_t)(lib.random >> 32);
}

/* question is a trap itself. */
static bool rule_matches(const struct wire_rule *rule, enum wire_direction direction,
			 const uint8_t *question, uint64_t guid)
{
	uint32_t modifier = attr_modifier(question);

	return rule->direction == direction && (!rule->guid || rule->guid == guid) &&
	       (!rule->method || rule->method == question[MAD_METHOD]) &&
	       (!rule->attr || rule->attr == attr_id(question)) &&
	       modifier >= rule->first_modifier && modifier <= rule->last_modifier &&
	       next_random() % 1000000u < rule->chance;
}

static void hold(void)
{
	uint64_t number = ++lib.shared->held, begun = clock_ns(CLOCK_MONOTONIC);
	const struct timespec nap = {.tv_nsec = MS};

	while (__atomic_load_n(&lib.shared->released, __ATOMIC_ACQUIRE) < number)
		nanosleep(&nap, NULL);
	lib.paused_ns += clock_ns(CLOCK_MONOTONIC) - begun;
}

static void alter(const struct wire_rule *rule, uint8_t *mad)
{
	for (uint32_t i = 0; i < rule->length && i < sizeof(rule->value); i++) {
		uint8_t *at = mad + SMP_DATA + (rule->offset + i) % SMP_DATA_BYTES;

		*at = (uint8_t)((*at & ~rule->mask[i]) |
				(rule->value[i] & rule->mask[i]));
	}
}

static struct kept *find_kept(const struct wire_rule *rule, uint64_t guid)
{
	struct kept *kept = lib.kept, *end = kept + lib.num_kept;

	while (kept < end && (kept->rule != rule || kept->guid != guid))
		kept++;
	if (kept < end)
		return kept;
	if (lib.num_kept == KEPT) {
		errno = ENOBUFS;
		fail("fields that are kept");
	}
	lib.num_kept++;
	*kept = (struct kept){.rule = rule, .guid = guid};
	memcpy(kept->value, rule->value, sizeof(kept->value));
	return kept;
}

static void keep(const struct wire_rule *rule, const uint8_t *question, uint8_t *mad,
		 uint64_t guid)
{
	struct kept *kept = find_kept(rule, guid);

	for (uint32_t i = 0; i < rule->length && i < sizeof(kept->value); i++) {
		uint32_t at = SMP_DATA + (rule->offset + i) % SMP_DATA_BYTES;

		if (question[MAD_METHOD] == METHOD_SET)
			kept->value[i] = question[at];
		mad[at] = kept->value[i];
	}
}

static void apply(const struct wire_rule *rule, uint8_t *mad, struct fate *fate)
{
	switch (rule->action) {
	case WIRE_DROP:
		fate->drop = true;
		break;
	case WIRE_DELAY:
		fate->delay_ms += rule->delay_ms;
		break;
	case WIRE_TWICE:
		fate->twice = true;
		break;
	case WIRE_ALTER:
		alter(rule, mad);
		break;
	case WIRE_FAKE:
		fate->fake = mad[MAD_METHOD] == METHOD_SET;
		break;
	case WIRE_STALE:
		fate->stale = mad[MAD_METHOD] == METHOD_SET;
		break;
	case WIRE_HOLD:
		hold();
		break;
	case WIRE_KEEP:
		break; /* keep() */
	}
}

/* Judges mad, which belongs to that question (or is it, or is a trap), and alters it. */
static struct fate judge(enum wire_direction direction, const uint8_t *question,
			 uint8_t *mad, uint64_t guid)
{
	uint32_t num = __atomic_load_n(&lib.shared->num_rules, __ATOMIC_ACQUIRE);
	struct fate fate = {0};

	for (uint32_t i = 0; i < num && i < WIRE_RULES; i++) {
		struct wire_rule *rule = &lib.shared->rules[i];

		if (!__atomic_load_n(&rule->on, __ATOMIC_ACQUIRE) ||
		    !rule_matches(rule, direction, question, guid))
			continue;
		rule->matches++;
		if (rule->matches <= rule->skip ||
		    (rule->times && rule->matches > rule->skip + rule->times))
			continue;
		rule->acted++;
		apply(rule, mad, &fate);
		if (rule->action == WIRE_KEEP)
			keep(rule, question, mad, guid);
	}
	return fate;
}

/* ------------------------------------------------------------------------ trace */

static void write_record(const struct wire_record *r)
{
	if (lib.trace >= 0 && write(lib.trace, r, sizeof(*r)) != sizeof(*r))
		fail("trace");
}

void wire_record_state(struct target target, uint8_t port, uint8_t state, uint8_t method)
{
	struct wire_record r = {
		.ns = clock_ns(CLOCK_MONOTONIC),
		.event = WIRE_STATE,
		.guid = target.guid,
		.attr = ATTR_PORT_INFO,
		.modifier = port,
		.status = state,
		.method = method,
	};

	write_record(&r);
}

static void record(enum wire_event event, const void *umad, const struct question *q)
{
	const uint8_t *mad = umad_get_mad((void *)(uintptr_t)umad);
	const uint8_t *question = q ? packet_mad((struct packet *)&q->packet) : mad;
	bool direct = question[MAD_CLASS] == CLASS_SMP_DIRECT;
	struct wire_record r = {
		.ns = clock_ns(CLOCK_MONOTONIC),
		.event = (uint8_t)event,
		.tid = event == WIRE_TRAPPED ? 0 : transaction(question),
		.modifier = attr_modifier(question),
		.attr = (uint16_t)attr_id(question),
		.method = question[MAD_METHOD],
		.hops = direct ? question[SMP_HOP_COUNT] : UINT8_MAX,
		.transmissions = q ? q->transmissions : 0,
		.plugin = q && q->plugin,
	};

	if (lib.trace < 0)
		return;
	r.cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	r.guid = guid_of(umad);
	if (event == WIRE_ANSWERED || event == WIRE_APPLIED)
		r.status = (uint16_t)mad_status(mad);
	memcpy(r.data, mad + SMP_DATA, sizeof(r.data));
	write_record(&r);
}

/* ------------------------------------------------------------------------- ways */

int wire_pass_on(struct packet *p, int timeout_ms)
{
	return lib.send(p->port, p->agent, p->bytes, p->length, timeout_ms, 0);
}

static int transmit(struct question *q)
{
	struct packet p = q->packet;
	struct fate fate;
	int ret = 0;

	lib.shared->transmissions++;
	fate = judge(WIRE_REQUEST, packet_mad(&q->packet), packet_mad(&p),
		     guid_of(p.bytes));
	q->transmissions++;
	q->deadline = now_ns() + (uint64_t)q->timeout_ms * MS;
	q->faked = fate.fake;
	q->changes = !fate.fake && !fate.stale;
	if (fate.fake || fate.stale)
		packet_mad(&p)[MAD_METHOD] = METHOD_GET;
	if (fate.drop)
		return 0;
	for (int copies = fate.twice ? 2 : 1; copies && ret >= 0; copies--) {
		if (fate.delay_ms)
			put_off(&p, fate.delay_ms, true);
		else
			ret = links_send(&p, q->timeout_ms);
	}
	return ret;
}

static int ask(const struct packet *p, int timeout_ms, int retries)
{
	struct question *q = &lib.questions[lib.num_questions];
	int ret;

	if (lib.num_questions == QUESTIONS) {
		errno = ENOBUFS;
		fail("questions");
	}
	*q = (struct question){
		.packet = *p,
		.timeout_ms = timeout_ms,
		.retries = retries,
		.plugin = sender_is_plugin(),
	};
	lib.num_questions++;
	record(WIRE_ASKED, p->bytes, q);
	ret = transmit(q);
	if (ret < 0)
		forget_question(q);
	return ret;
}

/* Whether OpenSM gets it. */
static bool deliver(void *umad)
{
	uint8_t *mad = umad_get_mad(umad);
	struct question *q;

	if (!(mad[MAD_METHOD] & METHOD_RESPONSE)) {
		record(WIRE_TRAPPED, umad, NULL);
		return true;
	}
	q = find_question(mad);
	if (!q) {
		lib.shared->surplus++;
		return false;
	}
	if (q->faked)
		memcpy(mad + SMP_DATA, packet_mad(&q->packet) + SMP_DATA, SMP_DATA_BYTES);
	record(WIRE_ANSWERED, umad, q);
	forget_question(q);
	return true;
}

/* Whether a port would give this answer to that SMP; the answer becomes the port's. */
static bool make_true(struct question *q, uint8_t *answer)
{
	uint8_t asked[SMP_BYTES];
	struct target target;

	memcpy(asked, packet_mad(&q->packet), sizeof(asked));
	nodes_learn(asked, answer);
	target = nodes_where(q->packet.bytes);
	if (!q->changes)
		asked[MAD_METHOD] = METHOD_GET;
	if (asked[MAD_METHOD] == METHOD_GET && !truth_admits(target, asked))
		return false;
	if (asked[MAD_METHOD] == METHOD_GET && attr_id(asked) == ATTR_PORT_INFO)
		truth_show(target, asked, answer);
	return true;
}

/*
 * Whether OpenSM gets the datagram that has come, now: it is an answer or a trap for
 * it.
 */
static bool come(int port, int agent, void *umad, int length)
{
	uint8_t *mad = umad_get_mad(umad);
	const uint8_t *question = mad;
	enum wire_direction direction = WIRE_TRAP;
	struct packet p;
	struct fate fate;

	if (mad[MAD_METHOD] & METHOD_RESPONSE) {
		struct question *q = find_question(mad);

		if (attr_id(mad) == ATTR_LFT)
			record(WIRE_APPLIED, umad, NULL);
		if (!q)
			return deliver(umad);
		direction = WIRE_ANSWER;
		question = packet_mad(&q->packet);
		if (!make_true(q, mad))
			return false;
	} else if (mad[MAD_METHOD] == METHOD_TRAP) {
		truth_show_trap(mad);
	} else {
		return true;
	}
	fate = judge(direction, question, mad, guid_of(umad));
	if (fate.drop)
		return false;
	p = make_packet(port, agent, umad, length);
	if (fate.delay_ms || fate.twice)
		put_off(&p, fate.delay_ms, false);
	if (fate.delay_ms && fate.twice)
		put_off(&p, fate.delay_ms, false);
	return !fate.delay_ms && deliver(umad);
}

/* Whether OpenSM gets the datagram that has come, now. */
static bool arrive(int port, int agent, void *umad, int length)
{
	enum links_fate fate;

	if (!is_smp(umad_get_mad(umad)))
		return true;
	fate = links_arrive(umad);
	if (fate == LINKS_TAKEN)
		return false;
	if (fate == LINKS_RETURNED || (fate == LINKS_FOREIGN && umad_status(umad))) {
		lib.shared->returned++;
		return false;
	}
	return come(port, agent, umad, length);
}

/*
 * ------------------------------------------------------- work that is due at some time
 */

static int give(const struct packet *p, void *umad, int *length)
{
	memcpy(umad, p->bytes, sizeof(p->umad) + (size_t)p->length);
	*length = p->length;
	return p->agent;
}

/* Returns an agent that gets umad, or -1. */
static int end_delays(uint64_t now, void *umad, int *length)
{
	for (size_t i = 0; i < lib.num_delayed;) {
		struct delayed d = lib.delayed[i];

		if (d.due > now) {
			i++;
			continue;
		}
		/* Equally delayed datagrams keep their order. */
		lib.num_delayed--;
		memmove(&lib.delayed[i], &lib.delayed[i + 1],
			(lib.num_delayed - i) * sizeof(d));
		if (d.outgoing)
			links_send(&d.packet, 0);
		else if (deliver(d.packet.bytes))
			return give(&d.packet, umad, length);
	}
	return -1;
}

static int end_questions(uint64_t now, void *umad, int *length)
{
	for (size_t i = 0; i < lib.num_questions; i++) {
		struct question *q = &lib.questions[i], given;

		if (q->deadline > now)
			continue;
		if (q->retries) {
			q->retries--;
			lib.shared->again++;
			transmit(q); /* if it cannot be sent, so it is lost */
			continue;
		}
		lib.shared->timed_out++;
		q->packet.umad.status = ETIMEDOUT;
		record(WIRE_TIMED_OUT, q->packet.bytes, q);
		given = *q;
		forget_question(q);
		return give(&given.packet, umad, length);
	}
	return -1;
}

/* The LID of the next trap to be made up, 0: none. */
static uint16_t next_trap(void)
{
	struct wire *w = lib.shared;

	if (lib.num_traps)
		return lib.traps[--lib.num_traps];
	if (w->storm_done >= __atomic_load_n(&w->storm, __ATOMIC_ACQUIRE))
		return 0;
	return w->storm_lid[w->storm_done++ % w->storm_lids % WIRE_STORM_LIDS];
}

void wire_make_trap(uint16_t lid)
{
	if (lib.num_traps < TRAPS)
		lib.traps[lib.num_traps++] = lid;
}

/* A trap 128, "the state of one of my links has changed". */
static int make_trap(void *umad, int *length)
{
	struct packet p = {.agent = lib.agent, .length = SMP_BYTES};
	uint8_t *mad = packet_mad(&p);
	uint16_t lid = htons(next_trap());

	if (!lid)
		return -1;
	p.umad.addr.lid = lid;
	p.umad.agent_id = (uint32_t)lib.agent;
	mad[0] = 1; /* base version */
	mad[MAD_CLASS] = CLASS_SMP_LID;
	mad[2] = 1; /* class version */
	mad[MAD_METHOD] = METHOD_TRAP;
	mad[MAD_ATTR_ID + 1] = ATTR_NOTICE;
	mad[SMP_DATA] = 0x81; /* generic, urgent */
	mad[SMP_DATA + NOTICE_PRODUCER] = NODE_SWITCH;
	write_be(mad + SMP_DATA + NOTICE_TRAP, 2, TRAP_LINK_STATE);
	memcpy(mad + SMP_DATA + NOTICE_ISSUER, &lid,
	       sizeof(lid)); /* the reporting switch */
	memcpy(mad + SMP_DATA + NOTICE_LID_128, &lid, sizeof(lid)); /* which switch */
	record(WIRE_TRAPPED, p.bytes, NULL);
	return give(&p, umad, length);
}

static int whatever_is_due(uint64_t grace, void *umad, int *length)
{
	uint64_t now = now_ns();
	int agent = end_delays(now, umad, length);

	if (agent < 0)
		agent = end_questions(now - grace, umad, length);
	if (agent < 0)
		agent = make_trap(umad, length);
	return agent;
}

/* ------------------------------------------------------------------------- calls */

int umad_send(int portid, int agentid, void *umad, int length, int timeout_ms,
	      int retries)
{
	struct packet p;
	int old, ret;

	pthread_once(&lib.once, lib_init);
	/* Our own answers and represses are sent unchanged. */
	if (!is_smp(umad_get_mad(umad)) || timeout_ms <= 0)
		return lib.send(portid, agentid, umad, length, timeout_ms, retries);
	p = make_packet(portid, agentid, umad, length);
	p.umad.agent_id = (uint32_t)agentid;
	old = enter();
	lib.agent = agentid;
	ret = ask(&p, timeout_ms, retries);
	leave(old);
	return ret;
}

int umad_recv(int portid, void *umad, int *length, int timeout_ms)
{
	uint64_t deadline = clock_ns(CLOCK_MONOTONIC) + (uint64_t)timeout_ms * MS;
	const int room = *length;
	uint64_t grace = GRACE_NS;
	bool done = false;
	int old, ret;

	pthread_once(&lib.once, lib_init);
	for (;;) {
		old = enter();
		ret = whatever_is_due(grace, umad, length);
		leave(old);
		if (ret >= 0 || done)
			return ret >= 0 ? ret : -ETIMEDOUT;
		*length = room;
		ret = lib.recv(portid, umad, length, SLICE_MS);
		if (ret < 0 && *length > room)
			return ret; /* it needs a larger buffer */
		grace = ret < 0 ? 0 : GRACE_NS;
		if (ret >= 0) {
			old = enter();
			done = arrive(portid, ret, umad, *length);
			leave(old);
			if (done)
				return ret;
		}
		pthread_testcancel();
		done = timeout_ms >= 0 && clock_ns(CLOCK_MONOTONIC) >= deadline;
	}
}
