# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Controls a Chromium without a screen over a pipe (--remote-debugging-pipe)."""

import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import time

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
TIMEOUT_S = 120  # for a page of megabytes on a busy machine

# Visible text, its colour's contrast with the background (WCAG 2), and its size.
LEGIBILITY = """(() => {
	const parse = text => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return [r, g, b, a]; };
	const over = (top, under) => top.slice(0, 3).map((c, i) => c * top[3] + under[i] * (1 - top[3]));
	const part = c => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
	const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
	function ground(element) {
		const grounds = [];
		for (; element; element = element.parentElement)
			grounds.push(parse(getComputedStyle(element).backgroundColor));
		return grounds.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
	}
	function judge(element, colour, size, text) {
		const under = ground(element), a = light(over(parse(colour), under)), b = light(under);
		return [text.trim().slice(0, 40), (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), size];
	}
	const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walk.nextNode()) {
		const element = walk.currentNode.parentElement, style = getComputedStyle(element);
		if (!walk.currentNode.data.trim() || !element.getClientRects().length || style.visibility !== "visible")
			continue;
		const svg = element.ownerSVGElement, scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
		found.push(judge(element, svg ? style.fill : style.color, parseFloat(style.fontSize) * scale, walk.currentNode.data));
	}
	for (const field of document.querySelectorAll("input"))
		found.push(judge(field, getComputedStyle(field, "::placeholder").color, parseFloat(getComputedStyle(field).fontSize), field.placeholder));
	return found;
})()"""

# Elements that stick out at the right of the page. (A phone's innerWidth would grow with them.)
TOO_WIDE = """(() => {
	const width = document.documentElement.clientWidth;
	const wide = Array.from(document.body.querySelectorAll("*"))
		.filter(element => element.getBoundingClientRect().right > width + 0.5)
		.map(element => element.tagName + " " + element.textContent.trim().slice(0, 60));
	return document.documentElement.scrollWidth > width ? ["the page", ...wide] : wide;
})()"""


# Numbers that are broken over two lines.
BROKEN = """(() => {
	const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walk.nextNode()) {
		const range = document.createRange();
		range.selectNodeContents(walk.currentNode);
		if (/^[0-9.,]+$/.test(walk.currentNode.data) && range.getClientRects().length > 1)
			found.push(walk.currentNode.data);
	}
	return found;
})()"""


# Text that overlaps other text, or a switch of the tree.
OVERLAPS = """(() => {
	const boxes = [], found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walk.nextNode()) {
		const element = walk.currentNode.parentElement, folded = element.closest("details:not([open])");
		if (!walk.currentNode.data.trim() || !element.getClientRects().length || (folded && !element.closest("summary")) ||
			getComputedStyle(element).visibility !== "visible" || element.closest(".find"))
			continue;
		const range = document.createRange();
		range.selectNodeContents(walk.currentNode);
		for (const box of range.getClientRects())
			boxes.push([box, walk.currentNode.data.trim().slice(0, 40)]);
	}
	const texts = boxes.length;
	for (const part of document.querySelectorAll(".wires rect"))
		boxes.push([part.getBoundingClientRect(), part.dataset.name]);
	for (let i = 0; i < texts; i++)
		for (let j = i + 1; j < boxes.length; j++) {
			const [a, b] = [boxes[i][0], boxes[j][0]];
			if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4)
				found.push(boxes[i][1] + " / " + boxes[j][1]);
		}
	return found;
})()"""

# Luminance of each colour in the key of heat maps, as displayed.
STEPS = """(() => {
	const parse = text => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return [r, g, b, a]; };
	const part = c => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
	const under = parse(getComputedStyle(document.body).backgroundColor);
	return Array.from(document.querySelectorAll(".key i.step"), step => {
		const top = parse(getComputedStyle(step).backgroundColor);
		const [r, g, b] = under.slice(0, 3).map((c, i) => part(top[i] * top[3] + c * (1 - top[3])));
		return [step.className.replace("step ", ""), 0.2126 * r + 0.7152 * g + 0.0722 * b];
	});
})()"""


class BrowserError(Exception):
    """Chromium reports an error, or does not answer."""


class Browser:
    """One page at a time. A context manager."""

    def __init__(self, folder):
        self.folder, self.last, self.buffer, self.events = folder, 0, b"", []

    def __enter__(self):
        to_read, self.to_write = os.pipe()
        self.to_read, to_write = os.pipe()
        # Chromium wants 3 and 4, which may be any of these four.
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (to_read, to_write)]
        os.close(to_read)
        os.close(to_write)

        def give():
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
             "--remote-debugging-pipe", f"--user-data-dir={self.folder / 'profile'}",
             "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=give, close_fds=False)
        for fd in high:
            os.close(fd)
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *exc_info):
        for fd in (self.to_write, self.to_read):
            os.close(fd)
        try:
            self.process.wait(10)  # Chromium ends when the pipe is closed
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def receive(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.to_read], [], [], max(deadline - time.monotonic(), 0))
            data = os.read(self.to_read, 1 << 20) if ready else b""
            if not data:
                raise BrowserError("no answer" if not ready else "chromium has ended")
            self.buffer += data
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def call(self, method, **params):
        """The result of a command; events meanwhile are kept."""
        self.last += 1
        message = {"id": self.last, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = memoryview(json.dumps(message).encode() + b"\0")
        while data:
            data = data[os.write(self.to_write, data):]
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method):
        deadline = time.monotonic() + TIMEOUT_S
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.receive(deadline))

    def happened(self, *methods):
        return [event for event in self.events if event.get("method") in methods]

    # ------------------------------------------------------------------ a page

    def open(self, path, width=1280, dark=False):
        """Opens a page, and waits until it is loaded and its script has run."""
        self.look(width, dark)
        self.events.clear()
        self.call("Page.navigate", url=pathlib.Path(path).as_uri())
        self.wait_for("Page.loadEventFired")

    def look(self, width=1280, dark=False, media="", height=1000):
        """Sets the view: a screen or paper (media "print") of a width in CSS pixels."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 500)
        self.call("Emulation.setEmulatedMedia", media=media, features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def run(self, script):
        """The value of an expression in the page."""
        done = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in done:
            raise BrowserError(done["exceptionDetails"]["exception"]["description"])
        return done["result"].get("value")

    def errors(self):
        """Errors of scripts, or of the page's policy."""
        return [event["params"] for event in self.happened(
            "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")]

    def requests(self):
        """Addresses that the page requested, itself among them."""
        return [event["params"]["request"]["url"]
                for event in self.happened("Network.requestWillBeSent")]

    def shoot(self, path, most=6000):
        """The whole page, or its beginning, as a PNG."""
        size = self.run("[innerWidth, document.documentElement.scrollHeight]")
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip={
            "x": 0, "y": 0, "width": size[0], "height": min(size[1], most), "scale": 1})
        path.write_bytes(base64.b64decode(shot["data"]))
