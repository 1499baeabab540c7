/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Describes which switches, links and hosts failed or came. */
#include <portmajor/analysis/change_text.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NAMED 3	      /* parts of a kind, in a line that every event writes */
#define NAMED_ONCE 32 /* parts of a kind, in a line that is written once */

struct text {
	char *at;
	size_t room;
};

static void __attribute__((format(printf, 2, 3)))
append(struct text *text, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(text->at, text->room, format, args);
	va_end(args);
	if (length < 0)
		return;
	if ((size_t)length >= text->room)
		length = text->room ? (int)text->room - 1 : 0;
	text->at += length;
	text->room -= (size_t)length;
}

enum kind {
	SWITCHES,
	LINKS,
	HOSTS,
};

static const char *const kind_names[][2] = {
	[SWITCHES] = {"switch", "switches"},
	[LINKS] = {"cable", "cables"},
	[HOSTS] = {"host", "hosts"},
};

/* Parts in use: discovered both times, and not drained, or not recabled. */
struct use {
	const uint8_t *discovered, *also_discovered,
		*out; /* [port]; the latter two may be NULL */
};

/* Calls a function for each part that `there` has and `gone` lacks. */
struct finder {
	const struct pm_plan *plan;
	struct use there, gone;
};

static bool has(const struct use *use, uint32_t port)
{
	return use->discovered[port] &&
	       (!use->also_discovered || use->also_discovered[port]) &&
	       (!use->out || !use->out[port]);
}

static bool has_links(const struct pm_plan *plan, uint32_t sw, const struct use *use)
{
	pm_for_each_port(i, plan->topology, sw)
		if (has(use, i) && plan->topology->ports[i].peer != PM_NONE)
			return true;
	return false;
}

static bool switch_went(const struct finder *f, uint32_t sw)
{
	return has_links(f->plan, sw, &f->there) && !has_links(f->plan, sw, &f->gone);
}

/* Whether this port stands for a part of this kind that has gone. */
static bool went(const struct finder *f, enum kind kind, uint32_t port)
{
	const struct pm_port *p = &f->plan->topology->ports[port];

	if (kind == SWITCHES)
		return p->num == 0 && switch_went(f, p->node);
	if (!has(&f->there, port) || has(&f->gone, port) || switch_went(f, p->node))
		return false;
	if (kind == HOSTS)
		return p->peer == PM_NONE && p->host != PM_NO_HOST;
	if (p->peer == PM_NONE) /* its cable leads elsewhere by now */
		return p->host == PM_NO_HOST;
	return p->peer > port && !switch_went(f, f->plan->topology->ports[p->peer].node);
}

static void append_name(const struct pm_fabric *topology, enum kind kind, uint32_t port,
			struct text *text)
{
	const struct pm_port *p = &topology->ports[port];

	append(text, "%s", pm_fabric_label(topology, p->node));
	if (kind != SWITCHES)
		append(text, "[%u]", p->num);
	if (kind == LINKS && p->peer != PM_NONE)
		append(text, "-%s[%u]",
		       pm_fabric_label(topology, pm_fabric_peer_node(topology, port)),
		       topology->ports[p->peer].num);
}

static uint32_t append_kind(const struct finder *f, enum kind kind, const char *lead,
			    struct text *text)
{
	uint32_t count = 0, named = 0;

	for (uint32_t i = 0; i < f->plan->topology->num_ports; i++)
		count += went(f, kind, i);
	if (!count)
		return 0;
	append(text, "%s%u %s (", lead, count, kind_names[kind][count > 1]);
	for (uint32_t i = 0; i < f->plan->topology->num_ports && named < NAMED; i++) {
		if (!went(f, kind, i))
			continue;
		append(text, "%s", named++ ? ", " : "");
		append_name(f->plan->topology, kind, i, text);
	}
	append(text, count > NAMED ? ", ..)" : ")");
	return count;
}

static bool append_all(const struct finder *f, const char *verb, struct text *text)
{
	char lead[16];
	bool any = false;

	for (enum kind kind = SWITCHES; kind <= HOSTS; kind++) {
		snprintf(lead, sizeof(lead), "%s", any ? ", " : verb);
		any |= append_kind(f, kind, lead, text) != 0;
	}
	return any;
}

void pm_change_describe(const struct pm_plan *plan, const uint8_t *before,
			const uint8_t *after, char *buffer, size_t size)
{
	pm_change_describe_use(plan, &(struct pm_change_use){.discovered = before},
			       &(struct pm_change_use){.discovered = after}, buffer,
			       size);
}

/* Most often nothing has changed. */
static bool is_same(const uint8_t *a, const uint8_t *b, uint32_t num)
{
	return a == b || (a && b && !memcmp(a, b, num));
}

/* Whether some port is in a and not in b; otherwise nothing is to be named. */
static bool has_more(const uint8_t *a, const uint8_t *b, uint32_t num)
{
	for (uint32_t i = 0; a && b && i < num; i++)
		if (a[i] && !b[i])
			return true;
	return !a || !b;
}

void pm_change_describe_use(const struct pm_plan *plan,
			    const struct pm_change_use *before,
			    const struct pm_change_use *after, char *buffer, size_t size)
{
	const struct use discovered[2] = {{.discovered = before->discovered},
					  {.discovered = after->discovered}};
	const struct use used[] = {
		{before->discovered, after->discovered, before->drained},
		{before->discovered, after->discovered, after->drained},
		{before->discovered, after->discovered, NULL},
		{before->discovered, after->discovered, after->recabled}};
	const struct {
		const char *first, *next;
		struct finder what;
	} kinds[] = {
		{"failed: ", "; failed: ", {plan, discovered[0], discovered[1]}},
		{"came: ", "; came: ", {plan, discovered[1], discovered[0]}},
		{"recabled: ", "; recabled: ", {plan, used[2], used[3]}},
		{"drained: ", "; drained: ", {plan, used[0], used[1]}},
		{"undrained: ", "; undrained: ", {plan, used[1], used[0]}},
	};
	uint32_t num = plan->topology->num_ports;
	const bool same_use = is_same(before->drained, after->drained, num);
	const bool none[] = {
		is_same(before->discovered, after->discovered, num) ||
			!has_more(before->discovered, after->discovered, num),
		is_same(before->discovered, after->discovered, num) ||
			!has_more(after->discovered, before->discovered, num),
		!after->recabled || !memchr(after->recabled, 1, num), same_use, same_use};
	struct text text = {buffer, size};
	bool any = false;

	if (size)
		buffer[0] = '\0';
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		any |= !none[i] &&
		       append_all(&kinds[i].what, any ? kinds[i].next : kinds[i].first,
				  &text);
	if (!any)
		append(&text, "no change");
}

static void append_side_links(const struct pm_plan *plan, struct text *text)
{
	uint32_t named = 0;

	append(text, "%u %s one level up nor down (", plan->tree.num_side,
	       plan->tree.num_side > 1 ? "cables lead neither" : "cable leads neither");
	for (uint32_t i = 0; i < plan->topology->num_ports && named < NAMED_ONCE; i++) {
		if (plan->tree.direction[i] != PM_SIDE ||
		    plan->topology->ports[i].peer < i)
			continue;
		append(text, "%s", named++ ? ", " : "");
		append_name(plan->topology, LINKS, i, text);
	}
	append(text, "%s) and no hosts' traffic uses them",
	       plan->tree.num_side > NAMED_ONCE ? ", .." : "");
}

bool pm_change_oddities(const struct pm_plan *plan, char *buffer, size_t size)
{
	struct text text = {buffer, size};

	if (size)
		buffer[0] = '\0';
	if (plan->tree.num_side)
		append_side_links(plan, &text);
	return plan->tree.num_side != 0;
}

static void describe_unreachable_hosts(const struct pm_plan *plan,
				       const struct pm_unreachable *unreachable,
				       struct text *text)
{
	append(text,
	       "no up-then-down path joins %llu of %llu pairs of switches with end ports:",
	       (unsigned long long)unreachable->count,
	       (unsigned long long)unreachable->pairs);
	for (uint32_t i = 0; i < unreachable->count && i < PM_UNREACHABLE_NAMED; i++)
		append(text, "%s %s and %s", i ? "," : "",
		       pm_fabric_label(plan->topology, unreachable->pair[i][0]),
		       pm_fabric_label(plan->topology, unreachable->pair[i][1]));
	if (unreachable->count > PM_UNREACHABLE_NAMED)
		append(text, ", ..");
}

static void describe_sm(const struct pm_plan *plan,
			const struct pm_unreachable *unreachable, struct text *text)
{
	append(text,
	       "the subnet manager has no path from or to %llu of the switches with end "
	       "ports, as from %s to %s (connect_roots joins them)",
	       (unsigned long long)unreachable->sm_count,
	       pm_fabric_label(plan->topology, unreachable->sm[0]),
	       pm_fabric_label(plan->topology, unreachable->sm[1]));
}

static void describe_beyond(const struct pm_plan *plan,
			    const struct pm_unreachable *unreachable, struct text *text)
{
	append(text,
	       "paths of %llu of %llu pairs of switches with end ports turn up again at %s",
	       (unsigned long long)unreachable->beyond,
	       (unsigned long long)unreachable->pairs,
	       pm_fabric_label(plan->topology, unreachable->hub));
}

static void describe_services(const struct pm_plan *plan,
			      const struct pm_unreachable *unreachable, struct text *text)
{
	append(text,
	       "no path free of credit loops joins %llu of %llu pairs with service "
	       "ports, as from %s to %s (connect_roots joins them)",
	       (unsigned long long)unreachable->service_count,
	       (unsigned long long)unreachable->service_pairs,
	       pm_fabric_label(plan->topology, unreachable->service[0]),
	       pm_fabric_label(plan->topology, unreachable->service[1]));
}

bool pm_change_unreachable(const struct pm_plan *plan,
			   const struct pm_unreachable *unreachable, char *buffer,
			   size_t size)
{
	const struct {
		bool any;
		void (*describe)(const struct pm_plan *, const struct pm_unreachable *,
				 struct text *);
	} parts[] = {
		{unreachable->sm_count, describe_sm},
		{unreachable->count, describe_unreachable_hosts},
		{unreachable->service_count, describe_services},
		{unreachable->beyond && unreachable->hub != PM_NONE, describe_beyond},
	};
	struct text text = {buffer, size};
	bool any = false;

	if (size)
		buffer[0] = '\0';
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (!parts[i].any)
			continue;
		if (any)
			append(&text, "; ");
		parts[i].describe(plan, unreachable, &text);
		any = true;
	}
	return any;
}

uint64_t pm_change_paths_cut(const struct pm_unreachable *unreachable)
{
	return unreachable->count + unreachable->service_cut + unreachable->sm_count;
}
