/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Versions of the installed OpenSM and of the plugin's library. */
#ifndef PORTMAJOR_CLI_OPENSM_H
#define PORTMAJOR_CLI_OPENSM_H

#include <portmajor/files/opensm_conf.h>

#include <stdbool.h>

/*
 * The path of opensm in $PATH, or in the folders for administrators; NULL: none, or no
 * memory. The caller frees it.
 */
char *opensm_find(void);

/* Its version, as "OpenSM 3.3.23". The caller frees *version. -errno with a message. */
int opensm_version(const char *program, char **version, struct pm_error *err);

/*
 * OpenSM's configuration with all defaults, and so the keys that it knows. conf must be
 * zeroed; the caller frees it. -errno with a message.
 */
int opensm_defaults(const char *program, struct pm_opensm_conf *conf,
		    struct pm_error *err);

/*
 * How the dynamic linker would load a library into opensm, with all symbols bound at
 * once.
 */
struct opensm_library {
	char *path;    /* NULL: it cannot be loaded .. */
	char *reason;  /* .. and the reason; NULL: not known */
	char *missing; /* a library that it needs and that is missing; NULL: none */
	char *symbol;  /* an undefined symbol, or NULL */
};

/*
 * Has the dynamic linker trace the loading, without running opensm. name is as for
 * dlopen. -errno with a message. The caller frees *library with opensm_library_free.
 */
int opensm_trace(const char *program, const char *name, struct opensm_library *library,
		 struct pm_error *err);
void opensm_library_free(struct opensm_library *library);

/*
 * The version of OpenSM that a plugin's library was built for, see PLUGIN_BUILT_FOR in
 * plugins/opensm/engine/plugin.c. The caller frees *version. -ENOENT: it has none; -errno
 * of reading.
 */
int opensm_built_for(const char *path, char **version, struct pm_error *err);

#endif
