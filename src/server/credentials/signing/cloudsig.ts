/**
 * Presents signatures with static or platform keys, follows the verifier's clock, and classifies refusals. Source: credentials
 * reference, 1.4 and 1.6; design decisions, section 13.
 */
import type { Clock } from "../../../base/index.ts";
import { type ContainsCredential, createCredentialCheck } from "../credential-headers.ts";
import type { CredentialMetrics } from "../metrics.ts";
import type { RenewedValue } from "../tokens/renewed-value.ts";
import type {
  OutgoingRequest,
  PresentedCredential,
  PresentedJudge,
  PresentedVerdict,
  SigningCredential,
} from "../types.ts";
import type { ClockOffsets } from "./clock-offsets.ts";
import type { PlatformKeys } from "./platform-keys.ts";
import { createSigner, payloadHashOf } from "./signing.ts";
import type { SigningKeys } from "./sigv4.ts";

interface SigningPorts {
  /** Keys that the platform provides; `undefined` for static keys. */
  readonly platform: RenewedValue<PlatformKeys> | undefined;
  readonly offsets: ClockOffsets;
  readonly clock: Clock;
  readonly metrics: Pick<CredentialMetrics, "countRepeat">;
}

export type PresentSigned = (request: OutgoingRequest) => PresentedCredential | Promise<PresentedCredential>;

export function signedPresenter(credential: SigningCredential, ports: SigningPorts): PresentSigned {
  const { platform, offsets, clock, metrics } = ports;
  const signer = createSigner(credential.scope);
  let check: { readonly keys: SigningKeys; readonly containsCredential: ContainsCredential } | undefined;

  const present = (request: OutgoingRequest, keys: SigningKeys, payloadHash: string): PresentedCredential => {
    const offsetMs = offsets.offsetMs(request.host);
    const headers = signer.sign(request, keys, clock.now() + offsetMs, payloadHash);
    if (check?.keys !== keys) check = { keys, containsCredential: createKeysCheck(keys) };
    const judge = createJudge({
      onClockRefused: (date) => offsets.adjustAfterRefusal(request.host, offsetMs, date),
      onClockAccepted: () => offsets.confirm(request.host),
      onKeysRefused: () => platform?.drop(keys as PlatformKeys) === true,
      onRepeat: (reason) => metrics.countRepeat(credential.name, reason),
    });
    return { headers, containsCredential: check.containsCredential, judge };
  };

  return (request) => {
    const keys = platform === undefined ? credential.keys : platform.current();
    if (keys === undefined) throw new Error("a credential without keys uses the platform's keys");
    const hash = payloadHashOf(request.body);
    if (!(keys instanceof Promise) && typeof hash === "string") return present(request, keys, hash);
    return Promise.all([keys, hash]).then(([its, payloadHash]) => present(request, its, payloadHash));
  };
}

function createKeysCheck({ secretAccessKey, sessionToken }: SigningKeys): ContainsCredential {
  const containsSecret = createCredentialCheck(secretAccessKey);
  const containsToken = sessionToken === undefined ? undefined : createCredentialCheck(sessionToken);
  return (name, value) =>
    name === "x-amz-security-token" || containsSecret(name, value) || containsToken?.(name, value) === true;
}

/** Error types that the cloud answers when the time of a request may be the cause. */
const CLOCK_ERROR_TYPES: ReadonlySet<string> = new Set([
  "AccessDeniedException",
  "AuthFailure",
  "InvalidSignatureException",
  "RequestExpired",
  "RequestInTheFuture",
  "RequestTimeTooSkewed",
  "SignatureDoesNotMatch",
]);

/** Error types that the cloud answers when the keys may have expired. */
const KEY_ERROR_TYPES: ReadonlySet<string> = new Set([
  "ExpiredToken",
  "ExpiredTokenException",
  "InvalidClientTokenId",
  "UnrecognizedClientException",
]);

const CLOCK_ERROR_MESSAGE = /signature expired|signature not yet current/i;
const KEY_ERROR_MESSAGE = /security token included in the request is (?:expired|invalid)/i;

interface RefusalHandlers {
  onClockRefused(date: string | undefined): boolean;
  onClockAccepted(): void;
  onKeysRefused(): boolean;
  onRepeat(reason: "clock" | "keys"): void;
}

function createJudge({ onClockRefused, onClockAccepted, onKeysRefused, onRepeat }: RefusalHandlers): PresentedJudge {
  let date: string | undefined;
  let reason: "clock" | "keys" = "clock";
  const verdictOn = (codes: readonly string[], message: string): PresentedVerdict => {
    if (codes.some((code) => KEY_ERROR_TYPES.has(code)) || KEY_ERROR_MESSAGE.test(message)) {
      reason = "keys";
      return onKeysRefused() ? "again" : "accept";
    }
    if (!codes.some((code) => CLOCK_ERROR_TYPES.has(code)) && !CLOCK_ERROR_MESSAGE.test(message)) return "accept";
    return onClockRefused(date) ? "again" : "accept";
  };
  return {
    judgeHeaders(status, header) {
      if (status !== 400 && status !== 401 && status !== 403) {
        onClockAccepted();
        return "accept";
      }
      // A cached answer carries the time at which it was stored, so its date is not used.
      date = header("age") === undefined ? header("date") : undefined;
      const type = header("x-amzn-errortype");
      if (type !== undefined) return verdictOn([nameIn(type)], "");
      const isPlain = (header("content-encoding") ?? "identity").toLowerCase() === "identity";
      return status === 403 && isPlain ? "read" : "accept";
    },
    judgeBody: (body) => {
      const { codes, message } = errorIn(body);
      return verdictOn(codes, message);
    },
    onRepeat: () => onRepeat(reason),
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

function errorIn(body: string): { readonly codes: readonly string[]; readonly message: string } {
  try {
    const parsed = JSON.parse(body) as Readonly<Record<string, unknown>> | null;
    const inner = (typeof parsed?.["error"] === "object" ? parsed["error"] : undefined) as typeof parsed | undefined;
    const texts = (names: readonly string[]): readonly string[] =>
      [parsed, inner].flatMap((from) => names.map((name) => from?.[name])).filter((it) => typeof it === "string");
    return {
      codes: texts(["__type", "code", "Code", "type"]).map(nameIn),
      message: texts(["message", "Message"]).join(" "),
    };
  } catch {
    return { codes: [], message: "" };
  }
}
