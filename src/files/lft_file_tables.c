/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stores tables and owners of LIDs for all readers of LFT files. */
#include "lft_file_parts.h"

#include <inttypes.h>

int lft_begin(struct lft_reader *r, uint64_t guid, uint64_t lid, struct pm_text name)
{
	struct pm_lft_switch *sw;

	if (!guid)
		return pm_lexer_fail(&r->lexer, "a switch with GUID 0");
	if (lid > PM_MAX_LID)
		return pm_lexer_fail(&r->lexer, "LIDs are at most 0x%x", PM_MAX_LID);
	if (r->lfts->num_switches >= PM_MAX_NODES)
		return pm_lexer_fail(&r->lexer, "more than %d switches", PM_MAX_NODES);
	sw = pm_lfts_add(r->lfts, guid, name.at, pm_text_length(name), 0);
	if (!sw)
		return pm_error_no_memory(r->lexer.err);
	sw->line = r->lexer.line;
	sw->lid = (uint16_t)lid;
	r->current = r->lfts->num_switches - 1;
	r->entries = 0;
	return 0;
}

int lft_set(struct lft_reader *r, uint32_t lid, uint8_t port)
{
	struct pm_lft_switch *sw = &r->lfts->switches[r->current];

	if (sw->table[lid] != PM_LFT_KEEP)
		return pm_lexer_fail(&r->lexer, "a second entry for LID %" PRIu32, lid);
	sw->table[lid] = port;
	return 0;
}

int lft_own(struct lft_reader *r, uint32_t lid, uint64_t guid)
{
	struct pm_lft_owner *owner = &r->lfts->owner[lid];

	if (!owner->guid) {
		*owner = (struct pm_lft_owner){guid, r->lexer.line};
		r->lfts->num_owned++;
	}
	if (owner->guid != guid)
		return pm_lexer_fail(&r->lexer,
				     "LID %" PRIu32 " belongs to port 0x%016" PRIx64
				     ", but on line %" PRIu32 " to 0x%016" PRIx64,
				     lid, guid, owner->line, owner->guid);
	return 0;
}
