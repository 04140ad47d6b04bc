/**
 * What the terminal can show, from the environment and the flags. Sources: no-color.org; POSIX locale variables; operator
 * console reference, A6 and A7.
 */

export interface EnvironmentOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether stdout is a terminal. */
  readonly isTTY: boolean;
  /** The flag `-ascii`. */
  readonly isAsciiAsked: boolean;
}

export interface Environment {
  readonly hasColour: boolean;
  /** Only characters of ASCII are drawn. */
  readonly isAscii: boolean;
  /** The screen is read aloud: text in order, no frames. */
  readonly isScreenReader: boolean;
  /** The terminal can move its cursor; one that cannot gets lines that only go down. */
  readonly hasCursor: boolean;
}

export function environmentOf({ env, isTTY, isAsciiAsked }: EnvironmentOptions): Environment {
  const term = env["TERM"] ?? "";
  const isPlain = isAsciiAsked || term === "linux" || term === "dumb";
  return {
    hasColour: hasColour(env, isTTY, term),
    isAscii: isPlain || !/utf-?8/i.test(localeOf(env)),
    isScreenReader: env["INK_SCREEN_READER"] === "true" || term === "dumb",
    hasCursor: term !== "dumb",
  };
}

function hasColour(env: EnvironmentOptions["env"], isTTY: boolean, term: string): boolean {
  if ((env["NO_COLOR"] ?? "") !== "") return false;
  const forced = env["FORCE_COLOR"];
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  return isTTY && term !== "dumb";
}

/** The first that is set and not empty decides on characters; none is the locale `C`, which has no others. */
const localeOf = (env: EnvironmentOptions["env"]): string => env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "C";
