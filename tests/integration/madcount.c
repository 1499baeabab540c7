/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libmadcount.so: counts the management datagrams that pass umad_send and
 * umad_recv. See madcount.h for its use and for the file it keeps.
 *
 * Retransmissions happen below umad_send and are not seen here.
 */

#include "madcount.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/umad.h>

enum { /* byte offsets in a MAD */
       MAD_CLASS = 1,
       MAD_METHOD = 3,
       SMP_HOP_COUNT = 7,	 /* directed route only */
       MAD_TRANSACTION_LOW = 12, /* the half that its sender chooses */
       MAD_ATTR_ID = 16,
       MAD_ATTR_MODIFIER = 20,
       SMP_DATA = 64,
       SMP_PATH = 128, /* directed route only */
       SMP_DATA_BYTES = 64,
};

enum {
	CLASS_SMP_LID = 0x01,
	CLASS_SMP_DIRECT = 0x81,
	METHOD_GET = 0x01,
	METHOD_SET = 0x02,
	METHOD_TRAP = 0x05,
	METHOD_TRAP_REPRESS = 0x07,
	METHOD_RESPONSE = 0x80,
	ATTR_NODE_INFO = 0x11,
	ATTR_PORT_INFO = 0x15,
	ATTR_LFT = 0x19,
};

#define ANSWERS 64
#define REQUESTS 256 /* remembered, by their transaction */
#define OVERDUE 64

typedef int send_fn(int, int, void *, int, int, int);
typedef int recv_fn(int, void *, int *, int);

/* A request, and its state. */
struct request {
	uint64_t transaction;
	uint64_t ns; /* of sending; 0: answered, or none */
	bool is_lft_set;
	uint8_t hops;
	uint32_t block;
	uint8_t path[MADCOUNT_PATH], data[SMP_DATA_BYTES];
};

static struct {
	pthread_once_t once;
	send_fn *send;
	recv_fn *recv;
	struct madcount *counts;   /* private memory if there is no file */
	uint64_t answers[ANSWERS]; /* transaction() of the last ones sent */
	uint32_t num_answers;
	uint64_t look; /* transaction() of the plugin's last look at the own port */

	pthread_mutex_t lock; /* of what follows */
	struct request requests[REQUESTS];
	struct request overdue[OVERDUE]; /* the last LFT Sets answered late, or never */
	uint32_t num_overdue;
} lib = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static void fail(const char *what)
{
	perror(what);
	abort();
}

static void *next_symbol(const char *name)
{
	void *symbol = dlsym(RTLD_NEXT, name);

	if (!symbol) {
		fprintf(stderr, "madcount: no %s after this library\n", name);
		abort();
	}
	return symbol;
}

static struct madcount *map_counts(const char *path)
{
	int flags = path ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
	struct madcount *counts;
	int fd = -1;

	if (path) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
		if (fd < 0 || ftruncate(fd, sizeof(*counts)))
			fail(path);
	}
	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, flags, fd, 0);
	if (counts == MAP_FAILED)
		fail("madcount: mmap");
	if (fd >= 0)
		close(fd);
	return counts;
}

static void lib_init(void)
{
	const char *delay = getenv("MADCOUNT_DELAY_US");

	*(void **)&lib.send = next_symbol("umad_send");
	*(void **)&lib.recv = next_symbol("umad_recv");
	lib.counts = map_counts(getenv("MADCOUNT_FILE"));
	if (delay)
		lib.counts->delay_us = strtoull(delay, NULL, 10);
	lib.counts->version = MADCOUNT_VERSION;
	lib.counts->attr_slots = MADCOUNT_ATTR_SLOTS;
	lib.counts->methods = MADCOUNT_METHODS;
	__atomic_store_n(&lib.counts->magic, MADCOUNT_MAGIC, __ATOMIC_RELEASE);
}

/* Returns the new value. */
static uint64_t count(uint64_t *counter)
{
	return __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

/* Several threads send: the highest value stays. */
static void raise_to(uint64_t *counter, uint64_t value)
{
	uint64_t old = __atomic_load_n(counter, __ATOMIC_RELAXED);

	while (old < value &&
	       !__atomic_compare_exchange_n(counter, &old, value, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void delay(uint64_t us)
{
	static _Thread_local bool exact;
	struct timespec t = {
		.tv_sec = (time_t)(us / 1000000u),
		.tv_nsec = (long)(us % 1000000u) * 1000,
	};

	if (!exact) { /* the default slack of 50 us would swamp short delays */
		prctl(PR_SET_TIMERSLACK, 1L, 0L, 0L, 0L);
		exact = true;
	}
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t))
		;
}

static bool is_smp(const uint8_t *mad)
{
	return mad[MAD_CLASS] == CLASS_SMP_LID || mad[MAD_CLASS] == CLASS_SMP_DIRECT;
}

static bool is_request(const uint8_t *mad)
{
	return mad[MAD_METHOD] == METHOD_GET || mad[MAD_METHOD] == METHOD_SET;
}

static unsigned int attr_id(const uint8_t *mad)
{
	return (unsigned int)mad[MAD_ATTR_ID] << 8 | mad[MAD_ATTR_ID + 1];
}

static uint32_t attr_modifier(const uint8_t *mad)
{
	const uint8_t *m = mad + MAD_ATTR_MODIFIER;

	return (uint32_t)m[0] << 24 | (uint32_t)m[1] << 16 | (uint32_t)m[2] << 8 | m[3];
}

static enum madcount_method method_column(const uint8_t *mad)
{
	switch (mad[MAD_METHOD]) {
	case METHOD_GET:
		return MADCOUNT_GET;
	case METHOD_SET:
		return MADCOUNT_SET;
	default:
		return MADCOUNT_OTHER_METHOD;
	}
}

static void count_lft_set(struct madcount *c, uint32_t block, uint64_t number,
			  uint64_t ns)
{
	uint64_t none = 0;

	count(&c->lft_sets);
	raise_to(&c->top_lft_block, block);
	raise_to(&c->last_lft_smp, number);
	raise_to(&c->last_lft_ns, ns);
	if (__atomic_compare_exchange_n(&c->first_lft_smp, &none, number, false,
					__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		__atomic_store_n(&c->first_lft_ns, ns, __ATOMIC_RELAXED);
}

/* In libwire.so, where that is loaded. */
extern bool wire_plugin_sends(void) __attribute__((weak));

/* The plugin reads the SM's own port once a second: that crosses no wire. */
static bool is_own_look(const uint8_t *mad)
{
	return mad[MAD_CLASS] == CLASS_SMP_DIRECT && !mad[SMP_HOP_COUNT] &&
	       attr_id(mad) == ATTR_PORT_INFO && mad[MAD_METHOD] == METHOD_GET &&
	       wire_plugin_sends && wire_plugin_sends();
}

static void count_smp(struct madcount *c, const uint8_t *mad)
{
	unsigned int attr = attr_id(mad);
	unsigned int slot = attr < MADCOUNT_ATTR_OTHER ? attr : MADCOUNT_ATTR_OTHER;
	uint64_t number, ns = now_ns();

	if (is_request(mad))
		count(&c->requests);
	number = count(&c->smps);
	count(&c->attr[slot][method_column(mad)]);
	raise_to(&c->last_smp_ns, ns);
	if (attr == ATTR_LFT && mad[MAD_METHOD] == METHOD_SET)
		count_lft_set(c, attr_modifier(mad), number, ns);
	if (attr == ATTR_NODE_INFO && mad[MAD_METHOD] == METHOD_GET &&
	    mad[MAD_CLASS] == CLASS_SMP_DIRECT && mad[SMP_HOP_COUNT] == 0)
		count(&c->discoveries);
}

/* The key of a request and its answer: attribute and transaction. */
static uint64_t transaction(const uint8_t *mad)
{
	uint32_t id;

	memcpy(&id, mad + MAD_TRANSACTION_LOW, sizeof(id));
	return (uint64_t)attr_id(mad) << 32 | id;
}

/*
 * An SMP that could not be delivered comes back to its sender, in the state that it had
 * then: a request may have become an answer, which was lost. If it was an answer of
 * ours, no request of ours has failed.
 */
static void note_answer(const uint8_t *mad)
{
	uint32_t next = __atomic_fetch_add(&lib.num_answers, 1, __ATOMIC_RELAXED);

	__atomic_store_n(&lib.answers[next % ANSWERS], transaction(mad),
			 __ATOMIC_RELAXED);
}

static bool was_answer(const uint8_t *mad)
{
	bool found = false;

	if (mad[MAD_METHOD] == METHOD_TRAP_REPRESS)
		return true;
	for (uint32_t i = 0; i < ANSWERS && (mad[MAD_METHOD] & METHOD_RESPONSE); i++)
		found |= __atomic_load_n(&lib.answers[i], __ATOMIC_RELAXED) ==
			 transaction(mad);
	return found;
}

static void count_trap(struct madcount *c)
{
	count(&c->traps);
	raise_to(&c->last_trap_ns, now_ns());
}

/* ---- Late answers, and LFT Sets that are sent again as no answer came ---- */

static bool is_late(const struct request *request, uint64_t ns)
{
	return request->ns && ns - request->ns > MADCOUNT_LATE_MS * 1000000ull;
}

static struct request *request_of(const uint8_t *mad)
{
	return &lib.requests[mad[MAD_TRANSACTION_LOW + 3] % REQUESTS];
}

static struct request make_request(const uint8_t *mad)
{
	struct request request = {
		.transaction = transaction(mad),
		.ns = now_ns(),
		.is_lft_set = attr_id(mad) == ATTR_LFT && mad[MAD_METHOD] == METHOD_SET &&
			      mad[MAD_CLASS] == CLASS_SMP_DIRECT,
		.hops = mad[SMP_HOP_COUNT],
		.block = attr_modifier(mad),
	};

	memcpy(request.path, mad + SMP_PATH, sizeof(request.path));
	memcpy(request.data, mad + SMP_DATA, sizeof(request.data));
	return request;
}

static void note_echo(struct madcount *c, const struct request *earlier,
		      const struct request *later)
{
	struct madcount_echo *echo;

	if (!earlier->is_lft_set || earlier->block != later->block ||
	    memcmp(earlier->data, later->data, sizeof(later->data)) != 0)
		return;
	echo = &c->echoes[c->num_echoes % MADCOUNT_ECHOES];
	echo->number = c->lft_sets;
	echo->ns = earlier->ns;
	echo->hops[0] = earlier->hops;
	echo->hops[1] = later->hops;
	memcpy(echo->path[0], earlier->path, sizeof(earlier->path));
	memcpy(echo->path[1], later->path, sizeof(later->path));
	count(&c->num_echoes);
}

static void note_request(struct madcount *c, const uint8_t *mad)
{
	struct request later = make_request(mad);

	pthread_mutex_lock(&lib.lock);
	for (size_t i = 0; i < REQUESTS && later.is_lft_set; i++)
		if (is_late(&lib.requests[i], later.ns))
			note_echo(c, &lib.requests[i], &later);
	for (size_t i = 0; i < OVERDUE && later.is_lft_set; i++)
		note_echo(c, &lib.overdue[i], &later);
	*request_of(mad) = later;
	pthread_mutex_unlock(&lib.lock);
}

static void note_overdue(uint64_t *counter, const struct request *request)
{
	if (!request->is_lft_set)
		return;
	count(counter);
	lib.overdue[lib.num_overdue++ % OVERDUE] = *request;
}

/* An answer, or the request itself, which could not be delivered. */
static void end_request(struct madcount *c, const uint8_t *mad, bool answered)
{
	struct request *request = request_of(mad);

	pthread_mutex_lock(&lib.lock);
	if (request->transaction == transaction(mad) && request->ns) {
		if (!answered) {
			note_overdue(&c->lft_lost, request);
		} else if (is_late(request, now_ns())) {
			count(&c->late);
			note_overdue(&c->lft_late, request);
		}
		request->ns = 0;
	}
	pthread_mutex_unlock(&lib.lock);
}

/* By the reader's wish. */
static void hold_answer(struct madcount *c, const uint8_t *mad)
{
	uint64_t ms = __atomic_load_n(&c->hold_lft_ms, __ATOMIC_RELAXED);

	if (!ms || attr_id(mad) != ATTR_LFT || !request_of(mad)->is_lft_set)
		return;
	__atomic_store_n(&c->hold_lft_ms, 0, __ATOMIC_RELAXED);
	delay(ms * 1000);
}

/*
 * Counted before it is sent, so that requests less answers is never too small.
 */
int umad_send(int portid, int agentid, void *umad, int length, int timeout_ms,
	      int retries)
{
	const uint8_t *mad = umad_get_mad(umad);
	uint64_t wait_us;
	bool request;
	int ret;

	pthread_once(&lib.once, lib_init);
	wait_us = __atomic_load_n(&lib.counts->delay_us, __ATOMIC_RELAXED);
	request = is_smp(mad) && is_request(mad);
	if (!is_smp(mad)) {
		count(&lib.counts->gmps);
	} else if (is_own_look(mad)) {
		__atomic_store_n(&lib.look, transaction(mad), __ATOMIC_RELAXED);
		request = false;
	} else {
		if (wait_us)
			delay(wait_us);
		count_smp(lib.counts, mad);
		if (request)
			note_request(lib.counts, mad);
		if (mad[MAD_METHOD] & METHOD_RESPONSE)
			note_answer(mad);
	}
	ret = lib.send(portid, agentid, umad, length, timeout_ms, retries);
	if (ret < 0 && request)
		count(&lib.counts->send_errors);
	return ret;
}

int umad_recv(int portid, void *umad, int *length, int timeout_ms)
{
	const uint8_t *mad;
	int ret;

	pthread_once(&lib.once, lib_init);
	ret = lib.recv(portid, umad, length, timeout_ms);
	if (ret < 0)
		return ret;
	mad = umad_get_mad(umad);
	if (!is_smp(mad))
		return ret;
	if (umad_status(umad) && was_answer(mad))
		return ret;
	if (mad[MAD_METHOD] != METHOD_TRAP &&
	    transaction(mad) == __atomic_load_n(&lib.look, __ATOMIC_RELAXED))
		return ret;
	if (mad[MAD_METHOD] & METHOD_RESPONSE && !umad_status(umad))
		hold_answer(lib.counts, mad);
	if (mad[MAD_METHOD] & METHOD_RESPONSE || umad_status(umad))
		end_request(lib.counts, mad, !umad_status(umad));
	if (umad_status(umad))
		count(&lib.counts->timeouts);
	else if (mad[MAD_METHOD] & METHOD_RESPONSE)
		count(&lib.counts->responses);
	else if (mad[MAD_METHOD] == METHOD_TRAP)
		count_trap(lib.counts);
	return ret;
}
