/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * send_frames DEVICE FILE: sends the frames of a file, each behind its length in one
 * byte, from an Ethernet device. For virtual machines of tests, which have no Python.
 */
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

static int fail(const char *what)
{
	perror(what);
	return EXIT_FAILURE;
}

static int open_device(const char *name)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET,
				      .sll_ifindex = (int)if_nametoindex(name)};
	int fd = socket(AF_PACKET, SOCK_RAW, 0); /* receives nothing */

	if (fd < 0 || !address.sll_ifindex ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)))
		return -1;
	return fd;
}

int main(int argc, char **argv)
{
	uint8_t frame[UINT8_MAX];
	FILE *file;
	int fd, length;

	if (argc != 3)
		return EXIT_FAILURE;
	fd = open_device(argv[1]);
	if (fd < 0)
		return fail(argv[1]);
	file = fopen(argv[2], "rb");
	if (!file)
		return fail(argv[2]);
	while ((length = fgetc(file)) != EOF)
		if (fread(frame, (size_t)length, 1, file) != 1 ||
		    send(fd, frame, (size_t)length, 0) != length)
			return fail("send");
	return EXIT_SUCCESS;
}
