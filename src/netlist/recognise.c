/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Recognises kinds of text files by their first lines. */
#include <portmajor/netlist/recognise.h>

bool pm_text_is_lfts(struct pm_text text)
{
	struct pm_lexer lexer = {.rest = text};
	struct pm_text line = {NULL, NULL};

	while (pm_text_is_empty(line) && pm_lexer_next(&lexer, &line))
		pm_text_skip_blanks(&line);
	return pm_text_starts(line, "Unicast lids") ||
	       pm_text_starts(line, "dump_ucast_routes:");
}

bool pm_text_is_topology(struct pm_text text)
{
	static const char *const words[] = {"Switch\t", "Switch ", "Hca\t",	 "Hca ",
					    "Ca\t",	"Ca ",	   "Rt\t",	 "Rt ",
					    "{ ",	"vendid=", "switchguid", "caguid",
					    "hcaguids"};
	struct pm_lexer lexer = {.rest = text};
	struct pm_text line;

	while (pm_lexer_next(&lexer, &line)) {
		if (pm_text_starts(line, "# Topology file:"))
			return true;
		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
			if (pm_text_starts(line, words[i]))
				return true;
		pm_text_skip_blanks(&line);
		if (!pm_text_is_empty(line) && !pm_text_next_is(line, '#'))
			return false;
	}
	return false;
}
