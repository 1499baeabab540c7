/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "subnet.h"
#include "subnet_mcast.h"

#include "memfault.h"
#include "unit.h"
#include "engine/clock.h"
#include "engine/worker.h"
#include "io/control.h"

#include <opensm/osm_db_pack.h>
#include <opensm/osm_event_plugin.h>
#include <opensm/osm_inform.h>
#include <opensm/osm_madw.h>
#include <opensm/osm_mcast_mgr.h>
#include <opensm/osm_msgdef.h>

#include <glob.h>
#include <unistd.h>

#define MOST_LIDS SUBNET_LFT
#define MOST_HOPS 16
#define MOST_LOG 65536
#define WORK_MS 100 /* between two rounds of the repairer */

/* The entry of guid2lid for one of ours. */
struct owner {
	uint64_t guid; /* 0: none */
	uint16_t low, high;
};

static struct {
	osm_opensm_t osm;
	const struct pm_fabric *fabric;
	osm_node_t *nodes[SUBNET_NODES]; /* as in the fabric */
	osm_switch_t switches[SUBNET_NODES];
	osm_port_t ports[SUBNET_NODES];
	uint8_t installed[SUBNET_NODES][SUBNET_LFT]; /* the real table of a switch */
	uint8_t *hops[SUBNET_NODES][SUBNET_LFT];     /* OpenSM's hop counts, or NULL */
	bool down[SUBNET_NODES * 16];		     /* [port of the fabric] */
	uint32_t refusals[SUBNET_NODES];	     /* [switch] subnet_refuse_blocks */
	uint32_t silences[SUBNET_NODES]; /* [switch] subnet_refuse_questions */
	struct {
		uint32_t sw; /* subnet_delay_block, or PM_NONE: none is */
		bool out;
		ib_smp_t smp;
		osm_madw_context_t context;
	} delayed;
	uint32_t repaired[SUBNET_NODES]; /* [switch] subnet_repaired */
	void (*on_block)(void);		 /* subnet_on_block, or NULL */
	void (*on_question)(void);	 /* subnet_on_question, or NULL */
	void (*on_wait)(void);		 /* subnet_on_wait, or NULL */
	void (*on_discovered)(void);	 /* subnet_on_discovered, or NULL */
	void (*on_assigned)(void);	 /* subnet_on_assigned, or NULL */
	uint32_t dumps;			 /* subnet_dumps */
	double answer_ms;		 /* subnet_set_answer_ms */
	struct owner guid2lid[SUBNET_NODES];

	osm_routing_engine_t engine, other;
	void *plugin;
	cl_pfn_msgrcv_cb_t handler[OSM_MSG_MAX];
	void *context[OSM_MSG_MAX];
	struct subnet_sweep *sweep; /* under way, or NULL */
	char log[MOST_LOG];	    /* since subnet_begin, as far as there is room */
	double clock_ms;

	struct worker *sender; /* dormant, or NULL */
	struct worker *served; /* by the control socket, until it is freed */
	struct control_request *asked, **asked_end; /* subnet_ask */
} fake;

extern osm_event_plugin_t osm_event_plugin;
volatile unsigned int osm_exit_flag;

/* ---- Workers and time ---- */

int __wrap_fsync(int fd);
double __wrap_clock_ms(void);
void __wrap_clock_wait_until(struct clock_signal *signal, double when_ms);
void __wrap_clock_wait_briefly(struct clock_signal *signal, double ms);

/* A disk as fast as this one is never waited for. */
int __wrap_fsync(int fd)
{
	return 0;
}

double __wrap_clock_ms(void)
{
	return fake.clock_ms;
}

void __wrap_clock_wait_until(struct clock_signal *signal, double when_ms)
{
	fail_msg("waits until %f ms", when_ms);
}

struct worker {
	worker_round *round;
	void *context;
	bool busy, poked, ended;
	bool entered;
	bool dormant; /* it works where the sweeper waits, and after sweeps */
};

struct worker *__wrap_worker_start(const char *name, worker_round *round, void *context);
void __wrap_worker_poke(struct worker *worker);
void __wrap_worker_end(struct worker *worker);
bool __wrap_worker_stop(struct worker *worker, double until_ms);
void __wrap_worker_free(struct worker *worker);
void __wrap_worker_enter(struct worker *worker);
void __wrap_worker_leave(struct worker *worker);

static void make_round(struct worker *worker)
{
	worker->busy = true;
	worker->round(worker->context, false);
	worker->busy = false;
}

/* Time passes where the sweeper waits, and for the repairer, which then works. */
void __wrap_clock_wait_briefly(struct clock_signal *signal, double ms)
{
	bool works = fake.sender && fake.sender->poked && !fake.sender->busy;

	fake.clock_ms = fake.clock_ms + (works ? 0 : ms);
	pthread_mutex_unlock(&signal->lock);
	if (fake.on_wait)
		fake.on_wait();
	if (works) {
		fake.sender->poked = false;
		make_round(fake.sender);
	}
	pthread_mutex_lock(&signal->lock);
}

struct worker *__wrap_worker_start(const char *name, worker_round *round, void *context)
{
	struct worker *worker = calloc(1, sizeof(*worker));

	assert_true(strlen(name) <= 15);
	if (worker)
		*worker = (struct worker){.round = round,
					  .context = context,
					  .dormant = !strcmp(name, "portmajor-send")};
	if (worker && worker->dormant)
		fake.sender = worker;
	return worker;
}

void __wrap_worker_poke(struct worker *worker)
{
	worker->poked = true;
	while (worker->poked && !worker->busy && !worker->dormant) {
		worker->poked = false;
		make_round(worker);
	}
}

void __wrap_worker_end(struct worker *worker)
{
	if (worker && !worker->ended) {
		worker->busy = true;
		worker->round(worker->context, true);
		worker->busy = false;
	}
	if (worker)
		worker->ended = true;
}

bool __wrap_worker_stop(struct worker *worker, double until_ms)
{
	assert_true(until_ms > fake.clock_ms);
	__wrap_worker_end(worker);
	if (fake.sender == worker)
		fake.sender = NULL;
	return true;
}

void __wrap_worker_free(struct worker *worker)
{
	if (fake.served == worker)
		fake.served = NULL;
	free(worker);
}

void __wrap_worker_enter(struct worker *worker)
{
	assert_false(worker->entered);
	worker->entered = true;
}

void __wrap_worker_leave(struct worker *worker)
{
	assert_true(worker->entered);
	worker->entered = false;
}

/* ---- Clients ---- */

struct control *__wrap_control_start(struct worker *writer);
void __wrap_control_stop(struct control *control);
void __wrap_control_free(struct control *control);
void __wrap_control_listen(struct control *control, int fd);
struct control_request *__wrap_control_take(struct control *control);
void __wrap_control_publish(struct control *control, json_t *requests, json_t *state,
			    struct control_request *completed);

struct control *__wrap_control_start(struct worker *writer)
{
	fake.served = writer;
	return (struct control *)&fake;
}

/* Until then a request may come, which wakes the writer. */
void __wrap_control_stop(struct control *control)
{
	if (control)
		assert_non_null(fake.served);
}
void __wrap_control_free(struct control *control)
{
}

void __wrap_control_listen(struct control *control, int fd)
{
	if (fd >= 0)
		close(fd);
}

static void queue(struct control_request *request)
{
	if (!fake.asked)
		fake.asked_end = &fake.asked;
	request->next = NULL;
	*fake.asked_end = request;
	fake.asked_end = &request->next;
}

void subnet_ask(const char *line)
{
	struct control_request *request = calloc(1, sizeof(*request));

	assert_non_null(request);
	request->json = json_loads(line, 0, NULL);
	assert_non_null(request->json);
	queue(request);
}

void subnet_let_write(void)
{
	__wrap_worker_poke(fake.served);
}

struct control_request *__wrap_control_take(struct control *control)
{
	struct control_request *asked = fake.asked;

	fake.asked = NULL;
	return asked;
}

void __wrap_control_publish(struct control *control, json_t *requests, json_t *state,
			    struct control_request *completed)
{
	json_decref(requests);
	json_decref(state);
	while (completed) {
		struct control_request *request = completed;

		completed = request->next;
		/* Without memory for the state its content is unknown. */
		if (strstr(request->reason.text, "memory") ||
		    strstr(request->reason.text, "not seen the fabric")) {
			if (fake.sweep)
				fake.sweep->no_memory++;
			request->reason.text[0] = '\0';
			queue(request);
			continue;
		}
		if (request->reason.text[0])
			fail_msg("refused: %s", request->reason.text);
		json_decref(request->json);
		free(request);
	}
}

/* ---- The log ---- */

void osm_log(osm_log_t *log, osm_log_level_t level, const char *format, ...)
{
	struct subnet_sweep *sweep = fake.sweep;
	char text[4096];
	bool no_memory;
	va_list args;

	assert_ptr_equal(log, &fake.osm.log);
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (getenv("PM_SHOW"))
		fputs(text, stderr);
	strncat(fake.log, text, sizeof(fake.log) - 1 - strlen(fake.log));
	if (!sweep)
		return;
	no_memory =
		strstr(text, "out of memory") || strstr(text, "Cannot allocate memory");
	sweep->errors += (level & OSM_LOG_ERROR) != 0;
	sweep->no_memory += no_memory;
	sweep->refusals += no_memory && strstr(text, "cannot route this fabric");
	sweep->set_aside += strstr(text, "it was not read in time") != NULL;
}

uint32_t subnet_logged(const char *text)
{
	uint32_t count = 0;

	for (const char *at = fake.log; (at = strstr(at, text)); at++)
		count++;
	return count;
}

/* ---- OpenSM's tables ---- */

struct osm_switch *osm_get_switch_by_guid(const osm_subn_t *subn, ib_net64_t guid)
{
	uint32_t node = pm_fabric_find_guid(fake.fabric, cl_ntoh64(guid));

	assert_ptr_equal(subn, &fake.osm.subn);
	return node < fake.fabric->num_switches ? &fake.switches[node] : NULL;
}

struct osm_node *osm_get_node_by_guid(const osm_subn_t *subn, ib_net64_t guid)
{
	cl_map_item_t *item = cl_qmap_get(&subn->node_guid_tbl, guid);

	return item == cl_qmap_end(&subn->node_guid_tbl) ? NULL : (osm_node_t *)item;
}

struct osm_port *osm_get_port_by_guid(const osm_subn_t *subn, ib_net64_t guid)
{
	assert_ptr_equal(subn, &fake.osm.subn);
	for (uint32_t i = 0; i < fake.fabric->num_nodes; i++)
		if (fake.ports[i].guid == guid)
			return &fake.ports[i];
	return NULL;
}

boolean_t osm_link_is_healthy(const osm_physp_t *physp)
{
	return physp->healthy;
}

cl_status_t osm_register_external_routing_engine(
	osm_opensm_t *osm, const external_routing_engine_module_t *module, void *context)
{
	fake.engine =
		(osm_routing_engine_t){.name = module->name, .context = module->context};
	fake.other = (osm_routing_engine_t){.name = "other"};
	fake.engine.next = &fake.other;
	osm->routing_engine_list = &fake.engine;
	return module->setup(&fake.engine, osm) ? CL_ERROR : CL_SUCCESS;
}

/* Only those of switches to themselves. */
int osm_ucast_mgr_build_lid_matrices(osm_ucast_mgr_t *manager)
{
	static uint8_t none[1];

	assert_ptr_equal(manager, &fake.osm.sm.ucast_mgr);
	assert_true(subnet_is_locked());
	for (uint32_t i = 0; i < fake.fabric->num_switches; i++)
		fake.hops[i]
			 [cl_ntoh16(fake.nodes[i]->physp_table[0].port_info.base_lid)] =
			none;
	return 0;
}

bool subnet_has_hop_counts(void)
{
	for (uint32_t lid = 0; lid < SUBNET_LFT; lid++)
		if (fake.hops[0][lid])
			return true;
	return false;
}

void osm_purge_mtree(osm_sm_t *sm, osm_mgrp_box_t *box)
{
	assert_ptr_equal(sm, &fake.osm.sm);
	assert_null(box->root);
}

void osm_dump_mcast_routes(osm_opensm_t *osm)
{
	assert_ptr_equal(osm, &fake.osm);
	fake.dumps++;
}

uint32_t subnet_dumps(void)
{
	return fake.dumps;
}

void osm_sm_signal(osm_sm_t *sm, osm_signal_t signal)
{
	assert_ptr_equal(sm, &fake.osm.sm);
}

/* ---- guid2lid ---- */

static struct owner *find_owner(uint64_t guid)
{
	for (unsigned int i = 0; i < SUBNET_NODES; i++)
		if (fake.guid2lid[i].guid == guid)
			return &fake.guid2lid[i];
	return NULL;
}

int osm_db_guid2lid_guids(osm_db_domain_t *domain, cl_qlist_t *guids)
{
	bool spared = memfault_spare(true);

	for (unsigned int i = 0; i < SUBNET_NODES; i++) {
		osm_db_guid_elem_t *element;

		if (!fake.guid2lid[i].guid)
			continue;
		element = calloc(1, sizeof(*element));
		assert_non_null(element);
		element->guid = fake.guid2lid[i].guid;
		cl_qlist_insert_tail(guids, &element->item);
	}
	memfault_spare(spared);
	return 0;
}

int osm_db_guid2lid_get(osm_db_domain_t *domain, uint64_t guid, uint16_t *low,
			uint16_t *high)
{
	const struct owner *owner = find_owner(guid);

	if (!owner)
		return 1;
	*low = owner->low;
	*high = owner->high;
	return 0;
}

int osm_db_guid2lid_set(osm_db_domain_t *domain, uint64_t guid, uint16_t low,
			uint16_t high)
{
	struct owner *owner = find_owner(guid);

	owner = owner ? owner : find_owner(0);
	assert_non_null(owner);
	*owner = (struct owner){guid, low, high};
	return 0;
}

int osm_db_guid2lid_delete(osm_db_domain_t *domain, uint64_t guid)
{
	struct owner *owner = find_owner(guid);

	if (owner)
		*owner = (struct owner){0};
	return !owner;
}

int osm_db_clear(osm_db_domain_t *domain)
{
	memset(fake.guid2lid, 0, sizeof(fake.guid2lid));
	return 0;
}

int osm_db_store(osm_db_domain_t *domain, boolean_t fsync_high_avail_files)
{
	(void)domain, (void)fsync_high_avail_files;
	return 0;
}

uint32_t subnet_double_lids(void)
{
	uint32_t count = 0, owners[MOST_LIDS] = {0};

	for (unsigned int i = 0; i < SUBNET_NODES; i++)
		for (uint32_t lid = fake.guid2lid[i].low;
		     fake.guid2lid[i].guid && lid <= fake.guid2lid[i].high; lid++)
			count += owners[lid]++ != 0;
	return count;
}

/* ---- SMPs, which are answered at once ---- */

cl_disp_reg_handle_t cl_disp_register(cl_dispatcher_t *disp, cl_disp_msgid_t message,
				      cl_pfn_msgrcv_cb_t callback, const void *context)
{
	fake.handler[message] = callback;
	fake.context[message] = (void *)(uintptr_t)context;
	return (cl_disp_reg_handle_t)&fake.handler[message];
}

void cl_disp_unregister(const cl_disp_reg_handle_t handle)
{
}

static uint32_t number_of(ib_net64_t guid)
{
	uint32_t node = pm_fabric_find_guid(fake.fabric, cl_ntoh64(guid));

	assert_true(node < fake.fabric->num_nodes);
	return node;
}

/* An SMP of the plugin's that the test itself requests. */
#define OSM_HANDLER(name)                                                                \
	void name(void *sm, void *data);                                                 \
	void name(void *sm, void *data)                                                  \
	{                                                                                \
		(void)sm, (void)data;                                                    \
		fail();                                                                  \
	}

OSM_HANDLER(osm_ni_rcv_process)
OSM_HANDLER(osm_si_rcv_process)
OSM_HANDLER(osm_pi_rcv_process)
OSM_HANDLER(osm_pkey_rcv_process)
OSM_HANDLER(osm_slvl_rcv_process)
OSM_HANDLER(osm_vla_rcv_process)
OSM_HANDLER(osm_mft_rcv_process)
OSM_HANDLER(osm_trap_rcv_process)

/* OpenSM gets all traps, and no SMP comes back. */
ib_api_status_t osm_resp_send(osm_sm_t *sm, const osm_madw_t *madw, ib_net16_t status,
			      const uint8_t *payload)
{
	fail();
	return IB_ERROR;
}

void osm_node_link(osm_node_t *node, uint8_t num, osm_node_t *to, uint8_t to_num)
{
	fail();
}

osm_port_t *osm_get_port_by_lid_ho(const osm_subn_t *subn, uint16_t lid)
{
	fail();
	return NULL;
}

ib_api_status_t osm_report_notice(osm_log_t *log, osm_subn_t *subn,
				  ib_mad_notice_attr_t *notice)
{
	fail();
	return IB_ERROR;
}

void osm_lft_rcv_process(void *sm, void *data);

void osm_lft_rcv_process(void *sm, void *data)
{
	const osm_madw_t *madw = data;
	const ib_smp_t *smp = osm_madw_get_smp_ptr(madw);
	uint32_t sw = number_of(madw->context.lft_context.node_guid);

	memcpy(fake.switches[sw].lft + cl_ntoh32(smp->attr_mod) * IB_SMP_DATA_SIZE,
	       smp->data, IB_SMP_DATA_SIZE);
}

static uint8_t state_of(uint32_t port)
{
	uint32_t peer = fake.fabric->ports[port].peer;

	if (fake.fabric->ports[port].num == 0)
		return IB_LINK_ACTIVE;
	return peer == PM_NONE || fake.down[port] || fake.down[peer] ? IB_LINK_DOWN
								     : IB_LINK_ACTIVE;
}

bool subnet_is_up(uint32_t port)
{
	return state_of(port) != IB_LINK_DOWN;
}

static void call_first(void (**call)(void))
{
	void (*now)(void) = *call;

	*call = NULL;
	if (now)
		now();
}

static ib_api_status_t answer_block(ib_smp_t *smp, uint32_t sw, uint32_t number)
{
	uint8_t *block = fake.installed[sw] + (size_t)number * IB_SMP_DATA_SIZE;

	if (smp->method == IB_MAD_METHOD_SET) {
		if (fake.refusals[sw]) {
			fake.refusals[sw]--;
			return IB_TIMEOUT;
		}
		fake.repaired[sw]++;
		memcpy(block, smp->data, IB_SMP_DATA_SIZE);
		if (fake.on_block)
			fake.on_block();
	}
	memcpy(smp->data, block, IB_SMP_DATA_SIZE);
	return IB_SUCCESS;
}

static ib_api_status_t answer(ib_smp_t *smp, cl_disp_msgid_t message,
			      const osm_madw_context_t *context)
{
	osm_madw_t madw = {.p_mad = (ib_mad_t *)smp, .context = *context};
	uint32_t modifier = cl_ntoh32(smp->attr_mod);

	if (message == OSM_MSG_MAD_PORT_INFO) {
		uint32_t node = number_of(context->pi_context.node_guid);
		ib_port_info_t *info = (ib_port_info_t *)smp->data;

		call_first(&fake.on_question);
		fake.clock_ms = fake.clock_ms + fake.answer_ms;
		ib_port_info_set_port_state(
			info, state_of(fake.fabric->nodes[node].first_port + modifier));
		madw.status = fake.silences[node] ? IB_TIMEOUT : IB_SUCCESS;
		fake.silences[node] -= fake.silences[node] != 0;
	} else if (message == OSM_MSG_MAD_MFT) {
		uint32_t sw = number_of(context->mft_context.node_guid);

		madw.status = subnet_mcast_answer(smp, sw) ? IB_SUCCESS : IB_TIMEOUT;
	} else {
		uint32_t sw = number_of(context->lft_context.node_guid);

		madw.status = answer_block(smp, sw, modifier);
	}
	if (madw.status == IB_SUCCESS)
		smp->method = IB_MAD_METHOD_GET_RESP;
	fake.handler[message](fake.context[message], &madw);
	return IB_SUCCESS;
}

/* Whether the answer to a Set comes later. */
static bool is_delayed(const ib_smp_t *smp, const osm_madw_context_t *context)
{
	if (smp->attr_id != IB_MAD_ATTR_LIN_FWD_TBL || fake.delayed.out ||
	    fake.delayed.sw != number_of(context->lft_context.node_guid))
		return false;
	fake.delayed.out = true;
	fake.delayed.smp = *smp;
	fake.delayed.context = *context;
	return true;
}

static void answer_delayed(void)
{
	if (fake.delayed.out)
		answer(&fake.delayed.smp, OSM_MSG_MAD_LFT, &fake.delayed.context);
	fake.delayed.out = false;
	fake.delayed.sw = PM_NONE;
}

ib_api_status_t osm_req_get(osm_sm_t *sm, const osm_dr_path_t *path, ib_net16_t attr,
			    ib_net32_t modifier, boolean_t find_mkey, ib_net64_t m_key,
			    uint32_t timeout, cl_disp_msgid_t message,
			    const osm_madw_context_t *context)
{
	_Alignas(64) ib_smp_t smp = {
		.method = IB_MAD_METHOD_GET, .attr_id = attr, .attr_mod = modifier};

	(void)sm, (void)path, (void)find_mkey, (void)m_key, (void)timeout;
	return answer(&smp, message, context);
}

ib_api_status_t osm_req_set(osm_sm_t *sm, const osm_dr_path_t *path, const uint8_t *data,
			    size_t size, ib_net16_t attr, ib_net32_t modifier,
			    boolean_t find_mkey, ib_net64_t m_key, uint32_t timeout,
			    cl_disp_msgid_t message, const osm_madw_context_t *context)
{
	_Alignas(64) ib_smp_t smp = {
		.method = IB_MAD_METHOD_SET, .attr_id = attr, .attr_mod = modifier};

	(void)sm, (void)path, (void)find_mkey, (void)m_key, (void)timeout;
	if (attr == IB_MAD_ATTR_SWITCH_INFO) { /* OpenSM's own handler gets the answer */
		subnet_mcast_set_info((const ib_switch_info_t *)data,
				      number_of(context->si_context.node_guid));
		return IB_SUCCESS;
	}
	assert_int_equal(size, IB_SMP_DATA_SIZE);
	memcpy(smp.data, data, size);
	if (is_delayed(&smp, context))
		return IB_SUCCESS;
	return answer(&smp, message, context);
}

/* ---- Files ---- */

/* In memory, if possible: thousands of small files are made. */
#define FOLDER "/portmajor-subnet-XXXXXX"

static char folder[sizeof("/dev/shm" FOLDER)];

const char *subnet_make_folder(void)
{
	snprintf(folder, sizeof(folder), "%s" FOLDER,
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	assert_non_null(mkdtemp(folder));
	assert_int_equal(setenv("OSM_CACHE_DIR", folder, 1), 0);
	return folder;
}

void subnet_remove_files(const char *pattern)
{
	char path[128];
	glob_t found = {0};

	snprintf(path, sizeof(path), "%s/%s", folder, pattern);
	if (!glob(path, 0, NULL, &found))
		for (size_t i = 0; i < found.gl_pathc; i++)
			if (unlink(found.gl_pathv[i]))
				rmdir(found.gl_pathv[i]);
	globfree(&found);
}

void subnet_remove_folder(void)
{
	subnet_remove_files("*/*");
	subnet_remove_files("*");
	rmdir(folder);
}

/* ---- Making it ---- */

static uint8_t discovered[PM_MAX_PORTS + 1]; /* every port of all nodes */

static osm_node_t *make_node(uint32_t index)
{
	const struct pm_node *n = &fake.fabric->nodes[index];
	osm_node_t *node = calloc(1, sizeof(*node) + n->num_ports * sizeof(osm_physp_t));
	bool is_switch = index < fake.fabric->num_switches;

	assert_non_null(node);
	memset(discovered, 1, sizeof(discovered));
	node->node_info.node_type = is_switch ? IB_NODE_TYPE_SWITCH : IB_NODE_TYPE_CA;
	node->node_info.node_guid = cl_hton64(n->guid);
	node->node_info.num_ports = n->num_ports;
	node->physp_tbl_size = n->num_ports + 1u;
	node->physp_discovered = discovered;
	node->print_desc = (char *)(uintptr_t)pm_fabric_name(fake.fabric, index);
	for (unsigned int p = is_switch ? 0 : 1; p <= n->num_ports; p++) {
		osm_physp_t *physp = &node->physp_table[p];

		physp->port_guid = cl_hton64(fake.fabric->ports[n->first_port + p].guid);
		physp->port_num = (uint8_t)p;
		physp->p_node = node;
		physp->healthy = TRUE;
	}
	return node;
}

static void make_switch(uint32_t index)
{
	osm_switch_t *sw = &fake.switches[index];

	*sw = (osm_switch_t){.p_node = fake.nodes[index], .lft_size = SUBNET_LFT};
	sw->hops = fake.hops[index];
	sw->lft = malloc(SUBNET_LFT);
	sw->new_lft = malloc(SUBNET_LFT);
	assert_true(sw->lft && sw->new_lft);
	memset(sw->lft, OSM_NO_PATH, SUBNET_LFT);
	memset(sw->new_lft, OSM_NO_PATH, SUBNET_LFT);
	memset(fake.installed[index], OSM_NO_PATH, SUBNET_LFT);
	sw->switch_info.lin_cap = CL_HTON16(0xc000);
	sw->need_update = 1;
	fake.nodes[index]->sw = sw;
	cl_qmap_insert(&fake.osm.subn.sw_guid_tbl, fake.nodes[index]->node_info.node_guid,
		       &sw->map_item);
}

static void make_port(uint32_t index)
{
	osm_node_t *node = fake.nodes[index];
	osm_physp_t *physp =
		&node->physp_table[index < fake.fabric->num_switches ? 0 : 1];

	fake.ports[index] =
		(osm_port_t){.p_node = node, .guid = physp->port_guid, .p_physp = physp};
}

static void begin_opensm(void)
{
	osm_opensm_t *osm = &fake.osm;

	memset(osm, 0, sizeof(*osm));
	osm->sm.p_subn = &osm->subn;
	osm->sm.p_log = &osm->log;
	osm->sm.p_disp = &osm->disp;
	osm->sm.p_lock = &osm->lock;
	osm->log.level = OSM_LOG_ALL & ~OSM_LOG_ROUTING;
	osm->log.out_port = stderr;
	cl_spinlock_init(&osm->log.lock);
	cl_plock_init(&osm->lock);
	cl_qlist_init(&osm->vl15.rfifo);
	cl_qlist_init(&osm->vl15.ufifo);
	cl_qmap_init(&osm->subn.node_guid_tbl);
	cl_qmap_init(&osm->subn.prtn_pkey_tbl);
	cl_qmap_init(&osm->subn.sw_guid_tbl);
	cl_qmap_init(&osm->subn.sm_guid_tbl);
	cl_ptr_vector_construct(&osm->subn.port_lid_tbl);
	cl_ptr_vector_init(&osm->subn.port_lid_tbl, 0, 40);
	osm->subn.max_ucast_lid_ho = IB_LID_UCAST_END_HO;
	osm->subn.first_time_master_sweep = TRUE;
	osm->subn.sm_state = IB_SMINFO_STATE_MASTER;
	osm->subn.opt.max_wire_smps = 4;
	osm->subn.opt.transaction_retries = 3;
}

void subnet_begin(const struct pm_fabric *fabric)
{
	bool spared = memfault_spare(true);

	assert_true(fabric->num_nodes <= SUBNET_NODES);
	assert_true(fabric->num_ports <= sizeof(fake.down));
	fake.fabric = fabric;
	fake.clock_ms = 1e6;
	memset(fake.down, 0, sizeof(fake.down));
	memset(fake.guid2lid, 0, sizeof(fake.guid2lid));
	memset(fake.refusals, 0, sizeof(fake.refusals));
	memset(fake.silences, 0, sizeof(fake.silences));
	fake.delayed.sw = PM_NONE;
	fake.delayed.out = false;
	memset(fake.repaired, 0, sizeof(fake.repaired));
	fake.on_block = NULL;
	fake.on_question = fake.on_wait = NULL;
	fake.on_discovered = fake.on_assigned = NULL;
	fake.answer_ms = 0;
	fake.log[0] = '\0';
	begin_opensm();
	for (uint32_t i = 0; i < fabric->num_nodes; i++) {
		fake.nodes[i] = make_node(i);
		cl_qmap_insert(&fake.osm.subn.node_guid_tbl,
			       fake.nodes[i]->node_info.node_guid,
			       &fake.nodes[i]->map_item);
		make_port(i);
	}
	for (uint32_t i = 0; i < fabric->num_switches; i++)
		make_switch(i);
	fake.osm.subn.sm_port_guid = fake.ports[fabric->num_switches].guid;
	subnet_mcast_begin(fabric);
	memfault_spare(spared);
}

void subnet_end(void)
{
	subnet_mcast_end();
	for (uint32_t i = 0; i < fake.fabric->num_switches; i++) {
		free(fake.switches[i].lft);
		free(fake.switches[i].new_lft);
	}
	for (uint32_t i = 0; i < fake.fabric->num_nodes; i++)
		free(fake.nodes[i]);
	cl_ptr_vector_destroy(&fake.osm.subn.port_lid_tbl);
	cl_plock_destroy(&fake.osm.lock);
	cl_spinlock_destroy(&fake.osm.log.lock);
}

osm_opensm_t *subnet_opensm(void)
{
	return &fake.osm;
}

bool subnet_load(const char *config)
{
	fake.osm.routing_engine_list = fake.osm.routing_engine_used = NULL;
	fake.osm.subn.opt.event_plugin_options = (char *)(uintptr_t)config;
	fake.plugin = osm_event_plugin.create(&fake.osm);
	return fake.plugin != NULL;
}

bool subnet_is_loaded(void)
{
	return fake.plugin != NULL;
}

struct plugin *subnet_plugin(void)
{
	return fake.plugin;
}

void subnet_unload(void)
{
	if (fake.plugin)
		osm_event_plugin.delete(fake.plugin);
	fake.plugin = NULL;
}

bool subnet_is_locked(void)
{
	if (pthread_rwlock_trywrlock(&fake.osm.lock.lock))
		return true;
	pthread_rwlock_unlock(&fake.osm.lock.lock);
	return false;
}

static void report_trap(uint32_t node)
{
	unsigned int port = node < fake.fabric->num_switches ? 0 : 1;
	ib_mad_notice_attr_t notice = {.generic_type = 0x80};

	notice.g_or_v.generic.trap_num = CL_HTON16(SM_LINK_STATE_CHANGED_TRAP);
	notice.data_details.ntc_128.sw_lid =
		fake.nodes[node]->physp_table[port].port_info.base_lid;
	osm_event_plugin.report(fake.plugin, OSM_EVENT_ID_TRAP, &notice);
}

void subnet_set_link(const char *name, unsigned int port, bool up, bool trap)
{
	uint32_t node = pm_fabric_find_name(fake.fabric, name), ends[2];

	assert_true(node != PM_NONE);
	ends[0] = fake.fabric->nodes[node].first_port + port;
	ends[1] = fake.fabric->ports[ends[0]].peer;
	for (int i = 0; i < 2; i++) {
		uint32_t at = fake.fabric->ports[ends[i]].node;

		fake.down[ends[i]] = !up;
		if (at < fake.fabric->num_switches)
			fake.switches[at].need_update = 1;
		if (trap)
			report_trap(at);
	}
}

static uint32_t switch_named(const char *name)
{
	uint32_t sw = pm_fabric_find_name(fake.fabric, name);

	assert_true(sw < fake.fabric->num_switches);
	return sw;
}

void subnet_send_traps(const char *name, uint32_t times)
{
	uint32_t node = pm_fabric_find_name(fake.fabric, name);

	assert_true(node != PM_NONE);
	for (uint32_t i = 0; i < times; i++)
		report_trap(node);
}

void subnet_on_block(void (*call)(void))
{
	fake.on_block = call;
}

void subnet_on_wait(void (*call)(void))
{
	fake.on_wait = call;
}

void subnet_set_answer_ms(double ms)
{
	fake.answer_ms = ms;
}

void subnet_on_discovered(void (*call)(void))
{
	fake.on_discovered = call;
}

void subnet_on_assigned(void (*call)(void))
{
	fake.on_assigned = call;
}

void subnet_on_question(void (*call)(void))
{
	fake.on_question = call;
}

void subnet_refuse_blocks(const char *name, uint32_t times)
{
	fake.refusals[switch_named(name)] = times;
}

void subnet_delay_block(const char *name)
{
	fake.delayed.sw = switch_named(name);
}

void subnet_refuse_questions(const char *name, uint32_t times)
{
	fake.silences[switch_named(name)] = times;
}

uint32_t subnet_repaired(const char *name)
{
	return fake.repaired[switch_named(name)];
}

/* ---- A sweep ---- */

static bool is_connected(uint32_t node)
{
	const struct pm_node *n = &fake.fabric->nodes[node];

	for (uint32_t p = 1; p <= n->num_ports; p++)
		if (state_of(n->first_port + p) != IB_LINK_DOWN)
			return true;
	return false;
}

static void discover(void)
{
	for (uint32_t i = 0; i < fake.fabric->num_ports; i++) {
		const struct pm_port *port = &fake.fabric->ports[i];
		osm_physp_t *physp = &fake.nodes[port->node]->physp_table[port->num];
		uint8_t state = state_of(i);

		ib_port_info_set_port_state(&physp->port_info, state);
		physp->p_remote_physp = NULL;
		if (port->peer != PM_NONE && state != IB_LINK_DOWN) {
			const struct pm_port *peer = &fake.fabric->ports[port->peer];

			physp->p_remote_physp =
				&fake.nodes[peer->node]->physp_table[peer->num];
		}
	}
	for (uint32_t i = 0; i < fake.fabric->num_nodes; i++)
		fake.nodes[i]->discovery_count = fake.ports[i].discovery_count =
			is_connected(i);
}

static bool is_taken(uint16_t lid)
{
	for (unsigned int i = 0; i < SUBNET_NODES; i++)
		if (fake.guid2lid[i].guid && lid >= fake.guid2lid[i].low &&
		    lid <= fake.guid2lid[i].high)
			return true;
	return false;
}

/* OpenSM's LID manager: the LID in guid2lid, or the lowest free one. */
static void assign_lids(void)
{
	cl_ptr_vector_t *lids = &fake.osm.subn.port_lid_tbl;

	for (uint32_t i = 0; i < fake.fabric->num_nodes; i++) {
		uint64_t guid = cl_ntoh64(fake.ports[i].guid);
		uint16_t low = 1, high;

		if (!fake.ports[i].discovery_count)
			continue;
		if (osm_db_guid2lid_get(NULL, guid, &low, &high)) {
			low = cl_ntoh16(fake.ports[i].p_physp->port_info.base_lid);
			for (low = low ? low : 1; is_taken(low);)
				low++;
			osm_db_guid2lid_set(NULL, guid, low, low);
		}
		assert_in_range(low, 1, MOST_LIDS - 1);
		fake.ports[i].p_physp->port_info.base_lid = cl_hton16(low);
		fake.ports[i].lid = cl_hton16(low);
		if (cl_ptr_vector_get_size(lids) <= low)
			cl_ptr_vector_set_size(lids, low + 1u);
		cl_ptr_vector_set(lids, low, &fake.ports[i]);
	}
}

/* OpenSM sends blocks that differ from its record, and all of marked switches. */
static void send_blocks(osm_switch_t *sw, uint8_t *installed)
{
	for (size_t at = 0; at <= sw->max_lid_ho; at += IB_SMP_DATA_SIZE)
		if (sw->need_update ||
		    memcmp(sw->lft + at, sw->new_lft + at, IB_SMP_DATA_SIZE) != 0) {
			memcpy(sw->lft + at, sw->new_lft + at, IB_SMP_DATA_SIZE);
			memcpy(installed + at, sw->new_lft + at, IB_SMP_DATA_SIZE);
		}
	sw->switch_info.lin_top = cl_hton16(sw->max_lid_ho);
	sw->need_update = 0;
}

static bool is_untouched(void)
{
	for (uint32_t i = 0; i < fake.fabric->num_switches; i++)
		for (uint32_t lid = 0; lid < SUBNET_LFT; lid++)
			if (fake.switches[i].new_lft[lid] != OSM_NO_PATH)
				return false;
	return true;
}

/* As OpenSM does with each engine that is to route. */
static int call_engine(osm_routing_engine_t *engine)
{
	if (!engine->build_lid_matrices || engine->build_lid_matrices(engine->context))
		osm_ucast_mgr_build_lid_matrices(&fake.osm.sm.ucast_mgr);
	return engine->ucast_build_fwd_tables
		       ? engine->ucast_build_fwd_tables(engine->context)
		       : 0;
}

static void route(struct subnet_sweep *result)
{
	size_t num_lids = cl_ptr_vector_get_size(&fake.osm.subn.port_lid_tbl);

	assert_true(num_lids <= SUBNET_LFT);
	for (uint32_t i = 0; i < fake.fabric->num_switches; i++) {
		fake.switches[i].max_lid_ho = (uint16_t)(num_lids - 1);
		memset(fake.switches[i].new_lft, OSM_NO_PATH, SUBNET_LFT);
	}
	memset(fake.hops, 0, sizeof(fake.hops));
	CL_PLOCK_EXCL_ACQUIRE(&fake.osm.lock);
	result->rc = call_engine(&fake.engine);
	if (result->rc)
		call_engine(&fake.other);
	CL_PLOCK_RELEASE(&fake.osm.lock);
	result->untouched = is_untouched();
	fake.osm.routing_engine_used = result->rc ? &fake.other : &fake.engine;
	for (uint32_t i = 0; i < fake.fabric->num_switches && !result->rc; i++)
		send_blocks(&fake.switches[i], fake.installed[i]);
	answer_delayed();
}

static void report_routed(uintptr_t kind)
{
	osm_event_plugin.report(fake.plugin, OSM_EVENT_ID_UCAST_ROUTING_DONE,
				(void *)kind);
	assert_false(subnet_is_locked());
}

static void report(osm_epi_event_id_t event)
{
	osm_event_plugin.report(fake.plugin, event, NULL);
	assert_false(subnet_is_locked());
}

void subnet_reroute(struct subnet_sweep *result)
{
	*result = (struct subnet_sweep){.rc = 1};
	fake.sweep = result;
	route(result);
	report_routed(UCAST_ROUTING_REROUTE);
	fake.sweep = NULL;
}

void subnet_begin_sweep(void)
{
	report(OSM_EVENT_ID_HEAVY_SWEEP_START);
}

void subnet_work(struct subnet_sweep *result, double ms)
{
	*result = (struct subnet_sweep){.rc = 1};
	fake.sweep = result;
	for (double end = fake.clock_ms + ms; fake.clock_ms <= end;
	     fake.clock_ms = fake.clock_ms + WORK_MS)
		make_round(fake.sender);
	fake.sweep = NULL;
	assert_false(subnet_is_locked());
}

static void unfailing(void (*step)(void))
{
	bool spared = memfault_spare(true);

	step();
	memfault_spare(spared);
}

void subnet_sweep_alone(void)
{
	discover();
	assign_lids();
}

void subnet_let_send(void)
{
	if (fake.sender)
		make_round(fake.sender);
}

void subnet_sweep(struct subnet_sweep *result)
{
	*result = (struct subnet_sweep){.rc = 1};
	fake.sweep = result;
	subnet_begin_sweep();
	unfailing(discover);
	call_first(&fake.on_discovered);
	report(OSM_EVENT_ID_HEAVY_SWEEP_DONE);
	unfailing(assign_lids);
	call_first(&fake.on_assigned);
	route(result);
	report_routed(UCAST_ROUTING_HEAVY_SWEEP);
	subnet_mcast_run(true);
	report(OSM_EVENT_ID_SUBNET_UP);
	subnet_let_send();
	fake.osm.subn.first_time_master_sweep = FALSE;
	fake.osm.subn.coming_out_of_standby = FALSE;
	fake.sweep = NULL;
}

void subnet_sweep_well(void)
{
	struct subnet_sweep result;

	subnet_sweep(&result);
	assert_int_equal(result.rc, 0);
	assert_int_equal(result.errors, 0);
}

void subnet_begin_routed(const struct pm_fabric *fabric)
{
	subnet_begin(fabric);
	assert_true(subnet_load(NULL));
	subnet_sweep_well();
	subnet_sweep_well();
	assert_int_equal(subnet_unreachable(), 0);
}

/* ---- What came of it ---- */

static uint64_t digest(uint64_t seed, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		seed = (seed ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
	return seed;
}

uint64_t subnet_lids(void)
{
	uint64_t seed = 0xcbf29ce484222325u;

	for (uint32_t i = 0; i < fake.fabric->num_nodes; i++)
		seed = digest(seed, &fake.ports[i].lid, sizeof(fake.ports[i].lid));
	return seed;
}

uint64_t subnet_tables(void)
{
	return digest(0xcbf29ce484222325u, fake.installed,
		      fake.fabric->num_switches * sizeof(fake.installed[0]));
}

/* Whether a host's packets get to another one; hashes the ports on their path. */
static bool follow(uint32_t from, uint32_t to, uint64_t *paths)
{
	const struct pm_fabric *fabric = fake.fabric;
	uint32_t at = fabric->ports[fabric->nodes[from].first_port + 1].peer;
	uint16_t lid = cl_ntoh16(fake.ports[to].lid);

	for (int hops = 0; hops < MOST_HOPS; hops++) {
		uint32_t node = fabric->ports[at].node, out;

		if (node == to)
			return true;
		if (node >= fabric->num_switches)
			return false;
		out = fake.installed[node][lid];
		*paths = digest(*paths, &out, sizeof(out));
		if (!out || out > fabric->nodes[node].num_ports)
			return false;
		out += fabric->nodes[node].first_port;
		if (state_of(out) == IB_LINK_DOWN)
			return false;
		at = fabric->ports[out].peer;
	}
	return false;
}

static bool is_reached(uint32_t from, uint32_t to)
{
	uint64_t paths = 0;

	return follow(from, to, &paths);
}

uint64_t subnet_paths(void)
{
	uint64_t paths = 0xcbf29ce484222325u;

	for (uint32_t a = fake.fabric->num_switches; a < fake.fabric->num_nodes; a++)
		for (uint32_t b = fake.fabric->num_switches; b < fake.fabric->num_nodes;
		     b++)
			if (a != b)
				follow(a, b, &paths);
	return paths;
}

uint8_t subnet_entry(const char *sw, const char *host)
{
	uint32_t node = pm_fabric_find_name(fake.fabric, host);

	assert_true(node < fake.fabric->num_nodes);
	return fake.installed[switch_named(sw)][cl_ntoh16(fake.ports[node].lid)];
}

uint32_t subnet_blocks_missing(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < fake.fabric->num_switches; i++)
		for (size_t at = 0; at <= fake.switches[i].max_lid_ho;
		     at += IB_SMP_DATA_SIZE)
			count += memcmp(fake.installed[i] + at,
					fake.switches[i].new_lft + at,
					IB_SMP_DATA_SIZE) != 0;
	return count;
}

uint32_t subnet_unreachable(void)
{
	uint32_t count = 0;

	for (uint32_t a = fake.fabric->num_switches; a < fake.fabric->num_nodes; a++)
		for (uint32_t b = fake.fabric->num_switches; b < fake.fabric->num_nodes;
		     b++)
			count += a != b && !is_reached(a, b);
	return count;
}

void subnet_note_reached(bool reached[SUBNET_NODES][SUBNET_NODES])
{
	for (uint32_t a = fake.fabric->num_switches; a < fake.fabric->num_nodes; a++)
		for (uint32_t b = fake.fabric->num_switches; b < fake.fabric->num_nodes;
		     b++)
			reached[a][b] = a == b || is_reached(a, b);
}

/* The switch to which a switch sends a LID's packets, or PM_NONE. */
static uint32_t next_switch(uint32_t sw, uint32_t lid)
{
	uint8_t out = fake.installed[sw][lid];
	uint32_t port = fake.fabric->nodes[sw].first_port + out, peer;

	if (!out || out > fake.fabric->nodes[sw].num_ports ||
	    state_of(port) == IB_LINK_DOWN)
		return PM_NONE;
	peer = fake.fabric->ports[fake.fabric->ports[port].peer].node;
	return peer < fake.fabric->num_switches ? peer : PM_NONE;
}

uint32_t subnet_loops(void)
{
	uint32_t num = fake.fabric->num_switches, count = 0;

	for (uint32_t lid = 1; lid < SUBNET_LFT; lid++) {
		bool loops = false;

		for (uint32_t from = 0; from < num && !loops; from++) {
			uint32_t at = from;

			for (uint32_t hops = 0; hops < num && at != PM_NONE; hops++)
				at = next_switch(at, lid);
			loops = at != PM_NONE;
		}
		count += loops;
	}
	return count;
}
