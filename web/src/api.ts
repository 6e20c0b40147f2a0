// Requests to the process that serves the page. The token stays in this browser, for this address alone.

const base = "/berth/v1alpha1/";
const tokenKey = "berth-token";

export class Refused extends Error {
  constructor(readonly status: number, message: string) { super(message); }
}
// The process had no time, or could not be reached.
export function mayPass(error: unknown): boolean {
  return !(error instanceof Refused) || error.status === 429 || error.status > 501;
}
export function problemText(error: unknown): string { return error instanceof Refused ? error.message : String(error); }

// The code of a link, if the page was opened with one; the address then shows none.
export async function signIn(): Promise<void> {
  const code = /[#&]code=([\w-]+)/.exec(location.hash)?.[1];
  if (!code) return;
  history.replaceState(null, "", location.pathname);
  const answer = await fetch(`${base}session`, { method: "POST", body: JSON.stringify({ code }) });
  const body = await answer.json();
  if (answer.ok) localStorage.setItem(tokenKey, body.token);
  else if (!localStorage.getItem(tokenKey)) throw new Refused(answer.status, body.message);
}

export function useToken(token: string): void { localStorage.setItem(tokenKey, token.trim()); }

async function get(path: string, signal?: AbortSignal): Promise<Response> {
  const token = localStorage.getItem(tokenKey);
  const answer = await fetch(base + path, {
    headers: token ? { Authorization: `Bearer ${token}` } : {},
    signal,
  });
  if (answer.ok) return answer;
  const text = await answer.text();
  let message = text;
  try { message = JSON.parse(text).message ?? text; } catch { /* not ours */ }
  throw new Refused(answer.status, message);
}

export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await get(path, signal)).json();
}
export async function getBytes(path: string, signal?: AbortSignal): Promise<ArrayBuffer> {
  return (await get(path, signal)).arrayBuffer();
}

// Calls `take` with every event until the stream ends, or one returns false. Not EventSource: that sends no token.
export async function listen(take: (event: string, data: string) => boolean): Promise<void> {
  const reader = (await get("events")).body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (text + value).split("\n\n");
    text = events.pop()!;
    for (const event of events) {
      const [name, data] = event.split("\n");
      if (!take(name.slice("event: ".length), data.slice("data: ".length))) return reader.cancel();
    }
  }
}
