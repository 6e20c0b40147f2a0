// What happened: instants and differences as the server gives them. Times are milliseconds since 1970.

import { type Delta, Floor, type Layout, type Owner } from "./floor.ts";
import { type Plan, makePlan } from "./plan.ts";
import type { Decision } from "./store.ts";

// The last three are absent where the process that recorded did not count them.
export type Sample = [
  time: number, used: number, reserved: number, free: number, out: number, waiting: number,
  illDevices?: number, illNodes?: number, illDomains?: number,
];
export interface Overview {
  from: number; to: number; onDisk: boolean; bytes: number; bytesMax: number; gaps: [number, number][]; samples: Sample[];
}
export interface Waited {
  kind: Owner["kind"]; namespace: string; name: string; since: string; pods: number; devices: number; state: string; reason: string;
}
export interface DeviceState { use: string; condition: string; owner: Owner | null }
export interface Moment {
  at: number; time: number; layoutId: string; layout?: Layout; runs: Delta["runs"]; owners: Delta["owners"];
  queue: { total: number; entries: Waited[] };
  sums: Sample;
  decisions: Decision[];
  step: { time: number; changes: { before: DeviceState; after: DeviceState; count: number; nodes: string[] }[]; decisions: Decision[] };
  previous: number;
  next: number;
}
export interface Difference {
  from: number; to: number; before: Sample; after: Sample;
  devices: { total: number; rows: { node: string; driver: string; device: string; before: DeviceState | null; after: DeviceState | null }[] };
  owners: { total: number; rows: { kind: Owner["kind"]; namespace: string; name: string; before: number; after: number }[] };
  queue: { came: Waited[]; left: Waited[] };
}

const planAspect = 1.5; // beside the pane of what changed
export interface Shown { moment: Moment; floor: Floor; plan: Plan }

// The floor of the moment; the plan is kept where the layout is the one that was shown.
export function show(moment: Moment, before: Shown | null): Shown {
  const same = before?.moment.layoutId === moment.layoutId ? before : null;
  const layout = moment.layout ?? same?.floor.layout;
  if (!layout) throw new Error("the moment has no layout");
  const floor = new Floor(layout);
  floor.put(moment.runs, moment.owners);
  return { moment, floor, plan: same ? same.plan : makePlan(floor, planAspect) };
}

// The corners of a curve that keeps each value until the next; x and y are parts of the frame, 0 to 1.
export function steps(samples: Sample[], value: (sample: Sample) => number, from: number, to: number, most: number): [number, number][] {
  const x = (time: number) => (time - from) / Math.max(1, to - from), y = (count: number) => 1 - count / Math.max(1, most);
  const corners: [number, number][] = [];
  let last = 1;
  for (const sample of samples) {
    if (corners.length > 0) corners.push([x(sample[0]), last]);
    last = y(value(sample));
    corners.push([x(sample[0]), last]);
  }
  if (corners.length > 0) corners.push([1, last]);
  return corners;
}

// "850 µs", "1.3 ms", "2.0 s"
export function tookText(micros: number | null): string {
  if (micros === null) return "–";
  const round = Math.round(micros);
  if (round < 1000) return `${round} µs`;
  return round < 1e6 ? `${(round / 1000).toFixed(1)} ms` : `${(round / 1e6).toFixed(1)} s`;
}

const two = (value: number) => String(value).padStart(2, "0");
export function timeText(ms: number): string {
  const at = new Date(ms);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

// What was ill from an instant on; null: nobody counted.
export interface IllAt { ms: number; ill: [devices: number, nodes: number, domains: number] | null }

// Where the numbers change, in the order of time.
export function illOverTime(overview: Overview): IllAt[] {
  const counted = overview.samples.map(([ms, , , , , , devices, nodes = 0, domains = 0]): IllAt =>
    ({ ms, ill: devices === undefined ? null : [devices, nodes, domains] }));
  const gaps = overview.gaps.map(([ms]): IllAt => ({ ms, ill: null }));
  return [...counted, ...gaps].sort((a, b) => a.ms - b.ms)
    .filter((row, i, all) => i === 0 || String(row.ill) !== String(all[i - 1].ill));
}

// The columns of a stepped chart, in seconds since 1970, up to `to`. What is known ends where a gap begins.
export function illColumns(rows: IllAt[], to: number): { time: number[]; columns: (number | null)[][] } {
  const ends = rows.length > 0 && to > rows.at(-1)!.ms ? [{ ms: to, ill: rows.at(-1)!.ill }] : [];
  const all = [...rows, ...ends].flatMap((row, i, some) => (i > 0 && !row.ill ? [{ ms: row.ms, ill: some[i - 1].ill }, row] : [row]));
  return { time: all.map((row) => row.ms / 1000), columns: [0, 1, 2].map((at) => all.map((row) => row.ill?.[at] ?? null)) };
}
