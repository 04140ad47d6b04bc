/**
 * Forward listener with many concurrent exchanges per link, each answered once. Source: cluster reference, section 4.
 *
 * A command line knows the secret but is no member: it may only ask for the members and rename them.
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
import { decodePayload, encodePayload, kindName, MAX_OUTSTANDING } from "./forward-frame.ts";
import type { ForwardAnswer, ForwardOptions, ForwardRequest, ForwardServer, RequestKind } from "./types.ts";

/** Maximum number of links per peer. A node needs one; others are left over from restarts. */
const LINKS_PER_PEER = 8;
const CLI_KINDS: ReadonlySet<RequestKind> = new Set<RequestKind>(["prune", "status"]);

/** Opens the listener. Rejects if the address cannot be listened on; the system's error is the cause. */
export async function startForward(options: ForwardOptions): Promise<ForwardServer> {
  const { listen, identity, self, refusalCodeFor, onRequest, log, timing } = options;

  const listener = await listenLinks({
    name: "forward",
    listen,
    identity,
    self,
    links: { forward: LINKS_PER_PEER },
    replaces: false,
    admitsCli: true,
    refusalCodeFor: (hello, peer) => refusalCodeFor(hello, peer),
    onLink: exchangesOf,
    log,
    ...(timing === undefined ? {} : { timing }),
  });

  function exchangesOf(link: InboundLink): LinkHandlers {
    /** Abort controllers by exchange id; aborted when the peer gives up. */
    const exchanges = new Map<number, AbortController>();

    function begin({ id, isLast, payload }: Frame, kind: RequestKind): void {
      if (!isLast) throw new WireError("a request of several frames");
      const { header, body } = decodePayload(payload);
      if (exchanges.has(id)) throw new WireError("a request under an id that is in use");
      if (link.peer.kind === "cli" && !CLI_KINDS.has(kind)) {
        answer(id, { kind: "error", code: "forbidden", message: `a command line may not request ${kind}` });
        return;
      }
      if (exchanges.size >= MAX_OUTSTANDING) {
        answer(id, { kind: "error", code: "busy", message: "too many requests are in progress" });
        return;
      }
      const stop = new AbortController();
      exchanges.set(id, stop);
      const request = { kind, header, body, peer: link.peer };
      ask(request, stop.signal, id).catch((error: unknown) => log.error("a request was not answered", { kind, error }));
    }

    async function ask(request: ForwardRequest, signal: AbortSignal, id: number): Promise<void> {
      let answered: ForwardAnswer;
      try {
        answered = await onRequest(request, signal);
      } catch (error) {
        if (!signal.aborted) log.error("a request failed", { kind: request.kind, peer: link.peer.id, error });
        answered = { kind: "error", code: "internal", message: "the request failed; the node's log says why" };
      }
      // The peer gave up, so it may already use the id for another request.
      if (signal.aborted) return;
      exchanges.delete(id);
      answer(id, answered);
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
        const { kind, id } = frame;
        const name = kindName(kind);
        if (name !== undefined) return begin(frame, name);
        if (kind !== KIND.error) throw new WireError(`a frame of kind ${kind} where none is expected`);
        // There is no exchange if the peer gave up while the answer was on its way.
        exchanges.get(id)?.abort(new Error("the peer aborted the request"));
        exchanges.delete(id);
      },
      onEnd(error) {
        const reason = error ?? new Error("the connection was closed");
        for (const exchange of exchanges.values()) exchange.abort(reason);
        exchanges.clear();
      },
    };
  }

  return { address: listener.address, stats: () => listener.stats(), close: () => listener.close() };
}

function encodeAnswer(id: number, answered: ForwardAnswer): Buffer {
  const last = { id, isLast: true };
  switch (answered.kind) {
    case "result":
      return encodeFrame({ kind: KIND.result, ...last }, ...encodePayload(answered.header, answered.body));
    case "error": {
      const { code, message, details } = answered;
      return encodeFrame({ kind: KIND.error, ...last }, ...encodePayload({ code, message, details }));
    }
    default:
      return answered satisfies never;
  }
}
