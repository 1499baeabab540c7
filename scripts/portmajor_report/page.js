"use strict";
// Failures that are not in the page's first rows: [[kind, costs, [name or [name, cut off, all]]]].
const packed = JSON.parse(document.getElementById("failures").textContent);
const MORE = 50;
const field = document.getElementById("field"), told = document.getElementById("told");
let words = [];

// All words, anywhere in the text.
function matches(text) {
	const low = text.toLowerCase();
	return words.every(word => low.includes(word));
}

// [name, kind, hosts cut off, costs, all hosts] of each failure.
function* failures() {
	for (const [kind, costs, names] of packed)
		for (const one of names) {
			const [name, cut, all] = Array.isArray(one) ? one : [one, kind === "host" ? "itself" : "0", ""];
			yield [name, kind, cut, costs, all];
		}
}

function addCell(row, text, head, name) {
	const cell = row.insertCell();
	cell.textContent = text;
	cell.dataset.head = head;
	cell.className = name;
}

// A table of the first failures, and a body of those that are found or asked for.
class Found {
	constructor(table, cellsOf) {
		this.table = table;
		this.cellsOf = cellsOf;
		[this.first, this.found] = table.tBodies;
		this.heads = Array.from(table.tHead.rows[0].cells);
		this.more = document.querySelector(`button.more[data-of=${table.id}]`);
		this.shown = new Set(Array.from(this.first.rows, row => this.keyOf(Array.from(row.cells, cell => cell.textContent))));
		this.more.addEventListener("click", () => mark(this.list(this.limit + MORE)));
	}

	keyOf(cells) { return cells[0] + "\n" + cells[1]; }

	// Those that match, what is named exactly so first.
	matching() {
		const rows = [];
		for (const failure of failures()) {
			const cells = this.cellsOf(...failure);
			if (cells && (words.length ? matches(failure[0] + " " + failure[1] + " " + failure[4]) : !this.shown.has(this.keyOf(cells))))
				rows.push(cells);
		}
		const exact = cells => words.length === 1 && cells[0].toLowerCase() === words[0];
		return rows.sort((a, b) => exact(b) - exact(a));
	}

	// Those that match, up to the limit; their names.
	list(limit) {
		const rows = this.matching(), listed = rows.slice(0, limit);
		this.limit = limit;
		this.number = rows.length;
		this.found.replaceChildren();
		this.first.classList.toggle("hidden", words.length > 0);
		for (const cells of listed) {
			const row = this.found.insertRow();
			cells.forEach((text, i) => addCell(row, text, this.heads[i].textContent, this.heads[i].className));
		}
		this.more.hidden = rows.length <= limit;
		this.more.textContent = "Show more (" + (rows.length - listed.length).toLocaleString("en") + ")";
		return listed.map(cells => cells[0]);
	}
}

// In the tree: parts with that name, and with listed links.
function mark(names) {
	const tree = document.getElementById("tree");
	if (!tree)
		return;
	const listed = new Set(names.flatMap(name => name.split(/\[[0-9]+\]-?|, /)));
	tree.classList.toggle("searching", words.length > 0);
	tree.querySelectorAll("[data-name]").forEach(cell =>
		cell.classList.toggle("hit", words.length > 0 && (matches(cell.dataset.name) || listed.has(cell.dataset.name))));
}

const costs = document.getElementById("worst") && new Found(document.getElementById("worst"),
	(name, kind, cut, numbers) => [name, kind, ...numbers.slice(0, 5)]);
const cuts = document.getElementById("cuts") && new Found(document.getElementById("cuts"),
	(name, kind, cut, numbers) => cut === "0" || cut === "itself" ? null : [name, kind, cut, numbers[5]]);

function search() {
	words = field.value.toLowerCase().split(/\s+/).filter(word => word);
	const limit = words.length ? MORE : 0;
	document.querySelectorAll("table:not(#worst, #cuts, .detour) > tbody > tr").forEach(row =>
		row.classList.toggle("hidden", !matches(row.textContent)));
	document.querySelectorAll("details").forEach(function (list) {
		list.dataset.open ??= list.open ? "yes" : "no";
		list.open = words.length ? !!list.querySelector("tbody > tr:not(.hidden)") : list.dataset.open === "yes";
	});
	cuts && cuts.list(limit);
	mark(costs ? costs.list(limit) : []);
	told.textContent = words.length && costs ? costs.number.toLocaleString("en") + " failures match" : "";
}

function numberOrText(row, column) {
	const text = row.cells[column].textContent.replace(/[,*]/g, "");
	return text !== "" && !isNaN(text) ? Number(text) : text;
}

// A click on a column's head sorts by it: numbers downward, text upward.
function sortBy(head) {
	const column = head.cellIndex, table = head.closest("table");
	table.querySelectorAll("th").forEach(other => other.removeAttribute("data-sorted"));
	head.setAttribute("data-sorted", "");
	for (const body of table.tBodies)
		body.append(...Array.from(body.rows).sort(function (a, b) {
			const x = numberOrText(a, column), y = numberOrText(b, column);
			return typeof x === "number" && typeof y === "number" ? y - x : String(x).localeCompare(String(y));
		}));
}

// ---- The detours of a leaf: [port, plane, number of the other switch, usable, flows up before, after, down before, after].
const loads = JSON.parse(document.getElementById("loads").textContent);
const detour = document.getElementById("detour"), maps = document.querySelectorAll("svg.map");
const LISTED = 6;
let chosen = [0, 0];

const gainOf = link => link[3] ? Math.max(link[5] - link[4], link[7] - link[6]) : 0;
const flows = number => number.toLocaleString("en");
const signed = number => (number >= 0 ? "+" : number < 0 ? "\u2212" : "") + flows(Math.abs(number));

function element(name, attributes, text) {
	const made = document.createElementNS(maps[0].namespaceURI, name);
	for (const key in attributes)
		made.setAttribute(key, attributes[key]);
	made.textContent = text || "";
	return made;
}

// The leaf, a line for each link: broken where it failed, the wider the more it gains.
function drawDetour(name, links) {
	const most = Math.max(1, ...links.map(gainOf)), step = 320 / links.length;
	const every = Math.ceil(24 / step);
	const shapes = links.flatMap(function (link, i) {
		const x = 8 + (i + 0.5) * step, gain = gainOf(link);
		const kind = !link[3] ? "fails" : gain > 0 ? "gains" : "", width = gain > 0 ? 0.5 + 3.5 * gain / most : 1;
		const line = { class: kind, d: `M168 120L${x.toFixed(1)} 34` };
		return [element("path", link[3] ? { ...line, "stroke-width": width.toFixed(1) } : line),
			element("rect", { x: (x - step * 0.35).toFixed(1), y: 24, width: (step * 0.7).toFixed(1), height: 10 }),
			...(i % every ? [] : [element("text", { x: x.toFixed(1), y: 18, "text-anchor": "middle" }, String(link[1]))])];
	});
	shapes.push(element("rect", { x: 148, y: 120, width: 40, height: 10 }), element("text", { x: 168, y: 145, "text-anchor": "middle" }, name));
	detour.querySelector("svg").replaceChildren(...shapes);
}

// As it is, parts are out of paths; elsewhere they fail.
const isNow = detour && detour.parentElement.dataset.out !== "failed";

function sumUpDetour(name, links) {
	const failed = links.filter(link => !link[3]), usable = links.filter(link => link[3]);
	const more = usable.reduce((sum, link) => sum + link[5] - link[4], 0);
	if (!failed.length)
		return name + (isNow ? ": all of its links are in use." : ": none of its links fails.") + (Math.max(0, ...links.map(gainOf)) ? " They carry detours of others." : " Its traffic stays where it is.");
	const lost = failed.reduce((sum, link) => sum + link[4], 0), names = failed.map(link => `port ${link[0]} to ${loads.names[link[2]]}`);
	const what = names.length > 3 ? names.length + " links" : names.join(", ");
	const verb = isNow ? (names.length > 1 ? " are out of paths" : " is out of paths") : (names.length > 1 ? " fail" : " fails");
	return `${name}: ${what}${verb}, which carried ${flows(lost)} flows up; ` +
		(usable.length ? `its other links carry ${flows(Math.abs(more))} ${more < 0 ? "fewer" : "more"}.` : "none is left.");
}

function fillDetour(links) {
	const body = detour.querySelector("tbody"), heads = Array.from(detour.querySelectorAll("th"), head => head.textContent);
	const order = [...links].sort((a, b) => a[3] - b[3] || gainOf(b) - gainOf(a));
	body.replaceChildren();
	for (const link of order.slice(0, LISTED)) {
		const row = body.insertRow(), [port, plane, to, usable, ...n] = link;
		const change = (before, after) => usable ? `${flows(after)} (${signed(after - before)})` : (isNow ? "out, was " : "failed, was ") + flows(before);
		const cells = [`${port} to ${loads.names[to]}`, plane, change(n[0], n[1]), change(n[2], n[3])];
		cells.forEach((text, i) => addCell(row, text, heads[i], i ? "" : "text"));
	}
	const left = order.slice(LISTED), gains = left.map(gainOf);
	if (!left.length)
		return;
	const [low, high] = [Math.min(...gains), Math.max(...gains)], row = body.insertRow();
	addCell(row, `and ${left.length} more, ` + (low < high ? `${signed(low)} to ${signed(high)}` : signed(low)) + " each", "", "text");
	row.cells[0].colSpan = heads.length;
}

function choose(row, plane) {
	if (!loads || row < 0 || row >= loads.rows.length)
		return;
	const [name, links] = loads.rows[row];
	chosen = [row, Math.max(0, Math.min(plane, maps[0].viewBox.baseVal.width - 1))];
	for (const map of maps) {
		map.classList.add("on");
		map.querySelector(".chosen").setAttribute("transform", `translate(${chosen[1]} ${chosen[0]})`);
	}
	detour.hidden = false;
	detour.querySelector("p").textContent = sumUpDetour(name, links);
	drawDetour(name, links);
	fillDetour(links);
}

const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
maps.forEach(function (map) {
	map.addEventListener("click", function (event) {
		const box = map.getBoundingClientRect(), size = map.viewBox.baseVal;
		choose(Math.floor((event.clientY - box.top) / box.height * size.height), Math.floor((event.clientX - box.left) / box.width * size.width));
	});
	map.addEventListener("keydown", function (event) {
		const step = ARROWS[event.key];
		if (!step)
			return;
		event.preventDefault();
		choose(chosen[0] + step[0], chosen[1] + step[1]);
	});
});
const named = document.getElementById("named");
document.querySelectorAll(".wires rect").forEach(part => part.addEventListener("click", function () {
	if (named)
		named.textContent = part.querySelector("title").textContent;
	const row = loads ? loads.rows.findIndex(leaf => leaf[0] === part.dataset.name) : -1;
	choose(row, chosen[1]);
}));

// At first: a link that fails, else the one that gains most.
function chooseFirst() {
	const value = link => link[3] ? gainOf(link) : Infinity;
	let best = -1, at = [0, 0];
	for (const [row, [, links]] of (loads ? loads.rows : []).entries())
		for (const link of links)
			if (value(link) > best)
				[best, at] = [value(link), [row, link[1]]];
	choose(...at);
}

// A way to each part.
document.querySelectorAll("h2").forEach(function (head, number) {
	const link = document.createElement("a");
	head.id = "part" + number;
	link.href = "#" + head.id;
	link.textContent = head.textContent;
	document.querySelector("nav").append(link, " ");
});
field.addEventListener("input", search);
document.querySelectorAll("th").forEach(head => head.addEventListener("click", () => sortBy(head)));
document.querySelectorAll("#tree [data-name]").forEach(cell => cell.addEventListener("click", function () {
	field.value = cell.dataset.name;
	search();
	costs && costs.table.scrollIntoView();
}));
document.querySelector(".find").hidden = false;
search();
chooseFirst();
document.documentElement.setAttribute("data-ready", "yes");
