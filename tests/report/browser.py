# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium through the DevTools protocol over a pipe, with Python's standard library alone."""
import base64
import json
import os
import subprocess
import tempfile


class Browser:
    """A browser with one page. `problems` are exceptions of scripts; `requests` the addresses that were loaded."""

    def __init__(self, program):
        # Chromium's children may still write while they end.
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self.to_write = os.pipe()
        self.to_hear, to_say = os.pipe()

        def place():
            os.dup2(to_read, 13)
            os.dup2(to_say, 14)
            os.dup2(13, 3)
            os.dup2(14, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--user-data-dir=" + self.folder.name, "--remote-debugging-pipe", "about:blank"],
            preexec_fn=place, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_say)
        self.waiting, self.number, self.session = b"", 0, None
        self.problems, self.requests, self.loaded = [], [], False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.call(domain + ".enable")

    def hear(self):
        while b"\0" not in self.waiting:
            heard = os.read(self.to_hear, 1 << 20)
            if not heard:
                raise RuntimeError("the browser ended")
            self.waiting += heard
        text, self.waiting = self.waiting.split(b"\0", 1)
        message = json.loads(text)
        method = message.get("method")
        if method == "Runtime.exceptionThrown":
            self.problems.append(message["params"]["exceptionDetails"]["exception"].get("description"))
        elif method == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loaded = True
        return message

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.hear()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError("%s: %s" % (method, answer["error"]))
                return answer["result"]

    def go(self, address):
        self.loaded, self.requests = False, []
        self.call("Page.navigate", url=address)
        while not self.loaded:
            self.hear()

    def open(self, address):
        self.go("about:blank")  # or an address that differs after "#" alone would load nothing
        self.go(address)

    def window(self, width, height, dark=False, media=""):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def evaluate(self, expression):
        """The value of an expression; of a promise, what it brings."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError("%s: %s" % (expression, result["exceptionDetails"]))
        return result["result"].get("value")

    def mouse(self, kind, x, y):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="none" if kind == "mouseMoved" else "left",
                  clickCount=0 if kind == "mouseMoved" else 1)

    def middle(self, expression):
        """The middle of an element, which is scrolled into view."""
        return self.evaluate("(() => { const e = %s; e.scrollIntoView({block: 'center'}); const b = "
                             "e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()" % expression)

    def click(self, expression):
        x, y = self.middle(expression)
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.mouse(kind, x, y)

    def key(self, name):
        typed = {"text": "\r", "windowsVirtualKeyCode": 13} if name == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, **typed)

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def print(self):
        """The page as PDF."""
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)["data"])

    def close(self):
        os.close(self.to_write)
        self.process.terminate()
        self.process.wait(30)
        self.folder.cleanup()
