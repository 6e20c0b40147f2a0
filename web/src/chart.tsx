// Curves over time, drawn by uPlot.

import uPlot from "uplot";
import { useEffect, useRef } from "preact/hooks";
import { timeText } from "./history.ts";
import { Card, amount, clock } from "./parts.tsx";

// null: not known at that time.
export interface Series { label: string; values: (number | null)[]; colour: string; dash?: number[] }
interface Curves {
  title: string;
  time: number[]; // seconds since 1970
  series: Series[];
  stepped?: boolean; // each value is kept until the next
  joined?: boolean; // over times at which nothing is known
  text?(value: number): string; // amount() if absent
}

const longSpan = 12 * 3600; // seconds; a longer one has days on its axis
function tickText(seconds: number, time: number[]): string {
  const long = time.length > 1 && time.at(-1)! - time[0] > longSpan;
  return long ? timeText(seconds * 1000).slice(5, 16) : clock(seconds * 1000);
}

export function CurvesBody({ title, time, series, stepped, joined, text = amount }: Curves) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const shown = useRef(time); // what the axis is of
  shown.current = time;
  useEffect(() => {
    const element = box.current!, style = getComputedStyle(element);
    const size = parseFloat(style.fontSize), font = `${Math.round(size * 0.86)}px ${style.fontFamily}`;
    const axis = { stroke: style.getPropertyValue("--muted"), font, grid: { stroke: style.getPropertyValue("--line"), width: 1 } };
    const height = size * 10, paths = stepped ? uPlot.paths.stepped!({ align: 1 }) : undefined;
    chart.current = new uPlot({
      width: element.clientWidth, height, padding: [8, size * 2.5, 0, 0], legend: { show: false }, cursor: { y: false },
      axes: [{ ...axis, size: size * 2.4, space: size * 7, values: (_, ticks) => ticks.map((tick) => tickText(tick, shown.current)) },
        { ...axis, size: (_, labels) => size * Math.max(4.2, 0.6 * Math.max(...(labels ?? [""]).map((label) => label.length)) + 1), values: (_, ticks) => ticks.map((tick) => text(tick)) }],
      scales: { y: { range: (_, __, high) => [0, Math.max(high * 1.05, 1)] } },
      series: [{}, ...series.map((row) => ({ label: row.label, stroke: style.getPropertyValue(row.colour), width: 2, dash: row.dash, points: { show: false }, paths, spanGaps: joined }))],
    }, [time, ...series.map((row) => row.values)] as uPlot.AlignedData, element);
    const resized = new ResizeObserver(() => chart.current?.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    return () => { resized.disconnect(); chart.current?.destroy(); };
  }, []);
  useEffect(() => { chart.current?.setData([time, ...series.map((row) => row.values)] as uPlot.AlignedData); }, [time]);
  const now = (row: Series) => { const value = row.values.at(-1) ?? null; return value === null ? "–" : text(value); };
  return (
    <>
      <ul class="legend" aria-label={`${title}, now`}>
        {series.map((row) => <li key={row.label}><span class={`key line line${row.colour}${row.dash ? " dashed" : ""}`} />{row.label} <strong>{now(row)}</strong></li>)}
      </ul>
      <div ref={box} class="chart" role="img" aria-label={`${title}; now ${series.map((row) => `${row.label} ${now(row)}`).join(", ")}; the table has the same data`} />
    </>
  );
}

export function Chart({ note, ...curves }: Curves & { note?: string }) {
  return <Card title={curves.title} note={note}><CurvesBody {...curves} /></Card>;
}
