/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Plays schedules on circuits. Where circuits are scarce, they are set up in the order of
 * the groups, so that none waits for ever. Proof: of all circuits not yet taken down,
 * take the first in this order. All groups before it are done, so both its ends have
 * begun its group; and a group of several steps has room for all of its circuits.
 */
#include <portmajor/base/pool.h>
#include <portmajor/lab/circuits.h>
#include <portmajor/lab/event_queue.h>
#include <portmajor/memory/xalloc.h>

#include <assert.h>
#include <errno.h>

#define NONE UINT32_MAX
#define TICKS 1e15 /* of a second */
#define MAX_SECONDS 1000.0

struct circuit {
	uint32_t ends[2];
	uint32_t group;
	uint32_t left; /* messages */
	uint8_t ready; /* a bit for each end that has requested it */
	bool up;
};

struct process {
	uint32_t at, end; /* its messages in sim->own: the first of its step */
	uint32_t left;	  /* messages of its step */
	uint32_t group;	  /* the group it has come to, or NONE */
	uint32_t ports;	  /* in use */
};

enum event { CIRCUIT_IS_UP, MESSAGE_IS_THROUGH };

struct simulation {
	const struct pm_schedule *schedule;
	const struct pm_circuits_config *config;
	struct pm_circuits_result result;
	struct pm_pool pool;
	struct pm_event_queue events;
	uint64_t alpha, gamma; /* ticks */
	uint32_t *group_of;    /* [step] */
	uint32_t *circuit_of;  /* [message] */
	bool *through;	       /* [message] */
	struct circuit *circuits;
	uint32_t num_circuits;
	struct process *processes;
	uint32_t *own;	       /* messages of each process, by step */
	uint32_t next_in_turn; /* circuit to set up next, where they are scarce */
	uint32_t in_use;       /* circuits */
};

/* ---- Groups of steps, and their circuits ---- */

/* Partners of each process by circuits, in the group being made. */
struct partners {
	uint32_t *num;	   /* [process] */
	uint32_t *circuit; /* [process][ports] */
};

/* The circuit between two processes; NONE: a port is missing. */
static uint32_t find_circuit(struct simulation *sim, struct partners *partners,
			     uint32_t from, uint32_t to)
{
	size_t ports = sim->config->ports;
	const uint32_t *list = partners->circuit + from * ports;
	uint32_t c = sim->num_circuits;

	for (uint32_t i = 0; i < partners->num[from]; i++)
		if (sim->circuits[list[i]].ends[0] == to ||
		    sim->circuits[list[i]].ends[1] == to)
			return list[i];
	if (partners->num[from] == ports || partners->num[to] == ports)
		return NONE;
	partners->circuit[from * ports + partners->num[from]++] = c;
	partners->circuit[to * ports + partners->num[to]++] = c;
	sim->circuits[c] = (struct circuit){.ends = {from, to}};
	sim->num_circuits++;
	return c;
}

/* Finds circuits for a step's messages, `first` up to `end`; false: a port is missing. */
static bool add_step(struct simulation *sim, struct partners *partners, uint32_t first,
		     uint32_t end)
{
	for (uint32_t m = first; m < end; m++) {
		const struct pm_schedule_message *message = &sim->schedule->messages[m];

		sim->circuit_of[m] =
			find_circuit(sim, partners, message->from, message->to);
		if (sim->circuit_of[m] == NONE)
			return false;
	}
	return true;
}

static uint32_t end_of_step(const struct pm_schedule *schedule, uint32_t first)
{
	uint32_t end = first;

	while (end < schedule->num &&
	       schedule->messages[end].step == schedule->messages[first].step)
		end++;
	return end;
}

static int make_groups(struct simulation *sim, struct partners *partners,
		       struct pm_error *err)
{
	const struct pm_schedule *schedule = sim->schedule;
	const struct pm_circuits_config *config = sim->config;
	uint32_t group_begin = 0; /* its first circuit */

	for (uint32_t first = 0, end; first < schedule->num; first = end) {
		uint32_t before = sim->num_circuits;
		bool fits = first && config->kept;

		end = end_of_step(schedule, first);
		fits = fits && add_step(sim, partners, first, end) &&
		       (!config->circuits ||
			sim->num_circuits - group_begin <= config->circuits);
		if (!fits) {
			memset(partners->num, 0,
			       schedule->processes * sizeof(*partners->num));
			sim->num_circuits = group_begin = before;
			sim->result.groups++;
			if (!add_step(sim, partners, first, end))
				return pm_error_set(
					err, -EINVAL,
					"more than %u ports are needed in a step",
					config->ports);
		}
		sim->group_of[schedule->messages[first].step] = sim->result.groups - 1;
	}
	for (uint32_t m = 0; m < schedule->num; m++) {
		struct circuit *circuit = &sim->circuits[sim->circuit_of[m]];

		circuit->left++;
		circuit->group = sim->group_of[schedule->messages[m].step];
	}
	return 0;
}

/* ---- Events ---- */

static const struct pm_schedule_message *message_at(const struct simulation *sim,
						    uint32_t place)
{
	return &sim->schedule->messages[sim->own[place]];
}

static void set_up(struct simulation *sim, uint32_t c)
{
	for (unsigned int end = 0; end < 2; end++) {
		struct process *process = &sim->processes[sim->circuits[c].ends[end]];

		process->ports++;
		assert(process->ports <= sim->config->ports);
		if (process->ports > sim->result.ports)
			sim->result.ports = process->ports;
	}
	sim->in_use++;
	sim->result.setups++;
	if (sim->in_use > sim->result.peak)
		sim->result.peak = sim->in_use;
	pm_event_queue_add(&sim->events, sim->gamma, CIRCUIT_IS_UP, c);
}

/* Sets up as many circuits as there is room for, in their order. */
static void set_up_in_turn(struct simulation *sim)
{
	while (sim->next_in_turn < sim->num_circuits &&
	       sim->in_use < sim->config->circuits &&
	       sim->circuits[sim->next_in_turn].ready == 3)
		set_up(sim, sim->next_in_turn++);
}

static void take_down(struct simulation *sim, struct circuit *circuit)
{
	circuit->up = false;
	sim->processes[circuit->ends[0]].ports--;
	sim->processes[circuit->ends[1]].ports--;
	sim->in_use--;
	if (sim->config->circuits)
		set_up_in_turn(sim);
}

/* Requests the circuits of the group of a process's next step. */
static void request_circuits(struct simulation *sim, uint32_t p)
{
	struct process *process = &sim->processes[p];

	for (uint32_t i = process->at; i < process->end; i++) {
		uint32_t c = sim->circuit_of[sim->own[i]];
		struct circuit *circuit = &sim->circuits[c];
		uint8_t bit = circuit->ends[0] == p ? 1 : 2;

		if (circuit->group != process->group)
			break;
		if (circuit->ready & bit)
			continue;
		circuit->ready |= bit;
		if (circuit->ready == 3 && !sim->config->circuits)
			set_up(sim, c);
	}
	if (sim->config->circuits)
		set_up_in_turn(sim);
}

static void send_message(struct simulation *sim, uint32_t m)
{
	double bytes = pm_schedule_size(sim->schedule, &sim->schedule->messages[m]);
	double ticks = bytes * sim->config->costs.beta * TICKS + 0.5;

	pm_event_queue_add(&sim->events, sim->alpha + (uint64_t)ticks, MESSAGE_IS_THROUGH,
			   m);
}

/* Sends a process's messages of its step over circuits that are up: this one, or all. */
static void send_step(struct simulation *sim, uint32_t p, uint32_t over)
{
	const struct process *process = &sim->processes[p];
	uint32_t step;

	if (process->at == process->end)
		return;
	step = message_at(sim, process->at)->step;
	for (uint32_t i = process->at; i < process->end; i++) {
		uint32_t c = sim->circuit_of[sim->own[i]];

		if (message_at(sim, i)->step != step)
			break;
		if (message_at(sim, i)->from == p && sim->circuits[c].up &&
		    (over == NONE || over == c))
			send_message(sim, sim->own[i]);
	}
}

/* Moves a process on to its next step with something left to do. */
static void go_on(struct simulation *sim, uint32_t p)
{
	struct process *process = &sim->processes[p];

	while (process->at < process->end) {
		uint32_t step = message_at(sim, process->at)->step, i;

		if (process->group != sim->group_of[step]) {
			process->group = sim->group_of[step];
			request_circuits(sim, p);
		}
		process->left = 0;
		for (i = process->at;
		     i < process->end && message_at(sim, i)->step == step; i++)
			process->left += !sim->through[sim->own[i]];
		if (process->left) {
			send_step(sim, p, NONE);
			return;
		}
		process->at = i;
	}
}

/* Counts a message of a step; after the last one the process goes on. */
static void count_down(struct simulation *sim, uint32_t p, uint32_t step)
{
	struct process *process = &sim->processes[p];

	if (process->at == process->end || message_at(sim, process->at)->step != step)
		return; /* the process has not come to that step yet */
	if (--process->left)
		return;
	while (process->at < process->end && message_at(sim, process->at)->step == step)
		process->at++;
	go_on(sim, p);
}

static void finish_message(struct simulation *sim, uint32_t m)
{
	const struct pm_schedule_message *message = &sim->schedule->messages[m];
	struct circuit *circuit = &sim->circuits[sim->circuit_of[m]];

	sim->through[m] = true;
	if (!--circuit->left)
		take_down(sim, circuit);
	count_down(sim, message->from, message->step);
	count_down(sim, message->to, message->step);
}

static void play(struct simulation *sim)
{
	struct pm_event event;

	for (uint32_t p = 0; p < sim->schedule->processes; p++)
		go_on(sim, p);
	for (; pm_event_queue_take(&sim->events, &event); sim->result.events++) {
		struct circuit *circuit = &sim->circuits[event.index];

		if (event.kind == MESSAGE_IS_THROUGH) {
			finish_message(sim, event.index);
			continue;
		}
		circuit->up = true;
		send_step(sim, circuit->ends[0], event.index);
		send_step(sim, circuit->ends[1], event.index);
	}
	sim->result.seconds = (double)sim->events.now / TICKS;
}

static void list_messages(struct simulation *sim)
{
	const struct pm_schedule *schedule = sim->schedule;
	uint32_t sum = 0;

	for (uint32_t m = 0; m < schedule->num; m++) {
		sim->processes[schedule->messages[m].from].left++;
		sim->processes[schedule->messages[m].to].left++;
	}
	for (uint32_t p = 0; p < schedule->processes; p++) {
		struct process *process = &sim->processes[p];

		process->group = NONE;
		process->at = process->end = sum;
		sum += process->left;
	}
	for (uint32_t m = 0; m < schedule->num; m++) {
		sim->own[sim->processes[schedule->messages[m].from].end++] = m;
		sim->own[sim->processes[schedule->messages[m].to].end++] = m;
	}
}

static void make_circuits_room(struct simulation *sim, struct partners *partners)
{
	size_t num = sim->schedule->num, processes = sim->schedule->processes;
	struct pm_pool *pool = &sim->pool;

	sim->group_of = pm_pool_xarray(pool, sim->schedule->steps, sizeof(uint32_t));
	sim->circuit_of = pm_pool_xarray(pool, num, sizeof(uint32_t));
	sim->through = pm_pool_xarray(pool, num, sizeof(bool));
	sim->circuits = pm_pool_xarray(pool, num, sizeof(struct circuit));
	sim->processes = pm_pool_xarray(pool, processes, sizeof(struct process));
	sim->own = pm_pool_xarray(pool, 2 * num, sizeof(uint32_t));
	partners->num = pm_pool_xarray(pool, processes, sizeof(uint32_t));
	partners->circuit =
		pm_pool_xarray(pool, processes * sim->config->ports, sizeof(uint32_t));
}

static bool is_cost(double seconds)
{
	return seconds >= 0 && seconds <= MAX_SECONDS;
}

static int check_schedule(const struct pm_schedule *schedule,
			  const struct pm_circuits_config *config, struct pm_error *err)
{
	const struct pm_circuit_costs *costs = &config->costs;

	if (!config->ports || config->ports > PM_CIRCUITS_MAX_PORTS)
		return pm_error_set(err, -EINVAL, "%u ports: not a number from 1 to %u",
				    config->ports, PM_CIRCUITS_MAX_PORTS);
	if (!is_cost(costs->alpha) || !is_cost(costs->gamma) || !(costs->beta >= 0) ||
	    !is_cost((double)schedule->bytes * costs->beta))
		return pm_error_set(
			err, -EINVAL,
			"a message takes more than %.0f seconds, or less than none",
			MAX_SECONDS);
	return 0;
}

int pm_circuits_run(const struct pm_schedule *schedule,
		    const struct pm_circuits_config *config,
		    struct pm_circuits_result *result, struct pm_error *err)
{
	struct simulation sim = {.schedule = schedule, .config = config};
	struct partners partners;
	int rc = check_schedule(schedule, config, err);

	if (!rc) {
		make_circuits_room(&sim, &partners);
		rc = make_groups(&sim, &partners, err);
	}
	if (!rc) {
		sim.alpha = (uint64_t)(config->costs.alpha * TICKS + 0.5);
		sim.gamma = (uint64_t)(config->costs.gamma * TICKS + 0.5);
		list_messages(&sim);
		play(&sim);
	}
	if (!rc && sim.events.out_of_range)
		rc = pm_error_set(err, -ERANGE, "it takes more than 18,000 seconds");
	if (!rc)
		*result = sim.result;
	pm_event_queue_free(&sim.events);
	pm_pool_free(&sim.pool);
	return rc;
}

int pm_circuits_run_ring(uint32_t processes, uint64_t bytes, bool alternating,
			 const struct pm_circuits_config *config,
			 struct pm_circuits_result *result, struct pm_error *err)
{
	struct pm_schedule *schedule =
		pm_schedule_make_four(processes, bytes, alternating);
	int rc;

	assert(!config->circuits);
	rc = pm_circuits_run(schedule, config, result, err);
	pm_schedule_free(schedule);
	if (rc)
		return rc;
	result->setups = result->setups * processes / 4;
	result->events = result->events * processes / 4;
	result->peak = result->peak * processes / 4;
	return 0;
}
