// What the screens show, kept up to date from the stream of events.

import { batch, effect, signal } from "@preact/signals";
import { Refused, getBytes, getJson, listen, signIn } from "./api.ts";
import { type Delta, Floor, type Layout, type Owner } from "./floor.ts";
import { type Plan, makePlan } from "./plan.ts";
import { Repeated } from "./repeat.ts";

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
  answerP50Micros: (number | null)[]; answerP99Micros: (number | null)[];
  answers: { verb: string; count: number; p50Micros: number | null; p99Micros: number | null }[];
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

// Of the frame that the map fills, about: width by height. The floor is laid out for it.
const aspect = signal(frameAspect());
function frameAspect(): number {
  return Math.round(Math.min(4, Math.max(0.5, (innerWidth - 34) / Math.max(200, innerHeight - 220))) * 10) / 10;
}

const deltasKeptMax = 1000;

// A layout's version says whether it is known within one process. Another process, which says hello, begins to count again.
let processes = 0; // that said hello
let shownOf = 0; // the process of the floor that is shown
let deltas: Delta[] | null = null; // that came while the floor was read; null: it is not being read
interface LaidOut { next: Floor; where: Plan; shape: number }
let early: { of: number; laidOut: Promise<LaidOut> } | null = null; // asked for before the stream of events is there

async function readLayout(of: number, stop?: AbortSignal): Promise<LaidOut> {
  const layout = await getJson<Layout>("floor", stop), shape = aspect.peek();
  if (shownOf === of && floor.value?.layout.version === layout.version && plan.value)
    return { next: floor.value, where: plan.value, shape };
  const next = new Floor(layout);
  return { next, where: makePlan(next, shape), shape };
}
function readEarly(): void {
  early = { of: processes + 1, laidOut: readLayout(processes + 1) };
  early.laidOut.catch(() => {}); // the stream has the same answer
}

// Cells are asked for once deltas arrive, so that none is missed; the layout is found while they are on their way.
const theFloor = new Repeated<LaidOut & { cells: ArrayBuffer }>({
  async read(stop) {
    const since: Delta[] = (deltas = []);
    try {
      const laidOut = early?.of === processes ? early.laidOut : readLayout(processes, stop), cells = getBytes("floor/cells", stop);
      early = null;
      cells.catch(() => {}); // it is awaited below
      return { ...(await laidOut), cells: await cells };
    } catch (error) {
      if (deltas === since) deltas = null;
      throw error;
    }
  },
  take({ next, where, shape, cells }) {
    const since = deltas ?? [];
    deltas = null;
    if (!next.read(cells) || since.length === deltasKeptMax || !since.every((delta) => next.apply(delta))) return false;
    shownOf = processes;
    batch(() => {
      plan.value = shape === aspect.peek() ? where : makePlan(next, aspect.peek());
      floor.value = next;
      ++floorChanges.value;
    });
  },
  failed: mayRead,
});

function takeDelta(delta: Delta): void {
  if (deltas) { if (deltas.length < deltasKeptMax) deltas.push(delta); } // with so many the floor is read once more
  else if (shownOf === processes && floor.value?.apply(delta)) ++floorChanges.value;
  else if (!theFloor.waits) theFloor.ask();
}

const pages: Record<string, { value: unknown }> = { waiting, groups, room, reservations, health, pace };
const screenPages: Record<string, string[]> = {
  floor: ["waiting", "health", "reservations"], why: ["waiting"], group: ["groups", "waiting"], room: ["room", "reservations"], health: ["health"],
  pace: ["pace"],
};
const shown = () => screenPages[route.value.screen] ?? [];
const lists = new Map(Object.keys(pages).map((name) => [name, new Repeated<unknown>({
  read: (stop) => getJson(name, stop),
  take(answer) { pages[name].value = answer; },
  failed: mayRead,
})]));
function readShown(how: "ask" | "restart"): void {
  const names = shown();
  for (const [name, list] of lists) names.includes(name) ? list[how]() : list.stop();
}

// False: who reads has no access any more, and is asked for it.
function mayRead(error: unknown): boolean {
  if (!(error instanceof Refused) || (error.status !== 401 && error.status !== 403)) return true;
  refuse(error);
  return false;
}
function refuse(error: Refused): void {
  link.value = "refused";
  refusal.value = error.message;
}

function greet(): void {
  ++processes;
  theFloor.restart();
  readShown("restart");
}

// False: nobody listens any more.
function take(event: string, data: string): boolean {
  if (link.peek() === "refused") return false;
  if (event === "hello") greet();
  if (event === "layout") theFloor.ask();
  if (event === "floor") takeDelta(JSON.parse(data));
  if (event === "pages") readShown("ask");
  if (event === "tick" && route.value.screen === "pace") lists.get("pace")!.ask();
  link.value = "live";
  return true;
}

export async function run(): Promise<void> {
  addEventListener("hashchange", () => { route.value = parseRoute(); });
  addEventListener("resize", () => { aspect.value = frameAspect(); });
  effect(() => { const shape = aspect.value, now = floor.peek(); if (now) plan.value = makePlan(now, shape); });
  effect(() => { if (route.value && link.peek() === "live") readShown("ask"); });
  for (let delay = 500;; delay = Math.min(delay * 2, 8000)) {
    try {
      await signIn();
      readEarly();
      await listen((event, data) => { delay = 500; return take(event, data); });
    } catch (error) {
      if (error instanceof Refused && error.status < 500 && error.status !== 429) return refuse(error);
    }
    if (link.value === "refused") return;
    link.value = "lost";
    await new Promise((done) => setTimeout(done, delay));
  }
}
