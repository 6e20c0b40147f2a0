// Where each cell is drawn: nodes in racks, racks in rows of their block, in units of a cell.

import type { Floor } from "./floor.ts";

export interface Box { x: number; y: number; w: number; h: number }
export interface Area extends Box { label: string; level: number; path: string[]; header: number }
export interface Plan {
  width: number;
  height: number;
  areas: Area[]; // domains, outermost first
  nodes: Box[]; // by node
  x: Float32Array; // left edge, by cell; each is one unit wide and high
  y: Float32Array;
}

const nodeGap = 0.5;
const padding = 0.6;
const headerMin = 1.5, headerPart = 0.1; // for the name of a domain, of its height
const labelPart = 0.42; // width of a letter, of its header
const nodeHeader = 0.9;

interface Part { w: number; h: number; place(x: number, y: number): void }

const widthsTried = 48;

// Parts one after the other, in rows of at most `widest`; `take` gets the corner of each. The size of all.
function rows(parts: Part[], gap: number, widest: number, take?: (part: number, x: number, y: number) => void): { w: number; h: number } {
  let x = 0, y = 0, rowHeight = 0, w = 0;
  for (let i = 0; i < parts.length; ++i) {
    const part = parts[i];
    if (x > 0 && x + part.w > widest + 1e-6) {
      x = 0;
      y += rowHeight + gap;
      rowHeight = 0;
    }
    take?.(i, x, y);
    x += part.w + gap;
    rowHeight = Math.max(rowHeight, part.h);
    w = Math.max(w, x - gap);
  }
  return { w, h: y + rowHeight };
}

// Rows of parts in the shape that is drawn largest in a frame `aspect` times as wide as high. Racks are often
// alike, so `widths` keeps what was found for parts of the same sizes.
function flow(parts: Part[], gap: number, aspect: number, widths: Map<string, number>): Part {
  const sizes = `${gap} ${aspect} ${parts.map((part) => `${part.w},${part.h}`).join(" ")}`;
  let widest = widths.get(sizes);
  if (widest === undefined) widths.set(sizes, (widest = bestWidth(parts, gap, aspect)));
  return {
    ...rows(parts, gap, widest),
    place: (left, top) => { rows(parts, gap, widest, (i, x, y) => parts[i].place(left + x, top + y)); },
  };
}

function bestWidth(parts: Part[], gap: number, aspect: number): number {
  const area = parts.reduce((sum, part) => sum + (part.w + gap) * (part.h + gap), 0);
  const least = parts.reduce((most, part) => Math.max(most, part.w), 0), middle = Math.sqrt(area * aspect);
  const scale = (width: number) => {
    const { w, h } = rows(parts, gap, width);
    return Math.min(aspect / w, 1 / h);
  };
  let widest = Math.max(middle, least), best = scale(widest);
  for (let i = 0; i < widthsTried; ++i) {
    const width = Math.max(least, middle * (0.5 + (1.5 * i) / widthsTried)), tried = scale(width);
    if (tried > best * 1.001) [widest, best] = [width, tried];
  }
  return widest;
}

interface Domain { children: Map<string, Domain>; nodes: number[] }

export function makePlan(floor: Floor, aspect: number): Plan {
  const { layout } = floor;
  const plan: Plan = {
    width: 0, height: 0, areas: [], nodes: layout.nodes.map(() => ({ x: 0, y: 0, w: 0, h: 0 })),
    x: new Float32Array(floor.cells), y: new Float32Array(floor.cells),
  };
  const frame = { aspect, widths: new Map<string, number>() };
  const root: Domain = { children: new Map(), nodes: [] };
  const shared = new Set(layout.shared);
  const pools: number[] = [];
  layout.nodes.forEach((_, node) => {
    if (shared.has(node)) return void pools.push(node);
    let domain = root;
    for (const value of floor.path(node)) {
      let child = domain.children.get(value);
      if (!child) domain.children.set(value, (child = { children: new Map(), nodes: [] }));
      domain = child;
    }
    domain.nodes.push(node);
  });
  const parts = [domainPart(floor, plan, root, [], frame)];
  if (pools.length > 0) parts.push(framed(plan, nodesPart(floor, plan, pools, frame), "shared pools", 1, []));
  const all = flow(parts.filter((part) => part.h > 0), 2, aspect, frame.widths);
  plan.width = all.w;
  plan.height = all.h;
  all.place(0, 0);
  plan.areas.sort((a, b) => a.level - b.level);
  return plan;
}

interface Frame { aspect: number; widths: Map<string, number> }

function domainPart(floor: Floor, plan: Plan, domain: Domain, path: string[], frame: Frame): Part {
  const parts: Part[] = [];
  for (const [value, child] of domain.children)
    parts.push(domainPart(floor, plan, child, [...path, value], frame));
  if (domain.nodes.length > 0) {
    const own = nodesPart(floor, plan, domain.nodes, path.length === floor.layout.levels.length ? { ...frame, aspect: 0.8 } : frame);
    parts.push(domain.children.size > 0 ? framed(plan, own, "without label", path.length + 1, path) : own);
  }
  const inside = flow(parts, 1.2, frame.aspect, frame.widths);
  if (path.length === 0) return inside;
  const level = floor.layout.levels[path.length - 1]?.name ?? "";
  return framed(plan, inside, `${level} ${path[path.length - 1]}`, path.length, path);
}

function framed(plan: Plan, inside: Part, label: string, level: number, path: string[]): Part {
  const header = Math.max(headerMin, inside.h * headerPart);
  const w = Math.max(inside.w, label.length * labelPart * header) + 2 * padding, h = inside.h + padding + header;
  return {
    w, h,
    place(x, y) {
      plan.areas.push({ x, y, w, h, label, level, path, header });
      inside.place(x + padding, y + header);
    },
  };
}

function nodesPart(floor: Floor, plan: Plan, nodes: number[], frame: Frame): Part {
  return flow(nodes.map((node) => nodePart(floor, plan, node)), nodeGap, frame.aspect, frame.widths);
}

function nodePart(floor: Floor, plan: Plan, node: number): Part {
  const first = floor.firstCell[node], cells = floor.firstCell[node + 1] - first;
  const columns = cells <= 1 ? 1 : cells <= 4 ? 2 : cells <= 16 ? 4 : 8;
  const w = Math.max(columns, 2), h = Math.max(Math.ceil(cells / columns), 1) + nodeHeader;
  return {
    w, h,
    place(x, y) {
      plan.nodes[node] = { x, y, w, h };
      for (let i = 0; i < cells; ++i) {
        plan.x[first + i] = x + (i % columns);
        plan.y[first + i] = y + nodeHeader + Math.floor(i / columns);
      }
    },
  };
}

// The cell at a place of the plan; -1: none. Cost: O(nodes).
export function cellAt(floor: Floor, plan: Plan, x: number, y: number): number {
  const node = nodeAt(plan, x, y);
  if (node < 0) return -1;
  for (let cell = floor.firstCell[node]; cell < floor.firstCell[node + 1]; ++cell)
    if (x >= plan.x[cell] && x < plan.x[cell] + 1 && y >= plan.y[cell] && y < plan.y[cell] + 1) return cell;
  return -1;
}
export function nodeAt(plan: Plan, x: number, y: number): number {
  return plan.nodes.findIndex((box) => x >= box.x && x < box.x + box.w && y >= box.y && y < box.y + box.h);
}
