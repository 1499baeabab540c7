/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of returns share: traps, names, paths, sending. */
#include "returns_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Traps ---- */

void returns_count_up(uint8_t *count)
{
	if (*count < UINT8_MAX)
		++*count;
}

void returns_note_lid(struct returns *returns, uint16_t lid, bool fresh)
{
	pthread_mutex_lock(&returns->lock);
	if (!returns->num_noted)
		returns->first_trap = clock_ms();
	returns->num_noted += !returns->noted[lid];
	returns_count_up(&returns->noted[lid]);
	returns->fresh |= fresh;
	pthread_mutex_unlock(&returns->lock);
}

/* A trap of this switch is to come that is explained already. */
void returns_give_credit(struct returns *returns, uint32_t node, uint32_t num_switches)
{
	if (clock_ms() >= returns->credit_ms)
		memset(returns->credit, 0, num_switches);
	returns->credit_ms = clock_ms() + CREDIT_MS;
	returns_count_up(&returns->credit[node]);
}

void returns_count_explained(struct work *work, uint32_t node)
{
	returns_count_up(&work->explained[node]);
}

/* ---- Names and paths ---- */

void returns_name_link(const struct work *work, uint32_t port, uint32_t peer, char *text)
{
	const struct pm_fabric *topology = work->topology;
	const struct pm_port *near = &topology->ports[port];
	const struct pm_port *far = peer == PM_NONE ? NULL : &topology->ports[peer];
	char name[RETURNS_TEXT];
	size_t length = strlen(text);
	int num = snprintf(name, sizeof(name), "%s%s[%u]", length ? ", " : "",
			   pm_fabric_label(topology, near->node), near->num);

	if (far && num > 0 && (size_t)num < sizeof(name))
		num += snprintf(name + num, sizeof(name) - (size_t)num, "-%s[%u]",
				pm_fabric_label(topology, far->node), far->num);
	if (num > 0 && length + (size_t)num < RETURNS_TEXT)
		memcpy(text + length, name, (size_t)num + 1);
}

struct pm_damping_end returns_end(const struct work *work, uint32_t port)
{
	const struct pm_port *p = &work->topology->ports[port];

	return (struct pm_damping_end){work->topology->nodes[p->node].guid, p->num};
}

/* The path to a switch that is reached, then out at a port of it, unless that is 0. */
bool returns_route(const struct work *work, uint32_t node, uint8_t out,
		   osm_dr_path_t *route)
{
	uint8_t back[IB_SUBNET_PATH_HOPS_MAX], path[IB_SUBNET_PATH_HOPS_MAX] = {0};
	uint32_t sm = work->on->view->detours.sm;
	uint8_t num = 0, hops = 0;

	if (out)
		back[num++] = out;
	while (node != work->topology->ports[sm].node) {
		const struct pm_port *port = &work->topology->ports[work->via[node]];

		if (num > IB_SUBNET_PATH_HOPS_MAX - 3)
			return false;
		back[num++] = port->num;
		node = port->node;
	}
	if (work->sm_port)
		path[++hops] = work->sm_port;
	while (num)
		path[++hops] = back[--num];
	osm_dr_path_init(route, hops, path);
	return true;
}

ib_net64_t returns_key_of(const struct work *work, uint32_t node)
{
	const struct pm_node *sw = &work->topology->nodes[node];

	return work->on->records->ends[sw->first_port].info.m_key;
}

/* ---- Written tables ---- */

void returns_forget_table(struct written *written)
{
	free(written->table);
	*written = (struct written){.any = false};
}

void returns_forget_written(struct returns *returns)
{
	for (uint32_t i = 0; i < returns->num_written; i++)
		returns_forget_table(&returns->written[i]);
	free(returns->written);
	returns->written = NULL;
	returns->num_written = 0;
	returns->any_written = false;
}

/* ---- Sending ---- */

bool returns_is_over(const struct work *work)
{
	return osm_exit_flag || work->no_memory || work->on->is_halted(work->on->context);
}

void returns_send(struct work *work, struct smp_count *count,
		  enum smp_make (*make)(void *context, uint32_t index,
					struct smp_request *smp),
		  bool (*take)(void *context, const struct smp_answer *answer))
{
	if (work->num_items && !returns_is_over(work))
		smp_run(work->on->sender->smps,
			&(struct smp_batch){.num = work->num_items,
					    .ahead = SMP_AHEAD,
					    .ahead_most = SMP_AHEAD_MOST,
					    .total_ms = SILENT_MS,
					    .context = work,
					    .make = make,
					    .take = take},
			count);
	work->num_items = 0;
}
