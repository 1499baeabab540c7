/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends, step by step, the blocks that need an order. */
#include "ahead.h"

#include <string.h>

/* One step. */
struct step {
	const struct ahead_subject *on;
	const struct pm_steps_set *sets;
	struct ahead *done;
};

static enum smp_make make_block(void *context, uint32_t index, struct smp_request *smp)
{
	const struct step *step = context;
	const struct pm_steps_set *set = &step->sets[index];

	step->done->interrupted |= step->on->is_interrupted(step->on->context);
	if (step->done->interrupted ||
	    !lft_set_address(step->on->sender, step->on->view->plan, set->sw, set->number,
			     smp))
		return SMP_OMIT;
	lft_set_make(set->number, set->entries, smp);
	return SMP_SEND;
}

/*
 * Ends at a block that is not acknowledged as it was set, as later ones would be out of
 * order: OpenSM sends them.
 */
static bool take_acknowledgement(void *context, const struct smp_answer *answer)
{
	struct step *step = context;

	step->done->acked += answer->outcome == SMP_ANSWERED;
	if (answer->outcome != SMP_ANSWERED)
		step->done->gave_up = smp_fault(answer->outcome);
	return !step->done->gave_up && !osm_exit_flag;
}

static void send_step(struct step *step, uint32_t num)
{
	struct smp_count count = {0};

	smp_run(step->on->sender->smps,
		&(struct smp_batch){.num = num,
				    .ahead = SMP_AHEAD,
				    .total_ms = SMP_TOTAL_MS,
				    .exclusive = true,
				    .context = step,
				    .make = make_block,
				    .take = take_acknowledgement},
		&count);
	step->done->sent += count.sent;
	if (count.sent < num && !step->done->gave_up)
		step->done->gave_up = step->done->interrupted ? "something failed"
							      : "a switch has no route";
}

static void count_stale(const struct pm_stale_input *input, const struct pm_stale *stale,
			struct ahead *done)
{
	const struct pm_fabric *topology = pm_routes_plan(input->routes)->topology;
	uint32_t stride = pm_routes_stride(input->routes);

	for (uint32_t sw = 0; sw < topology->num_switches; sw++) {
		const struct pm_installed *installed = &input->installed[sw];
		uint32_t length = installed->length < stride ? installed->length : stride;
		struct pm_delta own = {0};
		uint32_t num;

		if (!installed->table)
			continue;
		pm_delta_add(&own, installed->table, pm_routes_table(input->routes, sw),
			     length);
		pm_stale_of(stale, sw, &num);
		own.entries += num;
		done->delta.entries += own.entries;
		done->delta.least += (own.entries + PM_LFT_BLOCK - 1) / PM_LFT_BLOCK;
		done->delta.switches += own.entries != 0;
	}
}

void ahead_find(const struct pm_stale_input *input, const struct pm_stale *stale,
		struct pm_steps *steps, struct ahead *done)
{
	*done = (struct ahead){.sent = 0};
	if (pm_steps_make(input, stale, steps)) {
		done->gave_up = "out of memory";
		return;
	}
	if (!steps->num)
		return;
	count_stale(input, stale, done);
	done->lids = steps->lids;
	done->twice = steps->twice;
}

void ahead_send(const struct ahead_subject *subject, struct pm_steps *steps,
		struct ahead *done)
{
	uint32_t from = 0, end;

	for (; from < steps->num && !done->gave_up && !osm_exit_flag; from = end) {
		struct step step = {subject, steps->sets + from, done};

		for (end = from;
		     end < steps->num && steps->sets[end].step == steps->sets[from].step;
		     end++)
			;
		send_step(&step, end - from);
	}
	pm_steps_free(steps);
}
