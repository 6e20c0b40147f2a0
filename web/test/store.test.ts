// The store against a server that this test plays: what is read, when, and again after a failure.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Floor } from "../src/floor.ts";
import { frame, layout } from "./frames.ts";

type Store = typeof import("../src/store.ts");
interface Asked { path: string; answer(body: BodyInit, status?: number): void; fail(): void }

let store: Store;
let asked: Asked[];
let events: ReadableStreamDefaultController<Uint8Array>;
let listens: boolean;
let shown: () => void; // the page's address changed

// What `fetch` of the page waits for, by its path.
function fakeFetch(url: string): Promise<Response> {
  const path = url.replace("/berth/v1alpha1/", "");
  if (path === "events") return Promise.resolve(new Response(new ReadableStream({
    start: (to) => { events = to; listens = true; },
    cancel: () => { listens = false; },
  })));
  return new Promise((done, failed) => asked.push({
    path, answer: (body, status = 200) => done(new Response(body, { status })), fail: () => failed(new TypeError("Failed to fetch")),
  }));
}
const tell = (event: string, data: unknown = {}) => {
  events.enqueue(new TextEncoder().encode(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`));
  return settled();
};
const settled = async () => { for (let turn = 0; turn < 20; ++turn) await vi.advanceTimersByTimeAsync(0); };
const later = async (ms: number) => { await vi.advanceTimersByTimeAsync(ms); await settled(); };

// The oldest request for the path that has no answer yet.
function next(path: string): Asked {
  const at = asked.findIndex((request) => request.path === path);
  expect(at, `a request for ${path}`).toBeGreaterThanOrEqual(0);
  return asked.splice(at, 1)[0];
}
const count = (path: string) => asked.filter((request) => request.path === path).length;
async function answer(path: string, body: unknown, status = 200): Promise<void> {
  next(path).answer(body instanceof ArrayBuffer ? body : JSON.stringify(body), status);
  await settled();
}
const made = { ...layout(1, 1, 4), version: 1 };
const cells = (version: number, used: number) => frame(version, 4, [[used, 1, 0], [4 - used, 0, 0]], [], made.version);
const used = () => [0, 1, 2, 3].filter((cell) => (store.floor.value as Floor).use(cell) === 1).length;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"] });
  asked = [];
  const kept = new Map<string, string>(), page = { hash: "#/floor", pathname: "/ui/" };
  vi.stubGlobal("fetch", fakeFetch);
  vi.stubGlobal("location", page);
  vi.stubGlobal("innerWidth", 1280);
  vi.stubGlobal("innerHeight", 800);
  vi.stubGlobal("localStorage", { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, value: string) => kept.set(key, value) });
  vi.stubGlobal("addEventListener", (name: string, listener: () => void) => { if (name === "hashchange") shown = listener; });
  vi.resetModules();
  store = await import("../src/store.ts");
  void store.run();
  await settled();
});
afterEach(() => { vi.useRealTimers(); vi.unstubAllGlobals(); });

const show = (screen: string) => { location.hash = `#/${screen}`; shown(); return settled(); };
async function readFirst(): Promise<void> {
  await tell("hello");
  await answer("floor", made);
  await answer("floor/cells", cells(1, 1));
}

test("the floor of a new process is read though the read of the old one fails after it", async () => {
  await readFirst();
  await tell("layout");
  await answer("floor", made);
  const old = next("floor/cells");
  events.close(); // the process ends, and the stream with it
  await later(500);
  await tell("hello"); // of another process, whose layout has the same number
  await answer("floor", made);
  old.fail();
  await later(500);
  await answer("floor/cells", cells(1, 3)); // of the new process
  expect(used()).toBe(3);
});

test("a read of the floor that failed is repeated, later each time, without an event", async () => {
  await tell("hello");
  await answer("floor", made);
  for (const delay of [500, 1000, 2000, 4000, 8000, 8000]) {
    await answer("floor/cells", {}, 503);
    await later(delay - 1);
    expect(count("floor/cells"), `before ${delay} ms`).toBe(0);
    await later(1);
    if (count("floor") > 0) await answer("floor", made);
  }
  await answer("floor/cells", cells(1, 2));
  expect(used()).toBe(2);
  await later(20000);
  expect(count("floor/cells")).toBe(0);
});

test("an event repeats a read that failed at once", async () => {
  await tell("hello");
  await answer("floor", made);
  await answer("floor/cells", {}, 503);
  await tell("layout");
  await answer("floor", made);
  await answer("floor/cells", cells(1, 2));
  expect(used()).toBe(2);
});

test("a frame that ends early changes nothing, and the floor is read again", async () => {
  await readFirst();
  await tell("layout");
  await answer("floor", made);
  const whole = cells(2, 3);
  await answer("floor/cells", whole.slice(0, whole.byteLength - 3));
  expect(used()).toBe(1);
  await tell("floor", { layout: 1, version: 3, runs: [[3, 1, 1, 0]], owners: [] }); // does not follow version 1
  await later(500);
  await answer("floor", made);
  await answer("floor/cells", cells(3, 3));
  expect(used()).toBe(3);
});

const lists = [
  ["waiting", "floor"], ["health", "floor"], ["reservations", "floor"], ["groups", "group"], ["room", "room"], ["pace", "pace"],
] as const;
test.each(lists)("the list %s is read again where that failed", async (name, screen) => {
  await readFirst();
  if (screen !== "floor") await show(screen);
  await answer(name, {}, 503);
  await later(500);
  next(name).fail();
  await later(1000);
  await answer(name, {}, 404); // not there yet
  await later(2000);
  await answer(name, { total: 7 });
  expect(store[name].value).toEqual({ total: 7 });
  await later(20000);
  expect(count(name)).toBe(0);
});

test("a list that answers late does not replace a newer one", async () => {
  await readFirst();
  await show("room");
  const older = next("room");
  await tell("pages");
  if (count("room") > 0) await answer("room", { total: 2 }); // while the older read is under way
  older.answer(JSON.stringify({ total: 1 }));
  await later(200);
  if (count("room") > 0) await answer("room", { total: 2 });
  expect(store.room.value).toEqual({ total: 2 });
});

test("what an older process answers late is not shown", async () => {
  await readFirst();
  await show("room");
  const older = next("room");
  events.close();
  await later(500);
  await tell("hello");
  await answer("room", { total: 2 });
  older.answer(JSON.stringify({ total: 1 }));
  await later(500);
  expect(store.room.value).toEqual({ total: 2 });
});

test("a list that nobody looks at any more is not read again", async () => {
  await readFirst();
  await show("room");
  await answer("room", {}, 503);
  await show("time");
  asked = [];
  await later(20000);
  expect(count("room")).toBe(0);
});

test("who may not read any more is asked to sign in", async () => {
  await readFirst();
  await show("room");
  await answer("room", { message: "open the link" }, 401);
  await tell("pages");
  expect([store.link.value, store.refusal.value]).toEqual(["refused", "open the link"]);
  expect(listens).toBe(false);
});
