/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Changes of tables and links in a run of the packet engine, as JSON and as text. */
#include "json.h"
#include "packet_run.h"
#include "text.h"
#include "traffic_packet.h"

#include <stdio.h>

/* When links fail, from the beginning of the measurement; null: none fails. */
static json_t *failed_us(const struct packet_lab *lab)
{
	if (!lab->config.num_failed)
		return json_null();
	return json_real(lab->times.before ? -(double)lab->request->at / 1e6
					   : packet_us(lab, (double)lab->config.fail_at -
								    lab->config.warmup));
}

static json_t *recording_json(const struct packet_lab *lab)
{
	const struct pm_lft_trace *recording = lab->scene.recording;

	if (!lab->request->sets)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:I, s:I}", "file",
			 pm_json_text(lab->request->sets), "engine",
			 pm_json_text(recording->engine), "times",
			 pm_json_text(recording->times), "cables",
			 (json_int_t)recording->num_failed, "returned",
			 (json_int_t)recording->num_active);
}

/* When the last link returns, from the beginning of the measurement. */
static json_t *return_us(const struct pm_packet_config *config,
			 const struct packet_lab *lab)
{
	uint32_t num = config->num_returns;

	return num ? json_real(packet_us(lab, (double)config->returns[num - 1].time -
						      config->warmup))
		   : json_null();
}

json_t *traffic_replay_json(const struct packet_lab *lab)
{
	const struct pm_packet_config *config = &lab->config;
	const struct pm_replay *replay = &lab->scene.replay;

	return json_pack("{s:o, s:o, s:o, s:I, s:I, s:f}", "recording",
			 recording_json(lab), "failed_us", failed_us(lab), "return_us",
			 return_us(config, lab), "sets", (json_int_t)replay->num,
			 "sets_late", (json_int_t)replay->late, "sets_last_us",
			 (double)replay->last / 1000);
}

void traffic_replay_print(const json_t *settings)
{
	const json_t *recording = json_object_get(settings, "recording");

	if (json_is_object(recording)) {
		cli_text_print(recording,
			       "{file}: {engine}, {cables|cable has|cables have} failed");
		if (cli_json_number(recording, "returned"))
			cli_text_print(recording, ", {returned|returns|return}");
		if (json_string_length(json_object_get(recording, "times")))
			cli_text_print(recording, "; {times}");
		putchar('\n');
	}
	if (cli_json_number(settings, "sets_late"))
		cli_text_print(
			settings,
			"{sets_late|Set comes|Sets come} after the end (--time), the last "
			"{%%%sets_last_us} us after the failure; {sets} before it\n");
}
