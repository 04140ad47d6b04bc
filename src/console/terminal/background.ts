/**
 * Whether the terminal is dark on light. It is asked for its background (XTerm Control Sequences, OSC 11), and waited for
 * by nobody: until it answers, and where it never does, `COLORFGBG` says it, which rxvt, Konsole and others set.
 */

export const ASK_BACKGROUND = "\u001b]11;?\u0007";

/** Of the answer, `11;rgb:ffff/ffff/dddd`, one to four digits a part; undefined: it is none. */
export function isLightIn(answer: string): boolean | undefined {
  const [, ...parts] = /^11;rgba?:([0-9a-f]{1,4})\/([0-9a-f]{1,4})\/([0-9a-f]{1,4})/i.exec(answer) ?? [];
  if (parts.length !== 3) return undefined;
  const [red = 0, green = 0, blue = 0] = parts.map((part) => Number.parseInt(part, 16) / (16 ** part.length - 1));
  // Relative luminance by ITU-R BT.709, of the values as they are: enough to tell light from dark.
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5;
}

/** `15;0`, or `15;default;0`: the last is the background, of the sixteen. */
export function isLightBy(env: Readonly<Record<string, string | undefined>>): boolean | undefined {
  const background = /;(\d{1,2})$/.exec(env["COLORFGBG"] ?? "")?.[1];
  if (background === undefined) return undefined;
  const number = Number(background);
  return number <= 15 ? number === 7 || number > 8 : undefined;
}
