/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds LIDs with packets that return to a switch. */
#include "step.h"

#include <portmajor/base/alloc.h>

/*
 * visited[] has the number of the last walk through a switch. Walks of the present LID
 * have numbers from `first` on.
 */
struct walks {
	uint32_t *visited; /* [switch] */
	uint32_t last, first;
};

/* Follows a LID from a switch. Returns a switch of the loop it enters, or PM_NONE. */
static uint32_t walk(const struct pm_check *check, struct walks *walks, uint32_t lid,
		     uint32_t from)
{
	uint32_t sw = from, port;

	walks->last++;
	while (walks->visited[sw] < walks->first) {
		walks->visited[sw] = walks->last;
		if (take_step(check, lid, &sw, &port) != STEP_ON)
			return PM_NONE;
	}
	return walks->visited[sw] == walks->last ? sw : PM_NONE;
}

/* Counts a loop, and keeps the first one as an example. */
static void note(const struct pm_check *check, struct pm_check_loops *loops, uint32_t lid,
		 uint32_t on)
{
	uint32_t sw = on, port;

	if (loops->lids++)
		return;
	loops->lid = (uint16_t)lid;
	do {
		if (loops->length < PM_CHECK_LOOP)
			loops->loop[loops->length] = sw;
		loops->length++;
		take_step(check, lid, &sw, &port);
	} while (sw != on);
}

int pm_check_loops(const struct pm_check *check, struct pm_check_loops *loops,
		   struct pm_error *err)
{
	uint32_t num = check->fabric->num_switches, top = 0;
	struct walks walks = {.visited = pm_array(num, sizeof(uint32_t))};

	*loops = (struct pm_check_loops){.lids = 0};
	if (!walks.visited)
		return pm_error_no_memory(err);
	for (uint32_t sw = 0; sw < num; sw++)
		if (check->table[sw] && check->top[sw] > top)
			top = check->top[sw];
	for (uint32_t lid = 1; lid <= top; lid++) {
		uint32_t on = PM_NONE;

		walks.first = walks.last + 1;
		for (uint32_t sw = 0; sw < num && on == PM_NONE; sw++)
			on = walk(check, &walks, lid, sw);
		if (on != PM_NONE)
			note(check, loops, lid, on);
	}
	free(walks.visited);
	return 0;
}
