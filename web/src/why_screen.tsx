import { useRef, useState } from "preact/hooks";
import { Card, Empty, Name, Rows, ago, now, plural, span } from "./parts.tsx";
import { useRead } from "./read.ts";
import { type Waiting, floor, go, route, showNodes, waiting } from "./store.ts";
import { ownerText } from "./floor.ts";

export interface Explanation {
  state?: string;
  summary?: string;
  note?: string;
  decision?: { time?: string; attempts?: number; sentence?: string; explanation?: string; reason?: string };
  refused?: Waiting["refused"];
  nearestMiss?: { place: string; lacks?: string[] };
  needed?: number;
  domains?: { domain: string; nodes: number; members: number; next?: string; lacks?: string[] }[];
  groups?: { name: string; kind: string; level: number; minimum: number; pods: number; placed: number }[];
  remedies?: { text: string }[];
  expectedStart?: { time?: string; inSeconds?: number; unknown?: string; after?: { name?: string; namespace?: string; pod?: string }[] };
  wish?: { policy?: string; wish?: string; reached?: string; score?: number; message?: string };
  members?: { name: string; state: string; summary?: string; node?: string; devices?: unknown[] }[];
  steps?: { step: string; time: string; took?: string }[];
}
export const plurals: Record<string, string> = {
  Pod: "pods", PodGroup: "podgroups", CompositePodGroup: "compositepodgroups",
};

export interface Found { answer?: Explanation; trying: boolean; older: boolean; problem?: string; again(): void }

// The explanation of one object. Its record is read again with every version. Remedies and the expected start
// cost a look at the whole cluster: they are tried once it is known to wait, and when `again` is called.
export function useExplanation(kind: string, namespace: string, name: string, version: string): Found {
  const path = `explain/${plurals[kind]}/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
  const [tries, setTries] = useState(0);
  const record = useRead<Explanation>(path, `${version} ${tries}`);
  const waits = record.answer?.state === "Unschedulable";
  const refused = useRef(""); // the path whose object was seen to wait
  if (waits) refused.current = path;
  const tried = useRead<Explanation>(refused.current === path ? `${path}?what-if` : "", `${tries}`);
  const { remedies, expectedStart, note, decision } = (waits && tried.answer) || {};
  return {
    answer: record.answer && { ...record.answer, remedies, expectedStart, note: note ?? record.answer.note },
    trying: waits && !tried.answer && !tried.problem,
    older: decision?.time !== undefined && decision.time !== record.answer?.decision?.time,
    problem: record.problem ?? (waits ? tried.problem : undefined),
    again: () => setTries(tries + 1),
  };
}

const stateMarks: Record<Waiting["state"], string> = { Gated: "‖", Binding: "→", Unschedulable: "!", Queued: "…" };

// Around the origin, by state: a point, a circle, a square, a triangle.
const circle = (r: number) => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
const shapes: Record<Waiting["state"], (r: number) => string> = {
  Unschedulable: circle, Queued: (r) => circle(r * 0.6), Gated: (r) => `M${-r} ${-r}h${2 * r}v${2 * r}h${-2 * r}z`,
  Binding: (r) => `M0 ${-r}L${r} ${r}H${-r}z`,
};

// Age against size; both axes are logarithmic.
function Scatter({ entries, chosen }: { entries: Waiting[]; chosen?: Waiting }) {
  const w = 420, h = 150, left = 34, bottom = 22;
  const ages = entries.map((entry) => Math.max(1, (now.value - Date.parse(entry.since)) / 1000));
  const sizes = entries.map((entry) => Math.max(1, entry.devices || entry.pods));
  const most = Math.max(8, ...sizes), oldest = Math.max(60, ...ages);
  const x = (age: number) => left + (Math.log(age) / Math.log(oldest)) * (w - left - 12);
  const y = (size: number) => h - bottom - (Math.log(size) / Math.log(most)) * (h - bottom - 12);
  return (
    <svg class="scatter" viewBox={`0 0 ${w} ${h}`} role="img" aria-label="Age and size of everything that waits; the list has the same data">
      <line x1={left} y1={h - bottom} x2={w - 6} y2={h - bottom} class="axis" />
      <line x1={left} y1={6} x2={left} y2={h - bottom} class="axis" />
      <text x={w - 8} y={h - 6} text-anchor="end">waits for {span(oldest)}</text>
      <text x={left} y={h - 6}>1 s</text>
      <text x={left + 6} y={14}>{most} devices or pods</text>
      <text x={left - 6} y={h - bottom} text-anchor="end">1</text>
      {entries.map((entry, i) => (
        <g key={`${entry.kind}/${entry.namespace}/${entry.name}`} class={`dot-${entry.state} ${entry === chosen ? "chosen" : ""}`}
          onClick={() => go("why", entry.kind, entry.namespace, entry.name)}>
          <title>{entry.namespace}/{entry.name}</title>
          <path d={shapes[entry.state](entry === chosen ? 7 : 5)} transform={`translate(${x(ages[i]).toFixed(1)} ${y(sizes[i]).toFixed(1)})`} />
        </g>
      ))}
    </svg>
  );
}

function Examples({ nodes, show }: { nodes: string[]; show(nodes: string[]): void }) {
  return nodes.length > 0 ? <button type="button" onClick={() => show(nodes)}>{nodes.join(", ")}</button> : null;
}

export function Answer({ found }: { found: Found }) {
  const { answer, problem } = found;
  if (!answer) return <Empty>{problem ?? "The scheduler's record is being read."}</Empty>;
  const start = answer.expectedStart;
  const nodesOf = (domain: string) => {
    const at = floor.value;
    if (!at) return [];
    return at.layout.nodes.filter((node, i) => node === domain || at.path(i).join("/") === domain || at.path(i).at(-1) === domain);
  };
  return (
    <>
      {answer.summary && <p class="summary">{answer.state}: {answer.summary}</p>}
      {answer.decision?.explanation && <p class="sentence">{answer.decision.explanation}</p>}
      {answer.wish && <p>Wish of PlacementPolicy {answer.wish.policy}: {answer.wish.wish}{answer.wish.reached && `; reached: ${answer.wish.reached}`}{answer.wish.score !== undefined && ` (score ${answer.wish.score})`}</p>}
      {start && (
        <Card title="When it runs">
          {start.time
            ? <p><strong class="big">in {span(Math.max(0, (Date.parse(start.time) - now.value) / 1000))}</strong> <span class="muted">{start.time}</span></p>
            : <p>{start.unknown === "NeverFits" ? "At no known end of a pod does it fit." : "The search ended before an answer."}</p>}
        </Card>
      )}
      {(answer.remedies?.length ?? 0) > 0 && (
        <Card title="It would fit after one of these">
          <ol class="remedies">{answer.remedies!.map((remedy) => <li key={remedy.text}>{remedy.text}</li>)}</ol>
        </Card>
      )}
      {found.trying && <p class="muted" role="status">Remedies are being tried …</p>}
      {(found.older || (problem && !found.trying)) && (
        <p class="actions">{found.older && <span class="muted">Remedies and the start are of an earlier decision. </span>}
          <button type="button" onClick={found.again}>Try again</button></p>
      )}
      {answer.nearestMiss && <Card title="Nearest miss"><p><strong>{answer.nearestMiss.place}</strong>: {(answer.nearestMiss.lacks ?? []).join("; ")}</p></Card>}
      {(answer.domains?.length ?? 0) > 0 && (
        <Card title="Domains" note={answer.needed ? `${plural(answer.needed, "member")} needed` : ""}>
          <table class="plain">
            <thead><tr><th>Domain</th><th class="number">Nodes</th><th class="number">Members that fit</th><th>The next one lacks</th><th><span class="sr">Show</span></th></tr></thead>
            <tbody>{answer.domains!.map((row) => (
              <tr key={row.domain}><th scope="row">{row.domain}</th><td class="number">{row.nodes}</td><td class="number">{row.members}</td><td>{(row.lacks ?? []).join("; ")}</td>
                <td><button type="button" onClick={() => showNodes(nodesOf(row.domain), row.domain)}>Show</button></td></tr>))}</tbody>
          </table>
        </Card>
      )}
      {(answer.refused?.length ?? 0) > 0 && (
        <Card title="Nodes refused">
          <table class="plain">
            <thead><tr><th>Plugin</th><th class="number">Nodes</th><th>Reason</th><th>Examples</th></tr></thead>
            <tbody>{answer.refused!.map((row) => (
              <tr key={row.plugin + row.reason}><td class="whole">{row.plugin}</td><td class="number">{row.nodes}</td><td>{row.reason}</td>
                <td><Examples nodes={(row.examples ?? []).map((example) => example.node)} show={(nodes) => showNodes(nodes, row.reason)} /></td></tr>))}</tbody>
          </table>
        </Card>
      )}
      {answer.decision?.sentence && <Card title="In the words of Kubernetes"><p class="muted">{answer.decision.sentence}</p></Card>}
      {answer.note && <p class="muted">{answer.note}</p>}
      {problem && <p class="muted">{problem}</p>}
    </>
  );
}

function WhyDetails({ kind, namespace, name, entry }: { kind: string; namespace: string; name: string; entry?: Waiting }) {
  const found = useExplanation(kind, namespace, name, entry?.decided ?? "");
  return (
    <div class="pane" aria-live="polite">
      <h2>{kind} {namespace}/{name}</h2>
      {entry && <p class="muted">{entry.state}, waits for {ago(entry.since)}: {plural(entry.pods, "pod")}{entry.devices > 0 && `, ${plural(entry.devices, "device")}`}{entry.minimum !== undefined && `, minimum ${entry.minimum}`}{entry.bound > 0 && `, ${entry.bound} with a node`}; priority {entry.priority}</p>}
      {!found.answer && entry?.explanation && <p class="sentence">{entry.explanation}</p>}
      <Answer found={found} />
    </div>
  );
}

export function WhyScreen() {
  const page = waiting.value;
  const entries = page?.entries ?? [];
  const [kind, namespace, name] = route.value.rest;
  const asked = entries.find((entry) => entry.kind === kind && entry.namespace === namespace && entry.name === name);
  const chosen = kind ? asked : entries[0];
  return (
    <div class="screen split">
      <div class="list">
        <h1>Why and when <span class="muted">{page && plural(page.total, "entry").replace("entrys", "entries")}{page && page.total > entries.length && `, the first ${entries.length} shown`}</span></h1>
        {page && entries.length === 0 && <Empty>Nothing waits.</Empty>}
        {entries.length > 0 && <Scatter entries={entries} chosen={chosen} />}
        {entries.length > 0 && (
          <Rows items={entries} height={46} label="What waits, by age times size"
            head={<tr><th>Waits</th><th class="number">Age</th><th class="number">Pods</th><th class="number">Devices</th><th>State</th></tr>}
            row={(entry) => (
              <tr key={ownerText(entry)} class={entry === chosen ? "chosen" : ""}>
                <Name screen="why" of={entry} note={entry.kind} />
                <td class="number">{ago(entry.since)}</td><td class="number">{entry.pods}</td><td class="number">{entry.devices || "–"}</td>
                <td><span class={`state state-${entry.state}`}><span aria-hidden="true">{stateMarks[entry.state]}</span> {entry.state}</span></td>
              </tr>
            )} />
        )}
      </div>
      {kind ? <WhyDetails kind={kind} namespace={namespace} name={name} entry={asked} />
        : chosen ? <WhyDetails {...chosen} entry={chosen} /> : <div class="pane"><Empty>Everything has its place.</Empty></div>}
    </div>
  );
}
