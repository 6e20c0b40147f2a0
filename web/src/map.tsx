// The floor as a picture: pan, zoom, hover, click. Its table twin is in floor_screen.tsx.

import { useEffect, useRef, useState } from "preact/hooks";
import { type Floor, conditionNames, ownerText, useNames } from "./floor.ts";
import { ownerColours } from "./owners.ts";
import { rootScale } from "./parts.tsx";
import { type Plan, cellAt, nodeAt } from "./plan.ts";
import { type Look, type Mode, type Palette, type Picture, type Shades, type View, drawCells, rgb, shade } from "./raster.ts";

const zoomStep = 1.3, scaleMax = 60, labelMin = 9;

interface Colours { palette: Palette; text: string }
function coloursOf(element: Element): Colours {
  const style = getComputedStyle(element);
  const probe = document.createElement("span");
  element.append(probe);
  const colour = (name: string) => {
    probe.style.color = style.getPropertyValue(name);
    return rgb(getComputedStyle(probe).color);
  };
  const palette = {
    background: colour("--surface"), free: colour("--free"), used: colour("--used"), shared: colour("--shared"),
    reserved: colour("--reserved"), closed: colour("--closed"), ill: colour("--ill"), unknown: colour("--unknown"),
    kept: colour("--kept"), quiet: colour("--quiet"), line: colour("--line"), ink: colour("--ink"), others: colour("--others"),
    owners: Array.from({ length: ownerColours }, (_, i) => colour(`--owner-${i}`)),
  };
  probe.remove();
  return { palette, text: style.getPropertyValue("--muted") };
}

function drawLabels(context: CanvasRenderingContext2D, plan: Plan, now: Floor, view: View, text: string) {
  const ratio = devicePixelRatio * rootScale(), { width, height } = context.canvas;
  const isSeen = (x: number, y: number, w: number, h: number) => x < width && y < height && x + w > 0 && y + h > 0;
  context.textBaseline = "middle";
  context.fillStyle = text;
  for (const area of plan.areas) {
    const size = Math.min(view.scale * area.header * 0.72, 15 * ratio);
    if (size < labelMin * ratio * 0.8) continue;
    const x = view.x + area.x * view.scale, y = view.y + area.y * view.scale;
    if (!isSeen(x, y, area.w * view.scale, area.header * view.scale)) continue;
    context.font = `600 ${size}px system-ui, sans-serif`;
    context.fillText(area.label, x + view.scale * 0.6, y + (view.scale * area.header) / 2, area.w * view.scale * 0.9);
  }
  const size = Math.min(view.scale * 0.62, 12 * ratio);
  if (size < labelMin * ratio * 0.85) return;
  context.font = `${size}px system-ui, sans-serif`;
  plan.nodes.forEach((box, node) => {
    const x = view.x + box.x * view.scale, y = view.y + box.y * view.scale;
    if (isSeen(x, y, box.w * view.scale, view.scale)) context.fillText(now.layout.nodes[node], x, y + view.scale * 0.45, box.w * view.scale);
  });
}

function fit(canvas: HTMLCanvasElement, plan: Plan): View {
  const scale = Math.min(canvas.width / (plan.width + 1.5), canvas.height / (plan.height + 1.5), 44 * devicePixelRatio);
  return {
    scale,
    x: Math.max((canvas.width - plan.width * scale) / 2, 0.75 * scale),
    y: Math.max(Math.min((canvas.height - plan.height * scale) / 2, 1.5 * scale), 0.75 * scale),
  };
}

function Tip({ at, x, y, now, keptFor }: { at: number; x: number; y: number; now: Floor; keptFor?: string }) {
  const element = useRef<HTMLDivElement>(null);
  const device = now.device(at), path = now.path(now.nodeOfCell[at]);
  useEffect(() => {
    const tip = element.current!;
    tip.style.left = `${Math.min(x + 14, innerWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${Math.min(y + 14, innerHeight - tip.offsetHeight - 8)}px`;
  });
  return (
    <div class="tip" ref={element}>
      <strong>{now.nodeName(at)}{device.name && ` · ${device.name}`}</strong>
      {device.driver && <div class="muted">{device.driver}</div>}
      {path.length > 0 && <div class="muted">{path.join(" / ")}</div>}
      <div>{useNames[now.use(at)]}{now.condition(at) > 0 && `, ${conditionNames[now.condition(at)]}`}</div>
      {now.owner[at] > 0 && <div>{ownerText(now.ownerOf(at))}</div>}
      {keptFor && <div>kept for {keptFor}</div>}
    </div>
  );
}

// `version` grows with every change of a cell; `slots` are the owners' colours, `kept` the cells of reservations
// and `keptFor` whose they are; `lit` says which cells keep their colour, null: all. `open` gets -1 where no cell
// was clicked.
export interface MapProps {
  now: Floor; plan: Plan; version: number; mode: Mode; slots: Int16Array; lit: ((cell: number) => boolean) | null;
  kept?: Uint8Array | null; keptFor?(cell: number): string | undefined; open(cell: number): void;
}

// What is kept between frames, so that one only places cells.
interface Canvas { image: ImageData; picture: Picture }
function canvasOf(context: CanvasRenderingContext2D, width: number, height: number): Canvas {
  const image = context.createImageData(width, height);
  return { image, picture: { pixels: new Uint32Array(image.data.buffer), width, height } };
}

export function FloorMap(props: MapProps) {
  const { now: floor, plan, version, mode, slots, kept = null, keptFor, lit, open } = props;
  const latest = useRef(props);
  latest.current = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<View | null>(null);
  const painter = useRef(() => {});
  const colours = useRef<Colours | null>(null);
  const surface = useRef<Canvas | null>(null);
  const shades = useRef<{ shades: Shades; isCurrent: boolean } | null>(null);
  const drag = useRef<{ x: number; y: number; moved: boolean } | null>(null);
  const [hover, setHover] = useState<{ at: number; x: number; y: number } | null>(null);

  painter.current = () => {
    const element = canvas.current, { now, plan: where, mode, slots, kept = null, lit } = latest.current;
    if (!element) return;
    const context = element.getContext("2d")!;
    const box = element.getBoundingClientRect();
    const width = Math.max(1, Math.round(box.width * devicePixelRatio));
    const height = Math.max(1, Math.round(box.height * devicePixelRatio));
    if (element.width !== width || element.height !== height || !surface.current) {
      element.width = width;
      element.height = height;
      surface.current = canvasOf(context, width, height);
      view.current = null;
    }
    view.current ??= fit(element, where);
    const { palette, text } = (colours.current ??= coloursOf(element));
    if (!shades.current?.isCurrent) {
      const look: Look = { mode, palette, slots, kept, lit };
      shades.current = { shades: shade(now, look, shades.current?.shades), isCurrent: true };
    }
    const { image, picture } = surface.current;
    drawCells(picture, now, where, view.current, palette, shades.current.shades, Math.round(devicePixelRatio));
    context.putImageData(image, 0, 0);
    drawLabels(context, where, now, view.current, text);
    element.dataset.painted = String(Number(element.dataset.painted ?? 0) + 1);
  };
  const frame = useRef(0);
  const paint = () => {
    if (frame.current) return;
    frame.current = requestAnimationFrame(() => { frame.current = 0; painter.current(); });
  };
  const repaint = () => {
    if (shades.current) shades.current.isCurrent = false;
    paint();
  };
  const zoom = (factor: number, x?: number, y?: number) => {
    const element = canvas.current!, old = view.current;
    if (!old) return;
    const cx = x ?? element.width / 2, cy = y ?? element.height / 2;
    const least = fit(element, latest.current.plan).scale * 0.8;
    const scale = Math.min(Math.max(old.scale * factor, least), scaleMax * devicePixelRatio);
    view.current = { scale, x: cx - ((cx - old.x) * scale) / old.scale, y: cy - ((cy - old.y) * scale) / old.scale };
    paint();
  };
  const shift = (dx: number, dy: number) => {
    if (!view.current) return;
    view.current = { ...view.current, x: view.current.x + dx, y: view.current.y + dy };
    paint();
  };
  const reset = () => { view.current = null; paint(); };
  const place = (event: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    return { x: (event.clientX - box.left) * devicePixelRatio, y: (event.clientY - box.top) * devicePixelRatio };
  };
  const cellOf = (event: MouseEvent) => {
    if (!view.current) return -1;
    const at = place(event), { x, y, scale } = view.current;
    const cell = cellAt(floor, plan, (at.x - x) / scale, (at.y - y) / scale);
    if (cell >= 0) return cell;
    const node = nodeAt(plan, (at.x - x) / scale, (at.y - y) / scale);
    return node >= 0 ? floor.firstCell[node] : -1;
  };

  useEffect(() => {
    const element = canvas.current!;
    const resized = new ResizeObserver(paint);
    resized.observe(element);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const recolour = () => { colours.current = null; repaint(); };
    scheme.addEventListener("change", recolour);
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const at = place(event);
      zoom(Math.exp(-event.deltaY * 0.0015), at.x, at.y);
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => {
      resized.disconnect();
      scheme.removeEventListener("change", recolour);
      element.removeEventListener("wheel", wheel);
      cancelAnimationFrame(frame.current);
    };
  }, []);
  useEffect(reset, [plan]);
  useEffect(repaint, [floor, mode, version, slots, kept, lit]);

  const keys: Record<string, () => void> = {
    "+": () => zoom(zoomStep), "=": () => zoom(zoomStep), "-": () => zoom(1 / zoomStep), "0": reset,
    ArrowLeft: () => shift(80, 0), ArrowRight: () => shift(-80, 0),
    ArrowUp: () => shift(0, 80), ArrowDown: () => shift(0, -80),
  };
  return (
    <div class="map">
      <canvas
        ref={canvas} tabIndex={0} role="img"
        aria-label="Map of all devices. Arrow keys move, plus and minus zoom, 0 shows all. The table has the same data."
        onPointerDown={(event) => {
          drag.current = { ...place(event), moved: false };
          canvas.current!.setPointerCapture(event.pointerId);
        }}
        onPointerMove={(event) => {
          const at = place(event);
          if (drag.current) {
            const dx = at.x - drag.current.x, dy = at.y - drag.current.y;
            if (drag.current.moved || Math.abs(dx) + Math.abs(dy) > 4) {
              drag.current = { ...at, moved: true };
              shift(dx, dy);
            }
            return setHover(null);
          }
          const cell = cellOf(event);
          setHover(cell < 0 ? null : { at: cell, x: event.clientX, y: event.clientY });
        }}
        onPointerUp={(event) => {
          const moved = drag.current?.moved;
          drag.current = null;
          const cell = moved ? -1 : cellOf(event);
          if (!moved) open(cell);
        }}
        onPointerLeave={() => setHover(null)}
        onKeyDown={(event) => {
          const act = keys[event.key];
          if (!act) return;
          event.preventDefault();
          act();
        }}
      />
      <div class="zoom">
        <button type="button" aria-label="Zoom in" onClick={() => zoom(zoomStep)}>+</button>
        <button type="button" aria-label="Zoom out" onClick={() => zoom(1 / zoomStep)}>−</button>
        <button type="button" aria-label="Show all" onClick={reset}>⤢</button>
      </div>
      {hover && hover.at < floor.cells && <Tip {...hover} now={floor} keptFor={keptFor?.(hover.at)} />}
    </div>
  );
}
