/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Deadlocks in the flit engine, rule by rule: buffers are put into a state by hand. */
#include "unit.h"

#include "../../src/lab/flit/flit_parts.h"

#define CABLE 30
#define NOW 10000
#define FLITS 5 /* in each buffer */

/* Four switches, each joined with each; a VC on each link, so that a buffer is a link. */
struct lab {
	struct pm_flit_net *net;
	struct pm_flit *flit;
	uint32_t ring[3]; /* links 0 to 1, 1 to 2, and 2 to 0 */
	uint32_t side;	  /* 3 to 1 */
};

static uint32_t link_of(const struct lab *lab, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < lab->net->num_links; i++)
		if (lab->net->links[i].from == from && lab->net->links[i].to == to)
			return i;
	fail();
	return 0;
}

/*
 * A buffer is full: its front needs a link, which it has if `has`; it was last read
 * then.
 */
static void fill(struct lab *lab, uint32_t link, uint32_t want, bool has,
		 uint32_t last_read)
{
	struct vc *v = &lab->flit->vcs[link];

	v->fill = v->ready = FLITS;
	v->last_read = last_read;
	v->want = want;
	v->next_vc = has ? want : PM_NONE;
	lab->flit->links[link].open = 0;
	if (has) {
		lab->flit->vcs[want].owner = link;
		lab->flit->links[want].taken = 1;
	}
}

/* Three buffers in a ring, each full of a packet that has a part of the next one. */
static void begin(struct lab *lab)
{
	const struct pm_flit_config config = {
		.cable = CABLE,
		.buffer = FLITS,
		.vcs = 1,
		.rule = PM_FLIT_ONE,
		.reads = 1,
		.length = 64,
		.load = PM_FLIT_FULL_LOAD,
	};

	assert_int_equal(pm_flit_net_mesh(4, 1, &lab->net, NULL), 0);
	assert_int_equal(pm_flit_new(lab->net, &config, &lab->flit, NULL), 0);
	lab->flit->now = NOW;
	for (uint32_t i = 0; i < 3; i++)
		lab->ring[i] = link_of(lab, i, (i + 1) % 3);
	lab->side = link_of(lab, 3, 1);
	for (uint32_t i = 0; i < 3; i++)
		fill(lab, lab->ring[i], lab->ring[(i + 1) % 3], true, 0);
}

static const struct pm_flit_deadlock *look(struct lab *lab)
{
	flit_find_deadlock(lab->flit);
	return pm_flit_deadlock(lab->flit);
}

static void end(struct lab *lab)
{
	pm_flit_free(lab->flit);
	pm_flit_net_free(lab->net);
}

/* The index of a link in the loop that was found. */
static uint32_t place_in(const struct pm_flit_deadlock *found, uint32_t link)
{
	for (uint32_t i = 0; i < found->length; i++)
		if (found->loop[i].link == link)
			return i;
	fail_msg("link %u is not in the loop", link);
	return 0;
}

/* A packet with a VC waits for the buffer behind it, not for itself. */
static void test_next(void **state)
{
	const struct pm_flit_deadlock *found;
	struct lab lab;

	begin(&lab);
	found = look(&lab);
	assert_int_equal(found->cycle, NOW);
	assert_int_equal(found->buffers, 3);
	assert_int_equal(found->flits, 3 * FLITS);
	assert_int_equal(found->length, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal((place_in(found, lab.ring[i]) + 1) % 3,
				 place_in(found, lab.ring[(i + 1) % 3]));
	end(&lab);
	/* If that one moves, so do all. */
	begin(&lab);
	lab.flit->vcs[lab.ring[1]].last_read = NOW - 1;
	assert_int_equal(look(&lab)->cycle, 0);
	end(&lab);
	begin(&lab);
	lab.flit->links[lab.ring[0]].open = 1;
	assert_int_equal(look(&lab)->cycle, 0);
	end(&lab);
}

/* A buffer that was read stands once its signal has come to the sender, and what that
 * sent has come back. */
static void test_standing(void **state)
{
	struct lab lab;

	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t ago = 2 * CABLE - 1; ago <= 2 * CABLE + 2; ago++) {
			begin(&lab);
			lab.flit->vcs[lab.ring[i]].last_read = NOW - ago;
			assert_int_equal(look(&lab)->buffers, ago > 2 * CABLE ? 3 : 0);
			end(&lab);
		}
	/* Never read: as if in cycle 0. */
	for (uint32_t now = 2 * CABLE; now <= 2 * CABLE + 1; now++) {
		begin(&lab);
		for (uint32_t i = 0; i < 3; i++)
			lab.flit->vcs[lab.ring[i]].last_read = NOW;
		lab.flit->now = now;
		assert_int_equal(look(&lab)->buffers, now > 2 * CABLE ? 3 : 0);
		end(&lab);
	}
}

/* A packet that needs another's VC waits for that one to end, and not for the buffer. */
static void test_owner(void **state)
{
	const struct pm_flit_deadlock *found;
	struct lab lab;
	uint32_t at;

	begin(&lab);
	fill(&lab, lab.side, lab.ring[1], true, 0);
	fill(&lab, lab.ring[0], lab.ring[1], false, 0);
	lab.flit->vcs[lab.ring[1]].owner = lab.side;
	found = look(&lab);
	assert_int_equal(found->buffers, 4);
	assert_int_equal(found->length, 4);
	at = place_in(found, lab.ring[0]);
	assert_int_equal(found->loop[(at + 1) % 4].link, lab.side);
	assert_int_equal(found->loop[(at + 2) % 4].link, lab.ring[1]);
	end(&lab);
	/* If that one moves, so do all: its end will come. */
	begin(&lab);
	fill(&lab, lab.side, lab.ring[1], true, NOW - 1);
	fill(&lab, lab.ring[0], lab.ring[1], false, 0);
	lab.flit->vcs[lab.ring[1]].owner = lab.side;
	assert_int_equal(look(&lab)->cycle, 0);
	end(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_next),
		cmocka_unit_test(test_standing),
		cmocka_unit_test(test_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
