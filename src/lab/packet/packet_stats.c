/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Collects statistics of the traffic: by batches, by windows, and in all. */
#include "packet_parts.h"

#include <portmajor/lab/student.h>

#include <math.h>
#include <string.h>

/* ---- Packets ---- */

static uint32_t bucket_of(uint64_t value)
{
	uint32_t shift;

	if (value < FINE)
		return (uint32_t)value;
	shift = (uint32_t)(63 - __builtin_clzll(value)) - 6;
	return FINE * (shift + 1) + (uint32_t)(value >> shift & (FINE - 1));
}

/* The highest value in a bucket. */
static uint64_t top_of(uint32_t bucket)
{
	uint32_t shift;

	if (bucket < FINE)
		return bucket;
	shift = bucket / FINE - 1;
	return (((uint64_t)FINE + bucket % FINE + 1) << shift) - 1;
}

static bool is_measuring(const struct pm_packet *sim)
{
	return sim->batch && sim->batch <= sim->config.batches;
}

static void add_arrival(const struct pm_packet *sim, struct pm_packet_while *w,
			const struct packet *packet, uint32_t latency)
{
	w->packets++;
	w->blocks += packet->size;
	w->ticks += (uint64_t)packet->size * sim->source[packet->from].ticks;
	if (!(packet->flags & LAST))
		return;
	w->messages++;
	w->latency += latency;
	if (latency > w->slowest)
		w->slowest = latency;
}

void packet_see(struct pm_packet *sim, const struct packet *packet)
{
	struct pm_packet_sender *sender = &sim->senders[packet->from];
	uint32_t latency = sim->wheel.now - packet->created;

	sim->delivered++;
	add_arrival(sim, &sim->batches[sim->batch], packet, latency);
	if (sim->window < sim->num_windows)
		add_arrival(sim, &sim->windows[sim->window], packet, latency);
	if (!is_measuring(sim))
		return;
	add_arrival(sim, &sim->sls[packet->sl], packet, latency);
	sender->blocks += packet->size;
	if (!(packet->flags & LAST))
		return;
	sender->messages++;
	sender->latency += latency;
	if (latency > sender->slowest)
		sender->slowest = latency;
	sim->latencies[bucket_of(latency)]++;
}

/* ---- Steps ---- */

uint32_t packet_see_next(const struct pm_packet *sim)
{
	uint32_t time = NO_TIME, other;

	if (sim->batch <= sim->config.batches)
		time = sim->config.warmup + sim->batch * sim->config.batch;
	if (sim->window >= sim->num_windows)
		return time;
	other = (sim->window + 1) * sim->config.window;
	return other < time ? other : time;
}

/* Sums, over hosts, how long the next message is overdue. */
static uint64_t sum_lags(const struct pm_packet *sim)
{
	uint64_t sum = 0, now = sim->wheel.now;

	for (uint32_t h = 0; h < sim->config.num_hosts; h++) {
		uint64_t time = sim->source[h].left
					? sim->source[h].created
					: pm_workload_time(sim->config.workload, h);

		if (time < now && !port_of(sim, sim->config.hosts[h].port)->dead)
			sum += now - time;
	}
	return sum;
}

/* Ticks in which a port has sent; of a packet being sent only the part so far. */
static uint64_t busy_of(const struct pm_packet *sim, uint32_t port)
{
	const struct port *p = port_of(sim, port);
	uint32_t now = sim->wheel.now;

	return (uint64_t)p->sent * p->ticks - (p->until > now ? p->until - now : 0);
}

static void sum_busy(struct pm_packet *sim)
{
	for (uint32_t i = 0; i < sim->config.fabric->num_ports; i++)
		sim->busy[i] = busy_of(sim, i) - sim->busy_before[i];
}

void packet_see_end(struct pm_packet *sim)
{
	uint32_t now = sim->wheel.now;

	if (sim->batch <= sim->config.batches &&
	    now == sim->config.warmup + sim->batch * sim->config.batch) {
		sim->batches[sim->batch].lag = sum_lags(sim);
		if (!sim->batch)
			for (uint32_t i = 0; i < sim->config.fabric->num_ports; i++)
				sim->busy_before[i] = busy_of(sim, i);
		if (sim->batch++ == sim->config.batches)
			sum_busy(sim);
	}
	if (sim->window < sim->num_windows &&
	    now == (sim->window + 1) * sim->config.window) {
		sim->windows[sim->window].lag = sum_lags(sim);
		sim->window++;
	}
}

/* ---- Results ---- */

static uint64_t quantile(const struct pm_packet *sim, uint64_t messages, uint64_t slowest,
			 double part)
{
	uint64_t sum = 0, need = (uint64_t)ceil((double)messages * part);

	for (uint32_t b = 0; b < BUCKETS && messages; b++) {
		sum += sim->latencies[b];
		if (sum >= need)
			return top_of(b) < slowest ? top_of(b) : slowest;
	}
	return 0;
}

/* Measured ticks: until now, or until nothing was left to arrive. */
static uint32_t find_time(const struct pm_packet *sim)
{
	const struct pm_packet_config *config = &sim->config;
	uint64_t end = config->warmup + (uint64_t)config->batch * config->batches;

	if (sim->wheel.now < end)
		end = sim->wheel.now;
	if (sim->done && sim->done < end && !pm_workload_left(config->workload))
		end = sim->done;
	return end > config->warmup ? (uint32_t)(end - config->warmup) : 0;
}

/* Finds the mean latency, and its confidence interval from the means of whole batches. */
static void find_mean(const struct pm_packet *sim, struct pm_packet_result *r)
{
	double sum = 0, squares = 0, total = 0;
	uint32_t num = 0;

	for (uint32_t i = 0; i < sim->batch && i < sim->config.batches; i++) {
		const struct pm_packet_while *b = &r->batches[i];
		double mean;

		if (b->slowest > r->slowest)
			r->slowest = b->slowest;
		if (!b->messages)
			continue;
		total += (double)b->latency;
		r->messages += b->messages;
		if (i >= r->num_batches)
			continue;
		mean = (double)b->latency / (double)b->messages;
		sum += mean;
		squares += mean * mean;
		num++;
	}
	if (r->messages)
		r->mean = total / (double)r->messages;
	r->means = num;
	if (num > 1) {
		double variance = (squares - sum * sum / num) / (num - 1);

		r->half = pm_student(num - 1) * sqrt(fmax(variance, 0) / num);
	}
}

/* Finds the hosts' throughput, as a share of their links' rates, and its fairness. */
static void find_rates(const struct pm_packet *sim, struct pm_packet_result *r)
{
	double sum = 0, squares = 0, share = 0;
	uint32_t senders = pm_workload_senders(sim->config.workload);

	for (uint32_t h = 0; h < sim->config.num_hosts; h++) {
		double got = (double)sim->senders[h].blocks;

		sum += got;
		squares += got * got;
		share += got * port_of(sim, sim->config.hosts[h].port)->ticks;
	}
	if (r->measured && senders)
		r->accepted = share / r->measured / senders;
	if (squares > 0)
		r->fairness = sum * sum / squares / senders;
}

/*
 * Whether ever more messages wait: hosts lag further behind at the end than in the
 * middle, by more than 1/50 of the time between.
 */
static bool is_unstable(const struct pm_packet *sim, const struct pm_packet_result *r)
{
	uint32_t half = r->num_batches / 2;
	double senders = pm_workload_senders(sim->config.workload), first, last, time;

	if (r->num_batches < 2 || senders < 1)
		return false;
	if (r->done || pm_workload_left(sim->config.workload))
		return false; /* a closed loop: hosts send when messages have arrived */
	first = (double)r->batches[half - 1].lag;
	last = (double)r->batches[r->num_batches - 1].lag;
	time = (double)(r->num_batches - half) * sim->config.batch;
	return (last - first) / senders > time / 50;
}

void pm_packet_result(struct pm_packet *sim, struct pm_packet_result *r)
{
	*r = (struct pm_packet_result){
		.created = sim->created,
		.delivered = sim->delivered,
		.uncounted = sim->uncounted,
		.pairs = sim->rc.totals,
		.dropped = sim->dropped,
		.inside = sim->inside,
		.events = sim->events,
		.hops = sim->hops,
		.now = sim->wheel.now,
		.over = wheel_is_empty(&sim->wheel),
		.done = sim->done,
		.batches = sim->batches + 1,
		.num_batches = sim->batch ? sim->batch - 1 : 0,
		.measured = find_time(sim),
		.busy = sim->busy,
		.sls = sim->sls,
		.senders = sim->senders,
		.windows = sim->windows,
		.num_windows = sim->window,
		.drops_at = sim->drops_at,
	};
	memcpy(r->drops, sim->drops, sizeof(r->drops));
	find_mean(sim, r);
	find_rates(sim, r);
	r->p50 = quantile(sim, r->messages, r->slowest, 0.5);
	r->p99 = quantile(sim, r->messages, r->slowest, 0.99);
	r->unstable = is_unstable(sim, r);
	if (sim->batch && sim->batch <= sim->config.batches)
		sum_busy(sim);
}
