/**
 * Themes: the style of each role of text. A style consists of words: attributes, a color, and `on` with a background color:
 * `bold bright-red`, `#b58900`, `black on 208`, `none`. Source: operator console reference, B9.
 */

import { type Attribute, type Color, type Paint, ROLES, type Role, type ThemeSpec } from "../model/settings.ts";
import type { Node, Reader } from "./settings-faults.ts";

const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
const ATTRIBUTES: readonly Attribute[] = ["bold", "dim", "italic", "underline", "reverse"];
const BRIGHT = 8;

const paint = (foreground: Color | undefined, ...attributes: readonly Attribute[]): Paint => ({
  ...(foreground !== undefined && { foreground }),
  attributes,
});

const PLAIN = paint(undefined);
const BOLD = paint(undefined, "bold");
const DIM = paint(undefined, "dim");
const REVERSE = paint(undefined, "reverse");

/** Theme for a dark background: the terminal's own red, yellow and magenta. */
const DARK: ThemeSpec = {
  strong: BOLD,
  dim: DIM,
  warn: paint(3),
  fail: paint(1),
  off: paint(5),
  changed: BOLD,
  selected: REVERSE,
};

/**
 * Theme for a light background: fixed dark colors, since the yellow of most terminals is unreadable on white. Their
 * contrast with white is 5.9, 7.3, 8.4 and 5.3.
 */
const LIGHT: ThemeSpec = {
  strong: BOLD,
  dim: paint(242),
  warn: paint(94),
  fail: paint(124),
  off: paint(90),
  changed: BOLD,
  selected: REVERSE,
};

/** Theme without colors: urgent text is bold. Every state also has a word and a mark. */
const MONO: ThemeSpec = {
  strong: BOLD,
  dim: DIM,
  warn: BOLD,
  fail: BOLD,
  off: PLAIN,
  changed: BOLD,
  selected: REVERSE,
};

export const BUILT_IN: ReadonlyMap<string, ThemeSpec> = new Map([
  ["dark", DARK],
  ["light", LIGHT],
  ["mono", MONO],
]);

export { DARK, LIGHT, MONO };

/** Reads a theme. Missing roles are taken from `base`, by default `dark`. */
export function themeIn(node: Node, what: string, reader: Reader): ThemeSpec {
  const { base, ...roles } = reader.fields(node, ["base", ...ROLES], what);
  const name = reader.text(base, `base of ${what}`) ?? "dark";
  const from = BUILT_IN.get(name);
  if (from === undefined) reader.fault(base, `there is no theme ${name} to start from`, "base is dark, light or mono");
  const theme: Record<Role, Paint> = { ...(from ?? DARK) };
  for (const role of ROLES) {
    const text = reader.text(roles[role], `${role} of ${what}`);
    if (text === undefined) continue;
    const read = paintOf(text);
    if (typeof read === "string")
      reader.fault(
        roles[role],
        `${role} of ${what}: ${read}`,
        `write as in 'bold bright-red', '#b58900', 'black on 208'`,
      );
    else theme[role] = read;
  }
  return theme;
}

/** Parses a style. Returns an error text if it is invalid. */
export function paintOf(text: string): Paint | string {
  const attributes: Attribute[] = [];
  let foreground: Color | undefined;
  let background: Color | undefined;
  let isBehind = false;
  for (const word of text.trim().toLowerCase().split(/\s+/)) {
    const attribute = ATTRIBUTES.find((one) => one === word);
    if (attribute !== undefined) attributes.push(attribute);
    else if (word === "on" && !isBehind) isBehind = true;
    else if (word !== "none") {
      const colour = colorOf(word);
      if (colour === undefined) return `'${word}' is not a color`;
      if (isBehind && background === undefined) background = colour;
      else if (!isBehind && foreground === undefined) foreground = colour;
      else return `'${word}' is one color too many`;
    }
  }
  if (isBehind && background === undefined) return "write the background color after 'on'";
  return {
    ...(foreground !== undefined && { foreground }),
    ...(background !== undefined && { background }),
    attributes,
  };
}

function colorOf(word: string): Color | undefined {
  const isBright = word.startsWith("bright-");
  const named = NAMES.indexOf(isBright ? word.slice("bright-".length) : word);
  if (named >= 0) return named + (isBright ? BRIGHT : 0);
  if (/^\d{1,3}$/.test(word)) return Number(word) <= 255 ? Number(word) : undefined;
  const [, red, green, blue] = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/.exec(word) ?? [];
  if (red === undefined || green === undefined || blue === undefined) return undefined;
  return [Number.parseInt(red, 16), Number.parseInt(green, 16), Number.parseInt(blue, 16)];
}
