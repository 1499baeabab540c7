/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* FNV-1a, 64 bits: detects damage and change, not forgery. */
#ifndef PORTMAJOR_HASH_H
#define PORTMAJOR_HASH_H

#include <stddef.h>
#include <stdint.h>

#define PM_HASH_START UINT64_C(0xcbf29ce484222325) /* of no bytes */

/* Continues a hash over length more bytes. */
static inline uint64_t pm_hash(uint64_t hash, const void *data, size_t length)
{
	const unsigned char *at = data;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* Continues a hash over a number's bytes, lowest first. */
static inline uint64_t pm_hash_number(uint64_t hash, uint64_t value)
{
	for (int i = 0; i < 8; i++, value >>= 8)
		hash = (hash ^ (value & 0xff)) * UINT64_C(0x100000001b3);
	return hash;
}

/* Continues a hash of numbers over another one, in a few cycles; it is not FNV-1a. */
static inline uint64_t pm_hash_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

#endif
