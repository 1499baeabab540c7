/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes a card receive tagged frames: its filter off, its VIDs, or promiscuous mode. */
#include "receive.h"

#include <portmajor/base/alloc.h>

#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define BLOCKS 8 /* of 32 features; Linux 6 has 2 */
#define NAMES (BLOCKS * 32)
#define ANSWER_BYTES 32768 /* most that the kernel puts in one message of a dump */

/* Calls an ioctl on a device; -errno. */
static int command(unsigned int device, unsigned long code, struct ifreq *request)
{
	int rc, fd;

	if (!if_indextoname(device, request->ifr_name))
		return -errno;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	rc = ioctl(fd, code, request) < 0 ? -errno : 0;
	close(fd);
	return rc;
}

static int ethtool(unsigned int device, void *what)
{
	struct ifreq request = {.ifr_data = what};

	return command(device, SIOCETHTOOL, &request);
}

/* ---- Features ---- */

static int count_names(unsigned int device, uint32_t *num)
{
	union {
		struct ethtool_sset_info info;
		uint64_t room[3];
	} set = {.room = {0}};
	int rc;

	set.info.cmd = ETHTOOL_GSSET_INFO;
	set.info.sset_mask = UINT64_C(1) << ETH_SS_FEATURES;
	rc = ethtool(device, &set);
	*num = rc || !set.info.sset_mask ? 0 : set.info.data[0];
	if (!rc && *num > NAMES)
		rc = -E2BIG;
	return rc;
}

/* Finds a feature's bit, or none: numbers change with the kernel's version. */
static int find_bit(unsigned int device, const char *name, uint32_t *bit, uint32_t *num)
{
	struct ethtool_gstrings *strings;
	int rc = count_names(device, num);

	*bit = *num;
	if (rc || !*num)
		return rc;
	strings = pm_array(sizeof(*strings) + (size_t)*num * ETH_GSTRING_LEN, 1);
	if (!strings)
		return -ENOMEM;
	strings->cmd = ETHTOOL_GSTRINGS;
	strings->string_set = ETH_SS_FEATURES;
	strings->len = *num;
	rc = ethtool(device, strings);
	for (uint32_t i = 0; !rc && i < *num && i < strings->len; i++)
		if (!strncmp((char *)strings->data + (size_t)i * ETH_GSTRING_LEN, name,
			     ETH_GSTRING_LEN))
			*bit = i;
	free(strings);
	return rc;
}

int vlan_feature_find(unsigned int device, const char *name, enum vlan_feature *state)
{
	union {
		struct ethtool_gfeatures head;
		uint32_t room[2 + 4 * BLOCKS];
	} get = {.room = {0}};
	const struct ethtool_get_features_block *block;
	uint32_t bit, num, mask;
	int rc = find_bit(device, name, &bit, &num);

	*state = VLAN_FEATURE_OFF;
	if (rc == -EOPNOTSUPP || (!rc && bit == num))
		return 0;
	get.head.cmd = ETHTOOL_GFEATURES;
	get.head.size = BLOCKS;
	if (!rc)
		rc = ethtool(device, &get);
	if (rc)
		return rc;
	block = &get.head.features[bit / 32];
	mask = UINT32_C(1) << bit % 32;
	if (block->active & mask)
		*state = (block->available & ~block->never_changed & mask)
				 ? VLAN_FEATURE_ON
				 : VLAN_FEATURE_FIXED;
	return 0;
}

int vlan_feature_switch(unsigned int device, const char *name, bool on)
{
	union {
		struct ethtool_sfeatures head;
		uint32_t room[2 + 2 * BLOCKS];
	} set = {.room = {0}};
	uint32_t bit, num, mask;
	int rc = find_bit(device, name, &bit, &num);

	if (rc)
		return rc;
	if (bit == num)
		return -EOPNOTSUPP;
	set.head.cmd = ETHTOOL_SFEATURES;
	set.head.size = (num + 31) / 32; /* the kernel accepts no other number */
	mask = UINT32_C(1) << bit % 32;
	set.head.features[bit / 32].valid = mask;
	set.head.features[bit / 32].requested = on ? mask : 0;
	return ethtool(device, &set);
}

/* ---- Promiscuous mode ---- */

static int find_flags(unsigned int device, struct ifreq *request)
{
	*request = (struct ifreq){0};
	return command(device, SIOCGIFFLAGS, request);
}

int vlan_promiscuous_find(unsigned int device, bool *on)
{
	struct ifreq request;
	int rc = find_flags(device, &request);

	*on = !rc && request.ifr_flags & IFF_PROMISC;
	return rc;
}

int vlan_promiscuous_switch(unsigned int device, bool on)
{
	struct ifreq request;
	int rc = find_flags(device, &request);

	if (rc)
		return rc;
	request.ifr_flags = (short)(on ? request.ifr_flags | IFF_PROMISC
				       : request.ifr_flags & ~IFF_PROMISC);
	return command(device, SIOCSIFFLAGS, &request);
}

/* ---- Dumps ---- */

/* A dump, until its end or an error. */
struct dump {
	uint16_t type;
	size_t body;
	int (*take)(const struct nlmsghdr *message, void *context);
	void *context;
	bool over;
};

/* Takes one datagram. */
static int take_datagram(struct dump *dump, struct nlmsghdr *at, size_t length)
{
	int rc = 0;

	for (; !rc && !dump->over && NLMSG_OK(at, length); at = NLMSG_NEXT(at, length)) {
		if (at->nlmsg_type == NLMSG_DONE)
			dump->over = true;
		else if (at->nlmsg_type == NLMSG_ERROR)
			rc = ((const struct nlmsgerr *)NLMSG_DATA(at))->error;
		else if (at->nlmsg_type == dump->type &&
			 at->nlmsg_len >= NLMSG_LENGTH(dump->body))
			rc = dump->take(at, dump->context);
	}
	return rc;
}

int vlan_dump(const struct nlmsghdr *question, uint16_t type, size_t body,
	      int (*take)(const struct nlmsghdr *message, void *context), void *context)
{
	struct dump dump = {type, body, take, context, false};
	struct nlmsghdr *answer = pm_array(ANSWER_BYTES, 1);
	int rc = 0, fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (!answer)
		rc = -ENOMEM;
	else if (fd < 0 || send(fd, question, question->nlmsg_len, 0) < 0)
		rc = -errno;
	while (!rc && !dump.over) {
		ssize_t length = recv(fd, answer, ANSWER_BYTES, 0);

		rc = length > 0 ? take_datagram(&dump, answer, (size_t)length)
		     : length	? -errno
				: -EPIPE;
	}
	if (fd >= 0)
		close(fd);
	free(answer);
	return rc;
}

/* ---- Members ---- */

/* All devices of this network namespace. */
struct links {
	struct link {
		unsigned int device, master; /* 0: none */
		bool leads;		     /* a bond or a team */
	} * list;
	uint32_t num, room;
};

/* Whether a device is a bond or a team. */
static bool is_leader_kind(struct rtattr *info)
{
	size_t length = RTA_PAYLOAD(info);

	for (struct rtattr *at = RTA_DATA(info); RTA_OK(at, length);
	     at = RTA_NEXT(at, length)) {
		const char *kind = RTA_DATA(at);
		size_t room = RTA_PAYLOAD(at);

		if (at->rta_type == IFLA_INFO_KIND && memchr(kind, '\0', room))
			return !strcmp(kind, "bond") || !strcmp(kind, "team");
	}
	return false;
}

static int take_link(const struct nlmsghdr *header, void *context)
{
	struct links *links = context;
	struct ifinfomsg *message = NLMSG_DATA(header);
	size_t length = header->nlmsg_len - NLMSG_LENGTH(sizeof(*message));
	struct link link = {.device = (unsigned int)message->ifi_index};

	for (struct rtattr *at = IFLA_RTA(message); RTA_OK(at, length);
	     at = RTA_NEXT(at, length)) {
		uint16_t type = at->rta_type & (uint16_t)NLA_TYPE_MASK;

		if (type == IFLA_MASTER && RTA_PAYLOAD(at) >= sizeof(link.master))
			memcpy(&link.master, RTA_DATA(at), sizeof(link.master));
		else if (type == IFLA_LINKINFO)
			link.leads = is_leader_kind(at);
	}
	if (pm_grow(&links->list, &links->room, links->num + 1, sizeof(link)))
		return -ENOMEM;
	links->list[links->num++] = link;
	return 0;
}

static int list_links(struct links *links)
{
	const struct {
		struct nlmsghdr header;
		struct ifinfomsg link;
	} question = {.header = {.nlmsg_len = sizeof(question),
				 .nlmsg_type = RTM_GETLINK,
				 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		      .link = {.ifi_family = AF_UNSPEC}};

	return vlan_dump(&question.header, RTM_NEWLINK, sizeof(question.link), take_link,
			 links);
}

static bool leads(const struct links *links, unsigned int device)
{
	for (uint32_t i = 0; i < links->num; i++)
		if (links->list[i].device == device)
			return links->list[i].leads;
	return false;
}

/* Collects members and their members in turn; no device is below itself. */
static int collect_members(const struct links *links, unsigned int device,
			   struct vlan_member **members, uint32_t *num)
{
	struct vlan_member *found = pm_array((size_t)links->num + 1, sizeof(*found));
	uint32_t count = 1;

	if (!found)
		return -ENOMEM;
	found[0] = (struct vlan_member){device, device};
	for (uint32_t i = 0; i < count; i++) {
		bool follow = leads(links, found[i].device);

		for (uint32_t j = 0; j < links->num && count <= links->num; j++) {
			const struct link *link = &links->list[j];

			if (link->master == found[i].device)
				found[count++] = (struct vlan_member){
					link->device,
					follow ? found[i].leader : link->device};
		}
	}
	*members = found;
	*num = count;
	return 0;
}

int vlan_members_list(unsigned int device, struct vlan_member **members, uint32_t *num)
{
	struct links links = {0};
	int rc = list_links(&links);

	if (!rc)
		rc = collect_members(&links, device, members, num);
	free(links.list);
	return rc;
}
