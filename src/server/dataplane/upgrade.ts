/** A WebSocket handshake: located, addressed and admitted like any request, then tunnelled. It cannot move. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { asRefusal } from "../../base/index.ts";
import { refusalBody, refusalHeaders } from "../core/dialects/index.ts";
import { address } from "./address.ts";
import { admit } from "./admit.ts";
import { requestIdOf } from "./exchange.ts";
import {
  offeredProtocols,
  prepareUpgradeHeaders,
  refuseUpgrade,
  tunnel,
  withoutProtocolCredential,
} from "./hops/websocket.ts";
import type { Ports } from "./ports.ts";
import { prepare } from "./prepare.ts";
import { locate } from "./serve.ts";
import { type SessionAttempt, sessionAttempt } from "./session-attempt.ts";
import { startSpan } from "./tracing.ts";

const NO_BODY = Buffer.alloc(0);

/** `shutdown`: ends the session with 1001. */
export async function serveUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  ports: Ports,
  shutdown: AbortSignal,
): Promise<void> {
  const requestId = requestIdOf(request);
  const span = ports.tracing && startSpan(ports.tracing, request);
  let labels = ports.metrics.labels("none");
  let isAdmitted = false;
  let closeSession: (() => void) | undefined;
  let attempt: SessionAttempt | undefined;
  const finished = (status: number, code: string): void => {
    ports.metrics.finished(labels, status, code);
    span?.end({ labels, status, code });
  };
  try {
    socket.on("error", () => undefined); // node:http gives the socket up with the upgrade; its `close` follows
    const snapshot = ports.snapshot();
    const place = locate("UPGRADE", request);
    labels = ports.metrics.labels(place.route.name);
    ports.admission.enter();
    isAdmitted = true;
    const target = address(snapshot, place, { contentType: "", original: NO_BODY, plain: NO_BODY });
    const [admitted] = admit(snapshot, target);
    if (admitted === undefined) return;
    const { provider, channel } = admitted;
    labels = ports.metrics.labels(place.route.name, provider.name, target.label);
    const client = { method: "GET", rawHeaders: request.rawHeaders, connection: undefined };
    const { request: prepared } = prepare(client, target, admitted, false);
    const offered = offeredProtocols(request);
    closeSession = ports.metrics.sessionOpened(provider.name);
    const attemptSpan = span?.attempt({
      method: prepared.method,
      provider: provider.name,
      channel: channel.id,
      origin: channel.origin,
    });
    attempt = sessionAttempt(provider.name, ports, attemptSpan);
    const result = await tunnel({
      request,
      socket,
      head,
      upstream: {
        url: channel.origin.replace(/^http/, "ws") + prepared.path,
        headers: prepareUpgradeHeaders(attemptSpan?.carry(prepared.headers) ?? prepared.headers),
        protocols: channel.credential.length > 0 ? withoutProtocolCredential(offered) : offered,
      },
      responseHeaders: ["x-gateway-request-id", requestId, "x-gateway-provider", provider.name],
      handshake: attempt,
      signal: shutdown,
    });
    finished(result.kind === "refused" ? result.status : 101, "");
  } catch (error) {
    const refusal = asRefusal(error);
    if (refusal.code === "internal") ports.log.error("session failed", { request: requestId, error: refusal.cause });
    attempt?.refused(refusal.code);
    finished(refusal.status, refusal.code);
    const headers = [...refusalHeaders(refusal, requestId), "content-type", "application/json"];
    refuseUpgrade(socket, refusal.status, headers, refusalBody("compat", refusal, requestId));
  } finally {
    attempt?.ended();
    closeSession?.();
    if (isAdmitted) ports.admission.leave();
  }
}
