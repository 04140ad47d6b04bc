/**
 * Whether a path is one route however it is read. We compare paths as they were sent; a server behind us may decode them,
 * merge their slashes, drop the last one or the parameters of a segment (RFC 3986 section 3.3), or take no notice of
 * case. A path that is another route to it than to us would pass our guards under a false name.
 */
import { findRoute } from "./routes.ts";

/** Without any of these there is one way to read a path. */
const UNUSUAL = /[%;A-Z]|\/\/|\/$/;

/** One after the other, each of what the one before has left. */
const STEPS: readonly ((path: string) => string)[] = [
  decoded,
  (path) => path.replace(/\/{2,}/g, "/").replace(/(?<=.)\/$/, ""),
  (path) =>
    path
      .replace(/;[^/]*/g, "")
      .replace(/\/{2,}/g, "/")
      .replace(/(?<=.)\/$/, ""),
  (path) => path.toLowerCase(),
  decoded, // a proxy may have decoded once already
];

/** `method` and `path` as `findRoute` takes them. True of a path without a route, which goes nowhere. */
export function isReadAlike(method: string, path: string): boolean {
  if (!UNUSUAL.test(path)) return true;
  const route = findRoute(method, path);
  if (route === undefined) return true;
  let read = path;
  return STEPS.every((step) => {
    read = step(read);
    return findRoute(method, read) === route;
  });
}

/** Byte by byte: what is no UTF-8 must not end the comparison. */
function decoded(path: string): string {
  return path.replace(/%([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}
