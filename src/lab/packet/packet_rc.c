/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reliable connections: time-outs, retries and duplicates. */
#include "packet_rc.h"

#include <portmajor/memory/xalloc.h>

#define FIRST_SLOTS 256

void rc_begin(struct rc *rc, uint32_t num_hosts, uint32_t timeout, uint32_t tries)
{
	*rc = (struct rc){
		.num_hosts = num_hosts,
		.timeout = timeout,
		.tries = tries,
		.num_slots = FIRST_SLOTS,
		.free = PM_NONE,
	};
	rc->slots = pm_xarray(FIRST_SLOTS, sizeof(*rc->slots));
	rc->first_ready = pm_xarray(num_hosts, sizeof(*rc->first_ready));
	rc->last_ready = pm_xarray(num_hosts, sizeof(*rc->last_ready));
	memset(rc->slots, 0xff, FIRST_SLOTS * sizeof(*rc->slots));
	memset(rc->first_ready, 0xff, num_hosts * sizeof(*rc->first_ready));
}

void rc_end(struct rc *rc)
{
	free(rc->pairs);
	free(rc->slots);
	free(rc->records);
	free(rc->first_ready);
	free(rc->last_ready);
}

/* ---- Pairs ---- */

/* The slot of a pair, or where it would be. */
static uint32_t *find_slot(const struct rc *rc, uint32_t from, uint32_t to)
{
	uint64_t key = ((uint64_t)from << 32 | to) * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t at = (uint32_t)(key >> 32) & (rc->num_slots - 1);

	while (rc->slots[at] != PM_NONE && (rc->pairs[rc->slots[at]].from != from ||
					    rc->pairs[rc->slots[at]].to != to))
		at = (at + 1) & (rc->num_slots - 1);
	return &rc->slots[at];
}

static void double_slots(struct rc *rc)
{
	uint32_t *slots, *old = rc->slots;

	if (rc->num_slots > UINT32_MAX / 2)
		pm_no_memory();
	slots = pm_xarray((size_t)rc->num_slots * 2, sizeof(*slots));
	rc->num_slots *= 2;
	memset(slots, 0xff, (size_t)rc->num_slots * sizeof(*slots));
	rc->slots = slots;
	for (uint32_t i = 0; i < rc->num_pairs; i++)
		*find_slot(rc, rc->pairs[i].from, rc->pairs[i].to) = i;
	free(old);
}

/* Finds or adds a pair. */
static uint32_t find_pair(struct rc *rc, uint32_t from, uint32_t to)
{
	uint32_t *slot = find_slot(rc, from, to);

	if (*slot != PM_NONE)
		return *slot;
	pm_xgrow(&rc->pairs, &rc->room, rc->num_pairs + 1, sizeof(*rc->pairs));
	if (rc->num_pairs >= rc->num_slots / 2)
		double_slots(rc);
	slot = find_slot(rc, from, to);
	rc->pairs[rc->num_pairs] = (struct rc_pair){
		.from = from,
		.to = to,
		.record = PM_NONE,
		.sending = PM_NONE,
		.tail = PM_NONE,
	};
	*slot = rc->num_pairs++;
	rc->totals.pairs++;
	return *slot;
}

/* Puts a pair that may send at the end of its host's list. */
static void make_ready(struct rc *rc, uint32_t index)
{
	struct rc_pair *pair = &rc->pairs[index];
	uint32_t host = pair->from;

	if (pair->ready || pair->broken || pair->sending == PM_NONE ||
	    pair->sent - pair->answered >= RC_WINDOW)
		return;
	pair->ready = true;
	pair->next_ready = PM_NONE;
	if (rc->first_ready[host] == PM_NONE)
		rc->first_ready[host] = index;
	else
		rc->pairs[rc->last_ready[host]].next_ready = index;
	rc->last_ready[host] = index;
}

/* ---- The sender ---- */

static uint32_t take_record(struct rc *rc)
{
	uint32_t index = rc->free;

	if (index != PM_NONE) {
		rc->free = rc->records[index].next;
		return index;
	}
	pm_xgrow(&rc->records, &rc->records_room, rc->num_records + 1,
		 sizeof(*rc->records));
	return rc->num_records++;
}

static void add_record(struct rc *rc, struct rc_pair *pair, struct rc_record record)
{
	uint32_t index = take_record(rc);

	record.next = PM_NONE;
	rc->records[index] = record;
	if (pair->tail == PM_NONE)
		pair->record = index;
	else
		rc->records[pair->tail].next = index;
	pair->tail = index;
	if (pair->sending == PM_NONE)
		pair->sending = index;
}

void rc_add(struct rc *rc, uint32_t from, const struct pm_message *message,
	    uint32_t packet)
{
	uint32_t index = find_pair(rc, from, message->to);
	struct rc_pair *pair = &rc->pairs[index];

	if (pair->broken) {
		rc->totals.refused++;
		return;
	}
	for (uint32_t left = message->blocks, size; left; left -= size) {
		size = left < packet ? left : packet;
		add_record(rc, pair,
			   (struct rc_record){.created = (uint32_t)message->time,
					      .id = message->id,
					      .size = (uint8_t)size,
					      .sl = message->sl,
					      .last = size == left});
	}
	make_ready(rc, index);
}

/* Frees the first unanswered packet's record: it is answered. */
static void free_record(struct rc *rc, struct rc_pair *pair)
{
	uint32_t index = pair->record;

	pair->record = rc->records[index].next;
	if (pair->record == PM_NONE)
		pair->tail = PM_NONE;
	rc->records[index].next = rc->free;
	rc->free = index;
}

bool rc_next(struct rc *rc, uint32_t host, uint32_t now, struct rc_tag *tag,
	     struct rc_record *record, bool *timed)
{
	uint32_t index = rc->first_ready[host];
	struct rc_pair *pair;

	if (index == PM_NONE)
		return false;
	pair = &rc->pairs[index];
	rc->first_ready[host] = pair->next_ready;
	pair->ready = false;
	*record = rc->records[pair->sending];
	*tag = (struct rc_tag){index, pair->sent};
	if (pair->sent == pair->answered)
		pair->deadline = now + rc->timeout;
	pair->sending = record->next;
	pair->sent++;
	*timed = !pair->timed;
	pair->timed = true;
	make_ready(rc, index);
	return true;
}

static void go_back(struct rc *rc, uint32_t index)
{
	struct rc_pair *pair = &rc->pairs[index];

	rc->totals.resent += pair->sent - pair->answered;
	rc->totals.again += !pair->again;
	pair->again = true;
	pair->sent = pair->answered;
	pair->sending = pair->record;
	make_ready(rc, index);
}

static void unlist_ready(struct rc *rc, uint32_t index)
{
	uint32_t host = rc->pairs[index].from, *at = &rc->first_ready[host];
	uint32_t before = PM_NONE;

	for (; *at != index; at = &rc->pairs[*at].next_ready)
		before = *at;
	*at = rc->pairs[index].next_ready;
	if (rc->last_ready[host] == index)
		rc->last_ready[host] = before;
	rc->pairs[index].ready = false;
}

static void give_up(struct rc *rc, uint32_t index)
{
	struct rc_pair *pair = &rc->pairs[index];

	if (pair->ready)
		unlist_ready(rc, index);
	while (pair->record != PM_NONE) {
		rc->totals.refused += rc->records[pair->record].last;
		free_record(rc, pair);
	}
	pair->sending = PM_NONE;
	pair->broken = true;
	rc->totals.broken++;
}

/* Sends again, unless there were too many tries. */
static void try_again(struct rc *rc, uint32_t index)
{
	if (rc->pairs[index].tries++ < rc->tries)
		go_back(rc, index);
	else
		give_up(rc, index);
}

void rc_answered(struct rc *rc, struct rc_tag tag, bool gap, uint32_t now)
{
	struct rc_pair *pair = &rc->pairs[tag.pair];

	if (pair->broken)
		return;
	while (pair->answered < tag.number && pair->record != PM_NONE) {
		if (pair->record == pair->sending) { /* sent before going back */
			pair->sending = rc->records[pair->record].next;
			pair->sent++;
		}
		free_record(rc, pair);
		pair->answered++;
		pair->tries = 0;
		pair->deadline = now + rc->timeout;
	}
	if (gap && pair->answered == tag.number && pair->sent > tag.number) {
		rc->totals.gaps++;
		pair->deadline = now + rc->timeout;
		try_again(rc, tag.pair);
		return;
	}
	if (pair->ready && pair->sending == PM_NONE)
		unlist_ready(rc, tag.pair);
	make_ready(rc, tag.pair);
}

uint32_t rc_look(struct rc *rc, uint32_t index, uint32_t now)
{
	struct rc_pair *pair = &rc->pairs[index];

	pair->timed = false;
	if (pair->broken || pair->sent == pair->answered)
		return PM_NONE;
	if (pair->deadline <= now) {
		rc->totals.timeouts++;
		rc->totals.late += !pair->late;
		pair->late = true;
		pair->deadline = now + rc->timeout;
		try_again(rc, index);
		if (pair->broken)
			return PM_NONE;
	}
	pair->timed = true;
	return pair->deadline;
}

/* ---- The receiver ---- */

unsigned int rc_receive(struct rc *rc, struct rc_tag tag, bool last)
{
	struct rc_pair *pair = &rc->pairs[tag.pair];

	if (tag.number == pair->expected) {
		pair->expected++;
		pair->nak_sent = false;
		return RC_TAKE |
		       (last || tag.number % RC_EVERY == RC_EVERY - 1 ? RC_ACKNOWLEDGE
								      : 0);
	}
	if (tag.number < pair->expected)
		return RC_ACKNOWLEDGE;
	if (pair->nak_sent)
		return 0;
	pair->nak_sent = true;
	return RC_GAP;
}
