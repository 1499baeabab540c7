/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The plans on disk that may be the plan of this fabric: ours, and those in other folders
 * of OpenSM's cache folder (store.h). A fabric has no name, so a plan is recognised by
 * its parts: it fits unless more than a tenth of the discovered switches are not in it or
 * have other cables. With the plan of another folder come the missing parts of its state,
 * with times and names, and its requests: all if this OpenSM had none, else only
 * acknowledgements.
 *
 * Reading and choosing are two steps on two threads. candidates_read touches files, knows
 * no fabric, and may take as long as a disk hangs: it runs on the writer thread.
 * candidates_choose compares plans in memory with the fabric: it touches no file, and
 * runs on the sweeper thread.
 */
#ifndef PORTMAJOR_CANDIDATES_H
#define PORTMAJOR_CANDIDATES_H

#include <portmajor/base/error.h>
#include <portmajor/plan/plan.h>

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#define CANDIDATES_PREFIX                                                                \
	"portmajor." /* of all names of the plugin's folders and files \ */

/*
 * In the order of writing: the plan in force comes before the base, as ports keep its
 * LIDs.
 */
enum kept_file { KEPT_DRIFTING, KEPT_PLAN, KEPT_HOLDS, KEPT_FILES };

extern const char *const kept_name[KEPT_FILES];

/* Identifies a version of a file; all zero: no file. */
struct candidate_stamp {
	ino_t inode;
	off_t size;
	struct timespec written;
};

/* A file that was read. */
struct candidate_file {
	/* 0; -ENOENT: no file; -EPERM: other users could have written it; -errno */
	int rc;
	struct pm_error why;	      /* with rc: a message with the path */
	struct candidate_stamp stamp; /* of what was read; none if it was not trusted */
	struct pm_plan *plan;	      /* of KEPT_DRIFTING and KEPT_PLAN, or NULL */
	char *text;		      /* of KEPT_HOLDS, or NULL */
	size_t length;
};

struct candidate {
	char *folder; /* its path, with a slash at its end */
	bool ours;
	struct timespec written; /* of the plan */
	struct candidate_file file[KEPT_FILES];
};

/* All zero: none. */
struct candidates {
	struct candidate *list;
	size_t num;
};

/* The stamp of the file that is there now. */
struct candidate_stamp candidate_stamp(const char *path);
bool candidate_stamp_equal(const struct candidate_stamp *a,
			   const struct candidate_stamp *b);

/*
 * Reads all candidates. cache: the cache folder, with its slash. ours: the path of the
 * plugin's own folder, which comes first in the list, even without a plan, or locked by
 * another process. Files that others could have written are refused (trusted.h). The
 * caller frees *found; untouched on failure. -ENOMEM. Cost: parsing a plan for each
 * folder with one.
 */
int candidates_read(const char *cache, const char *ours, struct candidates *found);
void candidates_free(struct candidates *found);

/*
 * The candidate with a plan for this fabric and LMC; of several, the one written last.
 * NULL: none. Other plans get rc -EBADMSG, and a message. So does the drifting plan of
 * the chosen candidate, if it is not for this fabric and LMC.
 */
struct candidate *candidates_choose(struct candidates *found,
				    const struct pm_fabric *fabric, uint8_t lmc);

/* Ours, or NULL. */
struct candidate *candidates_ours(const struct candidates *found);

#endif
