/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes tables that were read, and describes them. */
#include "tables_file.h"

#include <portmajor/files/lft_file.h>
#include <portmajor/json/values.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The file ---- */

static uint64_t guid_of(const struct table_read *read)
{
	return cl_ntoh64(read->key);
}

static void print_readings(const struct tables_read *read, FILE *out)
{
	for (uint32_t i = 0; i < read->num; i++) {
		const struct table_read *one = &read->list[i];

		if (one->reading == TABLE_READ)
			pm_lfts_write_plain(guid_of(one), one->lid, one->name, one->table,
					    one->length, out);
	}
}

/* Makes a new file. -errno. */
static int print_new(const struct tables_read *read, const char *path)
{
	int fd, rc = 0;
	FILE *out;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out) {
		rc = -errno;
		if (fd >= 0)
			close(fd);
		return rc;
	}
	print_readings(read, out);
	errno = 0;
	if (ferror(out) || fflush(out) || fchmod(fd, 0644))
		rc = errno ? -errno : -EIO;
	if (fclose(out) && !rc)
		rc = errno ? -errno : -EIO;
	return rc;
}

/*
 * Without the text in memory, which may be long, and without fsync: the file is of use to
 * the command that waits for it.
 */
static int replace_tables(const struct tables_read *read, const char *path,
			  struct pm_error *err)
{
	char *new;
	int rc = asprintf(&new, "%s.new", path) < 0 ? -ENOMEM : 0;

	if (rc)
		return pm_error_no_memory(err);
	rc = print_new(read, new);
	if (!rc && rename(new, path))
		rc = -errno;
	if (rc) {
		unlink(new);
		pm_error_set(err, rc, "%s: %s", path, strerror(-rc));
	}
	free(new);
	return rc;
}

bool tables_file_remove(struct store *store)
{
	char *path = store_path(store, "tables"), *new;

	if (!path)
		return false;
	unlink(path);
	if (asprintf(&new, "%s.new", path) >= 0) {
		unlink(new);
		free(new);
	}
	free(path);
	return true;
}

/* ---- The description ---- */

static json_t *list_differing(const struct tables_read *read)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < read->num; i++) {
		const struct table_read *one = &read->list[i];

		if (one->reading == TABLE_READ && one->blocks)
			list = pm_json_append(
				list,
				json_pack("{s:o, s:o, s:I, s:I}", "guid",
					  pm_json_guid(guid_of(one)), "name",
					  pm_json_text(one->name), "blocks",
					  (json_int_t)one->blocks, "lid",
					  (json_int_t)one->first_block * PM_LFT_BLOCK));
	}
	return list;
}

static json_t *list_silent(const struct tables_read *read)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < read->num; i++) {
		const struct table_read *one = &read->list[i];

		if (one->reading == TABLE_SILENT)
			list = pm_json_append(list,
					      json_pack("{s:o, s:o}", "guid",
							pm_json_guid(guid_of(one)),
							"name", pm_json_text(one->name)));
	}
	return list;
}

static json_int_t count_read(const struct tables_read *read)
{
	json_int_t count = 0;

	for (uint32_t i = 0; i < read->num; i++)
		count += read->list[i].reading == TABLE_READ;
	return count;
}

json_t *tables_file_write(const struct tables_read *read, struct store *store)
{
	struct pm_error err = {""};
	char *path = store_path(store, "tables");

	if (read->failed)
		pm_error_set(&err, 0, "%s", read->failed);
	else if (!path)
		pm_error_set(&err, 0, "OpenSM's folder cannot be written");
	else
		replace_tables(read, path, &err);
	free(path);
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:f, s:b, s:o, s:o, s:o}", "number",
			 (json_int_t)read->number, "time", (json_int_t)read->time,
			 "switches", (json_int_t)read->num, "read", count_read(read),
			 "blocks", (json_int_t)read->sent, "milliseconds",
			 read->milliseconds, "changing", read->changing, "error",
			 pm_json_filled(err.text), "differing", list_differing(read),
			 "unanswered", list_silent(read));
}
