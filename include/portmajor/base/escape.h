/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ways out for text from outside: names of nodes, neighbours' names from LLDP, words
 * of files and of command lines. Such text stays as it came until it leaves the program;
 * there each way has one function, which makes it harmless. JSON has pm_json_text
 * (json/values.h). In place of what a way cannot have, readers see "?".
 */
#ifndef PORTMAJOR_ESCAPE_H
#define PORTMAJOR_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PM_NO_CHARACTER UINT32_MAX

/*
 * Takes a character off UTF-8 text, which has at least one byte before its NUL. Returns
 * its code point; PM_NO_CHARACTER for one byte that begins none (also where that would be
 * overlong, a surrogate, or above U+10FFFF).
 */
uint32_t pm_utf8_take(const char **text);

/*
 * Whether a terminal obeys a character or shows nothing for it: C0, DEL and C1 controls,
 * line separators, changes of the direction of writing, default-ignorable characters,
 * noncharacters. True for PM_NO_CHARACTER.
 */
bool pm_is_hidden(uint32_t character);

/*
 * Terminals (standard output and error), and lines of OpenSM's log: hidden characters, as
 * pm_is_hidden has them, become "?". The text becomes one line, never a longer one.
 */
void pm_escape_terminal(char *text);

/* The same for a text to be printed. */
void pm_put_terminal(FILE *out, const char *text);

/* Events, syslog, and event_command's argument: bytes that are no printable ASCII become
 * "?". */
void pm_escape_ascii(char *text);

/*
 * A word of a command that somebody copies to a shell: the text, in single quotes if a
 * shell could change it. A shell makes exactly the text of it. False, with out untouched:
 * there is no such word (the text is empty, begins with "-" as options do, or has hidden
 * characters or U+FFFD, by which it was altered), or it has no room. The caller then
 * gives a GUID.
 */
bool pm_escape_shell(const char *text, char *out, size_t size);

/*
 * A field of comma-separated values (RFC 4180), as for a terminal; in quotes if it needs
 * them. "'" precedes a text that a spreadsheet would take for a formula: one that begins
 * with = + - or @, also in full width.
 */
void pm_put_csv(FILE *out, const char *text);

/*
 * Text inside a line of a file: netlists, tables, lists. At most `most` bytes; C0
 * controls, DEL, and bytes in `marks`, which end the text in that file's format, become
 * "?". Others stay, also those that are not UTF-8: a name is to be found again.
 */
void pm_put_field(FILE *out, const char *text, size_t most, const char *marks);

#endif
