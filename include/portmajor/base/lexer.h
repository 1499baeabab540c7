/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Splits text files into words, for their parsers. Text is read-only memory with any
 * bytes and no NUL at its end. Functions with `take` in their name remove the result from
 * the front of the text. Blanks are spaces, tabs and carriage returns.
 */
#ifndef PORTMAJOR_LEXER_H
#define PORTMAJOR_LEXER_H

#include <portmajor/base/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Part of the input: a line, the rest of a line, or a word. */
struct pm_text {
	const char *at;
	const char *end;
};

/* Two arguments for "%.*s", so that a long text leaves room for the rest of a message. */
#define PM_SHOWN(text) pm_text_shown(text), (text).at

static inline size_t pm_text_length(struct pm_text text)
{
	return (size_t)(text.end - text.at);
}

static inline bool pm_text_is_empty(struct pm_text text)
{
	return text.at == text.end;
}

static inline bool pm_text_next_is(struct pm_text text, char c)
{
	return text.at < text.end && *text.at == c;
}

static inline bool pm_text_starts(struct pm_text text, const char *word)
{
	size_t length = strlen(word);

	return pm_text_length(text) >= length && !memcmp(text.at, word, length);
}

static inline bool pm_text_is(struct pm_text text, const char *word)
{
	return pm_text_length(text) == strlen(word) && pm_text_starts(text, word);
}

/* The first c in the text, or NULL. */
static inline const char *pm_text_find(struct pm_text text, char c)
{
	return pm_text_is_empty(text) ? NULL : memchr(text.at, c, pm_text_length(text));
}

static inline bool pm_text_equal(struct pm_text a, struct pm_text b)
{
	size_t length = pm_text_length(a);

	return length == pm_text_length(b) && (!length || !memcmp(a.at, b.at, length));
}

/* By bytes, as strcmp. */
static inline int pm_text_compare(struct pm_text a, struct pm_text b)
{
	size_t x = pm_text_length(a), y = pm_text_length(b), both = x < y ? x : y;
	int order = both ? memcmp(a.at, b.at, both) : 0;

	return order ? order : x < y ? -1 : x > y;
}

int pm_text_shown(struct pm_text text);

/* The text before the first c; all of it if there is none. */
struct pm_text pm_text_before(struct pm_text text, char c);

void pm_text_skip_blanks(struct pm_text *text);

/* Moves behind the first `word` in the text. False: there is none, and nothing moves. */
bool pm_text_skip_past(struct pm_text *text, const char *word);

/* Takes blanks and the word behind them; false: only blanks. */
bool pm_text_take_word(struct pm_text *text, struct pm_text *word);

/*
 * Skips blanks, and 0x if the base is 16, and takes digits. Base 0: as in a C literal.
 * -EINVAL: no digits; -ERANGE: more than 64 bits.
 */
int pm_text_take_digits(struct pm_text *text, unsigned int base, uint64_t *value);

/*
 * Takes a number of at most max that ends at the end of a word or before one of ":])";
 * false: none.
 */
bool pm_text_take_number(struct pm_text *text, unsigned int base, uint64_t max,
			 uint64_t *value);

/* Takes quoted text; the text stands on the first quote. False: no second one. */
bool pm_text_take_quoted(struct pm_text *text, struct pm_text *quoted);

/* A file being read. */
struct pm_lexer {
	const char *source; /* in messages */
	struct pm_error *err;
	int bad;	     /* the -errno of bad content */
	uint32_t line;	     /* read last, from 1; 0: none */
	struct pm_text rest; /* the lines behind it */
};

/* Begins a text, which may be NULL if it is empty. */
struct pm_lexer pm_lexer_begin(const char *text, size_t length, const char *source,
			       int bad, struct pm_error *err);

/*
 * Takes the next line without its LF or CR LF, which the last line need not have. False:
 * there is none.
 */
bool pm_lexer_next(struct pm_lexer *lexer, struct pm_text *line);

/* Sets the message "source:LINE: ..." and returns `bad`. */
int pm_lexer_fail(const struct pm_lexer *lexer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The same for another line. */
int pm_lexer_fail_at(const struct pm_lexer *lexer, uint32_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * 0, or pm_lexer_fail if the line has control characters but tabs and carriage returns.
 */
int pm_lexer_check_text(const struct pm_lexer *lexer, struct pm_text line);

#endif
