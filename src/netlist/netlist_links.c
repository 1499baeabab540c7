/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Widths and speeds of ports in netlists: a link has the best that both ends support.
 * Unknown words are ignored.
 */
#include "netlist_parts.h"

#include <portmajor/fabric/link.h>

#define ALL_WIDTHS 31 /* one bit each, as in PortInfo */
#define LEGACY (1u << PM_SDR | 1u << PM_DDR | 1u << PM_QDR)
#define EXTENDED                                                                         \
	(1u << PM_FDR | 1u << PM_EDR | 1u << PM_HDR | 1u << PM_NDR | 1u << PM_XDR)

/* lanes by the bits of PortInfo */
static const uint8_t lanes_of_bit[] = {1, 4, 8, 12, 2};
#define NUM_WIDTHS (sizeof(lanes_of_bit) / sizeof(lanes_of_bit[0]))

/* ---- Words ---- */

static uint8_t bit_of_lanes(uint64_t lanes)
{
	for (unsigned int i = 0; i < NUM_WIDTHS; i++)
		if (lanes_of_bit[i] == lanes)
			return (uint8_t)(1u << i);
	return 0;
}

/* As in ibsim: 4x includes 1x, 12x includes both, and a speed includes the lower ones. */
static struct netlist_link up_to(uint64_t lanes, enum pm_speed speed)
{
	uint8_t own = bit_of_lanes(lanes);
	struct netlist_link link = {.widths = own};

	if (lanes == 4 || lanes == 12)
		link.widths = (uint8_t)(own | bit_of_lanes(1) | bit_of_lanes(4));
	if (speed != PM_SPEED_UNKNOWN)
		link.speeds = (uint16_t)((2u << speed) - (1u << PM_SDR));
	return link;
}

/* `4xQDR` */
static bool take_word(struct pm_text word, struct netlist_link *link)
{
	uint64_t lanes;

	if (pm_text_take_digits(&word, 10, &lanes) || !pm_text_next_is(word, 'x'))
		return false;
	word.at++;
	*link = up_to(lanes, pm_speed_find(word.at, pm_text_length(word)));
	return true;
}

void netlist_set_link(struct netlist_link *link, struct pm_text width,
		      enum pm_speed speed)
{
	uint64_t lanes;

	if (pm_text_take_digits(&width, 10, &lanes) ||
	    !(pm_text_is(width, "x") || pm_text_is(width, "X")))
		lanes = 0;
	*link = up_to(lanes, speed);
}

/* `lid 3 4xQDR` among other words. */
static void find_word(struct pm_text text, struct netlist_link *link)
{
	struct pm_text word, next;
	uint64_t lid;

	while (pm_text_take_word(&text, &word)) {
		if (!pm_text_is(word, "lid"))
			continue;
		next = text;
		if (!pm_text_take_digits(&next, 10, &lid) &&
		    pm_text_take_word(&next, &word) && take_word(word, link))
			text = next;
	}
}

/* ---- ibsim's options, which ibnetdiscover --full writes ---- */

static void set_option(struct netlist_link *link, char option, uint64_t value)
{
	if (option == 'w' && value >= 1 && value <= ALL_WIDTHS)
		link->widths = (uint8_t)value;
	else if (option == 's' && value <= 7) /* PortInfo's 1, 2 and 4; 0 is QDR */
		link->speeds = (uint16_t)((link->speeds & ~LEGACY) |
					  (value ? value << PM_SDR : 1u << PM_QDR));
	else if (option == 'e' && value <= 15) /* likewise from FDR on */
		link->speeds = (uint16_t)((link->speeds & ~EXTENDED) | value << PM_FDR);
}

/* `w=1 s=4 e=0`: an option is the letter before a '='. */
static void find_options(struct pm_text text, struct netlist_link *link)
{
	const char *start = text.at, *sign;
	uint64_t value;

	while ((sign = pm_text_find(text, '='))) {
		text.at = sign + 1;
		if (sign > start && !pm_text_take_digits(&text, 0, &value))
			set_option(link, sign[-1], value);
	}
}

/* ---- A line ---- */

void netlist_take_default(struct pm_text line, struct netlist_link *link)
{
	static const struct {
		const char *word;
		char option;
	} words[] = {{"width", 'w'}, {"speed", 's'}, {"extspeed", 'e'}};
	uint64_t value;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (pm_text_starts(line, words[i].word) &&
		    pm_text_skip_past(&line, "=") &&
		    !pm_text_take_digits(&line, 0, &value))
			set_option(link, words[i].option, value);
}

/* The text behind the last quote: descriptions may have quotes of their own. */
struct pm_text netlist_after_quotes(struct pm_text text)
{
	const char *at = text.end;

	while (at > text.at && at[-1] != '"')
		at--;
	return (struct pm_text){at, text.end};
}

void netlist_take_link(struct pm_text rest, struct netlist_link *link)
{
	struct pm_text after = netlist_after_quotes(rest);

	find_options(pm_text_before(rest, '"'), link);
	if (after.at > rest.at)
		find_options(after, link);
	find_word(after, link);
}

/* ---- Both ends ---- */

/* The capabilities that both ends have; if one end's are unknown, the other's. */
static unsigned int common(unsigned int a, unsigned int b)
{
	return !a ? b : !b ? a : a & b;
}

uint8_t netlist_link_code(const struct netlist_link *a, const struct netlist_link *b)
{
	unsigned int widths = common(a->widths, b->widths);
	unsigned int speeds = common(a->speeds, b->speeds);
	unsigned int lanes = 0, speed = PM_SPEED_UNKNOWN;

	for (unsigned int i = 0; i < NUM_WIDTHS; i++)
		if (widths >> i & 1 && lanes_of_bit[i] > lanes)
			lanes = lanes_of_bit[i];
	for (unsigned int i = PM_SDR; i < PM_SPEEDS; i++)
		if (speeds >> i & 1)
			speed = i;
	return pm_link_code(lanes, (enum pm_speed)speed);
}

/* ---- ibsim's Dump ---- */

void netlist_take_dumped(struct pm_text rest, struct netlist_link *link)
{
	static const struct {
		const char *word;
		enum pm_speed speed;
	} words[] = {{"2.5G", PM_SDR}, {"5.0G", PM_DDR},   {"10.0G", PM_QDR},
		     {"14G", PM_FDR},  {"25G", PM_EDR},	   {"50G", PM_HDR},
		     {"100G", PM_NDR}, {"FDR10", PM_FDR10}};
	struct pm_text word, width;
	uint64_t lanes;

	while (pm_text_take_word(&rest, &word)) {
		width = word;
		if (pm_text_take_digits(&width, 10, &lanes) || !pm_text_is(width, "x") ||
		    !pm_text_take_word(&rest, &word))
			continue;
		link->widths = bit_of_lanes(lanes);
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			if (pm_text_is(word, words[i].word))
				link->speeds = (uint16_t)(1u << words[i].speed);
		return;
	}
}

/* ---- opensm-subnet.lst ---- */

void netlist_take_active(struct pm_text rest, struct netlist_link *link)
{
	static const struct {
		const char *word;
		enum pm_speed speed;
	} words[] = {{"2.5", PM_SDR},	  {"5", PM_DDR},   {"10", PM_QDR},
		     {"FDR10", PM_FDR10}, {"14", PM_FDR},  {"25", PM_EDR},
		     {"50", PM_HDR},	  {"100", PM_NDR}, {"200", PM_XDR}};
	struct pm_text word;
	uint64_t lanes;

	if (pm_text_skip_past(&rest, "PHY=") && !pm_text_take_digits(&rest, 10, &lanes))
		link->widths = bit_of_lanes(lanes);
	if (!pm_text_skip_past(&rest, "SPD=") || !pm_text_take_word(&rest, &word))
		return;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (pm_text_is(word, words[i].word))
			link->speeds = (uint16_t)(1u << words[i].speed);
}
