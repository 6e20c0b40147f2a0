// Draws cells into pixels: fast enough to draw every device at every frame.

import { Condition, type Floor, Use } from "./floor.ts";
import type { Plan } from "./plan.ts";

export interface View { x: number; y: number; scale: number } // of the plan's corner, in pixels; pixels a unit
export type Mode = "use" | "owner" | "health" | "reserved" | "fragmentation";
export interface Palette {
  background: number; free: number; used: number; shared: number; reserved: number; closed: number; ill: number;
  quiet: number; ink: number; owners: number[];
}

const smallest = 7; // pixels of a cell that has room for a mark
export const dimmedAlpha = 0.22;

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

export function ownerColour(palette: Palette, name: string): number {
  let hash = 2166136261;
  for (let i = 0; i < name.length; ++i) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
  return palette.owners[(hash >>> 8) % palette.owners.length];
}

export type Mark = "none" | "hollow" | "half" | "dot" | "slash" | "cross";

export function colourOf(floor: Floor, cell: number, mode: Mode, palette: Palette): number {
  const use = floor.use(cell), condition = floor.condition(cell);
  if (mode === "fragmentation")
    return use !== Use.Free ? palette.quiet : isWhole(floor, cell) ? palette.used : palette.shared;
  if (mode === "health")
    return condition === Condition.Ill ? palette.ill : condition === Condition.Closed ? palette.closed : palette.quiet;
  if (use === Use.Free) return palette.free;
  if (mode === "reserved") return use === Use.Reserved ? palette.reserved : palette.quiet;
  if (mode === "owner") {
    const owner = floor.ownerOf(cell);
    return owner ? ownerColour(palette, `${owner.namespace}/${owner.name}`) : palette.used;
  }
  return use === Use.Reserved ? palette.reserved : use === Use.Shared ? palette.shared : palette.used;
}

// Whether every device of the cell's node is free.
function isWhole(floor: Floor, cell: number): boolean {
  const node = floor.nodeOfCell[cell];
  for (let at = floor.firstCell[node]; at < floor.firstCell[node + 1]; ++at) if (floor.use(at) !== Use.Free) return false;
  return true;
}

export function marksOf(floor: Floor, cell: number, mode: Mode = "use"): [Mark, Mark] {
  const use = floor.use(cell), condition = floor.condition(cell);
  if (mode === "fragmentation") return [use !== Use.Free ? "none" : isWhole(floor, cell) ? "hollow" : "half", "none"];
  return [
    use === Use.Free ? "hollow" : use === Use.Shared ? "half" : use === Use.Reserved ? "dot" : "none",
    condition === Condition.Ill ? "cross" : condition === Condition.Closed ? "slash" : "none",
  ];
}

// The cells of the view; `lit` says which keep their colour (null: all).
export function drawCells(
  image: ImageData, floor: Floor, plan: Plan, view: View, mode: Mode, palette: Palette,
  lit: ((cell: number) => boolean) | null,
): void {
  const pixels = new Uint32Array(image.data.buffer);
  const { width, height } = image;
  const gap = view.scale >= 4 ? Math.max(1, Math.round(view.scale * 0.12)) : 0;
  const size = Math.max(1, Math.round(view.scale) - gap);
  const marked = size >= smallest;
  for (let cell = 0; cell < floor.cells; ++cell) {
    const left = Math.round(view.x + plan.x[cell] * view.scale), top = Math.round(view.y + plan.y[cell] * view.scale);
    if (left >= width || top >= height || left + size <= 0 || top + size <= 0) continue;
    let colour = colourOf(floor, cell, mode, palette);
    let ink = palette.ink;
    if (lit && !lit(cell)) {
      colour = mix(palette.background, colour, dimmedAlpha);
      ink = mix(palette.background, ink, dimmedAlpha);
    }
    const x0 = Math.max(left, 0), x1 = Math.min(left + size, width);
    const y0 = Math.max(top, 0), y1 = Math.min(top + size, height);
    if (!marked || floor.state[cell] === Use.Used) {
      for (let y = y0; y < y1; ++y) pixels.fill(colour, y * width + x0, y * width + x1);
      continue;
    }
    drawMarked(pixels, width, [x0, y0, x1, y1], left, top, size, colour, palette.background, ink, marksOf(floor, cell, mode));
  }
}

function drawMarked(
  pixels: Uint32Array, width: number, [x0, y0, x1, y1]: [number, number, number, number], left: number, top: number,
  size: number, colour: number, background: number, ink: number, [use, condition]: [Mark, Mark],
): void {
  const edge = Math.max(1, Math.round(size / 10)), line = Math.max(1, size / 9);
  const middle = size / 2, dot = (size * 0.22) ** 2;
  for (let y = y0; y < y1; ++y) {
    for (let x = x0; x < x1; ++x) {
      const dx = x - left, dy = y - top;
      const border = dx < edge || dy < edge || dx >= size - edge || dy >= size - edge;
      let pixel = colour;
      if (use === "hollow" && !border) pixel = background;
      if (use === "half" && !border && dx + dy < size) pixel = background;
      if (use === "dot" && !border && (dx - middle + 0.5) ** 2 + (dy - middle + 0.5) ** 2 > dot) pixel = background;
      if (condition !== "none" && Math.abs(size - 1 - dx - dy) < line) pixel = ink;
      if (condition === "cross" && Math.abs(dx - dy) < line) pixel = ink;
      pixels[y * width + x] = pixel;
    }
  }
}
