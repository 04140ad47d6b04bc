/**
 * Verifies the AWS Signature Version 4 of a request by computing it again from the raw request line, headers and body,
 * and refuses a request as the cloud does. Source: IAM User Guide, "Create a signed AWS API request" and "Troubleshoot
 * signed requests".
 */

import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

export interface SigningKey {
  readonly secret: string;
  /** Session token of temporary keys, which the request must then contain. */
  readonly sessionToken?: string;
}

export interface SignatureRules {
  /** Returns the key with an id, or `undefined` if there is none. */
  readonly keyOf: (id: string) => SigningKey | undefined;
  /** Required service and region; if omitted, any. */
  readonly service?: string;
  readonly region?: string;
  /** Returns the verifier's time in milliseconds since 1970. */
  readonly now?: () => number;
}

/** Error type in `x-amzn-errortype`. */
export interface SignatureFault {
  readonly type: string;
  readonly message: string;
}

const MAX_SKEW_MS = 5 * 60_000;
const FORM =
  /^AWS4-HMAC-SHA256 Credential=([^/,\s]+)\/(\d{8})\/([^/,\s]+)\/([^/,\s]+)\/aws4_request, ?SignedHeaders=([^,\s]+), ?Signature=([0-9a-f]{64})$/;
const MUST_SIGN = ["host", "x-amz-date"];

/** Returns the fault of a signature, or `undefined` if it is valid. */
export function signatureFault(
  request: IncomingMessage,
  body: Buffer,
  rules: SignatureRules,
): SignatureFault | undefined {
  const { headers, rawHeaders, method = "", url = "/" } = request;
  const form = FORM.exec(headers.authorization ?? "");
  if (form === null) {
    return { type: "MissingAuthenticationTokenException", message: "Missing Authentication Token" };
  }
  const [, id = "", day = "", region = "", service = "", names = "", claimed = ""] = form;
  const key = rules.keyOf(id);
  const token = headers["x-amz-security-token"];
  if (key === undefined || key.sessionToken !== (Array.isArray(token) ? token[0] : token)) {
    const message = "The security token included in the request is invalid.";
    return { type: "UnrecognizedClientException", message };
  }
  if ((rules.service ?? service) !== service || (rules.region ?? region) !== region) {
    return { type: "InvalidSignatureException", message: "Credential should be scoped to a valid region and service." };
  }
  const signedNames = names.split(";");
  const lower = rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
  const wanted = [...MUST_SIGN, ...new Set(lower.filter((name) => name.startsWith("x-amz-")))];
  if (wanted.some((name) => !signedNames.includes(name))) {
    return { type: "InvalidSignatureException", message: "'Host' and all 'x-amz-*' headers must be signed." };
  }
  const time = String(headers["x-amz-date"] ?? "");
  const skewMs = (rules.now ?? Date.now)() - timeOf(time);
  if (!(Math.abs(skewMs) <= MAX_SKEW_MS) || !time.startsWith(day)) {
    const how = skewMs > 0 ? "Signature expired" : "Signature not yet current";
    return { type: "InvalidSignatureException", message: `${how}: ${time} is too far from this server's time.` };
  }
  const hash = hex(body);
  if ((headers["x-amz-content-sha256"] ?? hash) !== hash) {
    return {
      type: "InvalidSignatureException",
      message: "The provided 'x-amz-content-sha256' is not that of the body.",
    };
  }
  const mark = url.indexOf("?");
  const canonical = [
    method,
    pathOf(mark < 0 ? url : url.slice(0, mark)),
    mark < 0 ? "" : queryOf(url.slice(mark + 1)),
    ...signedNames.map((name) => `${name}:${valuesOf(rawHeaders, name).map(squeezed).join(",")}`),
    "",
    names,
    hash,
  ].join("\n");
  const text = ["AWS4-HMAC-SHA256", time, `${day}/${region}/${service}/aws4_request`, hex(canonical)].join("\n");
  let derived: Buffer | string = `AWS4${key.secret}`;
  for (const part of [day, region, service, "aws4_request"])
    derived = createHmac("sha256", derived).update(part).digest();
  const made = createHmac("sha256", derived).update(text, "latin1").digest();
  return timingSafeEqual(made, Buffer.from(claimed, "hex"))
    ? undefined
    : {
        type: "InvalidSignatureException",
        message: "The request signature we calculated does not match the signature you provided.",
      };
}

function timeOf(text: string): number {
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text)?.slice(1).map(Number);
  if (parts === undefined) return Number.NaN;
  const [year = 0, month = 0, date, hours, minutes, seconds] = parts;
  return Date.UTC(year, month - 1, date, hours, minutes, seconds);
}

const hex = (data: string | Buffer): string =>
  createHash("sha256")
    .update(typeof data === "string" ? Buffer.from(data, "latin1") : data)
    .digest("hex");

/**
 * Normalizes a path: removes `.` and empty segments, resolves `..`, and percent-encodes every byte that is not
 * unreserved.
 */
function pathOf(path: string): string {
  const done: string[] = [];
  const parts = path.split("/");
  for (const part of parts) {
    if (part === "..") done.pop();
    else if (part !== "." && part !== "") done.push(plain(part));
  }
  const isFolder = ["", ".", ".."].includes(parts.at(-1) ?? "") && done.length > 0;
  return `/${done.join("/")}${isFolder ? "/" : ""}`;
}

function queryOf(query: string): string {
  const pairs = query.split("&").flatMap((pair) => {
    if (pair === "") return [];
    const [name = "", ...value] = pair.split("=");
    return [[plain(unescaped(name)), plain(unescaped(value.join("=")))] as const];
  });
  pairs.sort(([a, x], [b, y]) => (a === b ? (x < y ? -1 : 1) : a < b ? -1 : 1));
  return pairs.map((pair) => pair.join("=")).join("&");
}

/** Decodes a percent-encoded text to bytes, one character each. */
function unescaped(text: string): string {
  return text.replace(/%[0-9A-Fa-f]{2}/g, (code) => String.fromCharCode(Number(`0x${code.slice(1)}`)));
}

function plain(text: string): string {
  let made = "";
  for (const byte of Buffer.from(text, "latin1")) {
    const character = String.fromCharCode(byte);
    made += /[A-Za-z0-9._~-]/.test(character) ? character : `%${byte.toString(16).padStart(2, "0").toUpperCase()}`;
  }
  return made;
}

function valuesOf(rawHeaders: readonly string[], name: string): readonly string[] {
  return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name);
}

const squeezed = (value: string): string => value.trim().replace(/ +/g, " ");
