/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Judges the tables of another engine on a thread. */
#include "engine_check.h"

#include "io/log.h"
#include "worker.h"

#include <portmajor/check/check.h>

#include <float.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMED 3 /* ports of a credit loop in a text */

/* docs/fabrics.md has the numbers, also of pairs for which nue computes for long. */
#define NUE "nue"
#define MANY_PAIRS 4000000

struct engine_check {
	osm_opensm_t *osm;
	struct worker *worker;
	engine_check_note *note;
	void *context;
	struct engine_verdict logged; /* the thread's */
	pthread_mutex_t mutex;
	struct engine_tables *tables; /* to be judged, or NULL; under the mutex */
};

/* ---- The judgement ---- */

static const char *find_remedy(const struct engine_verdict *verdict)
{
	if (!strcmp(verdict->engine, NUE))
		return "bring missing switches and cables back";
	return verdict->connected < MANY_PAIRS
		       ? "set routing_engine portmajor,nue and restart OpenSM"
		       : "set routing_engine portmajor,nue and restart OpenSM; nue "
			 "computes for a minute or more";
}

static void describe_cut(const struct engine_tables *tables,
			 const struct pm_check_pairs *pairs,
			 struct engine_verdict *verdict)
{
	const struct pm_fabric *fabric = tables->fabric;
	uint64_t cut = pairs->connected - pairs->reachable;

	if (cut)
		snprintf(verdict->cut, sizeof(verdict->cut),
			 "%s cuts off %" PRIu64 " of %" PRIu64
			 " pairs of hosts that cables join (%s to %s%s): %s",
			 verdict->engine, cut, pairs->connected,
			 pm_fabric_label(fabric, pairs->from),
			 pm_fabric_label(fabric, fabric->ports[pairs->to].node),
			 cut > 1 ? ", .." : "", find_remedy(verdict));
}

static void describe_loop(const struct engine_tables *tables,
			  const struct pm_check_credits *credits,
			  struct engine_verdict *verdict)
{
	const struct pm_fabric *fabric = tables->fabric;
	char loop[ENGINE_CHECK_TEXT / 2] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < credits->length && i < NAMED && used < sizeof(loop);
	     i++) {
		const struct pm_port *port = &fabric->ports[credits->credit_loop[i]];

		used += (size_t)snprintf(loop + used, sizeof(loop) - used, "%s%s[%u]",
					 i ? ", " : "",
					 pm_fabric_label(fabric, port->node), port->num);
	}
	if (credits->length)
		snprintf(verdict->credit_loop, sizeof(verdict->credit_loop),
			 "%s can deadlock, by a credit loop (%s%s): %s", verdict->engine,
			 loop, credits->length > NAMED ? ", .." : "",
			 find_remedy(verdict));
}

int engine_check_judge(const struct engine_tables *tables, struct engine_verdict *verdict)
{
	const struct pm_check check = {
		.fabric = tables->fabric,
		.table = tables->table,
		.top = tables->top,
		.sm = PM_NONE,
	};
	struct pm_check_credits credits = {.length = 0};
	struct pm_check_pairs pairs;
	int rc = pm_check_pairs(&check, &pairs, NULL);

	if (!rc && !tables->lanes)
		rc = pm_check_credits(&check, &credits, NULL);
	if (rc)
		return rc;
	*verdict = (struct engine_verdict){
		.lanes = tables->lanes,
		.connected = pairs.connected,
		.reachable = pairs.reachable,
	};
	memcpy(verdict->engine, tables->engine, sizeof(verdict->engine));
	describe_cut(tables, &pairs, verdict);
	describe_loop(tables, &credits, verdict);
	return 0;
}

/* ---- The thread ---- */

static struct engine_tables *exchange_tables(struct engine_check *check,
					     struct engine_tables *tables)
{
	struct engine_tables *before;

	pthread_mutex_lock(&check->mutex);
	before = check->tables;
	check->tables = tables;
	pthread_mutex_unlock(&check->mutex);
	return before;
}

/* Logs a text when it changes. */
static void log_fault(const struct engine_check *check, const char *before,
		      const char *now)
{
	if (now[0] && strcmp(before, now) != 0)
		log_line(&check->osm->log, OSM_LOG_ERROR, ": %s", now);
}

/*
 * If OpenSM ended while it judged, the log and what `note` pokes may be gone: then this
 * does not return.
 */
static void report(struct engine_check *check, const struct engine_verdict *verdict)
{
	worker_enter(check->worker);
	log_fault(check, check->logged.cut, verdict->cut);
	log_fault(check, check->logged.credit_loop, verdict->credit_loop);
	check->logged = *verdict;
	check->note(check->context, verdict);
	worker_leave(check->worker);
}

static double judge_newest(void *context, bool last)
{
	struct engine_check *check = context;
	struct engine_tables *tables = exchange_tables(check, NULL);
	struct engine_verdict verdict;

	if (tables && !last && !engine_check_judge(tables, &verdict))
		report(check, &verdict);
	engine_tables_free(tables);
	return DBL_MAX;
}

struct engine_check *engine_check_start(osm_opensm_t *osm, engine_check_note *note,
					void *context)
{
	struct engine_check *check = calloc(1, sizeof(*check));

	if (!check)
		return NULL;
	check->osm = osm;
	check->note = note;
	check->context = context;
	pthread_mutex_init(&check->mutex, NULL);
	check->worker = worker_start("portmajor-check", judge_newest, check);
	if (check->worker)
		return check;
	pthread_mutex_destroy(&check->mutex);
	free(check);
	return NULL;
}

void engine_check_put(struct engine_check *check, struct engine_tables *tables)
{
	if (!tables)
		return;
	engine_tables_free(exchange_tables(check, tables));
	worker_poke(check->worker);
}

bool engine_check_stop(struct engine_check *check, double until_ms)
{
	if (!check)
		return true;
	if (!worker_stop(check->worker, until_ms))
		return false;
	worker_free(check->worker);
	engine_tables_free(check->tables);
	pthread_mutex_destroy(&check->mutex);
	free(check);
	return true;
}
