import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { getJson, mayPass, problemText } from "./api.ts";
import { FloorTable, Legend, OwnerLegend, modes, useOwnerColours } from "./floor_screen.tsx";
import { type DeviceState, type Difference, type Moment, type Overview, type Shown, type Waited, show, steps, timeText } from "./history.ts";
import { FloorMap } from "./map.tsx";
import { Card, Choice, Empty, Name, amount, clock, plural } from "./parts.tsx";
import type { Mode } from "./raster.ts";
import { useOverview } from "./read.ts";
import { Repeated } from "./repeat.ts";
import type { Decision } from "./store.ts";

// What is at the path; the latest path wins, and one request is under way at a time. "": nothing.
// `more` is added to the path when it is asked for, and is no reason to ask again.
function useLatest<T>(path: string, take: (answer: T) => void, more = () => ""): string {
  const [problem, setProblem] = useState("");
  const wanted = useRef("");
  const [reads] = useState(() => new Repeated<T>({
    read: (stop) => getJson<T>(wanted.current + more(), stop),
    take(answer) { take(answer); setProblem(""); },
    failed(error) { setProblem(problemText(error)); return mayPass(error); },
  }, 0));
  useEffect(() => () => reads.stop(), []);
  useEffect(() => {
    wanted.current = path;
    path ? reads.ask() : reads.stop();
  }, [path]);
  return problem;
}

const w = 1000, h = 60;
function Curves({ overview, at, mark }: { overview: Overview; at: number; mark: number | null }) {
  const { from, to, samples, gaps } = overview;
  const devices = Math.max(1, ...samples.map(([, used, reserved, free, out]) => used + reserved + free + out));
  const waiting = Math.max(1, ...samples.map((sample) => sample[5]));
  const x = (ms: number) => (Math.min(1, Math.max(0, (ms - from) / Math.max(1, to - from))) * w).toFixed(1);
  const points = (value: (sample: Overview["samples"][0]) => number, most: number) =>
    steps(samples, value, from, to, most).map(([px, py]) => `${(px * w).toFixed(1)},${(4 + py * (h - 4)).toFixed(1)}`).join(" ");
  const used = points((sample) => sample[1], devices);
  return (
    <svg class="curves" viewBox={`0 0 ${w} ${h}`} preserveAspectRatio="none" role="img"
      aria-label={`Devices in use and entries that wait from ${timeText(from)} to ${timeText(to)}; the numbers of the chosen instant are below the heading`}>
      {samples.length > 0 && <polygon class="curve-used" points={`${used} ${w},${h} ${x(samples[0][0])},${h}`} />}
      <polyline class="curve-waiting" points={points((sample) => sample[5], waiting)} />
      {gaps.map(([a, b]) => <rect key={a} class="curve-gap" x={x(a)} y="0" width={Math.max(2, Number(x(b)) - Number(x(a)))} height={h}><title>not recorded</title></rect>)}
      {mark !== null && <line class="curve-mark" x1={x(mark)} x2={x(mark)} y1="0" y2={h} />}
      <line class="curve-at" x1={x(at)} x2={x(at)} y1="0" y2={h} />
    </svg>
  );
}

function stateText(state: DeviceState | null): string {
  if (!state) return "not there";
  const condition = state.condition === "Healthy" ? "" : `, ${state.condition.toLowerCase()}`;
  return `${state.use.toLowerCase()}${condition}${state.owner ? ` · ${state.owner.namespace}/${state.owner.name}` : ""}`;
}

function Decisions({ rows, title }: { rows: Decision[]; title: string }) {
  if (rows.length === 0) return null;
  return (
    <Card title={title}>
      <ul class="events">{rows.map((row, i) => (
        <li key={i}><time>{clock(row.time)}</time> <strong>{row.result}{row.pods > 1 && `, ${row.pods} pods`}</strong> {row.namespace}/{row.name}
          {row.text && <p class="muted">{row.text}</p>}</li>))}</ul>
    </Card>
  );
}

function Queue({ title, entries, total }: { title: string; entries: Waited[]; total: number }) {
  return (
    <Card title={title} note={total > entries.length ? `${total}, the first ${entries.length} shown` : `${total}`}>
      {entries.length === 0 ? <Empty>None.</Empty> : (
        <table class="plain">
          <thead><tr><th>Waits</th><th class="number">Pods</th><th>State</th></tr></thead>
          <tbody>{entries.slice(0, 100).map((row) => (
            <tr key={row.kind + row.namespace + row.name}><Name screen="why" of={row} note={row.reason || row.kind} />
              <td class="number">{row.pods}</td><td>{row.state}</td></tr>))}</tbody>
        </table>
      )}
    </Card>
  );
}

function MomentPane({ moment }: { moment: Moment }) {
  const { step } = moment;
  return (
    <div class="pane" aria-live="polite">
      <Card title="The latest change" note={step.changes.length > 0 ? timeText(step.time) : ""}>
        {step.changes.length === 0 ? <Empty>No device changed since recording began here.</Empty> : (
          <ul class="events">{step.changes.slice(0, 50).map((row, i) => (
            <li key={i}><strong>{plural(row.count, "device")}</strong> on {row.nodes.join(", ")}{row.count > 1 && row.nodes.length === 3 && " …"}
              <p class="muted">{stateText(row.before)} → {stateText(row.after)}</p></li>))}</ul>
        )}
      </Card>
      <Decisions rows={step.decisions.slice(0, 5)} title="Decisions about it" />
      <Queue title="Waited then" entries={moment.queue.entries} total={moment.queue.total} />
      <Decisions rows={moment.decisions.slice(0, 10)} title="Decisions before" />
    </div>
  );
}

const sums = ["in use", "reserved", "free", "ill or closed, in no use", "waiting"];
function DifferencePane({ difference }: { difference: Difference }) {
  const { devices, owners, queue } = difference;
  return (
    <div class="pane" aria-live="polite">
      <Card title="Difference" note={`${timeText(difference.from)} to ${timeText(difference.to)}`}>
        <table class="plain">
          <thead><tr><th>Devices</th><th class="number">Before</th><th class="number">After</th></tr></thead>
          <tbody>{sums.map((name, i) => <tr key={name}><th scope="row">{name}</th><td class="number">{difference.before[i + 1]}</td><td class="number">{difference.after[i + 1]}</td></tr>)}</tbody>
        </table>
      </Card>
      <Card title="Owners" note={`${owners.total} with more or fewer devices`}>
        {owners.rows.length === 0 ? <Empty>Nobody has more or fewer.</Empty> : (
          <table class="plain">
            <thead><tr><th>Owner</th><th class="number">Before</th><th class="number">After</th></tr></thead>
            <tbody>{owners.rows.slice(0, 100).map((row) => (
              <tr key={row.kind + row.namespace + row.name}><th scope="row" class="cut">{row.namespace}/{row.name}</th><td class="number">{row.before}</td><td class="number">{row.after}</td></tr>))}</tbody>
          </table>
        )}
      </Card>
      <Card title="Devices" note={`${plural(devices.total, "device")} changed${devices.total > devices.rows.length ? `, the first ${devices.rows.length} shown` : ""}`}>
        {devices.rows.length > 0 && (
          <table class="plain">
            <thead><tr><th>Device</th><th>Before</th><th>After</th></tr></thead>
            <tbody>{devices.rows.map((row) => (
              <tr key={row.node + row.driver + row.device}><th scope="row">{row.node}{row.device && `/${row.device}`}</th><td>{stateText(row.before)}</td><td>{stateText(row.after)}</td></tr>))}</tbody>
          </table>
        )}
      </Card>
      <Queue title="Waits since" entries={queue.came} total={queue.came.length} />
      <Queue title="Waits no more" entries={queue.left} total={queue.left.length} />
    </div>
  );
}

export function TimeScreen() {
  const { overview, problem: unread } = useOverview();
  const [chosen, setChosen] = useState<number | null>(null); // null: the latest
  const [mark, setMark] = useState<number | null>(null);
  const [mode, setMode] = useState<Mode>("use");
  const [table, setTable] = useState(false);
  const [shown, setShown] = useState<Shown | null>(null);
  const [difference, setDifference] = useState<Difference | null>(null);
  const at = chosen ?? overview?.to ?? 0;
  const kept = useRef<Shown | null>(null);
  const problem = useLatest<Moment>(at ? `history/moment?at=${at}` : "",
    (moment) => { kept.current = show(moment, kept.current); setShown(kept.current); },
    () => kept.current ? `&layout=${kept.current.moment.layoutId}` : "");
  const [from, to] = mark === null ? [0, 0] : [Math.min(mark, at), Math.max(mark, at)];
  const different = useLatest<Difference>(mark !== null && mark !== at ? `history/difference?from=${from}&to=${to}` : "", setDifference);
  const compares = mark !== null && mark !== at && difference;
  const changed = compares ? difference.devices.rows : null;
  const nodes = new Set(changed?.map((row) => `${row.node}/${row.device}`));
  const lit = useCallback((cell: number) => nodes.has(`${shown!.floor.nodeName(cell)}/${shown!.floor.device(cell).name}`), [changed, shown]);
  const colours = useOwnerColours(shown?.floor, shown?.moment.time ?? 0, mode === "owner");
  if (!overview) return <Empty>{unread || "The history is being read."}</Empty>;
  if (!overview.from) return <Empty>Nothing is recorded yet.</Empty>;
  const end = Math.max(overview.to, overview.from + 1000);
  return (
    <div class="screen">
      <h1>Time <span class="instant">{timeText(at)}{chosen === null && " · the latest"}</span> <span class="muted">{overview.onDisk ? "kept on disk" : "kept in memory"} since {timeText(overview.from)}</span></h1>
      <ul class="legend curve-key" aria-label="Curves"><li><span class="key fill-used" />devices in use</li><li><span class="key key-waiting" />what waits</li>{shown && sums.map((name, i) => <li key={name}><strong>{amount(shown.moment.sums[i + 1] ?? 0)}</strong> {name}</li>)}{overview.gaps.length > 0 && <li><span class="key fill-quiet" />not recorded</li>}</ul>
      <Curves overview={overview} at={at} mark={mark} />
      <input class="slider" type="range" min={overview.from} max={end} step={1} value={at} aria-label="Instant" aria-valuetext={timeText(at)}
        onInput={(event) => setChosen(Number(event.currentTarget.value))} />
      <div class="tools">
        <div class="choice" role="group" aria-label="Go to">
          <button type="button" disabled={!shown?.moment.previous} onClick={() => setChosen(shown!.moment.previous)}>Change before</button>
          <button type="button" disabled={!shown?.moment.next} onClick={() => setChosen(shown!.moment.next)}>Change after</button>
          <button type="button" onClick={() => setChosen(null)}>Latest</button>
        </div>
        {mark === null
          ? <button type="button" onClick={() => { setDifference(null); setMark(at); if (chosen === null) setChosen(at); }}>Compare from here</button>
          : <button type="button" class="chip" onClick={() => setMark(null)}>from {timeText(mark)} ×</button>}
        <span class="grow" />
        <Legend mode={mode} />
        <Choice label="Colour by" of={modes.slice(0, 3)} chosen={mode} choose={setMode} />
        <Choice label="Show as" of={[[false, "Map"], [true, "Table"]]} chosen={table} choose={setTable} />
      </div>
      {(problem || different) && <p class="muted" role="alert">{problem || different}</p>}
      {mode === "owner" && <OwnerLegend colours={colours} />}
      <div class="stage then">
        {!shown ? <Empty>The floor is being read.</Empty>
          : table ? <FloorTable now={shown.floor} lit={changed && lit} />
            : <FloorMap now={shown.floor} plan={shown.plan} version={shown.moment.time} mode={mode} slots={colours.slots} lit={changed && lit} open={() => {}} />}
        {compares ? <DifferencePane difference={difference} /> : shown && <MomentPane moment={shown.moment} />}
      </div>
    </div>
  );
}
