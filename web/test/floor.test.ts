import { describe, expect, test } from "vitest";
import { Condition, Floor, Use, count, sickDomains, sinceOf } from "../src/floor.ts";
import { cellAt, makePlan } from "../src/plan.ts";
import { OwnerColours, ownerColours, ownerSlots } from "../src/owners.ts";
import { Mark, type Mode, type Palette, drawCells, shade } from "../src/raster.ts";
import { keptCells, roomsWith } from "../src/reservations.ts";
import type { Reservation } from "../src/store.ts";
import { frame, layout } from "./frames.ts";

describe("floor", () => {
  test("reads a frame", () => {
    const floor = new Floor(layout());
    expect(floor.cells).toBe(24);
    expect(floor.read(frame(300, 24, [[4, 1, 200], [20, 8, 0]], [[200, 1, "ns", "gang"]]))).toBe(true);
    expect(floor.version).toBe(300);
    expect(floor.use(3)).toBe(Use.Used);
    expect(floor.ownerOf(3)).toEqual({ kind: "PodGroup", namespace: "ns", name: "gang" });
    expect(floor.condition(4)).toBe(Condition.Ill);
    expect(count(floor)).toEqual({ free: 0, used: 4, shared: 0, reserved: 0, out: 20, closed: 0, ill: 20, unknown: 0 });
    expect(floor.device(5)).toEqual({ driver: "d", name: "gpu-1", source: "Devices" });
    expect(floor.nodeName(5)).toBe("node-1");
  });

  test("adds up what is not healthy by domain, the worst first", () => {
    const floor = new Floor(layout());
    expect(sickDomains(floor)).toEqual([]);
    const [closed, ill, unknown] = [Condition.Closed, Condition.Ill, Condition.Unknown].map((condition) => condition * 4);
    floor.read(frame(1, 24, [[1, closed, 0], [11, 0, 0], [5, 0, 0], [1, ill + Use.Used, 0], [5, 0, 0], [1, unknown, 0]], []));
    expect(sickDomains(floor)).toEqual([
      { path: ["r1"], nodes: ["node-4", "node-5"], devices: 12, ill: 1, closed: 0, unknown: 1 },
      { path: ["r0"], nodes: ["node-0"], devices: 12, ill: 0, closed: 1, unknown: 0 },
    ]);
  });

  test("a domain is ill since the first of its nodes and devices is", () => {
    const page = { nodes: [{ node: "n1", since: "2027-01-15T08:00:00Z" }, { node: "n9", since: "2020-01-01T00:00:00Z" }],
      devices: [{ node: "n2", since: "2027-01-15T07:59:00Z" }, { node: "n2", since: "" }] };
    expect(sinceOf(["n1", "n2"], page)).toBe("2027-01-15T07:59:00Z");
    expect(sinceOf(["n3"], page)).toBeUndefined();
    expect(sinceOf(["n1"], null)).toBeUndefined();
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
    const plan = makePlan(floor, 1.7);
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
    const once = makePlan(new Floor(layout(5, 7, 3)), 1.7), again = makePlan(new Floor(layout(5, 7, 3)), 1.7);
    expect(again).toEqual(once);
  });
});

// Every colour is another number.
const palette: Palette = {
  background: 1, free: 2, used: 3, shared: 4, reserved: 5, closed: 6, ill: 7, unknown: 8, kept: 9, quiet: 10, line: 11,
  ink: 12, others: 13, owners: Array.from({ length: ownerColours }, (_, i) => 100 + i),
};
const look = (mode: Mode, slots = new Int16Array(0), kept: Uint8Array | null = null) => ({ mode, palette, slots, kept, lit: null });

describe("cells", () => {
  test("fragmentation tells free nodes from free devices beside others", () => {
    const floor = new Floor(layout(1, 2, 4));
    floor.put([[0, 1, Use.Used, 0]], []);
    const { mark } = shade(floor, look("fragmentation"));
    expect([0, 1, 4].map((cell) => mark[cell])).toEqual([Mark.None, Mark.Half, Mark.Hollow]);
  });

  test("every condition has a colour and a mark of its own", () => {
    const floor = new Floor(layout(1, 1, 4));
    floor.put([0, 1, 2, 3].map((condition) => [condition, 1, Use.Used + 4 * condition, 0]), []);
    const { colour, mark } = shade(floor, look("health"));
    expect([...colour]).toEqual([palette.quiet, palette.closed, palette.ill, palette.unknown]);
    expect([...mark]).toEqual([Mark.None, Mark.Slash, Mark.Cross, Mark.Dash]);
  });

  test("what is kept shows over what is in use", () => {
    const floor = new Floor(layout(1, 1, 4));
    floor.put([[0, 2, Use.Used, 0]], []);
    const room = { namespace: "ns", name: "gang", cells: [[1, 2]] } as Reservation;
    const page = { total: 1, rooms: [room] }, kept = keptCells(page, floor.cells);
    const { colour, mark } = shade(floor, look("reserved", undefined, kept));
    expect([...colour]).toEqual([palette.others, palette.kept, palette.kept, palette.free]);
    expect(mark[2]).toBe(Mark.Ring);
    expect(roomsWith(page, 2)).toEqual([room]);
    expect(roomsWith(page, 3)).toEqual([]);
    expect(keptCells({ total: 0, rooms: [] }, 4)).toBeNull();
  });

  test("are drawn where the plan has them, and nowhere else", () => {
    const floor = new Floor(layout(2, 3, 4)), plan = makePlan(floor, 1.7);
    const picture = { pixels: new Uint32Array(400 * 300), width: 400, height: 300 };
    const shades = shade(floor, look("use"));
    shades.mark.fill(Mark.None);
    shades.colour.fill(77);
    drawCells(picture, floor, plan, { x: 20, y: 10, scale: 10 }, palette, shades, 1);
    const size = 10 - Math.round(10 * 0.12);
    expect(picture.pixels.filter((pixel) => pixel === 77).length).toBe(floor.cells * size * size);
    drawCells(picture, floor, plan, { x: -5000, y: 10, scale: 10 }, palette, shades, 1);
    expect(picture.pixels.every((pixel) => pixel === palette.background)).toBe(true);
  });
});

describe("owners' colours", () => {
  // Owners 1, 2, … with so many devices each.
  function owned(sizes: number[]): Floor {
    const floor = new Floor(layout(1, 1, sizes.reduce((a, b) => a + b, 0)));
    let first = 0;
    sizes.forEach((size, i) => {
      floor.put([[first, size, Use.Used, i + 1]], [[i + 1, 1, "ns", `gang-${i + 1}`]]);
      first += size;
    });
    return floor;
  }

  test("the largest have one each, the next ones stripes, all others grey", () => {
    const colours = new OwnerColours(), floor = owned(Array.from({ length: ownerSlots + 2 }, (_, i) => 40 - i));
    colours.update(floor);
    expect(colours.rows.map((row) => row.slot)).toEqual([...Array.from({ length: ownerSlots }, (_, i) => i), -1, -1]);
    const { colour, mark } = shade(floor, look("owner", colours.slots));
    const first = floor.owner.indexOf(1), striped = floor.owner.indexOf(ownerColours + 1), other = floor.owner.indexOf(ownerSlots + 1);
    expect([colour[first], mark[first]]).toEqual([palette.owners[0], Mark.None]);
    expect([colour[striped], mark[striped]]).toEqual([palette.owners[0], Mark.Stripes]);
    expect(colour[other]).toBe(palette.others);
  });

  test("an owner keeps its colour while others come and go", () => {
    const colours = new OwnerColours();
    const slotOf = (name: string) => colours.rows.find((row) => row.owner.name === name)?.slot;
    colours.update(owned([4, 3, 2]));
    expect([slotOf("gang-1"), slotOf("gang-2"), slotOf("gang-3")]).toEqual([0, 1, 2]);
    const grown = owned([1, 3, 2, 9]);
    colours.update(grown);
    expect([slotOf("gang-1"), slotOf("gang-2"), slotOf("gang-3"), slotOf("gang-4")]).toEqual([0, 1, 2, 3]);
  });
});
