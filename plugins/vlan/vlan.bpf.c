/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tc program: a frame's VLAN depends on its two addresses alone, so that both ends of
 * a pair agree without a message.
 *
 *     sender     receiver   VLAN
 *     a line     a line     of the line with the higher priority
 *     a line     none       the sender's
 *     none       a line     the receiver's
 *     none       none       of groups, else the device's own
 *     any        a group    of groups, else the sender's, else the device's own
 *
 * Senders without a line are those behind a bridge, or a second address of the device.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "vlan_maps.h"

struct lines {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* maps put in have their own sizes */
	__uint(key_size, sizeof(struct vlan_key));
	__uint(value_size, sizeof(struct vlan_line));
};

/* the table in force */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct lines);
} pm_vlan_table SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, VLAN_COUNTS);
	__type(key, __u32);
	__type(value, __u64);
} pm_vlan_counts SEC(".maps");

static __always_inline void count(__u32 what)
{
	__u64 *number = bpf_map_lookup_elem(&pm_vlan_counts, &what);

	if (number)
		(*number)++;
}

static __always_inline int drop(void)
{
	count(VLAN_COUNT_ERRORS);
	return TC_ACT_SHOT;
}

static __always_inline void *table_in_force(void)
{
	__u32 only = 0;

	return bpf_map_lookup_elem(&pm_vlan_table, &only);
}

static __always_inline struct vlan_line *find_host(void *table, const __u8 *mac)
{
	struct vlan_key key = {.kind = VLAN_HOST};

	__builtin_memcpy(key.mac, mac, VLAN_MAC_BYTES);
	return bpf_map_lookup_elem(table, &key);
}

static __always_inline struct vlan_line *find_group(void *table)
{
	struct vlan_key key = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, VLAN_HOST};

	return bpf_map_lookup_elem(table, &key);
}

static __always_inline struct vlan_line *find_own(void *table)
{
	struct vlan_key key = {.kind = VLAN_OWN};

	return bpf_map_lookup_elem(table, &key);
}

static __always_inline struct vlan_line *choose(void *table, const struct ethhdr *frame,
						__u32 *why)
{
	struct vlan_line *to, *from = find_host(table, frame->h_source);
	struct vlan_line *group;

	if (frame->h_dest[0] & 1) {
		*why = VLAN_COUNT_GROUP;
		group = find_group(table);
		return group ? group : from ? from : find_own(table);
	}
	to = find_host(table, frame->h_dest);
	if (!to) {
		*why = VLAN_COUNT_UNKNOWN;
		if (from)
			return from;
		group = find_group(table);
		return group ? group : find_own(table);
	}
	*why = from && from->priority >= to->priority ? VLAN_COUNT_OWN
						      : VLAN_COUNT_PARTNER;
	return *why == VLAN_COUNT_OWN ? from : to;
}

/* 01:80:c2:00:00:00 to 0f (802.1Q, 8.6.3): switches expect these frames without a tag. */
static __always_inline int is_link_local(const __u8 *mac)
{
	return mac[0] == 0x01 && mac[1] == 0x80 && mac[2] == 0xc2 && !mac[3] && !mac[4] &&
	       mac[5] < 0x10;
}

static __always_inline int is_tag(__be16 type)
{
	return type == bpf_htons(ETH_P_8021Q) || type == bpf_htons(ETH_P_8021AD);
}

static __always_inline int leave(struct __sk_buff *skb)
{
	void *table = table_in_force();
	struct vlan_line *line;
	struct ethhdr frame;
	__u32 why = 0;

	if (!table || bpf_skb_load_bytes(skb, 0, &frame, sizeof(frame)))
		return drop();
	if (skb->vlan_present || is_tag(frame.h_proto) || is_link_local(frame.h_dest)) {
		count(VLAN_COUNT_PASSED);
		return TC_ACT_UNSPEC;
	}
	line = choose(table, &frame, &why);
	if (!line || bpf_skb_vlan_push(skb, bpf_htons(ETH_P_8021Q), (__u16)line->vlan))
		return drop();
	count(why);
	return TC_ACT_UNSPEC;
}

static __always_inline int arrive(struct __sk_buff *skb)
{
	struct vlan_key key = {.kind = VLAN_POPPED};
	__be16 type = (__be16)skb->protocol, in_frame;
	__u16 vlan = (__u16)skb->vlan_tci;
	void *table;

	/* The kernel has moved the tag to the skb, whatever the device does. */
	if (skb->vlan_present) {
		type = (__be16)skb->vlan_proto;
	} else if (!is_tag(type)) {
		return TC_ACT_UNSPEC;
	} else {
		if (bpf_skb_load_bytes(skb, sizeof(struct ethhdr), &in_frame, 2))
			return drop();
		vlan = bpf_ntohs(in_frame);
	}
	vlan &= 0x0fff;
	key.mac[0] = (__u8)(vlan >> 8);
	key.mac[1] = (__u8)vlan;
	table = table_in_force();
	if (type != bpf_htons(ETH_P_8021Q) || !table ||
	    !bpf_map_lookup_elem(table, &key)) {
		count(VLAN_COUNT_FOREIGN);
		return TC_ACT_UNSPEC;
	}
	if (bpf_skb_vlan_pop(skb))
		return drop();
	count(VLAN_COUNT_POPPED);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int pm_vlan_egress(struct __sk_buff *skb)
{
	return leave(skb);
}

SEC("tc")
int pm_vlan_ingress(struct __sk_buff *skb)
{
	return arrive(skb);
}

char pm_vlan_license[] SEC("license") = "Dual BSD/GPL";
