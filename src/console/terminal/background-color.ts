/**
 * Detection of a light terminal background. The terminal is asked for its background color (XTerm Control Sequences, OSC 11)
 * without waiting: until it answers, or if it never does, `COLORFGBG` decides, which rxvt, Konsole and others set.
 */

export const ASK_BACKGROUND = "\u001b]11;?\u0007";

/** Parses an answer, `11;rgb:ffff/ffff/dddd` with one to four digits per component; `undefined` if it is something else. */
export function isLightIn(answer: string): boolean | undefined {
  const [, ...parts] = /^11;rgba?:([0-9a-f]{1,4})\/([0-9a-f]{1,4})\/([0-9a-f]{1,4})/i.exec(answer) ?? [];
  if (parts.length !== 3) return undefined;
  const [red = 0, green = 0, blue = 0] = parts.map((part) => Number.parseInt(part, 16) / (16 ** part.length - 1));
  // Relative luminance by ITU-R BT.709, without gamma correction: enough to distinguish light from dark.
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5;
}

/** Parses `15;0` or `15;default;0`: the last part is the background, one of sixteen colors. */
export function isLightBy(env: Readonly<Record<string, string | undefined>>): boolean | undefined {
  const background = /;(\d{1,2})$/.exec(env["COLORFGBG"] ?? "")?.[1];
  if (background === undefined) return undefined;
  const number = Number(background);
  return number <= 15 ? number === 7 || number > 8 : undefined;
}
