/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <portmajor/roles.h>
#include <portmajor/alloc.h>

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

static int compare_guids(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Takes one line's GUID into the list, if there is one. */
static int parse_line(const char *line, const char *end, struct pm_guids *guids,
		      uint32_t *room)
{
	char word[32], *rest;
	size_t length = 0;

	while (line < end && isspace((unsigned char)*line))
		line++;
	if (line == end || *line == '#')
		return 0;
	while (line + length < end && !isspace((unsigned char)line[length]) &&
	       line[length] != '#')
		length++;
	if (length >= sizeof(word) || !isdigit((unsigned char)*line))
		return -EINVAL;
	memcpy(word, line, length);
	word[length] = '\0';
	if (pm_grow(&guids->list, room, guids->count + 1, sizeof(*guids->list)))
		return -ENOMEM;
	errno = 0;
	guids->list[guids->count++] = strtoull(word, &rest, 0);
	return errno || *rest ? -EINVAL : 0;
}

int pm_guids_parse(const char *text, const char *source, struct pm_guids *guids,
		   struct pm_error *err)
{
	struct pm_guids found = {.given = true};
	uint32_t room = 0;
	int rc = 0;

	for (unsigned int line = 1; *text && !rc; line++) {
		const char *end = strchrnul(text, '\n');

		rc = parse_line(text, end, &found, &room);
		if (rc == -EINVAL)
			pm_error_set(err, rc, "%s:%u: not a GUID", source, line);
		else if (rc)
			pm_error_set(err, rc, "out of memory");
		text = *end ? end + 1 : end;
	}
	if (rc) {
		free(found.list);
		return rc;
	}
	if (found.count)
		qsort(found.list, found.count, sizeof(*found.list), compare_guids);
	*guids = found;
	return 0;
}

static int read_file(const char *path, struct pm_guids *guids, struct pm_error *err)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file;
	int rc;

	if (!path)
		return 0;
	file = fopen(path, "r");
	if (!file)
		return pm_error_set(err, -errno, "%s: %s", path, strerror(errno));
	errno = 0;
	if (getdelim(&text, &size, '\0', file) < 0 && errno)
		rc = pm_error_set(err, -errno, "%s: %s", path, strerror(errno));
	else
		rc = pm_guids_parse(text ? text : "", path, guids, err);
	fclose(file);
	free(text);
	return rc;
}

int pm_roles_read(const struct pm_role_files *files, struct pm_roles *roles,
		  struct pm_error *err)
{
	struct pm_roles found = {0};
	int rc = read_file(files->roots, &found.roots, err);

	if (!rc)
		rc = read_file(files->compute, &found.compute, err);
	if (!rc)
		rc = read_file(files->io, &found.io, err);
	if (rc) {
		pm_roles_free(&found);
		return rc;
	}
	pm_roles_free(roles);
	*roles = found;
	return 0;
}

static bool has(const struct pm_guids *guids, uint64_t guid)
{
	return guids->count && bsearch(&guid, guids->list, guids->count,
				       sizeof(*guids->list), compare_guids);
}

static bool is_io(const struct pm_roles *roles, const struct pm_fabric *fabric,
		  uint32_t port)
{
	uint64_t guid = fabric->ports[port].guid;
	uint64_t node_guid = fabric->nodes[fabric->ports[port].node].guid;

	if (has(&roles->io, guid) || has(&roles->io, node_guid))
		return true;
	return roles->compute.given && !has(&roles->compute, guid) &&
	       !has(&roles->compute, node_guid);
}

void pm_roles_apply(const struct pm_roles *roles, struct pm_fabric *fabric)
{
	for (uint32_t sw = 0; sw < fabric->num_switches; sw++)
		fabric->nodes[sw].root = has(&roles->roots, fabric->nodes[sw].guid);
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		struct pm_port *port = &fabric->ports[i];

		if (port->node < fabric->num_switches && port->host &&
		    port->peer != PM_NONE)
			port->host =
				is_io(roles, fabric, port->peer) ? PM_IO : PM_COMPUTE;
	}
}

void pm_roles_free(struct pm_roles *roles)
{
	free(roles->roots.list);
	free(roles->compute.list);
	free(roles->io.list);
	memset(roles, 0, sizeof(*roles));
}
