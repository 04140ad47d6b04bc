/**
 * Builds the request for a channel of the client's dialect, and the edits of its answer. If nothing has to change, the client's
 * own bytes are sent; otherwise the change is as small as possible.
 */
import { GatewayError } from "../../../../base/index.ts";
import {
  type AnswerEdits,
  editObject,
  memberValue,
  type ObjectEdits,
  replaceParameter,
  replaceValue,
  withoutSealed,
  withoutUnsigned,
} from "../../../core/dialects/index.ts";
import type { UpstreamRequest } from "../../../upstream/index.ts";
import { lowerCase, upstreamHeaders } from "../../headers.ts";
import type { AdmittedProvider } from "./admit.ts";
import { NO_THREAD, SEALED_THINKING, UNSIGNED_THINKING } from "./choose-channel.ts";
import { pathWithModel, type Target } from "./resolve-target.ts";

interface Prepared {
  readonly request: UpstreamRequest;
  /** Whether the answer must be readable. No content encoding is requested then. */
  readonly reads: boolean;
  /** Edits of the answer; `undefined` if it passes unchanged. */
  readonly answerEdits: AnswerEdits | undefined;
}

export interface ClientRequest {
  readonly method: string;
  readonly rawHeaders: readonly string[];
  readonly connection: string | undefined;
}

interface AnswerNeeds {
  /** Whether the answer must be readable for a reason other than its edits, such as a models list or metering. */
  readonly reads: boolean;
  /** Whether guardrails inspect the answer. No partial content is requested then. */
  readonly inspects: boolean;
}

export function prepareRequest(
  client: ClientRequest,
  target: Target,
  admitted: AdmittedProvider,
  answer: AnswerNeeds,
): Prepared {
  const { provider, model } = admitted;
  const isAliased = model !== target.model;
  const isThreadless = admitted.losses.includes(NO_THREAD);
  const { asksUsage, body } = refuseSyntaxErrors(() => {
    const requestsUsage = needsUsage(target, admitted);
    const edited = editBody(target, admitted, isAliased, requestsUsage);
    const signed = admitted.losses.includes(UNSIGNED_THINKING)
      ? without(withoutUnsigned, edited, target)
      : admitted.losses.includes(SEALED_THINKING)
        ? without(withoutSealed, edited, target)
        : edited;
    return { asksUsage: requestsUsage, body: isThreadless ? withoutThread(signed, target) : signed };
  });
  const reads = isAliased || asksUsage || answer.reads || answer.inspects;

  const alsoDropped: string[] = [];
  if (reads) alsoDropped.push("accept-encoding");
  if (answer.inspects) alsoDropped.push(...RANGE_HEADERS);
  if (body !== target.original || target.isRewritten) alsoDropped.push("content-encoding");
  if (target.isRewritten) alsoDropped.push(...DIGESTS);
  const headers = upstreamHeaders(client.rawHeaders, client.connection, provider.droppedHeaders, alsoDropped);
  if (reads) headers.push("accept-encoding", "identity");
  if (isThreadless) removeThreadsBeta(headers);
  headers.push(...provider.addedHeaders);

  return {
    request: {
      method: client.method,
      path: pathFor(target, admitted, isAliased),
      headers,
      body: body.length === 0 ? null : body,
    },
    reads,
    answerEdits:
      isAliased || asksUsage
        ? {
            model: isAliased ? { upstream: JSON.stringify(model), shown: JSON.stringify(target.model) } : undefined,
            hidesUsage: asksUsage,
          }
        : undefined,
  };
}

/** Headers that request partial content, which would hide parts of an answer from the inspection. */
const RANGE_HEADERS: readonly string[] = ["range", "if-range"];

/**
 * Headers with digests of the client's body. They would reveal properties of text that guardrails removed. Source: RFC 9530; RFC
 * 3230; RFC 1864.
 */
const DIGESTS: readonly string[] = ["content-digest", "repr-digest", "digest", "content-md5"];

/**
 * Maps syntax errors to `invalid_request`: a body that passed the scan can still contain an invalid escape in a name or in
 * `stream_options`.
 */
function refuseSyntaxErrors<Read>(read: () => Read): Read {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new GatewayError("invalid_request", "Cannot read the request: a string of its JSON has an invalid escape.");
  }
}

/** Applies `cut` to the body. `edited`: the original, still encoded bytes if nothing was changed so far. */
function without(cut: (body: Buffer) => Buffer, edited: Buffer, { original, plain }: Target): Buffer {
  const whole = edited === original ? plain : edited;
  const kept = cut(whole);
  return kept === whole ? edited : kept;
}

const WITHOUT_THREAD: ObjectEdits = { set: new Map(), remove: new Set(["thread"]), rename: new Map() };

/** Removes the thread from the body. `edited`: the original, still encoded bytes if nothing was changed so far. */
function withoutThread(edited: Buffer, { original, plain }: Target): Buffer {
  return editObject(edited === original ? plain : edited, WITHOUT_THREAD);
}

/**
 * Removes the name of the threads beta, which the SDK sends along with the thread. A provider without threads refuses the name as
 * well.
 */
function removeThreadsBeta(pairs: string[]): void {
  for (let at = pairs.length - 2; at >= 0; at -= 2) {
    if (lowerCase(pairs[at] as string) !== "anthropic-beta") continue;
    const others = (pairs[at + 1] as string).split(",").filter((beta) => !beta.trim().startsWith("message-threads-"));
    if (others.length === 0) pairs.splice(at, 2);
    else pairs[at + 1] = others.join(",");
  }
}

const NO_EDITS: ObjectEdits = { set: new Map(), remove: new Set(), rename: new Map() };

function editBody(
  target: Target,
  { provider, model }: AdmittedProvider,
  isAliased: boolean,
  asksUsage: boolean,
): Buffer {
  const { modelLocation, plain, original } = target;
  if (target.isJson && (provider.bodyEdits !== undefined || asksUsage)) {
    const edits = provider.bodyEdits ?? NO_EDITS;
    const set = new Map(edits.set);
    if (isAliased) set.set("model", JSON.stringify(model));
    if (asksUsage) set.set("stream_options", withUsage(target));
    const edited = editObject(plain, { ...edits, set });
    return edited === plain ? original : edited;
  }
  if (!isAliased) return original;
  if (modelLocation.kind === "json") return replaceValue(plain, modelLocation.member, JSON.stringify(model));
  if (modelLocation.kind === "form") {
    return Buffer.concat([
      plain.subarray(0, modelLocation.start),
      Buffer.from(model ?? ""),
      plain.subarray(modelLocation.end),
    ]);
  }
  if (modelLocation.kind === "parameter")
    return Buffer.from(replaceParameter(plain.toString("utf8"), "model", model ?? ""));
  return original;
}

/** Returns whether the operator wants usage in streamed compat answers and the client did not request it. */
function needsUsage(target: Target, { provider }: AdmittedProvider): boolean {
  if (!provider.asksStreamUsage || !target.streams || !target.isJson) return false;
  if (target.route.name !== "chat_completions" && target.route.name !== "completions") return false;
  return streamOptions(target)["include_usage"] !== true;
}

function withUsage(target: Target): string {
  return JSON.stringify({ ...streamOptions(target), include_usage: true });
}

function streamOptions({ plain, streamOptions: member }: Target): Readonly<Record<string, unknown>> {
  const value = member === undefined ? undefined : memberValue(plain, member);
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

function pathFor(target: Target, { channel, model }: AdmittedProvider, isAliased: boolean): string {
  const { path, query, modelLocation } = target;
  if (!isAliased || model === undefined) return channel.pathOf(path) + query;
  if (modelLocation.kind !== "query") return channel.pathOf(pathWithModel(target, model)) + query;
  return `${channel.pathOf(path)}?${replaceParameter(query.slice(1), "model", model)}`;
}
