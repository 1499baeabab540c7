/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef PORTMAJOR_STUDENT_H
#define PORTMAJOR_STUDENT_H

#include <stdint.h>

/* Student's t for an interval of 95%, two-sided, by degrees of freedom, 1 and more;
 * within 1/500 behind the table's 30. */
double pm_student(uint32_t freedom);

#endif
