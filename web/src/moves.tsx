import { useState } from "preact/hooks";
import { Card, Cut, Empty, amount, plural } from "./parts.tsx";
import { useRead } from "./read.ts";

interface Move { namespace: string; name: string; group?: string; from: string; to: string; devices: number; domain: string }
interface MovesPage {
  problem?: string; // then nothing else is there
  level: { name: string };
  moves: Move[];
  domains: { domain: string; whole: boolean; moves: number; devices: number; devicesMoved: number; buys: string }[];
  unchanged: { domain: string; message: string }[];
  wholeBefore: number;
  wholeAfter: number;
  ended: boolean;
  note?: string;
}

const movesShownMax = 300;

function Plan({ of }: { of: MovesPage }) {
  if (of.domains.length === 0) return <Empty>No moves would make a {of.level.name} whole.</Empty>;
  return (
    <>
      <p>{plural(of.wholeBefore, "domain")} of level {of.level.name} {of.wholeBefore === 1 ? "has" : "have"} no device in use now, {amount(of.wholeAfter)} after these moves.</p>
      <table class="plain">
        <thead><tr><th>Domain</th><th class="number">Pods that move</th><th class="number">Devices they hold</th><th class="number">Devices there</th><th>Result</th></tr></thead>
        <tbody>{of.domains.map((row) => (
          <tr key={row.domain}><th scope="row">{row.domain}</th><td class="number">{amount(row.moves)}</td><td class="number">{amount(row.devicesMoved)}</td>
            <td class="number">{amount(row.devices)}</td><td>{row.buys}</td></tr>))}</tbody>
      </table>
      <h3>Moves</h3>
      <table class="plain">
        <thead><tr><th>Pod</th><th>Group</th><th>From</th><th>To</th><th class="number">Devices</th></tr></thead>
        <tbody>{of.moves.slice(0, movesShownMax).map((move) => (
          <tr key={`${move.namespace}/${move.name}`}><th scope="row">{move.namespace}/{move.name}</th><td>{move.group ?? "–"}</td>
            <td>{move.from}</td><td>{move.to}</td><td class="number">{amount(move.devices)}</td></tr>))}</tbody>
      </table>
      <Cut shown={movesShownMax} total={of.moves.length} />
    </>
  );
}

// Asked for by a person: the search reads the whole cluster.
export function Moves() {
  const [searches, setSearches] = useState(0);
  const { answer, problem = answer?.problem, reading } = useRead<MovesPage>(searches > 0 ? "moves" : "", `${searches}`);
  const page = problem ? undefined : answer;
  return (
    <Card title="Domains that moves would make whole" note="a search on the cluster as it is; nothing moves">
      <p><button type="button" disabled={reading} onClick={() => setSearches(searches + 1)}>{reading ? "Searching…" : page ? "Search again" : "Search"}</button></p>
      <div aria-live="polite">
        {problem && !reading && <Empty>{problem}</Empty>}
        {page && <Plan of={page} />}
        {page?.ended && <p class="muted">The search ended at a bound, so there may be more.</p>}
        {page && page.unchanged.length > 0 && (
          <details>
            <summary>{plural(page.unchanged.length, "domain")} with devices in use {page.unchanged.length === 1 ? "stays" : "stay"} as now</summary>
            <table class="plain">
              <thead><tr><th>Domain</th><th>Why it stays</th></tr></thead>
              <tbody>{page.unchanged.slice(0, movesShownMax).map((row) => <tr key={row.domain}><th scope="row">{row.domain}</th><td>{row.message}</td></tr>)}</tbody>
            </table>
            <Cut shown={movesShownMax} total={page.unchanged.length} />
          </details>
        )}
        {page?.note && <p class="muted">{page.note}</p>}
      </div>
    </Card>
  );
}
