/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the switches' tables, and compares them with OpenSM's record. */
#include "table_check.h"

#include "clock.h"
#include "osm/lft_records.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Shorter than other SMPs', as a trap waits for the end of a piece. */
#define TOTAL_MS 200

struct table_check {
	struct tables_read *now; /* of the thread that sends; NULL: none is read */
	pthread_mutex_t lock;
	uint64_t wanted; /* number of the last request .. */
	uint64_t begun;	 /* .. and of that which is served, or was */
	struct tables_read *ready;
};

/* ---- One switch ---- */

struct piece {
	const struct table_check_subject *subject;
	struct table_read *read;
	bool gone; /* OpenSM does not know the switch any more */
	bool stopped;
};

/* A switch with another LinearFDBTop than before is noticed after the pass. */
static enum smp_make make_get(void *context, uint32_t index, struct smp_request *smp)
{
	struct piece *piece = context;
	const osm_switch_t *sw =
		osm_get_switch_by_guid(&piece->subject->osm->subn, piece->read->key);
	const osm_dr_path_t *route = sw ? lft_records_route(sw) : NULL;

	piece->gone |= !route;
	if (piece->gone || piece->stopped)
		return SMP_OMIT;
	*smp = (struct smp_request){
		.kind = SMP_BLOCK, .sw = sw, .modifier = index, .route = *route};
	return SMP_SEND;
}

static bool take_answer(void *context, const struct smp_answer *answer)
{
	struct piece *piece = context;
	struct table_read *read = piece->read;

	if (answer->outcome == SMP_ANSWERED)
		memcpy(read->table + (size_t)answer->index * PM_LFT_BLOCK, answer->data,
		       PM_LFT_BLOCK);
	else
		read->reading = TABLE_SILENT;
	piece->stopped |= piece->subject->is_interrupted(piece->subject->context);
	return read->reading != TABLE_SILENT && !piece->stopped;
}

static void read_switch(struct tables_read *now, struct table_read *read,
			const struct table_check_subject *subject)
{
	struct piece piece = {.subject = subject, .read = read};
	struct smp_count count = {0};

	smp_run(subject->smps,
		&(struct smp_batch){.num = read->length / PM_LFT_BLOCK,
				    .ahead = SMP_AHEAD,
				    .total_ms = TOTAL_MS,
				    .context = &piece,
				    .make = make_get,
				    .take = take_answer},
		&count);
	now->sent += count.sent;
	if (piece.stopped && read->reading == TABLE_UNREAD)
		return; /* it is read anew */
	read->pass = now->passes;
	if (read->reading == TABLE_UNREAD && !piece.gone)
		read->reading = TABLE_READ;
}

/* ---- A pass ---- */

static uint32_t length_of(const osm_switch_t *sw)
{
	uint32_t top = cl_ntoh16(sw->switch_info.lin_top);

	return top > PM_MAX_LID ? 0 : (top / PM_LFT_BLOCK + 1u) * PM_LFT_BLOCK;
}

/* Has a switch listed as OpenSM knows it now. -ENOMEM. */
static int renew_entry(struct table_read *read, const osm_switch_t *sw)
{
	uint32_t length = length_of(sw);

	read->lid = cl_ntoh16(osm_node_get_base_lid(sw->p_node, 0));
	snprintf(read->name, sizeof(read->name), "%s", sw->p_node->print_desc);
	if (length == read->length)
		return 0;
	free(read->table);
	read->table = malloc(length);
	read->length = length;
	read->reading = TABLE_UNREAD;
	return read->table ? 0 : -ENOMEM;
}

static void forget(struct table_read *list, uint32_t num)
{
	for (uint32_t i = 0; i < num; i++)
		free(list[i].table);
	free(list);
}

/* Lists OpenSM's present switches, in its order. With osm->lock held. -ENOMEM. */
static int list_switches(struct tables_read *now, const osm_subn_t *subn)
{
	struct table_read *old = now->list, *list;
	uint32_t num = 0, k = 0;
	int rc = 0;

	list = calloc(cl_qmap_count(&subn->sw_guid_tbl) + 1u, sizeof(*list));
	if (!list)
		return -ENOMEM;
	FOR_EACH_SWITCH(sw, subn) {
		uint64_t key = cl_qmap_key(&sw->map_item);

		while (k < now->num && old[k].key < key)
			free(old[k++].table);
		list[num] = (struct table_read){.key = key};
		if (k < now->num && old[k].key == key)
			list[num] = old[k++];
		rc = rc ? rc : renew_entry(&list[num], sw);
		num++;
	}
	while (k < now->num)
		free(old[k++].table);
	free(old);
	now->list = list;
	now->num = num;
	return rc;
}

static void compare_table(struct table_read *read, const osm_switch_t *sw)
{
	uint32_t known = sw->lft ? sw->lft_size : 0;

	read->blocks = 0;
	for (uint32_t at = 0; at + PM_LFT_BLOCK <= read->length; at += PM_LFT_BLOCK) {
		if (at + PM_LFT_BLOCK > known ||
		    !memcmp(read->table + at, sw->lft + at, PM_LFT_BLOCK))
			continue;
		if (!read->blocks++)
			read->first_block = at / PM_LFT_BLOCK;
	}
}

/* Whether a switch was read, and its table is OpenSM's record. */
static bool is_good(const struct table_read *read)
{
	return read->reading == TABLE_READ && !read->blocks;
}

/* Whether a switch has to be read in another pass. */
static bool is_due(const struct tables_read *now, const struct table_read *read)
{
	return read->reading == TABLE_UNREAD ||
	       (!is_good(read) && !(read->again && read->pass == now->passes));
}

/* Whether all is read, or has to be enough. */
static bool end_pass(struct tables_read *now)
{
	now->changing = false;
	for (uint32_t i = 0; i < now->num; i++)
		now->changing |= is_due(now, &now->list[i]);
	if (!now->changing || now->passes == TABLE_CHECK_PASSES)
		return true;
	now->passes++;
	for (uint32_t i = 0; i < now->num; i++) {
		struct table_read *read = &now->list[i];

		if (read->reading == TABLE_UNREAD || is_good(read))
			continue;
		read->reading = TABLE_UNREAD;
		read->again = true;
	}
	return false;
}

/* 1: there is a result; 0: another pass is due; -ENOMEM. */
static int judge_pass(struct tables_read *now, osm_opensm_t *osm)
{
	int rc;

	CL_PLOCK_ACQUIRE(&osm->lock);
	rc = list_switches(now, &osm->subn);
	for (uint32_t i = 0; i < now->num && !rc; i++)
		if (now->list[i].reading == TABLE_READ)
			compare_table(
				&now->list[i],
				osm_get_switch_by_guid(&osm->subn, now->list[i].key));
	CL_PLOCK_RELEASE(&osm->lock);
	return rc ? rc : end_pass(now);
}

/* ---- All of it ---- */

static bool begin_reading(struct table_check *check)
{
	check->now = calloc(1, sizeof(*check->now));
	if (!check->now)
		return false;
	check->now->since_ms = clock_ms();
	pthread_mutex_lock(&check->lock);
	check->now->number = check->begun = check->wanted;
	pthread_mutex_unlock(&check->lock);
	return true;
}

/* Replaces a result that was not taken yet. */
static void end(struct table_check *check)
{
	struct tables_read *now = check->now, *before;

	now->time = time(NULL);
	now->milliseconds = clock_ms() - now->since_ms;
	check->now = NULL;
	pthread_mutex_lock(&check->lock);
	before = check->ready;
	check->ready = now;
	pthread_mutex_unlock(&check->lock);
	table_check_free(before);
}

bool table_check_run(struct table_check *check, const struct table_check_subject *subject)
{
	struct tables_read *now = check->now;
	int rc;

	if (!now && !begin_reading(check))
		return false; /* tried again */
	now = check->now;
	for (uint32_t i = 0; i < now->num; i++) {
		struct table_read *read = &now->list[i];

		if (read->reading == TABLE_UNREAD && read->pass != now->passes) {
			read_switch(now, read, subject);
			return false;
		}
	}
	rc = judge_pass(now, subject->osm);
	if (rc < 0)
		now->failed = "out of memory";
	if (rc)
		end(check);
	return rc != 0;
}

void table_check_fail(struct table_check *check, const char *why)
{
	if (!check->now && !begin_reading(check))
		return;
	pthread_mutex_lock(&check->lock);
	check->now->number = check->begun = check->wanted;
	pthread_mutex_unlock(&check->lock);
	check->now->failed = why;
	end(check);
}

bool table_check_is_wanted(struct table_check *check)
{
	bool wanted;

	pthread_mutex_lock(&check->lock);
	wanted = check->begun != check->wanted;
	pthread_mutex_unlock(&check->lock);
	return wanted || check->now;
}

uint64_t table_check_request(struct table_check *check)
{
	uint64_t number;

	pthread_mutex_lock(&check->lock);
	number = ++check->wanted;
	pthread_mutex_unlock(&check->lock);
	return number;
}

struct tables_read *table_check_take(struct table_check *check)
{
	struct tables_read *ready;

	pthread_mutex_lock(&check->lock);
	ready = check->ready;
	check->ready = NULL;
	pthread_mutex_unlock(&check->lock);
	return ready;
}

void table_check_free(struct tables_read *read)
{
	if (!read)
		return;
	forget(read->list, read->num);
	free(read);
}

struct table_check *table_check_start(void)
{
	struct table_check *check = calloc(1, sizeof(*check));

	if (check)
		pthread_mutex_init(&check->lock, NULL);
	return check;
}

void table_check_stop(struct table_check *check)
{
	if (!check)
		return;
	table_check_free(check->now);
	table_check_free(check->ready);
	pthread_mutex_destroy(&check->lock);
	free(check);
}
