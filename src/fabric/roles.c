/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads rules of roles, and marks roots and the roles of end ports. */
#include <portmajor/base/alloc.h>
#include <portmajor/base/lexer.h>
#include <portmajor/fabric/roles.h>

#include <errno.h>
#include <fnmatch.h>

#define AGGREGATION_DEVICE 0xcf09

static int compare_guids(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static bool same_guids(const struct pm_guids *a, const struct pm_guids *b)
{
	return a->given == b->given && a->count == b->count &&
	       (!a->count || !memcmp(a->list, b->list, a->count * sizeof(*a->list)));
}

bool pm_role_rules_equal(const struct pm_role_rules *a, const struct pm_role_rules *b)
{
	if (a->count != b->count)
		return false;
	for (uint32_t i = 0; i < a->count; i++) {
		const struct pm_role_rule *x = &a->list[i], *y = &b->list[i];

		if (x->host != y->host || x->match != y->match ||
		    x->number != y->number || strcmp(x->pattern, y->pattern) != 0)
			return false;
	}
	return true;
}

bool pm_roles_equal(const struct pm_roles *a, const struct pm_roles *b)
{
	return pm_role_rules_equal(&a->rules, &b->rules) &&
	       same_guids(&a->roots, &b->roots) && same_guids(&a->compute, &b->compute) &&
	       same_guids(&a->io, &b->io);
}

static bool has(const struct pm_guids *guids, uint64_t guid)
{
	return guids->count && bsearch(&guid, guids->list, guids->count,
				       sizeof(*guids->list), compare_guids);
}

/* ---- Rules ---- */

static bool take_choice(struct pm_text *text, const char *const *words, unsigned int num,
			uint8_t *choice)
{
	struct pm_text word;

	if (!pm_text_take_word(text, &word))
		return false;
	for (unsigned int i = 0; i < num; i++)
		if (words[i] && pm_text_is(word, words[i])) {
			*choice = (uint8_t)i;
			return true;
		}
	return false;
}

/* Takes the rest of the text, without the blanks around it. */
static bool take_pattern(struct pm_text text, char *pattern)
{
	size_t length;

	pm_text_skip_blanks(&text);
	while (text.end > text.at && strchr(" \t\r", text.end[-1]))
		text.end--;
	length = pm_text_length(text);
	if (!length || length >= PM_ROLE_PATTERN)
		return false;
	memcpy(pattern, text.at, length);
	pattern[length] = '\0';
	return true;
}

const char *pm_role_rules_add(struct pm_role_rules *rules, struct pm_text text)
{
	static const char *const kinds[] = {[PM_COMPUTE] = "compute",
					    [PM_IO] = "io",
					    [PM_SERVICE] = "service",
					    [PM_AGGREGATION] = "aggregation"};
	static const char *const matches[] = {[PM_MATCH_GUID] = "guid",
					      [PM_MATCH_DEVICE] = "device",
					      [PM_MATCH_NAME] = "name"};
	struct pm_role_rule rule = {.number = 0};
	struct pm_text more;

	if (rules->count == PM_ROLE_RULES)
		return "more rules than there may be";
	if (!take_choice(&text, kinds, PM_HOST_KINDS, &rule.host))
		return "the first word must be compute, io, service or aggregation";
	if (!take_choice(&text, matches, PM_MATCH_NAME + 1, &rule.match))
		return "the second word must be guid, device or name";
	if (rule.match == PM_MATCH_NAME) {
		if (!take_pattern(text, rule.pattern))
			return "no name of at most 63 bytes";
	} else {
		pm_text_skip_blanks(&text);
		if (pm_text_take_digits(&text, 0, &rule.number) ||
		    pm_text_take_word(&text, &more) ||
		    (rule.match == PM_MATCH_DEVICE && rule.number > UINT16_MAX))
			return "not a number, such as 0xcf09, last";
	}
	rules->list[rules->count++] = rule;
	return NULL;
}

static bool rule_matches(const struct pm_role_rule *rule, const struct pm_fabric *fabric,
			 uint32_t port)
{
	const struct pm_node *node = &fabric->nodes[fabric->ports[port].node];

	switch (rule->match) {
	case PM_MATCH_GUID:
		return rule->number == fabric->ports[port].guid ||
		       rule->number == node->guid;
	case PM_MATCH_DEVICE:
		return rule->number == node->device;
	default:
		return !fnmatch(rule->pattern,
				pm_fabric_name(fabric, fabric->ports[port].node), 0);
	}
}

/* ---- Roles of end ports ---- */

bool pm_is_aggregation_node(const struct pm_fabric *fabric, uint32_t node)
{
	return fabric->nodes[node].device == AGGREGATION_DEVICE ||
	       strstr(pm_fabric_name(fabric, node), "Aggregation Node") != NULL;
}

static bool has_port(const struct pm_guids *guids, const struct pm_fabric *fabric,
		     uint32_t port)
{
	return has(guids, fabric->ports[port].guid) ||
	       has(guids, fabric->nodes[fabric->ports[port].node].guid);
}

/* The first rule of roles.h that applies; *named: it is the operator's. */
static enum pm_host role_of(const struct pm_roles *roles, const struct pm_fabric *fabric,
			    uint32_t port, uint8_t *named)
{
	uint32_t node = fabric->ports[port].node;

	*named = 1;
	for (uint32_t i = 0; i < roles->rules.count; i++)
		if (rule_matches(&roles->rules.list[i], fabric, port))
			return (enum pm_host)roles->rules.list[i].host;
	if (has_port(&roles->io, fabric, port))
		return PM_IO;
	if (has_port(&roles->compute, fabric, port))
		return PM_COMPUTE;
	*named = 0;
	if (pm_is_aggregation_node(fabric, node))
		return PM_AGGREGATION;
	if (fabric->nodes[node].type == PM_ROUTER)
		return PM_SERVICE;
	return roles->compute.given ? PM_IO : PM_COMPUTE;
}

void pm_roles_apply(const struct pm_roles *roles, struct pm_fabric *fabric)
{
	for (uint32_t sw = 0; sw < fabric->num_switches; sw++)
		fabric->nodes[sw].root = has(&roles->roots, fabric->nodes[sw].guid);
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		struct pm_port *port = &fabric->ports[i];

		if (port->node < fabric->num_switches && port->host &&
		    port->peer != PM_NONE)
			port->host =
				(uint8_t)role_of(roles, fabric, port->peer, &port->named);
	}
}

void pm_roles_free(struct pm_roles *roles)
{
	free(roles->roots.list);
	free(roles->compute.list);
	free(roles->io.list);
	memset(roles, 0, sizeof(*roles));
}
