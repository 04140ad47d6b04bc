/**
 * One request at a token endpoint: no redirect, a bounded answer, and never an address of this machine's own network
 * segment, where metadata services are. Source: credentials reference, 6; design decisions, section 13.
 */
import { lookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import type { SecureContext } from "node:tls";
import { Agent, request } from "undici";

const MAX_ANSWER_BYTES = 64 << 10;
const MAX_HEADER_BYTES = 32 << 10;

export interface TokenAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export interface TokenDialler {
  /** Rejects with what went wrong, in words that name no address. */
  post(url: string, headers: Readonly<Record<string, string>>, body: string, signal: AbortSignal): Promise<TokenAnswer>;
  close(): void;
}

const FORBIDDEN = new BlockList();
FORBIDDEN.addSubnet("169.254.0.0", 16, "ipv4");
FORBIDDEN.addSubnet("0.0.0.0", 8, "ipv4");
FORBIDDEN.addSubnet("fe80::", 10, "ipv6");
FORBIDDEN.addSubnet("fd00:ec2::", 32, "ipv6");
FORBIDDEN.addAddress("::", "ipv6");

/** Only the platform's own chain asks there. `address`: of version 4 or 6, without brackets. */
export function isForbiddenAddress(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && FORBIDDEN.check(address, version === 4 ? "ipv4" : "ipv6");
}

class Forbidden extends Error {
  constructor() {
    super("its address is link-local, which no token endpoint has");
  }
}

/** What the name stands for at the moment of dialling decides, whatever it stood for before. */
const guardedLookup: LookupFunction = (hostname, options, done) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return done(error, []);
    if (addresses.some(({ address }) => isForbiddenAddress(address))) return done(new Forbidden(), []);
    if (options.all === true) return done(null, addresses);
    const [first] = addresses;
    done(null, first?.address ?? "", first?.family);
  });
};

/** `secureContext`: what is trusted; undefined: what Node.js trusts. */
export function openTokenDialler(secureContext: SecureContext | undefined, connectMs: number): TokenDialler {
  const agent = new Agent({
    connect: { timeout: connectMs, lookup: guardedLookup, ...(secureContext !== undefined && { secureContext }) },
    maxHeaderSize: MAX_HEADER_BYTES,
    pipelining: 1,
    connections: 32,
    keepAliveTimeout: 10_000,
  });
  return {
    async post(url, headers, body, signal) {
      if (isForbiddenAddress(new URL(url).hostname.replace(/^\[|\]$/g, ""))) throw new Forbidden();
      const answer = await request(url, { dispatcher: agent, method: "POST", headers: { ...headers }, body, signal });
      const chunks: Buffer[] = [];
      let length = 0;
      for await (const chunk of answer.body) {
        const bytes = Buffer.from(chunk as Uint8Array);
        length += bytes.length;
        // To leave the loop ends the connection.
        if (length > MAX_ANSWER_BYTES) throw new Error(`its answer is longer than ${MAX_ANSWER_BYTES} bytes`);
        chunks.push(bytes);
      }
      const single = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as const);
      return { status: answer.statusCode, headers: Object.fromEntries(single), text: Buffer.concat(chunks).toString() };
    },
    close() {
      agent.close().catch(() => undefined); // once its requests are over, each of which has a limit
    },
  };
}
