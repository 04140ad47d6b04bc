/**
 * Requests to an admin address as a foreign client sends them: any method, any target, one connection each. Every
 * answer is checked against the OpenAPI document, since generated clients rely on it.
 */
import { request as httpRequest, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http";
import { assertAnswerTo } from "../../../server/admin/support/openapi-answers.ts";

export type DoorAddress =
  | { readonly kind: "local"; readonly socketPath: string }
  | { readonly kind: "network"; readonly port: number };

export interface Sending {
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Uint8Array;
  /** Sent as `authorization: Bearer`. */
  readonly token?: string;
}

export interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
}

interface Refused {
  readonly code: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** Returns the raw answer. */
export function exchange(
  listener: DoorAddress,
  method: string,
  target: string,
  sending: Sending = {},
): Promise<Received> {
  const { headers = {}, body, token } = sending;
  const address =
    listener.kind === "local" ? { socketPath: listener.socketPath } : { host: "127.0.0.1", port: listener.port };
  return new Promise((resolve, reject) => {
    const sent = httpRequest({
      ...address,
      method,
      path: target,
      agent: false,
      headers: {
        ...(body !== undefined && { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...headers,
      },
    });
    sent.once("error", reject);
    sent.once("response", (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.once("error", reject);
      answer.once("end", () => {
        const whole = Buffer.concat(chunks);
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          body: whole,
          text: whole.toString("utf8"),
        });
      });
    });
    sent.end(body);
  });
}

/** Like `exchange`, and checks the answer against the OpenAPI document. */
export async function send(
  listener: DoorAddress,
  method: string,
  target: string,
  sending: Sending = {},
): Promise<Received> {
  const answer = await exchange(listener, method, target, sending);
  assertAnswerTo(method, target, answer.status, answer.headers, answer.text);
  return answer;
}

export function refusedOf({ text }: Pick<Received, "text">): Refused {
  const { error } = JSON.parse(text) as { readonly error: Partial<Refused> };
  return { code: "", message: "", details: {}, ...error };
}
