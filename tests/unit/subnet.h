/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * OpenSM from the plugin's point of view: a subnet that is discovered, given LIDs and
 * routed in sweeps, switches that answer at once, and a clock that stands still unless
 * a thread waits. There is one subnet at a time. Everything here fails the running
 * cmocka test when it cannot do its work, and its own allocations never fail
 * (memfault_spare).
 *
 * The program is linked with --wrap for fsync, clock_ms, clock_wait_until,
 * clock_wait_briefly and all of worker.h: there is no thread but main's; a worker's
 * round is made where the worker is poked, the repairer's at the end of a sweep.
 */
#ifndef TESTS_SUBNET_H
#define TESTS_SUBNET_H

#include <portmajor/fabric/fabric.h>

#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>

#define SUBNET_LFT 512	/* bytes of OpenSM's tables */
#define SUBNET_NODES 32 /* at most */

/* The result of a sweep. */
struct subnet_sweep {
	int rc;		    /* of the engine's callback; 1: it was not called */
	bool untouched;	    /* the callback left new_lft unchanged */
	uint32_t no_memory; /* lines in the log about a lack of memory, .. */
	uint32_t refusals;  /* .. and of these: that the fabric is not routed */
	uint32_t errors;    /* lines of level error */
	uint32_t set_aside; /* .. and of these: that a plan was renamed unread */
};

/* A folder for the files of OpenSM's plugins, set in OSM_CACHE_DIR. */
const char *subnet_make_folder(void);
/* Removes the files there with a name of this pattern, and empty folders. */
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
struct plugin *subnet_plugin(void); /* NULL: it is not loaded */

/*
 * Sends a request (requests.h) on the control socket: the writer takes it in its next
 * round. A request that is refused for lack of memory is sent again.
 */
void subnet_ask(const char *line);
/* Gives the writer a round. */
void subnet_let_write(void);
void subnet_unload(void);

/* A heavy sweep. */
void subnet_sweep(struct subnet_sweep *result);
/* A sweep in which the plugin routes and logs no error. */
void subnet_sweep_well(void);
/* A sweep without the plugin: LIDs are OpenSM's own, tables stay. */
void subnet_sweep_alone(void);

/* A routing run without a discovery. */
void subnet_reroute(struct subnet_sweep *result);

/* The beginning of a heavy sweep: failures that traps report are repaired. */
void subnet_begin_sweep(void);

/*
 * Runs the repairer's thread for this time in ms, without a sweep: failures that traps
 * report are repaired, drains followed, tables rebalanced.
 */
void subnet_work(struct subnet_sweep *result, double ms);

/* Gives the repairer's thread its turn. */
void subnet_let_send(void);

/* Whether a port of the fabric has a cable that is up. */
bool subnet_is_up(uint32_t port);

/*
 * From now on, this number of times, a switch takes no block of a repair, and does not
 * answer.
 */
void subnet_refuse_blocks(const char *name, uint32_t times);

/* The answer to the plugin's next block comes behind OpenSM's next blocks. */
void subnet_delay_block(const char *name);

/* From now on a switch leaves this number of Gets for a port unanswered. */
void subnet_refuse_questions(const char *name, uint32_t times);

/* Blocks that a switch has taken from repairs. */
uint32_t subnet_repaired(const char *name);

/* Calls this after each block that a switch has taken from the plugin; NULL: no more. */
void subnet_on_block(void (*call)(void));

/* From now on each answer to a Get for a port takes this time. */
void subnet_set_answer_ms(double ms);

/* Calls this each time that the plugin has waited; NULL: no more. */
void subnet_on_wait(void (*call)(void));

/* Calls this once, between the next discovery and the report of its end. */
void subnet_on_discovered(void (*call)(void));

/* Calls this once, between OpenSM's next assignment of LIDs and its routing. */
void subnet_on_assigned(void (*call)(void));

/* Calls this once, before the next Get for a port is answered, or not. */
void subnet_on_question(void (*call)(void));

/* A switch or a host sends this number of traps, with its LID, without any change. */
void subnet_send_traps(const char *name, uint32_t times);

/* How often the log has a text, since subnet_begin. */
uint32_t subnet_logged(const char *text);

/* Sets a cable down, or up again, which its switches report if `trap`. */
void subnet_set_link(const char *name, unsigned int port, bool up, bool trap);

osm_opensm_t *subnet_opensm(void);

/* Hashes all LIDs in use, and all tables in the switches, to 64 bits each. */
uint64_t subnet_lids(void);
uint64_t subnet_tables(void);

/* The number of pairs of hosts without a path by the tables in the switches. */
uint32_t subnet_unreachable(void);

/* Hashes the ports on the paths between hosts to 64 bits. */
uint64_t subnet_paths(void);

/* [from][to] of hosts, by number in the fabric: whether the one reaches the other. */
void subnet_note_reached(bool reached[SUBNET_NODES][SUBNET_NODES]);

/* The number of LIDs that loop by the tables in the switches. */
uint32_t subnet_loops(void);

/* The real port by which a switch sends to a host. */
uint8_t subnet_entry(const char *sw, const char *host);

/* The number of blocks in the switches that differ from those that OpenSM wants. */
uint32_t subnet_blocks_missing(void);

/* The number of LIDs that guid2lid has for two GUIDs. */
uint32_t subnet_double_lids(void);

/* Whether OpenSM has its hop counts since the last routing run. */
bool subnet_has_hop_counts(void);

/* How often the plugin has had OpenSM write its file of multicast tables. */
uint32_t subnet_dumps(void);

/* Whether a thread holds OpenSM's lock. */
bool subnet_is_locked(void);

#endif
