/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lists tc filters by netlink: libbpf can query only a known filter. */
#include "tcx.h"

#include <portmajor/base/alloc.h>

#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_BYTES 32768 /* most that the kernel puts in one message of a dump */

struct question {
	struct nlmsghdr header;
	struct tcmsg filter;
};

static int fail_filter(struct pm_error *err, int code)
{
	return pm_error_set(err, -code, "the kernel does not list its tc filters: %s",
			    strerror(code));
}

static int request_filters(int fd, unsigned int device, enum vlan_hook hook)
{
	static const uint32_t parents[] = {TC_H_MIN_INGRESS, TC_H_MIN_EGRESS};
	const struct question question = {
		.header = {.nlmsg_len = sizeof(question),
			   .nlmsg_type = RTM_GETTFILTER,
			   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.filter = {.tcm_family = AF_UNSPEC,
			   .tcm_ifindex = (int)device,
			   .tcm_parent = TC_H_MAKE(TC_H_CLSACT, parents[hook])},
	};

	return send(fd, &question, sizeof(question), 0) < 0 ? errno : 0;
}

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

static int add_filter(struct vlan_filters *filters, enum vlan_hook hook,
		      const struct nlmsghdr *header, struct pm_error *err)
{
	struct tcmsg *message = NLMSG_DATA(header);
	struct rtattr *first = (struct rtattr *)(message + 1);
	size_t length = header->nlmsg_len - NLMSG_LENGTH(sizeof(*message));
	struct vlan_filter filter = {.hook = hook,
				     .preference = message->tcm_info >> 16,
				     .handle = message->tcm_handle};

	if (!filter.handle) /* a preference, before its filters */
		return 0;
	each_attribute(first, length, &filter, take_kind);
	each_attribute(first, length, &filter, take_bpf);
	if (pm_grow(&filters->list, &filters->room, filters->num + 1, sizeof(filter)))
		return pm_error_no_memory(err);
	filters->list[filters->num++] = filter;
	return 0;
}

/* Takes one datagram; *more is false at the end of the dump. */
static int take_answer(struct vlan_filters *filters, enum vlan_hook hook,
		       struct nlmsghdr *at, size_t length, bool *more,
		       struct pm_error *err)
{
	while (NLMSG_OK(at, length)) {
		if (at->nlmsg_type == NLMSG_DONE) {
			*more = false;
			return 0;
		}
		if (at->nlmsg_type == NLMSG_ERROR) {
			const struct nlmsgerr *error = NLMSG_DATA(at);

			return fail_filter(err, -error->error);
		}
		if (at->nlmsg_type == RTM_NEWTFILTER &&
		    at->nlmsg_len >= NLMSG_LENGTH(sizeof(struct tcmsg))) {
			int rc = add_filter(filters, hook, at, err);

			if (rc)
				return rc;
		}
		at = NLMSG_NEXT(at, length);
	}
	return 0;
}

static int list_hook(int fd, unsigned int device, enum vlan_hook hook,
		     struct vlan_filters *filters, struct pm_error *err)
{
	struct nlmsghdr *answer = malloc(ANSWER_BYTES);
	bool more = true;
	int rc;

	if (!answer)
		return pm_error_no_memory(err);
	rc = request_filters(fd, device, hook);
	if (rc)
		rc = fail_filter(err, rc);
	while (!rc && more) {
		ssize_t length = recv(fd, answer, ANSWER_BYTES, 0);

		if (length <= 0)
			rc = fail_filter(err, length ? errno : EPIPE);
		else
			rc = take_answer(filters, hook, answer, (size_t)length, &more,
					 err);
	}
	free(answer);
	return rc;
}

int vlan_filters_list(unsigned int device, struct vlan_filters *filters,
		      struct pm_error *err)
{
	struct vlan_filters found = {0};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	int rc = 0;

	if (fd < 0)
		return fail_filter(err, errno);
	for (enum vlan_hook hook = 0; !rc && hook < VLAN_HOOKS; hook++) {
		rc = vlan_tcx_list(device, hook, &found, err);
		if (!rc)
			rc = list_hook(fd, device, hook, &found, err);
	}
	close(fd);
	if (rc)
		free(found.list);
	else
		*filters = found;
	return rc;
}
