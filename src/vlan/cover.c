/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds a small vertex cover, from a smallest cover with halves. In that, each vertex
 * counts 0, 1/2 or 1, and both ends of an edge together at least 1. It comes from a
 * largest matching of the double cover: a graph with two copies of each vertex, left and
 * right, where an edge joins each end's left copy with the other end's right copy. No
 * vertex cover is smaller, and some smallest one has all vertices that count 1 and none
 * that count 0 (Nemhauser and Trotter, 1975). Of the vertices that count 1/2, a connected
 * component adds one side if it is bipartite; else it adds the vertices with the most
 * edges.
 */
#include "cover.h"

#include <portmajor/memory/xalloc.h>

#include <string.h>

#define NONE UINT32_MAX
#define BIT(v) (UINT64_C(1) << ((v) % 64))

struct matcher {
	const struct cover *c;
	uint32_t *right;   /* [left] its mate, or NONE */
	uint32_t *left;	   /* [right] its mate, or NONE */
	uint32_t *from;	   /* [right] the left from which a search came */
	uint32_t *queue;   /* of lefts */
	uint64_t *visited; /* [word] rights that a search visited */
	uint64_t *dead;	   /* [word] rights from which no free one is reached */
	uint8_t *half;	   /* [vertex] counts 1/2 and is neither taken nor covered */
	uint8_t *side;	   /* [vertex] 1 or 2; 0: unknown */
};

void cover_begin(struct cover *c, uint32_t num, struct pm_pool *pool)
{
	*c = (struct cover){.num = num, .words = num / 64 + 1, .pool = pool};
	c->edge = pm_pool_xarray(pool, (size_t)num * c->words, sizeof(*c->edge));
}

static const uint64_t *row(const struct cover *c, uint32_t v)
{
	return c->edge + (size_t)v * c->words;
}

void cover_join(struct cover *c, uint32_t a, uint32_t b)
{
	c->edge[(size_t)a * c->words + b / 64] |= BIT(b);
	c->edge[(size_t)b * c->words + a / 64] |= BIT(a);
}

/* ---- Matching ---- */

/*
 * Flips the path that ends at a free right: each left on it is matched with the right
 * that it was searched from.
 */
static void augment(struct matcher *m, uint32_t y)
{
	while (y != NONE) {
		uint32_t x = m->from[y], next = m->right[x];

		m->right[x] = y;
		m->left[y] = x;
		y = next;
	}
}

/*
 * Visits all rights next to a left that were not visited, and queues their mates. Returns
 * a right without a mate, which ends the search, or NONE.
 */
static uint32_t look_from(struct matcher *m, uint32_t x, uint32_t *tail)
{
	for (uint32_t w = 0; w < m->c->words; w++) {
		uint64_t more = row(m->c, x)[w] & ~m->visited[w];

		m->visited[w] |= more;
		for (; more; more &= more - 1) {
			uint32_t y = w * 64 + (uint32_t)__builtin_ctzll(more);

			m->from[y] = x;
			if (m->left[y] == NONE)
				return y;
			m->queue[(*tail)++] = m->left[y];
		}
	}
	return NONE;
}

/*
 * Searches an augmenting path: from this left, which has no mate, to a right without one.
 */
static bool search_match(struct matcher *m, uint32_t start)
{
	size_t size = m->c->words * sizeof(*m->visited);
	uint32_t head = 0, tail = 0;

	memcpy(m->visited, m->dead, size);
	m->queue[tail++] = start;
	while (head < tail) {
		uint32_t y = look_from(m, m->queue[head++], &tail);

		if (y != NONE) {
			augment(m, y);
			return true;
		}
	}
	memcpy(m->dead, m->visited, size);
	return false;
}

/* Finds a largest matching; returns its size. */
static uint32_t match(struct matcher *m)
{
	uint32_t num = 0;

	for (uint32_t v = 0; v < m->c->num; v++)
		m->left[v] = m->right[v] = NONE;
	for (uint32_t v = 0; v < m->c->num; v++)
		num += search_match(m, v);
	return num;
}

static bool is_dead(const struct matcher *m, uint32_t v)
{
	return m->dead[v / 64] & BIT(v);
}

/* A left is in the cover if no failed search came to it; a right is, if one did. */
static void weigh(struct matcher *m, uint8_t *chosen)
{
	for (uint32_t v = 0; v < m->c->num; v++) {
		bool left = m->right[v] != NONE && !is_dead(m, m->right[v]);
		bool right = is_dead(m, v);

		chosen[v] = left && right;
		m->half[v] = left != right;
	}
}

/* ---- Halves ---- */

/* Finds the connected component of a vertex, in the queue; false: it is not bipartite. */
static bool color(struct matcher *m, uint32_t start, uint32_t *tail, uint32_t ones[3])
{
	bool even = true;

	m->side[start] = 1;
	m->queue[0] = start;
	*tail = 1;
	ones[1] = ones[2] = 0;
	for (uint32_t head = 0; head < *tail; head++) {
		uint32_t x = m->queue[head];

		ones[m->side[x]]++;
		for (uint32_t w = 0; w < m->c->words; w++)
			for (uint64_t all = row(m->c, x)[w]; all; all &= all - 1) {
				uint32_t y = w * 64 + (uint32_t)__builtin_ctzll(all);

				if (!m->half[y])
					continue;
				if (!m->side[y]) {
					m->side[y] = (uint8_t)(3 - m->side[x]);
					m->queue[(*tail)++] = y;
				}
				even &= m->side[y] != m->side[x];
			}
	}
	return even;
}

/* Takes one side of each bipartite component. */
static void take_sides(struct matcher *m, uint8_t *chosen)
{
	for (uint32_t v = 0; v < m->c->num; v++) {
		uint32_t tail, ones[3];
		uint8_t taken;

		if (!m->half[v] || m->side[v] || !color(m, v, &tail, ones))
			continue;
		taken = ones[1] <= ones[2] ? 1 : 2;
		for (uint32_t i = 0; i < tail; i++) {
			chosen[m->queue[i]] = m->side[m->queue[i]] == taken;
			m->half[m->queue[i]] = 0;
		}
	}
}

/* Counts a vertex's edges to vertices of a set. */
static uint32_t count_edges(const struct cover *c, uint32_t v, const uint64_t *others)
{
	uint32_t num = 0;

	for (uint32_t w = 0; w < c->words; w++)
		num += (uint32_t)__builtin_popcountll(row(c, v)[w] & others[w]);
	return num;
}

/*
 * Takes vertices with the most edges, as long as there are edges, and drops those that
 * are not needed.
 */
static void take_greedily(struct matcher *m, uint8_t *chosen)
{
	const struct cover *c = m->c;
	uint64_t *open = m->visited;

	memset(open, 0, c->words * sizeof(*open));
	for (uint32_t v = 0; v < c->num; v++)
		if (m->half[v])
			open[v / 64] |= BIT(v);
	for (;;) {
		uint32_t best = 0, most = 0;

		for (uint32_t v = 0; v < c->num; v++) {
			uint32_t num =
				open[v / 64] & BIT(v) ? count_edges(c, v, open) : 0;

			if (num > most) {
				most = num;
				best = v;
			}
		}
		if (!most)
			break;
		chosen[best] = 1;
		open[best / 64] &= ~BIT(best);
	}
	for (uint32_t v = 0; v < c->num; v++)
		if (m->half[v] && chosen[v] && !count_edges(c, v, open)) {
			chosen[v] = 0;
			open[v / 64] |= BIT(v);
		}
}

void cover_choose(struct cover *c, uint8_t *chosen, uint32_t *bound)
{
	struct matcher m = {
		.c = c,
		.right = pm_pool_xarray(c->pool, c->num, sizeof(uint32_t)),
		.left = pm_pool_xarray(c->pool, c->num, sizeof(uint32_t)),
		.from = pm_pool_xarray(c->pool, c->num, sizeof(uint32_t)),
		.queue = pm_pool_xarray(c->pool, (size_t)c->num + 1, sizeof(uint32_t)),
		.visited = pm_pool_xarray(c->pool, c->words, sizeof(uint64_t)),
		.dead = pm_pool_xarray(c->pool, c->words, sizeof(uint64_t)),
		.half = pm_pool_xarray(c->pool, c->num, 1),
		.side = pm_pool_xarray(c->pool, c->num, 1),
	};

	*bound = (match(&m) + 1) / 2;
	weigh(&m, chosen);
	take_sides(&m, chosen);
	take_greedily(&m, chosen);
}
