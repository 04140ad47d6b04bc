/**
 * Recognizers of secrets with several parts: signed tokens, private keys, addresses with a password. They are searches
 * written as code where a regular expression would read the same characters once for each beginning. Source: guardrails
 * reference, 1.7.
 */

import type { Proof, SearchPattern, TextPattern } from "../../types.ts";
import { bitsPerCharacter, isPlaceholder, standsApart } from "./text.ts";

const URL_SAFE = /[A-Za-z0-9_-]/;
const MAX_HEADER_LENGTH = 4096;

export const JWT: SearchPattern = {
  kind: "search",
  name: "Jwt",
  score: 0.6,
  keywords: ["eyj", "ewo"],
  // Repeats have no upper bound. Bounds would exceed what any stream holds back, and the limit of RE2 for repeats.
  containingRegex: "[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]{2,}\\.[A-Za-z0-9_-]{10,}",
  search: (text, found) => {
    const run = /[A-Za-z0-9_-]{1,10000}/y;
    const part = (at: number): number => {
      run.lastIndex = at;
      return run.test(text) ? run.lastIndex : at;
    };
    const begin = /eyJ|ewo/g;
    for (let match = begin.exec(text); match !== null; match = begin.exec(text)) {
      const start = match.index;
      const header = part(start);
      // The search continues after this run of characters, since a token cannot begin within it.
      begin.lastIndex = header;
      if (!standsApart({ text, start, end: text.length }, URL_SAFE)) continue;
      if (
        header - start > MAX_HEADER_LENGTH ||
        text[header] !== "." ||
        !/^(?:eyJ|ewo)/.test(text.slice(header + 1, header + 4))
      )
        continue;
      const payload = part(header + 1);
      if (text[payload] !== ".") continue;
      const end = part(payload + 1);
      begin.lastIndex = end;
      if (end - payload - 1 >= 10) found(start, end, proofOf(text.slice(start, header)));
    }
  },
};

function proofOf(header: string): Proof {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(header, "base64url").toString("utf8"));
    return typeof parsed === "object" && parsed !== null && "alg" in parsed && typeof parsed.alg === "string";
  } catch {
    return false;
  }
}

/** Maximum length of a key, in characters. */
const MAX_KEY_LENGTH = 16_384;
const MIN_BODY_LENGTH = 64;
const KEY_HEAD = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
const KEY_FOOT = /-----END [A-Z0-9 ]{0,40}-----/y;

/** Pattern of private keys. It also matches a truncated key, since its beginning is just as secret. */
export const PRIVATE_KEY: SearchPattern = {
  kind: "search",
  name: "PrivateKey",
  score: 0.95,
  keywords: ["private key"],
  containingRegex: "-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.{64,}",
  search: (text, found) => {
    const head = new RegExp(KEY_HEAD);
    for (let match = head.exec(text); match !== null; match = head.exec(text)) {
      const from = head.lastIndex;
      const next = text.indexOf("-----", from);
      const foot = next < 0 ? text.length : next;
      const capped = Math.min(foot, from + MAX_KEY_LENGTH);
      const body = text.slice(from, capped);
      const letters = body.replace(/\\[nrt]|[^A-Za-z0-9+/=]/g, "");
      if (
        letters.length < MIN_BODY_LENGTH ||
        bitsPerCharacter(letters) < 3.5 ||
        isPlaceholder(letters.slice(0, MIN_BODY_LENGTH))
      )
        continue;
      KEY_FOOT.lastIndex = foot;
      const isWhole = capped === foot && KEY_FOOT.test(text);
      const end = isWhole ? KEY_FOOT.lastIndex : from + lengthOfCut(body);
      if (end - from < MIN_BODY_LENGTH) continue;
      found(match.index, end, undefined);
      head.lastIndex = end;
    }
  },
};

/** Returns the length of a key's lines if the end of the key is missing. */
function lengthOfCut(body: string): number {
  return /^(?:\\[nrt]|[A-Za-z0-9+/=]{16,}|[\s\\"',]{1,8})*/.exec(body)?.[0].length ?? 0;
}

const PUTTY_HEAD = /putty-user-key-file-[23]:/gi;
const PUTTY_LINES = /private-lines: {0,4}\d{1,3}\s{1,4}/gi;
const PUTTY_BODY = /[A-Za-z0-9+/=\s]{64,8000}/y;
/** Maximum distance from the header to the private lines; the comment and the public key are in between. */
const MAX_BEFORE_LINES = 3_000;

export const PUTTY_KEY: SearchPattern = {
  kind: "search",
  name: "PuttyKey",
  score: 0.95,
  keywords: ["putty-user-key-file-"],
  containingRegex: "PuTTY-User-Key-File-[23]:.{64,}",
  search: (text, found) => {
    const head = new RegExp(PUTTY_HEAD);
    const lines = new RegExp(PUTTY_LINES);
    const body = new RegExp(PUTTY_BODY);
    let line = lines.exec(text);
    for (let match = head.exec(text); match !== null && line !== null; match = head.exec(text)) {
      while (line !== null && line.index < match.index) line = lines.exec(text);
      if (line === null || line.index - match.index > MAX_BEFORE_LINES) continue;
      body.lastIndex = lines.lastIndex;
      if (!body.test(text)) continue;
      const end = match.index + text.slice(match.index, body.lastIndex).trimEnd().length;
      found(match.index, end, undefined);
      head.lastIndex = end;
    }
  },
};

const addressWith = (schemes: string): string =>
  `(?:${schemes})://[^\\s"'<>\`:/@?#]{0,128}:[^\\s"'<>\`@/]{1,256}@[^\\s"'<>\`@]{0,511}[A-Za-z0-9/=_\\]-]`;

/** Checks an address with a password, and rejects placeholders. */
function hasPassword(value: string): Proof {
  const [, user = "", password = ""] = /^[^:]{1,20}:\/\/([^:]{0,128}):([^@]{1,256})@/.exec(value) ?? [];
  return isPlaceholder(password) || (user === "user" && /^pass/.test(password)) || /^\{|^%7B/.test(password)
    ? false
    : undefined;
}

export const DATABASE_URL: TextPattern = {
  kind: "text",
  name: "DatabaseUrl",
  score: 0.85,
  regex: addressWith("postgres(?:ql)?|mysql|mariadb|mongodb(?:\\+srv)?|rediss?|amqps?|mssql|sqlserver|clickhouse"),
  keywords: ["://"],
  validate: hasPassword,
};

export const BASIC_AUTH_URL: TextPattern = {
  kind: "text",
  name: "BasicAuthUrl",
  score: 0.85,
  regex: addressWith("https?"),
  keywords: ["http://", "https://"],
  validate: hasPassword,
};
