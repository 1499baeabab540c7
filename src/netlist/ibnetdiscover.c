/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads ibnetdiscover's text: the line before a record has the record's GUID. */
#include "netlist_parts.h"

#include <errno.h>
#include <inttypes.h>

/*
 * Whether a line begins like one between the file's first comment and its first record. A
 * terminal's recording may have other lines before it.
 */
static bool is_attribute(struct pm_text line)
{
	static const char *const words[] = {
		"Switch",     "Ca",	    "Hca",     "Rt",	   "vendid", "devid",
		"sysimgguid", "switchguid", "caguid",  "hcaguids", "rtguid", "[",
		"@",	      "module",	    "include", "do"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (pm_text_starts(line, words[i]))
			return true;
	return false;
}

/* The text begins with comments, one of which names its kind, or ibdiagnet. */
bool ibnetdiscover_recognise(struct pm_text text)
{
	struct pm_lexer lexer = {.rest = text};
	struct pm_text line;
	bool ibdiagnet = false;

	while (pm_lexer_next(&lexer, &line)) {
		if (pm_text_starts(line, "# Topology file:"))
			return true;
		if (pm_text_starts(line, "# This database file was") &&
		    pm_text_skip_past(&line, " by IBDIAG"))
			ibdiagnet = true;
		if (is_attribute(line))
			return ibdiagnet;
	}
	return false;
}

/* `switchguid=0x5442ba00003080(5442ba00003080)` or `caguid=0x8f10403961354` */
static int parse_guid(struct netlist *n, struct pm_text rest, enum pm_node_type type)
{
	int rc;

	if (!pm_text_skip_past(&rest, "="))
		return pm_lexer_fail(&n->lexer, "no '=' before the GUID");
	rc = netlist_need_number(n, &rest, 0, "GUID", &n->guid_next[type]);
	if (rc || !pm_text_next_is(rest, '('))
		return rc;
	rest.at++;
	return netlist_need_number(n, &rest, 16, "GUID", &n->guid_bracketed);
}

/* `H-0008f10403961354` */
static bool read_id(struct pm_text id, struct netlist_peer *peer)
{
	static const struct {
		const char *start;
		enum pm_node_type type;
	} kinds[] = {{"S-", PM_SWITCH}, {"H-", PM_CA}, {"R-", PM_ROUTER}};
	size_t i = 0, count = sizeof(kinds) / sizeof(*kinds);

	while (i < count && !pm_text_starts(id, kinds[i].start))
		i++;
	if (i == count || pm_text_length(id) != strlen("S-") + 16)
		return false;
	peer->type = kinds[i].type;
	id.at += strlen(kinds[i].start);
	return !pm_text_take_digits(&id, 16, &peer->node_guid) && pm_text_is_empty(id);
}

/*
 * Reads `"H-0008f10403961354"[1](8f10403961355) # "MT23108" lid 4 4xSDR`, from the `(`
 * on. The external port's `[ext 5]` may precede it.
 */
static bool read_record_peer(const struct cable *cable, struct netlist_peer *peer)
{
	struct pm_text rest = cable->rest, after;
	uint64_t lid;

	*peer = (struct netlist_peer){0};
	if (!read_id(cable->peer, peer) || peer->type == PM_SWITCH)
		return false;
	rest = pm_text_before(rest, '#');
	if (!pm_text_skip_past(&rest, "(") ||
	    pm_text_take_digits(&rest, 16, &peer->port_guid) ||
	    !pm_text_next_is(rest, ')'))
		return false;
	rest.end = cable->rest.end;
	if (!pm_text_skip_past(&rest, "\""))
		return true;
	after = netlist_after_quotes(rest);
	if (after.at > rest.at)
		peer->name = (struct pm_text){rest.at, after.at - 1};
	if (pm_text_skip_past(&after, "lid ") && !pm_text_take_digits(&after, 10, &lid) &&
	    lid <= UINT16_MAX)
		peer->lid = dump_lid(lid);
	return true;
}

/*
 * A record's id has the node's GUID. The line before it has that, too, but a chassis'
 * GUID in ibdiagnet2.ibnetdiscover and in old versions of ibnetdiscover; in brackets
 * behind it are the node's, or the GUID of port 0.
 */
static int find_guid(struct netlist *n, struct pm_text id, enum pm_node_type type)
{
	uint64_t bracketed = n->guid_bracketed;
	struct netlist_peer own;

	n->guid_bracketed = 0;
	if (!read_id(id, &own) || own.type != type || own.node_guid == n->guid_next[type])
		return 0;
	if (bracketed && bracketed != own.node_guid)
		return pm_lexer_fail(&n->lexer,
				     "\"%.*s\" has neither of the GUIDs before it, "
				     "0x%016" PRIx64 " and 0x%016" PRIx64,
				     PM_SHOWN(id), n->guid_next[type], bracketed);
	n->guid_next[type] = own.node_guid;
	return 0;
}

int ibnetdiscover_read(struct netlist *n)
{
	n->read_peer = read_record_peer;
	n->find_guid = find_guid;
	return netlist_read_records(n, parse_guid);
}
