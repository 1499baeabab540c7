/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads opensm.conf as OpenSM does. */
#include <portmajor/base/alloc.h>
#include <portmajor/base/textfile.h>
#include <portmajor/files/opensm_conf.h>

#include <ctype.h>
#include <errno.h>

#define MAX_FILE (1 << 20)

/* Removes blanks and one pair of quotes, as OpenSM does. */
static char *clean_value(char *value)
{
	size_t length;

	while (isspace((unsigned char)*value))
		value++;
	length = strlen(value);
	while (length && isspace((unsigned char)value[length - 1]))
		value[--length] = '\0';
	if (length > 1 && (*value == '"' || *value == '\'') &&
	    value[length - 1] == *value) {
		value[length - 1] = '\0';
		value++;
	}
	return value;
}

static int parse_option(char *text, unsigned int line, struct pm_opensm_conf *conf,
			uint32_t *room)
{
	char *rest = NULL, *key;

	text[strcspn(text, "#")] = '\0';
	key = strtok_r(text, " \t\n", &rest);
	if (!key)
		return 0;
	if (pm_grow(&conf->items, room, (uint32_t)conf->count + 1, sizeof(*conf->items)))
		return -ENOMEM;
	conf->items[conf->count++] =
		(struct pm_opensm_conf_item){line, key, clean_value(rest)};
	return 0;
}

int pm_opensm_conf_parse(const char *text, const char *source,
			 struct pm_opensm_conf *conf, struct pm_error *err)
{
	struct pm_opensm_conf found = {.text = strdup(text)};
	char *rest = found.text, *item;
	unsigned int line = 0;
	uint32_t room = 0;
	int rc = found.text ? 0 : -ENOMEM;

	while (!rc && (item = strsep(&rest, "\n"))) {
		line++;
		rc = strlen(item) >= PM_OPENSM_CONF_LINE
			     ? -EINVAL
			     : parse_option(item, line, &found, &room);
	}
	if (rc) {
		pm_opensm_conf_free(&found);
		if (rc == -EINVAL)
			return pm_error_set(err, rc, "%s:%u: longer than OpenSM reads",
					    source, line);
		return pm_error_set(err, rc, "out of memory");
	}
	*conf = found;
	return 0;
}

int pm_opensm_conf_read(const char *path, struct pm_opensm_conf *conf,
			struct pm_error *err)
{
	char *text = NULL;
	int rc = pm_textfile_read_string(path, MAX_FILE, &text, err);

	if (!rc)
		rc = pm_opensm_conf_parse(text, path, conf, err);
	free(text);
	return rc;
}

void pm_opensm_conf_free(struct pm_opensm_conf *conf)
{
	free(conf->items);
	free(conf->text);
	memset(conf, 0, sizeof(*conf));
}

const struct pm_opensm_conf_item *pm_opensm_conf_find(const struct pm_opensm_conf *conf,
						      const char *key)
{
	for (size_t i = conf->count; i-- > 0;)
		if (!strcmp(conf->items[i].key, key))
			return &conf->items[i];
	return NULL;
}

const char *pm_opensm_conf_value(const struct pm_opensm_conf *conf, const char *key)
{
	const struct pm_opensm_conf_item *item = pm_opensm_conf_find(conf, key);

	return item && *item->value && strcmp(item->value, "(null)") ? item->value : NULL;
}
