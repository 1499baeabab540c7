/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes the runs of `portmajor-lab traffic` over loads and seeds, whole or as shards. */
#include "traffic_shard.h"
#include "json.h"

#include <portmajor/lab/student.h>

#include <math.h>

bool traffic_shard_has(const struct cli_shard *shard, uint32_t run)
{
	return !shard->of || run % shard->of == shard->index - 1;
}

uint32_t traffic_shard_count(const struct cli_shard *shard, uint32_t total)
{
	if (!shard->of)
		return total;
	return total < shard->index ? 0 : (total - shard->index) / shard->of + 1;
}

json_t *traffic_shard_json(json_t *object, const struct cli_shard *shard, uint32_t total,
			   uint64_t fingerprint, json_t *runs)
{
	return cli_json_join(object, json_pack("{s:{s:I, s:I, s:I, s:o}, s:o}", "shard",
					       "index", (json_int_t)shard->index, "of",
					       (json_int_t)shard->of, "total",
					       (json_int_t)total, "fingerprint",
					       pm_json_guid(fingerprint), "runs", runs));
}

int traffic_shard_check(const struct cli_shard *shard, const struct cli_output *output)
{
	return !shard->of || output->json
		       ? EXIT_FINE
		       : cli_fail(EXIT_USAGE, "--shard needs --json, for merge");
}

/* ---- Means ---- */

struct traffic_estimate traffic_estimate(const json_t *runs, const char *member,
					 const char *inner)
{
	double num = (double)json_array_size(runs), squares = 0;
	struct traffic_estimate result = {.known = num > 1};
	const json_t *run;
	size_t i;

	for (int pass = 0; pass < 2; pass++)
		json_array_foreach(runs, i, run) {
			const json_t *value = json_object_get(run, member);
			double number = json_number_value(
				inner ? json_object_get(value, inner) : value);

			if (!pass)
				result.mean += number / num;
			else
				squares +=
					(number - result.mean) * (number - result.mean);
		}
	if (result.known)
		result.half = pm_student((uint32_t)json_array_size(runs) - 1) *
			      sqrt(squares / (num - 1) / num);
	return result;
}

json_t *traffic_half_json(struct traffic_estimate estimate)
{
	return estimate.known ? json_real(estimate.half) : json_null();
}

json_t *traffic_some(const json_t *runs, size_t from, size_t num)
{
	json_t *list = json_array();

	for (size_t i = from; i < from + num; i++)
		list = pm_json_append(list, json_incref(json_array_get(runs, i)));
	return list;
}
