/**
 * Presents signatures with static or platform keys, follows the verifier's clock, and classifies refusals. Source: credentials
 * reference, 1.4 and 1.6; design decisions, section 13.
 */
import type { Clock } from "../../../base/index.ts";
import { type Bearing, bearing } from "../credential-headers.ts";
import type { CredentialMetrics } from "../metrics.ts";
import type { Renewed } from "../tokens/renewed-value.ts";
import type { Outgoing, Presented, PresentedJudge, PresentedVerdict, SigningCredential } from "../types.ts";
import type { ClockOffsets } from "./clock-offsets.ts";
import type { PlatformKeys } from "./platform-keys.ts";
import { createSigner, hashOf } from "./signing.ts";
import type { SigningKeys } from "./sigv4.ts";

interface SigningPorts {
  /** Keys that the platform provides; `undefined` for static keys. */
  readonly platform: Renewed<PlatformKeys> | undefined;
  readonly offsets: ClockOffsets;
  readonly clock: Clock;
  readonly metrics: Pick<CredentialMetrics, "repeated">;
}

export type PresentSigned = (request: Outgoing) => Presented | Promise<Presented>;

export function signedPresenter(credential: SigningCredential, ports: SigningPorts): PresentSigned {
  const { platform, offsets, clock, metrics } = ports;
  const signer = createSigner(credential.scope);
  let bears: { readonly keys: SigningKeys; readonly tells: Bearing } | undefined;

  const present = (request: Outgoing, keys: SigningKeys, payloadHash: string): Presented => {
    const offsetMs = offsets.of(request.host);
    const headers = signer.sign(request, keys, clock.now() + offsetMs, payloadHash);
    if (bears?.keys !== keys) bears = { keys, tells: bearingOf(keys) };
    const judge = judgeOf({
      skewed: (date) => offsets.refused(request.host, offsetMs, date),
      timely: () => offsets.accepted(request.host),
      expired: () => platform?.drop(keys as PlatformKeys) === true,
      repeated: (reason) => metrics.repeated(credential.name, reason),
    });
    return { headers, bears: bears.tells, judge };
  };

  return (request) => {
    const keys = platform === undefined ? credential.keys : platform.current();
    if (keys === undefined) throw new Error("a credential without keys uses the platform's keys");
    const hash = hashOf(request.body);
    if (!(keys instanceof Promise) && typeof hash === "string") return present(request, keys, hash);
    return Promise.all([keys, hash]).then(([its, payloadHash]) => present(request, its, payloadHash));
  };
}

function bearingOf({ secretAccessKey, sessionToken }: SigningKeys): Bearing {
  const ofSecret = bearing(secretAccessKey);
  const ofToken = sessionToken === undefined ? undefined : bearing(sessionToken);
  return (name, value) => name === "x-amz-security-token" || ofSecret(name, value) || ofToken?.(name, value) === true;
}

/** Error types that the cloud answers when the time of a request may be the cause. */
const OF_TIME: ReadonlySet<string> = new Set([
  "AccessDeniedException",
  "AuthFailure",
  "InvalidSignatureException",
  "RequestExpired",
  "RequestInTheFuture",
  "RequestTimeTooSkewed",
  "SignatureDoesNotMatch",
]);

/** Error types that the cloud answers when the keys may have expired. */
const OF_KEYS: ReadonlySet<string> = new Set([
  "ExpiredToken",
  "ExpiredTokenException",
  "InvalidClientTokenId",
  "UnrecognizedClientException",
]);

const OF_TIME_IN_WORDS = /signature expired|signature not yet current/i;
const OF_KEYS_IN_WORDS = /security token included in the request is (?:expired|invalid)/i;

interface Refusals {
  skewed(date: string | undefined): boolean;
  timely(): void;
  expired(): boolean;
  repeated(reason: "clock" | "keys"): void;
}

function judgeOf({ skewed, timely, expired, repeated }: Refusals): PresentedJudge {
  let date: string | undefined;
  let reason: "clock" | "keys" = "clock";
  const verdictOn = (codes: readonly string[], words: string): PresentedVerdict => {
    if (codes.some((code) => OF_KEYS.has(code)) || OF_KEYS_IN_WORDS.test(words)) {
      reason = "keys";
      return expired() ? "again" : "accept";
    }
    if (!codes.some((code) => OF_TIME.has(code)) && !OF_TIME_IN_WORDS.test(words)) return "accept";
    return skewed(date) ? "again" : "accept";
  };
  return {
    answered(status, header) {
      if (status !== 400 && status !== 401 && status !== 403) {
        timely();
        return "accept";
      }
      // A cached answer carries the time at which it was stored, so its date is not used.
      date = header("age") === undefined ? header("date") : undefined;
      const type = header("x-amzn-errortype");
      if (type !== undefined) return verdictOn([nameIn(type)], "");
      const isPlain = (header("content-encoding") ?? "identity").toLowerCase() === "identity";
      return status === 403 && isPlain ? "read" : "accept";
    },
    bodyRead: (body) => {
      const { codes, words } = errorIn(body);
      return verdictOn(codes, words);
    },
    repeated: () => repeated(reason),
  };
}

/** Returns the name in an error type such as `com.amazon#InvalidSignatureException:http://…`. */
function nameIn(type: string): string {
  return (
    type
      .slice(type.indexOf("#") + 1)
      .split(":")[0]
      ?.trim() ?? ""
  );
}

function errorIn(body: string): { readonly codes: readonly string[]; readonly words: string } {
  try {
    const parsed = JSON.parse(body) as Readonly<Record<string, unknown>> | null;
    const inner = (typeof parsed?.["error"] === "object" ? parsed["error"] : undefined) as typeof parsed | undefined;
    const texts = (names: readonly string[]): readonly string[] =>
      [parsed, inner].flatMap((from) => names.map((name) => from?.[name])).filter((it) => typeof it === "string");
    return {
      codes: texts(["__type", "code", "Code", "type"]).map(nameIn),
      words: texts(["message", "Message"]).join(" "),
    };
  } catch {
    return { codes: [], words: "" };
  }
}
