/**
 * A DNS server of a test: answers for its configured names over UDP and, if the answer does not fit there, over TCP.
 * RFC 1035.
 */
import { createSocket } from "node:dgram";
import { type AddressInfo, createServer, isIPv6, type Socket } from "node:net";

type DnsAnswer =
  | { readonly addresses: readonly string[]; readonly ttl?: number }
  /** `none`: the name does not exist; `failure`: the server fails; `silence`: it sends nothing. */
  | "none"
  | "failure"
  | "silence";

export interface DnsServer {
  /** Address in the format of GATEWAY_DNS_SERVERS. */
  readonly address: string;
  /** Answers by lower-case name without a trailing dot; an absent name is `none`. */
  readonly names: Map<string, DnsAnswer>;
  /** Each question as `name type`, in order of arrival. */
  readonly queries: string[];
  /** Number of answers over TCP. */
  overTcp(): number;
}

/** Maximum UDP answer for a resolver without EDNS. */
const MAX_UDP_BYTES = 512;
const TYPES: ReadonlyMap<number, string> = new Map([
  [1, "A"],
  [28, "AAAA"],
]);

/** Listens on a free loopback port unless `at` names another address. */
export async function dnsServer(
  context: { after(end: () => void): void },
  at: { readonly host: string; readonly port: number } = { host: "127.0.0.1", port: 0 },
): Promise<DnsServer> {
  const names = new Map<string, DnsAnswer>();
  const queries: string[] = [];
  let overTcp = 0;
  const connections = new Set<Socket>();
  const tcp = createServer((socket) => {
    connections.add(socket);
    socket.on("close", () => connections.delete(socket)).on("error", () => undefined);
    let read = Buffer.alloc(0);
    socket.on("data", (chunk) => {
      read = Buffer.concat([read, chunk]);
      while (read.length >= 2 && read.length >= 2 + read.readUInt16BE(0)) {
        const length = read.readUInt16BE(0);
        const answer = answerTo(read.subarray(2, 2 + length), names, []);
        read = read.subarray(2 + length);
        if (answer === undefined) continue;
        overTcp += 1;
        const prefix = Buffer.alloc(2);
        prefix.writeUInt16BE(answer.length);
        socket.write(Buffer.concat([prefix, answer]));
      }
    });
  });
  await new Promise<void>((resolve) => tcp.listen(at.port, at.host, resolve));
  const { port } = tcp.address() as AddressInfo;
  const udp = createSocket("udp4");
  udp.on("message", (question, { address, port: from }) => {
    const answer = answerTo(question, names, queries);
    if (answer === undefined) return;
    udp.send(answer.length <= MAX_UDP_BYTES ? answer : truncated(answer, question), from, address);
  });
  await new Promise<void>((resolve) => udp.bind(port, at.host, resolve));
  context.after(() => {
    udp.close();
    tcp.close();
    for (const socket of connections) socket.destroy();
  });
  return { address: `${at.host}:${port}`, names, queries, overTcp: () => overTcp };
}

/** Returns the name and the end of a message's only question, after its type and class. */
function questionOf(message: Buffer): { readonly name: string; readonly type: number; readonly end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message.readUInt8(at); length !== 0; length = message.readUInt8(at)) {
    labels.push(message.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 };
}

function answerTo(message: Buffer, names: DnsServer["names"], queries: string[]): Buffer | undefined {
  const { name, type, end } = questionOf(message);
  queries.push(`${name} ${TYPES.get(type) ?? type}`);
  const known = names.get(name) ?? "none";
  if (known === "silence") return undefined;
  const addresses = typeof known === "string" ? [] : known.addresses;
  const ttl = typeof known === "string" ? 0 : (known.ttl ?? 1);
  const records = addresses
    .filter((address) => isIPv6(address) === (type === 28) && TYPES.has(type))
    .map((address) => record(type, ttl, address));
  const header = Buffer.alloc(12);
  message.copy(header, 0, 0, 2);
  const code = known === "none" ? 3 : known === "failure" ? 2 : 0;
  // An authoritative answer, with recursion as requested.
  header.writeUInt16BE(0x8580 | code, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return Buffer.concat([header, message.subarray(12, end), ...records]);
}

function record(type: number, ttl: number, address: string): Buffer {
  const data = type === 1 ? Buffer.from(address.split(".").map(Number)) : ipv6Bytes(address);
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(ttl, 6);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

function ipv6Bytes(address: string): Buffer {
  const [left = "", right] = address.split("::");
  const groups = (text: string): readonly string[] => (text === "" ? [] : text.split(":"));
  const after = right === undefined ? [] : groups(right);
  const before = groups(left);
  const all = [...before, ...Array<string>(8 - before.length - after.length).fill("0"), ...after];
  return Buffer.concat(
    all.map((group) => {
      const bytes = Buffer.alloc(2);
      bytes.writeUInt16BE(Number.parseInt(group, 16));
      return bytes;
    }),
  );
}

/** Returns no record, and the flag that makes the client retry over TCP. */
function truncated(answer: Buffer, question: Buffer): Buffer {
  const short = Buffer.from(answer.subarray(0, questionOf(question).end));
  short.writeUInt16BE(short.readUInt16BE(2) | 0x0200, 2);
  short.writeUInt16BE(0, 6);
  return short;
}
