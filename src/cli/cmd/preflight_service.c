/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * portmajor preflight: finds the configuration of OpenSM's service, and whether it
 * starts. systemd reads units in /usr/lib, /run and /etc; the last ExecStart= counts.
 */
#include "preflight.h"

#include "text.h"

#include <portmajor/base/error.h>
#include <portmajor/base/textfile.h>
#include <portmajor/memory/xalloc.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_UNIT (1 << 16)

/* The file after -F or --config in a command line, for the caller to free; NULL: none. */
static char *find_config(const char *line)
{
	static const char *const options[] = {" -F ", " --config ", " --config="};

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		const char *at = strstr(line, options[i]);

		if (at) {
			at += strlen(options[i]);
			at += strspn(at, " ");
			return strndup(at, strcspn(at, " \t"));
		}
	}
	return NULL;
}

static void read_unit(struct preflight_service *service, const char *path)
{
	char *text = NULL, *rest, *line;
	struct pm_error err;

	if (pm_textfile_read_string(path, MAX_UNIT, &text, &err))
		return;
	for (rest = text; (line = strsep(&rest, "\n"));) {
		if (strncmp(line, "ExecStart=", 10) || !line[10])
			continue;
		preflight_service_free(service);
		service->conf = find_config(line);
		service->named_by = strdup(path);
		if (!service->named_by)
			pm_no_memory();
	}
	free(text);
}

/* Whether the last line PORTS= leaves no port for a subnet manager. */
static bool has_no_ports(void)
{
	char *text = NULL, *rest, *line;
	struct pm_error err;
	bool none = false;

	if (pm_textfile_read_string(PREFLIGHT_DEFAULTS, MAX_UNIT, &text, &err))
		return false;
	for (rest = text; (line = strsep(&rest, "\n"));)
		if (!strncmp(line, "PORTS=", 6))
			none = !strcmp(line + 6, "NONE") || !strcmp(line + 6, "\"NONE\"");
	free(text);
	return none;
}

void preflight_find_service(struct preflight_service *service)
{
	static const char *const patterns[] = {
		"/usr/lib/systemd/system/opensm@*.service.d/*.conf",
		"/run/systemd/system/opensm@*.service.d/*.conf",
		"/etc/systemd/system/opensm@*.service",
		"/etc/systemd/system/opensm@*.service.d/*.conf",
	};

	*service = (struct preflight_service){.disabled = has_no_ports()};
	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
		glob_t found;
		int rc = glob(patterns[i], 0, NULL, &found);

		if (rc == GLOB_NOSPACE)
			pm_no_memory();
		for (size_t k = 0; !rc && k < found.gl_pathc; k++)
			read_unit(service, found.gl_pathv[k]);
		globfree(&found);
	}
}

/* The word that ends with /killall, for the caller to free; NULL: there is none. */
static char *find_killall(const char *text)
{
	const char *end = strstr(text, "/killall"), *begin = end;

	while (begin && begin > text && !strchr(" \t\n", begin[-1]))
		begin--;
	return end ? cli_text_make("%.*s/killall", (int)(end - begin), begin) : NULL;
}

void preflight_check_rotation(struct preflight *p)
{
	char *text = NULL, *killall;
	struct pm_error err;

	if (pm_textfile_read_string(PREFLIGHT_ROTATION, MAX_UNIT, &text, &err))
		return;
	killall = find_killall(text);
	if (killall && access(killall, X_OK))
		preflight_report(
			p, false, "log",
			PREFLIGHT_ROTATION
			" needs %s, which is not there: install psmisc, or OpenSM "
			"writes on into the old file after a rotation",
			killall);
	free(killall);
	free(text);
}

void preflight_service_free(struct preflight_service *service)
{
	free(service->conf);
	free(service->named_by);
	service->conf = service->named_by = NULL;
}
