"""Opens a real report in headless Chromium: layout, contrast, sorting, filtering, and what it asks the network for.

Usage: html_browser_test.py PAGODA RUN [SCREENSHOTS]

PAGODA is the built program and RUN a folder of docs/results. Pictures of what was tested go to the folder
SCREENSHOTS, if it is given. Exit code 77 (skipped) where no Chromium is installed.
"""

import base64
import fcntl
import itertools
import json
import lzma
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PATIENCE = 60  # seconds for one answer; a loaded machine takes 10 to start it
TELEPHONE, DESK = 390, 1280
# A variant may be called anything, so one is called this. It is also too long for a telephone.
HOSTILE = "</td><script>hacked = 1</script><img src='https://example.com/x' onerror=\"hacked = 1\">" + "&_x" * 20
# The run is older than sweeps, but has the cases of two.
SWEEPS = [{"name": f"b{batch}_h32_kv8_s*_bs128_hd128_f16_decode", "axis": "context",
           "points": [{"case": f"b{batch}_h32_kv8_s{keys}_bs128_hd128_f16_decode", "value": keys} for keys in contexts]}
          for batch, contexts in ((1, (128, 4096, 6144, 8192, 16384)), (2, (4096, 8192)))]


def without(variant, lines):
    """The manifest or the records of a run as if this variant had never been in it."""
    kept = []
    for record in map(json.loads, lines.splitlines()):
        if record.get("variant") == variant:
            continue
        if "variants" in record:
            record["variants"].remove(variant)
        if "arms" in record:
            for key in ("arms", "checks"):
                record[key] = [x for x in record[key] if x["variant"] != variant]
            record["slot_order"] = list(range(len(record["arms"])))
        kept.append(json.dumps(record))
    return "\n".join(kept) + "\n"


class Browser:
    """A headless Chromium, driven by the DevTools protocol over two pipes."""

    def __init__(self, profile):
        to_child, self._out = os.pipe()
        self._in, from_child = os.pipe()
        # The child's ends become 3 and 4; above those, so that neither overwrites the other.
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (to_child, from_child)]
        os.close(to_child)
        os.close(from_child)
        arguments = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"]
        self._pid = os.posix_spawn(CHROMIUM, arguments, os.environ, setpgroup=0, file_actions=[
            (os.POSIX_SPAWN_DUP2, high[0], 3), (os.POSIX_SPAWN_DUP2, high[1], 4),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0), (os.POSIX_SPAWN_DUP2, 1, 2)])
        for fd in high:
            os.close(fd)
        self._unread = b""
        self._last_id = 0
        self._events = []
        self._session = None

    def connect(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(domain + ".enable")

    def close(self):
        self._session = None
        try:  # asked to, it ends its own processes
            self.call("Browser.close")
            while True:
                self._receive(time.monotonic() + PATIENCE)
        except (OSError, EOFError):
            pass
        try:
            os.killpg(self._pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(self._pid, 0)
        os.close(self._in)
        os.close(self._out)

    def _receive(self, deadline):
        while b"\0" not in self._unread:
            if not select.select([self._in], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("no answer from Chromium")
            data = os.read(self._in, 1 << 20)
            if not data:
                raise EOFError("Chromium has ended")
            self._unread += data
        message, self._unread = self._unread.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self._last_id += 1
        request = {"id": self._last_id, "method": method, "params": params}
        if self._session:
            request["sessionId"] = self._session
        os.write(self._out, json.dumps(request).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            message = self._receive(deadline)
            if message.get("id") == self._last_id:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self._events.append(message)

    def wait_for(self, method):
        deadline = time.monotonic() + PATIENCE
        while not any(event["method"] == method for event in self._events):
            self._events.append(self._receive(deadline))

    def open(self, url, width, scheme):
        """Loads the page; returns the events until it has loaded."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
                  mobile=width == TELEPHONE)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self._events = []
        self.call("Page.navigate", url=url)
        self.wait_for("Page.loadEventFired")
        return self._events

    def run(self, script):
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def press(self, key, text):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, text=text if kind == "keyDown" else "",
                      windowsVirtualKeyCode=13)

    def screenshot(self, file):
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(picture["data"]))


# Every visible text and mark whose colour has a contrast below 4.5 against what lies behind it (WCAG 2.1, 1.4.3).
POOR_CONTRAST = """(() => {
  const parse = (colour) => (colour.match(/[0-9.]+/g) || []).map(Number);
  const light = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => v / 255).map(
        (v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const e of document.querySelectorAll("body *")) {
    const text = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim() !== "");
    const mark = e.tagName === "use" && e.getAttribute("href") !== "#ground";
    if (!(text || mark) || e.closest("title, desc, script, style, option") || !e.checkVisibility()) continue;
    const style = getComputedStyle(e);
    const front = parse(e.tagName === "text" ? style.fill : style.color), back = behind(e);
    const [a, b] = [light(front), light(back)].sort();
    const contrast = (b + 0.05) / (a + 0.05);
    if (contrast < 4.5) poor.push(`${e.tagName} ${e.textContent.slice(0, 40)}: ${contrast.toFixed(2)}`);
  }
  return [...new Set(poor)];
})()"""

# Elements that reach beyond the right edge of the screen, other than within a box that scrolls by itself.
BEYOND_THE_EDGE = """[...document.querySelectorAll("body *")].filter((e) => !e.closest(".scroll, .shapes, desc, title")
    && e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.tagName + " " + e.className.toString())"""

# Labels of one picture that lie on each other.
OVERLAPS = """[...document.querySelectorAll("svg")].flatMap((svg) => {
  const labels = [...svg.querySelectorAll("text")].map((t) => [t.textContent, t.getBoundingClientRect()]);
  return labels.flatMap(([a, p], i) => labels.slice(i + 1).filter(([, q]) =>
      p.left < q.right && q.left < p.right && p.top < q.bottom && q.top < p.bottom).map(([b]) => `${a} on ${b}`));
})"""

COLUMN = """(title) => {
  const headers = [...document.querySelectorAll("#cases thead th")];
  const header = headers.find((h) => h.textContent.startsWith(title));
  const at = headers.indexOf(header);
  return {header, button: header.querySelector("button"),
          cells: [...document.querySelectorAll("#cases tbody tr")].map((row) => row.cells[at])};
}"""


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.addClassCleanup(cls._folder.cleanup)
        folder = pathlib.Path(cls._folder.name)
        records = lzma.decompress((RUN / "records.jsonl.xz").read_bytes()).decode()
        manifest = json.dumps(json.loads((RUN / "manifest.json").read_text(encoding="utf-8")) | {"sweeps": SWEEPS})
        cls.pages = {}
        crossing = tuple(without("spmd_paged_attention_highperf", text) for text in (manifest, records))
        for name, rename, texts in (("plain", "gather", (manifest, records)), ("hostile", HOSTILE, crossing)):
            run = folder / name
            run.mkdir()
            for file, text in zip(("manifest.json", "records.jsonl"), texts):
                (run / file).write_text(text.replace('"gather"', json.dumps(rename)), encoding="utf-8")
            page = folder / f"{name}.html"
            with page.open("wb") as out:
                subprocess.run([PAGODA, "report", run, "--format", "html"], stdout=out, check=True)
            cls.pages[name] = page
        cls.browser = Browser(folder / "profile")
        cls.addClassCleanup(cls.browser.close)
        cls.browser.connect()

    def open(self, name="plain", width=DESK, scheme="light"):
        return self.browser.open(self.pages[name].as_uri(), width, scheme)

    def test_fits_the_screen_and_is_readable(self):
        backgrounds = {"light": set(), "dark": set()}
        for look in itertools.product(self.pages, (TELEPHONE, DESK), backgrounds):
            name, width, scheme = look
            self.open(name, width, scheme)
            self.assertEqual(self.browser.run("innerWidth"), width, look)
            self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), width, look)
            self.assertEqual(self.browser.run(BEYOND_THE_EDGE), [], look)
            self.assertEqual(self.browser.run(OVERLAPS), [], look)
            self.assertEqual(self.browser.run(POOR_CONTRAST), [], look)
            backgrounds[scheme].add(self.browser.run("getComputedStyle(document.body).backgroundColor"))
            if SCREENSHOTS:
                self.browser.screenshot(SCREENSHOTS / f"{name}-{width}-{scheme}.png")
        self.assertEqual(backgrounds["light"] & backgrounds["dark"], set())

    def test_asks_for_nothing_and_complains_of_nothing(self):
        for name in self.pages:
            events = self.open(name)
            self.browser.run("1")
            requests = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
            self.assertEqual(requests, [self.pages[name].as_uri()])
            complaints = [e for e in events if e["method"] in ("Log.entryAdded", "Runtime.exceptionThrown",
                                                               "Runtime.consoleAPICalled")]
            self.assertEqual(complaints, [])
            self.assertFalse(self.browser.run("'hacked' in window"))
            self.assertEqual(self.browser.run("document.querySelectorAll('img, script').length"), 1)

    def column(self, title, expression):
        return self.browser.run(f"(({COLUMN})({json.dumps(title)})).{expression}")

    def test_sorts_by_the_column_that_is_pressed(self):
        self.open()
        read = "cells.map((c) => c.dataset.sort === undefined ? null : Number(c.dataset.sort))"
        before = self.column("device", read)
        self.column("device", "button.click()")
        self.assertEqual(self.column("device", read), sorted(before))
        self.assertNotEqual(before, sorted(before))
        self.assertEqual(self.column("device", "header.getAttribute('aria-sort')"), "ascending")
        self.column("device", "button.click()")
        self.assertEqual(self.column("device", read), sorted(before, reverse=True))
        self.assertEqual(self.column("device", "header.getAttribute('aria-sort')"), "descending")

        self.column("speedup", "button.click()")
        speedups = self.column("speedup", read)
        known = [s for s in speedups if s is not None]
        self.assertEqual(speedups, sorted(known) + [None] * (len(speedups) - len(known)), "empty cells are last")
        self.assertIsNone(self.column("device", "header.getAttribute('aria-sort')"))

    def test_sorts_by_keyboard(self):
        self.open()
        self.column("variant", "button.focus()")
        self.browser.press("Enter", "\r")
        labels = self.column("variant", "cells.map((c) => c.textContent)")
        self.assertEqual(labels, sorted(labels))
        self.assertEqual(self.column("variant", "header.getAttribute('aria-sort')"), "ascending")

    def filtered(self, text, verdict):
        self.browser.run(f"""(() => {{
          const form = document.getElementById("filter").elements;
          form.text.value = {json.dumps(text)};
          form.verdict.value = {json.dumps(verdict)};
          form.text.dispatchEvent(new Event("input", {{bubbles: true}}));
        }})()""")
        return self.browser.run("""[...document.querySelectorAll("#cases tbody tr")].filter((row) =>
            row.getBoundingClientRect().height > 0).map((row) => [row.textContent, row.dataset.verdict])""")

    def test_filters_by_text_and_verdict(self):
        self.open()
        every = self.filtered("", "")
        wins = self.filtered("", "WIN")
        self.assertEqual(wins, [row for row in every if row[1] == "WIN"])
        self.assertTrue(0 < len(wins) < len(every))
        named = self.filtered("HIGHPERF", "WIN")
        self.assertEqual(named, [row for row in wins if "highperf" in row[0]])
        self.assertTrue(0 < len(named) < len(wins))
        self.assertEqual(self.browser.run("document.querySelector('output').value"),
                         f"{len(named)} of {len(every)} rows")
        self.assertEqual(self.filtered("nothing is called this", ""), [])
        self.assertEqual(self.filtered("", ""), every)


if __name__ == "__main__":
    if CHROMIUM is None:
        print("skipped: no chromium is installed (scripts/packages/check.txt)")
        sys.exit(77)
    PAGODA, RUN = sys.argv[1], pathlib.Path(sys.argv[2])
    SCREENSHOTS = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
    unittest.main(argv=sys.argv[:1])
