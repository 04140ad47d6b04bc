/**
 * Stored sign-in and its file format. The version number increases when the meaning of a field changes; files with
 * another version are ignored.
 */

export type TokenKind = "id" | "access";

export interface SignIn {
  /** URL of the gateway, normalized by `parseGatewayUrl`. */
  readonly url: string;
  /** Name in the gateway's list of issuers. */
  readonly issuerName: string;
  readonly issuer: string;
  readonly clientId: string;
  /** Kind of token that is sent to the gateway. */
  readonly tokenKind: TokenKind;
  /** Resource that the access token is for (RFC 8707). Renewals request it again. */
  readonly resource: string | undefined;
  readonly token: string;
  /** Expiry in milliseconds since 1970; `undefined` if the provider did not state it. */
  readonly expiresAt: number | undefined;
  readonly refreshToken: string | undefined;
  /** Name of the signed-in person, for display. */
  readonly callerName: string;
}

type ParsedEntry =
  | { readonly kind: "sign-in"; readonly signIn: SignIn }
  | { readonly kind: "broken"; readonly reason: string };

const VERSION = 1;

export function formatEntry(signIn: SignIn): string {
  const { url, issuerName, issuer, clientId, tokenKind, resource, token, expiresAt, refreshToken, callerName } = signIn;
  const fields = {
    version: VERSION,
    url,
    issuer: { name: issuerName, url: issuer },
    client_id: clientId,
    token_kind: tokenKind,
    resource,
    token,
    expires_at_ms: expiresAt,
    refresh_token: refreshToken,
    who: callerName,
  };
  return `${JSON.stringify(fields, null, 2)}\n`;
}

export function parseEntry(text: string): ParsedEntry {
  let fields: unknown;
  try {
    fields = JSON.parse(text);
  } catch {
    return { kind: "broken", reason: "it is damaged" };
  }
  const version = field(fields, "version");
  if (version !== VERSION && Number.isSafeInteger(version)) {
    return { kind: "broken", reason: `it was written by another version of this program (format ${version})` };
  }
  const signIn = version === VERSION ? readFields(fields) : undefined;
  return signIn === undefined ? { kind: "broken", reason: "it is damaged" } : { kind: "sign-in", signIn };
}

function readFields(fields: unknown): SignIn | undefined {
  const issuerFields = field(fields, "issuer");
  const url = text(fields, "url");
  const issuerName = text(issuerFields, "name");
  const issuer = text(issuerFields, "url");
  const clientId = text(fields, "client_id");
  const tokenKind = field(fields, "token_kind");
  const token = text(fields, "token");
  const callerName = text(fields, "who");
  const expiresAt = field(fields, "expires_at_ms");
  const refreshToken = text(fields, "refresh_token");
  const resource = text(fields, "resource");
  if (url === undefined || issuerName === undefined || issuer === undefined || clientId === undefined) return undefined;
  if ((tokenKind !== "id" && tokenKind !== "access") || token === undefined || callerName === undefined)
    return undefined;
  if (!isBearerToken(token)) return undefined;
  if (expiresAt !== undefined && (typeof expiresAt !== "number" || !isTime(expiresAt))) return undefined;
  return { url, issuerName, issuer, clientId, tokenKind, resource, token, expiresAt, refreshToken, callerName };
}

/** Returns whether the text can be sent in a header without changing the request. */
export function isBearerToken(text: string): boolean {
  return /^[\x21-\x7e]{1,65536}$/.test(text);
}

/** Returns whether `Date` supports this time, in milliseconds since 1970 (ECMA-262, "Time values"). */
export function isTime(ms: number): boolean {
  return Number.isFinite(ms) && Math.abs(ms) <= 8.64e15;
}

export function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}

export function text(value: unknown, name: string): string | undefined {
  const found = field(value, name);
  return typeof found === "string" ? found : undefined;
}
