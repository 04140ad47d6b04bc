/**
 * Applies guardrails to each event that the client of a session sends: it is passed unchanged, rewritten, or ends the session.
 * Source: design decisions, section 11, WebSocket.
 */
import { asRefusal, GatewayError } from "../../../../base/index.ts";
import { memberValue, readTexts, refusalMessage, scanObject } from "../../../core/dialects/index.ts";
import type { GuardrailSinks, InspectionContext, Segment } from "../../../core/guardrails/index.ts";
import { type Account, estimateParsingBytes } from "../../../memory/index.ts";
import type { Guard } from "../../../snapshot/index.ts";
import type { DecidedRequest } from "../../governance/decided-request.ts";
import type { EffectiveProfile } from "../../governance/effective-profile.ts";
import { settleInspection } from "../../governance/guardrails.ts";
import type { Target } from "../model/resolve-target.ts";
import { classifyMessage } from "./session-message.ts";
import { closeTunnel } from "./tunnel.ts";
import type { Frame, InspectedMessage } from "./tunnel-types.ts";

export interface InspectedSession {
  readonly target: Target;
  readonly effective: EffectiveProfile;
  readonly request: DecidedRequest;
  /** Inspection state of the whole session, shared by all events and answers so that placeholder numbers are unique. */
  readonly inspectionContext: InspectionContext;
  /** Model that the client last named in an event. */
  namedModel: string | undefined;
  readonly sinks: GuardrailSinks;
  readonly memory: Account;
  /** Aborted when the session has ended. */
  readonly endedSignal: AbortSignal;
  /** Receives the refusal that ends the session. */
  readonly recordRefusal: (refusal: GatewayError) => void;
}

/** Inspects a message of the client. Never throws and never rejects. */
export function inspectClient(
  guard: Guard,
  message: Frame,
  session: InspectedSession,
): InspectedMessage | Promise<InspectedMessage> {
  const { sinks, memory } = session;
  const bytes = estimateParsingBytes(message.data);
  let isHeld = false;
  const done = (): void => {
    if (isHeld) memory.release(bytes);
    isHeld = false;
  };
  const failed = (error: unknown): InspectedMessage => {
    done();
    return refusedMessage(error, session);
  };
  try {
    const { kind } = classifyMessage(message);
    if (kind === "unreadable") throw unreadableMessage("it has an encoding that is not supported");
    if (kind === "sound") {
      sinks.metrics.uninspected("audio");
      return passedMessage(message);
    }
    memory.hold(bytes);
    isHeld = true;
    const made = inspectText(guard, message, session);
    if (!(made instanceof Promise)) {
      done();
      return made;
    }
    return made.then((settled) => {
      done();
      return settled;
    }, failed);
  } catch (error) {
    return failed(error);
  }
}

function inspectText(
  guard: Guard,
  message: Frame,
  session: InspectedSession,
): InspectedMessage | Promise<InspectedMessage> {
  const { target, effective, sinks, endedSignal } = session;
  const texts = readTexts(target.route, target.dialect, {
    plain: message.data,
    contentType: "text/plain",
    isJson: false,
  });
  if (texts.problem !== undefined) throw unreadableMessage(texts.problem);
  for (const what of texts.uninspected) sinks.metrics.uninspected(what);
  if (texts.texts.length === 0) return passedMessage(message);
  const { inspectionContext, request } = withNamedModel(session);
  const segments = [...texts.texts, ...texts.seams].map((text): Segment => ({ ...text, ref: "" }));
  const settle = (guarded: Awaited<ReturnType<Guard["request"]>>): InspectedMessage => {
    const { error } = settleInspection(guarded, request, effective, sinks);
    if (error !== undefined) throw error;
    const { judgement } = guarded;
    if (judgement?.outcome !== "allow" || judgement.rewrites.every((one) => one === undefined))
      return passedMessage(message);
    const data = texts.rewrite(judgement.rewrites.map((one) => one?.text));
    return passedMessage({ ...message, data });
  };
  const guarded = guard.inspectMessage(segments, inspectionContext, endedSignal);
  return guarded instanceof Promise ? guarded.then(settle) : settle(guarded);
}

/** Returns the inspection state and request record with the model that the client named last. */
export function withNamedModel({
  inspectionContext,
  request,
  namedModel,
}: InspectedSession): Pick<InspectedSession, "inspectionContext" | "request"> {
  if (namedModel === undefined) return { inspectionContext, request };
  return {
    inspectionContext: { ...inspectionContext, variables: { ...inspectionContext.variables, model: namedModel } },
    request: { ...request, model: namedModel },
  };
}

/** Remembers the model that a client's message names, if the route allows it to. */
export function recordNamedModel(session: InspectedSession, { data }: Frame): void {
  // Each event of a Responses session names its own model; elsewhere the model of the handshake applies, if it named one.
  const { model, route } = session.target;
  if (model === undefined || route.name === "responses_ws") session.namedModel = modelIn(data) ?? session.namedModel;
}

/** Returns the model that an event names, directly or in its response or session. */
function modelIn(event: Buffer): string | undefined {
  const scan = scanObject(event, ["model", "response", "session"]);
  if (scan.kind === "problem") return undefined;
  const [own, ...holders] = scan.members;
  const model = own && memberValue(event, own);
  if (typeof model === "string") return model;
  for (const holder of holders) {
    if (holder === undefined || event[holder.valueStart] !== OPEN_OBJECT) continue;
    const named = modelIn(event.subarray(holder.valueStart, holder.valueEnd));
    if (named !== undefined) return named;
  }
  return undefined;
}

const OPEN_OBJECT = 0x7b;

const passedMessage = (frame: Frame): InspectedMessage => ({ kind: "passes", frames: [frame] });

const unreadableMessage = (problem: string): GatewayError =>
  new GatewayError("invalid_request", `Guardrails cannot inspect the message: ${problem}.`);

/** WebSocket close codes: RFC 6455, section 7.4.1, and the IANA registry. */
const POLICY_VIOLATION = 1008;
const INTERNAL_ERROR = 1011;
const TRY_AGAIN_LATER = 1013;

/** Returns the frames that end both sides: a notice to the client, and a close with the refusal's code as its reason. */
export function refusedMessage(
  error: unknown,
  { target, request, recordRefusal, endedSignal }: InspectedSession,
): InspectedMessage {
  if (endedSignal.aborted) return { kind: "passes", frames: [] };
  const refusal = asRefusal(error);
  recordRefusal(refusal);
  const isLater = refusal.code === "overloaded" || refusal.code === "audit_unavailable";
  const code = isLater ? TRY_AGAIN_LATER : refusal.status < 500 ? POLICY_VIOLATION : INTERNAL_ERROR;
  const notice = refusalMessage(target.route.name, refusal, request.requestId);
  return { kind: "refused", closing: closeTunnel(code, refusal.code), notice };
}
