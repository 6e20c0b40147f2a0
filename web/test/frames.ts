// Floors as the server describes them.

import type { Layout } from "../src/floor.ts";

export function layout(racks = 2, nodes = 3, devices = 4): Layout {
  const names = Array.from({ length: devices }, (_, i) => `gpu-${i}`);
  const all = Array.from({ length: racks * nodes }, (_, i) => i);
  return {
    version: 7, topology: "default", levels: [{ name: "rack", label: "rack" }],
    domains: Array.from({ length: racks }, (_, i) => [`r${i}`]), shapes: [[{ source: "Devices", driver: "d", names }]],
    nodes: all.map((i) => `node-${i}`), nodeDomain: all.map((i) => Math.floor(i / nodes)), nodeShape: all.map(() => 0),
    shared: [],
  };
}

function number(value: number): number[] {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value & 127) | 128);
  return [...bytes, value];
}
const text = (value: string) => [...number(value.length), ...new TextEncoder().encode(value)];
export function frame(version: number, cells: number, runs: number[][], owners: [number, number, string, string][], made = 7) {
  const bytes = [
    ...new TextEncoder().encode("BFL1"), ...number(made), ...number(version), ...number(cells),
    ...runs.flatMap(([length, state, owner]) => [...number(length), state, ...number(owner)]), ...number(owners.length),
    ...owners.flatMap(([id, kind, ns, name]) => [...number(id), kind, ...text(ns), ...text(name)]),
  ];
  return new Uint8Array(bytes).buffer;
}
