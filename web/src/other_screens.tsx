import uPlot from "uplot";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { sickDomains } from "./floor.ts";
import { Bar, Card, Choice, Cut, Empty, Name, Rows, Sheet, ago, amount, clock, now, plural, span } from "./parts.tsx";
import { Moves } from "./moves.tsx";
import { purposes, reservedFor } from "./reservations.ts";
import { type HealthPage, type PacePage, type Reservation, floor, floorChanges, health, href, pace, reservations, room, showNodes } from "./store.ts";

const illShownMax = 300, sickShownMax = 20;
const marks: Record<string, string> = { Ill: "✕", Closed: "⁄", Unknown: "?", Healthy: "✓" };

function Condition({ of }: { of: string }) {
  return <span class={`state condition-${of}`}><span aria-hidden="true">{marks[of]}</span> {of}</span>;
}

function KeptRoom({ of }: { of: Reservation }) {
  const left = of.until ? (Date.parse(of.until) - now.value) / 1000 : 0;
  return (
    <tr>
      <Name screen={of.kind === "Pod" ? "why" : "group"} of={of} /><td>{purposes[of.purpose]}</td>
      <td class="number">{of.nodeCount}</td><td class="number">{of.devices || "–"}</td>
      <td>{of.until ? left > 0 ? `in ${span(left)}` : "now" : "with its nomination"}</td>
      <td>{of.nodes.length > 0 && <button type="button" onClick={() => showNodes(of.nodes, `room of ${reservedFor(of)}`)}>Show on the floor</button>}</td>
    </tr>
  );
}

function Reservations() {
  const page = reservations.value;
  return (
    <Card title="Reservations" note="room that the scheduler keeps free of equal and lower priorities">
      {!page || page.rooms.length === 0 ? <Empty>No room is kept for anybody.</Empty> : (
        <table class="plain">
          <thead><tr><th>For</th><th>Why</th><th class="number">Nodes</th><th class="number">Devices</th><th>Ends at the latest</th><th><span class="sr">Show</span></th></tr></thead>
          <tbody>{page.rooms.map((row, i) => <KeptRoom key={i} of={row} />)}</tbody>
        </table>
      )}
      {page && <Cut shown={page.rooms.length} total={page.total} />}
    </Card>
  );
}

export function RoomScreen() {
  return (
    <Sheet page={room.value} title="Room">{(page) => (
      <>
        <Card title="The most that is free in one place">
          <table class="plain narrow">
            <thead><tr><th>Level</th><th class="number">Domains</th><th class="number">Free devices</th><th class="number">On nodes that are free as a whole</th><th class="number">Such nodes</th></tr></thead>
            <tbody>{page.levels.map((level) => <tr key={level.name}><th scope="row">{level.name}</th><td class="number">{amount(level.domains)}</td><td class="number">{amount(level.largestFree)}</td><td class="number">{amount(level.largestWhole)}</td><td class="number">{amount(level.mostFreeNodes)}</td></tr>)}</tbody>
          </table>
          <p class="muted">Sums over devices of every class that are free, and neither ill nor closed. A gang whose pods each take a node has room for as many pods as there are such nodes, if cpu and memory suffice. <code>berth plan</code> says whether a group fits.</p>
        </Card>
        <Reservations />
        <Moves />
        <Card title="Domains">
          <ul class="legend" aria-label="Legend">
            <li><span class="key fill-used" />in use</li><li><span class="key fill-reserved" />reserved</li><li><span class="key bar fill-free" />free, on a node in no use</li>
            <li><span class="key bar fill-shared" />stranded: free, others of its node are in use</li><li><span class="key bar fill-ill" />ill or closed, in no use</li>
          </ul>
          <Rows items={page.domains} height={38} label="Domains"
            head={<tr><th>Domain</th><th class="number">Nodes</th><th class="number">Devices</th><th class="wide">Use</th><th class="number">Free</th><th class="number">Stranded</th><th class="number">Free nodes</th><th class="number">Ill or closed</th></tr>}
            row={(row) => (
              <tr key={row.path.join("/")} class={`level-${row.level}`}>
                <th scope="row">{"· ".repeat(Math.max(0, row.level - 1))}{row.path.length === 0 ? "the whole floor" : row.path[row.path.length - 1]}</th>
                <td class="number">{amount(row.nodes)}</td><td class="number">{amount(row.devices)}</td>
                <td><Bar parts={[{ name: "in use", value: row.used, kind: "used" }, { name: "reserved", value: row.reserved, kind: "reserved" }, { name: "free", value: row.free - row.stranded, kind: "free" }, { name: "stranded", value: row.stranded, kind: "shared" }, { name: "ill or closed, in no use", value: row.out, kind: "ill" }]} /></td>
                <td class="number">{amount(row.free)}</td><td class="number">{amount(row.stranded)}</td><td class="number">{amount(row.freeNodes)}</td><td class="number">{amount(row.out)}</td>
              </tr>
            )} />
        </Card>
      </>
    )}</Sheet>
  );
}

function SickDomains() {
  const now = floor.value;
  const rows = useMemo(() => (now ? sickDomains(now) : []), [now, floorChanges.value]);
  if (!now || rows.length === 0) return null;
  return (
    <Card title="Domains" note="with a device that is ill, closed or unknown, the worst first">
      <table class="plain narrow">
        <thead><tr><th>{now.layout.levels.map((level) => level.name).join(" / ")}</th><th class="number">Devices</th><th class="number">Ill</th><th class="number">Closed</th><th class="number">Unknown</th><th>Nodes</th></tr></thead>
        <tbody>{rows.slice(0, sickShownMax).map((row) => (
          <tr key={row.path.join("/")}><th scope="row">{row.path.join(" / ")}</th><td class="number">{amount(row.devices)}</td>
            <td class="number">{amount(row.ill)}</td><td class="number">{amount(row.closed)}</td><td class="number">{amount(row.unknown)}</td>
            <td><button type="button" class="link" onClick={() => showNodes(row.nodes, row.path.join("/"))}>{plural(row.nodes.length, "node")}</button></td></tr>))}</tbody>
      </table>
      <Cut shown={sickShownMax} total={rows.length} />
    </Card>
  );
}

type SickDevice = HealthPage["devices"][0];

// Devices of a node that are ill for the same reason, with the same owner.
function groupAlike(devices: SickDevice[]): SickDevice[][] {
  const alike = new Map<string, SickDevice[]>();
  for (const row of devices) {
    const key = JSON.stringify({ ...row, device: "" });
    const rows = alike.get(key);
    if (rows) rows.push(row);
    else alike.set(key, [row]);
  }
  return [...alike.values()];
}

function SickDevices({ page }: { page: HealthPage }) {
  const alike = groupAlike(page.devices);
  return (
    <Card title="Devices" note={page.reportingNodes > 0 ? `that are worse than their node; drivers report through ${plural(page.reportingNodes, "node agent")}` : "that are worse than their node, by taints; no node agent reports"}>
      {page.devices.length === 0 ? <Empty>Every device of a healthy node is healthy.</Empty> : (
        <table class="plain">
          <thead><tr><th>Device</th><th>Condition</th><th>Why</th><th class="number">Since</th><th>Owner</th></tr></thead>
          <tbody>{alike.slice(0, illShownMax).map(([row, ...more]) => (
            <tr key={row.node + row.driver + row.device}><th scope="row"><button type="button" class="link" onClick={() => showNodes([row.node], row.node)}>{row.node}/{row.device}</button>{more.length > 0 && <small class="whole">and {amount(more.length)} more</small>}</th>
              <td><Condition of={row.condition} /></td>
              <td>{row.reason}</td><td class="number whole">{ago(row.since) || "–"}</td><td class="whole">{row.owner ? `${row.owner.namespace}/${row.owner.name}` : "–"}</td></tr>))}</tbody>
        </table>
      )}
      <Cut shown={illShownMax} total={alike.length} />
    </Card>
  );
}

export function HealthScreen() {
  return (
    <Sheet page={health.value} title="Health" note={(page) => page.total === 0 ? "nothing is ill" : `${amount(page.total)} ill, closed or unknown`}>{(page) => (
      <>
        <SickDomains />
        <Card title="Nodes" note={page.nodes.length > 0 ? plural(page.nodes.length, "node") : undefined}>
          {page.nodes.length === 0 ? <Empty>Every node is ready and open.</Empty> : (
            <table class="plain">
              <thead><tr><th>Node</th><th>Condition</th><th>Why</th><th class="number">Since</th><th class="number">Devices</th><th class="number">In use</th></tr></thead>
              <tbody>{page.nodes.slice(0, illShownMax).map((row) => (
                <tr key={row.node}><th scope="row"><button type="button" class="link" onClick={() => showNodes([row.node], row.node)}>{row.node}</button></th>
                  <td><Condition of={row.condition} /></td>
                  <td>{row.reason}</td><td class="number">{ago(row.since) || "–"}</td><td class="number">{amount(row.devices)}</td><td class="number">{amount(row.inUse)}</td></tr>))}</tbody>
            </table>
          )}
          <Cut shown={illShownMax} total={page.nodes.length} />
        </Card>
        <SickDevices page={page} />
        {page.moved.length > 0 && (
          <Card title="Pods that had to leave" note="because of a node or a device">
            <table class="plain">
              <thead><tr><th>Time</th><th>Pod</th><th>Group</th><th>Left</th><th>Why</th></tr></thead>
              <tbody>{page.moved.map((row, i) => (
                <tr key={i}><td class="whole">{clock(row.time)}</td><th scope="row">{row.namespace}/{row.name}</th>
                  <td>{row.group ? <a href={href("group", "PodGroup", row.namespace, row.group)}>{row.group}</a> : "–"}</td>
                  <td>{row.node}</td><td>{row.message || row.reason}</td></tr>))}</tbody>
            </table>
          </Card>
        )}
        <Card title="Changes" note="since this process began to watch">
          {page.changes.length === 0 ? <Empty>Nothing became ill or recovered.</Empty> : (
            <ul class="changes">{page.changes.map((row, i) => <li key={i}><time>{clock(row.time)}</time> <Condition of={row.condition} /> {row.what}</li>)}</ul>
          )}
        </Card>
      </>
    )}</Sheet>
  );
}

interface Series { label: string; values: number[]; colour: string; dash?: number[] }

function Chart({ title, note, series }: { title: string; note?: string; series: Series[] }) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const time = pace.value!.time;
  useEffect(() => {
    const element = box.current!, style = getComputedStyle(element);
    const size = parseFloat(style.fontSize), font = `${Math.round(size * 0.86)}px ${style.fontFamily}`;
    const axis = { stroke: style.getPropertyValue("--muted"), font, grid: { stroke: style.getPropertyValue("--line"), width: 1 } };
    const height = size * 10;
    chart.current = new uPlot({
      width: element.clientWidth, height, padding: [8, size * 2.5, 0, 0], legend: { show: false }, cursor: { y: false },
      axes: [{ ...axis, size: size * 2.4, space: size * 7, values: (_, ticks) => ticks.map((tick) => clock(tick * 1000)) }, { ...axis, size: size * 3.2 }],
      scales: { y: { range: (_, __, high) => [0, Math.max(high * 1.05, 1)] } },
      series: [{}, ...series.map((row) => ({ label: row.label, stroke: style.getPropertyValue(row.colour), width: 2, dash: row.dash, points: { show: false } }))],
    }, [time, ...series.map((row) => row.values)] as uPlot.AlignedData, element);
    const resized = new ResizeObserver(() => chart.current?.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    return () => { resized.disconnect(); chart.current?.destroy(); };
  }, []);
  useEffect(() => { chart.current?.setData([time, ...series.map((row) => row.values)] as uPlot.AlignedData); }, [time]);
  const latest = series.map((row) => `${row.label} ${row.values.at(-1) ?? 0}`).join(", ");
  return (
    <Card title={title} note={note}>
      <ul class="legend" aria-label={`${title}, now`}>
        {series.map((row) => <li key={row.label}><span class={`key line line${row.colour}${row.dash ? " dashed" : ""}`} />{row.label} <strong>{amount(row.values.at(-1) ?? 0)}</strong></li>)}
      </ul>
      <div ref={box} class="chart" role="img" aria-label={`${title}; now ${latest}; the table has the same data`} />
    </Card>
  );
}

// Requests that changed something, for each pod that got its node.
function writesNote(page: PacePage): string {
  const sum = (values: number[]) => values.reduce((all, value) => all + value, 0);
  const bound = sum(page.bound);
  return `of the scheduler's loop${bound > 0 ? `, ${(sum(page.written) / bound).toFixed(1)} for each pod that was bound` : ""}`;
}

function PaceTable({ page }: { page: PacePage }) {
  const rows = page.time.map((_, i) => page.time.length - 1 - i);
  return (
    <Card title="A row a second" note="the latest first">
      <Rows items={rows} height={30} label="Pace by second"
        head={<tr><th>Time</th><th class="number">Placed</th><th class="number">Refused</th><th class="number">Pods bound</th><th class="number">Writes</th><th class="number">Not accepted</th><th class="number">Pods that wait</th></tr>}
        row={(i) => <tr key={page.time[i]}><th scope="row">{clock(page.time[i] * 1000)}</th><td class="number">{amount(page.placed[i])}</td><td class="number">{amount(page.refused[i])}</td><td class="number">{amount(page.bound[i])}</td><td class="number">{amount(page.written[i])}</td><td class="number">{amount(page.notWritten[i])}</td><td class="number">{amount(page.waiting[i])}</td></tr>} />
    </Card>
  );
}

export function PaceScreen() {
  const [table, setTable] = useState(false);
  return (
    <Sheet page={pace.value} title="Pace">{(page) => (
      <>
        <div class="tools">
          <Choice label="Show as" of={[[false, "Charts"], [true, "Table"]]} chosen={table} choose={setTable} />
          <span class="muted">the last ten minutes, by second</span>
        </div>
        {table ? <PaceTable page={page} /> : (
          <>
            <div class="pair">
              <Chart title="Decisions a second" series={[{ label: "placed", values: page.placed, colour: "--chart-1" }, { label: "refused", values: page.refused, colour: "--chart-2", dash: [6, 4] }]} />
              <Chart title="Pods bound a second" series={[{ label: "bound", values: page.bound, colour: "--chart-1" }]} />
            </div>
            <div class="pair">
              <Chart title="Writes a second" note={writesNote(page)} series={[{ label: "accepted", values: page.written, colour: "--chart-1" }, { label: "not accepted", values: page.notWritten, colour: "--chart-2", dash: [6, 4] }]} />
              <Chart title="Pods that wait" series={[{ label: "waiting", values: page.waiting, colour: "--chart-3" }]} />
            </div>
          </>
        )}
        <Card title="Latest decisions">
          {page.decisions.length === 0 ? <Empty>There is no decision yet.</Empty> : (
            <table class="plain">
              <thead><tr><th>Time</th><th>About</th><th>Result</th><th>Why</th></tr></thead>
              <tbody>{page.decisions.map((row, i) => (
                <tr key={i}><td class="whole">{clock(row.time)}</td><Name screen={row.kind === "Pod" ? "why" : "group"} of={row} note={row.kind} />
                  <td class="whole">{row.result}{row.pods > 1 && ` ${row.pods} pods`}</td><td>{row.text || "–"}</td></tr>))}</tbody>
            </table>
          )}
        </Card>
      </>
    )}</Sheet>
  );
}
