/**
 * Box drawing and block elements (Unicode U+2500 to U+259F) as paths that fill their cell to its edges, so that
 * neighbors meet. Box drawing has light, heavy and rounded lines and their joints; double lines are drawn heavy, dashed
 * lines solid.
 */

interface Frame {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

interface Drawing {
  /** Path to fill. */
  readonly path: string;
  readonly opacity: number;
}

/** Returns `undefined` for characters left to the font. */
export function drawingOf(char: string, frame: Frame): Drawing | undefined {
  const path = blockOf(char, frame) ?? linesOf(char, frame);
  return path === undefined ? undefined : { path, opacity: SHADES.get(char) ?? 1 };
}

const SHADES: ReadonlyMap<string, number> = new Map([
  ["░", 0.25],
  ["▒", 0.5],
  ["▓", 0.75],
]);

/** Coordinates in the cell, from 0 to 1. */
type Part = readonly [left: number, top: number, right: number, bottom: number];

const BLOCKS: ReadonlyMap<string, Part> = new Map<string, Part>([
  ...[..."▁▂▃▄▅▆▇█"].map((char, at) => [char, [0, 1 - (at + 1) / 8, 1, 1]] as const),
  ...[..."▏▎▍▌▋▊▉"].map((char, at) => [char, [0, 0, (at + 1) / 8, 1]] as const),
  ...[...SHADES.keys()].map((char) => [char, [0, 0, 1, 1]] as const),
  ["▀", [0, 0, 1, 0.5]],
  ["▔", [0, 0, 1, 1 / 8]],
  ["▐", [0.5, 0, 1, 1]],
  ["▕", [7 / 8, 0, 1, 1]],
]);

function blockOf(char: string, { x, y, width, height }: Frame): string | undefined {
  const part = BLOCKS.get(char);
  if (part === undefined) return undefined;
  const [left, top, right, bottom] = part;
  return box(x + left * width, y + top * height, x + right * width, y + bottom * height);
}

const LIGHT = 1.2;
const HEAVY = 2.6;

/** Arms up, right, down, left of each character: 0 none, 1 light, 2 heavy or double. */
const ARMS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "0101": "─╌┄┈",
    "0202": "━═╍┅┉",
    "1010": "│╎┆┊",
    "2020": "┃║╏┇┋",
    "0110": "┌╭",
    "0011": "┐╮",
    "1100": "└╰",
    "1001": "┘╯",
    "1110": "├",
    "1011": "┤",
    "0111": "┬",
    "1101": "┴",
    "1111": "┼",
    "0220": "┏╔",
    "0022": "┓╗",
    "2200": "┗╚",
    "2002": "┛╝",
    "2220": "┣╠",
    "2022": "┫╣",
    "0222": "┳╦",
    "2202": "┻╩",
    "2222": "╋╬",
    "0001": "╴",
    "1000": "╵",
    "0100": "╶",
    "0010": "╷",
  }).flatMap(([arms, characters]) => [...characters].map((char) => [char, arms] as const)),
);

function linesOf(char: string, { x, y, width, height }: Frame): string | undefined {
  const arms = ARMS.get(char);
  if (arms === undefined) return undefined;
  const [up = 0, right = 0, down = 0, left = 0] = [...arms].map(
    (weight) => [0, LIGHT / 2, HEAVY / 2][Number(weight)] ?? 0,
  );
  const middleX = x + width / 2;
  const middleY = y + height / 2;
  // Arms extend over the middle by half the widest line, so that corners are full.
  const over = Math.max(up, right, down, left);
  const boxes = [
    up > 0 && box(middleX - up, y, middleX + up, middleY + over),
    down > 0 && box(middleX - down, middleY - over, middleX + down, y + height),
    right > 0 && box(middleX - over, middleY - right, x + width, middleY + right),
    left > 0 && box(x, middleY - left, middleX + over, middleY + left),
  ];
  return boxes.filter((path) => path !== false).join("");
}

function box(left: number, top: number, right: number, bottom: number): string {
  const [x0, y0, x1, y1] = [left, top, right, bottom].map((value) => Math.round(value * 100) / 100);
  return `M${x0} ${y0}H${x1}V${y1}H${x0}Z`;
}
