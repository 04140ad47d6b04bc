/** What a node cannot start with, found out after its documents were read. */

/** What the cluster stores does not compile on this node, or a setting beside the documents is no good. */
export class ConfigurationRefused extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super("the configuration does not compile on this node");
    this.name = "ConfigurationRefused";
    this.problems = problems;
  }
}

/** Bytes by a variable of the environment; undefined where it is not set. */
export function bytesIn(env: Readonly<Record<string, string | undefined>>, name: string): number | undefined {
  const text = env[name];
  if (text === undefined || text === "") return undefined;
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new ConfigurationRefused([`${name}: expected a positive integer, found ${JSON.stringify(text)}`]);
}
