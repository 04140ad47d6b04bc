/**
 * What the gateway presents upstream: one credential of the configuration, compiled, and the port that turns it into the
 * headers of one request. Source: specification document 3 (`credentials[]`); design decisions, section 13.
 */
import type { Bearing } from "./credential-headers.ts";
import type { SigningKeys, SigningScope } from "./sigv4.ts";

/** A request as its bytes go out, but for what is presented. */
export interface Outgoing {
  readonly method: string;
  /** Path and query at the origin, a character a byte, as they stand on the wire. */
  readonly path: string;
  /** Value of the `host` header. */
  readonly host: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body: Buffer | null;
}

/** Whom a request is made for, as far as what is presented depends on it. */
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
  /** Of the entry of `credentials`; empty for an inline key. */
  readonly name: string;
  /** Hex; of all that the credential says, secrets included: what was fetched by another one is never presented for it. */
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
  /** Undefined: those that the platform gives. */
  readonly keys: SigningKeys | undefined;
}

/** How the gateway says who it is at a token endpoint. */
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

/** What one attempt presents. */
export interface Presented {
  /** All headers of the request, with those that present the credential. */
  readonly headers: readonly string[];
  /** Tells the headers of an answer that show it. */
  readonly bears: Bearing;
  /** Undefined: whatever is answered is the answer. */
  readonly judge: PresentedJudge | undefined;
}

/** `again`: what was presented was refused, and something else is presented the next time. */
export type PresentedVerdict = "accept" | "again";

/** Decides over the answer to what was presented. */
export interface PresentedJudge {
  /** `read`: its body is needed. `isRepeat`: `again` is not followed any more. `header`: the first value, by lower-case name. */
  answered(status: number, header: (name: string) => string | undefined, isRepeat: boolean): PresentedVerdict | "read";
  /** The body, for an answer of which it was asked. */
  said(body: string): PresentedVerdict;
  /** The request is sent again. */
  repeated(): void;
}

/** `note`: it cannot be told. */
export interface Rehearsal {
  readonly verdict: "ok" | "note" | "fail";
  readonly words: string;
}

export interface Presenter {
  /**
   * At once where nothing has to be fetched. Throws, or rejects with, `credential_unavailable`, `token_exchange_refused` or
   * `unauthenticated`. Ends within 30 s.
   */
  present(credential: Credential, request: Outgoing, actingFor?: ActingFor): Presented | Promise<Presented>;
  /** Whether there is something to present, and what, in words that hold no secret: for `gateway check`. Never rejects. */
  rehearse(credential: Credential, signal: AbortSignal): Promise<Rehearsal>;
  /** Forgets what was fetched for others. */
  keepOnly(credentials: Iterable<Credential>): void;
  close(): void;
}
