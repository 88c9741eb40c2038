# SPDX-License-Identifier: Apache-2.0
"""Pictures of a page of the program (report.html, reproduction.html) in headless Chromium: light,
dark, in a narrow window, and with the value of a point.

usage: screenshots.py PAGE FOLDER [whole]      whole: the whole page instead of its first screen
"""
import os
import sys

from driver import Browser, missing


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    if missing():
        sys.exit(f"{missing()} is not installed")
    page, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
    os.makedirs(folder, exist_ok=True)
    browser = Browser()
    try:
        for name, scheme, width in (("light", "light", 1280), ("dark", "dark", 1280),
                                    ("narrow", "light", 400)):
            browser.prefer(scheme)
            browser.width(width)
            browser.open(page)
            browser.screenshot(os.path.join(folder, name + ".png"), len(sys.argv) > 3)
        browser.width(1280)
        browser.open(page)
        points = browser.find(".pt")
        if points:
            browser.point_at(points[-1])
            browser.screenshot(os.path.join(folder, "hover.png"))
    finally:
        browser.close()


if __name__ == "__main__":
    main()
