/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A fabric with its plan and tables, and operations of tests on it. Everything here
 * fails the running cmocka test when it cannot do its work.
 */
#ifndef TESTS_WORLD_H
#define TESTS_WORLD_H

#include "recipe.h"

#include <portmajor/check/check.h>
#include <portmajor/fabric/generate.h>
#include <portmajor/plan/plan.h>
#include <portmajor/route/delta.h>
#include <portmajor/route/route.h>

struct world {
	struct pm_fabric *fabric; /* whole, with the plan's LIDs */
	struct pm_plan *plan;
	struct pm_routes *routes;
	struct pm_detours detours; /* none unless a test sets them */
	uint8_t *usable;	   /* [port], of the last update */
	uint8_t *first;		   /* [switch][stride] tables of the whole fabric */
	uint32_t stride, num_switches;
};

/* Fabrics from the generator. */
struct pm_fabric *world_generate(const struct pm_generate *config);
struct pm_fabric *world_director(unsigned int leaves);

/* The world owns the fabric. */
void world_make(struct world *world, struct pm_fabric *fabric, enum pm_lid_order order);
void world_make_with(struct world *world, struct pm_fabric *fabric,
		     const struct pm_plan_config *config);
/*
 * Of a tree drawn at random, with a host and a plan; false: this tree will not do. The
 * caller frees the recipe.
 */
bool world_make_random(struct world *world, struct random *random, struct recipe *recipe);
void world_free(struct world *world);

/* Gives every port of a fabric that is a place its LID. */
void world_set_lids(struct pm_fabric *fabric, const struct pm_plan *plan);

/*
 * A copy of the fabric without the named parts: NAME, all cables of a node, or
 * NAME:PORT, one cable; NAME may be a pattern; several with blanks between. The caller
 * frees it.
 */
struct pm_fabric *world_without(const struct world *world, const char *failure);

/* Updates the tables for a fabric without new parts. */
void world_update(struct world *world, const struct pm_fabric *now);

/* A copy of all present tables; the caller frees it. */
uint8_t *world_tables(const struct pm_routes *routes, uint32_t num_switches);

/* The differences between the whole fabric's tables and the present ones. */
struct pm_delta world_delta(const struct world *world);

/*
 * Updates the tables for a failure; returns its cost for the switches that have not
 * failed.
 */
struct pm_delta world_fail(struct world *world, const char *failure);

/*
 * The same with a check of the remaining fabric, by pm_check_paths from all switches.
 */
struct pm_check_paths world_paths(const struct world *world, const struct pm_fabric *now);
void world_assert_sound(const struct world *world, const struct pm_fabric *now);
struct pm_check_credits world_credits(const struct world *world,
				      const struct pm_fabric *now);
struct pm_check_loads world_loads(const struct world *world, const struct pm_fabric *now);
uint32_t world_shifts(const struct world *world, const struct pm_fabric *now,
		      uint32_t samples);

uint32_t world_switch(const struct world *world, const char *name);
/* The index of a port of a named node. */
uint32_t world_port(const struct pm_fabric *fabric, const char *name, unsigned int port);
/* The LID of a place: switch name and port, 0 for the switch itself. */
uint16_t world_lid(const struct world *world, const char *name, unsigned int port);
/* The entry of a switch for the LID of a place. */
uint8_t world_entry(const struct world *world, const char *sw, const char *name,
		    unsigned int port);

#endif
