/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * OpenSM, as far as the plugin sees it: a subnet that is discovered, given LIDs and
 * routed in sweeps, switches that answer at once, and a clock that stands still unless
 * somebody waits. There is one at a time. Everything here fails the running cmocka test
 * when it cannot do its work, and what it allocates never fails (memfault_spare).
 *
 * The program is linked with --wrap for fsync, clock_ms, clock_wait_until,
 * clock_wait_briefly and all of worker.h: there is no thread but main's; a worker's round
 * is made where it is poked, but the repairer's at the end of a sweep.
 */
#ifndef TESTS_SUBNET_H
#define TESTS_SUBNET_H

#include <portmajor/fabric/fabric.h>

#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>

#define SUBNET_LFT 512	/* bytes of OpenSM's tables */
#define SUBNET_NODES 32 /* at most */

/* What a sweep came to. */
struct subnet_sweep {
	int rc;		    /* of the engine's callback; 1: it was not called */
	bool untouched;	    /* the callback left new_lft as it was */
	uint32_t no_memory; /* lines in the log that say that memory is out, .. */
	uint32_t refusals;  /* .. and of these: that the fabric is not routed */
	uint32_t errors;    /* lines of level error */
	uint32_t set_aside; /* .. and of these: that a plan was renamed unread */
};

/* A folder for all that OpenSM's plugins keep, set in OSM_CACHE_DIR. */
const char *subnet_make_folder(void);
/* Removes what there has a name of this pattern, folders if they are empty. */
void subnet_remove_files(const char *pattern);
void subnet_remove_folder(void);

/* The subnet of a sealed fabric, with all cables up; SM on the first host. */
void subnet_begin(const struct pm_fabric *fabric);
/* The same with the plugin, after two sweeps: every host reaches every other one. */
void subnet_begin_routed(const struct pm_fabric *fabric);
void subnet_end(void);

/* Loads and unloads the plugin, with a configuration file or NULL. False: it refused. */
bool subnet_load(const char *config);
bool subnet_is_loaded(void);

/*
 * Sends a request (requests.h) on the control socket: the writer takes it in its next
 * round. One that is refused for want of memory is sent again.
 */
void subnet_ask(const char *line);
void subnet_unload(void);

/* A heavy sweep. */
void subnet_sweep(struct subnet_sweep *result);
/* One in which the plugin routes and logs no error. */
void subnet_sweep_well(void);
/* One without the plugin: LIDs are OpenSM's own, tables stay. */
void subnet_sweep_alone(void);

/* A routing run without a discovery. */
void subnet_reroute(struct subnet_sweep *result);

/* The beginning of a heavy sweep: what traps tell of is repaired. */
void subnet_begin_sweep(void);

/*
 * The repairer's thread for so many ms, without a sweep: what traps tell of is repaired,
 * drains are followed, tables rebalanced.
 */
void subnet_work(struct subnet_sweep *result, double ms);

/* The repairer's thread has its turn. */
void subnet_let_send(void);

/* Whether a port of the fabric has a cable that is up. */
bool subnet_is_up(uint32_t port);

/* A switch takes no block of a repair, and does not answer, so many times from now on. */
void subnet_refuse_blocks(const char *name, uint32_t times);

/* The answer to the next block of the plugin comes behind the next blocks of OpenSM's. */
void subnet_delay_block(const char *name);

/* A switch does not answer so many questions for a port, from now on. */
void subnet_refuse_questions(const char *name, uint32_t times);

/* Blocks that a switch has taken from repairs. */
uint32_t subnet_repaired(const char *name);

/* Calls this after each block that a switch has taken from the plugin; NULL: no more. */
void subnet_on_block(void (*call)(void));

/* Each answer to a question for a port takes so long from now on. */
void subnet_set_answer_ms(double ms);

/* Calls this each time that the plugin has waited; NULL: no more. */
void subnet_on_wait(void (*call)(void));

/* Calls this once, between the next discovery and the report of its end. */
void subnet_on_discovered(void (*call)(void));

/* Calls this once, before the next question for a port is answered, or not. */
void subnet_on_question(void (*call)(void));

/* A switch or a host sends so many traps, with its LID, that tell of nothing. */
void subnet_send_traps(const char *name, uint32_t times);

/* How often the log has a text, since subnet_begin. */
uint32_t subnet_logged(const char *text);

/* Takes a cable down, or up again, which its switches report if `trap`. */
void subnet_set_link(const char *name, unsigned int port, bool up, bool trap);

osm_opensm_t *subnet_opensm(void);

/* All LIDs in use, and all tables that switches hold, as 64 bits each. */
uint64_t subnet_lids(void);
uint64_t subnet_tables(void);

/* Pairs of hosts of which the tables that switches hold lead one to the other not. */
uint32_t subnet_unreachable(void);

/* The ports that packets between hosts take, as 64 bits. */
uint64_t subnet_paths(void);

/* [from][to] of hosts, by number in the fabric, whether the one reaches the other. */
void subnet_note_reached(bool reached[SUBNET_NODES][SUBNET_NODES]);

/* LIDs that loop by the tables that switches hold. */
uint32_t subnet_loops(void);

/* The port by which a switch really sends to a host. */
uint8_t subnet_entry(const char *sw, const char *host);

/* Blocks of switches' tables that are not those that OpenSM wants. */
uint32_t subnet_blocks_missing(void);

/* LIDs that guid2lid has for two GUIDs. */
uint32_t subnet_double_lids(void);

/* Whether somebody holds OpenSM's lock. */
bool subnet_is_locked(void);

#endif
