/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Judges the tables of switches over a topology, made by any engine:
 *
 *     tables and switches by GUID -> LIDs -> entries -> paths, credit loops
 *         -> multicast -> loads -> LIDs and tables of a plan
 *
 * Each fault at one of these steps is a finding.
 */
#ifndef PORTMAJOR_JUDGE_H
#define PORTMAJOR_JUDGE_H

#include <portmajor/check/check.h>
#include <portmajor/check/check_mfts.h>
#include <portmajor/route/delta.h>
#include <portmajor/route/lfts.h>

/* In the order of the steps, as findings are. Comments: the unit of pm_finding.count. */
enum pm_finding_kind {
	PM_FOUND_UNKNOWN_SWITCH, /* tables of switches that are not in the topology */
	PM_FOUND_NO_TABLE,	 /* switches with a link */
	PM_FOUND_NO_LID,	 /* ports with a link */
	PM_FOUND_DUPLICATE_LID,	 /* ports with the LID of another port */
	PM_FOUND_OTHER_LID,	 /* ports with another LID than in the tables' file */
	PM_FOUND_UNKNOWN_PORT,	 /* ports of that file that are not in the topology */
	PM_FOUND_NO_SUCH_PORT,	 /* entries with a port that the switch does not have */
	/* Paths, by enum pm_check_fault. */
	PM_FOUND_LOST,
	PM_FOUND_LOOP,
	PM_FOUND_TURN,
	PM_FOUND_MISROUTED,
	PM_FOUND_UNREACHABLE,
	PM_FOUND_SM,
	PM_FOUND_LOOPS,	      /* LIDs, even without an owner */
	PM_FOUND_CREDIT_LOOP, /* its links */
	/* Multicast, by enum pm_mft_fault. */
	PM_FOUND_MFT_LOOP,
	PM_FOUND_MFT_TWICE,
	PM_FOUND_MFT_MISSED,
	PM_FOUND_MFT_STRANGER,
	PM_FOUND_MFT_NOWHERE,
	PM_FOUND_BALANCE,	  /* 1, for the links of a level up, or down */
	PM_FOUND_UNKNOWN_LID,	  /* LIDs with entries, and no present or planned owner */
	PM_FOUND_NO_PLAN,	  /* 1 */
	PM_FOUND_LID_OUT_OF_PLAN, /* ports */
	PM_FOUND_ENTRY_OUT_OF_PLAN, /* entries */
	PM_FINDING_KINDS
};

/* The name in JSON, "unknown-switch" and so on. */
const char *pm_finding_name(enum pm_finding_kind kind);

#define PM_FINDING_TEXT 700

struct pm_finding {
	enum pm_finding_kind kind;
	uint64_t count;		    /* 1 and up */
	char text[PM_FINDING_TEXT]; /* one line with an example, truncated */
};

/* One of each kind, and PM_FOUND_BALANCE for each level, up and down. */
#define PM_MAX_FINDINGS (PM_FINDING_KINDS + 2 * PM_CHECK_LEVELS)

/* All of it borrowed. */
struct pm_judge_config {
	const char *topology, *tables; /* names of the files in messages */
	uint32_t sm; /* as in struct pm_check; PM_NONE: the port in the tables, if any */
	/*
	 * The complete fabric, for levels and a plan, if parts are missing now. NULL: the
	 * judged fabric is complete.
	 */
	const struct pm_fabric *whole;
	bool from_all;	 /* paths from all switches, not only those with end ports */
	uint32_t shifts; /* number of shift permutations, see pm_check_shifts; here 0
			    means none */
	double balance;	 /* highest allowed load of a link under all-to-all traffic,
			    divided by the mean of its level; 0: any */
	/*
	 * A plan that fits (pm_plan_fits), or NULL: that of the topology by plan_config,
	 * with the LMC of the ports if `lmc_of_ports`.
	 */
	const struct pm_plan *plan;
	const struct pm_plan
		*in_force; /* of the LIDs in use, see pm_plan_keep; or NULL */
	bool compare_only; /* differences from the given plan are no findings, either */
	/*
	 * As in struct pm_whatif_now: writes the links in use by the given plan; NULL:
	 * all links of the fabric.
	 */
	int (*use)(void *context, const uint8_t *there, uint8_t *usable,
		   struct pm_error *err);
	void *context;
	struct pm_plan_config plan_config;
	bool lmc_of_ports;
	/* Multicast tables and groups for pm_check_mfts; NULL: they are not judged. */
	const struct pm_mfts *mfts;
	const struct pm_group *groups;
	uint32_t num_groups;
	bool connect_roots; /* tables are planned as with OpenSM's connect_roots */
	bool conform;	    /* differences from a plan made here are findings, as those
			     * from a given plan are without compare_only */
};

struct pm_judgement {
	struct pm_finding findings[PM_MAX_FINDINGS];
	uint32_t num_findings;
	uint32_t tables;	 /* of switches of the topology */
	uint32_t end_ports;	 /* with a link */
	uint32_t ports_with_lid; /* switches' port 0 and end ports */
	/*
	 * The port whose LID dump_fts left out of the tables, see pm_lfts_left_out, or
	 * PM_NONE. Its LID is no destination, and entries for it are not compared.
	 */
	uint32_t left_out;
	/*
	 * LIDs with entries and no port, such as those of empty places; the first of
	 * these LIDs, and a switch with an entry for it.
	 */
	uint32_t unassigned, first_unassigned, at;
	struct pm_check_paths paths;
	struct pm_check_pairs host_pairs;
	struct pm_check_loops loops;
	struct pm_check_credits credits;
	struct pm_check_mfts mfts; /* zeros without MFTs */
	struct pm_check_loads loads;
	uint32_t shift;		   /* most flows of a tried shift permutation on a link */
	bool planned;		   /* there is a plan with the present LIDs */
	struct pm_error unplanned; /* why there is none */
	uint32_t lids_differ;	   /* ports with another LID than planned */
	struct pm_delta delta; /* from the tables to those planned with these LIDs; only
				  for LIDs in use, unless the tables are whole */
};

/*
 * Judges the tables of one or more switches. Ports of the fabric without a LID get the
 * one in the tables' file. -EINVAL: tables of another fabric, or no LID is known;
 * -ENOMEM; errors as pm_tree_make. A finding is no error. Cost: that of pm_check_paths,
 * pm_check_credits, pm_check_mfts, pm_check_loads and pm_routes_make.
 */
int pm_judge(struct pm_fabric *fabric, const struct pm_lfts *lfts,
	     const struct pm_judge_config *config, struct pm_judgement *judgement,
	     struct pm_error *err);

#endif
