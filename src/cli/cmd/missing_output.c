/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints missing and changed parts of the state. */
#include "missing_output.h"

#include "../export/hostlist.h"
#include "json.h"
#include "output.h"
#include "text.h"

#include <portmajor/memory/xalloc.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMED 8	      /* parts in a line */
#define LEAVES 4      /* whose missing hosts are counted by leaf */
#define LONG_LIST 400 /* bytes: a longer list of nodes is not in a finding */

static bool is_kind(const json_t *part, const char *kind)
{
	return !strcmp(cli_json_text(part, "kind"), kind);
}

static bool is_acknowledged(const json_t *part)
{
	return json_is_true(json_object_get(part, "acknowledged"));
}

static bool is_behind(const json_t *part)
{
	return json_is_true(json_object_get(part, "behind"));
}

static char *make_name(int (*print)(const json_t *thing, char *text, size_t size),
		       const json_t *thing)
{
	int length = print(thing, NULL, 0);
	char *name = pm_xarray((size_t)length + 1, 1);

	print(thing, name, (size_t)length + 1);
	return name;
}

char *cli_missing_name(const json_t *part)
{
	return make_name(pm_json_missing_print, part);
}

char *cli_change_name(const json_t *change)
{
	return make_name(pm_json_change_print, change);
}

/* Names a part; a switch with the number of its hosts. */
static char *name_with_hosts(const json_t *part)
{
	char *name = cli_missing_name(part), *both;
	json_int_t hosts = is_kind(part, "switch") ? cli_json_number(part, "hosts") : 0;

	if (!hosts)
		return name;
	both = cli_text_make("%s (%" JSON_INTEGER_FORMAT " host%s)", name, hosts,
			     hosts == 1 ? "" : "s");
	free(name);
	return both;
}

/* ---- Nodes ---- */

#define LETTERS                                                                          \
	"abcdefghijklmnopqrstuvwxyz"                                                     \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ"                                                     \
	"0123456789"

/*
 * A node's name in Slurm, to be freed: the first word of its description. NULL: none, or
 * no host name; the list is made to be pasted, and a description is what a host says.
 */
static char *make_node(const char *description)
{
	size_t length = strcspn(description, " \t");

	return length && strchr(LETTERS, description[0]) &&
			       strspn(description, LETTERS "._-") >= length
		       ? strndup(description, length)
		       : NULL;
}

/* Names of hosts, and since when the first and the last one are missing. */
struct nodes {
	json_t *names;
	json_int_t from, to;
};

static void add_node(struct nodes *nodes, const char *description, json_int_t since)
{
	char *name = make_node(description);

	if (!name)
		return;
	if (!json_array_size(nodes->names) || since < nodes->from)
		nodes->from = since;
	if (since > nodes->to)
		nodes->to = since;
	json_array_append_new(nodes->names, pm_json_text(name));
	free(name);
}

/* Lists hosts that are missing and not acknowledged, also those of switches. */
static struct nodes list_missing_nodes(const json_t *missing)
{
	struct nodes nodes = {.names = json_array()};
	const json_t *part, *name;
	size_t i, k;

	json_array_foreach(json_object_get(missing, "parts"), i, part) {
		json_int_t since = cli_json_number(part, "since");

		if (is_acknowledged(part))
			continue;
		if (is_kind(part, "host"))
			add_node(&nodes, cli_json_text(part, "host"), since);
		json_array_foreach(json_object_get(part, "names"), k, name)
			add_node(&nodes, json_string_value(name), since);
	}
	return nodes;
}

static int print_nodes(FILE *out, const void *arg)
{
	const json_t *names = arg;
	size_t num = json_array_size(names);
	const char **list = pm_xarray(num + 1, sizeof(*list));

	for (size_t i = 0; i < num; i++)
		list[i] = json_string_value(json_array_get(names, i));
	cli_hostlist_print(out, list, (uint32_t)num);
	free(list);
	return 0;
}

char *cli_missing_nodes(const json_t *missing)
{
	struct nodes nodes = list_missing_nodes(missing);
	char *text = json_array_size(nodes.names)
			     ? cli_text_make_by(print_nodes, nodes.names)
			     : NULL;

	json_decref(nodes.names);
	return text;
}

static void print_nodes_line(const json_t *missing)
{
	struct nodes nodes = list_missing_nodes(missing);

	if (json_array_size(nodes.names)) {
		fputs("nodes       ", stdout);
		print_nodes(stdout, nodes.names);
		fputs(" since ", stdout);
		cli_text_date(stdout, nodes.from);
		if (nodes.to != nodes.from) {
			fputs(" to ", stdout);
			cli_text_date(stdout, nodes.to);
		}
		putchar('\n');
	}
	json_decref(nodes.names);
}

/* ---- Text ---- */

/* What is missing and not acknowledged, in numbers. */
struct sums {
	size_t named;			 /* switches and links beside present ones */
	json_int_t hosts;		 /* that are parts */
	json_int_t behind, behind_hosts; /* switches, and their hosts */
	json_int_t from, to; /* since when the first and last are missing .. */
	bool any;	     /* .. if any is listed */
	const json_t *host;  /* one of the hosts */
	json_t *leaves;	     /* {leaf: its hosts} */
};

/* Counts a host, also at its leaf. */
static void add_host(struct sums *sums, const json_t *part)
{
	const json_t *ends = json_object_get(part, "ends");
	const json_t *leaf = json_array_get(ends, json_array_size(ends) - 1);
	const char *name = cli_json_label(leaf);

	sums->hosts++;
	sums->host = part;
	if (json_is_true(json_object_get(leaf, "host")))
		return;
	name = name && *name ? name : cli_json_text(leaf, "guid");
	json_object_set_new(sums->leaves, name,
			    json_integer(cli_json_number(sums->leaves, name) + 1));
}

static struct sums add_up(const json_t *missing)
{
	struct sums sums = {.leaves = json_object()};
	const json_t *part;
	size_t i;

	json_array_foreach(json_object_get(missing, "parts"), i, part) {
		json_int_t since = cli_json_number(part, "since");

		if (is_acknowledged(part))
			continue;
		sums.from = !sums.any || since < sums.from ? since : sums.from;
		sums.to = !sums.any || since > sums.to ? since : sums.to;
		sums.any = true;
		if (is_behind(part)) {
			sums.behind += is_kind(part, "switch");
			sums.behind_hosts += cli_json_number(part, "hosts");
		} else if (is_kind(part, "host")) {
			add_host(&sums, part);
		} else {
			sums.named++;
		}
	}
	return sums;
}

/* Names switches and links beside present ones; what others hang behind comes first. */
static void print_named(FILE *out, const json_t *missing)
{
	const json_t *part;
	size_t i, count = 0;

	json_array_foreach(json_object_get(missing, "parts"), i, part) {
		char *name;

		if (is_acknowledged(part) || is_behind(part) || is_kind(part, "host"))
			continue;
		if (count++ == NAMED) {
			fputs(", ..", out);
			return;
		}
		name = name_with_hosts(part);
		fprintf(out, "%s%s", count > 1 ? ", " : "", name);
		free(name);
	}
}

/* `20 hosts (18 of leaf15, 2 of leaf16)`; one by its name and place */
static void print_hosts(FILE *out, const struct sums *sums)
{
	const char *name;
	json_t *number;
	size_t count = 0;
	char *host;

	if (sums->hosts == 1) {
		host = cli_missing_name(sums->host);
		fputs(host, out);
		free(host);
		return;
	}
	fprintf(out, "%" JSON_INTEGER_FORMAT " hosts", sums->hosts);
	json_object_foreach(sums->leaves, name, number) {
		fputs(count ? ", " : " (", out);
		if (count++ == LEAVES) {
			fputs("..", out);
			break;
		}
		fprintf(out, "%" JSON_INTEGER_FORMAT " of %s", json_integer_value(number),
			name);
	}
	fputs(count ? ")" : "", out);
}

static void print_behind(FILE *out, const struct sums *sums)
{
	fprintf(out, "; behind them %" JSON_INTEGER_FORMAT " switch%s", sums->behind,
		sums->behind == 1 ? "" : "es");
	if (sums->behind_hosts)
		fprintf(out, ", %" JSON_INTEGER_FORMAT " host%s", sums->behind_hosts,
			sums->behind_hosts == 1 ? "" : "s");
}

static void print_times(FILE *out, const struct sums *sums)
{
	fputs(", since ", out);
	cli_text_date(out, sums->from);
	if (sums->from != sums->to) {
		fputs(", the last since ", out);
		cli_text_date(out, sums->to);
	}
}

static int print_finding(FILE *out, const void *arg)
{
	const json_t *missing = arg;
	json_int_t links = cli_json_number(missing, "links");
	struct sums sums = add_up(missing);
	char *nodes = cli_missing_nodes(missing);

	fputs("missing: ", out);
	if (sums.named)
		print_named(out, missing);
	if (sums.behind)
		print_behind(out, &sums);
	if (sums.hosts) {
		fputs(sums.behind ? "; " : sums.named ? ", " : "", out);
		print_hosts(out, &sums);
	}
	if (!sums.named && !sums.hosts)
		fputs("..", out); /* beyond those that are listed */
	if (links > 1)
		fprintf(out, ", %" JSON_INTEGER_FORMAT " links", links);
	if (sums.any)
		print_times(out, &sums);
	if (nodes && strlen(nodes) < LONG_LIST && (sums.hosts != 1 || sums.named))
		fprintf(out, "; nodes %s", nodes);
	json_decref(sums.leaves);
	free(nodes);
	return 0;
}

static bool is_any_missing(const json_t *sums)
{
	return cli_json_number(sums, "switches") > 0 ||
	       cli_json_number(sums, "links") > 0 || cli_json_number(sums, "hosts") > 0;
}

char *cli_missing_finding(const json_t *missing)
{
	return is_any_missing(missing) ? cli_text_make_by(print_finding, missing) : NULL;
}

static void print_part(const json_t *part)
{
	char *name = name_with_hosts(part);

	cli_text_put(name);
	cli_text_print(part, " (since {@since}");
	fputs(is_acknowledged(part) ? ", acknowledged)" : ")", stdout);
	free(name);
}

void cli_missing_print(const json_t *missing)
{
	const json_t *total = json_object_get(missing, "total");
	const json_t *part;
	size_t i;

	if (!json_is_object(total))
		return;
	if (!is_any_missing(total)) {
		puts("missing     nothing");
		return;
	}
	cli_text_print(missing, "missing     {#total.switches|switch|switches}, "
				"{#total.links|link|links}, {#total.hosts|host|hosts}");
	json_array_foreach(json_object_get(missing, "parts"), i, part) {
		if (i == NAMED)
			break;
		fputs(i ? ", " : ": ", stdout);
		print_part(part);
	}
	puts(json_array_size(json_object_get(missing, "parts")) > NAMED ? ", .." : "");
	print_nodes_line(missing);
}

/* ---- Changes ---- */

char *cli_changed_finding(const json_t *changed, const char *kind)
{
	char *text = NULL, *both, *name;
	const json_t *change;
	size_t i, count = 0;

	json_array_foreach(json_object_get(changed, "list"), i, change) {
		if (!is_kind(change, kind) || is_acknowledged(change))
			continue;
		if (count++ > NAMED)
			continue;
		name = count > NAMED ? cli_text_make("..") : cli_change_name(change);
		both = text ? cli_text_make("%s; %s", text, name)
			    : cli_text_make("%s: %s", kind, name);
		free(name);
		free(text);
		text = both;
	}
	if (!text)
		return NULL;
	both = cli_text_make("%s (`portmajor acknowledge` if by intent)", text);
	free(text);
	return both;
}

static void print_change(const json_t *change)
{
	char *name = cli_change_name(change);

	cli_text_put(name);
	cli_text_print(change, " (since {@since})");
	free(name);
}

void cli_changed_print(const json_t *changed)
{
	const json_t *list = json_object_get(changed, "list"), *change;
	size_t i;

	if (!json_array_size(list))
		return;
	json_array_foreach(list, i, change) {
		if (i == NAMED) {
			printf("            and %zu more\n", json_array_size(list) - i);
			return;
		}
		cli_text_print(change, "{kind}");
		printf("%*s", (int)(12 - strlen(cli_json_text(change, "kind"))), "");
		print_change(change);
		putchar('\n');
	}
}
