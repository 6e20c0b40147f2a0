import { describe, expect, test } from "vitest";
import { Condition, Floor, type Layout, Use, count } from "../src/floor.ts";
import { cellAt, makePlan } from "../src/plan.ts";
import { marksOf } from "../src/raster.ts";

function layout(racks = 2, nodes = 3, devices = 4): Layout {
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
function frame(version: number, cells: number, runs: number[][], owners: [number, number, string, string][], made = 7) {
  const bytes = [
    ...new TextEncoder().encode("BFL1"), ...number(made), ...number(version), ...number(cells),
    ...runs.flatMap(([length, state, owner]) => [...number(length), state, ...number(owner)]), ...number(owners.length),
    ...owners.flatMap(([id, kind, ns, name]) => [...number(id), kind, ...text(ns), ...text(name)]),
  ];
  return new Uint8Array(bytes).buffer;
}

describe("floor", () => {
  test("reads a frame", () => {
    const floor = new Floor(layout());
    expect(floor.cells).toBe(24);
    expect(floor.read(frame(300, 24, [[4, 1, 200], [20, 8, 0]], [[200, 1, "ns", "gang"]]))).toBe(true);
    expect(floor.version).toBe(300);
    expect(floor.use(3)).toBe(Use.Used);
    expect(floor.ownerOf(3)).toEqual({ kind: "PodGroup", namespace: "ns", name: "gang" });
    expect(floor.condition(4)).toBe(Condition.Ill);
    expect(count(floor)).toEqual({ free: 20, used: 4, shared: 0, reserved: 0, closed: 0, ill: 20 });
    expect(floor.device(5)).toEqual({ driver: "d", name: "gpu-1", source: "Devices" });
    expect(floor.nodeName(5)).toBe("node-1");
  });

  test("refuses a frame of another layout or with its end missing", () => {
    const floor = new Floor(layout());
    expect(floor.read(frame(1, 24, [[24, 0, 0]], [], 8))).toBe(false);
    const whole = frame(1, 24, [[24, 0, 0]], [[1, 0, "a", "b"]]);
    expect(() => floor.read(whole.slice(0, whole.byteLength - 3))).not.toThrow(RangeError);
    expect(() => floor.read(whole.slice(0, 8))).toThrow("ends early");
  });

  test("follows deltas in their order, and asks for the floor where one is missing", () => {
    const floor = new Floor(layout());
    floor.read(frame(5, 24, [[24, 0, 0]], []));
    const delta = { layout: 7, version: 6, runs: [[2, 3, 3, 1]] as [number, number, number, number][], owners: [[1, 0, "ns", "p"]] as [number, number, string, string][] };
    expect(floor.apply(delta)).toBe(true);
    expect([1, 2, 4, 5].map((cell) => floor.use(cell))).toEqual([Use.Free, Use.Reserved, Use.Reserved, Use.Free]);
    expect(floor.apply(delta)).toBe(true); // again: nothing happens
    expect(floor.apply({ ...delta, version: 8 })).toBe(false);
    expect(floor.apply({ ...delta, version: 7, layout: 9 })).toBe(false);
  });
});

describe("plan", () => {
  test("draws every device once, inside its node, inside its rack", () => {
    const floor = new Floor(layout(3, 18, 8));
    const plan = makePlan(floor);
    const places = new Set<string>();
    for (let cell = 0; cell < floor.cells; ++cell) {
      const [x, y] = [plan.x[cell], plan.y[cell]];
      places.add(`${x.toFixed(2)}/${y.toFixed(2)}`);
      const node = plan.nodes[floor.nodeOfCell[cell]];
      expect(x >= node.x - 1e-3 && x + 1 <= node.x + node.w + 1e-3 && y + 1 <= node.y + node.h + 1e-3).toBe(true);
      expect(cellAt(floor, plan, x + 0.5, y + 0.5)).toBe(cell);
    }
    expect(places.size).toBe(floor.cells);
    expect(plan.areas.map((area) => area.label)).toEqual(["rack r0", "rack r1", "rack r2"]);
  });

  test("is the same for the same layout", () => {
    const once = makePlan(new Floor(layout(5, 7, 3))), again = makePlan(new Floor(layout(5, 7, 3)));
    expect(again).toEqual(once);
  });
});

test("fragmentation tells free nodes from free devices beside others", () => {
  const floor = new Floor(layout(1, 2, 4));
  floor.put([[0, 1, Use.Used, 0]], []);
  expect([0, 1, 4].map((cell) => marksOf(floor, cell, "fragmentation")[0])).toEqual(["none", "half", "hollow"]);
});
