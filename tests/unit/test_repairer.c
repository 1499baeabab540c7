/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The repairer's thread beside a sweeper; the test replaces OpenSM, the modules that
 * find and send, and the operators: actions of one at a given moment of the other.
 */
#include "engine/repairer.h"

#include "engine/clock.h"
#include "io/log.h"
#include "world.h"
#include "unit.h"

#include <sched.h>

#define LONG_MS 20e3

volatile unsigned int osm_exit_flag;

static osm_opensm_t osm;
static struct world world;
static struct view view;
static struct repairer *repairer;
static int dummy;	       /* an address that only stubs get */
static atomic_int rounds;      /* that the thread has begun */
static atomic_int repairs;     /* begun */
static atomic_int transitions; /* begun */
static atomic_int balances;    /* rounds of rebalancing, .. */
static atomic_bool disturbed;  /* .. one of which was to end at once */
static atomic_bool drains, renumbers, rebalances;
static atomic_int rebalanced; /* requests that are over */
static atomic_uint traps;
static const char *gives_up; /* the cause of repairs, or NULL: there was no work */
static atomic_int fails;     /* port with a failure that the next repair finds, or -1 */
static atomic_int resends;   /* repairs that were to send again */
static atomic_int failed;    /* port that a repair found failed, or -1 */
static atomic_bool is_discovered; /* that, when the last repair began */
static void (*when_taken_over)(void), (*when_drains_are_requested)(void);
static void (*when_repairing)(void);
static struct mcast_quiet quiet;
static bool routes_groups;   /* the next repairer does */
static atomic_int routed;    /* runs of the groups that were whole, .. */
static atomic_int cut_short; /* .. and interrupted ones */

/* ---- Stubs ---- */

/* No test here runs out of memory. */
void log_line(osm_log_t *log, osm_log_level_t level, const char *format, ...)
{
	fail_msg("%s", format);
}

void osm_sm_signal(osm_sm_t *sm, osm_signal_t signal)
{
}

uint32_t repair_count_traps(struct repair *repair)
{
	return traps;
}

bool repair_take_overflow(struct repair *repair, uint64_t *dropped)
{
	rounds++;
	return false;
}

void repair_doubt(struct repair *repair, uint16_t lid)
{
}

void repair_expect(struct repair *repair, uint16_t lid)
{
}

void repair_explain(struct repair *repair, uint16_t lid, uint32_t num, uint32_t later,
		    bool coming)
{
}

void repair_skip(struct repair *repair, uint32_t num)
{
	traps -= num;
}

bool repair_has_switch(struct repair *repair, uint16_t lid)
{
	return false;
}

osm_port_t *osm_get_port_by_guid(IN osm_subn_t const *subn, IN ib_net64_t guid)
{
	return NULL;
}

void smp_run(struct smp_sender *smps, const struct smp_batch *batch,
	     struct smp_count *count)
{
}

/* Nothing comes back. */
bool returns_note_trap(struct returns *returns, const ib_mad_notice_attr_t *notice)
{
	return false;
}

bool returns_wait(struct returns *returns)
{
	return false;
}

void returns_note_port(struct returns *returns, const struct view *of, uint32_t port)
{
}

void returns_explain(struct returns *returns, const struct view *of, uint32_t node)
{
}

bool returns_are_unexplained(const struct returns *returns, const struct view *of)
{
	return false;
}

double returns_due(const struct returns *returns)
{
	return 0;
}

double returns_exclude_gone(struct returns *returns, const struct view *of, double before,
			    uint8_t *up)
{
	return 0;
}

bool returns_run(struct returns *returns, const struct returns_subject *subject,
		 struct returned *done)
{
	return false;
}

void returns_follow(struct returns *returns, const struct returns_subject *subject,
		    struct returned *done)
{
	*done = (struct returned){.number = 0};
}

void returns_hurry(struct returns *returns)
{
}

double returns_settle(struct returns *returns, osm_subn_t *subn, bool links)
{
	return 0;
}

int link_records_copy(struct link_records *records, const struct pm_plan *plan,
		      const osm_subn_t *subn, struct lock_share *share)
{
	return 0;
}

void link_records_forget(struct link_records *records)
{
}

struct mcast *mcast_start(struct smp_sender *smps, struct mcast_quiet *of)
{
	return routes_groups ? (struct mcast *)&dummy : NULL;
}

void mcast_free(struct mcast *mcast)
{
}

void mcast_forget(struct mcast *mcast, const struct pm_plan *plan,
		  const struct mcast_doubt *doubt)
{
}

bool mcast_run(struct mcast *mcast, const struct mcast_subject *subject,
	       struct mcast_done *done)
{
	*done = (struct mcast_done){.wire.interrupted =
					    subject->is_interrupted(subject->context)};
	if (done->wire.interrupted)
		cut_short++;
	else
		routed++;
	return true;
}

/* No test requests a check of tables. */
bool table_check_is_wanted(struct table_check *check)
{
	return false;
}

bool table_check_run(struct table_check *check, const struct table_check_subject *subject)
{
	return false;
}

void table_check_fail(struct table_check *check, const char *why)
{
}

bool mcast_search_above(struct mcast *mcast, const struct mcast_subject *subject,
			uint32_t *from, struct mcast_done *done)
{
	return false;
}

bool repair_run(struct repair *repair, const struct repair_subject *subject,
		struct repaired *done)
{
	uint8_t *discovered = subject->view->discovered;
	int port = atomic_exchange(&fails, -1);

	is_discovered = failed >= 0 && discovered[failed];
	resends += subject->resend;
	*done = (struct repaired){.gave_up = gives_up, .number = port >= 0};
	if (port >= 0) {
		failed = port;
		discovered[port] = 0;
		assert_int_equal(subject->take_over(subject->context), 0);
		traps = 0;
	}
	if (when_repairing)
		when_repairing();
	when_repairing = NULL;
	repairs++;
	return port >= 0 || gives_up;
}

bool kept_requests_has_drains(struct kept_requests *requests, const struct pm_drains *now,
			      bool *differ)
{
	void (*hook)(void);

	*differ = !renumbers;
	if (!drains && !renumbers)
		return false;
	hook = when_drains_are_requested;
	when_drains_are_requested = NULL;
	if (hook)
		hook();
	return true;
}

bool kept_requests_claim_drains(struct kept_requests *requests,
				const struct pm_drains *now)
{
	return false;
}

int kept_requests_take_drains(struct kept_requests *requests, struct pm_drains *now)
{
	if (renumbers) {
		renumbers = false;
		now->number = 9;
		return 0;
	}
	drains = false;
	return !pm_drains_add(now, 0x17, 0, "a", NULL, NULL);
}

bool kept_requests_take_rebalance(struct kept_requests *requests, uint32_t *rate)
{
	*rate = 1;
	return atomic_exchange(&rebalances, false);
}

void kept_requests_rebalanced(struct kept_requests *requests)
{
	rebalanced++;
}

int transition_begin(struct transition *transition, const struct view *of)
{
	transition->stage = TRANSITION_UNUSED;
	transitions++;
	return 0;
}

bool transition_run(struct transition *transition,
		    const struct transition_subject *subject)
{
	while (!subject->is_interrupted(subject->context))
		sched_yield();
	return false;
}

int transition_mix(const struct transition *transition, struct view *of)
{
	return 0;
}

void transition_end(struct transition *transition)
{
	void (*hook)(void) = when_taken_over;

	when_taken_over = NULL;
	if (hook)
		hook();
	*transition = (struct transition){.stage = TRANSITION_NONE};
}

int balance_make(struct balance *balance, const struct view *of)
{
	return 0;
}

void balance_measure(struct balance *balance, const struct view *of)
{
}

int balance_helps(const struct balance *balance, const struct view *of,
		  bool (*stop)(void *context), void *context, bool *helps)
{
	*helps = true;
	return 0;
}

void balance_begin(struct balance *balance, uint32_t rate)
{
	balance->active = true;
}

bool balance_run(struct balance *balance, const struct balance_subject *subject,
		 double *next_ms)
{
	disturbed = subject->is_interrupted(subject->context);
	balances++;
	balance->active = false;
	*next_ms = 0;
	return false;
}

void balance_apply(const struct balance *balance, struct view *of)
{
}

void balance_forget(struct balance *balance)
{
	*balance = (struct balance){.planned = NULL};
}

/* ---- Tools ---- */

static void log_repair(void *context, enum sweep_phase phase, const struct repaired *done)
{
}

static void log_transition(void *context, uint64_t number,
			   const struct transition_result *done)
{
}

static void log_groups(void *context, const struct mcast_done *done)
{
}

static atomic_int numbered; /* number of the drains whose tables were noted last */

static void note_tables(void *context, const struct view *of, bool settled, bool changed)
{
	numbered = (int)of->drains.number;
}

static void note_missing(void *context, const struct pm_plan *of, const uint8_t *left)
{
}

static void note_own(void *context, bool down)
{
}

static void log_balance(void *context, const struct balance *balance)
{
}

static void await_count(const atomic_int *count, int wanted)
{
	double start = clock_ms();

	while (*count < wanted) {
		assert_true(clock_ms() < start + LONG_MS);
		sched_yield();
	}
}

/* Waits until all present work was looked at: the first round may have begun before. */
static void have_it_searched(void)
{
	int before = rounds;

	for (int i = 1; i <= 3; i++) {
		repairer_wake(repairer);
		await_count(&rounds, before + i);
	}
}

static void hand_over(void)
{
	assert_int_equal(repairer_prepare(repairer, &view), 0);
	assert_true(repairer_commit(repairer, &view));
}

static int begin(void **state)
{
	const struct repairer_config config = {
		.osm = &osm,
		.repair = (struct repair *)&dummy,
		.requests = (struct kept_requests *)&dummy,
		.log_repair = log_repair,
		.log_transition = log_transition,
		.log_balance = log_balance,
		.log_groups = log_groups,
		.quiet = &quiet,
		.note_tables = note_tables,
		.note_missing = note_missing,
		.note_own = note_own,
	};
	struct view_observation discovered = {.detours = {.sm = PM_NONE}};
	bool changed;

	osm.subn.sm_state = IB_SMINFO_STATE_MASTER;
	rounds = repairs = transitions = balances = resends = 0;
	routed = cut_short = 0;
	traps = 0;
	drains = rebalances = renumbers = false;
	rebalanced = 0;
	gives_up = NULL;
	fails = failed = -1;
	world_make(&world, world_director(36), PM_GROUPED);
	view = (struct view){0};
	assert_int_equal(view_rebase(&view, world.plan, NULL), 0);
	memset(world.usable, 1, world.plan->topology->num_ports);
	discovered.discovered = world.usable;
	assert_int_equal(view_update(&view, &discovered, &changed, NULL), 0);
	repairer = repairer_start(&config);
	assert_non_null(repairer);
	return 0;
}

static int begin_with_groups(void **state)
{
	int rc;

	routes_groups = true;
	rc = begin(state);
	routes_groups = false;
	return rc;
}

static int end(void **state)
{
	assert_true(repairer_stop(repairer, clock_ms() + LONG_MS));
	repairer_free(repairer);
	view_free(&view);
	world_free(&world);
	return 0;
}

/* ---- Tests ---- */

static pthread_t sweeper;
static atomic_bool is_void;

static void *make_void(void *context)
{
	repairer_void(repairer);
	is_void = true;
	return NULL;
}

/* With the lock held: it goes on when that is released. */
static void begin_to_make_void(void)
{
	double start = clock_ms();

	assert_int_equal(pthread_create(&sweeper, NULL, make_void, NULL), 0);
	while (clock_ms() < start + 50)
		sched_yield();
	assert_false(is_void);
}

/* A view that is made void while it is taken over is void. */
static void test_void_meanwhile(void **state)
{
	is_void = false;
	when_taken_over = begin_to_make_void;
	hand_over();
	await_count(&rounds, 1);
	pthread_join(sweeper, NULL);
	assert_true(is_void);
	have_it_searched();
	repairs = 0; /* of one that was begun before */
	traps = 1;
	have_it_searched();
	assert_int_equal(repairs, 0);
	hand_over();
	await_count(&repairs, 1);
}

static void end_discovery(void)
{
	repairer_set_phase(repairer, PHASE_MANAGEMENT);
}

/* None begins when discovery is over: what is drained then holds for the routing run. */
static void test_late_drains(void **state)
{
	struct pm_drains now = {0};

	repairer_set_phase(repairer, PHASE_DISCOVERY);
	hand_over();
	have_it_searched();
	when_drains_are_requested = end_discovery;
	drains = true;
	have_it_searched();
	assert_null(when_drains_are_requested);
	assert_int_equal(transitions, 0);
	assert_false(repairer_take_drains(repairer, &now, false));
	repairer_set_phase(repairer, PHASE_LINKS);
	await_count(&transitions, 1);
	traps = 1; /* interrupts it */
	have_it_searched();
	assert_true(repairer_take_drains(repairer, &now, false));
	assert_int_equal(now.num, 1);
	pm_drains_free(&now);
}

/* One that was to be given up, and went with its view, disturbs nothing afterwards. */
static void test_given_up(void **state)
{
	hand_over();
	drains = true;
	repairer_wake(repairer);
	await_count(&transitions, 1);
	traps = 1;
	have_it_searched();
	repairer_halt(repairer);
	repairer_take_drains(repairer, &view.drains, false);
	pm_plan_set_adopted(world.plan, true);
	traps = 0;
	rebalances = true;
	hand_over();
	await_count(&balances, 1);
	assert_false(disturbed);
}

/*
 * Each try comes later than the one before, but new work is not delayed, nor work after
 * traps that a discovery has dealt with meanwhile.
 */
static void test_new_traps(void **state)
{
	double start;

	osm.subn.opt.sweep_on_trap = TRUE;
	gives_up = "out of time";
	traps = 3;
	hand_over();
	await_count(&repairs, 6); /* the next one is 1.6 s from here */
	have_it_searched();	  /* the sixth is over */
	start = clock_ms();
	traps = 1;
	repairer_wake(repairer);
	await_count(&repairs, 7);
	assert_true(clock_ms() < start + 1000);
	assert_int_equal(resends, 6); /* with the rest */
}

/* A sweep requested in a discovery would have OpenSM begin that anew. */
static void test_sweep_follows(void **state)
{
	osm.subn.opt.sweep_on_trap = FALSE; /* each repair asks for one */
	osm.subn.force_heavy_sweep = FALSE;
	repairer_set_phase(repairer, PHASE_DISCOVERY);
	hand_over();
	fails = 1;
	traps = 1;
	have_it_searched();
	assert_int_equal(failed, 1);
	assert_false(osm.subn.force_heavy_sweep);
	repairer_set_phase(repairer, PHASE_MANAGEMENT);
	have_it_searched();
	assert_true(osm.subn.force_heavy_sweep);
}

static void make_void_now(void)
{
	repairer_void(repairer);
}

/* Work that is due and cannot be done is not tried over and over again. */
static void test_sleeps_while_void(void **state)
{
	double start;
	int before;

	osm.subn.opt.sweep_on_trap = TRUE;
	gives_up = "out of time";
	traps = 1;
	when_repairing = make_void_now;
	hand_over();
	await_count(&repairs, 1);
	have_it_searched();
	before = rounds;
	start = clock_ms();
	while (clock_ms() < start + 500) /* in which it would look 10 times */
		sched_yield();
	assert_true(rounds <= before + 2);
	gives_up = NULL;
	hand_over();
	await_count(&repairs, 2);
}

/* ---- Found failures ---- */

/* The port of a link, of which there are many. */
static uint32_t find_link(uint32_t number)
{
	const struct pm_fabric *topology = world.plan->topology;
	uint32_t port = 0;

	for (; port < topology->num_ports; port++)
		if (topology->ports[port].peer != PM_NONE && view.discovered[port] &&
		    !number--)
			break;
	assert_true(port < topology->num_ports);
	return port;
}

/* A repair finds that a link failed, at one end. */
static void fail_link(uint32_t number)
{
	int before = repairs;

	fails = (int)find_link(number);
	traps = 1;
	repairer_wake(repairer);
	await_count(&repairs, before + 1);
	have_it_searched();
}

static uint32_t count_failed(void)
{
	uint32_t num_ports = world.plan->topology->num_ports, num = 0, downs = 0;

	memset(view.failed, 0, num_ports);
	memset(view.downs, 0, num_ports);
	repairer_take_failed(repairer, &view);
	for (uint32_t i = 0; i < num_ports; i++) {
		num += view.failed[i];
		downs += view.downs[i];
	}
	assert_int_equal(downs, num);
	return num;
}

/* Each failure is reported once: a discovery that saw the link up since is right. */
static void test_logged_once(void **state)
{
	hand_over();
	fail_link(0);
	assert_int_equal(count_failed(), 1);
	assert_int_equal(count_failed(), 0);
	fail_link(1);
	assert_int_equal(count_failed(), 1);
}

/* Tables that are made anew, as those of a transition's stage go, are without it. */
static void test_stays_failed(void **state)
{
	struct pm_drains now = {0};
	int before;

	hand_over();
	fail_link(0);
	drains = true;
	repairer_wake(repairer);
	await_count(&transitions, 1);
	repairer_set_phase(repairer, PHASE_MANAGEMENT);
	repairer_take_drains(repairer, &now, false);
	pm_drains_free(&now);
	have_it_searched(); /* it is given up */
	before = repairs;
	traps = 1;
	repairer_wake(repairer);
	await_count(&repairs, before + 1);
	have_it_searched();
	assert_false(is_discovered);
}

/* The same drains by another request: that is reported, and no table changes. */
static void test_renumbered(void **state)
{
	struct pm_drains taken = {0};

	hand_over();
	renumbers = true;
	repairer_wake(repairer);
	await_count(&numbered, 9);
	assert_int_equal(transitions, 0);
	repairer_halt(repairer);
	assert_false(repairer_take_drains(repairer, &taken, true));
	assert_int_equal(taken.number, 9);
}

/* Where all tables are the plan's, a request to rebalance is over. */
static void test_nothing_to_rebalance(void **state)
{
	hand_over();
	rebalances = true;
	repairer_wake(repairer);
	await_count(&rebalanced, 1);
	assert_int_equal(balances, 0);
}

/* The errand that routes them is not what interrupts it: OpenSM goes on after them. */
static void test_groups_as_errand(void **state)
{
	const struct mcast_doubt doubt = {.all = true};

	hand_over();
	have_it_searched();
	routed = 0;
	repairer_route_groups(repairer, &doubt);
	assert_int_equal(routed, 1);
	assert_int_equal(cut_short, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_void_meanwhile, begin, end),
		cmocka_unit_test_setup_teardown(test_late_drains, begin, end),
		cmocka_unit_test_setup_teardown(test_given_up, begin, end),
		cmocka_unit_test_setup_teardown(test_new_traps, begin, end),
		cmocka_unit_test_setup_teardown(test_sweep_follows, begin, end),
		cmocka_unit_test_setup_teardown(test_sleeps_while_void, begin, end),
		cmocka_unit_test_setup_teardown(test_logged_once, begin, end),
		cmocka_unit_test_setup_teardown(test_stays_failed, begin, end),
		cmocka_unit_test_setup_teardown(test_renumbered, begin, end),
		cmocka_unit_test_setup_teardown(test_nothing_to_rebalance, begin, end),
		cmocka_unit_test_setup_teardown(test_groups_as_errand, begin_with_groups,
						end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
