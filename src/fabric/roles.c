/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <portmajor/roles.h>
#include <portmajor/alloc.h>
#include <portmajor/lexer.h>
#include <portmajor/textfile.h>

#include <errno.h>

#define MAX_WORD 31 /* bytes; a longer one is no GUID, whatever it says */

static int compare_guids(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Takes one line's GUID into the list, if there is one. */
static int parse_line(const struct pm_lexer *lexer, struct pm_text line,
		      struct pm_guids *guids, uint32_t *room)
{
	struct pm_text rest = pm_text_before(line, '#'), word;
	uint64_t guid;

	if (!pm_text_take_word(&rest, &word))
		return 0;
	if (pm_text_length(word) > MAX_WORD || pm_text_take_digits(&word, 0, &guid) ||
	    !pm_text_is_empty(word))
		return pm_lexer_fail(lexer, "not a GUID");
	if (pm_grow(&guids->list, room, guids->count + 1, sizeof(*guids->list)))
		return pm_error_no_memory(lexer->err);
	guids->list[guids->count++] = guid;
	return 0;
}

int pm_guids_parse(const char *text, const char *source, struct pm_guids *guids,
		   struct pm_error *err)
{
	struct pm_lexer lexer = pm_lexer_begin(text, strlen(text), source, -EINVAL, err);
	struct pm_guids found = {.given = true};
	struct pm_text line;
	uint32_t room = 0;
	int rc = 0;

	while (!rc && pm_lexer_next(&lexer, &line))
		rc = parse_line(&lexer, line, &found, &room);
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
	int rc;

	if (!path)
		return 0;
	rc = pm_textfile_read_string(path, PM_TEXTFILE_MAX_BYTES, &text, err);
	if (!rc)
		rc = pm_guids_parse(text, path, guids, err);
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

static bool same_guids(const struct pm_guids *a, const struct pm_guids *b)
{
	return a->given == b->given && a->count == b->count &&
	       (!a->count || !memcmp(a->list, b->list, a->count * sizeof(*a->list)));
}

bool pm_roles_equal(const struct pm_roles *a, const struct pm_roles *b)
{
	return same_guids(&a->roots, &b->roots) && same_guids(&a->compute, &b->compute) &&
	       same_guids(&a->io, &b->io);
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
