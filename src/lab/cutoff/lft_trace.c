/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads and writes traces of LFT Sets. */
#include <portmajor/base/digit.h>
#include <portmajor/base/lexer.h>
#include <portmajor/base/pool.h>
#include <portmajor/base/textfile.h>
#include <portmajor/lab/lft_trace.h>
#include <portmajor/memory/xalloc.h>

#include <errno.h>
#include <inttypes.h>

#define MAGIC "portmajor-sets 1"
#define BLOCK PM_LFT_BLOCK
#define BLOCKS (PM_MAX_LID / BLOCK + 1) /* of a whole table */
#define MAX_LMC 7
#define MAX_NS (UINT64_MAX / 4)

void pm_lft_trace_free(struct pm_lft_trace *trace)
{
	if (!trace)
		return;
	free(trace->lid);
	free(trace->lmc);
	free(trace->tables);
	free(trace->failed);
	free(trace->active);
	free(trace->reset);
	free(trace->set);
	free(trace->entries);
	free(trace);
}

/* ---- Order ---- */

static int compare_arrivals(const void *a, const void *b)
{
	const struct pm_lft_trace_arrival *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->set < y->set ? -1 : x->set > y->set;
}

static int compare_returns(const void *a, const void *b)
{
	const struct pm_lft_trace_return *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->port < y->port ? -1 : x->port > y->port;
}

uint32_t pm_lft_trace_arrivals(const struct pm_lft_trace *trace,
			       struct pm_lft_trace_arrival *list)
{
	uint32_t num = 0;

	for (uint32_t i = 0; i < trace->num; i++)
		if (trace->set[i].arrived != PM_LFT_TRACE_NEVER)
			list[num++] =
				(struct pm_lft_trace_arrival){trace->set[i].arrived, i};
	qsort(list, num, sizeof(*list), compare_arrivals);
	return num;
}

/* ---- Writing ---- */

static void print_block(FILE *out, uint64_t guid, uint32_t block, const uint8_t *entries)
{
	char text[2 * BLOCK + 1];

	for (uint32_t i = 0; i < BLOCK; i++)
		snprintf(text + (size_t)2 * i, 3, "%02x", entries[i]);
	fprintf(out, " 0x%016" PRIx64 " %u %s\n", guid, block, text);
}

static void print_ns(FILE *out, uint64_t ns)
{
	if (ns == PM_LFT_TRACE_NEVER)
		fputs(" -", out);
	else
		fprintf(out, " %" PRIu64, ns);
}

static void print_tables(FILE *out, const struct pm_lft_trace *trace,
			 const struct pm_fabric *fabric)
{
	for (uint32_t sw = 0; sw < fabric->num_switches; sw++)
		for (uint32_t b = 0; b < trace->length / BLOCK; b++) {
			fputs("table", out);
			print_block(out, fabric->nodes[sw].guid, b,
				    trace->tables + (size_t)sw * trace->length +
					    (size_t)b * BLOCK);
		}
}

static void print_link(FILE *out, const char *row, uint64_t ns,
		       const struct pm_fabric *fabric, uint32_t port)
{
	const struct pm_port *p = &fabric->ports[port];

	fprintf(out, "%s %" PRIu64 " 0x%016" PRIx64 " %u\n", row, ns,
		fabric->nodes[p->node].guid, p->num);
}

static void print_links(FILE *out, const struct pm_lft_trace *trace,
			const struct pm_fabric *fabric)
{
	for (uint32_t i = 0; i < trace->num_failed; i++)
		print_link(out, "failed", trace->failed_at, fabric, trace->failed[i]);
	for (uint32_t i = 0; i < trace->num_active; i++)
		print_link(out, "active", trace->active[i].ns, fabric,
			   trace->active[i].port);
	for (uint32_t i = 0; i < trace->num_reset; i++)
		fprintf(out, "reset 0x%016" PRIx64 "\n",
			fabric->nodes[trace->reset[i]].guid);
}

int pm_lft_trace_print(FILE *out, const void *file)
{
	const struct pm_lft_trace *trace =
		((const struct pm_lft_trace_file *)file)->trace;
	const struct pm_fabric *fabric = ((const struct pm_lft_trace_file *)file)->fabric;

	fputs(MAGIC "\n", out);
	if (trace->engine[0])
		fprintf(out, "engine %s\n", trace->engine);
	if (trace->times[0])
		fprintf(out, "times %s\n", trace->times);
	for (uint32_t i = 0; i < fabric->num_ports; i++)
		if (trace->lid[i])
			fprintf(out, "lid 0x%016" PRIx64 " %u %u\n",
				fabric->ports[i].guid, trace->lid[i], trace->lmc[i]);
	print_tables(out, trace, fabric);
	print_links(out, trace, fabric);
	for (uint32_t i = 0; i < trace->num; i++) {
		const struct pm_lft_trace_set *set = &trace->set[i];

		fputs("set", out);
		print_ns(out, set->sent);
		print_ns(out, set->arrived);
		print_ns(out, set->acked);
		print_block(out, fabric->nodes[set->sw].guid, set->block,
			    trace->entries + (size_t)i * BLOCK);
	}
	return 0;
}

/* ---- Reading ---- */

/* A block of a table, until the tables' length is known. */
struct installed {
	uint32_t sw, block;
	uint8_t entries[BLOCK];
};

struct reader {
	struct pm_lexer lexer;
	const struct pm_fabric *fabric;
	struct pm_lft_trace *trace;
	struct installed *installed;
	uint32_t num_installed, installed_room;
	uint32_t top;	     /* the highest block read */
	uint32_t set_line;   /* line of the last Set */
	struct pm_pool pool; /* of the following arrays */
	struct pm_port_key *keys;
	uint32_t num_keys;
	uint32_t *lid_line;    /* [LID] line that gives it; 0: none yet */
	uint32_t *block_line;  /* [switch][BLOCKS] line with the installed block */
	uint32_t *failed_line; /* [port] */
	uint32_t *active_line; /* [port] */
	uint32_t *reset_line;  /* [switch] */
	bool *has_table;       /* [switch] */
};

static int bad_row(struct reader *r, const char *form)
{
	return pm_lexer_fail(&r->lexer, "not a row \"%s\"", form);
}

/* Whether only blanks are left. */
static bool is_line_end(struct pm_text rest)
{
	pm_text_skip_blanks(&rest);
	return pm_text_is_empty(rest);
}

static int take_text(struct reader *r, struct pm_text rest, char *text)
{
	pm_text_skip_blanks(&rest);
	while (rest.end > rest.at && (rest.end[-1] == ' ' || rest.end[-1] == '\r'))
		rest.end--;
	if (pm_text_length(rest) >= PM_LFT_TRACE_TEXT)
		return pm_lexer_fail(&r->lexer, "more than %d characters",
				     PM_LFT_TRACE_TEXT - 1);
	memcpy(text, rest.at, pm_text_length(rest));
	text[pm_text_length(rest)] = '\0';
	return 0;
}

static void raise_top(struct reader *r, uint32_t block)
{
	if (block > r->top)
		r->top = block;
}

static int take_lid(struct reader *r, struct pm_text rest)
{
	uint64_t guid, lid, lmc;
	uint32_t port;

	if (!pm_text_take_number(&rest, 16, UINT64_MAX, &guid) ||
	    !pm_text_take_number(&rest, 10, PM_MAX_LID, &lid) ||
	    !pm_text_take_number(&rest, 10, MAX_LMC, &lmc) || !is_line_end(rest))
		return bad_row(r, "lid GUID LID LMC");
	port = pm_ports_find(r->keys, r->num_keys, guid);
	if (port == PM_NONE)
		return pm_lexer_fail(
			&r->lexer,
			"the fabric has no port with a cable and GUID 0x%016" PRIx64
			": of another fabric?",
			guid);
	if (r->trace->lid[port])
		return pm_lexer_fail(&r->lexer, "this port has LID %u already",
				     r->trace->lid[port]);
	if (!lid || lid + (1u << lmc) - 1 > PM_MAX_LID)
		return pm_lexer_fail(&r->lexer, "no LIDs 1 to %d", PM_MAX_LID);
	for (uint64_t i = lid; i < lid + (1u << lmc); i++) {
		if (r->lid_line[i])
			return pm_lexer_fail(&r->lexer,
					     "LID %" PRIu64 " is that of line %u", i,
					     r->lid_line[i]);
		r->lid_line[i] = r->lexer.line;
	}
	r->trace->lid[port] = (uint16_t)lid;
	r->trace->lmc[port] = (uint8_t)lmc;
	raise_top(r, (uint32_t)(lid + (1u << lmc) - 1) / BLOCK);
	return 0;
}

static int find_traced_switch(struct reader *r, uint64_t guid, uint32_t *sw)
{
	*sw = pm_fabric_find_guid(r->fabric, guid);
	if (*sw == PM_NONE || *sw >= r->fabric->num_switches)
		return pm_lexer_fail(&r->lexer,
				     "the fabric has no switch with GUID 0x%016" PRIx64
				     ": of another fabric?",
				     guid);
	return 0;
}

/* Reads two digits for each entry. */
static bool take_entries(struct pm_text *rest, uint8_t *entries)
{
	struct pm_text word;

	if (!pm_text_take_word(rest, &word) || pm_text_length(word) != 2 * (size_t)BLOCK)
		return false;
	for (uint32_t i = 0; i < BLOCK; i++) {
		uint32_t high = pm_digit_value(word.at[(size_t)2 * i]);
		uint32_t low = pm_digit_value(word.at[(size_t)2 * i + 1]);

		if (high == UINT32_MAX || low == UINT32_MAX)
			return false;
		entries[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

/* Reads GUID BLOCK ENTRIES, and nothing more. */
static int take_block(struct reader *r, struct pm_text rest, const char *form,
		      struct installed *installed)
{
	uint64_t guid, block;

	if (!pm_text_take_number(&rest, 16, UINT64_MAX, &guid) ||
	    !pm_text_take_number(&rest, 10, BLOCKS - 1, &block) ||
	    !take_entries(&rest, installed->entries) || !is_line_end(rest))
		return bad_row(r, form);
	if (find_traced_switch(r, guid, &installed->sw))
		return r->lexer.bad;
	installed->block = (uint32_t)block;
	for (uint32_t i = 0; i < BLOCK; i++)
		if (installed->entries[i] != PM_LFT_KEEP &&
		    installed->entries[i] > r->fabric->nodes[installed->sw].num_ports)
			return pm_lexer_fail(
				&r->lexer,
				"port %u of \"%s\", which has %u: of another fabric?",
				installed->entries[i],
				pm_fabric_label(r->fabric, installed->sw),
				r->fabric->nodes[installed->sw].num_ports);
	raise_top(r, installed->block);
	return 0;
}

static int take_table(struct reader *r, struct pm_text rest)
{
	struct installed installed;
	int rc = take_block(r, rest, "table GUID BLOCK ENTRIES", &installed);
	uint32_t *line;

	if (rc)
		return rc;
	line = &r->block_line[(size_t)installed.sw * BLOCKS + installed.block];
	if (*line)
		return pm_lexer_fail(&r->lexer, "this block is in line %u already",
				     *line);
	*line = r->lexer.line;
	r->has_table[installed.sw] = true;
	pm_xgrow(&r->installed, &r->installed_room, r->num_installed + 1,
		 sizeof(*r->installed));
	r->installed[r->num_installed++] = installed;
	return 0;
}

/* Reads NS GUID PORT, and nothing more; line[port] has the rows of this kind. */
static int take_link_row(struct reader *r, struct pm_text rest, const char *form,
			 uint32_t *line, struct pm_lft_trace_return *link)
{
	uint64_t guid, number;
	uint32_t sw, port;

	if (!pm_text_take_number(&rest, 10, MAX_NS, &link->ns) ||
	    !pm_text_take_number(&rest, 16, UINT64_MAX, &guid) ||
	    !pm_text_take_number(&rest, 10, PM_MAX_PORTS, &number) || !is_line_end(rest))
		return bad_row(r, form);
	if (find_traced_switch(r, guid, &sw))
		return r->lexer.bad;
	port = r->fabric->nodes[sw].first_port + (uint32_t)number;
	if (!number || number > r->fabric->nodes[sw].num_ports ||
	    r->fabric->ports[port].peer == PM_NONE)
		return pm_lexer_fail(&r->lexer, "no cable at port %" PRIu64 " of \"%s\"",
				     number, pm_fabric_label(r->fabric, sw));
	if (line[port])
		return pm_lexer_fail(&r->lexer, "this cable is in line %u already",
				     line[port]);
	line[port] = line[r->fabric->ports[port].peer] = r->lexer.line;
	link->port = port;
	return 0;
}

static int take_failed(struct reader *r, struct pm_text rest)
{
	struct pm_lft_trace *trace = r->trace;
	struct pm_lft_trace_return link;
	int rc = take_link_row(r, rest, "failed NS GUID PORT", r->failed_line, &link);

	if (rc)
		return rc;
	if (trace->num_failed && link.ns != trace->failed_at)
		return pm_lexer_fail(&r->lexer,
				     "failed at %" PRIu64 " ns, others at %" PRIu64,
				     link.ns, trace->failed_at);
	trace->failed_at = link.ns;
	pm_xgrow(&trace->failed, &trace->failed_room, trace->num_failed + 1,
		 sizeof(uint32_t));
	trace->failed[trace->num_failed++] = link.port;
	return 0;
}

static int take_active(struct reader *r, struct pm_text rest)
{
	struct pm_lft_trace *trace = r->trace;
	struct pm_lft_trace_return link;
	int rc = take_link_row(r, rest, "active NS GUID PORT", r->active_line, &link);

	if (rc)
		return rc;
	pm_xgrow(&trace->active, &trace->active_room, trace->num_active + 1,
		 sizeof(link));
	trace->active[trace->num_active++] = link;
	return 0;
}

static int take_reset(struct reader *r, struct pm_text rest)
{
	struct pm_lft_trace *trace = r->trace;
	uint64_t guid;
	uint32_t sw;

	if (!pm_text_take_number(&rest, 16, UINT64_MAX, &guid) || !is_line_end(rest))
		return bad_row(r, "reset GUID");
	if (find_traced_switch(r, guid, &sw))
		return r->lexer.bad;
	if (r->reset_line[sw])
		return pm_lexer_fail(&r->lexer, "this switch is in line %u already",
				     r->reset_line[sw]);
	r->reset_line[sw] = r->lexer.line;
	pm_xgrow(&trace->reset, &trace->reset_room, trace->num_reset + 1,
		 sizeof(uint32_t));
	trace->reset[trace->num_reset++] = sw;
	return 0;
}

/* Reads a time; "-" means never. */
static bool take_time(struct pm_text *rest, uint64_t *ns)
{
	struct pm_text behind = *rest, word;

	if (pm_text_take_word(&behind, &word) && pm_text_is(word, "-")) {
		*rest = behind;
		*ns = PM_LFT_TRACE_NEVER;
		return true;
	}
	return pm_text_take_number(rest, 10, MAX_NS, ns);
}

static void add_set(struct pm_lft_trace *trace, const struct pm_lft_trace_set *set,
		    const uint8_t *entries)
{
	pm_xgrow(&trace->set, &trace->set_room, trace->num + 1, sizeof(*set));
	pm_xgrow(&trace->entries, &trace->entries_room, trace->num + 1, BLOCK);
	trace->set[trace->num] = *set;
	memcpy(trace->entries + (size_t)trace->num++ * BLOCK, entries, BLOCK);
}

static int check_times(struct reader *r, const struct pm_lft_trace_set *set)
{
	const struct pm_lft_trace *trace = r->trace;

	if (trace->num && set->sent < trace->set[trace->num - 1].sent)
		return pm_lexer_fail(&r->lexer, "sent before that of line %u",
				     r->set_line);
	if (set->arrived < set->sent)
		return pm_lexer_fail(&r->lexer, "it arrived before it was sent");
	if (set->acked < set->arrived)
		return pm_lexer_fail(&r->lexer, "acknowledged before it arrived");
	return 0;
}

static int take_set(struct reader *r, struct pm_text rest)
{
	static const char form[] = "set SENT ARRIVED ACKED GUID BLOCK ENTRIES";
	struct pm_lft_trace_set set;
	struct installed installed;
	int rc;

	if (!pm_text_take_number(&rest, 10, MAX_NS, &set.sent) ||
	    !take_time(&rest, &set.arrived) || !take_time(&rest, &set.acked))
		return bad_row(r, form);
	rc = take_block(r, rest, form, &installed);
	if (!rc)
		rc = check_times(r, &set);
	if (rc)
		return rc;
	set.sw = installed.sw;
	set.block = installed.block;
	add_set(r->trace, &set, installed.entries);
	r->set_line = r->lexer.line;
	return 0;
}

static int take_row(struct reader *r, struct pm_text line)
{
	struct pm_text rest = line, word;

	if (pm_lexer_check_text(&r->lexer, line))
		return r->lexer.bad;
	if (r->lexer.line == 1)
		return pm_text_is(line, MAGIC)
			       ? 0
			       : pm_lexer_fail(
					 &r->lexer,
					 "no \"" MAGIC
					 "\": no recording of LFT Sets of this version");
	if (!pm_text_take_word(&rest, &word) || pm_text_next_is(word, '#'))
		return 0;
	if (pm_text_is(word, "set"))
		return take_set(r, rest);
	if (pm_text_is(word, "table"))
		return take_table(r, rest);
	if (pm_text_is(word, "lid"))
		return take_lid(r, rest);
	if (pm_text_is(word, "failed"))
		return take_failed(r, rest);
	if (pm_text_is(word, "active"))
		return take_active(r, rest);
	if (pm_text_is(word, "reset"))
		return take_reset(r, rest);
	if (pm_text_is(word, "engine"))
		return take_text(r, rest, r->trace->engine);
	if (pm_text_is(word, "times"))
		return take_text(r, rest, r->trace->times);
	return pm_lexer_fail(&r->lexer, "unknown row \"%.*s\"", PM_SHOWN(word));
}

/* Checks that links return after they failed, and sorts them. */
static int check_active(struct reader *r)
{
	struct pm_lft_trace *trace = r->trace;

	for (uint32_t i = 0; i < trace->num_active; i++) {
		const struct pm_lft_trace_return *link = &trace->active[i];

		r->lexer.line = r->active_line[link->port];
		if (!r->failed_line[link->port])
			return pm_lexer_fail(&r->lexer, "this cable has not failed");
		if (link->ns <= trace->failed_at)
			return pm_lexer_fail(&r->lexer,
					     "active at %" PRIu64
					     " ns, and it failed at %" PRIu64,
					     link->ns, trace->failed_at);
	}
	if (trace->num_active)
		qsort(trace->active, trace->num_active, sizeof(*trace->active),
		      compare_returns);
	return 0;
}

/* Checks that the recording has everything it needs. */
static int check_whole(struct reader *r)
{
	if (!r->lexer.line)
		return pm_lexer_fail(&r->lexer, "empty");
	if (!r->trace->num_failed)
		return pm_lexer_fail(&r->lexer, "no row \"failed\": nothing fails");
	for (uint32_t sw = 0; sw < r->fabric->num_switches; sw++)
		if (!r->has_table[sw] && pm_fabric_has_link(r->fabric, sw))
			return pm_lexer_fail(
				&r->lexer,
				"no table of switch \"%s\": of another fabric?",
				pm_fabric_label(r->fabric, sw));
	return check_active(r);
}

/* Assembles tables from blocks, now that their length is known. */
static void make_tables(struct reader *r)
{
	struct pm_lft_trace *trace = r->trace;
	size_t size;

	trace->length = (r->top + 1) * BLOCK;
	size = (size_t)r->fabric->num_switches * trace->length;
	trace->tables = pm_xarray(size, 1);
	memset(trace->tables, PM_LFT_KEEP, size);
	for (uint32_t i = 0; i < r->num_installed; i++)
		memcpy(trace->tables + (size_t)r->installed[i].sw * trace->length +
			       (size_t)r->installed[i].block * BLOCK,
		       r->installed[i].entries, BLOCK);
}

static void begin_reading(struct reader *r)
{
	const struct pm_fabric *fabric = r->fabric;
	struct pm_pool *pool = &r->pool;

	r->trace = pm_xarray(1, sizeof(*r->trace));
	r->keys = pm_fabric_ports_by_guid(fabric, &r->num_keys);
	if (!r->keys)
		pm_no_memory();
	r->trace->lid = pm_xarray(fabric->num_ports, sizeof(uint16_t));
	r->trace->lmc = pm_xarray(fabric->num_ports, 1);
	r->lid_line = pm_pool_xarray(pool, PM_MAX_LID + 1, sizeof(uint32_t));
	r->block_line = pm_pool_xarray(pool, (size_t)fabric->num_switches * BLOCKS,
				       sizeof(uint32_t));
	r->failed_line = pm_pool_xarray(pool, fabric->num_ports, sizeof(uint32_t));
	r->active_line = pm_pool_xarray(pool, fabric->num_ports, sizeof(uint32_t));
	r->reset_line = pm_pool_xarray(pool, fabric->num_switches, sizeof(uint32_t));
	r->has_table = pm_pool_xarray(pool, fabric->num_switches, sizeof(bool));
}

int pm_lft_trace_parse(const char *text, size_t length, const char *source,
		       const struct pm_fabric *fabric, struct pm_lft_trace **trace,
		       struct pm_error *err)
{
	struct reader r = {.fabric = fabric};
	struct pm_text line;
	int rc = 0;

	if (length > PM_TEXTFILE_MAX_BYTES)
		return pm_error_set(err, -EFBIG, "%s: more than %zu bytes", source,
				    PM_TEXTFILE_MAX_BYTES);
	r.lexer = pm_lexer_begin(text, length, source, -EINVAL, err);
	begin_reading(&r);
	while (!rc && pm_lexer_next(&r.lexer, &line))
		rc = take_row(&r, line);
	if (!rc)
		rc = check_whole(&r);
	if (rc) {
		pm_lft_trace_free(r.trace);
	} else {
		make_tables(&r);
		*trace = r.trace;
	}
	free(r.installed);
	free(r.keys);
	pm_pool_free(&r.pool);
	return rc;
}

int pm_lft_trace_read(const char *path, const struct pm_fabric *fabric,
		      struct pm_lft_trace **trace, struct pm_error *err)
{
	char *text = NULL;
	size_t length = 0;
	int rc = pm_textfile_read(path, &text, &length, err);

	if (!rc)
		rc = pm_lft_trace_parse(text, length, pm_textfile_name(path), fabric,
					trace, err);
	free(text);
	return rc;
}
