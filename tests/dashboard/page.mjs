// The page in Chromium against a `berth up` with three nodes; one JSON line a case: {"name","problem"}.
// CASES is "all", or "restarted" for a process that took up the data of the one before.
// API, CA, CERT and KEY say where the API server is and who asks; LINK is the link that `up` printed. With
// UPDATE_PICTURES the pictures beside this file are replaced by what is seen.
import { readFileSync, writeFileSync } from "node:fs";
import https from "node:https";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const require = createRequire(fileURLToPath(new URL("../../web/package.json", import.meta.url)));
const { chromium, expect } = require("@playwright/test");
const axe = require("axe-core").source;
const { API, CA, CERT, KEY, LINK, CASES, UPDATE_PICTURES } = process.env;
const screens = ["floor", "why", "group", "time", "room", "health", "pace"];

function call(method, path, body) {
  return new Promise((done, failed) => {
    const options = { method, ca: CA, cert: CERT, key: KEY, headers: { "Content-Type": "application/json" } };
    const request = https.request(API + path, options, (answer) => {
      let text = "";
      answer.on("data", (part) => { text += part; });
      if (answer.statusCode === 303) return done(answer.headers.location);
      answer.on("end", () => (answer.statusCode < 300 ? done(text) : failed(new Error(`${method} ${path}: ${text}`))));
    });
    request.on("error", failed);
    request.end(body && JSON.stringify(body));
  });
}
const pod = (name, cpu, more = {}) => ({
  apiVersion: "v1", kind: "Pod", metadata: { name },
  spec: { containers: [{ name: "c", image: "i", resources: { requests: { cpu } } }], ...more },
});
const pods = "/api/v1/namespaces/default/pods";

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
const page = await context.newPage();
const complaints = [];
page.on("console", (message) => { if (message.type() === "error") complaints.push(message.text()); });
page.on("pageerror", (error) => complaints.push(error.message));
const show = (screen) => page.evaluate((name) => { location.hash = `#/${name}`; }, screen);

// The names on the map look a little different with other fonts. A cell that is filled differs by more.
const differentMax = 0.001, channelTolerance = 48;

// The part of pixels that differ between the map and the picture of this name; 1: another size.
async function differenceTo(name) {
  const file = new URL(`${name}.png`, import.meta.url), seen = await page.locator(".map").screenshot();
  if (UPDATE_PICTURES) writeFileSync(file, seen);
  const judge = await context.newPage();
  const urls = [seen, readFileSync(file)].map((bytes) => `data:image/png;base64,${bytes.toString("base64")}`);
  const part = await judge.evaluate(async ([urls, tolerance]) => {
    const [a, b] = await Promise.all(urls.map(async (url) => {
      const image = new Image();
      image.src = url;
      await image.decode();
      const canvas = new OffscreenCanvas(image.width, image.height), drawing = canvas.getContext("2d");
      drawing.drawImage(image, 0, 0);
      return drawing.getImageData(0, 0, image.width, image.height);
    }));
    if (a.width !== b.width || a.height !== b.height) return 1;
    let different = 0;
    for (let at = 0; at < a.data.length; at += 4)
      if ([0, 1, 2].some((channel) => Math.abs(a.data[at + channel] - b.data[at + channel]) > tolerance)) ++different;
    return different / (a.width * a.height);
  }, [urls, channelTolerance]);
  await judge.close();
  return part;
}

const slider = () => page.getByRole("slider", { name: "Instant" });
async function oldest() {
  await show("time");
  await slider().focus();
  await page.keyboard.press("Home");
}
// Goes on from change to change until the change says this.
async function findChange(text) {
  for (let step = 0; step < 100; ++step) {
    const [shown] = await Promise.all([
      page.waitForResponse((answer) => answer.url().includes("/history/moment")),
      page.getByRole("button", { name: "Change after" }).click(),
    ]);
    const moment = await shown.json();
    if (JSON.stringify(moment.step.changes).includes(text)) return;
    await expect(page.getByRole("button", { name: "Change after" })).toBeEnabled();
  }
  throw new Error(`no change says ${text}`);
}

const all = {
  "the link opens the floor, and its code is no longer in the address": async () => {
    await page.goto(LINK);
    await expect(page.locator(".foot")).toContainText("3 nodes");
    expect(page.url()).not.toContain("code=");
  },
  "a code that was used opens nothing": async () => {
    const other = await browser.newContext();
    const stranger = await other.newPage();
    await stranger.goto(LINK);
    await expect(stranger.getByText("this link was used already")).toBeVisible();
    await other.close();
  },
  "the API server leads its users to the page": async () => {
    const other = await browser.newContext();
    const colleague = await other.newPage();
    await colleague.goto(await call("GET", "/ui/"));
    await expect(colleague.locator(".foot")).toContainText("3 nodes");
    await other.close();
  },
  "the floor looks as in its pictures, light and dark": async () => {
    await expect(page.locator(".tile-ill dd")).toHaveText("0");
    for (const colorScheme of ["dark", "light"]) {
      await page.emulateMedia({ colorScheme });
      await expect.poll(() => differenceTo(`floor-${colorScheme}`)).toBeLessThan(differentMax);
    }
  },
  "the table shows what the map shows": async () => {
    await page.getByRole("button", { name: "Table" }).click();
    await expect(page.getByRole("rowheader", { name: "node-2" })).toBeVisible();
    await page.getByRole("button", { name: "node-2" }).press("Enter");
    const device = page.getByRole("complementary", { name: "Selected device" });
    await expect(device).toBeFocused();
    await expect(device.getByRole("heading")).toHaveText("node-2");
    await page.keyboard.press("Escape");
    await expect(device).toHaveCount(0);
    await expect(page.getByRole("button", { name: "node-2" })).toBeFocused();
    await page.getByRole("button", { name: "Map", exact: true }).click();
  },
  "the floor is read again where that failed": async () => {
    const before = complaints.length;
    let failed = 0;
    await page.route("**/floor/cells", (route) => (failed++ === 0 ? route.fulfill({ status: 503, body: "{}" }) : route.continue()));
    await page.reload();
    await expect.poll(() => failed).toBeGreaterThan(1);
    await expect(page.locator(".foot")).toContainText("3 nodes");
    await page.unroute("**/floor/cells");
    complaints.length = before; // the browser complains of the 503
  },
  "a pod that runs has its node": async () => {
    await call("POST", pods, pod("small", "1"));
    await expect(page.locator(".tile-used dd")).toHaveText("1");
  },
  "a pod that waits is explained, with what would help": async () => {
    await call("POST", pods, pod("huge", "100"));
    await show("why");
    await page.getByRole("link", { name: "default/huge" }).click();
    await expect(page.locator(".sentence")).toContainText("pod default/huge waits");
    await expect(page.getByRole("cell", { name: "Insufficient cpu" })).toBeVisible();
    await expect(page.getByRole("button", { name: "node-1, node-2, node-3" })).toBeVisible();
    await expect(page.getByText("Remedies are being tried")).toHaveCount(0);
  },
  "a pod whose claim nobody made has the nearest name": async () => {
    const claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
    await call("POST", claims, { apiVersion: "resource.k8s.io/v1", kind: "ResourceClaim", metadata: { name: "shared-gpu" }, spec: {} });
    await call("POST", pods, pod("lost", "1", { resourceClaims: [{ name: "gpu", resourceClaimName: "share-gpu" }] }));
    await show("why/Pod/default/lost");
    await expect(page.getByText("ResourceClaim share-gpu, which does not exist (nearest: shared-gpu)")).toBeVisible();
    await call("DELETE", `${pods}/lost`);
    const remedies = page.waitForResponse((response) => response.url().includes("huge?what-if"));
    await show("why/Pod/default/huge");
    await remedies;
  },
  "a new decision reads the record again and does not try remedies again": async () => {
    const asked = [];
    const note = (request) => { if (request.url().includes("/explain/")) asked.push(request.url()); };
    let decisions = 0;
    page.on("request", note);
    await page.route("**/waiting", async (route) => {
      const answer = await route.fetch(), body = await answer.json();
      ++decisions;
      for (const entry of body.entries) entry.decided = `decision ${decisions}`;
      await route.fulfill({ response: answer, json: body });
    });
    for (const number of [1, 2]) {
      await call("POST", pods, pod(`other-${number}`, "1"));
      await expect.poll(() => asked.length).toBeGreaterThanOrEqual(number);
    }
    await page.unroute("**/waiting");
    page.off("request", note);
    expect(asked.filter((url) => url.includes("what-if"))).toEqual([]);
  },
  "a gang shows its members": async () => {
    await call("POST", "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups", {
      apiVersion: "scheduling.k8s.io/v1beta1", kind: "PodGroup", metadata: { name: "gang" },
      spec: { schedulingPolicy: { gang: { minCount: 2 } } },
    });
    for (const name of ["gang-0", "gang-1"])
      await call("POST", pods, pod(name, "1", { schedulingGroup: { podGroupName: "gang" } }));
    await show("group/PodGroup/default/gang");
    await expect(page.getByRole("rowheader", { name: "gang-1" })).toBeVisible();
    await expect(page.locator(".list")).toContainText("2 of 2");
    await page.getByRole("link", { name: "gang-1" }).click();
    for (const step of ["created", "decided", "bound"]) await expect(page.getByRole("rowheader", { name: step, exact: true })).toBeVisible();
    await page.getByRole("link", { name: "gang", exact: true }).click();
    await expect(page.getByRole("rowheader", { name: "gang-0" })).toBeVisible();
  },
  "the pace has the writes of the pods that were bound": async () => {
    await show("pace");
    await expect(page.locator(".card").filter({ hasText: "Writes a second" })).toContainText("for each pod that was bound");
    await page.getByRole("button", { name: "Table" }).click();
    await expect(page.getByRole("columnheader", { name: "Writes", exact: true }).first()).toBeVisible();
    await expect(page.getByRole("columnheader", { name: "Answered within, half" })).toBeVisible();
    await page.getByRole("button", { name: "Charts" }).click();
  },
  "the pace has what the API server takes": async () => {
    await show("pace");
    await expect(page.getByRole("img", { name: /^Time until the API server answers a write/ })).toBeVisible();
    const created = page.locator(".card").filter({ hasText: "Answers to writes" }).getByRole("row").filter({ hasText: "create" });
    await expect(created).toContainText(/[1-9].* (µs|ms|s)/);
  },
  "the slider shows what waited, and the decision that changed a device": async () => {
    await show("time");
    await expect(page.locator(".then")).toContainText("default/huge");
    await oldest();
    await expect(page.locator(".then")).not.toContainText("default/huge");
    await findChange("small");
    await expect(page.locator(".then")).toContainText("Decisions about it");
    await expect(page.locator(".then")).toContainText("free → used · default/small");
  },
  "two instants differ by who came": async () => {
    await oldest();
    await page.getByRole("button", { name: "Compare from here" }).click();
    await page.getByRole("button", { name: "Latest" }).click();
    await expect(page.getByRole("rowheader", { name: "default/gang" }).first()).toBeVisible();
    await expect(page.locator(".then")).toContainText("Waits since");
    await page.getByRole("button", { name: "Table" }).click();
    await expect(page.getByRole("rowheader", { name: /^node-/ }).first()).toBeVisible();
    await page.getByRole("button", { name: "Map", exact: true }).click();
  },
  "a cordoned node is on the page of health": async () => {
    await call("PUT", "/api/v1/nodes/node-2", { ...JSON.parse(await call("GET", "/api/v1/nodes/node-2")), spec: { unschedulable: true } });
    await show("health");
    await expect(page.getByRole("button", { name: "node-2" }).first()).toBeVisible();
    await expect(page.locator(".changes")).toContainText("node node-2");
  },
  "room that is kept for a nominated pod is listed": async () => {
    await call("POST", pods, pod("nominated", "1", { schedulingGates: [{ name: "example.com/gate" }] }));
    const made = JSON.parse(await call("GET", `${pods}/nominated`));
    await call("PUT", `${pods}/nominated/status`, { ...made, status: { ...made.status, nominatedNodeName: "node-1" } });
    await show("room");
    const row = page.getByRole("row").filter({ hasText: "default/nominated" });
    await expect(row).toContainText("it is nominated for the node");
    await row.getByRole("button", { name: "Show on the floor" }).click();
    await page.getByRole("button", { name: "Reserved" }).click();
    await expect(page.locator(".owners")).toContainText("default/nominated");
    await page.getByRole("button", { name: "room of default/nominated ×" }).click();
  },
  "moves that make domains whole are searched for": async () => {
    await show("room");
    await page.getByRole("button", { name: "Search", exact: true }).click();
    const card = page.locator(".card").filter({ hasText: "Domains that moves would make whole" });
    await expect(card).toContainText("defragmentation.level: is needed, since there is no Topology named default");
    await page.route("**/moves", (route) => route.fulfill({ json: {
      level: { name: "rack", nodeLabels: ["rack"] }, waiting: 1, wholeBefore: 0, wholeAfter: 1, ended: true,
      moves: [{ namespace: "default", name: "web-1", from: "n0", to: "n2", devices: 1, domain: "rack-0" }],
      domains: [{ domain: "rack-0", whole: true, moves: 1, devices: 4, devicesMoved: 1, fits: [], buys: "1 move makes rack-0 whole: 4 devices free" }],
      unchanged: [{ domain: "rack-1", reason: "NoRoom", message: "there is no room elsewhere" }],
    } }));
    await page.getByRole("button", { name: "Search", exact: true }).click();
    for (const text of ["0 domains of level rack have no device in use now, 1 after these moves.", "default/web-1",
      "1 move makes rack-0 whole: 4 devices free", "The search ended at a bound", "1 domain with devices in use stays as now"])
      await expect(card).toContainText(text);
    await page.unroute("**/moves");
  },
  "a driver's report is on the page of health": async () => {
    const device = { driver: "gpu.example.com", pool: "node-1", device: "gpu-0" };
    await call("POST", "/apis/resource.k8s.io/v1/resourceslices", {
      apiVersion: "resource.k8s.io/v1", kind: "ResourceSlice", metadata: { name: "node-1" },
      spec: { driver: device.driver, nodeName: "node-1", pool: { name: "node-1", generation: 1, resourceSliceCount: 1 }, devices: [{ name: "gpu-0" }] },
    });
    await call("POST", "/apis/scheduling.berth.dev/v1alpha1/nodedevicehealths", {
      apiVersion: "scheduling.berth.dev/v1alpha1", kind: "NodeDeviceHealth", metadata: { name: "node-1" },
      spec: { devices: [{ ...device, health: "Unhealthy", message: "xid 79" }] },
    });
    await show("health");
    const row = page.getByRole("row").filter({ hasText: "node-1/gpu-0" });
    await expect(row).toContainText("reported Unhealthy: xid 79; it still takes pods");
    await expect(row).toContainText(/\d\d-\d\d \d\d:\d\d/);
  },
  "what was ill over time is a curve and a table": async () => {
    await show("health");
    const card = page.locator(".card").filter({ hasText: "Ill over time" });
    await expect(card.locator(".chart canvas")).toBeVisible({ timeout: 15000 });
    await expect(card.getByRole("img")).toHaveAttribute("aria-label", /now Ill devices 1, Ill nodes 0/, { timeout: 15000 });
    await card.getByRole("button", { name: "Table" }).click();
    await expect(card.getByRole("columnheader", { name: "Ill devices" })).toBeVisible();
    await expect(card.getByRole("row").nth(1).getByRole("cell").first()).toHaveText("1");
    await card.getByRole("button", { name: "Chart" }).click();
  },
  "a node that is gone leaves the floor": async () => {
    await show("floor");
    await expect(page.locator(".foot")).toContainText("3 nodes");
    await call("DELETE", "/api/v1/nodes/node-3");
    await expect(page.locator(".foot")).toContainText("2 nodes");
  },
  "search finds a node and shows it alone": async () => {
    await page.getByRole("searchbox").fill("node-1");
    await page.keyboard.press("Enter");
    await expect(page.getByRole("button", { name: "node-1 ×" })).toBeVisible();
    await page.getByRole("button", { name: "node-1 ×" }).click();
  },
  "the page has no violation that axe finds, light and dark": async () => {
    await page.evaluate(axe);
    const found = [];
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      for (const screen of screens) {
        await show(screen);
        await page.locator("h1").first().waitFor({ state: "attached" });
        const { violations } = await page.evaluate(() => window.axe.run());
        for (const { id, nodes } of violations) found.push(`${colorScheme} ${screen} ${id}: ${nodes[0].html.slice(0, 160)}`);
      }
    }
    expect(found).toEqual([]);
  },
  "the console has no error": async () => { expect(complaints).toEqual([]); },
};

const restarted = {
  "after a restart the slider shows what was before it": async () => {
    await page.goto(LINK);
    await expect(page.locator(".foot")).toContainText("nodes");
    await oldest();
    await expect(page.locator(".curve-gap")).toHaveCount(1);
    await findChange("small");
    await expect(page.locator(".then")).toContainText("free → used · default/small");
  },
  "the console has no error after a restart": all["the console has no error"],
};
const cases = CASES === "restarted" ? restarted : all;

for (const [name, run] of Object.entries(cases)) {
  let problem = null;
  try { await run(); } catch (error) { problem = String(error.message ?? error).slice(0, 1500); }
  console.log(JSON.stringify({ name, problem }));
}
await browser.close();
