import { useState } from "preact/hooks";
import { Chart } from "./chart.tsx";
import { tookText } from "./history.ts";
import { Bar, Card, Choice, Cut, Empty, Name, Rows, Sheet, amount, clock, now, span } from "./parts.tsx";
import { Moves } from "./moves.tsx";
import { purposes, reservedFor } from "./reservations.ts";
import { type PacePage, type Reservation, pace, reservations, room, showNodes } from "./store.ts";

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
        head={<tr><th>Time</th><th class="number">Placed</th><th class="number">Refused</th><th class="number">Pods bound</th><th class="number">Writes</th><th class="number">Not accepted</th><th class="number">Pods that wait</th><th class="number">Answered within, half</th><th class="number">99 %</th></tr>}
        row={(i) => <tr key={page.time[i]}><th scope="row">{clock(page.time[i] * 1000)}</th><td class="number">{amount(page.placed[i])}</td><td class="number">{amount(page.refused[i])}</td><td class="number">{amount(page.bound[i])}</td><td class="number">{amount(page.written[i])}</td><td class="number">{amount(page.notWritten[i])}</td><td class="number">{amount(page.waiting[i])}</td><td class="number">{tookText(page.answerP50Micros[i])}</td><td class="number">{tookText(page.answerP99Micros[i])}</td></tr>} />
    </Card>
  );
}

// What the API server takes, by verb.
function Answers({ page }: { page: PacePage }) {
  return (
    <Card title="Answers to writes" note="of all loops of this process, since it began">
      <table class="plain narrow">
        <thead><tr><th>Verb</th><th class="number">Writes</th><th class="number">Half within</th><th class="number">99 % within</th></tr></thead>
        <tbody>{page.answers.map((row) => (
          <tr key={row.verb}><th scope="row">{row.verb}</th><td class="number">{amount(row.count)}</td><td class="number">{tookText(row.p50Micros)}</td><td class="number">{tookText(row.p99Micros)}</td></tr>))}</tbody>
      </table>
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
        {table ? <><PaceTable page={page} /><Answers page={page} /></> : (
          <>
            <div class="pair">
              <Chart time={page.time} title="Decisions a second" series={[{ label: "placed", values: page.placed, colour: "--chart-1" }, { label: "refused", values: page.refused, colour: "--chart-2", dash: [6, 4] }]} />
              <Chart time={page.time} title="Pods bound a second" series={[{ label: "bound", values: page.bound, colour: "--chart-1" }]} />
            </div>
            <div class="pair">
              <Chart time={page.time} title="Writes a second" note={writesNote(page)} series={[{ label: "accepted", values: page.written, colour: "--chart-1" }, { label: "not accepted", values: page.notWritten, colour: "--chart-2", dash: [6, 4] }]} />
              <Chart time={page.time} title="Pods that wait" series={[{ label: "waiting", values: page.waiting, colour: "--chart-3" }]} />
            </div>
            <div class="pair">
              <Chart time={page.time} title="Time until the API server answers a write" joined text={tookText} series={[{ label: "half within", values: page.answerP50Micros, colour: "--chart-1" }, { label: "99 % within", values: page.answerP99Micros, colour: "--chart-2", dash: [6, 4] }]} />
              <Answers page={page} />
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
