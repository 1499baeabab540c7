/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Functions that benchmarks share. Each of these functions ends the program with exit
 * code 2 when it cannot do its work.
 */
#ifndef TESTS_BENCH_H
#define TESTS_BENCH_H

#include <portmajor/fabric/generate.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
#define RATIOS_COUNT false /* speed does not matter here */
#else
#define RATIOS_COUNT true
#endif

_Noreturn void die(const char *what);

/* Zeroed memory. */
void *claim(size_t bytes);

struct pm_fabric *generate(const struct pm_generate *config);

/* The time of a clock, as CLOCK_MONOTONIC, and the CPU time of the program, in ms. */
double clock_time_ms(clockid_t clock);
double cpu_ms(void);

#endif
