/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Plan, LIDs and holds on disk: reads and writes them on the writer's thread. */
#include "store.h"

#include "candidates.h"
#include "engine/clock.h"

#include <opensm/osm_base.h>

#include <portmajor/base/replace.h>
#include <portmajor/base/trusted.h>
#include <portmajor/files/damping_file.h>
#include <portmajor/files/plan_file.h>

#include <dirent.h>
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
	uint64_t put, written;	      /* versions: the last one, and the one on disk */
	struct candidate_stamp known; /* of the file that was used or written last */
	struct candidate_stamp read;  /* of the file that was read last */
	bool fresh;		      /* it has not been written since */
	struct pm_error bad;	      /* why the file is to be renamed, unless it is "" */
};

/* A folder is its path, with a slash at its end. */
struct store {
	osm_log_t *log;
	struct worker *writer;
	char *cache;	      /* with its slash */
	uint64_t saved_holds; /* pm_damping_changes */
	int lock;	      /* the folder's, of the writer; -1: no lock possible */

	struct clock_signal signal; /* a read or a write has ended */
	/* under its lock, which is never held during a file operation: */
	uint64_t guid;	   /* 0: not known yet */
	char *folder;	   /* of our files; NULL: unknown; never changes */
	bool open;	   /* the folder exists, and we have locked it */
	uint64_t openings; /* see store_openings */
	bool has_plan;	   /* as by store_has_plan */

	uint64_t wanted, polled; /* calls of store_poll; those that are done */
	bool given_up;		 /* nothing waits for them any more */
	struct candidates found; /* by the last read, and not used */
	int poll_rc;		 /* -ENOMEM: the last read found out nothing */

	struct content content[KEPT_FILES];
	uint64_t puts, failed; /* writes requested; those before which one failed */
	char *taken_over;      /* folder of a plan that is now ours, or NULL */
	char *source;	       /* the same until store_take_source is called */
	struct candidate_stamp used[KEPT_FILES]; /* its files that were read and used */
	char *emptied; /* folder to empty when our files are written, or NULL */
	int emptied_lock;
	struct pm_error trouble; /* the fault logged last; "": none */
	/* of the writer: */
	uint64_t master;		   /* see store_note_master; 0: none */
	struct pm_error aside[KEPT_FILES]; /* renamed, see store_take_aside; "": none */
};

static void lock_mutex(struct store *store)
{
	pthread_mutex_lock(&store->signal.lock);
}

static void unlock_mutex(struct store *store)
{
	pthread_mutex_unlock(&store->signal.lock);
}

static char *join_path(const char *folder, const char *name)
{
	char *path;

	return asprintf(&path, "%s%s", folder, name) < 0 ? NULL : path;
}

/* ---- Locks ---- */

/* Checks the cache folder and a fabric's folder in it. */
static int check_folder(const struct store *store, const char *folder,
			struct pm_error *err)
{
	int rc = pm_trusted_folder(store->cache, err);

	return rc ? rc : pm_trusted_folder(folder, err);
}

/*
 * Opens a lock that no other user can open, and so hold: it is made anew if they could.
 * -1: impossible, for example on a read-only disk.
 */
static int open_lock(const char *path)
{
	const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int fd = open(path, flags, 0600);
	struct stat file;

	if (fd < 0 && errno != ELOOP)
		return -1;
	if (fd >= 0 && !fstat(fd, &file) && S_ISREG(file.st_mode) &&
	    file.st_uid == geteuid() && !(file.st_mode & 077))
		return fd;
	if (fd >= 0)
		close(fd);
	return unlink(path) ? -1 : open(path, flags | O_EXCL, 0600);
}

/* Whether a path is still that of the open file. */
static bool is_open_file(const char *path, int fd)
{
	struct stat there, opened;

	return !stat(path, &there) && !fstat(fd, &opened) &&
	       there.st_dev == opened.st_dev && there.st_ino == opened.st_ino;
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
 * Locks a folder; *fd is -1 if no lock is possible, for example on a read-only disk.
 * -EWOULDBLOCK: it is in use. -ENOMEM.
 */
static int lock_folder(const char *folder, int *fd)
{
	char *path = join_path(folder, "lock");
	int rc = 0;

	*fd = -1;
	if (!path)
		return -ENOMEM;
	*fd = open_lock(path);
	if (*fd >= 0 && try_lock(*fd))
		rc = errno == EWOULDBLOCK ? -EWOULDBLOCK : -ENOLCK;
	else if (*fd >= 0 && !is_open_file(path, *fd))
		rc = -EWOULDBLOCK; /* another process has made it anew */
	free(path);
	if (rc) {
		close(*fd);
		*fd = -1;
	}
	return rc == -ENOLCK ? 0 : rc;
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
	lock_mutex(store);
	store->trouble = *why;
	unlock_mutex(store);
}

/* usable: the folder is ours, though another process may have locked it. */
static void set_open(struct store *store, bool open, bool usable)
{
	char *plan = usable ? join_path(store->folder, kept_name[KEPT_PLAN]) : NULL;
	bool has_plan = plan && !access(plan, F_OK);

	free(plan);
	lock_mutex(store);
	store->open = open;
	store->openings += open;
	store->has_plan = has_plan;
	unlock_mutex(store);
}

/* Makes a folder with mode 0755, whatever the umask. */
static int make_folder(const char *folder)
{
	return mkdir(folder, 0755) ? -1 : chmod(folder, 0755);
}

/* Makes and locks the folder. -errno. */
static int open_folder(struct store *store, struct pm_error *err)
{
	int rc;

	rc = check_folder(store, store->folder, err);
	if (rc && rc != -ENOENT) {
		unlock(&store->lock);
		set_open(store, false, false);
		return rc;
	}
	if (store->lock >= 0 && !rc)
		return 0;
	unlock(&store->lock); /* the folder was removed */
	err->text[0] = '\0';
	if (rc && make_folder(store->folder))
		return pm_error_set(err, -errno, "%s: %m", store->folder);
	rc = lock_folder(store->folder, &store->lock);
	set_open(store, !rc, true);
	if (rc == -ENOMEM)
		return pm_error_no_memory(err);
	return rc ? pm_error_set(err, rc, "%s: another process uses it", store->folder)
		  : 0;
}

bool store_open(struct store *store, uint64_t port_guid)
{
	struct candidates old;
	struct pm_error err;
	bool first, idle, known;

	lock_mutex(store);
	first = !store->folder;
	if (first && asprintf(&store->folder, "%s" CANDIDATES_PREFIX "%016" PRIx64 "/",
			      store->cache, port_guid) < 0)
		store->folder = NULL;
	store->guid = port_guid;
	known = store->folder != NULL;
	idle = store->open && !is_any_pending(store);
	old = store->found; /* of an earlier sweep */
	store->found = (struct candidates){0};
	unlock_mutex(store);
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
static const char *our_folder(struct store *store)
{
	const char *folder;

	lock_mutex(store);
	folder = store->open ? store->folder : NULL;
	unlock_mutex(store);
	return folder;
}

char *store_path(struct store *store, const char *name)
{
	const char *folder = our_folder(store);

	return folder ? join_path(folder, name) : NULL;
}

char *store_path_read(struct store *store, const char *name)
{
	const char *folder;

	lock_mutex(store);
	folder = store->folder;
	unlock_mutex(store);
	return folder ? join_path(folder, name) : NULL;
}

uint64_t store_openings(struct store *store)
{
	uint64_t openings;

	lock_mutex(store);
	openings = store->open ? store->openings : 0;
	unlock_mutex(store);
	return openings;
}

bool store_has_plan(struct store *store)
{
	bool has_plan;

	lock_mutex(store);
	has_plan = store->has_plan;
	unlock_mutex(store);
	return has_plan;
}

uint64_t store_guid(struct store *store)
{
	uint64_t guid;

	lock_mutex(store);
	guid = store->guid;
	unlock_mutex(store);
	return guid;
}

/* ---- Reading ---- */

void store_poll(struct store *store)
{
	lock_mutex(store);
	store->wanted++;
	unlock_mutex(store);
	worker_poke(store->writer);
}

bool store_await_poll(struct store *store)
{
	bool awaited;

	lock_mutex(store);
	awaited = store->polled != store->wanted && !store->given_up;
	if (awaited)
		clock_wait_briefly(&store->signal, 10);
	unlock_mutex(store);
	return awaited;
}

bool store_give_up(struct store *store)
{
	bool waits;

	lock_mutex(store);
	waits = store->polled != store->wanted && !store->given_up;
	store->given_up |= waits;
	unlock_mutex(store);
	return waits;
}

/* Takes the files found by the last read. -EAGAIN: the read is not over; -ENOMEM. */
static int take_found(struct store *store, struct candidates *found)
{
	int rc;

	lock_mutex(store);
	rc = store->polled != store->wanted ? -EAGAIN : store->poll_rc;
	*found = store->found;
	store->found = (struct candidates){0};
	unlock_mutex(store);
	if (rc)
		candidates_free(found);
	return rc;
}

/* Notes which version of our files was read. With our lock held. */
static void note_read(struct store *store)
{
	const struct candidate *ours = candidates_ours(&store->found);

	for (enum kept_file file = 0; ours && file < KEPT_FILES; file++) {
		store->content[file].read = ours->file[file].stamp;
		store->content[file].fresh = true;
	}
}

/* Reads the files if requested, on the writer's thread. */
static void poll_store(struct store *store)
{
	struct candidates found = {0}, old;
	uint64_t wanted;
	int rc;

	lock_mutex(store);
	wanted = store->polled != store->wanted ? store->wanted : 0;
	unlock_mutex(store);
	if (!wanted)
		return;
	rc = candidates_read(store->cache, store->folder, &found);
	lock_mutex(store);
	old = store->found;
	store->found = found;
	note_read(store);
	store->poll_rc = rc;
	store->polled = wanted;
	store->given_up = false;
	pthread_cond_signal(&store->signal.changed);
	unlock_mutex(store);
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
	lock_mutex(store);
	if (later && !store->found.list) { /* for store_load */
		store->found = found;
		found = (struct candidates){0};
	}
	unlock_mutex(store);
	candidates_free(&found);
	return later;
}

static void load_holds(const struct store *store, struct candidate *from,
		       const struct store_request *request)
{
	const struct pm_damping_clock clock = {request->now_ms, (uint64_t)time(NULL)};
	struct candidate_file *holds = &from->file[KEPT_HOLDS];
	char *path;
	uint32_t none = 0;
	struct pm_damped_link link;

	/* Holds from the file are not mixed with those of this process. */
	if (holds->rc || !request->damping ||
	    pm_damping_next(request->damping, request->now_ms, &none, &link))
		return;
	path = join_path(from->folder, kept_name[KEPT_HOLDS]);
	holds->rc = path ? pm_damping_file_parse(holds->text, holds->length, path, &clock,
						 request->damping, &holds->why)
			 : pm_error_no_memory(&holds->why);
	if (holds->rc && !from->ours)
		log_line(store->log, OSM_LOG_ERROR, ": holds not used: %s",
			 holds->why.text);
	free(path);
}

/*
 * A file of ours that was read and is good may be replaced from now on; a bad one is
 * renamed. Neither, if it has been written since.
 */
static void judge(struct store *store, const struct candidate *ours, enum kept_file which)
{
	const struct candidate_file *file = &ours->file[which];
	struct content *content = &store->content[which];

	lock_mutex(store);
	if (content->fresh && !file->rc)
		content->known = content->read;
	else if (content->fresh && file->rc != -ENOENT)
		content->bad = file->why;
	unlock_mutex(store);
}

/* Judges our files, after what is good of the chosen candidate was used. */
static void judge_all(struct store *store, struct candidate *ours)
{
	struct candidate_file *plan = &ours->file[KEPT_PLAN],
			      *drifting = &ours->file[KEPT_DRIFTING];

	if (plan->rc && !drifting->rc)
		drifting->rc = pm_error_set(&drifting->why, -EBADMSG,
					    "%s%s: the plan beside it is not used",
					    ours->folder, kept_name[KEPT_DRIFTING]);
	for (enum kept_file file = 0; file < KEPT_FILES; file++)
		judge(store, ours, file);
}

/* Makes another folder's plan ours. */
static void take_over(struct store *store, struct candidate *from)
{
	char *old;

	log_line(store->log, OSM_LOG_INFO, ": plan taken over from %s%s", from->folder,
		 kept_name[KEPT_PLAN]);
	lock_mutex(store);
	free(store->source);
	store->source = strdup(from->folder);
	old = store->taken_over;
	store->taken_over = from->folder;
	from->folder = old;
	memset(store->used, 0, sizeof(store->used));
	for (enum kept_file file = 0; file < KEPT_FILES; file++)
		if (!from->file[file].rc)
			store->used[file] = from->file[file].stamp;
	unlock_mutex(store);
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
	if (best)
		use(store, best, request, planning);
	else if (ours)
		load_holds(store, ours, request);
	if (ours)
		judge_all(store, ours);
	candidates_free(&found);
	worker_poke(store->writer); /* to rename files */
	return 0;
}

void store_discard(struct store *store)
{
	lock_mutex(store);
	for (enum kept_file file = 0; file < KEPT_FILES; file++)
		if (file != KEPT_HOLDS && store->content[file].fresh)
			store->content[file].known = store->content[file].read;
	unlock_mutex(store);
}

/* ---- Writing ---- */

/* Hands a file's content over to be written; takes the text over. */
static void put(struct store *store, enum kept_file file, char *text, size_t length)
{
	struct content *content = &store->content[file];

	lock_mutex(store);
	free(content->text);
	content->text = text;
	content->length = length;
	content->put++;
	store->puts++;
	unlock_mutex(store);
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
	lock_mutex(store);
	taken->file = find_pending(store, true);
	if (taken->file == KEPT_FILES)
		taken->file = find_pending(store, false);
	if (taken->file < KEPT_FILES) {
		taken->content = store->content[taken->file];
		store->content[taken->file].text = NULL;
		store->content[taken->file].bad.text[0] = '\0';
	}
	unlock_mutex(store);
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

/* Renames a file of ours to path.WORD-TIME, and logs the reason. -errno. */
static int rename_aside(struct store *store, enum kept_file file, const char *word,
			const char *why, struct pm_error *err)
{
	const char *what = file == KEPT_HOLDS ? "holds" : "plan";
	char *path = join_path(store->folder, kept_name[file]);
	char *aside = path ? name_aside(path, word) : NULL;
	int rc = 0;

	if (!aside)
		rc = pm_error_no_memory(err);
	else if (rename(path, aside))
		rc = errno == ENOENT ? -ENOENT
				     : pm_error_set(err, -errno,
						    "%s not used: %s (and it cannot be "
						    "renamed: %s)",
						    what, why, strerror(errno));
	if (!rc && aside) {
		worker_enter(store->writer);
		log_line(store->log, OSM_LOG_ERROR, ": %s not used and renamed to %s: %s",
			 what, aside, why);
		worker_leave(store->writer);
		pm_error_set(&store->aside[file], 0, "%s not used and renamed to %s: %s",
			     what, strrchr(aside, '/') + 1, why);
	}
	free(aside);
	free(path);
	return rc == -ENOENT ? 0 : rc;
}

bool store_take_aside(struct store *store, struct pm_error *what)
{
	for (enum kept_file file = 0; file < KEPT_FILES; file++) {
		if (!store->aside[file].text[0])
			continue;
		*what = store->aside[file];
		store->aside[file].text[0] = '\0';
		return true;
	}
	return false;
}

static int is_aside(const struct dirent *entry)
{
	return pm_plan_file_is_aside(entry->d_name);
}

uint32_t store_count_aside(struct store *store)
{
	const char *folder = our_folder(store);
	struct dirent **found = NULL;
	int num = folder ? scandir(folder, &found, is_aside, alphasort) : 0;

	for (int i = 0; found && i < num; i++)
		free(found[i]);
	free(found);
	return num > 0 ? (uint32_t)num : 0;
}

bool store_has_plan_of(const struct store *store, uint64_t port_guid)
{
	char *path;
	bool has;

	if (asprintf(&path, "%s" CANDIDATES_PREFIX "%016" PRIx64 "/%s", store->cache,
		     port_guid, kept_name[KEPT_PLAN]) < 0)
		return true; /* unknown */
	has = !access(path, F_OK);
	free(path);
	return has;
}

char *store_take_source(struct store *store)
{
	char *source;

	lock_mutex(store);
	source = store->source;
	store->source = NULL;
	unlock_mutex(store);
	return source;
}

void store_note_master(struct store *store, uint64_t port_guid)
{
	store->master = port_guid;
}

/* Whether a folder is that of the former master, while this OpenSM was a standby. */
static bool is_of_master(const struct store *store, const char *folder)
{
	char name[sizeof(CANDIDATES_PREFIX) + 20];
	size_t length = strlen(folder);
	int size = snprintf(name, sizeof(name), CANDIDATES_PREFIX "%016" PRIx64 "/",
			    store->master);

	return store->master && length >= (size_t)size &&
	       !strcmp(folder + length - (size_t)size, name);
}

/* Has the folder of a taken-over plan emptied, if it is unused and ours had no plan. */
static void note_taken_over(struct store *store)
{
	char *from, *path = join_path(store->folder, kept_name[KEPT_PLAN]);
	int lock = -1;

	lock_mutex(store);
	from = store->taken_over;
	store->taken_over = NULL;
	unlock_mutex(store);
	if (from && path && access(path, F_OK) && !is_of_master(store, from) &&
	    !lock_folder(from, &lock)) {
		lock_mutex(store);
		if (!store->emptied) {
			store->emptied = from;
			store->emptied_lock = lock;
			store->has_plan = false;
			from = NULL;
			lock = -1;
		}
		unlock_mutex(store);
	}
	free(from);
	free(path);
	unlock(&lock);
}

/*
 * Renames the present file unless this process has used or written it: no other file is
 * ever replaced or removed. -errno: it is still there.
 */
static int clear(struct store *store, enum kept_file file, struct content *content,
		 struct pm_error *err)
{
	static const struct candidate_stamp none = {0};
	char *path = join_path(store->folder, kept_name[file]);
	struct candidate_stamp there = path ? candidate_stamp(path) : none;
	int rc = 0;

	if (!path)
		return pm_error_no_memory(err);
	free(path);
	if (content->bad.text[0])
		rc = rename_aside(store, file, "bad", content->bad.text, err);
	else if (!candidate_stamp_equal(&there, &none) &&
		 !candidate_stamp_equal(&there, &content->known))
		rc = rename_aside(store, file, "late",
				  candidate_stamp_equal(&content->known, &none)
					  ? "it was not read in time"
					  : "it was written since it was read",
				  err);
	if (!rc)
		content->bad.text[0] = '\0';
	return rc;
}

/* Restores what clear() could not do. With our lock held. */
static void restore(struct content *content, const struct content *taken)
{
	if (taken->bad.text[0])
		content->bad = taken->bad;
}

/* Renames a bad file, which no new file will replace soon. -errno. */
static int clear_bad(struct store *store, enum kept_file file, struct pm_error *err)
{
	struct content *content = &store->content[file], taken;
	int rc;

	lock_mutex(store);
	taken = *content;
	if (!is_pending(content))
		content->bad.text[0] = '\0';
	unlock_mutex(store);
	if (is_pending(&taken) || !taken.bad.text[0])
		return 0;
	rc = clear(store, file, &taken, err);
	lock_mutex(store);
	restore(content, &taken);
	unlock_mutex(store);
	return rc;
}

/* Writes or removes the file of taken content, and notes what is there then. */
static int write_taken(struct store *store, struct taken *taken, struct pm_error *err)
{
	struct content *content = &taken->content;
	char *path = join_path(store->folder, kept_name[taken->file]);
	int rc = path ? clear(store, taken->file, content, err) : pm_error_no_memory(err);

	if (rc) {
		free(path);
		return rc;
	}
	if (taken->file == KEPT_PLAN)
		note_taken_over(store);
	if (content->text)
		rc = pm_replace_public(path, ".new", content->text, content->length, err);
	else if (unlink(path) && errno != ENOENT)
		rc = pm_error_set(err, -errno, "%s: %m", path);
	content->known = candidate_stamp(path);
	content->fresh = false;
	free(path);
	return rc;
}

/* Records that content was written, or gives it back unless there is newer content. */
static void give_back(struct store *store, struct taken *taken, bool written)
{
	struct content *content = &store->content[taken->file];

	lock_mutex(store);
	restore(content, &taken->content);
	if (!taken->content.fresh) {
		content->known = taken->content.known;
		content->fresh = false;
	}
	if (written)
		content->written = taken->content.put;
	if (written && taken->file == KEPT_PLAN)
		store->has_plan = true;
	if (!written && content->put == taken->content.put) {
		content->text = taken->content.text;
		taken->content.text = NULL;
	}
	pthread_cond_signal(&store->signal.changed);
	unlock_mutex(store);
	free(taken->content.text);
}

/* Moves a file of the other folder to a name in ours, if that is free. */
static void take_over_file(struct store *store, const char *folder, const char *from,
			   const char *to)
{
	char *theirs = join_path(folder, from), *ours = store_path(store, to);

	if (theirs && ours && access(ours, F_OK) && rename(theirs, ours))
		errno = 0; /* there are none, or they are removed with the others */
	free(theirs);
	free(ours);
}

/* Whether a file of a taken-over folder is another one than was used. */
static bool is_unused(struct store *store, const char *path, const char *name)
{
	struct candidate_stamp there = candidate_stamp(path), used = there;

	lock_mutex(store);
	for (enum kept_file file = 0; file < KEPT_FILES; file++)
		if (!strcmp(name, kept_name[file]))
			used = store->used[file];
	unlock_mutex(store);
	return there.inode && !candidate_stamp_equal(&there, &used);
}

/* Removes a file of a taken-over folder, unless it was not used; logs why it stays. */
static void remove_taken(struct store *store, const char *folder, const char *name)
{
	char *path = join_path(folder, name);
	const char *why = NULL;

	if (path && is_unused(store, path, name))
		why = "it was not used";
	else if (path && unlink(path) && errno != ENOENT && errno != ENOTDIR)
		why = strerror(errno);
	if (why) {
		worker_enter(store->writer);
		log_line(store->log, OSM_LOG_INFO, ": not removed: %s: %s", path, why);
		worker_leave(store->writer);
	}
	free(path);
}

/*
 * Removes the files of a folder that was taken over. Plans and holds that were not used
 * stay, and so do other files, such as renamed ones.
 */
static void empty(struct store *store, const char *folder)
{
	static const char *const taken[] = {
		"plan",	    "drifting",	  "holds", "state",	     "state.reserve",
		"requests", "control",	  "prom",  "portmajor.prom", "fabric.net",
		"events",   "events.old", "lock",  "drawing.net"};

	take_over_file(store, folder, "events", "events.old"); /* before ours */
	take_over_file(store, folder, "drawing.net", "drawing.net");
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
		remove_taken(store, folder, taken[i]);
	if (rmdir(folder))
		errno = 0; /* not empty, or no folder */
}

/* Empties the folder that our plan came from, once our folder has a plan. */
static void empty_if_due(struct store *store)
{
	char *folder = NULL;
	int lock = -1;

	lock_mutex(store);
	if (store->has_plan && store->emptied && !store->source) {
		folder = store->emptied;
		lock = store->emptied_lock;
		store->emptied = NULL;
		store->emptied_lock = -1;
	}
	unlock_mutex(store);
	if (folder)
		empty(store, folder);
	unlock(&lock);
	free(folder);
}

/* Whether the folder is known; *puts: the writes requested so far. */
static bool begin_round(struct store *store, uint64_t *puts)
{
	bool known;

	lock_mutex(store);
	known = store->folder != NULL;
	*puts = store->puts;
	unlock_mutex(store);
	return known;
}

/* Writes all waiting files into the open folder. -errno. */
static int write_all(struct store *store, struct pm_error *err)
{
	struct taken taken;
	int rc = 0;

	for (enum kept_file file = 0; !rc && file < KEPT_FILES; file++)
		rc = clear_bad(store, file, err);
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
	lock_mutex(store);
	store->failed = puts;
	pthread_cond_signal(&store->signal.changed);
	unlock_mutex(store);
}

bool store_holds_written(struct store *store)
{
	bool written;

	lock_mutex(store);
	written = !is_pending(&store->content[KEPT_HOLDS]);
	unlock_mutex(store);
	return written;
}

bool store_await_plan(struct store *store)
{
	bool awaited;

	lock_mutex(store);
	awaited = store->failed != store->puts && !store->given_up &&
		  (is_pending(&store->content[KEPT_DRIFTING]) ||
		   is_pending(&store->content[KEPT_PLAN]));
	if (awaited)
		clock_wait_briefly(&store->signal, 10);
	unlock_mutex(store);
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
	lock_mutex(store);
	*why = store->trouble;
	unlock_mutex(store);
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
	free(store->source);
	free(store->emptied);
	free(store->folder);
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
