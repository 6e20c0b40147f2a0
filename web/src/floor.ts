// The floor as the server describes it: its layout, and what is in each cell.

export const enum Use { Free, Used, Shared, Reserved }
export const enum Condition { Healthy, Closed, Ill, Unknown }
export const useNames = ["free", "used", "shared", "reserved"];
export const conditionNames = ["healthy", "closed", "ill", "of unknown health"];

export interface ShapePart { source: "Devices" | "Resource" | "Node"; driver: string; names: string[] }
export interface Layout {
  version: number;
  topology: string;
  levels: { name: string; label: string }[];
  domains: string[][];
  shapes: ShapePart[][];
  nodes: string[];
  nodeDomain: number[];
  nodeShape: number[];
  shared: number[];
}
export type OwnerKind = "Pod" | "PodGroup" | "CompositePodGroup" | "ResourceClaim";
export const ownerKinds: OwnerKind[] = ["Pod", "PodGroup", "CompositePodGroup", "ResourceClaim"];
export interface Owner { kind: OwnerKind; namespace: string; name: string }
export interface Delta {
  layout: number;
  version: number;
  runs: [number, number, number, number][];
  owners: [number, number, string, string][];
}

export class Floor {
  readonly layout: Layout;
  version = 0;
  readonly firstCell: Uint32Array; // by node, and the count behind the last
  readonly nodeOfCell: Uint32Array;
  readonly state: Uint8Array; // use + 4 * condition
  readonly owner: Uint32Array;
  readonly owners = new Map<number, Owner>();

  constructor(layout: Layout) {
    this.layout = layout;
    const sizes = layout.shapes.map((parts) => parts.reduce((sum, part) => sum + namesOf(part).length, 0));
    this.firstCell = new Uint32Array(layout.nodes.length + 1);
    layout.nodes.forEach((_, node) => {
      this.firstCell[node + 1] = this.firstCell[node] + sizes[layout.nodeShape[node]];
    });
    const cells = this.firstCell[layout.nodes.length];
    this.nodeOfCell = new Uint32Array(cells);
    for (let node = 0; node < layout.nodes.length; ++node)
      this.nodeOfCell.fill(node, this.firstCell[node], this.firstCell[node + 1]);
    this.state = new Uint8Array(cells);
    this.owner = new Uint32Array(cells);
  }

  get cells(): number { return this.state.length; }
  use(cell: number): Use { return this.state[cell] & 3; }
  condition(cell: number): Condition { return this.state[cell] >> 2; }
  ownerOf(cell: number): Owner | undefined { return this.owners.get(this.owner[cell]); }
  nodeName(cell: number): string { return this.layout.nodes[this.nodeOfCell[cell]]; }
  path(node: number): string[] { return this.layout.domains[this.layout.nodeDomain[node]]; }

  device(cell: number): { driver: string; name: string; source: ShapePart["source"] } {
    const node = this.nodeOfCell[cell];
    let left = cell - this.firstCell[node];
    for (const part of this.layout.shapes[this.layout.nodeShape[node]]) {
      const names = namesOf(part);
      if (left < names.length) return { driver: part.driver, name: names[left], source: part.source };
      left -= names.length;
    }
    return { driver: "", name: "", source: "Node" };
  }

  // Replaces everything; false when the frame is of another layout. A frame that ends early changes nothing.
  read(frame: ArrayBuffer): boolean {
    const reader = new FrameReader(new Uint8Array(frame));
    if (reader.text(4) !== "BFL1") throw new Error("this is no floor frame");
    if (reader.number() !== this.layout.version) return false;
    const version = reader.number();
    if (reader.number() !== this.cells) return false;
    const runs: Delta["runs"] = [], owners: Delta["owners"] = [];
    for (let cell = 0; cell < this.cells;) {
      const count = reader.number();
      runs.push([cell, count, reader.byte(), reader.number()]);
      cell += count;
    }
    for (let left = reader.number(); left > 0; --left)
      owners.push([reader.number(), reader.byte(), reader.text(reader.number()), reader.text(reader.number())]);
    this.version = version;
    this.owners.clear();
    this.put(runs, owners);
    return true;
  }

  // What is in these cells; other numbers of owners stay what they are.
  put(runs: Delta["runs"], owners: Delta["owners"]): void {
    for (const [id, kind, namespace, name] of owners)
      this.owners.set(id, { kind: ownerKinds[kind], namespace, name });
    for (const [first, count, state, owner] of runs) {
      this.state.fill(state, first, first + count);
      this.owner.fill(owner, first, first + count);
    }
  }

  // False when the delta does not follow: the floor must be read again. An older one changes nothing.
  apply(delta: Delta): boolean {
    if (delta.layout !== this.layout.version) return false;
    if (delta.version <= this.version) return true;
    if (delta.version !== this.version + 1) return false;
    this.version = delta.version;
    this.put(delta.runs, delta.owners);
    return true;
  }
}

function namesOf(part: ShapePart): string[] {
  return part.source === "Node" ? [""] : part.names;
}

class FrameReader {
  private at = 0;
  constructor(private readonly bytes: Uint8Array) {}
  byte(): number {
    if (this.at >= this.bytes.length) throw new Error("the floor frame ends early");
    return this.bytes[this.at++];
  }
  number(): number {
    let value = 0, factor = 1, byte;
    do {
      byte = this.byte();
      value += (byte & 0x7f) * factor;
      factor *= 128;
    } while (byte & 0x80);
    return value;
  }
  text(length: number): string {
    this.at += length;
    if (this.at > this.bytes.length) throw new Error("the floor frame ends early");
    return new TextDecoder().decode(this.bytes.subarray(this.at - length, this.at));
  }
}

// `out`: in no use, and closed or ill; the first five are all cells. `closed`, `ill` and `unknown` count all uses.
export interface Counts {
  free: number; used: number; shared: number; reserved: number; out: number; closed: number; ill: number; unknown: number;
}
export function count(floor: Floor, first = 0, end = floor.cells): Counts {
  const sums = { free: 0, used: 0, shared: 0, reserved: 0, out: 0, closed: 0, ill: 0, unknown: 0 };
  for (let cell = first; cell < end; ++cell) {
    const condition = floor.condition(cell), takesWork = condition === Condition.Healthy || condition === Condition.Unknown;
    switch (floor.use(cell)) {
      case Use.Free: takesWork ? ++sums.free : ++sums.out; break;
      case Use.Used: ++sums.used; break;
      case Use.Shared: ++sums.shared; break;
      default: ++sums.reserved;
    }
    if (condition === Condition.Closed) ++sums.closed;
    if (condition === Condition.Ill) ++sums.ill;
    if (condition === Condition.Unknown) ++sums.unknown;
  }
  return sums;
}

export interface SickDomain { path: string[]; nodes: string[]; devices: number; ill: number; closed: number; unknown: number }
// The innermost domains with a device that is not healthy; those with most ill ones first.
export function sickDomains(floor: Floor): SickDomain[] {
  const { layout } = floor;
  const all = layout.domains.map((path): SickDomain => ({ path, nodes: [], devices: 0, ill: 0, closed: 0, unknown: 0 }));
  for (let node = 0; node < layout.nodes.length; ++node) {
    const domain = all[layout.nodeDomain[node]], first = floor.firstCell[node], end = floor.firstCell[node + 1];
    const { ill, closed, unknown } = count(floor, first, end);
    domain.devices += end - first;
    domain.ill += ill;
    domain.closed += closed;
    domain.unknown += unknown;
    if (ill + closed + unknown > 0) domain.nodes.push(layout.nodes[node]);
  }
  return all.filter((domain) => domain.path.length > 0 && domain.nodes.length > 0)
    .sort((a, b) => b.ill - a.ill || b.closed - a.closed || b.unknown - a.unknown);
}

// Since when the first of what is ill on these nodes is so; undefined: that is not known.
export function sinceOf(nodes: string[], page: { nodes: Sick[]; devices: Sick[] } | null): string | undefined {
  const here = new Set(nodes);
  const times = [...(page?.nodes ?? []), ...(page?.devices ?? [])].filter((row) => here.has(row.node) && row.since).map((row) => row.since);
  return times.length > 0 ? times.reduce((a, b) => (a < b ? a : b)) : undefined;
}
interface Sick { node: string; since: string }

export function ownerText(owner: Owner | undefined): string {
  return owner ? `${owner.kind} ${owner.namespace}/${owner.name}` : "nobody";
}
export function sameOwner(a: Owner | undefined, b: Owner | undefined): boolean {
  return !!a && !!b && a.kind === b.kind && a.namespace === b.namespace && a.name === b.name;
}
