/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every function of the core that allocates for the plugin, with each of its allocations
 * failing alone, and then with all behind it: either the result is that of a call without
 * failures, or it is -ENOMEM with a message, results are untouched, nothing has leaked,
 * and the same call, made again, succeeds. The plugin's modules that need no OpenSM are
 * tried as well.
 */
#include "memfault.h"
#include "engine/planning.h"
#include "recipe.h"
#include "engine/view.h"
#include "world.h"
#include "unit.h"

#include <portmajor/analysis/change_text.h>
#include <portmajor/analysis/lft_diff.h>
#include <portmajor/analysis/whatif.h>
#include <portmajor/base/pool.h>
#include <portmajor/base/print.h>
#include <portmajor/base/sealed.h>
#include <portmajor/base/textfile.h>
#include <portmajor/fabric/degrade.h>
#include <portmajor/fabric/link.h>
#include <portmajor/files/role_files.h>
#include <portmajor/files/config.h>
#include <portmajor/files/damping_file.h>
#include <portmajor/files/requests.h>
#include <portmajor/files/lft_file.h>
#include <portmajor/files/opensm_conf.h>
#include <portmajor/files/plan_file.h>
#include <portmajor/multicast/mft_steps.h>
#include <portmajor/multicast/multicast.h>
#include <portmajor/netlist/netlist.h>
#include <portmajor/plan/lid_history.h>
#include <portmajor/plan/missing.h>
#include <portmajor/policy/exclude.h>
#include <portmajor/policy/locate.h>
#include <portmajor/route/order.h>
#include <portmajor/route/steps.h>

#include <unistd.h>

/* In each of them l0:3 is a cable between switches, and s1 is at the top. */
static const char *const trees[] = {
	"l0/4 l1/4 s0/2 s1/2 l0:1=a l1:1=b l0:2=s0:1 l1:2=s0:2 l0:3=s1:1 l1:3=s1:2",
	/* leaves that are not alike: entries are assigned */
	"l0/8 l1/8 s0/6 s1/6 l0:1=a l0:2=b l1:1=c l1:2=d l0:3=s0:1 l0:4=s0:2 l0:5=s1:1 "
	"l0:6=s1:2 l1:3=s0:3 l1:4=s1:3",
	"l0/4 l1/4 l2/4 l3/4 m0/4 m1/4 m2/4 m3/4 s0/4 s1/4 l0:1=a l1:1=b l2:1=c l3:1=d "
	"l0:2=m0:1 l0:3=m1:1 l1:2=m0:2 l1:3=m1:2 l2:2=m2:1 l2:3=m3:1 l3:2=m2:2 l3:3=m3:2 "
	"m0:3=s0:1 m1:3=s1:1 m2:3=s0:2 m3:3=s1:2",
};

/* ---- One call ---- */

static struct {
	struct memfault fault;
	uint64_t allocations; /* of the call at hand */
	int rc;
	uint64_t digest; /* of the result, in the end */
	struct pm_error err;
	char folder[40];
} trial;

static void note(const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		trial.digest =
			(trial.digest ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
}

#define NOTE(object) note(&(object), sizeof(object))

static void note_text(const char *text)
{
	note(text, strlen(text) + 1);
}

#define CALL(call)                                                                       \
	do {                                                                             \
		trial.err.text[0] = '\0';                                                \
		memfault_begin(&trial.fault);                                            \
		trial.rc = (call);                                                       \
		trial.allocations = memfault_end();                                      \
		assert_true(!trial.rc || trial.rc == -ENOMEM);                           \
		assert_true(!trial.rc || trial.fault.nth);                               \
	} while (0)

/* A call that changes something: if it failed, it does not when made again. */
#define CHANGE(call)                                                                     \
	do {                                                                             \
		CALL(call);                                                              \
		if (trial.rc) {                                                          \
			assert_int_not_equal(trial.err.text[0], 0);                      \
			assert_int_equal((call), 0);                                     \
		}                                                                        \
	} while (0)

/* One that sets a pointer. */
#define MAKE(pointer, call)                                                              \
	do {                                                                             \
		(pointer) = (void *)&trial;                                              \
		CALL(call);                                                              \
		if (trial.rc) {                                                          \
			assert_ptr_equal(pointer, &trial);                               \
			assert_int_not_equal(trial.err.text[0], 0);                      \
			assert_int_equal((call), 0);                                     \
		}                                                                        \
	} while (0)

/* One that prints, and has no message. */
#define PRINT(pointer, call)                                                             \
	do {                                                                             \
		(pointer) = (void *)&trial;                                              \
		CALL(call);                                                              \
		if (trial.rc) {                                                          \
			assert_ptr_equal(pointer, &trial);                               \
			assert_int_equal((call), 0);                                     \
		}                                                                        \
	} while (0)

/* One that has no message. */
#define QUIETLY(call)                                                                    \
	do {                                                                             \
		CALL(call);                                                              \
		if (trial.rc)                                                            \
			assert_int_equal((call), 0);                                     \
	} while (0)

/* One that returns what it made, or NULL. */
#define RETURN(pointer, call)                                                            \
	do {                                                                             \
		CALL(((pointer) = (call)) ? 0 : -ENOMEM);                                \
		if (trial.rc)                                                            \
			assert_non_null((pointer) = (call));                             \
	} while (0)

/* One that fills a struct. */
#define FILL(object, call)                                                               \
	do {                                                                             \
		memset(&(object), 0, sizeof(object));                                    \
		CALL(call);                                                              \
		if (trial.rc) {                                                          \
			for (size_t at_ = 0; at_ < sizeof(object); at_++)                \
				assert_int_equal(((uint8_t *)&(object))[at_], 0);        \
			assert_int_not_equal(trial.err.text[0], 0);                      \
			assert_int_equal((call), 0);                                     \
		}                                                                        \
	} while (0)

/* ---- Results ---- */

static void note_fabric(const struct pm_fabric *fabric)
{
	for (uint32_t i = 0; i < fabric->num_nodes; i++) {
		const struct pm_node *n = &fabric->nodes[i];

		NOTE(n->guid);
		NOTE(n->key);
		NOTE(n->first_port);
		note_text(pm_fabric_name(fabric, i));
		note_text(pm_fabric_label(fabric, i));
	}
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		const struct pm_port *p = &fabric->ports[i];

		NOTE(p->guid);
		NOTE(p->peer);
		NOTE(p->lid);
		NOTE(p->host);
	}
}

static void note_plan(const struct pm_plan *plan)
{
	char *text = NULL;
	size_t length;

	note("plan", plan != NULL);
	if (!plan)
		return;
	assert_int_equal(pm_plan_file_print(plan, &text, &length), 0);
	note(text, length);
	free(text);
}

static void note_routes(const struct pm_routes *routes)
{
	for (uint32_t sw = 0; sw < pm_routes_plan(routes)->topology->num_switches; sw++)
		note(pm_routes_table(routes, sw), pm_routes_stride(routes));
}

static void note_lfts(const struct pm_lfts *lfts)
{
	for (uint32_t i = 0; i < lfts->num_switches; i++) {
		const struct pm_lft_switch *sw = &lfts->switches[i];

		NOTE(sw->guid);
		note_text(sw->name);
		note(sw->table, sw->length);
	}
	for (uint32_t lid = 0; lid <= PM_MAX_LID; lid++)
		note(&lfts->owner[lid].guid, sizeof(uint64_t));
}

static void note_damping(const struct pm_damping *damping, uint64_t now_ms)
{
	uint32_t at = 0;
	struct pm_damped_link flap;

	while (pm_damping_next(damping, now_ms, &at, &flap)) {
		NOTE(flap.end[0].guid);
		NOTE(flap.end[0].num);
		NOTE(flap.state);
		NOTE(flap.downs);
	}
}

/* The file's path, valid until the next one; text NULL: what is there already. */
static const char *file_with(const char *text)
{
	static char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/file", trial.folder);
	if (text) {
		file = fopen(path, "w");
		assert_non_null(file);
		fputs(text, file);
		assert_int_equal(fclose(file), 0);
	}
	return path;
}

static uint8_t *copy_usable(const struct world *world)
{
	uint32_t num = world->plan->topology->num_ports;
	uint8_t *copy = malloc(num);

	assert_non_null(copy);
	memcpy(copy, world->usable, num);
	return copy;
}

/* ---- base ---- */

static void try_textfile(struct world *world)
{
	const char *path = file_with("some text\n");
	size_t length = 0;
	char *text;

	MAKE(text, pm_textfile_read(path, &text, &length, &trial.err));
	note(text, length);
	free(text);
}

static int print_much(FILE *out, const void *arg)
{
	for (int i = 0; i < 3000; i++)
		fprintf(out, "%d %s\n", i, (const char *)arg);
	return 0;
}

static void try_print(struct world *world)
{
	char *text;
	size_t length = 0;

	PRINT(text, pm_text_print(print_much, "x", &text, &length));
	note(text, length);
	free(text);
}

static void try_sealed(struct world *world)
{
	char *text;
	size_t length = 0;

	PRINT(text, pm_sealed_print(print_much, "x", &text, &length));
	note(text, length);
	free(text);
}

/* ---- fabric ---- */

/* The fabric, copied node by node and cable by cable. */
static int build(const struct pm_fabric *from, struct pm_fabric **to)
{
	struct pm_fabric *fabric = pm_fabric_new();
	int rc = fabric ? 0 : pm_error_no_memory(&trial.err);

	for (uint32_t i = 0; !rc && i < from->num_nodes; i++) {
		const struct pm_node *n = &from->nodes[i];
		uint32_t node;

		rc = pm_fabric_add_node(fabric, (enum pm_node_type)n->type, n->guid,
					n->num_ports, pm_fabric_name(from, i), &node,
					&trial.err);
	}
	for (uint32_t i = 0; !rc && i < from->num_ports; i++) {
		const struct pm_port *a = &from->ports[i];

		if (a->peer != PM_NONE && a->peer > i)
			rc = pm_fabric_link(fabric, a->node, a->num,
					    from->ports[a->peer].node,
					    from->ports[a->peer].num, &trial.err);
	}
	if (!rc)
		rc = pm_fabric_seal(fabric, &trial.err);
	if (rc)
		pm_fabric_free(fabric);
	else
		*to = fabric;
	return rc;
}

static void try_build(struct world *world)
{
	struct pm_fabric *fabric;

	MAKE(fabric, build(world->fabric, &fabric));
	note_fabric(fabric);
	pm_fabric_free(fabric);
}

static void try_clone(struct world *world)
{
	struct pm_fabric *fabric;

	RETURN(fabric, pm_fabric_clone(world->fabric));
	note_fabric(fabric);
	pm_fabric_free(fabric);
}

static void try_skeleton(struct world *world)
{
	struct pm_fabric *fabric;

	RETURN(fabric, pm_fabric_skeleton(world->fabric));
	note_fabric(fabric);
	pm_fabric_free(fabric);
}

static void try_merge(struct world *world)
{
	struct pm_fabric *part = world_without(world, "s1"), *merged;
	struct pm_fabric *skeleton = pm_fabric_skeleton(part);

	assert_non_null(skeleton);
	MAKE(merged, pm_fabric_merge(skeleton, world->fabric, &merged, &trial.err));
	note_fabric(merged);
	pm_fabric_free(merged);
	pm_fabric_free(skeleton);
	pm_fabric_free(part);
}

static void try_rename(struct world *world)
{
	char name[4000];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	CHANGE(pm_fabric_rename(world->fabric, 0, 0x77, name, &trial.err));
	note_fabric(world->fabric);
	CHANGE(pm_fabric_rename(world->fabric, 1, 0x78, name, &trial.err));
	note_fabric(world->fabric);
}

static void try_ports_by_guid(struct world *world)
{
	struct pm_port_key *keys;
	uint32_t count;

	RETURN(keys, pm_fabric_ports_by_guid(world->fabric, &count));
	for (uint32_t i = 0; i < count; i++)
		NOTE(keys[i].port);
	free(keys);
}

static void try_degrade(struct world *world)
{
	const struct pm_degrade degrade = {.links = {1, false}, .hosts = {1, false}};

	CHANGE(pm_degrade_apply(&degrade, world->fabric, &trial.err));
	note_fabric(world->fabric);
}

static void try_tree(struct world *world)
{
	struct pm_tree tree;

	FILL(tree, pm_tree_make(world->plan->topology, &tree, &trial.err));
	note(tree.level, tree.num_switches);
	note(tree.direction, tree.num_ports);
	note(tree.index_in_pod, tree.num_switches * sizeof(*tree.index_in_pod));
	note(tree.leaves, tree.num_leaves * sizeof(*tree.leaves));
	pm_tree_free(&tree);
}

static void try_degraded_links(struct world *world)
{
	const struct pm_plan *plan = world->plan;
	uint8_t link[256] = {0};
	struct pm_degraded_link *list;
	uint32_t count = 0;

	assert_true(plan->topology->num_ports <= sizeof(link));
	for (uint32_t i = 0, degraded = 0; i < plan->topology->num_ports; i++)
		if (plan->topology->ports[i].peer != PM_NONE &&
		    plan->topology->ports[i].peer > i)
			link[i] = pm_link_code(degraded++ ? 4 : 1, PM_EDR);
	FILL(list, pm_degraded_links_find(plan->topology, &plan->tree, link, &list,
					  &count, &trial.err));
	assert_int_equal(count, 1);
	note(list, sizeof(*list));
	free(list);
}

static void try_reach(struct world *world)
{
	const struct pm_fabric *topology = world->plan->topology;
	struct pm_pool pool = {NULL, false};
	struct pm_reach reach = {0};

	CALL((pm_reach_init(&world->plan->tree, &pool, &reach),
	      pm_pool_check(&pool, &trial.err)));
	if (trial.rc) {
		pm_pool_free(&pool);
		pm_reach_init(&world->plan->tree, &pool, &reach);
	}
	pm_reach_compute(topology, &world->plan->tree, world->usable, &reach);
	for (uint32_t sw = 0; sw < topology->num_switches; sw++)
		note(pm_reach_updown(&reach, sw), reach.words * sizeof(uint64_t));
	pm_pool_free(&pool);
}

static void try_roles(struct world *world)
{
	const char *path = file_with("0x1\n0x3 # two\n0x2\n");
	const struct pm_role_files files = {.roots = path, .io = path};
	struct pm_roles roles;

	FILL(roles, pm_roles_read(&files, &roles, &trial.err));
	note(roles.roots.list, roles.roots.count * sizeof(*roles.roots.list));
	note(roles.io.list, roles.io.count * sizeof(*roles.io.list));
	pm_roles_free(&roles);
}

/* ---- plan ---- */

static void try_plan(struct world *world)
{
	static const struct pm_plan_config configs[] = {
		{.order = PM_GROUPED},
		{.order = PM_LEAF_MAJOR},
		{.order = PM_PORT_MAJOR, .lmc = 1},
	};

	for (size_t i = 0; i < LENGTH(configs); i++) {
		uint64_t before = i ? trial.allocations : 0;
		struct pm_plan *plan;

		MAKE(plan, pm_plan_make(world->fabric, &configs[i], &plan, &trial.err));
		note_plan(plan);
		pm_plan_free(plan);
		if (trial.allocations < before)
			trial.allocations = before;
	}
}

/* A plan that does not know the spine s1 yet. */
static struct pm_plan *plan_of_part(const struct world *world)
{
	const struct pm_plan_config config = {.order = PM_GROUPED};
	struct pm_fabric *part = world_without(world, "s1");
	struct pm_plan *plan = NULL;

	assert_int_equal(pm_plan_make(part, &config, &plan, NULL), 0);
	pm_fabric_free(part);
	return plan;
}

static void try_grow(struct world *world)
{
	struct pm_plan *plan = plan_of_part(world), *grown;

	MAKE(grown, pm_plan_grow(plan, world->fabric, &grown, &trial.err));
	assert_non_null(grown);
	note_plan(grown);
	pm_plan_free(grown);
	pm_plan_free(plan);
}

static void try_remake(struct world *world)
{
	struct pm_plan *plan = plan_of_part(world), *remade;

	MAKE(remade, pm_plan_remake(plan, world->fabric, &remade, &trial.err));
	note_plan(remade);
	pm_plan_free(remade);
	pm_plan_free(plan);
}

/* LIDs out of plan. */
static void shift_lids(struct pm_fabric *fabric)
{
	for (uint32_t i = 0; i < fabric->num_ports; i++)
		if (fabric->ports[i].lid)
			fabric->ports[i].lid += 100;
}

static void try_keep(struct world *world)
{
	struct pm_plan *kept;
	uint32_t differ = 0;

	shift_lids(world->fabric);
	MAKE(kept, pm_plan_keep(world->plan, world->fabric, world->plan, &kept, &differ,
				&trial.err));
	assert_non_null(kept);
	NOTE(differ);
	note_plan(kept);
	pm_plan_free(kept);
}

static void try_origin(struct world *world)
{
	struct pm_plan *origin;

	MAKE(origin,
	     pm_plan_find_origin(world->plan, world->fabric, &origin, &trial.err));
	note_plan(origin);
	pm_plan_free(origin);
}

static void try_missing(struct world *world)
{
	struct pm_fabric *broken = world_without(world, "l0:3 s0");
	uint8_t *usable = copy_usable(world);
	struct pm_missing missing;

	pm_plan_match(world->plan, broken, usable);
	FILL(missing,
	     pm_missing_find(world->plan->topology, usable, &missing, &trial.err));
	assert_int_equal(missing.switches, 1);
	note(missing.parts, missing.num * sizeof(*missing.parts));
	pm_missing_free(&missing);
	free(usable);
	pm_fabric_free(broken);
}

static struct pm_lid_history *history_of(const struct world *world)
{
	struct pm_claim claims[32];
	struct pm_lid_history *made = NULL;
	uint32_t num = 0;

	for (uint32_t i = 0; i < world->fabric->num_ports && num < LENGTH(claims); i++)
		if (world->fabric->ports[i].lid)
			claims[num++] = (struct pm_claim){world->fabric->ports[i].guid,
							  world->fabric->ports[i].lid,
							  world->fabric->ports[i].lid};
	CALL(pm_lid_history_make(claims, num, &made, &trial.err));
	if (trial.rc) {
		assert_null(made);
		assert_int_equal(pm_lid_history_make(claims, num, &made, NULL), 0);
	}
	return made;
}

static struct pm_lid_history *history_unharmed(const struct world *world)
{
	struct memfault fault = trial.fault;
	struct pm_lid_history *history;

	trial.fault.nth = 0;
	history = history_of(world);
	trial.fault = fault;
	return history;
}

/* The history is opaque: its effect on a plan is compared. */
static void note_history(const struct world *world, struct pm_lid_history *history)
{
	struct pm_lid_restore restore = {.now = world->fabric, .max_lid = PM_MAX_LID};
	struct pm_plan *part = plan_of_part(world), *restored = NULL;

	for (uint32_t i = 0; i < world->fabric->num_ports; i++)
		world->fabric->ports[i].lid = 0;
	assert_int_equal(pm_plan_restore_lids(part, history, &restore, &restored, NULL),
			 0);
	NOTE(restore.restored);
	note_plan(restored);
	pm_plan_free(restored);
	pm_plan_free(part);
}

static void try_history(struct world *world)
{
	struct pm_lid_history *history = history_of(world);

	note_history(world, history);
	pm_lid_history_free(history);
}

static void try_history_tables(struct world *world)
{
	struct pm_fabric *part = world_without(world, "l0:1");
	struct pm_installed installed[16] = {{0}};
	struct pm_lid_history *history = NULL;

	for (uint32_t sw = 0; sw < world->num_switches; sw++)
		installed[sw] = (struct pm_installed){pm_routes_table(world->routes, sw),
						      world->stride};
	assert_int_equal(pm_lid_history_make(NULL, 0, &history, NULL), 0);
	CHANGE(pm_lid_history_add_tables(history, world->plan, part, installed,
					 &trial.err));
	note_history(world, history);
	pm_lid_history_free(history);
	pm_fabric_free(part);
}

static void try_restore(struct world *world)
{
	struct pm_lid_history *history;
	struct pm_lid_restore restore = {.now = world->fabric, .max_lid = PM_MAX_LID};
	struct pm_plan *part = plan_of_part(world), *restored;

	shift_lids(world->fabric);
	history = history_unharmed(world);
	for (uint32_t i = 0; i < world->fabric->num_ports; i++)
		world->fabric->ports[i].lid = 0;
	MAKE(restored,
	     pm_plan_restore_lids(part, history, &restore, &restored, &trial.err));
	NOTE(restore.restored);
	note_plan(restored);
	pm_plan_free(restored);
	pm_plan_free(part);
	pm_lid_history_free(history);
}

/* One that drains a cable and a switch. */
static void drain(struct world *world, struct pm_drains *drains)
{
	const struct pm_fabric *fabric = world->fabric;
	const uint32_t l0 = pm_fabric_find_name(fabric, "l0");
	const uint32_t s1 = pm_fabric_find_name(fabric, "s1");

	assert_int_equal(
		pm_drains_add(drains, fabric->nodes[l0].guid, 3, "l0", NULL, NULL), 0);
	assert_int_equal(
		pm_drains_add(drains, fabric->nodes[s1].guid, 0, "s1", NULL, NULL), 0);
}

static void try_drains_add(struct world *world)
{
	struct pm_drains drains = {0};
	bool added;

	CHANGE(pm_drains_add(&drains, 7, 1, "a name", &added, &trial.err));
	CHANGE(pm_drains_note(&drains, 0, 5, "root", "a reason", &trial.err));
	assert_true(added);
	assert_int_equal(drains.num, 1);
	note_text(drains.list[0].name);
	pm_drains_free(&drains);
}

static void try_requests_read(struct world *world)
{
	const char *path = file_with(
		"{\"schema\": \"portmajor-requests\", \"version\": 1, \"number\": 3, "
		"\"drains\": [{\"guid\": \"0x1\", \"port\": 1, \"name\": \"a\", "
		"\"number\": 1, \"since\": 7, \"by\": \"b\", \"reason\": \"c\"}], "
		"\"releases\": [{\"number\": 3}], \"rebalance\": null, \"acknowledged\": "
		"[{\"guid\": \"0x1\", \"port\": 1, \"since\": 7}]}");
	struct pm_requests requests;

	FILL(requests, pm_requests_read(path, &requests, &trial.err));
	NOTE(requests.releases.num);
	pm_requests_free(&requests);
}

static void try_requests_apply(struct world *world)
{
	static const char *const lines[] = {
		"{\"request\": \"drain\", \"by\": \"a\", \"reason\": \"b\", "
		"\"parts\": [{\"guid\": \"0x1\", \"port\": 1}, "
		"{\"guid\": \"0x2\", \"port\": 0}]}",
		"{\"request\": \"release\", \"all\": true}",
		"{\"request\": \"acknowledge\", \"all\": true}",
	};
	json_t *state = json_loads("{\"sm_state\": \"master\", \"missing\": "
				   "{\"parts\": [{\"since\": 7, \"ends\": "
				   "[{\"guid\": \"0x2\", \"port\": 0}]}]}}",
				   0, NULL);
	const struct pm_request_facts facts = {.state = state};
	struct pm_requests requests = {0}, copy = {0};
	uint64_t number;

	for (size_t i = 0; i < LENGTH(lines); i++) {
		json_t *line = json_loads(lines[i], 0, NULL);

		CHANGE(pm_requests_apply(&requests, line, &facts, &number, &trial.err));
		assert_int_equal(number, i + 1);
		json_decref(line);
	}
	CHANGE(pm_requests_copy(&requests, &copy, &trial.err));
	assert_int_equal(copy.drains.num, 2);
	json_decref(state);
	pm_requests_free(&requests);
	pm_requests_free(&copy);
}

static void try_drains_apply(struct world *world)
{
	uint8_t *usable = copy_usable(world);
	uint32_t num = world->plan->topology->num_ports;
	struct pm_drains drains = {0};

	drain(world, &drains);
	CALL(pm_drains_apply(&drains, world->plan, usable, &trial.err));
	if (trial.rc) {
		assert_memory_equal(usable, world->usable, num);
		assert_int_equal(drains.list[0].state, PM_DRAIN_UNKNOWN);
		assert_int_equal(pm_drains_apply(&drains, world->plan, usable, NULL), 0);
	}
	note(usable, num);
	NOTE(drains.list[1].needed);
	pm_drains_free(&drains);
	free(usable);
}

static void try_exclude(struct world *world)
{
	const struct pm_fabric *topology = world->plan->topology;
	struct pm_exclusion list[] = {
		{.port = world_port(topology, "l0", 3)},
		{.port = topology->ports[world_port(topology, "s1", 1)].peer}};
	uint8_t *usable = copy_usable(world);
	uint32_t num = list[0].port == list[1].port ? 1 : 2;

	CALL(pm_exclude(world->plan, usable, list, num, &trial.err));
	if (trial.rc) {
		assert_memory_equal(usable, world->usable, topology->num_ports);
		assert_int_equal(pm_exclude(world->plan, usable, list, num, NULL), 0);
	}
	note(usable, topology->num_ports);
	free(usable);
}

static void try_reachable(struct world *world)
{
	struct pm_reachable reachable;

	FILL(reachable,
	     pm_reachable_find(world->plan->topology, pm_routes_reach(world->routes),
			       world->usable, &reachable, &trial.err));
	NOTE(reachable.connected);
	NOTE(reachable.pairs);
}

/* ---- route ---- */

static void try_routes(struct world *world)
{
	struct pm_routes *routes;

	MAKE(routes, pm_routes_make(world->plan, &routes, &trial.err));
	note_routes(routes);
	pm_routes_free(routes);
}

static void try_update(struct world *world)
{
	struct pm_fabric *broken = world_without(world, "l0:3");
	uint8_t *usable = copy_usable(world);

	pm_plan_match(world->plan, broken, usable);
	memfault_begin(&trial.fault);
	pm_routes_update(world->routes, usable, &world->detours);
	trial.allocations = memfault_end();
	trial.rc = 0;
	note_routes(world->routes);
	pm_routes_update(world->routes, world->usable, &world->detours);
	free(usable);
	pm_fabric_free(broken);
}

static void try_order(struct world *world)
{
	struct pm_fabric *broken = world_without(world, "l0:3");
	uint8_t *usable = copy_usable(world), empty[PM_LFT_BLOCK] = {0};
	struct pm_order_block blocks[32];
	struct pm_order_waits waits;
	uint32_t num = 0;

	pm_plan_match(world->plan, broken, usable);
	pm_routes_update(world->routes, usable, NULL);
	for (uint32_t sw = 0; sw < world->num_switches; sw++)
		num += pm_order_compare(world->routes, sw, 0, empty, &blocks[num]);
	assert_in_range(num, 1, LENGTH(blocks));
	for (uint32_t i = 0; i < num; i++)
		blocks[i].turn = blocks[i].differ;
	CALL(pm_order_sort(world->routes, usable, blocks, num, &waits));
	if (trial.rc)
		assert_int_equal(
			pm_order_sort(world->routes, usable, blocks, num, &waits), 0);
	for (uint32_t i = 0; i < num; i++)
		NOTE(blocks[i].sw);
	assert_true(waits.first[num] > 0);
	pm_order_free(&waits);
	pm_routes_update(world->routes, world->usable, &world->detours);
	free(usable);
	pm_fabric_free(broken);
}

/* Each entry of these tables leads to the next port with a cable: into loops. */
static uint8_t *wrong_tables(const struct world *world)
{
	const struct pm_fabric *topology = world->plan->topology;
	uint32_t stride = pm_routes_stride(world->routes);
	uint8_t *tables = world_tables(world->routes, world->num_switches);

	for (uint32_t i = 0; i < world->num_switches * stride; i++) {
		const struct pm_node *n = &topology->nodes[i / stride];
		uint8_t port = tables[i];

		if (port == 0 || port == PM_LFT_KEEP)
			continue;
		do
			port = (uint8_t)(port % n->num_ports + 1);
		while (topology->ports[n->first_port + port].peer == PM_NONE &&
		       topology->ports[n->first_port + port].host == PM_NO_HOST);
		tables[i] = port;
	}
	return tables;
}

/* All cables are others than before, and l0 lacks a spine. */
static void try_steps(struct world *world)
{
	struct pm_fabric *broken = world_without(world, "l0:3 l0:4");
	uint8_t *usable = copy_usable(world), *installed = wrong_tables(world);
	uint8_t *recabled = malloc(world->plan->topology->num_ports);
	struct pm_installed tables[32];
	struct pm_stale_input input = {
		.routes = world->routes,
		.installed = tables,
		.up = world->usable,
		.recabled = recabled,
	};
	struct pm_stale stale = {0};
	struct pm_steps steps = {0};

	assert_non_null(recabled);
	memset(recabled, 1, world->plan->topology->num_ports);
	pm_plan_match(world->plan, broken, usable);
	pm_routes_update(world->routes, usable, NULL);
	for (uint32_t sw = 0; sw < world->num_switches; sw++)
		tables[sw] = (struct pm_installed){
			installed + (size_t)sw * pm_routes_stride(world->routes),
			pm_routes_stride(world->routes)};
	QUIETLY(pm_stale_find(&input, &stale));
	assert_int_not_equal(stale.num, 0);
	NOTE(stale.num);
	QUIETLY(pm_steps_make(&input, &stale, &steps));
	assert_int_not_equal(steps.twice, 0);
	for (uint32_t i = 0; i < steps.num; i++)
		note(steps.sets[i].entries, PM_LFT_BLOCK);
	pm_steps_free(&steps);
	pm_stale_free(&stale);
	pm_routes_update(world->routes, world->usable, &world->detours);
	free(recabled);
	free(installed);
	free(usable);
	pm_fabric_free(broken);
}

static void try_unreachable(struct world *world)
{
	struct pm_unreachable unreachable;

	FILL(unreachable, pm_routes_unreachable(world->routes, &unreachable, &trial.err));
	NOTE(unreachable.pairs);
}

static void try_lfts_of_plan(struct world *world)
{
	struct pm_lfts *lfts;

	MAKE(lfts, pm_lfts_of_plan(world->plan, world->routes, world->fabric, &lfts,
				   &trial.err));
	note_lfts(lfts);
	pm_lfts_free(lfts);
}

static struct pm_lfts *lfts_of(const struct world *world)
{
	struct pm_lfts *lfts = NULL;

	assert_int_equal(
		pm_lfts_of_plan(world->plan, world->routes, world->fabric, &lfts, NULL),
		0);
	return lfts;
}

static void try_give_lids(struct world *world)
{
	struct pm_lfts *lfts = lfts_of(world);
	struct pm_lft_lids result;

	for (uint32_t i = 0; i < world->fabric->num_ports; i++)
		world->fabric->ports[i].lid = 0;
	FILL(result, pm_lfts_give_lids(lfts, world->fabric, &result, &trial.err));
	NOTE(result.given);
	note_fabric(world->fabric);
	pm_lfts_free(lfts);
}

/* ---- check ---- */

static struct pm_check check_of(const struct world *world, const uint8_t *tables[16])
{
	struct pm_check check = {.fabric = world->fabric,
				 .level = world->plan->tree.level,
				 .table = tables,
				 .sm = PM_NONE};
	static uint16_t top[16];

	for (uint32_t sw = 0; sw < world->num_switches; sw++) {
		tables[sw] = pm_routes_table(world->routes, sw);
		top[sw] = world->plan->top_lid;
	}
	check.top = top;
	return check;
}

static void try_check(struct world *world)
{
	const uint8_t *tables[16];
	struct pm_check check = check_of(world, tables);
	struct pm_check_paths paths;

	FILL(paths, pm_check_paths(&check, true, &paths, &trial.err));
	NOTE(paths.delivered);
}

static void try_credits(struct world *world)
{
	const uint8_t *tables[16];
	struct pm_check check = check_of(world, tables);
	struct pm_check_credits credits;

	FILL(credits, pm_check_credits(&check, &credits, &trial.err));
	NOTE(credits.dependencies);
}

static void try_loads(struct world *world)
{
	const uint8_t *tables[16];
	struct pm_check check = check_of(world, tables);
	struct pm_check_loads loads;

	FILL(loads, pm_check_loads(&check, &loads, &trial.err));
	NOTE(loads.up[0].flows);
}

static void try_shifts(struct world *world)
{
	const uint8_t *tables[16];
	struct pm_check check = check_of(world, tables);
	uint32_t most;

	FILL(most, pm_check_shifts(&check, 4, &most, &trial.err));
	NOTE(most);
}

static void try_moves(struct world *world)
{
	struct pm_lfts *before = lfts_of(world), *after = lfts_of(world);
	struct pm_lft_reassigned *moves;
	uint32_t num;

	after->owner[1].guid ^= 0x77;
	MAKE(moves, pm_lfts_find_reassigned(before, after, &moves, &num, &trial.err));
	note(moves, num * sizeof(*moves));
	free(moves);
	pm_lfts_free(before);
	pm_lfts_free(after);
}

/* ---- policy and analysis ---- */

static void try_describe(struct world *world)
{
	uint8_t *usable = copy_usable(world);
	char text[PM_CHANGE_TEXT];

	usable[world_port(world->plan->topology, "l0", 3)] = 0;
	memfault_begin(&trial.fault);
	pm_change_describe(world->plan, world->usable, usable, text, sizeof(text));
	trial.allocations = memfault_end();
	trial.rc = 0;
	note_text(text);
	free(usable);
}

static const struct pm_damping_config flapping = {1, 60000, 30000, 3600000};

static void try_damping_make(struct world *world)
{
	struct pm_damping *damping;

	MAKE(damping, pm_damping_make(&flapping, &damping, &trial.err));
	note_damping(damping, 0);
	pm_damping_free(damping);
}

/* A cable goes down and comes up so often that it is on hold, at 5000 ms. */
static struct pm_damping *damping_of(const struct world *world)
{
	const struct pm_fabric *topology = world->plan->topology;
	uint32_t port = world_port(topology, "l0", 3);
	uint8_t *down = copy_usable(world);
	struct pm_damping *damping = NULL;

	assert_int_equal(pm_damping_make(&flapping, &damping, NULL), 0);
	down[port] = down[topology->ports[port].peer] = 0;
	for (uint64_t at = 1000; at < 5000; at += 1000) {
		assert_int_equal(pm_damping_observe(damping, topology, world->usable,
						    down, at, NULL),
				 0);
		assert_int_equal(pm_damping_observe(damping, topology, down,
						    world->usable, at + 500, NULL),
				 0);
	}
	free(down);
	return damping;
}

static void try_damping_observe(struct world *world)
{
	const struct pm_fabric *topology = world->plan->topology;
	uint8_t *down = calloc(topology->num_ports, 1);
	struct pm_damping *damping = NULL;
	uint32_t port = world_port(topology, "l0", 3), at = 0;
	struct pm_damped_link flap;

	assert_non_null(down);
	memcpy(down, world->usable, topology->num_ports);
	down[port] = down[topology->ports[port].peer] = 0;
	assert_int_equal(pm_damping_make(&flapping, &damping, NULL), 0);
	CALL(pm_damping_observe(damping, topology, world->usable, down, 1000,
				&trial.err));
	if (trial.rc) {
		assert_false(pm_damping_next(damping, 1000, &at, &flap));
		assert_int_equal(pm_damping_observe(damping, topology, world->usable,
						    down, 1000, NULL),
				 0);
	}
	note_damping(damping, 1000);
	pm_damping_free(damping);
	free(down);
}

static void try_damping_hold(struct world *world)
{
	struct pm_damping *damping = damping_of(world);
	uint8_t *usable = copy_usable(world);
	uint32_t num = world->plan->topology->num_ports;
	struct pm_damping_holds holds;

	FILL(holds,
	     pm_damping_hold(damping, world->plan, usable, 5000, &holds, &trial.err));
	assert_true(holds.on_hold + holds.needed > 0);
	NOTE(holds.on_hold);
	note(usable, num);
	note_damping(damping, 5000);
	free(usable);
	pm_damping_free(damping);
}

static void try_damping_import(struct world *world)
{
	const struct pm_damping_record record = {.end = {{1, 1}, {2, 2}},
						 .downs = 1,
						 .up = true,
						 .changed_ms = 400,
						 .num = 1,
						 .down_ms = {500}};
	struct pm_damping *damping = NULL;

	assert_int_equal(pm_damping_make(&flapping, &damping, NULL), 0);
	CHANGE(pm_damping_import(damping, 1000, &record, &trial.err));
	note_damping(damping, 1000);
	pm_damping_free(damping);
}

static void try_locate(struct world *world)
{
	uint32_t sm = world_port(world->plan->topology, "l0", 1), ports[8];
	struct pm_locate *locate;

	MAKE(locate,
	     pm_locate_new(world->routes, world->usable, sm, &locate, &trial.err));
	pm_locate_report(locate, world_switch(world, "s1"));
	note(ports, pm_locate_queries(locate, ports, 8) * sizeof(*ports));
	pm_locate_free(locate);
}

static const struct pm_whatif_config all_queried = {
	.sm = PM_NONE, .loads = true, .shifts = 4};

static void try_whatif(struct world *world)
{
	struct pm_whatif *whatif;

	MAKE(whatif, pm_whatif_new(world->fabric, &all_queried, &whatif, &trial.err));
	note(&pm_whatif_before(whatif)->load, sizeof(uint64_t));
	note_plan(pm_whatif_plan(whatif));
	pm_whatif_free(whatif);
}

static void note_result(const struct pm_whatif_result *result)
{
	NOTE(result->total.blocks);
	NOTE(result->total.entries);
	NOTE(result->load);
	NOTE(result->shift);
	NOTE(result->pairs_cut);
}

static void try_fail(struct world *world)
{
	uint32_t port = world_port(world->fabric, "l0", 3);
	struct pm_whatif *whatif = NULL;
	struct pm_whatif_result result;

	assert_int_equal(pm_whatif_new(world->fabric, &all_queried, &whatif, NULL), 0);
	FILL(result, pm_whatif_fail(whatif, &port, 1, &result, &trial.err));
	note_result(&result);
	pm_whatif_free(whatif);
}

static void try_try(struct world *world)
{
	struct pm_fabric *broken = world_without(world, "l0:3");
	struct pm_whatif *whatif = NULL;
	struct pm_whatif_result result;

	assert_int_equal(pm_whatif_new(world->fabric, &all_queried, &whatif, NULL), 0);
	FILL(result, pm_whatif_try(whatif, broken, &result, &trial.err));
	note_result(&result);
	pm_whatif_free(whatif);
	pm_fabric_free(broken);
}

/* ---- netlist and files ---- */

static const char ibsim[] = "Switch 2 \"s\" # \"leaf\"\n[1] \"h1\"[1]\n[2] \"h2\"\n\n"
			    "Hca 1 \"h1\"\n[1] \"s\"[1]\n\nHca 1 \"h2\"\n[1] \"s\"[2]\n";
/* Without a record of one host. */
static const char discovered[] =
	"# Topology file: generated\n"
	"vendid=0x2c9\ndevid=0x1\nsysimgguid=0x1\nswitchguid=0x200000(200000)\n"
	"Switch\t2 \"S-0000000000200000\"\t\t# \"leaf\" enhanced port 0 lid 2 lmc 0\n"
	"[1]\t\"H-0000000000100000\"[1](100001)\t\t# \"h1\" lid 1 4xQDR\n"
	"[2]\t\"H-0000000000100010\"[1](100011)\t\t# \"h2\" lid 3 4xQDR\n\n"
	"vendid=0x2c9\ndevid=0x1\nsysimgguid=0x1\ncaguid=0x100000\n"
	"Ca\t1 \"H-0000000000100000\"\t\t# \"h1\"\n"
	"[1](100001)\t\"S-0000000000200000\"[1]\t\t# lid 1 lmc 0 \"leaf\" lid 2 4xQDR\n";

static void try_netlist_of(const char *text)
{
	struct pm_fabric *fabric;

	MAKE(fabric, pm_netlist_parse(text, strlen(text), "t", &fabric, &trial.err));
	note_fabric(fabric);
	pm_fabric_free(fabric);
}

static void try_ibsim(struct world *world)
{
	try_netlist_of(ibsim);
}

static void try_ibnetdiscover(struct world *world)
{
	try_netlist_of(discovered);
}

static void try_netlist_read(struct world *world)
{
	const char *path = file_with(ibsim);
	struct pm_fabric *fabric;

	MAKE(fabric, pm_netlist_read(path, &fabric, NULL, &trial.err));
	note_fabric(fabric);
	pm_fabric_free(fabric);
}

static void write_lfts(const struct pm_lfts *lfts, const struct world *world)
{
	FILE *file = fopen(file_with(NULL), "w");

	assert_non_null(file);
	assert_int_equal(pm_lfts_write(lfts, world->fabric, file), 0);
	assert_int_equal(fclose(file), 0);
}

static int print_lfts(FILE *out, const void *arg)
{
	const struct world *world = arg;
	struct pm_lfts *lfts = NULL;
	int rc = pm_lfts_of_plan(world->plan, world->routes, world->fabric, &lfts, NULL);

	if (!rc)
		rc = pm_lfts_write(lfts, world->fabric, out);
	pm_lfts_free(lfts);
	return rc;
}

static void try_lfts_write(struct world *world)
{
	char *text;
	size_t length = 0;

	PRINT(text, pm_text_print(print_lfts, world, &text, &length));
	note(text, length);
	free(text);
}

static void try_lfts_read(struct world *world)
{
	struct pm_lfts *lfts = lfts_of(world), *read;
	const char *path = file_with(NULL);

	write_lfts(lfts, world);
	MAKE(read, pm_lfts_read(path, &read, &trial.err));
	note_lfts(read);
	pm_lfts_free(read);
	pm_lfts_free(lfts);
}

static void try_plan_file_print(struct world *world)
{
	char *text = NULL;
	size_t length = 0;

	PRINT(text, pm_plan_file_print(world->plan, &text, &length));
	note(text, length);
	free(text);
}

static void try_plan_file_read(struct world *world)
{
	char *text = NULL;
	size_t length = 0;
	struct pm_plan *plan;
	const char *path;

	assert_int_equal(pm_plan_file_print(world->plan, &text, &length), 0);
	path = file_with(text);
	MAKE(plan, pm_plan_file_read(path, &plan, &trial.err));
	note_plan(plan);
	pm_plan_free(plan);
	free(text);
}

static void try_damping_file_print(struct world *world)
{
	const struct pm_damping_clock clock = {5000, 1000};
	struct pm_damping *damping = damping_of(world);
	char *text = NULL;
	size_t length = 0;

	PRINT(text, pm_damping_file_print(damping, &clock, &text, &length));
	note(text, length);
	free(text);
	pm_damping_free(damping);
}

static void try_damping_file_parse(struct world *world)
{
	const struct pm_damping_clock clock = {5000, 1000};
	struct pm_damping *damping = damping_of(world), *again = NULL;
	char *text = NULL;
	size_t length = 0;

	assert_int_equal(pm_damping_file_print(damping, &clock, &text, &length), 0);
	assert_int_equal(pm_damping_make(&flapping, &again, NULL), 0);
	CALL(pm_damping_file_parse(text, length, "x", &clock, again, &trial.err));
	if (trial.rc) { /* what was read before is there */
		pm_damping_free(again);
		assert_int_equal(pm_damping_make(&flapping, &again, NULL), 0);
		assert_int_equal(
			pm_damping_file_parse(text, length, "x", &clock, again, NULL), 0);
	}
	note_damping(again, 5000);
	pm_damping_free(again);
	pm_damping_free(damping);
	free(text);
}

static void try_opensm_conf(struct world *world)
{
	const char *path = file_with("lmc 1\n# none\nrouting_engine portmajor,updn\n");
	struct pm_opensm_conf conf;

	FILL(conf, pm_opensm_conf_read(path, &conf, &trial.err));
	note_text(pm_opensm_conf_value(&conf, "lmc"));
	pm_opensm_conf_free(&conf);
}

static void try_config(struct world *world)
{
	const char *path = file_with("lid_order port-major\nearly_repair no\n");
	struct pm_config config;

	FILL(config, pm_config_read(path, &config, &trial.err));
	NOTE(config.lid_order);
	NOTE(config.early_repair);
}

/* ---- The plugin's modules ---- */

static void note_planning(const struct planning *planning)
{
	NOTE(planning->phase);
	note_plan(planning->base);
	note_plan(planning->plan);
	if (planning->planned)
		note(planning->planned,
		     planning->plan->topology->num_ports * sizeof(*planning->planned));
}

/*
 * A plan is made without the spine s1, and then grows; LID history is asked for LIDs.
 * With `apart` LIDs in use, those of the whole, are out of plan from the beginning.
 */
static void plan_twice(struct world *world, bool migrate, bool unreachable)
{
	struct pm_fabric *part = world_without(world, "s1");
	struct planning planning = {0};
	struct planning_request request = {
		.fabric = part, .max_lid = 0xbfff, .keep = true, .migrate = migrate};
	struct planning_change change;

	if (!migrate)
		request.history = history_unharmed(world);
	for (uint32_t i = 0; !unreachable && i < part->num_ports; i++)
		part->ports[i].lid = 0;
	assert_int_equal(planning_propose(&planning, &request, &change, NULL), 0);
	planning_adopt(&planning, &change);
	assert_int_equal(planning.plan != planning.base, unreachable);
	request.fabric = world->fabric;
	shift_lids(world->fabric);
	FILL(change, planning_propose(&planning, &request, &change, &trial.err));
	planning_adopt(&planning, &change);
	note_planning(&planning);
	planning_forget(&planning);
	pm_lid_history_free(request.history);
	pm_fabric_free(part);
}

static void try_planning(struct world *world)
{
	plan_twice(world, false, false);
}

static void try_beside(struct world *world)
{
	plan_twice(world, false, true);
}

static void try_migrating(struct world *world)
{
	plan_twice(world, true, false);
}

static void note_view(const struct view *view)
{
	uint32_t num = view->plan->topology->num_ports;

	note(view->discovered, num);
	note(view->usable, num);
	note(view->believed, num);
	note(view->drained, num);
	if (view->routes)
		note_routes(view->routes);
}

static void try_rebase(struct world *world)
{
	struct pm_plan *part = plan_of_part(world);
	struct view view = {0};

	assert_int_equal(view_rebase(&view, part, NULL), 0);
	CALL(view_rebase(&view, world->plan, &trial.err));
	if (trial.rc) {
		assert_ptr_equal(view.plan, part);
		assert_int_equal(view_rebase(&view, world->plan, NULL), 0);
	}
	note_view(&view);
	view_free(&view);
	pm_plan_free(part);
}

static void try_view_update(struct world *world)
{
	const struct view_observation seen = {
		.discovered = world->usable, .detours = {.sm = PM_NONE}, .now_ms = 5000};
	struct view view = {.damping = damping_of(world)};
	bool changed;

	assert_int_equal(view_rebase(&view, world->plan, NULL), 0);
	drain(world, &view.drains);
	CHANGE(view_update(&view, &seen, &changed, &trial.err));
	note_view(&view);
	view_free(&view);
}

static void try_view_log(struct world *world)
{
	const struct view_observation seen = {
		.discovered = world->usable, .detours = {.sm = PM_NONE}, .now_ms = 5000};
	struct view view = {0};
	char text[PM_CHANGE_TEXT];
	bool changed;

	assert_int_equal(view_rebase(&view, world->plan, NULL), 0);
	drain(world, &view.drains);
	assert_int_equal(view_update(&view, &seen, &changed, NULL), 0);
	memfault_begin(&trial.fault);
	view_log(&view, text, sizeof(text));
	trial.allocations = memfault_end();
	trial.rc = 0;
	note_text(text);
	view_free(&view);
}

/* ---- multicast ---- */

static void note_mfts(const struct pm_mfts *mfts)
{
	for (uint32_t sw = 0; sw < pm_mfts_num_switches(mfts); sw++)
		for (uint32_t b = 0; b < pm_mfts_num_blocks(mfts); b++)
			for (uint32_t p = 0; p < pm_mfts_num_positions(mfts, sw); p++)
				note(pm_mfts_block(mfts, sw, b, p), PM_MFT_BLOCK * 2);
}

/* Two groups of all hosts, in different blocks. */
static struct pm_group all_hosts(const struct world *world, uint16_t mlid,
				 uint32_t *members)
{
	const struct pm_fabric *topology = world->plan->topology;
	struct pm_group group = {.mlid = mlid, .members = members};

	for (uint32_t i = 0; i < topology->num_ports; i++)
		if (topology->ports[i].host)
			members[group.num++] = i;
	return group;
}

static struct pm_multicast *make_multicast(const struct world *world)
{
	const struct pm_multicast_config config = {0};
	struct pm_multicast *multicast;

	assert_int_equal(pm_multicast_new(world->plan, &config, &multicast, NULL), 0);
	return multicast;
}

static void try_multicast(struct world *world)
{
	const struct pm_multicast_config config = {0};
	uint32_t planes[64];
	struct pm_multicast *multicast;

	MAKE(multicast, pm_multicast_new(world->plan, &config, &multicast, &trial.err));
	pm_multicast_order(multicast, PM_MLID_FIRST, false, planes);
	note(planes, world->plan->tree.num_planes * sizeof(*planes));
	pm_multicast_free(multicast);
}

static void try_mft_route(struct world *world)
{
	uint32_t members[64];
	const struct pm_group groups[] = {all_hosts(world, 0xc000, members),
					  all_hosts(world, 0xc050, members)};
	struct pm_multicast *multicast = make_multicast(world);
	struct pm_mfts *tables;

	MAKE(tables, pm_multicast_route(multicast, groups, LENGTH(groups), &tables, NULL,
					&trial.err));
	note_mfts(tables);
	pm_mfts_free(tables);
	pm_multicast_free(multicast);
}

static const uint16_t some_masks[PM_MFT_BLOCK] = {1, 2, 3};

static void try_mfts_new(struct world *world)
{
	struct pm_mfts *mfts;

	RETURN(mfts, pm_mfts_new(world->plan->topology));
	note_mfts(mfts);
	pm_mfts_free(mfts);
}

static struct pm_mfts *make_mfts(const struct world *world)
{
	struct pm_mfts *mfts = pm_mfts_new(world->plan->topology);

	assert_non_null(mfts);
	assert_int_equal(pm_mfts_set_block(mfts, 0, 3, 0, some_masks), 0);
	return mfts;
}

static void try_mfts_clone(struct world *world)
{
	struct pm_mfts *mfts = make_mfts(world), *copy;

	RETURN(copy, pm_mfts_clone(mfts));
	note_mfts(copy);
	pm_mfts_free(copy);
	pm_mfts_free(mfts);
}

static void try_mfts_set(struct world *world)
{
	struct pm_mfts *mfts = pm_mfts_new(world->plan->topology);

	assert_non_null(mfts);
	QUIETLY(pm_mfts_set_block(mfts, 0, 3, 0, some_masks));
	note_mfts(mfts);
	pm_mfts_free(mfts);
}

static void try_mfts_forget(struct world *world)
{
	struct pm_mfts *mfts = make_mfts(world);

	QUIETLY(pm_mfts_forget(mfts, 1, 40));
	note_mfts(mfts);
	pm_mfts_free(mfts);
}

static void try_mfts_move(struct world *world)
{
	const struct pm_fabric *topology = world->plan->topology;
	struct pm_mfts *mfts = make_mfts(world), *moved;

	PRINT(moved, pm_mfts_move(mfts, topology, topology, &moved));
	note_mfts(moved);
	pm_mfts_free(moved);
	pm_mfts_free(mfts);
}

static void try_mft_delta(struct world *world)
{
	struct pm_mfts *mfts = make_mfts(world),
		       *none = pm_mfts_new(world->plan->topology);
	struct pm_mft_delta delta = {0};

	assert_non_null(none);
	QUIETLY(pm_mft_delta_find(mfts, none, 0, PM_MFT_BLOCKS, NULL, &delta));
	NOTE(delta.num);
	pm_mft_delta_free(&delta);
	pm_mfts_free(mfts);
	pm_mfts_free(none);
}

static void try_mft_steps(struct world *world)
{
	uint32_t members[64];
	struct pm_group group = all_hosts(world, 0xc000, members);
	struct pm_mft_input input = {.topology = world->plan->topology,
				     .end = PM_MFT_BLOCKS};
	struct pm_mft_steps steps = {0};
	struct pm_multicast *multicast = make_multicast(world);
	struct pm_mfts *installed, *wanted;

	assert_int_equal(pm_multicast_route(multicast, &group, 1, &wanted, NULL, NULL),
			 0);
	installed = pm_mfts_new(world->plan->topology);
	assert_non_null(installed);
	input.installed = installed;
	input.wanted = wanted;
	CALL(pm_mft_steps_find(&input, &steps));
	if (trial.rc) {
		assert_int_equal(steps.num, 0);
		assert_int_equal(pm_mft_steps_find(&input, &steps), 0);
	}
	assert_int_not_equal(steps.num, 0);
	NOTE(steps.num);
	pm_mft_steps_free(&steps);
	pm_mfts_free(installed);
	pm_mfts_free(wanted);
	pm_multicast_free(multicast);
}

/* ---- All of them ---- */

struct row {
	const char *name;
	void (*run)(struct world *world);
};

#define ROW(function)                                                                    \
	{                                                                                \
#function, try_##function                                                \
	}

static const struct row rows[] = {
	ROW(textfile),
	ROW(print),
	ROW(sealed),
	ROW(build),
	ROW(clone),
	ROW(skeleton),
	ROW(merge),
	ROW(rename),
	ROW(ports_by_guid),
	ROW(degrade),
	ROW(tree),
	ROW(reach),
	ROW(roles),
	ROW(plan),
	ROW(grow),
	ROW(remake),
	ROW(keep),
	ROW(origin),
	ROW(history),
	ROW(history_tables),
	ROW(restore),
	ROW(drains_add),
	ROW(requests_read),
	ROW(requests_apply),
	ROW(drains_apply),
	ROW(exclude),
	ROW(reachable),
	ROW(routes),
	ROW(update),
	ROW(order),
	ROW(unreachable),
	ROW(lfts_of_plan),
	ROW(give_lids),
	ROW(check),
	ROW(credits),
	ROW(loads),
	ROW(shifts),
	ROW(moves),
	ROW(describe),
	ROW(damping_make),
	ROW(damping_observe),
	ROW(damping_hold),
	ROW(damping_import),
	ROW(locate),
	ROW(whatif),
	ROW(fail),
	ROW(try),
	ROW(ibsim),
	ROW(ibnetdiscover),
	ROW(netlist_read),
	ROW(lfts_read),
	ROW(lfts_write),
	ROW(plan_file_print),
	ROW(plan_file_read),
	ROW(damping_file_print),
	ROW(damping_file_parse),
	ROW(opensm_conf),
	ROW(config),
	ROW(planning),
	ROW(beside),
	ROW(migrating),
	ROW(rebase),
	ROW(view_update),
	ROW(view_log),
	ROW(degraded_links),
	ROW(multicast),
	ROW(mft_route),
	ROW(mfts_new),
	ROW(mfts_clone),
	ROW(mfts_set),
	ROW(mfts_forget),
	ROW(mft_delta),
	ROW(mft_steps),
	ROW(mfts_move),
	ROW(missing),
	ROW(steps),
};

/* The present row and allocation, for a test that fails. */
static char place[120];

/* The row may change the fabric, but nothing else of the world. */
static uint64_t run_once(const struct row *row, const struct world *world,
			 struct memfault fault)
{
	struct world copy = *world;
	int64_t live = memfault_live();

	snprintf(place, sizeof(place), "%s: allocation %llu%s with %u switches\n",
		 row->name, (unsigned long long)fault.nth, fault.onwards ? ".." : "",
		 world->num_switches);
	copy.fabric = pm_fabric_clone(world->fabric);
	assert_non_null(copy.fabric);
	trial.fault = fault;
	trial.digest = 0xcbf29ce484222325u;
	row->run(&copy);
	pm_fabric_free(copy.fabric);
	assert_int_equal(memfault_live(), live);
	return trial.digest;
}

/* Returns how many allocations were tried. */
static uint64_t run_all(const struct row *row, const struct world *world, bool onwards)
{
	struct memfault fault = {.nth = 0, .onwards = onwards};
	uint64_t wanted = run_once(row, world, fault);

	do {
		fault.nth++;
		assert_true(run_once(row, world, fault) == wanted);
	} while (trial.allocations >= fault.nth);
	return fault.nth - 1;
}

static void test_row(void **state)
{
	const struct row *row = *state;

	uint64_t tried = 0;

	for (size_t t = 0; t < LENGTH(trees); t++) {
		struct world world;

		world_make(&world, recipe_draw(trees[t]), PM_GROUPED);
		world_update(&world, world.fabric);
		tried += run_all(row, &world, false);
		if (!t)
			tried += run_all(row, &world, true);
		world_free(&world);
	}
	print_message("%s: %llu allocations\n", row->name, (unsigned long long)tried);
	place[0] = '\0';
}

static int say_place(void **state)
{
	if (place[0])
		fputs(place, stderr);
	place[0] = '\0';
	return 0;
}

static int make_folder(void **state)
{
	snprintf(trial.folder, sizeof(trial.folder), "/tmp/test_memory-XXXXXX");
	return mkdtemp(trial.folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	unlink(file_with(NULL));
	return rmdir(trial.folder);
}

int main(void)
{
	struct CMUnitTest tests[LENGTH(rows)];

	for (size_t i = 0; i < LENGTH(rows); i++)
		tests[i] =
			(struct CMUnitTest){.name = rows[i].name,
					    .test_func = test_row,
					    .teardown_func = say_place,
					    .initial_state = (void *)(uintptr_t)&rows[i]};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
