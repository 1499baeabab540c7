/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Words of severities and kinds of events. */
#include <portmajor/files/event_kinds.h>

#include <errno.h>
#include <stddef.h>
#include <string.h>

const char *const pm_event_severities[EVENT_SEVERITIES] = {
	[EVENT_ERROR] = "error",
	[EVENT_WARNING] = "warning",
	[EVENT_NOTICE] = "notice",
	[EVENT_INFO] = "info",
};

const char *const pm_event_kinds[] = {
	"opensm",   "master",	"engine",	"repair",   "return",	 "run",
	"missing",  "returned", "acknowledged", "drained",  "undrained", "transition",
	"request",  "unset",	"set",		"held",	    "released",	 "degraded",
	"restored", "errors",	"clean",	"switch",   "files",	 "config",
	"drain",    "tables",	"deadlock",	"paths",    "traps",	 "events",
	"balance",  "shadow",	"clock",	"recabled", "moved",	 "replaced",
	"undone",   "adopted",	"flapping",	"steady",   NULL,
};

/* The bit of the kind with these first bytes. */
static uint64_t find_kind(const char *kind, size_t length)
{
	for (unsigned int i = 0; pm_event_kinds[i]; i++)
		if (strlen(pm_event_kinds[i]) == length &&
		    !strncmp(kind, pm_event_kinds[i], length))
			return UINT64_C(1) << i;
	return 0;
}

uint64_t pm_event_kind_bit(const char *kind)
{
	return find_kind(kind, strlen(kind));
}

int pm_event_severity_parse(const char *word, enum event_severity *severity)
{
	for (enum event_severity s = 0; s < EVENT_SEVERITIES; s++) {
		if (strcmp(word, pm_event_severities[s]) != 0)
			continue;
		*severity = s;
		return 0;
	}
	return -EINVAL;
}

int pm_event_kinds_parse(const char *words, uint64_t *kinds)
{
	uint64_t found = 0;

	for (;;) {
		size_t length = strcspn(words, ",");
		uint64_t bit = find_kind(words, length);

		if (!bit)
			return -EINVAL;
		found |= bit;
		if (!words[length])
			break;
		words += length + 1;
	}
	*kinds = found;
	return 0;
}
