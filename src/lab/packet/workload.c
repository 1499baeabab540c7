/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes messages between hosts, by patterns or lists, and follows their progress. */
#include <portmajor/lab/workload.h>

#include <portmajor/base/pool.h>
#include <portmajor/base/random.h>
#include <portmajor/fabric/fabric.h>
#include <portmajor/memory/xalloc.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FRACTION 20		    /* bits of a time's fraction */
#define LONGEST (UINT64_C(1) << 56) /* interval with fraction: longer than any run */

/* State of a host. */
struct sender {
	uint64_t random;
	uint64_t next;	   /* when the next message may go; open loop: with fraction */
	uint64_t interval; /* open loop, with fraction */
	uint32_t job;	   /* its job's index of the first member in `members` */
	uint32_t rank;	   /* index in the job; PM_NONE: in no job */
	uint32_t to;	   /* index in the job; PM_NONE: another one each time */
	uint32_t left;	   /* messages to be sent */
	uint32_t sent;	   /* so far */
	uint32_t got;	   /* closed loop: blocks received */
	uint64_t last;	   /* without a load: when its blocks last arrived */
	bool waits;	   /* closed loop: waits for a message to arrive */
};

struct pm_workload {
	struct pm_pool pool;
	struct pm_workload_config config;
	struct sender *senders; /* [host] */
	uint32_t *members;	/* as configured, even if that is NULL */
	uint32_t num_senders;
	uint64_t left; /* messages that have not arrived */

	/* Progress, except in open loops: */
	uint64_t blocks, blocks_got; /* of all messages */
	uint64_t last;		     /* when any last arrived */
	struct pm_stall stall, host_stall;
	uint64_t at[PM_PROGRESS_PARTS + 1];
	uint32_t parts; /* known elements of `at` */

	/* Lists: */
	uint32_t *first;   /* [host + 1] into `order` */
	uint32_t *order;   /* messages of each host */
	uint32_t *missing; /* [message] blocks that have not arrived */
	uint64_t *arrived; /* [message] when it was complete */
};

static const char *const names[PM_PATTERNS] = {
	"uniform",  "permutation", "shift",	 "bit-reverse",
	"hot-spot", "incast",	   "all-to-all", "list",
};

const char *pm_pattern_name(enum pm_pattern pattern)
{
	return names[pattern];
}

int pm_pattern_parse(const char *name, enum pm_pattern *pattern)
{
	for (unsigned int i = 0; i < PM_LIST; i++)
		if (!strcmp(name, names[i])) {
			*pattern = (enum pm_pattern)i;
			return 0;
		}
	return -EINVAL;
}

/* ---- Times ---- */

static uint64_t draw_interval(const struct pm_workload *workload, struct sender *s)
{
	return workload->config.poisson ? pm_random_exponential(&s->random, s->interval)
					: s->interval;
}

/* ---- Places ---- */

static uint32_t reverse(uint32_t number, uint32_t bits)
{
	uint32_t result = 0;

	for (uint32_t i = 0; i < bits; i++)
		result |= (number >> i & 1) << (bits - 1 - i);
	return result;
}

/*
 * Makes one cycle of all hosts of a job (Sattolo), so that none sends to itself. It does
 * not depend on other jobs.
 */
static void draw_ring(struct pm_workload *workload, const uint32_t *members)
{
	uint64_t random = workload->config.seed ^ 0x5f3759df;

	random += members[0] * UINT64_C(0xd1342543de82ef95);
	for (uint32_t i = 0; i < workload->config.job_hosts; i++)
		workload->senders[members[i]].to = i;
	for (uint32_t i = workload->config.job_hosts - 1; i; i--) {
		uint32_t j = (uint32_t)pm_random_below(&random, i);
		uint32_t to = workload->senders[members[i]].to;

		workload->senders[members[i]].to = workload->senders[members[j]].to;
		workload->senders[members[j]].to = to;
	}
}

/*
 * The destination of each host of a job, as index in the job; the host itself: none;
 * PM_NONE: it changes.
 */
static void find_places(struct pm_workload *workload, const uint32_t *members)
{
	const struct pm_workload_config *config = &workload->config;
	uint32_t num = config->job_hosts, bits = 0;

	while (num >> (bits + 1))
		bits++;
	for (uint32_t i = 0; i < num; i++) {
		uint32_t *to = &workload->senders[members[i]].to;

		switch (config->pattern) {
		case PM_SHIFT:
			*to = (i + config->shift) % num;
			break;
		case PM_BIT_REVERSE:
			*to = i >> bits ? i : reverse(i, bits);
			break;
		case PM_INCAST:
			*to = (i + num - config->node) % num <= config->senders
				      ? config->node
				      : i;
			break;
		default:
			*to = PM_NONE;
			break;
		}
	}
	if (config->pattern == PM_PERMUTATION)
		draw_ring(workload, members);
}

static uint32_t draw_other(uint64_t *random, uint32_t place, uint32_t num)
{
	uint32_t to = (uint32_t)pm_random_below(random, num - 1);

	return to + (to >= place);
}

static uint32_t next_place(const struct pm_workload *workload, struct sender *s)
{
	const struct pm_workload_config *config = &workload->config;
	uint32_t num = config->job_hosts;

	if (s->to != PM_NONE)
		return s->to;
	if (config->pattern == PM_ALL_TO_ALL)
		return (s->rank + 1 + s->sent % (num - 1)) % num;
	if (config->pattern == PM_HOT_SPOT && s->rank != config->node &&
	    pm_random_below(&s->random, PM_LOAD_FULL) < config->share)
		return config->node;
	return draw_other(&s->random, s->rank, num);
}

/* ---- Lists ---- */

static int check_list(const struct pm_workload_config *config, struct pm_error *err)
{
	for (uint32_t i = 0; i < config->num_list; i++) {
		const struct pm_workload_message *m = &config->list[i];

		if (m->from >= config->num_hosts || m->to >= config->num_hosts ||
		    m->from == m->to || !m->blocks || m->blocks > PM_MESSAGE_MAX)
			return pm_error_set(
				err, -EINVAL,
				"message %u: from host %u to host %u, %u blocks: out of range",
				i, m->from, m->to, m->blocks);
		for (uint32_t k = 0; k < m->num_before; k++)
			if (m->before[k] >= config->num_list ||
			    (config->list[m->before[k]].to != m->from &&
			     config->list[m->before[k]].from != m->from))
				return pm_error_set(
					err, -EINVAL,
					"message %u waits for one that is not host %u's",
					i, m->from);
	}
	return 0;
}

static void sort_list(struct pm_workload *workload)
{
	const struct pm_workload_config *config = &workload->config;
	uint32_t *first = workload->first;

	for (uint32_t i = 0; i < config->num_list; i++) {
		workload->missing[i] = config->list[i].blocks;
		workload->blocks += config->list[i].blocks;
		first[config->list[i].from + 1]++;
	}
	for (uint32_t h = 0; h < config->num_hosts; h++) {
		workload->senders[h].left = first[h + 1];
		workload->num_senders += first[h + 1] > 0;
		first[h + 1] += first[h];
	}
	for (uint32_t i = 0; i < config->num_list; i++) {
		uint32_t from = config->list[i].from;

		workload->order[first[from] + workload->senders[from].sent++] = i;
	}
	for (uint32_t h = 0; h < config->num_hosts; h++)
		workload->senders[h].sent = 0;
	workload->left = config->num_list;
}

static uint32_t next_in_list(const struct pm_workload *workload, uint32_t host)
{
	return workload->order[workload->first[host] + workload->senders[host].sent];
}

/* When a message of a list may go; PM_NEVER: not yet known. */
static uint64_t time_in_list(const struct pm_workload *workload, uint32_t message)
{
	const struct pm_workload_message *m = &workload->config.list[message];
	const struct pm_workload_config *config = &workload->config;
	uint64_t time = config->starts ? config->starts[message] : 0;

	for (uint32_t k = 0; k < m->num_before; k++) {
		uint32_t before = m->before[k];
		uint64_t end = workload->arrived[before] +
			       (config->delays ? config->delays[message][k] : 0);

		if (workload->missing[before])
			return PM_NEVER;
		if (end > time)
			time = end;
	}
	return time;
}

static int check_pattern(const struct pm_workload_config *config, uint32_t num,
			 struct pm_error *err)
{
	if (config->pattern == PM_SHIFT && (!config->shift || config->shift >= num))
		return pm_error_set(err, -EINVAL, "shift %u of %u hosts: not 1 to %u",
				    config->shift, num, num - 1);
	if ((config->pattern == PM_HOT_SPOT || config->pattern == PM_INCAST) &&
	    config->node >= num)
		return pm_error_set(err, -EINVAL, "no host %u: there are %u",
				    config->node, num);
	if (config->pattern == PM_HOT_SPOT && config->share > PM_LOAD_FULL)
		return pm_error_set(err, -EINVAL, "a share above 1 for the hot spot");
	if (config->pattern == PM_INCAST && (!config->senders || config->senders >= num))
		return pm_error_set(err, -EINVAL, "%u senders of %u hosts: not 1 to %u",
				    config->senders, num, num - 1);
	return 0;
}

static int check_config(const struct pm_workload_config *config, struct pm_error *err)
{
	if (config->num_hosts < 2)
		return pm_error_set(err, -EINVAL, "traffic needs two hosts: there are %u",
				    config->num_hosts);
	if (config->pattern == PM_LIST)
		return check_list(config, err);
	if (!config->blocks || config->blocks > PM_MESSAGE_MAX)
		return pm_error_set(err, -EINVAL, "messages of %u blocks: not 1 to %u",
				    config->blocks, PM_MESSAGE_MAX);
	if (config->load ? config->load < PM_LOAD_LEAST || config->load > PM_LOAD_FULL
			 : !config->messages)
		return pm_error_set(err, -EINVAL,
				    config->load ? "a load that is not 0.0001 to 1"
						 : "a closed loop without end");
	if (config->members && (config->job_hosts < 2 || !config->num_jobs ||
				config->job_hosts > config->num_hosts / config->num_jobs))
		return pm_error_set(err, -EINVAL, "%u jobs of %u hosts: there are %u",
				    config->num_jobs, config->job_hosts,
				    config->num_hosts);
	return check_pattern(
		config, config->members ? config->job_hosts : config->num_hosts, err);
}

static void begin_sender(struct pm_workload *workload, uint32_t host)
{
	const struct pm_workload_config *config = &workload->config;
	struct sender *s = &workload->senders[host];
	uint64_t share =
		config->load ? ((uint64_t)PM_LOAD_FULL << FRACTION) / config->load : 1;
	uint64_t state = config->seed + host * UINT64_C(0xd1342543de82ef95);

	s->random = pm_random_next(&state);
	if (s->rank == PM_NONE || s->to == s->rank)
		return;
	workload->num_senders++;
	s->left = config->messages ? config->messages : UINT32_MAX;
	if (!config->load) {
		workload->left += s->left;
		workload->blocks += (uint64_t)s->left * config->blocks;
		return;
	}
	s->interval =
		(uint64_t)config->blocks * (config->ticks ? config->ticks[host] : 1);
	if (s->interval > LONGEST / share)
		s->interval = LONGEST;
	else
		s->interval *= share;
	s->next = config->poisson ? pm_random_exponential(&s->random, s->interval)
				  : pm_random_below(&s->random, s->interval);
}

/* Stores each host's job and place; -EINVAL: a host is in two jobs, or does not exist. */
static int assign_jobs(struct pm_workload *workload, struct pm_error *err)
{
	const struct pm_workload_config *config = &workload->config;

	for (uint32_t h = 0; h < config->num_hosts; h++)
		workload->senders[h].rank = PM_NONE;
	for (uint32_t i = 0; i < config->num_jobs * config->job_hosts; i++) {
		uint32_t host = config->members ? config->members[i] : i;

		if (host >= config->num_hosts || workload->senders[host].rank != PM_NONE)
			return pm_error_set(err, -EINVAL,
					    "host %u is in two jobs, or not there", host);
		workload->members[i] = host;
		workload->senders[host].rank = i % config->job_hosts;
		workload->senders[host].job = i - i % config->job_hosts;
	}
	return 0;
}

static int begin_workload(struct pm_workload *workload, struct pm_error *err)
{
	const struct pm_workload_config *config = &workload->config;
	int rc;

	if (config->pattern == PM_LIST) {
		sort_list(workload);
		return 0;
	}
	rc = assign_jobs(workload, err);
	if (rc)
		return rc;
	for (uint32_t job = 0; job < config->num_jobs; job++)
		find_places(workload,
			    workload->members + (size_t)job * config->job_hosts);
	for (uint32_t h = 0; h < config->num_hosts; h++)
		begin_sender(workload, h);
	return 0;
}

static void allocate_workload(struct pm_workload *workload)
{
	const struct pm_workload_config *config = &workload->config;
	struct pm_pool *pool = &workload->pool;
	size_t num = config->num_list;

	workload->senders =
		pm_pool_xarray(pool, config->num_hosts, sizeof(*workload->senders));
	workload->members = pm_pool_xarray(pool, config->num_hosts, sizeof(uint32_t));
	if (config->ticks)
		workload->config.ticks = pm_pool_xcopy(
			pool, config->ticks, config->num_hosts, sizeof(*config->ticks));
	if (config->pattern != PM_LIST)
		return;
	workload->first =
		pm_pool_xarray(pool, (size_t)config->num_hosts + 1, sizeof(uint32_t));
	workload->order = pm_pool_xarray(pool, num, sizeof(uint32_t));
	workload->missing = pm_pool_xarray(pool, num, sizeof(uint32_t));
	workload->arrived = pm_pool_xarray(pool, num, sizeof(uint64_t));
}

int pm_workload_new(const struct pm_workload_config *config, struct pm_workload **result,
		    struct pm_error *err)
{
	struct pm_workload *workload;
	int rc = check_config(config, err);

	if (rc)
		return rc;
	workload = pm_xarray(1, sizeof(*workload));
	workload->config = *config;
	if (!config->members) {
		workload->config.num_jobs = 1;
		workload->config.job_hosts = config->num_hosts;
	}
	allocate_workload(workload);
	rc = begin_workload(workload, err);
	if (rc) {
		pm_workload_free(workload);
		return rc;
	}
	*result = workload;
	return 0;
}

void pm_workload_free(struct pm_workload *workload)
{
	if (workload)
		pm_pool_free(&workload->pool);
	free(workload);
}

/* ---- Progress ---- */

/* A sender may take two cache lines. */
void pm_workload_fetch(const struct pm_workload *workload, uint32_t host)
{
	__builtin_prefetch(&workload->senders[host], 1);
	__builtin_prefetch(&workload->senders[host].waits, 1);
}

uint64_t pm_workload_time(const struct pm_workload *workload, uint32_t host)
{
	const struct sender *s = &workload->senders[host];

	if (!s->left)
		return PM_NEVER;
	if (workload->config.pattern == PM_LIST)
		return time_in_list(workload, next_in_list(workload, host));
	if (workload->config.load)
		return s->next >> FRACTION;
	return s->waits ? PM_NEVER : s->next;
}

void pm_workload_take(struct pm_workload *workload, uint32_t host,
		      struct pm_message *message)
{
	const struct pm_workload_config *config = &workload->config;
	struct sender *s = &workload->senders[host];

	message->time = pm_workload_time(workload, host);
	message->sl = config->sls ? config->sls[host] : 0;
	if (config->pattern == PM_LIST) {
		uint32_t id = next_in_list(workload, host);

		message->to = config->list[id].to;
		message->blocks = config->list[id].blocks;
		message->id = id;
	} else {
		message->to = workload->members[s->job + next_place(workload, s)];
		message->blocks = config->blocks;
		message->id = config->load ? PM_NONE : host;
		if (config->load)
			s->next += draw_interval(workload, s);
		s->waits = true;
	}
	s->sent++;
	if (s->left != UINT32_MAX)
		s->left--;
}

/* Keeps a time without progress if it is the longest so far. */
static void note_stall(struct pm_stall *stall, uint64_t from, uint64_t now, uint32_t host)
{
	if (now > from && now - from > stall->ticks)
		*stall = (struct pm_stall){from, now - from, host, false};
}

/* Records that blocks of a host have arrived. */
static void note_progress(struct pm_workload *workload, uint32_t host, uint32_t blocks,
			  uint64_t now)
{
	struct sender *s = &workload->senders[host];

	note_stall(&workload->stall, workload->last, now, PM_NONE);
	note_stall(&workload->host_stall, s->last, now, host);
	workload->last = s->last = now;
	workload->blocks_got += blocks;
	while (workload->parts <= PM_PROGRESS_PARTS &&
	       workload->blocks_got * PM_PROGRESS_PARTS >=
		       workload->parts * workload->blocks)
		workload->at[workload->parts++] = now;
}

static uint32_t got_of_list(struct pm_workload *workload, uint32_t id, uint32_t blocks,
			    uint64_t now, uint32_t woken[2])
{
	note_progress(workload, workload->config.list[id].from, blocks, now);
	workload->missing[id] -= blocks;
	if (workload->missing[id])
		return 0;
	workload->left--;
	workload->arrived[id] = now;
	woken[0] = workload->config.list[id].to;
	woken[1] = workload->config.list[id].from;
	return 2;
}

uint32_t pm_workload_got(struct pm_workload *workload, uint32_t id, uint32_t blocks,
			 uint64_t now, uint32_t woken[2])
{
	struct sender *s;

	if (id == PM_NONE)
		return 0;
	if (workload->config.pattern == PM_LIST)
		return got_of_list(workload, id, blocks, now, woken);
	note_progress(workload, id, blocks, now);
	s = &workload->senders[id];
	s->got += blocks;
	if (s->got < workload->config.blocks)
		return 0;
	s->got = 0;
	s->waits = false;
	s->next = now;
	workload->left--;
	woken[0] = id;
	return 1;
}

uint32_t pm_workload_senders(const struct pm_workload *workload)
{
	return workload->num_senders;
}

uint64_t pm_workload_left(const struct pm_workload *workload)
{
	return workload->left;
}

bool pm_workload_sends(const struct pm_workload *workload, uint32_t host)
{
	const struct sender *s = &workload->senders[host];

	return s->left || s->sent;
}

uint64_t pm_workload_left_of(const struct pm_workload *workload, uint32_t host)
{
	const struct sender *s = &workload->senders[host];
	uint64_t left = 0;

	if (workload->config.pattern != PM_LIST)
		return workload->config.load ? 0 : (uint64_t)s->left + s->waits;
	for (uint32_t i = workload->first[host]; i < workload->first[host + 1]; i++)
		left += workload->missing[workload->order[i]] > 0;
	return left;
}

uint64_t pm_workload_done_of(const struct pm_workload *workload, uint32_t host)
{
	uint64_t done = 0;

	if (workload->config.pattern != PM_LIST)
		return workload->config.load ? 0 : workload->senders[host].next;
	for (uint32_t i = workload->first[host]; i < workload->first[host + 1]; i++)
		if (workload->arrived[workload->order[i]] > done)
			done = workload->arrived[workload->order[i]];
	return done;
}

uint64_t pm_workload_arrived(const struct pm_workload *workload, uint32_t id)
{
	return workload->missing[id] ? PM_NEVER : workload->arrived[id];
}

/* Keeps a present time without progress if it is the longest so far. */
static void note_last_stall(struct pm_stall *stall, uint64_t from, uint64_t now,
			    uint32_t host)
{
	uint64_t before = stall->ticks;

	note_stall(stall, from, now, host);
	stall->lasts |= stall->ticks > before;
}

void pm_workload_progress(const struct pm_workload *workload, uint64_t now,
			  struct pm_workload_progress *progress)
{
	progress->all = workload->stall;
	progress->host = workload->host_stall;
	if (workload->left)
		note_last_stall(&progress->all, workload->last, now, PM_NONE);
	for (uint32_t h = 0; h < workload->config.num_hosts; h++)
		if (pm_workload_left_of(workload, h))
			note_last_stall(&progress->host, workload->senders[h].last, now,
					h);
	for (uint32_t i = 0; i <= PM_PROGRESS_PARTS; i++)
		progress->at[i] = i < workload->parts ? workload->at[i] : PM_NEVER;
}
