/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef PORTMAJOR_STUDENT_H
#define PORTMAJOR_STUDENT_H

#include <stdint.h>

/*
 * Student's t for a two-sided interval of 95%, by degrees of freedom, 1 and up; beyond
 * 30, the end of the table, within 1/500.
 */
double pm_student(uint32_t freedom);

#endif
