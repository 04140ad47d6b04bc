/**
 * Answers the requests of a batch like single requests. Only faults with a status apply, since there is no connection
 * to break.
 */

import { setImmediate as nextTurn } from "node:timers/promises";
import { errorBody, Refused } from "../dialect-errors.ts";
import { type Fault, parseFault } from "../fault-table.ts";
import { type JsonObject, objectOf } from "../json-fields.ts";
import { modelIn, type RoutedCall } from "../route-types.ts";

/** Maximum size of all answers of a batch, in bytes; the remaining requests expire. */
const MAX_OUTPUT = 64 << 20;

const NO_FAULT: Fault = { kind: "none" };

export interface BatchRequest {
  readonly customId: string;
  /** Path including `/v1`. */
  readonly path: string;
  readonly body: JsonObject;
}

export interface BatchAnswer {
  readonly customId: string;
  /** Status of the answer; `undefined` if the request expired. */
  readonly status: number | undefined;
  /** Answer as JSON text; empty if the request expired. */
  readonly body: string;
}

export async function runBatch(call: RoutedCall, requests: readonly BatchRequest[]): Promise<readonly BatchAnswer[]> {
  const answers: BatchAnswer[] = [];
  let size = 0;
  for (const request of requests) {
    await nextTurn();
    const { customId } = request;
    if (size > MAX_OUTPUT) {
      answers.push({ customId, status: undefined, body: "" });
      continue;
    }
    const answer = { customId, ...(await answerRequest(call, request)) };
    size += answer.body.length;
    answers.push(answer);
  }
  return answers;
}

async function answerRequest(
  call: RoutedCall,
  { path, body }: BatchRequest,
): Promise<{ status: number; body: string }> {
  const { dialect } = call;
  const serial = call.nextSerial();
  const requestId = `${call.requestId}_${serial}`;
  try {
    const route = call.routeAt(path);
    if (route === undefined) throw new Refused(404, "The simulated provider has no such route.");
    const model = modelIn(route, body["model"]);
    if (body["stream"] === true) throw new Refused(400, "Requests of a batch cannot be streamed.", "stream");
    const fault = faultOf(model, call, body);
    if (fault.kind === "status") throw new Refused(fault.status, `The name asked for a ${fault.status}.`);
    const answer = await route.answer({ ...call, model, body, fault: NO_FAULT, form: [], serial, requestId });
    if (answer.kind === "events") throw new Refused(400, "Requests of a batch cannot be streamed.", "stream");
    return { status: answer.status ?? 200, body: answer.body.toString() };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const { status, message, param, code } = error;
    return { status, body: errorBody(dialect, { status, message, param, code, requestId }) };
  }
}

function faultOf(model: string, { memory }: RoutedCall, body: JsonObject): Fault {
  const fault = parseFault(model);
  if (fault.kind === "unreadable") throw new Refused(400, `The model name is not of the form ${fault.name}.`);
  if (fault.kind !== "flaky") return fault;
  const user = JSON.stringify(body["user"] ?? objectOf(body["metadata"])?.["user_id"] ?? "");
  return memory.countFailure(`${model}\u0000${user}`, fault.failures)
    ? { kind: "status", status: 503, retryAfterSeconds: undefined }
    : NO_FAULT;
}
