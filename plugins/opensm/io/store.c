/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Plan, LIDs and holds on disk: reads and writes them on the writer's thread. */
#include "store.h"

#include "candidates.h"
#include "engine/clock.h"

#include <opensm/osm_base.h>

#include <portmajor/base/replace.h>
#include <portmajor/files/damping_file.h>
#include <portmajor/files/plan_file.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Tries for a lock, and the wait between two. */
#define LOCK_TRIES 5
#define LOCK_US 10000

/* The content of a file. */
struct content {
	char *text; /* NULL: the file is to be removed */
	size_t length;
	uint64_t put, written; /* versions: the last one, and the one on disk */
	/* before another file is written, the present one is renamed: */
	struct pm_error bad; /* for this reason, unless it is "" */
	bool unread;	     /* as it was not read in time */
};

/* A place is the path of a folder, with a slash at its end. */
struct store {
	osm_log_t *log;
	struct worker *writer;
	char *cache;	      /* with its slash */
	uint64_t saved_holds; /* pm_damping_changes */
	int lock;	      /* the folder's, of the writer; -1: no lock possible */

	struct clock_signal signal; /* a read or a write has ended */
	/* under its lock, which is never held during a file operation: */
	uint64_t guid; /* 0: not known yet */
	char *place;   /* of our files; NULL: unknown; never changes */
	bool open;     /* the folder exists, and we have locked it */
	bool has_plan; /* as by store_has_plan */

	uint64_t wanted, polled; /* calls of store_poll; those that are done */
	bool given_up;		 /* nothing waits for them any more */
	bool judged;		 /* the files were compared with a fabric */
	struct candidates found; /* by the last read, and not used */
	int poll_rc;		 /* -ENOMEM: the last read found out nothing */

	struct content content[KEPT_FILES];
	uint64_t puts, failed; /* writes requested; those before which one failed */
	char *taken_over;      /* place of a plan that is now ours, or NULL */
	char *emptied;	       /* place to empty when our files are written, or NULL */
	int emptied_lock;
	struct pm_error trouble; /* the fault logged last; "": none */
};

static void hold(struct store *store)
{
	pthread_mutex_lock(&store->signal.lock);
}

static void release(struct store *store)
{
	pthread_mutex_unlock(&store->signal.lock);
}

static char *join_path(const char *place, const char *name)
{
	char *path;

	return asprintf(&path, "%s%s", place, name) < 0 ? NULL : path;
}

/* ---- Locks ---- */

/* Checks the cache folder and a fabric's folder in it. */
static int check_place(const struct store *store, const char *place, struct pm_error *err)
{
	int rc = candidates_check_owner(store->cache, err);

	return rc ? rc : candidates_check_owner(place, err);
}

/* `portmajor status` takes the lock for a moment, to see whether it is held. */
static int try_lock(int fd)
{
	int rc = flock(fd, LOCK_EX | LOCK_NB);

	for (int i = 0; rc && errno == EWOULDBLOCK && i < LOCK_TRIES; i++) {
		usleep(LOCK_US);
		rc = flock(fd, LOCK_EX | LOCK_NB);
	}
	return rc;
}

/*
 * Locks a place; *fd is -1 if no lock is possible, for example on a read-only disk.
 * -EWOULDBLOCK: it is in use. -ENOMEM.
 */
static int lock_place(const char *place, int flags, int *fd)
{
	char *path = join_path(place, "lock");
	int rc = 0;

	*fd = -1;
	if (!path)
		return -ENOMEM;
	*fd = open(path, O_RDWR | O_CLOEXEC | flags, 0644);
	free(path);
	if (*fd >= 0 && try_lock(*fd)) {
		rc = errno == EWOULDBLOCK ? -EWOULDBLOCK : 0;
		close(*fd);
		*fd = -1;
	}
	return rc;
}

static void unlock(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- Our folder ---- */

/* Called with our lock held. */
static bool is_pending(const struct content *content)
{
	return content->put != content->written;
}

static bool is_any_pending(const struct store *store)
{
	for (enum kept_file file = 0; file < KEPT_FILES; file++)
		if (is_pending(&store->content[file]))
			return true;
	return false;
}

/* Logs a fault when it changes, and its end. */
static void set_trouble(struct store *store, const struct pm_error *why)
{
	if (!strcmp(why->text, store->trouble.text))
		return;
	worker_enter(store->writer);
	if (why->text[0])
		log_line(store->log, OSM_LOG_ERROR,
			 ": not saved: %s (retried; logged once)", why->text);
	else
		log_line(store->log, OSM_LOG_INFO, ": saved again");
	worker_leave(store->writer);
	hold(store);
	store->trouble = *why;
	release(store);
}

static void set_open(struct store *store, bool open)
{
	char *plan = open ? join_path(store->place, kept_name[KEPT_PLAN]) : NULL;
	bool has_plan = plan && !access(plan, F_OK);

	free(plan);
	hold(store);
	store->open = open;
	store->has_plan = has_plan;
	release(store);
}

/* Makes and locks the folder. -errno. */
static int open_folder(struct store *store, struct pm_error *err)
{
	struct stat there;
	int rc;

	rc = check_place(store, store->place, err);
	if (rc) {
		unlock(&store->lock);
		set_open(store, false);
		return rc;
	}
	if (store->lock >= 0 && !access(store->place, F_OK))
		return 0;
	unlock(&store->lock); /* the folder was removed */
	if (mkdir(store->place, 0755) && stat(store->place, &there))
		return pm_error_set(err, -errno, "%s: %m", store->place);
	rc = lock_place(store->place, O_CREAT, &store->lock);
	set_open(store, !rc);
	if (rc == -ENOMEM)
		return pm_error_no_memory(err);
	return rc ? pm_error_set(err, rc, "%s: another process uses it", store->place)
		  : 0;
}

bool store_open(struct store *store, uint64_t port_guid)
{
	struct candidates old;
	struct pm_error err;
	bool first, idle, known;

	hold(store);
	first = !store->place;
	if (first && asprintf(&store->place, "%s" CANDIDATES_PREFIX "%016" PRIx64 "/",
			      store->cache, port_guid) < 0)
		store->place = NULL;
	store->guid = port_guid;
	known = store->place != NULL;
	idle = store->open && !is_any_pending(store);
	old = store->found; /* of an earlier sweep */
	store->found = (struct candidates){0};
	release(store);
	candidates_free(&old);
	if (!known) {
		pm_error_no_memory(&err);
		set_trouble(store, &err);
	} else if (!idle) {
		worker_poke(store->writer);
	}
	return first && known;
}

/* Our folder if it is open; the path never changes. */
static const char *our_place(struct store *store)
{
	const char *place;

	hold(store);
	place = store->open ? store->place : NULL;
	release(store);
	return place;
}

char *store_path(struct store *store, const char *name)
{
	const char *place = our_place(store);

	return place ? join_path(place, name) : NULL;
}

char *store_path_beside(const struct store *store, const char *name)
{
	return join_path(store->cache, name);
}

bool store_has_plan(struct store *store)
{
	bool has_plan;

	hold(store);
	has_plan = store->has_plan;
	release(store);
	return has_plan;
}

uint64_t store_guid(struct store *store)
{
	uint64_t guid;

	hold(store);
	guid = store->guid;
	release(store);
	return guid;
}

/* ---- Reading ---- */

void store_poll(struct store *store)
{
	hold(store);
	store->wanted++;
	release(store);
	worker_poke(store->writer);
}

bool store_await_poll(struct store *store)
{
	bool awaited;

	hold(store);
	awaited = store->polled != store->wanted && !store->given_up;
	if (awaited)
		clock_wait_briefly(&store->signal, 10);
	release(store);
	return awaited;
}

bool store_give_up(struct store *store)
{
	bool waits;

	hold(store);
	waits = store->polled != store->wanted && !store->given_up;
	store->given_up |= waits;
	for (enum kept_file file = 0; waits && !store->judged && file < KEPT_FILES;
	     file++)
		store->content[file].unread = true;
	release(store);
	return waits;
}

/* Takes the files found by the last read. -EAGAIN: the read is not over; -ENOMEM. */
static int take_found(struct store *store, struct candidates *found)
{
	int rc;

	hold(store);
	rc = store->polled != store->wanted ? -EAGAIN : store->poll_rc;
	*found = store->found;
	store->found = (struct candidates){0};
	for (enum kept_file file = 0; !rc && file < KEPT_FILES; file++)
		store->content[file].unread = false;
	store->judged |= !rc;
	release(store);
	if (rc)
		candidates_free(found);
	return rc;
}

/* Reads the files if requested, on the writer's thread. */
static void poll_store(struct store *store)
{
	struct candidates found = {0}, old;
	uint64_t wanted;
	bool open;
	int rc;

	hold(store);
	wanted = store->polled != store->wanted ? store->wanted : 0;
	open = store->open;
	release(store);
	if (!wanted)
		return;
	rc = candidates_read(store->cache, store->place, open, &found);
	hold(store);
	old = store->found;
	store->found = found;
	store->poll_rc = rc;
	store->polled = wanted;
	store->given_up = false;
	pthread_cond_signal(&store->signal.changed);
	release(store);
	candidates_free(&old);
}

bool store_has_later(struct store *store, const struct store_request *request)
{
	const struct candidate *best;
	struct candidates found;
	bool later;

	if (take_found(store, &found))
		return false; /* the plan in force stays */
	best = candidates_choose(&found, request->fabric, request->lmc);
	later = best && !best->ours;
	hold(store);
	if (later && !store->found.list) { /* for store_load */
		store->found = found;
		found = (struct candidates){0};
	}
	release(store);
	candidates_free(&found);
	return later;
}

static void load_holds(const struct store *store, const struct candidate *from,
		       const struct store_request *request)
{
	const struct pm_damping_clock clock = {request->now_ms, (uint64_t)time(NULL)};
	const struct candidate_file *holds = &from->file[KEPT_HOLDS];
	struct pm_error err = holds->why;
	char *path = join_path(from->place, kept_name[KEPT_HOLDS]);
	int rc = holds->rc;
	uint32_t none = 0;
	struct pm_damped_link link;

	/* Holds from the file are not mixed with those of this process. */
	if (!request->damping ||
	    pm_damping_next(request->damping, request->now_ms, &none, &link))
		rc = -ENOENT;
	if (!rc)
		rc = path ? pm_damping_file_parse(holds->text, holds->length, path,
						  &clock, request->damping, &err)
			  : pm_error_no_memory(&err);
	if (rc && rc != -ENOENT)
		log_line(store->log, OSM_LOG_ERROR, ": holds not used: %s", err.text);
	free(path);
}

/* Has a bad file of ours renamed, unless another file is to be written in its place. */
static void set_aside(struct store *store, const struct candidate *ours,
		      enum kept_file which)
{
	const struct candidate_file *file = &ours->file[which];
	struct content *content = &store->content[which];
	bool foreign = false;

	hold(store);
	if (file->rc && file->rc != -ENOENT && !is_pending(content)) {
		foreign = file->rc == -EPERM;
		if (!foreign)
			content->bad = file->why;
	}
	release(store);
	if (foreign)
		log_line(store->log, OSM_LOG_ERROR, ": plan not used: %s",
			 file->why.text);
}

/* Makes another place's plan ours. */
static void take_over(struct store *store, struct candidate *from)
{
	char *old;

	log_line(store->log, OSM_LOG_INFO, ": plan taken over from %s%s", from->place,
		 kept_name[KEPT_PLAN]);
	hold(store);
	old = store->taken_over;
	store->taken_over = from->place;
	from->place = old;
	release(store);
}

static void use(struct store *store, struct candidate *best,
		const struct store_request *request, struct planning *planning)
{
	struct pm_plan **plan = &best->file[KEPT_PLAN].plan,
		       **drifting = &best->file[KEPT_DRIFTING].plan;

	load_holds(store, best, request);
	planning_load(planning, *plan, best->file[KEPT_DRIFTING].rc ? NULL : *drifting);
	*plan = NULL;
	if (!best->file[KEPT_DRIFTING].rc)
		*drifting = NULL;
	if (best->ours)
		return;
	take_over(store, best);
	planning->unsaved = true;
}

int store_load(struct store *store, const struct store_request *request,
	       struct planning *planning, struct pm_error *err)
{
	struct candidate *best, *ours;
	struct candidates found;
	int rc;

	rc = take_found(store, &found);
	if (rc == -EAGAIN)
		return pm_error_set(err, rc, "plans on disk are not read yet");
	if (rc)
		return pm_error_no_memory(err);
	best = candidates_choose(&found, request->fabric, request->lmc);
	ours = candidates_ours(&found);
	if (ours)
		set_aside(store, ours, KEPT_PLAN);
	if (ours && ours == best)
		set_aside(store, ours, KEPT_DRIFTING);
	if (best)
		use(store, best, request, planning);
	else if (ours)
		load_holds(store, ours, request);
	candidates_free(&found);
	worker_poke(store->writer); /* to rename files */
	return 0;
}

/* ---- Writing ---- */

/* Hands a file's content over to be written; takes the text over. */
static void put(struct store *store, enum kept_file file, char *text, size_t length)
{
	struct content *content = &store->content[file];

	hold(store);
	free(content->text);
	content->text = text;
	content->length = length;
	content->put++;
	store->puts++;
	release(store);
}

/* Content that the writer is about to write. */
struct taken {
	enum kept_file file;
	struct content content;
};

/* The next file to write, or to remove (`texts` false); KEPT_FILES: none. */
static enum kept_file find_pending(const struct store *store, bool texts)
{
	enum kept_file file = 0;

	while (file < KEPT_FILES && (!is_pending(&store->content[file]) ||
				     (store->content[file].text != NULL) != texts))
		file++;
	return file;
}

/* Takes texts first, so that the plan in force is on disk until the base equals it. */
static bool take_unwritten(struct store *store, struct taken *taken)
{
	hold(store);
	taken->file = find_pending(store, true);
	if (taken->file == KEPT_FILES)
		taken->file = find_pending(store, false);
	if (taken->file < KEPT_FILES) {
		taken->content = store->content[taken->file];
		store->content[taken->file].text = NULL;
		store->content[taken->file].bad.text[0] = '\0';
		store->content[taken->file].unread = false;
	}
	release(store);
	return taken->file < KEPT_FILES;
}

/* A free name path.WORD-TIME, for now or a later second; the caller frees it. */
static char *name_aside(const char *path, const char *word)
{
	char *aside;

	for (time_t when = time(NULL);; when++) {
		if (asprintf(&aside, "%s.%s-%lld", path, word, (long long)when) < 0)
			return NULL;
		if (access(aside, F_OK))
			return aside;
		free(aside);
	}
}

/* Renames a file of ours to path.WORD-TIME, and logs the reason. -ENOMEM. */
static int rename_aside(struct store *store, enum kept_file file, const char *word,
			const char *why)
{
	const char *what = file == KEPT_HOLDS ? "holds" : "plan";
	char *path = join_path(store->place, kept_name[file]);
	char *aside = path ? name_aside(path, word) : NULL;
	int failed;

	if (!aside) {
		free(path);
		return -ENOMEM;
	}
	failed = rename(path, aside) ? errno : 0;
	worker_enter(store->writer);
	if (!failed)
		log_line(store->log, OSM_LOG_ERROR, ": %s not used and renamed to %s: %s",
			 what, aside, why);
	else if (failed != ENOENT)
		log_line(store->log, OSM_LOG_ERROR,
			 ": %s not used: %s (and it cannot be renamed: %s)", what, why,
			 strerror(failed));
	worker_leave(store->writer);
	free(aside);
	free(path);
	return 0;
}

/* Has the folder of a taken-over plan emptied, if it is unused and ours had no plan. */
static void note_taken_over(struct store *store)
{
	char *from, *path = join_path(store->place, kept_name[KEPT_PLAN]);
	int lock = -1;

	hold(store);
	from = store->taken_over;
	store->taken_over = NULL;
	release(store);
	if (from && path && access(path, F_OK) && !lock_place(from, 0, &lock)) {
		hold(store);
		if (!store->emptied) {
			store->emptied = from;
			store->emptied_lock = lock;
			store->has_plan = false;
			from = NULL;
			lock = -1;
		}
		release(store);
	}
	free(from);
	free(path);
	unlock(&lock);
}

/* Renames the present file if it must not be lost. -ENOMEM: not yet. */
static int clear(struct store *store, enum kept_file file, struct content *content)
{
	int rc = 0;

	if (content->bad.text[0])
		rc = rename_aside(store, file, "bad", content->bad.text);
	else if (content->unread)
		rc = rename_aside(store, file, "late", "it was not read in time");
	if (!rc) {
		content->bad.text[0] = '\0';
		content->unread = false;
	}
	return rc;
}

/* Restores what clear() could not do. With our lock held. */
static void restore(struct content *content, const struct content *taken)
{
	if (taken->bad.text[0])
		content->bad = taken->bad;
	content->unread |= taken->unread;
}

/* Renames bad files that no new file will replace. */
static void clear_bad(struct store *store)
{
	for (enum kept_file file = 0; file < KEPT_FILES; file++) {
		struct content *content = &store->content[file], taken = {0};

		hold(store);
		if (!is_pending(content)) {
			taken.bad = content->bad;
			content->bad.text[0] = '\0';
		}
		release(store);
		if (!clear(store, file, &taken))
			continue;
		hold(store);
		restore(content, &taken);
		release(store);
	}
}

static int write_taken(struct store *store, struct taken *taken, struct pm_error *err)
{
	struct content *content = &taken->content;
	char *path = join_path(store->place, kept_name[taken->file]);
	int rc = 0;

	if (!path || clear(store, taken->file, content)) {
		free(path);
		return pm_error_no_memory(err);
	}
	if (taken->file == KEPT_PLAN)
		note_taken_over(store);
	if (content->text)
		rc = pm_replace(path, ".new", content->text, content->length, err);
	else if (unlink(path) && errno != ENOENT)
		rc = pm_error_set(err, -errno, "%s: %m", path);
	free(path);
	return rc;
}

/* Records that content was written, or gives it back unless there is newer content. */
static void give_back(struct store *store, struct taken *taken, bool written)
{
	struct content *content = &store->content[taken->file];

	hold(store);
	restore(content, &taken->content);
	if (written)
		content->written = taken->content.put;
	if (written && taken->file == KEPT_PLAN)
		store->has_plan = true;
	if (!written && content->put == taken->content.put) {
		content->text = taken->content.text;
		taken->content.text = NULL;
	}
	pthread_cond_signal(&store->signal.changed);
	release(store);
	free(taken->content.text);
}

/* Puts the other folder's events before ours. */
static void take_over_events(struct store *store, const char *place)
{
	char *theirs = join_path(place, "events"),
	     *ours = store_path(store, "events.old");

	if (theirs && ours && access(ours, F_OK) && rename(theirs, ours))
		errno = 0; /* it has no events */
	free(theirs);
	free(ours);
}

/* Removes the files that were taken over. Other files, such as renamed ones, stay. */
static void empty(struct store *store, const char *place)
{
	static const char *const taken[] = {"plan",	  "drifting",	 "holds",
					    "state",	  "state.spare", "clear-holds",
					    "rebalance",  "acknowledge", "portmajor.prom",
					    "prom",	  "fabric.net",	 "events",
					    "events.old", "lock"};
	char *path;

	take_over_events(store, place);
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++) {
		path = join_path(place, taken[i]);
		if (path && unlink(path) && errno != ENOENT && errno != ENOTDIR) {
			int why = errno;

			worker_enter(store->writer);
			log_line(store->log, OSM_LOG_INFO, ": not removed: %s: %s", path,
				 strerror(why));
			worker_leave(store->writer);
		}
		free(path);
	}
	if (rmdir(place))
		errno = 0; /* not empty, or no folder */
}

/* Empties the folder that our plan came from, once our folder has a plan. */
static void empty_if_due(struct store *store)
{
	char *place = NULL;
	int lock = -1;

	hold(store);
	if (store->has_plan && store->emptied) {
		place = store->emptied;
		lock = store->emptied_lock;
		store->emptied = NULL;
		store->emptied_lock = -1;
	}
	release(store);
	if (place)
		empty(store, place);
	unlock(&lock);
	free(place);
}

/* Whether the folder is known; *puts: the writes requested so far. */
static bool begin_round(struct store *store, uint64_t *puts)
{
	bool known;

	hold(store);
	known = store->place != NULL;
	*puts = store->puts;
	release(store);
	return known;
}

/* Writes all waiting files into the open folder. -errno. */
static int write_all(struct store *store, struct pm_error *err)
{
	struct taken taken;
	int rc = 0;

	clear_bad(store);
	while (!rc && take_unwritten(store, &taken)) {
		rc = write_taken(store, &taken, err);
		give_back(store, &taken, !rc);
	}
	return rc;
}

void store_write(struct store *store)
{
	struct pm_error err = {""};
	uint64_t puts;
	int rc;

	if (!begin_round(store, &puts))
		return;
	rc = open_folder(store, &err);
	poll_store(store);
	if (!rc)
		rc = write_all(store, &err);
	set_trouble(store, &err);
	if (!rc) {
		empty_if_due(store);
		return;
	}
	hold(store);
	store->failed = puts;
	pthread_cond_signal(&store->signal.changed);
	release(store);
}

bool store_await_plan(struct store *store)
{
	bool awaited;

	hold(store);
	awaited = store->failed != store->puts && !store->given_up &&
		  (is_pending(&store->content[KEPT_DRIFTING]) ||
		   is_pending(&store->content[KEPT_PLAN]));
	if (awaited)
		clock_wait_briefly(&store->signal, 10);
	release(store);
	return awaited;
}

static int put_plan(struct store *store, enum kept_file file, const struct pm_plan *plan)
{
	char *text;
	size_t length;
	int rc = pm_plan_file_print(plan, &text, &length);

	if (!rc)
		put(store, file, text, length);
	return rc;
}

void store_save(struct store *store, struct planning *planning)
{
	int rc = 0;

	if (!planning->unsaved || !planning->plan)
		return;
	if (planning->plan != planning->base)
		rc = put_plan(store, KEPT_DRIFTING, planning->plan);
	else
		put(store, KEPT_DRIFTING, NULL, 0);
	if (!rc)
		rc = put_plan(store, KEPT_PLAN, planning->base);
	planning->unsaved = rc != 0; /* out of memory: tries again next time */
	worker_poke(store->writer);
}

void store_save_holds(struct store *store, const struct pm_damping *damping,
		      uint64_t now_ms)
{
	const struct pm_damping_clock clock = {now_ms, (uint64_t)time(NULL)};
	size_t length;
	char *text;

	if (pm_damping_changes(damping) == store->saved_holds ||
	    pm_damping_file_print(damping, &clock, &text, &length))
		return;
	store->saved_holds = pm_damping_changes(damping);
	put(store, KEPT_HOLDS, text, length);
	worker_poke(store->writer);
}

void store_trouble(struct store *store, struct pm_error *why)
{
	hold(store);
	*why = store->trouble;
	release(store);
}

/* ---- Beginning and end ---- */

static void free_store(struct store *store)
{
	unlock(&store->lock);
	unlock(&store->emptied_lock);
	for (enum kept_file file = 0; file < KEPT_FILES; file++)
		free(store->content[file].text);
	clock_signal_destroy(&store->signal);
	candidates_free(&store->found);
	free(store->taken_over);
	free(store->emptied);
	free(store->place);
	free(store->cache);
	free(store);
}

struct store *store_start(osm_log_t *log, struct worker *writer)
{
	const char *folder = getenv("OSM_CACHE_DIR");
	struct store *store = calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	store->log = log;
	store->writer = writer;
	store->lock = store->emptied_lock = -1;
	clock_signal_init(&store->signal);
	store->cache = join_path(folder && *folder ? folder : OSM_DEFAULT_CACHE_DIR, "/");
	if (store->cache)
		return store;
	free_store(store);
	return NULL;
}

void store_stop(struct store *store)
{
	if (store)
		free_store(store);
}
