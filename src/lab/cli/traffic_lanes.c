/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads service levels and virtual lanes for the packet engine, with the words of
 * OpenSM's options for quality of service.
 */
#include "traffic_packet.h"

#include <string.h>

#define DATA_VLS 15
#define NO_VL 15 /* in qos_sl2vl: packets of this service level are not sent */

void packet_lanes_begin(struct packet_request *request)
{
	struct pm_packet_lanes *lanes = &request->lanes;

	request->vls = 1;
	request->num_sls = 1;
	for (uint8_t i = 0; i < DATA_VLS; i++) {
		lanes->of_sl[i] = i;
		lanes->high[i] = (struct pm_packet_weight){i, i ? 0 : 4};
		lanes->low[i] = (struct pm_packet_weight){i, i ? 4 : 0};
	}
	lanes->of_sl[DATA_VLS] = 7;
	lanes->num_high = lanes->num_low = DATA_VLS;
}

int packet_take_vls(const struct cli_option *option, char *argument, void *to)
{
	unsigned long vls;

	(void)option;
	if (!cli_number(argument, 1, DATA_VLS, &vls) ||
	    (vls != DATA_VLS && (vls & (vls - 1))))
		return cli_fail(EXIT_USAGE, "--vls %s: not 1, 2, 4, 8 or 15", argument);
	*(uint32_t *)to = (uint32_t)vls;
	return EXIT_FINE;
}

/* Reads at most 16 numbers with commas; returns how many, or 0 with a message. */
static uint8_t take_list(const struct cli_option *option, char *argument, uint8_t *list)
{
	unsigned long number;
	uint8_t num = 0;
	char *part;

	while ((part = strsep(&argument, ","))) {
		if (num == PM_MAX_SLS || !cli_number(part, 0, 15, &number)) {
			cli_fail(EXIT_USAGE, "--%s: not up to 16 numbers from 0 to 15",
				 option->name);
			return 0;
		}
		list[num++] = (uint8_t)number;
	}
	return num;
}

int packet_take_sl2vl(const struct cli_option *option, char *argument, void *to)
{
	struct packet_request *request = to;

	memset(request->lanes.of_sl, 0, sizeof(request->lanes.of_sl));
	return take_list(option, argument, request->lanes.of_sl) ? EXIT_FINE : EXIT_USAGE;
}

int packet_take_sls(const struct cli_option *option, char *argument, void *to)
{
	struct packet_request *request = to;

	request->num_sls = take_list(option, argument, request->sls);
	return request->num_sls ? EXIT_FINE : EXIT_USAGE;
}

/* Reads VL:WEIGHT with commas. */
static int take_table(const struct cli_option *option, char *argument,
		      struct pm_packet_weight *table, uint32_t *num)
{
	unsigned long lane, weight;
	char *part;

	*num = 0;
	while ((part = strsep(&argument, ","))) {
		char *colon = strchr(part, ':');

		if (colon)
			*colon = '\0';
		if (*num == PM_PACKET_WEIGHTS || !colon ||
		    !cli_number(part, 0, DATA_VLS - 1, &lane) ||
		    !cli_number(colon + 1, 0, UINT8_MAX, &weight))
			return cli_fail(
				EXIT_USAGE,
				"--%s: not up to %d of VL:WEIGHT, 0 to 14 and 0 to 255",
				option->name, PM_PACKET_WEIGHTS);
		table[(*num)++] =
			(struct pm_packet_weight){(uint8_t)lane, (uint8_t)weight};
	}
	return EXIT_FINE;
}

int packet_take_high(const struct cli_option *option, char *argument, void *to)
{
	struct pm_packet_lanes *lanes = &((struct packet_request *)to)->lanes;

	return take_table(option, argument, lanes->high, &lanes->num_high);
}

int packet_take_low(const struct cli_option *option, char *argument, void *to)
{
	struct pm_packet_lanes *lanes = &((struct packet_request *)to)->lanes;

	return take_table(option, argument, lanes->low, &lanes->num_low);
}

/* Maps lanes that ports do not have to those that they have. */
static void fold(struct pm_packet_weight *table, uint32_t num, uint8_t mask)
{
	for (uint32_t i = 0; i < num; i++)
		table[i].lane &= mask;
}

int packet_lanes_end(struct packet_request *request)
{
	struct pm_packet_lanes *lanes = &request->lanes;
	uint8_t mask = request->vls == DATA_VLS ? 15 : (uint8_t)(request->vls - 1);

	lanes->num = request->vls;
	fold(lanes->high, lanes->num_high, mask);
	fold(lanes->low, lanes->num_low, mask);
	for (uint32_t i = 0; i < request->num_sls; i++)
		if (lanes->of_sl[request->sls[i]] == NO_VL)
			return cli_fail(EXIT_USAGE,
					"--sl2vl: service level %u has no lane",
					request->sls[i]);
	for (uint32_t sl = 0; sl < PM_MAX_SLS; sl++)
		lanes->of_sl[sl] = lanes->of_sl[sl] == NO_VL
					   ? 0
					   : (uint8_t)(lanes->of_sl[sl] & mask);
	for (uint32_t i = 0; i < request->num_sls; i++)
		if (lanes->num > 1 && !pm_packet_is_served(lanes, request->sls[i]))
			return cli_fail(
				EXIT_USAGE,
				"service level %u: lane %u has no weight, so that it never sends",
				request->sls[i], lanes->of_sl[request->sls[i]]);
	return EXIT_FINE;
}
