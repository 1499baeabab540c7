/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the ports of OpenSM, and asks the plugin there by its control socket. */
#include "ports.h"

#include "cache.h"
#include "json.h"
#include "output.h"
#include "text.h"

#include <portmajor/base/trusted.h>
#include <portmajor/files/answer.h>
#include <portmajor/memory/xalloc.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define TRIES 20 /* for an OpenSM that begins: between its lock and its socket .. */
#define TRY_US 100000
#define ANSWER_S 10 /* an answer's longest time beyond that of its wait */
#define NOT_RUNNING "OpenSM does not run: it follows when it starts"
#define NAME "control"

static char *join(const struct cli_port *port, const char *name)
{
	return cli_text_make("%s%s", port->folder, name);
}

/* ---- Connecting ---- */

/* The address of a socket, by its folder's descriptor if the path is too long. */
static void set_address(const struct cli_port *port, struct sockaddr_un *address,
			int *folder)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	*folder = -1;
	if (strlen(port->folder) + sizeof(NAME) <= sizeof(address->sun_path)) {
		snprintf(address->sun_path, sizeof(address->sun_path), "%.90s" NAME,
			 port->folder);
		return;
	}
	*folder = open(port->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d/" NAME,
		 *folder);
}

/*
 * Whether root or this user serves the socket, or the folder's owner if others could not
 * make the folder.
 */
static bool is_trusted(const struct cli_port *port, int fd)
{
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t length = sizeof(peer);
	struct stat folder;

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) &&
	       (!peer.uid || peer.uid == geteuid() ||
		(!stat(port->folder, &folder) && folder.st_uid == peer.uid &&
		 !pm_trusted_place(port->folder, peer.uid, NULL)));
}

/* -errno; -ENOENT and -ECONNREFUSED: nobody serves it. */
static int connect_port(struct cli_port *port)
{
	struct sockaddr_un address;
	int folder, rc = 0;

	port->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (port->fd < 0)
		return -errno;
	set_address(port, &address, &folder);
	if (connect(port->fd, (const struct sockaddr *)&address, sizeof(address)))
		rc = -errno;
	else if (!is_trusted(port, port->fd))
		rc = -EPERM;
	if (folder >= 0)
		close(folder);
	if (rc) {
		close(port->fd);
		port->fd = -1;
	}
	return rc;
}

/* Locks the folder, as the plugin does. -errno; -EWOULDBLOCK: it is in use. */
static int lock_port(struct cli_port *port)
{
	const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	char *path = join(port, "lock");
	struct stat folder;
	int fd = open(path, flags), rc = 0;

	if (fd < 0 && errno == ENOENT) {
		fd = open(path, flags | O_CREAT | O_EXCL, 0600);
		if (fd >= 0 && !stat(port->folder, &folder) &&
		    fchown(fd, folder.st_uid, folder.st_gid))
			errno = 0; /* it is its owner's already */
	}
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB))
		rc = -errno;
	free(path);
	if (rc && fd >= 0)
		close(fd);
	port->lock = rc ? -1 : fd;
	return rc;
}

static int open_once(struct cli_port *port, bool changes)
{
	int rc = connect_port(port);

	if (rc != -ENOENT && rc != -ECONNREFUSED)
		return rc;
	if (!changes) {
		char *state = join(port, "state");

		port->stopped = cache_is_left(state);
		free(state);
		return 0;
	}
	rc = lock_port(port);
	port->stopped = !rc;
	return rc;
}

/* Connects to a port, or locks it, or, without changes, leaves it at the files. */
static int open_port(struct cli_port *port, bool changes)
{
	int rc = open_once(port, changes);

	for (int i = 0; i < TRIES && rc == -EWOULDBLOCK; i++) {
		usleep(TRY_US);
		rc = open_once(port, changes);
	}
	if (!rc || !changes)
		return EXIT_FINE;
	if (rc == -EWOULDBLOCK)
		return cli_fail(EXIT_INPUT,
				"%s: OpenSM uses it, and has no control socket: see its "
				"log",
				port->folder);
	return cli_fail(EXIT_INPUT, "%s" NAME ": %s%s", port->folder, strerror(-rc),
			rc == -EACCES || rc == -EPERM
				? " (only root and the user of OpenSM may ask)"
				: "");
}

/* ---- All ports ---- */

/*
 * OpenSM, whose user owns the folder, does not follow a file of requests that others may
 * have written. Neither does the command, which would make one of it that is followed.
 */
static int check_writers(const struct cli_port *port, const char *path,
			 struct pm_error *err)
{
	struct stat folder;
	int rc = stat(port->folder, &folder) ? -errno : 0;

	if (!rc)
		rc = pm_trusted_placed_file(path, folder.st_uid, err);
	return rc == -ENOENT ? 0 : rc;
}

static int read_files(struct cli_port *port)
{
	char *state = join(port, "state"), *requests = join(port, "requests");
	struct pm_error err;
	int rc = port->fd < 0 ? check_writers(port, requests, &err) : 0;

	if (!rc)
		rc = pm_requests_read(requests, &port->kept, &err);
	port->state = cli_json_load(state);
	free(state);
	free(requests);
	return rc ? cli_refuse(&err) : EXIT_FINE;
}

static bool is_master(const struct cli_port *port)
{
	return !strcmp(cli_json_text(port->state, "sm_state"), "master");
}

bool cli_port_is_master(const struct cli_port *port, bool routes)
{
	return !port->stopped && is_master(port) &&
	       json_is_true(json_object_get(port->state, "running")) &&
	       !(routes && json_is_object(json_object_get(port->state, "shadow")));
}

/* Running masters: what others say of the same parts adds nothing. */
static void put_masters_first(struct cli_ports *ports)
{
	for (size_t i = 0, masters = 0; i < ports->num; i++) {
		struct cli_port port = ports->list[i];

		if (!cli_port_is_master(&port, false))
			continue;
		memmove(&ports->list[masters + 1], &ports->list[masters],
			(i - masters) * sizeof(port));
		ports->list[masters++] = port;
	}
}

/* Adds the port of a folder, which is taken over. An exit status. */
static int add_port(struct cli_ports *ports, char *folder, bool changes)
{
	struct cli_port *port = &ports->list[ports->num++];
	int status;

	port->fd = port->lock = -1;
	port->folder = folder;
	status = open_port(port, changes);
	return status ? status : read_files(port);
}

int cli_ports_open_folder(const char *folder, struct cli_ports *ports)
{
	size_t length = strlen(folder);

	while (length > 1 && folder[length - 1] == '/')
		length--;
	*ports = (struct cli_ports){.list = pm_xarray(1, sizeof(*ports->list))};
	ports->wanted = cli_text_make("%.*s/", (int)length, folder);
	return add_port(ports, cli_text_make("%s", ports->wanted), false);
}

int cli_ports_open(bool changes, struct cli_ports *ports)
{
	struct cache_paths folders;
	int status = EXIT_FINE;

	*ports = (struct cli_ports){0};
	cache_find("", &folders, &ports->wanted);
	if (!folders.count && changes)
		status = cli_fail(EXIT_INPUT, "%s: " CACHE_NONE, ports->wanted);
	ports->list = pm_xarray(folders.count + 1, sizeof(*ports->list));
	for (size_t i = 0; i < folders.count && !status; i++) {
		status = add_port(ports, folders.path[i], changes);
		folders.path[i] = NULL;
	}
	put_masters_first(ports);
	cache_paths_free(&folders);
	return status;
}

void cli_ports_free(struct cli_ports *ports)
{
	for (size_t i = 0; i < ports->num; i++) {
		struct cli_port *port = &ports->list[i];

		if (port->fd >= 0)
			close(port->fd);
		if (port->lock >= 0)
			close(port->lock);
		pm_requests_free(&port->kept);
		json_decref(port->state);
		json_decref(port->request);
		json_decref(port->answer);
		free(port->folder);
	}
	free(ports->list);
	free(ports->wanted);
}

/* ---- Requests ---- */

/*
 * Finds this process's user in /etc/passwd; NULL: it is not there. The C library's lookup
 * of users, also in other places, ends the process when out of memory.
 */
static char *find_own_name(void)
{
	FILE *file = fopen("/etc/passwd", "re");
	struct passwd room = {0}, *entry = NULL;
	char text[4096], *name = NULL;

	if (!file && errno == ENOMEM)
		pm_no_memory();
	while (file && !name && !fgetpwent_r(file, &room, text, sizeof(text), &entry))
		if (entry->pw_uid == getuid())
			name = cli_text_make("%s", entry->pw_name);
	if (file)
		fclose(file);
	return name;
}

/*
 * The user that gives the command, for the caller to free: of root that of sudo. Users of
 * other places than /etc/passwd are known from their login alone.
 */
static char *find_user(void)
{
	const char *user = getuid() ? NULL : getenv("SUDO_USER");
	char *name = user && *user ? cli_text_make("%s", user) : find_own_name();

	if (name)
		return name;
	user = getenv("LOGNAME");
	return user && *user ? cli_text_make("%s", user)
			     : cli_text_make("uid:%u", (unsigned int)getuid());
}

json_t *cli_port_request(const char *name, json_t *parts)
{
	char *user = find_user();
	json_t *request = json_pack("{s:s, s:o, s:b, s:o}", "request", name, "by",
				    pm_json_text(user), "all", parts == NULL, "parts",
				    parts ? parts : json_array());

	free(user);
	return request;
}

json_t *cli_port_part(uint64_t guid, unsigned int port, const char *label)
{
	json_t *part =
		json_pack("{s:o, s:i}", "guid", pm_json_guid(guid), "port", (int)port);

	if (label)
		json_object_set_new(part, "label", pm_json_text(label));
	return part;
}

static int send_request(const struct cli_port *port, uint32_t wait_s)
{
	char *line;
	size_t length, done = 0;

	json_object_set_new(port->request, "wait", json_integer(wait_s));
	line = json_dumps(port->request, JSON_COMPACT | JSON_PRESERVE_ORDER);
	length = strlen(line);
	line[length++] = '\n'; /* in place of the NUL */
	while (done < length) {
		ssize_t sent = send(port->fd, line + done, length - done, MSG_NOSIGNAL);

		if (sent < 0 && errno != EINTR)
			break;
		done += sent > 0 ? (size_t)sent : 0;
	}
	free(line);
	/* Who is refused at once gets a reason, which is to be read. */
	return done == length || errno == EPIPE || errno == ECONNRESET
		       ? EXIT_FINE
		       : cli_fail(EXIT_INPUT, "%s" NAME ": %s", port->folder,
				  strerror(errno));
}

/*
 * Reads a line. NULL: no whole line until the end of the time, or of the connection, as
 * *over tells.
 */
static char *read_answer_line(int fd, uint32_t wait_s, bool *over)
{
	time_t until = time(NULL) + (time_t)wait_s + ANSWER_S, left;
	size_t used = 0, room = 4096;
	char *line = pm_xarray(room, 1), *longer;

	for (;;) {
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		ssize_t got;

		left = until - time(NULL);
		if (left <= 0 || poll(&ready, 1, (int)left * 1000) <= 0)
			left = 0;
		got = left > 0 ? read(fd, line + used, room - used - 1) : 0;
		*over = left > 0;
		if (got <= 0)
			break;
		used += (size_t)got;
		if (line[used - 1] == '\n') {
			line[used - 1] = '\0';
			return line;
		}
		if (room - used >= 2)
			continue;
		longer = realloc(line, room *= 2);
		if (!longer)
			pm_no_memory();
		line = longer;
	}
	free(line);
	return NULL;
}

static int read_answer(struct cli_port *port, uint32_t wait_s)
{
	bool over;
	char *line = read_answer_line(port->fd, wait_s, &over);

	port->answer = line ? json_loads(line, 0, NULL) : NULL;
	free(line);
	if (json_is_object(port->answer))
		return EXIT_FINE;
	if (over)
		return cli_fail(EXIT_INPUT,
				"%s" NAME ": OpenSM has ended without an answer: see "
				"portmajor status and its log",
				port->folder);
	return cli_fail(EXIT_INPUT,
			"%s" NAME ": no answer in %u s, as OpenSM hangs or its disk does "
			"not answer: the request may be followed later",
			port->folder, wait_s + ANSWER_S);
}

/* Makes the answer from the files. */
static void answer_from_files(struct cli_port *port, uint64_t number,
			      const struct pm_error *refused)
{
	json_t *requests = pm_requests_json(&port->kept);
	bool drains = strstr(cli_json_text(port->request, "request"), "drain") != NULL;
	const struct pm_answer_facts facts = {
		.requests = requests,
		/* What tables were when OpenSM ended says nothing of now. */
		.state = port->stopped && drains ? NULL : port->state,
		.reason = refused->text[0] ? refused->text : NULL,
		.cause = port->stopped ? NOT_RUNNING : NULL,
	};
	bool over;

	port->answer = pm_answer_make(port->request, number, &facts, &over);
	json_decref(requests);
}

static bool is_change(const json_t *request)
{
	return json_is_true(json_object_get(request, "all")) ||
	       json_array_size(json_object_get(request, "parts"));
}

/* OpenSM does not run: changes the file, with the folder's lock held. */
static int change_file(struct cli_port *port)
{
	const struct pm_request_facts facts = {.state = port->state,
					       .now = (uint64_t)time(NULL)};
	char *path = join(port, "requests");
	struct pm_error refused = {""}, err = {""};
	uint64_t number = 0, before = port->kept.number;
	int rc = pm_requests_apply(&port->kept, port->request, &facts, &number, &refused);

	if (rc == -ENOMEM)
		pm_no_memory();
	if (!rc)
		refused.text[0] = '\0';
	if (!rc && port->kept.number != before)
		rc = pm_requests_write(path, &port->kept, &err);
	free(path);
	if (err.text[0])
		return cli_refuse(&err);
	answer_from_files(port, number, &refused);
	return EXIT_FINE;
}

/* Answers one port without OpenSM; an exit status. */
static int answer_alone(struct cli_port *port)
{
	if (is_change(port->request))
		return change_file(port);
	answer_from_files(port, 0, &(struct pm_error){""});
	return EXIT_FINE;
}

int cli_ports_ask(struct cli_ports *ports, uint32_t wait_s)
{
	int status = EXIT_FINE;

	for (size_t i = 0; i < ports->num && !status; i++)
		if (ports->list[i].request && ports->list[i].fd >= 0)
			status = send_request(&ports->list[i], wait_s);
	for (size_t i = 0; i < ports->num && !status; i++)
		if (ports->list[i].request)
			status = ports->list[i].fd >= 0
					 ? read_answer(&ports->list[i], wait_s)
					 : answer_alone(&ports->list[i]);
	return status;
}

/* ---- Answers ---- */

static bool is_same_port(const json_t *a, const json_t *b)
{
	const json_t *ends = json_object_get(a, "ends");

	if (ends)
		return json_equal(ends, json_object_get(b, "ends"));
	return !strcmp(cli_json_text(a, "guid"), cli_json_text(b, "guid")) &&
	       cli_json_number(a, "port") == cli_json_number(b, "port");
}

/* Adds parts that the list lacks; whether there were any. */
static bool add_new(json_t *list, const json_t *more)
{
	size_t before = json_array_size(list), i, j;
	json_t *item;
	const json_t *had;

	json_array_foreach(more, i, item) {
		bool known = false;

		for (j = 0; j < before && !known; j++) {
			had = json_array_get(list, j);
			known = is_same_port(had, item);
		}
		if (!known)
			json_array_append(list, item);
	}
	return json_array_size(list) != before;
}

json_t *cli_ports_join(const struct cli_ports *ports, const char *command,
		       const char *list)
{
	json_t *object = cli_json_new(command, 1), *parts = json_array();
	const char *state = "done";
	json_t *reason = NULL, *cause = NULL;
	bool first = true;

	for (size_t i = 0; i < ports->num; i++) {
		const json_t *answer = ports->list[i].answer;
		const char *its = cli_json_text(answer, "state");
		bool adds;

		if (!answer)
			continue;
		/* What a standby says of the same parts adds nothing. */
		adds = add_new(parts, json_object_get(answer, list)) || first;
		first = false;
		if (!strcmp(its, "refused")) {
			state = its;
			reason = json_object_get(answer, "reason");
		} else if (!strcmp(its, "pending") && adds && strcmp(state, "refused")) {
			state = its;
			cause = cause ? cause : json_object_get(answer, "cause");
		}
	}
	if (reason)
		cli_note("%s: refused: %s", command, json_string_value(reason));
	json_object_set_new(object, "state", json_string(state));
	json_object_set(object, "reason", reason ? reason : json_null());
	json_object_set(object, "cause", cause ? cause : json_null());
	json_object_set_new(object, list, parts);
	return object;
}

int cli_ports_judge(const json_t *joined, bool changes, bool waits)
{
	const char *state = cli_json_text(joined, "state");

	if (!strcmp(state, "done"))
		return EXIT_FINE;
	return !strcmp(state, "refused") || !changes || waits ? EXIT_FINDINGS : EXIT_FINE;
}

void cli_ports_print_cause(const json_t *joined)
{
	const char *cause = cli_json_text(joined, "cause");

	if (!*cause)
		return;
	printf("%-9s", "pending");
	cli_text_put(cause);
	putchar('\n');
}
