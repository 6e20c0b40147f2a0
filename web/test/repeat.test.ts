import { expect, test, vi } from "vitest";
import { Repeated, delayAfter } from "../src/repeat.ts";

test("delays double up to a bound", () => {
  expect([1, 2, 3, 4, 5, 6, 100].map(delayAfter)).toEqual([500, 1000, 2000, 4000, 8000, 8000, 8000]);
});

// Reads that this test ends, with what was taken.
function reads() {
  const open: { done(answer: number): void; failed(error: string): void }[] = [], taken: number[] = [];
  const repeated = new Repeated<number>({
    read: () => new Promise((done, failed) => open.push({ done, failed })),
    take: (answer) => { taken.push(answer); return answer >= 0; },
    failed: (error) => error !== "final",
  });
  return { open, taken, repeated };
}

test("what is asked for while it reads is one more read", async () => {
  vi.useFakeTimers();
  const { open, taken, repeated } = reads();
  for (let i = 0; i < 3; ++i) repeated.ask();
  expect(open.length).toBe(1);
  open[0].done(1);
  await vi.advanceTimersByTimeAsync(200);
  expect(open.length).toBe(2);
  open[1].done(2);
  await vi.advanceTimersByTimeAsync(20000);
  expect([open.length, taken]).toEqual([2, [1, 2]]);
  vi.useRealTimers();
});

test("an answer that does not fit is read again, a final failure is not", async () => {
  vi.useFakeTimers();
  const { open, taken, repeated } = reads();
  repeated.ask();
  open[0].done(-1);
  await vi.advanceTimersByTimeAsync(0);
  expect(repeated.waits).toBe(true);
  await vi.advanceTimersByTimeAsync(200);
  open[1].failed("final");
  await vi.advanceTimersByTimeAsync(20000);
  expect([open.length, taken, repeated.waits]).toEqual([2, [-1], false]);
  vi.useRealTimers();
});

test("what is asked for before a final failure is read after it", async () => {
  vi.useFakeTimers();
  const { open, taken, repeated } = reads();
  repeated.ask();
  repeated.ask();
  open[0].failed("final");
  await vi.advanceTimersByTimeAsync(200);
  expect(open.length).toBe(2);
  open[1].done(2);
  await vi.advanceTimersByTimeAsync(20000);
  expect([open.length, taken]).toEqual([2, [2]]);
  vi.useRealTimers();
});

test("what is stopped takes nothing and is not repeated", async () => {
  vi.useFakeTimers();
  const { open, taken, repeated } = reads();
  repeated.ask();
  repeated.stop();
  open[0].done(1);
  repeated.ask();
  open[1].failed("503");
  await vi.advanceTimersByTimeAsync(0);
  repeated.stop();
  await vi.advanceTimersByTimeAsync(20000);
  expect([open.length, taken]).toEqual([2, []]);
  vi.useRealTimers();
});
