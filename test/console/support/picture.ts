/**
 * Cells as a picture: SVG that looks the same everywhere, and its PNG.
 *
 * Text is placed word by word on the grid, so that a font of another width cannot push a line out of its columns. Lines
 * and blocks (U+2500 to U+259F) are drawn, since fonts leave gaps between them. Fonts: DejaVu Sans Mono, or the
 * viewer's replacement.
 */

import { Resvg } from "@resvg/resvg-js";
import { type Cell, COLOURS, type Colour } from "./cells.ts";
import { drawingOf } from "./drawn-characters.ts";

const FONT_SIZE = 14;
/** Width in DejaVu Sans Mono: 1233 of 2048 units. */
const CELL_WIDTH = 8.43;
const CELL_HEIGHT = 17;
/** Distance from the top of a cell. */
const BASELINE = 13;
const MARGIN = 10;
const FONT = "DejaVu Sans Mono, Menlo, Consolas, Liberation Mono, monospace";

const BACKGROUND = "#14161b";
const FOREGROUND = "#d3d7de";
/** Opacity of dim text against the background. */
const DIM_OPACITY = 0.6;

/** The sixteen colors in the order of `COLOURS`: legible on the background, and on each other when inverse. */
const THEME: ReadonlyMap<string, string> = new Map(
  [
    "#2b303b",
    "#e0616b",
    "#8fbf7a",
    "#e5c07b",
    "#61a5ef",
    "#c27fdb",
    "#56b6c2",
    "#c5cbd6",
    "#6b7382",
    "#f0808a",
    "#a9d68f",
    "#f2d49b",
    "#8fc1ff",
    "#dba6ec",
    "#7fd3de",
    "#ffffff",
  ].map((hex, at) => [COLOURS[at] ?? "", hex]),
);

/** Colors of a light terminal in the same order: background, foreground, the sixteen. */
const LIGHT = [
  ...["#fdfdfb", "#24292f", "#24292f", "#b3202c", "#2f6f1e", "#8a5a00", "#1f5fae", "#8637a3", "#0f6f7d", "#57606a"],
  ...["#6e7781", "#c93a45", "#3d8528", "#a06a00", "#2f74c8", "#9a4db6", "#1b8796", "#f6f8fa"],
];
const LIGHT_OF: ReadonlyMap<string, string> = new Map(
  [BACKGROUND, FOREGROUND, ...THEME.values()].map((hex, at) => [hex, LIGHT[at] ?? hex]),
);

/** Recolors a picture for a light terminal, except text that names its colors. */
export const inLight = (svg: string): string =>
  svg.replace(/fill="(#[0-9a-f]{6})"/g, (_, hex: string) => `fill="${LIGHT_OF.get(hex) ?? hex}"`);

interface Style {
  readonly fg: string;
  readonly bg: string;
  readonly bold: boolean;
  readonly dim: boolean;
  readonly underline: boolean;
}

/** `title` is for screen readers. */
export function svgOf(rows: readonly (readonly Cell[])[], title: string): string {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const width = round(columns * CELL_WIDTH + 2 * MARGIN);
  const height = rows.length * CELL_HEIGHT + 2 * MARGIN;
  const body = rows.flatMap((row, at) => drawRow(row, MARGIN + at * CELL_HEIGHT));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escapeMarkup(title)}</title>`,
    `<rect width="${width}" height="${height}" rx="6" fill="${BACKGROUND}"/>`,
    `<g font-family="${FONT}" font-size="${FONT_SIZE}" fill="${FOREGROUND}">`,
    ...body,
    "</g>",
    "</svg>",
    "",
  ].join("\n");
}

/** `scale` 2 is for high-density screens. */
export function pngOf(svg: string, scale = 2): Uint8Array {
  const font = { loadSystemFonts: true, defaultFontFamily: "DejaVu Sans Mono", monospaceFamily: "DejaVu Sans Mono" };
  return new Resvg(svg, { font, fitTo: { mode: "zoom", value: scale } }).render().asPng();
}

function drawRow(row: readonly Cell[], y: number): readonly string[] {
  // Adjacent cells with one color are one shape, since two would leave a seam.
  const backgrounds: Rect[] = [];
  let touches = false;
  const marks: string[] = [];
  for (const { from, cells } of runsOf(row)) {
    const [first] = cells;
    if (first === undefined) continue;
    const style = styleOf(first);
    const x = MARGIN + from * CELL_WIDTH;
    const width = cells.length * CELL_WIDTH;
    const before = backgrounds.at(-1);
    if (style.bg === BACKGROUND) touches = false;
    else if (touches && before?.fill === style.bg)
      backgrounds[backgrounds.length - 1] = { ...before, width: before.width + width };
    else backgrounds.push({ x, y, width, height: CELL_HEIGHT, fill: style.bg });
    if (style.bg !== BACKGROUND) touches = true;
    if (style.underline) marks.push(rect({ x, y: y + BASELINE + 1.5, width, height: 1, fill: style.fg }));
    marks.push(...drawRun(cells, x, y, style));
  }
  return [...backgrounds.map(rect), ...marks];
}

/** Returns adjacent cells with one look. */
function runsOf(row: readonly Cell[]): readonly { readonly from: number; readonly cells: readonly Cell[] }[] {
  const runs: { from: number; cells: Cell[] }[] = [];
  let before = "";
  for (const [at, cell] of row.entries()) {
    const look = cell.width === 0 ? before : JSON.stringify(styleOf(cell));
    const run = runs.at(-1);
    if (run !== undefined && look === before) run.cells.push(cell);
    else runs.push({ from: at, cells: [cell] });
    before = look;
  }
  return runs;
}

function drawRun(cells: readonly Cell[], x: number, y: number, style: Style): readonly string[] {
  const drawn: string[] = [];
  let word = "";
  let wordAt = 0;
  // Adjacent shapes are one path, since two would leave a seam.
  let path = "";
  let opacity = 1;
  const end = (): void => {
    if (word !== "") drawn.push(text(word, x + wordAt * CELL_WIDTH, y + BASELINE, style));
    if (path !== "") drawn.push(`<path d="${path}"${paint(style, opacity)}/>`);
    word = "";
    path = "";
  };
  for (const [at, { char, width }] of cells.entries()) {
    if (char === "") continue;
    const shape = drawingOf(char, { x: x + at * CELL_WIDTH, y, width: CELL_WIDTH, height: CELL_HEIGHT });
    if (shape !== undefined) {
      if (word !== "" || shape.opacity !== opacity) end();
      path += shape.path;
      opacity = shape.opacity;
      continue;
    }
    if (path !== "" || char === " ") end();
    if (char === " ") continue;
    if (word === "") wordAt = at;
    word += char;
    // A wide character has the font's own width; the next one starts on the grid again.
    if (width === 2) end();
  }
  end();
  return drawn;
}

function text(word: string, x: number, y: number, style: Style): string {
  const weight = style.bold ? ' font-weight="bold"' : "";
  return `<text x="${round(x)}" y="${round(y)}"${paint(style)}${weight}>${escapeMarkup(word)}</text>`;
}

function paint({ fg, dim }: Style, opacity = 1): string {
  const shown = round(opacity * (dim ? DIM_OPACITY : 1));
  // The default color is set on the whole group.
  const fill = fg === FOREGROUND ? "" : ` fill="${fg}"`;
  return `${fill}${shown === 1 ? "" : ` fill-opacity="${shown}"`}`;
}

interface Rect {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly fill: string;
}

function rect({ x, y, width, height, fill }: Rect): string {
  return `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${height}" fill="${fill}"/>`;
}

function styleOf({ fg, bg, bold, dim, inverse, underline }: Cell): Style {
  const front = hexOf(fg, FOREGROUND);
  const back = hexOf(bg, BACKGROUND);
  return { fg: inverse ? back : front, bg: inverse ? front : back, bold, dim, underline };
}

function hexOf(colour: Colour, byDefault: string): string {
  if (colour === "default") return byDefault;
  if (colour.startsWith("#")) return colour;
  return THEME.get(colour) ?? hexOfPalette(Number(colour.slice("palette-".length)));
}

/** xterm's colors 16 to 255: a cube of six by six by six, then grays. */
function hexOfPalette(number: number): string {
  const level = (value: number): number => (value === 0 ? 0 : 55 + value * 40);
  const cube = number - 16;
  const grey = 8 + (number - 232) * 10;
  const parts =
    number >= 232
      ? [grey, grey, grey]
      : [level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6)];
  return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

const round = (value: number): number => Math.round(value * 100) / 100;

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
]);

const escapeMarkup = (message: string): string => message.replace(/[&<>"]/g, (found) => ENTITIES.get(found) ?? found);
