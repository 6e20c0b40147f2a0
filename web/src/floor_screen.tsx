import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Floor, type Owner, conditionNames, count, ownerText, sameOwner, useNames } from "./floor.ts";
import { FloorMap } from "./map.tsx";
import { OwnerColours, ownerColours, ownerSlots } from "./owners.ts";
import { Bar, Choice, Rows, amount, plural } from "./parts.tsx";
import type { Mode } from "./raster.ts";
import { keptCells, purposes, reservedFor, roomsWith } from "./reservations.ts";
import { floor, floorChanges, go, highlight, plan, reservations, waiting } from "./store.ts";

export const modes: [Mode, string][] = [
  ["use", "Use"], ["owner", "Owner"], ["health", "Health"],
  ["reserved", "Reserved"], ["fragmentation", "Fragmentation"],
];
const matchesMax = 8;

interface Match { text: string; kind: string; owner?: Owner; nodes?: Set<string> }

function search(now: Floor, words: string): Match[] {
  const wanted = words.toLowerCase().trim();
  if (!wanted) return [];
  const found: Match[] = [];
  for (const owner of now.owners.values())
    if (`${owner.namespace}/${owner.name}`.toLowerCase().includes(wanted)) {
      found.push({ text: `${owner.namespace}/${owner.name}`, kind: owner.kind, owner });
      if (found.length === matchesMax) return found;
    }
  for (const [i, path] of now.layout.domains.entries())
    if (path.length > 0 && path.join("/").toLowerCase().includes(wanted)) {
      const nodes = new Set(now.layout.nodes.filter((_, node) => now.layout.nodeDomain[node] === i));
      found.push({ text: path.join("/"), kind: now.layout.levels[path.length - 1].name, nodes });
      if (found.length === matchesMax) return found;
    }
  for (const node of now.layout.nodes)
    if (node.toLowerCase().includes(wanted)) {
      found.push({ text: node, kind: "Node", nodes: new Set([node]) });
      if (found.length === matchesMax) return found;
    }
  return found;
}

function Search({ now }: { now: Floor }) {
  const [words, setWords] = useState("");
  const matches = search(now, words);
  const show = (match: Match) => {
    highlight.value = { text: match.text, owner: match.owner, nodes: match.nodes };
    setWords("");
  };
  return (
    <form class="search" role="search" onSubmit={(event) => { event.preventDefault(); if (matches[0]) show(matches[0]); }}>
      <input type="search" placeholder="Find node, group or rack" aria-label="Find a node, group, pod or rack"
        value={words} onInput={(event) => setWords(event.currentTarget.value)} />
      {words.trim() && (
        <ul class="matches">
          {matches.length === 0 && <li class="muted">nothing has this name</li>}
          {matches.map((match) => (
            <li key={match.kind + match.text}>
              <button type="button" onClick={() => show(match)}>{match.text}<span class="muted"> {match.kind}</span></button>
            </li>
          ))}
        </ul>
      )}
    </form>
  );
}

type LegendRow = [fill: string, mark: string, text: string];
const legends: Record<Mode, LegendRow[]> = {
  use: [["free", "hollow", "free"], ["used", "none", "in use"], ["shared", "half", "shared"], ["reserved", "dot", "reserved"]],
  owner: [["free", "hollow", "free"]],
  health: [["quiet", "none", "healthy"], ["unknown", "dash", "of unknown health"], ["closed", "slash", "closed to new work"], ["ill", "cross", "ill"]],
  reserved: [["free", "hollow", "free"], ["reserved", "dot", "reserved"], ["kept", "ring", "kept for who waits"], ["others", "none", "in use"]],
  fragmentation: [["whole", "hollow", "free, on a free node"], ["shared", "half", "free, others in use"], ["quiet", "none", "in use"]],
};

export function Legend({ mode }: { mode: Mode }) {
  return (
    <ul class="legend" aria-label="Legend">
      {legends[mode].map(([fill, mark, text]) => <li key={text}><span class={`key mark-${mark} fill-${fill}`} />{text}</li>)}
    </ul>
  );
}

// The owners' colours, found again with each change of the floor while they are shown.
export function useOwnerColours(now: Floor | null | undefined, version: number, shown: boolean): OwnerColours {
  const colours = useRef(new OwnerColours());
  useMemo(() => { if (now && shown) colours.current.update(now); }, [now, version, shown]);
  return colours.current;
}

export function OwnerLegend({ colours }: { colours: OwnerColours }) {
  const named = colours.rows.slice(0, ownerSlots), others = colours.rows.slice(ownerSlots);
  const oneNamespace = named.every((row) => row.owner.namespace === named[0].owner.namespace);
  return (
    <ul class="legend owners" aria-label="Owners, by devices">
      {named.map(({ owner, slot, cells }) => (
        <li key={ownerText(owner)}>
          <button type="button" class="quiet" title={ownerText(owner)} onClick={() => { highlight.value = { text: `${owner.namespace}/${owner.name}`, owner }; }}>
            <span class={`key owner owner-${slot % ownerColours}${slot < ownerColours ? "" : " striped"}`} />
            {oneNamespace ? owner.name : `${owner.namespace}/${owner.name}`} <span class="muted">{amount(cells)}</span>
          </button>
        </li>
      ))}
      {others.length > 0 && <li><span class="key fill-others" />{plural(others.length, "other owner")} <span class="muted">{amount(others.reduce((sum, row) => sum + row.cells, 0))}</span></li>}
      {named.length === 0 && <li class="muted">Nobody has a device.</li>}
    </ul>
  );
}

function KeptLegend() {
  const page = reservations.value;
  if (!page) return null;
  const named = page.rooms.slice(0, 8);
  return (
    <ul class="legend owners" aria-label="Rooms that are kept">
      {named.length === 0 && <li class="muted">No room is kept for anybody.</li>}
      {named.map((room, i) => (
        <li key={i}><button type="button" class="quiet" title={purposes[room.purpose]} onClick={() => { highlight.value = { text: `room of ${reservedFor(room)}`, nodes: new Set(room.nodes) }; }}>
          <span class="key mark-ring fill-kept" />{reservedFor(room)} <span class="muted">{room.devices > 0 ? plural(room.devices, "device") : plural(room.nodeCount, "node")}</span></button></li>
      ))}
      {page.total > named.length && <li><a href="#/room">{page.total - named.length} more</a></li>}
    </ul>
  );
}

function Sums({ now }: { now: Floor }) {
  const sums = useMemo(() => count(now), [now, floorChanges.value]);
  const tiles: [string, number, string][] = [
    ["devices", now.cells, ""], ["in use", sums.used + sums.shared, "used"], ["reserved", sums.reserved, "reserved"],
    ["free", sums.free, "free"], ["ill or closed", sums.ill + sums.closed, "ill"],
  ];
  if (sums.unknown > 0) tiles.push(["of unknown health", sums.unknown, "unknown"]);
  return (
    <dl class="tiles">
      {tiles.map(([text, value, kind]) => (
        <div key={text} class={kind && `tile-${kind}`}><dt>{text}</dt><dd>{amount(value)}</dd></div>
      ))}
      <div class="tile-button"><dt>waiting</dt><dd><a href="#/why">{amount(waiting.value?.total ?? 0)}</a></dd></div>
    </dl>
  );
}

function owners(now: Floor, node: number): Owner[] {
  const found: Owner[] = [];
  for (let cell = now.firstCell[node]; cell < now.firstCell[node + 1]; ++cell) {
    const owner = now.ownerOf(cell);
    if (owner && !found.some((known) => sameOwner(known, owner))) found.push(owner);
  }
  return found;
}

// `open` gets the first cell of the node that was chosen.
export function FloorTable({ now, lit, open }: { now: Floor; lit: ((cell: number) => boolean) | null; open?(cell: number): void }) {
  const hasLit = (node: number) => {
    for (let cell = now.firstCell[node]; cell < now.firstCell[node + 1]; ++cell) if (lit!(cell)) return true;
    return false;
  };
  const nodes = now.layout.nodes.map((_, node) => node).filter((node) => !lit || hasLit(node));
  return (
    <Rows items={nodes} height={34} label="Nodes"
      head={<tr><th>Node</th>{now.layout.levels.map((level) => <th key={level.name}>{level.name}</th>)}<th class="number">Devices</th>
        <th class="number">Free</th><th class="number">In use</th><th class="number">Reserved</th><th class="wide">Use</th><th>Condition</th><th>Owners</th></tr>}
      row={(node) => {
        const sums = count(now, now.firstCell[node], now.firstCell[node + 1]);
        const all = owners(now, node);
        return (
          <tr key={node}>
            <th scope="row">{open ? <button type="button" class="link" onClick={() => open(now.firstCell[node])}>{now.layout.nodes[node]}</button> : now.layout.nodes[node]}</th>
            {now.layout.levels.map((level, i) => <td key={level.name}>{now.path(node)[i] ?? "–"}</td>)}
            <td class="number">{now.firstCell[node + 1] - now.firstCell[node]}</td>
            <td class="number">{sums.free}</td><td class="number">{sums.used + sums.shared}</td><td class="number">{sums.reserved}</td>
            <td><Bar parts={[{ name: "in use", value: sums.used, kind: "used" }, { name: "shared", value: sums.shared, kind: "shared" },
              { name: "reserved", value: sums.reserved, kind: "reserved" }, { name: "free", value: sums.free, kind: "free" },
              { name: "ill or closed, in no use", value: sums.out, kind: "ill" }]} /></td>
            <td>{sums.ill ? `✕ ${sums.ill} ill` : sums.closed ? `⁄ ${sums.closed} closed` : sums.unknown ? `? ${sums.unknown} unknown` : "healthy"}</td>
            <td class="cut">{all.slice(0, 3).map((owner) => `${owner.namespace}/${owner.name}`).join(", ")}{all.length > 3 && ` and ${all.length - 3} more`}</td>
          </tr>
        );
      }} />
  );
}

// `focused`: it has the keyboard until it is closed, by Escape too; then the element before has it again.
function Details({ now, cell, focused, close }: { now: Floor; cell: number; focused: boolean; close(): void }) {
  const pane = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!focused) return;
    const before = document.activeElement;
    pane.current!.focus();
    return () => { if (before instanceof HTMLElement) before.focus(); };
  }, [cell, focused]);
  const node = now.nodeOfCell[cell], device = now.device(cell), owner = now.ownerOf(cell);
  const names = Array.from({ length: now.firstCell[node + 1] - now.firstCell[node] }, (_, i) => now.firstCell[node] + i);
  return (
    <aside class="details" aria-label="Selected device" ref={pane} tabIndex={-1} onKeyDown={(event) => { if (event.key === "Escape") close(); }}>
      <button type="button" class="close" aria-label="Close" onClick={close}>×</button>
      <h2>{now.layout.nodes[node]}</h2>
      {now.path(node).length > 0 && <p class="muted">{now.path(node).map((value, i) => `${now.layout.levels[i].name} ${value}`).join(" · ")}</p>}
      {device.name && <p><strong>{device.name}</strong> <span class="muted">{device.driver}</span></p>}
      <p>{useNames[now.use(cell)]}, {conditionNames[now.condition(cell)]}</p>
      {roomsWith(reservations.value, cell).map((room) => <p key={room.purpose + reservedFor(room)}>Kept for {reservedFor(room)}: {purposes[room.purpose]}</p>)}
      {owner && (
        <>
          <p>{ownerText(owner)}</p>
          <p class="actions">
            <button type="button" onClick={() => { highlight.value = { text: `${owner.namespace}/${owner.name}`, owner }; }}>Show all its devices</button>
            {owner.kind !== "ResourceClaim" && <button type="button" onClick={() => go(owner.kind === "Pod" ? "why" : "group", owner.kind, owner.namespace, owner.name)}>Open</button>}
          </p>
        </>
      )}
      <table class="plain">
        <thead><tr><th>Device</th><th>Use</th><th>Owner</th></tr></thead>
        <tbody>{names.map((at) => (
          <tr key={at} class={at === cell ? "chosen" : ""}><td>{now.device(at).name || "the node"}</td>
            <td>{useNames[now.use(at)]}{now.condition(at) ? `, ${conditionNames[now.condition(at)]}` : ""}</td>
            <td class="cut">{now.ownerOf(at)?.name ?? "–"}</td></tr>))}</tbody>
      </table>
    </aside>
  );
}

export function FloorScreen() {
  const [mode, setMode] = useState<Mode>("use");
  const [table, setTable] = useState(false);
  const [cell, setCell] = useState(-1);
  const now = floor.value;
  const wanted = highlight.value;
  const lit = useCallback((cell: number) =>
    (!!wanted?.owner && sameOwner(now?.ownerOf(cell), wanted.owner)) || !!wanted?.nodes?.has(now!.nodeName(cell)), [now, wanted]);
  const colours = useOwnerColours(now, floorChanges.value, mode === "owner");
  const kept = useMemo(() => now && keptCells(reservations.value, now.cells), [now, reservations.value]);
  if (!now || !plan.value) return <p class="empty">The floor is being read.</p>;
  if (now.cells === 0) return <p class="empty">There are no nodes yet.</p>;
  return (
    <div class="screen floor">
      <h1 class="sr">Floor</h1>
      <Sums now={now} />
      <div class="tools">
        <Choice label="Colour by" of={modes} chosen={mode} choose={setMode} />
        <Legend mode={mode} />
        <span class="grow" />
        {highlight.value && <button type="button" class="chip" onClick={() => { highlight.value = null; }}>{highlight.value.text} ×</button>}
        <Search now={now} />
        <Choice label="Show as" of={[[false, "Map"], [true, "Table"]]} chosen={table} choose={setTable} />
      </div>
      {mode === "owner" && <OwnerLegend colours={colours} />}
      {mode === "reserved" && <KeptLegend />}
      <div class="stage">
        {table ? <FloorTable now={now} lit={wanted && lit} open={setCell} /> : (
          <FloorMap now={now} plan={plan.value} version={floorChanges.value} mode={mode} slots={colours.slots} kept={kept} lit={wanted && lit}
            keptFor={(at) => roomsWith(reservations.value, at).map(reservedFor).join(", ") || undefined}
            open={(at) => { at < 0 ? (highlight.value = null) : setCell(at); }} />
        )}
        {cell >= 0 && cell < now.cells && <Details now={now} cell={cell} focused={table} close={() => setCell(-1)} />}
      </div>
      <p class="foot muted">{plural(now.layout.nodes.length - now.layout.shared.length, "node")}
        {now.layout.levels.length > 0 ? ` by ${now.layout.levels.map((level) => level.name).join(" → ")}` : ", no topology"}
        {now.layout.topology && ` (Topology ${now.layout.topology})`}</p>
    </div>
  );
}
