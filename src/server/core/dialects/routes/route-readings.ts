/**
 * Checks that every server reads a path as the same route. The gateway compares paths as they were sent. An upstream may
 * decode them, merge slashes, drop the last slash or the parameters of a segment (RFC 3986 section 3.3), or ignore case. If it
 * then saw another route than the gateway, the request would bypass the guards of that route.
 */
import { isUtf8 } from "node:buffer";
import { findRoute } from "./routes.ts";

/** Characters that allow more than one reading of a path. */
const UNUSUAL = /[^a-z0-9/_-]|\/\/|\/$/;

/** Normalization steps; each one is applied to the result of the previous one. */
const STEPS: readonly ((path: string) => string)[] = [
  // A proxy that decodes the path may take the part after `?` or `#` for a query.
  (path) => path.replace(/[?#].*$/s, ""),
  (path) => path.normalize("NFKC"),
  mergeSlashes,
  (path) => mergeSlashes(path.replace(/;[^/]*/g, "")),
  (path) => mergeSlashes(path.replace(/[ .]+(?=\/|$)/g, "")),
  (path) => path.toLowerCase(),
  // Some frameworks accept the format of the answer as a suffix.
  (path) => path.replace(/\.[a-z]+$/, ""),
];

/**
 * Returns whether all servers read the path as the same route. `method` and `path` are those of `findRoute`. A path without a
 * route is not forwarded, so the result is true unless the path has something that no valid path has: dot segments,
 * backslashes, control characters, invalid escapes, or escapes of escapes.
 */
export function isReadAsOneRoute(method: string, path: string): boolean {
  if (!UNUSUAL.test(path)) return true;
  const plain = decoded(path);
  if (plain === undefined || hasDotSegment(plain) || hasDotSegment(plain.normalize("NFKC"))) return false;
  const route = findRoute(method, path);
  if (route === undefined) return true;
  let read = plain;
  return [(it: string) => it, ...STEPS].every((step) => {
    read = step(read);
    return findRoute(method, read) === route;
  });
}

/** Maximum number of times that the escapes of a path are decoded. */
const MAX_DECODED = 3;

/** Returns every path that a server may read from this one, itself first. Used by listeners that must let unusual paths pass. */
export function pathReadings(path: string): readonly string[] {
  const readings = new Set([path]);
  if (!UNUSUAL.test(path)) return [path];
  let read = path;
  for (let times = 0; times < MAX_DECODED && read.includes("%"); times++) {
    read = decodedOnce(read);
    readings.add(read);
  }
  read = withoutDotSegments(read.replaceAll("\\", "/"));
  readings.add(read);
  for (const step of STEPS) {
    read = step(read);
    readings.add(read);
  }
  return [...readings];
}

function decodedOnce(path: string): string {
  const bytes = Buffer.from(path, "utf8").toString("latin1");
  const plain = bytes.replace(/%([0-9a-f]{2})/gi, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
  return Buffer.from(plain, "latin1").toString("utf8");
}

/** Removes dot segments (RFC 3986, section 5.2.4). */
function withoutDotSegments(path: string): string {
  const kept: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "..") kept.pop();
    else if (segment !== ".") kept.push(segment);
  }
  return kept.join("/");
}

function mergeSlashes(path: string): string {
  return path.replace(/\/{2,}/g, "/").replace(/(?<=.)\/$/, "");
}

/** Decodes a path. Returns `undefined` if a second decoding, or another charset, would give a different result. */
function decoded(path: string): string | undefined {
  if (/%(?![0-9a-f]{2})/i.test(path)) return undefined;
  const bytes = Buffer.from(
    path.replace(/%([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16))),
    "latin1",
  );
  const text = bytes.toString("utf8");
  return isUtf8(bytes) && !/%[0-9a-f]{2}|[\\\p{Cc}]/iu.test(text) ? text : undefined;
}

/** Returns whether the path has a dot segment. Parameters or space may follow the dots. */
function hasDotSegment(path: string): boolean {
  return path.split("/").some((segment) => /^\s*\.{1,2}\s*(?:;|$)/.test(segment));
}
