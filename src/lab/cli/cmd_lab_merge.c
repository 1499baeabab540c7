/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor-lab merge: joins the shards of traffic to the whole. */
#include "json.h"
#include "lab_commands.h"
#include "merge.h"
#include "traffic.h"
#include "traffic_shard.h"

#include <stdio.h>
#include <string.h>

struct whole {
	json_t *head;	/* common to all shards; NULL: nothing read */
	json_t *shards; /* runs, by index of the shard */
	uint32_t of, total;
};

static bool is_traffic(const json_t *object)
{
	const char *schema = json_string_value(json_object_get(object, "schema"));

	return schema && !strcmp(schema, "portmajor-lab-traffic");
}

static json_t *make_head(json_t *object)
{
	json_t *head = json_copy(object);

	json_object_set_new(head, "shard", json_copy(json_object_get(object, "shard")));
	json_object_del(json_object_get(head, "shard"), "index");
	json_object_del(head, "runs");
	return head;
}

/* Reads which shard an object is. */
static int read_head(json_t *object, struct cli_shard *shard, uint32_t *total,
		     json_t **runs, const char *path)
{
	json_int_t index = 0, of = 0, all = 0;

	if (!is_traffic(object) ||
	    json_unpack(object, "{s:{s:I, s:I, s:I}, s:o}", "shard", "index", &index,
			"of", &of, "total", &all, "runs", runs) ||
	    of < 1 || of > INT32_MAX || index < 1 || index > of || all < 1 ||
	    all > UINT32_MAX)
		return cli_fail(
			EXIT_INPUT,
			"%s: not what portmajor-lab traffic --shard --json writes", path);
	shard->index = (uint32_t)index;
	shard->of = (uint32_t)of;
	*total = (uint32_t)all;
	if (json_array_size(*runs) == traffic_shard_count(shard, *total))
		return EXIT_FINE;
	return cli_fail(EXIT_INPUT, "%s: shard %u has %zu runs of %u", path, shard->index,
			json_array_size(*runs), traffic_shard_count(shard, *total));
}

static int add_shard(void *to, json_t *object, const char *path)
{
	struct whole *whole = to;
	struct cli_shard shard = {0};
	uint32_t total = 0;
	json_t *runs = NULL, *head;
	char index[16];
	bool same;
	int status = read_head(object, &shard, &total, &runs, path);

	if (status)
		return status;
	head = make_head(object);
	if (!whole->head) {
		whole->head = json_incref(head);
		whole->shards = json_object();
		whole->of = shard.of;
		whole->total = total;
	}
	same = json_equal(head, whole->head);
	json_decref(head);
	if (!same)
		return cli_fail(
			EXIT_INPUT,
			"%s: of another network or with other options than the files "
			"before",
			path);
	snprintf(index, sizeof(index), "%u", shard.index);
	if (json_object_get(whole->shards, index))
		return cli_fail(EXIT_INPUT, "%s: shard %u was there already", path,
				shard.index);
	json_object_set(whole->shards, index, runs);
	return EXIT_FINE;
}

static json_t *runs_of(const struct whole *whole, uint32_t index)
{
	char name[16];

	snprintf(name, sizeof(name), "%u", index);
	return json_object_get(whole->shards, name);
}

/* Checks that no shard is missing. */
static int check_whole(const struct whole *whole)
{
	size_t present = json_object_size(whole->shards);
	uint32_t first = 1;

	if (present == whole->of)
		return EXIT_FINE;
	while (runs_of(whole, first))
		first++;
	return cli_fail(EXIT_INPUT, "%zu of %u shards are missing, %u the first of them",
			whole->of - present, whole->of, first);
}

/* Prints what one run over all would print. */
static int print_whole(void *from, const struct cli_output *output)
{
	struct whole *whole = from;
	const char *engine = json_string_value(json_object_get(whole->head, "engine"));
	int status = check_whole(whole);
	json_t *object, *runs;

	if (status)
		return status;
	runs = json_array();
	for (uint32_t i = 0; i < whole->total; i++)
		runs = pm_json_append(
			runs, json_incref(json_array_get(
				      runs_of(whole, i % whole->of + 1), i / whole->of)));
	object = json_copy(whole->head);
	json_object_del(object, "shard");
	status = engine && !strcmp(engine, "flit")
			 ? traffic_flit_print(object, runs, output)
			 : traffic_packet_print(object, runs, output);
	json_decref(runs);
	return status;
}

static const struct cli_merge merge = {
	.about = "Join the N files of `portmajor-lab traffic --shard I/N --json`, of the "
		 "packet or the flit engine, and print the result of the same command "
		 "without --shard.",
	.add = add_shard,
	.print = print_whole,
};

int cmd_merge(int argc, char **argv)
{
	struct whole whole = {0};
	int status = cli_merge_run(&merge, &whole, argc, argv);

	json_decref(whole.head);
	json_decref(whole.shards);
	return status;
}
