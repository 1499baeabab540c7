/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lists tc filters by netlink: libbpf can query only a known filter. */
#include "receive.h"
#include "tcx.h"

#include <portmajor/base/alloc.h>

#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

/* The filters of a hook. */
struct listing {
	enum vlan_hook hook;
	struct vlan_filters *filters;
};

/* ---- Attributes ---- */

static void copy_text(const struct rtattr *attribute, char *text, size_t room)
{
	size_t length = strnlen(RTA_DATA(attribute), RTA_PAYLOAD(attribute));

	if (length > room - 1)
		length = room - 1;
	memcpy(text, RTA_DATA(attribute), length);
	text[length] = '\0';
}

/* Calls take for each attribute. */
static void each_attribute(struct rtattr *at, size_t length, struct vlan_filter *filter,
			   void (*take)(struct rtattr *, struct vlan_filter *))
{
	for (; RTA_OK(at, length);
	     at = (struct rtattr *)((char *)at + RTA_ALIGN(at->rta_len))) {
		take(at, filter);
		if (RTA_ALIGN(at->rta_len) >= length)
			break;
		length -= RTA_ALIGN(at->rta_len);
	}
}

static void take_option(struct rtattr *option, struct vlan_filter *filter)
{
	if (option->rta_type == TCA_BPF_NAME)
		copy_text(option, filter->name, sizeof(filter->name));
	if (option->rta_type == TCA_BPF_ID &&
	    RTA_PAYLOAD(option) >= sizeof(filter->program))
		memcpy(&filter->program, RTA_DATA(option), sizeof(filter->program));
}

static void take_kind(struct rtattr *attribute, struct vlan_filter *filter)
{
	if (attribute->rta_type == TCA_KIND)
		copy_text(attribute, filter->kind, sizeof(filter->kind));
}

/* In filters of other kinds these numbers mean something else. */
static void take_bpf(struct rtattr *attribute, struct vlan_filter *filter)
{
	if ((attribute->rta_type & NLA_TYPE_MASK) == TCA_OPTIONS &&
	    !strcmp(filter->kind, "bpf"))
		each_attribute(RTA_DATA(attribute), RTA_PAYLOAD(attribute), filter,
			       take_option);
}

/* ---- Messages ---- */

static int add_filter(const struct nlmsghdr *header, void *context)
{
	const struct listing *listing = context;
	struct vlan_filters *filters = listing->filters;
	struct tcmsg *message = NLMSG_DATA(header);
	struct rtattr *first = (struct rtattr *)(message + 1);
	size_t length = header->nlmsg_len - NLMSG_LENGTH(sizeof(*message));
	struct vlan_filter filter = {.hook = listing->hook,
				     .preference = message->tcm_info >> 16,
				     .handle = message->tcm_handle};

	if (!filter.handle) /* a preference, before its filters */
		return 0;
	each_attribute(first, length, &filter, take_kind);
	each_attribute(first, length, &filter, take_bpf);
	if (pm_grow(&filters->list, &filters->room, filters->num + 1, sizeof(filter)))
		return -ENOMEM;
	filters->list[filters->num++] = filter;
	return 0;
}

static int list_hook(unsigned int device, enum vlan_hook hook,
		     struct vlan_filters *filters, struct pm_error *err)
{
	static const uint32_t parents[] = {TC_H_MIN_INGRESS, TC_H_MIN_EGRESS};
	const struct {
		struct nlmsghdr header;
		struct tcmsg filter;
	} question = {
		.header = {.nlmsg_len = sizeof(question),
			   .nlmsg_type = RTM_GETTFILTER,
			   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.filter = {.tcm_family = AF_UNSPEC,
			   .tcm_ifindex = (int)device,
			   .tcm_parent = TC_H_MAKE(TC_H_CLSACT, parents[hook])},
	};
	struct listing listing = {hook, filters};
	int rc = vlan_dump(&question.header, RTM_NEWTFILTER, sizeof(question.filter),
			   add_filter, &listing);

	if (rc == -ENOMEM)
		return pm_error_no_memory(err);
	return rc ? pm_error_set(err, rc, "the kernel does not list its tc filters: %s",
				 strerror(-rc))
		  : 0;
}

int vlan_filters_list(unsigned int device, struct vlan_filters *filters,
		      struct pm_error *err)
{
	struct vlan_filters found = {0};
	int rc = 0;

	for (enum vlan_hook hook = 0; !rc && hook < VLAN_HOOKS; hook++) {
		rc = vlan_tcx_list(device, hook, &found, err);
		if (!rc)
			rc = list_hook(device, hook, &found, err);
	}
	if (rc)
		free(found.list);
	else
		*filters = found;
	return rc;
}
