/**
 * Recognizers of EMAIL_ADDRESS and URL, which search outwards from `@`, `://` and dots. Source: guardrails reference,
 * 1.2.
 */

import type { Proof, Recognizer } from "../types.ts";
import { isTopLevel, isTopLevelOfFiles } from "./top-level-domains.ts";

type Found = (start: number, end: number, proof: Proof) => void;

const MAX_LOCAL_LENGTH = 64;
const MAX_HOST_LENGTH = 253;
const MAX_LABEL_LENGTH = 63;
const MAX_URL_LENGTH = 2048;

const LOCAL = units("0-9 A-Z a-z", "!#$%&'*+/=?^_`{|}~.-");
const HOST = units("0-9 A-Z a-z", ".-");

/** Returns a set of ASCII characters. */
function units(ranges: string, others: string): Uint8Array {
  const set = new Uint8Array(0x80);
  for (const range of ranges.split(" ")) {
    for (let unit = range.charCodeAt(0); unit <= range.charCodeAt(2); unit++) set[unit] = 1;
  }
  for (const other of others) set[other.charCodeAt(0)] = 1;
  return set;
}

const isIn = (set: Uint8Array, unit: number): boolean => unit < 0x80 && set[unit] === 1;

/** Returns the end of the host name that begins at `start`, without a trailing dot or hyphen; `start` if there is none. */
function hostEnd(text: string, start: number): number {
  let end = start;
  while (end < text.length && end - start <= MAX_HOST_LENGTH && isIn(HOST, text.charCodeAt(end))) end += 1;
  if (end - start > MAX_HOST_LENGTH) return start;
  while (end > start && /[.-]/.test(text[end - 1]!)) end -= 1;
  return end;
}

/** Returns the labels in lower case; `undefined` if one is invalid. */
function labelsOf(host: string): readonly string[] | undefined {
  const labels = host.toLowerCase().split(".");
  const isHost = labels.every(
    (label) => label.length <= MAX_LABEL_LENGTH && /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(label),
  );
  return isHost ? labels : undefined;
}

function searchEmails(text: string, found: Found): void {
  let from = 0;
  for (let at = text.indexOf("@"); at >= 0; at = text.indexOf("@", at + 1)) {
    const most = Math.max(from, at - MAX_LOCAL_LENGTH);
    let start = at;
    while (start > most && isIn(LOCAL, text.charCodeAt(start - 1))) start -= 1;
    const isCut = start > from && isIn(LOCAL, text.charCodeAt(start - 1));
    // An address may contain dots, but not begin with one; quotes and similar characters before it are excluded, although they
    // are valid in one.
    while (start < at && /[.'`{|/=*&?!#%^$~}-]/.test(text[start]!)) start += 1;
    const local = text.slice(start, at);
    if (local === "" || isCut || local.endsWith(".") || local.includes("..")) continue;
    const end = hostEnd(text, at + 1);
    const labels = labelsOf(text.slice(at + 1, end));
    const last = labels?.at(-1) ?? "";
    if (labels === undefined || labels.length < 2 || !/^(?:[a-z]{2,}|xn--[a-z0-9-]+)$/.test(last)) continue;
    if (isRepository(text, start, end)) continue;
    found(start, end, isTopLevel(last) || undefined);
    from = end;
  }
}

/**
 * Returns whether it is `git@host:path` or `ssh://git@host/path`, which names a repository and no person. If it were
 * rewritten, no tool could fetch from it.
 */
function isRepository(text: string, start: number, end: number): boolean {
  const isGit = text.startsWith("git@", start);
  return isGit && (text[end] === ":" || text.startsWith("//", start - 2));
}

function pathEnd(text: string, start: number, most: number): number {
  let end = start;
  while (end < text.length && end < most && /[^\s<>"'`\\^{|}\u0080-\uffff]/.test(text[end]!)) end += 1;
  while (end > start && /[.,;:!?)\]*]/.test(text[end - 1]!)) end -= 1;
  return end;
}

function searchUrls(text: string, found: Found): void {
  for (let at = text.indexOf("://"); at >= 0; at = text.indexOf("://", at + 3)) {
    const scheme = /(?<![A-Za-z0-9])https?$/i.exec(text.slice(Math.max(0, at - 6), at))?.[0];
    if (scheme === undefined) continue;
    const start = at - scheme.length;
    const host = hostEnd(text, at + 3);
    const labels = labelsOf(text.slice(at + 3, host));
    if (labels === undefined || host === at + 3) continue;
    const isAddress = /^\d{1,3}(?:\.\d{1,3}){3}$/.test(labels.join("."));
    if (!isAddress && labels.at(-1) !== "localhost" && !isTopLevel(labels.at(-1) ?? "")) continue;
    const end = /[/?#:]/.test(text[host] ?? "") ? pathEnd(text, host, start + MAX_URL_LENGTH) : host;
    found(start, end, undefined);
    at = Math.max(at, end - 3);
  }
}

/** Finds hosts without a scheme. Text next to an `@`, a slash or a word is not a host by itself. */
function searchHosts(text: string, found: Found): void {
  let from = 0;
  for (let dot = text.indexOf("."); dot >= 0; dot = text.indexOf(".", Math.max(from, dot + 1))) {
    if (!/[A-Za-z0-9]/.test(text[dot + 1] ?? "")) continue;
    const most = Math.max(from, dot - MAX_LABEL_LENGTH - 1);
    let start = dot;
    while (start > most && isIn(HOST, text.charCodeAt(start - 1))) start -= 1;
    const end = hostEnd(text, start);
    from = Math.max(end, dot + 1);
    const before = text[start - 1] ?? "";
    const after = text[end] ?? "";
    if (end <= dot || /[\w@/\\:.=$%#&-]/.test(before) || /[@(\w[]/.test(after)) continue;
    const labels = labelsOf(text.slice(start, end));
    const last = labels?.at(-1) ?? "";
    if (labels === undefined || labels.length < 2 || !isTopLevel(last)) continue;
    // `end.It was`, `readme.md` and `user.id` are a sentence, a file and code.
    if (/[a-z]\.[A-Z][a-z]/.test(text.slice(start, end))) continue;
    if (labels.length === 2 && isTopLevelOfFiles(last) && after !== "/") continue;
    if (!labels.slice(0, -1).some((label) => /[a-z]/.test(label))) continue;
    const whole = after === "/" ? pathEnd(text, end, start + MAX_URL_LENGTH) : end;
    found(start, whole, undefined);
    from = Math.max(from, whole);
  }
}

const AFTER_DOT = [..."abcdefghijklmnopqrstuvwxyz"].map((letter) => `.${letter}`);

export const EMAILS: Recognizer = {
  name: "EmailRecognizer",
  entity: "EMAIL_ADDRESS",
  category: "pii",
  patterns: [
    {
      kind: "search",
      name: "email",
      score: 0.5,
      keywords: ["@"],
      containingRegex: "[a-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[a-z0-9.-]{1,253}",
      search: searchEmails,
    },
  ],
  context: ["email"],
};

export const URLS: Recognizer = {
  name: "UrlRecognizer",
  entity: "URL",
  category: "pii",
  patterns: [
    {
      kind: "search",
      name: "url",
      score: 0.6,
      keywords: ["://"],
      containingRegex: "https?://[!-~]{1,1000}[!-~]{0,1000}[!-~]{0,48}",
      search: searchUrls,
    },
    {
      kind: "search",
      name: "host",
      score: 0.5,
      keywords: AFTER_DOT,
      containingRegex: "[a-z0-9-][!-~]{1,1000}[!-~]{0,1000}[!-~]{0,47}",
      search: searchHosts,
    },
  ],
  context: ["url", "website", "link"],
};
