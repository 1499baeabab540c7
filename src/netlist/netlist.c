/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Recognises the format of a netlist, and reads it. */
#include "netlist_parts.h"

#include <portmajor/base/alloc.h>
#include <portmajor/netlist/recognise.h>

#include <errno.h>

/* ibsim ignores unknown lines: a file of LFTs would be a fabric without nodes. */
static int tables_refuse(struct netlist *n)
{
	return pm_lexer_fail(&n->lexer, "these are tables, where a topology is wanted");
}

/* `Ca : 0x0000000000100005 ports 2 ..`, without cables. */
static bool nodes_recognise(struct pm_text text)
{
	static const char *const words[] = {"Switch", "Ca", "Router"};
	struct pm_text word;

	if (!pm_text_take_word(&text, &word))
		return false;
	pm_text_skip_blanks(&text);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (pm_text_is(word, words[i]))
			return pm_text_starts(text, ": 0x");
	return false;
}

static int nodes_refuse(struct netlist *n)
{
	return pm_lexer_fail(&n->lexer,
			     "these are nodes without cables, as ibnetdiscover -l "
			     "lists them; take `ibnetdiscover > FILE`");
}

/* The first format that recognises a text reads it. */
static const struct {
	bool (*recognise)(struct pm_text text);
	int (*read)(struct netlist *n);
} formats[] = {
	{ibnetdiscover_recognise, ibnetdiscover_read},
	{dump_recognise, netlist_dump_read},
	{subnet_lst_recognise, subnet_lst_read},
	{net_dump_recognise, net_dump_read},
	{ports_report_recognise, ports_report_read},
	{iblinkinfo_recognise, iblinkinfo_read},
	{nodes_recognise, nodes_refuse},
	{pm_text_is_lfts, tables_refuse},
	{ibsim_recognise, ibsim_read}, /* any text */
};

/* Skips the byte-order mark that some editors write before UTF-8. */
static int check_start(struct netlist *n)
{
	static const char *const wide[] = {"\xff\xfe", "\xfe\xff"};
	static const char utf8[] = "\xef\xbb\xbf";

	for (size_t i = 0; i < sizeof(wide) / sizeof(*wide); i++)
		if (pm_text_starts(n->lexer.rest, wide[i]))
			return pm_lexer_fail(
				&n->lexer,
				"not plain text: it starts with the byte-order mark of "
				"UTF-16; take `iconv -f UTF-16 -t UTF-8`");
	if (pm_text_starts(n->lexer.rest, utf8))
		n->lexer.rest.at += strlen(utf8);
	return 0;
}

static int read_nodes(struct netlist *n, char **copy)
{
	size_t format = 0;
	int rc = check_start(n);

	if (!rc)
		rc = netlist_comment_foreign(n, copy);
	while (!rc && !formats[format].recognise(n->lexer.rest))
		format++;
	return rc ? rc : formats[format].read(n);
}

int pm_netlist_parse_noting(const char *text, size_t length, const char *source,
			    struct pm_fabric **fabric, struct pm_netlist_notes *notes,
			    struct pm_error *err)
{
	struct netlist n = {
		.lexer = pm_lexer_begin(text, length, source, -EINVAL, err),
		.guid_base = {[PM_CA] = 0x100000, [PM_SWITCH] = 0x200000},
		.guid_next = {[PM_CA] = 0x100000, [PM_SWITCH] = 0x200000},
	};
	char *copy = NULL;
	int rc;

	if (length > PM_NETLIST_MAX_BYTES)
		return pm_error_set(err, -EFBIG, "%s: more than %zu bytes", source,
				    PM_NETLIST_MAX_BYTES);
	n.fabric = pm_fabric_new();
	if (!n.fabric)
		return pm_error_no_memory(err);
	rc = read_nodes(&n, &copy);
	if (!rc && n.read_peer)
		rc = netlist_complete(&n);
	if (!rc)
		rc = netlist_resolve(&n);
	if (!rc)
		rc = netlist_note_islands(&n);
	if (!rc)
		rc = pm_fabric_seal(n.fabric, err);
	if (!rc) {
		*fabric = n.fabric;
		n.fabric = NULL;
		if (notes)
			*notes = n.notes;
	}
	pm_fabric_free(n.fabric);
	free(n.records);
	free(n.cables);
	free(n.rows);
	free(copy);
	return rc;
}

int pm_netlist_parse(const char *text, size_t length, const char *source,
		     struct pm_fabric **fabric, struct pm_error *err)
{
	return pm_netlist_parse_noting(text, length, source, fabric, NULL, err);
}

int pm_netlist_read(const char *path, struct pm_fabric **fabric,
		    struct pm_netlist_notes *notes, struct pm_error *err)
{
	char *text = NULL;
	size_t length = 0;
	int rc = pm_textfile_read(path, &text, &length, err);

	if (!rc)
		rc = pm_netlist_parse_noting(text, length, pm_textfile_name(path), fabric,
					     notes, err);
	free(text);
	return rc;
}
