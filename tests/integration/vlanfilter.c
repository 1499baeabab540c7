/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libvlanfilter.so, preloaded: all devices have cards that filter VLANs,
 * `rx-vlan-filter: on [fixed]`, as virtio-net has them; the kernel's own devices here
 * have none. All other requests go to the kernel.
 */
#include <linux/ethtool.h>
#include <linux/sockios.h>

#include <net/if.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAMES 128

/* The bit of the filter, or NAMES. */
static uint32_t find_bit(int fd, struct ifreq request)
{
	struct ethtool_gstrings *strings =
		calloc(1, sizeof(*strings) + NAMES * ETH_GSTRING_LEN);
	uint32_t bit = NAMES;

	if (!strings)
		return NAMES;
	strings->cmd = ETHTOOL_GSTRINGS;
	strings->string_set = ETH_SS_FEATURES;
	request.ifr_data = (char *)strings;
	if (!syscall(SYS_ioctl, fd, SIOCETHTOOL, &request))
		for (uint32_t i = 0; i < strings->len && i < NAMES; i++)
			if (!strcmp((char *)strings->data + i * ETH_GSTRING_LEN,
				    "rx-vlan-filter"))
				bit = i;
	free(strings);
	return bit;
}

int ioctl(int fd, unsigned long request, ...)
{
	struct ethtool_gfeatures *features;
	struct ifreq *device;
	va_list args;
	uint32_t bit;
	int rc;

	va_start(args, request);
	device = va_arg(args, struct ifreq *);
	va_end(args);
	rc = (int)syscall(SYS_ioctl, fd, request, device);
	if (rc || request != SIOCETHTOOL)
		return rc;
	features = (struct ethtool_gfeatures *)device->ifr_data;
	if (features->cmd != ETHTOOL_GFEATURES)
		return rc;
	bit = find_bit(fd, *device);
	if (bit < NAMES) {
		features->features[bit / 32].active |= UINT32_C(1) << bit % 32;
		features->features[bit / 32].available &= ~(UINT32_C(1) << bit % 32);
	}
	return rc;
}
