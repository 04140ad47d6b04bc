/**
 * The forward listener: many exchanges at once on a link, each answered once. Source: cluster reference, section 4.
 *
 * A command line holds the secret and is no member: it may ask for the members and name them anew, and nothing else.
 */

import {
  encodeFrame,
  type Frame,
  type InboundLink,
  KIND,
  type LinkHandlers,
  listenLinks,
  WireError,
} from "../wire/index.ts";
import { createInboundBody, type InboundBody } from "./inbound-body.ts";
import { decodePayload, encodePayload, encodeRead, kindName, MAX_OUTSTANDING } from "./payload.ts";
import type { ForwardAnswer, ForwardOptions, ForwardServer, RequestKind } from "./types.ts";

/** A node has one client and one link to an address; more are left over from restarts. */
const LINKS_PER_PEER = 8;
const CLI_KINDS: ReadonlySet<RequestKind> = new Set<RequestKind>(["prune", "status"]);

interface Exchange {
  readonly stop: AbortController;
  readonly stream: InboundBody | undefined;
}

/** Rejects when the address cannot be listened on; the system's error is the cause. */
export async function startForward(options: ForwardOptions): Promise<ForwardServer> {
  const { listen, identity, self, judge, onRequest, log, timing } = options;

  const listener = await listenLinks({
    name: "forward",
    listen,
    identity,
    self,
    links: { forward: LINKS_PER_PEER },
    replaces: false,
    admitsCli: true,
    judge: (hello, peer) => judge(hello, peer),
    onLink: exchangesOf,
    log,
    ...(timing === undefined ? {} : { timing }),
  });

  function exchangesOf(link: InboundLink): LinkHandlers {
    const exchanges = new Map<number, Exchange>();

    function begin({ id, isLast, payload }: Frame, kind: RequestKind): void {
      const { header, body } = decodePayload(payload);
      if (exchanges.has(id)) throw new WireError("a request under an id that is in use");
      if (link.peer.kind === "cli" && !CLI_KINDS.has(kind)) {
        answer(id, { kind: "error", code: "forbidden", message: `a command line may not ask for ${kind}` });
        return;
      }
      if (exchanges.size >= MAX_OUTSTANDING) {
        answer(id, { kind: "error", code: "busy", message: "too many requests are under way" });
        return;
      }
      if (!isLast && body.length > 0) throw new WireError("a body both within and behind its request");
      const stop = new AbortController();
      const stream = isLast ? undefined : createInboundBody((bytes) => link.send(encodeRead(id, bytes)));
      exchanges.set(id, { stop, stream });
      const request = { kind, header, body: stream ?? body, peer: link.peer, remote: link.remote };
      ask(request, stop.signal, id).catch((error: unknown) => log.error("a request was not answered", { kind, error }));
    }

    async function ask(request: Parameters<typeof onRequest>[0], signal: AbortSignal, id: number): Promise<void> {
      let answered: ForwardAnswer;
      try {
        answered = await onRequest(request, signal);
      } catch (error) {
        if (!signal.aborted) log.error("a request failed", { kind: request.kind, peer: link.peer.id, error });
        answered = { kind: "error", code: "internal", message: "the request failed; the node's log says why" };
      }
      exchanges.delete(id);
      if (!signal.aborted) answer(id, answered);
    }

    function answer(id: number, answered: ForwardAnswer): void {
      try {
        link.send(encodeAnswer(id, answered));
      } catch (error) {
        log.error("an answer could not be sent", { peer: link.peer.id, error });
        link.send(encodeAnswer(id, { kind: "error", code: "internal", message: "the answer is too large" }));
      }
    }

    return {
      onFrame(frame) {
        const { kind, id, isLast, payload } = frame;
        const name = kindName(kind);
        if (name !== undefined) return begin(frame, name);
        // What belongs to no exchange any more was on its way when the answer was.
        const exchange = exchanges.get(id);
        if (kind === KIND.restoreChunk) {
          exchange?.stream?.add(payload);
        } else if (kind === KIND.restoreEnd && isLast) {
          exchange?.stream?.end();
        } else if (kind === KIND.error) {
          give(exchange, new Error("the peer gave up"));
          exchanges.delete(id);
        } else {
          throw new WireError(`a frame of kind ${kind} where none is expected`);
        }
      },
      onEnd(error) {
        const reason = error ?? new Error("the connection was closed");
        for (const exchange of exchanges.values()) give(exchange, reason);
        exchanges.clear();
      },
    };
  }

  return { address: listener.address, stats: () => listener.stats(), close: () => listener.close() };
}

function give(exchange: Exchange | undefined, reason: Error): void {
  exchange?.stop.abort(reason);
  exchange?.stream?.fail(reason);
}

function encodeAnswer(id: number, answered: ForwardAnswer): Buffer {
  const last = { id, isLast: true };
  switch (answered.kind) {
    case "result":
      return encodeFrame({ kind: KIND.result, ...last }, ...encodePayload(answered.header, answered.body));
    case "redirect":
      return encodeFrame({ kind: KIND.redirect, ...last }, ...encodePayload(answered.header));
    case "error": {
      const { code, message, details } = answered;
      return encodeFrame({ kind: KIND.error, ...last }, ...encodePayload({ code, message, details }));
    }
    default:
      return answered satisfies never;
  }
}
