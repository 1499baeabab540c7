/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Findings by kind and as text. */
#include "judge_parts.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const names[PM_FINDING_KINDS] = {
	[PM_FOUND_UNKNOWN_SWITCH] = "unknown-switch",
	[PM_FOUND_NO_TABLE] = "no-table",
	[PM_FOUND_NO_LID] = "no-lid",
	[PM_FOUND_DUPLICATE_LID] = "duplicate-lid",
	[PM_FOUND_OTHER_LID] = "other-lid",
	[PM_FOUND_UNKNOWN_PORT] = "unknown-port",
	[PM_FOUND_NO_SUCH_PORT] = "no-such-port",
	[PM_FOUND_LOST] = "lost",
	[PM_FOUND_LOOP] = "loop",
	[PM_FOUND_TURN] = "turn",
	[PM_FOUND_MISROUTED] = "misrouted",
	[PM_FOUND_UNREACHABLE] = "unreachable",
	[PM_FOUND_SM] = "sm",
	[PM_FOUND_LOOPS] = "loops",
	[PM_FOUND_CREDIT_LOOP] = "credit-loop",
	[PM_FOUND_MFT_LOOP] = "multicast-loop",
	[PM_FOUND_MFT_TWICE] = "multicast-twice",
	[PM_FOUND_MFT_MISSED] = "multicast-missed",
	[PM_FOUND_MFT_STRANGER] = "multicast-stranger",
	[PM_FOUND_MFT_NOWHERE] = "multicast-nowhere",
	[PM_FOUND_BALANCE] = "balance",
	[PM_FOUND_UNKNOWN_LID] = "unknown-lid",
	[PM_FOUND_NO_PLAN] = "no-plan",
	[PM_FOUND_LID_OUT_OF_PLAN] = "lid-out-of-plan",
	[PM_FOUND_ENTRY_OUT_OF_PLAN] = "entry-out-of-plan",
};

const char *pm_finding_name(enum pm_finding_kind kind)
{
	return names[kind];
}

void judge_find(struct judge *j, enum pm_finding_kind kind, uint64_t count,
		const char *format, ...)
{
	struct pm_finding *finding = &j->found.findings[j->found.num_findings];
	va_list args;

	if (!count)
		return;
	j->found.num_findings++;
	finding->kind = kind;
	finding->count = count;
	va_start(args, format);
	vsnprintf(finding->text, PM_FINDING_TEXT, format, args);
	va_end(args);
}
