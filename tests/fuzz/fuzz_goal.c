/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Any bytes give messages that wait for earlier ones of their rank alone, or an error
 * with its line; see goal.h. */
#include "fuzz.h"

#include <portmajor/lab/goal.h>

static void check_message(const struct pm_goal *goal, const struct pm_goal_message *m)
{
	check(m->from < goal->ranks && m->to < goal->ranks && m->from != m->to);
	check(m->first_wait + m->num_waits <= goal->num_waits);
	for (uint32_t k = 0; k < m->num_waits; k++) {
		uint32_t on = goal->waits[m->first_wait + k].message;

		check(on < goal->num);
		check(goal->list[on].from == m->from || goal->list[on].to == m->from);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_goal *goal = NULL;
	struct pm_error err = {""};
	int rc = pm_goal_parse((const char *)data, size, "in", &goal, &err);

	if (rc) {
		check(rc == -EINVAL && !goal && !strncmp(err.text, "in:", 3));
		return 0;
	}
	check(goal->num > 0);
	for (uint32_t i = 0; i < goal->num; i++)
		check_message(goal, &goal->list[i]);
	pm_goal_free(goal);
	return 0;
}
