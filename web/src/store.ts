// What the screens show, kept up to date from the stream of events.

import { batch, effect, signal } from "@preact/signals";
import { Refused, getBytes, getJson, listen, signIn } from "./api.ts";
import { type Delta, Floor, type Layout, type Owner } from "./floor.ts";
import { type Plan, makePlan } from "./plan.ts";

export interface Waiting {
  kind: Owner["kind"];
  namespace: string;
  name: string;
  since: string;
  priority: number;
  pods: number;
  bound: number;
  minimum?: number;
  devices: number;
  state: "Gated" | "Binding" | "Unschedulable" | "Queued";
  decided?: string;
  reason?: string;
  sentence?: string;
  explanation?: string;
  refused?: { plugin: string; nodes: number; reason: string; examples?: { node: string; why?: string }[] }[];
}
export interface WaitingPage { asOf: string; total: number; entries: Waiting[] }
export interface Group {
  kind: "PodGroup" | "CompositePodGroup";
  namespace: string;
  name: string;
  parent: string;
  minimum: number;
  since: string;
  pods?: number;
  bound?: number;
  running?: number;
  domains?: { path: string; pods: number }[];
  rankCrossings?: number;
}
export interface GroupsPage { total: number; groups: Group[] }
export interface RoomPage {
  levels: { name: string; domains: number; largestFree: number; largestWhole: number; mostFreeNodes: number }[];
  domains: {
    level: number; path: string[]; nodes: number; devices: number; free: number; used: number; reserved: number;
    out: number; freeNodes: number; stranded: number;
  }[];
}
export interface Reservation {
  purpose: "Overtaken" | "Preemption" | "Nomination" | "Replacement" | "Relocation" | "Successor";
  kind: Owner["kind"]; namespace: string; name: string; until: string; nodeCount: number; nodes: string[];
  devices: number; cells: [number, number][];
}
export interface ReservationsPage { total: number; rooms: Reservation[] }
export interface HealthPage {
  total: number;
  reportingNodes: number;
  nodes: { node: string; condition: string; reason: string; since: string; devices: number; inUse: number }[];
  devices: {
    node: string; driver: string; device: string; condition: string; reason: string; since: string;
    owner: Owner | null;
  }[];
  changes: { time: string; what: string; condition: string }[];
  moved: { time: string; namespace: string; name: string; group: string; node: string; reason: string; message: string }[];
}
export interface Decision {
  time: string; kind: Owner["kind"]; namespace: string; name: string; result: string; pods: number; text: string;
}
export interface PacePage {
  time: number[]; placed: number[]; refused: number[]; bound: number[]; written: number[]; notWritten: number[]; waiting: number[];
  decisions: Decision[];
}

export type Link = "connecting" | "live" | "lost" | "refused";
export const link = signal<Link>("connecting");
export const refusal = signal("");
export const floor = signal<Floor | null>(null);
export const plan = signal<Plan | null>(null);
export const floorChanges = signal(0); // grows with every change of a cell
export const waiting = signal<WaitingPage | null>(null);
export const groups = signal<GroupsPage | null>(null);
export const room = signal<RoomPage | null>(null);
export const reservations = signal<ReservationsPage | null>(null);
export const health = signal<HealthPage | null>(null);
export const pace = signal<PacePage | null>(null);

export interface Route { screen: string; rest: string[] }
export const route = signal<Route>(parseRoute());
// What the floor shows in full colour; everything else is dimmed.
export const highlight = signal<{ text: string; owner?: Owner; nodes?: Set<string> } | null>(null);

function parseRoute(): Route {
  const [screen, ...rest] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  return { screen: screen && !screen.includes("=") ? screen : "floor", rest };
}
export function href(screen: string, ...rest: string[]): string {
  return "#/" + [screen, ...rest].map(encodeURIComponent).join("/");
}
export function go(screen: string, ...rest: string[]): void { location.hash = href(screen, ...rest); }
// Shows these nodes alone on the floor; `text` says what they are.
export function showNodes(nodes: string[], text: string): void {
  highlight.value = { text, nodes: new Set(nodes) };
  go("floor");
}

const rereadDelay = 200; // ms

// Of the frame that the map fills, about: width by height. The floor is laid out for it.
const aspect = signal(frameAspect());
function frameAspect(): number {
  return Math.round(Math.min(4, Math.max(0.5, (innerWidth - 34) / Math.max(200, innerHeight - 220))) * 10) / 10;
}

type Process = "same" | "any";
let pending: Delta[] | null = null; // deltas that came while the floor was read; null: it is not being read
let asked: Process | null = null; // for once more, while it was read
interface LaidOut { next: Floor; where: Plan }
let early: Promise<LaidOut> | null = null; // asked for before the stream of events is there

// Of one process a layout's version says whether it is known; another process begins to count again.
async function readLayout(process: Process): Promise<LaidOut> {
  const layout = await getJson<Layout>("floor");
  if (process === "same" && floor.value?.layout.version === layout.version && plan.value)
    return { next: floor.value, where: plan.value };
  const next = new Floor(layout);
  return { next, where: makePlan(next, aspect.peek()) };
}

// Cells are asked for once deltas arrive, so that none is missed; the layout is found while they are on their way.
// One read is under way at a time. After a failure the next delta begins another one.
async function readFloor(process: Process = "same"): Promise<void> {
  if (pending) return void (asked = asked === "any" ? "any" : process);
  const deltas: Delta[] = (pending = []);
  try {
    const laidOut = early ?? readLayout(process), cells = getBytes("floor/cells");
    early = null;
    cells.catch(() => {}); // it is awaited below
    const { next, where } = await laidOut;
    if (next.read(await cells) && deltas.every((delta) => next.apply(delta)))
      batch(() => {
        plan.value = where;
        floor.value = next;
        ++floorChanges.value;
      });
    else asked ??= process;
  } finally { pending = null; }
  const once = asked;
  asked = null;
  if (once) setTimeout(() => void again(() => readFloor(once)), rereadDelay);
}

function takeDelta(delta: Delta): void {
  if (pending) return void pending.push(delta);
  if (floor.value?.apply(delta)) ++floorChanges.value;
  else void again(readFloor);
}

const pages: Record<string, { value: unknown }> = { waiting, groups, room, reservations, health, pace };
const screenPages: Record<string, string[]> = {
  floor: ["waiting", "health", "reservations"], why: ["waiting"], group: ["groups", "waiting"], room: ["room", "reservations"], health: ["health"],
  pace: ["pace"],
};
async function readPages(names: string[]): Promise<void> {
  await Promise.all(names.map(async (name) => { pages[name].value = await getJson(name); }));
}
const shown = () => screenPages[route.value.screen] ?? [];

// A page that is not there yet, or a stream that is about to end, is asked for again by its next event.
async function again(read: () => Promise<void>): Promise<void> {
  try { await read(); } catch (error) {
    if (error instanceof Refused && error.status === 401) throw error;
  }
}

function take(event: string, data: string): void {
  if (event === "hello") void again(() => readFloor("any"));
  if (event === "layout") void again(readFloor);
  if (event === "floor") takeDelta(JSON.parse(data));
  if (event === "hello" || event === "pages") void again(() => readPages(shown()));
  if (event === "tick" && route.value.screen === "pace") void again(() => readPages(["pace"]));
  link.value = "live";
}

export async function run(): Promise<void> {
  addEventListener("hashchange", () => { route.value = parseRoute(); });
  addEventListener("resize", () => { aspect.value = frameAspect(); });
  effect(() => { const shape = aspect.value, now = floor.peek(); if (now) plan.value = makePlan(now, shape); });
  effect(() => { const names = shown(); if (link.peek() === "live") void again(() => readPages(names)); });
  for (let delay = 500;; delay = Math.min(delay * 2, 8000)) {
    try {
      await signIn();
      early = readLayout("any");
      early.catch(() => {}); // the stream has the same answer
      await listen((event, data) => { delay = 500; take(event, data); });
    } catch (error) {
      if (error instanceof Refused && error.status < 500 && error.status !== 429) {
        link.value = "refused";
        refusal.value = error.message;
        return;
      }
    }
    link.value = "lost";
    await new Promise((done) => setTimeout(done, delay));
  }
}
