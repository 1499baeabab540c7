/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads what ibsim's console command Dump prints: the simulated fabric itself. */
#ifndef PORTMAJOR_TEST_DUMP_H
#define PORTMAJOR_TEST_DUMP_H

#include <portmajor/fabric.h>

struct dump {
	struct pm_fabric *fabric;  /* cables as they are now, LIDs; sealed */
	uint8_t **table;	   /* [switch] 65536 entries */
	uint16_t *top;		   /* [switch] LinearFDBTop */
	uint32_t manager;	   /* port that has the ports' SM LID, or PM_NONE */
	uint32_t links_not_active; /* ports of switches with a cable that is not
				    * ACTIVE, which carries no data */
};

/* 0, or -errno with a message. Duplicate ids or links that do not match fail. */
int dump_read(const char *path, struct dump *dump, struct pm_error *err);
void dump_free(struct dump *dump);

#endif
