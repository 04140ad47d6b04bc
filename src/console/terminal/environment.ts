/**
 * Capabilities of the terminal from the environment and the flags. Sources: no-color.org; POSIX locale variables; operator
 * console reference, A6 and A7.
 */

export interface EnvironmentOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether stdout is a terminal. */
  readonly isTTY: boolean;
  /** True if the flag `-ascii` is set. */
  readonly isAsciiAsked: boolean;
}

interface Environment {
  readonly hasColor: boolean;
  /** True if only ASCII characters are drawn. */
  readonly isAscii: boolean;
  /** True if the screen is read aloud: text in order, without frames. */
  readonly isScreenReader: boolean;
  /** True if the terminal can move its cursor; otherwise output is printed line by line. */
  readonly hasCursor: boolean;
}

export function environmentOf({ env, isTTY, isAsciiAsked }: EnvironmentOptions): Environment {
  const term = env["TERM"] ?? "";
  const isPlain = isAsciiAsked || term === "linux" || term === "dumb";
  return {
    hasColor: hasColor(env, isTTY, term),
    isAscii: isPlain || !/utf-?8/i.test(localeOf(env)),
    isScreenReader: env["INK_SCREEN_READER"] === "true" || term === "dumb",
    hasCursor: term !== "dumb",
  };
}

function hasColor(env: EnvironmentOptions["env"], isTTY: boolean, term: string): boolean {
  if ((env["NO_COLOR"] ?? "") !== "") return false;
  const forced = env["FORCE_COLOR"];
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  return isTTY && term !== "dumb";
}

/** Returns the locale of the first variable that is set and not empty; the default `C` has only ASCII. */
const localeOf = (env: EnvironmentOptions["env"]): string => env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "C";
