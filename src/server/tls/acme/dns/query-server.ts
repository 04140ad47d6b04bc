/** Queries one DNS server: three times over UDP, then over TCP. Rejects with the system's error or the signal's reason. */

import { createSocket } from "node:dgram";
import { connect, isIPv6 } from "node:net";
import { anySignal } from "../../../../base/index.ts";
import { type DnsMessage, readMessage } from "./dns-message.ts";

export interface DnsServer {
  /** IP address. */
  readonly address: string;
  readonly port: number;
}

const UDP_TIMEOUT_MS = 2_000;
const UDP_TRIES = 3;
const TCP_TIMEOUT_MS = 5_000;
const MAX_UDP_BYTES = 512;

/** Queries a server. Each attempt sends the same bytes, so that an update that arrives twice has the same effect as once. */
export async function queryServer(server: DnsServer, bytes: Buffer, signal: AbortSignal): Promise<DnsMessage> {
  if (bytes.length <= MAX_UDP_BYTES) {
    for (let attempt = 1; attempt <= UDP_TRIES; attempt += 1) {
      signal.throwIfAborted();
      const answer = await queryOverUdp(server, bytes, signal);
      if (answer !== undefined && !answer.isTruncated) return answer;
      if (answer?.isTruncated) break;
    }
  }
  signal.throwIfAborted();
  return await queryOverTcp(server, bytes, signal);
}

/** Sends one query over UDP; `undefined` if no answer came in time. */
function queryOverUdp(
  { address, port }: DnsServer,
  bytes: Buffer,
  signal: AbortSignal,
): Promise<DnsMessage | undefined> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(isIPv6(address) ? "udp6" : "udp4");
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      socket.close();
      settle();
    };
    const onAbort = (): void => end(() => reject(signal.reason));
    const timer = setTimeout(() => end(() => resolve(undefined)), UDP_TIMEOUT_MS);
    signal.addEventListener("abort", onAbort, { once: true });
    socket.on("error", (error) => end(() => reject(error)));
    socket.on("message", (data) => {
      const answer = matchingAnswer(bytes, data);
      // Packets that do not answer this query are ignored.
      if (answer !== undefined) end(() => resolve(answer));
    });
    // A connected socket receives only from this server, and reports a closed port at once.
    socket.connect(port, address, () => socket.send(bytes));
  });
}

function queryOverTcp({ address, port }: DnsServer, bytes: Buffer, signal: AbortSignal): Promise<DnsMessage> {
  return new Promise((resolve, reject) => {
    const limit = anySignal([signal, AbortSignal.timeout(TCP_TIMEOUT_MS)]);
    const socket = connect({ host: address, port, signal: limit });
    let received = Buffer.alloc(0);
    socket.on("connect", () => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(bytes.length);
      socket.write(Buffer.concat([length, bytes]));
    });
    socket.on("data", (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      const length = received.length < 2 ? Number.POSITIVE_INFINITY : received.readUInt16BE(0);
      if (received.length < length + 2) return;
      const answer = matchingAnswer(bytes, received.subarray(2, length + 2));
      socket.destroy();
      if (answer === undefined) reject(new Error("its answer is not a DNS message, or answers another query"));
      else resolve(answer);
    });
    socket.on("error", (error) => reject(signal.aborted ? signal.reason : limit.aborted ? limit.reason : error));
    socket.on("close", () => reject(new Error("it closed the connection without an answer")));
  });
}

function matchingAnswer(question: Buffer, data: Buffer): DnsMessage | undefined {
  try {
    const answer = readMessage(data);
    return answer.isAnswer && answer.id === question.readUInt16BE(0) ? answer : undefined;
  } catch {
    return undefined;
  }
}
