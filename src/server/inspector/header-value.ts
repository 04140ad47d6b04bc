import type { ProxiedArrival } from "../core/agents/index.ts";
import type { HeaderList } from "./exchange/index.ts";

/** Of the first that is so named, in lower case. Empty: there is none. */
export function headerValue(headers: HeaderList, name: string): string {
  for (let at = 0; at + 1 < headers.length; at += 2) if (headers[at] === name) return headers[at + 1] ?? "";
  return "";
}

/** Of all that are so named, joined with a comma. */
export function headerValues(headers: HeaderList, name: string): string {
  const values: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) if (headers[at] === name) values.push(headers[at + 1] ?? "");
  return values.join(",");
}

/** A proxy may have put segments of its own before the path that a dialect knows. `path`: without its query. */
export const dialectPath = (path: string): string => path.slice(Math.max(0, path.lastIndexOf("/v1/")));

export const pathOf = (headers: HeaderList): string => headerValue(headers, ":path").split("?", 1)[0] ?? "";

/** Those of the client by name, what stood twice joined with a comma. */
export function arrivalOf(headers: HeaderList): ProxiedArrival {
  const named = new Map<string, string>();
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at] ?? "";
    if (name.startsWith(":")) continue;
    const [value, before] = [headers[at + 1] ?? "", named.get(name)];
    named.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return { verb: headerValue(headers, ":method"), path: pathOf(headers), headers: Object.fromEntries(named) };
}
