/**
 * Who calls the data plane, and how that is found out. Source: specification document 1 (Authentication, data plane),
 * document 3 (`auth`); design decisions, sections 1 and 2.
 */

/** One frozen object for each key and each token, shared by its requests. */
export interface Caller {
  readonly kind: "anonymous" | "key" | "agent" | "user";
  /** Undefined unless a virtual key was presented. */
  readonly key: CallerKey | undefined;
  /** A workload; of a user's token, the application that acts for the user (`client_id` or `azp`), where it names one. */
  readonly agent: CallerAgent | undefined;
  readonly user: CallerUser | undefined;
  /** Name of the token's issuer. */
  readonly issuer: string | undefined;
  /** Name of the profile; undefined: none, so that only the deployment's own rules hold. */
  readonly profile: string | undefined;
  /**
   * Who pays where a budget is not shared: the key's id, or a digest of issuer and subject. Bounded, printable, and
   * nothing that would let anybody call.
   */
  readonly principal: string;
  /** Undefined: everywhere. Else the one MCP server that the token was made for, by its name in `/mcp/<name>`. */
  readonly onlyServer: string | undefined;
}

export interface CallerKey {
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
  /** Empty where the token has none. */
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

/** `auth` of the deployment document, compiled. */
export interface AuthRules {
  /** Virtual keys are accepted. */
  readonly virtualKeys: boolean;
  readonly issuers: readonly IssuerBinding[];
  /** Without a slash at its end; undefined: tokens for a resource are not accepted. */
  readonly publicUrl: string | undefined;
}

/** `auth.issuers[]`. */
export interface IssuerBinding {
  /** Name of an entry of the node file's `issuers`. */
  readonly issuer: string;
  readonly audience: string;
  readonly subject: "agent" | "user";
  /** Where `profiles` selects nothing; undefined: none. */
  readonly profile: string | undefined;
  readonly profiles:
    | {
        readonly claim: string;
        readonly select: readonly { readonly value: string; readonly profile: string }[];
      }
    | undefined;
}

/** A virtual key as the cluster keeps it. */
export interface StoredKey {
  readonly id: string;
  readonly name: string;
  readonly profile: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** Hex SHA-256 of the secret part. */
  readonly digest: string;
  /** Milliseconds since 1970; null: never. */
  readonly expires_at: number | null;
}

/** The port to the replicated keys: local, and as new as this node's applied log. */
export interface KeyStore {
  /**
   * By its public id, from 4 to 32 characters. The same object as long as the key is unchanged, so that what is derived
   * from it can be kept by identity.
   */
  byId(id: string): StoredKey | undefined;
}

/** Why nobody was recognised: for records and metrics. What the caller is told does not depend on it. */
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
  /** `issuer`: by its configured name, where the token named one. */
  | {
      readonly kind: "refused";
      readonly fault: CallerFault;
      readonly issuer: string | undefined;
      /** The key that a well-formed text names: its public id, and its name where there is one of that id. */
      readonly key?: { readonly id: string; readonly name: string | undefined };
    };

/** What is looked at of a request. Values as node:http gives them; a header that came twice is malformed. */
export interface Presented {
  readonly authorization: string | undefined;
  readonly xApiKey: string | undefined;
  readonly apiKey: string | undefined;
  /** The token of a WebSocket subprotocol, looked at last. */
  readonly protocolToken: string | undefined;
}

/** Recognises callers. One for a node; it outlives configurations. */
export interface Callers {
  /**
   * By the first credential that is presented, in the order of `Presented`; one that is present and not recognised is
   * refused, whatever else is there. Answers at once for virtual keys and for tokens seen before, and never rejects but
   * when `signal` aborts. `servers`: names of the MCP server that the
   * request is for, if it is for one.
   */
  identify(
    presented: Presented,
    rules: AuthRules,
    servers: readonly string[] | undefined,
    signal: AbortSignal,
  ): Identification | Promise<Identification>;
  /** The key that the caller was recognised by is still accepted; true for whoever came by another credential. */
  isStill(caller: Caller): boolean;
  /** When this node last accepted a key, milliseconds since 1970, to the minute; undefined when it has not. */
  lastUsedAt(keyId: string): number | undefined;
  /** Another process of this node accepted the key then, in milliseconds since 1970. */
  usedAt(keyId: string, at: number): void;
}
