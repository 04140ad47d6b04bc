/**
 * Manages one connection pool per origin. Pools are kept over reloads, and closed when the configuration no longer names the
 * origin.
 */
import { Pool } from "undici";
import { guardedLookup } from "../credentials/index.ts";
import { type ForwardProxies, NO_FORWARD_PROXIES, proxyConnector } from "../forward-proxy/index.ts";
import { type HttpClient, openHttpClient } from "./http/index.ts";
import type { PickerRequest } from "./picker/index.ts";
import { openPools, type PoolMember, type PoolSpec, type PoolsOptions } from "./pools/index.ts";
import { type Route, type Routed, singleServerRoute } from "./server.ts";

/** Timeout of name resolution and connect together, in milliseconds. */
const CONNECT_LIMIT_MS = 10_000;

export interface Origins {
  /** Returns a pool for requests to an origin that are not attempts. */
  pool(origin: string): Pool;
  /**
   * Selects the server for an attempt at the channel. Returns a promise only for pools. `subset`: part of the pool that the
   * request is limited to. `pickerRequest` is passed to the picker of a pool.
   */
  route(channel: Destination, subset: string | undefined, pickerRequest: PickerRequest): Routed | Promise<Routed>;
  /** Closes connections to origins and pools that are not listed. Requests in progress finish. */
  keepOnly(origins: ReadonlySet<string>, pools?: readonly PoolSpec[]): void;
  /** Returns the members of the provider's pool, or `undefined` if it has none. */
  members(provider: string): readonly PoolMember[] | undefined;
  /** Returns the number of open upstream connections over all origins. */
  connections(): number;
  /** Closes every connection. Requests in progress fail. */
  close(): Promise<void>;
}

export interface Destination {
  /** Origin in the form `scheme://host[:port]`. */
  readonly origin: string;
  readonly pool?: PoolSpec | undefined;
  /** Whether this is an MCP server or agent, which is reached without a forward proxy on a private network. */
  readonly isFronted?: boolean;
}

interface OriginOptions extends Pick<PoolsOptions, "nameServers" | "instruments" | "log" | "isOwnListener"> {
  /** Extra trusted roots, PEM, in addition to the system's. For tests and private upstreams. */
  readonly ca?: string;
  /** Forward proxies; absent if everything is reached directly. Servers of pools always are. */
  readonly proxies?: ForwardProxies;
}

interface SingleServer {
  readonly origin: string;
  readonly client: HttpClient;
  readonly route: Route;
}

export function openOrigins(options: OriginOptions = {}): Origins {
  const { ca, proxies = NO_FORWARD_PROXIES, ...poolOptions } = options;
  const singleServers = new Map<string, SingleServer>();
  const fetchPools = new Map<string, Pool>();
  const pools = openPools({ ...poolOptions, ca });
  const singleServerAt = (origin: string, isFronted: boolean): SingleServer => {
    const key = isFronted ? `${origin} fronted` : origin;
    let at = singleServers.get(key);
    if (at === undefined) {
      const connecting = { lookup: guardedLookup, ca, connectLimitMs: CONNECT_LIMIT_MS };
      const client = openHttpClient({ origin, ...connecting, proxies, bypassesProxyForPrivate: isFronted });
      at = { origin, client, route: singleServerRoute(client, proxies) };
      singleServers.set(key, at);
    }
    return at;
  };
  return {
    pool(origin) {
      let pool = fetchPools.get(origin);
      if (pool === undefined) {
        const connect = { timeout: CONNECT_LIMIT_MS, lookup: guardedLookup, ...(ca !== undefined && { ca }) };
        pool = new Pool(origin, {
          connect: proxyConnector({ proxies, connect, bypassesProxyForPrivate: true, tunnelsPlain: true }),
        });
        fetchPools.set(origin, pool);
      }
      return pool;
    },
    route: ({ origin, pool, isFronted = false }, subset, pickerRequest) =>
      pool === undefined ? singleServerAt(origin, isFronted).route : pools.route(pool, subset, pickerRequest),
    keepOnly(origins, specs = []) {
      for (const [key, { origin, client }] of singleServers) {
        if (origins.has(origin)) continue;
        singleServers.delete(key);
        client.close();
      }
      for (const [origin, pool] of fetchPools) {
        if (origins.has(origin)) continue;
        fetchPools.delete(origin);
        pool.close().catch(() => undefined); // The requests in progress report their failures themselves.
      }
      pools.keepOnly(specs);
    },
    members: (provider) => pools.members(provider),
    connections() {
      let open = pools.connections();
      for (const { client } of singleServers.values()) open += client.connections;
      for (const pool of fetchPools.values()) open += pool.stats.connected;
      return open;
    },
    async close() {
      const ends = [...singleServers.values()].map(({ client }) => client.destroy());
      await Promise.all([...ends, ...[...fetchPools.values()].map((pool) => pool.destroy()), pools.close()]);
      singleServers.clear();
      fetchPools.clear();
    },
  };
}
