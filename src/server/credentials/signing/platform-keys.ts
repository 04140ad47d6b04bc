/**
 * Gets the keys that the platform provides to this process: environment, shared files, web identity, container, instance
 * metadata. Source: credentials reference, 1.6; design decisions, section 13.
 *
 * The provider chain is a library's, loaded on first use; caching and timing are ours. Version 1 of the metadata service is
 * turned off, because everyone who can make the gateway send a request could use it.
 */

import { type FetchShared, GatewayError } from "../../../base/index.ts";
import { openHttpsProxyAgent, readForwardProxies } from "../../forward-proxy/index.ts";
import type { FetchedValue } from "../tokens/renewed-value.ts";
import { usableMs } from "../usable-lifetime.ts";
import type { SigningKeys } from "./sigv4.ts";

/** Timeout of the whole chain, in milliseconds. The container's answer alone can take seven seconds with its retries. */
const CHAIN_LIMIT_MS = 12_000;

/** Timeout of the token service for web identities, in milliseconds. */
const ANSWER_LIMIT_MS = 5_000;

/** Time to cache keys without an expiry, in milliseconds. A rewritten file is then read again. */
const NO_EXPIRY_SHARED_MS = 60_000;
/** Time to share a failure with the other processes, in milliseconds, so that not each of them tries every source of keys. */
const FAILED_SHARED_MS = 1_000;

const MAX_STEPS = 16;
const MAX_STEP_LENGTH = 200;

export interface PlatformKeys extends SigningKeys {
  /** Description of where the keys came from. */
  readonly source: string;
}

/**
 * Error if no provider of the chain has keys. `cause` contains the answer of each provider, for the log. The message contains no
 * path, host, role or key.
 */
export class ChainFailure extends GatewayError {
  readonly reason: string;
  /** Whether another process of the node received this failure and has logged it. */
  readonly isFromOtherProcess: boolean;
  constructor(name: string, reason: string, isFromOtherProcess: boolean) {
    super("credential_unavailable", `The credential ${name} is not available: the platform returned no keys.`);
    this.reason = reason;
    this.isFromOtherProcess = isFromOtherProcess;
  }
}

interface ChainOptions {
  /** Name of the entry in `credentials`. */
  readonly name: string;
  /** Region of the signed requests. The token service is called there, unless the environment sets another. */
  readonly region: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Returns the current time, in milliseconds since 1970. */
  readonly now: () => number;
  readonly fetchShared: FetchShared;
}

type Outcome =
  | { readonly kind: "keys"; readonly keys: PlatformKeys; readonly expiresAt: number | undefined }
  | { readonly kind: "failed"; readonly reason: string };

/** Returns a function that gets keys from the provider chain. It rejects with `ChainFailure`. */
export function platformChain({
  name,
  region,
  env,
  now,
  fetchShared,
}: ChainOptions): () => Promise<FetchedValue<PlatformKeys>> {
  let chain: Promise<(options: { readonly forceRefresh: true }) => Promise<ChainKeys>> | undefined;
  const steps: string[] = [];
  const step = (...parts: readonly unknown[]): void => {
    const text = parts.filter((one): one is string => typeof one === "string").join(" ");
    if (steps.length < MAX_STEPS && text !== "") steps.push(shortened(text));
  };
  const logger = { trace: () => undefined, debug: step, info: step, warn: step, error: step };

  async function load() {
    const { defaultProvider } = await import("@aws-sdk/credential-provider-node");
    const clientConfig = {
      region: env["AWS_REGION"] ?? env["AWS_DEFAULT_REGION"] ?? region,
      requestHandler: {
        connectionTimeout: ANSWER_LIMIT_MS,
        requestTimeout: ANSWER_LIMIT_MS,
        // Only token services use TLS. Metadata endpoints of a machine or container are local and use plain HTTP.
        httpsAgent: openHttpsProxyAgent(readForwardProxies(env).proxies, ANSWER_LIMIT_MS),
      },
    };
    // `ignoreCache` makes the chain read a rotated file again.
    return defaultProvider({ logger, clientConfig, ec2MetadataV1Disabled: true, ignoreCache: true });
  }

  const askChain = async (): Promise<Outcome> => {
    steps.length = 0;
    chain ??= load();
    try {
      const keys = await withinLimit((await chain)({ forceRefresh: true }));
      const until = keys.expiration?.getTime();
      if (until !== undefined && !(until > now())) throw new Error("its keys have already expired");
      return { kind: "keys", keys: keysOf(keys), expiresAt: until };
    } catch (error) {
      // The chain waits for its one pending call. If that hangs, every later caller would hang too, so a new chain is created.
      chain = undefined;
      return { kind: "failed", reason: reasonOf(error, steps) };
    }
  };

  const key = JSON.stringify(["platform keys", name, region]);
  let number = 0;
  return async () => {
    const { value, ageMs, isOwn, ...shared } = await fetchShared<Outcome>(key, number, async () => {
      const outcome = await askChain();
      if (outcome.kind === "failed") return { value: outcome, keepMs: FAILED_SHARED_MS };
      return {
        value: outcome,
        keepMs: outcome.expiresAt === undefined ? NO_EXPIRY_SHARED_MS : usableMs(outcome.expiresAt - now()),
      };
    });
    number = shared.number;
    if (value.kind === "failed") throw new ChainFailure(name, value.reason, !isOwn);
    const lifeMs = value.expiresAt === undefined ? Number.POSITIVE_INFINITY : value.expiresAt - now() + ageMs;
    return { value: value.keys, lifeMs, ageMs, isOwn };
  };
}

interface ChainKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly expiration?: Date;
  readonly $source?: Readonly<Record<string, unknown>>;
}

/** Characters that are valid in a header; with others, the HTTP client would refuse each request. */
const KEY_ID = /^[\w/+=.-]{1,256}$/;
const VISIBLE = /^[!-~]+$/;

function keysOf({ accessKeyId, secretAccessKey, sessionToken, $source = {} }: ChainKeys): PlatformKeys {
  if (!KEY_ID.test(accessKeyId)) throw new Error("its access key id is not valid");
  if (sessionToken !== undefined && !VISIBLE.test(sessionToken)) throw new Error("its token is not valid");
  return Object.freeze({ accessKeyId, secretAccessKey, sessionToken, source: sourceIn($source) });
}

const SOURCES: readonly (readonly [RegExp, string])[] = [
  [/WEB_ID_TOKEN/, "web identity"],
  [/SSO|LOGIN/, "a sign-in profile of the shared files"],
  [/PROCESS/, "a process of the shared files"],
  [/PROFILE|STS/, "the shared files"],
  [/ENV_VARS/, "the environment"],
  [/HTTP/, "the container endpoint"],
];

function sourceIn(source: Readonly<Record<string, unknown>>): string {
  const names = Object.keys(source).join(" ");
  return SOURCES.find(([pattern]) => pattern.test(names))?.[1] ?? "the metadata service";
}

async function withinLimit<Value>(promise: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no keys within ${CHAIN_LIMIT_MS / 1_000} s`)), CHAIN_LIMIT_MS);
  });
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clearTimeout(timer);
  }
}

function reasonOf(error: unknown, steps: readonly string[]): string {
  const last = shortened(error instanceof Error ? error.message : "it failed");
  return [...steps.filter((text) => !text.includes(last)), last].join("; ");
}

/** Removes queries and everything that may be a key: the library's messages name addresses and may quote an answer. */
function shortened(text: string): string {
  return text
    .replace(/@aws-sdk\/credential-provider-node - /g, "")
    .replace(/\?[^\s"')]*/g, "?…")
    .replace(/[A-Za-z0-9+/_=-]{32,}/g, "…")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, MAX_STEP_LENGTH);
}
