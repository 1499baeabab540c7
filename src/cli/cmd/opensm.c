/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the installed OpenSM and the plugin's library, and their versions. */
#include "opensm.h"

#include "output.h"
#include "text.h"

#include <portmajor/memory/xalloc.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OTHER_FOLDERS "/usr/sbin:/usr/local/sbin:/sbin"
#define BUILT_FOR "portmajor built for " /* also in engine/plugin.c */
#define MAX_VERSION 64
#define NO_MEMORY 126			/* exit status of a child; so is 127 */
#define REFUSED "cannot be preloaded (" /* words of the dynamic linker */

char *opensm_find(void)
{
	const char *path = getenv("PATH");
	char *folders = cli_text_make("%s:%s", path ? path : "", OTHER_FOLDERS);
	char *rest = folders, *folder, *program = NULL;

	while (!program && (folder = strsep(&rest, ":"))) {
		if (!*folder)
			continue;
		program = cli_text_make("%s/opensm", folder);
		if (access(program, X_OK)) {
			free(program);
			program = NULL;
		}
	}
	free(folders);
	return program;
}

/* In the child: runs the program, with both its streams to the pipe. */
static void become(char *const argv[], char *const variables[], int out)
{
	int in = open("/dev/null", O_RDONLY);

	for (size_t i = 0; variables && variables[i]; i++)
		if (putenv(variables[i]))
			_exit(NO_MEMORY);
	if (in >= 0 && dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(out, 2) >= 0)
		execv(argv[0], argv);
	_exit(127);
}

/*
 * Runs a program with further environment variables; *output is its output, which the
 * caller frees. -EIO: the program failed.
 */
static int run_program(char *const argv[], char *const variables[], char **output,
		       struct pm_error *err)
{
	size_t size = 0;
	int ends[2], wstatus = 0;
	char *text = NULL;
	FILE *from;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return pm_error_set(err, -errno, "%s", strerror(errno));
	pid = fork();
	if (pid == 0)
		become(argv, variables, ends[1]);
	close(ends[1]);
	from = fdopen(ends[0], "r");
	if (from) {
		errno = 0;
		if (getdelim(&text, &size, '\0', from) < 0) {
			free(text);
			text = errno ? NULL : strdup("");
		}
		fclose(from);
	} else {
		close(ends[0]);
	}
	if (pid > 0)
		waitpid(pid, &wstatus, 0);
	if (!text || (WIFEXITED(wstatus) && WEXITSTATUS(wstatus) == NO_MEMORY)) {
		free(text);
		return pm_error_no_memory(err);
	}
	if (pid < 0 || wstatus) {
		free(text);
		return pm_error_set(err, -EIO, "%s cannot be run", argv[0]);
	}
	*output = text;
	return 0;
}

int opensm_version(const char *program, char **version, struct pm_error *err)
{
	char *argv[] = {(char *)(uintptr_t)program, "--version", NULL};
	char *output, *rest, *line;
	int rc = run_program(argv, NULL, &output, err);

	if (rc)
		return rc;
	rc = -EBADMSG;
	rest = output;
	while (rc && (line = strsep(&rest, "\n"))) {
		if (strncmp(line, "OpenSM ", 7))
			continue;
		*version = strdup(line);
		rc = *version ? 0 : -ENOMEM;
	}
	free(output);
	return rc ? pm_error_set(err, rc, "%s does not print its version", program) : 0;
}

int opensm_defaults(const char *program, struct pm_opensm_conf *conf,
		    struct pm_error *err)
{
	char folder[] = "/tmp/portmajor-XXXXXX", path[sizeof(folder) + 16];
	char *argv[] = {(char *)(uintptr_t)program, "-c", path, NULL};
	char *output = NULL;
	int rc;

	if (!mkdtemp(folder))
		return pm_error_set(err, -errno, "%s: %s", folder, strerror(errno));
	snprintf(path, sizeof(path), "%s/opensm.conf", folder);
	rc = run_program(argv, NULL, &output, err);
	if (!rc)
		rc = pm_opensm_conf_read(path, conf, err);
	unlink(path);
	rmdir(folder);
	free(output);
	return rc;
}

/* Copies the text from `from` up to one of these characters. */
static char *copy_until(const char *from, const char *ends)
{
	char *copy = strndup(from, strcspn(from, ends));

	if (!copy)
		pm_no_memory();
	return copy;
}

/* Reads a line of the dynamic linker. */
static void read_trace(const char *line, const char *name, struct opensm_library *library)
{
	const char *at = line + strspn(line, " \t"), *arrow = strstr(at, " => ");
	size_t length = strlen(name);

	if (arrow && !strncmp(arrow, " => not found", 13) && !library->missing) {
		library->missing = copy_until(at, " ");
	} else if (arrow && (size_t)(arrow - at) == length &&
		   !strncmp(at, name, length) && !library->path) {
		library->path = copy_until(arrow + 4, " ");
	} else if (strstr(at, name) && strstr(at, REFUSED) && !library->reason) {
		library->reason = copy_until(strstr(at, REFUSED) + strlen(REFUSED), ")");
	} else if (!strncmp(at, "undefined symbol: ", 18) && strstr(at, name) &&
		   !library->symbol) {
		library->symbol = copy_until(at + 18, " \t,");
	}
}

int opensm_trace(const char *program, const char *name, struct opensm_library *library,
		 struct pm_error *err)
{
	const char *before = getenv("LD_PRELOAD");
	char *argv[] = {(char *)(uintptr_t)program, NULL};
	char *preload, *output, *rest, *line;
	int rc;

	if (asprintf(&preload, "LD_PRELOAD=%s %s", before ? before : "", name) < 0)
		return pm_error_no_memory(err);
	char *variables[] = {"LD_TRACE_LOADED_OBJECTS=1", "LD_WARN=yes",
			     "LD_BIND_NOW=yes", preload, NULL};

	rc = run_program(argv, variables, &output, err);
	free(preload);
	if (rc)
		return rc;
	*library = (struct opensm_library){0};
	for (rest = output; (line = strsep(&rest, "\n"));)
		read_trace(line, name, library);
	free(output);
	return 0;
}

void opensm_library_free(struct opensm_library *library)
{
	free(library->path);
	free(library->reason);
	free(library->missing);
	free(library->symbol);
	*library = (struct opensm_library){0};
}

/* Finds the text after the mark in a file; NULL: *rc has the reason. */
static char *find_mark(FILE *file, int *rc)
{
	char version[MAX_VERSION];
	size_t matched = 0, length = 0;
	int c;

	while (BUILT_FOR[matched] && (c = getc(file)) != EOF) {
		/* Only the mark's first letter is a p: a new match begins there. */
		if (c == BUILT_FOR[matched])
			matched++;
		else
			matched = c == BUILT_FOR[0];
	}
	*rc = -ENOENT;
	if (BUILT_FOR[matched])
		return NULL;
	*rc = -ENOMEM;
	while (length < sizeof(version) - 1 && (c = getc(file)) >= ' ' && c < 0x7f)
		version[length++] = (char)c;
	version[length] = '\0';
	return strdup(version);
}

int opensm_built_for(const char *path, char **version, struct pm_error *err)
{
	FILE *file = fopen(path, "r");
	char *found;
	int rc;

	if (!file)
		return pm_error_set(err, -errno, "%s: %s", path, strerror(errno));
	found = find_mark(file, &rc);
	fclose(file);
	if (!found)
		return pm_error_set(err, rc, "%s: not the plugin", path);
	*version = found;
	return 0;
}
