/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the source files of portmajor preflight. */
#ifndef PORTMAJOR_CLI_PREFLIGHT_H
#define PORTMAJOR_CLI_PREFLIGHT_H

#include "cache.h"
#include "opensm.h"
#include "output.h"

#include <portmajor/plan/plan.h>

#include <jansson.h>

/* The service's settings in systemd's and Debian's files. */
#define PREFLIGHT_DEFAULTS "/etc/default/opensm"
#define PREFLIGHT_ROTATION "/etc/logrotate.d/opensm"

struct preflight_service {
	char *conf, *named_by; /* opensm.conf, and the unit that names it; NULL: none */
	bool disabled;	       /* /etc/default/opensm has PORTS=NONE */
};

struct preflight {
	const char *conf_path, *netlist;
	const char *program;   /* the opensm to be used, NULL: none is known */
	char *found, *version; /* the installed opensm, and its version; or NULL */
	struct preflight_service service;
	struct pm_opensm_conf conf;
	struct pm_opensm_conf defaults; /* OpenSM's; empty: not known */
	uint8_t lmc;
	bool shadow;		    /* portmajor is not to route */
	struct pm_plan_config plan; /* that OpenSM would use */
	const char *plugin_conf;    /* portmajor.conf, if it can be used; else NULL */
	struct cache_paths files;   /* of plans .. */
	struct pm_plan **stored;    /* .. and their content; NULL: cannot be used */
	json_t *checks;		    /* NULL: print lines */
	struct cli_output output;
	unsigned int findings;
};

/* Prints a check's line, or adds it to checks, and counts findings. */
void preflight_report(struct preflight *p, bool ok, const char *what, const char *format,
		      ...) __attribute__((format(printf, 4, 5)));

/*
 * Check the names of plugins and engines: their spelling, that portmajor comes first, and
 * that another engine follows.
 */
void preflight_check_plugin_name(struct preflight *p);
void preflight_check_engines(struct preflight *p);

/* Whether another engine comes behind portmajor. */
bool preflight_has_next_engine(const struct preflight *p);

/*
 * Checks for values that OpenSM would not read as numbers or flags, options that conflict
 * with portmajor, and named files that do not exist.
 */
void preflight_check_values(struct preflight *p);

/* Checks that what Debian's rotation of OpenSM's log calls is there. */
void preflight_check_rotation(struct preflight *p);

/*
 * Finds the service's settings; the caller calls preflight_service_free. Ends the process
 * without memory.
 */
void preflight_find_service(struct preflight_service *service);
void preflight_service_free(struct preflight_service *service);

#endif
