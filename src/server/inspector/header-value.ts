import type { HeaderList } from "./exchange/index.ts";

/** Of the first that is so named, in lower case. Empty: there is none. */
export function headerValue(headers: HeaderList, name: string): string {
  for (let at = 0; at + 1 < headers.length; at += 2) if (headers[at] === name) return headers[at + 1] ?? "";
  return "";
}

/** A proxy may have put segments of its own before the path that a dialect knows. `path`: without its query. */
export const dialectPath = (path: string): string => path.slice(Math.max(0, path.lastIndexOf("/v1/")));
