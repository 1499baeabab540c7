/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lines of a terminal between those of a netlist: shell prompts, and messages that a tool
 * wrote to the same place. Only lines that no format has: a defect in a line stays an
 * error. They become comments, which all formats have, and keep their numbers.
 */
#include "netlist_parts.h"

#include <portmajor/base/alloc.h>

#include <inttypes.h>

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

/* Takes `sm-1.site`; false: there is none. */
static bool take_name(struct pm_text *text)
{
	const char *start = text->at;

	while (text->at < text->end && is_name_byte(*text->at))
		text->at++;
	return text->at > start;
}

/* Whether a `#`, `$`, `>` or `%` ends the prompt, before any quote. */
static bool has_sign(struct pm_text text)
{
	for (const char *at = text.at; at < text.end && *at != '"'; at++)
		if (strchr("#$>%", *at))
			return at + 1 == text.end || at[1] == ' ';
	return false;
}

/* `[root@sm ~]# `, `root@sm:~# `, `sm:~ # `, `$ ` and ibsim's `sim> `, with a command. */
static bool is_prompt(struct pm_text line)
{
	bool bracket = pm_text_next_is(line, '[');

	if (pm_text_starts(line, "$ ") || pm_text_starts(line, "sim>"))
		return true;
	line.at += bracket;
	if (!take_name(&line))
		return false;
	if (pm_text_next_is(line, '@')) {
		line.at++;
		return take_name(&line) && (!bracket || pm_text_find(line, ']')) &&
		       has_sign(line);
	}
	return !bracket && (pm_text_starts(line, ":~") || pm_text_starts(line, ":/")) &&
	       has_sign(line);
}

/* `src/query_smp.c:199; umad (..) bad status 110; Connection timed out` */
static bool is_source_line(struct pm_text line)
{
	struct pm_text word;
	uint64_t number;

	return pm_text_take_word(&line, &word) && pm_text_skip_past(&word, ".c:") &&
	       !pm_text_take_digits(&word, 10, &number) && pm_text_is(word, ";");
}

/* `ibwarn: [6931] ..`, `-W- ..`, `/usr/sbin/iblinkinfo: iberror: ..` */
static bool is_message(struct pm_text line)
{
	static const char *const words[] = {
		"ibwarn:", "iberror:", "ibpanic:", "ibdebug:", "-W-", "-E-", "-I-"};
	struct pm_text rest = line, word;

	for (int i = 0; i < 2 && pm_text_take_word(&rest, &word); i++) {
		for (size_t k = 0; k < sizeof(words) / sizeof(*words); k++)
			if (pm_text_is(word, words[k]))
				return true;
		if (word.end[-1] != ':')
			break;
	}
	return is_source_line(line);
}

static bool is_foreign(struct pm_text line)
{
	return !pm_text_is_empty(line) && *line.at != '#' &&
	       (is_prompt(line) || is_message(line));
}

int netlist_comment_foreign(struct netlist *n, char **copy)
{
	struct pm_text all = n->lexer.rest, line, first = {NULL, NULL};
	struct pm_lexer lexer = {.rest = all};
	uint32_t count = 0, first_line = 0;

	while (pm_lexer_next(&lexer, &line)) {
		if (!is_foreign(line))
			continue;
		if (!count++) {
			first = line;
			first_line = lexer.line;
			*copy = malloc(pm_text_length(all));
			if (!*copy)
				return pm_error_no_memory(n->lexer.err);
			memcpy(*copy, all.at, pm_text_length(all));
		}
		(*copy)[line.at - all.at] = '#';
	}
	if (!count)
		return 0;
	netlist_note(n, first_line,
		     "lines of a shell or of a tool's messages, which are ignored: "
		     "%" PRIu32 ", such as \"%.*s\"",
		     count, PM_SHOWN(first));
	n->lexer.rest = (struct pm_text){*copy, *copy + pm_text_length(all)};
	return 0;
}
