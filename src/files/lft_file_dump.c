/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads tables from ibsim's Dump: every entry of the simulated switches. */
#include "lft_file_parts.h"

/* The node being read. */
struct node {
	bool is_switch;
	uint64_t guid, lid, lmc; /* of the switch itself, or of the port */
};

static int begin_node(struct lft_reader *r, const struct dump_line *line,
		      struct node *node)
{
	*node = (struct node){.is_switch = line->type == PM_SWITCH};
	r->current = LFT_NO_TABLE;
	return node->is_switch ? lft_begin(r, line->guid, 0, line->id) : 0;
}

/* Sets the top of a table; the switch uses no entry above it. */
static int set_top(struct lft_reader *r, const struct dump_line *line)
{
	struct pm_lft_switch *sw = &r->lfts->switches[r->current];

	if (sw->top)
		return pm_lexer_fail(&r->lexer, "a second FDBtop");
	if (pm_lft_grow(sw, (uint32_t)line->number))
		return pm_error_no_memory(r->lexer.err);
	sw->top = (uint16_t)line->number;
	return 0;
}

static int add_entries(struct lft_reader *r, const struct dump *dump,
		       struct pm_text entries)
{
	const uint16_t top = r->lfts->switches[r->current].top;
	uint64_t lid;
	uint8_t port;
	int more, rc = 0;

	while (!rc && (more = dump_take_entry(dump, &entries, &lid, &port)))
		rc = more < 0 ? more : lid <= top ? lft_set(r, (uint32_t)lid, port) : 0;
	return rc;
}

/* A port without a cable keeps its old LID, which another port may have by now. */
static int add_owner(struct lft_reader *r, const struct dump_line *line,
		     struct node *node)
{
	int rc = 0;

	if (!node->is_switch || !line->number) {
		node->guid = line->guid;
		node->lid = line->lid;
		node->lmc = line->lmc;
	}
	if (pm_text_is_empty(line->peer) || !node->lid)
		return 0;
	if (!node->guid)
		return pm_lexer_fail(&r->lexer, "a port with GUID 0");
	if (node->is_switch)
		r->lfts->switches[r->current].lid = (uint16_t)node->lid;
	for (uint64_t k = 0; k < 1u << node->lmc && node->lid + k <= PM_MAX_LID && !rc;
	     k++)
		rc = lft_own(r, (uint32_t)(node->lid + k), node->guid);
	if (line->sm_lid)
		r->lfts->sm_lid = (uint16_t)line->sm_lid;
	return rc;
}

static int take_line(struct lft_reader *r, const struct dump *dump,
		     const struct dump_line *line, struct node *node)
{
	switch (line->kind) {
	case DUMP_NODE:
		return begin_node(r, line, node);
	case DUMP_TOP:
		return node->is_switch ? set_top(r, line) : 0;
	case DUMP_ENTRIES:
		return node->is_switch ? add_entries(r, dump, line->rest) : 0;
	case DUMP_PORT:
		return add_owner(r, line, node);
	case DUMP_OTHER:
		break;
	}
	return 0;
}

int lft_dump_read(struct lft_reader *r)
{
	struct dump dump = {.lexer = &r->lexer};
	struct dump_line line;
	struct node node = {.is_switch = false};
	int more, rc = 0;

	r->lfts->whole = true;
	while (!rc && (more = dump_next(&dump, &line)))
		rc = more < 0 ? more : take_line(r, &dump, &line, &node);
	return rc;
}
