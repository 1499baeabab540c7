/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes the discovered fabric as a netlist. */
#include "fabric_file.h"

#include <portmajor/base/hash.h>
#include <portmajor/base/print.h>
#include <portmajor/base/replace.h>
#include <portmajor/fabric/degrade.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct fabric_file {
	struct store *store;
	struct worker *writer;
	uint64_t written;	  /* hash of the written text, 0: none; the writer's */
	struct known_hosts hosts; /* the writer's */
	struct pm_fabric *now;	  /* the newest; the writer's */
	pthread_mutex_t mutex;
	struct pm_fabric *fabric; /* to write next, or NULL; under the mutex */
	bool kept;		  /* fabric_file_keep was called; under the mutex */
};

struct fabric_file *fabric_file_start(struct store *store, struct worker *writer)
{
	struct fabric_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->store = store;
	file->writer = writer;
	pthread_mutex_init(&file->mutex, NULL);
	return file;
}

void fabric_file_stop(struct fabric_file *file)
{
	if (!file)
		return;
	pm_fabric_free(file->fabric);
	pm_fabric_free(file->now);
	known_hosts_free(&file->hosts);
	pthread_mutex_destroy(&file->mutex);
	free(file);
}

/* Exchanges the fabric to write; the caller owns the result. */
static struct pm_fabric *exchange_fabric(struct fabric_file *file,
					 struct pm_fabric *fabric)
{
	struct pm_fabric *before;

	pthread_mutex_lock(&file->mutex);
	before = file->fabric;
	file->fabric = fabric;
	pthread_mutex_unlock(&file->mutex);
	return before;
}

void fabric_file_put(struct fabric_file *file, struct pm_fabric *fabric)
{
	pm_fabric_free(exchange_fabric(file, fabric));
	worker_poke(file->writer);
}

void fabric_file_keep(struct fabric_file *file)
{
	pthread_mutex_lock(&file->mutex);
	file->kept = true;
	pthread_mutex_unlock(&file->mutex);
	worker_poke(file->writer);
}

static bool take_kept(struct fabric_file *file)
{
	bool kept;

	pthread_mutex_lock(&file->mutex);
	kept = file->kept;
	file->kept = false;
	pthread_mutex_unlock(&file->mutex);
	return kept;
}

static int print_fabric(FILE *out, const void *fabric)
{
	pm_netlist_write(fabric, out);
	return 0;
}

static void write_fabric(struct fabric_file *file, const struct pm_fabric *fabric,
			 const char *path)
{
	size_t length = 0;
	char *text = NULL;
	int rc = pm_text_print(print_fabric, fabric, &text, &length);
	uint64_t hash = !rc ? pm_hash(PM_HASH_START, text, length) : 0;

	if (!rc && hash == file->written && !access(path, F_OK)) {
		free(text);
		return;
	}
	file->written = hash;
	known_hosts_learn(&file->hosts, fabric);
	if (rc || pm_replace_public(path, ".new", text, length, NULL)) {
		file->written = 0;
		unlink(path);
	}
	free(text);
}

void fabric_file_write(struct fabric_file *file)
{
	char *path = store_path(file->store, "fabric.net");
	struct pm_fabric *fabric = path ? exchange_fabric(file, NULL) : NULL;

	if (fabric) {
		pm_fabric_free(file->now);
		file->now = fabric;
	}
	if (path && take_kept(file) && access(path, F_OK))
		file->written = 0;
	if (path && file->now && (fabric || !file->written))
		write_fabric(file, file->now, path);
	free(path);
}

const struct pm_fabric *fabric_file_now(const struct fabric_file *file)
{
	return file->now;
}

const struct known_hosts *fabric_file_hosts(const struct fabric_file *file)
{
	return &file->hosts;
}
