// Small parts that several screens use.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { href } from "./store.ts";

export const now = signal(Date.now());
setInterval(() => { now.value = Date.now(); }, 1000);

export function ago(time: string | undefined): string {
  if (!time) return "";
  return span(Math.max(0, (now.value - Date.parse(time)) / 1000));
}
export function span(seconds: number): string {
  const s = Math.round(seconds);
  if (s < 90) return `${s} s`;
  if (s < 5400) return `${Math.round(s / 60)} min`;
  if (s < 129600) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86400)} d`;
}
// "14:03:59", of this browser's clock: as all times on the page.
export function clock(time: string | number): string { return new Date(time).toLocaleTimeString("en-GB"); }

export function amount(count: number): string { return count.toLocaleString("en"); }
export function plural(count: number, word: string): string {
  return `${amount(count)} ${word}${count === 1 ? "" : "s"}`;
}

export function Card({ title, children, note }: { title: string; children: ComponentChildren; note?: string }) {
  return (
    <section class="card">
      <h2>{title}{note && <span class="muted"> {note}</span>}</h2>
      {children}
    </section>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

// What a list that ends early says of itself.
export function Cut({ shown, total }: { shown: number; total: number }) {
  return total > shown ? <p class="muted">The first {amount(shown)} of {amount(total)} are shown.</p> : null;
}

// One of several things, which are all in sight.
export function Choice<T>({ label, of, chosen, choose }: { label: string; of: [T, string][]; chosen: T; choose(value: T): void }) {
  return (
    <div class="choice" role="group" aria-label={label}>
      {of.map(([value, text]) => <button type="button" key={text} aria-pressed={value === chosen} onClick={() => choose(value)}>{text}</button>)}
    </div>
  );
}

export function Bar({ parts }: { parts: { name: string; value: number; kind: string }[] }) {
  const total = parts.reduce((sum, part) => sum + part.value, 0);
  const text = parts.filter((part) => part.value > 0).map((part) => `${part.value} ${part.name}`).join(", ");
  return (
    <div class="bar" role="img" aria-label={text} title={text}>
      {parts.filter((part) => part.value > 0).map((part) => <Segment key={part.name} kind={part.kind} part={total ? part.value / total : 0} />)}
    </div>
  );
}
function Segment({ kind, part }: { kind: string; part: number }) {
  const element = useRef<HTMLSpanElement>(null);
  useEffect(() => { element.current!.style.width = `${part * 100}%`; }, [part]);
  return <span ref={element} class={`fill-${kind}`} />;
}

// The name of a pod or group at the head of its row, with a link to its screen; `short`: without its namespace.
export function Name({ screen, of, note, short }: { screen: string; of: { kind: string; namespace: string; name: string }; note?: string; short?: boolean }) {
  return (
    <th scope="row" class={note && "cut"}>
      <a href={href(screen, of.kind, of.namespace, of.name)}>{!short && `${of.namespace}/`}{of.name}</a>{note && <small class="muted" title={note}>{note}</small>}
    </th>
  );
}

// Scrolls as a whole; empty until its page is there.
export function Sheet<T>({ page, title, note, children }: {
  page: T | null; title: string; note?(page: T): string; children(page: T): ComponentChildren;
}) {
  if (!page) return <Empty>The page is being read.</Empty>;
  return (
    <div class="screen scroll">
      <h1>{title}{note && <span class="muted"> {note(page)}</span>}</h1>
      {children(page)}
    </div>
  );
}

// How large letters are on this screen: 1 at a desk.
export function rootScale(): number { return parseFloat(getComputedStyle(document.documentElement).fontSize) / 14; }

// Rows of one height (in pixels at a desk), of which only those in sight exist.
export function Rows<T>({ items, height, row, head, label }: {
  items: T[]; height: number; row(item: T, index: number): ComponentChildren; head: ComponentChildren; label: string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [room, setRoom] = useState(800);
  const tall = height * rootScale();
  useEffect(() => {
    const element = box.current!;
    const resized = new ResizeObserver(() => setRoom(element.clientHeight));
    resized.observe(element);
    return () => resized.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(top / tall) - 5), last = Math.min(items.length, first + Math.ceil(room / tall) + 10);
  return (
    <div class="rows" ref={box} tabIndex={0} role="region" aria-label={label}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
      <table aria-rowcount={items.length}>
        <thead>{head}</thead>
        <tbody>
          <Spacer height={first * tall} />
          {items.slice(first, last).map((item, i) => row(item, first + i))}
          <Spacer height={(items.length - last) * tall} />
        </tbody>
      </table>
    </div>
  );
}
function Spacer({ height }: { height: number }) {
  const element = useRef<HTMLTableRowElement>(null);
  useEffect(() => { if (element.current) element.current.style.height = `${height}px`; }, [height]);
  return height > 0 ? <tr ref={element} aria-hidden="true"><td /></tr> : null;
}
