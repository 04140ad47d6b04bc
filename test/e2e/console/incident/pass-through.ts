/**
 * Proxy between a console and a gateway's admin API: passes every byte, records each request before the gateway sees
 * it, and cuts connections on request. Requests have the form that the console sends: HTTP/1.1, sequential on a
 * connection, bodies with a length.
 */
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { atEnd, type Owner } from "../../support/wait.ts";

export interface PassedRequest {
  readonly method: string;
  readonly target: string;
  /** Header names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
}

interface PassThrough {
  /** `http://127.0.0.1:port` */
  readonly url: string;
  readonly requests: readonly PassedRequest[];
  /** Called for each request before it is forwarded; `false` cuts the connection instead of the answer. */
  onRequest: (request: PassedRequest) => boolean;
  /** Breaks all connections, like a network failure. */
  cut(): void;
  /** Fault for new connections and answers, until it is changed. */
  fault: ConnectionFault;
}

/** `refused`: connections fail; `silent`: no answer comes; `half`: each is cut off; `garbage`: answers are not HTTP. */
export const CONNECTION_FAULTS = ["none", "refused", "silent", "half", "garbage"] as const;
export type ConnectionFault = (typeof CONNECTION_FAULTS)[number];

/** `to` is a socket path or a loopback port. */
export async function passThrough(owner: Owner, to: string | number): Promise<PassThrough> {
  const requests: PassedRequest[] = [];
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => sockets.delete(socket));
  };
  const server: Server = createServer({ noDelay: true }, (near) => {
    keep(near);
    if (passing.fault === "refused") return void near.destroy();
    const far = typeof to === "string" ? connect(to) : connect(to, "127.0.0.1");
    keep(far);
    const reader = requestReader();
    let isLost = false;
    near.on("data", (bytes: Buffer) => {
      for (const request of reader(bytes)) {
        requests.push(request);
        isLost ||= !passing.onRequest(request);
      }
      far.write(bytes);
    });
    far.on("data", (bytes: Buffer) => {
      // The gateway has answered, so the change is made, but the answer is lost.
      if (isLost) return void near.destroy();
      switch (passing.fault) {
        case "none":
        case "refused":
          return void near.write(bytes);
        case "silent":
          return;
        case "half":
          return void near.end(bytes.subarray(0, bytes.length >> 1));
        case "garbage":
          return void near.end("\u0000\u001b[2J no answer\r\n\r\n{");
        default:
          passing.fault satisfies never;
      }
    });
    near.once("close", () => far.destroy());
    far.once("close", () => near.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("listening without a port");
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  atEnd(owner, () => {
    cut();
    server.close();
  });
  const passing: PassThrough = {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    onRequest: () => true,
    cut,
    fault: "none",
  };
  return passing;
}

/** Returns whether a request can change anything: a query only reads, and a dry run writes nothing. */
export const isWrite = ({ method, target }: PassedRequest): boolean =>
  method !== "GET" &&
  !(method === "POST" && (target.split("?")[0] === "/admin/v1/query" || /[?&]dry_run=true(?:&|$)/.test(target)));

/** Takes the bytes of a connection in chunks, and returns each request once its head is complete. */
function requestReader(): (bytes: Buffer) => readonly PassedRequest[] {
  let pending: Buffer = Buffer.alloc(0);
  /** Remaining bytes of the current body; `undefined` while a head is read. */
  let left = 0;
  return (bytes) => {
    pending = Buffer.concat([pending, bytes]);
    const found: PassedRequest[] = [];
    for (;;) {
      const skipped = Math.min(left, pending.length);
      left -= skipped;
      pending = pending.subarray(skipped);
      const end = left > 0 ? -1 : pending.indexOf("\r\n\r\n");
      if (end < 0) return found;
      const request = requestOf(pending.toString("latin1", 0, end));
      found.push(request);
      pending = pending.subarray(end + 4);
      left = lengthOf(request);
    }
  };
}

function requestOf(head: string): PassedRequest {
  const [first = "", ...lines] = head.split("\r\n");
  const [method = "", target = ""] = first.split(" ");
  const headers = new Map(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  return { method, target, headers };
}

/** A body without a length is a stream and the last item on its connection. */
function lengthOf({ headers }: PassedRequest): number {
  return headers.has("transfer-encoding") ? Number.POSITIVE_INFINITY : Number(headers.get("content-length") ?? 0);
}
