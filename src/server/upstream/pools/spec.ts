/** Parses a pool of the deployment document, once per configuration. Source: specification document 3, `pool`. */
import { isIP } from "node:net";
import { parseDuration } from "../../../base/index.ts";
import type { ProviderConfig } from "../../core/config/index.ts";
import { blockedKind } from "./blocked-addresses.ts";

type PoolConfig = NonNullable<ProviderConfig["pool"]>;

export interface PoolSpec {
  /** Provider that the pool belongs to. */
  readonly provider: string;
  /** Origin `scheme://host[:port]`: the members' name in TLS and in the `host` header, whatever their address. */
  readonly origin: string;
  /** Host to resolve; an IPv6 address has no brackets. */
  readonly host: string;
  readonly port: number;
  /** Host to resolve for each subset, by name of the subset. */
  readonly subsets: ReadonlyMap<string, string>;
  readonly picker: PickerSpec | undefined;
}

export interface PickerSpec {
  /** Address in the form `host:port`. */
  readonly address: string;
  readonly isEncrypted: boolean;
  /** Whether the connection is encrypted without authenticating the server. */
  readonly skipsVerification: boolean;
  readonly refusesOnError: boolean;
  readonly timeoutMs: number;
}

type PoolProblem = { readonly path: readonly (string | number)[]; readonly message: string };

/** Pattern of a host name: RFC 1123 labels, with the underscore that some names of services have. */
const HOST_NAME = /^(?=.{1,254}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*\.?$/i;

/** Compiles a pool. `origin`: origin of `service`, which is a valid root URL. */
export function compilePool(provider: string, config: PoolConfig, origin: string): PoolSpec {
  const { hostname, protocol, port } = new URL(origin);
  return Object.freeze({
    provider,
    origin,
    host: unbracketed(hostname),
    port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
    subsets: new Map((config.subsets ?? []).map(({ name, service }) => [name, unbracketed(service).toLowerCase()])),
    picker: config.picker && compilePicker(config.picker),
  });
}

function compilePicker(picker: NonNullable<PoolConfig["picker"]>): PickerSpec {
  const isEncrypted = picker.service.startsWith("https://");
  return Object.freeze({
    address: picker.service.replace(/^https?:\/\//, "").replace(/\/$/, ""),
    isEncrypted,
    skipsVerification: picker.insecure_skip_verify === true,
    refusesOnError: picker.on_error === "refuse",
    timeoutMs: parseDuration(picker.timeout) ?? 100,
  });
}

const unbracketed = (host: string): string => (/^\[.*\]$/.test(host) ? host.slice(1, -1) : host);

/** Returns the problems of a pool that a schema cannot express. Their paths are relative to `pool`. */
export function poolProblems(config: PoolConfig): readonly PoolProblem[] {
  const { hostname } = new URL(config.service);
  const hosts = [
    { path: ["service"], host: unbracketed(hostname) },
    ...(config.subsets ?? []).map(({ service }, at) => ({
      path: ["subsets", at, "service"],
      host: unbracketed(service),
    })),
  ];
  return hosts.flatMap(({ path, host }) => {
    if (isIP(host) === 0) {
      return HOST_NAME.test(host)
        ? []
        : [
            {
              path,
              message: "must be only a host name or address: scheme and port come from the pool's `service`",
            },
          ];
    }
    const kind = blockedKind(host);
    return kind === undefined ? [] : [{ path, message: `no server can be at ${kind} address` }];
  });
}
