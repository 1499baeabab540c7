/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Has a running OpenSM read the switches' tables. */
#include "check_now.h"

#include "cache.h"
#include "json.h"
#include "output.h"
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NAMED 8 /* switches named in a finding */

/* ---- The port ---- */

static bool is_folder(const struct cli_port *port, const char *folder)
{
	struct stat a, b;

	return !stat(port->folder, &a) && !stat(folder, &b) && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* Finds the master to ask. */
static int find_master(struct check_now *now, const char *folder)
{
	const struct cli_port *others = NULL;

	for (size_t i = 0; i < now->ports.num; i++) {
		const struct cli_port *port = &now->ports.list[i];

		if (folder ? !is_folder(port, folder) : !cli_port_is_master(port, false))
			continue;
		others = now->port;
		now->port = port;
	}
	if (others)
		return cli_fail(EXIT_USAGE,
				"--now: OpenSM is the master at several ports of this "
				"machine: name the folder of one, %s or %s",
				others->folder, now->port->folder);
	if (!now->ports.num)
		return cli_fail(EXIT_INPUT, "--now: %s: " CACHE_NONE, now->ports.wanted);
	if (!now->port)
		return cli_fail(
			EXIT_INPUT,
			folder ? "--now: %s: no folder of an OpenSM's port"
			       : "--now: no running OpenSM of this machine is the "
				 "master and has portmajor%.0s",
			folder ? folder : "");
	return EXIT_FINE;
}

/* ---- Reading ---- */

static int judge_answer(struct check_now *now)
{
	const json_t *answer = now->port->answer;
	const json_t *read = json_object_get(answer, "tables_read");
	const char *state = cli_json_text(answer, "state");

	if (!strcmp(state, "refused"))
		return cli_fail(EXIT_INPUT, "--now: %s", cli_json_text(answer, "reason"));
	if (!json_is_object(read) && *cli_json_text(answer, "cause"))
		return cli_fail(EXIT_INPUT, "--now: the tables were not read: %s",
				cli_json_text(answer, "cause"));
	if (!json_is_object(read))
		return cli_fail(EXIT_INPUT,
				"--now: the tables were not read within %" PRIu32
				" s, as OpenSM had other work",
				now->waits_s);
	if (json_is_string(json_object_get(read, "error")))
		return cli_fail(EXIT_INPUT, "--now: %s", cli_json_text(read, "error"));
	if (json_is_true(json_object_get(read, "changing")))
		return cli_fail(EXIT_INPUT,
				"--now: tables have changed while they were read, each "
				"time: try again when the fabric rests");
	now->read = read;
	return EXIT_FINE;
}

int check_now_read(struct check_now *now, const char *folder)
{
	int status = cli_ports_open(false, &now->ports);

	if (!status)
		status = find_master(now, folder);
	if (status)
		return status;
	for (size_t i = 0; i < now->ports.num; i++)
		if (&now->ports.list[i] == now->port)
			now->ports.list[i].request = cli_port_request("check", NULL);
	now->fabric = cli_text_make("%sfabric.net", now->port->folder);
	now->tables = cli_text_make("%stables", now->port->folder);
	if (now->port->fd < 0)
		return cli_fail(EXIT_INPUT, "--now: %scontrol: %s", now->port->folder,
				now->port->stopped ? "OpenSM does not run"
						   : "only root and the user of OpenSM "
						     "may ask");
	status = cli_ports_ask(&now->ports, now->waits_s);
	return status ? status : judge_answer(now);
}

void check_now_free(struct check_now *now)
{
	cli_ports_free(&now->ports);
	free(now->fabric);
	free(now->tables);
	*now = (struct check_now){.waits_s = now->waits_s};
}

bool check_now_is_outdated(const struct check_now *now)
{
	struct stat fabric, tables;

	if (stat(now->fabric, &fabric) || stat(now->tables, &tables))
		return false; /* reading reports it */
	return fabric.st_mtim.tv_sec > tables.st_mtim.tv_sec ||
	       (fabric.st_mtim.tv_sec == tables.st_mtim.tv_sec &&
		fabric.st_mtim.tv_nsec > tables.st_mtim.tv_nsec);
}

/* ---- Findings ---- */

/* "leaf7 (2 LFT blocks, from LID 64 on)", or "leaf7" */
static char *name_switch(const json_t *one)
{
	const char *name = cli_json_text(one, "name");
	json_int_t blocks = cli_json_number(one, "blocks");

	if (!*name)
		name = cli_json_text(one, "guid");
	if (!blocks)
		return cli_text_make("\"%s\"", name);
	return cli_text_make("\"%s\" (%" JSON_INTEGER_FORMAT
			     " LFT block%s, from LID %" JSON_INTEGER_FORMAT " on)",
			     name, blocks, blocks == 1 ? "" : "s",
			     cli_json_number(one, "lid"));
}

char *check_now_finding(const json_t *read, unsigned int kind, const char **name,
			uint64_t *count)
{
	static const struct {
		const char *name, *list, *one, *more;
	} kinds[CHECK_NOW_KINDS] = {
		[CHECK_NOT_AS_SET] = {"not-as-set", "differing", "switch has",
				      "switches have"},
		[CHECK_NO_ANSWER] = {"no-answer", "unanswered", "switch does",
				     "switches do"},
	};
	const json_t *list = json_object_get(read, kinds[kind].list);
	size_t num = json_array_size(list);
	char *text;

	*name = kinds[kind].name;
	*count = num;
	if (!num)
		return NULL;
	text = cli_text_make(
		"%zu %s %s: ", num, num == 1 ? kinds[kind].one : kinds[kind].more,
		kind == CHECK_NO_ANSWER ? "not answer, so paths through it count as lost"
					: "other entries than OpenSM has set");
	for (size_t i = 0; i < num && i < NAMED; i++) {
		char *one = name_switch(json_array_get(list, i)), *before = text;

		text = cli_text_make("%s%s%s%s", before, i ? ", " : "", one,
				     i == NAMED - 1 && num > NAMED ? ", .." : "");
		free(before);
		free(one);
	}
	return text;
}
