/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads times. */
#include "when.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *format;
	bool dated;
	long lasts; /* seconds that the text names */
} formats[] = {
	{"%Y-%m-%dT%H:%M:%S%z", true, 1}, {"%Y-%m-%dT%H:%M:%S", true, 1},
	{"%Y-%m-%d %H:%M:%S", true, 1},	  {"%Y-%m-%dT%H:%M", true, 60},
	{"%Y-%m-%d %H:%M", true, 60},	  {"%Y-%m-%d", true, 86400},
	{"%H:%M:%S", false, 1},		  {"%H:%M", false, 60},
};

/* "2h" */
static bool read_ago(const char *text, time_t now, time_t *when)
{
	static const char units[] = "smhd";
	static const long seconds[] = {1, 60, 3600, 86400};
	size_t digits = strspn(text, "0123456789");
	const char *unit = text[digits] ? strchr(units, text[digits]) : NULL;

	if (!digits || digits > 9 || !unit || text[digits + 1])
		return false;
	*when = now - strtol(text, NULL, 10) * seconds[unit - units];
	return true;
}

bool cli_when_read(const char *text, time_t now, bool end, time_t *when)
{
	struct tm today;

	if (read_ago(text, now, when))
		return true;
	if (!localtime_r(&now, &today))
		return false;
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		struct tm local = {.tm_isdst = -1};
		bool zoned = strstr(formats[i].format, "%z") != NULL;
		const char *rest;
		long east;

		if (!formats[i].dated) {
			local = today;
			local.tm_hour = local.tm_min = local.tm_sec = 0;
			local.tm_isdst = -1;
		}
		rest = strptime(text, formats[i].format, &local);
		if (!rest || *rest)
			continue;
		east = local.tm_gmtoff;
		*when = zoned ? timegm(&local) - east : mktime(&local);
		*when += end ? formats[i].lasts - 1 : 0;
		return true;
	}
	return false;
}
