/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by judge.c, judge_plan.c and finding.c. */
#ifndef PORTMAJOR_CHECK_JUDGE_PARTS_H
#define PORTMAJOR_CHECK_JUDGE_PARTS_H

#include <portmajor/base/bits.h>
#include <portmajor/check/judge.h>

#define LID_WORDS ((UINT16_MAX + 1) / 64)

struct judge {
	struct pm_fabric *fabric;
	const struct pm_lfts *lfts;
	const struct pm_judge_config *config;
	const uint8_t **table;	       /* [switch] as in struct pm_check */
	uint16_t *top;		       /* [switch] likewise */
	uint8_t *level;		       /* [switch] likewise */
	uint32_t sm;		       /* likewise */
	uint64_t in_use[LID_WORDS];    /* LIDs of ports, but for found.left_out */
	uint64_t has_entry[LID_WORDS]; /* LIDs with an entry in a table */
	struct pm_plan *made;	       /* of the whole fabric, if it can be planned */
	struct pm_judgement found;
};

/* finding.c: notes a finding, unless count is 0. */
void judge_find(struct judge *j, enum pm_finding_kind kind, uint64_t count,
		const char *format, ...) __attribute__((format(printf, 4, 5)));

/*
 * judge_plan.c: makes the plan of the whole fabric, with the LMC of its ports. If there
 * is none, the reason goes to found.unplanned. -ENOMEM.
 */
int judge_make_plan(struct judge *j, struct pm_error *err);

/* judge_plan.c, the last step: compares with the plan. -ENOMEM. */
int judge_plan(struct judge *j, struct pm_error *err);

#endif
