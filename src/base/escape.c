/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes text from outside harmless where it leaves. */
#include <portmajor/base/escape.h>

#include <string.h>

#define REPLACED 0xfffd /* U+FFFD stands for something that was not UTF-8 */

/* ---- Characters ---- */

uint32_t pm_utf8_take(const char **text)
{
	static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
	const unsigned char *at = (const unsigned char *)*text;
	uint32_t lead = *at++, character;
	unsigned int more = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;

	++*text;
	if (lead < 0x80)
		return lead;
	if (lead < 0xc2 || lead > 0xf4)
		return PM_NO_CHARACTER;
	character = lead & (0x3fu >> more);
	for (unsigned int i = 0; i < more; i++, at++) {
		if ((*at & 0xc0) != 0x80)
			return PM_NO_CHARACTER;
		character = character << 6 | (*at & 0x3f);
	}
	if (character < least[more] || character > 0x10ffff ||
	    (character >= 0xd800 && character <= 0xdfff))
		return PM_NO_CHARACTER;
	*text += more;
	return character;
}

/* In order. By Unicode 16: Cc, Zl, Zp, Default_Ignorable_Code_Point and interlinear
 * annotation. */
static const struct {
	uint32_t first, last;
} hidden[] = {
	{0x0000, 0x001f}, {0x007f, 0x009f},   {0x00ad, 0x00ad},	  {0x034f, 0x034f},
	{0x061c, 0x061c}, {0x115f, 0x1160},   {0x17b4, 0x17b5},	  {0x180b, 0x180f},
	{0x200b, 0x200f}, {0x2028, 0x202e},   {0x2060, 0x206f},	  {0x3164, 0x3164},
	{0xfdd0, 0xfdef}, {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},	  {0xffa0, 0xffa0},
	{0xfff0, 0xfffb}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

bool pm_is_hidden(uint32_t character)
{
	if (character >= ' ' && character < 0x7f)
		return false;
	if (character > 0x10ffff || (character & 0xfffe) == 0xfffe)
		return true;
	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
		if (character <= hidden[i].last)
			return character >= hidden[i].first;
	return false;
}

/* ---- Terminals and logs ---- */

void pm_escape_terminal(char *text)
{
	const char *from = text;
	char *to = text;

	while (*from) {
		const char *begin = from;

		if (pm_is_hidden(pm_utf8_take(&from)))
			*to++ = '?';
		else
			while (begin < from)
				*to++ = *begin++;
	}
	*to = '\0';
}

void pm_put_terminal(FILE *out, const char *text)
{
	while (*text) {
		const char *begin = text;

		if (pm_is_hidden(pm_utf8_take(&text)))
			putc('?', out);
		else
			while (begin < text)
				putc(*begin++, out);
	}
}

void pm_escape_ascii(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

/* ---- Shells ---- */

/* Whether no shell changes a byte, wherever it is in a word but at its beginning. */
static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c && strchr("._:/@%+,-", c));
}

static bool is_shown(const char *text)
{
	if (!*text || *text == '-')
		return false;
	while (*text) {
		uint32_t character = pm_utf8_take(&text);

		if (character == REPLACED || pm_is_hidden(character))
			return false;
	}
	return true;
}

bool pm_escape_shell(const char *text, char *out, size_t size)
{
	size_t need = 1;
	bool plain = true;

	if (!is_shown(text))
		return false;
	for (const char *c = text; *c; c++) {
		need += *c == '\'' ? strlen("'\\''") : 1;
		plain = plain && is_plain(*c);
	}
	if (need + (plain ? 0 : strlen("''")) > size)
		return false;
	if (plain) {
		memcpy(out, text, need);
		return true;
	}
	*out++ = '\'';
	for (; *text; text++) {
		if (*text == '\'') {
			memcpy(out, "'\\'", 3);
			out += 3;
		}
		*out++ = *text;
	}
	memcpy(out, "'", 2);
	return true;
}

/* ---- Files ---- */

static bool begins_formula(const char *text)
{
	static const uint32_t wide[] = {0xff0b, 0xff0d, 0xff1d, 0xff20};
	uint32_t character;

	if (!*text)
		return false;
	character = pm_utf8_take(&text);
	for (size_t i = 0; i < sizeof(wide) / sizeof(*wide); i++)
		if (character == wide[i])
			return true;
	return character < 0x80 && strchr("=+-@", (int)character);
}

void pm_put_csv(FILE *out, const char *text)
{
	bool quoted = strpbrk(text, ",;\" ");

	if (quoted)
		putc('"', out);
	if (begins_formula(text))
		putc('\'', out);
	while (*text) {
		const char *begin = text;

		if (pm_is_hidden(pm_utf8_take(&text))) {
			putc('?', out);
			continue;
		}
		if (*begin == '"')
			putc('"', out);
		while (begin < text)
			putc(*begin++, out);
	}
	if (quoted)
		putc('"', out);
}

void pm_put_field(FILE *out, const char *text, size_t most, const char *marks)
{
	for (size_t i = 0; i < most && text[i]; i++) {
		unsigned char c = (unsigned char)text[i];

		putc(c < ' ' || c == 0x7f || strchr(marks, c) ? '?' : c, out);
	}
}
