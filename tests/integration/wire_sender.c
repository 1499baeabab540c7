/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends of OpenSM's vendor layer, before they become umad_send. See wire_sender.h. */

#include "wire_sender.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <opensm/osm_config.h>
/* Behind the configuration, on which layouts depend. */
#include <opensm/osm_madw.h>
#include <vendor/osm_vendor_api.h>

#define MARK 0x706d /* as in plugins/opensm/osm/smp.c */

typedef ib_api_status_t vendor_send_fn(osm_bind_handle_t, osm_madw_t *, boolean_t);

static _Thread_local bool plugin_sends;

bool sender_is_plugin(void)
{
	return plugin_sends;
}

bool wire_plugin_sends(void)
{
	return plugin_sends;
}

static bool has_mark(const osm_madw_context_t *context)
{
	uint32_t words[sizeof(*context) / sizeof(uint32_t)];

	memcpy(words, context, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i] == MARK)
			return true;
	return false;
}

ib_api_status_t osm_vendor_send(osm_bind_handle_t bind, osm_madw_t *madw,
				boolean_t wants_answer)
{
	static vendor_send_fn *next;
	ib_api_status_t status;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "osm_vendor_send");
	if (!next)
		abort();
	plugin_sends = wants_answer && has_mark(&madw->context);
	status = next(bind, madw, wants_answer);
	plugin_sends = false;
	return status;
}
