import type { ProxiedRequestHead } from "../core/agents/index.ts";
import type { HeaderList } from "./exchange/index.ts";

/** Returns the value of the first header of that lower-case name, or an empty string. */
export function headerValue(headers: HeaderList, name: string): string {
  for (let at = 0; at + 1 < headers.length; at += 2) if (headers[at] === name) return headers[at + 1] ?? "";
  return "";
}

/** Returns the values of all headers of that lower-case name, joined with a comma. */
export function headerValues(headers: HeaderList, name: string): string {
  const values: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) if (headers[at] === name) values.push(headers[at + 1] ?? "");
  return values.join(",");
}

/** Returns the path from its last `/v1/` on, because a proxy may add segments before it. `path`: path without the query. */
export const dialectPath = (path: string): string => path.slice(Math.max(0, path.lastIndexOf("/v1/")));

export const pathOf = (headers: HeaderList): string => headerValue(headers, ":path").split("?", 1)[0] ?? "";

/** Returns the client's method, path and headers. Repeated headers are joined with a comma. */
export function arrivalOf(headers: HeaderList): ProxiedRequestHead {
  const named = new Map<string, string>();
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at] ?? "";
    if (name.startsWith(":")) continue;
    const [value, before] = [headers[at + 1] ?? "", named.get(name)];
    named.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return { verb: headerValue(headers, ":method"), path: pathOf(headers), headers: Object.fromEntries(named) };
}
