// Makes pictures of the page at a link: node pictures.mjs LINK FOLDER [all]
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "@playwright/test";

const documented = [["floor", "floor"], ["why", "why"], ["time", "time"], ["health", "health"]];
const screens = [...documented, ["group", "groups"], ["room", "room"], ["pace", "pace"]];
const colourings = ["Use", "Health", "Reserved", "Fragmentation"];
const desk = { name: "", width: 1280, height: 800 }, wall = { name: "-wall", width: 2560, height: 1440 };
const [link, folder, all] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: desk });
await page.goto(link);
await page.locator("canvas[data-painted]").waitFor();
await page.waitForTimeout(4000); // until pods have their nodes
const take = async (name) => {
  await page.waitForTimeout(500); // for its last frame
  await page.screenshot({ path: join(folder, `dashboard-${name}.png`) });
};
const colourBy = (name) => page.getByRole("button", { name, exact: true }).click();
for (const size of all ? [desk, wall] : [desk]) {
  await page.setViewportSize(size);
  for (const scheme of all ? ["light", "dark"] : ["light"]) {
    await page.emulateMedia({ colorScheme: scheme });
    const ending = `${size.name}${scheme === "dark" ? "-dark" : ""}`;
    for (const [screen, name] of all ? screens : documented) {
      await page.evaluate((hash) => { location.hash = hash; }, `#/${screen}`);
      await page.waitForTimeout(1500); // for its data
      if (screen === "floor") await colourBy("Owner");
      await take(name + ending);
      for (const colouring of all && screen === "floor" ? colourings : []) {
        await colourBy(colouring);
        await take(`floor-${colouring.toLowerCase()}${ending}`);
      }
    }
  }
}
await browser.close();
