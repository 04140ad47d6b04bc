/**
 * Credentials that the gateway presents upstream, and the port that turns them into headers of one request. Source:
 * specification document 3 (`credentials[]`); design decisions, section 13.
 */
import type { Bearing } from "./credential-headers.ts";
import type { SigningKeys, SigningScope } from "./signing/sigv4.ts";

/** A request as its bytes go out, but for what is presented. */
export interface Outgoing {
  readonly method: string;
  /** Path and query as on the wire, one character per byte. */
  readonly path: string;
  /** Value of the `host` header. */
  readonly host: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body: Buffer | null;
}

/** Caller of the request, for credentials that depend on it. */
export interface ActingFor {
  /** Name of the issuer of the caller's token; undefined: the caller has none. */
  readonly issuer: string | undefined;
  /** A digest of issuer and subject. */
  readonly principal: string;
  /** The token that the caller was recognised by. */
  readonly token: string | undefined;
}

export type CredentialKind = "api_key" | "cloudsig" | "oauth" | "token_exchange";

interface Common {
  /** Name of the entry in `credentials`; empty for an inline key. */
  readonly name: string;
  /** Hex digest of the whole credential, secrets included. A value fetched with another digest is never presented for it. */
  readonly digest: string;
}

export interface StaticCredential extends Common {
  readonly kind: "api_key";
  /** Header pairs. */
  readonly headers: readonly string[];
  readonly bears: Bearing;
}

export interface SigningCredential extends Common {
  readonly kind: "cloudsig";
  readonly scope: SigningScope;
  /** `undefined` for keys that the platform provides. */
  readonly keys: SigningKeys | undefined;
}

/** Client authentication at a token endpoint. */
export interface TokenClient {
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface ClientCredential extends Common, TokenClient {
  readonly kind: "oauth";
  readonly tokenUrl: string;
  readonly scopes: readonly string[];
}

export interface ExchangingCredential extends Common, TokenClient {
  readonly kind: "token_exchange";
  /** Name of an entry of the node file's `issuers`. */
  readonly issuer: string;
  readonly grant: "token_exchange" | "on_behalf_of";
  readonly audience: string | undefined;
  readonly resource: string | undefined;
  readonly scopes: readonly string[];
  readonly subjectTokenType: string;
}

export type Credential = StaticCredential | SigningCredential | ClientCredential | ExchangingCredential;

/** Credential of one attempt. */
export interface Presented {
  /** All headers of the request, including those of the credential. */
  readonly headers: readonly string[];
  /** Recognizes response headers that contain the credential. */
  readonly bears: Bearing;
  /** `undefined` if every answer is final. */
  readonly judge: PresentedJudge | undefined;
}

/** `again`: the credential was refused, and the next attempt presents another one. */
export type PresentedVerdict = "accept" | "again";

/** Decides over the answer to what was presented. */
export interface PresentedJudge {
  /**
   * Returns `read` if it needs the body. `isRepeat`: `again` has no effect any more. `header`: first value by lower-case name.
   */
  answered(status: number, header: (name: string) => string | undefined, isRepeat: boolean): PresentedVerdict | "read";
  /** The body, for an answer of which it was asked. */
  said(body: string): PresentedVerdict;
  /** The request is sent again. */
  repeated(): void;
}

/** `note`: the result cannot be determined. */
export interface Rehearsal {
  readonly verdict: "ok" | "note" | "fail";
  readonly words: string;
}

export interface Presenter {
  /**
   * Returns at once if nothing has to be fetched. Throws or rejects with `credential_unavailable`, `token_exchange_refused` or
   * `unauthenticated`. Ends within 30 s.
   */
  present(credential: Credential, request: Outgoing, actingFor?: ActingFor): Presented | Promise<Presented>;
  /** Checks whether there is something to present, and describes it without secrets, for `gateway check`. Never rejects. */
  rehearse(credential: Credential, signal: AbortSignal): Promise<Rehearsal>;
  /** Forgets what was fetched for others. */
  keepOnly(credentials: Iterable<Credential>): void;
  close(): void;
}
