/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps operators' requests in force, and hands them over. */
#include "kept_requests.h"

#include "log.h"

#include <portmajor/base/trusted.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET_NAME "control"
#define BACKLOG 128

struct kept_requests {
	struct store *store;
	struct worker *writer;
	struct control *control; /* NULL: no memory for it */
	struct operator_files *files;
	struct table_check *check; /* NULL: no memory for it */
	bool shadow;

	/* of the writer: */
	struct pm_requests now;
	bool read;	  /* `now` has the file's requests */
	uint64_t opening; /* store_openings at the last reading; 0: not opened */
	uint64_t listens; /* the same when the socket was made; 0: there is none */
	bool news;	  /* `now` was not published since it changed */
	struct control_request *taken; /* in this round */
	struct pm_error logged, socket_logged;

	pthread_mutex_t lock; /* never held during a file operation */
	void (*callback)(void *context);
	void *context; /* of callback */
	struct pm_error unread;
	bool known;	/* the drains in force are */
	bool unclaimed; /* see kept_requests_claim_drains */
	struct pm_drains drains;
	struct pm_request_parts releases; /* that wait */
	uint64_t rebalance;		  /* number of what waits to be taken, or 0 */
	uint32_t rate;
	/* Numbers of what was taken last, and of what is done. */
	uint64_t releasing, released, rebalancing, rebalanced;
};

static void lock_mutex(struct kept_requests *requests)
{
	pthread_mutex_lock(&requests->lock);
}

static void unlock_mutex(struct kept_requests *requests)
{
	pthread_mutex_unlock(&requests->lock);
}

/* Logs an error unless it was logged last. */
static void log_error(struct kept_requests *requests, osm_log_t *log, const char *what,
		      const struct pm_error *why, struct pm_error *logged)
{
	if (why->text[0] && strcmp(why->text, logged->text) != 0) {
		worker_enter(requests->writer);
		log_line(log, OSM_LOG_ERROR, ": %s: %s", what, why->text);
		worker_leave(requests->writer);
	}
	*logged = *why;
}

/* ---- Handing over ---- */

/* Calls the callback, whose call may end after kept_requests_on_change has returned. */
static void report(struct kept_requests *requests)
{
	void (*callback)(void *context);
	void *context;

	worker_enter(requests->writer);
	lock_mutex(requests);
	callback = requests->callback;
	context = requests->context;
	unlock_mutex(requests);
	if (callback)
		callback(context);
	worker_leave(requests->writer);
}

static uint64_t last_release(const struct pm_requests *of)
{
	return of->releases.num ? of->releases.list[of->releases.num - 1].mark : 0;
}

/* What another thread gets of `now`. */
struct handover {
	struct pm_drains drains;
	struct pm_request_parts releases;
};

static void forget_handover(struct handover *next)
{
	pm_drains_free(&next->drains);
	free(next->releases.list);
}

/* Makes what is handed over, before it is in force. -ENOMEM. */
static int prepare_request(const struct pm_requests *of, struct handover *next)
{
	struct pm_requests copy = {0};

	*next = (struct handover){.releases.num = 0};
	if (pm_requests_copy(of, &copy, NULL))
		return -ENOMEM;
	next->drains = copy.drains;
	next->releases = copy.releases;
	copy.drains = (struct pm_drains){0};
	copy.releases = (struct pm_request_parts){0};
	pm_requests_free(&copy);
	return 0;
}

/*
 * Puts other requests in force, which it takes over, and makes them known. In shadow mode
 * nothing is handed over.
 */
static void put_in_force(struct kept_requests *requests, struct pm_requests *next,
			 struct handover *over)
{
	bool drains = next->drains.number != requests->now.drains.number ||
		      !pm_drains_equal(&next->drains, &requests->now.drains) ||
		      !requests->read;
	bool releases = last_release(next) > last_release(&requests->now);
	bool rebalance = next->rebalance > requests->now.rebalance;
	struct handover old = {.releases.num = 0};

	pm_requests_free(&requests->now);
	requests->now = *next;
	*next = (struct pm_requests){0};
	requests->news = true;
	lock_mutex(requests);
	if (!requests->shadow) {
		old = (struct handover){requests->drains, requests->releases};
		requests->drains = over->drains;
		requests->releases = over->releases;
		*over = (struct handover){.releases.num = 0};
		requests->known = true;
		requests->unclaimed |= drains;
		if (rebalance) {
			requests->rebalance = requests->now.rebalance;
			requests->rate = requests->now.rate;
		}
	}
	unlock_mutex(requests);
	forget_handover(&old);
	forget_handover(over);
	if (requests->shadow)
		return;
	if (drains || rebalance)
		report(requests);
	if (releases)
		operator_files_request_sweep(requests->files);
}

/* ---- The file ---- */

static void set_unread(struct kept_requests *requests, osm_log_t *log,
		       const struct pm_error *why)
{
	bool changed;

	lock_mutex(requests);
	changed = strcmp(requests->unread.text, why->text) != 0;
	requests->unread = *why;
	unlock_mutex(requests);
	log_error(requests, log, "requests not followed", why, &requests->logged);
	if (changed)
		report(requests);
}

/* Reads the file; a missing one leaves what is in force. */
static int read_kept_file(const char *path, struct pm_requests *found,
			  struct pm_error *err)
{
	int rc = pm_trusted_file(path, NULL, err);

	return rc ? rc : pm_requests_read(path, found, err);
}

/*
 * Reads the file when the folder was opened, or while it has an error, also without the
 * folder's lock. If there is none any more, what is in force is written.
 */
static void take_file(struct kept_requests *requests, osm_log_t *log)
{
	uint64_t opening = store_openings(requests->store);
	char *path = store_path_read(requests->store, "requests");
	struct pm_requests found = {0};
	struct pm_error err = {""};
	struct handover over;
	int rc;

	if (!path || (requests->read && (!opening || requests->opening == opening))) {
		free(path);
		return;
	}
	rc = read_kept_file(path, &found, &err);
	if (rc == -ENOENT && requests->read) {
		err.text[0] = '\0';
		rc = pm_requests_write(path, &requests->now, &err);
	} else if (!rc || rc == -ENOENT) {
		err.text[0] = '\0';
		rc = prepare_request(&found, &over) ? pm_error_no_memory(&err) : 0;
		if (!rc)
			put_in_force(requests, &found, &over);
	}
	free(path);
	pm_requests_free(&found);
	if (!rc) {
		requests->read = true;
		requests->opening = opening;
	}
	set_unread(requests, log, &err);
}

/* ---- The socket ---- */

static void close_socket(struct kept_requests *requests)
{
	if (requests->listens && requests->control)
		control_listen(requests->control, -1);
	requests->listens = 0;
}

/* Removes what a former process has left. */
static int remove_old(const char *path, struct pm_error *err)
{
	struct stat there;

	if (lstat(path, &there))
		return errno == ENOENT ? 0 : pm_error_set(err, -errno, "%s: %m", path);
	if (!S_ISSOCK(there.st_mode))
		return pm_error_set(err, -EEXIST, "%s: not a socket", path);
	return unlink(path) ? pm_error_set(err, -errno, "%s: %m", path) : 0;
}

/*
 * Binds at path, or if that is too long for an address, at its folder's descriptor. The
 * mode is set before, as others could connect meanwhile.
 */
static int bind_socket(int fd, const char *path, struct pm_error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int folder = -1, rc = 0;

	if (strlen(path) < sizeof(address.sun_path)) {
		memcpy(address.sun_path, path, strlen(path));
	} else {
		char *copy = strdup(path);

		if (copy) {
			*strrchr(copy, '/') = '\0';
			folder = open(copy, O_PATH | O_DIRECTORY | O_CLOEXEC);
		}
		free(copy);
		snprintf(address.sun_path, sizeof(address.sun_path),
			 "/proc/self/fd/%d/" SOCKET_NAME, folder);
	}
	if (fchmod(fd, 0600) ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) ||
	    listen(fd, BACKLOG))
		rc = pm_error_set(err, -errno, "%s: %m", path);
	if (folder >= 0)
		close(folder);
	return rc;
}

/* Makes the socket once the folder is open, and anew when that was opened again, or when
 * somebody has removed the socket.
 */
static void open_socket(struct kept_requests *requests, osm_log_t *log)
{
	uint64_t opening = store_openings(requests->store);
	char *path = opening ? store_path(requests->store, SOCKET_NAME) : NULL;
	struct pm_error err = {""};
	int fd = -1;

	if (!requests->control || !path ||
	    (requests->listens == opening && !access(path, F_OK))) {
		free(path);
		return;
	}
	if (!remove_old(path, &err)) {
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (fd < 0)
			pm_error_set(&err, -errno, "%s: %m", path);
		else if (bind_socket(fd, path, &err))
			close(fd);
	}
	free(path);
	if (!err.text[0]) {
		control_listen(requests->control, fd);
		requests->listens = opening;
	}
	log_error(requests, log, "no control socket", &err, &requests->socket_logged);
}

/* At the end of OpenSM. */
static void remove_socket(struct kept_requests *requests)
{
	char *path = requests->listens ? store_path(requests->store, SOCKET_NAME) : NULL;

	if (path)
		unlink(path);
	free(path);
	close_socket(requests);
}

/* ---- Requests ---- */

/* Why no request can be followed, or "". */
static void find_obstacle(struct kept_requests *requests, struct pm_error *why)
{
	kept_requests_error(requests, why);
	if (!why->text[0] && !requests->read)
		pm_error_set(why, 0, "OpenSM has not read the file of requests yet");
	else if (!why->text[0] && !store_openings(requests->store))
		pm_error_set(why, 0, "OpenSM's folder cannot be written");
}

/* Ends what is done; whether there was anything. */
static bool drop_done(struct kept_requests *requests, struct pm_requests *next)
{
	uint64_t released, rebalanced;
	bool any;

	lock_mutex(requests);
	released = requests->released;
	rebalanced = requests->rebalanced;
	unlock_mutex(requests);
	/* After `released` is read: holds were handed to the store before it was set. */
	any = store_holds_written(requests->store) &&
	      pm_requests_released(next, released);
	return pm_requests_rebalanced(next, rebalanced) || any;
}

/* Applies all that wait; returns whether any changes anything. */
static bool apply_all(struct control_request *list, struct pm_requests *next,
		      const struct pm_request_facts *facts)
{
	uint64_t before = next->number;

	for (; list; list = list->next) {
		int rc = pm_requests_apply(next, list->json, facts, &list->number,
					   &list->reason);

		if (!rc)
			list->reason.text[0] = '\0';
	}
	return next->number != before;
}

/* Refuses those that would have changed something, as that cannot be written. */
static void refuse_changes(struct control_request *list, uint64_t number,
			   const struct pm_error *why)
{
	for (; list; list = list->next)
		if (!list->reason.text[0] && list->number > number)
			list->reason = *why;
}

static void refuse_all(struct control_request *list, const struct pm_error *why)
{
	for (; list; list = list->next)
		list->reason = *why;
}

/* "drain leaf5:20, leaf5:21 by pia (uid 0, pid 4711)" */
static void note_event(struct events *events, const struct control_request *request)
{
	const json_t *parts = json_object_get(request->json, "parts"), *part;
	const char *name = json_string_value(json_object_get(request->json, "request"));
	const char *by = json_string_value(json_object_get(request->json, "by"));
	char what[96] = "";
	size_t i, used = 0;

	json_array_foreach(parts, i, part) {
		const char *label = json_string_value(json_object_get(part, "label"));
		json_int_t port = json_integer_value(json_object_get(part, "port"));

		if (!label)
			label = json_string_value(json_object_get(part, "guid"));
		if (used > sizeof(what) / 2) {
			snprintf(what + used, sizeof(what) - used, " and %zu more",
				 json_array_size(parts) - i);
			break;
		}
		used += (size_t)snprintf(what + used, sizeof(what) - used,
					 port ? "%s%.24s:%" JSON_INTEGER_FORMAT
					      : "%s%.24s",
					 i ? ", " : " ", label, port);
	}
	events_note(events, EVENT_NOTICE, "request", "%s%s%s%s%.32s (uid %u, pid %d)",
		    name, json_array_size(parts) ? "" : " --all", what, by ? " by " : "",
		    by ? by : "", (unsigned int)request->uid, (int)request->pid);
}

static void note_events(struct events *events, const struct control_request *list,
			uint64_t number)
{
	for (; list; list = list->next)
		if (!list->reason.text[0] && list->number > number)
			note_event(events, list);
}

/*
 * Has them in force, if the file can be written. The events of those taken come before
 * those of what follows them; events NULL: none was taken.
 */
static int commit(struct kept_requests *requests, struct pm_requests *next,
		  struct events *events, struct pm_error *err)
{
	char *path = store_path(requests->store, "requests");
	struct handover over;
	int rc = !path || prepare_request(next, &over) ? pm_error_no_memory(err) : 0;

	if (!rc)
		rc = pm_requests_write(path, next, err);
	if (!rc && events)
		note_events(events, requests->taken, requests->now.number);
	if (!rc)
		put_in_force(requests, next, &over);
	else if (path)
		forget_handover(&over);
	free(path);
	return rc;
}

/* "undrain leaf5:20: its time is over" */
static void note_over(struct events *events, const struct pm_requests *requests,
		      uint64_t now)
{
	for (uint32_t i = 0; i < requests->drains.num; i++) {
		const struct pm_drain *d = &requests->drains.list[i];

		if (!d->until || d->until > now)
			continue;
		if (d->num)
			events_note(events, EVENT_NOTICE, "request",
				    "undrain %.64s:%u: its time is over", d->label,
				    d->num);
		else
			events_note(events, EVENT_NOTICE, "request",
				    "undrain %.64s: its time is over", d->label);
	}
}

/* Follows all requests that wait, with one write of the file for all of them. */
static void follow(struct kept_requests *requests, const struct pm_request_facts *facts,
		   struct events *events)
{
	struct control_request *list = requests->taken;
	uint64_t before = requests->now.number;
	struct pm_requests next = {0};
	struct pm_error err = {""};
	bool changes, over = pm_requests_find_over(&requests->now, facts->now) <
			     requests->now.drains.num;

	if (!list && !requests->now.releases.num && !requests->now.rebalance && !over)
		return;
	find_obstacle(requests, &err);
	if (err.text[0] || pm_requests_copy(&requests->now, &next, &err)) {
		refuse_all(list, &err);
		return;
	}
	changes = drop_done(requests, &next);
	changes |= pm_requests_end_drains(&next, facts->now);
	changes |= apply_all(list, &next, facts);
	if (over)
		note_over(events, &requests->now, facts->now);
	if (changes && commit(requests, &next, events, &err))
		refuse_changes(list, before, &err);
	pm_requests_free(&next);
}

/* Passes requests to check tables on. */
static void pass_checks(struct kept_requests *requests)
{
	bool any = false;

	for (struct control_request *one = requests->taken; one; one = one->next) {
		if (one->reason.text[0] || !pm_request_is_check(one->json))
			continue;
		if (requests->check)
			one->number = table_check_request(requests->check);
		else
			pm_error_no_memory(&one->reason);
		any = true;
	}
	if (any)
		report(requests);
}

void kept_requests_write(struct kept_requests *requests,
			 const struct pm_request_facts *facts, struct events *events,
			 osm_log_t *log, bool last)
{
	if (!last)
		take_file(requests, log);
	if (!store_openings(requests->store))
		close_socket(requests);
	else if (!last)
		open_socket(requests, log);
	if (requests->control)
		requests->taken = control_take(requests->control);
	follow(requests, facts, events);
	pass_checks(requests);
	if (last)
		remove_socket(requests);
}

void kept_requests_inherit(struct kept_requests *requests, const char *place)
{
	struct pm_requests theirs = {0}, next = {0};
	struct pm_error err = {""};
	char *path;

	find_obstacle(requests, &err);
	if (err.text[0] || asprintf(&path, "%srequests", place) < 0)
		return;
	if (!read_kept_file(path, &theirs, &err) &&
	    !pm_requests_copy(&requests->now, &next, &err) &&
	    pm_requests_inherit(&next, &theirs) > 0)
		commit(requests, &next, NULL, &err);
	pm_requests_free(&theirs);
	pm_requests_free(&next);
	free(path);
}

void kept_requests_publish(struct kept_requests *requests, const json_t *state)
{
	struct control_request *list = requests->taken;
	json_t *now = NULL, *copy = NULL;

	requests->taken = NULL;
	if (!requests->control)
		return;
	if (requests->news || list)
		now = pm_requests_json(&requests->now);
	if (state)
		copy = json_deep_copy(state);
	requests->news &= !now;
	if (now || copy || list)
		control_publish(requests->control, now, copy, list);
}

const struct pm_requests *kept_requests_now(const struct kept_requests *requests)
{
	return &requests->now;
}

/* ---- Other threads ---- */

void kept_requests_on_change(struct kept_requests *requests,
			     void (*callback)(void *context), void *context)
{
	worker_enter(requests->writer);
	lock_mutex(requests);
	requests->callback = callback;
	requests->context = context;
	unlock_mutex(requests);
	worker_leave(requests->writer);
}

void kept_requests_error(struct kept_requests *requests, struct pm_error *why)
{
	lock_mutex(requests);
	*why = requests->unread;
	unlock_mutex(requests);
}

bool kept_requests_has_drains(struct kept_requests *requests, const struct pm_drains *now,
			      bool *differ)
{
	bool any;

	lock_mutex(requests);
	*differ = requests->known && !pm_drains_equal(&requests->drains, now);
	any = *differ || (requests->known && requests->drains.number != now->number);
	unlock_mutex(requests);
	return any;
}

int kept_requests_take_drains(struct kept_requests *requests, struct pm_drains *now)
{
	int rc = 0;

	lock_mutex(requests);
	if (requests->known && !pm_drains_equal(&requests->drains, now))
		rc = pm_drains_copy(&requests->drains, now, NULL) ? -ENOMEM : 1;
	else if (requests->known)
		pm_drains_renumber(now, &requests->drains);
	if (rc >= 0)
		requests->unclaimed = false;
	unlock_mutex(requests);
	return rc;
}

bool kept_requests_claim_drains(struct kept_requests *requests,
				const struct pm_drains *now)
{
	bool claims;

	lock_mutex(requests);
	claims = requests->unclaimed && !pm_drains_equal(&requests->drains, now);
	requests->unclaimed &= !claims;
	unlock_mutex(requests);
	return claims;
}

bool kept_requests_has_releases(struct kept_requests *requests)
{
	bool any;

	lock_mutex(requests);
	any = requests->releases.num &&
	      requests->releases.list[requests->releases.num - 1].mark >
		      requests->releasing;
	unlock_mutex(requests);
	return any;
}

bool kept_requests_take_releases(struct kept_requests *requests,
				 struct pm_request_parts *releases)
{
	struct pm_request_parts *waiting = &requests->releases;
	size_t size;

	lock_mutex(requests);
	*releases = (struct pm_request_parts){0};
	size = waiting->num * sizeof(*waiting->list);
	if (waiting->num && waiting->list[waiting->num - 1].mark > requests->releasing)
		releases->list = malloc(size);
	if (releases->list) {
		memcpy(releases->list, waiting->list, size);
		releases->num = waiting->num;
		requests->releasing = waiting->list[waiting->num - 1].mark;
	}
	unlock_mutex(requests);
	return releases->list != NULL;
}

void kept_requests_released(struct kept_requests *requests)
{
	bool news;

	lock_mutex(requests);
	news = requests->released != requests->releasing;
	requests->released = requests->releasing;
	unlock_mutex(requests);
	if (news)
		worker_poke(requests->writer);
}

bool kept_requests_take_rebalance(struct kept_requests *requests, uint32_t *rate)
{
	bool any;

	lock_mutex(requests);
	any = requests->rebalance != 0;
	if (any) {
		*rate = requests->rate;
		requests->rebalancing = requests->rebalance;
		requests->rebalance = 0;
	}
	unlock_mutex(requests);
	return any;
}

void kept_requests_rebalanced(struct kept_requests *requests)
{
	bool news;

	lock_mutex(requests);
	news = requests->rebalanced != requests->rebalancing;
	requests->rebalanced = requests->rebalancing;
	unlock_mutex(requests);
	if (news)
		worker_poke(requests->writer);
}

/* ---- Begin and end ---- */

struct kept_requests *kept_requests_start(struct store *store, struct worker *writer,
					  struct control *control,
					  struct operator_files *files, bool shadow)
{
	struct kept_requests *requests = calloc(1, sizeof(*requests));

	if (!requests)
		return NULL;
	requests->store = store;
	requests->writer = writer;
	requests->control = control;
	requests->files = files;
	requests->shadow = shadow;
	pthread_mutex_init(&requests->lock, NULL);
	return requests;
}

void kept_requests_serve_checks(struct kept_requests *requests, struct table_check *check)
{
	requests->check = check;
}

void kept_requests_stop(struct kept_requests *requests)
{
	if (!requests)
		return;
	pm_requests_free(&requests->now);
	pm_drains_free(&requests->drains);
	free(requests->releases.list);
	pthread_mutex_destroy(&requests->lock);
	free(requests);
}
