// Makes pictures of the page at a link: node pictures.mjs LINK FOLDER [all]
import { join } from "node:path";
import { chromium } from "@playwright/test";

const documented = [["floor", "floor"], ["why", "why"], ["time", "time"]];
const screens = [...documented, ["group", "groups"], ["room", "room"], ["health", "health"], ["pace", "pace"]];
const [link, folder, all] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
await page.goto(link);
await page.locator("canvas[data-painted]").waitFor();
await page.waitForTimeout(4000); // until pods have their nodes
for (const scheme of all ? ["light", "dark"] : ["light"]) {
  await page.emulateMedia({ colorScheme: scheme });
  for (const [screen, name] of all ? screens : documented) {
    await page.evaluate((hash) => { location.hash = hash; }, `#/${screen}`);
    await page.waitForTimeout(1500); // for its data
    if (screen === "floor") await page.getByRole("button", { name: "Owner" }).click();
    await page.waitForTimeout(500);
    await page.screenshot({ path: join(folder, `dashboard-${name}${scheme === "dark" ? "-dark" : ""}.png`) });
  }
}
await browser.close();
