/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A cable is left to OpenSM if entries that switches hold would loop over it. */
#include "engine/returns_parts.h"

#include "osm/lft_records.h"

#include "unit.h"
#include "world.h"

/* Two leaves below two spines; the cable that returns is l:4=t:1. */
static const char drawing[] =
	"l/4 m/4 s/2 t/2 l:1=a m:1=b l:3=s:1 m:3=s:2 l:4=t:1 m:4=t:2";

enum { SWITCHES = 4 };

static const struct row {
	const char *name;
	uint8_t held[SWITCHES]; /* entries of l, m, s and t for a LID of no place */
	bool left;
} rows[] = {
	{"none", {0, 0, 0, 0}, false},
	{"between its ends", {4, 0, 0, 1}, true},
	{"around", {4, 3, 1, 2}, true},
	{"around, the other way", {3, 4, 2, 1}, true},
	{"to a host", {4, 1, 1, 2}, false},
	{"to a switch without an entry", {4, 3, 0, 2}, false},
	{"over a dead cable", {4, 2, 1, 2}, false},
	{"elsewhere", {4, 3, 2, 2}, false},
};

static struct {
	struct world world;
	uint8_t *held; /* [switch][length] */
	uint32_t length;
} fake;

volatile unsigned int osm_exit_flag;

void lft_records_installed(const osm_subn_t *subn, const struct pm_plan *plan,
			   bool discovered, struct pm_installed *installed)
{
	for (uint32_t i = 0; i < SWITCHES; i++)
		installed[i] =
			(struct pm_installed){fake.held + i * fake.length, fake.length};
}

int returned_switches_write(struct returned_switches *switches)
{
	return 0;
}

void returns_find_switches(const struct work *work, const struct link *link,
			   struct returned_switch *switches[2])
{
	switches[0] = switches[1] = NULL;
}

bool returns_is_good(const struct link *link)
{
	return !link->why;
}

void returns_judge_switches(const struct work *work, struct link *link)
{
}

void returns_add_smp(struct work *work, const struct item *item)
{
}

void returns_send_smps(struct work *work, struct smp_count *count)
{
}

/* No link comes into service here. */
osm_physp_t *returns_find_physp(const osm_subn_t *subn, ib_net64_t guid, uint8_t num)
{
	return NULL;
}

bool returns_settle_one(osm_subn_t *subn, const struct served *served, bool links)
{
	fail();
	return false;
}

void returns_remember(struct returns *returns, const struct served *served)
{
	fail();
}

void returns_forget_served(struct returns *returns, const struct served_end *end)
{
	fail();
}

/* The plan's entries, and behind them one LID with those of the row. */
static void hold(const struct row *row)
{
	uint32_t stride = fake.world.stride;

	fake.length = stride + PM_LFT_BLOCK;
	fake.held = calloc(SWITCHES, fake.length);
	assert_non_null(fake.held);
	for (uint32_t i = 0; i < SWITCHES; i++) {
		memcpy(fake.held + i * fake.length, pm_routes_table(fake.world.routes, i),
		       stride);
		fake.held[i * fake.length + stride] = row->held[i];
	}
}

static bool halted(void *context)
{
	return false;
}

/* Serves that cable, which is silent then; whether it was left before. */
static bool serve(const struct row *row)
{
	const struct pm_fabric *topology = fake.world.plan->topology;
	const struct view view = {.routes = fake.world.routes};
	const struct link_records records = {.sweep = 1};
	osm_opensm_t osm = {.log = {0}};
	struct lft_sender sender = {.osm = &osm};
	const struct returns_subject on = {.sender = &sender,
					   .view = &view,
					   .records = &records,
					   .is_halted = halted};
	uint32_t port = world_port(topology, "l", 4);
	struct link link = {.port = port, .peer = topology->ports[port].peer};
	uint8_t up[32] = {0}, fits[SWITCHES];
	struct history history[32] = {{.next = 0}};
	struct returns returns = {.history = history};
	struct returned result = {0};
	uint32_t asked[SWITCHES];
	struct work work = {.returns = &returns,
			    .on = &on,
			    .plan = fake.world.plan,
			    .topology = topology,
			    .up = up,
			    .fits = fits,
			    .asked = asked,
			    .links = &link,
			    .num_links = 1,
			    .result = &result};

	assert_true(topology->num_ports <= LENGTH(up));
	for (uint32_t i = 0; i < topology->num_ports; i++)
		up[i] = topology->ports[i].peer != PM_NONE && i != port && i != link.peer;
	cl_plock_init(&osm.lock);
	hold(row);
	returns_serve(&work);
	free(fake.held);
	cl_plock_destroy(&osm.lock);
	assert_int_equal(result.left, row->left);
	return link.why;
}

static void test_loops(void **state)
{
	world_make(&fake.world, recipe_draw(drawing), PM_GROUPED);
	for_each_row(row, rows) {
		print_message("%s\n", row->name);
		assert_int_equal(serve(row), row->left);
	}
	world_free(&fake.world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
