import uPlot from "uplot";
import { useEffect, useRef } from "preact/hooks";
import { Bar, Card, Empty, Name, Rows, Sheet, ago, plural } from "./parts.tsx";
import { go, health, href, highlight, pace, room } from "./store.ts";

const marks: Record<string, string> = { Ill: "✕", Closed: "⁄", Healthy: "✓" };
function showNode(node: string) { highlight.value = { text: node, nodes: new Set([node]) }; go("floor"); }

export function RoomScreen() {
  return (
    <Sheet page={room.value} title="Room">{(page) => (
      <>
        <Card title="The most that is free in one place">
          <table class="plain narrow">
            <thead><tr><th>Level</th><th class="number">Domains</th><th class="number">Free devices</th><th class="number">On nodes that are free as a whole</th></tr></thead>
            <tbody>{page.levels.map((level) => <tr key={level.name}><th scope="row">{level.name}</th><td class="number">{level.domains}</td><td class="number">{level.largestFree}</td><td class="number">{level.largestWhole}</td></tr>)}</tbody>
          </table>
          <p class="muted">Sums of healthy free devices of every class. Whether a group fits, says <code>berth plan</code>.</p>
        </Card>
        <Card title="Domains" note="stranded: free devices of nodes on which others are in use">
          <Rows items={page.domains} height={38} label="Domains"
            head={<tr><th>Domain</th><th class="number">Nodes</th><th class="number">Devices</th><th class="wide">Use</th><th class="number">Free</th><th class="number">Stranded</th><th class="number">Free nodes</th><th class="number">Out</th></tr>}
            row={(row) => (
              <tr key={row.path.join("/")} class={`level-${row.level}`}>
                <th scope="row">{"· ".repeat(Math.max(0, row.level - 1))}{row.path.length === 0 ? "the whole floor" : row.path[row.path.length - 1]}</th>
                <td class="number">{row.nodes}</td><td class="number">{row.devices}</td>
                <td><Bar parts={[{ name: "in use", value: row.used, kind: "used" }, { name: "reserved", value: row.reserved, kind: "reserved" }, { name: "free", value: row.free - row.stranded, kind: "free" }, { name: "stranded", value: row.stranded, kind: "shared" }, { name: "out", value: row.out, kind: "ill" }]} /></td>
                <td class="number">{row.free}</td><td class="number">{row.stranded}</td><td class="number">{row.freeNodes}</td><td class="number">{row.out}</td>
              </tr>
            )} />
        </Card>
      </>
    )}</Sheet>
  );
}

export function HealthScreen() {
  return (
    <Sheet page={health.value} title="Health" note={(page) => page.total === 0 ? "all is well" : `${page.total} ill or closed`}>{(page) => (
      <>
        <Card title="Nodes" note={plural(page.nodes.length, "node")}>
          {page.nodes.length === 0 ? <Empty>Every node is ready and open.</Empty> : (
            <table class="plain">
              <thead><tr><th>Node</th><th>Condition</th><th>Why</th><th class="number">Since</th><th class="number">Devices</th><th class="number">In use</th></tr></thead>
              <tbody>{page.nodes.slice(0, 300).map((row) => (
                <tr key={row.node}><th scope="row"><button type="button" class="link" onClick={() => showNode(row.node)}>{row.node}</button></th>
                  <td><span class={`state condition-${row.condition}`}><span aria-hidden="true">{marks[row.condition]}</span> {row.condition}</span></td>
                  <td>{row.reason}</td><td class="number">{ago(row.since) || "–"}</td><td class="number">{row.devices}</td><td class="number">{row.inUse}</td></tr>))}</tbody>
            </table>
          )}
        </Card>
        <Card title="Devices" note="ill by themselves">
          {page.devices.length === 0 ? <Empty>Every device of a healthy node is healthy.</Empty> : (
            <table class="plain">
              <thead><tr><th>Device</th><th>Condition</th><th>Why</th><th class="number">Since</th><th>Owner</th></tr></thead>
              <tbody>{page.devices.slice(0, 300).map((row) => (
                <tr key={row.node + row.device}><th scope="row"><button type="button" class="link" onClick={() => showNode(row.node)}>{row.node}/{row.device}</button></th>
                  <td><span class={`state condition-${row.condition}`}><span aria-hidden="true">{marks[row.condition]}</span> {row.condition}</span></td>
                  <td>{row.reason}</td><td class="number">{ago(row.since) || "–"}</td><td>{row.owner ? `${row.owner.namespace}/${row.owner.name}` : "–"}</td></tr>))}</tbody>
            </table>
          )}
        </Card>
        {page.moved.length > 0 && (
          <Card title="Pods that had to leave" note="because of a node or a device">
            <table class="plain">
              <thead><tr><th>Time</th><th>Pod</th><th>Group</th><th>Left</th><th>Why</th></tr></thead>
              <tbody>{page.moved.map((row, i) => (
                <tr key={i}><td class="whole">{row.time.slice(11, 19)}</td><th scope="row">{row.namespace}/{row.name}</th>
                  <td>{row.group ? <a href={href("group", "PodGroup", row.namespace, row.group)}>{row.group}</a> : "–"}</td>
                  <td>{row.node}</td><td>{row.message || row.reason}</td></tr>))}</tbody>
            </table>
          </Card>
        )}
        <Card title="Changes" note="since this process began to watch">
          {page.changes.length === 0 ? <Empty>Nothing became ill or recovered.</Empty> : (
            <ul class="changes">{page.changes.map((row, i) => <li key={i}><time>{row.time.slice(11, 19)}</time> <span class={`state condition-${row.condition}`}><span aria-hidden="true">{marks[row.condition]}</span> {row.condition}</span> {row.what}</li>)}</ul>
          )}
        </Card>
      </>
    )}</Sheet>
  );
}

function Chart({ title, series }: { title: string; series: { label: string; values: number[]; colour: string; dash?: number[] }[] }) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const time = pace.value!.time;
  useEffect(() => {
    const element = box.current!, style = getComputedStyle(element);
    const axis = { stroke: style.getPropertyValue("--muted"), grid: { stroke: style.getPropertyValue("--line"), width: 1 } };
    chart.current = new uPlot({
      width: element.clientWidth, height: 170, padding: [8, 8, 0, 0],
      cursor: { y: false }, axes: [axis, { ...axis, size: 44 }], scales: { y: { range: (_, __, high) => [0, Math.max(high, 1)] } },
      series: [{}, ...series.map((row) => ({ label: row.label, stroke: style.getPropertyValue(row.colour), width: 2, dash: row.dash, points: { show: false } }))],
    }, [time, ...series.map((row) => row.values)] as uPlot.AlignedData, element);
    const resized = new ResizeObserver(() => chart.current?.setSize({ width: element.clientWidth, height: 170 }));
    resized.observe(element);
    return () => { resized.disconnect(); chart.current?.destroy(); };
  }, []);
  useEffect(() => { chart.current?.setData([time, ...series.map((row) => row.values)] as uPlot.AlignedData); }, [time]);
  const latest = series.map((row) => `${row.label} ${row.values.at(-1) ?? 0}`).join(", ");
  return <Card title={title}><div ref={box} class="chart" role="img" aria-label={`${title}; now ${latest}`} /></Card>;
}

export function PaceScreen() {
  return (
    <Sheet page={pace.value} title="Pace">{(page) => (
      <>
        <div class="pair">
          <Chart title="Decisions a second" series={[{ label: "placed", values: page.placed, colour: "--chart-1" }, { label: "refused", values: page.refused, colour: "--chart-2", dash: [6, 4] }]} />
          <Chart title="Pods bound a second" series={[{ label: "bound", values: page.bound, colour: "--chart-1" }]} />
        </div>
        <Chart title="Pods that wait" series={[{ label: "waiting", values: page.waiting, colour: "--chart-3" }]} />
        <Card title="Latest decisions">
          {page.decisions.length === 0 ? <Empty>There is no decision yet.</Empty> : (
            <table class="plain">
              <thead><tr><th>Time</th><th>About</th><th>Result</th><th>In words</th></tr></thead>
              <tbody>{page.decisions.map((row, i) => (
                <tr key={i}><td class="whole">{row.time.slice(11, 19)}</td><Name screen={row.kind === "Pod" ? "why" : "group"} of={row} />
                  <td class="whole">{row.result}{row.pods > 1 && ` ${row.pods} pods`}</td><td>{row.text}</td></tr>))}</tbody>
            </table>
          )}
        </Card>
      </>
    )}</Sheet>
  );
}
