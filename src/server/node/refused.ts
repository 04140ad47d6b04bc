/** What a node cannot start with, found out after its documents were read. */

import { formatDuration, parseDuration } from "../../base/index.ts";

/** What the cluster stores does not compile on this node, or a setting beside the documents is no good. */
export class ConfigurationRefused extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super("the configuration does not compile on this node");
    this.name = "ConfigurationRefused";
    this.problems = problems;
  }
}

/** The environment, as the settings below are read from it. */
type Environment = Readonly<Record<string, string | undefined>>;

/** A number of things or bytes by a variable of the environment, `least` or more; undefined where it is not set. */
export function countIn(env: Environment, name: string, least: 0 | 1 = 1): number | undefined {
  const text = env[name];
  if (text === undefined || text === "") return undefined;
  if (/^[1-9]\d{0,14}$/.test(text) || (text === "0" && least === 0)) return Number(text);
  throw new ConfigurationRefused([
    `${name}: expected ${least === 0 ? "an integer of 0 or more" : "a positive integer"}, found ${JSON.stringify(text)}`,
  ]);
}

/** Milliseconds, from 0 to `maxMs`, by a variable of the environment; undefined where it is not set. */
export function durationIn(env: Environment, name: string, maxMs: number): number | undefined {
  const text = env[name];
  if (text === undefined || text === "") return undefined;
  const ms = parseDuration(text);
  if (ms !== undefined && ms >= 0 && ms <= maxMs) return ms;
  throw new ConfigurationRefused([
    `${name}: expected a duration from 0s to ${formatDuration(maxMs)} such as 90s, found ${JSON.stringify(text)}`,
  ]);
}
