/** Redirection of `console` output to a listener while the console has the screen. */

import { format } from "node:util";

const METHODS = ["log", "info", "warn", "error", "debug", "trace"] as const;

/** Redirects the output to `onPrinted`. Returns a function that restores it. */
export function captureConsole(onPrinted: (text: string) => void): () => void {
  const before = METHODS.map((name) => [name, console[name]] as const);
  for (const name of METHODS) console[name] = (...values: readonly unknown[]) => onPrinted(format(...values));
  return () => {
    for (const [name, method] of before) console[name] = method;
  };
}
