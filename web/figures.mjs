// Figures of the page at a link, as one JSON line: node figures.mjs LINK
// The page is driven as a reader drives it; times are those of the browser.
import { createInterface } from "node:readline";
import { chromium } from "@playwright/test";

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
await page.addInitScript(() => {
  const seen = { picture: 0, frames: [], work: [] };
  window.figures = seen;
  new MutationObserver((_, observer) => {
    if (!document.querySelector("canvas[data-painted]")) return;
    seen.picture = performance.now();
    observer.disconnect();
  }).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-painted"] });
  const ask = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = (draw) => ask((now) => {
    const began = performance.now();
    draw(now);
    seen.frames.push(now);
    seen.work.push(performance.now() - began);
  });
});
await page.goto(process.argv[2]);
await page.waitForFunction(() => window.figures.picture > 0);
const first = await page.evaluate(() => window.figures.picture);
await page.reload();
await page.waitForFunction(() => window.figures.picture > 0);
const again = await page.evaluate(() => window.figures.picture);
await page.waitForTimeout(2000);

await page.evaluate(() => { window.figures.frames = []; window.figures.work = []; });
const box = await page.locator("canvas").boundingBox();
await page.mouse.move(box.x + 300, box.y + 200);
await page.mouse.down();
for (let step = 0; step < 120; ++step) await page.mouse.move(box.x + 300 + step * 2, box.y + 200 + (step % 7) * 3);
await page.mouse.up();
const { frames, work } = await page.evaluate(() => window.figures);
const middle = (values, part = 0.5) => values.toSorted((a, b) => a - b)[Math.floor(values.length * part)];

const session = await page.context().newCDPSession(page);
await session.send("HeapProfiler.collectGarbage");
await session.send("Performance.enable");
const { metrics } = await session.send("Performance.getMetrics");
const heap = metrics.find((row) => row.name === "JSHeapUsedSize").value;
console.log(JSON.stringify({ first, again, frames: work.length, frame: middle(work), frameWorst: middle(work, 0.95),
  interval: middle(frames.slice(1).map((time, i) => time - frames[i])), heap }));

// Then, for every line on stdin, when the tile of used devices next changes, in milliseconds since 1970.
for await (const _ of createInterface({ input: process.stdin })) {
  const changed = page.evaluate(() => new Promise((done) => {
    new MutationObserver((_, observer) => { observer.disconnect(); done(Date.now()); })
      .observe(document.querySelector(".tile-used"), { subtree: true, childList: true, characterData: true });
  }));
  await page.evaluate(() => 0); // the observer is there
  console.log(JSON.stringify({ ready: true }));
  console.log(JSON.stringify({ changed: await changed }));
}
await browser.close();
