# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven through chromedriver's HTTP protocol (W3C WebDriver) without further
modules.  Used by page_check.py and screenshots.py."""
import base64
import json
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # W3C WebDriver, section 12
# As root Chromium needs --no-sandbox; the rest keeps it from looking for its maker's hosts.
ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-background-networking", "--disable-component-update",
             "--disable-sync", "--disable-quic", "--hide-scrollbars"]


def missing():
    """The first program that is not installed, or None."""
    for name in ("chromedriver", "chromium"):
        if shutil.which(name) is None:
            return name
    return None


class Browser:
    """One session; close() ends the browser and the driver."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="wsc_browser_")
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True)
        self.base = None
        for line in self.driver.stdout:
            found = re.search(r"successfully on port (\d+)", line)
            if found:
                self.base = f"http://127.0.0.1:{found.group(1)}"
                break
        if self.base is None:
            raise RuntimeError("chromedriver does not start")
        options = {"args": ARGUMENTS + [f"--user-data-dir={self.folder}/profile"],
                   "binary": shutil.which("chromium")}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options,
                  "goog:loggingPrefs": {"browser": "ALL"}}
        try:
            made = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        except Exception:
            self.close()
            raise
        self.base += "/session/" + made["sessionId"]
        self.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=self.folder)

    def close(self):
        """End the browser and remove its folder."""
        if "/session/" in (self.base or ""):
            self.call("DELETE", "")
        self.driver.terminate()
        self.driver.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method, path, body=None):
        """One request; its value."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise RuntimeError(f"{path}: {value['error']}: {value['message'][:400]}") from error

    def cdp(self, command, **params):
        """A command of Chromium's own protocol."""
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def open(self, path):
        """Show a local file."""
        self.call("POST", "/url", {"url": "file://" + path})

    def run(self, script, *arguments):
        """A function body in the page; its result."""
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, css):
        """All elements that a selector names."""
        return self.call("POST", "/elements", {"using": "css selector", "value": css})

    def click(self, element):
        """As a user: scrolls to it, and fails when something covers it."""
        self.call("POST", f"/element/{element[ELEMENT]}/click", {})

    def point_at(self, element):
        """Move the pointer over an element."""
        self.run("arguments[0].scrollIntoView({block: 'center'})", element)
        move = {"type": "pointerMove", "duration": 0, "origin": element, "x": 0, "y": 0}
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse",
                                                    "actions": [move]}]})

    def press(self, key):
        """A key by its WebDriver code."""
        keys = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys",
                                                    "actions": keys}]})

    def prefer(self, scheme):
        """The colour scheme of the system: light or dark."""
        self.cdp("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": scheme}])

    def width(self, pixels, height=900):
        """Size of the page's window."""
        self.cdp("Emulation.setDeviceMetricsOverride", width=pixels, height=height,
                 deviceScaleFactor=1, mobile=False)

    def console(self):
        """What the console has since the last call."""
        return self.call("POST", "/se/log", {"type": "browser"})

    def screenshot(self, path, whole=False):
        """A PNG of the window, or of the whole page."""
        shot = self.cdp("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot))
