/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads and prints MAC addresses, and converts between them and GUIDs. */
#include <portmajor/fabric/mac.h>

#include <portmajor/base/digit.h>

#include <stdio.h>

#define MAC_BYTES 6
#define GROUP_BIT (UINT64_C(1) << 40) /* in the first byte of an address */
#define LOCAL_BIT (UINT64_C(1) << 57) /* of a GUID: the address is not a vendor's */
#define FILLER UINT64_C(0xfffe)	      /* between the halves of the address in a GUID */

const char *pm_mac_print(uint64_t mac, char text[PM_MAC_TEXT])
{
	snprintf(text, PM_MAC_TEXT, "%02x:%02x:%02x:%02x:%02x:%02x",
		 (unsigned int)(mac >> 40) & 0xff, (unsigned int)(mac >> 32) & 0xff,
		 (unsigned int)(mac >> 24) & 0xff, (unsigned int)(mac >> 16) & 0xff,
		 (unsigned int)(mac >> 8) & 0xff, (unsigned int)mac & 0xff);
	return text;
}

bool pm_mac_parse(struct pm_text word, uint64_t *mac)
{
	*mac = 0;
	if (pm_text_length(word) != PM_MAC_TEXT - 1)
		return false;
	for (size_t i = 0; i < MAC_BYTES; i++) {
		uint32_t high = pm_digit_value(word.at[3 * i]);
		uint32_t low = pm_digit_value(word.at[3 * i + 1]);

		if (high > 15 || low > 15 || (i && word.at[3 * i - 1] != ':'))
			return false;
		*mac = *mac << 8 | high << 4 | low;
	}
	return true;
}

bool pm_mac_is_host(uint64_t mac)
{
	return mac && !(mac & GROUP_BIT);
}

uint64_t pm_mac_guid(uint64_t mac)
{
	return ((mac >> 24) << 40 | FILLER << 24 | (mac & 0xffffff)) ^ LOCAL_BIT;
}

uint64_t pm_guid_mac(uint64_t guid)
{
	if ((guid >> 24 & 0xffff) != FILLER)
		return 0;
	guid ^= LOCAL_BIT;
	return (guid >> 40) << 24 | (guid & 0xffffff);
}
