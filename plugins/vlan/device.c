/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The commands for a device: its tc program, and the table in it. */
#include "device.h"
#include "content.h"
#include "loaded.h"
#include "lock.h"
#include "output.h"
#include "program.h"
#include "reception.h"
#include "tcx.h"

#include <portmajor/base/alloc.h>
#include <portmajor/base/textfile.h>
#include <portmajor/fabric/mac.h>

#include <bpf/bpf.h>

#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define FILTER_TEXT 160

#define EXIT_REFUSED EXIT_FINDINGS /* the device or the kernel refuses */

/* A command's arguments and results. */
struct job {
	const char *name; /* of the device */
	const char *file;
	unsigned int device;
	uint64_t mac;
	int lock;		    /* the device's file, with its cards' changes */
	struct pm_host_table input; /* the file's content */
	struct pm_error err;
};

/* Ends a command on a device; code: 0, or the error of the message in the job. */
static int finish_job(const struct job *job, int code)
{
	if (!code)
		return EXIT_FINE;
	return cli_fail(code == -ENOMEM ? EXIT_INPUT : EXIT_REFUSED, "%s: %s", job->name,
			job->err.text);
}

static int finish_input(const struct job *job, int code)
{
	return code ? cli_fail(EXIT_INPUT, "%s", job->err.text) : EXIT_FINE;
}

/* ---- The device ---- */

static int find_device(struct job *job)
{
	int rc, fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = {0};

	job->device = if_nametoindex(job->name);
	if (!job->device) {
		if (fd >= 0)
			close(fd);
		return cli_fail(EXIT_REFUSED, "%s: no such device", job->name);
	}
	if (fd < 0)
		return cli_fail(EXIT_REFUSED, "%s: no socket: %s", job->name,
				strerror(errno));
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", job->name);
	rc = ioctl(fd, SIOCGIFHWADDR, &request);
	close(fd);
	if (rc || request.ifr_hwaddr.sa_family != ARPHRD_ETHER)
		return cli_fail(EXIT_REFUSED, "%s: no Ethernet device", job->name);
	for (unsigned int i = 0; i < 6; i++)
		job->mac = job->mac << 8 | (uint8_t)request.ifr_hwaddr.sa_data[i];
	return EXIT_FINE;
}

static int find_own(const struct job *job, const struct pm_host_table *table,
		    const struct pm_host_line **own)
{
	char text[PM_MAC_TEXT];

	*own = pm_host_table_find(table, job->mac);
	return *own ? EXIT_FINE
		    : cli_fail(EXIT_INPUT, "%s: its address, %s, is not in the table",
			       job->name, pm_mac_print(job->mac, text));
}

/* The loaded program, its maps, and the table in force. */
struct program {
	struct vlan_loaded loaded;
	struct vlan_maps maps;
	struct vlan_content content;
};

/* Finds the loaded program, which must be complete. */
static int find_loaded(struct job *job, struct vlan_loaded *loaded,
		       struct vlan_maps *maps)
{
	int rc = vlan_loaded_find(job->device, loaded, &job->err);

	if (rc)
		return finish_job(job, rc);
	if (!loaded->num)
		return cli_fail(EXIT_REFUSED, "%s: not loaded", job->name);
	if (loaded->num < VLAN_HOOKS)
		return cli_fail(
			EXIT_REFUSED,
			"%s: a part of the program is missing: remove it, and load it anew",
			job->name);
	return finish_job(job, vlan_maps_open(loaded, maps, &job->err));
}

static int read_in_force(struct job *job, const struct vlan_maps *maps,
			 struct vlan_content *content)
{
	int fd, rc = vlan_maps_table(maps, &fd, &job->err);

	if (!rc) {
		rc = vlan_content_from_map(fd, content, &job->err);
		close(fd);
	}
	return finish_job(job, rc);
}

/* Calls use with the loaded program. */
static int with_program(struct job *job, int (*use)(struct job *, struct program *))
{
	struct program program = {0};
	int status = find_loaded(job, &program.loaded, &program.maps);

	if (status)
		return status;
	status = read_in_force(job, &program.maps, &program.content);
	if (!status)
		status = use(job, &program);
	vlan_content_free(&program.content);
	vlan_maps_close(&program.maps);
	return status;
}

/* ---- load ---- */

static const char *const sides[] = {"ingress", "egress"};

/* Describes a filter as far as known: "egress: a tc filter, preference 7, u32". */
static void describe_filter(const struct vlan_filter *filter, char *text, size_t room)
{
	const char *side = sides[filter->hook], *name = filter->name;

	if (!strcmp(filter->kind, VLAN_TCX))
		snprintf(text, room, "%s: a tcx program%s%s", side, *name ? ", " : "",
			 name);
	else
		snprintf(text, room, "%s: a tc filter, preference %" PRIu32 ", %s%s%s",
			 side, filter->preference, filter->kind, *name ? " " : "", name);
}

static int check_free(struct job *job)
{
	char text[FILTER_TEXT];
	struct vlan_loaded loaded;
	int rc = vlan_loaded_find(job->device, &loaded, &job->err);

	if (rc)
		return finish_job(job, rc);
	if (loaded.num)
		return cli_fail(EXIT_REFUSED,
				"%s: already loaded: `replace` changes the table",
				job->name);
	/* With tcx our program runs first; of two tc filters the later one does. */
	if (!loaded.num_others || vlan_tcx_exists(job->device))
		return EXIT_FINE;
	describe_filter(&loaded.other, text, sizeof(text));
	return cli_fail(EXIT_REFUSED, "%s: another program is there, left as it is (%s)",
			job->name, text);
}

/* Sets the cards first: frames must arrive with the tags that the program pops. */
static int attach(struct job *job, int table)
{
	struct reception reception;
	int rc = reception_open(job->device, job->lock, &reception, &job->err);

	if (rc)
		return rc;
	rc = vlan_program_attach(job->device, table, &job->err);
	if (rc)
		reception_undo(&reception, job->lock);
	else
		reception_note(&reception);
	free(reception.cards);
	return rc;
}

static int load_content(struct job *job, struct vlan_content *content)
{
	const struct pm_host_line *own;
	int fd, rc, status = find_own(job, &content->table, &own);

	if (!status)
		status = check_free(job);
	if (status)
		return status;
	vlan_content_pop_own(content);
	rc = vlan_content_to_map(content, own, &fd, &job->err);
	if (!rc) {
		rc = attach(job, fd);
		close(fd);
	}
	return finish_job(job, rc);
}

/* Moves a table out of its place. */
static struct pm_host_table take_table(struct pm_host_table *table)
{
	struct pm_host_table taken = *table;

	*table = (struct pm_host_table){0};
	return taken;
}

static int run_load(struct job *job)
{
	struct vlan_content content = {.table = take_table(&job->input)};
	int status = load_content(job, &content);

	vlan_content_free(&content);
	return status;
}

/* ---- replace, update ---- */

/* Renews the cards' settings, as a bond's members may have changed. */
static int renew_cards(struct job *job)
{
	struct reception reception;
	int rc = reception_renew(job->device, job->lock, &reception, &job->err);

	if (rc)
		return rc;
	reception_note(&reception);
	free(reception.cards);
	return 0;
}

/*
 * Hosts change their tables one after the other. So VLANs of earlier tables are popped,
 * too: otherwise frames from hosts with an earlier table would be lost.
 */
static int put_in_force(struct job *job, struct program *program,
			struct pm_host_table *table)
{
	struct vlan_content *content = &program->content;
	const struct pm_host_line *own;
	int fd, rc, status;

	pm_host_table_free(&content->table);
	content->table = take_table(table);
	status = find_own(job, &content->table, &own);

	if (status)
		return status;
	vlan_content_pop_own(content);
	rc = vlan_content_to_map(content, own, &fd, &job->err);
	if (!rc) {
		rc = renew_cards(job);
		if (!rc)
			rc = vlan_maps_swap(&program->maps, fd, &job->err);
		close(fd);
	}
	return finish_job(job, rc);
}

static int replace_table(struct job *job, struct program *program)
{
	return put_in_force(job, program, &job->input);
}

static int change_table(struct job *job, struct program *program)
{
	struct pm_host_table table = {0};
	int rc = pm_host_table_change(&program->content.table, &job->input,
				      pm_textfile_name(job->file), &table, &job->err);

	return rc ? finish_input(job, rc) : put_in_force(job, program, &table);
}

static int run_replace(struct job *job)
{
	return with_program(job, replace_table);
}

static int run_update(struct job *job)
{
	return with_program(job, change_table);
}

/* ---- show ---- */

static void print_popped(const struct vlan_content *content)
{
	const char *before = "";

	printf("%-12s", "pops");
	for (uint32_t from = 0, to; from < VLAN_NUMBERS; from = to + 1) {
		to = from;
		if (!content->popped[from])
			continue;
		while (to + 1 < VLAN_NUMBERS && content->popped[to + 1])
			to++;
		printf("%s%" PRIu32, before, from);
		if (to > from)
			printf("-%" PRIu32, to);
		before = ",";
	}
	putchar('\n');
}

static void print_table(const struct job *job, const struct vlan_content *content)
{
	const struct pm_host_line *own = pm_host_table_find(&content->table, job->mac);
	const struct pm_host_line *group =
		pm_host_table_find(&content->table, PM_MAC_GROUP);
	char text[PM_MAC_TEXT];

	printf("%-12s%s\n", "device", job->name);
	printf("%-12s%s\n", "address", pm_mac_print(job->mac, text));
	printf("%-12s%" PRIu32 "\n", "lines", content->table.num);
	printf("%-12s%08" PRIx32 "\n", "sum", pm_host_table_sum(&content->table));
	if (own)
		printf("%-12s%" PRIu32 "\n%-12s%" PRIu32 "\n", "vlan", own->vlan,
		       "priority", own->priority);
	else /* the address has changed */
		printf("%-12snone: the address is not in the table\n", "vlan");
	if (group)
		printf("%-12s%" PRIu32 "\n", "group-vlan", group->vlan);
	print_popped(content);
}

static void print_counts(const uint64_t counts[VLAN_COUNTS])
{
	static const char *const names[] = {
		[VLAN_COUNT_OWN] = "own",	  [VLAN_COUNT_PARTNER] = "partner",
		[VLAN_COUNT_GROUP] = "group",	  [VLAN_COUNT_UNKNOWN] = "unknown",
		[VLAN_COUNT_PASSED] = "passed",	  [VLAN_COUNT_POPPED] = "popped",
		[VLAN_COUNT_FOREIGN] = "foreign", [VLAN_COUNT_ERRORS] = "errors",
	};

	for (unsigned int i = 0; i < VLAN_COUNTS; i++)
		printf("%-12s%" PRIu64 "\n", names[i], counts[i]);
}

/* Prints filters that were added after ours and run before it; returns their number. */
static uint32_t print_ahead(const struct vlan_loaded *loaded, const char *name,
			    const char *what)
{
	char text[FILTER_TEXT];
	uint32_t num = 0;

	for (int hook = 0; hook < VLAN_HOOKS; hook++) {
		if (!*loaded->ahead[hook].kind)
			continue;
		describe_filter(&loaded->ahead[hook], text, sizeof(text));
		cli_print_line("%s%s%s", name, what, text);
		num++;
	}
	return num;
}

static int show(struct job *job, struct program *program)
{
	uint64_t counts[VLAN_COUNTS];
	int rc = vlan_maps_count(&program->maps, counts, &job->err);

	if (!rc) {
		print_table(job, &program->content);
		print_ahead(&program->loaded, "", "ahead       ");
		rc = reception_print(job->device, &job->err);
	}
	if (!rc)
		print_counts(counts);
	return finish_job(job, rc);
}

static int run_show(struct job *job)
{
	return with_program(job, show);
}

/* ---- status ---- */

static int print_status(struct job *job, struct program *program)
{
	const struct pm_host_table *table = &program->content.table;
	const struct pm_host_line *own = pm_host_table_find(table, job->mac);
	char text[PM_MAC_TEXT];
	uint32_t filters, num = print_ahead(&program->loaded, job->name,
					    ": ahead of the program: ");
	int rc = reception_find_filters(job->device, &filters, &job->err);

	if (rc)
		return finish_job(job, rc);
	if (!own)
		printf("%s: its address, %s, is not in the table\n", job->name,
		       pm_mac_print(job->mac, text));
	if (!own || num || filters)
		return EXIT_FINDINGS;
	printf("%s: VLAN %" PRIu32 ", %" PRIu32 " lines, sum %08" PRIx32 "\n", job->name,
	       own->vlan, table->num, pm_host_table_sum(table));
	return EXIT_FINE;
}

static int run_status(struct job *job)
{
	return with_program(job, print_status);
}

/* ---- remove ---- */

/*
 * Whether the hook is ours to remove. If our program is incomplete, or of another
 * version, clsact stays.
 */
static bool has_our_hook(const struct vlan_loaded *loaded)
{
	struct vlan_content content = {0};
	struct vlan_maps maps;
	bool ours = false;
	int fd;

	if (!loaded->ours[VLAN_EGRESS].program || vlan_maps_open(loaded, &maps, NULL))
		return false;
	if (!vlan_maps_table(&maps, &fd, NULL)) {
		ours = !vlan_content_from_map(fd, &content, NULL) && content.our_hook;
		close(fd);
	}
	vlan_content_free(&content);
	vlan_maps_close(&maps);
	return ours;
}

static int run_remove(struct job *job)
{
	struct vlan_loaded loaded;
	int rc = vlan_loaded_find(job->device, &loaded, &job->err);

	if (!rc && !loaded.num)
		return cli_fail(EXIT_REFUSED, "%s: not loaded", job->name);
	if (!rc)
		rc = vlan_program_detach(job->device, &loaded, has_our_hook(&loaded),
					 &job->err);
	if (!rc)
		rc = reception_restore(job->lock, &job->err);
	return finish_job(job, rc);
}

/* ---- All commands ---- */

static const struct {
	int (*read)(const char *path, struct pm_host_table *input, struct pm_error *err);
	int (*run)(struct job *job);
	bool changes; /* whether it changes the device */
} actions[DEVICE_ACTIONS] = {
	[DEVICE_LOAD] = {pm_host_table_read, run_load, true},
	[DEVICE_REPLACE] = {pm_host_table_read, run_replace, true},
	[DEVICE_UPDATE] = {pm_host_changes_read, run_update, true},
	[DEVICE_SHOW] = {NULL, run_show, false},
	[DEVICE_STATUS] = {NULL, run_status, false},
	[DEVICE_REMOVE] = {NULL, run_remove, true},
};

/*
 * Reads input before locking: standard input may take time, and must not lock others out.
 */
static int run_locked(enum device_action action, struct job *job)
{
	int rc = 0;

	if (actions[action].read)
		rc = actions[action].read(job->file, &job->input, &job->err);
	if (rc)
		return finish_input(job, rc);
	if (!actions[action].changes)
		return actions[action].run(job);
	reception_sweep();
	rc = vlan_lock(job->device, &job->lock, &job->err);
	if (rc)
		return finish_job(job, rc);
	rc = actions[action].run(job);
	close(job->lock);
	return rc;
}

int device_run(enum device_action action, const char *name, const char *file)
{
	struct job job = {.name = name, .file = file};
	int status = find_device(&job);

	if (!job.device && action == DEVICE_REMOVE)
		reception_sweep();
	if (!status)
		status = run_locked(action, &job);
	pm_host_table_free(&job.input);
	return status;
}
