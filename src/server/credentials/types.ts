/**
 * Credentials that the gateway presents upstream, and the port that turns them into headers of one request. Source:
 * specification document 3 (`credentials[]`); design decisions, section 13.
 */
import type { ContainsCredential } from "./credential-headers.ts";
import type { SigningKeys, SigningScope } from "./signing/sigv4.ts";

/** Outgoing request without its credential. */
export interface OutgoingRequest {
  readonly method: string;
  /** Path and query as on the wire, one character per byte. */
  readonly path: string;
  /** Value of the `host` header. */
  readonly host: string;
  /** Header names and values, alternating. */
  readonly headers: readonly string[];
  readonly body: Buffer | null;
}

/** Caller of the request, for credentials that depend on it. */
export interface RequestCaller {
  /** Name of the issuer of the caller's token; `undefined` if the caller has no token. */
  readonly issuer: string | undefined;
  /** Digest of issuer and subject. */
  readonly principal: string;
  /** Token by which the caller was recognized. */
  readonly token: string | undefined;
}

export type CredentialKind = "api_key" | "cloudsig" | "oauth" | "token_exchange";

interface CredentialBase {
  /** Name of the entry in `credentials`; empty for an inline key. */
  readonly name: string;
  /** Hex digest of the whole credential, secrets included. A value fetched with another digest is never presented for it. */
  readonly digest: string;
}

export interface StaticCredential extends CredentialBase {
  readonly kind: "api_key";
  /** Header names and values, alternating. */
  readonly headers: readonly string[];
  readonly containsCredential: ContainsCredential;
}

export interface SigningCredential extends CredentialBase {
  readonly kind: "cloudsig";
  readonly scope: SigningScope;
  /** Static keys; `undefined` if the platform provides the keys. */
  readonly keys: SigningKeys | undefined;
}

/** Client authentication at a token endpoint. */
export interface TokenClient {
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface ClientCredential extends CredentialBase, TokenClient {
  readonly kind: "oauth";
  readonly tokenUrl: string;
  readonly scopes: readonly string[];
}

export interface TokenExchangeCredential extends CredentialBase, TokenClient {
  readonly kind: "token_exchange";
  /** Name of an entry of the node file's `issuers`. */
  readonly issuer: string;
  readonly grant: "token_exchange" | "on_behalf_of";
  readonly audience: string | undefined;
  readonly resource: string | undefined;
  readonly scopes: readonly string[];
  readonly subjectTokenType: string;
}

export type Credential = StaticCredential | SigningCredential | ClientCredential | TokenExchangeCredential;

/** Credential of one attempt. */
export interface PresentedCredential {
  /** All headers of the request, including those of the credential. */
  readonly headers: readonly string[];
  /** Recognizes response headers that contain the credential. */
  readonly containsCredential: ContainsCredential;
  /** Checks whether an answer refuses the credential; `undefined` if every answer is final. */
  readonly judge: PresentedJudge | undefined;
}

/** Verdict on an answer. `again`: the credential was refused, and the next attempt presents another one. */
export type PresentedVerdict = "accept" | "again";

/** Decides whether an answer means that the credential was refused. */
export interface PresentedJudge {
  /**
   * Judges status and headers. Returns `read` if it needs the body. `isRepeat`: whether this was the repeated request, so that
   * `again` has no effect. `header`: returns the first value by lower-case name.
   */
  judgeHeaders(
    status: number,
    header: (name: string) => string | undefined,
    isRepeat: boolean,
  ): PresentedVerdict | "read";
  /** Judges the body after `judgeHeaders` returned `read`. */
  judgeBody(body: string): PresentedVerdict;
  /** Called when the request is sent again. */
  onRepeat(): void;
}

/** Result of checking a credential. `note`: the result cannot be determined. */
export interface CredentialCheck {
  readonly verdict: "ok" | "note" | "fail";
  readonly detail: string;
}

export interface Presenter {
  /**
   * Returns the headers to send, at once if nothing has to be fetched. Throws or rejects with `credential_unavailable`,
   * `token_exchange_refused` or `unauthenticated`. Ends within 30 s.
   */
  present(
    credential: Credential,
    request: OutgoingRequest,
    actingFor?: RequestCaller,
  ): PresentedCredential | Promise<PresentedCredential>;
  /** Checks whether there is something to present, and describes it without secrets, for `gateway check`. Never rejects. */
  check(credential: Credential, signal: AbortSignal): Promise<CredentialCheck>;
  /** Forgets everything that was fetched for other credentials. */
  keepOnly(credentials: Iterable<Credential>): void;
  close(): void;
}
