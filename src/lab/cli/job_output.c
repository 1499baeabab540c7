/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Describes the results of a job, as JSON and as text. */
#include "job.h"

#include "text.h"
#include "write.h"

#include <stdio.h>
#include <string.h>

#define NAME_WIDTH 20

/* ---- JSON ---- */

static json_t *ms_json(const struct packet_lab *lab, bool known, uint64_t ticks)
{
	return known ? json_real(packet_us(lab, (double)ticks) / 1000) : json_null();
}

/* `ends`: false if nothing will ever end the stall. */
static json_t *stall_json(const struct packet_lab *lab, const struct pm_stall *stall,
			  bool ends)
{
	return json_pack("{s:o, s:o, s:o}", "ms",
			 ms_json(lab, ends || !stall->lasts, stall->ticks), "from_ms",
			 ms_json(lab, true, stall->from), "host",
			 stall->host == PM_NONE
				 ? json_null()
				 : pm_json_text(scene_name(&lab->scene, stall->host)));
}

/* [ms, percent of all blocks arrived by then], at each change of either. */
static json_t *curve_json(const struct packet_lab *lab,
			  const struct pm_workload_progress *progress)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i <= PM_PROGRESS_PARTS && progress->at[i] != PM_NEVER; i++)
		list = pm_json_append(list, json_pack("[o, I]",
						      ms_json(lab, true, progress->at[i]),
						      (json_int_t)i));
	return list;
}

/* Describes a run: the job's end, its longest stall, that of a host, and its progress. */
static json_t *run_json(const struct packet_lab *lab, const struct packet_run *run)
{
	struct pm_workload_progress progress;
	uint64_t left = pm_workload_left(run->workload);
	bool ends = !left || !run->r.over;

	pm_workload_progress(run->workload, run->r.now, &progress);
	return json_pack("{s:s, s:o, s:I, s:o, s:o, s:o}", "end",
			 !left	       ? "done"
			 : run->r.over ? "stuck"
				       : "time",
			 "done_ms", ms_json(lab, !left, run->r.done), "left",
			 (json_int_t)left, "stall", stall_json(lab, &progress.all, ends),
			 "host_stall", stall_json(lab, &progress.host, ends), "curve",
			 curve_json(lab, &progress));
}

void job_add_healthy(struct job_engine *engine, const struct packet_run *run)
{
	engine->object = json_pack("{s:o}", "healthy", run_json(&engine->lab, run));
}

/* Counts the LFT Sets that arrive after the job is done. */
static uint32_t count_after(const struct packet_lab *lab, const struct packet_run *run)
{
	uint32_t num = lab->config.num_sets;

	if (pm_workload_left(run->workload))
		return 0;
	while (num && lab->config.sets[num - 1].time > run->r.done)
		num--;
	return lab->config.num_sets - num;
}

void job_add_failure(struct job_engine *engine, const struct packet_run *run,
		     json_t *point)
{
	const struct packet_lab *lab = &engine->lab;
	const struct pm_lft_trace *recording = lab->scene.recording;
	const struct pm_replay *replay = &lab->scene.replay;
	double ratio = (double)run->r.done / (double)engine->healthy;
	bool done = !pm_workload_left(run->workload);

	engine->object = cli_json_join(
		json_pack("{s:o, s:o, s:o}", "name",
			  pm_json_text(recording->engine[0] ? recording->engine
							    : engine->path),
			  "file", engine->path ? pm_json_text(engine->path) : json_null(),
			  "times", pm_json_text(recording->times)),
		engine->object);
	engine->object = cli_json_join(
		engine->object,
		json_pack("{s:o, s:o, s:I, s:{s:I, s:I, s:I, s:f}, s:o}", "failure",
			  run_json(lab, run), "ratio",
			  done ? json_real(ratio) : json_null(), "broken",
			  (json_int_t)run->r.pairs.broken, "sets", "replayed",
			  (json_int_t)(replay->num - count_after(lab, run)), "after_job",
			  (json_int_t)count_after(lab, run), "late",
			  (json_int_t)replay->late, "last_ms", (double)replay->last / 1e6,
			  "point", point));
}

/* ---- Text ---- */

/* Prints a time in a column, or the word in its place. */
static void print_ms(const json_t *object, const char *member, const char *word)
{
	const json_t *ms = json_object_get(object, member);

	if (json_is_number(ms))
		printf(" %11.3f", json_number_value(ms));
	else
		printf(" %11s", word);
}

static void print_engine(const json_t *engine)
{
	const char *name = json_string_value(json_object_get(engine, "name"));
	const json_t *failure = json_object_get(engine, "failure");
	const char *end = json_string_value(json_object_get(failure, "end"));
	size_t length = strlen(name);

	cli_text_put(name);
	printf("%*s", (int)(length < NAME_WIDTH ? NAME_WIDTH - length : 0), "");
	cli_text_print(engine, " {11%%%healthy.done_ms}");
	print_ms(failure, "done_ms", strcmp(end, "stuck") ? "-" : "never");
	cli_text_print(engine, " {8%%ratio}");
	print_ms(json_object_get(failure, "stall"), "ms", "for ever");
	print_ms(json_object_get(failure, "host_stall"), "ms", "for ever");
	cli_text_print(engine, " {9broken} {10point.dropped} {7sets.replayed}\n");
}

static void print_notes(const json_t *first, const json_t *engine)
{
	const json_t *failure = json_object_get(engine, "failure");
	const char *end = json_string_value(json_object_get(failure, "end"));
	const json_t *sets = json_object_get(engine, "sets");
	const json_t *times = json_object_get(engine, "times");

	if (!strcmp(end, "stuck"))
		cli_text_print(engine, "{name}: the job is never done: {failure.left} "
				       "messages do not arrive\n");
	if (!strcmp(end, "time"))
		cli_text_print(engine,
			       "{name}: the longest run that there can be is "
			       "over; {failure.left} messages have not arrived\n");
	if (cli_json_number(sets, "late"))
		cli_text_print(engine, "{name}: {sets.late} LFT Sets come after that, "
				       "the last {%%%sets.last_ms} ms after the failure: "
				       "what they mend is not in this row\n");
	if (cli_json_number(sets, "after_job"))
		cli_text_print(engine, "{name}: {sets.after_job|LFT Set comes|LFT Sets "
				       "come} when the job is done\n");
	if (json_string_length(times) &&
	    (first == engine || !json_equal(times, json_object_get(first, "times"))))
		cli_text_print(engine, "{name}: {times}\n");
}

static void print_head(const json_t *object)
{
	cli_text_print(object, "{fabric}, {hosts|host|hosts}: {pattern}");
	if (json_is_integer(json_object_get(object, "processes")))
		cli_text_print(object, " of {processes} processes");
	cli_text_print(object, ", {bytes} bytes");
	if (cli_json_number(object, "repeat") > 1)
		cli_text_print(object, ", {repeat} times");
	cli_text_print(object, "; {cables|cable fails|cables fail} after "
			       "{%%%at_ms} ms;\nreliable connections, time-out "
			       "{%%%timeout_ms} ms, {retries|retry|retries}\n");
	printf("%-*s %11s %11s %8s %11s %11s %9s %10s %7s\n", NAME_WIDTH, "", "healthy",
	       "done", "times", "stall", "of a host", "broken", "packets", "LFT");
	printf("%-*s %11s %11s %8s %11s %11s %9s %10s %7s\n", NAME_WIDTH, "", "ms", "ms",
	       "healthy", "ms", "ms", "connect.", "lost", "Sets");
}

static void print_engines(const json_t *object)
{
	const json_t *list = json_object_get(object, "engines"), *engine;
	size_t i;

	print_head(object);
	json_array_foreach(list, i, engine)
		print_engine(engine);
	json_array_foreach(list, i, engine)
		print_notes(json_array_get(list, 0), engine);
}

int job_print(json_t *object, const struct cli_output *output)
{
	const json_t *first = json_array_get(json_object_get(object, "engines"), 0);
	const json_t *failure = json_object_get(first, "failure");
	bool fine = json_is_number(json_object_get(failure, "done_ms")) &&
		    !cli_json_number(first, "broken");

	return lab_write(object, output, print_engines, fine ? EXIT_FINE : EXIT_FINDINGS);
}
