/**
 * Applies guardrails to both sides of a session. Each message is inspected under the configuration in force when it arrives,
 * because a session may last an hour and a stricter rule must take effect at once.
 */
import type { IncomingMessage } from "node:http";
import { GatewayError } from "../../../../base/index.ts";
import { createRewriting, envelopeSegments, inspectionFacts } from "../../../core/guardrails/index.ts";
import type { Account } from "../../../memory/index.ts";
import type { Guard } from "../../../snapshot/index.ts";
import { settleInspection } from "../../governance/guardrails.ts";
import type { RequestSpan } from "../../tracing.ts";
import { variablesOf } from "../model/inspect-request.ts";
import { type InspectedSession, inspectClient, recordNamedModel } from "./inspect-client.ts";
import { inspectUpstream, type UpstreamInspection } from "./inspect-upstream.ts";
import type { Frame, InspectedMessage, TunnelInspector } from "./tunnel-types.ts";

interface SessionGuarding extends Omit<InspectedSession, "inspectionContext" | "namedModel"> {
  /** Returns the guard in force, or `undefined` if nothing is inspected. */
  readonly guard: () => Guard | undefined;
  /** Span of the session; `undefined` if traces are not exported. */
  readonly span: RequestSpan | undefined;
}

interface SessionInspector extends TunnelInspector {
  /** Must be called when the session has ended. */
  readonly close: () => void;
}

interface SessionInspection {
  readonly inspector: SessionInspector;
  /**
   * Inspects the headers and query of the handshake. Returns the value of `x-gateway-guardrails`, empty if no rule acted.
   * Rejects with `guardrail_denied`, `guardrail_error`, `overloaded` or `audit_unavailable`.
   */
  readonly inspectHandshake: (request: IncomingMessage) => Promise<string>;
}

export function inspectSession(guarding: SessionGuarding): SessionInspection {
  const { target, effective, guard, memory, span } = guarding;
  const session: InspectedSession = {
    ...guarding,
    inspectionContext: {
      variables: variablesOf(target, effective),
      rewriting: createRewriting(placeholderAccount(memory)),
      tracer: span,
    },
    namedModel: undefined,
  };
  return {
    inspector: createInspector(session, guard),
    inspectHandshake: (request) => inspectHandshake(session, guard(), request, span),
  };
}

/**
 * Maximum size of the session's values that have a placeholder. It is limited, because a session may last an hour and the client
 * determines how many there are.
 */
const MAX_PLACEHOLDER_BYTES = 8 << 20;

function placeholderAccount(memory: Account): (bytes: number) => void {
  let sum = 0;
  return (bytes) => {
    if (sum + bytes > MAX_PLACEHOLDER_BYTES) {
      throw new GatewayError("overloaded", "Guardrails replaced too many values in this session.");
    }
    memory.hold(bytes);
    sum += bytes;
  };
}

async function inspectHandshake(
  { target, effective, request, inspectionContext, sinks, endedSignal }: InspectedSession,
  guard: Guard | undefined,
  asked: IncomingMessage,
  span: RequestSpan | undefined,
): Promise<string> {
  const segments = guard === undefined ? [] : envelopeSegments(guard, asked.rawHeaders, target.query);
  if (guard === undefined || segments.length === 0) return "";
  const inspection = span?.inspection("request");
  const guarded = await guard.inspectMessage(segments, inspectionContext, endedSignal);
  inspection?.end(inspectionFacts(guarded, segments.length));
  const { error, decisionsHeader: acted } = settleInspection(guarded, request, effective, sinks);
  if (error !== undefined) throw error;
  return acted;
}

function createInspector(session: InspectedSession, guard: SessionGuarding["guard"]): SessionInspector {
  let upstream: UpstreamInspection | undefined;
  const fromClient = (message: Frame): InspectedMessage | Promise<InspectedMessage> => {
    const inForce = guard();
    if (inForce !== undefined) recordNamedModel(session, message);
    return inForce?.readsBodies === true ? inspectClient(inForce, message, session) : passedMessage(message);
  };
  return {
    attach(direction, ports) {
      if (direction === "upstream") upstream = inspectUpstream(session, guard, ports);
    },
    message: (direction, message) =>
      direction === "client" ? fromClient(message) : (upstream?.message(message) ?? passedMessage(message)),
    end: (direction) => (direction === "client" ? NOTHING : (upstream?.end() ?? NOTHING)),
    close: () => upstream?.close(),
  };
}

const NOTHING: InspectedMessage = { kind: "passes", frames: [] };

const passedMessage = (frame: Frame): InspectedMessage => ({ kind: "passes", frames: [frame] });
