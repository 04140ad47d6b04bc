/**
 * Curves as an SVG picture: one panel per figure, both axes logarithmic, so that a slope of 1 is linear growth. Pure.
 */

import { type JudgedCurve, type Point, shortNumber } from "./points.ts";

const PANEL = { width: 280, height: 190 };
const COLUMNS = 3;
const MARGIN = { left: 32, right: 32, top: 48, bottom: 30 };
const TITLE_LEFT = 14;
const TITLE_HEIGHT = 34;

interface Range {
  readonly from: number;
  readonly to: number;
}

export function chartOf(title: string, curves: readonly JudgedCurve[]): string {
  const rows = Math.ceil(curves.length / COLUMNS);
  const width = COLUMNS * PANEL.width;
  const height = TITLE_HEIGHT + rows * PANEL.height;
  const panels = curves.map((curve, at) => {
    const x = (at % COLUMNS) * PANEL.width;
    const y = TITLE_HEIGHT + Math.floor(at / COLUMNS) * PANEL.height;
    return `<g transform="translate(${x} ${y})">${panelOf(curve)}</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="${TITLE_LEFT}" y="22" font-size="15" font-weight="bold">${escaped(title)}</text>`,
    ...panels,
    "</svg>",
    "",
  ].join("\n");
}

function panelOf(curve: JudgedCurve): string {
  const { figure, unit, growth, points } = curve;
  const sizes = decades(points.map(({ size }) => size));
  const values = decades(points.map(({ value }) => value));
  const place = ({ size, value }: Point): readonly [x: number, y: number] => [
    scaled(size, sizes, MARGIN.left, PANEL.width - MARGIN.right),
    scaled(value, values, PANEL.height - MARGIN.bottom, MARGIN.top),
  ];
  const line = points
    .map((point) =>
      place(point)
        .map((it) => it.toFixed(1))
        .join(","),
    )
    .join(" ");
  const [left, right] = [MARGIN.left, PANEL.width - MARGIN.right];
  const [top, bottom] = [MARGIN.top, PANEL.height - MARGIN.bottom];
  const grid = decadesIn(values).map((value) => {
    const y = scaled(value, values, bottom, top).toFixed(1);
    return `<line x1="${left}" x2="${right}" y1="${y}" y2="${y}" stroke="#ddd"/>`;
  });
  const ticks = points.map(({ size }) => {
    const x = scaled(size, sizes, left, right).toFixed(1);
    return `<text x="${x}" y="${bottom + 16}" text-anchor="middle" fill="#555">${shortNumber(size)}</text>`;
  });
  const marks = points.map((point) => {
    const [x, y] = place(point);
    const label = shortNumber(point.value);
    return `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="3" fill="#1f5fa8"/><text x="${x.toFixed(1)}" y="${(y - 7).toFixed(1)}" text-anchor="middle">${label}</text>`;
  });
  const about = growth === "flat" ? "flat" : "linear";
  const note = curve.isWithin ? `expected ${about}` : `expected ${about}: is not`;
  return [
    `<text x="${TITLE_LEFT}" y="14" font-weight="bold">${escaped(figure)}, ${escaped(unit)}</text>`,
    `<text x="${TITLE_LEFT}" y="28" fill="${curve.isWithin ? "#555" : "#b00020"}">${note}</text>`,
    ...grid,
    `<line x1="${left}" x2="${right}" y1="${bottom}" y2="${bottom}" stroke="#999"/>`,
    `<polyline points="${line}" fill="none" stroke="#1f5fa8" stroke-width="2"/>`,
    ...ticks,
    ...marks,
  ].join("");
}

/** Whole decades around the values. */
function decades(values: readonly number[]): Range {
  const from = 10 ** Math.floor(Math.log10(Math.min(...values)));
  const to = 10 ** Math.ceil(Math.log10(Math.max(...values)));
  return { from, to: to > from ? to : from * 10 };
}

function decadesIn({ from, to }: Range): readonly number[] {
  const found: number[] = [];
  for (let value = from; value <= to * 1.001; value *= 10) found.push(value);
  return found;
}

const scaled = (value: number, { from, to }: Range, start: number, end: number): number =>
  start + ((end - start) * Math.log(value / from)) / Math.log(to / from);

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
