/**
 * AWS Signature Version 4: canonical request, string to sign, signature. Pure. Source: IAM User Guide, "Create a signed AWS API
 * request"; the published signature test suite.
 *
 * Texts are as on the wire, one character per byte.
 */
import { createHmac, hash } from "node:crypto";

export interface SigningKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Session token of temporary keys; `undefined` for static keys. */
  readonly sessionToken: string | undefined;
}

export interface SigningScope {
  readonly region: string;
  readonly service: string;
}

/** Header with a lower-case name. Repeated names keep the order of the wire. */
export type SignedHeader = readonly [name: string, value: string];

/** Headers that are signed. */
interface CanonicalHeaders {
  /** Names in order, joined with `;`. */
  readonly names: string;
  /** `name:value`, each with its end of line. */
  readonly lines: string;
}

interface ToSign {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: CanonicalHeaders;
  /** Hex SHA-256 of the body. */
  readonly payloadHash: string;
}

const ALGORITHM = "AWS4-HMAC-SHA256";

/** SHA-256 of an empty body. */
export const EMPTY_PAYLOAD_HASH = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/** Formats a time as `YYYYMMDDTHHMMSSZ`. `ms`: milliseconds since 1970. */
export function signingTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace(/[-:]/g, "")}Z`;
}

/** Percent-encodes every byte except unreserved ones and `/`. Text that is already encoded is encoded again. */
export function encodedPath(path: string): string {
  return path.replace(/[^A-Za-z0-9\-_.~/]/g, percent);
}

/** Returns the path without empty and `.` segments, with `..` resolved and one trailing slash kept. */
export function canonicalPath(path: string): string {
  if (!/\/[/.]|^[^/]|^$/.test(path)) return encodedPath(path);
  const kept: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "..") kept.pop();
    else if (segment !== "" && segment !== ".") kept.push(segment);
  }
  const end = kept.length > 0 && /\/\.{0,2}$/.test(path) ? "/" : "";
  return encodedPath(`/${kept.join("/")}${end}`);
}

export function canonicalQuery(query: string): string {
  if (query === "") return "";
  return query
    .split("&")
    .filter((pair) => pair !== "")
    .map((pair): readonly [string, string] => {
      const at = pair.indexOf("=");
      return at < 0 ? [recoded(pair), ""] : [recoded(pair.slice(0, at)), recoded(pair.slice(at + 1))];
    })
    .sort(([a, x], [b, y]) => compare(a, b) || compare(x, y))
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
}

/** Returns the canonical headers. Sorts `headers` in place. */
export function canonicalHeaders(headers: SignedHeader[]): CanonicalHeaders {
  headers.sort(([a], [b]) => compare(a, b));
  let names = "";
  let lines = "";
  let last = "";
  for (const [name, value] of headers) {
    // Values of a repeated header are joined in the order of the wire.
    if (name === last) {
      lines = `${lines.slice(0, -1)},${trimmed(value)}\n`;
      continue;
    }
    names += last === "" ? name : `;${name}`;
    lines += `${name}:${trimmed(value)}\n`;
    last = name;
  }
  return { names, lines };
}

/** Returns the canonical request. `path`: the canonical path, if it is known. */
export function canonicalRequest({ method, target, headers, payloadHash }: ToSign, path?: string): string {
  const mark = target.indexOf("?");
  const uri = path ?? canonicalPath(mark < 0 ? target : target.slice(0, mark));
  const query = mark < 0 ? "" : canonicalQuery(target.slice(mark + 1));
  return `${method}\n${uri}\n${query}\n${headers.lines}\n${headers.names}\n${payloadHash}`;
}

export function credentialScope(time: string, { region, service }: SigningScope): string {
  return `${time.slice(0, 8)}/${region}/${service}/aws4_request`;
}

export function stringToSign(canonical: string, time: string, scope: SigningScope): string {
  const digest = hash("sha256", Buffer.from(canonical, "latin1"), "hex");
  return `${ALGORITHM}\n${time}\n${credentialScope(time, scope)}\n${digest}`;
}

/** Derives the signing key, which is valid for one day. `date`: `YYYYMMDD`. */
export function derivedKey(secret: string, date: string, { region, service }: SigningScope): Buffer {
  return ["aws4_request", service, region, date]
    .reverse()
    .reduce<Buffer>((key, part) => hmac(key, part), Buffer.from(`AWS4${secret}`));
}

export function signature(key: Buffer, text: string): string {
  return createHmac("sha256", key).update(text, "latin1").digest("hex");
}

/** Returns the value of the `authorization` header. */
export function authorization(
  { accessKeyId }: Pick<SigningKeys, "accessKeyId">,
  scope: string,
  headers: string,
  signed: string,
): string {
  return `${ALGORITHM} Credential=${accessKeyId}/${scope}, SignedHeaders=${headers}, Signature=${signed}`;
}

export function payloadHash(body: Buffer | null): string {
  return body === null || body.length === 0 ? EMPTY_PAYLOAD_HASH : hash("sha256", body, "hex");
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function trimmed(value: string): string {
  return value.includes(" ") || value.includes("\t") ? value.trim().replace(/\s+/g, " ") : value;
}

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}

/** Decodes percent-encoded bytes once, then encodes everything, including `/`. */
function recoded(text: string): string {
  return text
    .replace(/%([0-9A-Fa-f]{2})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
    .replace(/[^A-Za-z0-9\-_.~]/g, percent);
}
