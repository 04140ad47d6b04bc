/** Errors that prevent a start and are found only after a node's documents were read. */

import { isIP } from "node:net";
import { formatDuration, type Log, parseDuration } from "../../../base/index.ts";
import { NO_CORS_ORIGINS, readOrigin } from "../../core/cross-origin/index.ts";
import { readForwardProxies } from "../../forward-proxy/index.ts";

/** Error for a stored configuration that does not compile on this node, or for an invalid setting outside the documents. */
export class ConfigurationRefused extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super("the configuration does not compile on this node");
    this.name = "ConfigurationRefused";
    this.problems = problems;
  }
}

/** Environment variables by name. */
type Environment = Readonly<Record<string, string | undefined>>;

/** Reads an integer of at least `min` from an environment variable; `undefined` if it is not set. */
export function readCount(env: Environment, name: string, min: 0 | 1 = 1): number | undefined {
  const text = env[name];
  if (text === undefined || text === "") return undefined;
  if (/^[1-9]\d{0,14}$/.test(text) || (text === "0" && min === 0)) return Number(text);
  throw new ConfigurationRefused([
    `${name}: expected ${min === 0 ? "an integer of 0 or more" : "a positive integer"}, found ${JSON.stringify(text)}`,
  ]);
}

/** Reads the addresses of name servers, separated by commas, from an environment variable; none if it is not set. */
export function readNameServers(env: Environment, name: string): readonly string[] {
  const servers = (env[name] ?? "")
    .split(",")
    .map((it) => it.trim())
    .filter((it) => it !== "");
  const bad = servers.find((server) => {
    const [, address = "", port] = /^\[?([0-9a-f.:]+?)\]?(?::(\d{1,5}))?$/i.exec(server) ?? [];
    return isIP(address) === 0 && isIP(server) === 0 ? true : port !== undefined && Number(port) > 65_535;
  });
  if (bad === undefined) return servers;
  throw new ConfigurationRefused([
    `${name}: expected addresses such as 10.0.0.10 or [fd00::a]:53 with commas between, found ${JSON.stringify(bad)}`,
  ]);
}

/** Reads origins, separated by commas, and normalizes them. Empty for `none`; `undefined` if the variable is not set. */
export function readOrigins(env: Environment, name: string): readonly string[] | undefined {
  const entries = (env[name] ?? "")
    .split(",")
    .map((it) => it.trim())
    .filter((it) => it !== "");
  if (entries.length === 0) return undefined;
  if (entries.length === 1 && entries[0] === NO_CORS_ORIGINS) return [];
  return entries.map((entry) => {
    const origin = readOrigin(entry);
    if (origin !== undefined) return origin.text;
    throw new ConfigurationRefused([
      `${name}: expected origins such as https://app.example.com with commas between, or none, found ${JSON.stringify(entry)}`,
    ]);
  });
}

/** Checks the forward proxies of the environment. Throws `ConfigurationRefused` for a variable that cannot be used. */
export function checkForwardProxies(env: Environment, log: Pick<Log, "warn">): void {
  const { problems, warnings } = readForwardProxies(env);
  if (problems.length > 0) throw new ConfigurationRefused(problems);
  for (const warning of warnings) log.warn(warning);
}

/** Reads a duration of at most `maxMs` from an environment variable, in milliseconds; `undefined` if it is not set. */
export function readDuration(env: Environment, name: string, maxMs: number): number | undefined {
  const text = env[name];
  if (text === undefined || text === "") return undefined;
  const ms = parseDuration(text);
  if (ms !== undefined && ms >= 0 && ms <= maxMs) return ms;
  throw new ConfigurationRefused([
    `${name}: expected a duration from 0s to ${formatDuration(maxMs)} such as 90s, found ${JSON.stringify(text)}`,
  ]);
}
