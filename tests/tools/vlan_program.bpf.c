/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tc program as BPF_PROG_TEST_RUN can try it: that neither passes nor reports a tag
 * that is not in the frame's bytes, so cb[] does; and an empty program to compare its
 * cost with.
 */
#include "../../plugins/vlan/vlan.bpf.c"

/* cb[0]: the verdict, cb[1] and cb[2]: type and VLAN of a tag beside the bytes. */
static __always_inline int tell(struct __sk_buff *skb, int verdict)
{
	skb->cb[0] = (__u32)verdict;
	skb->cb[1] = skb->vlan_present ? bpf_ntohs((__be16)skb->vlan_proto) : 0;
	skb->cb[2] = skb->vlan_present ? skb->vlan_tci : 0;
	return TC_ACT_OK;
}

/* Puts a tag of type cb[1] and VLAN cb[2] beside the bytes first, if there is one. */
static __always_inline void be_tagged(struct __sk_buff *skb)
{
	__u16 type = (__u16)skb->cb[1], vlan = (__u16)skb->cb[2];

	if (type)
		bpf_skb_vlan_push(skb, bpf_htons(type), vlan);
}

SEC("tc")
int try_leave(struct __sk_buff *skb)
{
	be_tagged(skb);
	return tell(skb, leave(skb));
}

SEC("tc")
int try_arrive(struct __sk_buff *skb)
{
	be_tagged(skb);
	return tell(skb, arrive(skb));
}

/* A frame stays unchanged, so that it can be passed many times. */

SEC("tc")
int cost_nothing(struct __sk_buff *skb)
{
	(void)skb;
	return TC_ACT_UNSPEC;
}

SEC("tc")
int cost_push_pop(struct __sk_buff *skb)
{
	bpf_skb_vlan_push(skb, bpf_htons(ETH_P_8021Q), 101);
	bpf_skb_vlan_pop(skb);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int cost_leave_pop(struct __sk_buff *skb)
{
	int verdict = leave(skb);

	bpf_skb_vlan_pop(skb);
	return verdict;
}

SEC("tc")
int cost_push_arrive(struct __sk_buff *skb)
{
	bpf_skb_vlan_push(skb, bpf_htons(ETH_P_8021Q), 101);
	return arrive(skb);
}

SEC("tc")
int cost_untagged(struct __sk_buff *skb)
{
	return arrive(skb);
}
