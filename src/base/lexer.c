/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Takes lines and words off a text; errors name the file and the line. */
#include <portmajor/base/digit.h>
#include <portmajor/base/lexer.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define SHOWN_BYTES 64	 /* of a text in a message */
#define SHOWN_SOURCE 200 /* of the source's name */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* ---- Pieces ---- */

int pm_text_shown(struct pm_text text)
{
	size_t length = pm_text_length(text);

	return length > SHOWN_BYTES ? SHOWN_BYTES : (int)length;
}

struct pm_text pm_text_before(struct pm_text text, char c)
{
	const char *found = pm_text_find(text, c);

	return (struct pm_text){text.at, found ? found : text.end};
}

void pm_text_skip_blanks(struct pm_text *text)
{
	while (text->at < text->end && is_blank(*text->at))
		text->at++;
}

bool pm_text_skip_past(struct pm_text *text, const char *word)
{
	const char *found =
		pm_text_is_empty(*text)
			? NULL
			: memmem(text->at, pm_text_length(*text), word, strlen(word));

	if (found)
		text->at = found + strlen(word);
	return found != NULL;
}

bool pm_text_take_word(struct pm_text *text, struct pm_text *word)
{
	pm_text_skip_blanks(text);
	word->at = text->at;
	while (text->at < text->end && !is_blank(*text->at))
		text->at++;
	word->end = text->at;
	return word->at < word->end;
}

int pm_text_take_digits(struct pm_text *text, unsigned int base, uint64_t *value)
{
	uint64_t number = 0;
	const char *start;

	pm_text_skip_blanks(text);
	if ((base == 0 || base == 16) &&
	    (pm_text_starts(*text, "0x") || pm_text_starts(*text, "0X"))) {
		text->at += 2;
		base = 16;
	}
	if (base == 0)
		base = pm_text_next_is(*text, '0') ? 8 : 10;
	for (start = text->at; text->at < text->end; text->at++) {
		unsigned int digit = pm_digit_value(*text->at);

		if (digit >= base)
			break;
		if (__builtin_mul_overflow(number, base, &number) ||
		    __builtin_add_overflow(number, digit, &number))
			return -ERANGE;
	}
	if (text->at == start)
		return -EINVAL;
	*value = number;
	return 0;
}

bool pm_text_take_number(struct pm_text *text, unsigned int base, uint64_t max,
			 uint64_t *value)
{
	if (pm_text_take_digits(text, base, value) || *value > max)
		return false;
	return pm_text_is_empty(*text) || is_blank(*text->at) || *text->at == ':' ||
	       *text->at == ']' || *text->at == ')';
}

bool pm_text_take_quoted(struct pm_text *text, struct pm_text *quoted)
{
	const char *end;

	text->at++;
	end = pm_text_find(*text, '"');
	if (!end)
		return false;
	*quoted = (struct pm_text){text->at, end};
	text->at = end + 1;
	return true;
}

/* ---- Lines ---- */

struct pm_lexer pm_lexer_begin(const char *text, size_t length, const char *source,
			       int bad, struct pm_error *err)
{
	if (!length)
		text = "";
	return (struct pm_lexer){
		.source = source, .err = err, .bad = bad, .rest = {text, text + length}};
}

bool pm_lexer_next(struct pm_lexer *lexer, struct pm_text *line)
{
	if (pm_text_is_empty(lexer->rest))
		return false;
	*line = pm_text_before(lexer->rest, '\n');
	lexer->rest.at = line->end;
	if (line->end < lexer->rest.end) {
		lexer->rest.at++;
		if (line->end > line->at && line->end[-1] == '\r')
			line->end--;
	}
	lexer->line++;
	return true;
}

static int fail_at(const struct pm_lexer *lexer, uint32_t line, const char *format,
		   va_list args)
{
	size_t length = strlen(lexer->source);
	const char *source = lexer->source;
	char message[PM_ERROR_TEXT];

	/* Shortens the source's name from the left, so that the message has room. */
	if (length > SHOWN_SOURCE)
		source += length - SHOWN_SOURCE;
	vsnprintf(message, sizeof(message), format, args);
	return pm_error_set(lexer->err, lexer->bad, "%s:%" PRIu32 ": %s", source,
			    line ? line : 1, message);
}

int pm_lexer_fail(const struct pm_lexer *lexer, const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = fail_at(lexer, lexer->line, format, args);
	va_end(args);
	return rc;
}

int pm_lexer_fail_at(const struct pm_lexer *lexer, uint32_t line, const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = fail_at(lexer, line, format, args);
	va_end(args);
	return rc;
}

/* Whether any of eight bytes is a control character. May say yes wrongly, never no. */
static bool may_be_odd(const char *at)
{
	const uint64_t each = 0x0101010101010101;
	uint64_t x, y;

	memcpy(&x, at, sizeof(x));
	y = x ^ (each * 0x7f);
	return ((x - each * ' ') & ~x & (each << 7)) || ((y - each) & ~y & (each << 7));
}

int pm_lexer_check_text(const struct pm_lexer *lexer, struct pm_text line)
{
	while (line.at < line.end) {
		bool whole = line.end - line.at >= 8;
		const char *end = whole ? line.at + 8 : line.end;

		if (whole && !may_be_odd(line.at))
			line.at = end;
		for (; line.at < end; line.at++) {
			unsigned char c = (unsigned char)*line.at;

			if ((c < ' ' && c != '\t' && c != '\r') || c == 0x7f)
				return pm_lexer_fail(lexer, "not text: byte 0x%02x", c);
		}
	}
	return 0;
}
