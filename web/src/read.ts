// What a screen reads by itself: explanations and moves.

import { useEffect, useState } from "preact/hooks";
import { getJson, problemText } from "./api.ts";

interface Last<T> { path: string; version: string; answer?: T; problem?: string }
// `answer` is what was read last, also while it is read again.
export interface Read<T> { answer?: T; problem?: string; reading: boolean }

// What is at the path, read again with every new version. "": nothing.
export function useRead<T>(path: string, version: string): Read<T> {
  const [last, setLast] = useState<Last<T>>();
  useEffect(() => {
    if (!path) return;
    const stop = new AbortController();
    getJson<T>(path, stop.signal).then((answer) => setLast({ path, version, answer }), (error: unknown) => {
      if (stop.signal.aborted) return;
      setLast((old) => ({ path, version, answer: old?.path === path ? old.answer : undefined, problem: problemText(error) }));
    });
    return () => stop.abort();
  }, [path, version]);
  const here = last?.path === path ? last : undefined;
  return { answer: here?.answer, problem: here?.problem, reading: path !== "" && here?.version !== version };
}
