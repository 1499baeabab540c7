/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs an operator's command for each event. */
#include "event_command.h"

#include "events.h"
#include "engine/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct event_command {
	char path[PM_CONFIG_PATH]; /* "": no command */
	pid_t pid;		   /* the running process, or 0 */
	double kill_ms;		   /* clock_ms to kill it; UINT64_MAX afterwards */
	char lines[EVENT_COMMAND_LINES][EVENT_LINE];
	unsigned int first, num; /* a ring of waiting events */
	struct pm_error logged, trouble;
};

struct event_command *event_command_start(void)
{
	return calloc(1, sizeof(struct event_command));
}

void event_command_stop(struct event_command *command)
{
	free(command);
}

void event_command_set(struct event_command *command, const char path[PM_CONFIG_PATH])
{
	snprintf(command->path, sizeof(command->path), "%s", path);
	command->logged = (struct pm_error){""};
	if (!*path)
		command->num = 0;
}

/* Logs a failure once. */
static void note_trouble(struct event_command *command, const char *what, int number)
{
	struct pm_error now;

	pm_error_set(&now, 0, "%s: %s %d", command->path, what, number);
	if (!strcmp(now.text, command->logged.text))
		return;
	command->logged = command->trouble = now;
}

void event_command_trouble(struct event_command *command, struct pm_error *err)
{
	*err = command->trouble;
	command->trouble = (struct pm_error){""};
}

void event_command_add(struct event_command *command, const char *line)
{
	unsigned int at;

	if (!command->path[0])
		return;
	if (command->num == EVENT_COMMAND_LINES) {
		note_trouble(command,
			     "does not keep up; events waiting:", EVENT_COMMAND_LINES);
		return;
	}
	at = (command->first + command->num++) % EVENT_COMMAND_LINES;
	snprintf(command->lines[at], EVENT_LINE, "%s", line);
}

/* ---- Processes ---- */

/* Closes OpenSM's files, such as devices, for the command. */
static int set_files(posix_spawn_file_actions_t *actions)
{
	int rc = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDWR, 0);

	if (!rc)
		rc = posix_spawn_file_actions_adddup2(actions, 0, 1);
	if (!rc)
		rc = posix_spawn_file_actions_adddup2(actions, 0, 2);
#if __GLIBC_PREREQ(2, 34)
	if (!rc)
		rc = posix_spawn_file_actions_addclosefrom_np(actions, 3);
#endif
	return rc;
}

/* Resets signals, and makes a process group, so that all of it can be killed. */
static int set_signals(posix_spawnattr_t *attributes)
{
	sigset_t none, all;
	int rc;

	sigemptyset(&none);
	sigfillset(&all);
	rc = posix_spawnattr_setsigmask(attributes, &none);
	if (!rc)
		rc = posix_spawnattr_setsigdefault(attributes, &all);
	if (!rc)
		rc = posix_spawnattr_setpgroup(attributes, 0);
	if (!rc)
		rc = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK |
								  POSIX_SPAWN_SETSIGDEF |
								  POSIX_SPAWN_SETPGROUP);
	return rc;
}

static int spawn(struct event_command *command, char *line)
{
	char *const argv[] = {command->path, line, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int rc = posix_spawn_file_actions_init(&actions);

	if (rc)
		return rc;
	rc = posix_spawnattr_init(&attributes);
	if (!rc) {
		rc = set_files(&actions);
		if (!rc)
			rc = set_signals(&attributes);
		if (!rc)
			rc = posix_spawn(&command->pid, command->path, &actions,
					 &attributes, argv, environ);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}

static void start_next(struct event_command *command)
{
	int rc = spawn(command, command->lines[command->first]);

	command->first = (command->first + 1) % EVENT_COMMAND_LINES;
	command->num--;
	if (rc) {
		command->pid = 0;
		note_trouble(command, "cannot be started: error", rc);
	}
	command->kill_ms = clock_ms() + EVENT_COMMAND_S * 1e3;
}

/* Handles the end of the process: its exit status, or that it was killed. */
static void note_end(struct event_command *command, int status)
{
	command->pid = 0;
	if (WIFSIGNALED(status))
		note_trouble(command, "killed by signal", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		note_trouble(command, "exit status", WEXITSTATUS(status));
	else
		command->logged = (struct pm_error){""};
}

void event_command_round(struct event_command *command)
{
	int status = 0;
	pid_t ended = command->pid ? waitpid(command->pid, &status, WNOHANG) : 0;

	if (ended > 0)
		note_end(command, status);
	else if (ended < 0) /* OpenSM's process ignores SIGCHLD */
		command->pid = 0;
	if (command->pid && clock_ms() >= command->kill_ms)
		kill(-command->pid, SIGKILL);
	while (!command->pid && command->num)
		start_next(command);
}

bool event_command_is_busy(const struct event_command *command)
{
	return command->pid || command->num;
}
