"use strict";
// Failures that are not in the page's first rows: [[kind, costs, [name or [name, cut off, all]]]].
const packed = JSON.parse(document.getElementById("failures").textContent);
const MORE = 50;
const field = document.getElementById("field"), told = document.getElementById("told");
const worst = document.getElementById("worst"), more = document.getElementById("more");
const heads = worst ? Array.from(worst.tHead.rows[0].cells, cell => cell.textContent) : [];
const first = worst ? worst.tBodies[0] : null, found = worst ? worst.tBodies[1] : null;
const shown = new Set(first ? Array.from(first.rows, row => keyOf(row.cells[0].textContent, row.cells[1].textContent)) : []);
let words = [], limit = 0;

function keyOf(name, kind) { return kind + "\n" + name; }

// All words, anywhere in the text.
function matches(text) {
	const low = text.toLowerCase();
	return words.every(word => low.includes(word));
}

function* failures() {
	for (const [kind, costs, names] of packed)
		for (const one of names) {
			const [name, cut, all] = Array.isArray(one) ? one : [one, kind === "host" ? "itself" : "0", ""];
			if (words.length ? matches(name + " " + kind + " " + all) : !shown.has(keyOf(name, kind)))
				yield [name, kind, cut, ...costs];
		}
}

function addRow(cells) {
	const row = found.insertRow();
	cells.forEach(function (text, column) {
		const cell = row.insertCell();
		cell.textContent = text;
		cell.dataset.head = heads[column];
		cell.className = column < 3 ? "text" : "";
	});
}

// The worst failures that match, up to the limit; their names.
function list() {
	const names = [];
	let number = 0;
	found.replaceChildren();
	first.classList.toggle("hidden", words.length > 0);
	for (const cells of failures())
		if (number++ < limit) {
			addRow(cells);
			names.push(cells[0]);
		}
	more.hidden = number <= limit;
	more.textContent = "Show more (" + (number - Math.min(number, limit)).toLocaleString("en") + ")";
	told.textContent = words.length ? number.toLocaleString("en") + " failures match" : "";
	return names;
}

// In the tree: parts with that name, and with listed cables.
function mark(names) {
	const tree = document.getElementById("tree");
	if (!tree)
		return;
	const listed = new Set(names.flatMap(name => name.split(/\[[0-9]+\]-?|, /)));
	tree.classList.toggle("searching", words.length > 0);
	tree.querySelectorAll("[data-name]").forEach(cell =>
		cell.classList.toggle("hit", words.length > 0 && (matches(cell.dataset.name) || listed.has(cell.dataset.name))));
}

function search() {
	words = field.value.toLowerCase().split(/\s+/).filter(word => word);
	limit = words.length ? MORE : 0;
	document.querySelectorAll("table:not(#worst) > tbody > tr").forEach(row =>
		row.classList.toggle("hidden", !matches(row.textContent)));
	mark(worst ? list() : []);
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
	worst && worst.scrollIntoView();
}));
if (more)
	more.addEventListener("click", function () {
		limit += MORE;
		mark(list());
	});
document.querySelector(".find").hidden = false;
search();
document.documentElement.setAttribute("data-ready", "yes");
