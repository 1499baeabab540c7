/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The plugin's files: in OpenSM's cache folder, $OSM_CACHE_DIR or CLI_CACHE_DIR, there is
 * a folder portmajor.GUID for each port that OpenSM has used.
 */
#ifndef PORTMAJOR_CLI_CACHE_H
#define PORTMAJOR_CLI_CACHE_H

#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>

#define CLI_CACHE_DIR "/var/cache/opensm"

/* Behind a path that is not there. */
#define CACHE_NONE                                                                       \
	"not there: no OpenSM has run here with portmajor, or only in shadow mode"

struct cache_paths {
	char **path; /* by their GUIDs */
	uint32_t count, room;
};

/*
 * Finds the files of this name, of all fabrics. *wanted is the pattern that they match,
 * for messages. The caller frees both.
 */
void cache_find(const char *name, struct cache_paths *paths, char **wanted);
void cache_paths_free(struct cache_paths *paths);

/*
 * The path, with its folder, of a file that an operand names, or the folder that it is
 * in. The caller frees it.
 */
char *cache_file(const char *operand, const char *name);

/*
 * Whether the OpenSM that wrote this state was killed: no process holds the lock of its
 * folder, or, for users that may not open that, there is no such process. False if
 * unknown.
 */
bool cache_is_left(const char *state);

/* Whether the `pid` of a state is a number of this command's PID namespace, too. */
bool cache_has_our_pid(const json_t *root);

#endif
