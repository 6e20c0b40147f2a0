import { describe, expect, test } from "vitest";
import { Use } from "../src/floor.ts";
import { type Moment, type Overview, type Sample, illColumns, illOverTime, show, steps, timeText, tookText } from "../src/history.ts";

const layout = {
  version: 1, topology: "", levels: [], domains: [[]], shapes: [[{ source: "Devices" as const, driver: "d", names: ["gpu-0", "gpu-1"] }]],
  nodes: ["n1"], nodeDomain: [0], nodeShape: [0], shared: [],
};
function moment(more: Partial<Moment>): Moment {
  return {
    at: 5, time: 5, layoutId: "a", layout, runs: [[0, 2, 0, 0]], owners: [], queue: { total: 0, entries: [] }, sums: [5, 0, 0, 2, 0, 0],
    decisions: [], step: { time: 0, changes: [], decisions: [] }, previous: 0, next: 0, ...more,
  };
}

describe("moment", () => {
  test("keeps the plan of a layout that the server does not send again", () => {
    const first = show(moment({}), null);
    const later = show(moment({ layout: undefined, runs: [[0, 1, 1, 7], [1, 1, 0, 0]], owners: [[7, 0, "ns", "p"]] }), first);
    expect(later.plan).toBe(first.plan);
    expect([later.floor.use(0), later.floor.use(1)]).toEqual([Use.Used, Use.Free]);
    expect(later.floor.ownerOf(0)).toEqual({ kind: "Pod", namespace: "ns", name: "p" });
    expect(first.floor.use(0)).toBe(Use.Free); // what was shown does not change
  });

  test("takes another layout, and refuses to be without one", () => {
    const first = show(moment({}), null);
    const other = show(moment({ layoutId: "b", layout: { ...layout, nodes: ["n2"] } }), first);
    expect(other.plan).not.toBe(first.plan);
    expect(other.floor.nodeName(0)).toBe("n2");
    expect(() => show(moment({ layoutId: "c", layout: undefined }), first)).toThrow("no layout");
  });
});

test("a curve keeps each value until the next", () => {
  const samples: Sample[] = [[100, 0, 0, 0, 0, 0], [150, 4, 0, 0, 0, 0]];
  expect(steps(samples, (sample) => sample[1], 100, 200, 8)).toEqual([[0, 1], [0.5, 1], [0.5, 0.5], [1, 0.5]]);
  expect(steps([], (sample) => sample[1], 0, 0, 0)).toEqual([]);
});

test("durations have three digits at most, or say that there is none", () => {
  expect([null, 0, 850, 1280, 999_949, 2_000_000].map(tookText)).toEqual(["–", "0 µs", "850 µs", "1.3 ms", "999.9 ms", "2.0 s"]);
});

test("times are texts in the order of time", () => {
  expect(timeText(1_800_000_000_000)).toMatch(/^2027-01-1\d \d\d:\d\d:\d\d$/);
});

describe("what was ill over time", () => {
  const sample = (ms: number, used: number, ...ill: number[]) => [ms, used, 0, 0, 0, 0, ...ill] as Sample;
  const overview = (samples: Sample[], gaps: [number, number][] = []) => ({ from: 0, to: 9000, onDisk: true, bytes: 0, bytesMax: 0, gaps, samples }) as Overview;

  test("is the instants at which its numbers change", () => {
    const rows = illOverTime(overview([sample(1000, 1, 0, 0, 0), sample(2000, 2, 0, 0, 0), sample(3000, 2, 8, 1, 1), sample(4000, 3, 8, 1, 1)]));
    expect(rows).toEqual([{ ms: 1000, ill: [0, 0, 0] }, { ms: 3000, ill: [8, 1, 1] }]);
    expect(illColumns(rows, 9000)).toEqual({ time: [1, 3, 9], columns: [[0, 8, 8], [0, 1, 1], [0, 1, 1]] });
  });

  test("is not known where nobody counted", () => {
    const rows = illOverTime(overview([sample(1000, 1), sample(2000, 1, 2, 0, 1), sample(6000, 1, 2, 0, 1)], [[3000, 6000]]));
    expect(rows).toEqual([{ ms: 1000, ill: null }, { ms: 2000, ill: [2, 0, 1] }, { ms: 3000, ill: null }, { ms: 6000, ill: [2, 0, 1] }]);
    expect(illColumns(rows, 6000)).toMatchObject({ time: [1, 2, 3, 3, 6], columns: [[null, 2, 2, null, 2], {}, {}] });
    expect(illColumns([], 9000)).toEqual({ time: [], columns: [[], [], []] });
  });
});
