/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds each OpenSM on this machine that follows requests, and writes the requests. */
#include "masters.h"

#include "cache.h"
#include "json.h"
#include "outfile.h"
#include "output.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POLL_US 100000

/* Whether this state is of an OpenSM that follows requests; root may be NULL. */
static bool is_followed(const json_t *root, const char *file, bool shadow)
{
	return json_is_true(json_object_get(root, "running")) &&
	       !strcmp(cli_json_text(root, "sm_state"), "master") &&
	       (shadow || !json_is_object(json_object_get(root, "shadow"))) &&
	       !cache_is_left(file);
}

/* Adds a master; takes over root. */
static void add_master(struct cli_masters *masters, const char *file, const char *name,
		       json_t *root)
{
	struct cli_master *master = &masters->list[masters->num++];
	int folder = (int)(strrchr(file, '/') - file);

	master->root = root;
	master->state = strdup(file);
	if (!master->state)
		cli_no_memory();
	master->request = cli_text_make("%.*s/%s", folder, file, name);
}

int cli_masters_find(const char *name, bool shadow, struct cli_masters *masters)
{
	struct cache_paths files;
	char *wanted;
	int status = EXIT_FINE;

	if (cache_find("state", &files, &wanted))
		cli_no_memory();
	*masters =
		(struct cli_masters){calloc(files.count + 1, sizeof(*masters->list)), 0};
	if (!masters->list)
		cli_no_memory();
	for (size_t i = 0; i < files.count; i++) {
		json_t *root = cli_json_load(files.path[i]);

		if (is_followed(root, files.path[i], shadow))
			add_master(masters, files.path[i], name, root);
		else
			json_decref(root);
	}
	if (!masters->num)
		status = cli_fail(
			EXIT_INPUT,
			"%s: no running OpenSM is the master and routes with portmajor",
			wanted);
	free(wanted);
	cache_paths_free(&files);
	return status;
}

void cli_masters_free(struct cli_masters *masters)
{
	for (size_t i = 0; i < masters->num; i++) {
		free(masters->list[i].state);
		free(masters->list[i].request);
		json_decref(masters->list[i].root);
	}
	free(masters->list);
}

int cli_master_request(const struct cli_master *master, pm_print *print, const void *arg)
{
	return cli_outfile_write_followed(master->request, print, arg);
}

static void renew(struct cli_master *master)
{
	json_t *root = cli_json_load(master->state);

	if (!root)
		return; /* being replaced: the next read decides */
	json_decref(master->root);
	master->root = root;
}

bool cli_masters_wait(struct cli_masters *masters, uint32_t wait_s,
		      bool (*is_done)(const struct cli_master *master, const void *arg),
		      const void *arg)
{
	for (uint64_t looks = wait_s * UINT64_C(1000000) / POLL_US;; looks--) {
		bool done = true;

		for (size_t i = 0; i < masters->num; i++) {
			bool taken = access(masters->list[i].request, F_OK) != 0;

			renew(&masters->list[i]);
			done = done && taken && is_done(&masters->list[i], arg);
		}
		if (done || !looks)
			return done;
		usleep(POLL_US);
	}
}
