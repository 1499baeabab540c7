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
	uint32_t at, end; /* its messages in run->own: the first of its step */
	uint32_t left;	  /* messages of its step */
	uint32_t group;	  /* the group it has come to, or NONE */
	uint32_t ports;	  /* in use */
};

enum event { CIRCUIT_IS_UP, MESSAGE_IS_THROUGH };

struct run {
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
static uint32_t find_circuit(struct run *run, struct partners *partners, uint32_t from,
			     uint32_t to)
{
	size_t ports = run->config->ports;
	const uint32_t *list = partners->circuit + from * ports;
	uint32_t c = run->num_circuits;

	for (uint32_t i = 0; i < partners->num[from]; i++)
		if (run->circuits[list[i]].ends[0] == to ||
		    run->circuits[list[i]].ends[1] == to)
			return list[i];
	if (partners->num[from] == ports || partners->num[to] == ports)
		return NONE;
	partners->circuit[from * ports + partners->num[from]++] = c;
	partners->circuit[to * ports + partners->num[to]++] = c;
	run->circuits[c] = (struct circuit){.ends = {from, to}};
	run->num_circuits++;
	return c;
}

/* Finds circuits for a step's messages, `first` up to `end`; false: a port is missing. */
static bool add_step(struct run *run, struct partners *partners, uint32_t first,
		     uint32_t end)
{
	for (uint32_t m = first; m < end; m++) {
		const struct pm_schedule_message *message = &run->schedule->messages[m];

		run->circuit_of[m] =
			find_circuit(run, partners, message->from, message->to);
		if (run->circuit_of[m] == NONE)
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

static int make_groups(struct run *run, struct partners *partners, struct pm_error *err)
{
	const struct pm_schedule *schedule = run->schedule;
	const struct pm_circuits_config *config = run->config;
	uint32_t group_begin = 0; /* its first circuit */

	for (uint32_t first = 0, end; first < schedule->num; first = end) {
		uint32_t before = run->num_circuits;
		bool fits = first && config->kept;

		end = end_of_step(schedule, first);
		fits = fits && add_step(run, partners, first, end) &&
		       (!config->circuits ||
			run->num_circuits - group_begin <= config->circuits);
		if (!fits) {
			memset(partners->num, 0,
			       schedule->processes * sizeof(*partners->num));
			run->num_circuits = group_begin = before;
			run->result.groups++;
			if (!add_step(run, partners, first, end))
				return pm_error_set(
					err, -EINVAL,
					"more than %u ports are needed in a step",
					config->ports);
		}
		run->group_of[schedule->messages[first].step] = run->result.groups - 1;
	}
	for (uint32_t m = 0; m < schedule->num; m++) {
		struct circuit *circuit = &run->circuits[run->circuit_of[m]];

		circuit->left++;
		circuit->group = run->group_of[schedule->messages[m].step];
	}
	return 0;
}

/* ---- Events ---- */

static const struct pm_schedule_message *message_at(const struct run *run, uint32_t place)
{
	return &run->schedule->messages[run->own[place]];
}

static void set_up(struct run *run, uint32_t c)
{
	for (unsigned int end = 0; end < 2; end++) {
		struct process *process = &run->processes[run->circuits[c].ends[end]];

		process->ports++;
		assert(process->ports <= run->config->ports);
		if (process->ports > run->result.ports)
			run->result.ports = process->ports;
	}
	run->in_use++;
	run->result.setups++;
	if (run->in_use > run->result.peak)
		run->result.peak = run->in_use;
	pm_event_queue_add(&run->events, run->gamma, CIRCUIT_IS_UP, c);
}

/* Sets up as many circuits as there is room for, in their order. */
static void set_up_in_turn(struct run *run)
{
	while (run->next_in_turn < run->num_circuits &&
	       run->in_use < run->config->circuits &&
	       run->circuits[run->next_in_turn].ready == 3)
		set_up(run, run->next_in_turn++);
}

static void take_down(struct run *run, struct circuit *circuit)
{
	circuit->up = false;
	run->processes[circuit->ends[0]].ports--;
	run->processes[circuit->ends[1]].ports--;
	run->in_use--;
	if (run->config->circuits)
		set_up_in_turn(run);
}

/* Requests the circuits of the group of a process's next step. */
static void request_circuits(struct run *run, uint32_t p)
{
	struct process *process = &run->processes[p];

	for (uint32_t i = process->at; i < process->end; i++) {
		uint32_t c = run->circuit_of[run->own[i]];
		struct circuit *circuit = &run->circuits[c];
		uint8_t bit = circuit->ends[0] == p ? 1 : 2;

		if (circuit->group != process->group)
			break;
		if (circuit->ready & bit)
			continue;
		circuit->ready |= bit;
		if (circuit->ready == 3 && !run->config->circuits)
			set_up(run, c);
	}
	if (run->config->circuits)
		set_up_in_turn(run);
}

static void send_message(struct run *run, uint32_t m)
{
	double bytes = pm_schedule_size(run->schedule, &run->schedule->messages[m]);
	double ticks = bytes * run->config->costs.beta * TICKS + 0.5;

	pm_event_queue_add(&run->events, run->alpha + (uint64_t)ticks, MESSAGE_IS_THROUGH,
			   m);
}

/* Sends a process's messages of its step over circuits that are up: this one, or all. */
static void send_step(struct run *run, uint32_t p, uint32_t over)
{
	const struct process *process = &run->processes[p];
	uint32_t step;

	if (process->at == process->end)
		return;
	step = message_at(run, process->at)->step;
	for (uint32_t i = process->at; i < process->end; i++) {
		uint32_t c = run->circuit_of[run->own[i]];

		if (message_at(run, i)->step != step)
			break;
		if (message_at(run, i)->from == p && run->circuits[c].up &&
		    (over == NONE || over == c))
			send_message(run, run->own[i]);
	}
}

/* Moves a process on to its next step with something left to do. */
static void go_on(struct run *run, uint32_t p)
{
	struct process *process = &run->processes[p];

	while (process->at < process->end) {
		uint32_t step = message_at(run, process->at)->step, i;

		if (process->group != run->group_of[step]) {
			process->group = run->group_of[step];
			request_circuits(run, p);
		}
		process->left = 0;
		for (i = process->at;
		     i < process->end && message_at(run, i)->step == step; i++)
			process->left += !run->through[run->own[i]];
		if (process->left) {
			send_step(run, p, NONE);
			return;
		}
		process->at = i;
	}
}

/* Counts a message of a step; after the last one the process goes on. */
static void count_down(struct run *run, uint32_t p, uint32_t step)
{
	struct process *process = &run->processes[p];

	if (process->at == process->end || message_at(run, process->at)->step != step)
		return; /* the process has not come to that step yet */
	if (--process->left)
		return;
	while (process->at < process->end && message_at(run, process->at)->step == step)
		process->at++;
	go_on(run, p);
}

static void finish_message(struct run *run, uint32_t m)
{
	const struct pm_schedule_message *message = &run->schedule->messages[m];
	struct circuit *circuit = &run->circuits[run->circuit_of[m]];

	run->through[m] = true;
	if (!--circuit->left)
		take_down(run, circuit);
	count_down(run, message->from, message->step);
	count_down(run, message->to, message->step);
}

static void play(struct run *run)
{
	struct pm_event event;

	for (uint32_t p = 0; p < run->schedule->processes; p++)
		go_on(run, p);
	for (; pm_event_queue_take(&run->events, &event); run->result.events++) {
		struct circuit *circuit = &run->circuits[event.index];

		if (event.kind == MESSAGE_IS_THROUGH) {
			finish_message(run, event.index);
			continue;
		}
		circuit->up = true;
		send_step(run, circuit->ends[0], event.index);
		send_step(run, circuit->ends[1], event.index);
	}
	run->result.seconds = (double)run->events.now / TICKS;
}

static void list_messages(struct run *run)
{
	const struct pm_schedule *schedule = run->schedule;
	uint32_t sum = 0;

	for (uint32_t m = 0; m < schedule->num; m++) {
		run->processes[schedule->messages[m].from].left++;
		run->processes[schedule->messages[m].to].left++;
	}
	for (uint32_t p = 0; p < schedule->processes; p++) {
		struct process *process = &run->processes[p];

		process->group = NONE;
		process->at = process->end = sum;
		sum += process->left;
	}
	for (uint32_t m = 0; m < schedule->num; m++) {
		run->own[run->processes[schedule->messages[m].from].end++] = m;
		run->own[run->processes[schedule->messages[m].to].end++] = m;
	}
}

static void make_circuits_room(struct run *run, struct partners *partners)
{
	size_t num = run->schedule->num, processes = run->schedule->processes;
	struct pm_pool *pool = &run->pool;

	run->group_of = pm_pool_xarray(pool, run->schedule->steps, sizeof(uint32_t));
	run->circuit_of = pm_pool_xarray(pool, num, sizeof(uint32_t));
	run->through = pm_pool_xarray(pool, num, sizeof(bool));
	run->circuits = pm_pool_xarray(pool, num, sizeof(struct circuit));
	run->processes = pm_pool_xarray(pool, processes, sizeof(struct process));
	run->own = pm_pool_xarray(pool, 2 * num, sizeof(uint32_t));
	partners->num = pm_pool_xarray(pool, processes, sizeof(uint32_t));
	partners->circuit =
		pm_pool_xarray(pool, processes * run->config->ports, sizeof(uint32_t));
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
	struct run run = {.schedule = schedule, .config = config};
	struct partners partners;
	int rc = check_schedule(schedule, config, err);

	if (!rc) {
		make_circuits_room(&run, &partners);
		rc = make_groups(&run, &partners, err);
	}
	if (!rc) {
		run.alpha = (uint64_t)(config->costs.alpha * TICKS + 0.5);
		run.gamma = (uint64_t)(config->costs.gamma * TICKS + 0.5);
		list_messages(&run);
		play(&run);
	}
	if (!rc && run.events.out_of_range)
		rc = pm_error_set(err, -ERANGE, "it takes more than 18,000 seconds");
	if (!rc)
		*result = run.result;
	pm_event_queue_free(&run.events);
	pm_pool_free(&run.pool);
	return rc;
}

int pm_circuits_run_ring(uint32_t processes, uint64_t bytes, bool turns,
			 const struct pm_circuits_config *config,
			 struct pm_circuits_result *result, struct pm_error *err)
{
	struct pm_schedule *schedule = pm_schedule_make_four(processes, bytes, turns);
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
