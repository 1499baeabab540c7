/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Our SMPs above an OpenSM of a few stubs: threads that answer outstanding SMPs in
 * random order, refuse them, let them time out, answer when they were given up, or
 * never. Built with ThreadSanitizer, with which a race fails the test, unless another
 * sanitizer was chosen.
 */
#include "osm/smp.h"

#include "recipe.h"
#include "unit.h"

#include <opensm/osm_inform.h>
#include <opensm/osm_madw.h>
#include <opensm/osm_msgdef.h>

#include <unistd.h>

#define THREADS 3
#define MOST_OUT 4096
#define MOST_SMPS 300
#define MOST_WINDOW 128 /* that smp.c lets out, whatever the wire takes */
#define RETRIES 3
#define HOUR_MS 3600000
#define SILENT_MS 20
#define NEVER_BATCHES 2
#define LID 9 /* of the switch */
#define M_KEY 0x1122334455667788
#define PORT_GUID 0x99

/* The fate of an SMP. */
enum fate {
	ANSWER,
	REFUSE,	  /* an answer with another status */
	DIFFER,	  /* an answer whose last byte is not the one that was set */
	TIME_OUT, /* OpenSM gives it back */
	LATE,	  /* answered when a later batch is under way */
	NEVER,	  /* given back some batches later */
	NOT_SENT, /* OpenSM has no memory for it */
	LEFT_OUT, /* make() does not want it */
	FATES
};

/* An SMP that OpenSM has; its modifier is its index in the batch. */
struct posted {
	osm_madw_t madw;
	ib_smp_t smp;
	cl_disp_msgid_t message;
	uint32_t batch;
	enum fate fate;
};

static struct {
	osm_opensm_t osm;
	osm_node_t node;
	osm_switch_t sw;
	cl_pfn_msgrcv_cb_t handler[OSM_MSG_MAX];
	void *context[OSM_MSG_MAX];
	int registered, refuse; /* the how many-th fails, 0: none */
	pthread_t threads[THREADS];
	int num_threads;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Under the lock. */
	struct random random;
	struct posted *out[MOST_OUT];
	uint32_t num_out, batch;
	bool leaving;
	uint32_t sets_answered, strangers;	      /* what the handlers were given */
	uint32_t sets_noted, strangers_noted, misled; /* what OpenSM's were */
	uint32_t infos_noted;			      /* of the strangers */
	uint32_t traps_left, repressed, reported;     /* traps of OpenSM's, and ours */
	bool change_seen;			      /* by OpenSM */
	bool hides, takes;			      /* what hooks answer */
	uint16_t asked_lid;			      /* a hook */
	struct smp_sender *smps;		      /* as long as PortInfo comes in */
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* A batch, and its results. */
struct trial {
	struct smp_batch batch;
	uint32_t window;
	enum fate fate[MOST_SMPS];
	enum smp_kind kind[MOST_SMPS];
	uint32_t stop_after; /* so many answers */
	bool exact;	     /* nothing is silent by accident */

	bool stopped;
	uint32_t made, posted, not_sent, num_reported, told[MOST_SMPS];
	uint32_t outcomes[SMP_SILENT + 1], most_out;
};
static struct trial *running;

volatile unsigned int osm_exit_flag;

static const struct smp_hooks no_hooks;

static uint8_t data_byte(uint32_t batch, uint32_t index, unsigned int at)
{
	return (uint8_t)(batch * 89 + index * 7 + at);
}

/* ---- OpenSM ---- */

cl_disp_reg_handle_t cl_disp_register(cl_dispatcher_t *disp, cl_disp_msgid_t message,
				      cl_pfn_msgrcv_cb_t callback, const void *context)
{
	assert_ptr_equal(disp, &fake.osm.disp);
	assert_true(message < OSM_MSG_MAX);
	if (fake.handler[message] || ++fake.registered == fake.refuse)
		return CL_DISP_INVALID_HANDLE;
	fake.handler[message] = callback;
	fake.context[message] = (void *)(uintptr_t)context;
	return (cl_disp_reg_handle_t)&fake.handler[message];
}

void cl_disp_unregister(const cl_disp_reg_handle_t handle)
{
	if (handle)
		*(cl_pfn_msgrcv_cb_t *)(uintptr_t)handle = NULL;
}

void osm_pi_rcv_process(void *sm, void *data);
void osm_lft_rcv_process(void *sm, void *data);
void osm_mft_rcv_process(void *sm, void *data);
void osm_ni_rcv_process(void *sm, void *data);
void osm_si_rcv_process(void *sm, void *data);
void osm_pkey_rcv_process(void *sm, void *data);
void osm_slvl_rcv_process(void *sm, void *data);
void osm_vla_rcv_process(void *sm, void *data);
void osm_trap_rcv_process(void *sm, void *data);

/* OpenSM's handlers take its lock. */
static void note(void *sm, uint32_t *count)
{
	CL_PLOCK_EXCL_ACQUIRE(&fake.osm.lock);
	CL_PLOCK_RELEASE(&fake.osm.lock);
	pthread_mutex_lock(&fake.lock);
	fake.misled += sm != &fake.osm.sm;
	++*count;
	pthread_mutex_unlock(&fake.lock);
}

void osm_pi_rcv_process(void *sm, void *data)
{
	if (fake.smps)
		assert_true(smp_has_infos_since(fake.smps, smp_count_infos(fake.smps)));
	note(sm, &fake.strangers_noted);
	pthread_mutex_lock(&fake.lock);
	fake.infos_noted++;
	pthread_mutex_unlock(&fake.lock);
}

void osm_lft_rcv_process(void *sm, void *data)
{
	const osm_madw_t *madw = data;
	const ib_smp_t *smp = osm_madw_get_smp_ptr(madw);
	bool set = madw->context.lft_context.set_method == TRUE &&
		   smp->method == IB_MAD_METHOD_GET_RESP &&
		   madw->context.lft_context.node_guid == fake.node.node_info.node_guid;

	note(sm, set ? &fake.sets_noted : &fake.strangers_noted);
}

/* No answer to an MFT Set of ours gets here. */
void osm_mft_rcv_process(void *sm, void *data)
{
	note(sm, &fake.strangers_noted);
}

void osm_ni_rcv_process(void *sm, void *data)
{
	note(sm, &fake.strangers_noted);
}

void osm_si_rcv_process(void *sm, void *data)
{
	const ib_switch_info_t *info =
		ib_smp_get_payload_ptr(osm_madw_get_smp_ptr((osm_madw_t *)data));

	fake.change_seen = ib_switch_info_get_state_change(info) != 0;
	note(sm, &fake.strangers_noted);
}

void osm_pkey_rcv_process(void *sm, void *data)
{
	note(sm, &fake.strangers_noted);
}

void osm_slvl_rcv_process(void *sm, void *data)
{
	note(sm, &fake.strangers_noted);
}

void osm_vla_rcv_process(void *sm, void *data)
{
	note(sm, &fake.strangers_noted);
}

void osm_trap_rcv_process(void *sm, void *data)
{
	fake.traps_left++;
}

ib_api_status_t osm_resp_send(osm_sm_t *sm, const osm_madw_t *madw, ib_net16_t status,
			      const uint8_t *payload)
{
	assert_ptr_equal(sm, &fake.osm.sm);
	assert_int_equal(status, 0);
	assert_int_equal(osm_madw_get_smp_ptr(madw)->m_key, M_KEY);
	fake.repressed++;
	return IB_SUCCESS;
}

ib_api_status_t osm_report_notice(osm_log_t *log, osm_subn_t *subn,
				  ib_mad_notice_attr_t *notice)
{
	assert_ptr_equal(subn, &fake.osm.subn);
	assert_int_equal(notice->issuer_gid.unicast.interface_id, PORT_GUID);
	fake.reported++;
	return IB_SUCCESS;
}

struct osm_node *osm_get_node_by_guid(const osm_subn_t *subn, ib_net64_t guid)
{
	return guid == fake.node.node_info.node_guid ? &fake.node : NULL;
}

static uint32_t count_out(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < fake.num_out; i++)
		count += fake.out[i]->batch == fake.batch;
	return count;
}

static ib_api_status_t post(uint8_t method, const uint8_t *data, ib_net16_t attr,
			    ib_net32_t modifier, uint32_t timeout,
			    cl_disp_msgid_t message, const osm_madw_context_t *context)
{
	struct trial *t = running;
	uint32_t index = cl_ntoh32(modifier), out;
	struct posted *p;

	assert_true(index < t->batch.num);
	assert_true(timeout && timeout * (RETRIES + 1) <= t->batch.total_ms);
	if (osm_exit_flag)
		return IB_SUCCESS; /* as OpenSM does, which sends nothing */
	if (t->fate[index] == NOT_SENT) {
		t->not_sent++;
		return IB_INSUFFICIENT_RESOURCES;
	}
	p = calloc(1, sizeof(*p));
	assert_non_null(p);
	p->smp.method = method;
	p->smp.attr_id = attr;
	p->smp.attr_mod = modifier;
	if (data)
		memcpy(p->smp.data, data, SMP_DATA);
	p->madw.p_mad = (ib_mad_t *)&p->smp;
	p->madw.context = *context;
	p->message = message;
	p->fate = t->fate[index];
	t->posted++;
	pthread_mutex_lock(&fake.lock);
	assert_true(fake.num_out < MOST_OUT);
	p->batch = fake.batch;
	fake.out[fake.num_out++] = p;
	out = count_out();
	pthread_cond_signal(&fake.changed);
	pthread_mutex_unlock(&fake.lock);
	t->most_out = out > t->most_out ? out : t->most_out;
	return IB_SUCCESS;
}

ib_api_status_t osm_req_get(osm_sm_t *sm, const osm_dr_path_t *path, ib_net16_t attr,
			    ib_net32_t modifier, boolean_t find_mkey, ib_net64_t m_key,
			    uint32_t timeout, cl_disp_msgid_t message,
			    const osm_madw_context_t *context)
{
	(void)path, (void)find_mkey, (void)m_key;
	assert_ptr_equal(sm, &fake.osm.sm);
	return post(IB_MAD_METHOD_GET, NULL, attr, modifier, timeout, message, context);
}

static ib_net16_t attribute_of(cl_disp_msgid_t message)
{
	switch (message) {
	case OSM_MSG_MAD_PORT_INFO:
		return IB_MAD_ATTR_PORT_INFO;
	case OSM_MSG_MAD_SWITCH_INFO:
		return IB_MAD_ATTR_SWITCH_INFO;
	case OSM_MSG_MAD_PKEY:
		return IB_MAD_ATTR_P_KEY_TABLE;
	case OSM_MSG_MAD_SLVL:
		return IB_MAD_ATTR_SLVL_TABLE;
	case OSM_MSG_MAD_VL_ARB:
		return IB_MAD_ATTR_VL_ARBITRATION;
	case OSM_MSG_MAD_LFT:
		return IB_MAD_ATTR_LIN_FWD_TBL;
	default:
		return IB_MAD_ATTR_MCAST_FWD_TBL;
	}
}

ib_api_status_t osm_req_set(osm_sm_t *sm, const osm_dr_path_t *path, const uint8_t *data,
			    size_t size, ib_net16_t attr, ib_net32_t modifier,
			    boolean_t find_mkey, ib_net64_t m_key, uint32_t timeout,
			    cl_disp_msgid_t message, const osm_madw_context_t *context)
{
	(void)path, (void)find_mkey, (void)m_key;
	assert_ptr_equal(sm, &fake.osm.sm);
	assert_int_equal(size, SMP_DATA);
	assert_int_equal(attr, attribute_of(message));
	return post(IB_MAD_METHOD_SET, data, attr, modifier, timeout, message, context);
}

static void hand_in(cl_disp_msgid_t message, void *madw)
{
	fake.handler[message](fake.context[message], madw);
}

/* Its fate; on a thread of the dispatcher, without a lock. */
static void deliver(struct posted *p)
{
	bool set = p->smp.method == IB_MAD_METHOD_SET && p->message == OSM_MSG_MAD_LFT;

	if (p->fate == TIME_OUT || p->fate == NEVER) {
		p->madw.status = IB_TIMEOUT;
	} else {
		p->smp.method = IB_MAD_METHOD_GET_RESP;
		p->smp.status = p->fate == REFUSE ? IB_SA_MAD_STATUS_NO_RESOURCES : 0;
		for (unsigned int i = 0; i < SMP_DATA; i++)
			p->smp.data[i] =
				data_byte(p->batch, cl_ntoh32(p->smp.attr_mod), i);
		p->smp.data[SMP_DATA - 1] ^= p->fate == DIFFER;
		pthread_mutex_lock(&fake.lock);
		fake.sets_answered += set;
		pthread_mutex_unlock(&fake.lock);
	}
	hand_in(p->message, &p->madw);
	free(p);
}

/* An answer to an SMP or a Set of OpenSM's own. */
static void deliver_strange(uint64_t number)
{
	ib_smp_t smp = {.method = IB_MAD_METHOD_GET_RESP};
	osm_madw_t madw = {.p_mad = (ib_mad_t *)&smp};

	if (number & 1) {
		madw.context.pi_context.light_sweep = number & 2 ? TRUE : FALSE;
		hand_in(OSM_MSG_MAD_PORT_INFO, &madw);
	} else {
		madw.context.lft_context.set_method = number & 2 ? TRUE : FALSE;
		static const cl_disp_msgid_t messages[] = {
			OSM_MSG_MAD_LFT,  OSM_MSG_MAD_MFT,    OSM_MSG_MAD_PKEY,
			OSM_MSG_MAD_SLVL, OSM_MSG_MAD_VL_ARB,
		};

		hand_in(messages[(number >> 2) % 5], &madw);
	}
}

/* Takes one that can be delivered out of what is out, or NULL. */
static struct posted *pick(void)
{
	uint32_t first = fake.num_out ? random_below(&fake.random, fake.num_out) : 0;

	for (uint32_t k = 0; k < fake.num_out; k++) {
		uint32_t i = (first + k) % fake.num_out;
		struct posted *p = fake.out[i];

		if ((p->fate == NEVER && p->batch + NEVER_BATCHES > fake.batch) ||
		    (p->fate == LATE && p->batch == fake.batch))
			continue;
		fake.out[i] = fake.out[--fake.num_out];
		return p;
	}
	return NULL;
}

static void *dispatch(void *context)
{
	pthread_mutex_lock(&fake.lock);
	while (!fake.leaving) {
		struct posted *p = pick();
		uint64_t number = random_next(&fake.random);
		bool strange = p && number % 8 == 0;

		if (!p) {
			pthread_cond_wait(&fake.changed, &fake.lock);
			continue;
		}
		fake.strangers += strange;
		pthread_mutex_unlock(&fake.lock);
		if (number % 5 == 0)
			usleep((useconds_t)(number >> 8) % 300); /* others go first */
		if (strange)
			deliver_strange(number >> 32);
		deliver(p);
		pthread_mutex_lock(&fake.lock);
	}
	pthread_mutex_unlock(&fake.lock);
	return NULL;
}

static void start_threads(void)
{
	for (int *i = &fake.num_threads; *i < THREADS; ++*i)
		assert_int_equal(pthread_create(&fake.threads[*i], NULL, dispatch, NULL),
				 0);
}

static void stop_threads(void)
{
	pthread_mutex_lock(&fake.lock);
	fake.leaving = true;
	pthread_cond_broadcast(&fake.changed);
	pthread_mutex_unlock(&fake.lock);
	while (fake.num_threads)
		pthread_join(fake.threads[--fake.num_threads], NULL);
}

static int begin(void **state)
{
	fake.registered = fake.refuse = 0;
	cl_plock_init(&fake.osm.lock);
	cl_spinlock_construct(&fake.osm.vl15.lock);
	cl_spinlock_init(&fake.osm.vl15.lock);
	cl_qlist_init(&fake.osm.vl15.ufifo);
	cl_qlist_init(&fake.osm.vl15.rfifo);
	fake.osm.subn.opt.transaction_retries = RETRIES;
	fake.osm.subn.opt.max_wire_smps = 4;
	fake.node.node_info.node_guid = cl_hton64(0x77);
	fake.node.physp_tbl_size = 1;
	fake.sw.p_node = &fake.node;
	fake.num_out = fake.sets_answered = fake.strangers = 0;
	fake.sets_noted = fake.strangers_noted = fake.misled = fake.infos_noted = 0;
	fake.leaving = false;
	memset(fake.handler, 0, sizeof(fake.handler));
	fake.osm.sm.pi_disp_h = cl_disp_register(&fake.osm.disp, OSM_MSG_MAD_PORT_INFO,
						 osm_pi_rcv_process, &fake.osm.sm);
	fake.osm.sm.lft_disp_h = cl_disp_register(&fake.osm.disp, OSM_MSG_MAD_LFT,
						  osm_lft_rcv_process, &fake.osm.sm);
	fake.osm.sm.mft_disp_h = cl_disp_register(&fake.osm.disp, OSM_MSG_MAD_MFT,
						  osm_mft_rcv_process, &fake.osm.sm);
	fake.osm.sm.ni_disp_h = cl_disp_register(&fake.osm.disp, OSM_MSG_MAD_NODE_INFO,
						 osm_ni_rcv_process, &fake.osm.sm);
	fake.osm.sm.si_disp_h = cl_disp_register(&fake.osm.disp, OSM_MSG_MAD_SWITCH_INFO,
						 osm_si_rcv_process, &fake.osm.sm);
	fake.osm.sm.pkey_disp_h = cl_disp_register(&fake.osm.disp, OSM_MSG_MAD_PKEY,
						   osm_pkey_rcv_process, &fake.osm.sm);
	fake.osm.sm.slvl_disp_h = cl_disp_register(&fake.osm.disp, OSM_MSG_MAD_SLVL,
						   osm_slvl_rcv_process, &fake.osm.sm);
	fake.osm.sm.vla_disp_h = cl_disp_register(&fake.osm.disp, OSM_MSG_MAD_VL_ARB,
						  osm_vla_rcv_process, &fake.osm.sm);
	fake.osm.sm.trap_disp_h = cl_disp_register(&fake.osm.disp, OSM_MSG_MAD_NOTICE,
						   osm_trap_rcv_process, &fake.osm.sm);
	return 0;
}

static int end(void **state)
{
	stop_threads(); /* of a test that failed */
	while (fake.num_out)
		free(fake.out[--fake.num_out]);
	cl_plock_destroy(&fake.osm.lock);
	osm_exit_flag = 0;
	return 0;
}

/* ---- A batch ---- */

static enum smp_make make(void *context, uint32_t index, struct smp_request *smp)
{
	struct trial *t = context;

	assert_false(t->stopped);
	assert_int_equal(index, t->made);
	t->made++;
	/* OpenSM's lock is held as requested. */
	assert_int_not_equal(pthread_rwlock_trywrlock(&fake.osm.lock.lock), 0);
	if (t->batch.exclusive)
		assert_int_not_equal(pthread_rwlock_tryrdlock(&fake.osm.lock.lock), 0);
	smp->kind = t->kind[index];
	smp->sw = &fake.sw;
	smp->modifier = index;
	for (unsigned int i = 0; i < SMP_DATA; i++)
		smp->data[i] = data_byte(fake.batch, index, i);
	return t->fate[index] == LEFT_OUT ? SMP_OMIT : SMP_SEND;
}

static bool is_set(enum smp_kind kind)
{
	return kind == SMP_SET_BLOCK || kind == SMP_SET_MFT || kind == SMP_SET_PKEYS;
}

static bool take(void *context, const struct smp_answer *answer)
{
	struct trial *t = context;

	assert_true(answer->index < t->made);
	assert_int_equal(t->told[answer->index]++, 0);
	t->outcomes[answer->outcome]++;
	t->num_reported++;
	/* No lock is held: otherwise this waits for ever. */
	CL_PLOCK_EXCL_ACQUIRE(&fake.osm.lock);
	CL_PLOCK_RELEASE(&fake.osm.lock);
	switch (t->fate[answer->index]) {
	case ANSWER:
		assert_true(answer->outcome == SMP_ANSWERED ||
			    (answer->outcome == SMP_SILENT && !t->exact));
		break;
	case DIFFER:
		assert_true(answer->outcome == (is_set(t->kind[answer->index])
							? SMP_DIFFERENT
							: SMP_ANSWERED) ||
			    (answer->outcome == SMP_SILENT && !t->exact));
		break;
	case REFUSE:
		assert_true(answer->outcome == SMP_REFUSED ||
			    (answer->outcome == SMP_SILENT && !t->exact));
		break;
	case NOT_SENT:
		assert_int_equal(answer->outcome, SMP_REFUSED);
		break;
	default:
		assert_int_equal(answer->outcome, SMP_SILENT);
	}
	for (unsigned int i = 0; answer->outcome <= SMP_DIFFERENT && i < SMP_DATA; i++)
		assert_int_equal(
			answer->data[i],
			data_byte(fake.batch, answer->index, i) ^
				(i == SMP_DATA - 1 && t->fate[answer->index] == DIFFER));
	t->stopped = t->num_reported >= t->stop_after;
	return !t->stopped;
}

/* Runs it, and checks the properties of each. */
static void run(struct smp_sender *smps, struct trial *t)
{
	struct smp_count count = {1, 1, 1, 1, 0}; /* is added to */
	uint32_t wire = fake.osm.subn.opt.max_wire_smps, wanted = 0;

	t->batch.make = make;
	t->batch.take = take;
	t->batch.context = t;
	t->window = (wire ? wire : 1) + t->batch.ahead;
	t->window = t->window < MOST_WINDOW ? t->window : MOST_WINDOW;
	running = t;
	pthread_mutex_lock(&fake.lock);
	fake.batch++;
	pthread_cond_broadcast(&fake.changed); /* what is late comes now */
	pthread_mutex_unlock(&fake.lock);
	smp_run(smps, &t->batch, &count);
	for (uint32_t i = 0; i < t->made; i++) {
		assert_int_equal(t->told[i], t->fate[i] != LEFT_OUT);
		wanted += t->fate[i] != LEFT_OUT;
	}
	assert_int_equal(t->num_reported, wanted);
	assert_true(t->most_out <= t->window);
	if (osm_exit_flag)
		return;
	assert_int_equal(count.sent - 1, t->posted);
	assert_int_equal(count.silent - 1, t->outcomes[SMP_SILENT]);
	assert_int_equal(count.refused - 1, t->outcomes[SMP_REFUSED]);
	assert_int_equal(count.different - 1, t->outcomes[SMP_DIFFERENT]);
	if (t->exact && !t->stopped)
		assert_int_equal(t->made, t->batch.num);
}

/* ---- At random ---- */

static void draw(struct trial *t, struct random *random)
{
	/* The number of each fate. */
	uint32_t share[FATES] = {20};

	*t = (struct trial){.exact = random_chance(random, 60)};
	for (int i = 0; i < FATES; i++)
		if (!(t->exact && (i == LATE || i == NEVER)))
			share[i] += random_below(random, 10);
	t->batch.num = random_below(random, MOST_SMPS + 1);
	t->batch.ahead = random_chance(random, 20) ? random_below(random, 300)
						   : random_below(random, 6);
	t->batch.total_ms = t->exact ? HOUR_MS : SILENT_MS;
	t->batch.exclusive = random_chance(random, 50);
	t->stop_after =
		random_chance(random, 20) ? 1 + random_below(random, 100) : UINT32_MAX;
	fake.osm.subn.opt.max_wire_smps = random_below(random, 9);
	for (uint32_t i = 0; i < t->batch.num; i++) {
		int fate = (int)random_below(random, FATES);

		while (random_below(random, 30) >= share[fate])
			fate = (int)random_below(random, FATES);
		t->fate[i] = (enum fate)fate;
		t->kind[i] = (enum smp_kind)random_below(random, SMP_SET_MFT + 1);
	}
}

static void test_random(void **state)
{
	uint64_t seed = from_environment("PM_SEED", 1),
		 rounds = from_environment("PM_ROUNDS", 40);
	struct smp_sender *smps = smp_start(&fake.osm, &no_hooks);
	static struct trial trial;

	assert_non_null(smps);
	fake.smps = smps;
	start_threads();
	for (uint64_t round = 0; round < rounds; round++) {
		struct random random = {seed + round};

		print_message("PM_SEED=%llu\n", (unsigned long long)(seed + round));
		draw(&trial, &random);
		run(smps, &trial);
	}
	stop_threads();
	assert_int_equal(smp_count_infos(smps), fake.infos_noted);
	assert_false(smp_has_infos_since(smps, fake.infos_noted));
	assert_true(fake.infos_noted > 0 || rounds < 10);
	fake.smps = NULL;
	smp_stop(smps);
	assert_true(fake.sets_answered > 0 || rounds < 10);
	assert_int_equal(fake.sets_noted, fake.sets_answered);
	assert_int_equal(fake.strangers_noted, fake.strangers);
	assert_int_equal(fake.misled, 0);
}

/* ---- One by one ---- */

static void run_all_silent(void)
{
	struct smp_sender *smps = smp_start(&fake.osm, &no_hooks);
	static struct trial t;

	assert_non_null(smps);
	t = (struct trial){.batch = {.num = MOST_SMPS, .ahead = 2, .total_ms = SILENT_MS},
			   .stop_after = UINT32_MAX};
	for (uint32_t i = 0; i < MOST_SMPS; i++)
		t.fate[i] = NEVER;
	run(smps, &t);
	assert_int_equal(t.posted, t.window);
	assert_int_equal(t.outcomes[SMP_SILENT], t.window);
	smp_stop(smps);
}

static void test_all_silent(void **state)
{
	run_all_silent();
}

/* OpenSM's value for --retries -1. */
static void test_most_retries(void **state)
{
	fake.osm.subn.opt.transaction_retries = UINT32_MAX;
	run_all_silent();
}

/* OpenSM is ending: an hour is not waited for. */
static enum smp_make make_and_leave(void *context, uint32_t index,
				    struct smp_request *smp)
{
	osm_exit_flag = index == 3;
	return make(context, index, smp);
}

static void test_leaving(void **state)
{
	struct smp_sender *smps = smp_start(&fake.osm, &no_hooks);
	struct smp_count count = {0};
	static struct trial t;

	assert_non_null(smps);
	t = (struct trial){.batch = {.num = MOST_SMPS,
				     .total_ms = HOUR_MS,
				     .make = make_and_leave,
				     .take = take,
				     .context = &t},
			   .stop_after = UINT32_MAX};
	for (uint32_t i = 0; i < MOST_SMPS; i++)
		t.fate[i] = NEVER;
	running = &t;
	smp_run(smps, &t.batch, &count);
	assert_int_equal(t.posted, 3);
	assert_int_equal(t.num_reported, t.made);
	smp_stop(smps);
}

/* The dispatcher refuses one of our handlers. */
static void test_no_memory(void **state)
{
	for (fake.refuse = 1; fake.refuse <= 9; fake.refuse++) {
		fake.registered = 0;
		assert_null(smp_start(&fake.osm, &no_hooks));
		assert_ptr_equal(fake.handler[OSM_MSG_MAD_PORT_INFO], osm_pi_rcv_process);
		assert_ptr_equal(fake.handler[OSM_MSG_MAD_LFT], osm_lft_rcv_process);
		assert_ptr_equal(fake.handler[OSM_MSG_MAD_MFT], osm_mft_rcv_process);
		assert_ptr_equal(fake.handler[OSM_MSG_MAD_NODE_INFO], osm_ni_rcv_process);
		assert_ptr_equal(fake.handler[OSM_MSG_MAD_PKEY], osm_pkey_rcv_process);
		assert_ptr_equal(fake.handler[OSM_MSG_MAD_SLVL], osm_slvl_rcv_process);
		assert_ptr_equal(fake.handler[OSM_MSG_MAD_VL_ARB], osm_vla_rcv_process);
		assert_ptr_equal(fake.handler[OSM_MSG_MAD_NOTICE], osm_trap_rcv_process);
		assert_ptr_equal(fake.context[OSM_MSG_MAD_PORT_INFO], &fake.osm.sm);
		assert_ptr_equal(fake.context[OSM_MSG_MAD_LFT], &fake.osm.sm);
	}
}

/* ---- Hooks ---- */

static bool on_trap(void *context, const ib_mad_notice_attr_t *notice)
{
	fake.asked_lid = cl_ntoh16(notice->data_details.ntc_128.sw_lid);
	return fake.takes;
}

static bool hides_change(void *context, uint16_t lid)
{
	fake.asked_lid = lid;
	return fake.hides;
}

static const struct smp_hooks hooks = {.on_trap = on_trap, .hides_change = hides_change};

/* The switch. */
osm_port_t *osm_get_port_by_lid_ho(const osm_subn_t *subn, uint16_t lid)
{
	static osm_physp_t physp;
	static osm_port_t port = {.guid = PORT_GUID, .p_physp = &physp};

	physp.port_info.m_key = M_KEY;
	return lid == LID ? &port : NULL;
}

/* SMPs that a switch sends by itself, or as answers to OpenSM. */
static void hand_over(cl_disp_msgid_t message, osm_madw_t *madw)
{
	fake.handler[message](fake.context[message], madw);
}

/* A trap is OpenSM's, or is repressed and reported in its place. */
static void test_trap(void **state)
{
	struct smp_sender *smps = smp_start(&fake.osm, &hooks);
	ib_smp_t smp = {.mgmt_class = IB_MCLASS_SUBN_LID, .method = IB_MAD_METHOD_TRAP};
	osm_madw_t madw = {.p_mad = (ib_mad_t *)&smp};
	ib_mad_notice_attr_t *notice = (ib_mad_notice_attr_t *)smp.data;

	assert_non_null(smps);
	notice->data_details.ntc_128.sw_lid = cl_hton16(LID);
	madw.mad_addr.addr_type.smi.source_lid = cl_hton16(LID);
	hand_over(OSM_MSG_MAD_NOTICE, &madw);
	assert_int_equal(fake.asked_lid, LID);
	assert_int_equal(fake.traps_left, 1);
	assert_int_equal(fake.repressed + fake.reported, 0);
	fake.takes = true;
	hand_over(OSM_MSG_MAD_NOTICE, &madw);
	assert_int_equal(fake.traps_left, 1);
	assert_int_equal(fake.repressed, 1);
	assert_int_equal(fake.reported, 1);
	smp.method = IB_MAD_METHOD_SET; /* no trap */
	hand_over(OSM_MSG_MAD_NOTICE, &madw);
	assert_int_equal(fake.traps_left, 2);
	smp_stop(smps);
}

/* PortStateChange is hidden from light sweeps alone. */
static void test_light_sweep(void **state)
{
	static const struct {
		bool light, set, hides, seen;
		uint16_t status;
	} rows[] = {
		{true, false, true, false, 0},
		{true, false, false, true, 0},
		{false, false, true, true, 0},
		{true, true, true, true, 0},
		{true, false, true, true, CL_HTON16(0x1c)},
	};
	struct smp_sender *smps = smp_start(&fake.osm, &hooks);

	assert_non_null(smps);
	for_each_row(row, rows) {
		ib_smp_t smp = {.status = row->status};
		osm_madw_t madw = {.p_mad = (ib_mad_t *)&smp};
		ib_switch_info_t *info = ib_smp_get_payload_ptr(&smp);

		info->life_state = IB_SWITCH_PSC;
		madw.context.si_context = (osm_si_context_t){
			.node_guid = fake.node.node_info.node_guid,
			.light_sweep = row->light,
			.set_method = row->set,
		};
		fake.hides = row->hides;
		hand_over(OSM_MSG_MAD_SWITCH_INFO, &madw);
		assert_int_equal(fake.change_seen, row->seen);
	}
	smp_stop(smps);
}

/* Has late answers delivered, and waits until no Set is out. */
static void await_late(struct smp_sender *smps)
{
	struct smp_block blocks[SMP_SLOTS];

	pthread_mutex_lock(&fake.lock);
	fake.batch++;
	pthread_cond_broadcast(&fake.changed);
	pthread_mutex_unlock(&fake.lock);
	while (smp_list_out(smps, blocks))
		usleep(100);
}

/*
 * A Set that was given up is out until it comes back, and its answer is noted then,
 * unless OpenSM writes the tables by now.
 */
static void try_late(bool disowned)
{
	struct smp_sender *smps = smp_start(&fake.osm, &no_hooks);
	struct smp_block blocks[SMP_SLOTS];
	static struct trial t;

	assert_non_null(smps);
	start_threads();
	t = (struct trial){.batch = {.num = 4, .ahead = 1, .total_ms = SILENT_MS},
			   .fate = {ANSWER, LATE, LATE, LATE},
			   .kind = {SMP_SET_BLOCK, SMP_SET_BLOCK, SMP_BLOCK, SMP_SET_MFT},
			   .stop_after = UINT32_MAX};
	run(smps, &t);
	assert_int_equal(smp_list_out(smps, blocks), 1);
	assert_int_equal(blocks[0].guid, fake.node.node_info.node_guid);
	assert_int_equal(blocks[0].number, 1);
	assert_false(smp_is_out(smps, fake.node.node_info.node_guid, 0));
	assert_true(smp_is_out(smps, fake.node.node_info.node_guid, 1));
	assert_false(smp_is_out(smps, fake.node.node_info.node_guid, 2));
	assert_false(smp_is_out(smps, fake.node.node_info.node_guid, 3));
	assert_true(smp_is_mft_out(smps, fake.node.node_info.node_guid, 3));
	assert_false(smp_is_mft_out(smps, fake.node.node_info.node_guid, 1));
	if (disowned)
		smp_disown(smps);
	await_late(smps);
	assert_false(smp_is_out(smps, fake.node.node_info.node_guid, 1));
	stop_threads();
	assert_int_equal(fake.sets_answered, 2);
	assert_int_equal(fake.sets_noted, disowned ? 1 : 2);
	smp_stop(smps);
}

static void test_late(void **state)
{
	try_late(false);
}

static void test_disowned(void **state)
{
	try_late(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_all_silent, begin, end),
		cmocka_unit_test_setup_teardown(test_disowned, begin, end),
		cmocka_unit_test_setup_teardown(test_late, begin, end),
		cmocka_unit_test_setup_teardown(test_leaving, begin, end),
		cmocka_unit_test_setup_teardown(test_light_sweep, begin, end),
		cmocka_unit_test_setup_teardown(test_most_retries, begin, end),
		cmocka_unit_test_setup_teardown(test_no_memory, begin, end),
		cmocka_unit_test_setup_teardown(test_random, begin, end),
		cmocka_unit_test_setup_teardown(test_trap, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
