import { Answer, useExplanation } from "./answer.tsx";
import { ownerText } from "./floor.ts";
import { Empty, Name, Rows, ago, now, plural, span } from "./parts.tsx";
import { type Waiting, go, href, route, waiting } from "./store.ts";

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

function WhyDetails({ kind, namespace, name, entry }: { kind: string; namespace: string; name: string; entry?: Waiting }) {
  const found = useExplanation(kind, namespace, name, entry?.decided ?? "");
  return (
    <div class="pane" aria-live="polite">
      <h2>{kind} {namespace}/{name}</h2>
      {entry && <p class="muted">It waits for {ago(entry.since)}: {plural(entry.pods, "pod")}{entry.devices > 0 && `, ${plural(entry.devices, "device")}`}{entry.minimum !== undefined && `, minimum ${entry.minimum}`}{entry.bound > 0 && `, ${entry.bound} with a node`}; priority {entry.priority}</p>}
      {kind === "Pod" && found.answer?.group && <p class="muted">a member of <a href={href("group", "PodGroup", namespace, found.answer.group)}>{found.answer.group}</a></p>}
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
