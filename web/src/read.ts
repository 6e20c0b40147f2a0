// What a screen reads by itself: explanations, moves and the history.

import { useEffect, useState } from "preact/hooks";
import { getJson, mayPass, problemText } from "./api.ts";
import type { Overview } from "./history.ts";
import { Repeated } from "./repeat.ts";

interface Last<T> { path: string; version: string; answer?: T; problem?: string }
// `answer` is what was read last, also while it is read again.
export interface Read<T> { answer?: T; problem?: string; reading: boolean }

// What is at the path, read again with every new version, and after a failure that may pass. "": nothing.
export function useRead<T>(path: string, version: string): Read<T> {
  const [last, setLast] = useState<Last<T>>();
  useEffect(() => {
    if (!path) return;
    const reads = new Repeated<T>({
      read: (stop) => getJson<T>(path, stop),
      take: (answer) => setLast({ path, version, answer }),
      failed(error) {
        setLast((old) => ({ path, version, answer: old?.path === path ? old.answer : undefined, problem: problemText(error) }));
        return mayPass(error);
      },
    });
    reads.ask();
    return () => reads.stop();
  }, [path, version]);
  const here = last?.path === path ? last : undefined;
  return { answer: here?.answer, problem: here?.problem, reading: path !== "" && here?.version !== version };
}

const overviewPeriod = 5000; // ms

// Since when there is history, and its curves.
export function useOverview(): { overview: Overview | null; problem: string } {
  const [overview, setOverview] = useState<Overview | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const list = new Repeated<Overview>({
      read: (stop) => getJson("history", stop),
      take(found) { setOverview(found); setProblem(""); },
      failed(error) { setProblem(problemText(error)); return mayPass(error); },
    });
    list.ask();
    const timer = setInterval(() => list.ask(), overviewPeriod);
    return () => { clearInterval(timer); list.stop(); };
  }, []);
  return { overview, problem };
}
