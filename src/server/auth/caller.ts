/**
 * Types of data-plane callers and their recognition. Source: specification document 1 (Authentication, data plane), document 3
 * (`auth`); design decisions, sections 1 and 2.
 */

/** Caller of a request. One frozen object per key and token, shared by its requests. */
export interface Caller {
  readonly kind: "anonymous" | "key" | "agent" | "user";
  /** Virtual key of the caller; `undefined` for other credentials. */
  readonly key: CallerKey | undefined;
  /**
   * Workload of an agent's token; for a user's token, the application that acts for the user (`client_id` or `azp`), if the token
   * names one.
   */
  readonly agent: CallerAgent | undefined;
  readonly user: CallerUser | undefined;
  /** Name of the token's issuer. */
  readonly issuer: string | undefined;
  /** Name of the profile; `undefined` if only the deployment's own rules apply. */
  readonly profile: string | undefined;
  /**
   * Identity that pays where a budget is not shared: the key's id, or a digest of issuer and subject. Bounded, printable, and
   * useless as a credential.
   */
  readonly principal: string;
  /** Name of the only MCP server (`/mcp/<name>`) that the token was issued for; `undefined` if it is valid everywhere. */
  readonly onlyServer: string | undefined;
}

interface CallerKey {
  readonly id: string;
  readonly name: string;
  readonly metadata: Readonly<Record<string, string>>;
}

export interface CallerAgent {
  readonly name: string;
  readonly issuer: string;
  readonly subject: string;
}

export interface CallerUser extends CallerAgent {
  /** Email address; empty if the token has none. */
  readonly email: string;
}

export const ANONYMOUS: Caller = Object.freeze({
  kind: "anonymous",
  key: undefined,
  agent: undefined,
  user: undefined,
  issuer: undefined,
  profile: undefined,
  principal: "anonymous",
  onlyServer: undefined,
});

/** Compiled `auth` section of the deployment document. */
export interface AuthRules {
  /** Whether virtual keys are accepted. */
  readonly virtualKeys: boolean;
  readonly issuers: readonly IssuerBinding[];
  /** Public URL without a trailing slash; `undefined` if tokens for a resource are not accepted. */
  readonly publicUrl: string | undefined;
}

/** Entry of `auth.issuers`. */
export interface IssuerBinding {
  /** Name of an entry of the node file's `issuers`. */
  readonly issuer: string;
  readonly audience: string;
  readonly subject: "agent" | "user";
  /** Profile if `profiles` selects none; `undefined` for no profile. */
  readonly profile: string | undefined;
  readonly profiles:
    | {
        readonly claim: string;
        readonly select: readonly { readonly value: string; readonly profile: string }[];
      }
    | undefined;
}

/** Virtual key as the cluster stores it. */
export interface StoredKey {
  readonly id: string;
  readonly name: string;
  readonly profile: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** Hex SHA-256 of the secret part. */
  readonly digest: string;
  /** Expiry in milliseconds since 1970; null if the key never expires. */
  readonly expires_at: number | null;
}

/** Read access to the replicated keys. It is local and as recent as this node's applied log. */
export interface KeyStore {
  /**
   * Returns the key with this public id of 4 to 32 characters. The object stays the same while the key is unchanged, so derived
   * data can be cached by identity.
   */
  findById(id: string): StoredKey | undefined;
}

/** Reason why a caller was not recognized, for records and metrics. The answer to the caller does not depend on it. */
export type CallerFault =
  | "no_credential"
  | "unknown_key"
  | "expired_key"
  | "keys_not_accepted"
  | "wrong_audience"
  | "malformed"
  | "algorithm"
  | "unknown_issuer"
  | "unknown_signing_key"
  | "signature"
  | "expired_token"
  | "not_yet_valid"
  | "no_expiry"
  | "no_subject"
  | "email_not_verified"
  | "issuer_unreachable"
  | "wrong_resource";

export type Identification =
  | { readonly kind: "caller"; readonly caller: Caller }
  /** Refusal. `issuer`: configured name, if the token named a known issuer. */
  | {
      readonly kind: "refused";
      readonly fault: CallerFault;
      readonly issuer: string | undefined;
      /** Public id in a well-formed key text, and the name of the key with that id, if there is one. */
      readonly key?: { readonly id: string; readonly name: string | undefined };
    };

/** Credentials in a request, with values as `node:http` delivers them. A repeated header is malformed. */
export interface PresentedCredentials {
  readonly authorization: string | undefined;
  readonly xApiKey: string | undefined;
  readonly apiKey: string | undefined;
  /** Token of a WebSocket subprotocol, used only if no header has a credential. */
  readonly protocolToken: string | undefined;
}

/** Recognizes callers. There is one per process; it outlives configurations. */
export interface Callers {
  /**
   * Recognizes the caller by the first credential present, in the order of `PresentedCredentials`. A credential that is present but not
   * recognized is refused, even if another one is valid. Answers at once for virtual keys and for tokens seen before, and rejects
   * only if `signal` aborts. `servers`: names of the MCP server that the request is for.
   */
  identify(
    presented: PresentedCredentials,
    rules: AuthRules,
    servers: readonly string[] | undefined,
    signal: AbortSignal,
  ): Identification | Promise<Identification>;
  /**
   * Identifies a caller whose connection presents the same key text again, without looking at the text. Returns `undefined`
   * if the key has changed, has expired or is gone: then `identify` decides.
   */
  recheck(caller: Caller, rules: AuthRules): Identification | undefined;
  /** Returns whether the caller's key is still accepted; always true for other credentials. */
  isUnchanged(caller: Caller): boolean;
  /** Returns when this node last accepted the key, in milliseconds since 1970 with minute precision, or `undefined`. */
  lastUsedAt(keyId: string): number | undefined;
  /** Records that another process of this node accepted the key at `at`, in milliseconds since 1970. */
  recordUse(keyId: string, at: number): void;
}
