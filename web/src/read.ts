// What a screen reads by itself: explanations and moves.

import { useEffect, useState } from "preact/hooks";
import { getJson, mayPass, problemText } from "./api.ts";
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
