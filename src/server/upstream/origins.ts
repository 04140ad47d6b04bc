/** One connection pool an origin, kept over reloads, closed when no configuration names the origin any more. */
import { Pool } from "undici";

/** A name that resolves and a port that answers do so within this, or the attempt failed to connect. */
const CONNECT_LIMIT_MS = 10_000;

/**
 * Longest silence of an upstream, before the headers and between two chunks, when the provider names no
 * `first_byte_timeout`. Above the ten minutes that the official SDKs themselves wait by default.
 */
const SILENCE_LIMIT_MS = 15 * 60_000;

/** Response headers of an upstream; providers send a few KiB. */
const MAX_HEADER_BYTES = 64 << 10;

export interface Origins {
  pool(origin: string): Pool;
  /** Closes, gracefully, the pools of origins that are not listed. */
  keepOnly(origins: ReadonlySet<string>): void;
  /** Open upstream connections, all origins together. */
  connections(): number;
  /** Ends every connection; requests still under way fail. */
  close(): Promise<void>;
}

export interface OriginOptions {
  /** Extra trusted roots, PEM; the system's are kept. For tests and private upstreams. */
  readonly ca?: string;
}

export function openOrigins(options: OriginOptions = {}): Origins {
  const pools = new Map<string, Pool>();
  const connect = { timeout: CONNECT_LIMIT_MS, ...(options.ca !== undefined && { ca: options.ca }) };
  return {
    pool(origin) {
      let pool = pools.get(origin);
      if (pool === undefined) {
        pool = new Pool(origin, {
          connect,
          allowH2: true,
          pipelining: 1,
          headersTimeout: SILENCE_LIMIT_MS,
          bodyTimeout: SILENCE_LIMIT_MS,
          maxHeaderSize: MAX_HEADER_BYTES,
        });
        pools.set(origin, pool);
      }
      return pool;
    },
    keepOnly(origins) {
      for (const [origin, pool] of pools) {
        if (origins.has(origin)) continue;
        pools.delete(origin);
        pool.close().catch(() => undefined); // resolves once its running requests are done; a failure is theirs to tell
      }
    },
    connections() {
      let open = 0;
      for (const pool of pools.values()) open += pool.stats.connected;
      return open;
    },
    async close() {
      await Promise.all([...pools.values()].map((pool) => pool.destroy()));
      pools.clear();
    },
  };
}
