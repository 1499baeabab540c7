/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads GOAL schedules. In a workload, messages wait only for messages. So the
 * requirements of an event become the set of messages that it waits for, each with the
 * computing time in between. The events of a rank are taken in an order in which
 * requirements come first. After a send, the set is the send itself.
 */
#include <portmajor/base/lexer.h>
#include <portmajor/base/textfile.h>
#include <portmajor/fabric/fabric.h>
#include <portmajor/lab/goal.h>
#include <portmajor/lab/workload.h>
#include <portmajor/memory/xalloc.h>

#include <errno.h>

#define MAX_BYTES (PM_MESSAGE_MAX * UINT64_C(64))

enum kind { SEND, RECV, CALC };

struct event {
	enum kind kind;
	uint32_t rank, peer, tag, line;
	uint64_t size;	  /* bytes, or ns */
	uint32_t message; /* sent or received */
	/* what it waits for: index in goal->waits; the earliest time */
	uint32_t first, num;
	uint64_t ns;
};

struct label {
	struct pm_text name;
	uint32_t event;
};

/* "A requires B", by labels first and then by events. */
struct edge {
	struct pm_text name, on_name;
	uint32_t event, on, line;
	bool begin; /* irequires */
};

struct reader {
	struct pm_lexer lexer;
	struct pm_goal *goal;
	struct event *events;
	uint32_t num, room;
	struct label *labels; /* of the present rank */
	uint32_t num_labels, labels_room;
	struct edge *edges;
	uint32_t num_edges, edges_room;
	uint32_t rank, first_edge; /* the present rank, or PM_NONE; its first edge */
	uint8_t *visited;	   /* [rank] */
	uint32_t *order;	   /* events, each after those that it requires */
	uint32_t waits_room;
	uint32_t *place; /* [message] index in goal->waits, if in the present set */
};

/* ---- Lines ---- */

static void add_event(struct reader *r, struct event event, struct pm_text name)
{
	pm_xgrow(&r->events, &r->room, r->num + 1, sizeof(*r->events));
	pm_xgrow(&r->labels, &r->labels_room, r->num_labels + 1, sizeof(*r->labels));
	event.rank = r->rank;
	event.line = r->lexer.line;
	event.message = PM_NONE;
	if (!pm_text_is_empty(name))
		r->labels[r->num_labels++] = (struct label){name, r->num};
	r->events[r->num++] = event;
}

/* Reads the words of "SIZEb to R". */
static bool take_message(struct pm_text *line, const char *keyword, struct event *event)
{
	uint64_t peer;
	struct pm_text word;

	if (pm_text_take_digits(line, 10, &event->size) || !pm_text_next_is(*line, 'b'))
		return false;
	line->at++;
	if (!pm_text_take_word(line, &word) || !pm_text_is(word, keyword) ||
	    !pm_text_take_number(line, 10, PM_GOAL_MAX_RANKS - 1, &peer))
		return false;
	event->peer = (uint32_t)peer;
	return true;
}

/* Reads "tag T cpu C nic N", each of which may be left out. */
static bool take_rest(struct pm_text *line, struct event *event)
{
	struct pm_text word;
	uint64_t number;

	while (pm_text_take_word(line, &word)) {
		bool tag = pm_text_is(word, "tag");

		if ((!tag && !pm_text_is(word, "cpu") && !pm_text_is(word, "nic")) ||
		    !pm_text_take_number(line, 10, UINT32_MAX, &number))
			return false;
		if (tag)
			event->tag = (uint32_t)number;
	}
	return true;
}

static int read_event(struct reader *r, struct pm_text name, struct pm_text word,
		      struct pm_text line)
{
	struct event event = {.kind = pm_text_is(word, "send")	 ? SEND
				      : pm_text_is(word, "recv") ? RECV
								 : CALC};
	bool fine;

	if (event.kind == CALC)
		fine = pm_text_is(word, "calc") &&
		       pm_text_take_number(&line, 10, PM_GOAL_MAX_NS, &event.size);
	else
		fine = take_message(&line, event.kind == SEND ? "to" : "from", &event);
	if (!fine || !take_rest(&line, &event))
		return pm_lexer_fail(
			&r->lexer,
			"not \"send SIZEb to R\", \"recv SIZEb from R\" or \"calc NS\"");
	if (event.kind != CALC && (event.peer >= r->goal->ranks || event.peer == r->rank))
		return pm_lexer_fail(&r->lexer, "rank %u has no message with rank %u",
				     r->rank, event.peer);
	if (event.kind == SEND && event.size > MAX_BYTES)
		return pm_lexer_fail(&r->lexer, "a message of more than 64 MiB");
	add_event(r, event, name);
	return 0;
}

static int read_edge(struct reader *r, struct pm_text name, bool begin,
		     struct pm_text line)
{
	struct pm_text on, more;

	if (!pm_text_take_word(&line, &on) || pm_text_take_word(&line, &more))
		return pm_lexer_fail(&r->lexer, "not \"LABEL requires LABEL\"");
	pm_xgrow(&r->edges, &r->edges_room, r->num_edges + 1, sizeof(*r->edges));
	r->edges[r->num_edges++] = (struct edge){
		.name = name, .on_name = on, .line = r->lexer.line, .begin = begin};
	return 0;
}

/* ---- Ranks ---- */

static int compare_labels(const void *a, const void *b)
{
	const struct label *x = a, *y = b;

	return pm_text_compare(x->name, y->name);
}

static uint32_t find_label(const struct reader *r, struct pm_text name)
{
	const struct label key = {name, 0};
	const struct label *found = r->num_labels
					    ? bsearch(&key, r->labels, r->num_labels,
						      sizeof(key), compare_labels)
					    : NULL;

	return found ? found->event : PM_NONE;
}

static int find_edges(struct reader *r)
{
	if (r->num_labels)
		qsort(r->labels, r->num_labels, sizeof(*r->labels), compare_labels);
	for (uint32_t i = 1; i < r->num_labels; i++)
		if (!compare_labels(&r->labels[i - 1], &r->labels[i]))
			return pm_lexer_fail_at(&r->lexer,
						r->events[r->labels[i].event].line,
						"rank %u has two events \"%.*s\"",
						r->rank, PM_SHOWN(r->labels[i].name));
	for (uint32_t i = r->first_edge; i < r->num_edges; i++) {
		struct edge *edge = &r->edges[i];

		edge->event = find_label(r, edge->name);
		edge->on = find_label(r, edge->on_name);
		if (edge->event == PM_NONE || edge->on == PM_NONE)
			return pm_lexer_fail_at(&r->lexer, edge->line,
						"rank %u has no event \"%.*s\"", r->rank,
						PM_SHOWN(edge->event == PM_NONE
								 ? edge->name
								 : edge->on_name));
	}
	return 0;
}

/* ---- The file ---- */

static int begin_rank(struct reader *r, struct pm_text line)
{
	struct pm_text word;
	uint64_t rank;

	if (!r->goal->ranks ||
	    !pm_text_take_number(&line, 10, r->goal->ranks - 1, &rank) ||
	    !pm_text_take_word(&line, &word) || !pm_text_is(word, "{") ||
	    pm_text_take_word(&line, &word))
		return pm_lexer_fail(&r->lexer, "not \"rank R {\", R below num_ranks");
	if (r->visited[rank])
		return pm_lexer_fail(&r->lexer, "rank %u is given twice", (uint32_t)rank);
	r->visited[rank] = 1;
	r->rank = (uint32_t)rank;
	r->num_labels = 0;
	r->first_edge = r->num_edges;
	return 0;
}

static int read_ranks(struct reader *r, struct pm_text line)
{
	uint64_t ranks;

	if (r->goal->ranks ||
	    !pm_text_take_number(&line, 10, PM_GOAL_MAX_RANKS, &ranks) || ranks < 2)
		return pm_lexer_fail(&r->lexer, "not \"num_ranks N\", 2 to %u, once",
				     PM_GOAL_MAX_RANKS);
	r->goal->ranks = (uint32_t)ranks;
	r->visited = pm_xarray(ranks, sizeof(*r->visited));
	return 0;
}

static int read_rank_line(struct reader *r, struct pm_text line, struct pm_text word)
{
	struct pm_text name = {line.at, line.at}, next;
	int rc;

	if (pm_text_is(word, "}")) {
		rc = find_edges(r);
		r->rank = PM_NONE;
		return rc;
	}
	if (word.end[-1] == ':') {
		name = (struct pm_text){word.at, word.end - 1};
		if (!pm_text_take_word(&line, &word))
			return pm_lexer_fail(&r->lexer, "no event after the label");
		return read_event(r, name, word, line);
	}
	next = line;
	if (pm_text_take_word(&next, &name) &&
	    (pm_text_is(name, "requires") || pm_text_is(name, "irequires")))
		return read_edge(r, word, pm_text_next_is(name, 'i'), next);
	return read_event(r, (struct pm_text){line.at, line.at}, word, line);
}

static int read_line(struct reader *r, struct pm_text line)
{
	struct pm_text word;

	if (pm_lexer_check_text(&r->lexer, line))
		return r->lexer.bad;
	if (!pm_text_take_word(&line, &word) || pm_text_starts(word, "//"))
		return 0;
	if (r->rank != PM_NONE)
		return read_rank_line(r, line, word);
	if (pm_text_is(word, "num_ranks"))
		return read_ranks(r, line);
	if (pm_text_is(word, "rank"))
		return begin_rank(r, line);
	return pm_lexer_fail(&r->lexer, "neither num_ranks nor rank");
}

static int read_all(struct reader *r)
{
	struct pm_text line;
	int rc = 0;

	while (!rc && pm_lexer_next(&r->lexer, &line))
		rc = read_line(r, line);
	if (!rc && r->rank != PM_NONE)
		rc = pm_lexer_fail(&r->lexer, "rank %u has no end", r->rank);
	if (!rc && !r->goal->ranks)
		rc = pm_lexer_fail(&r->lexer, "no num_ranks");
	return rc;
}

/* ---- Order ---- */

static int compare_on(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->on != y->on)
		return x->on < y->on ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

static int compare_event(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return x->on < y->on ? -1 : x->on > y->on;
}

/* Sorts edges by one of their events. first[event] is the event's first edge. */
static uint32_t *sort_edges(struct reader *r, bool by_on)
{
	uint32_t *first = pm_xarray((size_t)r->num + 1, sizeof(*first));

	if (r->num_edges)
		qsort(r->edges, r->num_edges, sizeof(*r->edges),
		      by_on ? compare_on : compare_event);
	for (uint32_t i = 0; i < r->num_edges; i++)
		first[(by_on ? r->edges[i].on : r->edges[i].event) + 1]++;
	for (uint32_t i = 0; i < r->num; i++)
		first[i + 1] += first[i];
	return first;
}

/*
 * Orders events: first those that require nothing, then those that require these, and so
 * on. first[event]: index of the first edge of events that require it.
 */
static int walk(struct reader *r, const uint32_t *first, uint32_t *missing)
{
	uint32_t end = 0;

	for (uint32_t i = 0; i < r->num; i++)
		if (!missing[i])
			r->order[end++] = i;
	for (uint32_t i = 0; i < end; i++)
		for (uint32_t e = first[r->order[i]]; e < first[r->order[i] + 1]; e++)
			if (!--missing[r->edges[e].event])
				r->order[end++] = r->edges[e].event;
	for (uint32_t i = 0; i < r->num && end < r->num; i++)
		if (missing[i])
			return pm_lexer_fail_at(
				&r->lexer, r->events[i].line,
				"rank %u: events require each other in a cycle",
				r->events[i].rank);
	return 0;
}

static int order_events(struct reader *r)
{
	uint32_t *first = sort_edges(r, true);
	uint32_t *missing = pm_xarray(r->num, sizeof(*missing));
	int rc;

	r->order = pm_xarray(r->num, sizeof(*r->order));
	for (uint32_t i = 0; i < r->num_edges; i++)
		missing[r->edges[i].event]++;
	rc = walk(r, first, missing);
	free(first);
	free(missing);
	return rc;
}

/* ---- Messages ---- */

/* A send or a receive to match, by its sender, receiver and tag. */
struct end {
	uint32_t from, to, tag, place, event;
};

static int compare_ends(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	for (int i = 0; i < 4; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

/* Lists sends or receives in their order; returns their number. */
static uint32_t list_ends(const struct reader *r, enum kind kind, struct end *ends)
{
	uint32_t num = 0;

	for (uint32_t i = 0; i < r->num; i++) {
		const struct event *e = &r->events[r->order[i]];
		bool send = kind == SEND;

		if (e->kind == kind)
			ends[num++] = (struct end){send ? e->rank : e->peer,
						   send ? e->peer : e->rank, e->tag, i,
						   r->order[i]};
	}
	if (num)
		qsort(ends, num, sizeof(*ends), compare_ends);
	return num;
}

static int fail_match(const struct reader *r, const struct end *end)
{
	return pm_lexer_fail_at(
		&r->lexer, r->events[end->event].line, "rank %u %s rank %u, tag %u, %s",
		r->events[end->event].rank,
		r->events[end->event].kind == SEND ? "sends to" : "receives from",
		r->events[end->event].peer, end->tag,
		r->events[end->event].kind == SEND ? "which does not receive it"
						   : "which does not send it");
}

/* Matches the k-th receive of a sender, receiver and tag with the k-th send. */
static int match_ends(struct reader *r, const struct end *sends, uint32_t num_sends,
		      const struct end *recvs, uint32_t num_recvs)
{
	for (uint32_t i = 0; i < num_sends || i < num_recvs; i++) {
		const struct end *s = &sends[i], *v = &recvs[i];
		struct end a, b;

		if (i >= num_sends)
			return fail_match(r, v);
		if (i >= num_recvs)
			return fail_match(r, s);
		a = *s;
		b = *v;
		a.place = b.place = 0;
		if (compare_ends(&a, &b))
			return fail_match(r, compare_ends(&a, &b) < 0 ? s : v);
		r->events[v->event].message = r->events[s->event].message;
	}
	return 0;
}

static int list_messages(struct reader *r)
{
	struct end *sends = pm_xarray(r->num, sizeof(*sends));
	struct end *recvs = pm_xarray(r->num, sizeof(*recvs));
	struct pm_goal *goal = r->goal;
	int rc;

	goal->list = pm_xarray(r->num, sizeof(*goal->list));
	for (uint32_t i = 0; i < r->num; i++) {
		struct event *e = &r->events[r->order[i]];

		if (e->kind != SEND)
			continue;
		e->message = goal->num;
		goal->list[goal->num++] = (struct pm_goal_message){
			.from = e->rank, .to = e->peer, .bytes = e->size};
	}
	rc = match_ends(r, sends, list_ends(r, SEND, sends), recvs,
			list_ends(r, RECV, recvs));
	free(sends);
	free(recvs);
	return rc;
}

/* ---- What each event waits for ---- */

/* Adds a message to the set of the last event. */
static int add_wait(struct reader *r, struct event *event, uint32_t message, uint64_t ns)
{
	struct pm_goal *goal = r->goal;
	uint32_t place = r->place[message];

	if (place >= event->first && place < goal->num_waits &&
	    goal->waits[place].message == message) {
		if (goal->waits[place].ns < ns)
			goal->waits[place].ns = ns;
		return 0;
	}
	if (goal->num_waits == PM_GOAL_MAX_WAITS)
		return pm_lexer_fail_at(&r->lexer, event->line,
					"events wait for more than %u messages in all",
					PM_GOAL_MAX_WAITS);
	pm_xgrow(&goal->waits, &r->waits_room, goal->num_waits + 1, sizeof(*goal->waits));
	r->place[message] = goal->num_waits;
	goal->waits[goal->num_waits++] = (struct pm_goal_wait){message, ns};
	event->num++;
	return 0;
}

/* Adds all that another event waits for, and its computing time. */
static int add_event_waits(struct reader *r, struct event *event, const struct event *on,
			   uint64_t ns)
{
	int rc = 0;

	if (event->ns < on->ns + ns)
		event->ns = on->ns + ns;
	for (uint32_t i = on->first; i < on->first + on->num && !rc; i++)
		rc = add_wait(r, event, r->goal->waits[i].message,
			      r->goal->waits[i].ns + ns);
	return rc;
}

static int add_edge(struct reader *r, const struct edge *edge)
{
	struct event *event = &r->events[edge->event];
	const struct event *on = &r->events[edge->on];
	int rc = 0;

	if (edge->begin || on->kind != SEND)
		rc = add_event_waits(r, event, on,
				     !edge->begin && on->kind == CALC ? on->size : 0);
	if (!rc && !edge->begin && on->kind != CALC)
		rc = add_wait(r, event, on->message, 0);
	return rc;
}

static int find_waits(struct reader *r)
{
	uint32_t *first = sort_edges(r, false);
	int rc = 0;

	r->place = pm_xarray(r->goal->num, sizeof(*r->place));
	for (uint32_t i = 0; i < r->num && !rc; i++) {
		struct event *event = &r->events[r->order[i]];

		event->first = r->goal->num_waits;
		for (uint32_t e = first[r->order[i]]; e < first[r->order[i] + 1] && !rc;
		     e++)
			rc = add_edge(r, &r->edges[e]);
		if (event->kind == CALC)
			r->goal->calc_ns += event->size;
		if (event->kind != SEND)
			continue;
		r->goal->list[event->message].ns = event->ns;
		r->goal->list[event->message].first_wait = event->first;
		r->goal->list[event->message].num_waits = event->num;
	}
	free(first);
	return rc;
}

static int read_goal(struct reader *r)
{
	int rc = read_all(r);

	if (!rc)
		rc = order_events(r);
	if (!rc)
		rc = list_messages(r);
	if (!rc && !r->goal->num)
		rc = pm_lexer_fail(&r->lexer, "no messages");
	if (!rc)
		rc = find_waits(r);
	return rc;
}

int pm_goal_parse(const char *text, size_t length, const char *source,
		  struct pm_goal **goal, struct pm_error *err)
{
	struct reader r = {
		.lexer = pm_lexer_begin(text, length, source, -EINVAL, err),
		.goal = pm_xarray(1, sizeof(*r.goal)),
		.rank = PM_NONE,
	};
	int rc = read_goal(&r);

	free(r.events);
	free(r.labels);
	free(r.edges);
	free(r.visited);
	free(r.order);
	free(r.place);
	if (rc)
		pm_goal_free(r.goal);
	else
		*goal = r.goal;
	return rc;
}

int pm_goal_read(const char *path, struct pm_goal **goal, struct pm_error *err)
{
	size_t length;
	char *text;
	int rc = pm_textfile_read(path, &text, &length, err);

	if (rc)
		return rc;
	rc = pm_goal_parse(text, length, pm_textfile_name(path), goal, err);
	free(text);
	return rc;
}

void pm_goal_free(struct pm_goal *goal)
{
	if (!goal)
		return;
	free(goal->list);
	free(goal->waits);
	free(goal);
}
