/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the traces of LFT Sets in the package. */
#include "recordings.h"

#include "output.h"
#include "text.h"
#include "trace_check.h"

#include <portmajor/memory/xalloc.h>

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Folders ---- */

static char *join_path(const char *folder, const char *rest)
{
	return cli_text_make("%s/%s", folder, rest);
}

static bool is_kind(const char *path, mode_t kind)
{
	struct stat about;

	return !stat(path, &about) && (about.st_mode & S_IFMT) == kind;
}

/*
 * The folder of this program's installation, or of its source tree; NULL: neither exists.
 */
static char *find_folder(void)
{
	static const char *const places[] = {"../share/portmajor-lab/recordings",
					     "../../recordings"};
	char program[PATH_MAX], *slash, *path;
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

	if (length <= 0)
		return NULL;
	program[length] = '\0';
	slash = strrchr(program, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		path = join_path(program, places[i]);
		if (is_kind(path, S_IFDIR))
			return path;
		free(path);
	}
	return NULL;
}

int recordings_begin(struct recordings *recordings, const char *folder)
{
	*recordings = (struct recordings){0};
	if (folder && !is_kind(folder, S_IFDIR))
		return cli_fail(EXIT_INPUT, "%s: no folder of recordings", folder);
	recordings->folder = folder ? cli_text_make("%s", folder) : find_folder();
	return EXIT_FINE;
}

void recordings_free(struct recordings *recordings)
{
	free(recordings->folder);
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int list_folder(const char *folder, struct dirent ***list)
{
	int num = folder ? scandir(folder, list, is_visible, alphasort) : 0;

	if (num <= 0)
		*list = NULL;
	return num > 0 ? num : 0;
}

static void free_list(struct dirent **list, int num)
{
	for (int i = 0; i < num; i++)
		free(list[i]);
	free(list);
}

/* ---- Netlists ---- */

/* Prints the fabrics' names, with commas. */
static int print_fabrics(FILE *out, const void *arg)
{
	const struct recordings *recordings = arg;
	struct dirent **list;
	int num = list_folder(recordings->folder, &list);
	const char *comma = "";

	for (int i = 0; i < num; i++) {
		char *folder = join_path(recordings->folder, list[i]->d_name);

		if (is_kind(folder, S_IFDIR)) {
			fprintf(out, "%s%s", comma, list[i]->d_name);
			comma = ", ";
		}
		free(folder);
	}
	free_list(list, num);
	return 0;
}

int recordings_find_netlist(struct recordings *recordings, const char *name, char **path)
{
	char *folder, *names;

	if (access(name, F_OK) == 0) {
		*path = cli_text_make("%s", name);
		return EXIT_FINE;
	}
	if (recordings->folder && !strchr(name, '/')) {
		folder = join_path(recordings->folder, name);
		*path = join_path(folder, "fabric.net");
		free(folder);
		if (is_kind(*path, S_IFREG)) {
			recordings->fabric = name;
			return EXIT_FINE;
		}
		free(*path);
		*path = NULL;
	}
	names = cli_text_make_by(print_fabrics, recordings);
	cli_fail(EXIT_INPUT, "%s: no such file, and no fabric that was recorded (%s)",
		 name, *names ? names : "none is installed");
	free(names);
	return EXIT_INPUT;
}

/* ---- Recordings ---- */

/* Checks whether a recording is of this failure. */
static int check_recording(const char *path, const struct pm_fabric *fabric,
			   const struct pm_ports *ports, bool *same)
{
	struct pm_lft_trace *trace = NULL;
	uint8_t *wanted, *there;
	struct pm_error err;

	if (pm_lft_trace_read(path, fabric, &trace, &err))
		return cli_refuse(&err);
	wanted = lab_trace_ends(fabric, ports->list, ports->num);
	there = lab_trace_ends(fabric, trace->failed, trace->num_failed);
	*same = !memcmp(wanted, there, fabric->num_ports);
	pm_lft_trace_free(trace);
	free(wanted);
	free(there);
	return EXIT_FINE;
}

static int look_in(const char *folder, const char *file, const struct pm_fabric *fabric,
		   const struct pm_ports *ports, char **path)
{
	char *found = join_path(folder, file);
	bool same = false;
	int status = EXIT_FINE;

	if (is_kind(found, S_IFREG))
		status = check_recording(found, fabric, ports, &same);
	if (same)
		*path = found;
	else
		free(found);
	return status;
}

/* The length of an engine's name, given that or a file's name. */
static size_t engine_length(const char *name)
{
	static const char end[] = ".sets";
	size_t length = strlen(name), of_end = sizeof(end) - 1;

	return length > of_end && !strcmp(name + length - of_end, end) ? length - of_end
								       : length;
}

int recordings_find_engine(const struct recordings *recordings, const char *name,
			   const struct pm_fabric *fabric, const struct pm_ports *ports,
			   char **path)
{
	char *of_fabric, *file;
	struct dirent **list;
	int num, status = EXIT_FINE;

	*path = NULL;
	if (!recordings->fabric || strchr(name, '/'))
		return EXIT_FINE;
	of_fabric = join_path(recordings->folder, recordings->fabric);
	file = cli_text_make("%.*s.sets", (int)engine_length(name), name);
	num = list_folder(of_fabric, &list);
	for (int i = 0; i < num && !status && !*path; i++) {
		char *folder = join_path(of_fabric, list[i]->d_name);

		status = look_in(folder, file, fabric, ports, path);
		free(folder);
	}
	free_list(list, num);
	free(of_fabric);
	free(file);
	return status;
}
