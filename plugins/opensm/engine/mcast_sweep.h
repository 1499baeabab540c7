/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sweeper's part in multicast: chooses whether the plugin or OpenSM routes it, and
 * writes tables before links become active. OpenSM's multicast manager runs after
 * UCAST_ROUTING_DONE.
 */
#ifndef PORTMAJOR_MCAST_SWEEP_H
#define PORTMAJOR_MCAST_SWEEP_H

#include "plugin.h"

/*
 * Notes that switches without intact tables (lft_records_note_intact) may have lost their
 * multicast tables.
 */
void groups_note_intact(struct plugin *plugin);

/* At UCAST_ROUTING_DONE, after the view was handed over; with no lock held. */
void groups_route(struct plugin *plugin);

/* The engine's callback: groups may have changed. With osm->lock held exclusively. */
void groups_collect(struct plugin *plugin, osm_mgrp_box_t *box);

#endif
