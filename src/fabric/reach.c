/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Computes the switches that each switch reaches, going down, and up then down; updates
 * them after failures.
 */
#include <portmajor/base/bits.h>
#include <portmajor/fabric/reach.h>
#include <portmajor/fabric/search.h>

#include <string.h>

/* Counting sort; switches without a level are left out. */
void pm_reach_sort(const struct pm_tree *tree, struct pm_reach *reach)
{
	uint32_t at = 0;

	for (unsigned int level = 0; level <= tree->top_level; level++)
		for (uint32_t i = 0; i < tree->num_switches; i++)
			if (tree->level[i] == level)
				reach->by_level[at++] = i;
	reach->num_by_level = at;
}

void pm_reach_init(const struct pm_tree *tree, struct pm_pool *pool,
		   struct pm_reach *reach)
{
	uint32_t words = pm_bits_words(tree->num_switches);
	size_t cells = (size_t)words * tree->num_switches;

	*reach = (struct pm_reach){
		.words = words,
		.down = pm_pool_array(pool, cells, sizeof(uint64_t)),
		.updown = pm_pool_array(pool, cells, sizeof(uint64_t)),
		.by_level = pm_pool_array(pool, tree->num_switches, sizeof(uint32_t)),
	};
	if (reach->by_level)
		pm_reach_sort(tree, reach);
}

/* Adds to set[x] the sets of x's neighbours in one direction. */
static void gather(const struct pm_fabric *skeleton, const struct pm_tree *tree,
		   const uint8_t *usable, uint8_t direction, uint32_t x, uint64_t *sets,
		   uint32_t words)
{
	uint32_t last = PM_NONE;

	pm_for_each_port(i, skeleton, x) {
		uint32_t y;

		if (tree->direction[i] != direction || (usable && !usable[i]))
			continue;
		y = pm_fabric_peer_node(skeleton, i);
		/* a parallel link adds nothing */
		if (y == last)
			continue;
		last = y;
		pm_bits_or(sets + (size_t)x * words, sets + (size_t)y * words, words);
	}
}

void pm_reach_compute(const struct pm_fabric *skeleton, const struct pm_tree *tree,
		      const uint8_t *usable, struct pm_reach *reach)
{
	uint32_t words = reach->words;
	size_t bytes = (size_t)words * tree->num_switches * sizeof(uint64_t);

	memset(reach->down, 0, bytes);
	for (uint32_t i = 0; i < reach->num_by_level; i++) {
		uint32_t x = reach->by_level[i];

		pm_bits_set(reach->down + (size_t)x * words, x);
		gather(skeleton, tree, usable, PM_DOWN, x, reach->down, words);
	}
	memcpy(reach->updown, reach->down, bytes);
	for (uint32_t i = reach->num_by_level; i-- > 0;)
		gather(skeleton, tree, usable, PM_UP, reach->by_level[i], reach->updown,
		       words);
}

/* Whether a link in this direction has failed, or its remote switch's set has changed. */
static bool is_stirred(const struct pm_fabric *skeleton, const struct pm_tree *tree,
		       const uint8_t *usable, uint8_t direction, uint32_t x,
		       const uint8_t *changed, uint8_t flag)
{
	pm_for_each_port(i, skeleton, x)
		if (tree->direction[i] == direction &&
		    (!usable[i] || changed[pm_fabric_peer_node(skeleton, i)] & flag))
			return true;
	return false;
}

/* Computes what x reaches going down where it may differ from `whole`. */
static void gather_down_since(const struct pm_fabric *skeleton,
			      const struct pm_tree *tree, const uint8_t *usable,
			      uint32_t x, const struct pm_reach *whole,
			      struct pm_reach *reach, uint8_t *changed)
{
	size_t at = (size_t)x * reach->words, bytes = reach->words * sizeof(uint64_t);

	if (!is_stirred(skeleton, tree, usable, PM_DOWN, x, changed, PM_REACH_DOWN))
		return;
	memset(reach->down + at, 0, bytes);
	pm_bits_set(reach->down + at, x);
	gather(skeleton, tree, usable, PM_DOWN, x, reach->down, reach->words);
	if (memcmp(reach->down + at, whole->down + at, bytes))
		changed[x] |= PM_REACH_DOWN;
}

void pm_reach_compute_since(const struct pm_fabric *skeleton, const struct pm_tree *tree,
			    const uint8_t *usable, const struct pm_reach *whole,
			    struct pm_reach *reach, uint8_t *changed)
{
	size_t bytes = reach->words * sizeof(uint64_t);

	memset(changed, 0, tree->num_switches);
	memcpy(reach->down, whole->down, bytes * tree->num_switches);
	memcpy(reach->updown, whole->updown, bytes * tree->num_switches);
	for (uint32_t i = 0; i < reach->num_by_level; i++)
		gather_down_since(skeleton, tree, usable, reach->by_level[i], whole,
				  reach, changed);
	for (uint32_t i = reach->num_by_level; i-- > 0;) {
		uint32_t x = reach->by_level[i];
		size_t at = (size_t)x * reach->words;

		if (!(changed[x] & PM_REACH_DOWN) &&
		    !is_stirred(skeleton, tree, usable, PM_UP, x, changed,
				PM_REACH_UPDOWN))
			continue;
		memcpy(reach->updown + at, reach->down + at, bytes);
		gather(skeleton, tree, usable, PM_UP, x, reach->updown, reach->words);
		if (memcmp(reach->updown + at, whole->updown + at, bytes))
			changed[x] |= PM_REACH_UPDOWN;
	}
}

/* ---- A failure, and its undoing ---- */

void pm_reach_failure_init(const struct pm_reach *reach, uint32_t num_switches,
			   struct pm_pool *pool, struct pm_reach_failure *failure)
{
	*failure = (struct pm_reach_failure){
		.affected = pm_pool_array(pool, num_switches, sizeof(uint32_t)),
		.changed = pm_pool_array(pool, num_switches, 1),
		.missing = pm_pool_array(pool, (size_t)num_switches * reach->words,
					 sizeof(uint64_t)),
		.span = pm_pool_array(pool, num_switches, sizeof(*failure->span)),
		.waiting = pm_pool_array(pool, reach->words, sizeof(uint64_t)),
		.index = pm_pool_array(pool, num_switches, sizeof(uint32_t)),
	};
	if (!failure->index || !reach->by_level)
		return;
	memset(failure->index, 0xff, num_switches * sizeof(*failure->index));
	for (uint32_t i = 0; i < reach->num_by_level; i++)
		failure->index[reach->by_level[i]] = i;
}

/* An update of one kind of sets, passed on over links of one direction. */
struct wave {
	const struct pm_fabric *skeleton;
	const struct pm_tree *tree;
	const uint8_t *usable;
	struct pm_reach_failure *failure;
	uint64_t *sets;	       /* [switch][words] */
	const uint64_t *below; /* [switch][words] sets included anyway, or NULL */
	uint32_t words;
	uint8_t from, to; /* directions: sets come over `from`, pass on over `to` */
	uint8_t flag;	  /* enum pm_reach_changed */
};

/* Marks members of a set, in these words, as perhaps no longer reached by a switch. */
static void miss(const struct wave *wave, uint32_t x, const uint64_t *set,
		 struct pm_span words)
{
	struct pm_span *span = &wave->failure->span[x];
	uint64_t *missing = wave->failure->missing + (size_t)x * wave->words;

	if (wave->failure->index[x] == PM_NONE || words.first == words.end)
		return;
	for (uint32_t w = words.first; w < words.end; w++)
		missing[w] |= set[w];
	if (span->first == span->end)
		*span = words;
	if (words.first < span->first)
		span->first = words.first;
	if (words.end > span->end)
		span->end = words.end;
	pm_bits_set(wave->failure->waiting, wave->failure->index[x]);
}

/* Removes another set's members from a set; returns the words that remain. */
static inline struct pm_span strike(uint64_t *set, const uint64_t *other,
				    struct pm_span span)
{
	for (uint32_t w = span.first; w < span.end; w++)
		set[w] &= ~other[w];
	while (span.first < span.end && !set[span.first])
		span.first++;
	while (span.first < span.end && !set[span.end - 1])
		span.end--;
	return span;
}

/* Leaves in missing[] what x reaches over no other link; returns the words of that. */
static struct pm_span keep_withdrawn(const struct wave *wave, uint32_t x,
				     uint64_t *missing)
{
	const struct pm_node *n = &wave->skeleton->nodes[x];
	uint32_t i = n->first_port + 1, end = i + n->num_ports, words = wave->words;
	const uint8_t *direction = wave->tree->direction, *usable = wave->usable, *found;
	const uint32_t *remote = wave->tree->remote;
	const uint64_t *sets = wave->sets;
	struct pm_span left = wave->failure->span[x];

	if (wave->below)
		left = strike(missing, wave->below + (size_t)x * words, left);
	/* Mostly the first such port is enough, and many ports to hosts precede it. */
	found = memchr(direction + i, wave->from, end - i);
	i = found ? (uint32_t)(found - direction) : end;
	for (; i < end && left.first < left.end; i++)
		if (direction[i] == wave->from && usable[i])
			left = strike(missing, sets + (size_t)remote[i] * words, left);
	return left;
}

/*
 * Removes what x no longer reaches from its set, and marks it as missing at the
 * neighbours that reached it through x.
 */
static void take_withdrawn(const struct wave *wave, uint32_t x, const uint64_t *missing,
			   struct pm_span span)
{
	struct pm_reach_failure *failure = wave->failure;
	uint64_t *set = wave->sets + (size_t)x * wave->words;

	for (uint32_t w = span.first; w < span.end; w++)
		set[w] &= ~missing[w];
	if (!failure->changed[x])
		failure->affected[failure->num_affected++] = x;
	failure->changed[x] |= wave->flag;
	pm_for_each_port(i, wave->skeleton, x)
		if (wave->tree->direction[i] == wave->to && wave->usable[i])
			miss(wave, wave->tree->remote[i], missing, span);
}

static void examine_set(const struct wave *wave, uint32_t x)
{
	uint64_t *missing = wave->failure->missing + (size_t)x * wave->words;
	struct pm_span *span = &wave->failure->span[x],
		       withdrawn = keep_withdrawn(wave, x, missing);

	wave->failure->examined++;
	/* Otherwise missing[] is empty already. */
	if (withdrawn.first < withdrawn.end) {
		take_withdrawn(wave, x, missing, withdrawn);
		memset(missing + withdrawn.first, 0,
		       (withdrawn.end - withdrawn.first) * sizeof(*missing));
	}
	*span = (struct pm_span){0, 0};
}

/* Examines all waiting switches, in the order in which sets depend on each other. */
static void run_wave(const struct wave *wave, const uint32_t *by_level)
{
	uint64_t *waiting = wave->failure->waiting;

	for (uint32_t k = 0; k < wave->words; k++) {
		uint32_t w = wave->from == PM_DOWN ? k : wave->words - 1 - k;

		while (waiting[w]) {
			uint32_t bit =
				(uint32_t)(wave->from == PM_DOWN
						   ? __builtin_ctzll(waiting[w])
						   : 63 - __builtin_clzll(waiting[w]));

			waiting[w] &= ~((uint64_t)1 << bit);
			examine_set(wave, by_level[w * 64 + bit]);
		}
	}
}

/* Marks what the failed links led to in this direction as missing. */
static void miss_behind(const struct wave *wave, const uint32_t *ports,
			uint32_t num_ports)
{
	for (uint32_t i = 0; i < num_ports; i++)
		if (wave->tree->direction[ports[i]] == wave->from)
			miss(wave, wave->skeleton->ports[ports[i]].node,
			     wave->sets +
				     (size_t)wave->tree->remote[ports[i]] * wave->words,
			     (struct pm_span){0, wave->words});
}

void pm_reach_fail(const struct pm_fabric *skeleton, const struct pm_tree *tree,
		   const uint8_t *usable, const uint32_t *ports, uint32_t num_ports,
		   struct pm_reach *reach, struct pm_reach_failure *failure)
{
	struct wave wave = {
		.skeleton = skeleton,
		.tree = tree,
		.usable = usable,
		.failure = failure,
		.sets = reach->down,
		.words = reach->words,
		.from = PM_DOWN,
		.to = PM_UP,
		.flag = PM_REACH_DOWN,
	};
	uint32_t num_down;

	failure->examined = 0;
	miss_behind(&wave, ports, num_ports);
	run_wave(&wave, reach->by_level);
	num_down = failure->num_affected;
	wave.sets = reach->updown;
	wave.below = reach->down;
	wave.from = PM_UP;
	wave.to = PM_DOWN;
	wave.flag = PM_REACH_UPDOWN;
	miss_behind(&wave, ports, num_ports);
	/* What a switch no longer reaches going down is still in its updown set. */
	for (uint32_t i = 0; i < num_down; i++)
		miss(&wave, failure->affected[i],
		     reach->updown + (size_t)failure->affected[i] * reach->words,
		     (struct pm_span){0, reach->words});
	run_wave(&wave, reach->by_level);
}

void pm_reach_restore(const struct pm_reach *whole, struct pm_reach *reach,
		      struct pm_reach_failure *failure)
{
	size_t bytes = reach->words * sizeof(uint64_t);

	while (failure->num_affected) {
		uint32_t x = failure->affected[--failure->num_affected];
		size_t at = (size_t)x * reach->words;

		if (failure->changed[x] & PM_REACH_DOWN)
			memcpy(reach->down + at, whole->down + at, bytes);
		if (failure->changed[x] & PM_REACH_UPDOWN)
			memcpy(reach->updown + at, whole->updown + at, bytes);
		failure->changed[x] = 0;
	}
}

static bool is_usable(const void *usable, uint32_t port)
{
	return ((const uint8_t *)usable)[port];
}

void pm_reach_parts(const struct pm_fabric *fabric, const uint8_t *usable, uint32_t *part,
		    uint32_t *queue)
{
	struct pm_search search = {.fabric = fabric, .queue = queue, .by = part};

	pm_search_begin(&search);
	for (uint32_t node = 0; node < fabric->num_nodes; node++)
		if (pm_search_start(&search, node))
			pm_search_run(&search, usable ? is_usable : NULL, usable);
	pm_search_origins(&search);
}
