// Draws cells into pixels: fast enough to draw every device at every frame. What a cell looks like is found
// once for each change (shade), so that a frame only places it (drawCells).

import { Condition, type Floor, Use } from "./floor.ts";
import { ownerColours } from "./owners.ts";
import type { Box, Plan } from "./plan.ts";

export interface View { x: number; y: number; scale: number } // of the plan's corner, in pixels; pixels a unit
export type Mode = "use" | "owner" | "health" | "reserved" | "fragmentation";
export interface Palette {
  background: number; free: number; used: number; shared: number; reserved: number; closed: number; ill: number;
  unknown: number; kept: number; quiet: number; line: number; ink: number; others: number; owners: number[];
}
// What cells look like. `slots`: of owners, by number (owners.ts); `kept`: cells of reservations; `lit`: which
// cells keep their colour; null: all do.
export interface Look {
  mode: Mode; palette: Palette; slots: Int16Array; kept: Uint8Array | null; lit: ((cell: number) => boolean) | null;
}
export interface Shades { colour: Uint32Array; small: Uint32Array; mark: Uint8Array; ink: Uint32Array }

const smallest = 7; // pixels of a cell that has room for a mark
export const dimmedAlpha = 0.22;
const stripedAlpha = 0.45; // of a striped cell that has no room for stripes

// ABGR, as pixels are on every machine that runs a browser.
export function rgb(text: string): number {
  const [r, g, b] = text.match(/\d+/g)!.map(Number);
  return (0xff000000 | (b << 16) | (g << 8) | r) >>> 0;
}
export function mix(a: number, b: number, part: number): number {
  let out = 0xff000000;
  for (const shift of [0, 8, 16]) {
    const x = (a >>> shift) & 0xff, y = (b >>> shift) & 0xff;
    out |= Math.round(x + (y - x) * part) << shift;
  }
  return out >>> 0;
}

// A mark's number is one of each group, added.
export const enum Mark { None, Hollow, Half, Dot, Ring, Stripes, Slash = 8, Cross = 16, Dash = 24 }
const useMarks = 7;

function conditionMark(condition: Condition): Mark {
  switch (condition) {
    case Condition.Ill: return Mark.Cross;
    case Condition.Closed: return Mark.Slash;
    case Condition.Unknown: return Mark.Dash;
    default: return Mark.None;
  }
}

// Whether every device of the cell's node is free.
function isWhole(floor: Floor, node: number): boolean {
  for (let at = floor.firstCell[node]; at < floor.firstCell[node + 1]; ++at) if (floor.use(at) !== Use.Free) return false;
  return true;
}

// The colour and the mark of each cell, into `into` where that has room for them.
export function shade(floor: Floor, look: Look, into?: Shades): Shades {
  const { cells } = floor, { palette, lit } = look;
  const shades = into?.colour.length === cells ? into
    : { colour: new Uint32Array(cells), small: new Uint32Array(cells), mark: new Uint8Array(cells), ink: new Uint32Array(cells) };
  const dimmed = new Map<number, number>();
  const dim = (colour: number) => {
    let found = dimmed.get(colour);
    if (found === undefined) dimmed.set(colour, (found = mix(palette.background, colour, dimmedAlpha)));
    return found;
  };
  const paler = palette.owners.map((colour) => mix(palette.background, colour, stripedAlpha));
  for (let node = 0; node + 1 < floor.firstCell.length; ++node) {
    const whole = look.mode === "fragmentation" && isWhole(floor, node);
    for (let cell = floor.firstCell[node]; cell < floor.firstCell[node + 1]; ++cell) {
      const { colour, small, mark } = appearance(floor, cell, look, paler, whole);
      const on = !lit || lit(cell);
      shades.colour[cell] = on ? colour : dim(colour);
      shades.small[cell] = on ? small : dim(small);
      shades.ink[cell] = on ? palette.ink : dim(palette.ink);
      shades.mark[cell] = mark;
    }
  }
  return shades;
}

const seen = { colour: 0, small: 0, mark: Mark.None as number }; // the answer of appearance(), one at a time
function give(colour: number, mark: number, small = colour): typeof seen {
  seen.colour = colour;
  seen.small = small;
  seen.mark = mark;
  return seen;
}

function appearance(floor: Floor, cell: number, look: Look, paler: number[], whole: boolean): typeof seen {
  const { mode, palette } = look;
  const use = floor.use(cell), condition = floor.condition(cell), sick = conditionMark(condition);
  if (mode === "fragmentation")
    return use !== Use.Free ? give(palette.quiet, Mark.None) : whole ? give(palette.used, Mark.Hollow) : give(palette.shared, Mark.Half);
  const mark = use === Use.Free ? Mark.Hollow : use === Use.Shared ? Mark.Half : use === Use.Reserved ? Mark.Dot : Mark.None;
  if (mode === "health")
    return give(condition === Condition.Ill ? palette.ill : condition === Condition.Closed ? palette.closed
      : condition === Condition.Unknown ? palette.unknown : palette.quiet, mark + sick);
  if (mode === "reserved") {
    if (look.kept?.[cell]) return give(palette.kept, Mark.Ring + sick);
    return use === Use.Reserved ? give(palette.reserved, mark + sick) : give(use === Use.Free ? palette.free : palette.quiet, mark + sick);
  }
  if (use === Use.Free) return give(palette.free, mark + sick);
  if (mode === "owner") {
    const slot = floor.owner[cell] > 0 ? look.slots[floor.owner[cell]] ?? -1 : -1;
    if (slot < 0) return give(palette.others, mark + sick);
    if (slot < ownerColours) return give(palette.owners[slot], mark + sick);
    const colour = slot - ownerColours;
    return give(palette.owners[colour], (mark || Mark.Stripes) + sick, paler[colour]);
  }
  return give(use === Use.Reserved ? palette.reserved : use === Use.Shared ? palette.shared : palette.used, mark + sick);
}

export interface Picture { pixels: Uint32Array; width: number; height: number }

// The frames of domains and the cells of the view, over a background.
export function drawCells(picture: Picture, floor: Floor, plan: Plan, view: View, palette: Palette, shades: Shades, line: number): void {
  const { pixels, width, height } = picture;
  pixels.fill(palette.background);
  for (const area of plan.areas) drawFrame(picture, view, area, palette.line, line);
  const gap = view.scale >= 4 ? Math.max(1, Math.round(view.scale * 0.12)) : 0;
  const size = Math.max(1, Math.round(view.scale) - gap);
  const marked = size >= smallest;
  for (let node = 0; node < plan.nodes.length; ++node) {
    const box = plan.nodes[node];
    const x = view.x + box.x * view.scale, y = view.y + box.y * view.scale;
    if (x >= width || y >= height || x + box.w * view.scale < -1 || y + box.h * view.scale < -1) continue;
    for (let cell = floor.firstCell[node]; cell < floor.firstCell[node + 1]; ++cell) {
      const left = Math.round(view.x + plan.x[cell] * view.scale), top = Math.round(view.y + plan.y[cell] * view.scale);
      if (left >= width || top >= height || left + size <= 0 || top + size <= 0) continue;
      const x0 = left < 0 ? 0 : left, x1 = left + size > width ? width : left + size;
      const y0 = top < 0 ? 0 : top, y1 = top + size > height ? height : top + size;
      if (marked && shades.mark[cell] !== Mark.None) {
        drawMarked(picture, x0, y0, x1, y1, left, top, size, palette.background, shades, cell);
        continue;
      }
      const colour = marked ? shades.colour[cell] : shades.small[cell];
      for (let row = y0; row < y1; ++row)
        for (let at = row * width + x0, end = row * width + x1; at < end; ++at) pixels[at] = colour;
    }
  }
}

function drawFrame({ pixels, width, height }: Picture, view: View, box: Box, colour: number, line: number): void {
  const left = Math.round(view.x + box.x * view.scale), top = Math.round(view.y + box.y * view.scale);
  const right = Math.round(view.x + (box.x + box.w) * view.scale), bottom = Math.round(view.y + (box.y + box.h) * view.scale);
  if (left >= width || top >= height || right < 0 || bottom < 0) return;
  const fill = (x0: number, y0: number, x1: number, y1: number) => {
    const a = Math.max(x0, 0), b = Math.min(x1, width);
    for (let y = Math.max(y0, 0); y < Math.min(y1, height); ++y) if (a < b) pixels.fill(colour, y * width + a, y * width + b);
  };
  fill(left, top, right + line, top + line);
  fill(left, bottom, right + line, bottom + line);
  fill(left, top, left + line, bottom);
  fill(right, top, right + line, bottom);
}

function drawMarked(
  { pixels, width }: Picture, x0: number, y0: number, x1: number, y1: number, left: number, top: number, size: number,
  background: number, shades: Shades, cell: number,
): void {
  const colour = shades.colour[cell], ink = shades.ink[cell];
  const use = shades.mark[cell] & useMarks, condition = shades.mark[cell] & ~useMarks;
  const edge = Math.max(1, Math.round(size / 10)), line = Math.max(1, size / 9);
  const middle = size / 2, dot = (size * 0.22) ** 2, inner = edge * 2 + Math.max(1, size / 8), period = Math.max(4, Math.round(size / 4));
  for (let y = y0; y < y1; ++y) {
    for (let x = x0; x < x1; ++x) {
      const dx = x - left, dy = y - top;
      const border = dx < edge || dy < edge || dx >= size - edge || dy >= size - edge;
      let pixel = colour;
      if (!border) {
        if (use === Mark.Hollow) pixel = background;
        if (use === Mark.Half && dx + dy < size) pixel = background;
        if (use === Mark.Dot && (dx - middle + 0.5) ** 2 + (dy - middle + 0.5) ** 2 > dot) pixel = background;
        if (use === Mark.Ring && (dx < inner || dy < inner || dx >= size - inner || dy >= size - inner)) pixel = background;
        if (use === Mark.Stripes && (dx + dy) % period >= period / 2) pixel = background;
      }
      if ((condition === Mark.Slash || condition === Mark.Cross) && Math.abs(size - 1 - dx - dy) < line) pixel = ink;
      if (condition === Mark.Cross && Math.abs(dx - dy) < line) pixel = ink;
      if (condition === Mark.Dash && Math.abs(dy - middle + 0.5) < line) pixel = ink;
      pixels[y * width + x] = pixel;
    }
  }
}
