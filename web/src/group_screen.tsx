import { Answer, type Found, useExplanation } from "./answer.tsx";
import { Bar, Card, Cut, Empty, Name, Rows, ago, amount, plural } from "./parts.tsx";
import { type Group, go, groups, highlight, href, route } from "./store.ts";

const membersShownMax = 200;

function state(group: Group): string {
  if (group.pods === undefined) return "tree";
  if (group.bound === group.pods && group.pods > 0) return group.running === group.pods ? "running" : "placed";
  return group.bound ? "in part" : "waits";
}

// What the binder does with members that have a place and do not run yet is in their summaries.
function Members({ found, namespace }: { found: Found; namespace: string }) {
  const members = found.answer?.members ?? [];
  const tree = found.answer?.groups ?? [];
  return (
    <>
      {tree.length > 0 && (
        <Card title="Tree">
          <table class="plain">
            <thead><tr><th>Group</th><th>Kind</th><th class="number">Minimum</th><th class="number">Pods</th><th class="number">With a node</th></tr></thead>
            <tbody>{tree.map((row) => (
              <tr key={row.kind + row.name}><th scope="row">{"· ".repeat(row.level)}{row.name}</th><td>{row.kind}</td><td class="number">{row.minimum}</td><td class="number">{row.pods}</td><td class="number">{row.placed}</td></tr>))}</tbody>
          </table>
        </Card>
      )}
      {members.length > 0 && (
        <Card title="Members" note={plural(members.length, "pod")}>
          <table class="plain">
            <thead><tr><th>Pod</th><th>State</th><th>Node</th><th class="number">Devices</th></tr></thead>
            <tbody>{members.slice(0, membersShownMax).map((row) => (
              <tr key={row.name}><Name screen="why" of={{ kind: "Pod", namespace, name: row.name }} short note={row.node && row.state !== "Running" ? row.summary : undefined} />
                <td>{row.state}</td><td>{row.node ?? "–"}</td><td class="number">{row.devices?.length ?? "–"}</td></tr>))}</tbody>
          </table>
          <Cut shown={membersShownMax} total={members.length} />
        </Card>
      )}
    </>
  );
}

function GroupDetails({ kind, namespace, name, row }: { kind: string; namespace: string; name: string; row?: Group }) {
  const found = useExplanation(kind, namespace, name, `${row?.bound}/${row?.running}`);
  const children = (groups.value?.groups ?? []).filter((group) => group.parent === name && group.namespace === namespace);
  const members = <Members found={found} namespace={namespace} />;
  return (
    <div class="pane" aria-live="polite">
      <h2>{kind} {namespace}/{name}</h2>
      {row && <p class="muted">{row.parent && <>part of <a href={href("group", "CompositePodGroup", namespace, row.parent)}>{row.parent}</a>, </>}minimum {plural(row.minimum, row.pods === undefined ? "group" : "pod")}, made {ago(row.since)} ago</p>}
      <p class="actions"><button type="button" onClick={() => {
        highlight.value = { text: `${namespace}/${row?.parent || name}`, owner: { kind: row?.parent ? "CompositePodGroup" : (kind as "PodGroup"), namespace, name: row?.parent || name } };
        go("floor");
      }}>Show on the floor</button></p>
      {row?.domains && row.domains.length > 0 && (
        <Card title="Domains">
          <table class="plain"><thead><tr><th>Domain</th><th class="number">Pods</th></tr></thead>
            <tbody>{row.domains.map((domain) => <tr key={domain.path}><th scope="row">{domain.path || "no label"}</th><td class="number">{domain.pods}</td></tr>)}</tbody></table>
          {row.domains.length > 1 && <p>{row.rankCrossings} of {row.bound} neighbouring ranks are in different domains.</p>}
        </Card>
      )}
      {children.length > 0 && <Card title="Its groups"><ul>{children.map((child) => <li key={child.name}><a href={href("group", child.kind, child.namespace, child.name)}>{child.name}</a> <span class="muted">{state(child)}</span></li>)}</ul></Card>}
      {row && state(row) === "waits" ? <><Answer found={found} />{members}</> : <>{members}<Answer found={found} /></>}
    </div>
  );
}

export function GroupScreen() {
  const page = groups.value;
  const rows = page?.groups ?? [];
  const [kind, namespace, name] = route.value.rest;
  const chosen = kind ? rows.find((row) => row.kind === kind && row.namespace === namespace && row.name === name) : rows[0];
  return (
    <div class="screen split">
      <div class="list">
        <h1>Groups <span class="muted">{page && amount(page.total)}{page && page.total > rows.length && `, the first ${rows.length} shown`}</span></h1>
        {page && rows.length === 0 && <Empty>There are no groups. PodGroups and CompositePodGroups are shown here, with their members.</Empty>}
        {rows.length > 0 && (
          <Rows items={rows} height={46} label="Groups"
            head={<tr><th>Group</th><th class="number">Minimum</th><th class="wide">With a node</th><th>State</th></tr>}
            row={(row) => (
              <tr key={row.kind + row.namespace + row.name} class={row === chosen ? "chosen" : ""}>
                <Name screen="group" of={row} note={row.parent ? `${row.kind} of ${row.parent}` : row.kind} />
                <td class="number">{row.minimum}</td>
                <td>{row.pods !== undefined && <><Bar parts={[{ name: "running", value: row.running!, kind: "used" }, { name: "bound", value: row.bound! - row.running!, kind: "reserved" }, { name: "without a node", value: row.pods - row.bound!, kind: "free" }]} /><small>{row.bound} of {row.pods}</small></>}</td>
                <td>{state(row)}</td>
              </tr>
            )} />
        )}
      </div>
      {kind ? <GroupDetails kind={kind} namespace={namespace} name={name} row={chosen} /> : chosen ? <GroupDetails {...chosen} row={chosen} /> : <div class="pane" />}
    </div>
  );
}
