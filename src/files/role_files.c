/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the GUID files of roles. */
#include <portmajor/base/alloc.h>
#include <portmajor/base/lexer.h>
#include <portmajor/base/textfile.h>
#include <portmajor/files/role_files.h>

#include <errno.h>

#define MAX_WORD 31 /* bytes; a longer word is no GUID */

static int compare_role_guids(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Adds a line's GUID, if there is one, to the list. */
static int parse_guid_line(const struct pm_lexer *lexer, struct pm_text line,
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
		rc = parse_guid_line(&lexer, line, &found, &room);
	if (rc) {
		free(found.list);
		return rc;
	}
	if (found.count)
		qsort(found.list, found.count, sizeof(*found.list), compare_role_guids);
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
	if (files->rules)
		found.rules = *files->rules;
	pm_roles_free(roles);
	*roles = found;
	return 0;
}
