# SPDX-License-Identifier: Apache-2.0
"""Tests of report.html and reproduction.html in headless Chromium: nothing on the console, no
request, values under pointer and keyboard, tables that sort and download, contrast in both themes.

usage: page_check.py PROGRAM
"""
import csv
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from driver import Browser, missing

MODELS = "256m 590m 1p3b 2p7b 6p7b 13b 20b".split()
TAB, ENTER, ESCAPE, RIGHT, END = "\ue004", "\ue007", "\ue00c", "\ue014", "\ue010"

# Every text that is shown, with its contrast (WCAG 2.1, 1.4.3): the colour of the text against the
# first background behind it; pictures are inverted in the dark, which for greys is 255 - c.
CONTRAST = """
const rgb = text => text.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => [r, g, b].map(c => c / 255).map(
    c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const behind = element => {
    for (; element; element = element.parentElement) {
        const colour = rgb(getComputedStyle(element).backgroundColor);
        if (colour.length < 4 || colour[3] > 0) return colour;
    }
};
const bad = [];
let seen = 0;
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walk.nextNode()) {
    const element = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || !element.checkVisibility()) continue;
    if (element.closest('script, style, title')) continue;
    const style = getComputedStyle(element), svg = element.closest('svg');
    let colour = rgb(svg ? style.fill : style.color);
    if (svg && getComputedStyle(svg).filter.includes('invert')) colour = colour.map(c => 255 - c);
    const a = light(colour), b = light(behind(element));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    seen++;
    if (ratio < 4.5) bad.push(`${ratio.toFixed(2)}: ${element.textContent.slice(0, 40)}`);
}
return [seen, bad];
"""


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.mkdtemp(prefix="wsc_pages_")
        cls.sweep = cls.make("sweep", "scale", "--num_csx", "1,2,4,8,16,32,64", "--params", ",".join(
            f"configs/params/gpt3_{name}.yaml" for name in MODELS))
        cls.study = cls.make("study", "scale", "--params", "configs/params/gpt3_111m.yaml",
                             "--num_csx", "1,8", "--effects", "--sensitivity", "--tokens",
                             "20xparams", "--breakdown")
        cls.exhibits = cls.make("exhibits", "reproduce", "--only", "machines", page="reproduction")
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        shutil.rmtree(cls.work)

    @classmethod
    def make(cls, name, *words, page="report"):
        folder = os.path.join(cls.work, name)
        subprocess.run([sys.argv[1], *words, "--out", folder], check=True, capture_output=True)
        return f"{folder}/{page}.html"

    def setUp(self):
        self.browser.prefer("light")
        self.browser.width(1280)
        self.browser.open(self.sweep)

    def tip(self):
        return self.browser.run("const t = document.getElementById('tip');"
                                "return t.hidden ? null : t.textContent")

    def rows(self):
        """scaling.csv of the sweep."""
        with open(os.path.dirname(self.sweep) + "/scaling.csv", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_console_and_network_stay_silent(self):
        for page in (self.sweep, self.study, self.exhibits):
            self.browser.console()
            self.browser.open(page)
            for button in self.browser.find("button"):
                self.browser.run("arguments[0].click()", button)
            self.assertEqual(self.browser.console(), [], page)
            self.assertEqual(self.browser.run(
                "return performance.getEntriesByType('resource').length"), 0)

    def test_the_page_fetches_nothing_even_if_asked(self):
        self.browser.run("document.body.append(Object.assign(new Image(),"
                         "{src: 'http://127.0.0.1:9/x.png'}))")
        said = " ".join(entry["message"] for entry in self.browser.console())
        self.assertIn("Content Security Policy", said)

    def test_seven_models_are_less_than_a_megabyte(self):
        self.assertLess(os.path.getsize(self.sweep), 1 << 20)

    def test_every_point_of_the_curves_has_its_values(self):
        labels = self.browser.run("return [...document.querySelectorAll('.pt')]"
                                  ".map(p => p.getAttribute('aria-label'))")
        for row in self.rows():
            start = "%s on %s system%s: " % (row["model"], row["num_csx"],
                                             "s" * (row["num_csx"] != "1"))
            mine = [label for label in labels if label.startswith(start)]
            self.assertEqual(len(mine), 2, start)  # throughput and efficiency
            self.assertIn("efficiency %.2f %%" % (100 * float(row["efficiency"])), mine[0])

    def test_points_lie_where_their_values_are(self):
        """log(tokens/s) against the height on the screen is one straight line for all curves."""
        points = self.browser.run("return [...document.querySelectorAll('.pt')].map(p => "
                                  "[p.getAttribute('aria-label'), "
                                  "p.getBoundingClientRect().y, p.getBoundingClientRect().x])")
        half = [(label, y, x) for label, y, x in points if "published" not in label]
        place = {label.split(":")[0]: (y, x) for label, y, x in half[:len(half) // 2]}
        rows = [(float(row["tokens_per_s"]), place["%s on %s system%s" % (
            row["model"], row["num_csx"], "s" * (row["num_csx"] != "1"))]) for row in self.rows()]
        rows.sort()
        for (rate, (y, _)), (next_rate, (next_y, _)) in zip(rows, rows[1:]):
            self.assertTrue(next_y <= y + 0.5, (rate, next_rate))

    def test_values_show_under_the_pointer(self):
        point, part = self.browser.find(".pt")[3], self.browser.find(".bar span")[0]
        for mark in (point, part):
            self.browser.point_at(mark)
            label = self.browser.run("return arguments[0].getAttribute('aria-label')", mark)
            self.assertEqual(self.tip(), label)
            self.assertTrue(self.browser.run(
                "const t = document.getElementById('tip').getBoundingClientRect();"
                "return t.left >= 0 && t.right <= innerWidth && t.top >= 0"))
        self.browser.point_at(self.browser.find("h1")[0])
        self.assertIsNone(self.tip())

    def test_values_show_under_the_keyboard(self):
        self.browser.run("document.querySelector('#theme').focus()")
        for _ in range(40):
            self.browser.press(TAB)
            if self.browser.run("return document.activeElement.classList.contains('pt')"):
                break
        labels = [self.browser.run("return arguments[0].getAttribute('aria-label')", point)
                  for point in self.browser.find(".pt")]
        self.assertEqual(self.tip(), labels[0])
        self.browser.press(RIGHT)
        self.assertEqual(self.tip(), labels[1])
        self.browser.press(END)
        self.assertEqual(self.tip(), labels[-1])
        self.browser.press(ESCAPE)
        self.assertIsNone(self.tip())

    def column(self, table, title):
        return self.browser.run("""
            const [table, title] = arguments;
            const at = [...table.tHead.rows[0].cells].findIndex(c => c.textContent === title);
            return [...table.tBodies[0].rows].map(r => Number(r.cells[at].dataset.v))""",
                                table, title)

    def head(self, table, title):
        return self.browser.run("return [...arguments[0].tHead.querySelectorAll('button')]"
                                ".find(b => b.textContent === arguments[1])", table, title)

    def test_tables_sort_by_value(self):
        table = self.browser.find("table")[0]
        button = self.head(table, "64 systems")
        before = self.column(table, "64 systems")
        self.browser.click(button)
        self.assertEqual(self.column(table, "64 systems"), sorted(before))
        self.browser.run("arguments[0].focus()", button)
        self.browser.press(ENTER)
        self.assertEqual(self.column(table, "64 systems"), sorted(before, reverse=True))
        self.assertEqual(self.browser.run(
            "return arguments[0].parentElement.getAttribute('aria-sort')", button), "descending")
        self.browser.click(self.head(table, "parameters"))
        params = self.column(table, "parameters")
        self.assertEqual(params, sorted(params))
        self.assertNotEqual(params, sorted(params, key=str))  # texts would be in another order

    def test_tables_download_with_all_digits(self):
        button = self.browser.find("table + .act, .wide + .act")[1]  # of the first model
        for name in os.listdir(self.browser.folder):
            if name.endswith(".csv"):
                os.remove(os.path.join(self.browser.folder, name))
        self.browser.click(button)
        files = []
        for _ in range(100):
            files = [name for name in os.listdir(self.browser.folder) if name.endswith(".csv")]
            if files:
                break
            time.sleep(0.1)
        self.assertEqual(files, ["gpt3_256m.csv"])
        with open(os.path.join(self.browser.folder, files[0]), encoding="utf-8") as file:
            mine = list(csv.DictReader(file))
        rows = [row for row in self.rows() if row["model"] == "gpt3_256m"]
        self.assertEqual(len(mine), len(rows))
        for one, row in zip(mine, rows):
            self.assertEqual(float(one["tokens/s"]), float(row["tokens_per_s"]))
            self.assertEqual(float(one["energy/token"]), float(row["joules_per_token"]))
            self.assertEqual(one["systems"], row["num_csx"])
            self.assertAlmostEqual(float(one["efficiency (%)"]), 100 * float(row["efficiency"]), 9)
            self.assertNotIn("where the step goes", one)

    def test_text_has_contrast_in_both_themes(self):
        for page in (self.sweep, self.study, self.exhibits):
            self.browser.open(page)
            for scheme in ("light", "dark"):
                self.browser.prefer(scheme)
                seen, bad = self.browser.run(CONTRAST)
                self.assertGreater(seen, 50)
                self.assertEqual(bad, [], f"{page} {scheme}")

    def test_the_button_changes_the_theme(self):
        back = "return getComputedStyle(document.body).backgroundColor"
        light = self.browser.run(back)
        self.browser.click(self.browser.find("#theme")[0])
        dark = self.browser.run(back)
        self.assertNotEqual(light, dark)
        self.assertEqual(self.browser.run(CONTRAST)[1], [])
        self.browser.press(ENTER)
        self.assertEqual(self.browser.run(back), light)
        self.browser.open(self.sweep)
        self.browser.prefer("dark")
        self.assertEqual(self.browser.run(back), dark)
        self.browser.click(self.browser.find("#theme")[0])
        self.assertEqual(self.browser.run(back), light)

    def test_a_narrow_window_scrolls_tables_alone(self):
        self.browser.width(380)
        for page in (self.sweep, self.study, self.exhibits):
            self.browser.open(page)
            wide = self.browser.run("return document.documentElement.scrollWidth")
            self.assertLessEqual(wide, 380, page)


def main():
    absent = missing()
    if absent:
        print(f"skipped: browser: {absent} is not installed")
        return 0
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"browser: {result.testsRun - bad} passed, {bad} failed")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
