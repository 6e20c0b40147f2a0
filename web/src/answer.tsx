// What `berth explain` says of one pod or group.

import { useRef, useState } from "preact/hooks";
import { Card, Empty, clock, now, plural, span } from "./parts.tsx";
import { useRead } from "./read.ts";
import { type Waiting, floor, showNodes } from "./store.ts";

interface Device { driver: string; pool: string; device: string; shareID?: string; health?: string; healthMessage?: string }
interface ExpectedStart { time?: string; inSeconds?: number; unknown?: string; ended?: number; after?: { pod: string; time: string }[] }
export interface Explanation {
  state?: string;
  summary?: string;
  note?: string;
  group?: string;
  startWaits?: string[];
  decision?: { time?: string; attempts?: number; sentence?: string; explanation?: string; reason?: string };
  refused?: Waiting["refused"];
  nearestMiss?: { place: string; lacks?: string[] };
  needed?: number;
  domains?: { domain: string; nodes: number; members: number; next?: string; lacks?: string[] }[];
  groups?: { name: string; kind: string; level: number; minimum: number; pods: number; placed: number }[];
  remedies?: { text: string }[];
  expectedStart?: ExpectedStart;
  wish?: { policy?: string; wish?: string; reached?: string; score?: number; message?: string };
  members?: { name: string; state: string; summary?: string; node?: string; devices?: Device[] }[];
  devices?: Device[];
  steps?: { step: string; time: string; took?: string }[];
  history?: { id: string; time?: string; result: string; said?: string }[];
}
const plurals: Record<string, string> = {
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
  const { remedies, expectedStart, note, decision, nearestMiss, domains, needed } = (waits && tried.answer) || {};
  return {
    answer: record.answer && { ...record.answer, remedies, expectedStart, nearestMiss, domains, needed, note: note ?? record.answer.note },
    trying: waits && !tried.answer && !tried.problem,
    older: decision?.time !== undefined && decision.time !== record.answer?.decision?.time,
    problem: record.problem ?? (waits ? tried.problem : undefined),
    again: () => setTries(tries + 1),
  };
}

function WhenItRuns({ start }: { start: ExpectedStart }) {
  const after = start.after ?? [], ended = start.ended ?? after.length;
  return (
    <Card title="When it runs">
      {start.time
        ? <p><strong class="big">in {span(Math.max(0, (Date.parse(start.time) - now.value) / 1000))}</strong> <span class="muted">at {clock(start.time)}</span></p>
        : <p>{start.unknown === "NeverFits" ? "It fits after no known end of a pod." : "The search ended before an answer."}</p>}
      {after.length > 0 && <p class="muted">{plural(ended, "pod")} {ended === 1 ? "ends" : "end"} until then: {after.map((one) => `${one.pod} (${clock(one.time)})`).join(", ")}{ended > after.length && " and others"}.</p>}
    </Card>
  );
}

function Domains({ of }: { of: Explanation }) {
  const nodesOf = (domain: string) => {
    const at = floor.value;
    if (!at) return [];
    return at.layout.nodes.filter((node, i) => node === domain || at.path(i).join("/") === domain || at.path(i).at(-1) === domain);
  };
  return (
    <Card title="Domains" note={of.needed ? `${plural(of.needed, "member")} needed` : ""}>
      <table class="plain">
        <thead><tr><th>Domain</th><th class="number">Nodes</th><th class="number">Members that fit</th><th>The next one lacks</th><th><span class="sr">Show</span></th></tr></thead>
        <tbody>{of.domains!.map((row) => (
          <tr key={row.domain}><th scope="row">{row.domain}</th><td class="number">{row.nodes}</td><td class="number">{row.members}</td><td><span class="clamp" title={(row.lacks ?? []).join("; ")}>{(row.lacks ?? []).join("; ")}</span></td>
            <td><button type="button" onClick={() => showNodes(nodesOf(row.domain), row.domain)}>Show on the floor</button></td></tr>))}</tbody>
      </table>
    </Card>
  );
}

function RefusedNodes({ rows }: { rows: NonNullable<Waiting["refused"]> }) {
  return (
    <Card title="Nodes refused">
      <table class="plain">
        <thead><tr><th>Plugin</th><th class="number">Nodes</th><th>Reason</th><th>Examples</th></tr></thead>
        <tbody>{rows.map((row) => {
          const nodes = (row.examples ?? []).map((example) => example.node);
          return (
            <tr key={row.plugin + row.reason}><td class="whole">{row.plugin}</td><td class="number">{row.nodes}</td><td>{row.reason}</td>
              <td>{nodes.length > 0 && <button type="button" onClick={() => showNodes(nodes, row.reason)}>{nodes.join(", ")}</button>}</td></tr>
          );
        })}</tbody>
      </table>
    </Card>
  );
}

function Devices({ rows }: { rows: Device[] }) {
  return (
    <Card title="Devices">
      <table class="plain">
        <thead><tr><th>Device</th><th>Driver</th><th>Health</th></tr></thead>
        <tbody>{rows.map((row) => (
          <tr key={row.driver + row.pool + row.device + row.shareID}><th scope="row">{row.pool}/{row.device}</th><td>{row.driver}</td>
            <td>{row.health ?? "–"}{row.healthMessage && `: ${row.healthMessage}`}</td></tr>))}</tbody>
      </table>
    </Card>
  );
}

function Steps({ rows }: { rows: NonNullable<Explanation["steps"]> }) {
  return (
    <Card title="Steps" note="as the API keeps them, in whole seconds">
      <table class="plain narrow">
        <thead><tr><th>Step</th><th>Time</th><th class="number">After</th></tr></thead>
        <tbody>{rows.map((row) => <tr key={row.step}><th scope="row">{row.step}</th><td>{clock(row.time)}</td><td class="number">{row.took ?? "–"}</td></tr>)}</tbody>
      </table>
    </Card>
  );
}

function History({ rows }: { rows: NonNullable<Explanation["history"]> }) {
  return (
    <Card title="Decisions" note="the latest first">
      <ul class="events">{rows.map((row, i) => (
        <li key={row.id}>{row.time && <time>{clock(row.time)}</time>} <strong>{row.result}</strong>{row.said && row.said !== rows[i - 1]?.said && <p class="muted">{row.said}</p>}</li>))}</ul>
    </Card>
  );
}

// What would help one that waits.
function Remedies({ found }: { found: Found }) {
  const remedies = found.answer?.remedies ?? [];
  return (
    <>
      {remedies.length > 0 && (
        <Card title="It would fit after one of these">
          <ol class="remedies">{remedies.map((remedy) => <li key={remedy.text}>{remedy.text}</li>)}</ol>
        </Card>
      )}
      {found.trying && <p class="muted" role="status">Remedies are being tried …</p>}
      {(found.older || (found.problem && !found.trying)) && (
        <p class="actions">{found.older && <span class="muted">Remedies and the start are of an earlier decision. </span>}
          <button type="button" onClick={found.again}>Try again</button></p>
      )}
    </>
  );
}

export function Answer({ found }: { found: Found }) {
  const { answer, problem } = found;
  if (!answer) return <Empty>{problem ?? "The scheduler's record is being read."}</Empty>;
  const { wish, decision, nearestMiss } = answer;
  const any = <T,>(rows: T[] | undefined) => (rows && rows.length > 0 ? rows : null);
  return (
    <>
      {answer.summary && <p class="summary">{answer.state}: {answer.summary}</p>}
      {decision?.explanation && <p class="sentence">{decision.explanation}</p>}
      {wish && <p>Wish of PlacementPolicy {wish.policy}: {wish.wish}{wish.reached && `; reached: ${wish.reached}`}{wish.score !== undefined && ` (score ${wish.score})`}</p>}
      {any(answer.startWaits) && <Card title="A start waits for"><ul class="remedies">{answer.startWaits!.map((text) => <li key={text}>{text}</li>)}</ul></Card>}
      {answer.expectedStart && <WhenItRuns start={answer.expectedStart} />}
      <Remedies found={found} />
      {nearestMiss && <Card title="Nearest miss"><p><strong>{nearestMiss.place}</strong>: {(nearestMiss.lacks ?? []).join("; ")}</p></Card>}
      {any(answer.domains) && <Domains of={answer} />}
      {any(answer.refused) && <RefusedNodes rows={answer.refused!} />}
      {any(answer.devices) && <Devices rows={answer.devices!} />}
      {(answer.steps?.length ?? 0) > 1 && <Steps rows={answer.steps!} />}
      {decision?.sentence && <Card title="In the words of Kubernetes"><p class="muted">{decision.sentence}</p></Card>}
      {any(answer.history) && <History rows={answer.history!} />}
      {answer.note && <p class="muted">{answer.note}</p>}
      {problem && <p class="muted">{problem}</p>}
    </>
  );
}
