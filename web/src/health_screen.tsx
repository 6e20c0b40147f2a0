import { useMemo, useState } from "preact/hooks";
import { CurvesBody } from "./chart.tsx";
import { sickDomains, sinceOf } from "./floor.ts";
import { illColumns, illOverTime, timeText } from "./history.ts";
import { Card, Choice, Cut, Empty, Rows, Sheet, ago, amount, clock, plural } from "./parts.tsx";
import { useOverview } from "./read.ts";
import { type HealthPage, floor, floorChanges, health, href, showNodes } from "./store.ts";

const illShownMax = 300, sickShownMax = 20;
const marks: Record<string, string> = { Ill: "✕", Closed: "⁄", Unknown: "?", Healthy: "✓" };

function Condition({ of }: { of: string }) {
  return <span class={`state condition-${of}`}><span aria-hidden="true">{marks[of]}</span> {of}</span>;
}

// How long ago, and when.
function Since({ time }: { time: string | undefined }) {
  return time ? <>{ago(time)} <small class="muted">{timeText(Date.parse(time)).slice(5, 16)}</small></> : <>–</>;
}

function SickDomains() {
  const now = floor.value;
  const rows = useMemo(() => (now ? sickDomains(now) : []), [now, floorChanges.value]);
  if (!now || rows.length === 0) return null;
  return (
    <Card title="Domains" note="with a device that is ill, closed or unknown, the worst first">
      <table class="plain narrow">
        <thead><tr><th>{now.layout.levels.map((level) => level.name).join(" / ")}</th><th class="number">Devices</th><th class="number">Ill</th><th class="number">Closed</th><th class="number">Unknown</th><th class="number">Since</th><th>Nodes</th></tr></thead>
        <tbody>{rows.slice(0, sickShownMax).map((row) => (
          <tr key={row.path.join("/")}><th scope="row">{row.path.join(" / ")}</th><td class="number">{amount(row.devices)}</td>
            <td class="number">{amount(row.ill)}</td><td class="number">{amount(row.closed)}</td><td class="number">{amount(row.unknown)}</td>
            <td class="number whole"><Since time={sinceOf(row.nodes, health.value)} /></td>
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
              <td>{row.reason}</td><td class="number whole"><Since time={row.since} /></td><td class="whole">{row.owner ? `${row.owner.namespace}/${row.owner.name}` : "–"}</td></tr>))}</tbody>
        </table>
      )}
      <Cut shown={illShownMax} total={alike.length} />
    </Card>
  );
}

const illColours = ["--chart-2", "--chart-1", "--chart-3"], illDashes = [undefined, [6, 4], [2, 5]];

// From the history that the screen Time shows.
function IllOverTime() {
  const { overview, problem } = useOverview();
  const [table, setTable] = useState(false);
  const rows = useMemo(() => (overview ? illOverTime(overview) : []), [overview]);
  // Until now: while nothing changes nothing is recorded.
  const { time, columns } = useMemo(() => illColumns(rows, Math.max(overview?.to ?? 0, Date.now())), [rows]);
  const level = floor.value?.layout.levels.at(-1)?.name ?? "domain";
  const names = ["Ill devices", "Ill nodes", `${level[0].toUpperCase()}${level.slice(1)}s with either`];
  const counted = rows.some((row) => row.ill);
  return (
    <Card title="Ill over time" note={overview?.from ? `since ${timeText(overview.from)}, ${overview.onDisk ? "kept on disk" : "kept in memory"}` : undefined}>
      {!counted ? <Empty>{problem || (overview ? "Nothing is recorded yet." : "The history is being read.")}</Empty> : (
        <>
          <div class="tools"><Choice label="Show what was ill as" of={[[false, "Chart"], [true, "Table"]]} chosen={table} choose={setTable} /></div>
          {!table ? <CurvesBody title="Ill over time" time={time} stepped series={names.map((label, i) => ({ label, values: columns[i], colour: illColours[i], dash: illDashes[i] }))} /> : (
            <Rows items={[...rows].reverse()} height={30} label="Ill over time, the latest first"
              head={<tr><th>From</th>{names.map((name) => <th key={name} class="number">{name}</th>)}</tr>}
              row={(row) => <tr key={row.ms}><th scope="row">{timeText(row.ms)}</th>{names.map((name, i) => <td key={name} class="number">{row.ill ? amount(row.ill[i]) : "–"}</td>)}</tr>} />
          )}
        </>
      )}
    </Card>
  );
}

export function HealthScreen() {
  return (
    <Sheet page={health.value} title="Health" note={(page) => page.total === 0 ? "nothing is ill" : `${amount(page.total)} ill, closed or unknown`}>{(page) => (
      <>
        <IllOverTime />
        <SickDomains />
        <Card title="Nodes" note={page.nodes.length > 0 ? plural(page.nodes.length, "node") : undefined}>
          {page.nodes.length === 0 ? <Empty>Every node is ready and open.</Empty> : (
            <table class="plain">
              <thead><tr><th>Node</th><th>Condition</th><th>Why</th><th class="number">Since</th><th class="number">Devices</th><th class="number">In use</th></tr></thead>
              <tbody>{page.nodes.slice(0, illShownMax).map((row) => (
                <tr key={row.node}><th scope="row"><button type="button" class="link" onClick={() => showNodes([row.node], row.node)}>{row.node}</button></th>
                  <td><Condition of={row.condition} /></td>
                  <td>{row.reason}</td><td class="number whole"><Since time={row.since} /></td><td class="number">{amount(row.devices)}</td><td class="number">{amount(row.inUse)}</td></tr>))}</tbody>
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
